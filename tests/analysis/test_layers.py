import math

import numpy as np
import pytest

from unseen.analysis.layers import PENALTY_PER_SAMPLE, narrowed, probe


def a_layer(rng, count, features, knows=(0,), noise=0.2):
    """Activations that hold some places' digits, mixed, and nothing of the others."""
    digits = rng.integers(0, 10, (count, 2))
    known = [np.eye(10)[digits[:, place]] for place in knows]
    mix = np.random.default_rng(99).standard_normal((10 * len(known), features))
    activations = np.concatenate(known, axis=1) @ mix + noise * rng.standard_normal(
        (count, features)
    )
    return narrowed(activations.astype(np.float32)), digits


@pytest.mark.parametrize("features", [40, 3000])
def test_a_probe_reads_the_digits_that_a_layer_holds_and_no_others(features):
    rng = np.random.default_rng(2)
    left, right = probe(*a_layer(rng, 1000, features), *a_layer(rng, 500, features))
    assert left > 0.98
    assert right == pytest.approx(0.1, abs=0.06)
    both = (0, 1)
    layers = (*a_layer(rng, 1000, features, both), *a_layer(rng, 500, features, both))
    assert min(probe(*layers)) > 0.98
    assert probe(*layers) == probe(*layers)


def test_a_probe_is_scikit_learns_ridge_classifier():
    from sklearn.linear_model import RidgeClassifier
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(3)
    train, train_digits = a_layer(rng, 600, 30, noise=3.0)
    test, test_digits = a_layer(rng, 400, 30, noise=3.0)
    scaler = StandardScaler().fit(train.astype(np.float64))
    theirs = RidgeClassifier(alpha=600 * PENALTY_PER_SAMPLE)
    theirs.fit(scaler.transform(train), train_digits[:, 0])
    expected = theirs.score(scaler.transform(test), test_digits[:, 0])
    found = probe(train, train_digits, test, test_digits)[0]
    assert 0.2 < found < 0.95
    assert found == pytest.approx(expected, abs=0.003)


def test_a_probe_bears_features_that_never_vary_and_a_digit_that_never_does():
    rng = np.random.default_rng(4)
    train, train_digits = a_layer(rng, 300, 20)
    test, test_digits = a_layer(rng, 300, 20)
    train[:, 3], test[:, 3] = 7, 8
    train_digits[:, 1] = 5
    left, right = probe(train, train_digits, test, test_digits)
    assert left > 0.98
    assert right == np.mean(test_digits[:, 1] == 5)


@pytest.mark.parametrize("features", [20, 2000])
def test_a_probe_of_a_network_gone_astray_reads_nothing(features):
    rng = np.random.default_rng(5)
    train, digits = a_layer(rng, 50, features)
    train[3, 4] = math.inf
    assert all(math.isnan(share) for share in probe(train, digits, *a_layer(rng, 50, features)))
