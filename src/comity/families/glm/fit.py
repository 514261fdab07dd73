"""Linear models of a federation: searchers on exact fronts, models for decisions, and their evaluation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

import numpy as np

from comity.core.arrays import Booleans, Floats
from comity.core.kinds import ModelKind
from comity.core.metrics import METRICS, Metric
from comity.core.names import of_clients
from comity.core.tasks import BY_EXPANSION
from comity.deciding.borrow import Borrowed
from comity.deciding.decision import Decision
from comity.deciding.searcher import Searcher
from comity.errors import InputError
from comity.families.family import Evaluated, Fit, Request
from comity.families.glm.asking import Asking, BorrowingExactly
from comity.families.glm.borrowing import Borrowing
from comity.families.glm.convex_front import ConvexFront
from comity.families.glm.estimation import OWN_PENALTIES, Classes, Regression
from comity.families.glm.expansions import BorrowingByExpansions
from comity.families.glm.priors import Priors, find_priors
from comity.families.glm.quadratic_front import QuadraticFront
from comity.families.glm.searcher import FrontSearcher
from comity.families.glm.tasks import LINEAR_TASKS
from comity.families.problem import Problem
from comity.questions import Evaluate, EvaluateLinear, Evaluation, Split

_MOST_OVER_EXPECTED = 2.0  # of which a measured loss alone is a share that can be gained
_MAX_SHARE = 0.999  # of a loss that can be expected to be gained: no model is without error
_MIN_SHARE_EVALUATED = 0.5  # of the rows; a gain that fewer rows evaluate is worth a warning


@final
@dataclass(frozen=True, eq=False)
class LinearFit(Fit):
    """Linear models of one federation."""

    request: Request
    problem: Problem
    training: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        split = self.split
        if self.request.study.search == "borrow":
            return
        needed = max(2 * split.folds, split.judges)
        for client, count in self.problem.rows.items():
            if count < needed:
                raise InputError(
                    f"client {client!r} has {count} rows, too few for {split.folds} folds and {split.judges} judges "
                    f"(it takes {needed}); leave it out, or take fewer folds and judges"
                )

    @cached_property
    def split(self) -> Split:  # type: ignore[override]
        """How rows are split."""
        return self.request.study.split(len(self.request.federation.clients))

    @cached_property
    def _estimation(self) -> Regression | Classes:
        """How fronts and models come from the clients' sums."""
        study = self.request.study
        per_client = study.weights == "client"
        front = ConvexFront(self.request.federation, self.problem.schema, self.split, per_client)
        if not self.problem.classes:
            return Regression(front, self.request.progress)
        penalties = OWN_PENALTIES if study.penalty is None else np.array([study.penalty])
        return Classes(front, penalties, self.request.progress)

    @cached_property
    def _fronts(self) -> tuple[QuadraticFront, ...]:
        """The front of every view."""
        return self._estimation.fronts()

    def searchers(self) -> Sequence[Searcher]:
        """Return a searcher for each view of the rows."""
        return [FrontSearcher(front, self.request.study.search_settings()) for front in self._fronts]

    def evaluate(self, decisions: Sequence[Decision]) -> Evaluated:
        """Train the models of a decision, and evaluate on each outer fold those that were trained without it."""
        views, federation = 1 + self.split.judges, self.request.federation
        models, penalties = self._estimation.models(self._fronts[:views], decisions[:views])
        joined, evaluated = _share_models(decisions[:views], models, penalties)
        self.request.progress("evaluating", 0, 1)
        answers = federation.ask(
            {
                client: Evaluate(
                    self.problem.schema,
                    self.split,
                    self.problem.metric,
                    np.stack([models[kind][:, place] for kind in ModelKind]),
                    np.stack([evaluated[kind][:, place] for kind in ModelKind]).astype(np.float64),
                )
                for place, client in enumerate(federation.clients)
            }
        )
        in_coalition = joined[ModelKind.COALITION], evaluated[ModelKind.COALITION]
        return Evaluated(
            {kind: models[kind][0] for kind in ModelKind},
            {kind: penalties[kind][0] for kind in ModelKind},
            answers,
            warnings=tuple(_warn_of_few_rows(federation.clients, self.problem.rows, *in_coalition)),
        )

    @cached_property
    def _borrowing(self) -> BorrowingExactly | BorrowingByExpansions:
        """How what borrowing is decided by comes from the clients' sums."""
        kind = BorrowingByExpansions if self.problem.schema.target.task in BY_EXPANSION else BorrowingExactly
        return kind(self.request.federation, self.problem.schema, self.split, self.request.progress)

    def lender(self) -> Borrowing:
        """Ask for sums over disjoint parts of the rows, and return what they tell of borrowing."""
        return self._borrowing.lender

    def evaluate_borrowed(self, decision: Borrowed) -> Evaluated:
        """Evaluate the models of a decision with borrowed strength."""
        return evaluate_expected(self._borrowing, self.problem.metric, decision)

    def priors(self, decision: Borrowed) -> dict[str, Priors]:
        """Return what each client fits its personal models with, at its own side."""
        return dict(zip(self.request.federation.clients, find_priors(self.lender(), decision), strict=True))

    def test(self, evaluated: Evaluated) -> Mapping[str, Evaluation]:
        """Evaluate models on the rows that clients keep for testing."""
        schema, metric, seed = self.problem.schema, self.problem.metric, self.request.study.seed
        by_client = np.stack([evaluated.models[kind] for kind in ModelKind], axis=1)
        clients = self.request.federation.clients
        return self.request.federation.ask(
            {client: EvaluateLinear(schema, metric, by_client[place], seed) for place, client in enumerate(clients)}
        )


