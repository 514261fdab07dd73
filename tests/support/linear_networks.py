"""Small federations whose networks are linear, so that their exact Pareto front is known."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from comity.client import Client
from comity.core.arrays import Floats
from comity.families.network.answers.learner import Learner, learner_of
from comity.families.problem import state_problem
from comity.federation import InProcess
from comity.questions import Recipe
from comity.study import Study


@dataclass(frozen=True)
class Linear:
    """Clients, each with its own linear truth, and a recipe for linear modules."""

    federation: InProcess
    recipe: Recipe

    @classmethod
    def drawn(
        cls, clients: int, seed: int = 0, dim: int = 8, rows: int = 48, spread: float = 1.0, **recipe
    ) -> "Linear":
        rng = np.random.default_rng(seed)
        shared = rng.normal(size=dim)
        members = []
        for number in range(clients):
            x = rng.normal(size=(rows + 6 * (number % 3), dim))  # batches that differ in size
            y = x @ (shared + spread * rng.normal(size=dim)) + 0.5 * rng.normal(size=len(x))
            members.append(Client(f"c{number}", pd.DataFrame(x, columns=[f"x{i}" for i in range(dim)]).assign(y=y)))
        federation = InProcess(tuple(members))
        problem = state_problem(federation, Study("y"))
        settings = {"depth": 0, "loss": "squared", "double": True, "seed": seed} | recipe
        return cls(federation, Recipe(schema=problem.schema, **settings))

    @property
    def size(self) -> int:
        return self.learners[0].functional.size

    @property
    def learners(self) -> list[Learner]:
        return [learner_of(member._disclosed.table, self.recipe) for member in self.federation.members]

    def moments(self) -> tuple[Floats, Floats, Floats]:
        """The means of x xᵀ (N, d, d), y x (N, d) and y² (N,) over the rows that train the first network."""
        sums = []
        for learner in self.learners:
            here = learner.trains[0] > 0
            x = torch.cat([learner.inputs[here], torch.ones(int(here.sum()), 1, dtype=learner.dtype)], dim=1).numpy()
            y = learner.targets[here].numpy()
            sums.append((x.T @ x / len(y), x.T @ y / len(y), float(y @ y / len(y))))
        gram, cross, square = zip(*sums, strict=True)
        return np.stack(gram), np.stack(cross), np.array(square)

    def losses(self, models: Floats) -> Floats:
        """The losses of each client (R, N) with models (R, d)."""
        gram, cross, square = self.moments()
        return square - 2 * models @ cross.T + np.einsum("ra,iab,rb->ri", models, gram, models)

    def exact(self, shares: Floats) -> Floats:
        """The models (R, d) of least weighted loss for shares (R, N)."""
        gram, cross, _ = self.moments()
        return np.linalg.solve(np.einsum("ri,iab->rab", shares, gram), (shares @ cross)[..., None])[..., 0]
