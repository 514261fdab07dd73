"""A client's own generalised linear model, fitted on its rows alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from comity.core.arrays import Floats
from comity.core.likelihood import LogLoss, spare_intercepts
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


def _fit_view(
    loss: LogLoss, counts: Floats, masks: Floats, folds: int, penalties: Floats
) -> tuple[Floats, float, float]:
    """Return the client's own model, its penalty, chosen by the folds, and its mean cross-validated loss.

    The penalty is the best of those given and of two between it and its neighbours. One repeat of the folds is enough
    to choose it; the loss is that over all repeats.
    """
    spared = spare_intercepts(loss.size, loss.outputs)
    descending = np.sort(penalties)[::-1]
    middle = loss.fit(counts, np.exp(np.log(penalties).mean()) * spared, np.zeros(loss.size))
    fit = _Folds(loss, counts, spared)
    chosen = float(descending[0])
    if penalties.size > 1:
        best = int(fit.losses(masks[:folds], descending, middle).argmin())
        between = np.sqrt(descending[best] * descending[max(best - 1, 0) : best + 2])
        nearby = np.unique(np.append(between, descending[best]))[::-1]
        chosen = float(nearby[int(fit.losses(masks[:folds], nearby, middle).argmin())])
    model = loss.fit(counts, chosen * spared, middle)
    lost = fit.losses(masks, np.array([chosen]), model)[0]
    return model, chosen, float(lost / (counts.sum() * len(masks) / folds))


@dataclass(frozen=True, slots=True, eq=False)
class _Folds:
    """The cross-validated losses of a client's own models, by penalty."""

    loss: LogLoss
    counts: Floats
    spared: Floats

    def losses(self, masks: Floats, descending: Floats, whole: Floats) -> Floats:
        """Return the sums (M,) of losses on some held-out folds, for penalties from the largest to the smallest.

        The model of each fold starts from that of the last penalty. With many rows for each parameter, one Newton step
        from the model `whole` of all rows is enough; with few, it would stop short of the extreme parameters that a
        small penalty allows, and make that penalty look too good.
        """
        loss, counts = self.loss, self.counts
        parts = [counts * mask for mask in masks]
        chosen = [np.flatnonzero(part) for part in parts]
        held = [
            _Held(LogLoss(loss.features[here], loss.target[here], loss.classes), part[here])
            for part, here in zip(parts, chosen, strict=True)
        ]
        step = self._steps(held, whole) if counts.sum() > _MIN_ROWS_FOR_ONE_STEP * loss.size else None
        models = [np.zeros(loss.size)] * len(parts)
        lost = np.full(descending.size, np.inf)
        for number, penalty in enumerate(descending):
            models = [
                step(fold, penalty)
                if step
                else loss.fit(counts - part, penalty * self.spared, models[fold], _MAX_ROUNDS_OF_FOLD)
                for fold, part in enumerate(parts)
            ]
            lost[number] = sum(judge.loss.rows(model) @ judge.counts for judge, model in zip(held, models, strict=True))
            if number >= _MAX_WORSE_PENALTIES and (np.diff(lost[number - _MAX_WORSE_PENALTIES : number + 1]) > 0).all():
                break  # smaller penalties are worse still
        return lost

    def _steps(self, held: list[_Held], whole: Floats) -> Callable[[int, float], Floats]:
        """Return a function that fits the model without a fold, by one Newton step from the model of all rows."""
        slope, curvature = self.loss.slope(whole, self.counts), self.loss.curvature(whole, self.counts)
        without = [(part.loss.slope(whole, part.counts), part.loss.curvature(whole, part.counts)) for part in held]

        def step(fold: int, penalty: float) -> Floats:
            fold_slope, fold_curvature = without[fold]
            rest, ridge = self.counts.sum() - held[fold].counts.sum(), 2 * penalty * self.spared
            system = (curvature - fold_curvature) / rest + np.diag(ridge)
            return np.asarray(whole - np.linalg.solve(system, (slope - fold_slope) / rest + ridge * whole))

        return step


@dataclass(frozen=True, slots=True, eq=False)
class _Held:
    """The rows of a fold, and how often each counts."""

    loss: LogLoss
    counts: Floats
