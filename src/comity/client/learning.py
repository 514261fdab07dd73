"""A table's client as one that trains networks: its rows as examples for a perceptron."""

from __future__ import annotations

import numpy as np
import torch

from comity.client.rows import Rows
from comity.neural.described import Described
from comity.neural.learner import Learner
from comity.neural.losses import LOSSES
from comity.neural.modules import Functional, perceptron
from comity.neural.recipe import Recipe


def learner_of(rows: Rows, recipe: str) -> Learner:
    """Return the learner of a recipe (JSON), made once: what is personal to the client stays in it."""
    if recipe not in rows.learners:
        wanted = Recipe.from_json(recipe)
        encoded, tests = rows.encoded(wanted.schema), rows.encoded_tests(wanted.schema)
        classes = encoded.classes
        features, values = encoded.features, encoded.target
        if tests is not None:
            features, values = np.concatenate([features, tests.features]), np.concatenate([values, tests.target])
        module = perceptron(encoded.features.shape[1] - 1, classes or 1, wanted.width, wanted.depth, wanted.seed)
        targets = torch.as_tensor(values)
        rows.learners[recipe] = Learner(
            owner=rows.owner,
            recipe=wanted,
            functional=Functional.of(module, wanted.personal),
            loss=LOSSES[wanted.loss],
            inputs=torch.as_tensor(features[:, :-1]),
            targets=targets.long() if classes else targets,
            strata=values if classes else values * 0,
            described=Described(classes, encoded.described.mean, encoded.described.scale),
            apart=0 if tests is None else len(tests.target),
            noise=rows.noise,
        )
    learner: Learner = rows.learners[recipe]
    return learner
