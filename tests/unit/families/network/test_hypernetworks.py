"""A trained front returns the models of its last network, or of all networks."""

import numpy as np
import torch

from comity.families.network.hypernetworks import Hypernetwork, HypernetworkFront


def test_models_are_those_of_the_network_that_was_trained_on_most_rows() -> None:
    network = Hypernetwork(clients=2, size=5, kind="linear")
    parameters = np.random.default_rng(0).normal(size=(3, network.parameters))
    front, shares = HypernetworkFront(network, parameters, step=0, checks=()), np.array([[0.3, 0.7], [1.0, 0.0]])
    of_last = network(torch.as_tensor(parameters[-1:]), torch.as_tensor(shares))[0]
    np.testing.assert_array_equal(front.models(shares), of_last.numpy())
    assert front.models_of_all(shares).shape == (3, 2, 5)
