"""Collaborators that are hardly connected with the others of a set are left out."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from comity.core.arrays import Floats
from comity.deciding.bridges import without_bridges


def groups(*sizes: int) -> Floats:
    """Everybody has everybody of its group."""
    number = np.repeat(np.arange(len(sizes)), sizes)
    return (number[:, None] == number).astype(np.float64)


def pruned(sets: Floats) -> Floats:
    return without_bridges(sparse.csr_array(sets)).toarray()


def once(sets: Floats) -> Floats:
    """The definition, one round of it."""
    kept, found = np.eye(len(sets)), [set(np.flatnonzero(row).tolist()) for row in sets]
    for i, mine in enumerate(found):
        for j in mine - {i}:
            others = mine - {i, j}
            supported = sum(j in found[k] for k in others) >= 0.5 * len(others)
            overlap = len(mine & found[j]) - 1
            alike = overlap >= 0.5 * (max(len(mine), len(found[j])) - 1)
            connected = overlap >= 0.25 * (len(mine) - 2) or found[j] == {j}
            kept[i, j] = connected and (supported or alike)
    return kept


@given(st.integers(0, 10_000), st.integers(1, 9), st.floats(0.1, 0.9))
@settings(max_examples=60, deadline=None)
def test_it_is_three_rounds_of_the_definition(seed: int, clients: int, share: float) -> None:
    sets = (np.random.default_rng(seed).uniform(size=(clients, clients)) < share).astype(np.float64)
    np.fill_diagonal(sets, 1.0)
    np.testing.assert_array_equal(pruned(sets), once(once(once(sets))))


def test_whole_groups_pairs_and_clients_alone_stay_as_they_are() -> None:
    for sets in (groups(5, 4, 3, 2, 1), np.eye(3), np.array([[1.0, 1.0], [0.0, 1.0]])):
        np.testing.assert_array_equal(pruned(sets), sets)


def test_an_outsider_that_a_whole_group_wants_is_left_out() -> None:
    sets = groups(6, 6)
    sets[:6, 6] = 1.0
    np.testing.assert_array_equal(pruned(sets), groups(6, 6))


def test_a_client_between_two_groups_stays_with_the_larger_part() -> None:
    sets = groups(6, 5)
    sets[0, 6:10] = sets[6:10, 0] = 1.0
    np.testing.assert_array_equal(pruned(sets), groups(6, 5))


def test_one_that_everybody_wants_and_that_wants_nobody_stays() -> None:
    sets = np.ones((5, 5))
    sets[0, 1:] = 0.0
    np.testing.assert_array_equal(pruned(sets), sets)


def test_a_member_that_few_of_its_group_want_stays_where_it_is_wanted() -> None:
    sets = groups(8)
    sets[3:7, 7] = 0.0
    np.testing.assert_array_equal(pruned(sets), sets)


def test_sets_that_nobody_chose_by_likeness_stay_whole() -> None:
    """Others in a circle overlap only with their neighbours; that is no sign of a weak bridge."""
    clients, size = 40, 12
    sets = np.zeros((clients, clients))
    for i in range(clients):
        sets[i, (i + np.arange(size + 1)) % clients] = 1.0
    assert (pruned(sets) != sets).any(), "by likeness they would lose members"
    judged = np.zeros(clients, np.bool_)
    np.testing.assert_array_equal(without_bridges(sparse.csr_array(sets), judged).toarray(), sets)
    judged[:3] = True
    found = without_bridges(sparse.csr_array(sets), judged).toarray()
    np.testing.assert_array_equal(found[3:], sets[3:])
    assert (found[:3] != sets[:3]).any()
