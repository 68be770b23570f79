"""Rules: what a table of answers follows, found from the entries that were seen.

A table has the answer to each combination of a network's own symbols. Where combinations were seen,
training has filled it in. A rule gives each symbol a value, and the answer is a function of the
values; fitted to what was seen, it says what the rest should be. Several kinds of rules are tried,
simplest first, each from many random starts. They are compared by their distance from seen entries,
and by whether they stay within the answers that were seen.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from unseen.networks.adam import adam_step

ELBOW = 0.1  # of Huber's loss, in spreads of the answers: a few wrong entries must not count much
# A rule explains a table if it misses few entries by more than that, and is near to the others.
MOST_MISSED, EXPLAINED = 0.06, 1e-3  # share of the evidence, mean loss
# One that is exact but for what it misses is worth trying, though it may miss more than that.
EXACT, MOST_MISSED_IF_EXACT = 1e-5, 0.2
# One that misses hardly any is taken at once. Otherwise either entries of the table are wrong, or
# the rule is. A less simple rule is then taken if its loss is less than a quarter of the other's.
HARDLY_MISSED, FAR_NEARER = 0.02, 4.0
# The mean over all pairs, in spreads: a last digit of 10 for one pair of a hundred makes 0.0025.
MOST_EXTRAPOLATED = 1e-3
PEAK_RATE, REFITTING_RATE = 0.05, 0.01
REFITTED = 300, 300  # steps, each time without the entries that are missed
SYMMETRIC_SUMS, SUMS, SHORT, LONG, REFIT = range(5)  # searches


@dataclass(frozen=True)
class Kind:
    """A kind of rules, and how long to search for one."""

    stages: tuple[tuple[int, int], ...]  # rules at a time, steps
    directions: int = 4  # of squares and absolute values; with none, a rule is a sum of values
    bends: bool = True  # has absolute values
    by_position: bool = False  # a symbol may have another value in another position
    is_symmetric: bool = False  # all positions have one weight; of sums only


@dataclass(frozen=True)
class Rules:
    """Many rules of one kind, side by side: the first axis of each tensor."""

    values: Tensor  # (n, 1 or positions, symbols): the same in all positions, or by position
    directions: Tensor  # (n, weighted positions, directions)
    offsets: Tensor  # (n, 1, directions)
    # (n, weighted positions + directions or twice that, switch symbols or 1); or one for all
    weights: Tensor
    bias: Tensor  # (n, 1, switch symbols or 1)
    switch: int | None = None  # the position whose symbol says how to weight the others

    @property
    def bend(self) -> bool:
        """Whether they have absolute values beside squares."""
        return self.weights.shape[1] > sum(self.directions.shape[1:])

    def tables(self) -> Tensor:
        """The answer of every rule to every combination: (n, symbols, …), an axis each position.

        It is linear in the values v, in u² and, if rules bend, in |u|: u are directions through v.
        """
        positions, symbols = self.values.shape[1:]
        weighted = self.directions.shape[1]
        axes = torch.cartesian_prod(*[torch.arange(symbols)] * weighted).view(-1, weighted)
        v = self.values[:, torch.arange(weighted) % positions, axes]  # (n, combinations, weighted)
        u = torch.baddbmm(self.offsets, v, self.directions)
        linear = v.sum(-1, keepdim=True) if self.weights.shape[1] < weighted else v
        features = torch.cat([linear, u.square(), *[u.abs()] * self.bend], dim=-1)
        answers = torch.baddbmm(self.bias, features, self.weights)  # (n, combinations, switch)
        grid = answers.view(len(answers), *[symbols] * weighted, -1)
        return grid.squeeze(-1) if self.switch is None else grid.movedim(-1, 1 + self.switch)

    def tensors(self) -> dict[str, Tensor]:
        return {name: each for name, each in vars(self).items() if isinstance(each, Tensor)}

    def map(self, function: Callable[[Tensor], Tensor]) -> "Rules":
        changed: dict[str, Any] = {name: function(each) for name, each in self.tensors().items()}
        return replace(self, **changed)

    def distances(self, table: Tensor, evidence: Tensor) -> Tensor:
        """How far each rule is from the table: (n,) mean Huber losses."""
        tables = self.tables()
        errors = functional.smooth_l1_loss(
            tables, table.expand_as(tables), beta=ELBOW, reduction="none"
        )
        return (errors * evidence).flatten(1).sum(1)

    def extrapolate(self, table: Tensor, evidence: Tensor) -> Tensor:
        """Whether each rule bends and has answers beyond those that were seen: (n,), of pairs only.

        Several rules that bend may explain the same. For the last digit of a sum, where 0 + 0 is
        not seen, a 0 may as well have the value 10; but then 0 + 0 makes 10, beyond all answers
        seen. Rules without bends are not judged: an unseen sum may well be the largest.
        """
        seen = table[evidence > evidence.max() / 20]  # empty, where training diverged
        if table.ndim != 2 or not self.bend or not len(seen):
            return torch.zeros(len(self.values), dtype=torch.bool)
        tables = self.tables().detach()
        beyond = (tables - seen.max()).maximum(seen.min() - tables).sub(ELBOW).clamp(min=0)
        used = torch.outer(evidence.sum(1), evidence.sum(0))  # how much symbols are used together
        return (beyond * used).flatten(1).sum(1) > MOST_EXTRAPOLATED


@dataclass(frozen=True)
class FoundRule:
    """A rule's table of answers, and how far from the seen entries it is."""

    table: Tensor  # (symbols, …): an axis for each position
    residual: float  # mean loss
    missed: float  # share of the evidence that is further away than the elbow
    near: float  # mean loss of the others
    extrapolates: bool  # whether it bends and has answers beyond the seen ones

    @property
    def explains(self) -> bool:
        return self.missed < MOST_MISSED and self.near < EXPLAINED

    @property
    def is_exact(self) -> bool:
        """Whether it is exact but for what it misses."""
        return self.missed < MOST_MISSED_IF_EXACT and self.near < EXACT


