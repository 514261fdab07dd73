"""Sessions of baselines on small federations whose truth is known, with rows to test with."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import nn

from comity.client import Client
from comity.client.examples import DatasetClient
from comity.core.arrays import Floats
from comity.families.network.answers.learner import Learner, learner_of
from comity.families.network.modules import perceptron
from comity.families.problem import state_problem
from comity.federation import InProcess
from comity.questions import Recipe
from comity.research.baselines import Budget, Method, Session, train
from comity.study import Study

Examples = tuple[Floats, Floats]  # inputs (n, d), targets (n,)
FEW = Budget(rounds=60, steps=5, rate=0.05, checks=20)


def of_tables(
    given: Sequence[Examples], tests: Sequence[Examples] | None = None, budget: Budget = FEW, **recipe
) -> Session:
    """A session of clients c0, c1, … with tables; models are linear unless the recipe has a depth."""
    frames = [_frame(*examples) for examples in given]
    test_frames = [None] * len(given) if tests is None else [_frame(*examples) for examples in tests]
    pairs = enumerate(zip(frames, test_frames, strict=True))
    federation = InProcess(tuple(Client(f"c{number}", frame, test=test) for number, (frame, test) in pairs))
    problem = state_problem(federation, Study("y"))
    settings = {"depth": 0, "width": 8, "loss": "squared", "double": True} | recipe
    chosen = Recipe(schema=problem.schema, **settings)
    module = perceptron(len(problem.schema.features), 1, chosen.width, chosen.depth, chosen.seed)
    return Session(federation, module, chosen, problem.rows, budget)


def of_modules(
    module: nn.Module,
    given: Sequence[Examples],
    tests: Sequence[Examples] | None = None,
    budget: Budget = FEW,
    **recipe,
) -> Session:
    """A session of clients c0, c1, … with examples for a module."""
    test_tensors = [None] * len(given) if tests is None else [_tensors(*examples) for examples in tests]
    members = tuple(
        DatasetClient(f"c{number}", _tensors(*examples), module, "squared", test=test)
        for number, (examples, test) in enumerate(zip(given, test_tensors, strict=True))
    )
    rows = {member.name: len(examples[1]) for member, examples in zip(members, given, strict=True)}
    return Session(InProcess(members), module, Recipe(**({"double": True} | recipe)), rows, budget)


def learners(session: Session) -> list[Learner]:
    """The clients' learners for a session's recipe."""
    recipe = session.recipe
    return [
        member.learner(recipe) if isinstance(member, DatasetClient) else learner_of(member._disclosed.table, recipe)
        for member in session.federation.members
    ]


@dataclass(frozen=True)
class Quadratic:
    """The losses of N clients with linear models θ (weights and an intercept), by formula: θᵀG_iθ - 2 b_iᵀθ + c_i."""

    gram: Floats
    cross: Floats
    square: Floats

    @classmethod
    def of(cls, session: Session) -> "Quadratic":
        """The losses on the training rows of a session."""
        sums = []
        for learner in learners(session):
            here = learner.training
            x = np.column_stack([learner.inputs[here].numpy(), np.ones(len(here))])
            y = learner.targets[here].numpy()
            sums.append((x.T @ x / len(y), x.T @ y / len(y), y @ y / len(y)))
        return cls(*(np.array(each) for each in zip(*sums, strict=True)))

    def losses(self, models: Floats) -> Floats:
        """The loss of each client (N,) with its model (N, d)."""
        return (
            np.einsum("ia,iab,ib->i", models, self.gram, models) - 2 * (self.cross * models).sum(axis=1) + self.square
        )

    def slopes(self, models: Floats) -> Floats:
        """The gradient of each client's loss (N, d) at its model (N, d)."""
        return 2 * (np.einsum("iab,ib->ia", self.gram, models) - self.cross)

    def descended(self, models: Floats, steps: int, rate: float, momentum: float = 0.9, pull: float = 0.0) -> Floats:
        """The models (N, d) after some steps of gradient descent with momentum, pulled back to the start."""
        start, speed = models, np.zeros_like(models)
        for _ in range(steps):
            speed = momentum * speed + self.slopes(models) + pull * (models - start)
            models = models - rate * speed
        return models


def small(budget: Budget = FEW, clients: int = 3, **recipe) -> Session:
    """A session of a few clients of different sizes; each client's targets follow its own linear truth."""
    rng = np.random.default_rng(clients)
    given = linear(rng.normal(size=(clients, 3)), [14 + 6 * number for number in range(clients)], seed=clients)
    return of_tables(given, linear(rng.normal(size=(clients, 3)), [20] * clients), budget, **recipe)


def linear(truths: Sequence[Floats], rows: Sequence[int], noise: float = 1.0, seed: int = 0) -> list[Examples]:
    """Inputs and targets of clients; each client's targets are linear in the inputs, with its own truth."""
    rng = np.random.default_rng(seed)
    given = []
    for truth, count in zip(truths, rows, strict=True):
        x = rng.normal(size=(count, len(truth)))
        given.append((x, x @ truth + noise * rng.normal(size=count)))
    return given


def errors(method: Method, session: Session) -> Floats:
    """The root mean square errors (N,) of a method's models on the test rows."""
    trained = train(method, session)
    judged = trained.session.judge(trained.models, "rmse")
    return np.array([judged[client].values[0] for client in session.clients])


def _frame(x: Floats, y: Floats) -> pd.DataFrame:
    return pd.DataFrame(x, columns=[f"x{place}" for place in range(x.shape[1])]).assign(y=y)


def _tensors(x: Floats, y: Floats) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.as_tensor(x), torch.as_tensor(y)
