from itertools import pairwise

import numpy as np
import pytest
import torch
from tables_of_combinations import table

from unseen.errors import UnseenError
from unseen.networks.modules import RescaledOutput
from unseen.problem.randomness import Streams
from unseen.problem.samples import draw_samples, render_pictures
from unseen.problem.symbols import load_symbols
from unseen.training import loop
from unseen.training.evaluation import (
    EVALUATION_BATCH,
    MEDIAN_OF,
    predict,
    to_input,
    wrong_combinations,
)
from unseen.training.loop import fewest_wrong, start_training, train, training_pictures
from unseen.training.metrics import METRICS
from unseen.training.optimizers import make_optimizer
from unseen.training.recipe import OPTIMIZERS, Training

CPU = torch.device("cpu")
STREAMS = Streams(0, 1)


def settings(**changes):
    usual = {"model": "lenet5", "epochs": 2, "batch_size": 64, "optimizer": "adamw", "loss": "mse"}
    return Training(**usual | {"learning_rate": 2e-3} | changes)


def some_samples(per_combination=2):
    bank = load_symbols("mnist")
    rng = np.random.default_rng(0)
    return draw_samples(table(), np.arange(100), bank.train, per_combination, rng)


def trained(training, samples, streams=STREAMS, *, saved=None, each_epoch=lambda state: None):
    state = start_training(training, samples, streams, CPU)
    if saved is not None:
        state.restore(saved)
    for progress in train(state, lambda _: samples, training, streams, CPU):
        if progress.epoch_ended:
            each_epoch(state)
    return state


def weights(state):
    return [tensor.clone() for tensor in state.model.state_dict().values()]


def same(ours, theirs):
    return all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))


# 16.5 is the error that the mean alone would leave
@pytest.mark.parametrize(("scale_answers", "most"), [(True, 3.0), (False, 8.0)])
def test_the_loop_learns(scale_answers, most):
    samples = some_samples(per_combination=40)
    training = settings(model="lenet5-strided", epochs=5, scale_answers=scale_answers)
    state = trained(training, samples)
    assert state.losses[-1] < 0.25 * state.losses[0]
    error = METRICS["test_mse"](predict(state.model, samples, CPU), samples.answers)
    assert error < most < samples.answers.var() == pytest.approx(16.5)
    assert error == pytest.approx(state.losses[-1], rel=0.3)


@pytest.mark.parametrize(
    ("model", "optimizer"), [*(("lenet5", each) for each in OPTIMIZERS), ("paper", "adadelta")]
)
def test_a_checkpoint_goes_on_with_the_same_bits(model, optimizer):
    """The paper's network has dropout, so this covers its random streams as well."""
    samples = some_samples(1).some(np.arange(0, 100, 8))
    training = settings(model=model, optimizer=optimizer, batch_size=16)
    saved = []
    whole = trained(training, samples, each_epoch=lambda state: saved.append(state.to_bytes()))
    resumed = trained(training, samples, saved=saved[0])
    assert same(weights(whole), weights(resumed))
    assert whole.losses == resumed.losses


def test_weights_are_averaged_over_the_last_epochs_also_across_a_checkpoint():
    samples, averaging = some_samples(1), settings(epochs=3, averaged_epochs=2)
    ends, saved = [], []
    trained(settings(epochs=3), samples, each_epoch=lambda state: ends.append(weights(state)))
    averaged = trained(averaging, samples, each_epoch=lambda each: saved.append(each.to_bytes()))
    expected = [(one + two) / 2 for one, two in zip(*ends[1:], strict=True)]
    assert all(map(torch.allclose, weights(averaged), expected))
    assert not same(weights(averaged), ends[2])
    for checkpoint in saved[1:]:
        assert same(weights(averaged), weights(trained(averaging, samples, saved=checkpoint)))


def test_the_papers_recipe_learns():
    samples = some_samples(per_combination=3)
    training = settings(
        model="paper", epochs=4, batch_size=12, optimizer="adadelta", learning_rate=1.0,
        schedule="constant", scale_answers=False,
    )  # fmt: skip
    losses = trained(training, samples).losses
    assert losses[-1] < 0.8 * 16.5 < losses[0]  # 16.5 is what the mean alone would leave


def test_a_checkpoint_of_another_network_is_refused():
    samples = some_samples(1)
    saved = start_training(settings(model="paper"), samples, STREAMS, CPU).to_bytes()
    for content in (saved, b"nonsense"):
        with pytest.raises(UnseenError, match="does not fit its network"):
            start_training(settings(), samples, STREAMS, CPU).restore(content)


def test_watching_a_training_changes_nothing():
    def disturb(state):
        torch.rand(3)
        state.model.eval()

    samples, training = some_samples(1), settings(model="paper", batch_size=32)
    before = torch.get_rng_state()
    alone = trained(training, samples)
    assert torch.equal(torch.get_rng_state(), before)
    assert same(weights(alone), weights(trained(training, samples, each_epoch=disturb)))


