"""A schema agreed from summaries: what is text, date, category, identifier or free text, and what is refused."""

import pandas as pd
import pytest

from comity.errors import InputError
from comity.questions.schema import Agreement, CategoryColumn, DateColumn, NumberColumn, agree
from comity.rows.encoding import summarise


def agreed(columns: dict[str, list[object]], **options: tuple[str, ...]) -> Agreement:
    """Return what clients A, B … agree on whose columns `x` have these values."""
    categories = options.get("categories", ())
    return agree(
        {
            name: summarise(
                pd.DataFrame({"x": values, "z": range(len(values)), "y": [0.5, 1.5] * (len(values) // 2)}),
                "y", False, 100, categories,
            )
            for name, values in columns.items()
        },
        "y",
        keep=("z",),
        **options,
    )  # fmt: skip


def test_numbers_and_few_texts_of_one_table_are_text() -> None:
    text = pd.CategoricalDtype()
    found = agreed({"A": pd.Series(["01", "23"] * 10, dtype=text), "B": pd.Series(["7p", "01"] * 10, dtype=text)})
    assert found.schema.columns[0] == CategoryColumn("x", ("01", "23", "7p"), False)
    assert found.warnings == ("column 'x' has numbers and text at client 'B'; it is taken for text",)


def test_a_client_with_few_rows_uses_the_levels_of_the_others() -> None:
    text = pd.CategoricalDtype()
    few = pd.Series(["3+", "0", "0", "1", "2", "8"], dtype=text)
    found = agreed({"A": pd.Series(["0", "1", "2", "3+"] * 5, dtype=text), "B": few})
    assert found.schema.columns[0] == CategoryColumn("x", ("0", "1", "2", "3+"), False)
    assert found.warnings == (
        "column 'x' has numbers and text at clients 'A', 'B'; it is taken for text",
        "column 'x' has many different values for the rows of client 'B'; those that nobody lists are not told apart",
    )
    with pytest.raises(InputError, match="column 'x' of client 'B' has numbers and text"):
        agreed({"A": pd.Series(["0", "3+"] * 2, dtype=text), "B": few})


def test_long_names_at_a_client_with_few_rows_are_no_free_text() -> None:
    names = [f"the ward of floor {number}" for number in range(4)]
    assert agreed({"A": names * 5, "B": names}).schema.columns[0] == CategoryColumn("x", tuple(names), False)
    several = [1, 2, 3, 4]
    found = agreed({"A": several * 5, "B": several}, categories=("x",)).schema.columns[0]
    assert found == CategoryColumn("x", ("1", "2", "3", "4"), False)


def test_each_class_may_be_there_once() -> None:
    clients = {name: pd.DataFrame({"x": [1.5, 2.0, 7.0], "y": ["a", "b", "c"]}) for name in "AB"}
    found = agree({name: summarise(rows, "y", False, 100) for name, rows in clients.items()}, "y")
    assert found.schema.target.classes == ("a", "b", "c")


def test_a_contradiction_of_separate_tables_is_refused_with_a_way_out() -> None:
    columns = {"A": [1, 2] * 10, "B": ["one", "two"] * 10}
    message = r"numbers at client 'A' and text at 'B'; mend it, .*, or take it for categories with categories=\['x'\]"
    with pytest.raises(InputError, match=message):
        agreed(columns)
    found = agreed(columns, categories=("x",))
    assert found.schema.columns[0] == CategoryColumn("x", ("1", "2", "one", "two"), False)
    with pytest.raises(InputError, match=r"numbers at client 'A' and text at 'B'; mend it, or leave the column out$"):
        agreed({"A": [each / 7 for each in range(20)], "B": ["one", "two"] * 10})


def test_dates_are_not_mixed_with_numbers() -> None:
    days = ["2024-01-01", "2024-01-03"] * 10
    assert agreed({"A": days, "B": days}).schema.columns[0] == DateColumn("x", 8767.0, 1.0, False)
    with pytest.raises(InputError, match="dates at client 'A' and numbers at 'B'"):
        agreed({"A": days, "B": [1, 2] * 10})


@pytest.mark.parametrize(
    ("values", "warning"),
    [
        ([*range(60)], "identifier (whole numbers in order"),
        ([each * 7 % 60 for each in range(60)], "identifier (whole numbers in order"),  # consecutive, in any order
        ([each**2 for each in range(60)], "identifier (whole numbers in order"),
        ([f"P{each:03}" for each in range(60)], "identifier (text"),
        ([f"this is remark number {each}" for each in range(60)], "is free text"),
    ],
)
def test_columns_that_are_no_measurements(values: list[object], warning: str) -> None:
    found = agreed({"A": values[:30], "B": values[30:]})
    assert found.left_out == ("x",)
    assert warning in found.warnings[0]


@pytest.mark.parametrize(
    "values",
    [
        [each * 737 % 10_007 for each in range(60)],  # an income: whole, never the same, in no order
        [each / 3 for each in range(60)],
        [*range(30), *range(30)],
        [*range(2001, 2061)],  # years, the same at both clients
    ],
)
def test_columns_that_may_be_measurements(values: list[object]) -> None:
    found = agreed({"A": values, "B": values})
    assert isinstance(found.schema.columns[0], NumberColumn)
    assert found.warnings == ()


def test_a_small_client_without_any_value_does_not_end_the_job() -> None:
    many = {"x": [1.0, 2.0, 4.0], "z": ["a", "b", "a"], "y": [1.0, 2.0, 3.0]}
    some, none = (
        summarise(pd.DataFrame(each), "y", False, 100) for each in (many, {"x": [None], "z": [None], "y": [2]})
    )
    found = agree({"A": some, "B": none, "C": some}, "y")
    assert found.schema.columns == agree({"A": some, "C": some}, "y").schema.columns
    assert found.warnings[0] == "client 'B' has no value in any column but the target; usual values are taken for them"
    with pytest.raises(InputError, match="no value in any column"):
        agree({"A": none, "B": none}, "y")


def test_a_huge_value_is_named_and_not_pooled() -> None:
    with pytest.raises(InputError, match="too large"):
        agreed({"A": list(range(30)), "B": [*range(30, 59), 1e200]})
