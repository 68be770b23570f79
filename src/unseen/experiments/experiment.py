"""An experiment: everything that its numbers depend on, frozen and typed."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from unseen.errors import UnseenError, unknown

# Raise it when the same experiment would give other numbers than before.
RESULTS_VERSION = 2

PAPER_SPLIT_SEED = 376483  # of the authors' notebook
DEVELOPMENT_SPLIT_SEED = 1


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def _registered(kind: str) -> AfterValidator:
    """Refuse a name that its registry does not have.

    The registries are looked up when a value is checked: some need numpy, and help needs neither.
    """

    def check(name: str) -> str:
        known = _registry(kind)
        if name not in known:
            raise ValueError(str(unknown(kind, name, known)))
        return name

    return AfterValidator(check)


def _registry(kind: str) -> dict[str, Any]:
    from unseen.learning.losses import LOSSES
    from unseen.learning.optimizers import OPTIMIZERS, SCHEDULES
    from unseen.problem.splits import LISTED, SPLITS

    registries: dict[str, dict[str, Any]] = {
        "loss": LOSSES,
        "optimizer": OPTIMIZERS,
        "schedule": SCHEDULES,
        "split": SPLITS | {LISTED: None},
    }
    return registries[kind]


def _canonical_operation(text: str) -> str:
    from unseen.problem.operations import canonical_operation

    with _as_value_error():
        return canonical_operation(text)


@contextmanager
def _as_value_error() -> Iterator[None]:
    """What is wrong with a value, as validation wants to be told."""
    try:
        yield
    except UnseenError as error:
        raise ValueError(str(error)) from error


def _known_model(model: str) -> str:
    from unseen.learning.baselines import BASELINES
    from unseen.learning.models import MODELS, is_own

    if model not in MODELS and model not in BASELINES and not is_own(model):
        raise ValueError(str(unknown("model", model, [*MODELS, *BASELINES, "file.py:Class"])))
    return model


class Problem(Frozen):
    """What is asked."""

    operation: Annotated[str, AfterValidator(_canonical_operation)] = "add"
    length: int = Field(2, ge=1, le=20)
    symbols: str = "mnist"
    split: Annotated[str, _registered("split")] = "random"
    split_seed: int = Field(PAPER_SPLIT_SEED, ge=0, lt=2**32)
    unseen: int | None = Field(None, ge=1)
    unseen_list: tuple[tuple[int, ...], ...] = ()
    samples_per_combination: int = Field(1_000, ge=1)
    test_samples_per_combination: int = Field(2_000, ge=1)
    development: bool = False

    @model_validator(mode="after")
    def _operation_fits_the_length(self) -> Self:
        from unseen.problem.operations import parse_operation

        with _as_value_error():
            parse_operation(self.operation, self.length)
        return self

    @model_validator(mode="after")
    def _list_is_there_where_it_is_split_by(self) -> Self:
        if (self.split == "listed") != bool(self.unseen_list):
            raise ValueError("a list of unseen combinations goes with split 'listed', and only so")
        if self.unseen_list and self.unseen is not None:
            raise ValueError("a list of combinations says how many are unseen; leave out --unseen")
        return self

    @model_validator(mode="after")
    def _development_keeps_off_the_evaluation(self) -> Self:
        if self.development and self.split_seed == PAPER_SPLIT_SEED:
            raise ValueError(
                "development folds need another split seed than the paper's, "
                f"{PAPER_SPLIT_SEED}: choices are never made on the folds that judge them"
            )
        return self


class Training(Frozen):
    """How it is fitted."""

    model: Annotated[str, AfterValidator(_known_model)]
    epochs: int = Field(ge=1, le=1_000_000)
    batch_size: int = Field(ge=1, le=10_000_000)
    optimizer: Annotated[str, _registered("optimizer")]
    learning_rate: float = Field(gt=0)
    schedule: Annotated[str, _registered("schedule")]
    scale_answers: bool
    precision: Literal["fp32", "bf16"] = "fp32"
    averaged_epochs: int = Field(0, ge=0)
    watched_samples: int = Field(0, ge=0, le=1_000_000)
    fresh_draws: bool = False
    distortion: float = Field(0.0, ge=0, le=3)
    loss: Annotated[str, _registered("loss")] = "mse"

    @model_validator(mode="after")
    def _averages_epochs_that_there_are(self) -> Self:
        if self.averaged_epochs > self.epochs:
            raise ValueError(
                f"cannot average the weights of {self.averaged_epochs} epochs: "
                f"there are {self.epochs}"
            )
        return self


class Experiment(Frozen):
    """A problem, a way to learn it, a seed, and what else the last bits depend on."""

    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")
    problem: Problem
    training: Training
    seed: int = Field(0, ge=0, lt=2**63)
    device: str = Field("cpu", pattern=r"^(cpu|mps|cuda(:\d+)?)$")
    threads: int = Field(1, ge=1, le=1024)

    def vary(
        self,
        *,
        problem: dict[str, Any] | None = None,
        training: dict[str, Any] | None = None,
        **changes: Any,
    ) -> "Experiment":
        """The same experiment with some settings changed, checked anew."""
        settings = self.model_dump()
        settings["problem"].update(problem or {})
        settings["training"].update(training or {})
        return Experiment.model_validate(settings | changes)


def fingerprint(experiment: Experiment) -> str:
    """Twelve characters that change with anything that the numbers depend on.

    A folder of symbols and a model's file count by what they hold, not by where they are. A setting
    at its default does not count, so that one more setting leaves earlier runs where they are. A
    network that uses numba counts as another where that is not installed.
    """
    from unseen.learning.models import MODELS, has_numba, is_own
    from unseen.problem.symbols import symbols_sha256

    settings = experiment.model_dump(mode="json", exclude={"name"}, exclude_defaults=True)
    settings["problem"]["symbols"] = symbols_sha256(experiment.problem.symbols)
    if is_own(experiment.training.model):
        from unseen.learning.own_models import own_sha256

        name = experiment.training.model.rpartition(":")[2]
        settings["training"]["model"] = f"{own_sha256(experiment.training.model)}:{name}"
    elif known := MODELS.get(experiment.training.model):
        if known.revision > 1:
            settings["training"]["model"] += f", revision {known.revision}"
        if known.uses_numba and experiment.device == "cpu" and not has_numba():
            settings["training"]["model"] += ", without numba"
    settings["results_version"] = RESULTS_VERSION
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]


def check_device(device: str) -> None:
    """Refuse a device that this machine does not have."""
    if device == "cpu":
        return
    import torch

    available = torch.backends.mps.is_available() if device == "mps" else torch.cuda.is_available()
    if device.startswith("cuda:") and available:
        available = int(device.removeprefix("cuda:")) < torch.cuda.device_count()
    if not available:
        raise UnseenError(f"this machine has no device {device!r}; --device cpu is always there")
