"""The whole way with borrowed strength, for numbers and for classes."""

import numpy as np
import pandas as pd
import pytest

import comity
from comity.errors import InputError
from comity.result.verification import verify


def groups(classes: bool, rows: int = 60) -> pd.DataFrame:
    """Six clients in two groups, whose coefficients are opposite."""
    rng = np.random.default_rng(1)
    tables = []
    for number in range(6):
        x = rng.normal(size=(rows, 6))
        score = x @ np.linspace(1, 2, 6) * (1 if number < 3 else -1)
        y = (rng.random(rows) < 1 / (1 + np.exp(-score))).astype(int) if classes else score + 3 * rng.normal(size=rows)
        tables.append(pd.DataFrame(x, columns=list("abcdef")).assign(y=y, site=f"s{number}"))
    return pd.concat(tables, ignore_index=True)


@pytest.mark.parametrize(("classes", "rounds"), [(False, 3), (True, 11)])
def test_groups_are_found_saved_verified_and_predicted(classes: bool, rounds: int, tmp_path) -> None:
    rows = groups(classes)
    result = comity.solve(rows, client="site", target="y", search="borrow")
    assert set(result.coalitions) == {frozenset({"s0", "s1", "s2"}), frozenset({"s3", "s4", "s5"})}
    assert result.certificate.proved
    assert result.traffic["rounds"] <= rounds
    assert all(0.5 <= each.probability <= 1 for each in result.contributions)
    result.save(tmp_path / "run")
    again = verify(tmp_path / "run")
    assert again.contributions == result.contributions
    fresh = groups(classes)
    predicted = again.predict(fresh)
    if classes:
        assert (predicted["prediction"].astype(int) == fresh["y"]).mean() > 0.75
    else:
        errors = {
            kind: ((again.predict(fresh, model=kind)["prediction"] - fresh["y"]) ** 2).mean()
            for kind in ("coalition", "together")
        }
        assert errors["coalition"] < 0.6 * errors["together"]
    result.report(tmp_path / "report.html")


def test_the_same_seed_gives_the_same_result() -> None:
    one, other = (comity.solve(groups(False), client="site", target="y", search="borrow") for _ in range(2))
    assert one.to_dict() == other.to_dict()


def test_a_worth_that_nobody_reaches_leaves_everybody_alone() -> None:
    result = comity.solve(groups(False), client="site", target="y", search="borrow", worth=1.0)
    assert len(result.coalitions) == 6
    assert np.array_equal(result.models["coalition"], result.models["alone"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"search": "borrow", "confidence": 2.0}, "confidence has no effect on the search 'borrow'"),
        ({"search": "borrow", "resamples": 5}, "resamples has no effect on the search 'borrow'"),
        ({"search": "spo", "worth": 0.1}, "worth has no effect on the search 'spo'"),
        ({"search": "borrow", "model": "mlp"}, "search is 'borrow', which the model 'mlp' does not have"),
    ],
)
def test_settings_that_another_search_uses_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        comity.solve(groups(False), client="site", target="y", **settings)
