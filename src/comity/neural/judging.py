"""How well networks do, on rows that were kept for that alone."""

from __future__ import annotations

import json

import numpy as np
import torch
from numpy.typing import NDArray

from comity.metrics import METRICS
from comity.neural.learner import DEVICE, Learner
from comity.questions import Evaluation, JudgeModels
from comity.splits import FOR_ERRORS, generator_for

Floats = NDArray[np.float64]
_RESAMPLES = 200


def judge_models(learner: Learner, question: JudgeModels) -> Evaluation:
    """Answer how well models (3, D) do, and what they gain over the first, with errors from resampled rows."""
    rows = learner.judging
    metric = METRICS[question.metric]
    target = learner.described.as_given(learner.targets[rows].double().cpu().numpy())
    models = torch.as_tensor(question.parameters, dtype=learner.dtype, device=DEVICE)
    predicted = [
        learner.described.predictions(learner.outputs(head, model, rows))
        for head, model in zip(json.loads(question.heads), models, strict=True)
    ]
    drawn = generator_for(learner.recipe.seed, learner.owner, FOR_ERRORS).multinomial(
        rows.size, np.full(rows.size, 1 / rows.size), _RESAMPLES
    )
    once = np.ones((1, rows.size))
    values = np.array([metric.measure(each, target, once)[0] for each in predicted])
    spread = np.stack([metric.measure(each, target, drawn.astype(np.float64)) for each in predicted])
    return Evaluation(values, _deviation(spread), values - values[0], _deviation(spread - spread[0]))


def _deviation(spread: Floats) -> Floats:
    """Return standard deviations (M,) over resamples (M, B) that have a value."""
    known = ~np.isnan(spread)
    return np.array([each[here].std() if here.sum() > 1 else np.nan for each, here in zip(spread, known, strict=True)])
