"""A task, on which all methods run, and the loop that fills the cells of a table."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Generic, Protocol, TypeVar

from torch import nn

from comity.core.progress import Progress
from comity.errors import InputError
from comity.families.network.fit import Setup
from comity.federation import InProcess, Member
from comity.questions import Evaluation
from comity.research.baselines import Budget, Session
from comity.research.experiments.cells import Cell, Cells, Outcome
from comity.research.experiments.methods import COMITY_METHODS, BaselineRun, ComityRun
from comity.solving.findings import Findings
from comity.study import Study

M = TypeVar("M", bound=Member)


class Task(Protocol):
    """Clients with training rows and test rows, drawn with one seed."""

    @property
    def rows(self) -> str:
        """A digest of all training and test rows."""

    def run(self, method: str, progress: Progress) -> Outcome:
        """Run a method."""


@dataclass(frozen=True, eq=False)
class FederationTask(ABC, Generic[M]):
    """A task on clients in this process; `study` has the target and the kind of models.

    `notes` go into the details of every outcome.
    """

    clients: tuple[M, ...]
    study: Study
    budget: Budget
    baselines: BaselineRun
    notes: tuple[str, ...] = ()
    _kept: list[ComityRun] = field(default_factory=list, init=False, repr=False)

    @property
    @abstractmethod
    def _module(self) -> nn.Module:
        """The module that baselines train."""

    @property
    @abstractmethod
    def _setup(self) -> Setup:
        """What is to be learned, and how models are trained by gradients."""

    @abstractmethod
    def _solve(self, progress: Progress) -> tuple[Findings, Mapping[str, Evaluation]]:
        """Return what comity finds, and the evaluations of its models on test rows."""

    def run(self, method: str, progress: Progress) -> Outcome:
        """Run a method."""
        if method not in COMITY_METHODS:
            outcome = self.baselines.run(method, self._session, self._setup.problem.metric, progress)
        else:
            if not self._kept:  # one search gives the models of all of comity's methods
                began = time.perf_counter()
                self._kept.append(ComityRun(*self._solve(progress), seconds=time.perf_counter() - began))
            outcome = self._kept[0].outcome(method, self.study.fine_tune)
        return replace(outcome, details={**outcome.details, "notes": list(self.notes)}) if self.notes else outcome

    @cached_property
    def federation(self) -> InProcess:
        """The clients, which answer questions."""
        return InProcess(self.clients)

    @cached_property
    def _session(self) -> Session:
        recipe = replace(self._setup.recipe, personal=None, folds=1, judged=False)
        return Session(self.federation, self._module, recipe, self._setup.problem.rows, self.budget)


def fill_cells(
    cells: Cells,
    methods: tuple[str, ...],
    seeds: tuple[int, ...],
    draw: Callable[[int], Task],
    progress: Progress | None = None,
) -> None:
    """Run every method with every seed whose cell is still empty; `draw` makes the task of a seed."""
    for number, seed in enumerate(seeds):
        kept = {method: cells.load(method, seed) for method in methods}
        if None not in kept.values():
            continue
        task = draw(seed)

        def report(stage: str, done: int, total: int, seed: int = seed) -> None:
            if progress is not None:
                progress(f"seed {seed}, {stage}", done, total)

        for method, cell in kept.items():
            if cell is None:
                report(method, number, len(seeds))
                began = time.perf_counter()
                found = task.run(method, report)
                seconds = time.perf_counter() - began if found.seconds is None else found.seconds
                cells.save(
                    Cell(method, seed, found.values, found.alone, seconds, task.rows, found.settings, found.details)
                )
            elif cell.rows != task.rows:
                raise InputError(
                    f"{cells.directory}: the kept result of {method!r} with seed {seed} is of other rows; give "
                    "another directory"
                )
