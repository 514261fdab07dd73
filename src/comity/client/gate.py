"""The gate of a client: every question comes in and every answer goes out through it, whatever the kind of client."""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from comity.client.audit import AuditEntry, AuditLog, now
from comity.client.policy import Policy, allowed
from comity.client.privacy import Ledger, Privacy
from comity.errors import ComityError, InputError, RefusedError
from comity.questions import (
    AskPrivacy,
    Description,
    EvaluateLinear,
    EvaluateModels,
    Packed,
    PrivacyAnswer,
    kind_of,
    pack,
    unpack,
)
from comity.rows.noise import Noise

_NO_PRIVACY = Privacy()


@dataclass(eq=False)
class Gate:
    """Checks a question against the policy, has it answered, checks the answer, logs it, and only then releases it."""

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
        entries: list[AuditEntry],
        log_file: str | os.PathLike[str] | None,
    ) -> Gate:
        """Return the gate of a client; the entries of an existing log count as spent."""
        if policy.only_private and (privacy is None or not privacy.noise):
            raise InputError(
                f"the policy of client {name!r} says only_private, and there is no noise: it would answer nothing; "
                "give it a privacy with noise"
            )
        gate = cls(name, policy, privacy, AuditLog(log_file, entries))
        with gate.log.held(name) as new:
            gate._count(new)
        return gate

    @property
    def noise(self) -> Noise | None:
        """The mechanism that clips rows and adds noise, or None if nothing does."""
        mechanism = None if self.privacy is None else self.privacy.mechanism
        return mechanism if mechanism is not None and mechanism.active else None

    def exchange(
        self, question: object, digest: str, rows: int, compute: Callable[[str, Any], Any]
    ) -> tuple[Any, Packed]:
        """Return the answer to a question, as a record and packed; the log has an entry for it, or for its refusal.

        `digest` is that of the question, `rows` the number of rows that the answer is computed from, and `compute` the
        function that computes it from the kind and the question.
        """
        with self.log.held(self.name) as new:
            self._count(new)
            rows_used = 0 if isinstance(question, AskPrivacy) else rows
            entry = AuditEntry(kind_of(question) or type(question).__name__, rows_used, 0, now(), digest)
            try:
                answer, packed, releases = self._answer(question, rows, compute)
            except Exception as error:  # whatever it is, nothing leaves
                why = str(error) if isinstance(error, ComityError) else f"{type(error).__name__}: {error}"
                self.log.append(self.name, replace(entry, refused=why or type(error).__name__))
                raise
            noise = self.privacy.noise if self.privacy is not None and releases else 0.0
            self.log.append(
                self.name, replace(entry, size=packed.size, given=packed.digest, releases=releases, noise=noise)
            )
            return answer, packed

    def state_privacy(self) -> PrivacyAnswer:
        """Return the client's privacy settings, and what it has spent."""
        return PrivacyAnswer((self.privacy or _NO_PRIVACY).state(self.ledger), self.policy.share_utilities)

    def _answer(self, question: object, rows: int, compute: Callable[[str, Any], Any]) -> tuple[Any, Packed, int]:
        """Return the answer, as a record and packed, and the number of noisy sums that it consists of."""
        kind = allowed(self.name, rows, self.policy, question)
        privacy = self.privacy or _NO_PRIVACY
        if self.policy.only_private and kind in privacy.not_covered:
            raise RefusedError(
                f"client {self.name!r} does not answer the question {kind!r}: its answer would leave without noise, "
                f"and its policy allows only what noise covers ({', '.join(privacy.covered)})"
            )
        releases = privacy.releases(kind, question)
        privacy.check_budget(self.name, kind, releases, self.ledger)
        answer = compute(kind, question)
        if isinstance(answer, Description):
            private = self.noise is not None and "privacy" in self.policy.questions
            answer = replace(answer, private=private, shares_utilities=self.policy.share_utilities)
        packed = pack(answer)
        self.policy.check_size(self.name, kind, packed.size)
        return answer, packed, releases

    def _count(self, entries: tuple[AuditEntry, ...]) -> None:
        for entry in entries:
            self.ledger.add(entry)


class Respondent(ABC):
    """A client that answers questions through its gate."""

    _gate: Gate

    @abstractmethod
    def _rows_for(self, question: object) -> int:
        """Return the number of rows from which the answer to a question is computed."""

    @abstractmethod
    def _compute(self, kind: str, question: Any) -> Any:
        """Return the answer to a question that the policy allows."""

    def answer(self, question: object) -> Any:
        """Answer a question, if the policy allows it.

        Args:
            question: One of the records in `comity.questions`, such as `Describe`.

        Returns:
            The record that answers it, such as `Description`.

        Raises:
            RefusedError: If the policy, the privacy budget or the audit log does not allow the answer.
            InputError: If the question does not fit the rows.
        """
        return self._gate.exchange(question, _digest(question), self._rows_for(question), self._compute)[0]

    def reply(self, packed: Packed) -> Packed:
        """Answer a question that was sent, and return the answer as it is sent.

        Args:
            packed: The question.

        Returns:
            The answer.

        Raises:
            RefusedError: If the policy, the privacy budget or the audit log does not allow the answer.
            InputError: If the message is no question, or does not fit the rows.
        """
        return self.reply_to(unpack(packed), packed.digest)

    def reply_to(self, question: object, digest: str) -> Packed:
        """Return the answer, as it is sent, to a question that was unpacked from a message with this digest."""
        return self._gate.exchange(question, digest, self._rows_for(question), self._compute)[1]


def uses_test_rows(question: object) -> bool:
    """Return whether a question is about the test rows of a client that has some."""
    return isinstance(question, EvaluateLinear | EvaluateModels)


def _digest(question: object) -> str:
    """Return the digest of a question that was not sent; what cannot be sent has that of its text."""
    try:
        return pack(question).digest
    except InputError:
        return hashlib.sha256(repr(question).encode()).hexdigest()
