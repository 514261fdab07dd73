"""A client's answers about networks: personal heads are trained, the best model is kept, models are evaluated."""

import numpy as np
import pytest
import torch

from comity.families.network.adam import Adam
from comity.families.network.answers.learner import Learner
from comity.families.network.answers.replies import evaluate_models, gradients, local_steps, train_alone
from comity.families.network.hypernetworks import Hypernetwork
from comity.families.network.modules import Functional, perceptron
from comity.questions import EvaluateModels, Gradients, LocalSteps, TrainAlone
from support.linear_networks import Linear

RATE = 0.1
RAYS = np.array([[0.9, 0.1], [0.4, 0.6], [0.0, 1.0]])


def with_a_head() -> Learner:
    """A client whose perceptrons, one for each of three networks, have an output layer of its own."""
    plain = Linear.drawn(2, folds=2).learners[0]
    functional = Functional.of(perceptron(8, 1, width=4, depth=1, seed=0), r"^2\.")
    return Learner(
        "a", plain.recipe, functional, plain.loss, plain.inputs, plain.targets, plain.strata, plain.target_scale
    )


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def a_step_further(learner: Learner, models: torch.Tensor, shares: np.ndarray) -> torch.Tensor:
    """What is personal after a step down the slopes of models (K, R, D), each counting by its share (R,)."""
    start = learner.personal.parameters
    gradient = torch.zeros_like(start)
    for network, of_rays in enumerate(models):
        for share, model in zip(shares.tolist(), of_rays, strict=True):
            _, _, by_own = learner.slopes(model[None], torch.tensor([network]), step=0)
            gradient[network] += share * by_own[0]
    return Adam.begin(start).step(start, gradient, RATE)


def test_answering_gradients_trains_the_personal_parameters() -> None:
    learner = with_a_head()
    models = drawn(3, len(RAYS), learner.functional.size)
    shares = RAYS[:, 0] / len(RAYS)
    expected = a_step_further(learner, models, shares)
    networks = np.repeat(np.arange(3.0), len(RAYS))
    gradients(learner, Gradients("", models.flatten(0, 1).numpy(), networks, np.tile(shares, 3), step=0, rate=RATE))
    torch.testing.assert_close(learner.personal.parameters, expected, rtol=0, atol=1e-12)


def test_local_steps_train_the_personal_parameters() -> None:
    learner = with_a_head()
    network = Hypernetwork(clients=2, size=learner.functional.size, width=4)
    parameters = drawn(3, network.parameters)
    models = network(parameters, torch.as_tensor(RAYS))
    expected = a_step_further(learner, models, RAYS[:, 0] / len(RAYS))
    local_steps(learner, LocalSteps(learner.recipe, network, parameters.numpy(), RAYS[None], own=0, step=0, rate=RATE))
    torch.testing.assert_close(learner.personal.parameters, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("rate", [1e-3, 1.0])
def test_training_alone_keeps_a_start_that_is_best_on_held_out_rows(rate: float) -> None:
    linear = Linear.drawn(2, rows=120)
    learner = linear.learners[0]
    (held,) = learner.held
    x = np.column_stack([learner.inputs[held].numpy(), np.ones(held.size)])
    best = np.linalg.lstsq(x, learner.targets[held].numpy(), rcond=None)[0]
    answer = train_alone(learner, TrainAlone(linear.recipe, "alone", best, 40, rate))
    np.testing.assert_array_equal(answer.parameters, best)
    assert answer.loss[0] == pytest.approx(np.mean((x @ best - learner.targets[held].numpy()) ** 2))


def test_models_are_evaluated_on_the_rows_kept_for_it_in_units_of_the_target() -> None:
    linear = Linear.drawn(2, rows=90)
    learner = linear.learners[0]
    models = np.random.default_rng(0).normal(size=(3, linear.size))
    answer = evaluate_models(learner, EvaluateModels(linear.recipe, "rmse", models, ("alone",) * 3))
    rows = learner.judging
    assert rows.size == 15
    predicted = models[:, :-1] @ learner.inputs[rows].numpy().T + models[:, -1:]
    lost = (predicted - learner.targets[rows].numpy()) ** 2
    assert learner.target_scale.scale != 1
    np.testing.assert_allclose(answer.values, learner.target_scale.scale * np.sqrt(lost.mean(axis=1)))
    np.testing.assert_allclose(answer.gains, answer.values - answer.values[0])
