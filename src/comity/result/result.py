"""The result of a study: coalitions, scores, models and proof."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from comity import __version__
from comity.core.arrays import Floats
from comity.core.estimates import Confidence, Contribution, Estimate, Standing
from comity.core.extras import require
from comity.core.kinds import ModelKind
from comity.core.metrics import METRICS
from comity.core.names import Coalition, unknown_client
from comity.errors import ComityWarning, FormatError, InputError
from comity.families.family import Family
from comity.families.registry import FAMILIES
from comity.game.certificate import Certificate, certify
from comity.game.equilibrium import replay_peels
from comity.game.game import Game
from comity.game.graph import BenefitGraph
from comity.game.peels import Equilibrium
from comity.questions import Split, from_plain, to_plain
from comity.questions.schema import Schema
from comity.result.directory import FORMAT, Stored, as_changed, read_sealed, write_sealed
from comity.study import Study

if TYPE_CHECKING:
    import networkx
    import pandas as pd
    from matplotlib.figure import Figure
    from torch import Tensor, nn

_NEGLIGIBLE = 1e-6  # of the value alone: a gain that the proof needs, and nobody would see


@dataclass(frozen=True, eq=False)
class Result:
    """Who should train with whom: coalitions that nobody wants to leave, the models, what each gains, and the proof.

    `summary`, `to_frame`, `edges` and `plot` show it; `predict`, `coefficients` and `state_of` use its models; `save`,
    `load` and `report` keep it.

    Attributes:
        study: The settings.
        schema: How rows become numbers.
        metric: How models are evaluated.
        split: How rows were split.
        equilibrium: The coalitions, and the peels that produced them.
        graph: Who is a collaborator of whom if every client is willing.
        utilities: Each client's metric with each of its models, and its gains.
        mean_gain: The clients' mean gain in their coalitions.
        game: The utilities that were measured: losses with a minus.
        certificate: What they prove about the equilibrium.
        contributions: What each collaborator brings to each client of its coalition.
        weights: For each kind of model, the weights (N, N) of each client's model over the clients.
        penalties: For each kind of model, the penalty of each client's model (N,).
        models: For each kind of model, the parameters of each client's model (N, d).
        confidence: How often resamples gave the same edges and coalitions, if there were any.
        traffic: Rounds, and bytes sent and received.
        left_out: Columns that could not be used.
        warnings: What users should know, in sentences.
        training: How networks were trained; nothing for linear models.
        privacy: The rules and the spent budget of clients with clipped or noisy answers.
        disclosure: Of clients with a limit to it, how much of their rows they have disclosed so far, and the limit.
        files: What each client trained, as files, if models are weights of these.
        version: The version of comity that made it.
    """

    study: Study
    schema: Schema
    metric: str
    split: Split
    equilibrium: Equilibrium
    graph: BenefitGraph
    utilities: Mapping[str, Standing]
    mean_gain: Estimate
    game: Game
    certificate: Certificate
    contributions: tuple[Contribution, ...]
    weights: Mapping[ModelKind, Floats]
    penalties: Mapping[ModelKind, Floats]
    models: Mapping[ModelKind, Floats]
    confidence: Confidence | None
    traffic: Mapping[str, int]
    left_out: tuple[str, ...]
    warnings: tuple[str, ...]
    training: Mapping[str, Any] = field(default_factory=dict)
    privacy: Mapping[str, Any] = field(default_factory=dict)
    disclosure: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    files: tuple[bytes, ...] = ()
    version: str = __version__

    @property
    def clients(self) -> tuple[str, ...]:
        """The clients, in order."""
        return self.equilibrium.clients

    @property
    def family(self) -> Family:
        """The family of its models."""
        return FAMILIES[self.study.model]

    @property
    def coalitions(self) -> tuple[Coalition, ...]:
        """The coalitions, in the order in which they form."""
        return self.equilibrium.coalitions

    @property
    def share_better_off(self) -> float:
        """The share of all clients that are expected to do better in their coalitions than alone."""
        alone = {client: abs(standing.alone.value) for client, standing in self.utilities.items()}
        gains = self._gains()
        return sum(gain > _NEGLIGIBLE * alone[client] for client, gain in gains.items()) / len(self.clients)

    @property
    def worst_off(self) -> str | None:
        """The client that gains least of those that train with others; None if nobody does, or no gain is known."""
        gains = self._gains()
        return min(gains, key=gains.__getitem__, default=None)

    @property
    def expected_wrong_edges(self) -> float:
        """How many of the `contributions` are expected to bring nothing: the sum of 1 - probability; NaN if unknown.

        Example:
            >>> import comity
            >>> from comity.research.datasets.hospitals import CLIENT, TARGET, hospitals
            >>> result = comity.solve(hospitals(), client=CLIENT, target=TARGET)
            >>> result.expected_wrong_edges < len(result.contributions) / 2
            True
            >>> f"{result.share_better_off:.0%} of the clients gain, {result.worst_off} the least of them"
            '73% of the clients gain, Northgate the least of them'
        """
        return float(sum(1 - each.probability for each in self.contributions))

    def _gains(self) -> dict[str, float]:
        """Return the known gains of the clients whose models use rows of others, positive if they do better."""
        sign = 1 if METRICS[self.metric].more_is_better else -1
        gains = {client: sign * standing.gain.value for client, standing in self.utilities.items()}
        helped = (client for client in self.clients if set(self.weights_of(client)) != {client})
        return {client: gains[client] for client in helped if not math.isnan(gains[client])}

    def summary(self) -> str:
        """Return in a few lines what was asked, what came out, and what it proves."""
        from comity.result.sections import stability, summary

        return f"{summary(self)}\n{stability(self)}"

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with a row for each client.

        Returns:
            By client: its ``rows``; the metric with its model ``alone``, in its ``coalition``, at ``best`` and
            ``together``; its ``gain`` in the coalition over alone, positive if the coalition is better, with an
            interval of 95 % (``gain_low``, ``gain_high``) and the ``probability`` that it gains, where these are known;
            the ``members`` of its coalition; and its ``collaborators`` if every client were willing.
        """
        from comity.result.frames import clients_frame

        return clients_frame(self)

    def edges(self) -> pd.DataFrame:
        """Return a DataFrame with a row for each edge of the benefit graph.

        Returns:
            The ``giver`` and the ``receiver``; the giver's ``weight`` in the receiver's best model; whether the wish is
            ``met``, so that both are in one coalition; the giver's ``contribution``: how much the receiver's
            loss in their coalition would rise without it, missing if not measured; the ``probability`` that it
            contributes anything, and the share of ``resamples`` in which the edge was found, where these are known.
        """
        from comity.result.frames import edges_frame

        return edges_frame(self)

    def to_networkx(self) -> networkx.DiGraph[str]:
        """Return the benefit graph as a networkx `DiGraph` whose edges have the giver's share as their ``weight``."""
        return self.graph.to_networkx(self.edges().set_index(["giver", "receiver"])["weight"].to_dict())

    def plot(self) -> Figure:
        """Draw the coalitions and who is a collaborator of whom, as a matplotlib figure.

        Raises:
            MissingDependencyError: If matplotlib (the extra ``figures``) is not installed.
        """
        from comity.report.drawing import plot

        brings = {(each.giver, each.receiver): each.value for each in self.contributions}
        return plot(self.graph, self.equilibrium, brings)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a report for people, one HTML file that needs nothing else.

        Args:
            path: The file; one that is there is replaced.

        Raises:
            OutputError: If the file cannot be written.
        """
        from comity.report import write_report

        write_report(self, path)

    def weights_of(self, client: str, model: str = "coalition") -> dict[str, float]:
        """Return the weights of a client's model over the clients: its own first, then the largest.

        Args:
            client: The client.
            model: ``alone``, ``coalition``, ``best`` or ``together``.

        Returns:
            The weights that are not zero, by client.

        Raises:
            UnknownClientError: If there is no such client.
            InputError: If there is no such model.
        """
        row = self.weights[check_kind(model)][self._place(client)]
        order = sorted(np.flatnonzero(row).tolist(), key=lambda j: (self.clients[j] != client, -row[j]))
        return {self.clients[j]: float(row[j]) for j in order}

    def coefficients(self, client: str, model: str = "coalition") -> pd.DataFrame:
        """Return the coefficients of a client's linear model by name, in the units of the columns.

        Args:
            client: The client.
            model: ``alone``, ``coalition``, ``best`` or ``together``.

        Returns:
            A row for each feature and one for the ``(intercept)``. For a number there is one column, and the prediction
            is the sum of coefficients times values. For classes it is a log-odds: one column for the second of two
            classes, or one for each class. For counts it is the logarithm of what is expected (for an exposure of one),
            for survival that of the relative risk. A missing value counts as 0, with its own coefficient.

        Raises:
            UnknownClientError: If there is no such client.
            InputError: If there is no such model, or models have no coefficients.
        """
        from comity.result.frames import coefficients_frame

        parameters = self.family.coefficients(self.schema, self.models[check_kind(model)][self._place(client)])
        if parameters is None:
            raise InputError(f"models of the kind {self.study.model!r} have no coefficients; linear ones do")
        return coefficients_frame(self.schema, parameters)

    def predict(
        self,
        rows: pd.DataFrame,
        *,
        client: str | None = None,
        model: str = "coalition",
        at: Sequence[float] = (),
        baseline: pd.DataFrame | None = None,
    ) -> pd.DataFrame:
        """Predict new rows, each with its client's model.

        Args:
            rows: The rows, with the columns that the models were trained with.
            client: The client of all rows; by default, a column names the client of each row.
            model: ``alone``, ``coalition``, ``best`` or ``together``.
            at: Of survival: the times until which its probability is predicted.
            baseline: With times, rows that were followed, such as those of training: the baseline hazard follows from
                their times and events.

        Returns:
            A row for each, in order: ``client``, ``prediction`` and, for classes, the probabilities ``p_<class>``. For
            survival the prediction is the relative risk, and ``survival_<time>`` the probability of no event until a
            time.

        Raises:
            UnknownClientError: If there is no model for a client.
            InputError: If a column is missing, or the models are of a torch module.
        """
        from comity.result.survival import predict_survival

        predicted, notes = predict_survival(self, rows, check_kind(model), client, followed=baseline, at=at)
        for note in notes:
            warnings.warn(note, ComityWarning, stacklevel=2)
        return predicted

    def state_of(
        self, client: str, module: nn.Module, model: str = "coalition", personal: str | None = None
    ) -> dict[str, Tensor]:
        """Return a client's parameters for a torch module, by name, as `load_state_dict` takes them.

        Args:
            client: The client.
            module: A module like the one that was trained.
            model: ``alone``, ``coalition``, ``best`` or ``together``.
            personal: The pattern of personal parameters; these stay with their client, and are not among the returned.

        Returns:
            The parameters, by name.

        Raises:
            UnknownClientError: If there is no such client.
        """
        require("torch", "to fill a torch module")
        from comity.families.network.modules import state_of

        return state_of(module, self.models[check_kind(model)][self._place(client)], personal)

    def _place(self, client: str) -> int:
        if client not in self.clients:
            raise unknown_client(client, self.clients)
        return self.clients.index(client)

    def to_dict(self) -> dict[str, Any]:
        """Return all but the models as plain values: what ``result.json`` holds, but for the seal."""
        return {
            "comity": self.version,
            "format": FORMAT,
            "study": self.study.to_dict(),
            "metric": self.metric,
            "split": asdict(self.split),
            "schema": to_plain(self.schema),
            "equilibrium": self.equilibrium.to_dict(),
            "graph": self.graph.to_dict(),
            "utilities": {client: standing.to_dict() for client, standing in self.utilities.items()},
            "mean_gain": self.mean_gain.to_dict(),
            "weights": {kind: {i: self.weights_of(i, kind) for i in self.clients} for kind in ModelKind},
            "penalties": {
                kind: dict(zip(self.clients, self.penalties[kind].tolist(), strict=True)) for kind in ModelKind
            },
            "contributions": [each.to_dict() for each in self.contributions],
            "confidence": None if self.confidence is None else self.confidence.to_dict(),
            "game": list(self.game.records()),
            "certificate": self.certificate.to_dict(),
            "traffic": dict(self.traffic),
            "left_out": list(self.left_out),
            "warnings": list(self.warnings),
            "training": dict(self.training),
            **({"privacy": dict(self.privacy)} if self.privacy else {}),
            **({"disclosure": {name: dict(each) for name, each in self.disclosure.items()}} if self.disclosure else {}),
        }

    def save(self, directory: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the result into a new directory: ``result.json`` and the models; nothing is half-written.

        Args:
            directory: The directory.
            force: Whether an earlier result there may be replaced.

        Raises:
            OutputError: If the directory cannot be written, or holds something else.
        """
        write_sealed(directory, self.to_dict(), self.models, self.family.model_file, files=self.files, force=force)

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Self:
        """Read a result, having checked that it is as it was written; `verify` checks more.

        Args:
            directory: The directory that `save` wrote.

        Returns:
            The result.

        Raises:
            ChangedError: If something was changed since.
            FormatError: If it is something else than a result.
        """
        document, stored = read_sealed(directory)
        if "own" in document:
            raise FormatError(f"{directory}: this is what one client got of a result, not the whole")
        with as_changed(directory):
            return cls._from_document(document, stored)

    @classmethod
    def _from_document(cls, document: dict[str, Any], stored: Stored) -> Self:
        equilibrium, game = replay_peels(document["equilibrium"]), Game(document["game"])
        clients, confidence = equilibrium.clients, document["confidence"]
        return cls(
            study=Study.from_mapping(document["study"]),
            schema=from_plain(Schema, document["schema"]),
            metric=document["metric"],
            split=Split(**document["split"]),
            equilibrium=equilibrium,
            graph=BenefitGraph(document["graph"]),
            utilities={client: Standing.from_dict(each) for client, each in document["utilities"].items()},
            mean_gain=Estimate.from_dict(document["mean_gain"]),
            game=game,
            certificate=certify(equilibrium, game, forgiven=document["certificate"]["forgiven"]),
            contributions=tuple(map(Contribution.from_dict, document["contributions"])),
            weights={
                kind: np.array([[document["weights"][kind][i].get(j, 0.0) for j in clients] for i in clients])
                for kind in ModelKind
            },
            penalties={kind: np.array([document["penalties"][kind][i] for i in clients]) for kind in ModelKind},
            models=stored.models,
            files=stored.files,
            confidence=None if confidence is None else Confidence.from_dict(confidence),
            traffic=document["traffic"],
            left_out=tuple(document["left_out"]),
            warnings=tuple(document["warnings"]),
            training=document.get("training", {}),
            privacy=document.get("privacy", {}),
            disclosure=document.get("disclosure", {}),
            version=document["comity"],
        )

    def __repr__(self) -> str:
        coalitions = repr(self.equilibrium).removeprefix("Equilibrium(").removesuffix(")")
        return f"<Result: {coalitions}; {self.certificate.verdict}>"

    def _repr_html_(self) -> str:
        from comity.result.sections import as_html

        return as_html(self)


def contributions_of(certificate: Certificate) -> tuple[Contribution, ...]:
    """Return what each collaborator brings to each client of its coalition: the margins of a certificate."""
    return tuple(
        Contribution(next(iter(each.without)), each.client, each.margin)
        for each in certificate.inner
        if len(each.without) == 1
    )


def check_kind(model: str) -> ModelKind:
    """Return the kind of model that a name says."""
    if model not in list(ModelKind):
        raise InputError(f"there is no model {model!r}; choose one of {', '.join(ModelKind)}")
    return ModelKind(model)
