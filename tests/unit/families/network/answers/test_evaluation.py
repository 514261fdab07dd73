"""How well networks do is told by the rows that did nothing else."""

import numpy as np

from comity.families.network.answers.evaluation import evaluate_models
from comity.questions import EvaluateModels
from support.linear_networks import Linear


def test_models_are_judged_by_the_rows_kept_for_that_in_the_units_of_the_target() -> None:
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
