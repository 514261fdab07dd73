"""Modules as functions of a vector of parameters, and modules that cannot be trained this way."""

import numpy as np
import pytest
import torch
from torch import nn

from comity.errors import InputError
from comity.families.network.losses import LOSSES, check_fit
from comity.families.network.modules import Functional, perceptron, state_of


def test_a_function_with_the_modules_parameters_equals_the_module() -> None:
    module = nn.Sequential(nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.Flatten(), nn.Linear(64, 3))
    inputs = torch.randn(5, 1, 6, 6, generator=torch.Generator().manual_seed(0))
    for personal in (None, r"^3\."):
        functional = Functional.of(module, personal)
        torch.testing.assert_close(functional(*functional.initial(), inputs), module(inputs))
    assert functional.personal == ("3.weight", "3.bias")
    assert functional.size + functional.initial()[1].numel() == sum(each.numel() for each in module.parameters())


@pytest.mark.parametrize(
    ("module", "personal", "message"),
    [
        (nn.Linear(2, 1), "head", "no parameter of the model matches the pattern 'head' .* it has weight, bias"),
        (nn.Linear(2, 1), ".", "all parameters of the model match"),
        (nn.Flatten(), None, "the model has no parameters to train"),
        (nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4)), None, "the part '1' .* running statistics .* GroupNorm"),
        (nn.ParameterList([nn.Parameter(torch.zeros(2, dtype=torch.long), requires_grad=False)]), None, "torch.int64"),
        ("linear", None, "must be a torch.nn.Module, not str"),
    ],
)
def test_modules_that_cannot_be_trained_are_refused(module: object, personal: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Functional.of(module, personal)


def test_tied_parameters_count_once_and_stay_tied() -> None:
    encoder, decoder = nn.Linear(3, 3), nn.Linear(3, 3)
    decoder.weight = encoder.weight
    module = nn.Sequential(encoder, nn.Tanh(), decoder, encoder)
    functional = Functional.of(module)
    assert functional.size == 9 + 3 + 3
    generator = torch.Generator().manual_seed(0)
    flat, inputs = torch.randn(15, generator=generator), torch.randn(4, 3, generator=generator)
    weight, bias, other_bias = flat[:9].reshape(3, 3), flat[9:12], flat[12:]
    before = functional.initial()[0]
    hidden = torch.tanh(inputs @ weight.T + bias) @ weight.T + other_bias
    torch.testing.assert_close(functional(flat, torch.zeros(0), inputs), hidden @ weight.T + bias)
    assert decoder.weight is encoder.weight
    assert torch.equal(functional.initial()[0], before)


def test_a_fresh_module_can_load_the_state_of_tied_and_frozen_parameters() -> None:
    def make(fill: float) -> nn.Module:
        first, second = nn.Linear(2, 2, bias=False), nn.Linear(2, 2, bias=False)
        second.weight = first.weight
        frozen = nn.Linear(2, 1).requires_grad_(False)
        module = nn.Sequential(first, second, frozen)
        for parameter in module.parameters():
            nn.init.constant_(parameter, fill)
        return module

    trained, fresh = make(1.0), make(5.0)
    fresh.load_state_dict(state_of(trained, np.full(4, 2.0)))
    assert (fresh[0].weight == 2).all()
    assert (fresh[1].weight == 2).all()
    assert (fresh[2].weight == 1).all()


def test_a_module_that_fails_gets_its_parameters_back() -> None:
    """Otherwise it could be neither saved nor trained after rows that it cannot take."""
    module = nn.Linear(3, 1)
    own = dict(module.named_parameters())
    functional = Functional.of(module)
    with pytest.raises(RuntimeError):
        functional(torch.zeros(4), torch.zeros(0), torch.zeros(5, 2))
    assert all(module.get_parameter(name) is parameter for name, parameter in own.items())


def test_batch_norm_without_statistics_is_fine() -> None:
    Functional.of(nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4, track_running_stats=False)))


@pytest.mark.parametrize(
    ("loss", "outputs", "targets", "message"),
    [
        ("squared", torch.zeros(4, 2), torch.zeros(4), "gives 2 numbers a row and the target has 1"),
        ("cross-entropy", torch.zeros(4), torch.zeros(4), r"of shape \(4,\); for the loss 'cross-entropy'"),
        (
            "cross-entropy",
            torch.zeros(4, 3),
            torch.tensor([0, 1, 2, 3]),
            "gives 3 classes and the target goes from 0 to 3",
        ),
    ],
)
def test_outputs_that_do_not_fit_the_loss(
    loss: str, outputs: torch.Tensor, targets: torch.Tensor, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        check_fit(outputs, targets, LOSSES[loss], loss)


def test_a_custom_loss_must_return_a_number_for_each_row() -> None:
    with pytest.raises(InputError, match=r"must give one number for each row \(4,\)"):
        check_fit(torch.zeros(4), torch.zeros(4), lambda outputs, targets: (outputs - targets).mean(), "mine")


def test_the_seed_determines_a_perceptron_and_no_other_random_numbers() -> None:
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    one, other = (perceptron(3, 1, 8, 2, seed=1) for _ in range(2))
    assert torch.rand(1) == expected
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
