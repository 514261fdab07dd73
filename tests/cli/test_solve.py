"""The main job as a user types it: solve, show, verify, predict, demo."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from comity.errors import ChangedError
from comity.research.datasets.hospitals import HOSPITALS, hospitals
from comity.result.directory import seal
from comity.result.result import Result
from comity.result.verification import verify
from support.processes import in_terminal
from support.small_tables import classes, numbers

Run = Callable[..., subprocess.CompletedProcess[str]]
SOLVE = ("solve", "table.csv", "--client", "site")


@pytest.fixture
def table(tmp_path: Path) -> str:
    numbers().to_csv(tmp_path / "table.csv", index=False)
    return "table.csv"


RUNS = {"borrow": (14, {}), "spo": (40, {"search": "spo", "folds": 2, "repeats": 1, "judges": 2, "resamples": 2})}


@pytest.fixture(scope="module", params=RUNS)
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a run on classes; that of the search spo has resamples."""
    import comity

    place = tmp_path_factory.mktemp("saved") / "run"
    rows, settings = RUNS[request.param]
    comity.solve(classes(rows=rows), client="site", target="cured", **settings).save(place)
    return {file.name: file.read_bytes() for file in place.iterdir()}


@pytest.fixture
def run(saved: dict[str, bytes], tmp_path: Path) -> Path:
    place = tmp_path / "run"
    place.mkdir()
    for name, content in saved.items():
        (place / name).write_bytes(content)
    return place


def test_solve_tells_everything(comity: Run, table: str, tmp_path: Path) -> None:
    done = comity(*SOLVE, "--target", "effect", "--out", "run", "--verbose")
    assert (done.returncode, done.stderr) == (0, "")
    for words in (
        "3 clients with 72 rows, to predict effect (a number): 1 coalition and 1 client alone.",
        "What each client gets: rmse of its model (lower is better), with 95 % intervals",
        "Alone: measured on held-out rows. In coalition: as expected from the rows of all clients.",
        "Collaborators in the coalition, with the share of the model that comes from the rows of each",
        "Unmet wishes",
        "expected loss (mean squared error, in units of the target's variance)",
        "Stable for these estimates: no group of members would do better by leaving (checked by",
        "3 rounds of questions",
        "Written to run: result.json, models.npz, report.html",
    ):
        assert words in done.stdout
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["1", "1", "North,", "South"] in lines
    assert ["West", "1.00", "nobody:", "it", "trains", "alone"] in lines
    written = "\nWritten to run: result.json, models.npz, report.html\n"
    assert comity("show", "run", "--verbose").stdout == done.stdout.replace(written, "")
    short = comity(*SOLVE, "--target", "effect", "--out", "run", "--force")
    assert comity("show", "run").stdout == short.stdout.replace(written, "")
    assert len(short.stdout.splitlines()) <= 40
    assert max(map(len, short.stdout.splitlines())) <= 100
    document = json.loads(comity(*SOLVE, "--target", "effect", "--json").stdout)
    assert document == json.loads(comity("show", "run", "--json").stdout)
    kept = json.loads((tmp_path / "run" / "result.json").read_text())
    assert {**document, "models": kept["models"], "seal": kept["seal"]} == kept


def test_the_papers_search_tells_how_certain_edges_are(comity: Run, table: str) -> None:
    done = comity(*SOLVE, "--target", "effect", "--search", "spo", "--resamples", "3", "--out", "run")
    assert (done.returncode, done.stderr) == (0, "")
    assert "of 3 resamples." in done.stdout
    assert "Proved: nobody gains significantly by leaving" in done.stdout
    verbose = comity("show", "run", "--verbose").stdout
    assert "How sure: how often each client was wanted in resamples of the rows" in verbose
    assert "proved: nobody gains significantly by leaving" in verbose
    assert "Evaluated on rows used neither for training nor for choosing." in verbose


def test_classes_and_several_ways_to_judge(comity: Run, tmp_path: Path) -> None:
    classes().to_csv(tmp_path / "table.csv", index=False)
    for metric, better in (("auc", "higher"), ("accuracy", "higher"), ("log-loss", "lower")):
        done = comity(*SOLVE, "--target", "cured", "--metric", metric, "--verbose")
        assert (done.returncode, done.stderr) == (0, "")
        assert f"{metric} of its model ({better} is better)" in done.stdout
        assert "(classes no, yes)" in done.stdout


def test_numbers_can_be_classes(comity: Run, tmp_path: Path) -> None:
    frame = numbers().assign(grade=lambda frame: pd.qcut(frame["effect"], 3, labels=[1, 2, 3])).drop(columns="effect")
    frame.to_csv(tmp_path / "table.csv", index=False)
    assert "(a number)" in comity(*SOLVE, "--target", "grade", "--verbose").stdout
    for option in (["--task", "classes"], ["--metric", "accuracy"]):
        assert "(classes 1, 2, 3)" in comity(*SOLVE, "--target", "grade", "--verbose", *option).stdout


