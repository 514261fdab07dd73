"""The models of a decision follow from its weights."""

import numpy as np
import pytest
import torch
from torch import nn

import comity
from comity.families.network import fit
from comity.families.network.hypernetworks import HypernetworkFront
from comity.families.network.rays import Rays
from comity.families.network.training import Training


def examples(seed: int, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(rows, 16, generator=generator)
    return x, x.sum(dim=1) + 2 * torch.randn(rows, generator=generator)


@pytest.mark.filterwarnings("ignore:.*rows to choose collaborators by:comity.ComityWarning")
@pytest.mark.parametrize(("weights", "counts"), [("sample", (48, 120)), ("client", (1, 1))])
def test_weights_become_shares_by_row_counts_or_stay_as_they_are(
    weights: str, counts: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    fronts: list[HypernetworkFront] = []
    train = fit.train

    def keep(*given: object) -> HypernetworkFront:
        fronts.append(train(*given))
        return fronts[-1]

    monkeypatch.setattr(fit, "train", keep)
    torch.manual_seed(0)
    result = comity.solve_modules(
        {"a": examples(0, 48), "b": examples(1, 120)}, nn.Linear(16, 1), loss="squared", weights=weights,
        training=Training(steps=100, rays=Rays(sparse=0.5)), confidence=0, folds=3,
    )  # fmt: skip
    for kind in ("coalition", "best"):
        taken = result.weights[kind]
        assert (taken > 0).all(), "else this would show nothing"
        shares = taken * counts
        expected = fronts[0].models(shares / shares.sum(axis=1, keepdims=True))
        np.testing.assert_allclose(result.models[kind], expected, rtol=1e-6)
