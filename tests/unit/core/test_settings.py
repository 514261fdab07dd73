"""Declared settings: what every kind of declaration takes and refuses, and in whose words it says so."""

import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest

from comity.client import Policy, Privacy
from comity.client.sites import Site
from comity.core.metrics import METRICS
from comity.core.settings import (
    Declaration,
    check_known,
    check_settings,
    choice,
    flag,
    name,
    names,
    path,
    real,
    settings_file,
    settings_of,
    text,
    whole,
)
from comity.core.tasks import METRICS_OF
from comity.core.wording import Caller, mention, speaking_to, suggest
from comity.errors import InputError
from comity.study import Study

Colour = Literal["red", "green"]


@dataclass(frozen=True, slots=True)
class Example:
    """Settings of every kind.

    Args:
        title: What it is
            called.
        colour: Its colour. Default: red.

    Returns:
        nothing: This is not a setting.
    """

    title: Annotated[str, name("thing")]
    colour: Annotated[Colour, choice(Colour)] = "red"
    size: Annotated[int | None, whole(2)] = None
    least_share: Annotated[float, real(0, 1)] = 0.5
    tags: Annotated[tuple[str, ...], names("tag")] = ()
    bold: Annotated[bool, flag()] = False
    undeclared: object = None

    def __post_init__(self) -> None:
        check_settings(self)


ACCEPTED: list[tuple[Declaration, Any, Any]] = [
    (whole(2), 2, 2),
    (whole(), np.int64(0), 0),
    (whole(), 10**400, 10**400),
    (real(0), 0, 0.0),
    (real(0), np.float64(1.5), 1.5),
    (real(0, 1), Fraction(1, 2), 0.5),
    (real(0, closed=False), 1e-300, 1e-300),
    (choice(Colour), "green", "green"),
    (text("a path"), "two\nlines", "two\nlines"),
    (text("two letters", "[a-z]{2}"), "ab", "ab"),
    (name("column"), " ", " "),
    (path(), "rows.csv", Path("rows.csv")),
    (path(), Path("rows.csv"), Path("rows.csv")),
    (names("column"), [], ()),
    (names("column"), ["a", "b"], ("a", "b")),
    (names("question", ["a", "b"]), ("b",), ("b",)),
    (flag(), True, True),
    (flag(), False, False),
]


@pytest.mark.parametrize(("declaration", "value", "expected"), ACCEPTED)
def test_values_are_normalised(declaration: Declaration, value: object, expected: object) -> None:
    converted = declaration.convert(value)
    assert converted == expected
    assert type(converted) is type(expected), "no numpy scalar, list or int in place of a float is left"


OF_NO_KIND = [None, object(), {"a": 1}, {1}, b"a", 1j]
REFUSED: list[tuple[Declaration, list[Any]]] = [
    (whole(2), [1, -3, True, 2.0, 2.5, "2", math.nan, math.inf, [2], np.float64(2)]),
    (real(0), [-1e-9, True, "1", math.nan, math.inf, -math.inf, 10**400, [1.0], np.float64("nan")]),
    (real(0, 1), [1.0000001, math.inf]),
    (real(0, 0.5, closed=False), [0, 0.0, 0.5]),
    (choice(Colour), ["", "RED", "blue", 1, ["red"], np.array(["red"])]),
    (text("a path"), ["", 1, ["a"]]),
    (text("two letters", "[a-z]{2}"), ["a", "abc", "ab\n"]),
    (name("column"), ["", 3, True, ["a"]]),
    (path(), ["", 3, ["a"]]),
    (names("column"), ["age", 1, [1], ["a", None], ("a", True), [["a"]]]),
    (flag(), [0, 1, "yes", "", [True]]),
]


@pytest.mark.parametrize(("declaration", "values"), REFUSED)
def test_other_values_are_refused(declaration: Declaration, values: list[Any]) -> None:
    for value in (*values, *OF_NO_KIND):
        assert declaration.convert(value) is None, value


def test_what_is_expected_in_words() -> None:
    assert whole(2).expected == "a whole number, 2 or more"
    assert real(0).expected == "a number, 0 or more"
    assert real(0, closed=False).expected == "a number, more than 0"
    assert real(1e-9, 1e3).expected == "a number, from 1e-09 to 1000"
    assert real(0, 0.5, closed=False, noun="a share").expected == "a share, more than 0 and less than 0.5"
    assert choice(Colour).expected == "one of red, green"
    assert name("column").expected == "the name of a column"
    assert names("column").expected == "a list of names of columns"
    assert names("question", ["a", "b"]).expected == "a list of names of questions: a, b"
    assert flag().expected == "true or false"


