"""A cross-validation as it goes on: bars on stderr, silent where that is no terminal."""

from collections.abc import Callable, Iterable

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from unseen.experiments.cross_validation import Note, RunProgress
from unseen.experiments.run_folder import FoldProgress
from unseen.problem.leakage import SplitLeakage
from unseen.views.leakage_text import format_leakage


def watch(
    events: Iterable[Note | RunProgress | SplitLeakage],
    folds: int,
    epochs: int,
    console: Console,
    *,
    quiet: bool,
) -> None:
    """Follow a cross-validation to its end, with bars and notes."""
    display = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[said]}"),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
        speed_estimate_period=300,
    )
    with display:
        whole = display.add_task("all folds", total=folds * epochs, said=f"0 of {folds} done")
        bars: dict[int, TaskID] = {}
        for event in events:
            if not isinstance(event, RunProgress):
                for note in _notes(event):
                    if note.urgent or not quiet:
                        style = "yellow" if note.urgent else "dim"
                        console.print(Text(note.text, style=style), soft_wrap=True)
                continue
            under_way = sum(epochs_so_far(progress) for progress in event.running.values())
            display.update(
                whole,
                completed=len(event.done) * epochs + under_way,
                said=f"{len(event.done)} of {folds} done",
            )
            for fold in bars.keys() - event.running.keys():
                display.remove_task(bars.pop(fold))
            for fold, progress in sorted(event.running.items()):
                if fold not in bars:
                    bars[fold] = display.add_task(f"fold {fold}", total=epochs, said="")
                display.update(
                    bars[fold],
                    completed=epochs_so_far(progress),
                    said=format_progress(progress, epochs),
                )


def _notes(event: Note | SplitLeakage) -> tuple[Note, ...]:
    if isinstance(event, Note):
        return (event,)
    unseen, determined = format_leakage(event)
    return Note(unseen, urgent=False), Note(determined, urgent=event.undetermined > 0)


def show_download(
    fetch: Callable[[Callable[[str, int, int], None]], object], console: Console, *, quiet: bool
) -> None:
    """Follow a download file by file."""
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        DownloadColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )
    with bars:
        files: dict[str, TaskID] = {}

        def tell(name: str, come: int, promised: int) -> None:
            if name not in files:
                files[name] = bars.add_task(name)
            bars.update(files[name], completed=come, total=promised or None)

        fetch(tell)


def epochs_so_far(progress: FoldProgress) -> float:
    return progress.epochs_done + progress.epoch_share


def format_progress(progress: FoldProgress, epochs: int) -> str:
    epoch = min(progress.epochs_done + 1, epochs)
    loss = "-" if progress.loss is None else f"{progress.loss:.3f}"
    return f"epoch {epoch} of {epochs}, loss {loss}"
