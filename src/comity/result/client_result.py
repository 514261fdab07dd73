"""What one client gets of a result: its scores and models, its coalition, and nothing private of others."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from comity.core.arrays import Floats
from comity.core.estimates import Standing
from comity.core.kinds import ModelKind
from comity.core.names import unknown_client
from comity.errors import FormatError
from comity.families.registry import FAMILIES
from comity.questions import from_plain, to_plain
from comity.questions.schema import Schema
from comity.result.directory import FORMAT, read_sealed, write_sealed
from comity.result.result import Result, check_kind
from comity.study import Study

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class ClientResult:
    """A client's part of a result.

    `weights` are those of its models over the clients; `unmet` are the collaborators that it wanted and that are not in
    its coalition; `brought` is what each member of its coalition contributes to it; `others` has the scores of clients
    that show them to everybody; `fitted_at_site` is whether the client fitted its models itself, on its own rows.
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
    models: Mapping[ModelKind, Floats]
    files: tuple[bytes, ...] = ()
    left_out: tuple[str, ...] = ()
    version: str = ""
    fitted_at_site: bool = False

    @classmethod
    def of(cls, result: Result, client: str, shown: Collection[str] = ()) -> Self:
        """Return what a client gets of a result; `shown` are the clients whose scores others may see."""
        if client not in result.clients:
            raise unknown_client(client, result.clients)
        place = result.clients.index(client)
        return cls(
            client=client,
            study=result.study,
            schema=result.schema,
            metric=result.metric,
            standing=result.utilities[client],
            coalition=tuple(sorted(result.equilibrium.coalition_of(client))),
            coalitions=tuple(tuple(sorted(each)) for each in result.coalitions),
            weights={kind: result.weights_of(client, kind) for kind in ModelKind},
            unmet=tuple(wish.collaborator for wish in result.equilibrium.unmet if wish.client == client),
            brought={each.giver: each.value for each in result.contributions if each.receiver == client},
            verdict=result.certificate.verdict.value,
            others={name: result.utilities[name] for name in result.clients if name in shown and name != client},
            models={kind: result.models[kind][place : place + 1] for kind in ModelKind},
            files=_files_for(result, client),
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
            "schema": to_plain(self.schema),
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
            "fitted_at_site": self.fitted_at_site,
        }

    @classmethod
    def from_dict(
        cls, saved: Mapping[str, Any], models: Mapping[ModelKind, Floats], files: tuple[bytes, ...] = ()
    ) -> Self:
        """Return what was plain values, with the models."""
        return cls(
            client=saved["own"],
            study=Study.from_mapping(saved["study"]),
            schema=from_plain(Schema, saved["schema"]),
            metric=saved["metric"],
            standing=Standing.from_dict(saved["standing"]),
            coalition=tuple(saved["coalition"]),
            coalitions=tuple(tuple(each) for each in saved["coalitions"]),
            weights=saved["weights"],
            unmet=tuple(saved["unmet"]),
            brought=saved["brought"],
            verdict=saved["verdict"],
            others={name: Standing.from_dict(each) for name, each in saved["others"].items()},
            models=models,
            files=files,
            left_out=tuple(saved["left_out"]),
            version=saved["comity"],
            fitted_at_site=saved.get("fitted_at_site", False),
        )

    def save(self, directory: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write it into a new directory; nothing is half-written."""
        file = FAMILIES[self.study.model].model_file
        write_sealed(directory, self.to_dict(), self.models, file, files=self.files, force=force)

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Self:
        """Read it, having checked that it is as it was written."""
        saved, stored = read_sealed(directory)
        if "own" not in saved:
            raise FormatError(f"{directory}: this is the result of a whole federation, not what one client got of it")
        return cls.from_dict(saved, stored.models, stored.files)

    def predict(
        self,
        rows: pd.DataFrame,
        model: str = "coalition",
        *,
        at: Sequence[float] = (),
        baseline: pd.DataFrame | None = None,
    ) -> pd.DataFrame:
        """Predict new rows of the client, as `Result.predict` does; no column needs to say whose they are."""
        from comity.result.survival import predict_survival

        owner = None if (self.study.client or "client") in rows.columns else self.client
        return predict_survival(self, rows, check_kind(model), owner, followed=baseline, at=at)[0]


def _files_for(result: Result, client: str) -> tuple[bytes, ...]:
    """Return what the members of a client's coalition trained, and empty files for all others."""
    members = result.equilibrium.coalition_of(client)
    return tuple(file if name in members else b"" for name, file in zip(result.clients, result.files, strict=False))
