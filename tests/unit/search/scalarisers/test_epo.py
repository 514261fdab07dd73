"""Exact Pareto search: where it leads on fronts that are known, and that it solves the programme it says."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.errors import InputError
from comity.search.scalarisers import ExactPareto, Linear, epo
from support.known_fronts import Bells, Quadratics, descend, random_quadratics

RAYS = [(0.5, 0.5), (0.9, 0.1), (0.1, 0.9), (0.7, 0.3), (0.98, 0.02)]
BESIDE, ON_THE_FRONT = (0.1, 0.4, -0.2, 0.3, 0.0), (-0.3,) * 5


def spread(weighted: np.ndarray) -> float:
    return float(weighted.max() / weighted.min() - 1)


@pytest.mark.parametrize("ray", RAYS, ids=str)
def test_two_round_bowls(ray: tuple[float, float]) -> None:
    """The Pareto set is the line between the centres, and √l_1 + √l_2 = |c_1 - c_2| / √2 the front."""
    problem = Quadratics(np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 2.0]]), np.array([np.eye(3)] * 2))
    weights = np.array(ray)
    end = descend(ExactPareto(), problem, weights, np.array([3.0, -1.0, 0.5]))
    losses = problem.losses(end)
    assert spread(weights * losses) < 0.02
    assert np.sqrt(losses).sum() == pytest.approx(3 / np.sqrt(2), rel=1e-4)
    share = np.sqrt(weights[1]) / np.sqrt(weights).sum()
    np.testing.assert_allclose(end, share * problem.centres[1], atol=0.01)


@pytest.mark.parametrize("weights", [(1 / 3, 1 / 3, 1 / 3), (0.8, 0.1, 0.1), (0.02, 0.9, 0.08)], ids=str)
@pytest.mark.parametrize("size", [2, 6])
def test_three_bowls_of_any_shape(size: int, weights: tuple[float, ...]) -> None:
    """The ray through a point of the Pareto set, known in closed form, must lead back to that point."""
    problem = random_quadratics(3, size, seed=5)
    optimum = problem.optimum(np.array(weights))
    ray = 1 / problem.losses(optimum)
    ray /= ray.sum()
    end = descend(ExactPareto(), problem, ray, np.full(size, -1.5), steps=250)
    assert spread(ray * problem.losses(end)) < 0.02
    np.testing.assert_allclose(problem.losses(end), problem.losses(optimum), rtol=0.02)
    np.testing.assert_allclose(end, optimum, atol=0.03)


def test_ten_bowls() -> None:
    problem = random_quadratics(10, 20, seed=7)
    optimum = problem.optimum(np.random.default_rng(8).dirichlet(np.full(10, 2.0)))
    ray = 1 / problem.losses(optimum)
    ray /= ray.sum()
    end = descend(ExactPareto(), problem, ray, np.zeros(20), steps=300)
    assert spread(ray * problem.losses(end)) < 0.02
    np.testing.assert_allclose(problem.losses(end), problem.losses(optimum), rtol=0.02)


@pytest.mark.parametrize(
    ("ray", "start"),
    [*((ray, BESIDE) for ray in RAYS), ((0.9, 0.1), ON_THE_FRONT), ((0.3, 0.7), ON_THE_FRONT)],
    ids=str,
)
def test_two_bells_whose_front_is_not_convex(ray: tuple[float, float], start: tuple[float, ...]) -> None:
    problem, weights = Bells(), np.array(ray)
    end = descend(ExactPareto(), problem, weights, np.array(start))
    along, beside = problem.place(end)
    assert spread(weights * problem.losses(end)) < 0.02
    assert along == pytest.approx(problem.wanted(weights), abs=0.01)
    assert beside < 0.01


@pytest.mark.parametrize("ray", [(0.5, 0.5), (0.6, 0.4), (0.3, 0.7)], ids=str)
def test_weighted_sums_end_at_the_ends_of_such_a_front(ray: tuple[float, float]) -> None:
    """Why exact Pareto search is there at all: were this to fail, the linear scalariser would do."""
    problem, weights = Bells(), np.array(ray)
    end = descend(Linear(), problem, weights, np.array(BESIDE), steps=1000)
    along, beside = problem.place(end)
    assert beside < 0.01
    assert abs(along) > 0.9
    assert abs(problem.wanted(weights)) < 0.4
    assert spread(weights * problem.losses(end)) > 10


def test_it_leaves_the_optimum_of_a_single_client() -> None:
    """There the gradient is zero, which counts as Pareto optimal: the paper's rules stay (see `ExactPareto`)."""
    problem = Quadratics(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([np.eye(2)] * 3))
    optimum = np.array([0.3, 0.6])
    ray = 1 / problem.losses(optimum)
    ray /= ray.sum()
    for start in (np.array([2.0, -1.0]), problem.centres[1]):
        end = descend(ExactPareto(), problem, ray, start)
        assert spread(ray * problem.losses(end)) < 0.02
        np.testing.assert_allclose(end, optimum, atol=0.01)


