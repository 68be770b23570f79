import io

from rich.console import Console

from unseen.experiments.cross_validation import Note, RunProgress
from unseen.experiments.run_folder import FoldProgress
from unseen.views.progress import watch


def shown(*, terminal: bool, quiet: bool = False) -> str:
    def said(epochs_done, epoch_share, loss):
        return FoldProgress(
            epochs_done=epochs_done, epoch_share=epoch_share, loss=loss, process=1, host="here"
        )

    events = [
        RunProgress(frozenset(), {1: said(2, 0.5, 1.2345), 2: said(0, 0.1, None)}),
        Note("x[/red] is damaged"),
        RunProgress(frozenset({1}), {2: said(5, 0.0, 0.5)}),
        RunProgress(frozenset({1, 2}), {}),
    ]
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=90)
    watch(slowly(events, console), folds=2, epochs=5, console=console, quiet=quiet)
    return file.getvalue()


def slowly(events, console):
    for event in events:
        yield event
        if console._live_stack:
            console._live_stack[-1].refresh()


def test_a_terminal_shows_folds_epochs_loss_and_time_left():
    text = shown(terminal=True)
    for words in ("all folds", "0 of 2 done", "1 of 2 done", "fold 1", "epoch 3 of 5, loss 1.234"):
        assert words in text
    assert "epoch 5 of 5" in text
    assert "left" in text
    assert "x[/red] is damaged" in text


def test_elsewhere_only_notes_are_told():
    assert shown(terminal=False) == "x[/red] is damaged\n"
    assert "all folds" not in shown(terminal=True, quiet=True)
