"""Stacks against sums over rows, one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from comity.core.arrays import Floats
from comity.families.estimator.stack import StackView
from comity.families.glm.procedures import Procedure
from comity.families.glm.sums import Sums

ANYBODY = Procedure(4, nearest=False, pulls=(1.0,), weights=(1.0,))


def predictions(seed: int, clients: int = 5, rows: int = 40) -> tuple[Floats, Floats]:
    """Return what the models of clients predict for rows (N, n, N) and the target (N, n)."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(clients, rows))
    return truth[:, :, None] + rng.normal(size=(clients, rows, clients)) * rng.uniform(0.3, 2, clients), truth


def sums_of(scores: Floats, target: Floats) -> Sums:
    design = np.concatenate([scores, np.ones((*target.shape, 1))], axis=2)
    return Sums(
        np.einsum("ind,ine->ide", design, design),
        np.einsum("ind,in->id", design, target),
        (target**2).sum(axis=1),
        np.full(len(target), float(target.shape[1])),
    )


def losses(scores: Floats, target: Floats, models: Floats) -> Floats:
    count = scores.shape[2]
    predicted = np.einsum("ind,id->in", scores, models[:, :count]) + models[:, count:]
    return ((target - predicted) ** 2).sum(axis=1)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_losses_of_stacks_by_sums_are_those_of_their_predictions(seed: int) -> None:
    scores, target = predictions(seed)
    sums = sums_of(scores, target)
    view = StackView(sums, 1, None)
    for models in (view.alone, view.models(ANYBODY)):
        np.testing.assert_allclose(sums.losses(models), losses(scores, target, models), rtol=1e-9)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), data=st.data())
def test_a_personal_model_weighs_only_the_members_of_its_set(seed: int, data: st.DataObject) -> None:
    view = StackView(sums_of(*predictions(seed)), 1, None)
    client = data.draw(st.integers(0, 4))
    others = data.draw(st.sets(st.integers(0, 4), min_size=1)) | {client}
    members = sparse.csr_array(np.array([[float(j in others) for j in range(5)]]))
    model = view.personal(ANYBODY, np.array([client]), members)[0]
    assert set(np.flatnonzero(model[:5])) <= others
    weights = {float(model[j]) for j in others - {client}}
    assert max(weights, default=0.0) == pytest.approx(min(weights, default=0.0))
    shares = view.shares(ANYBODY, np.array([client]), members)[0]
    np.testing.assert_array_equal(shares > 0, model[:5] != 0)


def test_with_many_rows_the_weights_are_those_of_least_squares() -> None:
    scores, target = predictions(3, rows=20_000)
    model = StackView(sums_of(scores, target), 1, None).models(ANYBODY)
    for client in range(5):
        others = np.delete(np.arange(5), client)
        columns = np.column_stack([scores[client][:, client], scores[client][:, others].mean(axis=1), np.ones(20_000)])
        expected = np.linalg.lstsq(columns, target[client], rcond=None)[0]
        found = [model[client, client], model[client, others].sum(), model[client, 5]]
        np.testing.assert_allclose(found, expected, atol=0.02)


def test_alone_uses_its_own_model_whoever_the_others_are() -> None:
    scores, target = predictions(1)
    alone = StackView(sums_of(scores, target), 1, None).alone
    assert not alone[:, :5][~np.eye(5, dtype=bool)].any()
    changed = scores.copy()
    changed[1:] *= 3.0
    np.testing.assert_array_equal(StackView(sums_of(changed, target), 1, None).alone[0], alone[0])


def test_few_rows_shrink_a_model_alone_that_predicts_nothing_and_keep_one_that_is_right() -> None:
    rng = np.random.default_rng(0)
    scores, target = rng.normal(size=(3, 15, 3)), rng.normal(size=(3, 15))
    scores[0, :, 0] = target[0]
    own = np.diag(StackView(sums_of(scores, target), 1, None).alone)
    assert own[0] > 0.97
    for client in (1, 2):
        free = np.polyfit(scores[client][:, client], target[client], 1)[0]
        assert min(free, 0.5) < own[client] < max(free, 0.5)


def test_a_client_without_rows_has_the_mean_of_all_models_and_brings_nothing() -> None:
    scores, target = predictions(2)
    sums = sums_of(scores, target)
    rows = sums.rows.copy()
    rows[4] = 0
    empty = Sums(sums.gram * (rows > 0)[:, None, None], sums.cross * (rows > 0)[:, None], sums.square, rows)
    view = StackView(empty, 1, None)
    np.testing.assert_allclose(view.alone[4], [0.25] * 4 + [0.0, 0.0])
    assert not view.models(ANYBODY)[:, 4].any()


def test_the_nearest_is_whose_model_is_best_on_the_rows_of_a_client() -> None:
    scores, target = predictions(5)
    view = StackView(sums_of(scores, target), 1, None)
    for client in range(5):
        errors = ((scores[client] - target[client][:, None]) ** 2).sum(axis=0)
        errors[client] = np.inf
        assert view.order[client].tolist() == np.argsort(errors)[:4].tolist()


def test_what_is_left_open_is_a_covariance() -> None:
    scores, target = predictions(7)
    view = StackView(sums_of(scores, target), 1, None)
    rng = np.random.default_rng(0)
    apart = rng.normal(size=(5, 3, 6))
    curvature = view.sums.gram / 40
    found = view.spread(ANYBODY, apart, apart @ curvature)
    np.testing.assert_allclose(found, found.transpose(0, 2, 1), atol=1e-12)
    assert np.linalg.eigvalsh(found).min() > -1e-12
    few = view.spread(ANYBODY, apart[2:3], (apart @ curvature)[2:3], np.array([2]))
    np.testing.assert_allclose(few, found[2:3])


def test_shares_are_sizes_of_weights_also_of_one_that_is_negative() -> None:
    scores, target = predictions(4, rows=400)
    view = StackView(sums_of(np.where(np.arange(5) == 0, -1, 1) * scores, target), 1, None)
    members = sparse.csr_array(np.ones((1, 5)))
    model = view.personal(ANYBODY, np.array([0]), members)[0]
    assert model[0] < 0
    np.testing.assert_allclose(view.shares(ANYBODY, np.array([0]), members)[0], np.abs(model[:5]))


def test_weights_are_learned_again_when_the_nearest_are_found_again() -> None:
    scores, target = predictions(6)
    nearest = Procedure(2, pulls=(1.0,), weights=(1.0,))
    view, fresh = (StackView(sums_of(scores, target), 1, None) for _ in range(2))
    view.order = view.order[:, ::-1].copy()  # the farthest first, until they are found again
    far = view.models(nearest)
    fresh.order = view._nearest(far)
    view.order = fresh.order
    view._forget()
    np.testing.assert_array_equal(view.models(nearest), fresh.models(nearest))
    assert not np.allclose(far, fresh.models(nearest))