def find_rule(
    table: Tensor,
    evidence: Tensor,
    search: int = LONG,
    *,
    by_position: bool = False,
    seed: int = 0,
) -> FoundRule:
    """The simplest rule that explains a table, unless one is far nearer; or else the nearest.

    `evidence` says how much each entry counts, `search` which kinds are tried. SYMMETRIC_SUMS are
    sums in which all positions count alike, so that order does not matter; REFIT tries only what
    takes longest, from the random starts of another seed. With `by_position`, a symbol may have
    another value in another position, if the same will not do; with REFIT, it has.
    """
    generator = torch.Generator().manual_seed(seed)
    evidence = evidence / evidence.sum()
    found = []
    for kind, switch in _kinds(table.ndim, search, by_position=by_position):
        rules = _random_rules(kind, switch, table, generator)
        found.append(_fit(rules, kind, table, evidence))
        if found[-1].explains and found[-1].missed < HARDLY_MISSED:
            break
    explaining = [rule for rule in found if rule.explains]
    nearest = min(explaining or found, key=lambda rule: rule.residual)
    simplest = explaining[0] if explaining else nearest
    return nearest if FAR_NEARER * nearest.residual < simplest.residual else simplest


def _kinds(positions: int, search: int, *, by_position: bool) -> Iterator[tuple[Kind, int | None]]:
    """The kinds to try, each with the position of its switch."""
    few = {SYMMETRIC_SUMS: [SYMMETRIC_SUM], SUMS: [SUM], REFIT: []}
    for kind in few.get(search, [SUM, SQUARED, CURVED]):
        yield kind, None
        if by_position:
            yield replace(kind, by_position=True), None
    if search >= LONG and positions <= 2:
        yield replace(CURVED_FROM_MANY_STARTS, by_position=by_position and search == REFIT), None
    elif search >= LONG:  # in a pair, a switch would weight every combination by itself
        yield from ((SWITCHED, switch) for switch in range(positions))


