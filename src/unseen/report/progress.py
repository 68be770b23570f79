"""A session as it goes on: notes on stderr, bars where that is a terminal, lines in Jupyter."""

import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from typing import TextIO, TypeVar, cast

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn, track
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

Item = TypeVar("Item")


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
            if isinstance(event, Started):
                started(event)


def count_up(items: Iterable[Item], total: int, console: Console) -> Iterable[Item]:
    """The same items, with a bar of how many of them there were so far, in a terminal."""
    hidden = total < 100 or not console.is_terminal
    return track(items, "pictures", total, console=console, transient=True, disable=hidden)


def in_jupyter() -> bool:
    """Whether this process is a notebook's kernel; nothing is imported to find out."""
    kernel = sys.modules.get("ipykernel.kernelapp")
    return kernel is not None and bool(kernel.IPKernelApp.initialized())


class Bars(Progress):
    """Bars by name, each with a text and the time that is left; only in a terminal."""

    def __init__(self, console: Console, *, quiet: bool) -> None:
        super().__init__(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[text]}", markup=False),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
            speed_estimate_period=300,
        )
        self.named: dict[str, TaskID] = {}

    def show(self, name: str, text: str, completed: float, total: float | None) -> None:
        """Add a bar, or bring it up to date."""
        if name not in self.named:
            self.named[name] = self.add_task(name, text=text)
        self.update(self.named[name], completed=completed, total=total, text=text)

    def drop(self, name: str) -> None:
        if name in self.named:
            self.remove_task(self.named.pop(name))


class SessionDisplay:
    """The bars of a session: one for all folds, one for each under way, one for a download."""

    def __init__(self, console: Console, *, quiet: bool) -> None:
        self.console, self.quiet = console, quiet
        self.bars = Bars(console, quiet=quiet)
        self.in_notebook = not quiet and not console.is_terminal and in_jupyter()
        self.folds: tuple[int, ...] = ()
        self.done: set[int] = set()
        self.epochs = 1
        self.so_far: dict[int, float] = {}  # epochs of the folds under way
        self.right: dict[int, str] = {}  # unseen combinations, as last measured

    def show(self, event: Event) -> None:
        match event:
            case Started(folds=folds, epochs=epochs):
                self.folds, self.epochs = folds, epochs
                self.show_all_folds()
            case Downloaded(file=file, received=received, promised=promised):
                self.bars.show(file, f"{received / 1e6:.1f} MB", received, promised or None)
            case Measured(fold=fold, measurement=measurement):
                share = measurement.unseen.get(HEADLINE.name)
                right = "" if share is None else f", unseen right {format_percent(share, 0)}"
                self.right[fold] = right
            case Progressed(fold=fold, epochs=epochs):
                self.so_far[fold] = epochs
                self.bars.show(f"fold {fold}", self.format_progress(event), epochs, self.epochs)
                self.show_all_folds()
            case FoldDone(fold=fold):
                self.done.add(fold)
                self.so_far.pop(fold, None)
                self.bars.drop(f"fold {fold}")
                self.show_all_folds()
                if self.in_notebook:
                    done = f"fold {fold} done, {len(self.done)} of {len(self.folds)}"
                    self.print(done + self.right.get(fold, ""))
            case Note():
                for text, urgent in format_note(event):
                    if urgent or not self.quiet:
                        self.print(text, style="yellow" if urgent else "dim")

    def print(self, text: str, style: str = "") -> None:
        self.console.print(Text(text, style=style), soft_wrap=True)

    def show_all_folds(self) -> None:
        completed = len(self.done) * self.epochs + sum(self.so_far.values())
        text = f"{len(self.done)} of {len(self.folds)} done"
        self.bars.show("all folds", text, completed, len(self.folds) * self.epochs)

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
    "untold part": "this {kind} reads {why}, which cannot be compared with an earlier run, so this "
    "is a new run every time",
    "worker died": "the process of fold {fold} was killed; another one goes on with it",
    "scheduler gone": "the scheduler is gone; fold {fold} is run again once it is back",
    "not restarted": "fold {fold} is being run by another process; not restarted",
    "run elsewhere": "fold {fold} is being run by {who}, and left to it",
}
