"""Training a hypernetwork through a federation: against training in one place, and against exact fronts."""

import numpy as np
import pytest
import torch

from comity.errors import InputError, TrainingError
from comity.families.network.adam import Adam, cosine
from comity.families.network.rays import Rays
from comity.families.network.trainer import Trainer, train
from comity.families.network.training import Training
from comity.questions import Gradients
from comity.questions.networks import PARAMETRISATIONS
from support.linear_networks import Linear


def central(linear: Linear, settings: Training) -> torch.Tensor:
    """The same training in one place, with all rows: one derivative of the whole objective, and no questions."""
    network = settings.network(len(linear.federation.members), linear.size)
    base = torch.zeros(linear.size, dtype=torch.float64)
    parameters = torch.stack([network.initial(base, settings.seed)] * linear.recipe.networks)
    adam = Adam.begin(parameters)
    for step in range(settings.steps):
        rays = torch.as_tensor(settings.rays.draw(network.clients, settings.per_step, settings.seed, step))
        at = parameters.detach().requires_grad_()
        objective = torch.zeros((), dtype=torch.float64)
        for number, learner in enumerate(linear.learners):
            rows, _ = learner.batch(step)
            for fold, models in enumerate(network(at, rays)):
                weights = learner.trains[fold, rows]
                predicted = learner.inputs[rows] @ models[:, :-1].T + models[:, -1]
                lost = (weights / weights.sum()) @ (predicted - learner.targets[rows][:, None]) ** 2
                objective = objective + (lost * rays[:, number]).sum() / len(rays)
        (gradient,) = torch.autograd.grad(objective, at)
        parameters = adam.step(parameters, gradient, cosine(settings.rate, step, settings.steps))
    return parameters


@pytest.mark.parametrize("kind", PARAMETRISATIONS)
@pytest.mark.parametrize(("folds", "batch"), [(1, 0), (1, 7), (3, 9)])
def test_exact_gradients_and_one_local_step_equal_training_in_one_place(kind: str, folds: int, batch: int) -> None:
    linear = Linear.drawn(4, folds=folds, batch=batch)
    for local_steps in (0, 1):
        settings = Training(kind=kind, steps=12, per_step=3, local_steps=local_steps, width=8)
        trainer = Trainer(linear.federation, linear.recipe, settings, linear.size)
        state = trainer.begin(torch.zeros(linear.size))
        for _ in trainer.step(state):
            pass
        np.testing.assert_allclose(state.parameters.numpy(), central(linear, settings).numpy(), atol=1e-10, rtol=0)


def test_a_seed_determines_everything() -> None:
    linear = Linear.drawn(3, batch=10)
    settings = Training(steps=15, seed=4)
    one, other = (train(linear.federation, linear.recipe, torch.zeros(linear.size), settings) for _ in range(2))
    np.testing.assert_array_equal(one.parameters, other.parameters)
    assert one.checks == other.checks


@pytest.mark.parametrize("clients", [3, 12])
def test_a_trained_front_is_nearly_the_exact_one(clients: int) -> None:
    linear = Linear.drawn(clients, seed=clients)
    trained = train(linear.federation, linear.recipe, torch.zeros(linear.size), Training(steps=250, rate=2e-2))
    rays = np.random.default_rng(0).dirichlet(np.ones(clients), 200)
    models = trained.models(rays)
    reached, least = ((linear.losses(each) * rays).sum(axis=1) for each in (models, linear.exact(rays)))
    assert (reached >= least * (1 - 1e-9)).all(), "nothing is below the optimum"
    assert np.mean(reached / least - 1) < 0.01


@pytest.mark.parametrize("clients", [2, 3])
def test_the_front_covers_what_the_exact_one_does(clients: int) -> None:
    linear = Linear.drawn(clients, seed=10 + clients)
    trained = train(linear.federation, linear.recipe, torch.zeros(linear.size), Training(steps=250, rate=2e-2))
    rng = np.random.default_rng(0)
    rays = np.concatenate([np.eye(clients), rng.dirichlet(np.ones(clients), 400)])
    models = trained.models(rays)
    reached, exact = linear.losses(models), linear.losses(linear.exact(rays))
    corner = exact.max(axis=0) * 1.1
    points = rng.uniform(exact.min(axis=0), corner, (20_000, clients))

    def covered(front: np.ndarray) -> float:
        return float((front[None] <= points[:, None]).all(axis=2).any(axis=1).mean())

    assert covered(reached) >= 0.99 * covered(exact)


def test_a_step_asks_only_clients_with_weight() -> None:
    linear = Linear.drawn(6)
    settings = Training(steps=5, per_step=1, rays=Rays(sparse=1.0, most=2), checks=5)
    train(linear.federation, linear.recipe, torch.zeros(linear.size), settings)
    asked = [[given.question for given in member.log].count("gradients") for member in linear.federation.members]
    drawn = np.concatenate([settings.rays.draw(6, 1, 0, step) for step in range(5)])
    assert asked == (drawn > 0).sum(axis=0).tolist()
    assert sum(asked) <= 2 * 5