def test_an_unknown_name_in_a_list_gets_a_suggestion() -> None:
    with pytest.raises(InputError, match="there is no question 'momints'; did you mean 'moments'"):
        names("question", ["describe", "moments"]).convert(["momints"])
    with pytest.raises(InputError, match="there is no question 'rows'; there are describe, moments"):
        names("question", ["describe", "moments"]).convert(["describe", "rows"])


def test_all_declared_fields_are_checked_and_no_others() -> None:
    example = Example("a", tags=["x", "y"], least_share=1, undeclared=[1])
    assert (example.tags, example.least_share, example.undeclared) == (("x", "y"), 1.0, [1])
    assert Example("a", size=None).size is None
    for settings, message in (
        ({"title": ""}, "title is ''; it must be the name of a thing"),
        ({"title": None}, "title is None; it must be"),
        ({"title": "a", "colour": "blue"}, "colour is 'blue'; it must be one of red, green"),
        ({"title": "a", "colour": None}, "colour is None"),
        ({"title": "a", "size": 1}, "size is 1; it must be a whole number, 2 or more"),
        ({"title": "a", "tags": "x" * 1000}, "tags is 'x{76}…'; it must be a list"),
        ({"title": "a", "bold": 1}, "bold is 1; it must be true or false"),
    ):
        with pytest.raises(InputError, match=message):
            Example(**settings)


def test_documentation_is_that_of_the_docstring() -> None:
    declared = settings_of(Example)
    assert "undeclared" not in declared
    assert declared["title"].documentation == "What it is called."
    assert declared["colour"].documentation == "Its colour. Default: red."
    assert declared["size"].documentation == ""
    assert [setting.name for setting in declared.values() if setting.optional] == ["size"]


def test_messages_name_settings_as_the_caller_writes_them() -> None:
    for caller, expected in {
        Caller.PYTHON: ["least_share", "least_share=0.5", "tags=['a b', 'c']", "title=…", "bold=True"],
        Caller.FILE: ["least_share", "least_share = 0.5", 'tags = ["a b", "c"]', "title = …", "bold = true"],
        Caller.COMMAND_LINE: ["--least-share", "--least-share 0.5", "--tags 'a b' --tags c", "--title …", "--bold"],
    }.items():
        with speaking_to(caller):
            mentioned = [
                mention("least_share"),
                mention("least_share", 0.5),
                mention("tags", ["a b", "c"]),
                mention("title", ...),
                mention("bold", True),
            ]
            assert mentioned == expected
            with pytest.raises(InputError, match=f"^{expected[0]} is 2; it must be a number, from 0 to 1$"):
                Example("a", least_share=2)
    assert mention("least_share") == "least_share", "Python's words are the default"


def test_a_file_is_spoken_of_in_its_own_words_whoever_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text("size = 1")
    with (
        speaking_to(Caller.COMMAND_LINE),
        pytest.raises(InputError, match=r"s\.toml: size is 1; it must be a whole number"),
        settings_file(file) as settings,
    ):
        Example("a", **settings)
    file.write_text("size = ")
    with pytest.raises(InputError, match=r"s\.toml: not TOML"), settings_file(file):
        pass


def test_unknown_settings_get_a_suggestion() -> None:
    check_known({"folds": 1}, ["folds", "seed"])
    with pytest.raises(InputError, match="there is no setting 'fold'; did you mean 'folds'"):
        check_known({"seed": 1, "fold": 3}, ["folds", "seed"])
    assert suggest("zzz", ["folds", "seed"]) == "there are folds, seed"


@pytest.mark.parametrize("cls", [Study, Policy, Privacy, Site])
def test_every_setting_is_documented_with_its_default(cls: type) -> None:
    for field in cls.__dataclass_fields__.values():
        if field.name not in settings_of(cls):
            continue
        line = settings_of(cls)[field.name].documentation
        assert line.endswith("."), f"{cls.__name__}.{field.name} has no line under Args:"
        required = repr(field.default).startswith("<dataclasses._MISSING")
        assert required != ("Default: " in line), f"{cls.__name__}.{field.name} does not state its default"
        if not required and field.default not in (None, ()) and field.name != "questions":
            assert f"Default: {field.default}." in line


def test_metrics_are_listed_by_task_as_they_are_computed() -> None:
    listed = {metric: task for task, metrics in METRICS_OF.items() for metric in metrics}
    assert listed.pop("sensitivity@S") == METRICS["sensitivity@0.9"].task
    assert listed == {metric: each.task for metric, each in METRICS.items()}


@pytest.mark.parametrize(
    ("section", "cls"), [("Studies", Study), ("Sites", Site), ("Sites", Policy), ("Sites", Privacy)]
)
def test_the_formats_page_lists_every_setting(section: str, cls: type) -> None:
    page = (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")
    rows = page.split(f"\n## {section}\n")[1].split("\n## ")[0].split("```")[0]
    for setting in settings_of(cls):
        assert f"`{setting}`" in rows, f"docs/formats.md does not list {setting}"
