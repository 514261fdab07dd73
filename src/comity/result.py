"""The result of a study: coalitions, figures, models and proof, as they are kept, saved and used."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import warnings
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from comity.certificate import Certificate, certify
from comity.core import BenefitGraph, Coalition, Game, unknown_client
from comity.equilibrium import replay_peels
from comity.errors import ChangedError, ComityError, ComityWarning, FormatError, InputError
from comity.files import read_text, write_directory
from comity.formats.json_text import parse_json
from comity.fronts.simplex import Floats
from comity.metrics import METRICS
from comity.peels import Equilibrium
from comity.questions import Split
from comity.schema import Schema
from comity.study import Study

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("alone", "coalition", "best")
MARKER, MODELS = "result.json", "models.npz"
FILES = (MARKER, MODELS)
FORMAT = 1
_ROUNDING = 1e-9
_NORMAL = 1.96  # standard errors on either side: an interval of 95 %


@dataclass(frozen=True, slots=True)
class Figure:
    """A number and its standard error, both estimated on rows that chose and trained nothing. NaN: cannot be said."""

    value: float
    error: float

    @property
    def low(self) -> float:
        """Where the interval of 95 % begins."""
        return self.value - _NORMAL * self.error

    @property
    def high(self) -> float:
        """Where the interval of 95 % ends."""
        return self.value + _NORMAL * self.error


@dataclass(frozen=True, slots=True)
class Standing:
    """How a client stands: its rows, the metric alone, in its coalition and at best, and the gains over alone."""

    rows: int
    alone: Figure
    coalition: Figure
    best: Figure
    gain: Figure
    gain_at_best: Figure


@dataclass(frozen=True, slots=True)
class Contribution:
    """What `giver` brings `receiver` in their coalition: the cross-fitted loss that it would have more without."""

    giver: str
    receiver: str
    value: float


@dataclass(frozen=True, slots=True)
class Confidence:
    """How often something held in resamples of the rows: the coalitions as a whole, and each edge giver → receiver."""

    resamples: int
    equilibrium: float
    edges: Mapping[tuple[str, str], float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Result:
    """Who should train with whom: coalitions that nobody wants to leave, the models, what each gains, and the proof.

    `weights`, `penalties` and `models` have an entry each for training ``alone``, in the ``coalition`` and at ``best``
    (with everybody willing): arrays (N, N), (N,) and (N, d), with clients in the order of `clients`.
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
        ``alone``.
        """
        from comity.predictions import predict

        predicted, notes = predict(self, rows, check_kind(model))
        for note in notes:
            warnings.warn(note, ComityWarning, stacklevel=2)
        return predicted

    def to_dict(self) -> dict[str, Any]:
        """Return all but the models as plain values: what ``result.json`` holds, but for the seal."""
        return {
            "comity": _version(),
            "format": FORMAT,
            "study": _plain(asdict(self.study)),
            "metric": self.metric,
            "split": asdict(self.split),
            "schema": json.loads(self.schema.to_json()),
            "equilibrium": self.equilibrium.to_dict(),
            "graph": self.graph.to_dict(),
            "utilities": {client: _plain(asdict(standing)) for client, standing in self.utilities.items()},
            "weights": {kind: {i: self.weights_of(i, kind) for i in self.clients} for kind in KINDS},
            "penalties": {kind: dict(zip(self.clients, self.penalties[kind].tolist(), strict=True)) for kind in KINDS},
            "contributions": [asdict(each) for each in self.contributions],
            "confidence": None
            if self.confidence is None
            else {
                "resamples": self.confidence.resamples,
                "equilibrium": self.confidence.equilibrium,
                "edges": [
                    {"from": giver, "to": receiver, "share": share}
                    for (giver, receiver), share in self.confidence.edges.items()
                ],
            },
            "game": list(self.game.records()),
            "certificate": self.certificate.to_dict(),
            "traffic": dict(self.traffic),
            "left_out": list(self.left_out),
            "warnings": list(self.warnings),
        }

    def save(self, directory: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the result into a new directory: ``result.json`` and ``models.npz``; nothing is half-written."""
        stored = io.BytesIO()
        np.savez(stored, alone=self.models["alone"], coalition=self.models["coalition"], best=self.models["best"])
        document = self.to_dict()
        document["models"] = {"file": MODELS, "sha256": hashlib.sha256(stored.getvalue()).hexdigest()}
        document["seal"] = seal(document)
        text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
        write_directory(directory, {MARKER: text, MODELS: stored.getvalue()}, MARKER, force=force)

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Self:
        """Read a result, having checked that it is as it was written: see `verify`."""
        document, models = _read(directory)
        try:
            return cls._from_document(document, models)
        except ComityError as error:
            raise ChangedError(f"{directory}: {error}") from None
        except (AttributeError, IndexError, LookupError, TypeError, ValueError) as error:
            raise ChangedError(f"{directory}: what is in it does not go together ({type(error).__name__})") from None

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
            utilities={client: _standing(told) for client, told in document["utilities"].items()},
            game=game,
            certificate=certify(equilibrium, game, forgiven=document["certificate"]["forgiven"]),
            weights=weights,
            penalties={kind: np.array([document["penalties"][kind][i] for i in clients]) for kind in KINDS},
            models=models,
            confidence=None
            if told is None
            else Confidence(
                told["resamples"],
                told["equilibrium"],
                {(edge["from"], edge["to"]): edge["share"] for edge in told["edges"]},
            ),
            traffic=document["traffic"],
            left_out=tuple(document["left_out"]),
            warnings=tuple(document["warnings"]),
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
    document, _ = _read(directory)
    for part, again in result.to_dict().items():
        if part != "comity" and document.get(part) != json.loads(json.dumps(again)):
            raise ChangedError(f"{directory}: the part {part!r} is not what follows from the rest")
    if wrong := _disagreement(result):
        raise ChangedError(f"{directory}: {wrong}")
    return result


