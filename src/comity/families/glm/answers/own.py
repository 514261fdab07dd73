"""A client's own model, by the evidence of its rows, and how well models do on the rows they do not know.

Parameters other than intercepts are drawn from N(0, 1 / λ). The model is the mean of those of many penalties λ, each
weighted by its marginal likelihood, which Laplace's method approximates, and by a half-Cauchy prior of √(1 / λ). Where
rows vary more than the distribution of the task says, the loss is divided by the dispersion that the model shows.
"""

import numpy as np

from comity.core.arrays import Floats
from comity.core.likelihood import Loss, penalty_factors
from comity.questions import FitOwn, FitOwnAnswer, PartLosses, PartLossesAnswer
from comity.rows.rows import Rows

_LOG_PENALTIES = np.arange(8.0, -4.5, -1.0)  # from the strongest, each model the start of the next
_NEGLIGIBLE = 12.0  # a logarithm of the evidence that is so far below the best has no weight
_INTERCEPT_SHARE = 1e-2


def fit_own(rows: Rows, question: FitOwn) -> FitOwnAnswer:
    """Return the client's own model of all rows and of all but each fold; without rows they are zero."""
    loss, masks = rows.encoded(question.schema).loss, rows.splits(question.schema, question.split).masks
    whole = fit_by_evidence(loss, np.ones(masks.shape[1]))
    fitted = [whole]
    for mask in masks:
        held = mask.sum()
        fitted.append(fit_by_evidence(loss, 1 - mask) if 0 < held < mask.size else whole)
    models, penalties = zip(*fitted, strict=True)
    return FitOwnAnswer(np.stack(models), np.array(penalties))


def part_losses(rows: Rows, question: PartLosses) -> PartLossesAnswer:
    """Return the losses of models on the folds that they were learned without."""
    loss, masks = rows.encoded(question.schema).loss, rows.splits(question.schema, question.split).masks
    return PartLossesAnswer(
        np.array(
            [
                [loss.total(model, mask) for model, mask in zip(models, masks, strict=True)]
                for models in question.parameters
            ]
        )
    )


def fit_by_evidence(loss: Loss, counts: Floats) -> tuple[Floats, float]:
    """Return the mean model (d,) over penalties of rows that count, and its mean penalty."""
    if not loss.observations(counts):
        return np.zeros(loss.size), 1.0
    model, penalty = _fit(loss, counts, 1.0)
    curvature = loss.curvature(model, counts)
    used = np.trace(np.linalg.solve(curvature + np.diag(_precision(loss, penalty)), curvature))
    dispersion = loss.dispersion(model, counts, float(used))
    return (model, penalty) if dispersion == 1 else _fit(loss, counts, dispersion)


def _precision(loss: Loss, penalty: float) -> Floats:
    precision = penalty * penalty_factors(loss.size, loss.intercepts, _INTERCEPT_SHARE)
    precision[loss.size - loss.intercepts :] = _INTERCEPT_SHARE
    return precision


def _fit(loss: Loss, counts: Floats, dispersion: float) -> tuple[Floats, float]:
    """Return the mean model of rows that count, and its mean penalty, for a loss that is divided by the dispersion."""
    models, scores, model = [], [], np.zeros(loss.size)
    for log_penalty in _LOG_PENALTIES:
        precision = _precision(loss, np.exp(log_penalty))
        model = loss.fit(counts, dispersion * precision / (2 * counts.sum()), model)
        curvature = loss.curvature(model, counts) / dispersion + np.diag(precision)
        fit = -loss.total(model, counts) / dispersion - precision @ model**2 / 2
        volume = (np.log(precision).sum() - np.linalg.slogdet(curvature)[1]) / 2
        scores.append(float(fit + volume + log_penalty / 2 - np.log1p(np.exp(log_penalty))))
        models.append(model)
        if scores[-1] < max(scores) - _NEGLIGIBLE:
            break
    weight = np.exp(np.array(scores) - max(scores))
    weight /= weight.sum()
    return np.asarray(weight @ np.array(models)), float(np.exp(weight @ _LOG_PENALTIES[: weight.size]))