def evaluate_expected(asking: Asking, of_metric: str, decision: Borrowed) -> Evaluated:
    """Return the models of a decision with borrowed strength, and how well they can be expected to do.

    Clients measure on held-out parts how well they do alone, with the common procedure, and all together. What they
    gain in their coalitions is what the evidence of all clients lets them expect, as a share of their loss alone.
    """
    together, penalty = asking.together
    lender, clients = asking.lender, asking.federation.clients
    own = asking.evaluate(of_metric, together)
    metric, kinds = METRICS[of_metric], list(ModelKind)
    shares = {kind: np.minimum(_shares(gain, decision.alone), _MAX_SHARE) for kind, gain in decision.gains.items()}
    errors_of = {kind: _shares(decision.errors[kind], decision.alone) for kind in decision.errors}
    common_of = _shares(decision.common_error, decision.alone)
    units = np.array([metric.unit(each.values[0]) for each in own.values()])
    gained = np.array([each.gains[1] for each in own.values()]) / units
    unsure = np.array([each.gain_errors[1] for each in own.values()]) / np.abs(units)
    slope, slope_error = _slope(gained, unsure, lender.rows, lender.alone_excess, lender.level, metric.slope)
    of_loss = (metric.is_loss or metric.is_root) and not metric.more_is_better  # gains are shares of what was measured
    if metric.is_loss or metric.is_root:
        slope_error = 0.0
    bases = _without_outliers(np.array([each.values[0] for each in own.values()]), decision.alone, metric)
    unsure_base = _beyond_usual(np.array([each.errors[0] for each in own.values()]), bases)
    evaluations, common_errors = {}, np.zeros(len(clients))
    for place, client in enumerate(clients):
        alone, _, pooled = own[client].values
        values, errors = np.full(len(kinds), alone), np.full(len(kinds), own[client].errors[0])
        gains, gain_errors = np.zeros(len(kinds)), np.zeros(len(kinds))
        last = kinds.index(ModelKind.TOGETHER)
        values[last], errors[last] = pooled, own[client].errors[2]
        gains[last], gain_errors[last] = own[client].gains[2], own[client].gain_errors[2]
        for kind, share in shares.items():
            at = kinds.index(kind)
            gain, by_share = metric.gain_of_share(float(bases[place]), float(share[place]), slope)
            values[at] = np.clip(alone + gain, metric.least, metric.most)
            gains[at] = values[at] - alone
            by_slope = abs(float(share[place]) * units[place]) * slope_error
            by_base = abs(gain) * unsure_base[place] if of_loss else 0.0
            gain_errors[at] = np.hypot(np.hypot(by_share * errors_of[kind][place], by_slope), by_base)
            if kind == ModelKind.COALITION and gain_errors[at] > 0:
                common_errors[place] = np.hypot(by_share * common_of[place], by_slope)
        evaluations[client] = Evaluation(values, errors, gains, gain_errors)
    return Evaluated(
        models={ModelKind.ALONE: lender.whole.alone, **decision.models, ModelKind.TOGETHER: together[0]},
        penalties={
            ModelKind.ALONE: asking.own_penalties,
            **decision.pulls,
            ModelKind.TOGETHER: np.full(len(clients), penalty),
        },
        evaluations=evaluations,
        probabilities=dict(zip(clients, decision.probabilities[ModelKind.COALITION].tolist(), strict=True)),
        mean_gain_error=_error_of_mean(
            np.array([each.gain_errors[kinds.index(ModelKind.COALITION)] for each in evaluations.values()]),
            common_errors,
        ),
        warnings=_warn_of_no_rows(clients, lender.whole.sums.rows, asking),
    )


