import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from complete_folds import complete_fold
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load
from tables_of_combinations import used_combinations, used_images

from unseen.errors import UnseenError
from unseen.networks.models import MODELS
from unseen.networks.modules import RescaledOutput
from unseen.problem.randomness import Streams
from unseen.problem.task import fold_samples, make_task
from unseen.report.tables import footnote
from unseen.runs import fold as fold_module
from unseen.runs.experiment import RESULTS_VERSION
from unseen.runs.fold import FoldResult, follow_fold, run_fold
from unseen.runs.measuring import shown_samples, watched_samples
from unseen.runs.presets import fast, paper
from unseen.runs.run_folder import RunFolder
from unseen.training.evaluation import predict
from unseen.training.metrics import METRICS

SMALL = fast().vary(samples=6, test_samples=5, watched_samples=20)
DEVELOPMENT = SMALL.vary(development=True, split_seed=1)


@pytest.mark.parametrize("problem", [SMALL.problem, DEVELOPMENT.problem], ids=["paper", "dev"])
@settings(max_examples=20)
@given(seed=st.integers(0, 2**62), fold=st.integers(1, 10))
def test_unseen_pairs_and_test_handwriting_never_appear_in_training(problem, seed, fold):
    seen, unseen = fold_samples(problem, Streams(seed, fold))
    assert not used_combinations(seen) & used_combinations(unseen)
    assert not used_images(seen) & used_images(unseen)
    assert len(used_combinations(seen)) == 90
    assert len(used_combinations(unseen)) == 10


def test_test_samples_are_mnists_test_images_and_development_ones_are_not():
    seen, unseen = fold_samples(SMALL.problem, Streams(0, 1))
    assert max(used_images(seen)) < 60_000 <= min(used_images(unseen))
    seen, unseen = fold_samples(DEVELOPMENT.problem, Streams(0, 1))
    assert max(used_images(seen) | used_images(unseen)) < 60_000


def test_the_paper_draws_90000_and_10000_samples():
    seen, unseen = fold_samples(paper().problem, Streams(0, 1))
    assert (len(seen), len(unseen)) == (90_000, 10_000)
    assert seen.images.nbytes + seen.combinations.nbytes + seen.answers.nbytes < 2_000_000


def test_folds_do_not_depend_on_the_seed_nor_samples_on_the_fold_before():
    one, other = SMALL.problem, SMALL.problem.model_copy(update={"split_seed": 7})
    assert [f.unseen.tolist() for f in make_task(one).folds] != [
        f.unseen.tolist() for f in make_task(other).folds
    ]
    first = fold_samples(one, Streams(0, 3))[0].images
    fold_samples(one, Streams(0, 2))
    assert np.array_equal(fold_samples(one, Streams(0, 3))[0].images, first)
    assert not np.array_equal(fold_samples(one, Streams(1, 3))[0].images, first)
    assert used_combinations(fold_samples(one, Streams(1, 3))[1]) == used_combinations(
        fold_samples(one, Streams(0, 3))[1]
    )


def test_a_fold_depends_on_its_two_arguments_alone():
    alone = run_fold(SMALL, 2)
    torch.manual_seed(99)
    np.random.seed(99)
    run_fold(SMALL, 5)
    again = run_fold(SMALL, 2)
    assert again.model == alone.model
    same = {"seconds": 0.0}
    assert again.result.model_copy(update=same) == alone.result.model_copy(update=same)
    for name, array in vars(alone.arrays).items():
        assert np.array_equal(array, getattr(again.arrays, name))


def test_a_result_is_what_its_predictions_and_its_model_say():
    outcome = run_fold(SMALL, 1)
    predictions, answers = outcome.arrays.prediction, outcome.arrays.answer
    result = outcome.result
    assert result.unseen[0] == [0, 6]
    assert len(answers) == 50
    assert result.measures.keys() == METRICS.keys()
    for name, metric in METRICS.items():
        if metric.combinations == "unseen":
            assert result.measures[name] == metric(predictions, answers)
    assert result.measures["seen_rounded"] == result.quadrants["seen_test"]["rounded"]
    assert len(result.epoch_losses) == 1
    model = RescaledOutput(MODELS["lenet5-curved"].build(2, 28, 56))
    model.load_state_dict(load(outcome.model))
    left, right = make_task(SMALL.problem).bank.test.images[outcome.arrays.images[0]]
    picture = np.concatenate([left, right], axis=1)
    with torch.no_grad():
        answer = model(torch.from_numpy(picture)[None, None].float() / 255)
    assert predictions[0] == pytest.approx(answer.item(), abs=1e-4)


