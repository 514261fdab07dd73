"""A task on tables: every client's rows are divided into training rows and test rows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from comity.client import Client
from comity.core.progress import Progress
from comity.errors import InputError
from comity.families.family import Request
from comity.families.network.fit import Setup, perceptron_setup
from comity.families.network.modules import perceptron
from comity.families.problem import state_problem
from comity.families.registry import FAMILIES
from comity.federation import InProcess
from comity.questions import Evaluation
from comity.research.baselines import METHODS, Budget, Session
from comity.research.experiments.baseline_run import BaselineRun
from comity.research.experiments.comity_run import COMITY_METHODS, ComityRun
from comity.research.experiments.task import Outcome
from comity.rows.splits import assign_folds
from comity.solving.findings import Findings, learn
from comity.study import Study

ALL_METHODS = (*METHODS, *COMITY_METHODS)
_MIN_TEST_ROWS = 5
_MAX_CLASSES = 20  # with more values, the target is not stratified by class
MIN_JUDGES = 2  # judging folds, which are not used because test rows judge


@dataclass(frozen=True, eq=False)
class TableTask:
    """Clients with training rows and test rows; `study` has the target and the kind of models.

    comity's linear models are exact; those of baselines are trained by gradients. Perceptrons are always trained by
    gradients: comity's front takes as many gradients of a client as a baseline, and its models alone as many again.
    comity's folds and the baselines' held-out rows are both drawn from the training rows. `notes` go into the details
    of every outcome.
    """

    clients: tuple[Client, ...]
    study: Study
    budget: Budget
    baselines: BaselineRun
    notes: tuple[str, ...] = ()
    _kept: list[ComityRun] = field(default_factory=list, init=False, repr=False)

    @cached_property
    def rows(self) -> str:
        """A digest of all training and test rows."""
        return digest(self.clients)

    def run(self, method: str, progress: Progress) -> Outcome:
        """Run a method."""
        if method in COMITY_METHODS:
            found = self._run_comity(method, progress)
        else:
            found = self.baselines.run(method, self._session, self._setup.problem.metric, progress)
        return replace(found, details={**found.details, "notes": list(self.notes)}) if self.notes else found

    @cached_property
    def _federation(self) -> InProcess:
        return InProcess(self.clients)

    @cached_property
    def _setup(self) -> Setup:
        problem = state_problem(self._federation, self.study)
        depth = self.study.depth if "depth" in FAMILIES[self.study.model].settings else 0
        return perceptron_setup(problem, self.study, depth=depth)

    @cached_property
    def _session(self) -> Session:
        setup = self._setup
        recipe = replace(setup.recipe, folds=1, judged=False)
        problem = setup.problem
        module = perceptron(
            len(problem.schema.features), len(problem.classes) or 1, recipe.width, recipe.depth, recipe.seed
        )
        return Session(self._federation, module, recipe, problem.rows, self.budget)

    def _run_comity(self, method: str, progress: Progress) -> Outcome:
        if not self._kept:  # one search gives the models of all of comity's methods
            self._kept.append(ComityRun.timed(lambda: self._solve(progress)))
        return self._kept[0].outcome(method, self.study.fine_tune)

    def _solve(self, progress: Progress) -> tuple[Findings, Mapping[str, Evaluation]]:
        """Return what comity finds, and the evaluations of its models on test rows."""
        study = FAMILIES[self.study.model].for_testing(self.study)
        gradients = self.budget.rounds * self.budget.steps
        findings = learn(Request(self._federation, study, progress, gradients=gradients))
        return findings, findings.fit.test(findings.evaluated)


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
    return tuple(_divided(client, target, parts, seed) for client in clients)


def _divided(client: Client, target: str, parts: int, seed: int) -> Client:
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
    tests = assign_folds(codes * float(by_class), parts, seed, client.name) == 0
    if by_class:  # classes with fewer rows than parts are only trained on
        tests &= np.bincount(codes[codes >= 0], minlength=len(values))[codes] >= parts
    policy = replace(client.policy, least_rows=min(client.policy.least_rows, _MIN_TEST_ROWS))
    return replace(client, rows=frame[~tests], test=frame[tests], policy=policy, log=[])
