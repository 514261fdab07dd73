"""What was decided in an experiment, as pages."""

from pathlib import Path

import pytest

from comity.experiments.reports import write_reports
from comity.experiments.reproducing import Reproduced

RESULTS = Path(__file__).parents[3] / "docs" / "results"


@pytest.mark.parametrize("name", ["synthetic", "adult", "eicu"])
def test_every_decision_has_a_page(name: str, tmp_path: Path) -> None:
    found = Reproduced.from_json((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    pages = write_reports(found.cells, tmp_path, found.experiment.title, found.experiment.metric)
    told = [cell for cell in found.cells if any(key.endswith("equilibrium") for key in cell.story)]
    assert bool(pages) == bool(told)
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert found.experiment.title.split(":")[0] in text
        assert "in the coalition" in text
