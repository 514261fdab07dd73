"""Methods compared on a table: every client's rows divided into some to train with and some to test with."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from comity.baselines import METHODS, Budget, Session
from comity.client import Client
from comity.errors import InputError
from comity.experiments.baseline_run import BaselineRun
from comity.experiments.ours import OURS, Ours, outcome_of
from comity.experiments.running import Outcome, Tell
from comity.federation import InProcess
from comity.learn import Learned, learn
from comity.learn_networks import Setup, learn_networks, of_tables
from comity.neural.modules import perceptron
from comity.questions import Evaluation, JudgeLinear
from comity.splits import assign_folds
from comity.study import Study

EVERY = (*METHODS, *OURS)
_LEAST_TO_TEST = 5
_MOST_CLASSES = 20
_RAYS = 4  # a step of the front: as many gradients of a client, at most
FEWEST_JUDGES = 2  # views that judge without rows to test with, where these judge


@dataclass(frozen=True, eq=False)
class TableTask:
    """Clients with rows to train with and rows to test with; `study` says what is predicted, and with what models.

    Linear models of ours are exact, those of baselines are trained by gradients; perceptrons are trained by gradients
    all, and our front takes as many of a client as a baseline does, and the models alone as many again. What baselines
    hold out to choose by is among the rows from which our linear models draw their folds. `notes` go with what is
    found.
    """

    clients: tuple[Client, ...]
    study: Study
    budget: Budget
    baselines: BaselineRun
    notes: tuple[str, ...] = ()
    _kept: list[Ours] = field(default_factory=list, init=False, repr=False)

    @cached_property
    def rows(self) -> str:
        """A digest of whose rows train and test."""
        return digest(self.clients)

    def run(self, method: str, tell: Tell) -> Outcome:
        """Run a method."""
        if method in OURS:
            found = self._ours(OURS[method], tell)
        else:
            found = self.baselines.run(method, self._session, self._setup.metric, tell)
        return replace(found, story={**found.story, "notes": list(self.notes)}) if self.notes else found

    @cached_property
    def _federation(self) -> InProcess:
        return InProcess(self.clients)

    @cached_property
    def _setup(self) -> Setup:
        return of_tables(self._federation, self.study)

    @cached_property
    def _session(self) -> Session:
        setup = self._setup
        recipe = replace(setup.recipe, folds=1, judged=False)
        classes = len(setup.schema.target.classes)
        module = perceptron(len(setup.schema.features), classes or 1, recipe.width, recipe.depth, recipe.seed)
        return Session(self._federation, module, recipe, setup.rows, self.budget)

    def _ours(self, kind: int, tell: Tell) -> Outcome:
        if not self._kept:  # one search gives both the coalitions' models and the best
            self._kept.append(Ours.timed(lambda: self._solved(tell)))
        return outcome_of(self._kept[0], kind, self.study.fine_tune)

    def _solved(self, tell: Tell) -> tuple[Learned, dict[str, Evaluation]]:
        """Return what we learn, and how well the models alone, in the coalition and at best do on test rows."""
        federation, study = self._federation, self.study
        if study.model != "linear":
            spent = self.budget.rounds * self.budget.steps
            training = replace(self._setup.training, steps=max(1, spent // _RAYS), per_step=_RAYS, steps_alone=spent)
            learned = learn_networks(federation, study, replace(self._setup, training=training), tell)
            return learned, learned.evaluations
        # Each view that would judge without rows to test with is a search of its own.
        learned = learn(federation, replace(study, judges=FEWEST_JUDGES, resamples=0), tell)
        schema = learned.schema.to_json()
        return learned, federation.ask(
            {
                client: JudgeLinear(schema, learned.metric, np.ascontiguousarray(learned.models[:, place]), study.seed)
                for place, client in enumerate(federation.clients)
            }
        )


def digest(clients: Sequence[Client]) -> str:
    """Return a digest of all rows of some clients, those to train with and those to test with."""
    found = hashlib.sha256()
    for client in clients:
        for frame in (client.rows, client.test):
            if frame is not None:
                found.update(f"{client.name}, {list(frame.columns)}: {len(frame)}".encode())
                found.update(pd.util.hash_pandas_object(frame, index=False).to_numpy().tobytes())
    return found.hexdigest()


def divide(clients: Sequence[Client], target: str, parts: int, seed: int) -> tuple[Client, ...]:
    """Return clients of whose rows one part in `parts` is to test with; rows of each class are divided evenly.

    Whoever divides them has all rows, so that clients answer about the few they have to test with.

    >>> frame = pd.DataFrame({"x": range(24), "y": [0, 1] * 12})
    >>> divided, = divide([Client("a", frame)], "y", parts=4, seed=0)
    >>> len(divided.rows), len(divided.test), int(divided.test["y"].sum())
    (18, 6, 3)
    """
    return tuple(_divided(client, target, parts, seed) for client in clients)


def _divided(client: Client, target: str, parts: int, seed: int) -> Client:
    frame = client.rows
    if target not in frame.columns:
        raise InputError(f"client {client.name!r} has no column {target!r}, which is to be predicted")
    if len(frame) < _LEAST_TO_TEST * parts:
        raise InputError(
            f"client {client.name!r} has {len(frame)} rows; to test with one part in {parts} it takes "
            f"{_LEAST_TO_TEST * parts}; take fewer parts, or leave it out (--without)"
        )
    codes, values = pd.factorize(frame[target])
    by_class = len(values) <= _MOST_CLASSES
    tests = assign_folds(codes * float(by_class), parts, seed, client.name) == 0
    if by_class:  # a class with fewer rows than parts is to be learned first of all
        tests &= np.bincount(codes[codes >= 0], minlength=len(values))[codes] >= parts
    policy = replace(client.policy, least_rows=min(client.policy.least_rows, _LEAST_TO_TEST))
    return replace(client, rows=frame[~tests], test=frame[tests], policy=policy, log=[])
