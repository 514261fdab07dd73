"""The whole way, wired once: from tables or a federation to a `Result`.

The function `solve` is `comity.solve`; this module has another name, or it would take the function's place.
"""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from comity.core import unknown_client
from comity.core.optional import require
from comity.errors import ComityWarning, InputError
from comity.federation import Federation, InProcess
from comity.figures import KINDS, Confidence, Figure, Standing
from comity.fitting import Tell
from comity.learn import Learned, learn
from comity.result import Result
from comity.study import Study

if TYPE_CHECKING:
    from comity.checkpoint import Checkpoint
    from comity.tables.clients import Source


def solve(source: Source | Federation, client: str | None = None, target: str | None = None, **settings: Any) -> Result:
    """Find out who should train with whom: coalitions that nobody wants to leave, the models, and the proof.

    `source` is a table (a DataFrame, or a CSV or Parquet file) with a column `client` that says whose each row is; one
    table for each client (a mapping by name, or a directory); or a `Federation`. `target` is the column to
    predict; the other `settings` are those of a `Study`.

    With a torch module as `model`, `source` maps each client to its examples (a torch dataset of pairs, or two
    tensors), and there are the settings `loss`, `personal` (a pattern for parameters that never leave their client),
    `batch`, `training`, `double` and `checkpoint` (a directory that keeps the training, and from which it goes on).

    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> rows = pd.DataFrame(rng.normal(size=(120, 3)), columns=["a", "b", "c"])
    >>> rows["site"] = np.repeat(["North", "South", "West"], 40)
    >>> rows["y"] = rows["a"] * np.where(rows["site"] == "West", -1, 1) + rows["b"] + rng.normal(size=120) * 0.3
    >>> solve(rows, client="site", target="y").coalitions == ({"North", "South"}, {"West"})
    True
    """
    if not isinstance(settings.get("model", ""), str):
        return _solve_module(source, settings)
    if target is None:
        raise InputError("say which column is to be predicted: target=")
    Study.check_names(settings)
    study = Study(target, client=client, **settings)
    result = run(open_source(source, study), study)
    for note in result.warnings:
        warnings.warn(note, ComityWarning, stacklevel=2)
    return result


def _solve_module(source: Any, settings: dict[str, Any]) -> Result:
    """Solve for a torch module; see `solve`."""
    require("torch", "to train neural networks")
    from comity.checkpoint import Checkpoint
    from comity.learn_networks import learn_networks
    from comity.solving_modules import MODULE_SETTINGS, clients_of, setup_of

    module = settings.pop("model")
    own = {name: settings.pop(name) for name in MODULE_SETTINGS if name in settings}
    Study.check_names(settings, MODULE_SETTINGS)
    training = own.get("training")
    if training is not None:
        settings |= {"steps": training.steps}
    study = Study("target", model="module", **settings)
    if training is not None:
        own["training"] = replace(training, seed=study.seed)
    federation = clients_of(source, module, own.get("loss", "cross-entropy"), study.without)
    directory = own.pop("checkpoint", None)
    checkpoint = None if directory is None else Checkpoint(Path(directory), resume=True)
    if checkpoint is not None and own.get("personal"):
        raise InputError("a training with personal parameters, which never leave their client, cannot be kept here")
    learned = learn_networks(federation, study, setup_of(federation, study, module, **own), None, checkpoint)
    if checkpoint is not None:
        checkpoint.remove()
    result = _result(federation, study, learned, ())
    for note in result.warnings:
        warnings.warn(note, ComityWarning, stacklevel=3)
    return result


@dataclass(frozen=True, slots=True)
class Opened:
    """Clients to be asked, what to warn of, and the columns that were left out when their rows were read."""

    federation: Federation
    warnings: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()


