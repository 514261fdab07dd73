"""The registry of the functions that answer questions, for clients with tables and for clients with examples.

A question about networks imports torch when it is first asked. To add a question, see `comity.questions.registry`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

from comity.client.gate import Gate
from comity.core.extras import require
from comity.families.glm.answers.alone import fit_alone
from comity.families.glm.answers.evaluation import evaluate, evaluate_linear
from comity.families.glm.answers.moments import expand, moments, slopes
from comity.questions import Describe, Description, Recipe
from comity.rows.rows import Rows


class Owner(Protocol):
    """What a function that answers a question may use of a client."""

    @property
    def _gate(self) -> Gate: ...

    @property
    def _table(self) -> Rows:
        """The rows of the client's table."""

    def _describe(self, question: Describe) -> Description:
        """Summarise the columns, or the targets of the examples."""

    def learner(self, recipe: Recipe) -> Any:
        """Return the learner that trains networks by a recipe."""


Answer = Callable[[Owner, Any], Any]


def _by_table(function: Callable[[Rows, Any], Any]) -> Answer:
    """Return the answer that a function computes from the rows of a table."""
    return lambda owner, question: function(owner._table, question)


def _by_learner(name: str) -> Answer:
    """Return the answer that a function of `comity.families.network.answers.replies` computes from a learner."""

    def answer(owner: Owner, question: Any) -> Any:
        require("torch", "to train neural networks")
        replies = import_module("comity.families.network.answers.replies")
        return getattr(replies, name)(owner.learner(question.recipe), question)

    return answer


ANSWERS: dict[str, Answer] = {
    "describe": lambda owner, question: owner._describe(question),
    "moments": _by_table(moments),
    "expand": _by_table(expand),
    "slopes": _by_table(slopes),
    "fit-alone": _by_table(fit_alone),
    "evaluate": _by_table(evaluate),
    "evaluate-linear": _by_table(evaluate_linear),
    "gradients": _by_learner("gradients"),
    "local-steps": _by_learner("local_steps"),
    "held-losses": _by_learner("held_losses"),
    "train-alone": _by_learner("train_alone"),
    "search-front": _by_learner("search_front"),
    "evaluate-models": _by_learner("evaluate_models"),
    "train-locally": _by_learner("train_locally"),
    "privacy": lambda owner, question: owner._gate.state_privacy(),
}
