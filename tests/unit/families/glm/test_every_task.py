"""Every task of the linear family, the whole way: solve, save, verify, predict, report, and over Flower's grid."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import comity
from comity.client import Client, Privacy
from comity.core.metrics import METRICS
from comity.core.tasks import Task
from comity.families.glm.tasks import LINEAR_TASKS
from comity.flower.coordinator import Job, coordinate
from comity.report import write_report
from comity.research.datasets.outcomes import two_groups_of
from comity.result.client_result import ClientResult
from support.flower_sites import config_of, grid_of
from support.small_tables import FOUR, classes, counts, numbers, survival

pytestmark = pytest.mark.filterwarnings("ignore::comity.errors.ComityWarning")
TABLES = {"regression": numbers, "classes": classes, "counts": counts, "survival": survival}
SETTINGS: dict[Task, dict[str, str]] = {
    "regression": {"target": "effect"},
    "classes": {"target": "cured"},
    "counts": {"target": "falls", "task": "counts", "exposure": "days"},
    "survival": {"task": "survival", "time": "days", "event": "died"},
}
ROWS = 60


def table(task: Task) -> pd.DataFrame:
    return TABLES[task](rows=ROWS, names=FOUR)


def test_the_list_has_every_task() -> None:
    assert SETTINGS.keys() == TABLES.keys() == LINEAR_TASKS.keys()


@pytest.mark.parametrize("task", SETTINGS)
def test_a_task_goes_the_whole_way(task: Task, tmp_path: Path) -> None:
    rows = table(task)
    result = comity.solve(rows, client="site", **SETTINGS[task])
    assert not result.certificate.witnesses
    gains = result.to_frame()["gain"]
    assert gains.notna().all()
    assert result.models["coalition"].shape == (4, result.schema.parameters)
    result.save(tmp_path / "run")
    loaded = comity.verify(tmp_path / "run")
    assert loaded.schema == result.schema
    predicted = loaded.predict(rows)
    pd.testing.assert_frame_equal(predicted, result.predict(rows))
    if task != "classes":
        assert np.isfinite(predicted["prediction"]).all()
    for client in FOUR:
        coefficients = loaded.coefficients(client)
        assert len(coefficients) == len(loaded.schema.features) + 1
    write_report(loaded, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert LINEAR_TASKS[task].model in page
    assert METRICS[result.metric].title in page
    assert result.schema.target.noun in page
    own = ClientResult.of(result, "South")
    own.save(tmp_path / "own")
    mine = rows[rows["site"] == "South"].drop(columns="site")
    alike = ClientResult.load(tmp_path / "own").predict(mine)
    np.testing.assert_array_equal(alike["prediction"], predicted["prediction"][rows["site"] == "South"])


@pytest.mark.parametrize("task", SETTINGS)
def test_coefficients_of_columns_give_the_predictions(task: Task) -> None:
    """The linear score of a row, from its values as they are, is that of its prediction."""
    rows = table(task)
    result = comity.solve(rows, client="site", **SETTINGS[task])
    for client in ("North", "West"):
        here = rows[rows["site"] == client]
        found = result.coefficients(client).iloc[:, 0]
        score = found["(intercept)"] + sum(found[name] * here[name] for name in ("dose", "age", "pulse"))
        score = score + sum(found[f"sex={level}"] * (here["sex"] == level) for level in ("f", "m"))
        predicted = result.predict(here)
        exposure = here["days"] if task == "counts" else 1.0
        given = predicted["p_yes"] if task == "classes" else predicted["prediction"]
        risk = np.exp(score)
        expected = {"regression": score, "classes": risk / (1 + risk), "counts": exposure * risk, "survival": risk}[
            task
        ]
        np.testing.assert_allclose(given, expected, rtol=1e-8)


@pytest.mark.parametrize("task", SETTINGS)
def test_a_federation_gives_what_one_process_gives(task: Task, tmp_path: Path) -> None:
    rows, sites = table(task), {}
    for name in FOUR:
        (tmp_path / name).mkdir()
        rows[rows["site"] == name].drop(columns="site").to_csv(tmp_path / name / "rows.csv", index=False)
        sites[name] = tmp_path / name / "site.toml"
        sites[name].write_text(f'name = "{name}"\nrows = "rows.csv"\n[policy]\ndisclosure = inf\n')
    study = tmp_path / "study.toml"
    study.write_text("".join(f'{name} = "{value}"\n' for name, value in SETTINGS[task].items()))
    found = coordinate(grid_of(sites), Job.read(config_of(tmp_path, study, sites)))
    here = comity.solve({name: str(path.parent / "rows.csv") for name, path in sites.items()}, **SETTINGS[task])
    assert set(found.coalitions) == set(here.coalitions)
    for model in found.models:
        np.testing.assert_allclose(found.models[model], here.models[model], atol=1e-6)
    assert found.traffic == here.traffic


@pytest.mark.parametrize("task", ["counts", "survival"])
def test_clients_with_noise_are_named_before_anything_is_computed(task: Task) -> None:
    rows = table(task)
    members = [
        Client(name, rows[rows["site"] == name].drop(columns="site"), privacy=Privacy(clip=5.0, noise=1.0, delta=1e-5))
        for name in FOUR
    ]
    with pytest.raises(comity.InputError, match=r"'North', .* add noise, which is not possible for the task"):
        comity.solve(comity.InProcess(tuple(members)), **SETTINGS[task])


@pytest.mark.parametrize("task", ["counts", "survival"])
def test_rows_of_one_kind_and_hardly_any_rows_do_no_harm(task: Task) -> None:
    """A client without events, one with a single row, and one whose counts are huge."""
    rows = table(task)
    rows = rows[(rows["site"] != "South") | (rows.groupby("site").cumcount() < 1)]
    outcome = SETTINGS[task].get("event", "falls")
    rows = rows.assign(**{outcome: np.where(rows["site"] == "West", 0, rows[outcome])})
    if task == "counts":
        rows["falls"] = np.where(rows["site"] == "East", rows["falls"] * 10_000, rows["falls"])
    result = comity.solve(rows, client="site", **SETTINGS[task])
    assert all(np.isfinite(each).all() for each in result.models.values())
    assert not result.certificate.witnesses


@pytest.mark.parametrize("task", ["counts", "survival"])
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 5])
def test_planted_groups_are_found_and_gain(task: Task, seed: int) -> None:
    """Nearly all collaborators are of the own group, and models are better than alone and than one for all."""
    train, test = two_groups_of(task, seed, rows=150, columns=20, test=2000)
    settings = {name: value for name, value in SETTINGS[task].items() if name != "exposure"}
    result = comity.solve(train, client="client", **settings)
    edges = result.edges()
    assert len(edges) >= 16
    same = [
        int(giver[-1]) % 2 == int(receiver[-1]) % 2
        for giver, receiver in zip(edges["giver"], edges["receiver"], strict=True)
    ]
    assert np.mean(same) >= 0.75, "by chance it would be three in seven"
    metric, owner = METRICS[result.metric], test["client"].to_numpy()
    target = test["falls"] if task == "counts" else np.where(test["died"], test["days"], -test["days"])
    target = np.asarray(target, np.float64)

    def score(kind: str) -> float:
        found = result.predict(test, model=kind)["prediction"].to_numpy()
        here = [owner == name for name in result.clients]
        values = [metric.measure(found[rows], target[rows], np.ones((1, rows.sum())))[0] for rows in here]
        return float(np.mean(values)) * (1 if metric.more_is_better else -1)

    assert score("coalition") > max(score("alone"), score("together"))


@pytest.mark.parametrize("metric", ["mae", "medae", "brier", "sensitivity@0.8"])
def test_metrics_that_are_no_function_of_the_loss_have_gains(metric: str, tmp_path: Path) -> None:
    task = METRICS[metric].task
    rows = two_groups_of("survival", 1, rows=150, columns=20)[0].rename(columns={"client": "site"})
    rows["effect"] = np.log(rows["days"])
    rows["cured"] = np.where(rows.pop("days") > 40, "yes", "no")
    rows = rows.drop(columns=["died", "cured" if task == "regression" else "effect"])
    result = comity.solve(rows, client="site", metric=metric, **SETTINGS[task])
    frame = result.to_frame()
    assert frame["alone"].between(METRICS[metric].least, METRICS[metric].most).all()
    joined = frame["probability"].notna()
    assert joined.any()
    better = 1 if METRICS[metric].more_is_better else -1
    assert (better * (frame["coalition"] - frame["alone"])[joined] >= 0).all()
    assert (frame["gain_low"] < frame["gain_high"])[joined].all()
    result.save(tmp_path / "run")
    assert comity.verify(tmp_path / "run").metric == metric
    write_report(result, tmp_path / "report.html")
    assert METRICS[metric].title in (tmp_path / "report.html").read_text()


def test_sensitivity_needs_two_classes() -> None:
    rows = table("classes")
    rows["cured"] = np.where(np.arange(len(rows)) % 5 == 0, "perhaps", rows["cured"])
    with pytest.raises(comity.InputError, match=r"'sensitivity@0\.8' is for two classes, and 'cured' has 3"):
        comity.solve(rows, client="site", metric="sensitivity@0.8", **SETTINGS["classes"])


BREAST_CANCER = Path(os.environ.get("COMITY_DATA") or "nowhere") / "tables" / "tcga-brca.csv"


@pytest.mark.skipif(not BREAST_CANCER.exists(), reason="COMITY_DATA does not say where tables/tcga-brca.csv is")
def test_six_regions_predict_breast_cancer_better_together_than_alone() -> None:
    """On FLamby's test rows, mean concordance over regions and three seeds."""
    rows = pd.read_csv(BREAST_CANCER)
    rows["days"] = rows["days"].clip(lower=0.5)
    train, test = (rows[rows["fold"] == fold].drop(columns="fold") for fold in ("train", "test"))
    target, scores = np.where(test["died"], test["days"], -test["days"]), {"alone": 0.0, "coalition": 0.0}
    for seed in range(3):
        result = comity.solve(train, client="client", seed=seed, **SETTINGS["survival"])
        for kind in scores:
            found = result.predict(test, model=kind)["prediction"].to_numpy()
            for region in result.clients:
                here = (test["client"] == region).to_numpy()
                once = np.ones((1, here.sum()))
                scores[kind] += METRICS["concordance"].measure(found[here], target[here], once)[0] / 18
    assert scores["coalition"] > scores["alone"] > 0.7
