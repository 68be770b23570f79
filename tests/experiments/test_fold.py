import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load

from unseen.errors import UnseenError
from unseen.experiments import fold as fold_module
from unseen.experiments.experiment import RESULTS_VERSION
from unseen.experiments.fold import FoldResult, fold_steps, run_fold
from unseen.experiments.posing import fold_samples, pose
from unseen.experiments.presets import fast, paper
from unseen.learning.metrics import METRICS
from unseen.learning.models import MODELS
from unseen.learning.modules import RescaledOutput
from unseen.problem.randomness import Streams

SMALL = fast().vary(
    problem={"samples_per_combination": 6, "test_samples_per_combination": 5},
)
DEVELOPMENT = SMALL.vary(problem={"development": True, "split_seed": 1})


@pytest.mark.parametrize("problem", [SMALL.problem, DEVELOPMENT.problem], ids=["paper", "dev"])
@settings(max_examples=20)
@given(seed=st.integers(0, 2**62), fold=st.integers(1, 10))
def test_unseen_pairs_and_test_handwriting_never_appear_in_training(problem, seed, fold):
    seen, unseen = fold_samples(problem, Streams(seed, fold))
    assert not seen.used_combinations() & unseen.used_combinations()
    assert not seen.used_images() & unseen.used_images()
    assert len(seen.used_combinations()) == 90
    assert len(unseen.used_combinations()) == 10


def test_test_samples_are_mnists_test_images_and_development_ones_are_not():
    seen, unseen = fold_samples(SMALL.problem, Streams(0, 1))
    assert max(seen.used_images()) < 60_000 <= min(unseen.used_images())
    seen, unseen = fold_samples(DEVELOPMENT.problem, Streams(0, 1))
    assert max(seen.used_images() | unseen.used_images()) < 60_000


def test_the_paper_draws_90000_and_20000_samples():
    seen, unseen = fold_samples(paper().problem, Streams(0, 1))
    assert (len(seen), len(unseen)) == (90_000, 20_000)
    assert seen.images.nbytes + seen.combinations.nbytes + seen.answers.nbytes < 2_000_000


