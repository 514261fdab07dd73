"""A client's own generalised linear model, fitted on its rows alone."""

import numpy as np

from comity.core.arrays import Floats
from comity.core.likelihood import Loss, penalty_factors
from comity.questions import FitAlone, FitAloneAnswer
from comity.rows.rows import Rows

_MIN_ROWS_FOR_ONE_STEP = 20  # for each parameter
_MAX_WORSE_PENALTIES = 3  # in a row, each worse than the one before
_MAX_ROUNDS_OF_FOLD = 8


def fit_alone(rows: Rows, question: FitAlone) -> FitAloneAnswer:
    """Return the client's own model in every view, with the penalty that the folds choose."""
    loss, splits = rows.encoded(question.schema).loss, rows.splits(question.schema, question.split)
    fitted: list[tuple[Floats, float, float]] = []
    for view, counts in enumerate(splits.counts):
        penalties = question.penalties if view <= question.split.judges else np.array([fitted[0][1]])
        fitted.append(_fit_view(loss, counts, splits.masks, question.split.folds, penalties))
    models, chosen, losses = zip(*fitted, strict=True)
    return FitAloneAnswer(np.stack(models), np.array(chosen), np.array(losses))


def _fit_view(loss: Loss, counts: Floats, masks: Floats, folds: int, penalties: Floats) -> tuple[Floats, float, float]:
    """Return the client's own model, its penalty, chosen by the folds, and its mean cross-validated loss.

    The penalty is the best of those given and of two between it and its neighbours. One repeat of the folds is enough
    to choose it; the loss is that over all repeats.
    """
    spared = penalty_factors(loss.size, loss.intercepts)
    descending = np.sort(penalties)[::-1]
    middle = loss.fit(counts, np.exp(np.log(penalties).mean()) * spared, np.zeros(loss.size))
    chosen = float(descending[0])
    if penalties.size > 1:
        best = int(_fold_losses(loss, counts, masks[:folds], descending, middle).argmin())
        between = np.sqrt(descending[best] * descending[max(best - 1, 0) : best + 2])
        nearby = np.unique(np.append(between, descending[best]))[::-1]
        chosen = float(nearby[int(_fold_losses(loss, counts, masks[:folds], nearby, middle).argmin())])
    model = loss.fit(counts, chosen * spared, middle)
    total = _fold_losses(loss, counts, masks, np.array([chosen]), model)[0]
    return model, chosen, float(total / (counts.sum() * len(masks) / folds))


def _fold_losses(loss: Loss, counts: Floats, masks: Floats, descending: Floats, whole: Floats) -> Floats:
    """Return the sums (M,) of losses on some held-out folds, for penalties from the largest to the smallest.

    The model of each fold starts from that of the last penalty. With many rows for each parameter, one Newton step
    from the model `whole` of all rows is enough; with few, it would stop short of the extreme parameters that a
    small penalty allows, and make that penalty look too good.
    """
    spared = penalty_factors(loss.size, loss.intercepts)
    parts = [counts * mask for mask in masks]
    held = [_rows_of(loss, part) for part in parts]
    one_step = counts.sum() > _MIN_ROWS_FOR_ONE_STEP * loss.size
    if one_step:
        slope, curvature = loss.slope(whole, counts), loss.curvature(whole, counts)
        # Of the rows that train each fold's model: their number, and slope and curvature at the model of all rows.
        training = [
            (counts.sum() - here.sum(), slope - part.slope(whole, here), curvature - part.curvature(whole, here))
            for part, here in held
        ]
    models = [np.zeros(loss.size)] * len(parts)
    losses = np.full(descending.size, np.inf)
    for number, penalty in enumerate(descending):
        ridge = 2 * penalty * spared
        if one_step:
            models = [
                whole - np.linalg.solve(rest_curvature / rows + np.diag(ridge), rest_slope / rows + ridge * whole)
                for rows, rest_slope, rest_curvature in training
            ]
        else:
            models = [
                loss.fit(counts - part, penalty * spared, model, _MAX_ROUNDS_OF_FOLD)
                for part, model in zip(parts, models, strict=True)
            ]
        losses[number] = sum(part.total(model, here) for (part, here), model in zip(held, models, strict=True))
        if number >= _MAX_WORSE_PENALTIES and (np.diff(losses[number - _MAX_WORSE_PENALTIES : number + 1]) > 0).all():
            break  # smaller penalties are worse still
    return losses


def _rows_of(loss: Loss, counts: Floats) -> tuple[Loss, Floats]:
    """Return the rows that count, and how often each does."""
    here = np.flatnonzero(counts)
    return loss.some(here), counts[here]
