"""The registry of the functions that answer questions, for clients with tables and for clients with examples.

A question about networks imports torch when it is first asked. To add a question, see `comity.questions.registry`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from comity.errors import InputError
from comity.families.glm.answers.alone import fit_alone
from comity.families.glm.answers.evaluation import evaluate, evaluate_linear
from comity.families.glm.answers.moments import expand, moments, slopes
from comity.questions import EvaluateLinear, EvaluateModels
from comity.rows.rows import Rows

if TYPE_CHECKING:
    from comity.client.gate import Respondent

Answer = Callable[["Respondent", Any], Any]


def _by_table(function: Callable[[Rows, Any], Any]) -> Answer:
    """Return the answer that a function computes from the rows of a table."""

    def answer(client: Respondent, question: Any) -> Any:
        if client._table is None:
            raise InputError(
                f"client {client.name!r} has examples and no table; it answers questions about networks only"
            )
        return function(client._table, question)

    return answer


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
    "evaluate": _by_table(evaluate),
    "evaluate-linear": _by_table(evaluate_linear),
    "gradients": _by_learner("gradients"),
    "local-steps": _by_learner("local_steps"),
    "held-losses": _by_learner("held_losses"),
    "train-alone": _by_learner("train_alone"),
    "search-front": _by_learner("search_front"),
    "evaluate-models": _by_learner("evaluate_models"),
    "train-locally": _by_learner("train_locally"),
    "privacy": lambda client, question: client._gate.state_privacy(),
}


def uses_test_rows(question: object) -> bool:
    """Return whether a question is about the test rows of a client that has some."""
    return isinstance(question, EvaluateLinear | EvaluateModels)
