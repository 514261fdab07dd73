"""Answers about losses: expansions at several points."""

import numpy as np
import pytest

from comity.questions import Expand, Split
from support.labelled_clients import labelled, loss_of


@pytest.mark.parametrize("own", [0, 1])
@pytest.mark.parametrize("repeats", [1, 2])
def test_folds_are_expanded_at_the_own_point_and_all_rows_at_every_point(own: int, repeats: int) -> None:
    federation, schema = labelled(30, 40)
    split = Split(folds=3, repeats=repeats, judges=2, resamples=1)
    points = np.random.default_rng(0).normal(size=(split.views, 2, 3))
    client = federation.members[own]
    expansion = client.answer(Expand(schema, split, points, own))
    np.testing.assert_allclose(expansion.gram.sum(axis=1), repeats * expansion.whole_gram[:, own])
    np.testing.assert_allclose(expansion.cross.sum(axis=1), repeats * expansion.whole_cross[:, own])
    assert not np.allclose(expansion.whole_gram[:, 0], expansion.whole_gram[:, 1]), (
        "or it would not matter whose point it is"
    )
    loss, once = loss_of(client, schema), np.ones(len(client.rows))
    for number, at in enumerate(points[0]):
        curvature, slope = loss.curvature(at, once), loss.slope(at, once)
        np.testing.assert_allclose(expansion.whole_gram[0, number], curvature / 2)
        np.testing.assert_allclose(expansion.whole_cross[0, number], (curvature @ at - slope) / 2)
    at = points[0, own]
    value = (
        expansion.square[0].sum() - 2 * expansion.cross[0].sum(axis=0) @ at + at @ expansion.gram[0].sum(axis=0) @ at
    )
    assert value == pytest.approx(repeats * loss.losses(at).sum())
