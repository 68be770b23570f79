import time
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
    'presets = "fast"': r"presets: unknown entry .*did you mean 'preset'",
    'preset = "fats"': r"preset: unknown preset 'fats' \(did you mean 'fast'",
    "preset = 3": r"preset: unknown preset '3'",
    "[settings]\nbatch = 3": r"\[settings\] batch: unknown setting 'batch'",
    "[settings]\n\nepochs = 1.5": r".*epochs: must be a whole number, not 1.5",
    "[settings]\nseed = true": r".*seed: must be a whole number, not True",
    '[settings]\nscale-answers = "no"': r".*scale-answers: must be true or false",
    "[settings]\nepochs = 0": r".*epochs=0 must be at least 1",
    "[settings]\nfolds = 11": r".*folds=11 does not exist; this split has folds 1 to 10",
    "[settings]\nfolds = 1.5": r".*must be like 3, \[1, 3\]",
    "[settings]\nfolds = '5-3'": r".*runs backwards",
    '[settings]\npreset = "fast"': r".*preset: stands before all tables",
    "[vary]\nseed = 3": r"\[vary\] seed: must be a list of values",
    "[vary]\nseed = []": r"\[vary\] seed: must be a list of values",
    "[vary]\nseed = [1]\nunseen = [10, 95]": r".*unseen=95 must be .*unseen = 95\)",
    "[[vary]]\nseed = [1]\n[[vary]]\nseed = ['a']": r".*must be a whole number, not 'a'",
    '[vary]\nsplit = ["corner"]\nfolds = [1, 2]': r".*folds=2 does not exist",
    "[vary]\ncases = [3]": r"\[vary\] cases: must be tables",
    "[vary]\ncases = [{}]": r"\[vary\] cases: must be tables",
    "[vary]\ncases = [{sed = 1}]": r"\[vary\] sed: unknown setting 'sed'",
    "[vary]\ncases = [{seed = 1}]\nseed = [1]": r"\[vary\] seed: is varied twice",
    "[vary]\nbatch-size = [8]\nbatch_size = [9]": r"\[vary\] batch_size: is varied twice",
    "vary = 3": r"vary: must be a table",
    "settings = 3": r"settings: must be a table",
    "[vary]\nseed = [1": r"mine.toml: .*\(at ",
    "about = 3": r"about: must be a text",
    "[vary]\nseed = [\n  1,\n  'a',\n]": r"\[vary\] seed: must be a whole number",
    "[vary]\ncases = [\n  {unseen = 9},\n  {unseen = 95},\n]": r"\[vary\] unseen: .*95",
    "[vary]\nfolds = [\n  [1, 2],\n  [3],\n]\nsed = [1]": r"\[vary\] sed: unknown",
    "[[vary]]\nseed = [1]\n[[vary]]\n[[vary.cases]]\nsed = 1": r"\[vary\] sed: unknown",
    "about = '\'\'\n[vary]\nseed = 3\n'\'\'\n[vary]\nseed = 3": r"\[vary\] seed: must be",
    "vary.seed = 3": r"\[vary\] seed: must be a list",
    "vary = [{seed = [1]},\n {seed = 3}]": r"\[vary\] seed: must be a list",
    '["settings"]\r\n"epochs" = 0\r\n': r"\[settings\] epochs: .*at least 1",
    "[settings]\nbatch-size = 8\nbatch_size = 9": r".*batch_size: is said twice",
    "[settings]\nseed = 1\nsymbols = 'nowhere'": r"\[settings\] symbols: unknown symbols",
    "[settings]\nfolds = [true]": r"\[settings\] folds: must be like",
    "preset = ['fast']": r"preset: unknown preset",
    "[vary]\npreset = [{a = 1}]": r"\[vary\] preset: unknown preset",
    f"[settings]\nseed = {'9' * 5_000}": r"mine.toml: Exceeds the limit",
    f"about = {'[' * 5_000}": r"mine.toml: is nested too deeply",
    "[vary]\n" + "\n".join(f"{s} = [{', '.join(map(str, range(1, 400)))}]" for s in (
        "seed", "epochs")): "has 159,201 runs; at most 100,000",
}  # fmt: skip


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_named_with_its_place(tmp_path, text):
    with pytest.raises(UnseenError, match=MISTAKES[text]) as caught:
        read_study(write(tmp_path, text))
    assert str(tmp_path / "mine.toml") in str(caught.value)


def test_a_wrong_value_in_a_long_list_is_named_at_once(tmp_path):
    lines = "\n".join(f"  {seed}," for seed in range(2_000))
    began = time.perf_counter()
    with pytest.raises(UnseenError, match=r"\[vary\] seed: must be a whole number, not 'x'"):
        read_study(write(tmp_path, f"[vary]\nseed = [\n{lines}\n  'x',\n]"))
    assert time.perf_counter() - began < 1


def test_a_file_that_is_no_text_is_refused_and_one_of_windows_is_read(tmp_path):
    path = write(tmp_path, "")
    path.write_bytes(b"about = 'a'\n# \xff\n")
    with pytest.raises(UnseenError, match=r"mine\.toml, line 2: is no text in UTF-8"):
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
