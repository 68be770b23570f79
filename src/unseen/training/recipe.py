"""The settings of training. Their defaults are those of the preset `fast`."""

import os
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from unseen.errors import SettingError, unknown
from unseen.networks.models import MODELS
from unseen.networks.own_files import is_own
from unseen.settings import Frozen, PathText, known
from unseen.training.baselines import BASELINES
from unseen.training.losses import LOSSES
from unseen.training.schedules import SCHEDULES

OPTIMIZERS = ("adadelta", "adamw", "muon", "sgd")  # in optimizers.py, which needs torch


def _known_model(model: str) -> str:
    if model not in MODELS and model not in BASELINES and not is_own(model):
        file = model.rpartition(":")[0] or model
        if file.endswith(".py") and os.path.isfile(file):
            raise SettingError("model", model, f"names no class; say it as {file}:Class")
        raise unknown("model", model, [*MODELS, *BASELINES, "file.py:Class"], place="file")
    return model


class Training(Frozen):
    """The settings of training.

    >>> import unseen
    >>> unseen.Training(model="lenet5", epochs=3).optimizer
    'muon'
    """

    model: Annotated[PathText, AfterValidator(_known_model)] = Field(
        "lenet5-curved", description="Network or baseline; or file.py:Class, your own"
    )
    epochs: int = Field(1, ge=1, le=1_000_000, description="Passes over the training samples")
    batch_size: int = Field(96, ge=1, le=10_000_000, description="Samples per step")
    loss: Annotated[str, known("loss", lambda: LOSSES)] = Field(
        "huber", description="What training minimises: " + " or ".join(LOSSES)
    )
    optimizer: Annotated[str, known("optimizer", lambda: OPTIMIZERS)] = Field(
        "muon", description="Optimiser: " + ", ".join(OPTIMIZERS)
    )
    learning_rate: float = Field(0.035, gt=0, description="Peak learning rate of the schedule")
    schedule: Annotated[str, known("schedule", lambda: SCHEDULES)] = Field(
        "one-cycle", description="Learning rate schedule: " + " or ".join(SCHEDULES)
    )
    scale_answers: bool = Field(
        True, description="Train on answers with mean 0 and standard deviation 1"
    )
    precision: Literal["fp32", "bf16"] = Field(
        "fp32", description="Arithmetic in training: fp32 or bf16"
    )
    averaged_epochs: int = Field(
        0, ge=0, description="Average the weights over this many last epochs; 0 averages none"
    )
    fresh_draws: bool = Field(False, description="Draw other training samples in every epoch")
    distortion: float = Field(
        0.0, ge=0, le=3, description="Distort each training symbol: 0 not at all, 1 as usual"
    )
    starts: int = Field(
        1, ge=1, le=100,
        description="Maximum number of trainings, repeated while seen combinations come out wrong",
    )  # fmt: skip
    watched_samples: int = Field(
        500, ge=0, le=1_000_000,
        description="Samples of seen and of unseen combinations to measure in training; 0: none",
    )  # fmt: skip

    @model_validator(mode="after")
    def _averages_epochs_that_there_are(self) -> Self:
        if self.averaged_epochs > self.epochs:
            raise ValueError(
                f"cannot average the weights of {self.averaged_epochs} epochs: "
                f"there are {self.epochs}"
            )
        return self
