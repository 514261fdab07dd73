"""Result directories: written whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from comity.core import InputError, OutputError


def check_free(directory: str | os.PathLike[str], marker: str, *, force: bool) -> None:
    """Check before any work that a result may be put at `directory`.

    What stands there already is replaced only with `force`, and only if it is a result of ours: if it has the file
    `marker` in it. An empty directory is free.
    """
    path = Path(directory)
    if not path.exists() and not path.is_symlink():
        return
    if not path.is_dir():
        raise OutputError(f"{path}: this is a file; give a directory to write into")
    if not any(path.iterdir()):
        return
    if not (path / marker).is_file():
        raise OutputError(f"{path}: the directory has other files in it; give a new one")
    if not force:
        raise OutputError(f"{path}: there is a result already; give another directory, or --force to replace it")


def write_directory(
    directory: str | os.PathLike[str], files: Mapping[str, str | bytes], marker: str, *, force: bool = False
) -> None:
    """Write files into a new directory: first beside it under another name, then renamed in one step."""
    if marker not in files:
        raise InputError(f"a result directory needs its {marker!r}")
    check_free(directory, marker, force=force)
    path = Path(directory)
    draft: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        for name, content in files.items():
            (draft / name).write_bytes(content.encode() if isinstance(content, str) else content)
        draft.chmod(0o777 & ~_umask())
        _put(draft, path)
    except OSError as error:
        if draft is not None:
            with suppress(OSError):
                shutil.rmtree(draft)
        raise OutputError(f"{path}: cannot be written ({error.strerror or error})") from None


def _put(draft: Path, path: Path) -> None:
    """Rename `draft` to `path`; what stood there is moved aside first, and back if the renaming fails."""
    if not path.exists():
        draft.rename(path)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{path.name}.old.", dir=path.parent))
    path.rename(aside / "old")
    try:
        draft.rename(path)
    except OSError:
        (aside / "old").rename(path)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
