"""A client's part of a result on its way to its site: with its models, or with what the site fits them from."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from comity.client.gate import Respondent
from comity.core.arrays import Floats, join_files, split_files
from comity.core.kinds import ModelKind
from comity.errors import FormatError
from comity.families.glm.priors import Priors
from comity.families.registry import FAMILIES
from comity.flower.transport.journal import Journal
from comity.questions import Packed
from comity.result.client_result import ClientResult

_KIND = "ClientResult"
_FILES = ("files", "sizes")
_QUESTION = Packed("Priors", "", {})  # under which the journal keeps a client's priors


@dataclass(frozen=True, slots=True)
class KeptPriors:
    """The priors of all clients, kept in a directory until every client has received its own."""

    directory: Path

    def keep(self, priors: Mapping[str, Priors]) -> None:
        """Write the priors of each client to a file."""
        for client, each in priors.items():
            Journal(self.directory).keep(client, _QUESTION, Packed(_QUESTION.kind, "", each.to_arrays()))

    def find(self, client: str) -> dict[str, Floats]:
        """Return a client's priors.

        Raises:
            FormatError: They are missing, or cannot be read.
        """
        try:
            found = Journal(self.directory).find(client, _QUESTION)
        except FormatError:
            found = None
        if found is None:
            raise FormatError(
                f"what its models are fitted from is missing in {self.directory}, or cannot be read; move the result "
                "away, and run again"
            )
        return found.arrays


def pack_part(own: ClientResult, kept: KeptPriors) -> Packed:
    """Return a client's part as it is sent: its personal models are left out if its site can fit them."""
    arrays: dict[str, Any]
    if own.study.borrows and FAMILIES[own.study.model].exact:
        arrays = {ModelKind.TOGETHER.value: own.models[ModelKind.TOGETHER], **kept.find(own.client)}
    else:
        arrays = {kind.value: np.asarray(models) for kind, models in own.models.items()}
        if own.files:
            arrays |= dict(zip(_FILES, join_files(own.files), strict=True))
    return Packed(_KIND, json.dumps(own.to_dict(), ensure_ascii=False), arrays)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A client's part of a result as it arrives; with `priors`, some of its models are still to be fitted."""

    result: ClientResult
    priors: Priors | None

    @classmethod
    def read(cls, packed: Packed) -> Part:
        """Return what a message holds.

        Raises:
            FormatError: It is no client's result, or its models or priors cannot be used.
        """
        arrays: dict[str, Any] = dict(packed.arrays)
        joined = [arrays.pop(name) for name in _FILES if name in arrays]
        whole = set(arrays) == set(ModelKind)
        models = {kind: arrays.pop(kind.value) for kind in ModelKind if whole or kind == ModelKind.TOGETHER}
        try:
            files = split_files(*joined) if joined else ()
            result = ClientResult.from_dict(json.loads(packed.plain), models, files)
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"the message does not hold a client's result ({type(error).__name__})") from None
        if whole:
            return cls(result, None)
        size, together = result.schema.parameters, models[ModelKind.TOGETHER]
        if together.shape != (1, size) or not np.isfinite(together).all():
            raise FormatError(f"the model for all has the shape {together.shape}; it must be {size} finite numbers")
        return cls(result, Priors.from_arrays(arrays, size))

    def completed(self, client: Callable[[], Respondent]) -> ClientResult:
        """Return the result with all models, those that are missing fitted on the rows of a client."""
        if self.priors is None:
            return self.result
        fitted = client().fit_personal(self.result.schema, self.priors)
        return replace(self.result, models={**self.result.models, **fitted}, fitted_at_site=True)