def _random_rules(
    kind: Kind, switch: int | None, table: Tensor, generator: torch.Generator
) -> Rules:
    positions, symbols, count = table.ndim, len(table), kind.stages[0][0]
    weighted = positions if switch is None else positions - 1
    linear = 1 if kind.is_symmetric else weighted
    branches = 1 if switch is None else symbols

    def normal(*shape: int) -> Tensor:
        return torch.randn(count, *shape, generator=generator)

    # squares and absolute values begin as nothing: what sums can do is left to sums
    curved = torch.zeros(count, (1 + kind.bends) * kind.directions, branches)
    return Rules(
        values=normal(weighted if kind.by_position else 1, symbols),
        directions=normal(weighted, kind.directions),
        offsets=0.5 * normal(1, kind.directions),
        weights=torch.cat([0.7 * normal(linear, branches), curved], dim=1),
        bias=torch.zeros(count, 1, branches),
        switch=switch,
    )


def _fit(rules: Rules, kind: Kind, table: Tensor, evidence: Tensor) -> FoundRule:
    """Fit rules from random starts, all at a time; the nearest go on to the next stage.

    What the nearest misses is taken for misread pictures of other combinations. Few as they are,
    they would pull at what is not seen beside them, so it is fitted once more without them.
    """
    for count, steps in kind.stages:
        best = rules.distances(table, evidence).detach().argsort()[:count]
        rules = _descend(_chosen(rules, best), table, evidence, steps, PEAK_RATE)
    distances = rules.distances(table, evidence).detach()
    chosen = distances.argmin()
    within = ~rules.extrapolate(table, evidence)
    as_near = within & (distances <= FAR_NEARER * distances[chosen])
    if as_near.any():
        chosen = distances.where(as_near, math.inf).argmin()
    nearest = _chosen(rules, chosen.unsqueeze(0))
    for steps in REFITTED:
        near = evidence * ((nearest.tables()[0] - table).abs() < ELBOW)
        nearest = _descend(nearest, table, near, steps, REFITTING_RATE)
    share = float(near.sum())
    return FoundRule(
        table=nearest.tables()[0].detach().contiguous(),
        residual=float(distances[chosen]),
        missed=1 - share,
        near=float(nearest.distances(table, near).detach()) / max(share, 1e-6),
        extrapolates=bool(nearest.extrapolate(table, evidence)),
    )


def _chosen(rules: Rules, which: Tensor) -> Rules:
    return rules.map(lambda each: each.detach()[which])


def _descend(rules: Rules, table: Tensor, evidence: Tensor, steps: int, peak_rate: float) -> Rules:
    """Fit all rules for some steps at a falling rate."""
    rules = rules.map(lambda each: each.requires_grad_())
    tensors = [*rules.tensors().values()]
    states: list[dict[str, Any]] = [{} for _ in tensors]
    for step in range(steps):
        rate = peak_rate * (0.5 + 0.5 * math.cos(math.pi * step / steps))
        slopes = torch.autograd.grad(rules.distances(table, evidence).sum(), tensors)
        with torch.no_grad():
            for tensor, slope, state in zip(tensors, slopes, states, strict=True):
                adam_step(tensor, slope, state, rate)
    return rules


# with few seen entries, sums that weight each position explain them in several ways
SYMMETRIC_SUM = Kind(stages=((8, 400),), directions=0, is_symmetric=True)
SUM = Kind(stages=((8, 400),), directions=0)
# products are differences of two squares; a rule that could bend besides would do so for noise
SQUARED = Kind(stages=((16, 500),), directions=2, bends=False)
CURVED = Kind(stages=((24, 500),))
# the last digit of a sum is found from one start in fifty
CURVED_FROM_MANY_STARTS = Kind(stages=((256, 300), (32, 1000)))
# the symbol in one position says how to weight the others
SWITCHED = Kind(stages=((16, 1500),))
