"""Text in and out of files, with errors that say what is wrong with the file."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from comity.core import FormatError, OutputError


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a file, without a byte order mark; line ends stay as they are."""
    file = Path(path)
    try:
        raw = file.read_bytes()
    except FileNotFoundError:
        raise FormatError(f"{file}: there is no such file; check the path") from None
    except IsADirectoryError:
        raise FormatError(f"{file}: this is a directory; give a file in it") from None
    except OSError as error:
        raise FormatError(f"{file}: cannot be read ({error.strerror or error})") from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(
            f"{file}: byte {error.start} is not UTF-8 text; save the file as UTF-8, or check that it is the right one"
        ) from None
    if not text.strip():
        raise FormatError(f"{file}: the file is empty")
    return text


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file, whole or not at all: first under another name in the same directory, then renamed."""
    file = Path(path)
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="", dir=file.parent, prefix=f".{file.name}.", delete=False
        ) as draft:
            temporary = Path(draft.name)
            draft.write(text)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(file)
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        raise OutputError(f"{file}: cannot be written ({error.strerror or error})") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
