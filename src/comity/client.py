"""A client's side: private rows in, answers out; what it may be asked, and a log of what it gave."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import wraps
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from comity.core import check_name
from comity.encoding import encode, encode_target, predict, summarise
from comity.errors import InputError, RefusedError
from comity.likelihood import LogLoss, spare_intercepts
from comity.metrics import METRICS, Metric
from comity.questions import (
    QUESTIONS,
    Describe,
    Description,
    Evaluate,
    Evaluation,
    Expand,
    Expansion,
    FitAlone,
    FitAloneAnswer,
    Moments,
    MomentsAnswer,
    Slopes,
    SlopesAnswer,
    Split,
    pack,
)
from comity.schema import Schema, Target

Floats = NDArray[np.float64]
_MANY_ROWS = 20  # for a parameter
_ENOUGH_WORSE = 3  # penalties in a row, each worse than the one before
_FEW_ROUNDS = 8
_RESAMPLES = 200
_FOR_RESAMPLES, _FOR_ERRORS = 1_000_001, 1_000_002  # purposes of random numbers, past all times of folds


@dataclass(frozen=True, slots=True)
class Policy:
    """What a client allows: which questions, and not with fewer rows than `least_rows`."""

    questions: tuple[str, ...] = tuple(QUESTIONS)
    least_rows: int = 10


@dataclass(frozen=True, slots=True)
class Given:
    """One line of the audit log: the question, how many rows the answer is made of, and its size in bytes."""

    question: str
    rows: int
    size: int


@dataclass(frozen=True, eq=False)
class Client:
    """An owner of rows. The rows go nowhere; `answer` gives what the policy allows, and `log` keeps what was given."""

    name: str
    rows: pd.DataFrame = field(repr=False)
    policy: Policy = Policy()
    log: list[Given] = field(default_factory=list, repr=False)
    _kept: dict[tuple[str, ...], Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        check_name(self.name)
        double = self.rows.columns[self.rows.columns.duplicated()]
        if len(double):
            raise InputError(f"client {self.name!r} has two columns {double[0]!r}; give every column one name")

    def answer(self, question: object) -> Any:
        """Answer a question, or refuse it."""
        kind = next((kind for kind, (asked, _) in QUESTIONS.items() if type(question) is asked), None)
        if kind is None or kind not in self.policy.questions:
            asked = type(question).__name__ if kind is None else kind
            raise RefusedError(f"client {self.name!r} does not answer the question {asked!r}: its policy forbids it")
        if len(self.rows) < self.policy.least_rows:
            raise RefusedError(
                f"client {self.name!r} has {len(self.rows)} rows and answers nothing about fewer than "
                f"{self.policy.least_rows}; leave it out, or ask it to lower its minimum"
            )
        given = _ANSWERS[kind](self, question)
        self.log.append(Given(kind, len(self.rows), pack(given).size))
        return given


def _describe(client: Client, question: Describe) -> Description:
    summaries = summarise(client.rows, question.target, question.classes, question.most_levels)
    return Description(len(client.rows), json.dumps([asdict(summary) for summary in summaries], ensure_ascii=False))


def _moments(client: Client, question: Moments) -> MomentsAnswer:
    rows, splits = _encoded(client, question.schema), _splits(client, question.schema, question.split)
    answers = [_moments_of_view(rows, splits, view, question.points) for view in range(len(splits.counts))]
    return MomentsAnswer(*(np.stack(part) for part in zip(*answers, strict=True)))


def _expand(client: Client, question: Expand) -> Expansion:
    rows, splits = _encoded(client, question.schema), _splits(client, question.schema, question.split)
    own = question.points[:, question.own]
    folds = [_moments_of_view(rows, splits, view, own) for view in range(len(own))]
    whole = [
        [_moments_of_rows(rows, splits.counts[view], points[at : at + 1])[:2] for at in range(len(points))]
        for view, points in enumerate(question.points)
    ]
    gram, cross, square, count = (np.stack(part) for part in zip(*folds, strict=True))
    return Expansion(
        gram,
        cross,
        square,
        count,
        whole_gram=np.array([[gram for gram, _ in each] for each in whole]),
        whole_cross=np.array([[cross for _, cross in each] for each in whole]),
    )


def _moments_of_view(rows: Encoded, splits: Splits, view: int, points: Floats) -> tuple[Floats, ...]:
    folds = [_moments_of_rows(rows, splits.counts[view] * mask, points[view : view + 1]) for mask in splits.masks]
    gram, cross, square, count = zip(*folds, strict=True)
    return np.stack(gram), np.stack(cross), np.array(square), np.array(count)


def _moments_of_rows(rows: Encoded, counts: Floats, point: Floats) -> tuple[Floats, Floats, float, float]:
    """Return the moments of rows, each taken `counts` times; of a loss for classes, those of its expansion."""
    here = np.flatnonzero(counts)
    taken, features, target = counts[here], rows.features[here], rows.target[here]
    if not rows.classes:
        weighted = features * taken[:, None]
        return weighted.T @ features, weighted.T @ target, float(taken @ target**2), float(taken.sum())
    loss, at = LogLoss(features, target, rows.classes), point[0]
    slope, curvature = loss.slope(at, taken), loss.curvature(at, taken)
    level = float(taken @ loss.rows(at)) - slope @ at + at @ curvature @ at / 2
    return curvature / 2, (curvature @ at - slope) / 2, float(level), float(taken.sum())


def _slopes(client: Client, question: Slopes) -> SlopesAnswer:
    loss = _encoded(client, question.schema).loss
    counts = _splits(client, question.schema, question.split).counts[question.views.astype(np.intp)]
    every = list(zip(question.parameters, counts, strict=True))
    return SlopesAnswer(
        losses=np.array([count @ loss.rows(model) for model, count in every]),
        slopes=np.stack([loss.slope(model, count) for model, count in every]),
        curvatures=np.stack([loss.curvature(model, count) for model, count in every]),
        rows=counts.sum(axis=1),
    )


def _fit_alone(client: Client, question: FitAlone) -> FitAloneAnswer:
    loss, splits = _encoded(client, question.schema).loss, _splits(client, question.schema, question.split)
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


def _evaluate(client: Client, question: Evaluate) -> Evaluation:
    rows, splits = _encoded(client, question.schema), _splits(client, question.schema, question.split)
    metric = METRICS[question.metric]
    drawn = _resampled(len(rows.target), Split.from_json(question.split).seed, client.name)
    kinds = [_Judged(metric, rows, splits.judge, models, drawn) for models in question.parameters]
    base = kinds[0].value(question.counted[0])
    values, gains, errors, gain_errors = [base], [0.0], [_deviation(kinds[0].spread(question.counted[0]))], [0.0]
    for kind, counted in zip(kinds[1:], question.counted[1:], strict=True):
        gain = kind.value(counted) - kinds[0].value(counted)
        values.append(float(np.clip(base + gain, metric.least, metric.most)))
        gains.append(values[-1] - base)
        gained = kind.spread(counted) - kinds[0].spread(counted)
        errors.append(_deviation(kinds[0].spread(question.counted[0]) + gained))
        gain_errors.append(_deviation(gained))
    return Evaluation(*map(np.array, (values, errors, gains, gain_errors)))


class _Judged:
    """What models of one kind, that of all rows and those that left out a part, predict of a client's rows."""

    def __init__(self, metric: Metric, rows: Encoded, judge: NDArray[np.intp], models: Floats, drawn: Floats) -> None:
        self.metric, self.judge, self.drawn = metric, judge, drawn
        self.target = rows.as_given(rows.target)
        whole, *parts = (rows.predict(model) for model in models)
        self.held = np.stack(parts)[judge, np.arange(len(judge))]
        once = np.ones((1, len(judge)))
        self.whole = float(metric.measure(whole, self.target, once)[0])
        self.parts = np.array([metric.measure(part, self.target, once)[0] for part in parts])

    def value(self, counted: Floats) -> float:
        """Return the metric where some parts judge, corrected for what models of fewer rows lose; none says nothing."""
        if not counted.any():
            return np.nan
        held = self.metric.measure(self.held, self.target, counted[self.judge][None])[0]
        return self.metric.corrected(float(held), self.whole, self.parts[counted > 0])

    def spread(self, counted: Floats) -> Floats:
        """Return the metric in resamples (B,) of the rows that judge."""
        if not counted.any():
            return np.full(len(self.drawn), np.nan)
        return self.metric.measure(self.held, self.target, self.drawn * counted[self.judge])


