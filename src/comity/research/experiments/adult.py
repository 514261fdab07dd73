"""Table 2: UCI Adult, people with a doctorate and all others."""

import time
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from comity.client import Client
from comity.core.progress import Progress
from comity.families.glm.estimation import OWN_PENALTIES
from comity.families.problem import state_problem
from comity.federation import InProcess
from comity.questions import FitAlone
from comity.research.baselines import Budget
from comity.research.datasets import adult
from comity.research.experiments.cells import Outcome
from comity.research.experiments.experiment import Experiment
from comity.research.experiments.methods import COMITY_METHODS, BaselineRun
from comity.research.experiments.table_task import TableTask, clients_by
from comity.study import Study

BY_FOLDS, ANY_GAIN = "-folds", "-any"


@dataclass(frozen=True, eq=False)
class AdultTask:
    """The two clients of UCI Adult.

    comity's models have one common penalty, or, if the method's name ends in ``-folds``, each the penalty that its
    folds choose. If the name ends in ``-any``, penalties are by folds too, and any gain counts, as in the paper,
    instead of gains beyond their standard error only.
    """

    own: TableTask

    @property
    def rows(self) -> str:
        """A digest of all training and test rows."""
        return self.own.rows

    @cached_property
    def _common_penalty(self) -> tuple[float, float]:
        """The penalty of all of comity's models, chosen on training rows, and the seconds that this took."""
        began = time.perf_counter()
        return penalty_of_largest(self.own.clients, self.own.study), time.perf_counter() - began

    @cached_property
    def common(self) -> TableTask:
        """The task with one penalty for all of comity's models."""
        return replace(self.own, study=replace(self.own.study, penalty=self._common_penalty[0]))

    @cached_property
    def any_gain(self) -> TableTask:
        """The task in which clients choose the collaborators with the lowest cross-validated loss, without a test."""
        return replace(self.own, study=replace(self.own.study, confidence=0.0))

    def run(self, method: str, progress: Progress) -> Outcome:
        """Run a method with the settings that its name ends in."""
        if method.endswith(ANY_GAIN):
            return self.any_gain.run(method.removesuffix(ANY_GAIN), progress)
        if method not in COMITY_METHODS:
            return self.own.run(method.removesuffix(BY_FOLDS), progress)
        found, (penalty, seconds) = self.common.run(method, progress), self._common_penalty
        return replace(found, settings={**found.settings, "penalty": penalty}, seconds=(found.seconds or 0.0) + seconds)


def penalty_of_largest(clients: tuple[Client, ...], study: Study) -> float:
    """Return the penalty that folds choose for the model alone of the client with the most rows."""
    federation = InProcess(clients)
    problem = state_problem(federation, study)
    largest = max(problem.rows, key=lambda client: problem.rows[client])
    split = replace(study.split(len(clients)), judges=2)  # the fewest: test rows judge
    question = FitAlone(problem.schema, split, OWN_PENALTIES)
    return float(federation.ask({largest: question})[largest].penalties[0])


def task(experiment: Experiment, directory: str | Path | None, seed: int) -> AdultTask:
    """Return the task of a seed; the rows are the same for all seeds, folds and batches are not."""
    data, settings = adult.load(directory), experiment.settings
    clients = clients_by("client", ("non-PhD", "PhD"), data.train, data.test)
    study = Study(adult.TARGET, metric="accuracy", search="spo", seed=seed)
    budget = Budget(settings["rounds"], settings["steps"])
    baselines = BaselineRun(tuple(settings["rates"]), settings["refit"], settings["methods"])
    return AdultTask(TableTask(clients, study, budget, baselines))
