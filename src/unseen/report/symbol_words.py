"""What the symbols of a set are called, and their images."""

from dataclasses import dataclass
from pathlib import Path

from unseen.files import open_regular

NAMES_FILE = "names.txt"  # in a folder of symbols: a line for each label, from 0 on
LARGEST_NAMES_BYTES = 64 * 1024
LONGEST_NAME = 40


@dataclass(frozen=True)
class SymbolWords:
    """The words for a symbol and for its images; and names, if labels do not say what they show."""

    one: str = "symbol"  # its plural ends in s
    images: str = "images"  # as in "training images", "test images"
    names: tuple[str, ...] = ()  # by label

    @property
    def many(self) -> str:
        return f"{self.one}s"

    def name(self, label: int) -> str:
        """A label, with its name if it has one: 0 T-shirt."""
        return " ".join([str(label), *filter(None, self.names[label : label + 1])])


NEUTRAL = SymbolWords()


def symbol_words(symbols: str) -> SymbolWords:
    """The words for a registered set, or neutral ones for a folder, with the names it lists."""
    return SYMBOL_WORDS.get(symbols) or SymbolWords(names=_listed_names(Path(symbols) / NAMES_FILE))


def _listed_names(path: Path) -> tuple[str, ...]:
    """The lines of a file, without what a terminal would take for a command; none of no file."""
    try:
        with open_regular(path, LARGEST_NAMES_BYTES) as file:
            lines = file.read().decode(errors="replace").splitlines()
    except (OSError, ValueError):
        return ()
    return tuple("".join(filter(str.isprintable, line)).strip()[:LONGEST_NAME] for line in lines)


CLOTHES = (
    *("T-shirt", "trousers", "pullover", "dress", "coat"),
    *("sandal", "shirt", "sneaker", "bag", "ankle boot"),
)
SYMBOL_WORDS = {
    "mnist": SymbolWords("digit", "handwriting"),
    "mnist-0-4": SymbolWords("digit", "handwriting"),
    "fashion-mnist": SymbolWords("garment", "photographs", CLOTHES),
    "dominoes": SymbolWords("tile", "drawings"),
    "printed": SymbolWords("digit", "fonts"),
}
