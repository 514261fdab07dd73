"""The gate of a client: every question comes in and every answer goes out through it, whatever the kind of client.

`ANSWERS` lists the functions that answer questions. A question about networks imports torch when it is first asked. To
add a question, see `comity.questions.registry`.
"""

import hashlib
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from comity.client.audit import AuditEntry, AuditLog, now
from comity.client.disclosure import Disclosed, count_numbers
from comity.client.policy import Policy, check_allowed
from comity.client.privacy import Ledger, Privacy
from comity.core.arrays import Floats
from comity.core.extras import require
from comity.core.kinds import ModelKind
from comity.errors import ComityError, InputError, RefusedError
from comity.families.glm.answers.alone import fit_alone
from comity.families.glm.answers.evaluation import evaluate, evaluate_linear
from comity.families.glm.answers.moments import expand, moments, slopes
from comity.families.glm.answers.own import fit_own, part_losses
from comity.families.glm.answers.personal import fit_personal
from comity.families.glm.priors import Priors
from comity.questions import AskPrivacy, Describe, Description, Packed, PrivacyAnswer, Recipe, kind_of, pack, unpack
from comity.questions.schema import Schema
from comity.rows.noise import Noise
from comity.rows.rows import Rows

_NO_PRIVACY = Privacy()


@dataclass(frozen=True, slots=True)
class _Released:
    """An answer as a record and packed, how many noisy sums it consists of, and how many new numbers and what share."""

    answer: Any
    packed: Packed
    releases: int
    numbers: int
    disclosed: float


class Respondent(ABC):
    """A client that answers questions: a `Client` or a `DatasetClient`.

    It checks each question against its policy, computes the answer, checks it, logs it, and only then releases it.
    """

    name: str
    policy: Policy
    log: list[AuditEntry]
    privacy: Privacy | None
    log_file: str | os.PathLike[str] | None
    _disclosed: Disclosed | None = None
    _audit_log: AuditLog
    _ledger: Ledger

    def _open_log(self) -> None:
        """Open the audit log; the entries that it has already count as spent."""
        if self.policy.only_private and not self._rules.noise:
            raise InputError(
                f"the policy of client {self.name!r} says only_private, and there is no noise: it would answer "
                "nothing; give it a privacy with noise"
            )
        object.__setattr__(self, "_audit_log", AuditLog(self.name, self.log_file, self.log))
        object.__setattr__(self, "_ledger", Ledger())
        with self._audit_log.held() as new_entries:
            self._ledger.add(new_entries)

    @property
    def disclosed(self) -> float:
        """The independent numbers that left, over all jobs, as a share of the numbers in the rows."""
        with self._audit_log.held() as new_entries:
            self._ledger.add(new_entries)
        return self._ledger.disclosed

    @property
    def _rules(self) -> Privacy:
        return self.privacy or _NO_PRIVACY

    @property
    def _noise(self) -> Noise | None:
        """The mechanism that clips rows and adds noise, or None if nothing does."""
        return self._rules.mechanism if self._rules.mechanism.active else None

    @abstractmethod
    def _count_rows(self, *, test: bool) -> int:
        """Return the number of rows, or of the test rows if there are any."""

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

    def fit_personal(self, schema: Schema, priors: Priors) -> dict[ModelKind, Floats]:
        """Return the client's models by kind, fitted on its own rows for itself: nothing leaves, so nothing is logged.

        Args:
            schema: How rows become numbers.
            priors: What its models with collaborators are pulled towards.

        Raises:
            InputError: The rows do not fit the schema, or there is no table.
        """
        if self._disclosed is None:
            raise InputError(f"client {self.name!r} has examples and no table; it cannot fit linear models")
        return fit_personal(self._disclosed.table, schema, priors)

    def _exchange(self, question: object, digest: str) -> tuple[Any, Packed]:
        """Return the answer to a question, as a record and packed; the log has an entry for it, or for its refusal."""
        with self._audit_log.held() as new_entries:
            self._ledger.add(new_entries)
            kind = kind_of(question) or type(question).__name__
            rows = self._count_rows(test=kind in ABOUT_TEST_ROWS)
            entry = AuditEntry(kind, 0 if isinstance(question, AskPrivacy) else rows, 0, now(), digest)
            try:
                released = self._compute(question, rows)
            except Exception as error:  # whatever it is, nothing leaves
                why = str(error) if isinstance(error, ComityError) else f"{type(error).__name__}: {error}"
                self._audit_log.append(replace(entry, refused=why or type(error).__name__))
                raise
            packed = released.packed
            entry = replace(
                entry,
                size=packed.size,
                given=packed.digest,
                releases=released.releases,
                noise=self._rules.noise if released.releases else 0.0,
                numbers=released.numbers,
                disclosed=released.disclosed,
            )
            self._audit_log.append(entry)
            return released.answer, packed

    def _compute(self, question: object, rows: int) -> _Released:
        """Return the answer to a question, with what it costs."""
        shown = self._disclosed
        kind = check_allowed(self.name, rows, self.policy, question, table=shown is not None)
        question = question if shown is None else shown.asked(question)
        if self.policy.only_private and kind in self._rules.not_covered:
            raise RefusedError(
                f"client {self.name!r} does not answer the question {kind!r}: its answer would leave without noise, "
                f"and its policy allows only what noise covers ({', '.join(self._rules.covered)})"
            )
        releases = self._rules.releases(kind, question)
        self._rules.check_budget(self.name, kind, releases, self._ledger)
        answer = ANSWERS[kind](self, question)
        if isinstance(answer, Description):
            private = self._noise is not None and "privacy" in self.policy.questions
            limited = shown is not None and shown.limited and "privacy" in self.policy.questions
            shares = self.policy.share_utilities
            answer = replace(answer, private=private, shares_utilities=shares, limited=limited)
        packed = pack(answer)
        self.policy.check_size(self.name, kind, packed.size)
        numbers, disclosed = 0, 0.0
        if shown is not None and kind not in self._rules.covered and packed.digest not in self._ledger.given:
            numbers = count_numbers(kind, question, answer) if len(shown.rows_for(question).frame) else 0
            disclosed = numbers / max(shown.numbers_for(question, rows), 1)
            self._check_disclosure(kind, disclosed)
        return _Released(answer, packed, releases, numbers, disclosed)

    def _check_disclosure(self, kind: str, more: float) -> None:
        """Refuse an answer with which the client would disclose more than its policy allows."""
        before, limit = self._ledger.disclosed, self.policy.disclosure
        if math.isfinite(limit) and more and before + more > limit * (1 + 1e-9):
            raise RefusedError(
                f"client {self.name!r} does not answer the question {kind!r}: it would have disclosed "
                f"{before + more:.0%} of the numbers in its rows, {before:.0%} by earlier answers, and its limit is "
                f"{limit:.0%}; ask what was asked before, or ask it to raise the limit (disclosure in site.toml)"
            )

    def _state_privacy(self) -> PrivacyAnswer:
        statement = self._rules.state(self._ledger, self.policy.disclosure)
        return PrivacyAnswer(statement, self.policy.share_utilities)


