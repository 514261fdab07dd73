"""Answers kept on disk, so that an interrupted job continues where it stopped.

A job is determined by its clients' answers. When it runs again it asks the same questions in the same order; those that
were answered before are answered from the journal.
"""

import hashlib
import io
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from comity.core.files import open_atomic
from comity.errors import FormatError
from comity.questions import AskPrivacy, Packed

_SUMMARY = "summary"


@dataclass(frozen=True, slots=True)
class Journal:
    """A directory with a file for each answer, named by a digest of the client and what it was asked.

    Without a directory, no answer is kept. The privacy spent grows with every answer, so it is never kept.
    """

    directory: Path | None = None

    def find(self, client: str, question: Packed) -> Packed | None:
        """Return a client's answer to a question, or None if it is not in the journal."""
        path = self._path(client, question)
        if path is None or not path.exists():
            return None
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as kept:
                summary = json.loads(str(kept[_SUMMARY]))
                arrays = {name: kept[f"array {name}"] for name in summary["arrays"]}
                return Packed(summary["kind"], summary["plain"], arrays)
        except (OSError, ValueError, LookupError, EOFError, zipfile.BadZipFile) as error:
            raise FormatError(
                f"{path}: this answer cannot be read ({error}); remove the file, and the client is asked again"
            ) from None

    def keep(self, client: str, question: Packed, answer: Packed) -> None:
        """Write an answer to its file, completely or not at all."""
        path = self._path(client, question)
        if path is None:
            return
        summary = json.dumps({"kind": answer.kind, "plain": answer.plain, "arrays": list(answer.arrays)})
        arrays = {f"array {name}": each for name, each in answer.arrays.items()}
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_atomic(path) as opened:
            np.savez(opened, allow_pickle=False, **{_SUMMARY: np.array(summary)}, **arrays)

    def clear(self) -> None:
        """Delete all answers."""
        for path in [] if self.directory is None else self.directory.glob("*.npz"):
            path.unlink(missing_ok=True)

    def _path(self, client: str, question: Packed) -> Path | None:
        """Return the file of an answer, or None if it is not kept."""
        if self.directory is None or question.kind == AskPrivacy.__name__:
            return None
        name = hashlib.sha256(json.dumps([client, question.digest]).encode()).hexdigest()
        return self.directory / f"{name}.npz"
