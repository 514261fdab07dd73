"""The gate of a client: every question comes in and every answer goes out through it, whatever the kind of client."""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from comity.client.answers import ANSWERS
from comity.client.audit import AuditEntry, AuditLog, now
from comity.client.policy import Policy, allowed
from comity.client.privacy import Ledger, Privacy
from comity.errors import ComityError, InputError, RefusedError
from comity.questions import AskPrivacy, Describe, Description, Packed, PrivacyAnswer, Recipe, kind_of, pack, unpack
from comity.rows.noise import Noise
from comity.rows.rows import Rows


@dataclass(eq=False)
class Gate:
    """Checks a question against the policy, has it answered, checks the answer, logs it, and only then releases it."""

    name: str
    policy: Policy
    privacy: Privacy
    log: AuditLog
    ledger: Ledger = field(default_factory=Ledger)

    def __post_init__(self) -> None:
        if self.policy.only_private and not self.privacy.noise:
            raise InputError(
                f"the policy of client {self.name!r} says only_private, and there is no noise: it would answer "
                "nothing; give it a privacy with noise"
            )
        with self.log.held() as new_entries:  # those of an existing log count as spent
            self.ledger.add(new_entries)

    @property
    def noise(self) -> Noise | None:
        """The mechanism that clips rows and adds noise, or None if nothing does."""
        return self.privacy.mechanism if self.privacy.mechanism.active else None

    def exchange(self, question: object, digest: str, rows: int, compute: Callable[[str], Any]) -> tuple[Any, Packed]:
        """Return the answer to a question, as a record and packed; the log has an entry for it, or for its refusal.

        `digest` is that of the question, `rows` the number of rows that the answer is computed from, and `compute` the
        function that computes it from the kind of the question.
        """
        with self.log.held() as new_entries:
            self.ledger.add(new_entries)
            rows_used = 0 if isinstance(question, AskPrivacy) else rows
            entry = AuditEntry(kind_of(question) or type(question).__name__, rows_used, 0, now(), digest)
            try:
                answer, packed, releases = self._answer(question, rows, compute)
            except Exception as error:  # whatever it is, nothing leaves
                why = str(error) if isinstance(error, ComityError) else f"{type(error).__name__}: {error}"
                self.log.append(replace(entry, refused=why or type(error).__name__))
                raise
            noise = self.privacy.noise if releases else 0.0
            self.log.append(replace(entry, size=packed.size, given=packed.digest, releases=releases, noise=noise))
            return answer, packed

    def state_privacy(self) -> PrivacyAnswer:
        """Return the client's privacy settings, and what it has spent."""
        return PrivacyAnswer(self.privacy.state(self.ledger), self.policy.share_utilities)

    def _answer(self, question: object, rows: int, compute: Callable[[str], Any]) -> tuple[Any, Packed, int]:
        """Return the answer, as a record and packed, and the number of noisy sums that it consists of."""
        kind = allowed(self.name, rows, self.policy, question)
        if self.policy.only_private and kind in self.privacy.not_covered:
            raise RefusedError(
                f"client {self.name!r} does not answer the question {kind!r}: its answer would leave without noise, "
                f"and its policy allows only what noise covers ({', '.join(self.privacy.covered)})"
            )
        releases = self.privacy.releases(kind, question)
        self.privacy.check_budget(self.name, kind, releases, self.ledger)
        answer = compute(kind)
        if isinstance(answer, Description):
            private = self.noise is not None and "privacy" in self.policy.questions
            answer = replace(answer, private=private, shares_utilities=self.policy.share_utilities)
        packed = pack(answer)
        self.policy.check_size(self.name, kind, packed.size)
        return answer, packed, releases


class Respondent(ABC):
    """A client that answers questions through its gate: a `Client` or a `DatasetClient`."""

    name: str
    policy: Policy
    log: list[AuditEntry]
    privacy: Privacy | None
    log_file: str | os.PathLike[str] | None
    _table: Rows | None = None
    _gate: Gate

    def _open_gate(self) -> Gate:
        gate = Gate(self.name, self.policy, self.privacy or Privacy(), AuditLog(self.name, self.log_file, self.log))
        object.__setattr__(self, "_gate", gate)
        return gate

    @abstractmethod
    def _rows_for(self, question: object) -> int:
        """Return the number of rows from which the answer to a question is computed."""

    @abstractmethod
    def _describe(self, question: Describe) -> Description:
        """Summarise the columns, or the targets of the examples."""

    @abstractmethod
    def learner(self, recipe: Recipe) -> Any:
        """Return the learner that trains networks by a recipe."""

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
        try:
            digest = pack(question).digest
        except InputError:  # what cannot be sent has the digest of its text
            digest = hashlib.sha256(repr(question).encode()).hexdigest()
        return self._exchange(question, digest)[0]

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
        return self._exchange(question, digest)[1]

    def _exchange(self, question: object, digest: str) -> tuple[Any, Packed]:
        rows = self._rows_for(question)
        return self._gate.exchange(question, digest, rows, lambda kind: ANSWERS[kind](self, question))
