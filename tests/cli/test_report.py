"""``comity report`` as a user types it."""

import re

import pytest

import comity as package
from comity.result.client_result import ClientResult
from support.small_tables import numbers


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of three sites."""
    place = tmp_path_factory.mktemp("run") / "run"
    package.solve(numbers(), client="site", target="effect").save(place)
    return place


def test_a_report_of_a_run(comity, run, tmp_path):
    done = comity("report", run, "--out", "page.html")
    assert (done.returncode, done.stdout) == (0, "Written to page.html\n")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert all(name in page for name in ("North", "South", "West"))
    done = comity("report", run)
    assert done.stdout == f"Written to {run}/report.html\n"
    assert re.sub(r"\d\d:\d\d UTC", "", (run / "report.html").read_text("utf-8")) == re.sub(r"\d\d:\d\d UTC", "", page)
    assert comity("verify", run).returncode == 0, "a report beside it changes nothing"


def test_solve_and_equilibrium_write_one(comity, tmp_path):
    numbers().to_csv(tmp_path / "rows.csv", index=False)
    done = comity("solve", "rows.csv", "--client", "site", "--target", "effect", "--out", "run")
    assert (tmp_path / "run" / "report.html").exists(), done.stderr
    again = comity("solve", "rows.csv", "--client", "site", "--target", "effect", "--out", "run", "--force")
    assert again.returncode == done.returncode, again.stderr
    (tmp_path / "wishes.csv").write_text("from,to\na,b\nb,a\na,c\n")
    assert comity("equilibrium", "wishes.csv", "--out", "graph").returncode == 0
    assert comity("equilibrium", "wishes.csv", "--out", "graph", "--force").returncode == 0
    made = (tmp_path / "graph" / "report.html").read_text("utf-8")
    done = comity("report", "graph", "--out", "again.html")
    assert done.returncode == 0, done.stderr
    again = (tmp_path / "again.html").read_text("utf-8")
    assert re.sub(r"<dt>File dated</dt><dd>.*?</dd>\s*", "", again) == made


def test_a_page_for_one_client(comity, run, tmp_path):
    done = comity("report", run, "--for", "North", "--out", "north.html")
    assert done.returncode == 0, done.stderr
    assert "North: should it join?" in (tmp_path / "north.html").read_text("utf-8")
    ClientResult.of(package.Result.load(run), "North").save(tmp_path / "received")
    done = comity("report", "received")
    assert (done.returncode, done.stdout) == (0, "Written to received/report.html\n"), done.stderr
    assert "North: should it join?" in (tmp_path / "received" / "report.html").read_text("utf-8")


def test_a_client_predicts_with_what_it_got(comity, run, tmp_path):
    ClientResult.of(package.Result.load(run), "North").save(tmp_path / "received")
    rows = numbers()
    own = rows[rows["site"] == "North"].drop(columns="site")
    own.to_csv(tmp_path / "own.csv", index=False)
    rows.to_csv(tmp_path / "all.csv", index=False)
    done = comity("predict", "received", "own.csv", "--out", "own-predicted.csv")
    assert done.returncode == 0, done.stderr
    assert comity("predict", run, "all.csv", "--out", "predicted.csv").returncode == 0
    everybody = (tmp_path / "predicted.csv").read_text().splitlines()
    assert (tmp_path / "own-predicted.csv").read_text().splitlines() == everybody[: len(own) + 1]


def test_rows_of_one_client_need_no_column_that_says_so(comity, run, tmp_path):
    rows = numbers()
    rows[rows["site"] == "North"].drop(columns="site").to_csv(tmp_path / "own.csv", index=False)
    rows.to_csv(tmp_path / "all.csv", index=False)
    assert comity("predict", run, "own.csv", "--client", "North", "--out", "own-predicted.csv").returncode == 0
    assert comity("predict", run, "all.csv", "--out", "predicted.csv").returncode == 0
    own, everybody = ((tmp_path / f"{name}.csv").read_text().splitlines() for name in ("own-predicted", "predicted"))
    assert own == everybody[: len(own)]
    refused = comity("predict", run, "own.csv", "--client", "Nroth", "--out", "x.csv")
    assert (refused.returncode, "Nroth" in refused.stderr) == (2, True)
    assert "leave --client out" in comity("predict", run, "all.csv", "--client", "North", "--out", "x.csv").stderr


def test_who_names_a_file_of_a_run_means_the_run(comity, run, tmp_path):
    for name in ("result.json", "report.html", "models.npz"):
        done = comity("report", run / name)
        assert (done.returncode, done.stdout) == (0, f"Written to {run}/report.html\n"), done.stderr
        assert comity("show", run / name).stdout == comity("show", run).stdout
    (tmp_path / "note.txt").write_text("no run")
    assert "note.txt: this is a file; give a directory that comity solve wrote" in comity("show", "note.txt").stderr


@pytest.mark.parametrize("command", ["show", "verify"])
def test_what_one_client_got_is_not_taken_for_a_result(comity, run, tmp_path, command):
    ClientResult.of(package.Result.load(run), "North").save(tmp_path / "received")
    done = comity(command, "received")
    assert done.returncode == 2
    assert "this is what one client got of a result" in done.stderr


def test_figures_are_drawn(comity, run, tmp_path):
    done = comity("report", run, "--out", "page.html", "--figures", "figures", "--format", "png", "--format", "svg")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        f"{name}.{ending}" for name in ("benefit-graph", "components", "equilibrium") for ending in ("png", "svg")
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "nowhere: there is no such directory"),
        (["wishes.csv"], "wishes.csv: this is a file; give the directory that it is in"),
        (["."], "it contains neither result.json nor equilibrium.json"),
        (["RUN", "--for", "Nroth", "--out", "x.html"], "did you mean 'North'?"),
        (["RUN", "--for", "North"], "--for needs --out FILE"),
        (["RUN", "--format", "svg"], "--format needs --figures"),
        (["RUN", "--out", "nowhere/x.html"], "nowhere/x.html: there is no directory 'nowhere'; make it first"),
        (["RUN", "--out", "graph"], "graph: this is a directory; give a file in it"),
        (["RUN", "--out", ""], "the name of the file to write is empty"),
        (["RUN", "--force"], "--force needs --out"),
        (["RUN", "--for", "North", "--out", "RUN/north.html"], "--out is in RUN"),
        (["broken"], "broken/equilibrium.json: its contents are inconsistent"),
        (["garbage"], "garbage/equilibrium.json"),
        (["graph", "--for", "a", "--out", "x.html"], "has no page for one client"),
    ],
)
def test_what_cannot_be_is_told(comity, run, tmp_path, arguments, said):
    for name, text in {"broken": '{"clients": ["a"]}', "garbage": "{", "graph": "{}"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "equilibrium.json").write_text(text)
    (tmp_path / "wishes.csv").write_text("from,to\na,b\n")
    (tmp_path / "graph" / "equilibrium.json").unlink()
    assert comity("equilibrium", "wishes.csv", "--out", "graph").returncode == 0
    done = comity("report", *(each.replace("RUN", str(run)) for each in arguments))
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
