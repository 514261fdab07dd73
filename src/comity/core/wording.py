"""How messages name a setting: as the caller would write it in Python, in a file or on the command line."""

import difflib
import json
import shlex
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum, auto


class Caller(Enum):
    """Who reads the messages; Python code unless `speaking_to` says otherwise."""

    PYTHON = auto()
    FILE = auto()
    COMMAND_LINE = auto()


_caller = ContextVar("caller", default=Caller.PYTHON)


@contextmanager
def speaking_to(caller: Caller) -> Iterator[None]:
    """Within this context, name settings as `caller` writes them."""
    token = _caller.set(caller)
    try:
        yield
    finally:
        _caller.reset(token)


def mention(setting: str, value: object = None) -> str:
    """Return a setting as the caller writes it, with a value if one is given; ``...`` stands for any value.

    >>> mention("least_part"), mention("keep", ["patient id"]), mention("target", ...)
    ('least_part', "keep=['patient id']", 'target=…')
    >>> with speaking_to(Caller.COMMAND_LINE):
    ...     mention("least_part"), mention("keep", ["patient id", "age"]), mention("force", True)
    ('--least-part', "--keep 'patient id' --keep age", '--force')
    >>> with speaking_to(Caller.FILE):
    ...     mention("keep"), mention("keep", ["patient id"]), mention("target", ...)
    ('keep', 'keep = ["patient id"]', 'target = …')
    """
    caller = _caller.get()
    if caller is Caller.COMMAND_LINE:
        option = f"--{setting.replace('_', '-')}"
        if value is None or value is True:
            return option
        values = value if isinstance(value, list | tuple) else [value]
        return " ".join(f"{option} {'…' if each is ... else shlex.quote(str(each))}" for each in values)
    if value is None:
        return setting
    if caller is Caller.PYTHON:
        return f"{setting}={'…' if value is ... else repr(value)}"
    return f"{setting} = {'…' if value is ... else json.dumps(value, ensure_ascii=False)}"


def suggest(name: str, known: Collection[str]) -> str:
    """Return the known name that may have been meant, or all of them.

    >>> suggest("fold", ["folds", "seed"]), suggest("zzz", ["folds", "seed"])
    ("did you mean 'folds'?", 'there are folds, seed')
    """
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
