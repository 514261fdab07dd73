"""How well networks do is told by the rows that did nothing else."""

import json

import numpy as np

from comity.neural.judging import judge_models
from comity.questions import JudgeModels
from networks import Linear


def test_models_are_judged_by_the_rows_kept_for_that_in_the_units_of_the_target() -> None:
    linear = Linear.drawn(2, rows=90)
    learner = linear.learners[0]
    models = np.random.default_rng(0).normal(size=(3, linear.size))
    answer = judge_models(learner, JudgeModels(linear.recipe.to_json(), "rmse", models, json.dumps(["alone"] * 3)))
    rows = learner.judging
    assert rows.size == 15
    predicted = models[:, :-1] @ learner.inputs[rows].numpy().T + models[:, -1:]
    lost = (predicted - learner.targets[rows].numpy()) ** 2
    assert learner.described.scale != 1
    np.testing.assert_allclose(answer.values, learner.described.scale * np.sqrt(lost.mean(axis=1)))
    np.testing.assert_allclose(answer.gains, answer.values - answer.values[0])
