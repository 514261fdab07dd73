"""What one client gets of a result: its own figures and models, its coalition, and nothing private of others."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from comity.core import unknown_client
from comity.errors import FormatError
from comity.figures import KINDS, Standing
from comity.result import Result
from comity.schema import Schema
from comity.sealed import FORMAT, read_sealed, write_sealed
from comity.simplex import Floats
from comity.study import Study

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Own:
    """A client's part of a result.

    `weights` are those of its models over the clients; `unmet` are the collaborators that it wanted and that are not in
    its coalition; `brought` says what each of its coalition brings it; `others` has figures of those who show them.
    """

    client: str
    study: Study
    schema: Schema
    metric: str
    standing: Standing
    coalition: tuple[str, ...]
    coalitions: tuple[tuple[str, ...], ...]
    weights: Mapping[str, Mapping[str, float]]
    unmet: tuple[str, ...]
    brought: Mapping[str, float]
    verdict: str
    others: Mapping[str, Standing]
    models: Mapping[str, Floats]
    left_out: tuple[str, ...] = ()
    version: str = ""

    @classmethod
    def of(cls, result: Result, client: str, shown: Collection[str] = ()) -> Self:
        """Return what a client gets of a result; `shown` are the clients whose figures others may see."""
        if client not in result.clients:
            raise unknown_client(client, result.clients)
        home = result.equilibrium.coalition_of(client)
        place = result.clients.index(client)
        return cls(
            client=client,
            study=result.study,
            schema=result.schema,
            metric=result.metric,
            standing=result.utilities[client],
            coalition=tuple(sorted(home)),
            coalitions=tuple(tuple(sorted(each)) for each in result.coalitions),
            weights={kind: result.weights_of(client, kind) for kind in KINDS},
            unmet=tuple(wish.collaborator for wish in result.equilibrium.unmet if wish.client == client),
            brought={each.giver: each.value for each in result.contributions if each.receiver == client},
            verdict=result.certificate.verdict.value,
            others={name: result.utilities[name] for name in result.clients if name in shown and name != client},
            models={kind: result.models[kind][place : place + 1] for kind in KINDS},
            left_out=result.left_out,
            version=result.version,
        )

    @property
    def clients(self) -> tuple[str, ...]:
        """The client alone: it is the only one with models here."""
        return (self.client,)

    def to_dict(self) -> dict[str, Any]:
        """Return all but the models as plain values."""
        return {
            "comity": self.version,
            "format": FORMAT,
            "own": self.client,
            "study": self.study.to_dict(),
            "schema": json.loads(self.schema.to_json()),
            "metric": self.metric,
            "standing": self.standing.to_dict(),
            "coalition": list(self.coalition),
            "coalitions": [list(each) for each in self.coalitions],
            "weights": {kind: dict(each) for kind, each in self.weights.items()},
            "unmet": list(self.unmet),
            "brought": dict(self.brought),
            "verdict": self.verdict,
            "others": {name: each.to_dict() for name, each in self.others.items()},
            "left_out": list(self.left_out),
        }

    @classmethod
    def from_dict(cls, told: Mapping[str, Any], models: Mapping[str, Floats]) -> Self:
        """Return what was plain values, with the models."""
        return cls(
            client=told["own"],
            study=Study.from_mapping(told["study"]),
            schema=Schema.from_json(json.dumps(told["schema"])),
            metric=told["metric"],
            standing=Standing.from_dict(told["standing"]),
            coalition=tuple(told["coalition"]),
            coalitions=tuple(tuple(each) for each in told["coalitions"]),
            weights=told["weights"],
            unmet=tuple(told["unmet"]),
            brought=told["brought"],
            verdict=told["verdict"],
            others={name: Standing.from_dict(each) for name, each in told["others"].items()},
            models=models,
            left_out=tuple(told["left_out"]),
            version=told["comity"],
        )

    def save(self, directory: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write it into a new directory; nothing is half-written."""
        write_sealed(directory, self.to_dict(), self.models, networks=self.study.model != "linear", force=force)

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Self:
        """Read it, having checked that it is as it was written."""
        told, models = read_sealed(directory, KINDS)
        if "own" not in told:
            raise FormatError(f"{directory}: this is the result of a whole federation, not what one client got of it")
        return cls.from_dict(told, models)

    def predict(self, rows: pd.DataFrame, model: str = "coalition") -> pd.DataFrame:
        """Predict new rows of the client; they need no column that says whose they are."""
        from comity.predictions import predict

        column = self.study.client or "client"
        owned = rows if column in rows.columns else rows.assign(**{column: self.client})
        return predict(self, owned, model)[0]
