"""The wire format of questions and answers, driven by the type hints of their records.

A question or an answer is a frozen dataclass. Its arrays are sent as they are; all its other fields as one JSON object:
numbers, text, None, tuples, mappings from text, and records of these. Nothing else can be sent, a message that does not
fit the type hints is refused, and no message can run code: there is no pickle.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from enum import EnumType
from functools import cache, cached_property
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from comity.core.arrays import Bytes, Floats, Tensors
from comity.core.names import shown
from comity.errors import InputError
from comity.questions.registry import RECORDS

T = TypeVar("T")
_ARRAYS: dict[Any, tuple[np.dtype[Any], ...]] = {
    Floats: (np.dtype(np.float64),),
    Bytes: (np.dtype(np.uint8),),
    Tensors: (np.dtype(np.float32), np.dtype(np.float64)),
}
_PLAIN_TYPES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
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
    >>> pack(Describe(target="died")).plain
    '{"categories": [], "classes": false, "most_levels": 100, "target": "died"}'
    """
    kind = type(record).__name__
    if RECORDS.get(kind) is not type(record):
        raise InputError(f"{shown(record)} is neither a question nor an answer; there are {', '.join(RECORDS)}")
    plain = to_plain(record)
    arrays = {name: value for name, value in plain.items() if isinstance(value, np.ndarray)}
    others = {name: value for name, value in plain.items() if name not in arrays}
    return Packed(kind, json.dumps(others, sort_keys=True), arrays)


def unpack(packed: Packed) -> Any:
    """Return the question or the answer that was packed; whatever does not fit its record is an `InputError`."""
    record: Any = RECORDS.get(packed.kind)
    if record is None:
        raise InputError(f"{packed.kind!r} is neither a question nor an answer; there are {', '.join(RECORDS)}")
    try:
        plain = json.loads(packed.plain)
    except (ValueError, RecursionError):
        raise InputError(f"the plain values of a {packed.kind} are not JSON") from None
    if not isinstance(plain, dict):
        raise InputError(f"the plain values of a {packed.kind} are {type(plain).__name__}, not an object")
    hints = _hints(record)
    arrays = {name for name, hint in hints.items() if hint in _ARRAYS}
    if plain.keys() != hints.keys() - arrays or packed.arrays.keys() != arrays:
        raise InputError(
            f"a {packed.kind} has the fields {sorted(hints.keys() - arrays)} and the arrays {sorted(arrays)}, not "
            f"{sorted(plain)} and {sorted(packed.arrays)}"
        )
    return from_plain(record, {**plain, **packed.arrays})


def to_plain(record: object) -> dict[str, Any]:
    """Return a record as plain values, for a JSON file; arrays stay as they are.

    >>> from comity.questions import Split
    >>> to_plain(Split(folds=3))
    {'folds': 3, 'repeats': 2, 'judges': 10, 'resamples': 0, 'seed': 0}
    """
    plain: dict[str, Any] = _convert_record(record, type(record), reading=False)
    return plain


def from_plain(record: type[T], plain: Mapping[str, Any]) -> T:
    """Return the record that `to_plain` turned into plain values; whatever does not fit it is an `InputError`."""
    value: T = _convert_record(dict(plain), record, reading=True)
    return value


def digest_of(record: object) -> str:
    """Return the SHA-256 of the plain values of a record."""
    return hashlib.sha256(json.dumps(to_plain(record), sort_keys=True).encode()).hexdigest()


@cache
def array_letters(record: Any) -> dict[str, str]:
    """Return the letters that name the dimensions of a record's arrays, for those that are annotated with them."""
    hints = get_type_hints(record, include_extras=True)
    return {name: get_args(hints[name])[1] for name in _hints(record) if get_origin(hints[name]) is Annotated}


@cache
def _hints(record: Any) -> dict[str, Any]:
    """Return the type hints of a record's fields, without annotations."""
    hints = get_type_hints(record)
    return {field.name: hints[field.name] for field in fields(record)}


class _MismatchError(Exception):
    """A value that does not fit its type hint; `path` leads to it from the record, and grows as the error goes up."""

    def __init__(self, expected: str, value: object) -> None:
        super().__init__(expected)
        self.expected, self.value = expected, value
        self.path: list[str] = []