def test_the_train_error_is_measured_on_seen_pairs_after_training(monkeypatch):
    monkeypatch.setattr(fold_module, "TRAIN_SAMPLES", 100)
    measured = []
    metric = METRICS["train_mse"]
    spy = replace(
        metric, of_samples=lambda *pair: measured.append(pair) or metric.of_samples(*pair)
    )
    monkeypatch.setitem(METRICS, "train_mse", spy)
    measures = run_fold(SMALL, 1).result.measures
    ((predictions, answers),) = measured
    assert len(answers) == 100
    assert measures["train_mse"] == metric(predictions, answers)
    assert measures["train_mse"] != measures["test_mse"]
    seen, _ = fold_samples(SMALL.problem, Streams(0, 1))
    rows = Streams(0, 1).numpy("train error").permutation(len(seen))[:100]
    assert np.array_equal(answers, seen.answers[rows])


def measured_fold(experiment, fold=1, checkpoint=None):
    """A fold to its end: its outcome, what was measured on the way, and its checkpoints."""
    measurements, checkpoints = [], []

    def report(progress, measurement, state):
        if measurement is not None:
            measurements.append(measurement)
        if progress.epoch_share == 0:
            checkpoints.append(state.to_bytes())

    return follow_fold(experiment, fold, report, checkpoint), measurements, checkpoints


def test_measuring_on_the_way_changes_no_bit_of_the_result():
    two = SMALL.vary(epochs=2, samples=30)
    plain, nothing, _ = measured_fold(two.vary(watched_samples=0))
    watched, measurements, _ = measured_fold(two.vary(watched_samples=50))
    assert nothing == []
    assert len(measurements) > 2
    assert watched.model == plain.model
    same = {"seconds": 0.0}
    assert watched.result.model_copy(update=same) == plain.result.model_copy(update=same)
    for name, array in vars(plain.arrays).items():
        assert np.array_equal(array, getattr(watched.arrays, name))


def test_a_measurement_has_every_combination_seen_and_unseen():
    _, measurements, _ = measured_fold(SMALL.vary(samples=30, watched_samples=200))
    assert len(measurements) == 10
    assert [each.epochs for each in measurements] == sorted({each.epochs for each in measurements})
    last = measurements[-1]
    assert last.epochs == 1
    assert last.combinations == [[left, right] for left in range(10) for right in range(10)]
    unseen = make_task(SMALL.problem).unseen(1)
    samples, right = np.asarray(last.samples), np.asarray(last.right)
    assert set(samples[unseen]) == {20}
    assert set(np.delete(samples, unseen)) == {2}
    assert last.unseen["rounded"] == pytest.approx(
        right[unseen].sum() / samples[unseen].sum(), abs=1e-5
    )
    seen = np.delete(right, unseen).sum() / np.delete(samples, unseen).sum()
    assert last.seen["rounded"] == pytest.approx(seen, abs=1e-5)


def test_no_moment_is_measured_twice_in_an_epoch_of_few_steps():
    _, measurements, _ = measured_fold(SMALL.vary(samples=5, batch_size=96, watched_samples=50))
    assert [each.epochs for each in measurements] == [0.2, 0.4, 0.6, 0.8, 1]


def test_a_measurement_is_in_test_handwriting_and_of_the_network_at_the_end():
    watched = watched_samples(make_task(SMALL.problem), 100, Streams(0, 1))
    assert min(used_images(watched.samples)) >= 60_000
    outcome, measurements, _ = measured_fold(SMALL.vary(watched_samples=100))
    network = RescaledOutput(MODELS["lenet5-curved"].build(2, 28, 56))
    network.load_state_dict(load(outcome.model))
    again = predict(network, watched.samples, torch.device("cpu"))
    errors = (again - watched.samples.answers)[watched.is_unseen]
    assert measurements[-1].unseen["mse"] == pytest.approx((errors**2).mean(), rel=1e-3)
    assert measurements[-1].unseen["mean_error"] == pytest.approx(errors.mean(), abs=1e-3)
    shown = shown_samples(watched)
    assert watched.is_unseen[shown].all()
    assert len({*watched.samples.combinations[shown].tolist()}) == len(shown) == 6
    assert measurements[-1].shown == pytest.approx(again[shown], abs=1e-3)


def test_a_fold_that_goes_on_from_a_checkpoint_measures_the_same():
    three = SMALL.vary(epochs=3, watched_samples=50)
    whole, measurements, checkpoints = measured_fold(three)
    resumed, later, _ = measured_fold(three, checkpoint=checkpoints[0])
    assert resumed.model == whole.model
    assert [replace(each, seconds=0) for each in later] == [
        replace(each, seconds=0) for each in measurements if each.epochs > 1
    ]
    assert later[0].seconds > 0


