"""The hierarchy of clients' models: its limits, and what it learns from data drawn from it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from comity.core.arrays import Floats
from comity.families.glm.hierarchy import Hierarchy
from support.parts import Rows, planted, sums_of

MEAN, SPREAD, NOISE = np.array([0.5, -0.3, 0.2]), np.diag([0.4, 0.1, 0.3]), 0.5


def drawn_models(clients: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).multivariate_normal(MEAN, SPREAD, size=clients)


def some_clients(clients: int = 5, rows: int = 20) -> list[Rows]:
    return planted(drawn_models(clients), [rows] * clients, NOISE)


def as_sets(*sets: list[int], clients: int = 5) -> sparse.csr_array:
    return sparse.csr_array(np.array([[float(j in members) for j in range(clients)] for members in sets]))


def test_without_pull_rows_are_pooled() -> None:
    clients = some_clients()
    hierarchy = Hierarchy.learn(sums_of(clients), 1)
    members = [0, 2, 3]
    columns = np.vstack([clients[i].columns for i in members])
    target = np.concatenate([clients[i].target for i in members])
    ridge = np.diag(hierarchy.noise * hierarchy.prior_precision)
    pooled = np.linalg.solve(columns.T @ columns + ridge, columns.T @ target)
    found = hierarchy.pulled(1e-7).models(as_sets(*[members] * 3), np.array(members))
    for each in found:
        np.testing.assert_allclose(each, pooled, atol=1e-4)


def test_with_a_huge_pull_a_client_alone_has_its_least_squares() -> None:
    clients = some_clients()
    hierarchy = Hierarchy.learn(sums_of(clients), 1)
    found = hierarchy.pulled(1e7).models(as_sets(*[[i] for i in range(5)]))
    for each, rows in zip(found, clients, strict=True):
        np.testing.assert_allclose(each, np.linalg.lstsq(rows.columns, rows.target)[0], atol=1e-4)


@pytest.mark.parametrize("pull", [0.03, 1.0])
def test_a_personal_model_is_the_posterior_mean_of_the_joint_model(pull: float) -> None:
    """By the module's definition, with μ_S and all members' parameters in one system of normal equations."""
    clients = some_clients()
    hierarchy = Hierarchy.learn(sums_of(clients), 1)
    members, size = [1, 2, 4], 3
    between = np.linalg.inv(hierarchy.spread * pull)
    system = np.zeros((4 * size, 4 * size))  # first the mean, then the members
    right = np.zeros(4 * size)
    system[:size, :size] = np.diag(hierarchy.prior_precision) + 3 * between
    for place, i in enumerate(members, start=1):
        here = slice(place * size, (place + 1) * size)
        system[here, here] = clients[i].columns.T @ clients[i].columns / hierarchy.noise + between
        system[here, :size] = system[:size, here] = -between
        right[here] = clients[i].columns.T @ clients[i].target / hierarchy.noise
    joint = np.linalg.solve(system, right).reshape(4, size)
    pulled = hierarchy.pulled(pull)
    np.testing.assert_allclose(pulled.set_means(as_sets(members))[1][0], joint[0], atol=1e-7)
    found = pulled.models(as_sets(*[members] * 3), np.array(members))
    np.testing.assert_allclose(found, joint[1:], atol=1e-7)


def test_the_set_of_all_is_everybody() -> None:
    pulled = Hierarchy.learn(sums_of(some_clients()), 1).pulled(0.4)
    everybody = as_sets(list(range(5)))
    for one, other in zip(pulled.set_means(None), pulled.set_means(everybody), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)
    np.testing.assert_allclose(pulled.models(None), pulled.models(as_sets(*[list(range(5))] * 5)), atol=1e-10)


def test_it_recovers_what_the_clients_were_drawn_from() -> None:
    hierarchy = Hierarchy.learn(sums_of(planted(drawn_models(200), [30] * 200, NOISE)), 1)
    np.testing.assert_allclose(hierarchy.mean, MEAN, atol=0.15)
    np.testing.assert_allclose(np.diag(hierarchy.spread), np.diag(SPREAD), rtol=0.35)
    assert np.abs(hierarchy.spread - np.diag(np.diag(hierarchy.spread))).max() < 0.07
    assert hierarchy.noise == pytest.approx(NOISE, rel=0.1)


def test_a_given_noise_is_kept() -> None:
    assert Hierarchy.learn(sums_of(some_clients()), 1, noise=0.5).noise == 0.5


def test_a_client_without_rows_gets_the_mean() -> None:
    clients = planted(drawn_models(5), [20, 20, 0, 20, 20], NOISE)
    hierarchy = Hierarchy.learn(sums_of(clients), 1)
    np.testing.assert_allclose(hierarchy.models[2], hierarchy.mean, atol=1e-8)
    pulled = hierarchy.pulled(1.0)
    np.testing.assert_allclose(pulled.models(None)[2], pulled.newcomer(), atol=1e-8)


def test_clients_without_any_rows_and_intercepts_alone_are_finite() -> None:
    empty = Hierarchy.learn(sums_of(planted(drawn_models(3), [0, 0, 0], NOISE)), 1)
    assert np.isfinite(empty.models).all()
    only = Hierarchy.learn(sums_of(planted(np.array([[0.5], [-0.5], [0.1]]), [9, 9, 9], NOISE)), 1)
    assert np.isfinite(only.models).all()
    assert np.isfinite(only.pulled(0.1).models(None)).all()


def test_models_lie_between_their_own_rows_and_the_mean() -> None:
    """With one column, the model of each client is pulled from its mean target towards the mean of all."""
    clients = planted(np.array([[2.0], [-2.0], [0.5], [0.0]]), [4, 6, 8, 10], NOISE)
    hierarchy = Hierarchy.learn(sums_of(clients), 1)
    own = np.array([rows.target.mean() for rows in clients])
    low, high = np.minimum(own, hierarchy.mean), np.maximum(own, hierarchy.mean)
    assert ((low <= hierarchy.models[:, 0]) & (hierarchy.models[:, 0] <= high)).all()


def test_some_of_many_clients_stand_for_all_whatever_their_order() -> None:
    models = np.where(np.arange(600) % 2, 1.0, -1.0)[:, None] * np.array([2.0, 0.0, 0.0])
    found = Hierarchy.learn(sums_of(planted(models, [30] * 600, NOISE)), 1)
    assert len(found.models) == 600
    assert abs(found.mean[0]) < 0.5, "of every second client it would be 2"
    assert found.spread[0, 0] == pytest.approx(4.0, rel=0.1)
    np.testing.assert_allclose(found.models, models, atol=0.8)


def test_exact_fits_leave_some_noise() -> None:
    """Columns that add up to each other, and a target without noise: what is left would be rounding."""
    clients = planted(np.tile([1.0, -0.5, 0.0], (4, 1)), [30] * 4, 0.0)
    doubled = [
        replace(each, columns=np.column_stack([each.columns[:, :2].sum(axis=1), each.columns])) for each in clients
    ]
    found = Hierarchy.learn(sums_of(doubled), 1)
    assert found.noise == pytest.approx(1e-6)
    assert np.isfinite(found.models).all()
    assert np.abs(found.models).max() < 10
