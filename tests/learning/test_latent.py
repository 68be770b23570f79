"""A network with symbols of its own, on symbols that are easy to tell apart."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import unseen
from unseen import PRESETS
from unseen.errors import UnseenError
from unseen.experiments.fold import run_fold
from unseen.learning.latent import ALPHABET, GAIN, LatentSymbols
from unseen.learning.models import MODELS


def small(model: str, **settings: object):  # type: ignore[no-untyped-def]
    few = {"samples": 150, "test_samples": 40, "watched_samples": 0, "batch_size": 32}
    easy = {"model": model, "learning_rate": 0.025, "distortion": 0.0}
    return PRESETS["good"]().vary(**few | easy | settings)


def test_a_corner_that_is_never_seen_follows_from_the_rest() -> None:
    """7, 8 and 9 never stand together: larger answers than all that were seen."""
    outcome = run_fold(small("latent", split="corner"), fold=1)
    assert outcome.result.measures["rounded"] > 0.8


def test_it_finds_out_where_the_digits_stand_and_which_is_the_larger() -> None:
    outcome = run_fold(small("latent-blind", operation="max(a, b)"), fold=1)
    assert outcome.result.measures["rounded"] > 0.8


def test_the_answers_are_those_of_its_rule_when_that_explains_the_table() -> None:
    network = MODELS["latent"].build(2, 28, 56)
    assert isinstance(network, LatentSymbols)
    pictures = torch.rand(6, 1, 28, 56)
    network.rule.copy_(torch.arange(256.0).view(16, 16))
    network.is_explained.fill_(1)
    symbols = network.encoder(pictures.view(6, 28, 2, 28).transpose(1, 2).reshape(-1, 1, 28, 28))
    first, second = symbols.view(6, 2, 16).argmax(-1).T
    assert torch.equal(network(pictures).flatten(), (16 * first + second).float())


def test_a_symbol_for_two_digits_costs_likelihood_though_no_seen_pair_contradicts_it() -> None:
    """Of (0, 0), (2, 2), (0, 1) and (2, 3), a table is as right with one symbol for 1 and 3."""
    pairs = torch.tensor([[0, 0], [2, 2], [0, 1], [2, 3]])
    losses = []
    for symbol_of_3 in (3, 1):
        network = LatentSymbols(2, nn.Identity(), views=None)
        symbols = torch.tensor([0, 1, 2, symbol_of_3])[pairs]
        logits = 20 * functional.one_hot(symbols, ALPHABET).float()
        network._symbols = lambda _, logits=logits: logits.log_softmax(-1)  # type: ignore[method-assign]
        table = torch.zeros(ALPHABET, ALPHABET)
        table[symbols[:, 0], symbols[:, 1]] = pairs.sum(dim=1).float()
        network.table.data = table.flatten() / GAIN
        optimizer = torch.optim.Adam([network.values, network.weights], lr=0.02)
        for _ in range(300):  # the best that sums can do with these symbols
            optimizer.zero_grad()
            loss, predictions = network.likelihood_loss(
                torch.zeros(4), pairs.sum(dim=1).float(), squared=True
            )
            loss.backward()
            optimizer.step()
        assert torch.equal(predictions, pairs.sum(dim=1).float())
        losses.append(float(loss.detach()))
    assert losses[0] + 0.05 < losses[1]


def test_four_symbols_are_more_than_its_table_holds() -> None:
    with pytest.raises(UnseenError, match="towers"):
        MODELS["latent"].build(4, 28, 112)


def test_a_likely_answer_costs_less() -> None:
    network = MODELS["latent"].build(2, 28, 56)
    pictures = torch.rand(8, 1, 28, 56)
    _, predictions = network.likelihood_loss(pictures, torch.zeros(8), squared=False)  # type: ignore[operator]
    near, _ = network.likelihood_loss(pictures, predictions, squared=False)  # type: ignore[operator]
    far, _ = network.likelihood_loss(pictures, predictions + 9, squared=False)  # type: ignore[operator]
    assert near < far
    assert np.isfinite([float(near.detach()), float(far.detach())]).all()


def test_what_its_table_cannot_hold_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UnseenError, match="up to 3 symbols, and these are 4"):
        unseen.run(small("latent", length=4, samples=2, test_samples=2), folds=1, runs_dir=tmp_path)
    assert not [*tmp_path.iterdir()]
