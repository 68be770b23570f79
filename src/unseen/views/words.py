"""Shim until words move here."""

from collections.abc import Iterator, Mapping
from typing import Any

from unseen.insight.words import format_percent  # noqa

WARNING = "warning: "


def is_warning(sentence: str) -> bool:
    return sentence.startswith(WARNING)


def format_leakage(details: Mapping[str, Any]) -> Iterator[str]:
    yield str(details["rule"])
