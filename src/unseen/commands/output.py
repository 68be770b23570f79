"""What a command says: results on stdout, everything else on stderr."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console, RenderableType

from unseen.errors import printable
from unseen.report.terminal import PlainConsole


class HelpConsole(Console):
    """Prints help and versions; rich itself would exit with 1 where the pipe is closed."""

    def on_broken_pipe(self) -> None:
        raise  # noqa: PLE0704


stderr_console = PlainConsole(stderr=True)

RunsDir = Annotated[Path, Parameter(help="Folder of the run folders [runs]")]
AsJson = Annotated[bool, Parameter(negative="", help="One JSON object on stdout")]


def emit(what: RenderableType) -> None:
    """Print on stdout: a plain text as it is, all else as wide as the terminal."""
    if not isinstance(what, str):
        console = PlainConsole()
        with console.capture() as rendered:
            console.print(what, crop=False)
        print(rendered.get().removesuffix("\n"), flush=True)
    else:
        print(printable(what, but="\n"), flush=True)


def say(text: str) -> None:
    """One line on stderr, for a person."""
    print("unseen:", printable(" ".join(text.split())), file=sys.stderr, flush=True)
