"""Runs side by side: in what they differ, and how one of them is named."""

from pathlib import Path

import pytest
from conftest import write_symbols
from made_up_runs import by_heart, exact, made_up_run, noisy, summary_of
from rich.console import Console

import unseen
from unseen.analysis.comparison import RunGroup, compare_groups
from unseen.cli import command
from unseen.errors import UnseenError
from unseen.report.comparisons import comparison_table
from unseen.report.repeat_command import side_by_side
from unseen.report.tables import list_table
from unseen.runs.differences import changes, differences
from unseen.runs.find_runs import find_run
from unseen.runs.presets import PRESETS, fast
from unseen.runs.run_folder import RunFolder

SETTINGS = [
    {}, {"split": "diagonal"}, {"split": [(3, 8), (8, 3)]}, {"split": [(3, 8)]},
    {"development": True}, {"operation": "a*b + 2"}, {"symbols": "dominoes"}, {"unseen": 5},
    {"split": "diagonal", "seed": 4}, {"scale_answers": False}, {"seed": 1, "epochs": 3},
]  # fmt: skip


def created(runs_dir: Path, name: str = "fast", **settings) -> RunFolder:
    """A run folder with its experiment and nothing done."""
    experiment = PRESETS[name]().vary(**settings)
    folder = RunFolder.of(experiment, runs_dir)
    folder.create(experiment)
    return folder


def shown(what, width: int = 80) -> str:
    console = Console(width=width, record=True)
    console.print(what)
    return console.export_text()


@pytest.mark.parametrize("name", PRESETS)
def test_changes_make_the_experiment_out_of_its_preset(name):
    for settings in SETTINGS:
        experiment = PRESETS[name]().vary(**settings)
        assert PRESETS[name]().vary(**changes(experiment)) == experiment
        assert changes(experiment).keys() <= settings.keys()


def test_differences_leave_out_what_all_share():
    apart, shared = differences([fast().vary(samples=5, **settings) for settings in SETTINGS])
    assert shared == {"samples": 5}
    assert [{*each} for each in apart] == [{*each} for each in SETTINGS]
    assert differences([]) == ([], {})
    assert differences([fast(), fast()]) == ([{}, {}], {})


def test_every_run_is_found_by_the_settings_that_the_list_shows(tmp_path):
    runs = [created(tmp_path, samples=5, **settings) for settings in SETTINGS]
    apart, _ = differences([run.experiment() for run in runs])
    for run, settings in zip(runs, apart, strict=True):
        assert find_run("fast", tmp_path, settings) == run
        assert unseen.load("fast", tmp_path, **settings).folder == run
        assert find_run(run.path, tmp_path, settings) == run
    with pytest.raises(UnseenError, match=r"no run 'fast' in .* has seed=9"):
        find_run("fast", tmp_path, {"seed": 9})
    with pytest.raises(UnseenError, match=r"unknown split 'diagnal' .did you mean 'diagonal'"):
        find_run("fast", tmp_path, {"split": "diagnal"})
    with pytest.raises(UnseenError, match=f"no run '{runs[0].path.name}' in .* has seed=4"):
        find_run(runs[0].path.name, tmp_path, {"seed": 4})


def test_runs_of_an_ambiguous_name_are_told_apart_by_their_settings(tmp_path, capsys):
    one, other = (created(tmp_path, samples=5, seed=seed) for seed in (1, 2))
    with pytest.raises(UnseenError, match=rf"{one.label} \(seed=1\), {other.label} \(seed=2\)"):
        find_run("fast", tmp_path)
    assert command(["show", "fast", "--seed", "2", "--runs-dir", str(tmp_path)]) == 0
    assert other.label in capsys.readouterr().out


def test_a_list_of_runs_says_in_what_they_differ_and_fits_a_terminal(tmp_path):
    (tmp_path / "[bold]").mkdir()
    (tmp_path / "[bold]" / "net.py").write_text("class Net: pass")
    own = {"model": f"{tmp_path / '[bold]' / 'net.py'}:Net"}
    for settings in [*SETTINGS, own]:
        created(tmp_path / "runs", samples=5, **settings)
    created(tmp_path / "runs", "best-blind", samples=5, split="diagonal")
    folders = [RunFolder(path) for path in sorted((tmp_path / "runs").iterdir())]
    text = shown(list_table(folders, tmp_path))
    assert max(map(len, text.splitlines())) <= 80
    spaced = " ".join(text.split())
    for words in ("--split diagonal", "--no-scale-answers", "--development", "All of them: --sam"):
        assert words in spaced
    assert "net.py:Net" in spaced
    assert all(folder.path.name in text for folder in folders)


