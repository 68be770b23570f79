import pytest
import torch

from unseen.training.losses import huber, mse


def test_the_papers_loss_is_the_mean_squared_error():
    predictions, answers = torch.tensor([1.0, 5.0]), torch.tensor([2.0, 2.0])
    assert mse(predictions, answers, torch.tensor(1.0)).item() == 5.0
    assert mse(predictions, answers, torch.tensor(2.0)).item() == 1.25


def test_huber_answers_doubt_by_a_median_and_mse_by_a_mean():
    answers = torch.tensor([0.0, 0.0, 0.0, 8.0])
    for loss, expected in ((mse, 2.0), (huber, 1 / 3)):
        guess = torch.tensor(3.0, requires_grad=True)
        for _ in range(2_000):
            (slope,) = torch.autograd.grad(loss(guess.expand(4), answers, torch.tensor(1.0)), guess)
            with torch.no_grad():
                guess -= 0.05 * slope
        assert guess.item() == pytest.approx(expected, abs=0.01)
