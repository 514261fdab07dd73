"""The wire format of questions and answers, driven by the type hints of their records.

A question or an answer is a frozen dataclass. Its arrays are sent as they are; all its other fields as one JSON object:
numbers, text, None, tuples, mappings from text, and records of these. Nothing else can be sent, a message that does not
fit the type hints is refused, and no message can run code: there is no pickle.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache, cached_property
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from comity.core.arrays import Floats, Tensors
from comity.core.names import shown
from comity.errors import InputError
from comity.questions.registry import RECORDS

T = TypeVar("T")
_ARRAYS: dict[Any, tuple[np.dtype[Any], ...]] = {
    Floats: (np.dtype(np.float64),),
    Tensors: (np.dtype(np.float32), np.dtype(np.float64)),
}
_TAG = "kind"  # says in JSON which record of a union it is


@dataclass(frozen=True)
class Packed:
    """A question or an answer as it is sent: the name of its record, a JSON object of plain values, and its arrays."""

    kind: str
    plain: str
    arrays: dict[str, NDArray[Any]]

    @property
    def size(self) -> int:
        """The number of bytes, without the overhead of a transport."""
        return len(self.plain.encode()) + sum(array.nbytes for array in self.arrays.values())

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the content, which does not depend on the machine that packed it."""
        content = hashlib.sha256(json.dumps([self.kind, self.plain]).encode())
        for name, array in sorted(self.arrays.items()):
            content.update(json.dumps([name, array.dtype.str, array.shape]).encode())
            content.update(np.ascontiguousarray(array).tobytes())
        return content.hexdigest()


def pack(record: object) -> Packed:
    """Return a question or an answer as it is sent.

    >>> from comity.questions import Describe
    >>> pack(Describe(target="died"))
    Packed(kind='Describe', plain='{"classes": false, "most_levels": 100, "target": "died"}', arrays={})
    """
    kind = type(record).__name__
    if RECORDS.get(kind) is not type(record):
        raise InputError(f"{shown(record)} is neither a question nor an answer; there are {', '.join(RECORDS)}")
    form = _form_of(type(record))
    try:
        plain = _each(form.plain, lambda name, field: field.write(getattr(record, name)))
        arrays = _each(form.arrays, lambda name, types: _checked(getattr(record, name), types))
    except _MismatchError as error:
        raise error.of(kind) from None
    return Packed(kind, json.dumps(plain, sort_keys=True), arrays)


def unpack(packed: Packed) -> Any:
    """Return the question or the answer that was packed; whatever does not fit its record is an `InputError`."""
    record = RECORDS.get(packed.kind)
    if record is None:
        raise InputError(f"{packed.kind!r} is neither a question nor an answer; there are {', '.join(RECORDS)}")
    try:
        plain = json.loads(packed.plain)
    except (ValueError, RecursionError):
        raise InputError(f"the plain values of a {packed.kind} are not JSON") from None
    if not isinstance(plain, dict):
        raise InputError(f"the plain values of a {packed.kind} are {type(plain).__name__}, not an object")
    form = _form_of(record)
    if plain.keys() != form.plain.keys() or packed.arrays.keys() != form.arrays.keys():
        raise InputError(
            f"a {packed.kind} has the fields {sorted(form.plain)} and the arrays {sorted(form.arrays)}, not "
            f"{sorted(plain)} and {sorted(packed.arrays)}"
        )
    try:
        values = _each(form.plain, lambda name, field: field.read(plain[name]))
        arrays = _each(form.arrays, lambda name, types: _checked(packed.arrays[name], types))
    except _MismatchError as error:
        raise error.of(packed.kind) from None
    return record(**values, **arrays)


def to_plain(record: object) -> dict[str, Any]:
    """Return a record without arrays as plain values, for a JSON file.

    >>> from comity.questions import Split
    >>> to_plain(Split(folds=3))
    {'folds': 3, 'repeats': 2, 'judges': 10, 'resamples': 0, 'seed': 0}
    """
    try:
        plain: dict[str, Any] = _field(type(record)).write(record)
    except _MismatchError as error:
        raise error.of(type(record).__name__) from None
    return plain


