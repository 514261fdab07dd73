"""A directory with a document and models, sealed: any later change is detected."""

import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from comity.core.arrays import Floats, join_files, split_files
from comity.core.extras import require
from comity.core.files import read_text, write_directory
from comity.core.kinds import ModelKind
from comity.errors import ChangedError, ComityError, FormatError, InputError
from comity.game.formats.json_text import parse_json

MARKER = "result.json"
MODELS, NETWORKS = "models.npz", "models.safetensors"  # of 64 bits, and of 32
REPORT, EQUILIBRIUM = "report.html", "equilibrium.json"
FILES = (MARKER, MODELS, NETWORKS, REPORT)
FORMAT = 3
_JOINED = ("files", "sizes")  # the arrays of what clients trained, if models are weights of these
_SURROGATES = re.compile("[\ud800-\udfff]")


def write_sealed(
    directory: str | os.PathLike[str],
    document: Mapping[str, Any],
    models: Mapping[ModelKind, Floats],
    file: str = MODELS,
    *,
    files: Sequence[bytes] = (),
    force: bool = False,
) -> None:
    """Write a document, and its models into a file of this name, in a new directory; nothing is half-written.

    If models are weights of what clients trained, `files` has these.
    """
    if file == NETWORKS:
        save = require("safetensors.numpy", "to write the models of networks").save
        stored: bytes = save({kind: each.astype(np.float32) for kind, each in models.items()})
    else:
        archive = io.BytesIO()
        joined = dict(zip(_JOINED, join_files(files), strict=True)) if files else {}
        np.savez(archive, **models, **joined)  # type: ignore[arg-type]
        stored = archive.getvalue()
    whole = {**document, "models": {"file": file, "sha256": hashlib.sha256(stored).hexdigest()}}
    whole["seal"] = seal(whole)
    text = json.dumps(whole, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    write_directory(directory, {MARKER: text, file: stored}, MARKER, force=force, known=FILES)


def seal(document: Mapping[str, Any]) -> str:
    """Return the digest of all that a document says."""
    rest = {key: value for key, value in document.items() if key != "seal"}
    text = json.dumps(rest, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class Stored:
    """Models of each kind, and the files of what clients trained, if models are weights of these."""

    models: dict[ModelKind, Floats]
    files: tuple[bytes, ...] = ()


def read_sealed(directory: str | os.PathLike[str]) -> tuple[dict[str, Any], Stored]:
    """Read a document and its models, having checked that they are as they were written."""
    document = read_document(directory)
    return document, _read_models(place_of(directory), document["models"])


@contextmanager
def as_changed(directory: str | os.PathLike[str]) -> Iterator[None]:
    """Turn any error in what was read into a `ChangedError`: comity never writes anything that leads to one."""
    try:
        yield
    except ComityError as error:
        raise ChangedError(f"{directory}: {error}") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ChangedError(f"{directory}: what is in it does not go together ({type(error).__name__})") from None


def read_document(directory: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a document, having checked that it is as it was written."""
    place = place_of(directory)
    file = place / MARKER
    if not os.fspath(directory):
        raise FormatError("the name of the directory is empty; give one that comity solve wrote with --out")
    if not place.is_dir():
        what = "this is a file" if place.exists() else "there is no such directory"
        raise FormatError(f"{directory}: {what}; give a directory that comity solve wrote with --out")
    if not file.exists():
        raise FormatError(f"{directory}: there is no {MARKER} in it; give a directory that comity solve wrote")
    try:
        document = parse_json(read_text(file))
    except InputError as error:
        raise FormatError(f"{file}: {str(error).removeprefix(f'{file}: ')}") from None
    if _SURROGATES.search(json.dumps(document, ensure_ascii=False)):
        raise ChangedError(f"{file}: there is half a character in it; something was changed")
    if not isinstance(document, dict) or "format" not in document or "seal" not in document:
        raise FormatError(f"{file}: this is not a result of comity solve")
    if seal(document) != document["seal"]:
        raise ChangedError(f"{file}: something in it was changed since it was written; its seal is broken")
    if document["format"] != FORMAT:
        raise FormatError(
            f"{file}: its format is {document['format']!r} and this comity reads {FORMAT}; "
            "take the version that wrote it"
        )
    return document


def place_of(run: str | os.PathLike[str]) -> Path:
    """Return the directory of a run, also if a file in it is named."""
    place = Path(run)
    return place.parent if place.name in (*FILES, EQUILIBRIUM) and place.is_file() else place


def _read_models(place: Path, entry: Any) -> Stored:
    if not isinstance(entry, dict) or entry.get("file") not in (MODELS, NETWORKS):
        raise ChangedError(f"{place / MARKER}: it does not say where its models are")
    file = place / entry["file"]
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise ChangedError(f"{file}: cannot be read ({error.strerror or error})") from None
    if hashlib.sha256(raw).hexdigest() != entry.get("sha256"):
        raise ChangedError(f"{file}: these are not the models that the result was written with")
    try:
        if entry["file"] == NETWORKS:
            stored = require("safetensors.numpy", "to read the models of networks").load(raw)
        else:
            stored = np.load(io.BytesIO(raw), allow_pickle=False)
        models = {kind: np.asarray(stored[kind], np.float64) for kind in ModelKind}
        return Stored(models, split_files(*(stored[name] for name in _JOINED)) if _JOINED[0] in stored else ())
    except ComityError:
        raise
    except (LookupError, TypeError, ValueError, OSError, zipfile.BadZipFile) as error:
        raise ChangedError(f"{file}: not the models of a result ({type(error).__name__})") from None
