"""A job in Flower's simulation: the same as in one process.

Networks keep state between messages, which here come to one process. The example of tests/examples has a linear model.
"""

import comity
from federation.test_deployment import STUDIES, same_as_here, study_text, write_rows
from support.simulation import simulate, simulation_environment, write_sites


def test_a_job_gives_the_result_of_one_process(tmp_path):
    rows = write_rows(tmp_path / "rows")
    write_sites(tmp_path / "sites", rows)
    settings, max_rounds = STUDIES["networks"]
    study = tmp_path / "study.toml"
    study.write_text(study_text(settings))
    with simulation_environment(tmp_path / "flower") as environment:
        simulate(environment, tmp_path / "sites", study, tmp_path / "result")
    found = comity.Result.load(tmp_path / "result")
    same_as_here(found, rows, settings)
    assert found.traffic["rounds"] <= max_rounds