def from_plain(record: type[T], plain: Mapping[str, Any]) -> T:
    """Return the record that `to_plain` turned into plain values; whatever does not fit it is an `InputError`."""
    try:
        value: T = _field(record).read(dict(plain))
    except _MismatchError as error:
        raise error.of(record.__name__) from None
    return value


def digest_of(record: object) -> str:
    """Return the SHA-256 of the plain values of a record."""
    return hashlib.sha256(json.dumps(to_plain(record), sort_keys=True).encode()).hexdigest()


def array_letters(record: type[Any]) -> dict[str, str]:
    """Return the letters that name the dimensions of a record's arrays, for those that are annotated with them."""
    return _form_of(record).letters


class _MismatchError(Exception):
    """A value that does not fit its type hint; `path` leads to it from the record, and grows as the error goes up."""

    def __init__(self, expected: str, value: object) -> None:
        super().__init__(expected)
        self.expected, self.value, self.path = expected, value, ""

    def within(self, step: object) -> _MismatchError:
        """Return the error with one more step at the front of its path."""
        self.path = f"{step}.{self.path}" if self.path else str(step)
        return self

    def of(self, kind: str) -> InputError:
        """Return the error about a whole record of this kind."""
        given = f"an array of {self.value.dtype}" if isinstance(self.value, np.ndarray) else shown(self.value)
        where = f"{self.path!r} of a {kind}" if self.path else f"a {kind}"
        return InputError(f"{where} should be {self.expected}, not {given}")


class _Field(NamedTuple):
    """How values of a type are turned into plain ones, and plain ones back into values; both check them."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


class _Form(NamedTuple):
    """The fields of a question or an answer: plain ones, arrays with their types of numbers, letters of dimensions."""

    plain: dict[str, _Field]
    arrays: dict[str, tuple[np.dtype[Any], ...]]
    letters: dict[str, str]


def _make_form(record: type[Any]) -> _Form:
    """Return the fields of a question or an answer, by their type hints."""
    form = _Form({}, {}, {})
    for name, hint in _hints(record).items():
        if get_origin(hint) is Annotated:
            hint, form.letters[name] = get_args(hint)
        if hint in _ARRAYS:
            form.arrays[name] = _ARRAYS[hint]
        else:
            form.plain[name] = _field(hint)
    return form


def _hints(record: type[Any]) -> dict[str, Any]:
    """Return the type hints of a record's fields, by name."""
    hints = get_type_hints(record, include_extras=True)
    return {field.name: hints[field.name] for field in fields(record)}


def _each(entries: Mapping[Any, T], convert: Callable[[Any, T], Any]) -> dict[Any, Any]:
    """Return every entry converted, by its key; an error has the key in its path."""
    key = None
    try:
        return {(key := name): convert(name, entry) for name, entry in entries.items()}
    except _MismatchError as error:
        raise error.within(key) from None


def _checked(value: object, types: tuple[np.dtype[Any], ...]) -> NDArray[Any]:
    """Return an array of one of some types of numbers; anything else is an error."""
    if not isinstance(value, np.ndarray) or value.dtype not in types:
        raise _MismatchError(f"an array of {' or '.join(map(str, types))}", value)
    return value


_EXPECTED = {str: "text", int: "a whole number", bool: "true or false", NoneType: "null"}


def _make_field(hint: Any) -> _Field:
    """Return how values of a type hint are written and read."""
    origin, arguments = get_origin(hint), get_args(hint)
    if isinstance(hint, type) and is_dataclass(hint):
        return _record(hint)
    if origin is Literal:
        return _scalar(lambda value: isinstance(value, str) and value in arguments, f"one of {', '.join(arguments)}")
    if origin is tuple:
        return _sequence(_field(arguments[0]))
    if origin is dict:
        return _mapping(_field(arguments[1]))
    if origin in (Union, UnionType):
        return _union(arguments)
    if hint is float:
        return _Field(_number, _number)
    if isinstance(hint, type) and issubclass(hint, Enum):
        plain = _scalar(lambda value: value in {each.value for each in hint}, f"one of {', '.join(hint)}")
        return _Field(lambda value: hint(plain.write(value)).value, lambda value: hint(plain.read(value)))
    return _scalar(lambda value: type(value) is hint, _EXPECTED[hint])


