import io
import sys
from types import SimpleNamespace

import pytest
from fake_workers import FakeWorkers
from rich.console import Console

from unseen.problem.splits import all_combinations
from unseen.report.progress import format_note, watch
from unseen.runs.checks import network_limits
from unseen.runs.events import Ended, FoldDone, Measured, Note, Progressed, Started
from unseen.runs.measuring import Measurement
from unseen.runs.presets import fast
from unseen.runs.session import session

HALF_RIGHT = Measurement(2.0, 1.0, {"rounded": 0.75}, {"rounded": 0.5}, [], [], [], [])


def shown(*, terminal: bool, quiet: bool = False) -> str:
    events = [
        Started("runs/x", (1, 2), 5),
        Measured(1, HALF_RIGHT),
        Progressed(1, 2.5, 1.2345),
        Progressed(2, 0.1, None),
        Note("fold damaged", 2, {"path": "x[/red]", "fault": "x[/red] is damaged"}),
        FoldDone(1),
        Progressed(2, 5.0, 0.5),
        Progressed(2, 1.5, 0.75, start=2),
        FoldDone(2),
        Ended((1, 2), ()),
    ]
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=100)
    watch(slowly(events, console), console, quiet=quiet)
    return file.getvalue()


def test_a_notebook_has_a_line_for_each_fold(monkeypatch):
    assert "done" not in shown(terminal=False)
    kernel = SimpleNamespace(IPKernelApp=SimpleNamespace(initialized=lambda: True))
    monkeypatch.setitem(sys.modules, "ipykernel.kernelapp", kernel)
    text = shown(terminal=False)
    assert "fold 1 done, 1 of 2, unseen right 50 %\n" in text
    assert "fold 2 done, 2 of 2\n" in text
    assert shown(terminal=False, quiet=True).count("\n") == 1
    assert "fold 2 done" not in shown(terminal=True)


def slowly(events, console):
    for event in events:
        yield event
        if console._live_stack:
            console._live_stack[-1].refresh()


def test_a_terminal_shows_folds_epochs_loss_unseen_right_and_time_left():
    text = shown(terminal=True)
    for words in ("all folds", "0 of 2 done", "1 of 2 done", "fold 1", "epoch 3 of 5, loss 1.234"):
        assert words in text
    assert "unseen right 50 %" in text
    assert "epoch 5 of 5" in text
    assert "start 2, epoch 2 of 5" in text
    assert "left" in text
    assert "x[/red] is damaged" in text


def test_elsewhere_only_notes_are_told():
    assert shown(terminal=False) == "x[/red] is damaged; fold 2 is run again\n"
    assert "all folds" not in shown(terminal=True, quiet=True)


def test_a_listener_that_fails_closes_the_session():
    closed = []

    def session():
        try:
            yield Started("runs/x", (1,), 1)
            yield Note("no such kind")
        finally:
            closed.append(True)

    def fail(event):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        watch(session(), Console(file=io.StringIO()), started=fail)
    assert closed == [True]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"operation": "max(a, b)"}, ["What lenet5-curved can express: sums of values, products"]),
        ({"operation": "multiply", "model": "towers"}, ["What towers can express: sums of values"]),
        ({"operation": "subtract"}, []),
        ({"operation": "multiply", "model": "mean"}, []),
    ],
)
def test_what_a_network_can_and_cannot_express_is_said_where_answers_are_no_sums(
    tmp_path, settings, said
):
    tiny = fast().vary(samples=1, test_samples=1, **settings)
    lines = [
        text
        for event in session(tiny, [1], tmp_path, FakeWorkers())
        if isinstance(event, Note)
        for text, _ in format_note(event)
        if text.startswith("What ")
    ]
    assert [line[: len(words)] for line, words in zip(lines, said, strict=True)] == said
    assert all("; not " in line for line in lines)


@pytest.mark.parametrize(
    ("model", "length", "symbols", "alphabet"),
    [
        ("latent", 2, 24, None),
        ("latent", 2, 25, 24),
        ("latent", 1, 25, 24),
        ("latent-deep", 3, 17, 16),
        ("latent-deep-blind", 2, 17, 16),
        ("latent-deep-blind", 2, 16, None),
        ("towers", 2, 25, None),
    ],
)
def test_a_network_with_fewer_symbols_than_the_pictures_is_named(model, length, symbols, alphabet):
    digits = all_combinations([range(symbols)] * length)
    task = SimpleNamespace(combinations=SimpleNamespace(digits=digits))
    notes = network_limits(model, task, rule="additive")
    said = [text for note in notes for text, is_urgent in format_note(note) if is_urgent]
    told = f"the pictures have {symbols} different symbols, and {model} can tell {alphabet} apart"
    assert [line[: len(told)] for line in said] == [told] * (alphabet is not None)
