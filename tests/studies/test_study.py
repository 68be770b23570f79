import re
from pathlib import Path

import pytest

from unseen.errors import UnseenError
from unseen.runs.presets import fast
from unseen.runs.run_folder import RunFolder
from unseen.studies.study import find_study, read_study, ready_studies


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.toml"
    path.write_bytes(text.encode())
    return path


def test_every_combination_of_the_varied_settings_is_a_run(tmp_path):
    study = read_study(
        write(
            tmp_path,
            'preset = "fast"\n[settings]\nsamples = 20\nfolds = "1-2"\n'
            '[vary]\nseed = [0, 1, 2]\noperation = ["add", "multiply"]\n',
        )
    )
    assert [(run.experiment.seed, run.experiment.problem.operation) for run in study.runs] == [
        (seed, operation) for seed in (0, 1, 2) for operation in ("add", "multiply")
    ]
    assert all(run.folds == (1, 2) for run in study.runs)
    assert study.runs[3].experiment == fast().vary(samples=20, seed=1, operation="multiply")
    assert study.varied == ("seed", "operation")
    assert study.runs[0].varied == {"seed": 0, "operation": "add"}


def test_blocks_are_taken_one_after_the_other_and_what_is_twice_is_run_once(tmp_path):
    study = read_study(
        write(
            tmp_path,
            "[settings]\nbatch-size = 32\n[[vary]]\nseed = [0, 1]\nfolds = [1]\n"
            '[[vary]]\npreset = ["fast", "paper"]\nfolds = ["2", "1-3"]\n',
        )
    )
    assert len(study.runs) == 6
    runs = study.by_folder(tmp_path)
    assert [(run.experiment.name, run.experiment.seed, run.folds) for run in runs.values()] == [
        ("fast", 0, (1, 2, 3)),
        ("fast", 1, (1,)),
        ("paper", 0, (1, 2, 3)),
    ]
    assert next(iter(runs)) == RunFolder.of(fast().vary(batch_size=32), tmp_path)


def test_cases_are_settings_that_change_together(tmp_path):
    cases = "cases = [{unseen = 90, batch-size = 32}, {seed = 2}]"
    study = read_study(write(tmp_path, f"[vary]\nepochs = [1, 2]\n{cases}\nfolds = [1]\n"))
    assert [dict(run.varied) for run in study.runs] == [
        {"epochs": epochs, **case, "folds": 1}
        for epochs in (1, 2)
        for case in ({"unseen": 90, "batch_size": 32}, {"seed": 2})
    ]
    assert study.runs[2].experiment == fast().vary(epochs=2, unseen=90, batch_size=32)


def test_a_study_that_varies_nothing_is_one_run(tmp_path):
    assert len(read_study(write(tmp_path, 'preset = "mean"')).runs) == 1


def test_files_beside_a_study_are_meant_wherever_it_is_run(tmp_path, monkeypatch):
    (tmp_path / "unseen.txt").write_text("3 4\n5 6\n")
    path = write(tmp_path, '[vary]\nsplit = ["unseen.txt", "random"]')
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert read_study(path).runs[0].experiment.problem.unseen_list == (((3, 4), (5, 6)),)


MISTAKES = {
    'presets = "fast"': "unknown entry 'presets' .*did you mean 'preset'",
    'preset = "fats"': r"unknown preset 'fats' \(did you mean 'fast'",
    "preset = ['fast']": "unknown preset",
    "about = 3": "about must be a text",
    "settings = 3": "settings a table",
    "vary = 3": "vary must be a table",
    "[settings]\nbatch = 3": "unknown setting 'batch'",
    "[settings]\nname = 'mine'": "unknown setting 'name'",
    "[settings]\nepochs = 1.5": "epochs=1.5 must be a whole number",
    "[settings]\noperation = 3": "operation=3 must be a valid string",
    '["settings"]\r\n"epochs" = 0\r\n': "epochs=0 must be at least 1",
    "[settings]\nsymbols = 'nowhere'": "unknown symbols",
    "[settings]\nbatch-size = 8\nbatch_size = 9": "batch_size is set twice",
    "[settings]\nfolds = 11": "folds=11 does not exist; this split has folds 1 to 10",
    "[settings]\nfolds = 1.5": r"must be like 3, \[1, 3\]",
    "[settings]\nfolds = '5-3'": "runs backwards",
    '[vary]\nsplit = ["corner"]\nfolds = [1, 2]': "folds=2 does not exist",
    "[vary]\nseed = 3": r"seed must be a list of values, as \[1, 2\]",
    "[vary]\nseed = []": "seed must be a list of values",
    "[vary]\nseed = [1]\nunseen = [10, 95]": r"unseen=95 must be .*\(where seed=1, unseen=95\)",
    "[[vary]]\nseed = [1]\n[[vary]]\nseed = ['a']": "seed='a' must be a whole number",
    "[vary]\ncases = [3]": "cases must be tables",
    "[vary]\ncases = [{}]": "cases must be tables",
    "[[vary]]\nseed = [1]\n[[vary]]\n[[vary.cases]]\nsed = 1": "unknown setting 'sed'",
    "[vary]\ncases = [{seed = 1}]\nseed = [1]": "seed is set twice",
    "[vary]\nseed = [1": r"\(at ",
    f"[settings]\nseed = {'9' * 5_000}": "Exceeds the limit",
    f"about = {'[' * 5_000}": "is nested too deeply",
    f"[vary]\nseed = {[*range(400)]}\nepochs = {[*range(400)]}": "160,000 runs; at most 100,000",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_named_with_its_file(tmp_path, text):
    path = write(tmp_path, text)
    with pytest.raises(UnseenError, match=f"^{re.escape(str(path))}: .*{MISTAKES[text]}"):
        read_study(path)


def test_a_file_that_is_no_text_is_refused_and_one_of_windows_is_read(tmp_path):
    path = write(tmp_path, "")
    path.write_bytes(b"about = 'a'\n# \xff\n")
    with pytest.raises(UnseenError, match=r"mine\.toml: .*utf-8.*position 14"):
        read_study(path)
    path.write_bytes(b"\xef\xbb\xbfabout = 'mine'\r\n")
    assert read_study(path).about == "mine"
    path.write_bytes(b"#" * 1_000_001)
    with pytest.raises(UnseenError, match="larger than 1,000,000 bytes"):
        read_study(path)


def test_the_ready_studies_can_be_run():
    assert {*ready_studies()} == {"coverage", "operations", "splits", "networks", "seeds"}
    for name in ready_studies():
        study = find_study(name)
        assert study.about
        assert len(study.by_folder(Path("runs"))) == len(study.runs) > 1
    coverage = find_study("coverage")
    sizes = {run.experiment.problem.unseen for run in coverage.runs}
    assert min(sizes) == 1
    assert max(sizes) == 90
    assert len(sizes) >= 10


def test_a_study_that_is_not_there_is_named():
    with pytest.raises(UnseenError, match=r"unknown study 'covrage' .*did you mean 'coverage'"):
        find_study("covrage")
    with pytest.raises(UnseenError, match="there is no such file"):
        find_study("studies/mine.toml")
