"""Differential privacy of a client's answers: settings, which answers they cover, and the privacy spent so far.

Answers with Gaussian noise compose: answers with noise of z₁, z₂, … times the sensitivity cost as much privacy as one
answer with noise of 1/√(Σ 1/z²) times the sensitivity. Σ 1/z² is called the *strength* of the answers (μ² in Gaussian
differential privacy; Dong, Roth and Su 2022). Google's dp-accounting computes ε from it and δ.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import Annotated

import numpy as np

from comity.client.audit import AuditEntry
from comity.core.extras import missing_dependency, require
from comity.core.settings import check_settings, real
from comity.core.wording import mention
from comity.errors import InputError, RefusedError
from comity.questions import QUESTIONS, LocalSteps, NoisyAnswers, PrivacyStatement
from comity.rows.noise import Noise

COVERED = ("moments", "expand", "slopes", "gradients", "local-steps")
"""Questions whose answers are clipped and noisy."""
_WITHOUT_ROWS = ("privacy",)
_GRID_STEP = 1e-4  # of the accountant, relative to ε
_BRACKET_WIDTH = 1e-3  # relative to the strength that a budget allows
_PURPOSE = "to compute the privacy spent by noisy answers"


@dataclass(frozen=True, eq=False)
class Privacy:
    """Differential privacy of the answers that are sums over rows, by the Gaussian mechanism.

    It covers the questions in `covered`. Those in `not_covered` are answered without noise (or, by a policy with
    `only_private`, refused), and nothing is claimed about them. Without clip and noise, all answers are exact.

    Args:
        clip: Largest norm (Euclidean) of a row's contribution to a sum; larger ones are scaled. Default: no clipping.
        noise: Standard deviation of the noise, in units of the sensitivity of the whole answer. Default: 0.0.
        delta: The δ of the (ε, δ) guarantee; it should be less than one over the number of rows. Default: 1e-06.
        epsilon: Limit of ε over all answers; an answer that would exceed it is refused. Default: no limit.
        generator: Source of the noise, for tests. Default: the operating system's entropy.

    Raises:
        InputError: A value is not allowed, noise is set without clip, or epsilon without noise.
        MissingDependencyError: There is noise, and dp-accounting is not installed.

    >>> Privacy(clip=1.0, noise=2.0, delta=1e-5).covered
    ('moments', 'expand', 'slopes', 'gradients', 'local-steps')
    """

    clip: Annotated[float | None, real(0, closed=False)] = None
    noise: Annotated[float, real(0)] = 0.0
    delta: Annotated[float, real(0, 0.5, closed=False, noun="a small probability")] = 1e-6
    epsilon: Annotated[float | None, real(0, closed=False)] = None
    generator: np.random.Generator | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_settings(self)
        if self.noise and self.clip is None:
            raise InputError(
                f"noise needs a clip; give the largest norm of a row's contribution: {mention('clip', ...)}"
            )
        if self.epsilon is not None and not self.noise:
            raise InputError(
                f"the limit of epsilon, {self.epsilon:g}, needs noise; give its size: {mention('noise', ...)}"
            )
        if self.noise and find_spec("dp_accounting") is None:  # not imported here, because that takes a second
            raise missing_dependency("dp_accounting", _PURPOSE)

    @property
    def covered(self) -> tuple[str, ...]:
        """The questions whose answers have noise; none if there is no noise."""
        return COVERED if self.noise else ()

    @property
    def not_covered(self) -> tuple[str, ...]:
        """The questions whose answers have no noise."""
        return tuple(kind for kind in QUESTIONS if kind not in (*self.covered, *_WITHOUT_ROWS))

    @property
    def mechanism(self) -> Noise:
        """The mechanism that clips contributions and adds noise."""
        return Noise(self.clip, self.noise, self.generator)

    def releases(self, kind: str, question: object) -> int:
        """Return the number of noisy sums in an answer: one, or one for each local step.

        Args:
            kind: The kind of the question.
            question: The question.

        Returns:
            The number, 0 if the answer has no noise.
        """
        if kind not in self.covered:
            return 0
        return len(question.rays) if isinstance(question, LocalSteps) else 1

    def check_budget(self, name: str, kind: str, releases: int, ledger: Ledger) -> None:
        """Refuse an answer that would exceed the limit of ε.

        Args:
            name: The client's name.
            kind: The kind of the question.
            releases: The number of noisy sums in the answer.
            ledger: What has been spent so far.

        Raises:
            RefusedError: If the limit would be exceeded.
        """
        if self.epsilon is None or not releases:
            return
        after = ledger.strength + releases / self.noise**2
        if not within_budget(after, self.epsilon, self.delta):
            raise RefusedError(
                f"client {name!r} does not answer the question {kind!r}: epsilon would be "
                f"{epsilon_of(after, self.delta):.4g} (delta {self.delta:g}); it is "
                f"{epsilon_of(ledger.strength, self.delta):.4g} after earlier answers, and its limit is "
                f"{self.epsilon:g}; ask for less, or ask it to raise the limit or the noise"
            )

    def state(self, ledger: Ledger, limit: float = math.inf) -> PrivacyStatement:
        """Return the settings and what has been spent.

        Args:
            ledger: What has been spent so far.
            limit: The limit of the disclosure.

        Returns:
            The statement that answers the question `privacy`.
        """
        return PrivacyStatement(
            clip=self.clip,
            noise=self.noise,
            delta=self.delta,
            limit=self.epsilon,
            epsilon=epsilon_of(ledger.strength, self.delta),
            by_kind={
                kind: NoisyAnswers(ledger.answers[kind], releases, epsilon_of(ledger.strengths[kind], self.delta))
                for kind, releases in ledger.releases.items()
            },
            covered=self.covered,
            not_covered=self.not_covered,
            without_noise=dict(ledger.without_noise),
            disclosed=ledger.disclosed,
            disclosure=limit if math.isfinite(limit) else None,
        )


@dataclass(slots=True)
class Ledger:
    """The number of answers by kind: with noise, their releases and strengths (Σ 1/noise²), and without noise.

    `disclosed` is the share of the rows' numbers that left, and `given` has the digests of the answers.
    """

    answers: Counter[str] = field(default_factory=Counter)
    releases: Counter[str] = field(default_factory=Counter)
    strengths: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    without_noise: Counter[str] = field(default_factory=Counter)
    disclosed: float = 0.0
    given: set[str] = field(default_factory=set)

    @property
    def strength(self) -> float:
        """The strength of all noisy answers together."""
        return math.fsum(self.strengths.values())

    def add(self, entries: Iterable[AuditEntry]) -> None:
        """Add entries of the audit log; a refusal costs nothing."""
        for entry in entries:
            kind = entry.question
            if entry.refused or kind in _WITHOUT_ROWS:
                continue
            self.disclosed += entry.disclosed
            self.given.add(entry.given)
            if not entry.releases:
                self.without_noise[kind] += 1
                continue
            self.answers[kind] += 1
            self.releases[kind] += entry.releases
            self.strengths[kind] += entry.releases / entry.noise**2


@cache
def epsilon_of(strength: float, delta: float) -> float:
    """Return the ε, for this δ, of answers with this strength.

    >>> round(epsilon_of(1.0, 1e-5), 3)
    4.377
    """
    if not strength:
        return 0.0
    events, pld = require("dp_accounting.dp_event", _PURPOSE), require("dp_accounting.pld", _PURPOSE)
    bound = strength / 2 + math.sqrt(2 * strength * math.log(1 / delta))  # Bun and Steinke 2016, Proposition 1.3
    accountant = pld.PLDAccountant(value_discretization_interval=_GRID_STEP * bound)
    accountant.compose(events.GaussianDpEvent(1 / math.sqrt(strength)))
    with np.errstate(over="ignore"):  # the accountant treats ε above 709 as infinite
        return min(float(accountant.get_epsilon(delta)), bound)


def within_budget(strength: float, epsilon: float, delta: float) -> bool:
    """Return whether answers with this strength spend at most this ε, for this δ."""
    low, high = _bracket(epsilon, delta)
    if low < strength < high:
        return epsilon_of(strength, delta) <= epsilon
    return strength <= low


@cache
def _bracket(epsilon: float, delta: float) -> tuple[float, float]:
    """Return a strength within the limit and one beyond it, close to each other.

    The accountant takes a tenth of a second, which is too long for every training step: ε is computed only for a
    strength between the two.
    """
    low, high = 0.0, 1.0
    while epsilon_of(high, delta) <= epsilon:
        low, high = high, 4 * high
    while high - low > _BRACKET_WIDTH * high:
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_of(middle, delta) <= epsilon else (low, middle)
    return low, high