def test_one_seed_one_result(comity: Run, table: str, tmp_path: Path) -> None:
    for name, seed in (("a", "5"), ("b", "5"), ("c", "6")):
        assert comity(*SOLVE, "--target", "effect", "--seed", seed, "--out", name).returncode == 0
    for file in ("result.json", "models.npz"):
        first, second, other = ((tmp_path / name / file).read_bytes() for name in "abc")
        assert first == second
        assert first != other


def test_every_source_gives_the_same(comity: Run, tmp_path: Path) -> None:
    frame = numbers()
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    frame.to_parquet(tmp_path / "t.parquet")
    (tmp_path / "each").mkdir()
    for name, rows in frame.groupby("site"):
        rows.drop(columns="site").to_csv(tmp_path / "each" / f"{name}.csv", index=False)
    outputs = {
        comity("solve", f"t.{e}", "--client", "site", "--target", "effect").stdout for e in ("csv", "tsv", "parquet")
    }
    outputs.add(comity("solve", "each", "--target", "effect").stdout)
    (output,) = outputs
    assert "To predict effect, 1 coalition (of 2) trains together, 1 stays alone." in output


def test_a_study_file(comity: Run, table: str, tmp_path: Path) -> None:
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "study.toml").write_text(
        'source = "../table.csv"\nout = "run"\nclient = "site"\ntarget = "age"\nexclude = ["sex"]\n'
        "folds = 2\nworth = 0.02\n"
    )
    done = comity("solve", "--study", "study/study.toml", "--target", "effect")
    assert done.returncode == 0, done.stderr
    assert "To predict effect" in done.stdout, "the command line overrules the file"
    assert "Written to study/run" in done.stdout, "paths begin at the file"
    result = Result.load(tmp_path / "study" / "run")
    assert result.study.exclude == ("sex",)
    assert "sex" not in [column.name for column in result.schema.columns]


def test_the_options_do_something(comity: Run, table: str) -> None:
    printed = {}
    for name, options in {
        "plain": [],
        "worth": ["--worth", "0.9"],
        "paper": ["--search", "spo"],
        "per client": ["--search", "spo", "--weights", "client"],
        "clip": ["--search", "spo", "--rule", "clip"],
        "sure": ["--search", "spo", "--confidence", "50"],
    }.items():
        done = comity(*SOLVE, "--target", "effect", "--verbose", *options)
        assert done.returncode in (0, 1), done.stderr
        printed[name] = done.stdout
    assert "with the weight of all rows of each" in printed["per client"]
    assert "everybody alone" in printed["sure"]
    assert "everybody alone" in printed["worth"]
    assert len(set(printed.values())) == 6


def test_predict(comity: Run, run: Path, tmp_path: Path) -> None:
    new = classes(rows=5, seed=9).sample(frac=1, random_state=1)
    new.drop(columns="cured").to_csv(tmp_path / "new.csv", index=False)
    new.to_parquet(tmp_path / "new.parquet")
    done = comity("predict", "run", "new.csv", "--out", "predictions.csv")
    assert (done.returncode, done.stderr) == (0, "")
    predictions = pd.read_csv(tmp_path / "predictions.csv")
    assert list(predictions.columns) == ["client", "prediction", "p_no", "p_yes"]
    assert predictions["client"].tolist() == new["site"].tolist()
    np.testing.assert_allclose(predictions["p_no"] + predictions["p_yes"], 1)
    assert (predictions["prediction"] == np.where(predictions["p_yes"] > predictions["p_no"], "yes", "no")).all()
    expected = Result.load(run).predict(new)
    pd.testing.assert_frame_equal(predictions, expected.reset_index(drop=True), check_dtype=False)
    texts = {
        model: comity("predict", "run", "new.parquet", "--model", model, "--out", "-").stdout
        for model in ("coalition", "best", "alone")
    }
    assert texts["coalition"] == (tmp_path / "predictions.csv").read_text()
    assert texts["alone"] != texts["coalition"]


def test_names_that_are_numbers_stay_as_written(comity: Run, tmp_path: Path) -> None:
    frame = numbers()
    frame["site"] = frame["site"].map({"North": "007", "South": "7", "West": "12.0"})
    frame.to_csv(tmp_path / "table.csv", index=False)
    assert comity(*SOLVE, "--target", "effect", "--out", "run").returncode == 0
    done = comity("predict", "run", "table.csv", "--out", "-")
    assert [line.partition(",")[0] for line in done.stdout.splitlines()[1::24]] == ["007", "7", "12"]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every number and text."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from leaves(each, (*path, key))
    elif isinstance(value, list):
        for at, each in enumerate(value):
            yield from leaves(each, (*path, at))
    elif value is not None:
        yield path


