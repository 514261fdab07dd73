"""Nearness, sets and procedures of borrowing, against brute force; planted groups are found."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from comity.deciding.bridges import without_bridges
from comity.families.glm import borrowing
from comity.families.glm import view as of_view
from comity.families.glm.borrowing import Borrowing
from comity.families.glm.procedures import Procedure, procedures
from comity.families.glm.pulled_view import PulledView, borrowing_of
from comity.families.glm.view import View, _in_a_circle
from support.parts import parts_of, planted, sums_of, two_opposite_groups

GROUPS = ({0, 1, 2}, {3, 4, 5})


@cache
def two_groups() -> Borrowing:
    return borrowing_of(two_opposite_groups(), 1)


def random_view(seed: int, clients: int) -> View:
    models = np.random.default_rng(seed).normal(size=(clients, 3))
    return PulledView(sums_of(planted(models, [8] * clients, 0.5, seed=seed)), 1, None)


def random_sets(seed: int, clients: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return targets, sets that hold them, and procedures."""
    rng = np.random.default_rng(seed)
    target = rng.integers(0, clients, size=10)
    members = rng.random((10, clients)) < 0.5
    members[np.arange(10), target] = True
    return target, members, rng.choice([1, 2, 5], size=10)


def test_procedures_try_each_size_once_with_each_pull() -> None:
    for clients in (2, 3, 6, 30, 100):
        tried = procedures(clients)
        assert tried[0] == Procedure(0)
        assert len(set(tried)) == len(tried)
        assert all(1 <= each.size < clients for each in tried[1:])
        assert {each.size for each in tried if not each.nearest} == {min(clients - 1, 64)}


@given(st.integers(0, 10_000), st.integers(2, 9))
@settings(max_examples=15, deadline=None)
def test_the_nearest_have_the_least_losses(seed: int, clients: int) -> None:
    rows = planted(np.random.default_rng(seed).normal(size=(clients, 3)), [8] * clients, 0.5, seed=seed)
    view = PulledView(sums_of(rows), 1, None)
    models = np.random.default_rng(seed + 1).normal(size=(clients, 3))
    order = view._nearest(models)
    for client, each in enumerate(rows):
        losses = ((each.target[:, None] - each.columns @ models.T) ** 2).sum(axis=0)
        assert order[client].tolist() == [j for j in np.argsort(losses).tolist() if j != client]


def test_the_nearest_are_the_same_in_batches_and_at_most_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    view = random_view(0, 9)
    whole = view._nearest(view.hierarchy.models)
    monkeypatch.setattr(of_view, "_BATCH", 20)
    np.testing.assert_array_equal(view._nearest(view.hierarchy.models), whole)
    monkeypatch.setattr(of_view, "MAX_COLLABORATORS", 3)
    np.testing.assert_array_equal(view._nearest(view.hierarchy.models), whole[:, :3])


@given(st.integers(0, 10_000), st.integers(3, 9), st.data())
@settings(max_examples=15, deadline=None)
def test_members_are_the_nearest_without_bridges(seed: int, clients: int, data: st.DataObject) -> None:
    view, size = random_view(seed, clients), data.draw(st.integers(1, clients - 2))
    nearest = np.eye(clients)
    np.put_along_axis(nearest, view.order[:, :size], 1.0, axis=1)
    expected = without_bridges(sparse.csr_array(nearest)).toarray() if size > 1 else nearest
    np.testing.assert_array_equal(view.members(Procedure(size)).toarray(), expected)


@given(st.integers(2, 30), st.data())
@settings(max_examples=30, deadline=None)
def test_in_a_circle_everybody_is_in_as_many_sets_and_all_are_connected(clients: int, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, clients - 1))
    sets = _in_a_circle(clients, size).toarray()
    assert set(np.unique(sets).tolist()) <= {0.0, 1.0}
    assert (sets.diagonal() == 1).all()
    assert (sets.sum(axis=0) == size + 1).all()
    assert (sets.sum(axis=1) == size + 1).all()
    assert connected_components(sparse.csr_array(sets), connection="strong")[0] == 1


