"""The public names: what they are called, and that each documents its parameters."""

import ast
import inspect
import re
from dataclasses import fields, is_dataclass
from importlib import import_module

import pytest

import comity
from comity.study import Study

NAMES = [name for name in comity.__all__ if name != "__version__"]


def members(name: str) -> list[tuple[str, object]]:
    """Return a public name and, for a class, its public methods."""
    value = getattr(comity, name)
    if not inspect.isclass(value) or issubclass(value, BaseException):
        return [(name, value)]
    methods = [
        (f"{name}.{each}", getattr(value, each))
        for each, defined in vars(value).items()
        if not each.startswith("_") and (inspect.isfunction(defined) or isinstance(defined, classmethod | staticmethod))
    ]
    return [(name, value), *methods]


def documented(value: object) -> set[str]:
    """Return the parameters that a docstring lists under Args: or Attributes:."""
    text = inspect.getdoc(value) or ""
    sections = re.findall(r"^(?:Args|Attributes):\n((?:    .*\n?|\n)+)", text, flags=re.MULTILINE)
    return {name for each in sections for name in re.findall(r"^    \**(\w+):", each, flags=re.MULTILINE)}


def parameters(value: object) -> set[str]:
    if inspect.isclass(value) and is_dataclass(value):
        return {each.name for each in fields(value) if each.init and not each.name.startswith("_")}
    try:
        return {name for name in inspect.signature(value).parameters if name not in ("self", "cls")}  # type: ignore[arg-type]
    except (TypeError, ValueError):  # an exception or an enum has none of its own
        return set()


def test_type_checkers_and_python_see_the_same_public_names() -> None:
    (block,) = (each for each in ast.parse(inspect.getsource(comity)).body if isinstance(each, ast.If))
    homes = {name.asname: line.module for line in block.body for name in line.names}
    assert sorted(homes) == sorted(NAMES), "list a public name both for type checkers and for Python"
    for name, module in homes.items():
        assert getattr(comity, name) is getattr(import_module(module), name)


@pytest.mark.parametrize(("name", "value"), [each for name in NAMES for each in members(name)])
def test_every_parameter_is_documented(name: str, value: object) -> None:
    if inspect.isclass(value) and issubclass(value, BaseException | str):
        pytest.skip("an error or an enum has no parameters of its own")
    assert inspect.getdoc(value), f"{name} has no docstring"
    missing = parameters(value) - documented(value)
    assert not missing, f"{name} does not document {sorted(missing)}"


def test_solve_names_every_setting_with_its_default() -> None:
    signature = inspect.signature(comity.solve).parameters
    for setting in fields(Study):
        assert setting.name in signature, f"comity.solve has no parameter {setting.name}"
        if setting.name != "target":
            assert signature[setting.name].default == setting.default


def test_wrong_settings_are_suggested() -> None:
    with pytest.raises(comity.InputError, match="did you mean 'folds'"):
        comity.solve({}, target="y", fold=3)
    with pytest.raises(comity.InputError, match="did you mean 'steps'"):
        comity.solve_modules({}, None, step=3)  # type: ignore[arg-type]


def test_a_name_that_is_not_public() -> None:
    with pytest.raises(AttributeError, match="no attribute 'sollve'"):
        _ = comity.sollve  # type: ignore[attr-defined]
