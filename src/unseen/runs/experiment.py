"""An experiment: everything that its numbers depend on, frozen and typed."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo

from unseen.errors import UnseenError, unknown
from unseen.networks.own_files import is_own, own_sha256
from unseen.parts import ADDED, AddedPart
from unseen.problem.problem import DEVELOPMENT_SPLIT_SEED, PAPER_SPLIT_SEED, Problem
from unseen.problem.splits import typed_folds
from unseen.problem.symbols import canonical_symbols, symbols_sha256
from unseen.settings import Frozen, setting_names, usable_path
from unseen.training.recipe import Training

# Raise it when the same experiment would give other numbers than before, or a default changes.
RESULTS_VERSION = 1
NOT_COUNTED = {"watched_samples"}  # settings that no number depends on
PART_KINDS = ("model", "operation", "symbols", "split")  # that can be added to


class Experiment(Frozen):
    """A problem, a way to learn it, a seed, and what else the last bits depend on.

    >>> import unseen
    >>> experiment = unseen.PRESETS["fast"]().vary(operation="subtract", seed=3)
    >>> experiment.problem.operation, experiment.seed
    ('subtract', 3)
    """

    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", examples=["my-recipe-2"])
    problem: Problem = Field(default_factory=Problem)
    training: Training = Field(default_factory=Training)
    seed: int = Field(0, ge=0, lt=2**63, description="Seed of samples, weights and batches")
    device: str = Field(
        "cpu",
        pattern=r"^(cpu|mps|cuda(:\d+)?)$",
        examples=["cpu", "cuda", "cuda:1", "mps"],
        description="cpu, cuda, cuda:1 or mps",
    )
    threads: int = Field(1, ge=1, le=1024, description="Threads per fold")

    def vary(self, **settings: Any) -> "Experiment":
        """The same experiment with some settings changed, by the names of the command line."""
        refuse_unknown(settings)
        changed: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
        for name, value in _resolved(settings, self).items():
            part, field = FIELDS[name]
            changed[part][field] = value
        own = changed.pop("")
        parts = {part: getattr(self, part).change(**fields) for part, fields in changed.items()}
        return self.change(**parts, **own)


def refuse_unknown(settings: Mapping[str, Any], others: Iterable[str] = ()) -> None:
    """Refuse settings that no experiment has; `others` are allowed by the caller."""
    if stray := settings.keys() - SETTINGS.keys() - {"unseen_list", "name"}:
        raise unknown("setting", min(stray), [*SETTINGS, *others])


def _resolved(settings: Mapping[str, Any], experiment: Experiment) -> dict[str, Any]:
    """Settings with paths made absolute, and a split to develop on."""
    resolved = dict(settings)
    if "symbols" in settings:
        resolved["symbols"] = canonical_symbols(usable_path("symbols", settings["symbols"]))
    if is_own(model := str(settings.get("model", ""))):
        file, _, name = usable_path("model", model).rpartition(":")
        try:
            resolved["model"] = f"{Path(file).resolve()}:{name}"
        except (OSError, RuntimeError) as error:  # a link to itself
            raise UnseenError(f"cannot read {file}: {error}") from error
    if settings.get("development") and experiment.problem.split_seed == PAPER_SPLIT_SEED:
        resolved.setdefault("split_seed", DEVELOPMENT_SPLIT_SEED)
    return resolved


def setting_value(experiment: Experiment, name: str) -> Any:
    """The value of a setting, by the name that the command line has for it.

    Where unseen combinations were listed, the list is the split, as it is typed.
    """
    if name == "split" and experiment.problem.unseen_list:
        return typed_folds(experiment.problem.unseen_list)
    if name not in FIELDS:
        raise unknown("setting", name, SETTINGS)
    part, field = FIELDS[name]
    return getattr(getattr(experiment, part) if part else experiment, field)


def fingerprint(experiment: Experiment, sums: Mapping[str, str] | None = None) -> str:
    """Twelve characters that change with anything that the numbers depend on.

    Symbols, a model's file and registered parts count by what they hold, not by where they are: by
    these sums, or by those of now. A setting at its default does not count, so that a new
    setting moves no earlier run.
    """
    values = {name: setting_value(experiment, name) for name in SETTINGS.keys() - NOT_COUNTED}
    counted = {name: value for name, value in values.items() if value != SETTINGS[name].default}
    counted.pop("symbols", None)
    if is_own(model := experiment.training.model):
        counted["model"] = model.rpartition(":")[2]
    content = content_sums(experiment) if sums is None else sums
    identity = {"results": RESULTS_VERSION, "settings": counted, "sums": {**content}}
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:12]


def content_sums(experiment: Experiment) -> dict[str, str]:
    """What symbols, a model's file and registered parts hold now, as SHA-256 by kind."""
    model = experiment.training.model
    return part_sums(experiment) | ({"model": own_sha256(model)} if is_own(model) else {})


def part_sums(experiment: Experiment) -> dict[str, str]:
    """The same without a model's file."""
    sums = {kind: part.sha256() for kind, part in added_parts(experiment).items()}
    return sums | {"symbols": symbols_sha256(experiment.problem.symbols)}


def added_parts(experiment: Experiment) -> dict[str, AddedPart]:
    """By kind, what an experiment uses that is not this package's own."""
    used = {kind: setting_value(experiment, kind) for kind in PART_KINDS}
    return {kind: ADDED[kind, name] for kind, name in used.items() if (kind, name) in ADDED}


# by attribute, the parts of an experiment that have settings; "" for itself
PARTS: dict[str, type[BaseModel]] = {"problem": Problem, "training": Training, "": Experiment}
SETTINGS: dict[str, FieldInfo] = {
    name: info
    for model in PARTS.values()
    for name, info in setting_names(model).items()
    if info.description
}
# by setting, the part of an experiment that has it, and the name of its field
FIELDS: dict[str, tuple[str, str]] = {
    info.title or field: (part, field)
    for part, model in PARTS.items()
    for field, info in model.model_fields.items()
}
