"""Random questions and answers of every kind, by the type hints of their records."""

from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from comity.core.arrays import Bytes, Floats, Tensors
from comity.questions import HypernetworkSpec, Recipe

_FLOATS = st.floats(allow_nan=False, width=64)  # NaN is not equal to itself
_SHAPES = array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=3)
_SIZES = st.integers(1, 50)
_RECIPE = {"width": _SIZES, "depth": _SIZES, "parts": st.integers(2, 9), "folds": st.just(1), "batch": _SIZES}
_CHECKED: dict[type[Any], dict[str, st.SearchStrategy[Any]]] = {
    Recipe: {**_RECIPE, "seed": _SIZES},
    HypernetworkSpec: dict.fromkeys(("clients", "size", "width", "depth", "rank"), _SIZES),
}


def of_hint(hint: Any) -> st.SearchStrategy[Any]:
    """Return values of a type hint."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return of_hint(arguments[0])
    if hint == Bytes:
        return arrays(np.uint8, st.integers(0, 5))
    if hint == Floats:
        return arrays(np.float64, _SHAPES)
    if hint == Tensors:
        return arrays(np.float32, _SHAPES) | arrays(np.float64, _SHAPES)
    if isinstance(hint, type) and is_dataclass(hint):
        return of_record(hint)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        return st.lists(of_hint(arguments[0]), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(st.text(max_size=5), of_hint(arguments[1]), max_size=3)
    if origin in (Union, UnionType):
        return st.one_of([of_hint(each) for each in arguments])
    return {str: st.text(), int: st.integers(), bool: st.booleans(), float: _FLOATS, NoneType: st.none()}[hint]


def of_record(record: type[Any]) -> st.SearchStrategy[Any]:
    """Return records of a type."""
    hints = get_type_hints(record, include_extras=True)
    given = {each.name: of_hint(hints[each.name]) for each in fields(record)}
    return st.builds(record, **given | _CHECKED.get(record, {}))


def values_in(value: Any) -> list[Any]:
    """Return all that a record holds and that is no record, tuple or mapping itself."""
    if is_dataclass(value):
        return [inner for each in fields(value) for inner in values_in(getattr(value, each.name))]
    if isinstance(value, tuple):
        return [inner for each in value for inner in values_in(each)]
    if isinstance(value, dict):
        return [*value, *(inner for each in value.values() for inner in values_in(each))]
    return [value]
