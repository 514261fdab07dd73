"""`comity.solve_modules`: who should train with whom, with a torch module and examples of any shape."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from comity.core.extras import require
from comity.core.metrics import DEFAULT, METRICS
from comity.core.names import unknown_client
from comity.core.progress import progress_bar
from comity.core.tasks import MetricName
from comity.errors import ComityWarning, InputError
from comity.families.family import Request
from comity.families.problem import Problem, ask_columns, private_clients
from comity.federation import Federation, InProcess
from comity.questions.schema import Schema, Target
from comity.result.result import Result
from comity.solving.findings import find
from comity.solving.solve import as_result, open_source
from comity.study import Rule, SearchName, Study, Weights

if TYPE_CHECKING:
    from torch import Tensor, nn

    from comity.families.network.fit import Setup
    from comity.families.network.training import Training


def solve_modules(
    source: Mapping[str, Any] | Federation,
    module: nn.Module,
    *,
    loss: str | Callable[[Tensor, Tensor], Tensor] = "cross-entropy",
    personal: str | None = None,
    batch: int = 0,
    double: bool = False,
    training: Training | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    metric: MetricName | None = None,
    without: tuple[str, ...] = (),
    search: SearchName = "spo",
    folds: int | None = None,
    confidence: float = 1.0,
    weights: Weights = "sample",
    rule: Rule = "smallest",
    seed: int = 0,
    steps: int = 800,
    fine_tune: int = 0,
    local_steps: int = 0,
    progress: bool = False,
    **unknown: object,
) -> Result:
    """Find out who should train a torch module with whom.

    Args:
        source: Maps each client to its examples: a torch dataset of pairs, or two tensors. Or a `Federation`.
        module: The module; a hypernetwork makes its parameters for any weights over the clients.
        loss: ``cross-entropy``, ``squared``, or a function of outputs and targets that returns a loss for each example.
        personal: A regular expression for the names of parameters that stay at their client, as a head for its classes.
        batch: Examples in a step; all of a client's unless given.
        double: Whether to compute with 64 bits instead of 32.
        training: How the front is trained, if `steps` and `local_steps` do not say enough.
        checkpoint: A directory that keeps the training, from which an interrupted one resumes.
        metric: ``accuracy`` or ``log-loss``, ``rmse`` or ``r2``.
        without: Clients to leave out.
        search: How collaborators are looked for: ``spo``, or ``exhaustive`` for at most twelve clients.
        folds: How often examples are held out in turn to choose collaborators; 1 holds out one in six, once.
        confidence: How many standard errors a gain must have to count.
        weights: Whether a weight is of an example (``sample``) or of a ``client``.
        rule: Take the ``smallest`` set that is nearly as good as the best, or the paper's ``clip`` rule.
        seed: The same seed gives the same result.
        steps: Steps in which the front is trained.
        fine_tune: Steps that each client takes in the end on its own examples.
        local_steps: Steps that clients take between two rounds, instead of one.
        progress: Show a progress bar on standard error.
        **unknown: Refused, with a suggestion.

    Returns:
        The result; `Result.state_of` gives a client's parameters.

    Raises:
        InputError: If the settings or the examples do not make sense.
        MissingDependencyError: If torch is not installed.
    """
    settings = {name: value for name, value in locals().items() if name in Study.__dataclass_fields__}
    Study.check_names(unknown, ("loss", "personal", "batch", "double", "training", "checkpoint"))
    for name in unknown:
        raise InputError(f"{name} has no effect on a torch module; leave it out")
    require("torch", "to train neural networks")
    from comity.families.network.checkpoint import Checkpoint
    from comity.families.network.fit import NetworkFit

    if training is not None:
        settings["steps"] = training.steps
    study = Study("target", model="module", **settings)
    federation = federation_of(source, module, loss, study)
    keep = None if checkpoint is None else Checkpoint(Path(checkpoint), resume=True)
    if keep is not None and personal:
        raise InputError("a training with personal parameters, which never leave their client, cannot be kept here")
    with progress_bar(progress) as report:
        request = Request(federation, study, report, keep)
        trained = None if training is None else replace(training, seed=study.seed)
        setup = module_setup(
            federation, study, module, loss=loss, personal=personal, batch=batch, training=trained, double=double
        )
        result = as_result(request, find(request, setup.problem, NetworkFit(request, setup)))
    if keep is not None:
        keep.remove()
    for note in result.warnings:
        warnings.warn(note, ComityWarning, stacklevel=2)
    return result


def federation_of(
    source: object, module: nn.Module, loss: str | Callable[[Tensor, Tensor], Tensor], study: Study
) -> Federation:
    """Return the federation of a mapping from each client to its examples, or the one given."""
    if isinstance(source, Federation):
        return open_source(source, study).federation
    if not isinstance(source, Mapping):
        raise InputError(
            f"with a torch module, clients come as a mapping from name to examples, or as a federation, not as "
            f"{type(source).__name__}"
        )
    from comity.client.examples import DatasetClient

    for name in study.without:
        if name not in source:
            raise unknown_client(name, [str(each) for each in source])
    left = {str(name): examples for name, examples in source.items() if name not in study.without}
    return InProcess(tuple(DatasetClient(name, examples, module, loss) for name, examples in left.items()))


def module_setup(
    federation: Federation,
    study: Study,
    module: nn.Module,
    *,
    loss: str | Callable[[Tensor, Tensor], Tensor] = "cross-entropy",
    personal: str | None = None,
    batch: int = 0,
    training: Training | None = None,
    double: bool = False,
) -> Setup:
    """Return what is to be trained with a module."""
    from comity.client.examples import TARGET
    from comity.families.network.fit import Setup, training_of
    from comity.families.network.modules import Functional
    from comity.questions import Recipe

    answers = ask_columns(federation, TARGET, classes=True)
    levels = {int(level) for answer in answers.values() for column in answer.columns for level in column.levels or ()}
    target = Target(TARGET, "regression", mean=0.0, scale=1.0)
    if levels:
        target = Target(TARGET, "classes", classes=tuple(str(each) for each in range(max(levels) + 1)))
    metric = study.metric or ("accuracy" if levels else DEFAULT["regression"])
    if METRICS[metric].task != target.task:
        raise InputError(f"the metric {metric!r} is not for targets that are {target.task}")
    base, _ = Functional.of(module, personal).initial()
    recipe = Recipe(
        loss=loss if isinstance(loss, str) else getattr(loss, "__name__", "of its own"),
        personal=personal,
        folds=study.folds or 1,
        batch=batch,
        double=double,
        seed=study.seed,
    )
    rows = {client: answer.rows for client, answer in answers.items()}
    problem = Problem(rows, Schema((), target), metric, private=private_clients(answers))
    return Setup(recipe, base, training or training_of(study), problem)
