"""How well each client does alone, with the nearest others and with anybody, for generalised linear models.

Procedures (`comity.families.glm.procedures`) mean the same for every client, so that evidence for them adds up over
clients. In every view of the rows everything is learned anew without the part that tests: what clients have in common,
who is near to whom, and the models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from scipy import sparse

from comity.core.arrays import Booleans, Floats, Integers
from comity.core.progress import Advance
from comity.deciding.evidence import Evidence
from comity.families.glm.likelihood import Likelihood, best_for_all
from comity.families.glm.procedures import (
    ALL_PULLS,
    MAX_COLLABORATORS,
    Procedure,
    Pulls,
    procedures,
    procedures_near,
)
from comity.families.glm.sums import Parts, Sums
from comity.families.glm.view import View

_PRIOR_OF_PULL = 0.5  # for each client but one: a pull c below 1 has a prior weight of c to this power
_MAX_PRIOR_OF_PULL = 1.0
_BORROWED_CURVATURE = 4.0  # rows of all clients for each parameter that are added to a client's own second moments
_BORROWED_NOISE = 20.0  # rows
_TINY = 1e-12
_BATCH = 2e7  # numbers in an array of a batch


class Borrowing:
    """What borrowing from others is decided by: see the module.

    Args:
        parts: The losses on disjoint parts of the rows.
        learn: Returns what is learned from a view of the rows: of all, or, by its number, of all but a part.
        noise: The variance of the noise, learned unless given.
        progress: Called while it works.
        pulls: The pulls to try.

    Attributes:
        measured: Where losses are approximate, those of the models alone and of the common procedure's as clients
            measured them, summed over the rows of the part that was left out (2, N, F).
    """

    measured: Floats | None = None

    def __init__(
        self,
        parts: Parts,
        learn: Callable[[Sums, int], View],
        noise: float | None = None,
        progress: Advance | None = None,
        pulls: Pulls = ALL_PULLS,
    ) -> None:
        self.parts, self.noise = parts, noise
        count, tell = parts.count, progress or (lambda done, total: None)
        sums = [parts.whole, *(parts.without(part) for part in range(count))]
        self.views = []
        for number, each in enumerate(sums):
            tell(number, len(sums) + 1)
            self.views.append(learn(each, number))
        tell(len(sums), len(sums) + 1)
        self.rows = (parts.by_part.rows * parts.tested).sum(axis=1)
        self.likelihood = Likelihood(self.rows, noise)
        self._try(procedures(self.clients, pulls))
        if self.common.nearest:
            for view in self.views:
                view.settle(self.common)
        self._try(procedures_near(self.clients, self.kept, self.common.size, pulls))

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
        return _leaning_moments(self.whole)

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
            turned = here @ _leaning_moments(view)
            expected.append((turned * here).sum(axis=2))
            products += turned @ here.transpose(0, 2, 1) / self.parts.count
            spread += self._left_open(view, here) / self.parts.count
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
            final_spread=self._left_open(self.whole, apart[:, :1])[:, 0, 0],
            moved=np.stack([self._moved_alone(expected), self._moved(self.number)], axis=1),
        )

    def _moved_alone(self, expected: Sequence[Floats]) -> Floats:
        """Return the same of the models alone, from their squared distances (N, K) to the common one on each part.

        What a model that is trained anew lacks is taken to fall like one over the rows, of which a part is one in F.
        """
        if not self.whole.retrained:
            return self._moved(0)
        rows = self.parts.by_part.rows * self.parts.tested
        far = (np.stack([each[:, 0] for each in expected], axis=1) * rows).sum(axis=1)
        return np.asarray(far / np.maximum(self.rows, 1.0) / self.parts.count)

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

    def _left_open(self, view: View, apart: Floats) -> Floats:
        """Return the covariance (N, K, K) of excess losses of models that lie apart (N, K, d) from the common one."""
        return 4 * view.spread(self.common, apart, apart @ self.curvature)

    def personal(self, target: Integers, members: sparse.csr_array, number: Integers) -> Floats:
        """Return the personal model (P, d) of each target with its set (P, N), which holds it; pulls by procedure."""
        models = np.zeros((target.size, self.parts.whole.size))
        for each in np.unique(number).tolist():
            here = np.flatnonzero(number == each)
            models[here] = self.whole.personal(self.kept[each], target[here], members[here])
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
            spread = self.whole.spread(self.common, apart[:, None], turned[:, None], target[some])[:, 0, 0]
            deviation[some] = 2 * np.sqrt(np.maximum(spread, 0.0))
        return found, deviation

    def misfit(
        self, target: Integers, members: sparse.csr_array, without: sparse.csr_array, number: Integers
    ) -> Floats:
        """Return log likelihood ratios (P,) that the collaborator left out is not like the others of a set (P, N)."""
        found = np.empty(target.size)
        for each in np.unique(number).tolist():
            here = np.flatnonzero(number == each)
            sets = members[here], without[here]
            found[here] = self.whole.misfit(self.kept[each], self.curvature, target[here], *sets)
        return found

    def shares(self, target: Integers, members: sparse.csr_array, number: Integers) -> Floats:
        """Return how much of each target's personal model comes from whose rows (P, N): each row sums to one."""
        shares = np.zeros((target.size, self.clients))
        for each in np.unique(number).tolist():
            here = np.flatnonzero(number == each)
            shares[here] = self.whole.shares(self.kept[each], target[here], members[here])
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


def _leaning_moments(view: View) -> Floats:
    """Return second moments (N, d, d) of each client's rows, leaning on those of all clients."""
    sums, lean = view.sums, _BORROWED_CURVATURE * view.freedom
    everybody = sums.gram.sum(axis=0) / max(sums.rows.sum(), 1.0)
    return np.asarray((sums.gram + lean * everybody) / (sums.rows + lean)[:, None, None])


def _variance(products: Floats, noise: Floats, wider: float) -> Floats:
    """Return the covariance of a row's excess losses, from the products of the predictions' differences.

    A row's excess loss is a² - 2ae, with a the difference of two predictions and e the residual; its moments are those
    of normal variables. For a log loss, by the information equality, it is the same with a noise of one half.
    """
    return np.asarray((2 * products**2 + 4 * products * noise) * wider)
