"""A study in a terminal: what it runs, and bars and a line for each fold while it goes on."""

from collections.abc import Generator, Iterator
from contextlib import closing

from rich.console import Console, Group, RenderableType
from rich.text import Text

from unseen.errors import printable
from unseen.report.progress import Bars, format_note
from unseen.report.repeat_command import side_by_side
from unseen.report.tables import console_table, format_measure
from unseen.report.words import format_count
from unseen.runs.run_folder import RunFolder
from unseen.studies.sweep import Plan, StudyEvent, StudyFold, StudyNote, Working, rough_seconds
from unseen.training.metrics import HEADLINE


class StudyDisplay:
    """What a person sees of a study while it runs."""

    def __init__(self, plan: Plan, console: Console, *, quiet: bool = False) -> None:
        self.plan, self.console, self.quiet = plan, console, quiet
        self.names = run_names(plan)
        self.bars = Bars(console, quiet=quiet)
        self.ended = 0
        # in rough seconds rather than folds, which may be of large and of small networks
        self.rough = {folder: rough_seconds(run.experiment) for folder, run in plan.runs.items()}
        self.total = sum(self.rough[each] * len(run.folds) for each, run in plan.runs.items())
        self.completed = 0.0

    def follow(self, events: Generator[StudyEvent, None, None]) -> Iterator[StudyFold]:
        """Show a sweep to its end, and hand on its folds."""
        with closing(events), self.bars:
            for event in events:
                if isinstance(event, StudyFold):
                    self.count(event)
                    yield event
                elif isinstance(event, StudyNote):
                    for text, _ in format_note(event.note):
                        self.print(f"{self.names[event.folder]}: {text}")
                elif self.console.is_terminal and not self.quiet:
                    self.show(event)

    def count(self, fold: StudyFold) -> None:
        self.ended += 1
        self.completed += self.rough[fold.folder]
        if not fold.was_done:
            self.print(f"{self.ended} of {self.plan.fold_count}: {self.format_fold(fold)}")

    def show(self, working: Working) -> None:
        running, under_way = set(), 0.0
        for job in working.running:
            if (so_far := job.folder.progress(job.fold)) is not None:
                name = f"{self.names[job.folder]} fold {job.fold}"
                epochs = job.experiment.training.epochs
                start = f"start {so_far.start}, " if so_far.start > 1 else ""
                text = f"{start}{so_far.epochs:.1f} of {format_count(epochs, 'epoch')}"
                self.bars.show(name, text, so_far.epochs, epochs)
                running.add(name)
                under_way += self.rough[job.folder] * min(1.0, so_far.epochs / epochs)
        text = f"{self.ended} of {self.plan.fold_count}"
        self.bars.show("all folds", text, self.completed + under_way, self.total)
        for name in self.bars.named.keys() - running - {"all folds"}:
            self.bars.drop(name)

    def print(self, text: str) -> None:
        if not self.quiet:
            self.console.print(Text(printable(text)), soft_wrap=True)

    def format_fold(self, fold: StudyFold) -> str:
        name = f"{self.names[fold.folder]} fold {fold.fold}"
        if fold.result is None:
            return f"{name} failed: {fold.error}" if fold.error else f"{name} is run elsewhere"
        right = format_measure(HEADLINE, fold.result.measures.get(HEADLINE.name))
        return f"{name}: {right} right, {fold.result.seconds:.1f} s"


def run_names(plan: Plan) -> dict[RunFolder, str]:
    """The runs of a study by their presets and the settings that not all of them have."""
    settings, _ = side_by_side([run.experiment for run in plan.runs.values()])
    return {
        folder: printable(f"{run.experiment.name} {words}".strip())
        for (folder, run), words in zip(plan.runs.items(), settings, strict=True)
    }


def plan_table(plan: Plan) -> RenderableType:
    """Every run of a study with its folds, and how many of them are done."""
    table = console_table()
    for heading in ("run", "folds", "done"):
        table.add_column(heading, justify="left" if heading == "run" else "right", overflow="fold")
    for folder, name in run_names(plan).items():
        table.add_row(Text(name), str(len(plan.runs[folder].folds)), str(len(plan.done[folder])))
    counts = f"{format_count(len(plan.runs), 'run')}, {format_count(plan.fold_count, 'fold')}"
    about = [Text(plan.study.about)] if plan.study.about else []
    return Group(*about, table, Text(f"{counts}; {plan.done_count} done."))