def _disagreement(result: Result) -> str | None:
    """Return in words what in a result does not go together, if anything."""
    if result.graph != result.equilibrium.peels[0].graph:
        return "the graph is not that of the first wishes"
    if tuple(result.utilities) != result.clients:
        return "the utilities are not those of the clients"
    for client, standing in result.utilities.items():
        for figure, gain in ((standing.coalition, standing.gain), (standing.best, standing.gain_at_best)):
            metric = METRICS[result.metric]
            expected = min(max(standing.alone.value + gain.value, metric.least), metric.most)
            if abs(figure.value - expected) > _ROUNDING * max(1.0, abs(expected)):
                return f"the gains of {client!r} are not what its figures differ by"
            if min(figure.error, gain.error, standing.alone.error) < 0 or standing.rows < 1:
                return f"the figures of {client!r} cannot be"
    for kind in KINDS:
        weights, models = result.weights[kind], result.models[kind]
        if (weights < 0).any() or not np.allclose(weights.sum(axis=1), 1):
            return f"the weights of the models {kind!r} are not shares of a whole"
        if models.shape[0] != len(result.clients) or not np.isfinite(models).all():
            return f"the models {kind!r} are not one for each client"
    for place, client in enumerate(result.clients):
        home = result.equilibrium.coalition_of(client)
        if any(result.clients[j] not in home for j in np.flatnonzero(result.weights["coalition"][place])):
            return f"the model of {client!r} in its coalition has weights on others"
    return None


def check_kind(model: str) -> str:
    """Check the name of a kind of model."""
    if model not in KINDS:
        raise InputError(f"there is no model {model!r}; choose one of {', '.join(KINDS)}")
    return model


def seal(document: Mapping[str, Any]) -> str:
    """Return the digest of all that a document says."""
    rest = {key: value for key, value in document.items() if key != "seal"}
    text = json.dumps(rest, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _read(directory: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Floats]]:
    """Read the two files of a result, having checked that they are as they were written."""
    place = Path(directory)
    if not os.fspath(directory):
        raise FormatError("the name of the directory is empty; give one that comity solve wrote with --out")
    if not place.is_dir():
        raise FormatError(f"{directory}: there is no such directory; give one that comity solve wrote with --out")
    if not (place / MARKER).exists():
        raise FormatError(f"{directory}: there is no {MARKER} in it; give a directory that comity solve wrote")
    try:
        document = parse_json(read_text(place / MARKER))
    except InputError as error:
        raise FormatError(f"{place / MARKER}: {str(error).removeprefix(f'{place / MARKER}: ')}") from None
    if not isinstance(document, dict) or "format" not in document or "seal" not in document:
        raise FormatError(f"{place / MARKER}: this is not a result of comity solve")
    if seal(document) != document["seal"]:
        raise ChangedError(f"{place / MARKER}: something in it was changed since it was written; its seal is broken")
    if document["format"] != FORMAT:
        raise FormatError(
            f"{place / MARKER}: its format is {document['format']!r} and this comity reads {FORMAT}; "
            "take the version that wrote it"
        )
    try:
        raw = (place / MODELS).read_bytes()
    except OSError as error:
        raise ChangedError(f"{place / MODELS}: cannot be read ({error.strerror or error})") from None
    try:
        if hashlib.sha256(raw).hexdigest() != document["models"]["sha256"]:
            raise ChangedError(f"{place / MODELS}: these are not the models that the result was written with")
        with np.load(io.BytesIO(raw), allow_pickle=False) as stored:
            return document, {kind: np.asarray(stored[kind], np.float64) for kind in KINDS}
    except (LookupError, TypeError, ValueError, OSError, zipfile.BadZipFile) as error:
        if isinstance(error, ComityError):
            raise
        raise ChangedError(f"{place / MODELS}: not the models of a result ({type(error).__name__})") from None


def _plain(value: Any) -> Any:
    """Return settings or figures as JSON has them: lists for tuples, null for what cannot be said."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _standing(told: Mapping[str, Any]) -> Standing:
    figures = {
        name: Figure(*(math.nan if each is None else each for each in (figure["value"], figure["error"])))
        for name, figure in told.items()
        if name != "rows"
    }
    return Standing(told["rows"], **figures)


def _version() -> str:
    from comity import __version__

    return __version__
