"""A study as it goes on: a live table where there is a terminal, else a line for each fold."""

import math
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from unseen.errors import printable
from unseen.networks.own_files import is_own
from unseen.report.progress import format_note
from unseen.report.repeat_command import as_typed
from unseen.report.tables import console_table, format_measure
from unseen.report.words import format_count
from unseen.runs.checks import PATIENCE_SECONDS
from unseen.runs.differences import differences
from unseen.runs.engine import Engine
from unseen.runs.run_folder import RunFolder
from unseen.studies.calibration import Rates, fold_passes
from unseen.studies.sweep import Plan, StudyEvent, StudyFold, StudyNote, Tally, Working
from unseen.training.metrics import HEADLINE

LAST_SHOWN = 5  # folds that ended


@dataclass
class StudyDisplay:
    """What a person sees of a study while it runs."""

    plan: Plan
    rates: Rates
    engine: Engine
    console: Console
    quiet: bool = False
    tally: Tally = field(init=False)
    names: dict[RunFolder, str] = field(init=False)
    last: deque[str] = field(default_factory=lambda: deque(maxlen=LAST_SHOWN))
    active: float = field(default_factory=time.monotonic)  # when a fold was last seen under way

    def __post_init__(self) -> None:
        self.tally = Tally(self.plan.fold_count)
        self.names = run_names(self.plan)
        # of missing folds by model; making their tasks anew at every refresh would take too long
        self.passes = {
            (job.folder, job.fold): (
                job.experiment.training.model,
                fold_passes(job.experiment, job.fold),
            )
            for job in self.plan.missing
        }

    def follow(self, events: Iterator[StudyEvent]) -> Iterator[StudyFold]:
        """Show a sweep to its end, and hand on its folds."""
        live = Live(console=self.console, transient=True, auto_refresh=False)
        shown = self.console.is_terminal and not self.quiet
        with closing(events), live if shown else _nothing():  # type: ignore[type-var]
            for event in events:
                if isinstance(event, StudyFold):
                    self.count(event)
                    yield event
                elif isinstance(event, StudyNote) and not self.quiet:
                    for text, _ in format_note(event.note):
                        self.tell(f"{self.names[event.folder]}: {text}")
                elif isinstance(event, Working):
                    self.tell_of_silence(event)
                    if shown:
                        live.update(self.table(event), refresh=True)

    def count(self, fold: StudyFold) -> None:
        self.tally.count(fold)
        self.active = time.monotonic()
        if fold.was_done:
            return
        self.passes.pop((fold.folder, fold.fold), None)
        if fold.result is not None:
            self.rates.learn(fold.run.experiment, fold.fold, fold.result.seconds)
        said = self.format_fold(fold)
        self.last.append(said)
        if not self.quiet and not self.console.is_terminal:
            ended = self.tally.done + len(self.tally.failed) + self.tally.left
            self.tell(f"{ended} of {self.tally.whole}: {said}")

    def tell_of_silence(self, working: Working) -> None:
        """Say once if networks of one's own do not begin: one may hang where it is imported."""
        own = {job.experiment.training.model for job in working.running
               if is_own(job.experiment.training.model)}  # fmt: skip
        if not own or any(job.folder.progress(job.fold) for job in working.running):
            self.active = time.monotonic()
        elif time.monotonic() - self.active > PATIENCE_SECONDS:
            self.active = math.inf
            for model in sorted(own):
                self.tell(
                    f"{model} has not begun in {PATIENCE_SECONDS} seconds; waiting for it (Ctrl-C "
                    "stops)"
                )

    def tell(self, text: str) -> None:
        self.console.print(Text(printable(text)), soft_wrap=True)

    def format_fold(self, fold: StudyFold) -> str:
        name = f"{self.names[fold.folder]} fold {fold.fold}"
        if fold.result is None:
            return f"{name} failed: {fold.error}" if fold.error else f"{name} is run elsewhere"
        right = format_measure(HEADLINE, fold.result.measures.get(HEADLINE.name))
        return f"{name}: {right} right, {fold.result.seconds:.1f} s"

    def table(self, working: Working) -> RenderableType:
        table = console_table()
        for heading in ("run", "fold", "epoch"):
            table.add_column(heading, justify="left" if heading == "run" else "right")
        for job in working.running:
            if (so_far := job.folder.progress(job.fold)) is not None:
                again = f"start {so_far.start}, " if so_far.start > 1 else ""
                epochs = f"{again}{so_far.epochs:.1f} of {job.experiment.training.epochs}"
                table.add_row(Text(self.names[job.folder]), str(job.fold), epochs)
        running = table if table.row_count else Text("waiting for the first epoch of a fold")
        return Group(running, *map(Text, self.last), Text(self.headline(), style="bold"))

    def headline(self) -> str:
        tally = self.tally
        failed = f", {len(tally.failed)} failed" if tally.failed else ""
        seconds = self.seconds_left()
        left = f"; {format_duration(seconds)} left" if seconds else ""
        return f"{tally.done} of {format_count(tally.whole, 'fold')} done{failed}{left}"

    def seconds_left(self) -> float:
        """From the folds that are done, also those of this sweep; 0 as long as none is."""
        left: defaultdict[str, float] = defaultdict(float)
        for model, passes in self.passes.values():
            left[model] += passes
        return sum(self.rates.per_pass(model) * left[model] for model in left) / self.engine.slots


class _nothing:  # noqa: N801
    def __enter__(self) -> None: ...
    def __exit__(self, *fault: object) -> None: ...


def run_names(plan: Plan, most: int | None = None) -> dict[RunFolder, str]:
    """The first runs of a study by their presets and the settings that not all of them have."""
    named = [*islice(plan.runs.items(), most)]
    apart = differences([run.experiment for _, run in named])[0]
    return {
        folder: printable(" ".join([run.experiment.name, *([said] if said else [])]))
        for (folder, run), said in zip(named, as_typed(apart), strict=True)
    }


def format_duration(seconds: float) -> str:
    """Seconds as people say them: 40 seconds, 12 minutes, 3.5 hours."""
    if seconds < 90:
        return format_count(round(seconds), "second")
    if seconds < 5400:
        return format_count(round(seconds / 60), "minute")
    return f"{seconds / 3600:.1f} hours"