def _without_outliers(values: Floats, losses: Floats, metric: Metric) -> Floats:
    """Return values alone (N,) of which shares are gained: of a loss, no more than twice what is to be expected.

    One held-out part on which a model alone goes astray, as the exponential of counts can, would make a gain look huge.

    Args:
        values: The metric alone (N,), as measured.
        losses: The expected losses alone (N,).
        metric: The metric; what is no loss stays as it is.

    >>> _without_outliers(np.array([2.0, 4.0, 90.0]), np.array([1.0, 2.0, 3.0]), METRICS["log-loss"])
    array([ 2.,  4., 12.])
    """
    if metric.more_is_better or not (metric.is_loss or metric.is_root):
        return values
    power = 2 if metric.is_root else 1
    known = np.isfinite(values) & (losses > 0)
    if not known.any():
        return values
    usual = np.median(values[known] ** power / losses[known])
    most = (_MOST_OVER_EXPECTED * usual * losses) ** (1 / power)
    return np.asarray(np.where(known, np.minimum(values, most), values))


def _beyond_usual(errors: Floats, values: Floats) -> Floats:
    """Return by how much errors relative to values (N,) exceed that of the median client, as a part of the variance.

    >>> _beyond_usual(np.array([0.6, 0.6, 1.0, np.nan, 1.0]), np.array([2.0, 2.0, 2.0, 2.0, 0.0]))
    array([0. , 0. , 0.4, 0. , 0. ])
    """
    relative = np.divide(errors, np.abs(values), out=np.zeros(errors.size), where=np.abs(values) > 0)
    known = relative[np.isfinite(errors) & (np.abs(values) > 0)]
    usual = np.median(known) if known.size else 0.0
    return np.asarray(np.sqrt(np.clip(np.nan_to_num(relative) ** 2 - usual**2, 0.0, 1.0)))


def _error_of_mean(errors: Floats, common: Floats) -> float:
    """Return the standard error of a mean of estimates (N,), a part of whose errors is common to all of them."""
    independent = np.sqrt(np.maximum(np.nan_to_num(errors) ** 2 - common**2, 0.0))
    return float(np.hypot(np.sqrt((independent**2).sum()) / errors.size, np.nan_to_num(common).mean()))


def _slope(
    gained: Floats, errors: Floats, rows: Floats, excess: Floats, level: Floats, usual: tuple[float, float] = (0.5, 0.2)
) -> tuple[float, float]:
    """Return what a metric gains for each share of the loss, and its error: the usual slope, moved by what was seen.

    Args:
        gained: What each client gained by the common procedure (N,), where it is known.
        errors: Its standard errors (N,).
        rows: The rows that measured it (N,).
        excess: The loss alone over that of the common procedure (N,).
        level: The loss of the common procedure (N,).
        usual: The slope that is expected before anything is seen, and its error.

    >>> half = np.array([0.06, np.nan]), np.array([0.01, np.nan]), np.array([50.0, 9.0])
    >>> np.round(_slope(*half, excess=np.array([0.2, -0.7]), level=np.array([0.8, 0.8])), 3)
    array([0.312, 0.049])
    """
    known = np.isfinite(gained) & np.isfinite(errors) & (rows > 0)
    alone = float((rows * (level + excess))[known].sum())
    variance = float((rows**2 * errors**2)[known].sum())
    precision, found = usual[1] ** -2, usual[0] * usual[1] ** -2
    if alone > 0 and variance > 0:
        share = max(float((rows * excess)[known].sum()) / alone, 0.0)
        seen = share * float(rows[known].sum()) / variance
        precision, found = (
            precision + seen * share * rows[known].sum(),
            found + seen * float((rows * gained)[known].sum()),
        )
    return max(found / precision, 0.0), float(precision**-0.5)


