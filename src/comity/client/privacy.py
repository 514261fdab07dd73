"""Differential privacy of what leaves a client: settings, what they cover, and what has been spent."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from comity.client.accounting import Budget, check_installed, epsilon_of
from comity.client.audit import Given
from comity.core import shown
from comity.errors import InputError, RefusedError
from comity.noise import Noise
from comity.questions import QUESTIONS, LocalSteps

COVERED = ("moments", "expand", "slopes", "gradients", "local-steps")
"""Questions whose answers are clipped and noisy."""
ABOUT_NO_ROW = ("tell-privacy",)
NOT_COVERED = tuple(kind for kind in QUESTIONS if kind not in (*COVERED, *ABOUT_NO_ROW))
"""Questions whose answers leave without noise, whatever the settings: counts, ranges, models, losses and metrics."""
_DECENT = 0.5


@dataclass(frozen=True, eq=False)
class Privacy:
    """How the answers that can be are made differentially private.

    What a row adds to a sum is scaled down to the length `clip`, and noise is added whose deviation is `noise` times
    the sensitivity of the whole answer. What was spent is stated as ε for this `delta`; with a limit `epsilon`, an
    answer that would exceed it is refused. No clip and no noise give the plain answers. The `generator` is for tests:
    otherwise noise is drawn with entropy of the operating system.

    It covers the questions in `covered`. Those in `not_covered` are answered without noise (or, by a policy with
    `only_private`, not at all): nothing is claimed about them.

    >>> Privacy(clip=1.0, noise=2.0, delta=1e-5).covered
    ('moments', 'expand', 'slopes', 'gradients', 'local-steps')
    """

    clip: float | None = None
    noise: float = 0.0
    delta: float = 1e-6
    epsilon: float | None = None
    generator: np.random.Generator | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("clip", "noise", "delta", "epsilon"):
            value: object = getattr(self, name)
            if value is None and name in ("clip", "epsilon"):
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise InputError(f"{name} is {shown(value)}; it must be a number")
            if value < 0 or (name != "noise" and value == 0):
                least = "0 or more" if name == "noise" else "more than 0"
                raise InputError(f"{name} is {shown(value)}; it must be {least}")
            object.__setattr__(self, name, float(value))
        if self.delta >= _DECENT:
            raise InputError(f"delta is {self.delta:g}; it must be small, less than one in the number of rows")
        if self.noise and self.clip is None:
            raise InputError("there is noise and no clip; say how long what a row adds may be: clip")
        if self.epsilon is not None and not self.noise:
            raise InputError(f"epsilon is limited to {self.epsilon:g} and there is no noise; say how much: noise")
        if self.noise:
            check_installed()

    @property
    def covered(self) -> tuple[str, ...]:
        """The questions whose answers have noise, if there is any."""
        return COVERED if self.noise else ()

    @property
    def not_covered(self) -> tuple[str, ...]:
        """The questions whose answers have none."""
        return tuple(kind for kind in QUESTIONS if kind not in (*self.covered, *ABOUT_NO_ROW))

    @property
    def mechanism(self) -> Noise:
        """What clips and adds the noise."""
        return Noise(self.clip, self.noise, self.generator)

    def releases(self, kind: str, question: object) -> int:
        """Return how many noisy sums an answer is made of: one, or one for each step that is taken."""
        if kind not in self.covered:
            return 0
        return len(question.rays) if isinstance(question, LocalSteps) else 1

    def check_budget(self, name: str, kind: str, releases: int, ledger: Ledger) -> None:
        """Refuse an answer that would spend more than there is."""
        if self.epsilon is None or not releases:
            return
        after = ledger.strength + releases / self.noise**2
        if not Budget(self.epsilon, self.delta).allows(after):
            raise RefusedError(
                f"client {name!r} does not answer the question {kind!r}: epsilon would be "
                f"{epsilon_of(after, self.delta):.4g} (delta {self.delta:g}), it is "
                f"{epsilon_of(ledger.strength, self.delta):.4g} by what was given, and its limit is {self.epsilon:g}; "
                "ask for less, or ask it to raise the limit or the noise"
            )

    def state(self, ledger: Ledger) -> dict[str, Any]:
        """Return the settings and what has been spent, as plain values."""
        return {
            "clip": self.clip,
            "noise": self.noise,
            "delta": self.delta,
            "limit": self.epsilon,
            "epsilon": epsilon_of(ledger.strength, self.delta),
            "by_kind": {
                kind: {
                    "answers": ledger.answers[kind],
                    "releases": releases,
                    "epsilon": epsilon_of(ledger.strengths[kind], self.delta),
                }
                for kind, releases in ledger.releases.items()
            },
            "covered": list(self.covered),
            "not_covered": list(self.not_covered),
            "without_noise": dict(ledger.without_noise),
        }

    def to_json(self, ledger: Ledger) -> str:
        """Return the settings and what has been spent as JSON."""
        return json.dumps(self.state(ledger), allow_nan=False)


@dataclass(slots=True)
class Ledger:
    """What was given, by kind: answers with noise, their releases and strengths (Σ 1/noise²), and those without."""

    answers: dict[str, int] = field(default_factory=dict)
    releases: dict[str, int] = field(default_factory=dict)
    strengths: dict[str, float] = field(default_factory=dict)
    without_noise: dict[str, int] = field(default_factory=dict)

    @property
    def strength(self) -> float:
        """That of all noisy answers together."""
        return math.fsum(self.strengths.values())

    def add(self, line: Given) -> None:
        """Take a line of the log into account; what was refused cost nothing."""
        kind = line.question
        if line.refused or kind in ABOUT_NO_ROW:
            return
        if not line.releases:
            _count(self.without_noise, kind, 1)
            return
        _count(self.answers, kind, 1)
        _count(self.releases, kind, line.releases)
        self.strengths[kind] = self.strengths.get(kind, 0.0) + line.releases / line.noise**2


def _count(counts: dict[str, int], kind: str, more: int) -> None:
    counts[kind] = counts.get(kind, 0) + more
