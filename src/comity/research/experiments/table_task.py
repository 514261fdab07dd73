"""A task on tables: every client's rows are divided into training rows and test rows."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from torch import nn

from comity.client import Client
from comity.core.progress import Progress
from comity.errors import InputError
from comity.families.family import Request
from comity.families.network.fit import Setup, perceptron_setup
from comity.families.network.modules import perceptron
from comity.families.problem import state_problem
from comity.families.registry import FAMILIES
from comity.questions import Evaluation
from comity.research.experiments.task import FederationTask
from comity.rows.splits import assign_folds
from comity.solving.findings import Findings, learn

_MIN_TEST_ROWS = 5
_MAX_CLASSES = 20  # with more values, the target is not stratified by class


@dataclass(frozen=True, eq=False)
class TableTask(FederationTask[Client]):
    """Clients with training rows and test rows of a table.

    comity's linear models are exact; those of baselines are trained by gradients. Perceptrons are always trained by
    gradients: comity's front takes as many gradients of a client as a baseline, and its models alone as many again.
    comity's folds and the baselines' held-out rows are both drawn from the training rows.
    """

    @cached_property
    def rows(self) -> str:
        """A digest of all training and test rows."""
        return digest(self.clients)

    @cached_property
    def _setup(self) -> Setup:
        problem = state_problem(self.federation, self.study)
        depth = self.study.depth if "depth" in FAMILIES[self.study.model].settings else 0
        return perceptron_setup(problem, self.study, depth=depth)

    @property
    def _module(self) -> nn.Module:
        problem, recipe = self._setup.problem, self._setup.recipe
        inputs, outputs = len(problem.schema.features), len(problem.classes) or 1
        return perceptron(inputs, outputs, recipe.width, recipe.depth, recipe.seed)

    def _solve(self, progress: Progress) -> tuple[Findings, Mapping[str, Evaluation]]:
        study = FAMILIES[self.study.model].for_testing(self.study)
        gradients = self.budget.rounds * self.budget.steps
        findings = learn(Request(self.federation, study, progress, gradients=gradients))
        return findings, findings.fit.test(findings.evaluated)


def clients_by(column: str, names: Iterable[str], train: pd.DataFrame, test: pd.DataFrame) -> tuple[Client, ...]:
    """Return the clients that a column names, with their training rows and test rows."""

    def rows(frame: pd.DataFrame, name: str) -> pd.DataFrame:
        return frame[frame[column] == name].drop(columns=column)

    return tuple(Client(name, rows(train, name), test=rows(test, name)) for name in names)


def digest(clients: Sequence[Client]) -> str:
    """Return a digest of all training and test rows of some clients."""
    found = hashlib.sha256()
    for client in clients:
        for frame in (client.rows, client.test):
            if frame is not None:
                found.update(f"{client.name}, {list(frame.columns)}: {len(frame)}".encode())
                found.update(pd.util.hash_pandas_object(frame, index=False).to_numpy().tobytes())
    return found.hexdigest()


def divide(clients: Sequence[Client], target: str, parts: int, seed: int) -> tuple[Client, ...]:
    """Return clients with one part in `parts` of their rows as test rows, stratified by class.

    All rows are known here, so that the clients' policies allow answers about few test rows.

    >>> frame = pd.DataFrame({"x": range(24), "y": [0, 1] * 12})
    >>> divided, = divide([Client("a", frame)], "y", parts=4, seed=0)
    >>> len(divided.rows), len(divided.test), int(divided.test["y"].sum())
    (18, 6, 3)
    """
    return tuple(_divide_client(client, target, parts, seed) for client in clients)


def _divide_client(client: Client, target: str, parts: int, seed: int) -> Client:
    frame = client.rows
    if target not in frame.columns:
        raise InputError(f"client {client.name!r} has no column {target!r}, the target")
    if len(frame) < _MIN_TEST_ROWS * parts:
        raise InputError(
            f"client {client.name!r} has {len(frame)} rows; to test on one part in {parts}, it needs "
            f"{_MIN_TEST_ROWS * parts}; take fewer parts, or leave the client out"
        )
    codes, values = pd.factorize(frame[target])
    by_class = len(values) <= _MAX_CLASSES
    tests = assign_folds(codes * float(by_class), parts, seed, client.name, groups=client.groups) == 0
    if by_class and client.groups is None:  # classes with fewer rows than parts are only trained on
        tests &= np.bincount(codes[codes >= 0], minlength=len(values))[codes] >= parts
    policy = replace(client.policy, least_rows=min(client.policy.least_rows, _MIN_TEST_ROWS))
    return replace(client, rows=frame[~tests], test=frame[tests], policy=policy, log=[])
