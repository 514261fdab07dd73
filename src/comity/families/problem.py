"""What is to be learned: the schema that clients agreed on, the metric, and how many rows there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from comity.core.metrics import DEFAULT, METRICS
from comity.core.names import of_clients
from comity.core.tasks import METRICS_OF, Task
from comity.core.wording import mention
from comity.errors import InputError
from comity.federation import Federation
from comity.questions import Describe, Description
from comity.questions.schema import Schema, agree

if TYPE_CHECKING:
    from comity.study import Study

_WITHOUT_NOISE: tuple[Task, ...] = ("counts", "survival")  # it is not known how much a row can change their sums


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be learned from a federation.

    Attributes:
        rows: How many rows each client has.
        schema: How rows become numbers, and what is predicted.
        metric: How models are evaluated.
        left_out: Columns that cannot be used.
        warnings: What had to be decided to agree on the schema, in sentences.
        private: Clients whose answers are clipped or noisy.
        limited: Clients with a limit to what they disclose.
    """

    rows: Mapping[str, int]
    schema: Schema
    metric: str
    left_out: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    limited: tuple[str, ...] = ()

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of the target, none if it is a number."""
        return self.schema.target.classes


def state_problem(federation: Federation, study: Study) -> Problem:
    """Ask all clients for their columns, and return what is to be learned from them."""
    answers = ask_columns(federation, study.target, classes=study.task == "classes", categories=study.categories)
    columns = {client: answer.columns for client, answer in answers.items() if answer.rows}
    if not columns:
        raise InputError("no client has rows, or enough of them for its policy; there is nothing to learn from")
    task = study.task or (METRICS[study.metric].task if study.metric else None)
    private = private_clients(answers)
    if private and task in _WITHOUT_NOISE:
        raise InputError(
            f"{of_clients(private)} clip answers or add noise, which is not possible for the task {task!r}; leave them "
            f"out with {mention('without', list(private))}, or ask them to answer without (privacy)"
        )
    agreement = agree(
        columns,
        study.target,
        task=task,
        beside=study.beside,
        exclude=study.not_features,
        keep=study.keep,
        categories=study.categories,
    )
    metric, target = study.metric or DEFAULT[agreement.schema.target.task], agreement.schema.target
    if METRICS[metric].two_classes and len(target.classes) != 2:
        raise InputError(
            f"the metric {metric!r} is for two classes, and {target.name!r} has {len(target.classes)}; take another of "
            f"{', '.join(METRICS_OF[target.task])} ({mention('metric')})"
        )
    return Problem(
        rows={client: answer.rows for client, answer in answers.items()},
        schema=agreement.schema,
        metric=metric,
        left_out=agreement.left_out,
        warnings=agreement.warnings,
        private=private,
        limited=tuple(client for client, answer in answers.items() if answer.limited),
    )


def ask_columns(
    federation: Federation, target: str, *, classes: bool, categories: tuple[str, ...] = ()
) -> dict[str, Description]:
    """Ask all clients for their columns."""
    if len(federation.clients) < 2:
        raise InputError("there is one client only; there is nobody to train with")
    return federation.ask(Describe(target, classes=classes, categories=categories))


def private_clients(answers: Mapping[str, Description]) -> tuple[str, ...]:
    """Return the clients whose answers are clipped or noisy."""
    return tuple(client for client, answer in answers.items() if answer.private)
