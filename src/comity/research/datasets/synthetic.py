"""Synthetic federations whose truth is known: every client's rows follow given parameters.

`two_groups` is the paper's generator (Section 5.1), `many_groups` has any number of clients and groups, and `planted`
draws small federations of several kinds, to measure how well collaborators are found.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from comity.client import Client
from comity.core.arrays import Floats
from comity.core.tasks import Task
from comity.errors import InputError

Kind = Literal["groups", "hub", "outlier", "unequal", "none"]
Features = Literal["uniform", "normal"]
KINDS: tuple[Kind, ...] = get_args(Kind)
TARGET = "y"
_TEST_STREAM = 1_000_003  # second part of the seed of test rows, larger than the number of kinds


@dataclass(frozen=True, eq=False)
class Synthetic:
    """N clients whose true parameters are known.

    `rows` has the features (n, d) and target (n,) of each client, `truth` (N, d) their parameters. A target is
    features times parameters plus noise, whose standard deviation is `noise`; for the task ``classes`` it is 1 with
    the probability of a logistic model with these parameters, and 0 otherwise.
    """

    rows: tuple[tuple[Floats, Floats], ...]
    truth: Floats
    noise: float
    task: Task = "regression"
    features: Features = "normal"
    seed: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the clients: their positions."""
        return tuple(str(number) for number in range(len(self.rows)))

    def frames(self) -> dict[str, pd.DataFrame]:
        """Return each client's rows as a table with the target `y`."""
        return {
            name: _frame(x).assign(**{TARGET: y if self.task == "regression" else np.where(y == 1, "yes", "no")})
            for name, (x, y) in zip(self.names, self.rows, strict=True)
        }

    def clients(self) -> tuple[Client, ...]:
        """Return the clients, which answer questions about their rows."""
        return tuple(Client(name, frame) for name, frame in self.frames().items())

    def test_rows(self, rows: int = 5000) -> pd.DataFrame:
        """Return new rows without a target, the same for every client, since all clients draw features alike."""
        rng = np.random.default_rng([self.seed, _TEST_STREAM])
        return _frame(_draw_features(rng, self.features, rows, self.truth.shape[1]))

    def true_loss(self, client: int, rows: pd.DataFrame, predictions: Floats) -> float:
        """Return the expected loss of predictions for some rows under a client's true distribution of the target.

        Predictions are values (n,), whose loss is the mean squared error, or probabilities (n, 2) of the classes no and
        yes, whose loss is the log loss.
        """
        scores = rows.to_numpy(np.float64) @ self.truth[client]
        if self.task == "regression":
            return float(self.noise**2 + ((predictions - scores) ** 2).mean())
        yes = 1 / (1 + np.exp(-scores))
        logs = np.log(np.maximum(predictions, 1e-15))
        return float(-((1 - yes) * logs[:, 0] + yes * logs[:, 1]).mean())


def two_groups(seed: int, dim: int = 20, rows: int = 2000, spread: float = 0.1, noise: float = 0.01) -> Synthetic:
    """Return the paper's six clients (Section 5.1): 0, 1 and 2 share a truth up to `spread`, and 3, 4, 5 its negative.

    `noise` is a standard deviation. With the paper's sizes, the defaults, every client is best off alone: its own rows
    determine its parameters up to the noise. With few rows and much noise, the two groups are best.

    >>> two_groups(seed=0, dim=3, rows=10).clients()[5].rows.shape
    (10, 4)
    """
    rng = np.random.default_rng(seed)
    shared = rng.uniform(0, 1, dim)
    drawn, truth = [], []
    for sign in (1, 1, 1, -1, -1, -1):
        parameters = sign * (shared + rng.normal(0, spread, dim))
        x = _draw_features(rng, "uniform", rows, dim)
        drawn.append((x, x @ parameters + rng.normal(0, noise, rows)))
        truth.append(parameters)
    return Synthetic(tuple(drawn), np.array(truth), noise, features="uniform", seed=seed)


