"""Results that take longer than a report should: computed on demand, kept in the run folder."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError

from unseen.analysis.error_parts import ErrorParts
from unseen.analysis.statistics import Spread, spread
from unseen.problem.task import Task

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


def deep_of(kept: bytes | None, task: Task, fold: int) -> DeepFold | None:
    """What was kept of a fold; None if nothing was, or it is not about this fold."""
    if kept is None:
        return None
    try:
        deep = DeepFold.model_validate_json(kept)
    except ValidationError:
        return None
    unseen, places = {*task.unseen(fold).tolist()}, task.combinations.digits.shape[1]
    parts = [*(each.misread for each in deep.by_row.values()), *deep.probes.values()]
    is_of_fold = deep.by_row and deep.by_row.keys() <= unseen and deep.images >= 2
    return deep if is_of_fold and all(len(each) == places for each in parts) else None


def mean_probes(folds: Sequence[DeepFold | None]) -> tuple[MeanProbe, ...]:
    """The probes of all folds, layer by layer; empty where a fold has none."""
    known = [fold.probes for fold in folds if fold is not None]
    if (
        not known
        or len(known) < len(folds)
        or any(each.keys() != known[0].keys() for each in known)
    ):
        return ()
    return tuple(
        MeanProbe(layer, tuple(map(spread, zip(*(probes[layer] for probes in known), strict=True))))
        for layer in known[0]
    )
