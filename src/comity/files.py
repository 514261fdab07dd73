"""Files and result directories: read with errors that say what is wrong, written whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import BufferedRandom
from pathlib import Path

from comity.errors import FormatError, InputError, OutputError


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a file, without a byte order mark; line ends stay as they are."""
    if not os.fspath(path):
        raise FormatError("the name of the file is empty; give one")
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
    """Return bytes as text; `name` begins the message of an error."""
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
    """Write a file, whole or not at all."""
    with writing(path) as opened:
        opened.write(text.encode())


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[BufferedRandom]:
    """Open a file to write, whole or not at all: first under another name beside it, then, if all went well, renamed.

    Whatever goes wrong inside the `with` block leaves what was there before.
    """
    file = Path(path)
    draft: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
        draft = Path(name)
        with os.fdopen(handle, "w+b") as opened:
            yield opened
        draft.chmod(0o666 & ~_umask())
        draft.replace(file)
    except BaseException as error:
        if draft is not None:
            draft.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise OutputError(f"{file}: cannot be written ({error.strerror or error})") from None
        raise


def check_free(directory: str | os.PathLike[str], files: Iterable[str], *, force: bool) -> Path:
    """Check before any work that result `files` may be put at `directory`, and return where that really is.

    An empty directory is free. An earlier result is replaced only with `force`, and only if there is nothing else in
    the directory.
    """
    if not os.fspath(directory):
        raise OutputError("the name of the directory to write into is empty; give one")
    try:
        path = Path(directory).resolve()
    except (OSError, RuntimeError):
        raise OutputError(f"{directory}: this link leads nowhere; give another directory") from None
    ancestor = next(place for place in (path, *path.parents) if place.exists())
    if not ancestor.is_dir():
        raise OutputError(f"{directory}: {'this' if ancestor == path else ancestor} is a file; give a directory")
    if not os.access(ancestor, os.W_OK):
        raise OutputError(f"{directory}: nothing may be written in {ancestor}; give another directory")
    found = sorted(entry.name for entry in path.iterdir()) if path.exists() else []
    if others := [name for name in found if name not in set(files)]:
        raise OutputError(
            f"{directory}: there is something else in it ({others[0]!r}), which is not touched; give another directory"
        )
    if found and not force:
        raise OutputError(
            f"{directory}: there is a result already; give another directory, or replace it with --force "
            "(in Python, force=True)"
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
    """Write `files` into a directory: first into another one beside it, which is then renamed.

    With `force`, an earlier result there is replaced, of which `known` files may be a part too.

    Whatever interrupts this, a full disk or a key, leaves what was there before. Only where a directory cannot be moved
    (the current one, a mount point) are its files replaced one by one, `marker` last.
    """
    if marker not in files:
        raise InputError(f"a result directory needs its {marker!r}")
    path = check_free(directory, {*files, *known}, force=force)
    with _drafting(path) as draft:
        for name, content in files.items():
            (draft / name).write_bytes(content.encode() if isinstance(content, str) else content)
        draft.chmod(0o777 & ~_umask())
        _put(draft, path, marker)


@dataclass(frozen=True, slots=True)
class TreeFile:
    """A file of a tree: what is in it, and who may do what with it."""

    content: str | bytes = field(repr=False)
    mode: int = 0o644


def write_tree(directory: str | os.PathLike[str], files: Mapping[str, TreeFile]) -> None:
    """Write files, by paths with slashes, into a new directory, whole or not at all.

    What is there already is never touched: it could hold keys that nobody can make again. Until all is written, only
    the user can look into it.
    """
    path = check_free(directory, (), force=False)
    with _drafting(path) as draft:
        for name, file in files.items():
            place = draft / name
            for parent in reversed(Path(name).parents):
                (draft / parent).mkdir(mode=0o755, exist_ok=True)
            content = file.content.encode() if isinstance(file.content, str) else file.content
            with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, file.mode), "wb") as opened:
                opened.write(content)
        draft.chmod(0o755 & ~_umask())
        draft.rename(path)  # onto nothing, or onto an empty directory


@contextmanager
def _drafting(path: Path) -> Iterator[Path]:
    """Make a directory beside the one at `path`, or in it where that is all one may; without success, it is removed."""
    made = [parent for parent in path.parents if not parent.exists()]  # the innermost first
    draft: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = os.access(path.parent, os.W_OK)
        draft = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent if beside else path))
        yield draft
    except BaseException as error:
        if draft is not None:
            shutil.rmtree(draft, ignore_errors=True)
        for parent in made:
            with suppress(OSError):
                parent.rmdir()
        if isinstance(error, OSError):
            raise OutputError(f"{path}: cannot be written ({error.strerror or error})") from None
        raise


def _put(draft: Path, path: Path, marker: str) -> None:
    """Put the draft in its place."""
    if not path.exists():
        draft.rename(path)
        return
    aside = draft.with_name(f"{draft.name}.old")
    try:
        here = Path.cwd()
        if draft.parent == path or path in (here, *here.parents):
            raise OSError("in use")
        path.rename(aside)
        draft.rename(path)
    except OSError:
        _put_back(aside, path)
        for file in sorted(draft.iterdir(), key=lambda file: file.name == marker):
            file.replace(path / file.name)
        draft.rmdir()
    except BaseException:
        _put_back(aside, path)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _put_back(aside: Path, path: Path) -> None:
    if aside.exists() and not path.exists():
        aside.rename(path)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def held(opened: int, *, wait: bool = False) -> bool:
    """Hold an open file, until it is closed, against other processes; tell whether it is held, or `wait` until it is.

    Where there are no such locks, nobody waits.
    """
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock
    except ImportError:  # pragma: no cover
        return True
    try:
        flock(opened, LOCK_EX if wait else LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    return True


def check_new(path: str | os.PathLike[str], *, force: bool) -> None:
    """Check before any work that a file may be written: there is none yet, or `force` says that it may be replaced."""
    if not os.fspath(path):
        raise OutputError("the name of the file to write is empty; give one")
    file = Path(path)
    if file.is_dir():
        raise OutputError(f"{path}: this is a directory; give a file in it")
    if file.exists() and not force:
        raise OutputError(f"{path}: there is such a file already; give another, or --force to replace it")
    if not file.parent.is_dir():
        raise OutputError(f"{path}: there is no directory {str(file.parent)!r}; make it first")
