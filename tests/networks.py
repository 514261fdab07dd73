"""Small federations whose networks are linear, so that the exact front is known."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from comity.client import Client
from comity.client.learning import learner_of
from comity.federation import InProcess
from comity.learn import agree_on
from comity.neural.learner import Learner
from comity.neural.recipe import Recipe
from comity.study import Study

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Linear:
    """Clients with linear truths of their own, and a recipe for linear modules."""

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
        _, agreement, _ = agree_on(federation, Study("y"))
        settings = {"depth": 0, "loss": "squared", "double": True, "seed": seed} | recipe
        return cls(federation, Recipe(schema=agreement.schema.to_json(), **settings))

    @property
    def size(self) -> int:
        return self.learners[0].functional.size

    @property
    def learners(self) -> list[Learner]:
        return [learner_of(member._rows, self.recipe.to_json()) for member in self.federation.members]

    def moments(self) -> tuple[Floats, Floats, Floats]:
        """Mean gram (N, d, d), cross (N, d) and square (N,) over the rows that train the first network."""
        sums = []
        for learner in self.learners:
            here = learner.trains[0] > 0
            x = torch.cat([learner.inputs[here], torch.ones(int(here.sum()), 1, dtype=learner.dtype)], dim=1).numpy()
            y = learner.targets[here].numpy()
            sums.append((x.T @ x / len(y), x.T @ y / len(y), float(y @ y / len(y))))
        gram, cross, square = zip(*sums, strict=True)
        return np.stack(gram), np.stack(cross), np.array(square)

    def losses(self, models: Floats) -> Floats:
        """What each client loses (R, N) with models (R, d)."""
        gram, cross, square = self.moments()
        return square - 2 * models @ cross.T + np.einsum("ra,iab,rb->ri", models, gram, models)

    def exact(self, shares: Floats) -> Floats:
        """The models (R, d) with the least loss for shares (R, N)."""
        gram, cross, _ = self.moments()
        return np.linalg.solve(np.einsum("ri,iab->rab", shares, gram), (shares @ cross)[..., None])[..., 0]