def test_a_ray_that_misses_the_front_ends_where_the_greatest_weighted_loss_is_least() -> None:
    """No loss is below 0.1, so that 0.8 l_1 is above 0.1 l_2 and 0.1 l_3 on all of the front: l_1 must be least."""
    centres = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    problem = Quadratics(centres, np.array([np.eye(2)] * 3), floor=0.1)
    end = descend(ExactPareto(), problem, np.array([0.8, 0.1, 0.1]), np.array([2.0, -1.0]))
    np.testing.assert_allclose(end, centres[0], atol=0.01)


def test_the_greatest_weighted_loss_does_not_rise_on_the_way() -> None:
    problem, ray = random_quadratics(3, 6, seed=6), np.array([0.2, 0.5, 0.3])
    seen: list[float] = []
    descend(
        ExactPareto(),
        problem,
        ray,
        np.full(6, -1.5),
        length=0.02,
        watch=lambda at: seen.append((ray * problem.losses(at)).max()),
    )
    # Steps are not infinitely short: near balance the next greatest overtakes, by less than the tolerance.
    assert (np.diff(seen) <= 0.005 * np.array(seen[:-1])).all()
    assert seen[-1] < seen[0] / 2


@settings(max_examples=40)
@given(st.integers(2, 5), st.integers(1, 6), st.booleans(), st.integers(0, 2**32 - 1))
def test_no_other_point_of_the_simplex_does_better(clients: int, size: int, balanced: bool, seed: int) -> None:
    """The programme by its definition, against many points: none that is allowed has a greater objective."""
    random = np.random.default_rng(seed)
    ray = random.dirichlet(np.ones(clients))
    losses = 1 / ray if balanced else random.lognormal(size=clients)
    gradients = random.normal(size=(clients, size))
    gram = gradients @ gradients.T
    found = ExactPareto().coefficients(ray, losses, gram)

    weighted = ray * losses
    shares = weighted / weighted.sum()
    non_uniformity = sum(share * np.log(share * clients) for share in shares)
    adjustments = ray * (np.log(shares * clients) - non_uniformity)
    adjustments = adjustments / max(np.abs(adjustments).sum(), 1e-300)
    pull = gram @ adjustments
    balancing = not balanced and (pull > 0).any()
    objective = pull if balancing else gram.sum(axis=0)

    def allowed(point: np.ndarray, slack: float) -> bool:
        for client in range(clients):
            change = gram[client] @ point
            is_greatest = weighted[client] == weighted.max()
            if not balancing or is_greatest:
                least = 0.0
            elif pull[client] <= 0:
                least = pull[client]
            else:
                continue
            if change < least - slack:
                return False
        return True

    scale = np.diag(gram).max()
    assert allowed(found, slack=1e-6 * scale)
    others = [*np.eye(clients), *random.dirichlet(np.full(clients, 0.5), size=200)]
    best = max((objective @ point for point in others if allowed(point, slack=0.0)), default=-np.inf)
    assert objective @ found >= best - 1e-6 * scale


def test_should_the_solver_fail_the_greatest_weighted_loss_is_stepped_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epo, "linprog", lambda *_, **__: SimpleNamespace(success=False, x=None))
    found = ExactPareto().coefficients(np.array([0.2, 0.3, 0.5]), np.array([1.0, 5.0, 2.0]), np.eye(3))
    assert found.tolist() == [0.0, 1.0, 0.0]


def test_nothing_to_choose_gives_the_ray() -> None:
    ray = np.array([0.25, 0.75])
    for losses, gram in ((np.ones(2), np.zeros((2, 2))), (np.zeros(2), np.eye(2))):
        np.testing.assert_array_equal(ExactPareto().coefficients(ray, losses, gram), ray)


def test_a_short_gradient_next_to_a_long_one_is_not_lost_in_the_solver_s_tolerance() -> None:
    """Balanced losses, so that none may rise: were the short one's constraint lost, only the long one would count."""
    gradients = np.array([[1e3, 0.0], [-1e-3, 1e-3]])
    found = ExactPareto().coefficients(np.array([0.5, 0.5]), np.ones(2), gradients @ gradients.T)
    assert (gradients @ (found @ gradients) >= -1e-9).all()


def test_negative_losses_are_refused_unless_left_out() -> None:
    losses, gram = np.array([1.0, -2.0]), np.eye(2)
    with pytest.raises(InputError, match=r"the loss of client 1 is -2, .* use the scalariser 'linear'"):
        ExactPareto().coefficients(np.array([0.5, 0.5]), losses, gram)
    assert ExactPareto().coefficients(np.array([1.0, 0.0]), losses, gram).tolist() == [1.0, 0.0]