def _deviation(spread: Floats) -> float:
    """Return the standard deviation over resamples (B,) that have a value: one of a single class has no AUC."""
    known = spread[~np.isnan(spread)]
    return float(known.std()) if known.size > 1 else np.nan


def _resampled(rows: int, seed: int, name: str) -> Floats:
    """Return how often each row stands in some resamples (B, n), for standard errors."""
    generator = _generator(seed, name, _FOR_ERRORS)
    return generator.multinomial(rows, np.full(rows, 1 / rows), _RESAMPLES).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """Rows as numbers: features (n, f), target (n,), and what the target was."""

    features: Floats
    target: Floats
    described: Target

    @property
    def classes(self) -> int:
        """How many classes the target has, 0 for a number."""
        return len(self.described.classes)

    @property
    def loss(self) -> LogLoss:
        """The log loss on these rows."""
        return LogLoss(self.features, self.target, self.classes)

    def predict(self, parameters: Floats) -> Floats:
        """Return what a model predicts, in the target's own units, or as probabilities (n, C)."""
        return predict(self.features, self.described, parameters)

    def as_given(self, target: Floats) -> Floats:
        """Return the target in its own units."""
        return target if self.classes else target * self.described.scale + self.described.mean


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """A client's rows split (`Split`): how often each counts in each view (V, n), folds (K, n), and its judge (n,)."""

    counts: Floats
    masks: Floats
    judge: NDArray[np.intp]