def many_groups(
    seed: int,
    clients: int,
    groups: int = 10,
    dim: int = 20,
    rows: int = 100,
    spread: float = 0.05,
    noise: float = 1.0,
    task: Task = "regression",
) -> Synthetic:
    """Return many clients in groups: client i belongs to group i mod `groups`, and shares its truth up to `spread`.

    >>> many_groups(seed=0, clients=30).truth.shape
    (30, 20)
    """
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(groups, dim)) / np.sqrt(dim)
    truth = centres[np.arange(clients) % groups] + rng.normal(0, spread, (clients, dim)) / np.sqrt(dim)
    return sample(rng, truth, np.full(clients, rows), noise, task, seed)


def planted(seed: int, kind: Kind, task: Task = "regression", clients: int | None = None) -> Synthetic:
    """Return a small federation of one kind, with four to eight clients by default.

    - ``groups``: two or three groups, whose members have nearly the same truth;
    - ``hub``: one client has many rows; the others have few, and truths around that of the hub;
    - ``outlier``: all clients but one have nearly the same truth;
    - ``unequal``: two groups, whose clients have from very few to very many rows;
    - ``none``: all truths are independent, and nobody gains from others.

    >>> [len(planted(seed, "groups").rows) for seed in range(4)]
    [8, 6, 8, 8]
    """
    if kind not in KINDS:
        raise InputError(f"there is no kind {kind!r} of planted federation; choose one of {', '.join(KINDS)}")
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    default_count = int(rng.integers(4, 9))  # drawn in any case, so that the rest does not depend on `clients`
    count = default_count if clients is None else clients
    dim = int(rng.integers(5, 13))
    length = 2.0 if task == "classes" else 1.0
    few, enough = (40, 120) if task == "classes" else (20, 60)  # a class carries less information than a number
    near = rng.uniform(0.05, 0.3) * length / np.sqrt(dim)
    centres = rng.normal(size=(count, dim)) * length / np.sqrt(dim)
    sizes = rng.integers(few, enough, count)
    group = np.zeros(count, np.intp)
    if kind == "groups":
        group = np.arange(count) % int(rng.integers(2, 4))
    elif kind == "hub":
        sizes[0] = 10 * enough
        near *= 2
    elif kind == "outlier":
        group[-1] = 1
    elif kind == "unequal":
        group = np.arange(count) % 2
        sizes = np.round(few / 2 * np.exp(rng.uniform(0, np.log(20), count))).astype(np.intp)
    else:
        group = np.arange(count)
        sizes = rng.integers(enough, 4 * enough, count)
    truth = centres[group] + near * rng.normal(size=(count, dim)) * (kind != "none")
    if kind == "hub":
        truth[0] = centres[0]
    return sample(rng, truth, sizes, 1.0, task, seed)


def sample(
    rng: np.random.Generator, truth: Floats, sizes: NDArray[np.intp], noise: float, task: Task, seed: int
) -> Synthetic:
    """Draw every client's rows, with normal features."""
    drawn = []
    for parameters, rows in zip(truth, sizes.tolist(), strict=True):
        x = _draw_features(rng, "normal", rows, parameters.size)
        scores = x @ parameters
        if task == "classes":
            y = (rng.random(rows) < 1 / (1 + np.exp(-scores))).astype(np.float64)
            if y.min() == y.max():  # both classes must occur
                y[0] = 1 - y[0]
        else:
            y = scores + rng.normal(0, noise, rows)
        drawn.append((x, y))
    return Synthetic(tuple(drawn), truth, noise, task, seed=seed)


def _draw_features(rng: np.random.Generator, features: Features, rows: int, size: int) -> Floats:
    return rng.normal(size=(rows, size)) if features == "normal" else rng.uniform(-1, 1, (rows, size))


def _frame(features: Floats) -> pd.DataFrame:
    return pd.DataFrame(features, columns=[f"x{number}" for number in range(features.shape[1])])
