"""Results that take longer than a report should: computed on demand, kept in the run folder."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError

from unseen.insight.error_parts import ErrorParts
from unseen.insight.statistics import Spread, spread

DEEP_FILE = "deep.json"


class DeepFold(BaseModel):
    """A fold looked into: its errors from many images, and digits read from its layers."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    images: int  # in each place
    by_row: dict[int, ErrorParts]  # of the table of all combinations
    probes: dict[str, tuple[float, ...]]  # layer -> by place, the share read right


@dataclass(frozen=True)
class MeanProbe:
    """How well a linear classifier reads the digit of each place from a layer, over folds."""

    layer: str
    places: tuple[Spread, ...]


def deep_of(kept: bytes | None) -> DeepFold | None:
    """What was kept of a fold; None if nothing was, or it cannot be read."""
    if kept is None:
        return None
    try:
        return DeepFold.model_validate_json(kept)
    except ValidationError:
        return None


def mean_probes(folds: Sequence[DeepFold | None]) -> tuple[MeanProbe, ...]:
    """The probes of all folds, layer by layer; empty where a fold has none."""
    known = [fold.probes for fold in folds if fold is not None]
    if not known or len(known) < len(folds):
        return ()
    return tuple(
        MeanProbe(layer, tuple(map(spread, zip(*(probes[layer] for probes in known), strict=True))))
        for layer in known[0]
    )
