"""A network with symbols of its own: it reads them, looks up what they make, and finds the rule.

Nothing tells it what a digit is, how many there are or what is asked. For every place it gives
probabilities to the symbols of an alphabet; a table has an answer for every combination of them,
and both are trained to make the answers of the pictures likely. The table can only be right where
combinations were seen. So at the end of every epoch a rule is fitted to what was seen
(`rules.py`), and that rule answers.

A table with an entry for every combination lets two digits share a symbol if no pair of seen
combinations tells them apart, and with few seen combinations many do. So the symbols are trained
for a second table as well, of sums. Where answers are sums, its errors become small and it tells
such digits apart; where they are not, its errors stay wide and count little.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from unseen.learning.rules import QUICK, SUMS_ONLY, THOROUGH, find_rule

ALPHABET = 16  # symbols: more than there are digits, because some start as doubles of others
# The table, its width and the places are few numbers that have far to go; their optimiser takes
# steps that suit weights. Scaled so, they take steps this many times as long.
GAIN = 5.0
BALANCE = 1.0  # weight of the entropy of the symbols' use, so that none is forgotten early
MEMORY = 0.995  # of the running count of combinations, from batch to batch
LEAST_WIDTH = 0.02  # of the errors around the table, in spreads of the answers
SETTLED_WIDTH = 0.3  # below which a table is taken for settled
DOUBTFUL = 0.1  # share of the usual count at which an entry of the table counts half


class LatentSymbols(nn.Module):
    """An encoder of symbols, a table of what they make, and the rule that the table follows.

    The encoder turns a picture into the symbols' logits at a number of views along it. Where it is
    shown panels, each has one view. Where it is shown the whole strip, the network has to find out
    where the symbols stand: each place is a mixture of views, learnt like everything else.
    """

    counts: Tensor
    rule: Tensor
    is_explained: Tensor

    def __init__(self, length: int, encoder: nn.Module, views: int | None) -> None:
        super().__init__()
        self.length, self.encoder = length, encoder
        self.places = None if views is None else nn.Parameter(_reading_order(length, views) / GAIN)
        shape = [ALPHABET] * length
        table = 0.5 * torch.randn(shape)
        for place in range(length):
            values = 0.7 * torch.randn(ALPHABET)
            table += values.view([-1 if axis == place else 1 for axis in range(length)])
        self.table = nn.Parameter(table.flatten() / GAIN)
        # of the second table: each place weights the values, which all places share
        self.values = nn.Parameter(0.7 * torch.randn(ALPHABET) / GAIN)
        self.weights = nn.Parameter(torch.randn(length) / GAIN)
        self.log_widths = nn.Parameter(torch.zeros(2))
        self.register_buffer("counts", torch.full(shape, 1e-6))
        self.register_buffer("rule", torch.zeros(shape))
        self.register_buffer("is_explained", torch.zeros(()))

    def forward(self, pictures: Tensor) -> Tensor:
        likeliest = self._combinations(self._symbols(pictures)).argmax(dim=1)
        return self._answers().flatten()[likeliest].unsqueeze(1)  # (n, 1)

    def likelihood_loss(
        self, pictures: Tensor, answers: Tensor, *, squared: bool
    ) -> tuple[Tensor, Tensor]:
        """Minus the mean log likelihood of the answers, and the answers of the likeliest symbols.

        The likelihoods of both tables are multiplied; the answers are those of the free one.
        Errors around entries are Gaussian with `squared`, else with tails as of Huber's loss.
        """
        symbols = self._symbols(pictures)  # (n, length, alphabet), log probabilities
        combinations = self._combinations(symbols)
        tables = torch.stack([GAIN * self.table, self._sums()])  # (2, alphabet ** length)
        widths = self._widths()
        errors = (answers.view(-1, 1, 1) - tables) / widths.unsqueeze(1)
        misfits = (
            errors.square() / 2
            if squared
            else functional.smooth_l1_loss(errors, torch.zeros_like(errors), reduction="none")
        )
        joint = combinations.unsqueeze(1) - misfits
        loss = (widths.log() - torch.logsumexp(joint, dim=2).mean(dim=0)).sum()
        used = symbols.exp().mean(dim=0)  # (length, alphabet)
        if self.places is None:  # a sign between digits needs few of them
            used = used.mean(dim=0, keepdim=True)
        loss = loss + BALANCE * torch.special.xlogy(used, used).sum(dim=1).mean()
        with torch.no_grad():
            shares = joint[:, 0].softmax(dim=1).mean(0).view_as(self.counts)
            self.counts.lerp_(shares, 1 - MEMORY)
            predictions = tables[0][combinations.argmax(dim=1)]
        return loss, predictions

    def end_epoch(self, *, is_last: bool) -> None:
        """Find the rule that the table follows where combinations were seen."""
        table = (GAIN * self.table).detach().view_as(self.counts)
        evidence = self.counts * self._certainty()
        effort = SUMS_ONLY  # of a table that is still in motion, nothing else can be said
        if self._widths()[0] < SETTLED_WIDTH:
            effort = THOROUGH if is_last else QUICK
        # an encoder of the whole strip may read other symbols on its left than on its right
        by_place = self.places is not None
        found = find_rule(table.float().cpu(), evidence.cpu(), effort, by_place=by_place)
        self.rule.copy_(found.table)
        self.is_explained.fill_(found.explains)

    def _widths(self) -> Tensor:
        """How wide errors around the two tables are, in spreads of the answers."""
        return LEAST_WIDTH + self.log_widths.exp()

    def _sums(self) -> Tensor:
        """The second table: what each combination makes if every symbol has one value."""
        values = GAIN * GAIN * torch.outer(self.weights, self.values)
        return self._combinations(values.unsqueeze(0)).squeeze(0)

    def _symbols(self, pictures: Tensor) -> Tensor:
        """Log probabilities of the symbols in each place: (n, length, alphabet)."""
        count, _, height, width = pictures.shape
        if self.places is None:
            side = width // self.length
            panels = pictures.view(count, height, self.length, side).transpose(1, 2)
            logits = self.encoder(panels.reshape(-1, 1, height, side))
            symbols: Tensor = logits.float().view(count, self.length, ALPHABET)
            return symbols.log_softmax(dim=-1)
        views = self.encoder(pictures).float().flatten(2).transpose(1, 2).log_softmax(dim=-1)
        places = (GAIN * self.places).view(self.length, -1).log_softmax(dim=-1)
        # (n, 1, views, alphabet) + (length, views, 1)
        return torch.logsumexp(views.unsqueeze(1) + places.unsqueeze(-1), dim=2)

    def _combinations(self, symbols: Tensor) -> Tensor:
        """Log probabilities of all combinations of symbols: (n, alphabet ** length)."""
        combinations = symbols[:, 0]
        for place in range(1, self.length):
            combinations = (combinations.unsqueeze(2) + symbols[:, place].unsqueeze(1)).flatten(1)
        return combinations

    def _answers(self) -> Tensor:
        """What each combination makes: by the rule if it explains what was seen.

        Else by the table where it was filled in, and by the rule elsewhere.
        """
        filled_in = (GAIN * self.table).view_as(self.rule)
        mixed = torch.lerp(self.rule, filled_in, self._certainty())
        # no `if`, so that networks can be exported
        return torch.where(self.is_explained.bool(), self.rule, mixed)

    def _certainty(self) -> Tensor:
        """From 0 to 1, whether an entry of the table rests on pictures or on misread ones."""
        usual = self.counts.square().sum() / self.counts.sum()
        squares = (self.counts / (DOUBTFUL * usual)).square()
        return squares / (squares + 1)


def _reading_order(length: int, views: int) -> Tensor:
    """Where places begin to look: all along the strip, the first rather at its left end.

    Without an order, places may settle on mixtures of the same views; with a sharp one at random,
    where a symbol is cut off.
    """
    along, places = torch.linspace(0, 1, views), torch.linspace(0, 1, length)
    return (-(along - places.unsqueeze(1)).abs()).flatten()
