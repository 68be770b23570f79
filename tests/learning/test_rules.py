"""Rules fitted to exact tables: what is not seen has to follow from what is."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from unseen.learning import rules
from unseen.learning.rules import find_rule

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


def test_the_same_table_gives_the_same_bits() -> None:
    table, seen = pairs_table(OPERATIONS["add"]), hidden((10, 10), 10)
    first, again = (find_rule(table, seen) for _ in range(2))
    assert torch.equal(first.table, again.table)


def test_a_rule_is_no_richer_than_it_has_to_be() -> None:
    """Sums alone explain a sum, though other kinds would too; they do not explain a product."""
    seen = hidden((10, 10), 10)
    added, multiplied = (pairs_table(OPERATIONS[name]) for name in ("add", "multiply"))
    plain = find_rule(added, seen, effort=rules.SUMS_ONLY)
    assert plain.explains
    assert torch.equal(plain.table, find_rule(added, seen).table)
    assert not find_rule(multiplied, seen, effort=rules.SUMS_ONLY).explains


def test_what_is_nearly_a_sum_of_the_same_values_is_not_taken_for_one() -> None:
    """Squares on the left, digits on the right: one value a symbol would come near to both."""
    table = pairs_table(lambda a, b: a * a + b)
    assert (find_rule(table, hidden((10, 10), 10)).table - table).abs().max() < 0.01


@pytest.mark.parametrize("operation", ["add", "multiply", "max(a, b)"])
def test_a_symbol_may_mean_something_else_in_another_place(operation: str) -> None:
    table = pairs_table(OPERATIONS[operation])[torch.tensor([3, 1, 2, 0, 4, 5, 9, 7, 8, 6])]
    found = find_rule(table, hidden((10, 10), 10), by_place=True)
    assert found.explains
    assert (found.table - table).abs().max() < 0.01


@pytest.mark.parametrize("seed", range(4))
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
