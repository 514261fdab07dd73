"""The front of hypernetworks: which parameters are kept, which network speaks, and what clients are asked."""

import numpy as np
import pytest
import torch

from comity.fronts.hypernetwork import HypernetworkFront, Trainer, Training
from comity.neural.hypernetworks import Hypernetwork
from comity.questions import Gradients
from networks import Linear


def test_models_are_those_of_the_network_that_was_trained_on_most_rows() -> None:
    network = Hypernetwork(clients=2, size=5, kind="linear")
    parameters = np.random.default_rng(0).normal(size=(3, network.parameters))
    front, shares = HypernetworkFront(network, parameters, step=0, checks=()), np.array([[0.3, 0.7], [1.0, 0.0]])
    of_last = network(torch.as_tensor(parameters[-1:]), torch.as_tensor(shares))[0]
    np.testing.assert_array_equal(front.models(shares), of_last.numpy())
    assert front.models_of_all(shares).shape == (3, 2, 5)


def test_the_front_is_that_of_the_best_check() -> None:
    linear = Linear.drawn(3, seed=3, dim=40)  # few rows for so many features: the last parameters are not the best
    trainer = Trainer(linear.federation, linear.recipe, Training(steps=60), linear.size)
    state = trainer.begin(torch.zeros(linear.size))
    met = {state.step: state.parameters.clone() for state in trainer.go_on(state)}
    front = trainer.finish(state)
    losses = dict(front.checks)
    assert front.step == min(losses, key=losses.__getitem__)
    assert 0 < front.step < 60, "else this would show nothing"
    np.testing.assert_array_equal(front.parameters, met[front.step].numpy())


@pytest.mark.parametrize("folds", [1, 3])
def test_what_clients_count_in_a_step_sums_to_one_for_each_network(folds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    linear = Linear.drawn(4, folds=folds)
    asked: list[Gradients] = []
    ask = type(linear.federation).ask

    def listen(federation: object, question: object, *rest: object) -> object:
        asked.extend(each for each in question.values() if isinstance(each, Gradients))
        return ask(federation, question, *rest)

    monkeypatch.setattr(type(linear.federation), "ask", listen)
    trainer = Trainer(linear.federation, linear.recipe, Training(steps=1, per_step=5), linear.size)
    for _ in trainer.go_on(trainer.begin(torch.zeros(linear.size))):
        pass
    networks, shares = (np.concatenate([getattr(each, name) for each in asked]) for name in ("networks", "shares"))
    np.testing.assert_allclose(np.bincount(networks.astype(np.intp), shares), np.ones(linear.recipe.networks))
