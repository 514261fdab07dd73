"""Answers kept on disk, so that a job that was cut off goes on where it was.

All that a job does follows from what clients answer. One that begins again asks the same questions in the same order:
those that were answered before are answered from the journal, until it is where it was.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from comity.errors import FormatError
from comity.files import writing
from comity.questions import Packed

_TOLD = "told"


@dataclass(frozen=True, slots=True)
class Journal:
    """A directory with a file for each answer, named by a digest of the client and what it was asked."""

    directory: Path

    def find(self, client: str, question: Packed) -> Packed | None:
        """Return what a client answered to a question, if it did."""
        path = self._path(client, question)
        if not path.exists():
            return None
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as kept:
                told = json.loads(str(kept[_TOLD]))
                return Packed(told["kind"], told["plain"], {name: kept[f"array {name}"] for name in told["arrays"]})
        except (OSError, ValueError, LookupError, EOFError, zipfile.BadZipFile) as error:
            raise FormatError(
                f"{path}: this answer cannot be read ({error}); remove the file, and the client is asked again"
            ) from None

    def keep(self, client: str, question: Packed, answer: Packed) -> None:
        """Keep an answer; the file is there wholly, or not at all."""
        told = json.dumps({"kind": answer.kind, "plain": answer.plain, "arrays": list(answer.arrays)})
        arrays = {f"array {name}": each for name, each in answer.arrays.items()}
        self.directory.mkdir(parents=True, exist_ok=True)
        with writing(self._path(client, question)) as opened:
            np.savez(opened, allow_pickle=False, **{_TOLD: np.array(told)}, **arrays)

    def clear(self) -> None:
        """Forget all answers."""
        for path in self.directory.glob("*.npz"):
            path.unlink(missing_ok=True)

    def _path(self, client: str, question: Packed) -> Path:
        name = hashlib.sha256(json.dumps([client, question.digest]).encode()).hexdigest()
        return self.directory / f"{name}.npz"
