"""A network with symbols of its own: it reads them, looks up what they make, and finds the rule.

It is not told what a digit is, how many there are or what is asked. For every position it gives
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

from unseen.networks.modules import panels
from unseen.networks.rules import LONG, REFIT, SHORT, SUMS, SYMMETRIC_SUMS, FoundRule, find_rule

# The table, its width and the places are few numbers that have far to go; their optimiser takes
# steps that suit weights. Scaled so, they take steps this many times as long.
GAIN = 5.0
BALANCE = 1.0  # weight of the entropy of the symbols' use, so that none is forgotten early
MEMORY = 0.995  # of the running count of combinations, from batch to batch
LEAST_WIDTH = 0.02  # of the errors around the table, in spreads of the answers
# The optimiser's steps fade before the widths of a network that has to find its symbols are narrow
# enough for a position with little part in the answer. So they follow the errors, step by step.
NARROWING = 0.002  # of a width, at most, in each step
SETTLED_WIDTH = 0.3  # below which a table is taken for settled
DOUBTFUL = 0.1  # share of the usual count at which an entry of the table counts half


class LatentSymbols(nn.Module):
    """An encoder of symbols, a table of what they make, and the rule that the table follows.

    The encoder turns a picture into the symbols' logits at a number of views along it. In a network
    that is given panels, each has one view. One that is given the whole strip has to find out where
    the symbols stand: each position attends to a mixture of views (`places`), learnt like
    everything else. It is drawn to views where the encoder is sure, and away from those of others.
    """

    counts: Tensor
    rule: Tensor
    is_explained: Tensor
    is_doubtful = False  # whether the rule found last extrapolates; not saved

    def __init__(
        self, length: int, encoder: nn.Module, views: int | None, *, alphabet: int
    ) -> None:
        super().__init__()
        self.length, self.encoder, self.alphabet = length, encoder, alphabet
        self.places = None if views is None else nn.Parameter(_reading_order(length, views) / GAIN)
        shape = [self.alphabet] * length
        table = 0.5 * torch.randn(shape)
        for position in range(length):
            values = 0.7 * torch.randn(self.alphabet)
            table += values.view([-1 if axis == position else 1 for axis in range(length)])
        self.table = nn.Parameter(table.flatten() / GAIN)
        # of the second table: each position weights the values, which all positions share
        self.values = nn.Parameter(0.7 * torch.randn(self.alphabet) / GAIN)
        self.weights = nn.Parameter(torch.randn(length) / GAIN)
        self.log_widths = nn.Parameter(torch.zeros(2), requires_grad=views is None)
        self.register_buffer("counts", torch.full(shape, 1e-6))
        self.register_buffer("rule", torch.zeros(shape))
        self.register_buffer("is_explained", torch.zeros(()))

    def forward(self, pictures: Tensor) -> Tensor:
        symbols = self._at_positions(self._views(pictures))
        likeliest = self._combinations(symbols).argmax(dim=1)
        return self._answers().flatten()[likeliest].unsqueeze(1)  # (n, 1)

    def own_loss(
        self, pictures: Tensor, answers: Tensor, *, squared: bool
    ) -> tuple[Tensor, Tensor]:
        """Minus the mean log likelihood of the answers, and the answers of the likeliest symbols.

        The likelihoods of both tables are multiplied; the answers are those of the free one.
        Errors around entries are Gaussian with `squared`, else with tails as of Huber's loss.
        """
        views = self._views(pictures)
        symbols = self._at_positions(views)  # (n, length, alphabet), log probabilities
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
        else:
            loss = loss + self.placement_penalty(views)
        loss = loss + BALANCE * torch.special.xlogy(used, used).sum(dim=1).mean()
        with torch.no_grad():
            likely = joint.softmax(dim=2)
            self.counts.lerp_(likely[:, 0].mean(0).view_as(self.counts), 1 - MEMORY)
            if self.places is not None:
                slopes = errors if squared else errors.clamp(-1, 1)
                # by how much the errors fill the widths; 1 is what makes the answers likeliest
                filled = (likely * errors * slopes).sum(dim=2).mean(dim=0)
                self.log_widths.sub_(NARROWING * (1 - filled).clamp(-1, 1))
            predictions = tables[0][combinations.argmax(dim=1)]
        return loss, predictions

    def end_epoch(self, *, is_last: bool) -> None:
        """Find the rule that the table follows where combinations were seen."""
        search = SUMS  # a table that still changes much supports nothing else
        if self._widths()[0] < SETTLED_WIDTH:
            search = LONG if is_last else SHORT
        # an encoder of the whole strip may read other symbols on its left than on its right
        found = self._find_rule(search, by_position=self.places is not None)
        self._set_rule(found, is_explained=found.explains)
        if self.places is not None and not is_last:
            # A position that begins to read a symbol as another position does meets entries that
            # nothing has filled in. Far from their answers they are unlikely, and so do not move.
            # The nearest rule may be wrong about them, but not more than what they began with.
            self.table.detach().copy_(self._mixed().detach().flatten() / GAIN)

    def take_simplest_rule(self) -> bool:
        """Answer by the simplest rule alone, if it is exact but for some entries.

        With few seen combinations, less simple rules explain the same, including wrong entries.
        """
        found = self._find_rule(SYMMETRIC_SUMS, by_position=False)
        if found.is_exact:
            self._set_rule(found, is_explained=True)
        return found.is_exact

    def refit_rule(self, number: int) -> None:
        """Find a rule from other random starts, and answer by it alone.

        It may be right where the table is not: an entry that is far from its answer hardly moves.
        """
        # every second one has values that may differ between positions
        by_position = self.places is not None and number % 2 == 0
        found = self._find_rule(REFIT, by_position=by_position, seed=number)
        self._set_rule(found, is_explained=True)

    def _find_rule(self, search: int, *, by_position: bool, seed: int = 0) -> FoundRule:
        """The rule that the table follows where combinations were seen."""
        return find_rule(
            (GAIN * self.table).detach().view_as(self.counts).float().cpu(),
            (self.counts * self._certainty()).cpu(),
            search,
            by_position=by_position,
            seed=seed,
        )

    def _set_rule(self, found: FoundRule, *, is_explained: bool) -> None:
        """Answer by a rule: alone if the table is explained, else where nothing was filled in."""
        self.rule.copy_(found.table)
        self.is_doubtful = found.extrapolates
        self.is_explained.fill_(is_explained)

    def _widths(self) -> Tensor:
        """How wide errors around the two tables are, in spreads of the answers."""
        return LEAST_WIDTH + self.log_widths.exp()

    def _sums(self) -> Tensor:
        """The second table: what each combination makes if every symbol has one value."""
        values = GAIN * GAIN * torch.outer(self.weights, self.values)
        return self._combinations(values.unsqueeze(0)).squeeze(0)

    def _views(self, pictures: Tensor) -> Tensor:
        """Log probabilities of the symbols at each view: (n, views, alphabet)."""
        if self.places is None:
            logits: Tensor = self.encoder(panels(pictures, self.length)).float()
            return logits.view(-1, self.length, self.alphabet).log_softmax(dim=-1)
        maps: Tensor = self.encoder(pictures)
        return maps.float().flatten(2).transpose(1, 2).log_softmax(dim=-1)

    def _at_positions(self, views: Tensor) -> Tensor:
        """Log probabilities of the symbols in each position: (n, length, alphabet)."""
        if self.places is None:
            return views
        # (n, 1, views, alphabet) + (length, views, 1)
        attention = self.attention_logits().log_softmax(dim=-1)
        return torch.logsumexp(views.unsqueeze(1) + attention.unsqueeze(-1), dim=2)

    def placement_penalty(self, views: Tensor) -> Tensor:
        """How much positions attend to views that are unsure, or that other positions attend to.

        Where one position decides most of the answer, all would attend to it first; and where a
        symbol is cut off, an encoder learns to read it in another way than elsewhere.
        """
        attention, views = self.attention_logits().softmax(dim=-1), views.detach()
        doubt = -(views.exp() * views).sum(dim=-1).mean(dim=0)  # (views,) entropies
        return (attention @ doubt).sum() + torch.triu(attention @ attention.T, diagonal=1).sum()

    def attention_logits(self) -> Tensor:
        """How much each position attends to each view, as logits: (length, views)."""
        assert self.places is not None
        return (GAIN * self.places).view(self.length, -1)

    def _combinations(self, symbols: Tensor) -> Tensor:
        """Log probabilities of all combinations of symbols: (n, alphabet ** length)."""
        combinations = symbols[:, 0]
        for position in range(1, self.length):
            each = symbols[:, position].unsqueeze(1)
            combinations = (combinations.unsqueeze(2) + each).flatten(1)
        return combinations

    def _answers(self) -> Tensor:
        """What each combination makes: by the rule if it explains what was seen."""
        # no `if`, so that networks can be exported
        return torch.where(self.is_explained.bool(), self.rule, self._mixed())

    def _mixed(self) -> Tensor:
        """The table where it was filled in, and the rule elsewhere."""
        return torch.lerp(self.rule, (GAIN * self.table).view_as(self.rule), self._certainty())

    def _certainty(self) -> Tensor:
        """From 0 to 1, whether an entry of the table rests on pictures or on misread ones."""
        usual = self.counts.square().sum() / self.counts.sum()
        squares = (self.counts / (DOUBTFUL * usual)).square()
        return squares / (squares + 1)


def _reading_order(length: int, views: int) -> Tensor:
    """Attention logits to begin with: all along the strip, the first position's rather to its left.

    Without an order, positions may settle on mixtures of the same views; with a sharp one at
    random, where a symbol is cut off.
    """
    along, positions = torch.linspace(0, 1, views), torch.linspace(0, 1, length)
    return (-(along - positions.unsqueeze(1)).abs()).flatten()
