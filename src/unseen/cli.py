"""The command line: commands by name, loaded when they are called, and faults for people."""

import cyclopts
from cyclopts import App

from unseen.commands.output import say
from unseen.errors import SettingError, UnseenError


def _version() -> str:
    from importlib.metadata import version

    return version("unseen")


app = App(
    name="unseen",
    help="A network is shown some pairs of digits and only their sums. "
    "Does it get the pairs it has never seen?",
    help_format="plaintext",
    version=_version,
    suppress_keyboard_interrupt=False,
)
# by their paths: help needs neither numpy nor torch
app.command(
    "unseen.commands.run:run",
    name="run",
    help="Run an experiment, or finish one: its folds in parallel, then its tables.",
)
app.command("unseen.commands.show:runs", name="runs", help="List what was run.")
app.command("unseen.commands.show:show", name="show", help="Print the tables of a run again.")
app.command(
    "unseen.commands.report:report",
    name="report",
    help="Write a run as one HTML page, or as LaTeX, Markdown or CSV.",
)
app.command(
    "unseen.commands.compare:compare",
    name="compare",
    help="Compare runs of one problem, combination by combination.",
)


def command(arguments: list[str] | None = None) -> int:
    """Run one command line; returns its exit code."""
    try:
        app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        return 0
    except SettingError as error:
        say(f"--{error.setting.replace('_', '-')} {error.value} {error.fault}")
    except (UnseenError, cyclopts.CycloptsError) as error:
        say(str(error))
    except MemoryError:
        say("out of memory; fewer combinations, --samples or --test-samples need less")
    except BrokenPipeError:
        raise
    except OSError as error:
        say(f"cannot use {error.filename or 'the output'}: {error.strerror}")
    return 2
