"""What the paper prints: two tables, of two different sets of ten networks.

The authors' notebook, in its first version, prints both (its repository mdbloice/JIIS-MNIST-
Calculator, commit 46656cf). The accuracy table is of networks that were trained on 2,000 samples a
pair; their own MSE is printed by the same cell, and not in the paper. The MSE table is of ten other
networks on the same folds, most likely trained on 1,000. So accuracies belong beside runs with
2,000 samples, and the MSE table beside runs with 1,000. The rows are the notebook's folds, in their
order: a later cell lists the last fold's training pairs.
"""

from dataclasses import dataclass

from unseen.analysis.statistics import Spread, spread
from unseen.problem.problem import Problem


@dataclass(frozen=True)
class PublishedNetworks:
    """Ten networks of the authors', one a fold, and their figures by the names of METRICS."""

    samples: int  # a pair, in training
    note: str
    by_fold: dict[str, tuple[float, ...]]

    @property
    def label(self) -> str:
        return f"paper, {self.samples:,}"

    def over_folds(self) -> dict[str, Spread]:
        """Mean and standard deviation of each figure."""
        return {name: spread(values) for name, values in self.by_fold.items()}

    def has_folds_of(self, problem: Problem) -> bool:
        """Whether each row is the same experiment as a fold of this problem."""
        return problem.has_the_papers_folds and problem.samples_per_combination == self.samples


ACCURACY_TABLE = PublishedNetworks(
    2_000,
    "the networks of its accuracy table, trained on 2,000 samples a pair",
    {
        "rounded": (
            *(0.8119, 0.4300, 0.8095, 0.5508, 0.8235),
            *(0.9223, 0.5432, 0.7486, 0.8759, 0.5748),
        ),
        "floor_or_ceiling": (
            *(0.8551, 0.9089, 0.8695, 0.7121, 0.9356),
            *(0.9549, 0.8694, 0.9471, 0.9433, 0.8553),
        ),
        "within_one": (
            *(0.9493, 0.9623, 0.9512, 0.8656, 0.9528),
            *(0.9676, 0.9538, 0.9667, 0.9591, 0.9623),
        ),
        # printed by the notebook, not in the paper
        "test_mse": (
            *(0.701783894992, 0.813004768658, 0.757855157781, 1.09523425932, 0.694715266299),
            *(0.431905881453, 0.831219066906, 0.579938846898, 0.578246696866, 0.753974978352),
        ),
    },
)
ERROR_TABLE = PublishedNetworks(
    1_000,
    "the networks of its MSE table, likely trained on 1,000 samples a pair",
    {
        "test_mse": (
            *(1.1072, 0.6936, 0.7734, 0.7845, 0.9561),
            *(0.7732, 1.2150, 0.7278, 0.9464, 0.5556),
        ),
        "train_mse": (
            *(0.0632, 0.0623, 0.0661, 0.0607, 0.0694),
            *(0.0553, 0.0803, 0.0674, 0.0602, 0.0709),
        ),
    },
)


def published_beside(problem: Problem) -> list[PublishedNetworks]:
    """What of the paper a run may stand beside: the networks trained on as many samples.

    Where neither set was, both: then as means only, with their samples named.
    """
    if not problem.is_the_papers:
        return []
    tables = [ACCURACY_TABLE, ERROR_TABLE]
    same = [each for each in tables if each.samples == problem.samples_per_combination]
    return same or tables
