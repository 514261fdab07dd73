"""Who is near to whom, and how well each client does with the nearest others, for generalised linear models.

A *procedure* says how a client's collaborators and its pull towards their model follow from the rows: alone, with the
nearest m others, or with anybody. Procedures mean the same for every client, so that evidence for them adds up over
clients. In every view of the rows everything is learned anew without the part that tests: what clients have in common,
who is near to whom, and the models.

*Near* is whose model does well on the client's rows. Weak bridges are left out of the sets of the nearest: see
`comity.deciding.bridges`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from comity.core.arrays import Booleans, Floats, Integers
from comity.core.progress import Advance
from comity.deciding.bridges import without_bridges
from comity.deciding.evidence import Evidence
from comity.families.glm.hierarchy import Hierarchy, Pulled
from comity.families.glm.own import fit_own
from comity.families.glm.sums import Parts, Sums

_SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)
_COARSE_SIZES = (1, 2, 4, 8, 16, 32, 64)  # in the first pass
_MOST = 64  # collaborators of a client
_PULLS = (1.0, 0.7, 0.4, 0.1, 0.03, 0.006)
_PULLS_TO_ANYBODY = (2.0, 1.4, 1.0, 0.7, 0.5, 0.3, 0.1, 0.03, 0.01, 0.002)
_PASSES = 2  # the second time, nearness is that of the models of the best procedure of the first
_ROUNDS = 6  # of finding the nearest anew by the models that result
_FEW = 200  # clients, for whom every size is tried in both passes
_PRIOR_OF_PULL = 0.5  # for each client but one: a pull c below 1 has a prior weight of c to this power
_MAX_PRIOR_OF_PULL = 1.0
_PRIOR_OF_NEAREST = 2.0  # the nearest must be better than anybody by this logarithm of a likelihood
_PRIOR_OF_VOTE = 3.0  # the logarithm of the odds that a procedure does not hurt a client
_OVERLAPPING = 1.5  # by how much the noise of cross-validated losses exceeds that of independent rows
_NEGLIGIBLE = 0.02  # a pull with a smaller weight is left out
_BORROWED_CURVATURE = 4.0  # rows of all clients for each parameter that are added to a client's own second moments
_BORROWED_NOISE = 20.0  # rows
_TINY = 1e-12
_BATCH = 2e7  # numbers in an array of a batch


@dataclass(frozen=True, slots=True)
class Procedure:
    """How a client's model comes about: with `size` collaborators, the nearest or anybody; with none, alone.

    The model is the mean of those with each of `pulls`, by their `weights`, which sum to one.
    """

    size: int
    nearest: bool = True
    pulls: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()

    def tries(self) -> tuple[Procedure, ...]:
        """Return a procedure for each of the pulls alone."""
        return tuple(replace(self, pulls=(pull,), weights=(1.0,)) for pull in self.pulls)

    def weighted(self, losses: Floats, unit: float, prior: float) -> Procedure:
        """Return it with pulls weighted by likelihood, whose logarithm is minus loss over twice the unit, and a prior.

        The prior weight of a pull c is min(c, 1) to the power `prior`.
        """
        weights = np.minimum(self.pulls, 1.0) ** prior * np.exp((losses.min() - losses) / (2 * unit))
        weights = np.where(weights < _NEGLIGIBLE * weights.sum(), 0.0, weights)
        kept = np.flatnonzero(weights).tolist()
        total = float(weights.sum())
        return replace(
            self, pulls=tuple(self.pulls[at] for at in kept), weights=tuple(float(weights[at]) / total for at in kept)
        )


def procedures(clients: int, sizes: tuple[int, ...] = _SIZES) -> tuple[Procedure, ...]:
    """Return the procedures to try with N clients, the first of which is to be alone.

    >>> [each.size for each in procedures(3)]
    [0, 1, 2]
    """
    nearest = [Procedure(size, pulls=_PULLS) for size in sizes if size < min(clients - 1, _MOST + 1)]
    anybody = Procedure(min(clients - 1, _MOST), nearest=False, pulls=_PULLS_TO_ANYBODY)
    return (Procedure(0), *nearest, anybody)


@dataclass(eq=False)
class View:
    """What is learned from a view of the rows; `own` are models alone that were fitted elsewhere (N, d)."""

    sums: Sums
    intercepts: int
    noise: float | None
    own: Floats | None = None
    order: Integers = field(init=False)

    def __post_init__(self) -> None:
        self.order = self._nearest(self.hierarchy.models)

    @cached_property
    def hierarchy(self) -> Hierarchy:
        """What the clients have in common."""
        return Hierarchy.learn(self.sums, self.intercepts, self.noise)

    @cached_property
    def alone(self) -> Floats:
        """The models alone (N, d); a client without rows has the typical one."""
        own = fit_own(self.sums)[0] if self.own is None else self.own
        return np.where(self.sums.rows[:, None] > 0, own, self.hierarchy.mean)

    @cached_property
    def _pulled(self) -> dict[float, Pulled]:
        return {}

    def pulled(self, pull: float) -> Pulled:
        """Return what personal models with a pull are made of."""
        if pull not in self._pulled:
            self._pulled[pull] = self.hierarchy.pulled(pull)
        return self._pulled[pull]

    def _nearest(self, models: Floats) -> Integers:
        """Return for each client the others whose models do best on its rows, the best first (N, at most `_MOST`)."""
        clients, most = len(models), min(len(models) - 1, _MOST)
        outer = (models[:, :, None] * models[:, None, :]).reshape(clients, -1).T
        order = np.empty((clients, most), np.intp)
        step = max(1, int(_BATCH // max(clients, 1)))
        for first in range(0, clients, step):
            here = slice(first, min(first + step, clients))
            losses = self.sums.gram[here].reshape(-1, len(outer)) @ outer - 2 * self.sums.cross[here] @ models.T
            losses[np.arange(len(losses)), np.arange(here.start, here.stop)] = np.inf
            best = np.argpartition(losses, most - 1, axis=1)[:, :most]
            ranked = np.argsort(np.take_along_axis(losses, best, axis=1), axis=1, kind="stable")
            order[here] = np.take_along_axis(best, ranked, axis=1)
        return order

    def settle(self, procedure: Procedure) -> None:
        """Find the nearest again, by the models that a procedure gives."""
        if procedure.nearest and procedure.size:
            for _ in range(_ROUNDS):
                self.order = self._nearest(self.models(procedure))
                self._members.clear()

    @cached_property
    def _members(self) -> dict[tuple[int, bool], sparse.csr_array]:
        return {}

    def members(self, procedure: Procedure) -> sparse.csr_array:
        """Return each client's set (N, N), of which it is a member itself."""
        key = procedure.size, procedure.nearest
        if key not in self._members:
            self._members[key] = self._find_members(procedure)
        return self._members[key]

    def _find_members(self, procedure: Procedure) -> sparse.csr_array:
        clients = len(self.sums)
        own = sparse.eye_array(clients, format="csr")
        if procedure.nearest:
            members = _as_sets(self.order[:, : procedure.size], clients) + own
            if procedure.size > 1:
                members = without_bridges(sparse.csr_array(members))
        else:
            members = _in_a_circle(clients, procedure.size)
        members = sparse.csr_array((members * (self.sums.rows > 0)).maximum(own))  # who has no rows brings nothing
        members.eliminate_zeros()
        return members

    def models(self, procedure: Procedure) -> Floats:
        """Return every client's model (N, d) by a procedure."""
        if not procedure.size:
            return self.alone
        members, models = self._members_or_all(procedure), np.zeros_like(self.sums.cross)
        for pull, weight in zip(procedure.pulls, procedure.weights, strict=True):
            models += weight * self.pulled(pull).models(members)
        return models

    def covariance(self, procedure: Procedure) -> Floats:
        """Return the covariance (N, d, d) of what a procedure's models leave open."""
        members, mean = self._members_or_all(procedure), self.models(procedure)
        found = np.zeros_like(self.sums.gram)
        for pull, weight in zip(procedure.pulls, procedure.weights, strict=True):
            pulled = self.pulled(pull)
            of_mean = np.linalg.inv(pulled.set_means(members)[0])
            found += weight * (pulled.posterior + pulled.drawn @ of_mean @ pulled.drawn.transpose(0, 2, 1))
            if len(procedure.pulls) > 1:
                apart = pulled.models(members) - mean
                found += weight * apart[:, :, None] * apart[:, None, :]
        return found

    def _members_or_all(self, procedure: Procedure) -> sparse.csr_array | None:
        everybody = procedure.size == len(self.sums) - 1 and not procedure.nearest
        return None if everybody else self.members(procedure)


