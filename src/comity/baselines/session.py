"""What a baseline has to work with: clients who can be asked, a module, and a budget that is the same for all."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch import nn

from comity.errors import InputError, NotFiniteError, TrainingError
from comity.federation import Federation
from comity.neural.adam import cosine
from comity.neural.modules import Functional
from comity.neural.recipe import Recipe
from comity.neural.rules import Rule, rule_to_json
from comity.questions import Evaluation, Gradients, HeldLosses, JudgeModels, Tensors, TrainLocally
from comity.simplex import Floats

Part = Literal["", "head", "body"]


def check_positive(name: str, value: float) -> None:
    """Check that a setting is a positive number."""
    if not 0 < value < np.inf:
        raise InputError(f"the {name} is {value}; it must be a positive number")


@dataclass(frozen=True, slots=True)
class Budget:
    """What every method may spend: `rounds`, in each of which a client computes `steps` gradients of a batch.

    What is done with a model once it is learned, a step or some of each client's own that end in the model it is given,
    comes on top for every method that does so, and is no more than the gradients of one round.
    The `rate` falls along a cosine over the rounds. In `checks` of them, evenly, models are tried on rows held out, and
    the best are kept.
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
        check_positive("rate", self.rate)

    def rate_in(self, number: int) -> float:
        """Return the rate of a round."""
        return cosine(self.rate, number, self.rounds)

    def steps_of(self, gradients: int, number: int) -> int:
        """Return how many steps that take several gradients there are in a round; what one leaves over the next has.

        >>> [Budget(steps=5).steps_of(2, number) for number in range(4)]
        [2, 3, 2, 3]
        """
        return (number + 1) * self.steps // gradients - number * self.steps // gradients

    def in_steps_of(self, steps: int) -> Budget:
        """Return the budget spent in rounds of so many steps: the same gradients in all, in more or fewer rounds.

        >>> Budget(rounds=60, steps=10).in_steps_of(1).rounds
        600
        """
        rounds, left = divmod(self.rounds * self.steps, steps) if steps > 0 else (0, 1)
        if left:
            raise InputError(
                f"{self.rounds} rounds of {self.steps} steps cannot be spent in rounds of {steps}: it must divide "
                f"{self.rounds * self.steps}"
            )
        return replace(self, rounds=rounds, steps=steps)

    def is_check(self, number: int) -> bool:
        """Tell whether models are tried on rows held out after so many rounds."""
        return number % max(1, self.rounds // self.checks) == 0 or number == self.rounds


@dataclass(frozen=True, eq=False)
class Session:
    """A federation of N clients whose models are `module`, trained by a `recipe`; `rows` says how many each has.

    Models are told apart by the client: arrays (N, D) of the parameters that are shared.
    """

    federation: Federation
    module: nn.Module
    recipe: Recipe
    rows: dict[str, int]
    budget: Budget = Budget()

    def __post_init__(self) -> None:
        if self.recipe.folds != 1:
            raise InputError(
                f"there are {self.recipe.folds} folds; a baseline holds out one part of the rows (folds=1)"
            )
        missing = [client for client in self.clients if client not in self.rows]
        if missing:
            raise InputError(f"how many rows client {missing[0]!r} has was not given")

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
        """The model that all begin as (D,)."""
        flat, _ = Functional.of(self.module, self.recipe.personal).initial()
        sent: Tensors = flat.to(torch.float64 if self.recipe.double else torch.float32).numpy()
        return sent

    def keeping(self, part: Part) -> Session:
        """Return the session in which one part of the module is personal to each client."""
        personal = personal_pattern(self.module, part)
        return replace(self, recipe=replace(self.recipe, personal=personal))

    def begin(self) -> None:
        """Let what is personal to clients be what the module begins with."""
        self._ask_held(np.tile(self.base, (len(self.clients), 1)), 0, [0] * len(self.clients))

    def train(self, models: Tensors, rule: Rule, number: int) -> tuple[Tensors, Floats]:
        """Return where clients' models (N, D) go in a round by a rule, and the losses (N,) they began with."""
        told, sent = self._told, rule_to_json(rule)
        step = number * self.budget.steps
        answers = self.federation.ask(
            {
                client: TrainLocally(told, sent, np.ascontiguousarray(model), step)
                for client, model in zip(self.clients, models, strict=True)
            }
        )
        trained = np.stack([answers[client].parameters for client in self.clients])
        losses = np.array([answers[client].loss[0] for client in self.clients])
        self._check_finite(number, trained, losses)
        return trained, losses

    def train_together(self, model: Tensors, rule: Rule, number: int) -> Tensors:
        """Return the mean of where clients take a model (D,) in a round by a rule, each weighing its share of rows.

        Only the sum over clients is asked for: each multiplies by its share.
        """
        told, sent = self._told, rule_to_json(rule)
        step = number * self.budget.steps
        try:
            total = self.federation.total(
                {
                    client: TrainLocally(told, sent, np.ascontiguousarray(model), step, share)
                    for client, share in zip(self.clients, self.shares.tolist(), strict=True)
                }
            )
        except NotFiniteError as error:
            raise self._not_a_number(error.client, number) from None
        mean: Tensors = total.parameters.astype(model.dtype)
        return mean

    def gradients(self, model: Tensors, step: int) -> tuple[Floats, Tensors]:
        """Return every client's loss (N,) at a model (D,) on the rows of a step, and its gradient (N, D)."""
        question = Gradients(self._told, np.ascontiguousarray(model[None]), np.zeros(1), np.zeros(1), step, 0.0)
        answers = self.federation.ask(question)
        losses = np.array([answers[client].losses[0] for client in self.clients])
        slopes = np.stack([answers[client].gradients[0] for client in self.clients])
        self._check_finite(step // self.budget.steps, slopes, losses)
        return losses, slopes

    def held(self, models: Tensors, number: int) -> Floats:
        """Return what clients' models (N, D) lose (N,) on rows held out, and keep what is personal as of this round."""
        lost = self._ask_held(models, number, [-1] * len(self.clients))
        self._check_finite(number - 1, models, lost)
        return lost

    def go_back(self, models: Tensors, numbers: list[int]) -> None:
        """Let what is personal to each client be what it was when its models were tried after so many rounds."""
        self._ask_held(models, self.budget.rounds + 1, numbers)

    def held_by_all(self, models: Tensors) -> Floats:
        """Return what each of some models (M, D) loses on rows that each client holds out (N, M), if it holds out any.

        Else it is on those it trains with.
        """
        networks = np.zeros(len(models))
        answers = self.federation.ask(HeldLosses(self._told, np.ascontiguousarray(models), networks, -1, -1))
        return np.stack([answers[client].losses for client in self.clients])

    def judge(self, models: Tensors, metric: str) -> dict[str, Evaluation]:
        """Return how well clients' models (N, D) do on rows kept for that."""
        heads = json.dumps(["now"])
        return self.federation.ask(
            {
                client: JudgeModels(self._told, metric, np.ascontiguousarray(model[None]), heads)
                for client, model in zip(self.clients, models, strict=True)
            }
        )

    @cached_property
    def _told(self) -> str:
        return self.recipe.to_json()

    def _ask_held(self, models: Tensors, step: int, back_to: list[int]) -> Floats:
        answers = self.federation.ask(
            {
                client: HeldLosses(self._told, np.ascontiguousarray(model[None]), np.zeros(1), step, back)
                for client, model, back in zip(self.clients, models, back_to, strict=True)
            }
        )
        return np.array([answers[client].losses[0] for client in self.clients])

    def _check_finite(self, number: int, arrays: Tensors, losses: Floats) -> None:
        for place, client in enumerate(self.clients):
            if not (np.isfinite(arrays[place]).all() and np.isfinite(losses[place])):
                raise self._not_a_number(client, number)

    def _not_a_number(self, client: str, number: int) -> TrainingError:
        return TrainingError(
            f"the loss of client {client!r} is not a number in round {number + 1}; take a lower rate than "
            f"{self.budget.rate:g}"
        )


def personal_pattern(module: nn.Module, part: Part) -> str | None:
    """Return the pattern for parameters of a part of a module: its `head`, which is the last layer, or its `body`.

    Of a single layer, the head is what it adds: the intercept of a linear model.

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
