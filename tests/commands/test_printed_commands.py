"""Every command that the program prints is run as it is printed."""

import html
import re
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import write_symbols
from made_up_runs import made_up_run, noisy
from own_networks import LINEAR

import unseen
from unseen.cli import COMMANDS, app, command
from unseen.report.repeat_command import as_call, command_of
from unseen.report.verdict_text import verdict_text
from unseen.runs.presets import fast

SOURCE = Path(unseen.__file__).parent
FEW = {"samples": 2, "test_samples": 3, "watched_samples": 0}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to be in, with symbols, a network and an awkward name."""
    place = tmp_path / "it's [b]here"
    write_symbols(place / "my digits")
    (place / "net.py").write_text(LINEAR)
    monkeypatch.chdir(place)
    before = signal.getsignal(signal.SIGTERM)
    yield place
    signal.signal(signal.SIGTERM, before)


def ticked(text: str) -> list[str]:
    """The commands within a text."""
    return re.findall("`(unseen [^`]+)`", " ".join(text.split()))


def verdict(run: unseen.Run) -> str:
    """What the command line prints below the tables."""
    return verdict_text(run.summary).text


def typed(printed: str) -> int:
    """The exit code of a command as a shell would have it."""
    name, *arguments = shlex.split(printed)
    assert name == "unseen"
    return command(arguments)


RUNS = {
    "a list": ("all [runs]", {"split": [(3, 8), (8, 3)]}, None),
    "an expression": ("all [runs]", {"operation": "max(a, b) + 2"}, [2, 4]),
    "development folds": ("runs", {"development": True, "split": "diagonal"}, [1]),
    "signs in a list": (
        "runs", {"operation": "shown:+,-", "split": [(3, "+", 8), (8, "-", 3)]}, [1]
    ),
    "an own network": ("all [runs]", {"model": "net.py:Net", "length": 1}, [1]),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_repeated_by_its_command_and_placed_by_those_for_baselines(here, name):
    runs_dir, settings, folds = RUNS[name]
    experiment = fast().vary(symbols="my digits", **FEW, **settings)
    folder = made_up_run(Path(runs_dir), experiment, noisy, folds)
    run = unseen.load(folder.path)
    for text in (run.report().read_text(), verdict(run)):
        baselines = [each for each in ticked(html.unescape(text)) if " run " in each]
        assert [each.split()[2] for each in baselines] == ["nearest", "oracle"]
    (repeat,) = re.findall("<pre>(.*)</pre>", run.report().read_text())
    here_again = command_of(experiment, folds or (), folder)
    # a report does not say where runs are: its command makes the same run, where it is typed
    for place, printed in (("runs", html.unescape(repeat)), (runs_dir, here_again)):
        assert typed(f"{printed} --no-report --quiet") == 0
        assert [each.parent.name for each in Path(place).glob("*/experiment.json")] == [
            folder.path.name
        ]
    assert typed(f"{ticked(verdict(run))[0]} --no-report --quiet") == 0
    again = unseen.load(folder.path)
    assert {*again.summary.baselines} == {"nearest"}
    assert again.summary.baselines["nearest"].folds == len(run.results)
    assert again.summary.error_parts is not None
    (oracle,) = ticked(verdict(again))
    if name == "an expression":  # the others take as long and show no more
        assert typed(f"{oracle} --no-report --quiet") == 0
        assert {*unseen.load(folder.path).summary.baselines} == {"nearest", "oracle"}
    else:
        app.parse_args(shlex.split(oracle)[1:], exit_on_error=False, print_error=False)


def test_what_a_report_advises_for_its_networks_is_run(here, capsys):
    for model in ("net.py:Net", "lenet5-curved"):
        settings = {"model": model, "symbols": "my digits", "length": 1, **FEW}
        run = unseen.run("fast", folds=[1], on_event=lambda event: None, **settings)
        (deep,) = [each for each in ticked(run.report().read_text()) if "--deep" in each]
        assert typed(deep) == 0, capsys.readouterr().err
        assert unseen.Run(run.folder).summary.probes
    (run.folder.path / "folds/01/predictions.npz").unlink()
    assert typed(f"unseen show {run.name}") == 0
    (again,) = ticked(capsys.readouterr().err)
    assert typed(f"{again} --quiet") == 0
    assert len(unseen.Run(run.folder).results) == 1


def test_commands_in_messages_are_commands():
    printed = {
        found
        for path in SOURCE.rglob("*.py")
        for found in re.findall(
            rf"'(unseen (?:{'|'.join(COMMANDS)})(?: [^'{{}}]*)?)'", path.read_text()
        )
    }
    assert "unseen runs" in printed
    for each in printed:
        app.parse_args(shlex.split(each)[1:], exit_on_error=False, print_error=False)
    assert command(["runs"]) == command(["list"]) == 0


def test_a_call_is_the_command_in_python(here):
    settings = {"operation": "max(a, b)", "learning_rate": 0.01, "scale_answers": False}
    experiment = fast().vary(symbols="my digits", **FEW, **settings)
    run = made_up_run(Path("all runs"), experiment, noisy, [2])
    call = command_of(experiment, [2], run, write=as_call)
    made = eval(call, {"unseen": SimpleNamespace(run=lambda preset, **given: (preset, given))})
    given = made[1]
    assert (made[0], given.pop("folds"), given.pop("runs_dir")) == ("fast", "2", "all runs")
    assert fast().vary(**given) == experiment
    assert f"{as_call('nearest', {})[:-1]}, " in str(unseen.load(run.path))


def test_a_command_is_printed_on_one_line_however_narrow_the_terminal(here, capsys, monkeypatch):
    experiment = fast().vary(symbols="my digits", operation="max(a, b) + 2", **FEW)
    run = unseen.load(made_up_run(Path("all  runs"), experiment, noisy, [2]).path)
    for columns in ("40", "80", "300"):
        monkeypatch.setenv("COLUMNS", columns)
        assert typed(f"unseen show {run.name} --runs-dir 'all  runs'") == 0
        lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
        assert [line for line in lines if line.startswith("unseen run")] == re.findall(
            "`(unseen [^`]+)`", verdict(run)
        )


def test_a_run_that_is_named_from_within_is_repeated_from_there(here, capsys, monkeypatch):
    experiment = fast().vary(symbols="my digits", **FEW)
    run = made_up_run(Path("runs"), experiment, noisy, [1]).path.absolute()
    for place, name in ((run, "."), (run / "folds", ".."), (run.parent, f"{run.name}/")):
        monkeypatch.chdir(place)
        assert typed(f"unseen show {name}") == 0
        (baseline, _) = re.findall("unseen run .*", capsys.readouterr().out)
        runs_dir = shlex.split(baseline)[-1]
        assert (place / runs_dir).resolve() == run.parent.resolve()
