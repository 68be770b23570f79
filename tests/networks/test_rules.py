"""Rules fitted to exact tables: what is not seen has to follow from what is."""

from collections.abc import Callable

import pytest
import torch
from conftest import RULES
from torch import Tensor

from unseen.networks import rules
from unseen.networks.rules import find_rule

pytestmark = pytest.mark.usefixtures("short_rules")

DIGITS = torch.arange(10.0)
OPERATIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "max(a, b)": torch.maximum,
    "abs(a - b)": lambda a, b: (a - b).abs(),
    "10*a + b": lambda a, b: 10 * a + b,
}


def pairs_table(operation: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    table = operation(DIGITS[:, None], DIGITS[None, :]).expand(10, 10)
    return (table - table.mean()) / table.std()


def hidden(shape: tuple[int, ...], count: int, seed: int = 0) -> Tensor:
    """Ones, and zeros at some entries that are not seen."""
    seen = torch.ones(shape).flatten()
    some = torch.randperm(len(seen), generator=torch.Generator().manual_seed(seed))[:count]
    seen[some] = 0
    return seen.view(shape)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_unseen_entries_follow_from_the_seen_ones(operation: str) -> None:
    table = pairs_table(OPERATIONS[operation])
    found = find_rule(table, hidden((10, 10), 10))
    assert found.explains
    assert (found.table - table).abs().max() < 0.01  # less than half a step of 10*a + b


def test_a_sum_follows_from_few_entries_and_wrong_ones_count_little() -> None:
    table = pairs_table(OPERATIONS["add"])
    seen = hidden((10, 10), 70, seed=3)
    assert (find_rule(table, seen).table - table).abs().max() < 0.01
    spoilt = table.clone()
    spoilt[seen == 0] = 0.0  # as where a network misreads
    found = find_rule(spoilt, seen.clamp(min=1e-3))
    assert (found.table - table).abs().max() < 0.1


def test_from_few_entries_a_sum_in_which_order_does_not_matter_is_found_beside_wrong_ones() -> None:
    """Sums that weight each place, or bend, would explain what is seen, wrong entries among it."""
    table, seen = pairs_table(OPERATIONS["add"]), hidden((10, 10), 80, seed=3)
    spoilt = table.clone()
    spoilt.flatten()[seen.flatten().nonzero()[6::12]] += 0.7  # a tenth of what is seen
    assert (find_rule(spoilt, seen).table - table).abs().max() > 0.1
    found = find_rule(spoilt, seen, search=rules.SYMMETRIC_SUMS)
    assert found.is_exact
    assert (found.table - table).abs().max() < 0.01


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name != "add"])
def test_no_other_operation_is_taken_for_a_sum_in_which_order_does_not_matter(
    operation: str,
) -> None:
    table = pairs_table(OPERATIONS[operation])
    for seen in (hidden((10, 10), 10), hidden((10, 10), 80, seed=3)):
        assert not find_rule(table, seen, search=rules.SYMMETRIC_SUMS).is_exact


def test_numbers_at_random_follow_no_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "CURVED_FROM_MANY_STARTS", rules.Kind(stages=((32, 100),)))
    table = torch.randn(10, 10, generator=torch.Generator().manual_seed(1))
    found = find_rule(table, torch.ones(10, 10))
    assert not found.explains


def test_a_sign_in_any_place_is_found() -> None:
    a, b = DIGITS[:5, None], DIGITS[None, :5]
    table, there = torch.zeros(7, 7, 7), torch.zeros(7, 7, 7)
    for sign, answers in enumerate((a + b, a * b), start=5):
        table[sign, :5, :5], there[sign, :5, :5] = answers, 1.0
    table = table / table[there > 0].std()
    seen = there * hidden((7, 7, 7), 40)
    found = find_rule(table, seen)
    assert found.explains
    assert (found.table - table)[there > 0].abs().max() < 0.05


def test_a_rule_is_no_richer_than_it_has_to_be() -> None:
    """Sums alone explain a sum, though other kinds would too; they do not explain a product."""
    seen = hidden((10, 10), 10)
    added, multiplied = (pairs_table(OPERATIONS[name]) for name in ("add", "multiply"))
    plain = find_rule(added, seen, search=rules.SUMS)
    assert plain.explains
    assert torch.equal(plain.table, find_rule(added, seen).table)
    assert not find_rule(multiplied, seen, search=rules.SUMS).explains


def test_what_is_nearly_a_sum_of_the_same_values_is_not_taken_for_one() -> None:
    """Squares on the left, digits on the right: one value a symbol would come near to both."""
    table = pairs_table(lambda a, b: a * a + b)
    assert (find_rule(table, hidden((10, 10), 10)).table - table).abs().max() < 0.01