def test_seeds_and_folds_start_and_end_apart():
    samples, training = some_samples(), settings(epochs=1)
    first, *others, again = (
        weights(trained(training, samples, streams))
        for streams in (STREAMS, Streams(1, 1), Streams(0, 2), STREAMS)
    )
    assert same(first, again)
    assert not any(same(first, other) for other in others)


def test_the_last_partial_batch_is_kept_and_every_epoch_is_reshuffled(monkeypatch):
    batches = []
    monkeypatch.setattr(
        loop,
        "render_pictures",
        lambda samples, rows: batches.append(rows) or render_pictures(samples, rows),
    )
    samples = some_samples(per_combination=3)
    trained(settings(batch_size=128, epochs=2), samples)
    assert [len(rows) for rows in batches] == [128, 128, 44, 128, 128, 44]
    first, second = np.concatenate(batches[:3]), np.concatenate(batches[3:])
    assert sorted(first) == sorted(second) == [*range(300)]
    assert not np.array_equal(first, second)


def test_training_yields_at_the_end_of_every_epoch():
    samples, training = some_samples(per_combination=5), settings(epochs=3, batch_size=16)
    state = start_training(training, samples, STREAMS, CPU)
    steps = [*train(state, lambda _: samples, training, STREAMS, CPU)]
    assert [step.epochs_done for step in steps if step.epoch_ended] == [1, 2, 3]
    so_far = [step.epochs for step in steps]
    assert so_far == sorted(so_far)
    assert len(steps) > 3


def test_pixels_are_divided_by_255():
    pictures = np.asarray([[[0, 51], [255, 102]]], np.uint8)
    assert to_input(pictures, CPU).tolist() == [
        [[[0.0, pytest.approx(0.2)], [1.0, pytest.approx(0.4)]]]
    ]


def test_predictions_are_in_the_samples_order_with_dropout_off():
    samples = some_samples(per_combination=3)
    assert len(samples) > EVALUATION_BATCH
    state = start_training(settings(model="paper"), samples, STREAMS, CPU)
    predictions = predict(state.model, samples, CPU)
    assert predictions.dtype == np.float32
    assert np.array_equal(predictions, predict(state.model, samples, CPU))
    one = state.model.eval()(to_input(render_pictures(samples, np.asarray([270])), CPU))
    assert predictions[270] == pytest.approx(one.item(), abs=1e-4)


def test_a_network_answers_in_the_answers_scale():
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 1))
    pictures = torch.rand(3, 1, 2, 2)
    plain, scaled = RescaledOutput(network)(pictures), RescaledOutput(network, 9.0, 4.0)(pictures)
    assert torch.allclose(scaled, 9 + 4 * plain)
    assert plain.shape == (3,)


def judged(monkeypatch, *wrong):
    """Have each start judged as said, whatever it learnt."""
    verdicts = iter(wrong)
    monkeypatch.setattr("unseen.training.loop.wrong_combinations", lambda *_: next(verdicts))
    return verdicts


def test_training_begins_again_only_while_seen_combinations_come_out_wrong(monkeypatch):
    samples = some_samples(1)
    once = trained(settings(), samples)
    judged(monkeypatch, 0)
    right = trained(settings(starts=3), samples)
    assert (right.start, right.wrong) == (1, 0)
    assert same(weights(right), weights(once))
    judged(monkeypatch, 7, 0)
    again = trained(settings(starts=3), samples)
    assert (again.start, again.wrong, len(again.losses)) == (2, 0, 2)
    assert not same(weights(again), weights(once))


def test_each_start_has_samples_an_order_and_averaged_weights_of_its_own(monkeypatch):
    samples = some_samples(1)
    training = settings(epochs=2, averaged_epochs=2, starts=2)
    judged(monkeypatch, 7, 0)
    state = start_training(training, samples, STREAMS, CPU)
    asked, ends, rows = [], [], []

    def samples_of(number):
        asked.append(number)
        return samples

    monkeypatch.setattr(
        loop,
        "training_pictures",
        lambda samples, some, *_: rows.append(some) or training_pictures(samples, some, *_),
    )
    for progress in train(state, samples_of, training, STREAMS, CPU):
        if progress.epoch_ended:
            ends.append(weights(state))
    assert [number for number in asked if number > 1] == [2, 3, 4]
    orders = {tuple(np.concatenate(rows[epoch::2][:1])) for epoch in range(0, len(rows), 2)}
    assert len(orders) == 4, "a later start has the order of an earlier one"
    alone = weights(trained(training.change(starts=1), samples))
    assert same(ends[1], alone), "the first start is not what it would be alone"
    plain = start_training(settings(), samples, STREAMS, CPU, start=2)
    plain.start = 2
    judged(monkeypatch, 0)
    for _ in train(plain, lambda _: samples, settings(starts=2), STREAMS, CPU):
        pass
    expected = [(one + two) / 2 for one, two in zip(ends[2], weights(plain), strict=True)]
    assert all(map(torch.allclose, weights(state), expected)), "weights of both starts are averaged"


