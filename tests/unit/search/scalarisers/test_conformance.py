"""What every scalariser must do, and what it must refuse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.errors import InputError
from comity.search.scalarisers import SCALARISERS, Scalariser

EVERY = pytest.mark.parametrize("scalariser", SCALARISERS.values(), ids=SCALARISERS)


@st.composite
def situations(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A ray with some weights of zero, losses, of which some may be zero, and gradients of any rank and length."""
    count = draw(st.integers(1, 7))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    ray = random.dirichlet(np.ones(count))
    ray[1:][random.random(count - 1) < 0.3] = 0.0
    losses = random.lognormal(sigma=2.0, size=count)
    losses[random.random(count) < draw(st.sampled_from([0.0, 0.2]))] = 0.0
    gradients = random.normal(size=(count, draw(st.integers(1, 9)))) * 10.0 ** draw(st.integers(-9, 9))
    return ray / ray.sum(), losses, gradients


@EVERY
@settings(max_examples=60)
@given(situations())
def test_coefficients_are_on_the_simplex_and_leave_out_who_has_no_weight(
    scalariser: Scalariser, situation: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> None:
    ray, losses, gradients = situation
    found = scalariser.coefficients(ray, losses, gradients @ gradients.T)
    assert found.shape == ray.shape
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    assert (found[ray == 0] == 0).all()


@EVERY
@settings(max_examples=60)
@given(situations(), st.randoms(use_true_random=False))
def test_the_order_of_clients_does_not_change_the_step(
    scalariser: Scalariser, situation: tuple[np.ndarray, np.ndarray, np.ndarray], random: object
) -> None:
    ray, losses, gradients = situation
    order = list(range(ray.size))
    random.shuffle(order)
    moved = gradients[order]
    there = scalariser.coefficients(ray, losses, gradients @ gradients.T) @ gradients
    here = scalariser.coefficients(ray[order], losses[order], moved @ moved.T) @ moved
    # Several coefficients may have the same step if gradients depend on each other, so the steps are compared.
    np.testing.assert_allclose(here, there, atol=1e-5 * np.abs(gradients).max())


@EVERY
@settings(max_examples=30)
@given(situations())
def test_nothing_said_of_who_is_left_out_matters(
    scalariser: Scalariser, situation: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> None:
    ray, losses, gradients = situation
    gram = gradients @ gradients.T
    known = scalariser.coefficients(ray, losses, gram)
    losses[ray == 0] = np.nan
    gram[ray == 0] = np.nan
    gram[:, ray == 0] = np.nan
    np.testing.assert_array_equal(scalariser.coefficients(ray, losses, gram), known)


@EVERY
def test_what_is_given_stays_as_it_is_and_the_same_again_gives_the_same(scalariser: Scalariser) -> None:
    random = np.random.default_rng(3)
    ray, losses, gradients = random.dirichlet(np.ones(6)), random.random(6), random.normal(size=(6, 9))
    gram = gradients @ gradients.T
    before = ray.copy(), losses.copy(), gram.copy()
    first, second = (scalariser.coefficients(ray, losses, gram) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    for now, then in zip((ray, losses, gram), before, strict=True):
        np.testing.assert_array_equal(now, then)


@EVERY
@pytest.mark.parametrize("losses", [[0.0, 0.0], [2.0, 2.0], [0.0, 3.0], [1e-300, 1e300]], ids=str)
@pytest.mark.parametrize(
    "gram", [np.zeros((2, 2)), np.ones((2, 2)), np.array([[1.0, -1.0], [-1.0, 1.0]]), np.diag([0.0, 1.0])], ids=str
)
def test_extreme_losses_and_gradients_do_not_stop_a_training(
    scalariser: Scalariser, losses: list[float], gram: np.ndarray
) -> None:
    found = scalariser.coefficients(np.array([0.25, 0.75]), np.array(losses), gram)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1.0)


@EVERY
def test_one_client_alone_has_all_of_the_step(scalariser: Scalariser) -> None:
    assert scalariser.coefficients(np.ones(1), np.array([0.3]), np.array([[2.0]])).tolist() == [1.0]


PAIR = np.array([0.5, 0.5])
BAD = {
    "a ray that sums to two": ((2 * PAIR, PAIR, np.eye(2)), "the ray sums to 2"),
    "a negative weight": ((np.array([1.5, -0.5]), PAIR, np.eye(2)), "not negative"),
    "a weight that is no number": ((np.array([np.nan, 1.0]), PAIR, np.eye(2)), "must have weights that are numbers"),
    "no weight at all": ((np.ones(0), np.ones(0), np.ones((0, 0))), "N above 0"),
    "many rays": ((np.ones((2, 2)) / 2, PAIR, np.eye(2)), "shape (2, 2)"),
    "a loss too few": ((PAIR, np.ones(1), np.eye(2)), "2 weights"),
    "a loss that is no number": ((PAIR, np.array([1.0, np.nan]), np.eye(2)), "the loss of client 1 is nan"),
    "an endless loss": ((PAIR, np.array([np.inf, 1.0]), np.eye(2)), "the loss of client 0 is inf"),
    "gradients instead of products": ((PAIR, PAIR, np.ones((2, 5))), "shape (2, 5)"),
    "products that are no numbers": ((PAIR, PAIR, np.full((2, 2), np.nan)), "must be finite"),
    "uneven products": ((PAIR, PAIR, np.array([[1.0, 0.5], [0.0, 1.0]])), "G Gᵀ"),
    "a negative square": ((PAIR, PAIR, np.diag([1.0, -1.0])), "G Gᵀ"),
    "a product beyond both squares": ((PAIR, PAIR, np.array([[0.0, 1.0], [1.0, 0.0]])), "G Gᵀ"),
}


@EVERY
@pytest.mark.parametrize(("inputs", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_refused(scalariser: Scalariser, inputs: tuple[np.ndarray, ...], message: str) -> None:
    with pytest.raises(InputError) as error:
        scalariser.coefficients(*inputs)
    assert message in str(error.value)