def changed(document: Any, path: tuple[Any, ...]) -> Any:
    """Return a document in which one leaf is another."""
    copy = json.loads(json.dumps(document))
    at = copy
    for step in path[:-1]:
        at = at[step]
    old = at[path[-1]]
    at[path[-1]] = (
        (not old)
        if isinstance(old, bool)
        else old + 1
        if isinstance(old, int)
        else (np.nextafter(old, np.inf) if isinstance(old, float) else f"{old}x")
    )
    return copy


def test_any_change_of_any_figure_is_refused(run: Path) -> None:
    """Even the last digit of a number, and every text."""
    document = json.loads((run / "result.json").read_text())
    assert verify(run).certificate.proved
    paths = list(leaves(document))
    assert len(paths) > 200
    for path in paths:
        (run / "result.json").write_text(json.dumps(changed(document, path)))
        with pytest.raises(ChangedError):
            verify(run)


def test_a_change_that_is_sealed_again_must_still_go_together(run: Path) -> None:
    document = json.loads((run / "result.json").read_text())
    parts = ("equilibrium", "graph", "contributions", "certificate", "schema", "weights", "game")
    paths = [path for path in leaves(document) if path[0] in parts]
    accepted = []
    for path in paths:
        again = changed(document, path)
        if path[0] == "weights":  # in the last digit it is a share of a whole all the same
            again["weights"][path[1]][path[2]][path[3]] += 0.01
        again["seal"] = seal(again)
        (run / "result.json").write_text(json.dumps(again))
        try:
            if verify(run).certificate.proved:
                accepted.append(path)
        except ChangedError:
            pass
    # Some changes cannot be noticed, because nothing else follows from them: how columns become numbers, utilities
    # that decide nothing, how much of a gain was forgiven, and how probable a contribution is.
    accepted = [path for path in accepted if path[:2] != ("certificate", "forgiven") and path[-1] != "probability"]
    assert {path[0] for path in accepted} <= {"schema", "game"}