Answer = Callable[[Respondent, Any], Any]


def _by_table(function: Callable[[Rows, Any], Any]) -> Answer:
    """Return the answer that a function computes from the rows of a table."""

    def answer(client: Respondent, question: Any) -> Any:
        if client._disclosed is None:
            raise InputError(
                f"client {client.name!r} has examples and no table; it answers questions about networks only"
            )
        return function(client._disclosed.rows_for(question), question)

    return answer


def _by_estimator(name: str) -> Answer:
    """Return the answer that a function of `comity.families.estimator.answers` computes from the rows of a table."""

    def answer(rows: Rows, question: Any) -> Any:
        require("sklearn", "to train estimators")
        return getattr(import_module("comity.families.estimator.answers"), name)(rows, question)

    return _by_table(answer)


def _by_learner(name: str) -> Answer:
    """Return the answer that a function of `comity.families.network.answers.replies` computes from a learner."""

    def answer(client: Respondent, question: Any) -> Any:
        learner = client.learner(question.recipe)  # if torch is missing, it says so
        return getattr(import_module("comity.families.network.answers.replies"), name)(learner, question)

    return answer


ANSWERS: dict[str, Answer] = {
    "describe": lambda client, question: client._describe(question),
    "moments": _by_table(moments),
    "expand": _by_table(expand),
    "slopes": _by_table(slopes),
    "fit-alone": _by_table(fit_alone),
    "fit-own": _by_table(fit_own),
    "part-losses": _by_table(part_losses),
    "evaluate": _by_table(evaluate),
    "evaluate-linear": _by_table(evaluate_linear),
    "fit-estimator": _by_estimator("fit_estimator"),
    "stack-moments": _by_estimator("stack_moments"),
    "stack-losses": _by_estimator("stack_losses"),
    "evaluate-stacks": _by_estimator("evaluate_stacks"),
    "test-stacks": _by_estimator("test_stacks"),
    "gradients": _by_learner("gradients"),
    "local-steps": _by_learner("local_steps"),
    "held-losses": _by_learner("held_losses"),
    "train-alone": _by_learner("train_alone"),
    "search-front": _by_learner("search_front"),
    "evaluate-models": _by_learner("evaluate_models"),
    "train-locally": _by_learner("train_locally"),
    "privacy": lambda client, question: client._state_privacy(),
}
ABOUT_TEST_ROWS = ("evaluate-linear", "evaluate-models", "test-stacks")  # of a client that has some
