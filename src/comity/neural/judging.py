"""How well networks do, on rows that were kept for that alone."""

from __future__ import annotations

import json

import torch

from comity.errors import InputError
from comity.judgement import judged
from comity.metrics import METRICS
from comity.neural.learner import DEVICE, Learner
from comity.questions import Evaluation, JudgeModels


def judge_models(learner: Learner, question: JudgeModels) -> Evaluation:
    """Answer how well models (M, D) do, and what they gain over the first."""
    rows = learner.judging
    if not rows.size:
        raise InputError(f"client {learner.owner!r} has no rows to judge with; keep some, or give rows to test with")
    target = learner.described.as_given(learner.targets[rows].double().cpu().numpy())
    models = torch.as_tensor(question.parameters, dtype=learner.dtype, device=DEVICE)
    predictions = [
        learner.described.predictions(learner.outputs(head, model, rows))
        for head, model in zip(json.loads(question.heads), models, strict=True)
    ]
    return judged(METRICS[question.metric], target, predictions, learner.recipe.seed, learner.owner)
