"""What clients answer about estimators: their own models, and sums over their rows of all models' predictions."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, softmax

from comity.core.arrays import Floats
from comity.core.metrics import METRICS
from comity.errors import InputError
from comity.families.estimator.bases import Bases, own_models
from comity.families.estimator.files import to_file
from comity.families.estimator.prediction import outcome, scores, stacked, unpacked
from comity.questions import (
    EvaluateStacks,
    Evaluation,
    FitEstimator,
    FitEstimatorAnswer,
    MomentsAnswer,
    PartLossesAnswer,
    StackLosses,
    StackMoments,
    TestStacks,
)
from comity.rows.evaluation import evaluate_kinds, evaluate_predictions
from comity.rows.rows import Rows


def fit_estimator(rows: Rows, question: FitEstimator) -> FitEstimatorAnswer:
    """Return the client's own model of all its rows."""
    whole = own_models(rows, question)[0]
    return FitEstimatorAnswer(np.frombuffer(b"" if whole is None else to_file(whole), np.uint8))


def stack_moments(rows: Rows, question: StackMoments) -> MomentsAnswer:
    """Return the sums over each part: of squared losses, or of the expansion of log losses at a point."""
    here, bases = rows.encoded(question.schema), Bases.of(rows, question)
    masks = rows.splits(question.schema, question.split).masks
    size = bases.others.shape[1] + bases.others.shape[2]
    gram, cross, square = np.zeros((len(masks), size, size)), np.zeros((len(masks), size)), np.zeros(len(masks))
    for part, mask in enumerate(masks):
        chosen = np.flatnonzero(mask)
        if not chosen.size:
            continue
        design, target = bases.design(part)[chosen], here.target[chosen]
        if here.classes:
            gram[part], cross[part], square[part] = _expanded(design, target, question.points[0])
        else:
            flat = design[:, 0]
            gram[part], cross[part], square[part] = flat.T @ flat, flat.T @ target, target @ target
    return MomentsAnswer(gram[None], cross[None], square[None], masks.sum(axis=1)[None])


def _expanded(design: Floats, target: Floats, point: Floats) -> tuple[Floats, Floats, float]:
    """Return gram, cross and square of the second-order expansion of the log loss of rows (n, O, d) at a point (d,)."""
    scored = design @ point
    chance = _chances(scored)
    hit = target[:, None] if chance.shape[1] == 1 else target[:, None] == np.arange(chance.shape[1])
    weights = chance[:, :, None] * (np.eye(chance.shape[1]) - chance[:, None, :])
    slope = np.einsum("nod,no->d", design, chance - hit)
    curvature = np.einsum("nod,nop,npe->de", design, weights, design, optimize=True)
    level = float(_log_losses(scored, target).sum()) - slope @ point + point @ curvature @ point / 2
    return curvature / 2, (curvature @ point - slope) / 2, float(level)


def _chances(scored: Floats) -> Floats:
    return np.asarray(expit(scored) if scored.shape[1] == 1 else softmax(scored, axis=1))


def _log_losses(scored: Floats, target: Floats) -> Floats:
    """Return the log losses (n,) of scores (n, O)."""
    if scored.shape[1] == 1:
        return np.logaddexp(0.0, np.where(target == 1, -scored[:, 0], scored[:, 0]))
    highest = scored.max(axis=1, keepdims=True)
    total = np.log(np.exp(scored - highest).sum(axis=1)) + highest[:, 0]
    return np.asarray(total - scored[np.arange(len(scored)), target.astype(np.intp)])


def stack_losses(rows: Rows, question: StackLosses) -> PartLossesAnswer:
    """Return the log losses of stacks on the parts that they were learned without."""
    here, bases = rows.encoded(question.schema), Bases.of(rows, question)
    masks = rows.splits(question.schema, question.split).masks
    losses = np.zeros((len(question.parameters), len(masks)))
    for part, mask in enumerate(masks):
        chosen = np.flatnonzero(mask)
        design = bases.design(part)[chosen]
        for kind, stacks in enumerate(question.parameters):
            losses[kind, part] = _log_losses(design @ stacks[part], here.target[chosen]).sum()
    return PartLossesAnswer(losses)


def evaluate_stacks(rows: Rows, question: EvaluateStacks) -> Evaluation:
    """Return how well stacks do, those of each view on the part of the rows that it leaves out.

    The client's own scores are always by models that did not know the row: what rows trained fits them too well.
    """
    here, splits = rows.encoded(question.schema), rows.splits(question.schema, question.split)
    bases = Bases.of(rows, question)
    design = bases.held_out(splits.judge)
    kinds = [[outcome(design @ stack, here.spec) for stack in stacks] for stacks in question.parameters]
    target = here.as_given(here.target)
    return evaluate_kinds(
        METRICS[question.metric], target, splits.judge, kinds, question.counted, question.split.seed, rows.owner
    )


def test_stacks(rows: Rows, question: TestStacks) -> Evaluation:
    """Return how well stacks do on the test rows."""
    here = rows.encoded_tests(question.schema)
    if here is None:
        raise InputError(f"client {rows.owner!r} has no rows to test with")
    members = unpacked(question.models, question.sizes)
    scored = np.stack([scores(each, here.features[:, :-1], here.classes) for each in members], axis=2)
    predictions = [outcome(stacked(scored, stack), here.spec) for stack in question.parameters]
    target = here.as_given(here.target)
    return evaluate_predictions(METRICS[question.metric], target, predictions, question.split.seed, rows.owner)
