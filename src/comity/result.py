"""The result of a study: coalitions, figures, models and proof, as they are kept, saved and used."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from comity.certificate import Certificate, certify
from comity.core import BenefitGraph, Coalition, Game, unknown_client
from comity.core.optional import require
from comity.equilibrium import replay_peels
from comity.errors import ChangedError, ComityError, ComityWarning, FormatError, InputError
from comity.figures import KINDS, Confidence, Contribution, Standing
from comity.metrics import METRICS, Metric
from comity.peels import Equilibrium
from comity.questions import QUESTIONS, Split
from comity.schema import Schema
from comity.sealed import FORMAT, read_sealed, write_sealed
from comity.simplex import Floats
from comity.study import Study

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor, nn

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Result:
    """Who should train with whom: coalitions that nobody wants to leave, the models, what each gains, and the proof.

    `weights`, `penalties` and `models` have an entry each for training ``alone``, in the ``coalition``, at ``best``
    (with everybody willing) and, for comparison, all ``together`` (one model for all): arrays (N, N), (N,) and (N, d),
    with clients in the order of `clients`.
    """

    study: Study
    schema: Schema
    metric: str
    split: Split
    equilibrium: Equilibrium
    graph: BenefitGraph
    utilities: Mapping[str, Standing]
    game: Game
    certificate: Certificate
    weights: Mapping[str, Floats]
    penalties: Mapping[str, Floats]
    models: Mapping[str, Floats]
    confidence: Confidence | None
    traffic: Mapping[str, int]
    left_out: tuple[str, ...]
    warnings: tuple[str, ...]
    training: Mapping[str, Any] = field(default_factory=dict)
    """How networks were trained: nothing for linear models."""
    privacy: Mapping[str, Any] = field(default_factory=dict)
    """By what rules clients with clipped or noisy answers gave them, and what they had spent then (`PrivacyTold`)."""
    version: str = field(default_factory=lambda: _version())
    """The version of comity that made it."""

    @property
    def clients(self) -> tuple[str, ...]:
        """The clients, in order."""
        return self.equilibrium.clients

    @property
    def coalitions(self) -> tuple[Coalition, ...]:
        """The coalitions, in the order in which they form."""
        return self.equilibrium.coalitions

    @cached_property
    def contributions(self) -> tuple[Contribution, ...]:
        """What each collaborator brings to each client of its coalition: the margins of the certificate."""
        return tuple(
            Contribution(next(iter(each.without)), each.client, each.margin)
            for each in self.certificate.inner
            if len(each.without) == 1
        )

    def weights_of(self, client: str, model: str = "coalition") -> dict[str, float]:
        """Return the weights of a client's model over the clients that have one, itself first, then the largest."""
        if client not in self.clients:
            raise unknown_client(client, self.clients)
        row = self.weights[check_kind(model)][self.clients.index(client)]
        order = sorted(np.flatnonzero(row).tolist(), key=lambda j: (self.clients[j] != client, -row[j]))
        return {self.clients[j]: float(row[j]) for j in order}

    def predict(self, rows: pd.DataFrame, model: str = "coalition") -> pd.DataFrame:
        """Predict new rows: a frame with a row for each, in order, with client, prediction and, for classes, p_<class>.

        `rows` need the column that says whose each is. `model` is the client's in its ``coalition``, at ``best`` or
        ``alone``, or ``together`` the one for all.
        """
        from comity.predictions import predict

        if self.study.model == "module":
            raise InputError(
                "the models are of a torch module, which predicts by itself: take its parameters (state_of)"
            )
        predicted, notes = predict(self, rows, check_kind(model))
        for note in notes:
            warnings.warn(note, ComityWarning, stacklevel=2)
        return predicted

    def state_of(
        self, client: str, module: nn.Module, model: str = "coalition", personal: str | None = None
    ) -> dict[str, Tensor]:
        """Return a client's parameters for a torch module, by name, as `load_state_dict` takes them.

        Parameters that are personal, by the pattern, stay with their client; they are not among these.
        """
        if client not in self.clients:
            raise unknown_client(client, self.clients)
        require("torch", "to fill a torch module")
        from comity.neural.modules import state_of

        return state_of(module, self.models[check_kind(model)][self.clients.index(client)], personal)

    def to_dict(self) -> dict[str, Any]:
        """Return all but the models as plain values: what ``result.json`` holds, but for the seal."""
        return {
            "comity": self.version,
            "format": FORMAT,
            "study": self.study.to_dict(),
            "metric": self.metric,
            "split": asdict(self.split),
            "schema": json.loads(self.schema.to_json()),
            "equilibrium": self.equilibrium.to_dict(),
            "graph": self.graph.to_dict(),
            "utilities": {client: standing.to_dict() for client, standing in self.utilities.items()},
            "weights": {kind: {i: self.weights_of(i, kind) for i in self.clients} for kind in KINDS},
            "penalties": {kind: dict(zip(self.clients, self.penalties[kind].tolist(), strict=True)) for kind in KINDS},
            "contributions": [asdict(each) for each in self.contributions],
            "confidence": None if self.confidence is None else self.confidence.to_dict(),
            "game": list(self.game.records()),
            "certificate": self.certificate.to_dict(),
            "traffic": dict(self.traffic),
            "left_out": list(self.left_out),
            "warnings": list(self.warnings),
            "training": dict(self.training),
            **({"privacy": dict(self.privacy)} if self.privacy else {}),
        }

    def save(self, directory: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the result into a new directory: ``result.json`` and ``models.npz``; nothing is half-written."""
        networks = self.study.model != "linear"
        write_sealed(directory, self.to_dict(), self.models, networks=networks, force=force)

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Self:
        """Read a result, having checked that it is as it was written: see `verify`."""
        document, models = read_sealed(directory, KINDS)
        if "own" in document:
            raise FormatError(f"{directory}: this is what one client got of a result, not the whole")
        with _changed(directory):
            return cls._from_document(document, models)

    @classmethod
    def _from_document(cls, document: dict[str, Any], models: dict[str, Floats]) -> Self:
        equilibrium = replay_peels(document["equilibrium"])
        clients = equilibrium.clients
        game = Game.from_records(document["game"])
        split, settings = Split(**document["split"]), document["study"]
        weights = {
            kind: np.array([[document["weights"][kind][i].get(j, 0.0) for j in clients] for i in clients])
            for kind in KINDS
        }
        told = document["confidence"]
        return cls(
            study=Study.from_mapping(settings),
            schema=Schema.from_json(json.dumps(document["schema"])),
            metric=document["metric"],
            split=split,
            equilibrium=equilibrium,
            graph=BenefitGraph(document["graph"]),
            utilities={client: Standing.from_dict(each) for client, each in document["utilities"].items()},
            game=game,
            certificate=certify(equilibrium, game, forgiven=document["certificate"]["forgiven"]),
            weights=weights,
            penalties={kind: np.array([document["penalties"][kind][i] for i in clients]) for kind in KINDS},
            models=models,
            confidence=None if told is None else Confidence.from_dict(told),
            traffic=document["traffic"],
            left_out=tuple(document["left_out"]),
            warnings=tuple(document["warnings"]),
            training=document.get("training", {}),
            privacy=document.get("privacy", {}),
            version=document["comity"],
        )

    def __repr__(self) -> str:
        told = repr(self.equilibrium).removeprefix("Equilibrium(").removesuffix(")")
        return f"<Result: {told}; {self.certificate.verdict}>"

    def _repr_html_(self) -> str:
        from comity.tellings import as_html

        return as_html(self)


def verify(directory: str | os.PathLike[str]) -> Result:
    """Check a saved result: that nothing was changed, that coalitions follow from wishes, and the proof; return it.

    What was changed is a `ChangedError` that says where; something else than a result is a `FormatError`. A result
    whose proof does not hold is returned, and its certificate says so.

    The seal finds every slip and every change by hand. Somebody who seals a changed result again can only say what
    goes together: coalitions that follow from the wishes, and a proof that follows from the utilities.
    """
    result = Result.load(directory)
    document, _ = read_sealed(directory, KINDS)
    with _changed(directory):
        for part, again in result.to_dict().items():
            if document.get(part) != json.loads(json.dumps(again)):
                raise InputError(f"the part {part!r} is not what follows from the rest")
        if wrong := _disagreement(result):
            raise InputError(wrong)
    return result


@contextmanager
def _changed(directory: str | os.PathLike[str]) -> Iterator[None]:
    """Say of whatever goes wrong with what was read that it was changed: nothing like it is ever written."""
    try:
        yield
    except ComityError as error:
        raise ChangedError(f"{directory}: {error}") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ChangedError(f"{directory}: what is in it does not go together ({type(error).__name__})") from None


def _disagreement(result: Result) -> str | None:
    """Return in words what in a result does not go together, if anything."""
    if result.graph != result.equilibrium.peels[0].graph:
        return "the graph is not that of the first wishes"
    if METRICS[result.metric].task != result.schema.target.task:
        return f"the metric {result.metric!r} is not for the target"
    if set(result.certificate.forgiven) != set(result.clients):
        return "what the proof forgives is not said of each client"
    counts = [*result.traffic.values(), *(standing.rows for standing in result.utilities.values())]
    if set(result.traffic) != {"rounds", "sent", "received"} or any(type(each) is not int for each in counts):
        return "rows, rounds or bytes are not whole numbers"
    if wrong := _wrong_with_privacy(result):
        return wrong
    if tuple(result.utilities) != result.clients:
        return "the utilities are not those of the clients"
    for client, standing in result.utilities.items():
        if wrong := _wrong_with(standing, METRICS[result.metric]):
            return f"{wrong} of {client!r}"
    for kind in KINDS:
        weights, models = result.weights[kind], result.models[kind]
        if (weights < 0).any() or not np.allclose(weights.sum(axis=1), 1):
            return f"the weights of the models {kind!r} are not shares of a whole"
        penalties = result.penalties[kind]
        allowed = penalties > 0 if result.study.model == "linear" else penalties == 0
        if not (allowed & np.isfinite(penalties)).all():
            return f"the penalties of the models {kind!r} are not positive"
        size = _size(result)
        if models.shape != (len(result.clients), size) or not np.isfinite(models).all():
            return f"the models {kind!r} are not one for each client"
    if not np.array_equal(result.weights["alone"], np.eye(len(result.clients))):
        return "the models 'alone' have weights on others"
    if not np.allclose(result.weights["together"], 1 / len(result.clients)):
        return "the models 'together' do not weigh all clients alike"
    for place, client in enumerate(result.clients):
        home = result.equilibrium.coalition_of(client)
        if any(result.clients[j] not in home for j in np.flatnonzero(result.weights["coalition"][place])):
            return f"the model of {client!r} in its coalition has weights on others"
    return None


def _wrong_with_privacy(result: Result) -> str | None:
    """Return in words what in the statements of privacy cannot be, if anything."""
    for client, stated in result.privacy.items():
        if client not in result.clients:
            return f"privacy is stated of {client!r}, which is no client"
        figures = [stated["epsilon"], *(each["epsilon"] for each in stated["by_kind"].values())]
        if any(not isinstance(each, int | float) or not 0 <= each < math.inf for each in figures):
            return f"the privacy of {client!r}, which cannot be"
        if set(stated["covered"]) & set(stated["not_covered"]) or not set(stated["by_kind"]) <= set(QUESTIONS):
            return f"what noise covers of {client!r}"
    return None


def _size(result: Result) -> int:
    """Return how many parameters a model has."""
    study, features, classes = result.study, len(result.schema.features), len(result.schema.target.classes)
    pair = 2
    if study.model == "linear":
        return (features + 1) * (classes if classes > pair else 1)
    if study.model == "module":
        return int(result.models["alone"].shape[1])
    widths = [features, *[study.width] * study.depth, classes or 1]
    return sum((before + 1) * after for before, after in pairwise(widths))


def _wrong_with(standing: Standing, metric: Metric) -> str | None:
    """Return in words what in a client's figures does not go together, if anything."""
    gained = (standing.gain, standing.gain_at_best, standing.gain_together)
    for figure, gain in zip((standing.coalition, standing.best, standing.together), gained, strict=True):
        expected = standing.alone.value + gain.value
        if math.isnan(figure.value) != math.isnan(expected):
            return "what cannot be said"
        if abs(figure.value - expected) > _ROUNDING * max(1.0, abs(expected)):
            return "a gain that is not what figures differ by"
        known = [each for each in (figure.error, gain.error, standing.alone.error) if not math.isnan(each)]
        wild = [each for each in known if each < 0 or math.isinf(each)]
        possible = math.isnan(figure.value) or metric.least <= figure.value <= metric.most
        if wild or not possible or standing.rows < 1:
            return "the figures, which cannot be,"
    return None


def _version() -> str:
    from comity import __version__

    return __version__


def check_kind(model: str) -> str:
    """Check the name of a kind of model."""
    if model not in KINDS:
        raise InputError(f"there is no model {model!r}; choose one of {', '.join(KINDS)}")
    return model
