"""What a baseline has to work with: clients who can be asked, a module, and a budget that is the same for all."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch import nn

from comity.errors import InputError, TrainingError
from comity.federation import Federation
from comity.neural.adam import cosine
from comity.neural.modules import Functional
from comity.neural.recipe import Recipe
from comity.neural.rules import Rule, rule_to_json
from comity.questions import Evaluation, Gradients, HeldLosses, JudgeModels, Tensors, TrainLocally
from comity.simplex import Floats

Part = Literal["", "head", "body"]


@dataclass(frozen=True, slots=True)
class Budget:
    """What every method may spend: `rounds`, in each of which a client computes `steps` gradients of a batch.

    The `rate` falls along a cosine over the rounds. In `checks` of them, evenly, models are tried on rows held out, and
    the best are kept.
    """

    rounds: int = 100
    steps: int = 5
    rate: float = 0.05
    checks: int = 20

    def __post_init__(self) -> None:
        for name in ("rounds", "steps", "checks"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be 1 or more")
        if not self.rate > 0:
            raise InputError(f"the rate is {self.rate}; it must be positive")

    def rate_in(self, number: int) -> float:
        """Return the rate of a round."""
        return cosine(self.rate, number, self.rounds)

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
        return self._flat(self.module)

    def drawn(self, seed: int) -> Tensors:
        """Return a model (D,) with parameters drawn anew, as the parts of the module draw them."""
        module = copy.deepcopy(self.module)
        before = torch.default_generator.get_state()
        torch.default_generator.manual_seed(seed)
        try:
            for part in module.modules():
                draw = getattr(part, "reset_parameters", None)
                if callable(draw):
                    draw()
        finally:
            torch.default_generator.set_state(before)
        return self._flat(module)

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
        return self._ask_held(models, number, [-1] * len(self.clients))

    def go_back(self, models: Tensors, numbers: list[int]) -> None:
        """Let what is personal to each client be what it was when its models were tried after so many rounds."""
        self._ask_held(models, self.budget.rounds + 1, numbers)

    def held_by_all(self, models: Tensors) -> Floats:
        """Return what each of some models (M, D) loses on rows that each client holds out (N, M)."""
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

    def _flat(self, module: nn.Module) -> Tensors:
        flat, _ = Functional.of(module, self.recipe.personal).initial()
        sent: Tensors = flat.to(torch.float64 if self.recipe.double else torch.float32).numpy()
        return sent

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
                raise TrainingError(
                    f"the loss of client {client!r} is not a number after round {number}; take a lower rate than "
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
    either = "|".join(name.replace(".", r"\.") for name in head)
    return f"^(?:{either})$" if part == "head" else f"^(?!(?:{either})$)"
