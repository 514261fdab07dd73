"""How well each client does alone, with the nearest others and with anybody, for generalised linear models.

Procedures (`comity.families.glm.procedures`) mean the same for every client, so that evidence for them adds up over
clients. In every view of the rows everything is learned anew without the part that tests: what clients have in common,
who is near to whom, and the models.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy import sparse

from comity.core.arrays import Booleans, Floats, Integers
from comity.core.progress import Advance
from comity.deciding.evidence import Evidence
from comity.families.glm.likelihood import Likelihood, best_for_all
from comity.families.glm.procedures import MAX_COLLABORATORS, Procedure, View, procedures, procedures_near
from comity.families.glm.sums import Parts, Sums

_PRIOR_OF_PULL = 0.5  # for each client but one: a pull c below 1 has a prior weight of c to this power
_MAX_PRIOR_OF_PULL = 1.0
_BORROWED_CURVATURE = 4.0  # rows of all clients for each parameter that are added to a client's own second moments
_BORROWED_NOISE = 20.0  # rows
_MISFIT = 6.0  # by how much a collaborator that is not like the others changes a model more, squared
_TINY = 1e-12
_BATCH = 2e7  # numbers in an array of a batch
_KEPT = 1e6  # numbers in the sums of a view that keeps what its models are made of


class Borrowing:
    """What borrowing from others is decided by: see the module.

    Args:
        parts: The losses on disjoint parts of the rows.
        intercepts: How many of the parameters, the last ones, are intercepts.
        noise: The variance of the noise, learned unless given.
        own: Models alone on all rows and without each part (1 + F, N, d), if they were fitted elsewhere.
        progress: Called while it works.
        own_level: Whether a client is near whatever its intercept.

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
        *,
        own_level: bool = False,
    ) -> None:
        self.parts, self.noise = parts, noise
        count, tell = parts.count, progress or (lambda done, total: None)
        sums = [parts.whole, *(parts.without(part) for part in range(count))]
        self.views = []
        for number, each in enumerate(sums):
            tell(number, len(sums) + 1)
            keep = not number or each.gram.size <= _KEPT
            self.views.append(View(each, intercepts, noise, None if own is None else own[number], keep, own_level))
        tell(len(sums), len(sums) + 1)
        self.rows = (parts.by_part.rows * parts.tested).sum(axis=1)
        self.likelihood = Likelihood(self.rows, noise)
        self._try(procedures(self.clients))
        if self.common.nearest:
            for view in self.views:
                view.settle(self.common)
        self._try(procedures_near(self.clients, self.kept, self.common.size))

    @property
    def clients(self) -> int:
        """The number of clients, N."""
        return len(self.rows)

    @property
    def whole(self) -> View:
        """What is learned from all rows."""
        return self.views[0]

    def _try(self, chosen: Sequence[Procedure]) -> None:
        """Try procedures without each part, and keep each with its pulls weighted by how well they do."""
        self.kept: list[Procedure] = []
        self.models: list[Floats] = []
        by_part: list[Floats] = []
        self.optimism: list[Floats] = []
        # The fewer the clients, the less is known of how far apart they lie; how near the nearest are is not known.
        prior = min(_PRIOR_OF_PULL * (self.clients - 1), _MAX_PRIOR_OF_PULL)
        tried = [view.tried(chosen) for view in self.views[1:]]
        for number, each in enumerate(chosen):
            by_pull = np.stack([view[number] for view in tried], axis=2)  # (T, N, F, d)
            if not each.size:
                kept, models = each, by_pull[0]
                optimism = np.zeros(self.clients)
            else:
                losses = np.stack([self._tested(one).sum(axis=1) for one in by_pull], axis=1)
                totals = self.likelihood.voted(losses, by_part[0].sum(axis=1)).sum(axis=0)
                kept = each.weighted(totals, 0.0 if each.nearest else prior)
                by_pull = by_pull[[each.pulls.index(pull) for pull in kept.pulls]]
                models = np.einsum("w,wnfd->nfd", kept.weights, by_pull)
                optimism = self._optimism(by_pull - models, np.array(kept.weights))
            self.kept.append(kept)
            self.models.append(models)
            by_part.append(self._tested(models))
            self.optimism.append(optimism)
        self.by_part = np.stack(by_part, axis=2)
        self.losses = self.by_part.sum(axis=1) + np.stack(self.optimism, axis=1)  # summed over the rows that test
        voted = self.likelihood.voted(self.losses[:, 1:], self.losses[:, 0])
        self.number = 1 + best_for_all(voted, np.array([each.nearest for each in self.kept[1:]]))

    def _optimism(self, apart: Floats, weights: Floats) -> Floats:
        """Return by how much (N,) a loss, summed over rows, is too low because weights (W,) of pulls follow it.

        Pulls are weighted by exp(-loss / 2φ). By Stein's lemma the loss of their mean is too low by 2φ times what the
        predictions follow the targets, which is twice the variance of the predictions over pulls.
        """
        spread = np.einsum("w,wnfa,nab,wnfb->n", weights, apart, self.curvature, apart, optimize=True)
        return np.asarray(2 * self.rows * spread / apart.shape[2])

    @property
    def common(self) -> Procedure:
        """The procedure with collaborators that serves the clients best, as far as their rows can tell."""
        return self.kept[self.number]

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
        mean = self.likelihood.typical(found) if self.noise is None else found.sum() / max(self.rows.sum(), 1.0)
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
        alone, common = (
            self.by_part[:, :, [0, self.number]].transpose(2, 0, 1) if self.measured is None else self.measured
        )
        return Evidence(
            common=self.number,
            excess=self._excess(),
            rows=self.parts.by_part.rows * self.parts.tested,
            expected=np.stack(expected, axis=1),
            unit=self._noises,
            gained=self.likelihood.gained(alone.sum(axis=1), common.sum(axis=1)),
            noise=noise,
            spread=spread,
            final=((apart @ self.curvature) * apart).sum(axis=2),
            final_spread=self._spread(apart[:, :1], self.covariance)[:, 0, 0],
            moved=np.stack([self._moved(0), self._moved(self.number)], axis=1),
        )

    def _moved(self, number: int) -> Floats:
        """Return the mean squared distance (N,) from a procedure's models without each part to that of all rows."""
        apart = self.models[number] - self.final[:, None, number]
        rows = self.parts.by_part.rows * self.parts.tested
        far = (((apart @ self.curvature) * apart).sum(axis=2) * rows).sum(axis=1)
        return np.asarray(far / np.maximum(self.rows, 1.0))

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
        found, deviation = np.empty(target.size), np.empty(target.size)
        step = max(1, int(_BATCH // self.parts.whole.size**2))
        for first in range(0, target.size, step):
            some = slice(first, first + step)
            apart = one[some] - other[some]
            turned = (self.curvature[target[some]] @ apart[..., None])[..., 0]
            found[some] = (turned * apart).sum(axis=1)
            spread = np.einsum("pa,pab,pb->p", turned, self.covariance[target[some]], turned)
            deviation[some] = 2 * np.sqrt(np.maximum(spread, 0.0))
        return found, deviation

    def misfit(
        self, target: Integers, members: sparse.csr_array, without: sparse.csr_array, number: Integers
    ) -> Floats:
        """Return log likelihood ratios (P,) that a collaborator is not like the others of a target's set.

        If it is like them, the model without it lies from that with it as far as follows from what both leave open. If
        it is not, squared distances are `_MISFIT` times as large.

        Args:
            target: The clients whose models are compared.
            members: Their sets (P, N).
            without: The same without the collaborator in question.
            number: The procedures whose pulls they have.
        """
        size = self.parts.whole.size
        found = np.empty(target.size)
        step = max(1, int(_BATCH // size**2))
        for each in np.unique(number).tolist():
            here = np.flatnonzero(number == each)
            for first in range(0, here.size, step):
                some = here[first : first + step]
                clients, moved = target[some], np.zeros((some.size, size, size))
                for pull, weight in zip(self.kept[each].pulls, self.kept[each].weights, strict=True):
                    pulled = self.whole.pulled(pull)
                    left_open = [np.linalg.inv(pulled.set_means(sets[some])[0]) for sets in (without, members)]
                    drawn = pulled.drawn[clients]
                    moved += weight * drawn @ (left_open[0] - left_open[1]) @ drawn.transpose(0, 2, 1)
                turned = self.curvature[clients] @ moved
                mean = np.maximum(np.trace(turned, axis1=1, axis2=2), np.finfo(np.float64).tiny)
                freedom = mean**2 / np.maximum(np.einsum("pij,pji->p", turned, turned), mean**2 / size)
                one, other = (self.personal(clients, sets[some], number[some]) for sets in (without, members))
                ratio = self.distance(clients, one, other)[0] / mean
                found[some] = freedom / 2 * (ratio * (1 - 1 / _MISFIT) - np.log(_MISFIT))
        return found

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
        nothing = ~(shares.sum(axis=1) > 0)
        shares[nothing] = 0.0
        shares[nothing, target[nothing]] = 1.0
        shares /= shares.sum(axis=1, keepdims=True)
        return shares

    def pull_of(self, number: int) -> float:
        """Return the mean pull of a procedure."""
        kept = self.kept[number]
        return float(np.exp(np.dot(kept.weights, np.log(kept.pulls)))) if kept.pulls else 1.0

    def is_nearest(self, number: int) -> bool:
        """Return whether the collaborators of a procedure are the nearest, and not anybody."""
        return self.kept[number].nearest

    def members_of(self, number: int) -> sparse.csr_array:
        """Return every client's set (N, N) by a procedure."""
        return self.whole.members(self.kept[number])

    def others_of(self, target: int, present: Booleans, number: int) -> Integers:
        """Return the others that are present, in the order in which a client takes them by a procedure."""
        order = self.whole.order[target] if self.is_nearest(number) else self.whole.circle(target)
        return np.asarray(order[present[order] & (self.whole.sums.rows[order] > 0)])[:MAX_COLLABORATORS]


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
