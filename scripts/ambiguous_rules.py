"""How often unseen last digits of sums follow from tables in which they are ambiguous.

Made-up tables as trainings leave them: 16 symbols for 10 digits, some digits with two, a little
noise, and pairs hidden that no other pair settles. For every table, the share of hidden entries
that are right: by the nearest rule, by the nearest that stays within the seen answers, and after
looking again as `best` does. About seven minutes: python scripts/ambiguous_rules.py
"""

import math
from unittest import mock

import torch
from torch import Tensor

from unseen.networks import rules
from unseen.networks.rules import FoundRule, find_rule
from unseen.training.loop import MOST_REFITS

HIDDEN = {
    "(0, 0)": [(0, 0)],
    "(4, 4) (4, 5) (5, 4)": [(4, 4), (4, 5), (5, 4)],
    "(0, 0) (0, 1) (1, 0)": [(0, 0), (0, 1), (1, 0)],
    "3 to 5 with 3 to 5, but (5, 5)": [(3 + i // 3, 3 + i % 3) for i in range(8)],
}
TABLES, SYMBOLS, NOISE, MISREAD = 4, 16, 0.002, 0.01


class MadeUpTable:
    """A table with ten hidden pairs: those that are named, and others at random."""

    def __init__(self, hidden: list[tuple[int, int]], seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        digits = torch.cat([torch.arange(10), torch.randint(10, (2,), generator=generator)])
        symbols = torch.randperm(SYMBOLS, generator=generator)[: len(digits)]
        named = [10 * a + b for a, b in hidden]
        others = [pair for pair in torch.randperm(100, generator=generator) if pair not in named]
        is_hidden = torch.zeros(100, dtype=torch.bool)
        is_hidden[torch.tensor([*named, *others][:10])] = True
        rows, columns = symbols.unsqueeze(1), symbols.unsqueeze(0)
        self.at = rows.expand(12, 12), columns.expand(12, 12)
        pairs = 10 * digits.unsqueeze(1) + digits
        self.hidden = is_hidden[pairs]
        answers = (digits.unsqueeze(1) + digits) % 10
        self.answers = (answers - 4.5) / 2.87
        noise = NOISE * torch.randn(12, 12, generator=generator)
        self.table = torch.randn(SYMBOLS, SYMBOLS, generator=generator)
        seen = (self.answers + noise).where(~self.hidden, self.table[self.at])
        self.table[self.at] = seen
        share = 1 / (digits.unsqueeze(1) == digits).sum(0)  # of a digit with two symbols
        self.data = torch.full((SYMBOLS, SYMBOLS), 1e-6)
        used = share.unsqueeze(1) * share
        self.data[self.at] = used.where(~self.hidden, torch.tensor(MISREAD))

    def right(self, found: FoundRule) -> Tensor:
        return (found.table[self.at] - self.answers).abs() < 0.5 / 2.87

    def find(self, search: int = rules.LONG, seed: int = 0) -> FoundRule:
        return find_rule(self.table, self.data, search, seed=seed)

    def faults(self, found: FoundRule) -> tuple[int, bool]:
        """What a training may see: wrong seen entries, and whether the rule goes beyond them."""
        return int((~self.right(found) & ~self.hidden).sum()), found.extrapolates

    def refit_rule(self, found: FoundRule) -> FoundRule:
        for look in range(1, MOST_REFITS + 1):
            if self.faults(found) == (0, False):
                break
            found = min(found, self.find(rules.REFIT, look), key=self.faults)
        return found


def nearest(table: MadeUpTable) -> FoundRule:
    with mock.patch.object(rules, "MOST_EXTRAPOLATED", math.inf):
        return table.find()


def main() -> None:
    torch.set_num_threads(1)
    print("hidden | nearest | within | after looks")
    for name, hidden in HIDDEN.items():
        shares = []
        for seed in range(TABLES):
            table = MadeUpTable(hidden, seed)
            first = table.find()
            ways = nearest(table), first, table.refit_rule(first)
            shares.append([float(table.right(way)[table.hidden].float().mean()) for way in ways])
        columns = [
            ", ".join(f"{share:.2f}" for share in each) for each in zip(*shares, strict=True)
        ]
        print(name, *columns, sep=" | ", flush=True)


if __name__ == "__main__":
    main()