def _as_sets(order: Integers, clients: int) -> sparse.csr_array:
    """Return the sets (N, N) that rows of an order (N, m) list."""
    count, size = order.shape
    return sparse.csr_array(
        (np.ones(order.size), order.ravel(), np.arange(0, order.size + 1, size)), shape=(count, clients)
    )


def _in_a_circle(clients: int, size: int) -> sparse.csr_array:
    """Return sets (N, N) of each client and the `size` after it in a circle: everybody is in as many sets."""
    return _as_sets((np.arange(clients)[:, None] + np.arange(size + 1)) % clients, clients)


class Borrowing:
    """What borrowing from others is decided by: see the module.

    Args:
        parts: The losses on disjoint parts of the rows.
        intercepts: How many of the parameters, the last ones, are intercepts.
        noise: The variance of the noise, learned unless given.
        own: Models alone on all rows and without each part (1 + F, N, d), if they were fitted elsewhere.
        progress: Called while it works.

    Attributes:
        measured: Where losses are approximate, those of the models alone and of the common procedure's as clients
            measured them, summed over the rows of the part that was left out (2, N, F).
    """

    measured: Floats | None = None

    def __init__(
        self,
        parts: Parts,
        intercepts: int,
        noise: float | None = None,
        own: Floats | None = None,
        progress: Advance | None = None,
    ) -> None:
        self.parts, self.noise = parts, noise
        count, tell = parts.count, progress or (lambda done, total: None)
        sums = [parts.whole, *(parts.without(part) for part in range(count))]
        self.views = []
        for number, each in enumerate(sums):
            tell(number, len(sums) + 1)
            self.views.append(View(each, intercepts, noise, None if own is None else own[number]))
        tell(len(sums), len(sums) + 1)
        self.rows = (parts.by_part.rows * parts.tested).sum(axis=1)
        for turn in range(_PASSES):
            self._try_all(_SIZES if turn + 1 == _PASSES or self.clients <= _FEW else _COARSE_SIZES)
            if turn + 1 < _PASSES and self.common.nearest:
                for view in self.views:
                    view.settle(self.common)

    @property
    def clients(self) -> int:
        """The number of clients, N."""
        return len(self.rows)

    @property
    def whole(self) -> View:
        """What is learned from all rows."""
        return self.views[0]

    def _try_all(self, sizes: tuple[int, ...]) -> None:
        """Try every procedure without each part, and keep for each number of collaborators the best pull."""
        self.kept: list[Procedure] = []
        self.models: list[Floats] = []
        by_part: list[Floats] = []
        self.optimism: list[Floats] = []
        # The fewer the clients, the less is known of how far apart they lie; how near the nearest are is not known.
        prior = min(_PRIOR_OF_PULL * (self.clients - 1), _MAX_PRIOR_OF_PULL)
        for each in procedures(self.clients, sizes):
            if not each.size:
                kept, models = each, self._without_parts(each)
                optimism = np.zeros(self.clients)
            else:
                tried = [self._without_parts(one) for one in each.tries()]
                losses = np.stack([self._tested(one).sum(axis=1) for one in tried], axis=1)
                totals = self._voted(losses, by_part[0].sum(axis=1))
                kept = each.weighted(totals, self._unit(totals), 0.0 if each.nearest else prior)
                chosen = [tried[each.pulls.index(pull)] for pull in kept.pulls]
                models = np.einsum("w,wnfd->nfd", kept.weights, np.array(chosen))
                optimism = self._optimism(np.array(chosen) - models, np.array(kept.weights))
            self.kept.append(kept)
            self.models.append(models)
            by_part.append(self._tested(models))
            self.optimism.append(optimism)
        self.by_part = np.stack(by_part, axis=2)
        self.losses = self.by_part.sum(axis=1) + np.stack(self.optimism, axis=1)  # summed over the rows that test
        totals = self._voted(self.losses[:, 1:], self.losses[:, 0])
        hurdle = 2 * self._unit(totals) * _PRIOR_OF_NEAREST
        self.number = 1 + int((totals + [hurdle * each.nearest for each in self.kept[1:]]).argmin())

    def _voted(self, losses: Floats, alone: Floats) -> Floats:
        """Return the loss of T tries (T,) over all clients (N, T), of which those that a try hurts count as alone (N,).

        They must not decide for the others. Before anything is seen, the odds that a client is hurt are small.
        """
        double = 2 * self._unit(losses.sum(axis=0))
        hurt = (losses - alone[:, None]) / double - _PRIOR_OF_VOTE
        return np.asarray((losses - double * np.logaddexp(0.0, hurt)).sum(axis=0))

    def _unit(self, totals: Floats) -> float:
        """Return the variance of the noise, as the least of some losses over all rows shows it unless it is given."""
        found = float(totals.min()) / max(float(self.rows.sum()), 1.0) if self.noise is None else self.noise
        return max(found, _TINY)

    def _optimism(self, apart: Floats, weights: Floats) -> Floats:
        """Return by how much (N,) a loss, summed over rows, is too low because weights (W,) of pulls follow it.

        Pulls are weighted by exp(-loss / 2φ), and a loss has noise of variance 4φ times the squared distance of the
        predictions. So the weights favour a pull whose noise is low by just twice the variance of the predictions.
        """
        spread = np.einsum("w,wnfa,nab,wnfb->n", weights, apart, self.curvature, apart, optimize=True)
        return np.asarray(2 * _OVERLAPPING * self.rows * spread / apart.shape[2])

    @property
    def common(self) -> Procedure:
        """The procedure with collaborators that has the least loss over all clients."""
        return self.kept[self.number]

    def _without_parts(self, procedure: Procedure) -> Floats:
        """Return the models of a procedure (N, F, d) that were learned without each part."""
        return np.stack([view.models(procedure) for view in self.views[1:]], axis=1)

    def _tested(self, models: Floats) -> Floats:
        """Return losses (N, F), summed over rows, of models (N, F, d) on the parts they do not know."""
        by_part = [self.parts.part(part).losses(models[:, part]) for part in range(self.parts.count)]
        return np.asarray(np.stack(by_part, axis=1) * self.parts.tested)

    @property
    def _wider(self) -> float:
        """By how much the variance of a cross-validated mean exceeds that of the rows (Nadeau and Bengio 2003)."""
        return 1 + self.parts.count / max(self.parts.count - 1, 1)

    @cached_property
    def curvature(self) -> Floats:
        """Second moments (N, d, d) of each client's rows, leaning on those of all clients."""
        return _leaning_moments(self.parts.whole)

    @cached_property
    def level(self) -> Floats:
        """The expected loss (N,) of the common procedure, leaning on that of all clients."""
        found = self.losses[:, self.number]
        mean = found.sum() / max(self.rows.sum(), 1.0)
        return np.asarray(np.maximum((found + _BORROWED_NOISE * mean) / (self.rows + _BORROWED_NOISE), 0.0))

    @property
    def alone_excess(self) -> Floats:
        """The excess loss of each client alone over the common procedure (N,), as measured; 0 where it was not."""
        rows = self.parts.by_part.rows * self.parts.tested
        return np.asarray((self._excess()[:, :, 0] * rows).sum(axis=1) / np.maximum(self.rows, 1.0))

    @cached_property
    def _noises(self) -> Floats:
        return self.level if self.noise is None else np.full(self.clients, self.noise)

    @cached_property
    def final(self) -> Floats:
        """The models (N, K, d) of the procedures that were kept, learned from all rows."""
        return np.stack([self.whole.models(each) for each in self.kept], axis=1)

    def evidence(self) -> Evidence:
        """Return what is known about the procedures that were kept."""
        models = np.stack(self.models, axis=2)
        apart = models - models[:, :, [self.number]]
        expected = []
        products, spread = (np.zeros((self.clients, len(self.kept), len(self.kept))) for _ in range(2))
        for part, view in enumerate(self.views[1:]):
            here = apart[:, part]
            turned = here @ _leaning_moments(view.sums)
            expected.append((turned * here).sum(axis=2))
            products += turned @ here.transpose(0, 2, 1) / self.parts.count
            spread += self._spread(here, view.covariance(self.common)) / self.parts.count
        noise = _variance(products, self._noises[:, None, None], self._wider) / np.maximum(self.rows, 1)[:, None, None]
        apart = self.final - self.final[:, [self.number]]
        return Evidence(
            common=self.number,
            excess=self._excess(),
            rows=self.parts.by_part.rows * self.parts.tested,
            expected=np.stack(expected, axis=1),
            unit=float(np.mean(self._noises)),
            noise=noise,
            spread=spread,
            final=((apart @ self.curvature) * apart).sum(axis=2),
            final_spread=self._spread(apart[:, :1], self.covariance)[:, 0, 0],
        )

    def _excess(self) -> Floats:
        """Return mean losses over that of the common procedure on each part (N, F, K)."""
        rows = np.maximum(self.parts.by_part.rows, 1.0)[:, :, None]
        excess = (self.by_part - self.by_part[:, :, [self.number]]) / rows
        if self.measured is not None:
            excess[:, :, 0] = (self.measured[0] - self.measured[1]) / rows[:, :, 0]
        flattered = np.stack(self.optimism, axis=1) / np.maximum(self.rows, 1.0)[:, None]
        return np.asarray(excess + (flattered - flattered[:, [self.number]])[:, None])

    @cached_property
    def covariance(self) -> Floats:
        """What the common procedure, on all rows, leaves open of each client's parameters (N, d, d)."""
        return self.whole.covariance(self.common)

    def _spread(self, apart: Floats, covariance: Floats) -> Floats:
        """Return the covariance (N, K, K) of excess losses of models that lie apart (N, K, d) from the common one."""
        turned = apart @ self.curvature
        return np.asarray(4 * (turned @ covariance) @ turned.transpose(0, 2, 1))

    def personal(self, target: Integers, members: sparse.csr_array, number: Integers) -> Floats:
        """Return the personal model (P, d) of each target with its set (P, N), which holds it; pulls by procedure."""
        models = np.zeros((target.size, self.parts.whole.size))
        step = max(1, int(_BATCH // self.parts.whole.size**2))
        for each in np.unique(number).tolist():
            here = np.flatnonzero(number == each)
            for pull, weight in zip(self.kept[each].pulls, self.kept[each].weights, strict=True):
                for first in range(0, here.size, step):
                    some = here[first : first + step]
                    models[some] += weight * self.whole.pulled(pull).models(members[some], target[some])
        return models

    def distance(self, target: Integers, one: Floats, other: Floats) -> tuple[Floats, Floats]:
        """Return the expected excess loss (P,) of models over those that are thought best, and its deviation."""
        apart = one - other
        turned = (self.curvature[target] @ apart[..., None])[..., 0]
        spread = np.einsum("pa,pab,pb->p", turned, self.covariance[target], turned)
        return (turned * apart).sum(axis=1), 2 * np.sqrt(np.maximum(spread, 0.0))

    def shares(self, target: Integers, members: sparse.csr_array, number: Integers) -> Floats:
        """Return how much of each target's personal model comes from whose rows (P, N): each row sums to one."""
        clients, size = self.clients, self.parts.whole.size
        shares = np.zeros((target.size, clients))
        step = max(1, int(_BATCH // max(size**2, clients)))
        for each in np.unique(number).tolist():
            here = np.flatnonzero(number == each)
            for pull, weight in zip(self.kept[each].pulls, self.kept[each].weights, strict=True):
                pulled = self.whole.pulled(pull)
                flat = pulled.precision.transpose(0, 2, 1).reshape(clients, -1)
                for first in range(0, here.size, step):
                    some = here[first : first + step]
                    means = np.linalg.inv(pulled.set_means(members[some])[0])
                    through = (pulled.drawn[target[some]] @ means).reshape(some.size, -1) @ flat.T
                    shares[some] += weight * np.maximum(through, 0.0) * (members[some].toarray() > 0)
                    own = np.einsum("pab,pba->p", pulled.posterior[target[some]], self.parts.whole.gram[target[some]])
                    shares[some, target[some]] += weight * own / self.whole.hierarchy.noise
        total = shares.sum(axis=1, keepdims=True)
        alone = np.zeros_like(shares)
        alone[np.arange(target.size), target] = 1.0
        return np.where(total > 0, shares / np.maximum(total, 1e-300), alone)

    def pull_of(self, number: int) -> float:
        """Return the mean pull of a procedure."""
        kept = self.kept[number]
        return float(np.exp(np.dot(kept.weights, np.log(kept.pulls)))) if kept.pulls else 1.0

    def members_of(self, number: int) -> sparse.csr_array:
        """Return every client's set (N, N) by a procedure."""
        return self.whole.members(self.kept[number])

    def nearest_of(self, target: int, present: Booleans) -> Integers:
        """Return the others that are present, the nearest to a client first."""
        order = self.whole.order[target]
        return np.asarray(order[present[order] & (self.whole.sums.rows[order] > 0)])


def _leaning_moments(sums: Sums) -> Floats:
    """Return second moments (N, d, d) of each client's rows, leaning on those of all clients."""
    lean = _BORROWED_CURVATURE * sums.size
    everybody = sums.gram.sum(axis=0) / max(sums.rows.sum(), 1.0)
    return np.asarray((sums.gram + lean * everybody) / (sums.rows + lean)[:, None, None])


def _variance(products: Floats, noise: Floats, wider: float) -> Floats:
    """Return the covariance of a row's excess losses, from the products of the predictions' differences.

    A row's excess loss is a² - 2ae, with a the difference of two predictions and e the residual; its moments are those
    of normal variables. For a log loss, by the information equality, it is the same with a noise of one half.
    """
    return np.asarray((2 * products**2 + 4 * products * noise) * wider)
