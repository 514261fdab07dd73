"""A client's own model, trained where its rows are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from comity.client.rows import Rows
from comity.likelihood import LogLoss, spare_intercepts
from comity.questions import FitAlone, FitAloneAnswer, Split

Floats = NDArray[np.float64]
_MANY_ROWS = 20  # for a parameter
_ENOUGH_WORSE = 3  # penalties in a row, each worse than the one before
_FEW_ROUNDS = 8


def fit_alone(rows: Rows, question: FitAlone) -> FitAloneAnswer:
    """Answer what the client's own models are, each with the penalty that its folds choose."""
    loss, splits = rows.encoded(question.schema).loss, rows.splits(question.schema, question.split)
    wanted = Split.from_json(question.split)
    fitted: list[tuple[Floats, float, float]] = []
    for view, counts in enumerate(splits.counts):
        penalties = question.penalties if view <= wanted.judges else np.array([fitted[0][1]])
        fitted.append(_fit_view(loss, counts, splits.masks, wanted.folds, penalties))
    models, chosen, losses = zip(*fitted, strict=True)
    return FitAloneAnswer(np.stack(models), np.array(chosen), np.array(losses))


def _fit_view(
    loss: LogLoss, counts: Floats, masks: Floats, folds: int, penalties: Floats
) -> tuple[Floats, float, float]:
    """Return the client's own model, its penalty, chosen by the folds, and its mean loss where they judge.

    The penalty is the best of those given, then of two between it and its neighbours; to choose it, going once through
    the folds is enough, and all of them tell the loss.
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
    """What a client's own models lose on the folds that they have not seen, by penalty."""

    loss: LogLoss
    counts: Floats
    spared: Floats

    def losses(self, masks: Floats, descending: Floats, whole: Floats) -> Floats:
        """Return the sums (M,) of losses on some folds, for penalties from the largest to the smallest.

        Every fold's model is found from that of the last penalty. With many rows for each parameter a Newton step
        from the model `whole` of all rows does; with few it would not go to the extremes that a small penalty allows,
        and flatter it.
        """
        loss, counts = self.loss, self.counts
        parts = [counts * mask for mask in masks]
        chosen = [np.flatnonzero(part) for part in parts]
        held = [
            _Held(LogLoss(loss.features[here], loss.target[here], loss.classes), part[here])
            for part, here in zip(parts, chosen, strict=True)
        ]
        step = self._steps(held, whole) if counts.sum() > _MANY_ROWS * loss.size else None
        at = [np.zeros(loss.size)] * len(parts)
        lost = np.full(descending.size, np.inf)
        for number, penalty in enumerate(descending):
            at = [
                step(fold, penalty) if step else loss.fit(counts - part, penalty * self.spared, at[fold], _FEW_ROUNDS)
                for fold, part in enumerate(parts)
            ]
            lost[number] = sum(judge.loss.rows(model) @ judge.counts for judge, model in zip(held, at, strict=True))
            if number >= _ENOUGH_WORSE and (np.diff(lost[number - _ENOUGH_WORSE : number + 1]) > 0).all():
                break  # smaller penalties will be worse still
        return lost

    def _steps(self, held: list[_Held], whole: Floats) -> Callable[[int, float], Floats]:
        """Return a function that gives a fold's model at a penalty, by a Newton step from the model of all rows."""
        slope, curvature = self.loss.slope(whole, self.counts), self.loss.curvature(whole, self.counts)
        without = [(part.loss.slope(whole, part.counts), part.loss.curvature(whole, part.counts)) for part in held]

        def step(fold: int, penalty: float) -> Floats:
            its_slope, its_curvature = without[fold]
            rest, ridge = self.counts.sum() - held[fold].counts.sum(), 2 * penalty * self.spared
            system = (curvature - its_curvature) / rest + np.diag(ridge)
            return np.asarray(whole - np.linalg.solve(system, (slope - its_slope) / rest + ridge * whole))

        return step


@dataclass(frozen=True, slots=True, eq=False)
class _Held:
    """A fold's rows, each taken so many times."""

    loss: LogLoss
    counts: Floats
