"""A session as it goes on: notes on stderr, bars where that is a terminal, lines in Jupyter."""

import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from typing import TextIO, TypeVar, cast

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from unseen.report.leakage_text import format_leakage
from unseen.report.terminal import PlainConsole
from unseen.report.words import format_percent
from unseen.runs.events import (
    Downloaded,
    Event,
    FoldDone,
    Measured,
    Note,
    Progressed,
    Started,
)
from unseen.streams import LossyStream
from unseen.training.metrics import HEADLINE

Thing = TypeVar("Thing")


def watch(
    events: Generator[Event, None, None],
    console: Console | None = None,
    *,
    quiet: bool = False,
    started: Callable[[Started], None] = lambda event: None,
) -> None:
    """Follow a session to its end, and close it whatever happens here."""
    console = console or PlainConsole(file=cast(TextIO, LossyStream(sys.stderr)))
    display = SessionDisplay(console, quiet=quiet)
    with closing(events), display.bars:
        for event in events:
            display.show(event)
            if display.in_notebook and isinstance(event, FoldDone):
                console.print(Text(display.format_done(event.fold)), soft_wrap=True)
            if isinstance(event, Started):
                started(event)
            for text, urgent in format_note(event) if isinstance(event, Note) else ():
                if urgent or not quiet:
                    style = "yellow" if urgent else "dim"
                    console.print(Text(text, style=style), soft_wrap=True)


def count_up(things: Iterable[Thing], total: int, console: Console) -> Iterator[Thing]:
    """The same things, with a bar of how many of them there were so far, in a terminal."""
    display = SessionDisplay(console, quiet=total < 100)
    with display.bars:
        for number, thing in enumerate(things, start=1):
            if number % 100 == 0:
                display.update("pictures", f"{number:,} of {total:,}", number, total)
            yield thing


def in_jupyter() -> bool:
    """Whether this process is a notebook's kernel; nothing is imported to find out."""
    kernel = sys.modules.get("ipykernel.kernelapp")
    return kernel is not None and bool(kernel.IPKernelApp.initialized())


class SessionDisplay:
    """The bars of a session: one for all folds, one for each under way, one for a download."""

    def __init__(self, console: Console, *, quiet: bool) -> None:
        self.bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[said]}", markup=False),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
            speed_estimate_period=300,
        )
        self.in_notebook = not quiet and not console.is_terminal and in_jupyter()
        self.folds: tuple[int, ...] = ()
        self.done: set[int] = set()
        self.epochs = 1
        self.so_far: dict[int, float] = {}  # epochs of the folds under way
        self.tasks: dict[int | str, TaskID] = {}
        self.right: dict[int, str] = {}  # unseen combinations, as last measured

    def show(self, event: Event) -> None:
        match event:
            case Started(folds=folds, epochs=epochs):
                self.folds, self.epochs = folds, epochs
                self.update_whole()
            case Downloaded(file=file, received=received, promised=promised):
                self.update(file, f"{received / 1e6:.1f} MB", received, promised or None)
            case Measured(fold=fold, measurement=measurement):
                share = measurement.unseen.get(HEADLINE.name)
                right = "" if share is None else f", unseen right {format_percent(share, 0)}"
                self.right[fold] = right
            case Progressed(fold=fold, epochs=epochs):
                self.so_far[fold] = epochs
                self.update(fold, self.format_progress(event), epochs, self.epochs)
                self.update_whole()
            case FoldDone(fold=fold):
                self.done.add(fold)
                self.so_far.pop(fold, None)
                if fold in self.tasks:
                    self.bars.remove_task(self.tasks.pop(fold))
                self.update_whole()
            case _:
                pass

    def update_whole(self) -> None:
        completed = len(self.done) * self.epochs + sum(self.so_far.values())
        said = f"{len(self.done)} of {len(self.folds)} done"
        self.update("all folds", said, completed, len(self.folds) * self.epochs)

    def update(self, name: int | str, said: str, completed: float, total: float | None) -> None:
        title = f"fold {name}" if isinstance(name, int) else name
        if name not in self.tasks:
            self.tasks[name] = self.bars.add_task(title, said=said)
        elif completed < self.bars.tasks[self.bars.task_ids.index(self.tasks[name])].completed:
            self.bars.reset(self.tasks[name])  # begun again: the time that is left starts anew
        self.bars.update(self.tasks[name], completed=completed, total=total, said=said)

    def format_done(self, fold: int) -> str:
        return f"fold {fold} done, {len(self.done)} of {len(self.folds)}{self.right.get(fold, '')}"

    def format_progress(self, progress: Progressed) -> str:
        start = f"start {progress.start}, " if progress.start > 1 else ""
        epoch = min(int(progress.epochs) + 1, self.epochs)
        loss = "-" if progress.loss is None else f"{progress.loss:.3f}"
        right = self.right.get(progress.fold, "")
        return f"{start}epoch {epoch} of {self.epochs}, loss {loss}{right}"


def format_note(note: Note) -> Iterator[tuple[str, bool]]:
    """What a note says, sentence by sentence, and whether it is urgent."""
    if note.kind == "leakage":
        for sentence in format_leakage(note.details["split"]):
            yield sentence, sentence.startswith("warning")
        return
    who = "another process ({process} on {host})" if "host" in note.details else "another process"
    words = NOTES[note.kind].replace("{who}", who)
    yield words.format(fold=note.fold, **note.details), note.kind != "read-out"


NOTES = {
    "read-out": "What {model} can express: {expresses}.",
    "small alphabet": "the pictures have {symbols} different symbols, and {model} can tell "
    "{alphabet} apart at most; 'towers' takes any number",
    "record damaged": "{path} was damaged; written anew",
    "fold damaged": "{fault}; fold {fold} is run again",
    "other torch": "begun with torch {before}, going on with {now}: last bits may differ",
    "slow network": "{model} has not answered its first pictures in {seconds} seconds; waiting for "
    "it (Ctrl-C stops)",
    "untold part": "this {kind} reads {why}: nobody can tell whether it is the one of an earlier "
    "run, so this is a new run every time",
    "worker died": "the process of fold {fold} was killed; another one goes on with it",
    "scheduler gone": "the scheduler is gone; fold {fold} is run again once it is back",
    "not restarted": "fold {fold} is being run by another process; not restarted",
    "run elsewhere": "fold {fold} is being run by {who}, and left to it",
}
