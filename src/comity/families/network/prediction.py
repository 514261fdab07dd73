"""Predicting with a perceptron that was trained."""

from __future__ import annotations

import torch

from comity.core.arrays import Floats
from comity.families.network.modules import Functional, perceptron
from comity.families.network.target_scale import TargetScale
from comity.questions.schema import Target


def predict_encoded(features: Floats, target: Target, model: Floats, width: int, depth: int) -> Floats:
    """Return values (n,) or probabilities (n, C) for encoded rows (n, f), the last column of which is of ones."""
    classes = len(target.classes)
    module = perceptron(features.shape[1] - 1, classes or 1, width, depth, seed=0)
    functional = Functional.of(module.double())
    with torch.no_grad():
        outputs = functional(torch.as_tensor(model), torch.zeros(0), torch.as_tensor(features[:, :-1]))
    return TargetScale(classes, target.mean, target.scale).predictions(outputs)
