"""A network with symbols of its own, on symbols that are easy to tell apart."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import unseen
from unseen import PRESETS
from unseen.errors import UnseenError
from unseen.networks import latent, rules
from unseen.networks.latent import GAIN, LatentSymbols
from unseen.networks.models import ALPHABET, LARGER_ALPHABET, MODELS
from unseen.runs.fold import run_fold


def small(model: str, **settings: object):  # type: ignore[no-untyped-def]
    few = {"samples": 150, "test_samples": 40, "watched_samples": 0, "batch_size": 32}
    easy = {"model": model, "learning_rate": 0.025, "distortion": 0.0, "starts": 1}
    return PRESETS["good"]().vary(**few | easy | settings)


@pytest.mark.usefixtures("short_rules")
def test_a_corner_that_is_never_seen_follows_from_the_rest() -> None:
    """7, 8 and 9 never stand together: larger answers than all that were seen."""
    easy = {"symbols": "dominoes", "samples": 30, "batch_size": 16}
    outcome = run_fold(small("latent", split="corner", **easy), fold=1)
    assert outcome.result.measures["rounded"] > 0.8


@pytest.mark.usefixtures("short_rules")
def test_it_finds_out_where_the_digits_stand_and_which_is_the_larger() -> None:
    short = {"samples": 170, "epochs": 2}
    outcome = run_fold(small("latent-blind", operation="max(a, b)", **short), fold=1)
    assert outcome.result.measures["rounded"] > 0.8


def test_the_answers_are_those_of_its_rule_when_that_explains_the_table() -> None:
    network = MODELS["latent"].build(2, 28, 56)
    assert isinstance(network, LatentSymbols)
    pictures = torch.rand(6, 1, 28, 56)
    side = LARGER_ALPHABET
    network.rule.copy_(torch.arange(float(side**2)).view(side, side))
    network.is_explained.fill_(1)
    symbols = network.encoder(pictures.view(6, 28, 2, 28).transpose(1, 2).reshape(-1, 1, 28, 28))
    first, second = symbols.view(6, 2, side).argmax(-1).T
    assert torch.equal(network(pictures).flatten(), (side * first + second).float())


def test_a_symbol_for_two_digits_costs_likelihood_though_no_seen_pair_contradicts_it() -> None:
    """Of (0, 0), (2, 2), (0, 1) and (2, 3), a table is as right with one symbol for 1 and 3."""
    pairs = torch.tensor([[0, 0], [2, 2], [0, 1], [2, 3]])
    losses = []
    for symbol_of_3 in (3, 1):
        network = LatentSymbols(2, nn.Identity(), views=None, alphabet=ALPHABET)
        symbols = torch.tensor([0, 1, 2, symbol_of_3])[pairs]
        logits = 20 * functional.one_hot(symbols, ALPHABET).float()
        network._views = lambda _, logits=logits: logits.log_softmax(-1)  # type: ignore[method-assign]
        table = torch.zeros(ALPHABET, ALPHABET)
        table[symbols[:, 0], symbols[:, 1]] = pairs.sum(dim=1).float()
        network.table.data = table.flatten() / GAIN
        optimizer = torch.optim.Adam([network.values, network.weights], lr=0.02)
        for _ in range(300):  # the best that sums can do with these symbols
            optimizer.zero_grad()
            loss, predictions = network.own_loss(
                torch.zeros(4), pairs.sum(dim=1).float(), squared=True
            )
            loss.backward()
            optimizer.step()
        assert torch.equal(predictions, pairs.sum(dim=1).float())
        losses.append(float(loss.detach()))
    assert losses[0] + 0.05 < losses[1]


@pytest.mark.parametrize(
    ("model", "length", "alphabet"),
    [
        *[("latent", 1, LARGER_ALPHABET), ("latent", 2, LARGER_ALPHABET), ("latent", 3, ALPHABET)],
        *[("latent-deep", 2, LARGER_ALPHABET), ("latent-deep", 3, ALPHABET)],
        *[("latent-blind", 2, ALPHABET), ("latent-deep-blind", 2, ALPHABET)],
    ],
)
def test_panels_of_pairs_have_symbols_to_spare(model: str, length: int, alphabet: int) -> None:
    assert MODELS[model].build(length, 28, 28 * length).rule.shape == (alphabet,) * length


def test_what_its_table_cannot_hold_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UnseenError, match="up to 3 symbols, and these are 4"):
        unseen.run(small("latent", length=4, samples=2, test_samples=2), folds=1, runs_dir=tmp_path)
    assert not [*tmp_path.iterdir()]


def test_positions_are_drawn_to_sure_views_that_no_other_position_attends_to() -> None:
    network = LatentSymbols(2, nn.Identity(), views=3, alphabet=ALPHABET)
    sure = 9 * functional.one_hot(torch.tensor([0, 1]), ALPHABET).float()
    # what is seen in the middle is unsure
    views = torch.stack([sure[0], torch.zeros(ALPHABET), sure[1]]).log_softmax(-1).unsqueeze(0)
    costs = []
    for attended in ([0, 2], [0, 1], [0, 0]):
        logits = 9 * functional.one_hot(torch.tensor(attended), 3).float()
        network.places.data = logits.flatten() / GAIN
        costs.append(float(network.placement_penalty(views).detach()))
    apart, unsure, same = costs
    assert apart + 1 < unsure
    assert apart + 0.9 < same
    network.placement_penalty(views.requires_grad_()).backward()
    assert views.grad is None, "the encoder is not asked to be sure"


def test_widths_follow_the_errors_where_symbols_are_to_be_found() -> None:
    """Without a step of the optimiser, whose steps fade before the widths are narrow enough."""
    network = MODELS["latent-blind"].build(2, 28, 56)
    assert isinstance(network, LatentSymbols)
    pictures, widths = torch.rand(8, 1, 28, 56), [float(network._widths()[0])]
    network.table.data.fill_(1 / GAIN)
    for answer in (1.0, 9.0):
        for _ in range(50):
            network.own_loss(pictures, torch.full((8,), answer), squared=False)
        widths.append(float(network._widths()[0]))
    assert widths[1] < 0.92 * widths[0]
    assert widths[2] > 1.05 * widths[1]


def sums_network(*, blind: bool) -> tuple[LatentSymbols, Tensor]:
    """A network that has seen all pairs, and a table of their sums."""
    network = LatentSymbols(2, nn.Identity(), views=3 if blind else None, alphabet=ALPHABET)
    network.counts.fill_(0.004)
    values = torch.linspace(-1, 1, ALPHABET)
    return network, values.unsqueeze(1) + values


@pytest.mark.usefixtures("short_rules")
def test_entries_that_nothing_has_filled_in_follow_the_rule_while_training_goes_on() -> None:
    network, sums = sums_network(blind=True)
    table = sums.clone()
    table[1, 2] = 5.0  # never seen
    network.counts[1, 2] = 1e-9
    network.table.data = table.flatten() / GAIN
    network.end_epoch(is_last=True)
    assert torch.equal(network.table.detach(), table.flatten() / GAIN), "the end is too late"
    network.end_epoch(is_last=False)
    assert network.is_explained
    assert torch.allclose(GAIN * network.table.view_as(sums), sums, atol=0.02)
    wrong = torch.arange(ALPHABET**2).view_as(table) % 10 == 3  # more than a rule may miss
    table[wrong] += 1.0
    network.table.data = table.flatten() / GAIN
    network.end_epoch(is_last=False)
    assert not network.is_explained
    after = (GAIN * network.table.detach()).view_as(sums)
    assert torch.allclose(after[~wrong], sums[~wrong], atol=0.02)
    assert torch.allclose(after[wrong], table[wrong], atol=0.02), "what is filled in stays"


@pytest.mark.usefixtures("short_rules")
@pytest.mark.parametrize("blind", [False, True])
def test_a_rule_that_is_refitted_answers_alone(
    blind: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where entries of the table are wrong, they answer no more."""
    monkeypatch.setattr(rules, "CURVED_FROM_MANY_STARTS", rules.Kind(stages=((8, 300),)))
    network, sums = sums_network(blind=blind)
    wrong = torch.arange(ALPHABET**2).view_as(sums) % 10 == 3  # more than a rule may miss
    network.table.data = (sums + wrong).flatten() / GAIN
    network.end_epoch(is_last=True)
    assert (network._answers() - sums).abs().max() > 0.5
    for number in (1, 2):
        network.refit_rule(number)
        assert (network._answers() - sums).abs().max() < 0.1


