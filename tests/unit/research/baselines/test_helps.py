"""Each baseline beats local training on a task that suits it, measured on test rows."""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytest
import torch
from torch import nn

from comity.research.baselines import AFL, IFCA, METHODS, QFFL, Budget, FedAvg, Local, Method, Session
from support.sessions import Examples, Floats, errors, linear, of_modules, of_tables

RNG = np.random.default_rng(5)
TRUTH = RNG.normal(size=8)
SIMILAR = TRUTH + 0.25 * RNG.normal(size=(5, 8))
ODD = np.stack([TRUTH] * 3 + [TRUTH + 0.6 * RNG.normal(size=8)])
BUDGET = Budget(rounds=50, steps=5, rate=0.05, checks=10)


def by_truths(truths: Floats, rows: Sequence[int]) -> Session:
    return of_tables(linear(truths, rows, seed=1), linear(truths, [300] * len(truths), seed=2), BUDGET)


def alike() -> Session:
    """Few rows each, and one truth."""
    return by_truths(np.stack([TRUTH] * 4), [16] * 4)


def similar() -> Session:
    """Few rows each, and truths that differ by little."""
    return by_truths(SIMILAR, [18] * 5)


def two_kinds() -> Session:
    """Two truths that have nothing to do with each other."""
    return by_truths(np.stack([TRUTH] * 3 + [-TRUTH] * 3), [18] * 6)


def one_odd() -> Session:
    """Three with many rows and one truth, and a fourth with few rows and another truth."""
    return by_truths(ODD, [60, 60, 60, 14])


def one_representation() -> Session:
    """Targets are of two numbers that are the same for all, and of what each makes of them."""
    rng = np.random.default_rng(3)
    inside, heads = rng.normal(size=(8, 2)) * 0.7, rng.normal(size=(6, 2))

    def draw(count: int, seed: int) -> list[Examples]:
        rng = np.random.default_rng(seed)
        inputs = rng.normal(size=(6, count, 8))
        return [
            (x, np.tanh(x @ inside) @ head + 0.1 * rng.normal(size=count))
            for x, head in zip(inputs, heads, strict=True)
        ]

    return of_tables(draw(24, 1), draw(300, 2), Budget(rounds=40, steps=5, rate=0.1, checks=10), depth=1, width=6)


class Waves(nn.Module):
    """Fixed waves of two inputs, of which the head has a weight each."""

    def __init__(self) -> None:
        super().__init__()
        rng = np.random.default_rng(0)
        self.register_buffer("ways", torch.as_tensor(1.3 * rng.normal(size=(2, 30))))
        self.register_buffer("phases", torch.as_tensor(rng.uniform(0, 2 * np.pi, 30)))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return torch.cos(inputs @ self.ways + self.phases)


def one_head() -> Session:
    """The same function of two numbers, which each client measures in its own way."""
    rng = np.random.default_rng(0)
    waves, weights = Waves(), 0.3 * rng.normal(size=30)
    measured = np.eye(2) + 0.4 * rng.normal(size=(5, 2, 2))
    module = nn.Sequential(nn.Linear(2, 2, bias=False), waves, nn.Linear(30, 1)).double()
    nn.init.eye_(module[0].weight)
    for parameter in module[2].parameters():
        nn.init.zeros_(parameter)

    def draw(count: int, seed: int) -> list[Examples]:
        rng = np.random.default_rng(seed)
        inputs = rng.normal(size=(5, count, 2))
        meant = [waves(torch.as_tensor(x @ how.T)).numpy() @ weights for x, how in zip(inputs, measured, strict=True)]
        return [(x, y + 0.1 * rng.normal(size=count)) for x, y in zip(inputs, meant, strict=True)]

    return of_modules(module, draw(30, 1), draw(300, 2), BUDGET)


TASKS = {
    "fedavg": alike,
    "afl": alike,
    "q-ffl": alike,
    "fedavg-ft": similar,
    "per-fedavg": similar,
    "per-fedavg-hf": similar,
    "pfedme": similar,
    "pfedhn": similar,
    "fedper": one_representation,
    "pfedhn-pc": one_representation,
    "lg-fedavg": one_head,
    "ifca": two_kinds,
}


@cache
def errors_of(method: Method, task: Callable[[], Session]) -> Floats:
    return errors(method, task())


def alone(task: Callable[[], Session]) -> Floats:
    return errors_of(Local(), task)


@pytest.mark.parametrize("name", TASKS)
def test_it_beats_local_training(name: str) -> None:
    found = errors_of(METHODS[name], TASKS[name])
    assert found.mean() < 0.95 * alone(TASKS[name]).mean()


def test_every_method_has_its_task() -> None:
    assert set(TASKS) == set(METHODS) - {"local"}


def test_with_two_kinds_of_clients_only_methods_that_separate_them_help() -> None:
    assert errors_of(FedAvg(), two_kinds).mean() > alone(two_kinds).mean(), "together is worse than alone"
    assert errors_of(IFCA(), two_kinds).max() < 1.25, "with noise of 1"


@pytest.mark.parametrize("method", [AFL(), QFFL(q=3)])
def test_the_worst_client_is_better_off_where_it_counts_for_more(method: Method) -> None:
    fair, together = errors_of(method, one_odd), errors_of(FedAvg(), one_odd)
    assert together.argmax() == fair.argmax() == 3
    assert fair[3] < 0.98 * together[3]
    assert fair[3] < 0.9 * alone(one_odd)[3], "one with few rows is better off than alone"
