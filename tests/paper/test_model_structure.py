"""Who should train with whom depends on the model (paper: the influence of the model structure), both ways."""

import numpy as np
import pandas as pd
import pytest

import comity

TOGETHER = {frozenset({"North", "South"})}
APART = {frozenset({"North"}), frozenset({"South"})}


def products(seed: int, rows: int = 60, dim: int = 8, noise: float = 0.3) -> pd.DataFrame:
    """Two clients whose target is the same sum of products of features."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1.5, 1.5, (2 * rows, dim))
    y = x[:, 0] * x[:, 1] + x[:, 2] * x[:, 3] + noise * rng.normal(size=len(x))
    return _table(x, y, np.repeat(["North", "South"], rows))


def opposite_bumps(seed: int, rows: int = 60, dim: int = 6, noise: float = 0.5) -> pd.DataFrame:
    """Two clients with the same linear part, and opposite parts that are even in one more feature."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (2 * rows, dim))
    site = np.repeat(["North", "South"], rows)
    bump = 1.5 * np.where(np.abs(x[:, 0]) > 1, 1, -1) * np.where(site == "North", 1, -1)
    y = 0.5 * x[:, 1:].sum(axis=1) + bump + noise * rng.normal(size=len(x))
    return _table(x, y, site)


def _table(x: np.ndarray, y: np.ndarray, site: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(x, columns=[f"x{number}" for number in range(x.shape[1])]).assign(site=site, y=y)


def coalitions(table: pd.DataFrame, **settings) -> set[frozenset[str]]:
    result = comity.solve(table, client="site", target="y", **settings)
    assert result.certificate.proved
    return set(result.coalitions)


@pytest.mark.parametrize("seed", [0, 1])
def test_perceptrons_gain_together_where_linear_models_have_nothing_to_share(seed: int) -> None:
    """A product of independent features that are symmetric about 0 has no covariance with any of them.

    The best linear model is a constant, for which anybody's own rows do. A perceptron finds the products, but one
    client's rows are few for 8 features: with twice as many it is much better.
    """
    table = products(seed)
    sure = {"confidence": 2.0, "seed": seed}  # chance finds linear gains of one standard error where there are none
    assert coalitions(table, **sure) == APART
    assert coalitions(table, **sure, model="mlp", folds=5, steps=300) == TOGETHER


@pytest.mark.parametrize("seed", [0, 1])
def test_linear_models_gain_together_where_perceptrons_conflict(seed: int) -> None:
    """What is even in a feature is noise to a linear model, so that the two clients have all else in common.

    A perceptron sees the bump, which is most of the variance left, and there the other client's rows are wrong.
    """
    table = opposite_bumps(seed)
    assert coalitions(table, seed=seed) == TOGETHER
    assert coalitions(table, seed=seed, model="mlp", folds=5, steps=200) == APART