def test_paths_are_as_short_as_tells_them_apart():
    experiments = [
        fast().model_copy(update={"training": fast().training.model_copy(update={"model": model})})
        for model in ("/a/b/net.py:Net", "/a/c/net.py:Net", "/d/net.py:Old")
    ]
    words, _ = side_by_side(experiments)
    assert words == ["--model b/net.py:Net", "--model c/net.py:Net", "--model d/net.py:Old"]
    assert side_by_side(experiments[1:])[0] == ["--model net.py:Net", "--model net.py:Old"]


def test_an_own_network_is_found_by_what_its_file_holds(tmp_path):
    for version in (1, 2):
        (tmp_path / "net.py").write_text(f"class Net: version = {version}")
        run = created(tmp_path / "runs", model=f"{tmp_path / 'net.py'}:Net")
    (tmp_path / "net.py").rename(tmp_path / "moved.py")
    assert find_run("fast", tmp_path / "runs", {"model": f"{tmp_path / 'moved.py'}:Net"}) == run


def test_a_run_is_found_by_the_name_that_it_was_given(tmp_path, symbols):
    settings = {"symbols": str(symbols), "samples": 2, "test_samples": 2, "watched_samples": 0}
    given = {"folds": [1], "runs_dir": tmp_path / "runs", "on_event": lambda event: None}
    run = unseen.run("mean", name="my-run", **settings, **given)
    assert run.name == "my-run"
    assert run.folder == RunFolder.of(PRESETS["mean"]().vary(**settings), tmp_path / "runs")
    for name in ("my-run", "my-r", run.folder.path.name, "mean"):
        assert unseen.load(name, tmp_path / "runs").folder == run.folder
    assert unseen.run("mean", name="renamed", **settings, **given).name == "my-run"
    for name in ("my-run", "renamed"):  # no name is taken away
        assert unseen.load(name, tmp_path / "runs").folder == run.folder
    assert "my-run mean" in " ".join(shown(list_table([run.folder], tmp_path)).split())
    before = {*tmp_path.rglob("*")}
    taken = (
        run.folder.path.name,
        run.folder.path.name[:-3],
        "renamed",
        "my-r",
        "fast",
        "",
        "a b",
        "../up",
        ".hidden",
        "[red]",
        "é",
    )
    for name in (*taken, "x" * 61):
        with pytest.raises(UnseenError, match="name="):
            unseen.run("mean", seed=1, name=name, **settings, **given)
    assert {*tmp_path.rglob("*")} == before
    (run.folder.path / "name").write_bytes(b"\xff[red]")
    assert unseen.load("mean", tmp_path / "runs").name == run.folder.path.name


def test_symbols_count_by_what_they_hold_wherever_they_are(tmp_path):
    """For comparisons, for baselines, for finding a run, and for running it again."""
    one, other = (str(write_symbols(tmp_path / name)) for name in ("one", "other"))
    settings = {"test_samples": 6}
    first = made_up_run(tmp_path / "runs", fast().vary(symbols=one, **settings), noisy)
    recorded = (first.path / "experiment.json").read_bytes()
    made_up_run(tmp_path / "runs", fast().vary(symbols=other, **settings), noisy)
    assert (first.path / "experiment.json").read_bytes() == recorded
    second = made_up_run(tmp_path / "runs", fast().vary(symbols=other, seed=1, **settings), exact)
    made_up_run(tmp_path / "runs", PRESETS["nearest"]().vary(symbols=other, **settings), by_heart)
    assert find_run("fast", tmp_path / "runs", {"symbols": other}) == first
    summaries = [summary_of(run) for run in (first, second)]
    assert [{*summary.baselines} for summary in summaries] == [{"nearest"}, {"nearest"}]
    groups = [RunGroup(each.run, (each,)) for each in summaries]
    compared = compare_groups(groups)
    text = shown(comparison_table(compared), 100)
    assert f"{first.path.name}: fast" in text
    assert f"{second.path.name}: fast" in text
    assert "--seed 1" in text
    listed = shown(list_table([first, second], tmp_path), 100)
    assert "--symbols" in listed.partition("All of them")[2]
    Path(other).rename(tmp_path / "gone")
    assert {*summary_of(first).baselines} == {"nearest"}


def test_a_known_set_of_symbols_in_a_folder_is_that_set(tmp_path, monkeypatch):
    symbols = str(write_symbols(tmp_path / "symbols"))
    run = created(tmp_path / "runs", symbols=symbols)
    recorded = (run.path / "experiment.json").read_bytes()
    bank = unseen.problem.symbols.load_symbols(symbols)
    monkeypatch.setitem(unseen.problem.symbols.SYMBOLS, "bars", lambda: bank)
    assert created(tmp_path / "runs", symbols="bars") == run
    assert (run.path / "experiment.json").read_bytes() == recorded