@pytest.mark.parametrize("operation", ["multiply", "max(a, b)"])
def test_a_symbol_may_mean_something_else_in_another_place(operation: str) -> None:
    table = pairs_table(OPERATIONS[operation])[torch.tensor([3, 1, 2, 0, 4, 5, 9, 7, 8, 6])]
    found = find_rule(table, hidden((10, 10), 10), by_position=True)
    assert found.explains
    assert (found.table - table).abs().max() < 0.01


@pytest.mark.parametrize("seed", range(2))
def test_misread_pictures_do_not_pull_at_what_is_not_seen(seed: int) -> None:
    """9 x 9 is not seen, but pictures of 8 x 9 that are read as 9 x 9 have filled its entry."""
    table = pairs_table(OPERATIONS["multiply"])
    seen = hidden((10, 10), 10, seed)
    seen[9, 9] = 0
    misread = torch.where(seen > 0, table, table.roll(1, 0).roll(1, 1))
    noise = 0.004 * torch.randn(10, 10, generator=torch.Generator().manual_seed(seed))
    found = find_rule(misread + noise, seen.clamp(min=0.2))
    assert found.explains
    assert (found.table - table)[9, 9].abs() < 0.5 / 18.1  # half a step, in spreads of products


@pytest.mark.parametrize(
    ("fits", "taken"),
    [
        ([(0.01, 0.3), (0.0, 0.0)], 0),  # misses hardly any: nothing else is looked for
        ([(0.05, 0.3), (0.0, 0.01)], 1),
        ([(0.05, 0.3), (0.05, 0.1), (0.05, 0.09), (0.05, 0.08)], 0),  # others are not far nearer
        ([(0.2, 0.3), (0.05, 0.2), (0.03, 0.19), (0.03, 0.1)], 1),
        ([(0.05, 0.3), (0.2, 0.01), (0.2, 0.01), (0.2, 0.01)], 0),  # others do not explain it
        ([(0.2, 0.3), (0.2, 0.2), (0.2, 0.1), (0.2, 0.15)], 2),
    ],
)
def test_a_rule_that_misses_some_entries_gives_way_to_one_that_is_far_nearer(
    fits: list[tuple[float, float]], taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [
        rules.FoundRule(torch.zeros(2, 2), residual, missed, near=0.0, extrapolates=False)
        for missed, residual in fits
    ]
    left = iter(found)
    monkeypatch.setattr(rules, "_fit", lambda *_: next(left))
    assert find_rule(torch.zeros(2, 2), torch.ones(2, 2)) is found[taken]


def last_digit_rules(*zeros: float) -> rules.Rules:
    """The last digit of a sum, said exactly, with various values of the digit 0."""
    count = len(zeros)
    values = DIGITS.expand(count, 1, 10).clone()
    values[:, 0, 0] = torch.tensor(zeros)
    # two bends make a step from 9.25 to 9.75
    weights = torch.tensor([1.0, 1.0, 0.0, 0.0, -10.0, 10.0]).view(1, 6, 1)
    return rules.Rules(
        values,
        directions=torch.ones(count, 2, 2),
        offsets=torch.tensor([-9.25, -9.75]).expand(count, 1, 2).clone(),
        weights=weights.repeat(count, 1, 1),
        bias=torch.full((count, 1, 1), -5.0),
    )


def test_of_rules_that_explain_the_same_one_that_stays_within_the_seen_answers_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where 0 + 0 is not seen, nothing else says whether a 0 is worth 0 or 10."""
    table = last_digit_rules(0).tables()[0]
    assert torch.equal(table, (DIGITS[:, None] + DIGITS) % 10)
    seen = torch.ones(10, 10)
    seen[0, 0] = 0
    monkeypatch.setattr(rules, "CURVED_FROM_MANY_STARTS", rules.Kind(stages=(), directions=2))
    for zeros, answer in (((10, 0), 0), ((0, 10), 0), ((10,), 10)):
        tried = last_digit_rules(*zeros)
        monkeypatch.setattr(rules, "_random_rules", lambda *_, tried=tried: tried)
        found = find_rule(table, seen, rules.REFIT)
        assert found.missed < 1e-6
        assert found.table[0, 0] == pytest.approx(answer, abs=0.1)
        assert found.extrapolates == (answer == 10)


@pytest.mark.parametrize("shape", [(5,), (5, 5), (3, 3, 3)])
@pytest.mark.parametrize("value", [0.0, torch.nan])
def test_a_table_of_a_training_that_diverged_has_some_rule(
    shape: tuple[int, ...], value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in RULES:
        monkeypatch.setattr(rules, name, rules.Kind(stages=((2, 1),)))
    for search in (rules.SYMMETRIC_SUMS, rules.LONG, rules.REFIT):
        found = find_rule(torch.full(shape, torch.nan), torch.full(shape, value), search)
        assert found.table.shape == shape
        assert not found.explains
        assert not found.is_exact
        assert not found.extrapolates