@pytest.mark.usefixtures("short_rules")
@pytest.mark.parametrize("blind", [False, True])
def test_the_simplest_rule_answers_alone_where_it_is_exact_and_nothing_changes_elsewhere(
    blind: bool,
) -> None:
    network, sums = sums_network(blind=blind)
    for table, is_simple in ((sums.fliplr(), False), (sums.clone(), True)):
        table[0, :8] += 1.0  # entries that are far from their answers
        network.table.data = table.flatten() / GAIN
        before = network._answers().clone()
        assert network.take_simplest_rule() == is_simple
        if not is_simple:
            assert torch.equal(network._answers(), before)
    assert (network._answers() - sums).abs().max() < 0.02


def test_a_network_doubts_a_rule_that_extrapolates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network = LatentSymbols(2, nn.Identity(), views=None, alphabet=ALPHABET)
    table = torch.zeros(ALPHABET, ALPHABET)
    for beyond in (True, False):
        found = rules.FoundRule(table, residual=0.0, missed=0.0, near=0.0, extrapolates=beyond)
        monkeypatch.setattr(latent, "find_rule", lambda *_, found=found, **__: found)
        network.end_epoch(is_last=True)
        assert network.is_doubtful == beyond


def test_a_training_that_diverged_can_be_refitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "CURVED_FROM_MANY_STARTS", rules.Kind(stages=((2, 1),)))
    network = LatentSymbols(2, nn.Identity(), views=None, alphabet=ALPHABET)
    network.counts.fill_(torch.nan)
    network.table.data.fill_(torch.nan)
    network.refit_rule(1)
    assert not network.is_doubtful
