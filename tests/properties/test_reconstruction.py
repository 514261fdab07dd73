"""No row can be solved for from what a client discloses over a network, and what it counts is what left."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import comity
from comity.client import Client, Policy
from comity.client.sites import Site
from comity.errors import RefusedError
from comity.questions import Description, Evaluation, Moments, MomentsAnswer, Split
from support.reconstruction import Eavesdropper, encoded, equations, recovered

COLUMNS = 8
ROWS = (20, 40, 100, 300)
pytestmark = pytest.mark.filterwarnings("ignore::comity.errors.ComityWarning")


def table(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(rows, COLUMNS)), columns=list("abcdefgh"))
    return frame.assign(y=frame.sum(axis=1) / 2 + rng.normal(size=rows))


def site(directory: Path, name: str, rows: pd.DataFrame, policy: str = "") -> Client:
    """Return the client of a site with the default policy, or another."""
    here = directory / name
    here.mkdir(exist_ok=True)
    rows.to_csv(here / "rows.csv", index=False)
    (here / "site.toml").write_text(f'name = "{name}"\nrows = "rows.csv"\n[policy]\n{policy}\n')
    return Site.read(here / "site.toml").member()


def sites(directory: Path, rows: int) -> list[Client]:
    """Return two sites with some rows, and one with enough to hold some out."""
    return [
        site(directory, name, table(count, seed))
        for seed, (name, count) in enumerate([("a", rows), ("b", rows), ("c", 300)])
    ]


def federation(clients: list[Client]) -> tuple[comity.InProcess, list[Eavesdropper]]:
    members = [Eavesdropper(client) for client in clients]
    return comity.InProcess(tuple(members)), members


def found(member: Eavesdropper, *, limited: bool) -> int:
    """Return how many rows of a client its answers show."""
    asked = next(question for question, _ in member.heard if isinstance(question, Moments))
    counted, sums = equations(member.heard, len(member.client.rows), member.name, limited=limited)
    return recovered(counted, sums, *encoded(member.client, asked))


@pytest.mark.parametrize(("rows", "options", "least"), [(40, {}, 40), (120, {}, 100), (100, {"resamples": 20}, 100)])
def test_the_attack_finds_the_rows_of_clients_without_a_limit(rows, options, least):
    """The control: many sums over the same rows show them."""
    asked, members = federation([Client(name, table(rows, seed), Policy()) for seed, name in enumerate("abc")])
    comity.solve(asked, target="y", search="spo", **options)
    assert found(members[0], limited=False) >= least


@pytest.mark.parametrize("rows", ROWS)
def test_default_answers_over_a_network_show_no_row(rows, tmp_path):
    asked, members = federation(sites(tmp_path, rows))
    result = comity.solve(asked, target="y")
    assert [found(member, limited=True) for member in members] == [0, 0, 0]
    for member in members:
        assert member.client.disclosed == pytest.approx(count(member) / (len(member.client.rows) * (COLUMNS + 1)))
        assert 0 < member.client.disclosed <= 0.5
        assert result.disclosure[member.name] == {"disclosed": member.client.disclosed, "limit": 0.5}


def count(member: Eavesdropper) -> float:
    """Return how many independent numbers left in one job: those that a linear system would be solved for, and others.

    A description has a mean and a sum of squares of each column, an evaluation a value, its error and that of the gain.
    """
    counted, sums = equations(member.heard, len(member.client.rows), member.name, limited=True)
    total = np.linalg.matrix_rank(counted) * (sums.shape[1] - 1)  # the number of rows is known
    for _, answer in member.heard:
        if isinstance(answer, Description):
            total += 2 * (COLUMNS + 1)
        if isinstance(answer, Evaluation):
            told = [*answer.values, *answer.errors, *answer.gain_errors[1:]]
            total += np.isfinite(told).sum()
    return float(total)


@pytest.mark.parametrize("rows", ROWS)
def test_no_settings_of_any_number_of_jobs_show_a_row(rows, tmp_path):
    asked, members = federation(sites(tmp_path, rows))
    refused = []
    for options in [{"folds": folds, "seed": folds} for folds in range(2, 21)] + [{"search": "spo", "resamples": 50}]:
        try:
            comity.solve(asked, target="y", **options)
        except RefusedError as error:
            refused.append(str(error))
    assert found(members[0], limited=True) == 0
    assert members[0].client.disclosed <= 0.5
    assert count(members[0]) <= 0.5 * rows * (COLUMNS + 1) + 2 * (COLUMNS + 1) * 20  # descriptions came again
    assert "answers only if rows are dealt once; take the search borrow" in refused[-1]
    assert all(str(rows) not in each for each in refused)  # a refusal does not say how many rows there are


def test_another_seed_discloses_nothing_and_other_folds_are_counted_until_the_limit(tmp_path):
    asked, members = federation([site(tmp_path, name, table(100, seed)) for seed, name in enumerate("abc")])
    comity.solve(asked, target="y")
    once = members[0].client.disclosed
    comity.solve(asked, target="y", seed=7)
    assert members[0].client.disclosed == once
    with pytest.raises(RefusedError, match=r"it would have disclosed 5.% of the numbers in its rows, 3.% by earlier"):
        comity.solve(asked, target="y", folds=4)
    again = site(tmp_path, "a", table(100, 0))  # as after a restart
    assert again.disclosed == once


def test_who_lifts_the_limit_is_told_everything(tmp_path):
    clients = [site(tmp_path, name, table(60, seed), "disclosure = inf") for seed, name in enumerate("abc")]
    asked, members = federation(clients)
    comity.solve(asked, target="y", search="spo")
    assert found(members[0], limited=False) > 0


def odd(seed: int) -> pd.DataFrame:
    """Return a table with levels, a flag, a missing value and a class of one row each."""
    frame = table(200, seed).assign(ward=["one"] + ["two"] * 2 + ["many"] * 120 + ["most"] * 77)
    frame.loc[5, "a"] = np.nan
    return frame.assign(flag=[0.0] * 7 + [1.0] + [0.0] * 192, died=["no"] * 9 + ["yes"] + ["no"] * 190)


@pytest.mark.parametrize(("target", "ignored"), [("y", "died"), ("died", "y")])
def test_rows_with_a_rare_level_or_class_are_not_shown(target, ignored, tmp_path):
    """The sum over the rows of a level is the row if there is one only."""
    frames = {name: odd(seed).drop(columns=ignored) for seed, name in enumerate("abc")}
    asked, members = federation([site(tmp_path, name, frame) for name, frame in frames.items()])
    comity.solve(asked, target=target)
    described = next(answer for _, answer in members[0].heard if isinstance(answer, Description))
    (ward,) = (column for column in described.columns if column.name == "ward")
    assert set(ward.levels) == {"many", "most"}
    schema = next(question for question, _ in members[0].heard if isinstance(question, Moments)).schema
    if target == "died":  # at zero all rows weigh the same
        question = Moments(schema, Split(5, 1, 0), np.zeros((1, schema.parameters)))
    else:
        question = Moments(schema, Split(5, 1, 0), np.empty((0, schema.parameters)))
    assert least_shown(question, Client("a", frames["a"]).answer(question)) == 1
    (tmp_path / "a" / "audit.jsonl").unlink()
    assert least_shown(question, site(tmp_path, "a", frames["a"]).answer(question)) >= 3


def least_shown(question: Moments, answer: MomentsAnswer) -> int:
    """Return the least number of rows that the sums of a part show apart from the others."""
    schema, shown = question.schema, []
    names = list(schema.features)
    places = [place for place, name in enumerate(names) if "=" in name or "(missing)" in name]
    for gram, cross, rows in zip(answer.gram[0], answer.cross[0], answer.rows[0], strict=True):
        weight = gram[-1, -1] / max(rows, 1)
        sizes = [gram[place, place] / weight for place in places if rows]
        if schema.target.classes and rows:  # at zero, cross is half the sum of y - 1/2
            sizes.append(2 * cross[-1] + rows / 2)
        flag = schema.columns[[column.name for column in schema.columns].index("flag")]
        if rows:
            sizes.append(gram[names.index("flag"), -1] / weight * flag.scale + rows * flag.mean)
        shown += [round(size) for each in sizes for size in (each, rows - each)]
    return min(size for size in shown if size)
