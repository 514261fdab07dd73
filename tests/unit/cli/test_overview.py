"""A result fits a screen, however many clients there are, and what is printed is what the result holds."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from rich.cells import cell_len

import comity
from comity.cli.overview import overview
from comity.core.metrics import METRICS
from comity.core.text import decimals_for, format_change, format_number, format_probability

WIDTH, HEIGHT = 100, 40
LONG = "a hospital whose name has no end at all, and goes on\nafter a line 病院"


@cache
def federation(clients: int, names: str = "site {}", target: str = "days", search: str = "borrow") -> comity.Result:
    """Return a result of clients of two kinds, one of which is unlike all others."""
    rng = np.random.default_rng(0)
    tables = {}
    for number in range(clients):
        rows = pd.DataFrame(rng.normal(size=(24, 6)), columns=list("uvwxyz"))
        sign = np.array([1.0, -1.0, 1.0, -1.0, 1.0, 1.0]) if number % 2 else np.ones(6)
        sign = -sign if number == clients - 1 else sign
        value = rows.to_numpy() @ sign + rng.normal(size=24)
        rows["days"] = value if target == "days" else np.where(value > 0, "late", "soon")
        tables[names.format(number)] = rows
    return comity.solve(tables, target="days", search=search)


def all_lines(result: comity.Result, width: int = WIDTH, height: int = HEIGHT) -> list[str]:
    lines = overview(result, width, height)
    assert len(lines) <= height, "\n".join(lines)
    assert max(map(cell_len, lines)) <= width, "\n".join(lines)
    return lines


@pytest.mark.parametrize("clients", [2, 3, 10, 60])
@pytest.mark.parametrize("width", [100, 80])
def test_it_fits_a_screen(clients: int, width: int) -> None:
    lines = all_lines(federation(clients), width)
    more = [line for line in lines if line.startswith("… and")]
    assert bool(more) == (clients == 60)
    if more:
        listed = sum(re.match(r" *(\d+|alone)  site", line) is not None for line in lines)
        assert more[0] == f"… and {clients - listed} more: --verbose shows all"
        assert listed >= 15


def test_long_names_are_cut() -> None:
    lines = all_lines(federation(10, LONG + " {}"), 80)
    assert any("…" in line for line in lines)
    assert not any("\n" in line for line in lines)


@pytest.mark.parametrize("clients", [3, 10])
def test_its_numbers_are_those_of_the_result(clients: int) -> None:
    result = federation(clients)
    text = "\n".join(all_lines(result))
    document = result.to_dict()
    places = decimals_for([each["gain"]["error"] for each in document["utilities"].values()])
    flat = " ".join(text.split())
    gain = -result.mean_gain
    assert document["mean_gain"] == {"value": result.mean_gain.value, "error": result.mean_gain.error}
    mean, low, high = (format_number(each, places) for each in (gain.value, gain.low, gain.high))
    assert f"The clients' mean RMSE improves by {mean}, from" in flat
    assert f"(95 % interval {low} to {high})." in flat
    better = sum(each["gain"]["value"] < 0 for each in document["utilities"].values())
    assert f"{better} of {clients} clients" in flat
    for name, each in result.utilities.items():
        (line,) = (line for line in text.splitlines() if re.search(rf"\b{name}\b +24 ", line))
        alone = format_number(each.alone.value, places)
        if len(result.equilibrium.coalition_of(name)) == 1:
            assert line.split() == ["alone", *name.split(), "24", alone, "–", "–"], (
                "nothing is gained, without an interval"
            )
            continue
        assert f"{alone} → {format_number(each.coalition.value, places)}" in line
        assert format_change(-each.gain, places) in line
        assert line.endswith(f" {format_probability(each.probability)}")


def test_clients_of_a_coalition_stand_together_under_its_number() -> None:
    result = federation(10)
    found = [match for line in all_lines(result) if (match := re.match(r" *(\d+|alone)  (site \d)", line))]
    numbered = {match[2]: match[1] for match in found}
    assert len(numbered) == 10
    shown = {frozenset(name for name in numbered if numbered[name] == number) for number in set(numbered.values())}
    assert {each for each in result.coalitions if len(each) > 1} <= shown
    assert "1" in numbered.values()
    order = [match[1] for match in found]
    assert order == sorted(order, key=lambda number: (number == "alone", number))


def test_expected_gains_are_no_question_of_significance() -> None:
    text = "\n".join(all_lines(federation(10)))
    assert "Stable for these estimates: no group of members would do better by leaving (checked by" in text
    assert "significant" not in text
    assert "resamples" not in text


def test_the_papers_search_fits_too_and_speaks_of_significance() -> None:
    text = "\n".join(all_lines(federation(3, search="spo")))
    assert "chance to gain" not in text
    assert "nobody gains" in text


def test_classes_have_a_metric_of_which_more_is_better() -> None:
    result = federation(4, target="classes")
    assert METRICS[result.metric].more_is_better
    assert "higher is better" in " ".join(" ".join(all_lines(result)).split())


def test_gains_that_cannot_be_told_are_not_printed_as_numbers() -> None:
    result = federation(3)
    unknown = comity.core.estimates.Estimate(np.nan, np.nan)
    unknowns = {name: replace(each, gain=unknown, coalition=unknown) for name, each in result.utilities.items()}
    text = "\n".join(all_lines(replace(result, utilities=unknowns, mean_gain=unknown)))
    assert "cannot be told" in text
    assert "nan" not in text


def test_everybody_alone_is_said_in_one_line() -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(80, 2)), columns=["x", "days"])
    text = "\n".join(all_lines(comity.solve({"a": rows[:40], "b": rows[40:]}, target="days")))
    assert "To predict days, all 2 clients train alone." in text
    assert "mean RMSE" not in text