def test_exact_pareto_evens_out_the_weighted_losses() -> None:
    linear = Linear.drawn(2, spread=0.7)
    rays = Rays(alpha=20.0, sparse=0.0)  # near the middle, where the front has r_i l_i equal
    spread = {}
    for scalariser in ("linear", "epo"):
        settings = Training(scalariser=scalariser, steps=150, rate=2e-2, per_step=2, rays=rays)
        trained = train(linear.federation, linear.recipe, torch.zeros(linear.size), settings)
        shares = rays.draw(2, 30, seed=1, step=0)
        models = trained.models(shares)
        weighted = linear.losses(models) * shares
        spread[scalariser] = float(np.mean(weighted.max(axis=1) / weighted.min(axis=1) - 1))
    assert spread["epo"] < 0.5 * spread["linear"]


def test_a_loss_that_is_not_a_number_names_step_and_client() -> None:
    linear = Linear.drawn(3, batch=0)
    trainer = Trainer(linear.federation, linear.recipe, Training(steps=10, checks=10), linear.size)
    state = trainer.begin(torch.zeros(linear.size))
    states = trainer.step(state)
    next(states)
    best = state.best.clone()
    linear.learners[1].targets[:] = torch.nan
    with pytest.raises(TrainingError, match=r"client 'c1' is not a number at step 1;"):
        next(states)
    assert torch.equal(state.best, best), "what was good is kept"


def test_invalid_settings_are_refused() -> None:
    with pytest.raises(InputError, match="no scalariser 'mean'; there are linear, epo"):
        Training(scalariser="mean")
    with pytest.raises(InputError, match="needs every client's gradient"):
        Training(scalariser="epo", local_steps=3)
    with pytest.raises(InputError, match="steps is 0; it must be a whole number, 1 or more"):
        Training(steps=0)
    with pytest.raises(InputError, match="no hypernetwork 'deep'; there are residual"):
        Training(kind="deep").network(2, 3)


def test_averaging_with_several_local_steps_comes_near_the_exact_front() -> None:
    linear = Linear.drawn(4, seed=2)
    settings = Training(steps=60, rate=2e-2, local_steps=4)
    trained = train(linear.federation, linear.recipe, torch.zeros(linear.size), settings)
    rays = np.random.default_rng(0).dirichlet(np.ones(4), 100)
    reached, least = ((linear.losses(each) * rays).sum(axis=1) for each in (trained.models(rays), linear.exact(rays)))
    assert np.mean(reached / least - 1) < 0.05


def test_patience_ends_a_training_and_one_that_is_resumed() -> None:
    linear = Linear.drawn(3)
    trainer = Trainer(
        linear.federation, linear.recipe, Training(steps=200, checks=20, patience=2, rate=1.0), linear.size
    )
    state = trainer.begin(torch.zeros(linear.size))
    for _ in trainer.step(state):
        pass
    assert state.step < 200
    assert sum(step > state.best_step for step, _ in state.checks) == 2
    ended = state.step
    assert list(trainer.step(state)) == []
    assert state.step == ended


def test_invalid_rays_are_refused() -> None:
    for name, value in {"alpha": 0.0, "sparse": 2.0, "most": 0}.items():
        with pytest.raises(InputError, match=f"{name} is {value}; it must be"):
            Rays(**{name: value})


def test_the_front_is_that_of_the_best_check() -> None:
    linear = Linear.drawn(3, seed=3, dim=40)  # few rows for so many features: the last parameters are not the best
    trainer = Trainer(linear.federation, linear.recipe, Training(steps=60), linear.size)
    state = trainer.begin(torch.zeros(linear.size))
    by_step = {state.step: state.parameters.clone() for state in trainer.step(state)}
    front = trainer.finish(state)
    losses = dict(front.checks)
    assert front.step == min(losses, key=losses.__getitem__)
    assert 0 < front.step < 60, "the last check must not be the best, or the test shows nothing"
    np.testing.assert_array_equal(front.parameters, by_step[front.step].numpy())


@pytest.mark.parametrize("folds", [1, 3])
def test_shares_of_a_step_sum_to_one_for_each_network(folds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    linear = Linear.drawn(4, folds=folds)
    asked: list[Gradients] = []
    ask = type(linear.federation).ask

    def listen(federation: object, question: object, *rest: object) -> object:
        asked.extend(each for each in question.values() if isinstance(each, Gradients))
        return ask(federation, question, *rest)

    monkeypatch.setattr(type(linear.federation), "ask", listen)
    trainer = Trainer(linear.federation, linear.recipe, Training(steps=1, per_step=5), linear.size)
    for _ in trainer.step(trainer.begin(torch.zeros(linear.size))):
        pass
    networks, shares = (np.concatenate([getattr(each, name) for each in asked]) for name in ("networks", "shares"))
    np.testing.assert_allclose(np.bincount(networks.astype(np.intp), shares), np.ones(linear.recipe.networks))