def test_fresh_draws_are_others_every_epoch_and_never_unseen_or_of_the_test(monkeypatch):
    drawn = []
    draw = fold_module.seen_samples
    monkeypatch.setattr(
        fold_module, "seen_samples", lambda *what: drawn.append(draw(*what)) or drawn[-1]
    )
    fresh = SMALL.vary(fresh_draws=True, epochs=3)
    run_fold(fresh, 1)
    always, *drawn = drawn  # what a network's first layer is scaled by, and the train error
    assert np.array_equal(always.images, fold_samples(SMALL.problem, Streams(0, 1))[0].images)
    assert len(drawn) == 3
    _, unseen = fold_samples(SMALL.problem, Streams(0, 1))
    for samples in drawn:
        assert not used_combinations(samples) & used_combinations(unseen)
        assert not used_images(samples) & used_images(unseen)
    assert not np.array_equal(drawn[0].images, drawn[1].images)
    assert not np.array_equal(drawn[1].images, drawn[2].images)
    assert np.array_equal(drawn[0].answers, drawn[1].answers)


@pytest.mark.parametrize("fold", [0, 11, -1])
def test_a_fold_that_is_not_there_is_refused(fold):
    with pytest.raises(UnseenError, match=f"folds={fold} does not exist"):
        run_fold(SMALL, fold)


def test_threads_are_as_before_afterwards():
    before = torch.get_num_threads()

    def stop(*_):
        assert torch.get_num_threads() == before + 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        follow_fold(SMALL.vary(threads=before + 1), 1, stop)
    assert torch.get_num_threads() == before


def test_a_network_that_went_astray_counts_as_wrong():
    astray = SMALL.vary(optimizer="sgd", learning_rate=1e9, schedule="constant")
    result = run_fold(astray, 1).result
    measures = result.measures
    assert not math.isfinite(measures["test_mse"])
    assert measures["rounded"] == measures["within_one"] == measures["floor_or_ceiling"] == 0
    read = FoldResult.model_validate_json(result.model_dump_json())
    assert math.isnan(read.measures["test_mse"])
    assert '"test_mse":null' in result.model_dump_json()


def test_results_of_this_version_are_what_they_were():
    """If this fails, the same experiment gives other numbers: raise RESULTS_VERSION, then this."""
    assert RESULTS_VERSION == 1
    seen, unseen = fold_samples(SMALL.problem, Streams(0, 1))
    assert seen.images[[0, 1, -1]].tolist() == [[19871, 21049], [31505, 21735], [37318, 31329]]
    assert unseen.images[[0, 1, -1]].tolist() == [[1723, 2047], [9325, 22], [5800, 8534]]
    recipe = paper().vary(samples=1, test_samples=1, epochs=1, watched_samples=0)
    assert run_fold(recipe, 1).result.epoch_losses == pytest.approx([93.8460], rel=1e-3)
    first = SMALL.vary(model="lenet5-strided", loss="mse")
    assert run_fold(first, 1).result.epoch_losses == pytest.approx([16.0491], rel=1e-3)
    assert run_fold(SMALL, 1).result.epoch_losses == pytest.approx([15.9144], rel=1e-3)
    adam = {"model": "lenet5", "loss": "mse", "optimizer": "adamw", "learning_rate": 4e-3}
    result = run_fold(SMALL.vary(**adam), 1).result
    assert result.epoch_losses == pytest.approx([16.2906], rel=1e-3)
    assert result.measures["test_mse"] == pytest.approx(17.9025, rel=1e-3)


def test_a_fold_that_was_begun_again_says_so_and_has_the_curve_of_its_last_start(tmp_path):
    """Nothing gets all seen pairs right from so few samples."""
    experiment = SMALL.vary(starts=2, watched_samples=20)
    folder = RunFolder.of(experiment, tmp_path)
    folder.create(experiment)
    result = complete_fold(folder.path, experiment, 1)
    assert (result.starts, len(result.epoch_losses)) == (2, 1)
    assert 0 < result.wrong_seen <= 90
    assert folder.result(1) == result
    epochs = [each.epochs for each in folder.measurements(1)]
    assert epochs == sorted({*epochs})
    assert epochs[-1] == 1
    once = run_fold(experiment.vary(starts=1), 1).result
    assert (once.starts, once.wrong_seen) == (1, None)
    said = f"fold 1 (2 trainings, {result.wrong_seen} wrong in the best)"
    assert said in footnote(experiment, [result, once])
    assert "Trained" not in footnote(experiment, [once])
