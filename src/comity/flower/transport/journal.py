"""Answers kept on disk, so that an interrupted job continues where it stopped.

A job is determined by its clients' answers. When it runs again it asks the same questions in the same order; those that
were answered before are answered from the journal.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from comity.core.files import open_atomic
from comity.errors import FormatError
from comity.questions import Packed

_SUMMARY = "summary"


@dataclass(frozen=True, slots=True)
class Journal:
    """A directory with a file for each answer, named by a digest of the client and what it was asked."""

    directory: Path

    def find(self, client: str, question: Packed) -> Packed | None:
        """Return a client's answer to a question, or None if it is not in the journal."""
        path = self._path(client, question)
        if not path.exists():
            return None
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as kept:
                summary = json.loads(str(kept[_SUMMARY]))
                return Packed(
                    summary["kind"], summary["plain"], {name: kept[f"array {name}"] for name in summary["arrays"]}
                )
        except (OSError, ValueError, LookupError, EOFError, zipfile.BadZipFile) as error:
            raise FormatError(
                f"{path}: this answer cannot be read ({error}); remove the file, and the client is asked again"
            ) from None

    def keep(self, client: str, question: Packed, answer: Packed) -> None:
        """Write an answer to its file, completely or not at all."""
        summary = json.dumps({"kind": answer.kind, "plain": answer.plain, "arrays": list(answer.arrays)})
        arrays = {f"array {name}": each for name, each in answer.arrays.items()}
        self.directory.mkdir(parents=True, exist_ok=True)
        with open_atomic(self._path(client, question)) as opened:
            np.savez(opened, allow_pickle=False, **{_SUMMARY: np.array(summary)}, **arrays)

    def clear(self) -> None:
        """Delete all answers."""
        for path in self.directory.glob("*.npz"):
            path.unlink(missing_ok=True)

    def _path(self, client: str, question: Packed) -> Path:
        name = hashlib.sha256(json.dumps([client, question.digest]).encode()).hexdigest()
        return self.directory / f"{name}.npz"
