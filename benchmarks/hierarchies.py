"""Federations whose clients' coefficients are drawn around common ones, or around those of their groups."""

from dataclasses import dataclass

import numpy as np

from comity.core.tasks import Task
from comity.research.datasets.synthetic import Synthetic, sample


@dataclass(frozen=True)
class Setting:
    """How federations are drawn: coefficients N(0, scale² I / p) a group, plus `apart` times the same a client."""

    name: str
    clients: int
    rows: int
    columns: int
    groups: int = 1
    apart: float = 0.0
    task: Task = "regression"
    scale: float = 1.0
    noise: float = 1.0

    def draw(self, seed: int) -> Synthetic:
        """Return a federation; client i is in group i mod `groups`."""
        rng = np.random.default_rng([seed, self.clients, self.rows, self.columns])
        unit = self.scale / np.sqrt(self.columns)
        centres = unit * rng.normal(size=(self.groups, self.columns))
        truth = centres[self.group] + self.apart * unit * rng.normal(size=(self.clients, self.columns))
        return sample(rng, truth, np.full(self.clients, self.rows), self.noise, self.task, seed)

    @property
    def group(self) -> np.ndarray:
        """The group of each client (N,)."""
        return np.arange(self.clients) % self.groups
