"""Files and result directories: read with clear errors, written completely or not at all."""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import BufferedRandom
from pathlib import Path
from tempfile import TemporaryDirectory, mkstemp

from comity.core.wording import mention
from comity.errors import FormatError, InputError, OutputError


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a file, without a byte order mark and with its own line ends."""
    if not os.fspath(path):
        raise FormatError("the file name is empty; give a path")
    file = Path(path)
    try:
        raw = file.read_bytes()
    except FileNotFoundError:
        raise FormatError(f"{file}: there is no such file; check the path") from None
    except IsADirectoryError:
        raise FormatError(f"{file}: this is a directory; give a file in it") from None
    except OSError as error:
        raise FormatError(f"{file}: cannot be read ({error.strerror or error})") from None
    return decode(raw, str(file))


def decode(raw: bytes, name: str) -> str:
    """Decode UTF-8 text; error messages begin with `name`."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(
            f"{name}: byte {error.start} is not UTF-8 text; save the file as UTF-8, or check that it is the right one"
        ) from None
    if not text.strip():
        raise FormatError(f"{name}: there is nothing in it; docs/formats.md shows what a file looks like")
    return text


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file, completely or not at all."""
    with open_atomic(path) as opened:
        opened.write(text.encode())


@contextmanager
def open_atomic(path: str | os.PathLike[str]) -> Iterator[BufferedRandom]:
    """Open a file for writing, completely or not at all: a temporary file, renamed when the `with` block ends."""
    file = Path(path)
    with _output_errors(file):
        handle, name = mkstemp(prefix=f".{file.name}.", dir=file.parent)
        draft = Path(name)
        try:
            with os.fdopen(handle, "w+b") as opened:
                yield opened
            draft.chmod(0o666 & ~_umask())
            draft.replace(file)
        finally:
            draft.unlink(missing_ok=True)


@contextmanager
def _output_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror or error})") from None


def check_output_directory(directory: str | os.PathLike[str], files: Iterable[str], *, force: bool) -> Path:
    """Check, before any work, that the `files` of a result may be written to a directory, and return its real path.

    A new or empty directory may be used. With `force`, so may one that holds an earlier result and nothing else.
    """
    if not os.fspath(directory):
        raise OutputError("the name of the output directory is empty; give one")
    try:
        path = Path(directory).resolve()
    except (OSError, RuntimeError):
        raise OutputError(f"{directory}: this link is broken; give another directory") from None
    ancestor = next(parent for parent in (path, *path.parents) if parent.exists())
    if not ancestor.is_dir():
        raise OutputError(f"{directory}: {'this' if ancestor == path else ancestor} is a file; give a directory")
    if not os.access(ancestor, os.W_OK):
        raise OutputError(f"{directory}: no permission to write in {ancestor}; give another directory")
    found = sorted(entry.name for entry in path.iterdir()) if path.exists() else []
    if others := [name for name in found if name not in set(files)]:
        raise OutputError(f"{directory}: it holds other files ({others[0]!r}), which are kept; give another directory")
    if found and not force:
        raise OutputError(
            f"{directory}: there is a result already; give another directory, or replace it with "
            f"{mention('force', True)}"
        )
    return path


def write_directory(
    directory: str | os.PathLike[str],
    files: Mapping[str, str | bytes],
    marker: str,
    *,
    force: bool = False,
    known: Iterable[str] = (),
) -> None:
    """Write `files` to a directory, completely or not at all.

    They go into a temporary directory in the same place, which is then renamed, so that an interruption or a full disk
    leaves the old directory as it was. Where a directory cannot be renamed (the current one, a mount point), its files
    are replaced one by one, `marker` last. With `force`, an earlier result is replaced; it may also have `known` files.
    """
    if marker not in files:
        raise InputError(f"a result directory needs its {marker!r}")
    path = check_output_directory(directory, {*files, *known}, force=force)
    with _temporary_directory(path) as draft:
        for name, content in files.items():
            (draft / name).write_bytes(content.encode() if isinstance(content, str) else content)
        draft.chmod(0o777 & ~_umask())
        _move_into_place(draft, path, marker)


@dataclass(frozen=True, slots=True)
class TreeFile:
    """The content and the permissions of a file in a tree."""

    content: str | bytes = field(repr=False)
    mode: int = 0o644


def write_tree(directory: str | os.PathLike[str], files: Mapping[str, TreeFile]) -> None:
    """Write files, named by paths with slashes, into a new directory, completely or not at all.

    Existing files are never replaced: they could be keys, which cannot be made again. Until all files are written, only
    the user can read the directory.
    """
    path = check_output_directory(directory, (), force=False)
    with _temporary_directory(path) as draft:
        for name, file in files.items():
            for parent in reversed(Path(name).parents):
                (draft / parent).mkdir(mode=0o755, exist_ok=True)
            content = file.content.encode() if isinstance(file.content, str) else file.content
            with os.fdopen(os.open(draft / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, file.mode), "wb") as opened:
                opened.write(content)
        draft.chmod(0o755 & ~_umask())
        draft.rename(path)  # the target does not exist or is an empty directory


@contextmanager
def _temporary_directory(path: Path) -> Iterator[Path]:
    """Make a temporary directory beside `path`, or inside it without permission there; it is removed if not moved."""
    new_parents = [parent for parent in path.parents if not parent.exists()]  # the innermost first
    with _output_errors(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            place = path.parent if os.access(path.parent, os.W_OK) else path
            with TemporaryDirectory(prefix=f".{path.name}.", dir=place, ignore_cleanup_errors=True) as draft:
                yield Path(draft)
        finally:
            for parent in new_parents:
                with suppress(OSError):  # it is not empty: the result was written
                    parent.rmdir()


def _move_into_place(draft: Path, path: Path, marker: str) -> None:
    """Move the content of the temporary directory to its place."""
    if not path.exists():
        draft.rename(path)
        return
    aside = draft.with_name(f"{draft.name}.old")
    try:
        here = Path.cwd()
        if draft.parent == path or path in (here, *here.parents):
            raise OSError("in use")
        try:
            path.rename(aside)
            draft.rename(path)
        finally:
            if aside.exists() and not path.exists():
                aside.rename(path)
    except OSError:
        for file in sorted(draft.iterdir(), key=lambda file: file.name == marker):
            file.replace(path / file.name)
    shutil.rmtree(aside, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def lock_file(opened: int, *, wait: bool = False) -> bool:
    """Lock an open file until it is closed, if `wait` once others release it, and return whether it is locked."""
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock
    except ImportError:  # pragma: no cover (a platform without such locks)
        return True
    try:
        flock(opened, LOCK_EX if wait else LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    return True


def check_output_file(path: str | os.PathLike[str], *, force: bool) -> None:
    """Check, before any work, that a file may be written: it does not exist, or `force` allows to replace it."""
    if not os.fspath(path):
        raise OutputError("the name of the file to write is empty; give one")
    file = Path(path)
    if file.is_dir():
        raise OutputError(f"{path}: this is a directory; give a file in it")
    if file.exists() and not force:
        raise OutputError(
            f"{path}: this file exists already; give another, or replace it with {mention('force', True)}"
        )
    if not file.parent.is_dir():
        raise OutputError(f"{path}: there is no directory {str(file.parent)!r}; make it first")
