"""The terminal: nothing that is shown there is markup or a command to it."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.segment import Segment
from rich.text import Text

from unseen.errors import printable


class PlainConsole(Console):
    """A console that takes texts for what they are: names of files and folders are among them."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(printable(segment.text, but="\n"), segment.style)


def commands_apart(text: str) -> Group:
    """A text with each command in it on one line of its own, however long: it is to be copied."""
    pieces = enumerate(text.split("`"))
    return Group(
        *(
            Text(f"  {piece}", no_wrap=True, overflow="ignore") if at % 2 else Text(piece.strip())
            for at, piece in pieces
            if piece.strip()
        )
    )