@pytest.mark.parametrize(("wrong", "best"), [((2, 5, 3), 1), ((5, 3, 3), 2), ((5, 4, 1), 3)])
def test_the_first_start_with_the_fewest_wrong_combinations_is_kept(monkeypatch, wrong, best):
    samples, training = some_samples(1), settings(epochs=1, starts=3)
    judged(monkeypatch, *wrong)
    ends, losses, saved = [], [], []

    def keep(state):
        ends.append(weights(state))
        losses.append([*state.losses])
        saved.append(state.to_bytes())

    state = trained(training, samples, each_epoch=keep)
    assert (state.start, state.wrong) == (3, min(wrong))
    assert not any(same(one, other) for one, other in pairwise(ends)), "a curve of two networks"
    assert state.losses == losses[best - 1]
    assert same(weights(state), ends[best - 1])
    for kept, checkpoint in enumerate(saved, start=1):
        judged(monkeypatch, *wrong[kept:])
        resumed = trained(training, samples, saved=checkpoint)
        assert same(weights(resumed), weights(state))
        assert (resumed.losses, resumed.start) == (state.losses, 3)


def test_a_combination_is_wrong_if_the_median_answer_to_its_samples_is(monkeypatch):
    samples = some_samples(per_combination=3)
    answers = np.tile(np.float32([9, 0, 9]), 100)
    monkeypatch.setattr("unseen.training.evaluation.predict", lambda *_: answers)
    assert wrong_combinations(None, samples, CPU) == 90  # ten pairs make 9
    shuffled = samples.some(np.random.default_rng(0).permutation(300))
    assert wrong_combinations(None, shuffled, CPU) == 90
    answers = np.full(300, np.nan, np.float32)
    assert wrong_combinations(None, samples, CPU) == 100
    asked = []
    monkeypatch.setattr(
        "unseen.training.evaluation.predict", lambda _, few, __: asked.append(few) or few.answers
    )
    assert wrong_combinations(None, some_samples(per_combination=MEDIAN_OF + 3), CPU) == 0
    assert len(asked[0]) == 100 * MEDIAN_OF


class FindsRules(torch.nn.Linear):
    """Its weight says by which rule it answers: 0 at first, 10 is the simplest, others refitted."""

    def __init__(self, doubtful, *, has_simple):
        super().__init__(1, 1)
        self.doubtful, self.has_simple = doubtful, has_simple
        self.refit_rule(0)

    def refit_rule(self, number):
        self.weight.data.fill_(number)
        self.is_doubtful = number in self.doubtful

    def take_simplest_rule(self):
        if self.has_simple:
            self.refit_rule(10)
        return self.has_simple


@pytest.mark.parametrize(
    ("wrong", "doubtful", "has_simple", "kept"),
    [
        ((0,), (), False, 0),
        ((4, 2, 3, 0), (), False, 3),
        ((3, *(5, 1, 4) * 2), (), False, 2),  # of equals the first, and six trials at most
        ((0, 0, 0), (0, 1), False, 2),  # a rule in doubt, though all that was seen comes out right
        ((0, 2, 0), (0,), False, 2),
        ((0,) * 7, range(7), False, 0),
        ((1, 0, 0), (1,), False, 2),
        ((0, 0), (), True, 10),  # the simplest, unless more comes out wrong by it
        ((2, 0), (), True, 10),
        ((5, 1, *(1,) * 6), (), True, 10),
        ((0, 1), (), True, 0),
        ((2, 3, *(2,) * 6), (), True, 0),
    ],
)
def test_before_another_start_the_rule_with_the_fewest_wrong_combinations_is_kept(
    monkeypatch, wrong, doubtful, has_simple, kept
):
    model = RescaledOutput(FindsRules(doubtful, has_simple=has_simple))
    verdicts = judged(monkeypatch, *wrong)
    assert fewest_wrong(model, None, CPU) == min(wrong)
    assert model.network.weight.item() == kept
    assert not [*verdicts]


class TrainsItself(torch.nn.Sequential):
    """What a network may offer beside its answers."""

    def __init__(self):
        super().__init__(torch.nn.Flatten(), torch.nn.Linear(28 * 56, 1))
        self.asked, self.ended = [], []

    def own_loss(self, pictures, answers, *, squared):
        self.asked.append((answers, squared))
        predictions = self(pictures).flatten()
        return (predictions - answers).abs().mean(), predictions

    def end_epoch(self, *, is_last):
        self.ended.append(is_last)


def test_a_network_may_have_a_loss_and_an_end_of_epoch_of_its_own():
    samples, training = some_samples(1), settings(epochs=2, batch_size=100)
    state = start_training(training, samples, STREAMS, CPU)
    state.model.network = network = TrainsItself()
    state.optimizer = make_optimizer("sgd", network.parameters(), 1e-3)
    for _ in train(state, lambda _: samples, training, STREAMS, CPU):
        pass
    assert network.ended == [False, True]
    answers, squared = network.asked[0]
    assert squared
    assert answers.mean().item() == pytest.approx(0, abs=1e-5)
    assert answers.std(correction=0).item() == pytest.approx(1, abs=1e-5)
    assert state.losses[0] < 100  # of answers in their own scale, whose variance is 16.5
