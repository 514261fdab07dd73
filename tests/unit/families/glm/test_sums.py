"""Sums over parts of rows: they add up to what the rows give directly."""

from dataclasses import fields

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.families.glm.sums import Sums
from support.parts import Rows, parts_of, sums_of

PARTS = 3


@st.composite
def federations(draw: st.DrawFn) -> list[Rows]:
    """One to four clients with up to seven rows each, in any of three parts."""
    sizes = draw(st.lists(st.integers(0, 7), min_size=1, max_size=4))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    found = []
    for size in sizes:
        columns = np.column_stack([rng.normal(size=(size, 2)), np.ones(size)])
        part = np.array(draw(st.lists(st.integers(0, PARTS - 1), min_size=size, max_size=size)), np.intp)
        found.append(Rows(columns, rng.normal(size=size), part))
    return found


def assert_same(one: Sums, other: Sums) -> None:
    for each in fields(Sums):
        np.testing.assert_allclose(getattr(one, each.name), getattr(other, each.name), atol=1e-10, err_msg=each.name)


@given(federations())
@settings(max_examples=50, deadline=None)
def test_parts_add_up_to_sums_of_rows(rows: list[Rows]) -> None:
    parts = parts_of(rows, PARTS)
    assert parts.count == PARTS
    assert_same(parts.whole, sums_of(rows))
    for number in range(PARTS):
        assert_same(parts.part(number), sums_of([each.some(each.part == number) for each in rows]))
        # The part is left out only of a client that has rows in another part too.
        kept = [each.part != number if (each.part != number).any() else each.part == number for each in rows]
        assert_same(parts.without(number), sums_of([each.some(keep) for each, keep in zip(rows, kept, strict=True)]))


@given(federations())
@settings(max_examples=50, deadline=None)
def test_a_part_tests_if_it_has_rows_and_another_part_has_some(rows: list[Rows]) -> None:
    tested = parts_of(rows, PARTS).tested
    for client, each in enumerate(rows):
        filled = set(each.part.tolist())
        assert [part in filled and len(filled) > 1 for part in range(PARTS)] == tested[client].tolist()


def test_a_client_with_one_filled_part_is_never_held_out() -> None:
    rng = np.random.default_rng(0)
    rows = Rows(np.column_stack([rng.normal(size=4), np.ones(4)]), rng.normal(size=4), np.full(4, 1))
    parts = parts_of([rows], PARTS)
    assert not parts.tested.any()
    for number in range(PARTS):
        assert_same(parts.without(number), parts.whole)


@given(federations(), st.integers(0, 10_000))
@settings(max_examples=50, deadline=None)
def test_losses_are_sums_of_squared_residuals(rows: list[Rows], seed: int) -> None:
    models = np.random.default_rng(seed).normal(size=(len(rows), 3))
    direct = [((each.target - each.columns @ model) ** 2).sum() for each, model in zip(rows, models, strict=True)]
    np.testing.assert_allclose(sums_of(rows).losses(models), direct, atol=1e-9)


@given(federations())
@settings(max_examples=20, deadline=None)
def test_some_clients_and_the_total(rows: list[Rows]) -> None:
    sums, chosen = sums_of(rows), [0, len(rows) - 1, 0]
    assert_same(sums.some(chosen), sums_of([rows[client] for client in chosen]))
    assert len(sums.some(chosen)) == 3
    assert sums.size == 3
    joined = Rows(*(np.concatenate([getattr(each, name) for each in rows]) for name in ("columns", "target", "part")))
    assert_same(sums.total(), sums_of([joined]))
