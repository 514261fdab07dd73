"""A client with hardly any rows never ends a job."""

import math

import numpy as np
import pandas as pd
import pytest

import comity
from comity.client import Client, Policy
from comity.core.kinds import ModelKind
from comity.errors import InputError
from comity.result.verification import verify

FEATURES = list("abc")


def table(rows: int, classes: bool, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(rows, 3)), columns=FEATURES)
    effect = frame.sum(axis=1) + rng.normal(size=rows)
    return frame.assign(y=np.where(effect > 0, "yes", "no") if classes else effect)


ODD = {
    "no row": lambda classes: table(0, classes),
    "no column": lambda classes: pd.DataFrame(),
    "one row": lambda classes: table(1, classes),
    "two rows": lambda classes: table(2, classes),
    "constant target": lambda classes: table(30, classes).assign(y="yes" if classes else 1.0),
    "constant column": lambda classes: table(30, classes).assign(a=1.0),
}


@pytest.mark.parametrize("limit", [math.inf, 0.5])
@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.filterwarnings("ignore::comity.errors.ComityWarning")
def test_a_client_with_hardly_any_rows_never_ends_the_job(odd, classes, limit, tmp_path):
    policy = Policy(disclosure=limit)
    members = [Client(name, table(60, classes, seed), policy) for seed, name in enumerate("ABC")]
    result = comity.solve(comity.InProcess((*members, Client("odd", ODD[odd](classes), policy))), target="y")
    assert all(np.isfinite(models).all() for models in result.models.values())
    result.save(tmp_path / "run")
    verify(tmp_path / "run")


@pytest.mark.parametrize("classes", [False, True])
def test_clients_without_rows_bring_nothing_and_get_one_warning(classes):
    members = [Client(name, table(60, classes, seed)) for seed, name in enumerate("ABC")]
    small = [Client(name, table(9, classes), Policy(least_rows=10)) for name in ("p", "q")]
    with pytest.warns(comity.errors.ComityWarning, match="no sums came from clients 'p', 'q'"):
        result = comity.solve(comity.InProcess((*members, *small)), target="y")
    assert sum("'p'" in each for each in result.warnings) == 1
    assert result.utilities["p"].rows == 0
    assert {"p"} in result.coalitions
    typical = result.models[ModelKind.COALITION][3]
    assert (typical[:3] > 0.1).all()  # as the effects of the others


def test_nothing_can_be_learned_without_any_rows():
    with pytest.raises(InputError, match="no client has rows"):
        comity.solve(comity.InProcess(tuple(Client(name, table(0, False)) for name in "AB")), target="y")
    few = (Client("A", table(40, False)), Client("B", table(0, False)))
    with pytest.raises(InputError, match="client 'B' has no rows, or too few for its policy; leave it out"):
        comity.solve(comity.InProcess(few), target="y", search="spo")
