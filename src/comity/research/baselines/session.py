"""What a baseline works with: clients to ask, a module to train, and a budget that is the same for all methods."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch import nn

from comity.core.arrays import Floats, Tensors
from comity.errors import InputError, NotFiniteError, TrainingError
from comity.families.network.adam import cosine
from comity.families.network.modules import Functional
from comity.families.network.rules import Descent, Rule, record_of
from comity.federation import Federation
from comity.questions import EvaluateModels, Evaluation, Gradients, HeldLosses, Recipe, TrainLocally

Part = Literal["", "head", "body"]


@dataclass(frozen=True, slots=True)
class Budget:
    """What every method may spend: `rounds`, in each of which a client computes `steps` gradients of a batch.

    Some methods adapt the final model at each client; these steps come on top, and take at most the gradients of one
    round. The `rate` follows a cosine schedule over the rounds. After `checks` of the rounds, evenly spaced, models are
    evaluated on held-out rows, and the best are kept.
    """

    rounds: int = 100
    steps: int = 5
    rate: float = 0.05
    checks: int = 20

    def __post_init__(self) -> None:
        for name in ("rounds", "steps", "checks"):
            value: object = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"{name} is {value!r}; it must be a whole number, 1 or more")
        if not 0 < self.rate < np.inf:
            raise InputError(f"the rate is {self.rate}; it must be a positive number")

    def rate_in(self, number: int) -> float:
        """Return the rate of a round."""
        return cosine(self.rate, number, self.rounds)

    def descent(self, number: int) -> Descent:
        """Return the rule of a round of gradient descent: all its steps, at its rate."""
        return Descent(self.steps, self.rate_in(number))

    def steps_in_round(self, gradients: int, number: int) -> int:
        """Return how many steps of several gradients each a round has; gradients left over go to the next round.

        >>> [Budget(steps=5).steps_in_round(2, number) for number in range(4)]
        [2, 3, 2, 3]
        """
        return (number + 1) * self.steps // gradients - number * self.steps // gradients

    def with_steps(self, steps: int) -> Budget:
        """Return a budget of the same number of gradients in all, in rounds of `steps` steps.

        >>> Budget(rounds=60, steps=10).with_steps(1).rounds
        600
        """
        rounds, left = divmod(self.rounds * self.steps, steps) if steps > 0 else (0, 1)
        if left:
            raise InputError(
                f"{self.rounds} rounds of {self.steps} steps cannot be divided into rounds of {steps}; give a divisor "
                f"of {self.rounds * self.steps}"
            )
        return replace(self, rounds=rounds, steps=steps)

    def is_check(self, number: int) -> bool:
        """Tell whether models are evaluated on held-out rows after `number` rounds."""
        return number % max(1, self.rounds // self.checks) == 0 or number == self.rounds


@dataclass(frozen=True, eq=False)
class Session:
    """A federation of N clients that train a `module` by a `recipe`; `rows` is how many rows each client has.

    Models are arrays (N, D): a row of D shared parameters for each client.
    """

    federation: Federation
    module: nn.Module
    recipe: Recipe
    rows: Mapping[str, int]
    budget: Budget = Budget()

    def __post_init__(self) -> None:
        if self.recipe.folds != 1:
            raise InputError(
                f"the recipe has {self.recipe.folds} folds; a baseline holds out one part of the rows (folds=1)"
            )
        missing = [client for client in self.clients if client not in self.rows]
        if missing:
            raise InputError(f"the number of rows of client {missing[0]!r} is missing")

    @property
    def clients(self) -> tuple[str, ...]:
        """The names of the clients."""
        return self.federation.clients

    @cached_property
    def shares(self) -> Floats:
        """Each client's share of all rows (N,)."""
        counts = np.array([self.rows[client] for client in self.clients], np.float64)
        return np.asarray(counts / counts.sum())

    @cached_property
    def base(self) -> Tensors:
        """The initial model (D,) of all clients."""
        model, _ = Functional.of(self.module, self.recipe.personal).initial()
        return np.asarray(model.to(torch.float64 if self.recipe.double else torch.float32).numpy())

    def repeat(self, model: Tensors) -> Tensors:
        """Return a copy of a model (D,) for every client (N, D)."""
        return np.tile(model, (len(self.clients), 1))

    def with_personal(self, part: Part) -> Session:
        """Return the session in which one part of the module is personal to each client."""
        return replace(self, recipe=replace(self.recipe, personal=personal_pattern(self.module, part)))

    def reset_personal(self) -> None:
        """Reset the clients' personal parameters to those of the module."""
        self._ask_held_out(self.repeat(self.base), 0, [0] * len(self.clients))

    def train(self, models: Tensors, rule: Rule, number: int) -> tuple[Tensors, Floats]:
        """Return clients' models (N, D) after a round of training by a rule, and their losses (N,) before it."""
        answers = self.federation.ask(self._trainings(models, rule, number, [1.0] * len(models)))
        trained = np.stack([answers[client].parameters for client in self.clients])
        losses = np.array([answers[client].loss[0] for client in self.clients])
        self._check_finite(number, trained, losses)
        return trained, losses

    def train_together(self, model: Tensors, rule: Rule, number: int) -> Tensors:
        """Return the mean over clients, weighted by rows, of a model (D,) after a round of training by a rule.

        Clients multiply their models by their shares, so that only the sum over clients is needed.
        """
        questions = self._trainings([model] * len(self.clients), rule, number, self.shares.tolist())
        try:
            total = self.federation.total(questions)
        except NotFiniteError as error:
            raise self._not_finite(error.client, number) from None
        return np.asarray(total.parameters.astype(model.dtype))

    def gradients(self, model: Tensors, step: int) -> tuple[Floats, Tensors]:
        """Return every client's loss (N,) at a model (D,) on the batch of a step, and its gradient (N, D)."""
        question = Gradients(self.recipe, np.ascontiguousarray(model[None]), np.zeros(1), np.zeros(1), step, 0.0)
        answers = self.federation.ask(question)
        losses = np.array([answers[client].losses[0] for client in self.clients])
        gradients = np.stack([answers[client].gradients[0] for client in self.clients])
        self._check_finite(step // self.budget.steps, gradients, losses)
        return losses, gradients

    def held_out_losses(self, models: Tensors, number: int) -> Floats:
        """Return the losses (N,) of clients' models (N, D) on held-out rows after `number` rounds.

        Clients also keep their personal parameters of this round, for `restore_personal`.
        """
        losses = self._ask_held_out(models, number, [-1] * len(self.clients))
        self._check_finite(number - 1, models, losses)
        return losses

    def restore_personal(self, models: Tensors, numbers: list[int]) -> None:
        """Restore each client's personal parameters to those it kept after the given number of rounds."""
        self._ask_held_out(models, self.budget.rounds + 1, numbers)

    def loss_matrix(self, models: Tensors) -> Floats:
        """Return the loss of each of some models (M, D) on each client's held-out rows (N, M).

        A client without held-out rows evaluates models on the rows that it trains with.
        """
        networks = np.zeros(len(models))
        answers = self.federation.ask(HeldLosses(self.recipe, np.ascontiguousarray(models), networks, -1, -1))
        return np.stack([answers[client].losses for client in self.clients])

    def judge(self, models: Tensors, metric: str) -> dict[str, Evaluation]:
        """Return the metric of each client's model (N, D) on the client's test rows."""
        return self.federation.ask(
            {
                client: EvaluateModels(self.recipe, metric, np.ascontiguousarray(model[None]), ("now",))
                for client, model in zip(self.clients, models, strict=True)
            }
        )

    def _trainings(
        self, models: Iterable[Tensors], rule: Rule, number: int, weights: Iterable[float]
    ) -> dict[str, TrainLocally]:
        """Return the question to each client to train its model in a round by a rule."""
        record, step = record_of(rule), number * self.budget.steps
        return {
            client: TrainLocally(self.recipe, record, np.ascontiguousarray(model), step, weight)
            for client, model, weight in zip(self.clients, models, weights, strict=True)
        }

    def _ask_held_out(self, models: Tensors, step: int, back_to: list[int]) -> Floats:
        answers = self.federation.ask(
            {
                client: HeldLosses(self.recipe, np.ascontiguousarray(model[None]), np.zeros(1), step, back)
                for client, model, back in zip(self.clients, models, back_to, strict=True)
            }
        )
        return np.array([answers[client].losses[0] for client in self.clients])

    def _check_finite(self, number: int, arrays: Tensors, losses: Floats) -> None:
        for place, client in enumerate(self.clients):
            if not (np.isfinite(arrays[place]).all() and np.isfinite(losses[place])):
                raise self._not_finite(client, number)

    def _not_finite(self, client: str, number: int) -> TrainingError:
        return TrainingError(
            f"the loss of client {client!r} is not finite in round {number + 1}; take a lower rate than "
            f"{self.budget.rate:g}"
        )


def personal_pattern(module: nn.Module, part: Part) -> str | None:
    """Return a regular expression for the parameters of a part of a module: its `head` (the last layer) or its `body`.

    If the module has a single layer, the head is its bias: the intercept of a linear model.

    >>> personal_pattern(nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1)), "head")
    '^(?:2\\\\.weight|2\\\\.bias)$'
    >>> personal_pattern(nn.Linear(3, 2), "body")
    '^(?!(?:bias)$)'
    """
    if not part:
        return None
    names = [name for name, parameter in module.named_parameters() if parameter.requires_grad]
    last = names[-1].rpartition(".")[0]
    head = [name for name in names if name.rpartition(".")[0] == last]
    if len(head) == len(names):
        head = names[-1:]
    either = "|".join(map(re.escape, head))
    return f"^(?:{either})$" if part == "head" else f"^(?!(?:{either})$)"
