"""What is asked for classes: models approach their optimum by steps that are not too long."""

from dataclasses import replace

import numpy as np
import pytest

from comity.client import Client
from comity.families.family import silent
from comity.families.glm.expansions import BorrowingByExpansions
from comity.families.glm.tasks import LINEAR_TASKS
from comity.families.problem import state_problem
from comity.federation import InProcess
from comity.study import Study
from support.small_tables import THREE, classes


@pytest.mark.parametrize("longest", [0.01, 3.0])
def test_scores_change_by_no_more_than_the_longest_step_in_each_round(
    longest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five rounds of steps from zero; with the usual limit, they arrive."""
    monkeypatch.setitem(LINEAR_TASKS, "classes", replace(LINEAR_TASKS["classes"], longest=longest))
    frame = classes(rows=40)
    members = tuple(Client(name, frame[frame["site"] == name].drop(columns="site")) for name in THREE)
    federation, study = InProcess(members), Study("cured")
    schema = state_problem(federation, study).schema
    models, pooled, _ = BorrowingByExpansions(federation, schema, study.split(3), silent)._approached
    features = [member._disclosed.table.encoded(schema).features for member in members]
    for rows, model in zip(features, models, strict=True):
        far = np.sqrt(np.mean((rows @ model) ** 2))
        assert far <= 5 * longest * (1 + 1e-9)
        assert (far > 1) == (longest > 1)
    assert np.sqrt(np.mean((np.concatenate(features) @ pooled) ** 2)) <= 5 * longest * (1 + 1e-9)