Answering = Callable[..., Any]


def _kept(work: Answering) -> Answering:
    """Do some work on a client's rows once: questions of one job have the same schema and split."""

    @wraps(work)
    def once(client: Client, *told: str) -> Any:
        if (work.__name__, *told) not in client._kept:
            client._kept[work.__name__, *told] = work(client, *told)
        return client._kept[work.__name__, *told]

    return once


@_kept
def _encoded(client: Client, schema: str) -> Encoded:
    """Return the client's rows as numbers."""
    agreed = Schema.from_json(schema)
    try:
        return Encoded(encode(client.rows, agreed), encode_target(client.rows, agreed), agreed.target)
    except InputError as error:
        raise InputError(f"client {client.name!r}: {error}") from None


@_kept
def _splits(client: Client, schema: str, split: str) -> Splits:
    """Return the client's rows split."""
    rows, wanted = _encoded(client, schema), Split.from_json(split)
    count = len(rows.target)
    if count < max(wanted.folds, wanted.judges):
        raise InputError(
            f"client {client.name!r} has {count} rows, too few for {max(wanted.folds, wanted.judges)} parts; "
            "leave it out, or take fewer folds"
        )
    strata = rows.target if rows.classes else np.zeros(count)
    folds = [assign_folds(strata, wanted.folds, wanted.seed, client.name, 1 + time) for time in range(wanted.repeats)]
    # Judges are dealt within the folds, and resamples drawn within them, so that no fold of a view is empty.
    cells = strata * wanted.folds + folds[0]
    judge = assign_folds(cells, max(wanted.judges, 1), wanted.seed, client.name)
    views = [np.ones(count), *((judge != part).astype(np.float64) for part in range(wanted.judges))]
    generator = _generator(wanted.seed, client.name, _FOR_RESAMPLES)
    views += [_drawn(generator, folds[0], wanted.folds) for _ in range(wanted.resamples)]
    masks = [(each == fold).astype(np.float64) for each in folds for fold in range(wanted.folds)]
    return Splits(np.stack(views), np.stack(masks), judge)


def _drawn(generator: np.random.Generator, folds: NDArray[np.intp], count: int) -> Floats:
    """Return how often each row is drawn, with replacement, as many in each fold as there are."""
    counts = np.zeros(folds.size)
    for fold in range(count):
        here = np.flatnonzero(folds == fold)
        counts[here] = generator.multinomial(here.size, np.full(here.size, 1 / max(here.size, 1)))
    return counts


def assign_folds(strata: Floats, folds: int, seed: int, name: str, time: int = 0) -> NDArray[np.intp]:
    """Return each row's fold, in an order that the seed, the client's name and the time determine.

    Folds are as even as can be, and so are the rows of each stratum (the classes, for one) in them.

    >>> assign_folds(np.array([0, 0, 0, 1, 1, 1, 0]), 3, seed=0, name="a")
    array([2, 1, 0, 1, 0, 2, 0])
    """
    order = _generator(seed, name, time).permutation(strata.size)
    order = order[np.argsort(strata[order], kind="stable")]
    assigned = np.empty(strata.size, np.intp)
    assigned[order] = np.arange(strata.size) % folds
    return assigned


def _generator(seed: int, name: str, purpose: int) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(name.encode()), purpose])


_ANSWERS: dict[str, Callable[[Client, Any], Any]] = {
    "describe": _describe,
    "moments": _moments,
    "expand": _expand,
    "slopes": _slopes,
    "fit-alone": _fit_alone,
    "evaluate": _evaluate,
}
