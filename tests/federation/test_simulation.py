"""Jobs in Flower's simulation: the same as in one process."""

import comity
from federation.test_deployment import STUDIES, same_as_here, study_text, write_rows
from simulation import flower_at_home, simulate, write_sites


def test_jobs_give_what_they_give_in_process(tmp_path):
    rows = write_rows(tmp_path / "rows")
    write_sites(tmp_path / "sites", rows)
    with flower_at_home(tmp_path / "flower") as environment:
        for kind in ("logistic", "networks"):  # ridge is what the example has (tests/examples)
            settings, most = STUDIES[kind]
            study = tmp_path / f"{kind}-study.toml"
            study.write_text(study_text(settings))
            simulate(environment, tmp_path / "sites", study, tmp_path / kind)
            found = comity.Result.load(tmp_path / kind)
            same_as_here(found, rows, settings)
            assert found.traffic["rounds"] <= most
