"""Where questions come in and answers go out, the same way for every kind of client."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from comity.client.audit import AuditLog, Given, now
from comity.client.policy import Policy, allowed, kind_of
from comity.client.privacy import Ledger, Privacy
from comity.errors import ComityError, InputError, RefusedError
from comity.noise import Noise
from comity.questions import Description, JudgeLinear, JudgeModels, Packed, PrivacyTold, TellPrivacy, pack

Reply = Callable[[str, Any], Any]
_PLAIN = Privacy()


@dataclass(eq=False)
class Desk:
    """A client's desk: it checks a question, has it answered, checks the answer, logs it, and only then gives it."""

    name: str
    policy: Policy
    privacy: Privacy | None
    log: AuditLog
    ledger: Ledger = field(default_factory=Ledger)

    @classmethod
    def open(
        cls,
        name: str,
        policy: Policy,
        privacy: Privacy | None,
        lines: list[Given],
        log_file: str | os.PathLike[str] | None,
    ) -> Desk:
        """Open a desk; a log that is there already says what was given before."""
        if policy.only_private and (privacy is None or not privacy.noise):
            raise InputError(
                f"the policy of client {name!r} says only_private, and there is no noise: it would answer nothing; "
                "give it a privacy with noise"
            )
        desk = cls(name, policy, privacy, AuditLog(log_file, lines))
        with desk.log.held(name) as news:
            desk._take(news)
        return desk

    @property
    def noise(self) -> Noise | None:
        """What clips rows and adds noise, if anything does."""
        mechanism = None if self.privacy is None else self.privacy.mechanism
        return mechanism if mechanism is not None and mechanism.active else None

    def answer(self, question: object, rows: int, reply: Reply) -> Any:
        """Answer a question about so many rows by `reply`, or refuse it; either way the log has a line of it."""
        with self.log.held(self.name) as news:
            self._take(news)
            told, asked = _asked(question)
            line = Given(told, 0 if isinstance(question, TellPrivacy) else rows, 0, now(), asked)
            try:
                given, packed, releases = self._answer(question, rows, reply)
            except Exception as error:  # whatever it was, nothing leaves
                why = str(error) if isinstance(error, ComityError) else f"{type(error).__name__}: {error}"
                self.log.append(self.name, replace(line, refused=why or type(error).__name__))
                raise
            noise = self.privacy.noise if self.privacy is not None and releases else 0.0
            self.log.append(
                self.name,
                replace(line, size=packed.size, given=packed.digest, releases=releases, noise=noise),
            )
            return given

    def _answer(self, question: object, rows: int, reply: Reply) -> tuple[Any, Packed, int]:
        """Return the answer, as it is and as it is sent, and how many noisy sums it is made of."""
        kind = allowed(self.name, rows, self.policy, question)
        privacy = self.privacy or _PLAIN
        if self.policy.only_private and kind in privacy.not_covered:
            raise RefusedError(
                f"client {self.name!r} does not answer the question {kind!r}: its answer would leave without noise, "
                f"and its policy allows only what noise covers ({', '.join(privacy.covered)})"
            )
        releases = privacy.releases(kind, question)
        privacy.check_budget(self.name, kind, releases, self.ledger)
        given = self._told() if isinstance(question, TellPrivacy) else reply(kind, question)
        if isinstance(given, Description):
            told = self.noise is not None and "tell-privacy" in self.policy.questions
            given = replace(given, private=told, shares_utilities=self.policy.share_utilities)
        packed = pack(given)
        self.policy.check_size(self.name, kind, packed.size)
        return given, packed, releases

    def _told(self) -> PrivacyTold:
        """Answer by what rules the client answers, and what it has spent."""
        return PrivacyTold((self.privacy or _PLAIN).to_json(self.ledger), self.policy.share_utilities)

    def _take(self, news: tuple[Given, ...]) -> None:
        for line in news:
            self.ledger.add(line)


def judges(question: object) -> bool:
    """Tell whether a question is about the rows to test with, where there are such."""
    return isinstance(question, JudgeLinear | JudgeModels)


def _asked(question: object) -> tuple[str, str]:
    """Return how the log calls a question, and the SHA-256 of what was asked."""
    kind = kind_of(question)
    if kind is None:
        return type(question).__name__, hashlib.sha256(repr(question).encode()).hexdigest()
    return kind, pack(question).digest
