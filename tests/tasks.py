"""Small federations with a known truth, rows to test with, and a session for baselines."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import nn

from comity.baselines import Budget, Method, Session, train
from comity.client import Client
from comity.client.examples import DatasetClient
from comity.client.learning import learner_of
from comity.federation import InProcess
from comity.learn import agree_on
from comity.neural.learner import Learner
from comity.neural.modules import perceptron
from comity.neural.recipe import Recipe
from comity.study import Study

Floats = NDArray[np.float64]
Examples = tuple[Floats, Floats]  # inputs (n, d), targets (n,)
FEW = Budget(rounds=60, steps=5, rate=0.05, checks=20)


def of_tables(
    given: Sequence[Examples], tests: Sequence[Examples] | None = None, budget: Budget = FEW, **recipe
) -> Session:
    """A session of clients c0, c1, … with tables; models are linear unless told."""
    frames = [_frame(*each) for each in given]
    judges = [None] * len(given) if tests is None else [_frame(*each) for each in tests]
    pairs = enumerate(zip(frames, judges, strict=True))
    federation = InProcess(tuple(Client(f"c{number}", frame, test=test) for number, (frame, test) in pairs))
    rows, agreement, _ = agree_on(federation, Study("y"))
    settings = {"depth": 0, "width": 8, "loss": "squared", "double": True} | recipe
    chosen = Recipe(schema=agreement.schema.to_json(), **settings)
    module = perceptron(len(agreement.schema.features), 1, chosen.width, chosen.depth, chosen.seed)
    return Session(federation, module, chosen, rows, budget)


def of_modules(
    module: nn.Module,
    given: Sequence[Examples],
    tests: Sequence[Examples] | None = None,
    budget: Budget = FEW,
    **recipe,
) -> Session:
    """A session of clients c0, c1, … with examples for a module."""
    judges = [None] * len(given) if tests is None else [_tensors(*each) for each in tests]
    members = tuple(
        DatasetClient(f"c{number}", _tensors(*each), module, "squared", test=test)
        for number, (each, test) in enumerate(zip(given, judges, strict=True))
    )
    rows = {member.name: len(each[1]) for member, each in zip(members, given, strict=True)}
    return Session(InProcess(members), module, Recipe(**({"double": True} | recipe)), rows, budget)


def learners(session: Session) -> list[Learner]:
    """The clients' learners for a session's recipe."""
    told = session.recipe.to_json()
    return [
        member.learner(told) if isinstance(member, DatasetClient) else learner_of(member._rows, told)
        for member in session.federation.members
    ]


@dataclass(frozen=True)
class Quadratic:
    """What N clients lose with linear models θ of weights and an intercept, by formula: θᵀG_iθ - 2 b_iᵀθ + c_i."""

    gram: Floats
    cross: Floats
    square: Floats

    @classmethod
    def of(cls, session: Session) -> "Quadratic":
        """From the rows that train."""
        sums = []
        for learner in learners(session):
            here = learner.training
            x = np.column_stack([learner.inputs[here].numpy(), np.ones(len(here))])
            y = learner.targets[here].numpy()
            sums.append((x.T @ x / len(y), x.T @ y / len(y), y @ y / len(y)))
        return cls(*(np.array(each) for each in zip(*sums, strict=True)))

    def losses(self, models: Floats) -> Floats:
        """What each client loses (N,) with its model (N, d)."""
        return (
            np.einsum("ia,iab,ib->i", models, self.gram, models) - 2 * (self.cross * models).sum(axis=1) + self.square
        )

    def slopes(self, models: Floats) -> Floats:
        """The gradients (N, d) of what each client loses with its model (N, d)."""
        return 2 * (np.einsum("iab,ib->ia", self.gram, models) - self.cross)

    def descended(self, models: Floats, steps: int, rate: float, momentum: float = 0.9, pull: float = 0.0) -> Floats:
        """Where models (N, d) go by descent."""
        start, speed = models, np.zeros_like(models)
        for _ in range(steps):
            speed = momentum * speed + self.slopes(models) + pull * (models - start)
            models = models - rate * speed
        return models


def small(budget: Budget = FEW, clients: int = 3, **recipe) -> Session:
    """A session of a few clients of different sizes, whose targets are linear with truths of their own."""
    rng = np.random.default_rng(clients)
    given = linear(rng.normal(size=(clients, 3)), [14 + 6 * number for number in range(clients)], seed=clients)
    return of_tables(given, linear(rng.normal(size=(clients, 3)), [20] * clients), budget, **recipe)


def linear(truths: Sequence[Floats], rows: Sequence[int], noise: float = 1.0, seed: int = 0) -> list[Examples]:
    """Inputs and targets of clients whose targets are linear in the inputs, by a truth of their own."""
    rng = np.random.default_rng(seed)
    given = []
    for truth, count in zip(truths, rows, strict=True):
        x = rng.normal(size=(count, len(truth)))
        given.append((x, x @ truth + noise * rng.normal(size=count)))
    return given


def errors(method: Method, session: Session) -> Floats:
    """The root mean square errors (N,) of a method's models on the rows to test with."""
    trained = train(method, session)
    judged = trained.session.judge(trained.models, "rmse")
    return np.array([judged[client].values[0] for client in session.clients])


def _frame(x: Floats, y: Floats) -> pd.DataFrame:
    return pd.DataFrame(x, columns=[f"x{place}" for place in range(x.shape[1])]).assign(y=y)


def _tensors(x: Floats, y: Floats) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.as_tensor(x), torch.as_tensor(y)
