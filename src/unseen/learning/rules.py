"""Rules: what a table of answers follows, found from the entries that were seen.

A table says which answer each combination of a network's own symbols has. Where combinations were
seen, training has filled it in. A rule gives each symbol a value, and the answer is a function of
the values; fitted to what was seen, it says what the rest should be. Several kinds of rules are
tried, simplest first, each from many random starts; only seen entries decide between them.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from unseen.learning.stepwise import Stepwise, adam_step

# A rule explains a table if it is this near to it: mean Huber loss, in spreads of the answers.
EXPLAINED = 5e-3
ELBOW = 0.1  # where that loss turns from squared to absolute: a few wrong entries must not count
PEAK_RATE = 0.05
SUMS_ONLY, QUICK, THOROUGH = range(3)  # efforts


@dataclass(frozen=True)
class Kind:
    """A kind of rules, and how hard to look for one."""

    stages: tuple[tuple[int, int], ...]  # rules at a time, steps
    directions: int = 4  # of squares and absolute values; with none, a rule is a sum of values


@dataclass(frozen=True)
class Rules:
    """Many rules of one kind, side by side: the first axis of each tensor."""

    values: Tensor  # (n, symbols), the same in all places
    directions: Tensor  # (n, weighted places, directions)
    offsets: Tensor  # (n, 1, directions)
    weights: Tensor  # (n, weighted places + 2 · directions, switch symbols or 1)
    bias: Tensor  # (n, 1, switch symbols or 1)

    def tables(self, switch: int | None) -> Tensor:
        """The answer of every rule to every combination: (n, symbols, …), an axis for each place.

        It is linear in the values v, in u² and in |u|, where u are directions through v.
        """
        symbols, weighted = self.values.shape[1], self.directions.shape[1]
        axes = torch.cartesian_prod(*[torch.arange(symbols)] * weighted)
        v = self.values[:, axes.view(-1, weighted)]  # (n, combinations, weighted places)
        u = torch.baddbmm(self.offsets, v, self.directions)
        features = torch.cat([v, u.square(), u.abs()], dim=-1)
        answers = torch.baddbmm(self.bias, features, self.weights)  # (n, combinations, switch)
        grid = answers.view(len(answers), *[symbols] * weighted, -1)
        return grid.squeeze(-1) if switch is None else grid.movedim(-1, 1 + switch)

    def tensors(self) -> list[Tensor]:
        return [*vars(self).values()]


@dataclass(frozen=True)
class FoundRule:
    """A rule's table of answers, and how far from the seen entries it is."""

    table: Tensor  # (symbols, …): an axis for each place
    residual: float

    @property
    def explains(self) -> bool:
        return self.residual < EXPLAINED


def find_rule(table: Tensor, evidence: Tensor, effort: int = THOROUGH) -> FoundRule:
    """The simplest rule that explains a table, or else the nearest.

    `evidence` says how much each entry counts, `effort` how long to look at most.
    """
    generator = torch.Generator().manual_seed(0)
    found = []
    for kind, switch in _kinds(table.ndim, effort):
        rules = _random_rules(kind, switch, table, generator)
        found.append(_fit(rules, kind, switch, table, evidence / evidence.sum()))
        if found[-1].explains:
            return found[-1]
    return min(found, key=lambda rule: rule.residual)


def _kinds(places: int, effort: int) -> Iterator[tuple[Kind, int | None]]:
    """The kinds to try, each with the place of its switch."""
    yield SUM, None
    if effort >= QUICK:
        yield CURVED, None
    if effort >= THOROUGH and places <= 2:
        yield CURVED_FROM_MANY_STARTS, None
    elif effort >= THOROUGH:  # in a pair, a switch would weight every combination by itself
        yield from ((SWITCHED, switch) for switch in range(places))


def _fit(
    rules: Rules, kind: Kind, switch: int | None, table: Tensor, evidence: Tensor
) -> FoundRule:
    """Fit rules from random starts, all at a time; the nearest go on to the next stage."""
    distances = torch.zeros(kind.stages[0][0])
    for count, steps in kind.stages:
        going_on = distances.argsort()[:count]
        rules = Rules(*[each.detach()[going_on].requires_grad_() for each in rules.tensors()])
        optimizer = Stepwise(rules.tensors(), PEAK_RATE, adam_step)  # type: ignore[arg-type]
        for step in range(steps):
            optimizer.param_groups[0]["lr"] = PEAK_RATE * (
                0.5 + 0.5 * math.cos(math.pi * step / steps)
            )
            optimizer.zero_grad()
            _distances(rules, switch, table, evidence).sum().backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        distances = _distances(rules, switch, table, evidence).detach()
    nearest = int(distances.argmin())
    answers = rules.tables(switch)[nearest].detach()
    return FoundRule(answers.contiguous(), float(distances[nearest]))


def _random_rules(
    kind: Kind, switch: int | None, table: Tensor, generator: torch.Generator
) -> Rules:
    places, symbols, count = table.ndim, len(table), kind.stages[0][0]
    weighted = places if switch is None else places - 1
    branches = 1 if switch is None else symbols

    def normal(*shape: int) -> Tensor:
        return torch.randn(count, *shape, generator=generator)

    # squares and absolute values begin as nothing: what sums can do is left to sums
    curved = torch.zeros(count, 2 * kind.directions, branches)
    return Rules(
        values=normal(symbols),
        directions=normal(weighted, kind.directions),
        offsets=0.5 * normal(1, kind.directions),
        weights=torch.cat([0.7 * normal(weighted, branches), curved], dim=1),
        bias=torch.zeros(count, 1, branches),
    )


def _distances(rules: Rules, switch: int | None, table: Tensor, evidence: Tensor) -> Tensor:
    """How far each rule is from the table: (n,) mean Huber losses."""
    tables = rules.tables(switch)
    errors = functional.smooth_l1_loss(
        tables, table.expand_as(tables), beta=ELBOW, reduction="none"
    )
    return (errors * evidence).flatten(1).sum(1)


SUM = Kind(stages=((8, 400),), directions=0)
CURVED = Kind(stages=((24, 500),))
# the last digit of a sum is found from one start in fifty
CURVED_FROM_MANY_STARTS = Kind(stages=((256, 300), (32, 1000)))
# the symbol in one place says how to weight the others
SWITCHED = Kind(stages=((16, 1500),))