_form_of: Callable[[Any], _Form] = cache(_make_form)
_field: Callable[[Any], _Field] = cache(_make_field)


def _scalar(fits: Callable[[Any], bool], expected: str) -> _Field:
    """Return the field of values that are plain themselves."""

    def check(value: Any) -> Any:
        if not fits(value):
            raise _MismatchError(expected, value)
        return value

    return _Field(check, check)


def _number(value: Any) -> float:
    if type(value) is float:
        return value
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _MismatchError("a number", value)
    return float(value)


def _sequence(entry: _Field) -> _Field:
    """Return the field of tuples, which are lists in JSON."""

    def convert(values: Any, kind: type[Any], one: Callable[[Any], Any]) -> list[Any]:
        if type(values) is not kind:
            raise _MismatchError("a list", values)
        converted: list[Any] = []
        try:
            converted.extend(map(one, values))
        except _MismatchError as error:
            raise error.within(len(converted)) from None
        return converted

    return _Field(
        lambda values: convert(values, tuple, entry.write), lambda values: tuple(convert(values, list, entry.read))
    )


def _mapping(entry: _Field) -> _Field:
    """Return the field of mappings from text."""

    def convert(values: Any, one: Callable[[Any], Any]) -> dict[str, Any]:
        if type(values) is not dict or not all(type(key) is str for key in values):
            raise _MismatchError("an object", values)
        return _each(values, lambda key, value: one(value))

    return _Field(lambda values: convert(values, entry.write), lambda values: convert(values, entry.read))


def _record(kind: type[Any]) -> _Field:
    """Return the field of records of a kind; a subclass without fields of its own is written as that kind."""
    inner = {name: _field(hint) for name, hint in _hints(kind).items()}

    def write(value: Any) -> dict[str, Any]:
        if not isinstance(value, kind):
            raise _MismatchError(f"a {kind.__name__}", value)
        return _each(inner, lambda name, field: field.write(getattr(value, name)))

    def read(plain: Any) -> Any:
        if type(plain) is not dict or plain.keys() != inner.keys():
            raise _MismatchError(f"an object with the fields {', '.join(inner)}", plain)
        return kind(**_each(inner, lambda name, field: field.read(plain[name])))

    return _Field(write, read)


def _union(options: tuple[Any, ...]) -> _Field:
    """Return the field of one of several types: None, and either one type, or plain ones, or records with tags."""
    rest = [option for option in options if option is not NoneType]
    if len(rest) == 1:
        field = _field(rest[0])
    elif all(is_dataclass(option) for option in rest):
        field = _tagged({option.tag: (option, _field(option)) for option in rest})
    else:
        field = _scalar(
            lambda value: type(value) in rest, " or ".join(_EXPECTED.get(each, "a number") for each in rest)
        )
    if len(rest) == len(options):
        return field
    return _Field(*(lambda value, one=one: None if value is None else one(value) for one in field))


def _tagged(records: dict[str, tuple[type[Any], _Field]]) -> _Field:
    """Return the field of records of several types, each of which has a tag."""

    def write(value: Any) -> dict[str, Any]:
        for tag, (kind, field) in records.items():
            if isinstance(value, kind):
                return {_TAG: tag, **field.write(value)}
        raise _MismatchError(f"a {' or a '.join(kind.__name__ for kind, _ in records.values())}", value)

    def read(plain: Any) -> Any:
        if type(plain) is not dict or plain.get(_TAG) not in records:
            raise _MismatchError(f"an object with {_TAG} {' or '.join(records)}", plain)
        return records[plain[_TAG]][1].read({name: value for name, value in plain.items() if name != _TAG})

    return _Field(write, read)