def open_source(source: Source | Federation, study: Study) -> Opened:
    """Return the federation of a source."""
    if isinstance(source, Federation):
        if study.without:
            raise InputError("clients of a federation cannot be left out here; give a federation without them")
        return Opened(source)
    from comity.tables import read_clients, warnings_about

    clients = read_clients(source, study.client, exclude=study.exclude)
    for name in study.without:
        if name not in {client.name for client in clients}:
            raise unknown_client(name, [client.name for client in clients])
    clients = tuple(client for client in clients if client.name not in study.without)
    return Opened(InProcess(clients), tuple(warnings_about(clients)), study.exclude)


def run(opened: Opened, study: Study, tell: Tell | None = None, checkpoint: Checkpoint | None = None) -> Result:
    """Run a study on clients; `tell` hears of each stage, and how much of how much of it is done.

    A `checkpoint` keeps the training of networks, and goes on with one.
    """
    federation, warned = opened.federation, opened.warnings
    still_there = tuple(name for name in study.exclude if name not in opened.excluded)
    learned = _learned(federation, replace(study, exclude=still_there), tell, checkpoint)
    return _result(federation, study, learned, warned)


def _result(federation: Federation, study: Study, learned: Learned, warned: tuple[str, ...]) -> Result:
    """Return what was learned as a result."""
    decision = learned.decision
    undefined = [client for client, each in learned.evaluations.items() if np.isnan(each.values[0])]
    notes = [f"the {learned.metric} of client {client!r} cannot be said on its rows" for client in undefined]
    return Result(
        study=study,
        schema=learned.schema,
        metric=learned.metric,
        split=learned.split,
        equilibrium=decision.equilibrium,
        graph=decision.graph,
        utilities={client: _standing(learned, client) for client in federation.clients},
        game=learned.game,
        certificate=learned.certificate,
        weights={kind: at.weights for kind, at in decision.points.items()},
        penalties={kind: learned.penalties[number] for number, kind in enumerate(KINDS)},
        models={kind: learned.models[number] for number, kind in enumerate(KINDS)},
        confidence=_confidence(learned),
        traffic=asdict(federation.traffic),
        left_out=learned.left_out,
        warnings=(*warned, *learned.warnings, *notes),
        training=learned.training,
        privacy=learned.privacy,
    )


def _learned(federation: Federation, study: Study, tell: Tell | None, checkpoint: Checkpoint | None) -> Learned:
    if study.model == "linear":
        return learn(federation, study, tell)
    if study.model == "module":
        raise InputError(
            "the model 'module' is one of torch's, which only comity.solve can be given; choose linear or mlp"
        )
    require("torch", "to train neural networks")
    from comity.learn_networks import learn_networks, of_tables

    if tell is not None:
        tell("asking for the columns", 0, 1)
    return learn_networks(federation, study, of_tables(federation, study), tell, checkpoint)


def _standing(learned: Learned, client: str) -> Standing:
    each = learned.evaluations[client]
    figures = (Figure(float(v), float(e)) for v, e in zip(each.values, each.errors, strict=True))
    _, *gains = (Figure(float(v), float(e)) for v, e in zip(each.gains, each.gain_errors, strict=True))
    return Standing(learned.rows[client], *figures, *gains)


def _confidence(learned: Learned) -> Confidence | None:
    """Return how often edges and coalitions were found in resamples."""
    if not learned.resampled:
        return None
    count = len(learned.resampled)
    clients = learned.decision.clients
    coalitions = set(learned.decision.equilibrium.coalitions)
    same = sum(set(each.equilibrium.coalitions) == coalitions for each in learned.resampled)
    edges: Counter[tuple[str, str]] = Counter()
    for decision in (learned.decision, *learned.resampled):
        found = np.argwhere(decision.wishes & ~np.eye(len(clients), dtype=np.bool_)).tolist()
        edges.update({(clients[j], clients[i]): decision is not learned.decision for i, j in found})
    ordered = sorted(edges.items(), key=lambda item: (clients.index(item[0][1]), clients.index(item[0][0])))
    return Confidence(count, same / count, {edge: times / count for edge, times in ordered})
