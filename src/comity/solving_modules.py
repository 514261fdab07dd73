"""`comity.solve` for torch modules: who should train with whom, with a model and examples of any shape."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor, nn

from comity.client.examples import TARGET, DatasetClient
from comity.core import unknown_client
from comity.errors import InputError
from comity.federation import Federation, InProcess
from comity.fronts.hypernetwork import Training
from comity.learn import private_of
from comity.learn_networks import Setup, training_of
from comity.metrics import DEFAULT, METRICS
from comity.neural.modules import Functional
from comity.neural.recipe import Recipe
from comity.questions import Describe
from comity.schema import Schema, Target
from comity.study import Study

MODULE_SETTINGS = ("loss", "personal", "batch", "training", "double", "checkpoint")


def clients_of(
    source: Any, module: nn.Module, loss: str | Callable[[Tensor, Tensor], Tensor], without: tuple[str, ...] = ()
) -> Federation:
    """Return the federation of a mapping from each client to its examples, or the one given."""
    if isinstance(source, Federation):
        if without:
            raise InputError("clients of a federation cannot be left out here; give a federation without them")
        return source
    if not isinstance(source, Mapping):
        raise InputError(
            f"with a torch module, clients come as a mapping from name to examples, or as a federation, not as "
            f"{type(source).__name__}"
        )
    for name in without:
        if name not in source:
            raise unknown_client(name, [str(each) for each in source])
    left = {str(name): examples for name, examples in source.items() if name not in without}
    return InProcess(tuple(DatasetClient(name, examples, module, loss) for name, examples in left.items()))


def setup_of(
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
    """Return what is to be learned with a module."""
    if len(federation.clients) < 2:
        raise InputError("there is one client only; there is nobody to train with")
    rows: dict[str, int] = {}
    levels: Counter[int] = Counter()
    described = federation.ask(Describe(TARGET, classes=True))
    for client, answer in described.items():
        rows[client] = answer.rows
        (told,) = json.loads(answer.columns)
        levels.update({int(level): count for level, count in (told["levels"] or {}).items()})
    classes = tuple(str(each) for each in range(max(levels) + 1)) if levels else ()
    target = (
        Target(TARGET, "classes", classes=classes) if classes else Target(TARGET, "regression", mean=0.0, scale=1.0)
    )
    metric = study.metric or ("accuracy" if classes else DEFAULT["regression"])
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
    settings, private = training or training_of(study), private_of(described)
    return Setup(recipe, base, settings, rows, Schema((), target), metric, private=private)