def _convert_record(value: Any, record: Any, *, reading: bool) -> Any:
    """Convert a whole record; an error says where in it a value does not fit."""
    try:
        return _convert(value, record, reading)
    except _MismatchError as error:
        given = f"an array of {error.value.dtype}" if isinstance(error.value, np.ndarray) else shown(error.value)
        where = f"{'.'.join(error.path)!r} of a {record.__name__}" if error.path else f"a {record.__name__}"
        raise InputError(f"{where} should be {error.expected}, not {given}") from None


def _convert(value: Any, hint: Any, reading: bool) -> Any:
    """Check a value by its type hint; return it as plain values or, when `reading`, plain values as what they were."""
    if type(value) is hint and hint in _PLAIN_TYPES:
        return value
    if is_dataclass(hint):
        return _convert_fields(value, hint, reading)
    origin, options = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _convert_union(value, options, reading)
    if origin is tuple and type(value) is (list if reading else tuple):
        entries = ((place, each, options[0]) for place, each in enumerate(value))
        return (tuple if reading else list)(_convert_each(entries, reading).values())
    if origin is dict and type(value) is dict and all(type(key) is str for key in value):
        return _convert_each(((key, each, options[1]) for key, each in value.items()), reading)
    if origin is Literal and isinstance(value, str) and value in options:
        return value
    if origin is np.ndarray and isinstance(value, np.ndarray) and value.dtype in _ARRAYS[hint]:
        return value
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        with suppress(OverflowError):  # an integer beyond what floats can hold
            return float(value)
    if isinstance(hint, EnumType) and value in hint.__members__.values():
        return hint(value) if reading else hint(value).value
    raise _MismatchError(_expected(hint), value)


def _expected(hint: Any) -> str:
    """Return what a value of a type hint should be, for a message."""
    if hint in _PLAIN_TYPES:
        return _PLAIN_TYPES[hint]
    if hint in _ARRAYS:
        return f"an array of {' or '.join(map(str, _ARRAYS[hint]))}"
    origin = get_origin(hint)
    if origin in (tuple, dict):
        return "a list" if origin is tuple else "an object"
    return f"one of {', '.join(get_args(hint) if origin is Literal else hint)}"


def _convert_each(entries: Iterable[tuple[Any, Any, Any]], reading: bool) -> dict[Any, Any]:
    """Convert entries of a key, a value and its type hint; an error has the key in its path."""
    converted = {}
    for key, value, hint in entries:
        if type(value) is hint and hint in _PLAIN_TYPES:  # the usual case, checked fast
            converted[key] = value
            continue
        try:
            converted[key] = _convert(value, hint, reading)
        except _MismatchError as error:
            error.path.insert(0, str(key))
            raise
    return converted


def _convert_fields(value: Any, record: Any, reading: bool) -> Any:
    """Convert a record field by field; a subclass without fields of its own is written as `record`."""
    hints = _hints(record)
    if not reading:
        if not isinstance(value, record):
            raise _MismatchError(f"a {record.__name__}", value)
        return _convert_each(((name, getattr(value, name), hint) for name, hint in hints.items()), reading)
    if type(value) is not dict or value.keys() != hints.keys():
        raise _MismatchError(f"an object with the fields {', '.join(hints)}", value)
    return record(**_convert_each(((name, value[name], hint) for name, hint in hints.items()), reading))


def _convert_union(value: Any, options: tuple[Any, ...], reading: bool) -> Any:
    """Convert one of several types: None, and either one type, or plain ones, or records with tags."""
    if value is None and NoneType in options:
        return None
    options = tuple(option for option in options if option is not NoneType)
    if len(options) == 1:
        return _convert(value, options[0], reading)
    if options[0] in _PLAIN_TYPES:
        if type(value) not in options:
            raise _MismatchError(" or ".join(map(_expected, options)), value)
        return value
    if reading:
        records = {option.tag: option for option in options}
        if type(value) is not dict or value.get(_TAG) not in list(records):
            raise _MismatchError(f"an object with {_TAG} {' or '.join(records)}", value)
        plain = dict(value)
        return _convert_fields(plain, records[plain.pop(_TAG)], reading)
    for option in options:
        if isinstance(value, option):
            return {_TAG: option.tag, **_convert_fields(value, option, reading)}
    raise _MismatchError(f"a {' or a '.join(option.__name__ for option in options)}", value)