def test_folds_do_not_depend_on_the_seed_nor_samples_on_the_fold_before():
    one, other = SMALL.problem, SMALL.problem.model_copy(update={"split_seed": 7})
    assert [f.unseen.tolist() for f in pose(one).folds] != [
        f.unseen.tolist() for f in pose(other).folds
    ]
    first = fold_samples(one, Streams(0, 3))[0].images
    fold_samples(one, Streams(0, 2))
    assert np.array_equal(fold_samples(one, Streams(0, 3))[0].images, first)
    assert not np.array_equal(fold_samples(one, Streams(1, 3))[0].images, first)
    assert (
        fold_samples(one, Streams(1, 3))[1].used_combinations()
        == fold_samples(one, Streams(0, 3))[1].used_combinations()
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
    for name, array in alone.predictions.items():
        assert np.array_equal(array, again.predictions[name])


def test_a_result_is_what_its_predictions_and_its_model_say():
    outcome = run_fold(SMALL, 1)
    predictions, answers = outcome.predictions["prediction"], outcome.predictions["answer"]
    result = outcome.result
    assert result.unseen[0] == [0, 6]
    assert len(answers) == 50
    assert result.test_mse == METRICS["mse"](predictions, answers)
    for name in ("rounded", "floor_or_ceiling", "within_one"):
        assert getattr(result, name) == METRICS[name](predictions, answers)
    assert len(result.epoch_losses) == 1
    model = RescaledOutput(MODELS["lenet5-strided"].build(2, 28, 56))
    model.load_state_dict(load(outcome.model))
    left, right = pose(SMALL.problem).bank.test.images[outcome.predictions["images"][0]]
    picture = np.concatenate([left, right], axis=1)
    with torch.no_grad():
        answer = model(torch.from_numpy(picture)[None, None].float() / 255)
    assert predictions[0] == pytest.approx(answer.item(), abs=1e-4)


def test_the_train_error_is_measured_on_seen_pairs_after_training(monkeypatch):
    monkeypatch.setattr(fold_module, "TRAIN_SAMPLES", 100)
    measured = []
    monkeypatch.setattr(
        fold_module, "mse", lambda *pair: measured.append(pair) or METRICS["mse"](*pair)
    )
    outcome = run_fold(SMALL, 1)
    predictions, answers = measured[-1]  # the quadrants come before
    assert len(answers) == 100
    assert outcome.result.train_mse == METRICS["mse"](predictions, answers)
    assert outcome.result.train_mse != outcome.result.test_mse
    seen, _ = fold_samples(SMALL.problem, Streams(0, 1))
    rows = Streams(0, 1).numpy("train error").permutation(len(seen))[:100]
    assert np.array_equal(answers, seen.answers[rows])


def test_a_curve_is_measured_after_every_epoch_and_changes_nothing():
    two = SMALL.vary(training={"epochs": 2})
    plain, watched = (
        run_fold(two.vary(training={"watched_samples": count}), 1) for count in (0, 50)
    )
    assert plain.result.curve == ()
    assert watched.model == plain.model
    assert len(watched.result.curve) == 2
    last = watched.result.curve[-1]  # 50 are all test samples that there are
    assert last.unseen_mse == pytest.approx(watched.result.test_mse)
    assert last.unseen_rounded == watched.result.rounded
    errors = watched.predictions["prediction"] - watched.predictions["answer"]
    assert last.unseen_mean_error == pytest.approx(errors.mean(), rel=1e-4)
    assert last.seen_mse != last.unseen_mse


def test_fresh_draws_are_others_every_epoch_and_never_unseen_or_of_the_test(monkeypatch):
    drawn = []
    draw = fold_module.seen_samples
    monkeypatch.setattr(
        fold_module, "seen_samples", lambda *what: drawn.append(draw(*what)) or drawn[-1]
    )
    fresh = SMALL.vary(training={"fresh_draws": True, "epochs": 3})
    run_fold(fresh, 1)
    assert len(drawn) == 3
    _, unseen = fold_samples(SMALL.problem, Streams(0, 1))
    for samples in drawn:
        assert not samples.used_combinations() & unseen.used_combinations()
        assert not samples.used_images() & unseen.used_images()
    assert not np.array_equal(drawn[0].images, drawn[1].images)
    assert not np.array_equal(drawn[1].images, drawn[2].images)
    assert np.array_equal(drawn[0].answers, drawn[1].answers)


@pytest.mark.parametrize("fold", [0, 11, -1])
def test_a_fold_that_is_not_there_is_refused(fold):
    with pytest.raises(UnseenError, match=f"fold {fold} does not exist"):
        run_fold(SMALL, fold)


def test_threads_are_as_before_afterwards():
    before = torch.get_num_threads()
    steps = fold_steps(SMALL.vary(threads=before + 1), 1)
    next(steps)
    assert torch.get_num_threads() == before + 1
    steps.close()
    assert torch.get_num_threads() == before


def test_a_network_that_went_astray_counts_as_wrong():
    astray = SMALL.vary(training={"optimizer": "sgd", "learning_rate": 1e9, "schedule": "constant"})
    result = run_fold(astray, 1).result
    assert not math.isfinite(result.test_mse)
    assert result.rounded == result.within_one == result.floor_or_ceiling == 0
    read = FoldResult.model_validate_json(result.model_dump_json())
    assert math.isnan(read.test_mse)
    assert '"test_mse":null' in result.model_dump_json()


def test_results_of_this_version_are_what_they_were():
    """If this fails, the same experiment gives other numbers: raise RESULTS_VERSION, then this."""
    assert RESULTS_VERSION == 2
    seen, unseen = fold_samples(SMALL.problem, Streams(0, 1))
    assert seen.images[[0, 1, -1]].tolist() == [[19871, 21049], [31505, 21735], [37318, 31329]]
    assert unseen.images[[0, 1, -1]].tolist() == [[1723, 2047], [9325, 22], [5800, 8534]]
    recipe = paper().vary(
        problem={"samples_per_combination": 1, "test_samples_per_combination": 1},
        training={"epochs": 1},
    )
    assert run_fold(recipe, 1).result.epoch_losses == pytest.approx([93.8460], rel=1e-3)
    assert run_fold(SMALL, 1).result.epoch_losses == pytest.approx([16.0491], rel=1e-3)
    adam = {"model": "lenet5", "optimizer": "adamw", "learning_rate": 4e-3}
    result = run_fold(SMALL.vary(training=adam), 1).result
    assert result.epoch_losses == pytest.approx([16.2906], rel=1e-3)
    assert result.test_mse == pytest.approx(17.9025, rel=1e-3)
