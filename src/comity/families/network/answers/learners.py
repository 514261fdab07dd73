"""The learner of a table: its rows as examples for a perceptron."""

from __future__ import annotations

import numpy as np
import torch

from comity.errors import InputError
from comity.families.network.answers.learner import Learner
from comity.families.network.losses import LOSSES
from comity.families.network.modules import Functional, perceptron
from comity.families.network.prediction import TargetScale
from comity.questions import Recipe
from comity.rows.rows import Rows


def learner_of(rows: Rows, recipe: Recipe) -> Learner:
    """Return the learner of a recipe, which is made once and keeps the client's personal parameters."""
    if recipe not in rows.learners:
        if recipe.schema is None:
            raise InputError(f"client {rows.owner!r} has a table; it needs a recipe with a schema")
        encoded, tests = rows.encoded(recipe.schema), rows.encoded_tests(recipe.schema)
        classes = encoded.classes
        features, values = encoded.features, encoded.target
        if tests is not None:
            features, values = np.concatenate([features, tests.features]), np.concatenate([values, tests.target])
        module = perceptron(encoded.features.shape[1] - 1, classes or 1, recipe.width, recipe.depth, recipe.seed)
        targets = torch.as_tensor(values)
        rows.learners[recipe] = Learner(
            owner=rows.owner,
            recipe=recipe,
            functional=Functional.of(module, recipe.personal),
            loss=LOSSES[recipe.loss],
            inputs=torch.as_tensor(features[:, :-1]),
            targets=targets.long() if classes else targets,
            strata=values if classes else values * 0,
            target_scale=TargetScale(classes, encoded.spec.mean, encoded.spec.scale),
            test_rows=0 if tests is None else len(tests.target),
            noise=rows.noise,
        )
    learner: Learner = rows.learners[recipe]
    return learner
