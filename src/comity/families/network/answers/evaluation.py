"""Evaluation of networks on the rows that are kept for it."""

from __future__ import annotations

import torch

from comity.core.metrics import METRICS
from comity.errors import InputError
from comity.families.network.answers.learner import DEVICE, Learner
from comity.questions import EvaluateModels, Evaluation
from comity.rows.evaluation import evaluate_predictions


def evaluate_models(learner: Learner, question: EvaluateModels) -> Evaluation:
    """Return how well models (M, D) do, and their gains over the first."""
    rows = learner.judging
    if not rows.size:
        raise InputError(f"client {learner.owner!r} has no rows to judge with; keep some, or give rows to test with")
    target = learner.target_scale.as_given(learner.targets[rows].double().cpu().numpy())
    models = torch.as_tensor(question.parameters, dtype=learner.dtype, device=DEVICE)
    predictions = [
        learner.target_scale.predictions(learner.outputs(head, model, rows))
        for head, model in zip(question.heads, models, strict=True)
    ]
    return evaluate_predictions(METRICS[question.metric], target, predictions, learner.recipe.seed, learner.owner)