def _shares(values: Floats, losses: Floats) -> Floats:
    """Return values (N,) as shares of losses; none of a loss that is zero, or by noise below.

    >>> _shares(np.array([0.1, 0.2]), np.array([0.4, 0.0]))
    array([0.25, 0.  ])
    """
    return np.divide(values, losses, out=np.zeros(len(values)), where=losses > 0)


def _share_models(
    decisions: Sequence[Decision], models: Mapping[ModelKind, Floats], penalties: Mapping[ModelKind, Floats]
) -> tuple[dict[ModelKind, Booleans], dict[ModelKind, Booleans]]:
    """Give every client the models that it really gets, in `models` (V, N, d) and `penalties` (V, N) of V views.

    - A client that is alone in the final decision has its own model in every view.
    - A client that joins only in some outer folds is scored on those folds; if it joins in none, its gain is unknown.
    - A client that has all its wishes met in its coalition has the same model there and at best.

    Returns:
        Of each kind, which clients share a model (N,), and which outer folds evaluate whose models (V - 1, N).
    """
    sharing = [_sharing(decision) for decision in decisions]
    joined = sharing[0]
    for kind in (ModelKind.COALITION, ModelKind.BEST):
        alone = ~joined[kind]
        models[kind][:, alone] = models[ModelKind.ALONE][:, alone]
        penalties[kind][:, alone] = penalties[ModelKind.ALONE][:, alone]
    evaluated = {kind: np.array([each[kind] for each in sharing[1:]]) | ~joined[kind] for kind in ModelKind}
    met = (decisions[0].sets == decisions[0].wishes).all(axis=1) & joined[ModelKind.COALITION]
    for array in (models, penalties, evaluated):
        array[ModelKind.BEST][:, met] = array[ModelKind.COALITION][:, met]
    return joined, evaluated


def _sharing(decision: Decision) -> dict[ModelKind, Booleans]:
    """Return for each kind of model which clients share one (N,)."""
    together = [len(decision.equilibrium.coalition_of(client)) > 1 for client in decision.clients]
    wishing: Booleans = decision.wishes.sum(axis=1) > 1
    return {
        ModelKind.ALONE: np.zeros_like(wishing),
        ModelKind.COALITION: np.array(together),
        ModelKind.BEST: wishing,
        ModelKind.TOGETHER: np.ones_like(wishing),
    }


def _warn_of_no_rows(clients: Sequence[str], rows: Floats, asking: Asking) -> tuple[str, ...]:
    """Return one warning about all clients that brought no rows (N,), if there are any."""
    without = [client for client, count in zip(clients, rows, strict=True) if not count]
    if not without:
        return ()
    lacking = LINEAR_TASKS[asking.schema.target.task].without
    warning = (
        f"no sums came from {of_clients(without)}: {lacking}, or too few for their policies; they bring nothing to "
        f"others, are alone, and have {asking.without_sums}"
    )
    return (warning,)


def _warn_of_few_rows(
    clients: Sequence[str], rows: Mapping[str, int], joined: Booleans, evaluated: Booleans
) -> Iterator[str]:
    """Yield a warning for each client that joined (N,) in so few outer folds (V - 1, N) that few rows evaluate it."""
    for client, joins, share in zip(clients, joined, evaluated.mean(axis=0), strict=True):
        if joins and 0 < share < _MIN_SHARE_EVALUATED:  # a share of 0 shows in its figures: they are unknown
            yield (
                f"client {client!r} would stay alone without some of its rows: its gain is estimated on "
                f"{share * rows[client]:.0f} of {rows[client]} rows, and may be nothing"
            )
