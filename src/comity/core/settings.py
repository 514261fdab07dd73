"""Settings declared once: what a value may be, checked with one kind of message.

A settings class is a frozen dataclass. The annotation of a field declares what its value may be; None is allowed where
the type allows it. `check_settings` checks every declared field:

>>> @dataclass(frozen=True)
... class Training:
...     rounds: Annotated[int, whole(1)] = 60
...     rate: Annotated[float | None, real(0, closed=False)] = None
...
...     def __post_init__(self) -> None:
...         check_settings(self)
>>> Training(rounds=0)
Traceback (most recent call last):
comity.errors.InputError: rounds is 0; it must be a whole number, 1 or more
"""

import inspect
import math
import numbers
import os
import re
import sys
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from comity.core.files import read_text
from comity.core.names import shown
from comity.core.wording import Caller, mention, speaking_to, suggest
from comity.errors import ComityError, InputError


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a value may be.

    `expected` says it in words, `fits` checks a value, and `type` makes the normal form of one that fits. The command
    line uses the type too, what stands for a value in the help, and all values if few.
    """

    expected: str
    fits: Callable[[Any], bool]
    type: Callable[[Any], Any] = str
    metavar: str = "TEXT"
    options: tuple[str, ...] = ()

    def convert(self, value: object) -> object | None:
        """Return a value in its normal form, or None if it is not as expected."""
        return self.type(value) if self.fits(value) else None


def whole(least: int = 0) -> Declaration:
    """Declare a whole number, `least` or more."""

    def fits(value: Any) -> bool:
        return not isinstance(value, bool) and isinstance(value, numbers.Integral) and int(value) >= least

    return Declaration(f"a whole number, {least} or more", fits, int, "N")


def real(low: float, high: float = math.inf, *, closed: bool = True, noun: str = "a number") -> Declaration:
    """Declare a finite number between two bounds, which are allowed themselves if the interval is `closed`."""

    def fits(value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            return False
        number: Any = value  # perhaps an integer beyond what floats can hold
        inside = low <= number <= high if closed else low < number < high
        return bool(inside and abs(number) <= sys.float_info.max)

    if high == math.inf:
        bounds = f"{low:g} or more" if closed else f"more than {low:g}"
    else:
        bounds = f"from {low:g} to {high:g}" if closed else f"more than {low:g} and less than {high:g}"
    return Declaration(f"{noun}, {bounds}", fits, float, "X")


def choice(literal: Any) -> Declaration:
    """Declare one of the values of a `Literal`."""
    options = get_args(literal)
    expected = f"one of {', '.join(options)}"
    return Declaration(expected, lambda value: isinstance(value, str) and value in options, str, "", options)


def text(noun: str, pattern: str = r"(?s:.+)") -> Declaration:
    """Declare text that matches a pattern, by default any that is not empty."""
    return Declaration(noun, lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None)


def name(noun: str) -> Declaration:
    """Declare the name of something, such as a column."""
    return replace(text(f"the name of a {noun}"), metavar=noun.upper())


def encoding() -> Declaration:
    """Declare the name of an encoding of text that Python knows."""

    def fits(value: Any) -> bool:
        try:
            return isinstance(value, str) and "".encode(value) is not None
        except (LookupError, ValueError):
            return False

    return Declaration("the name of an encoding, such as utf-8, latin-1 or cp1252", fits, metavar="NAME")


def path() -> Declaration:
    """Declare a path, as text or as a `Path`, which it becomes."""
    return Declaration("a path", lambda value: isinstance(value, str | os.PathLike) and os.fspath(value) != "", Path)


def names(noun: str, known: Collection[str] = ()) -> Declaration:
    """Declare a list of names, which becomes a tuple; only those that are `known`, if any are."""

    def fits(value: Any) -> bool:
        if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
            return False
        for unknown in (each for each in value if known and each not in known):
            raise InputError(f"there is no {noun} {shown(unknown)}; {suggest(unknown, known)}")
        return True

    listed = f": {', '.join(known)}" if known else ""
    return Declaration(f"a list of names of {noun}s{listed}", fits, tuple, noun.upper())


def numbers_list(entry: Declaration, noun: str) -> Declaration:
    """Declare a list of numbers, one or more, which becomes a tuple; each must be as `entry` says."""

    def fits(value: Any) -> bool:
        return isinstance(value, list | tuple) and len(value) > 0 and all(map(entry.fits, value))

    return Declaration(f"a list of {noun}, each {entry.expected}", fits, tuple)


def flag() -> Declaration:
    """Declare true or false."""
    return Declaration("true or false", lambda value: isinstance(value, bool), bool)


@dataclass(frozen=True, slots=True)
class Setting:
    """A field of a settings class: its name, its declaration, whether it may be None, and its documentation."""

    name: str
    declaration: Declaration
    optional: bool
    documentation: str

    def check(self, value: object) -> Any:
        """Return a value in its normal form, or raise an error that says what was given and what is expected."""
        if value is None and self.optional:
            return None
        converted = self.declaration.convert(value)
        if converted is None:
            raise InputError(f"{mention(self.name)} is {shown(value)}; it must be {self.declaration.expected}")
        return converted


_settings: dict[type, dict[str, Setting]] = {}


def settings_of(cls: type) -> dict[str, Setting]:
    """Return the declared fields of a settings class by name, documented by the ``Args:`` of its docstring."""
    if cls in _settings:  # reading the hints takes a hundred times as long
        return _settings[cls]
    _, _, section = inspect.cleandoc(cls.__doc__ or "").partition("\nArgs:\n")
    section = re.split(r"^\S", section, maxsplit=1, flags=re.MULTILINE)[0]
    documented = dict(re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", section, flags=re.MULTILINE))
    settings = _settings[cls] = {}
    for field, hint in get_type_hints(cls, include_extras=True).items():
        if get_origin(hint) is Annotated:
            kind, declaration = get_args(hint)
            line = " ".join(documented.get(field, "").split())
            settings[field] = Setting(field, declaration, type(None) in get_args(kind), line)
    return settings


def check_settings(settings: Any) -> None:
    """Check every declared field of a frozen dataclass, and put its value into normal form."""
    for field, setting in settings_of(type(settings)).items():
        object.__setattr__(settings, field, setting.check(getattr(settings, field)))


def check_known(given: Mapping[str, Any], known: Collection[str]) -> None:
    """Check that all settings that were given have a known name."""
    for unknown in (each for each in given if each not in known):
        raise InputError(f"there is no setting {shown(unknown)}; {suggest(unknown, known)}")


@contextmanager
def settings_file(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """Read settings from a TOML file; errors raised within begin with its path and name settings as it does."""
    content = read_text(path)
    with located(f"{os.fspath(path)}: "), speaking_to(Caller.FILE):
        try:
            settings = tomllib.loads(content)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"not TOML ({error})") from None
        yield settings


@contextmanager
def located(where: str) -> Iterator[None]:
    """Begin the message of every error raised within by `where`."""
    try:
        yield
    except ComityError as error:
        raise InputError(f"{where}{error}") from None