def test_anybody_is_everybody_if_so_many_are_there() -> None:
    view = random_view(3, 6)
    procedure = Procedure(5, False, (0.3,), (1.0,))
    assert (view.members(procedure).toarray() == 1).all()
    np.testing.assert_allclose(view.models(procedure), view.pulled(0.3).models(view.members(procedure)), atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_shares_sum_to_one_within_the_set(seed: int) -> None:
    target, members, number = random_sets(seed)
    shares = two_groups().shares(target, sparse.csr_array(members.astype(float)), number)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (shares >= 0).all()
    assert (shares[~members] == 0).all()
    alone = members.sum(axis=1) == 1
    np.testing.assert_allclose(shares[alone, target[alone]], 1.0)


def test_shares_without_pull_are_those_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the least pull rows are pooled, so that clients with as many rows have about as large shares."""
    members = sparse.csr_array(np.array([[1.0, 1, 1, 0, 0, 0]]))
    monkeypatch.setattr(two_groups(), "kept", [Procedure(0), Procedure(2, True, (1e-6,), (1.0,))])
    shares = two_groups().shares(np.array([0]), members, np.array([1]))
    np.testing.assert_allclose(shares[0], [1 / 3, 1 / 3, 1 / 3, 0, 0, 0], atol=0.1)


@pytest.mark.parametrize("batch", [20, 2e7])
def test_personal_models_are_the_mean_of_those_of_each_pull(batch: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(borrowing, "_BATCH", batch)
    target, members, number = random_sets(7)
    found = two_groups().personal(target, sparse.csr_array(members.astype(float)), number)
    for each, client, among, by in zip(found, target, members, number, strict=True):
        kept, mean = two_groups().kept[by], np.zeros(4)
        assert sum(kept.weights) == pytest.approx(1)
        for pull, weight in zip(kept.pulls, kept.weights, strict=True):
            pulled = two_groups().whole.hierarchy.pulled(pull)
            mean += weight * pulled.models(sparse.csr_array(among[None].astype(float)), np.array([client]))[0]
        np.testing.assert_allclose(each, mean, atol=1e-8)


@given(st.lists(st.floats(0, 50), min_size=3, max_size=3), st.floats(0.1, 10))
def test_pulls_are_weighted_by_likelihood_and_prior(losses: list[float], unit: float) -> None:
    """The weights are those of Bayes' rule, and pulls that hardly count are left out."""
    found = Procedure(2, pulls=(1.0, 0.7, 0.1)).weighted(np.array(losses) / unit, 2.0)
    odds = {
        pull: min(pull, 1.0) ** 2 * np.exp((min(losses) - loss) / (2 * unit))
        for pull, loss in zip((1.0, 0.7, 0.1), losses, strict=True)
    }
    total = sum(odds[pull] for pull in found.pulls)
    assert list(found.weights) == pytest.approx([odds[pull] / total for pull in found.pulls])
    assert all(odds[pull] <= 0.0201 * sum(odds.values()) for pull in odds.keys() - set(found.pulls))


def test_the_distance_of_the_same_models_is_zero_and_else_that_of_predictions() -> None:
    target, members, number = random_sets(8)
    lender = two_groups()
    models = lender.personal(target, sparse.csr_array(members.astype(float)), number)
    for found in lender.distance(target, models, models):
        np.testing.assert_array_equal(found, 0.0)
    other = lender.final[target, 0]
    distance, error = lender.distance(target, models, other)
    assert isinstance(lender.whole, PulledView)
    covariance = lender.whole.covariance(lender.common)
    for number, client in enumerate(target.tolist()):
        apart = models[number] - other[number]
        turned = lender.curvature[client] @ apart
        assert distance[number] == pytest.approx(apart @ turned)
        assert error[number] == pytest.approx(2 * np.sqrt(turned @ covariance[client] @ turned))
    assert (distance >= 0).all()


def test_planted_groups_are_found() -> None:
    lender = two_groups()
    assert lender.common.nearest
    assert lender.common.size == 2
    everybody = np.ones(6, np.bool_)
    sets = lender.members_of(lender.number).toarray()
    for group in GROUPS:
        for client in group:
            assert set(lender.others_of(client, everybody, lender.number)[:2].tolist()) == group - {client}
            assert set(np.flatnonzero(sets[client]).tolist()) == group
            present = everybody.copy()
            present[min(group - {client})] = False
            assert lender.others_of(client, present, lender.number)[0] == max(group - {client})
    for client in range(6):
        own = client < 3
        pooled = lender.final[client, lender.number]
        assert np.abs(pooled - (1 if own else -1) * np.array([0.6, -0.4, 0.3, 0.1])).max() < 0.3


def test_what_is_kept_fits_together() -> None:
    lender = two_groups()
    assert lender.clients == 6
    assert [each.size for each in lender.kept] == [0, 1, 2, 3, 4, 5]
    unit = lender.losses[:, 1:].sum(axis=0).min() / lender.rows.sum()
    prior = np.array([2 * unit * each.nearest for each in lender.kept[1:]])  # anybody, unless the nearest are better
    assert lender.number == 1 + (lender.losses[:, 1:].sum(axis=0) + prior).argmin()
    assert lender.common == lender.kept[lender.number]
    assert min(lender.common.pulls) <= lender.pull_of(lender.number) <= max(lender.common.pulls)
    np.testing.assert_allclose(lender.final[:, 0], lender.whole.alone)
    np.testing.assert_array_equal(lender.rows, 30)


def test_evidence_is_relative_to_the_common_procedure() -> None:
    lender = two_groups()
    found = lender.evidence()
    assert found.excess.shape == found.expected.shape == (6, 5, 6)
    assert found.common == lender.number
    for each in (found.excess, found.expected, found.final):
        np.testing.assert_array_equal(each[..., lender.number], 0.0)
    assert (found.expected >= 0).all()
    for covariance in (found.noise, found.spread):
        np.testing.assert_allclose(covariance, covariance.transpose(0, 2, 1), atol=1e-12)
        assert np.linalg.eigvalsh(covariance).min() > -1e-9
        np.testing.assert_array_equal(covariance[:, lender.number], 0.0)


def test_excess_losses_are_those_of_rows_but_for_the_choice_of_pulls() -> None:
    models = np.random.default_rng(5).normal(size=(4, 3))
    rows = planted(models, [11, 12, 13, 3], 0.5, seed=5)
    rows[3] = rows[3].some(rows[3].part == 0)  # a client with a single row
    lender = borrowing_of(parts_of(rows, 5), 1)
    found = lender.evidence()
    assert (found.rows[3] == 0).all()
    flattered = np.stack(lender.optimism, axis=1)
    for client in range(3):
        each = rows[client]
        losses = np.stack(
            [(each.target - (each.columns * model[client, each.part]).sum(axis=1)) ** 2 for model in lender.models]
        )
        for part in range(5):
            here = losses[:, each.part == part].mean(axis=1) + flattered[client] / len(each.part)
            np.testing.assert_allclose(found.excess[client, part], here - here[lender.number], atol=1e-9)
    assert np.isfinite(lender.level).all()
    assert np.isfinite(lender.final).all()


def test_distances_are_those_of_predictions_on_the_rows_that_trained() -> None:
    lender = two_groups()
    found = lender.evidence()
    for part in range(5):
        known = lender.parts.without(part)
        everybody = known.gram.sum(axis=0) / known.rows.sum()
        for client in range(6):
            apart = lender.models[0][client, part] - lender.models[lender.number][client, part]
            lean = 4 * known.size
            moments = (known.gram[client] + lean * everybody) / (known.rows[client] + lean)
            assert found.expected[client, part, 0] == pytest.approx(apart @ moments @ apart)


@pytest.mark.parametrize(("rows", "noise"), [(40, 0.5), (40, 5e-5), (1000, 0.5)])
def test_who_changes_a_model_more_than_its_rows_can_is_unlike_the_others(rows: int, noise: float) -> None:
    rng = np.random.default_rng(3)
    models = np.tile(rng.normal(size=4), (5, 1))
    models[4] += np.sqrt(noise)
    lender = borrowing_of(parts_of(planted(models, [rows] * 5, noise), 5), 1)
    by = next(number for number, each in enumerate(lender.kept) if each.nearest and each.size == 2)
    members, target, number = np.ones((4, 5)), np.zeros(4, np.intp), np.full(4, by)
    without = members.copy()
    without[np.arange(4), np.arange(1, 5)] = 0.0
    found = lender.misfit(target, sparse.csr_array(members), sparse.csr_array(without), number)
    assert found[3] > found[:3].max() + 1


def test_losses_are_flattered_by_pulls_that_differ() -> None:
    """Weights follow the noise of the losses: by twice the variance of the predictions, over the rows that test."""
    lender = two_groups()
    apart = np.zeros((2, 6, 5, 4))
    apart[0, :, :, 0], apart[1, :, :, 0] = 1.0, -1.0
    found = lender._optimism(apart, np.array([0.5, 0.5]))
    np.testing.assert_allclose(found, 2 * lender.rows * lender.curvature[:, 0, 0])
    np.testing.assert_array_equal(lender.optimism[0], 0.0)


def test_models_move_by_their_distance_to_the_final_ones_on_average_over_the_rows_that_test() -> None:
    lender = two_groups()
    moved = lender.evidence().moved
    for column, number in enumerate((0, lender.number)):
        for client in range(6):
            apart = lender.models[number][client] - lender.final[client, number]
            far = np.einsum("fa,ab,fb->f", apart, lender.curvature[client], apart)
            weights = lender.parts.by_part.rows[client] / lender.parts.by_part.rows[client].sum()
            assert moved[client, column] == pytest.approx(weights @ far)


def test_what_clients_measured_is_taken_for_being_alone() -> None:
    lender = borrowing_of(two_opposite_groups(), 1, noise=0.5)
    lender.measured = np.stack([np.full((6, 5), 12.0), np.full((6, 5), 6.0)])
    flattered = lender.optimism[lender.number] / lender.rows
    np.testing.assert_allclose(lender.evidence().excess[:, :, 0], 1.0 - np.tile(flattered[:, None], 5))
    np.testing.assert_allclose(lender.alone_excess, 1.0 - flattered)


def test_two_runs_are_identical() -> None:
    one, other = two_groups(), borrowing_of(two_opposite_groups(), 1)
    assert one.kept == other.kept
    np.testing.assert_array_equal(one.losses, other.losses)
    np.testing.assert_array_equal(one.final, other.final)
    np.testing.assert_array_equal(one.whole.order, other.whole.order)


def test_models_fitted_elsewhere_are_those_alone_and_progress_is_told() -> None:
    parts, told = two_opposite_groups(), []
    own = np.random.default_rng(0).normal(size=(6, 6, 4))
    lender = borrowing_of(parts, 1, noise=0.5, own=own, progress=lambda done, total: told.append((done, total)))
    np.testing.assert_array_equal(lender.final[:, 0], own[0])
    np.testing.assert_array_equal(lender.models[0], own[1:].transpose(1, 0, 2))
    assert told == [(done, 7) for done in range(7)]


def test_two_clients_can_be_asked() -> None:
    models = np.array([[1.0, 0.0], [1.0, 0.1]])
    lender = borrowing_of(parts_of(planted(models, [10, 10], 0.5), 5), 1)
    assert [each.size for each in lender.kept] == [0, 1]
    assert np.isfinite(lender.evidence().excess).all()


def test_anybody_is_taken_in_a_circle_of_those_who_are_present_and_have_rows() -> None:
    rng = np.random.default_rng(0)
    rows = [30] * 8
    rows[4] = 0
    lender = borrowing_of(parts_of(planted(np.tile(rng.normal(size=3), (8, 1)), rows, 0.5), 5), 1)
    anybody = next(at for at in range(1, len(lender.kept)) if not lender.is_nearest(at))
    present = np.ones(8, np.bool_)
    present[7] = False
    np.testing.assert_array_equal(lender.others_of(6, present, anybody), [0, 1, 2, 3, 5])