def test_changed_or_lost_models_are_refused(comity: Run, run: Path) -> None:
    accepted = comity("verify", "run")
    assert (accepted.returncode, accepted.stderr) == (0, "")
    assert "Accepted" in accepted.stdout
    assert json.loads(comity("verify", "run", "--json").stdout)["accepted"] is True
    models = (run / "models.npz").read_bytes()
    for at in (0, len(models) // 2, len(models) - 1):
        (run / "models.npz").write_bytes(models[:at] + bytes([models[at] ^ 1]) + models[at + 1 :])
        refused = comity("verify", "run")
        assert refused.returncode == 1
        assert "these are not the models that the result was written with" in refused.stdout
    (run / "models.npz").unlink()
    assert comity("verify", "run").returncode == 1


def test_a_changed_figure_is_refused_by_every_command(comity: Run, run: Path, tmp_path: Path) -> None:
    text = (run / "result.json").read_text()
    (run / "result.json").write_text(re.sub(r'"rows": \d+', '"rows": 41', text, count=1))
    refused = comity("verify", "run")
    assert (refused.returncode, refused.stderr) == (1, "")
    assert "its seal is broken" in refused.stdout
    verdict = json.loads(comity("verify", "run", "--json").stdout)
    assert (verdict["accepted"], verdict["certificate"]) == (False, None)
    classes().to_csv(tmp_path / "new.csv", index=False)
    for command in (["show", "run"], ["predict", "run", "new.csv", "--out", "p.csv"]):
        done = comity(*command)
        assert done.returncode == 2
        assert "its seal is broken" in done.stderr
    assert not (tmp_path / "p.csv").exists()


def test_half_a_character_is_refused_and_no_crash(comity: Run, run: Path) -> None:
    text = (run / "result.json").read_text()
    (run / "result.json").write_text(text.replace('"West"', '"\\ud800"', 1))
    refused = comity("verify", "run")
    assert (refused.returncode, refused.stderr) == (1, "")
    assert "half a character" in refused.stdout


def test_a_result_is_no_graph(comity: Run, run: Path) -> None:
    """Its name ends as that of a graph may, but what it says is what came of one."""
    done = comity("equilibrium", "run/result.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: run/result.json: this is a result of comity, not a graph or a game")


def test_a_wrong_proof_is_refused(comity: Run, run: Path) -> None:
    """Utilities by which somebody would leave, sealed as if nothing had happened."""
    document = json.loads((run / "result.json").read_text())
    assert len(document["equilibrium"]["coalitions"]) < 3, "or there is nothing to break"
    for record in document["game"]:
        if len(record["coalition"]) == 1:
            record["utility"] = 0.0
    document["seal"] = seal(document)
    (run / "result.json").write_text(json.dumps(document))
    refused = comity("verify", "run")
    assert refused.returncode == 1
    assert "Refused" in refused.stdout


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What the demo prints, and where it writes."""
    from click.testing import CliRunner

    from comity.cli.demo import demo as command

    place = tmp_path_factory.mktemp("demo") / "demo"
    done = CliRunner().invoke(command, ["--out", str(place)], standalone_mode=False)
    assert (done.exception, done.return_value) == (None, 0)
    return done.stdout, place


def test_the_demo_fits_a_screen(demo: tuple[str, Path]) -> None:
    lines = demo[0].replace(str(demo[1]), "demo").splitlines()
    assert len(lines) < 40, "make demo prints one line more"
    assert max(map(len, lines)) <= 100
    assert not any("more: --verbose" in line for line in lines), "every hospital has a line"


def test_the_demo_shows_that_collaboration_pays(demo: tuple[str, Path]) -> None:
    """Coalitions with a gain beyond its interval, two alone for a reason, and one that is turned away."""
    printed, place = " ".join(demo[0].split()), demo[1]
    result = verify(place / "run")
    groups = {
        pattern: {each.name for each in HOSPITALS if each.pattern == pattern} for pattern in ("protocol", "early")
    }
    together = {each for each in result.coalitions if len(each) > 1}
    assert together == {frozenset(groups["protocol"] - {"Fairhaven"}), frozenset(groups["early"])}
    gain = -result.mean_gain
    assert gain.low > 0
    assert f"mean RMSE improves by {gain.value:.2f}, from" in printed
    assert f"(95 % interval {gain.low:.2f} to {gain.high:.2f})." in printed
    assert "8 of 11 clients are expected to gain." in printed
    assert min(result.utilities[name].probability for each in together for name in each) > 0.9
    assert "Alone: University Hospital and Harbour Heart Centre; no other client is expected to improve" in printed
    assert "Turned away: Fairhaven would gain from" in printed
    assert "Stable for these estimates: no group of members would do better by leaving" in printed
    assert f"{result.traffic['rounds']} rounds of questions to the clients" in printed


def test_what_the_demo_says_to_do_next_can_be_done(comity: Run, tmp_path: Path) -> None:
    done = comity("demo", "--out", "demo")
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == ["hospitals.csv", "run"]
    solved = re.search(r"\$ comity (solve .*)", done.stdout)
    assert solved is not None
    (tmp_path / "hospitals.csv").write_bytes((tmp_path / "demo" / "hospitals.csv").read_bytes())
    assert comity(*solved[1].split()).returncode == 0
    assert (tmp_path / "run" / "result.json").read_text() == (tmp_path / "demo" / "run" / "result.json").read_text()
    for command in re.findall(r"^  comity (verify .*?|report .*?)  ", done.stdout, re.MULTILINE):
        assert comity(*command.split()).returncode == 0, command
    assert (tmp_path / "page.html").exists()
    again = comity("demo", "--out", "demo")
    assert again.returncode == 2
    assert "it holds other files" in again.stderr


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_demo_does_not_hang_on_its_seed(seed: int) -> None:
    import comity

    result = comity.solve(hospitals(seed), client="hospital", target="days")
    assert result.mean_gain.high < 0, "the error falls beyond its interval"
    assert sorted(len(each) for each in result.coalitions)[-2:] == [4, 4]


def test_progress_is_for_terminals_only(comity: Run, table: str, tmp_path: Path) -> None:
    command = [comity("--version").args[0], *SOLVE, "--target", "effect"]
    progress, printed = in_terminal(command, tmp_path, "stderr", 100)
    assert "finding collaborators" in progress
    assert "evaluating" in progress
    assert "finding collaborators" not in printed


def test_in_a_notebook(run: Path) -> None:
    result = Result.load(run)
    html = result._repr_html_()
    assert "<th>coalition</th>" in html
    assert html.count("<tr>") == 4
    assert "[" in html, "intervals"
    assert repr(result).startswith("<Result: {North, South}, {West}")


def test_names_are_escaped_in_a_notebook_and_stay_on_their_line(comity: Run, tmp_path: Path) -> None:
    frame = numbers()
    frame["site"] = frame["site"].map({"North": "<b>North</b>", "South": "two\nlines", "West": "[red]West[/red]"})
    frame.to_csv(tmp_path / "table.csv", index=False)
    done = comity(*SOLVE, "--target", "effect", "--out", "run")
    assert done.returncode == 0, done.stderr
    assert "two\\nlines" in done.stdout
    assert "[red]West[/red]" in done.stdout
    assert "&lt;b&gt;North&lt;/b&gt;" in Result.load(tmp_path / "run")._repr_html_()
    assert "<b>" not in Result.load(tmp_path / "run")._repr_html_()
