"""comity's models among the methods: alone, in the coalition, and with all clients willing."""

import numpy as np
import pytest

from comity.core.kinds import ModelKind
from comity.research.baselines import Budget
from comity.research.experiments.methods import COMITY_METHODS, BaselineRun
from comity.research.experiments.table_task import TableTask
from comity.rows.encoding import encode, encode_target
from comity.study import Study
from support.sessions import linear, of_tables

MODELS = {"alone": "alone", "ce": "coalition", "spo": "best"}


def unrequited() -> TableTask:
    """Clients c1 and c2 have few rows and want c0, who has many and gains nothing from them: they have each other."""
    rng = np.random.default_rng(2)
    truth, apart = 1.5 * rng.normal(size=10), rng.normal(size=10)
    near = truth + 0.6 * apart / np.linalg.norm(apart)
    truths = [truth, near, near]
    rows = linear(truths, [300, 30, 30], noise=1.5, seed=2)
    tests = linear(truths, [200] * 3, noise=0.0, seed=102)
    study = Study("y", search="spo", folds=5, repeats=1, judges=2)
    return TableTask(of_tables(rows, tests).federation.members, study, Budget(), BaselineRun((0.1,)))


def test_every_method_of_comity_evaluates_its_own_kind_of_model() -> None:
    """If two were mixed up, equilibria would seem to cost nothing, or collaboration to bring nothing."""
    task = unrequited()
    assert COMITY_METHODS == MODELS
    found = {method: task.run(method, lambda stage, done, of: None) for method in COMITY_METHODS}
    assert found["ce"].details["coalitions"] == [["c0"], ["c1", "c2"]]
    assert found["ce"].details["edges"] == [["c0", "c1"], ["c0", "c2"]], "both want the large one"
    for client in ("c1", "c2"):
        spo, ce, alone = (found[method].values[client] for method in ("spo", "ce", "alone"))
        assert spo < ce < 0.8 * alone
    assert len({found[method].values["c0"] for method in COMITY_METHODS}) == 1, "it has all it wants alone"
    learned = task._kept[0].learned
    for method, kind in MODELS.items():
        assert found[method].alone == found["alone"].values
        for place, client in enumerate(task.clients):
            x, y = encode(client.test, learned.problem.schema), encode_target(client.test, learned.problem.schema)
            misses = learned.problem.schema.target.scale * (x @ learned.evaluated.models[kind][place] - y)
            reported = found[method].values[client.name], found[method].details["errors"][client.name]
            assert reported[0] == pytest.approx(np.sqrt(np.mean(misses**2)), rel=1e-9)
            assert reported[1] == pytest.approx(
                task._kept[0].evaluations[client.name].errors[list(ModelKind).index(kind)], rel=1e-9
            )
