"""The exact front of log losses, and its expansion."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.client import Client
from comity.core.likelihood import LogLoss, penalty_factors
from comity.families.glm.convex_front import ConvexFront, ModelRequest
from comity.families.problem import state_problem
from comity.federation import InProcess
from comity.questions import Split
from comity.study import Study

FIRST = np.array([0])


def federation(seed: int, clients: int = 3, rows: int = 60, classes: int = 2) -> InProcess:
    rng = np.random.default_rng(seed)
    members = []
    for number in range(clients):
        x = rng.normal(size=(rows + 10 * number, 3))
        effects = rng.normal(size=(3, classes))
        y = (x @ effects + rng.gumbel(size=(len(x), classes))).argmax(axis=1)
        members.append(Client(f"c{number}", pd.DataFrame(x, columns=list("abc")).assign(y=[f"k{v}" for v in y])))
    return InProcess(tuple(members))


def front_of(clients: InProcess, split: Split | None = None, per_client: bool = False) -> tuple[ConvexFront, LogLoss]:
    """Return the front, and the loss on all rows together, for tests only."""
    problem = state_problem(clients, Study("y"))
    schema = problem.schema
    from comity.rows.encoding import encode, encode_target

    features = np.concatenate([encode(member.rows, schema) for member in clients.members])
    target = np.concatenate([encode_target(member.rows, schema) for member in clients.members])
    split = split or Split(judges=2)
    front = ConvexFront(clients, schema, split, per_client)
    return front, LogLoss(features, target, len(schema.target.classes))


def one(weights: np.ndarray, penalty: float, size: int) -> ModelRequest:
    return ModelRequest(weights[None], np.array([penalty]), np.array([0]), np.zeros((1, size)))


def slope_at(front: ConvexFront, loss: LogLoss, weights: np.ndarray, penalty: float, model: np.ndarray) -> np.ndarray:
    counts = np.repeat(weights, [len(member.rows) for member in front.federation.members])
    costs = penalty * penalty_factors(front.size, loss.outputs)
    return loss.slope(model, counts) / counts.sum() + 2 * costs * model


@settings(max_examples=10)
@given(st.integers(0, 1000), st.integers(2, 3), st.sampled_from([1e-5, 1e-2, 1.0]))
def test_models_are_optimal_for_their_weights(seed: int, classes: int, penalty: float) -> None:
    front, loss = front_of(federation(seed, classes=classes))
    weights = np.random.default_rng(seed).dirichlet(np.ones(3))
    model = front.newton(one(weights, penalty, front.size), 20)[0]
    np.testing.assert_allclose(slope_at(front, loss, weights, penalty, model), 0.0, atol=1e-6)


@settings(max_examples=10)
@given(st.integers(0, 1000))
def test_models_move_with_the_weights_as_the_implicit_function_theorem_says(seed: int) -> None:
    """∂θ/∂w_j = -H⁻¹ (∇l_j + n_j (the penalty's share)) / s, against finite differences."""
    front, loss = front_of(federation(seed))
    rng = np.random.default_rng(seed)
    weights, penalty = rng.dirichlet(np.ones(3) * 5), 1e-2
    rows = np.array([len(member.rows) for member in front.federation.members], float)
    model = front.newton(one(weights, penalty, front.size), 20)[0]
    counts = np.repeat(weights, rows.astype(int))
    costs = penalty * penalty_factors(front.size, 1)
    curvature = loss.curvature(model, counts) / counts.sum() + np.diag(2 * costs)
    for j in range(3):
        own = np.repeat(np.eye(3)[j], rows.astype(int))
        pull = (loss.slope(model, own) + rows[j] * 2 * costs * model) / counts.sum()
        step = 1e-4 * np.eye(3)[j]
        ahead, behind = (front.newton(one(weights + sign * step, penalty, front.size), 20)[0] for sign in (1, -1))
        np.testing.assert_allclose(-np.linalg.solve(curvature, pull), (ahead - behind) / 2e-4, rtol=1e-3, atol=1e-5)


def test_a_zero_weight_leaves_a_client_out_exactly() -> None:
    clients = federation(3)
    weights = np.array([0.6, 0.4, 0.0])
    front, _ = front_of(clients)
    model = front.newton(one(weights, 1e-3, front.size), 15)
    assert [entry.question for entry in clients.members[2].log] == ["describe"]
    changed = InProcess((*clients.members[:2], Client("c2", federation(9).members[2].rows)))
    other = ConvexFront(changed, front.schema, front.split)
    np.testing.assert_array_equal(model, other.newton(one(weights, 1e-3, front.size), 15))


def test_weights_per_client_are_those_of_mean_losses() -> None:
    clients = federation(4)
    per_client, _ = front_of(clients, per_client=True)
    per_sample, _ = front_of(clients)
    weights = np.array([0.2, 0.3, 0.5])
    scaled = weights / [len(member.rows) for member in clients.members]
    np.testing.assert_allclose(
        per_client.newton(one(weights, 1e-3, 4), 20),
        per_sample.newton(one(scaled / scaled.sum(), 1e-3, 4), 20),
        atol=1e-6,
    )


def test_the_expansion_finds_nearly_the_same_models() -> None:
    """At the pooled weights it is exact; elsewhere the loss is close to that of the exact model."""
    front, loss = front_of(federation(5), Split(judges=2, repeats=1))
    points = front.pooled(20)
    expanded = front.expand(points)
    assert len(expanded) == 3
    pooled = expanded[0].models(FIRST, np.full((1, 3), 1 / 3), np.log([1e-3]))
    np.testing.assert_allclose(pooled, points[:1], atol=1e-6)
    weights = np.array([0.8, 0.1, 0.1])
    exact = front.newton(one(weights, 1e-3, 4), 20)[0]
    near = expanded[0].models(FIRST, weights[None], np.log([1e-3]))[0]
    counts = np.repeat(weights, [len(member.rows) for member in front.federation.members])
    best, found, start = (loss.losses(model) @ counts for model in (exact, near, points[0]))
    assert best <= found <= best + 0.2 * (start - best)


def test_separable_rows_and_single_classes_do_no_harm() -> None:
    """Undamped, Newton's method would run away."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 3))
    frames = [pd.DataFrame(x, columns=list("abc")) for _ in range(3)]
    labels = [np.where(x[:, 0] > 0, "no", "yes"), ["yes"] * 30, ["no"] * 30]
    members = (Client(f"c{n}", f.assign(y=y)) for n, (f, y) in enumerate(zip(frames, labels, strict=True)))
    front, loss = front_of(InProcess(tuple(members)))
    for weights in (*np.eye(3), np.array([0.98, 0.01, 0.01])):
        model = front.newton(one(weights, 1e-6, front.size), 30)[0]
        assert np.isfinite(model).all()
        assert np.abs(slope_at(front, loss, weights, 1e-6, model)).max() < 1e-2


def test_a_round_serves_all_models() -> None:
    clients = federation(6)
    front, _ = front_of(clients)
    before = clients.traffic.rounds
    rng = np.random.default_rng(0)
    many = ModelRequest(rng.dirichlet(np.ones(3), 40), np.full(40, 1e-3), np.zeros(40, int), np.zeros((40, front.size)))
    found = front.newton(many, 12)
    assert clients.traffic.rounds - before <= 12
    again = front.newton(many.some(np.array([7])), 12)
    np.testing.assert_allclose(found[7], again[0], atol=1e-9)


@pytest.mark.parametrize("rounds", [1, 3])
def test_rounds_are_bounded(rounds: int) -> None:
    clients = federation(7)
    front, _ = front_of(clients)
    before = clients.traffic.rounds
    front.newton(one(np.full(3, 1 / 3), 1e-6, front.size), rounds)
    assert clients.traffic.rounds - before == rounds
