"""A directory with a document and models, sealed: whatever is changed in it afterwards is found."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from comity.core.optional import require
from comity.errors import ChangedError, ComityError, FormatError, InputError
from comity.files import read_text, write_directory
from comity.formats.json_text import parse_json

MARKER, MODELS, NETWORKS = "result.json", "models.npz", "models.safetensors"
REPORT, EQUILIBRIUM = "report.html", "equilibrium.json"
FILES = (MARKER, MODELS, NETWORKS, REPORT)
FORMAT = 2
_SURROGATES = re.compile("[\ud800-\udfff]")


def write_sealed(
    directory: str | os.PathLike[str],
    document: Mapping[str, Any],
    models: Mapping[str, NDArray[np.float64]],
    *,
    networks: bool = False,
    force: bool = False,
) -> None:
    """Write a document and its models into a new directory; nothing is half-written.

    Models of `networks` are kept as safetensors, in 32 bits.
    """
    file, stored = (NETWORKS, _as_safetensors(models)) if networks else (MODELS, _as_npz(models))
    whole = {**document, "models": {"file": file, "sha256": hashlib.sha256(stored).hexdigest()}}
    whole["seal"] = seal(whole)
    text = json.dumps(whole, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    write_directory(directory, {MARKER: text, file: stored}, MARKER, force=force, known=FILES)


def seal(document: Mapping[str, Any]) -> str:
    """Return the digest of all that a document says."""
    rest = {key: value for key, value in document.items() if key != "seal"}
    text = json.dumps(rest, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def read_sealed(
    directory: str | os.PathLike[str], kinds: Iterable[str]
) -> tuple[dict[str, Any], dict[str, NDArray[np.float64]]]:
    """Read a document and the models of these kinds, having checked that they are as they were written."""
    document = read_document(directory)
    return document, _read_models(place_of(directory), document["models"], kinds)


def read_document(directory: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a document, having checked that it is as it was written."""
    place = place_of(directory)
    if not os.fspath(directory):
        raise FormatError("the name of the directory is empty; give one that comity solve wrote with --out")
    if not place.is_dir():
        what = "this is a file" if place.exists() else "there is no such directory"
        raise FormatError(f"{directory}: {what}; give a directory that comity solve wrote with --out")
    if not (place / MARKER).exists():
        raise FormatError(f"{directory}: there is no {MARKER} in it; give a directory that comity solve wrote")
    try:
        document = parse_json(read_text(place / MARKER))
    except InputError as error:
        raise FormatError(f"{place / MARKER}: {str(error).removeprefix(f'{place / MARKER}: ')}") from None
    if _SURROGATES.search(json.dumps(document, ensure_ascii=False)):
        raise ChangedError(f"{place / MARKER}: there is half a character in it; something was changed")
    if not isinstance(document, dict) or "format" not in document or "seal" not in document:
        raise FormatError(f"{place / MARKER}: this is not a result of comity solve")
    if seal(document) != document["seal"]:
        raise ChangedError(f"{place / MARKER}: something in it was changed since it was written; its seal is broken")
    if document["format"] != FORMAT:
        raise FormatError(
            f"{place / MARKER}: its format is {document['format']!r} and this comity reads {FORMAT}; "
            "take the version that wrote it"
        )
    return document


def place_of(run: str | os.PathLike[str]) -> Path:
    """Return the directory of a run; who names a file in it means the run."""
    place = Path(run)
    return place.parent if place.name in (*FILES, EQUILIBRIUM) and place.is_file() else place


def _read_models(place: Path, told: Any, kinds: Iterable[str]) -> dict[str, NDArray[np.float64]]:
    if not isinstance(told, dict) or told.get("file") not in (MODELS, NETWORKS):
        raise ChangedError(f"{place / MARKER}: it does not say where its models are")
    file = place / told["file"]
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise ChangedError(f"{file}: cannot be read ({error.strerror or error})") from None
    if hashlib.sha256(raw).hexdigest() != told.get("sha256"):
        raise ChangedError(f"{file}: these are not the models that the result was written with")
    try:
        if told["file"] == NETWORKS:
            stored = require("safetensors.numpy", "to read the models of networks").load(raw)
            return {kind: np.asarray(stored[kind], np.float64) for kind in kinds}
        with np.load(io.BytesIO(raw), allow_pickle=False) as stored:
            return {kind: np.asarray(stored[kind], np.float64) for kind in kinds}
    except (LookupError, TypeError, ValueError, OSError, zipfile.BadZipFile) as error:
        if isinstance(error, ComityError):
            raise
        raise ChangedError(f"{file}: not the models of a result ({type(error).__name__})") from None


def _as_npz(models: Mapping[str, NDArray[np.float64]]) -> bytes:
    stored = io.BytesIO()
    np.savez(stored, **models)  # type: ignore[arg-type]
    return stored.getvalue()


def _as_safetensors(models: Mapping[str, NDArray[np.float64]]) -> bytes:
    save = require("safetensors.numpy", "to write the models of networks").save
    written: bytes = save({kind: each.astype(np.float32) for kind, each in models.items()})
    return written
