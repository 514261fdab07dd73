"""The made-up hospitals have the truth that they are for: who gains from whom is known."""

import numpy as np
import pandas as pd
import pytest

from comity.client.tables import read_clients, warnings_about
from comity.core.arrays import Floats
from comity.core.names import lookalikes
from comity.errors import InputError
from comity.questions.schema import Schema, agree
from comity.research.datasets.hospitals import CLIENT, HOSPITALS, TARGET, hospitals
from comity.rows.encoding import encode, encode_target, summarise

PATTERNS = {hospital.name: hospital.pattern for hospital in HOSPITALS}


def fit(x: Floats, y: Floats, ridge: float) -> Floats:
    """Logistic regression by Newton steps; the intercept, the last column, is not held back."""
    parameters = np.zeros(x.shape[1])
    held = np.r_[np.full(x.shape[1] - 1, ridge), 1e-9]
    for _ in range(30):
        risk = 1 / (1 + np.exp(-x @ parameters))
        curvature = (x * (risk * (1 - risk))[:, None]).T @ x + np.diag(held)
        step = np.linalg.solve(curvature, x.T @ (risk - y) + held * parameters)
        parameters -= step * min(1, 2 / np.abs(step).max())
        if np.abs(step).max() < 1e-6:
            break
    return parameters


def loss(x: Floats, y: Floats, parameters: Floats) -> float:
    return float(np.mean(np.logaddexp(0, x @ parameters) - y * (x @ parameters)))


def encoded(frame: pd.DataFrame, schema: Schema) -> dict[str, tuple[Floats, Floats]]:
    clients = read_clients(frame, CLIENT)
    return {client.name: (encode(client.rows, schema), encode_target(client.rows, schema)) for client in clients}


@pytest.fixture(scope="module")
def losses() -> pd.DataFrame:
    """Losses on fresh patients of each hospital (rows), alone, grouped, pooled, and beside each other group.

    They are those of the best of a few models, so that nobody is at a disadvantage, and means over some draws.
    """
    clients = read_clients(hospitals(), CLIENT)
    schema = agree({client.name: summarise(client.rows, TARGET, False, 100) for client in clients}, TARGET).schema
    fresh = encoded(hospitals(1000, 20_000), schema)
    groups = {pattern: [name for name in fresh if PATTERNS[name] == pattern] for pattern in PATTERNS.values()}
    draws = []
    for seed in range(3):
        rows = encoded(hospitals(seed), schema)

        def after(name: str, members: list[str], rows: dict[str, tuple[Floats, Floats]] = rows) -> float:
            x, y = (np.concatenate([rows[member][part] for member in members]) for part in (0, 1))
            return min(loss(*fresh[name], fit(x, y, ridge)) for ridge in (1.0, 10.0, 30.0))

        draws.append(
            {
                name: {
                    "alone": after(name, [name]),
                    "grouped": after(name, groups[own]),
                    "pooled": after(name, list(rows)),
                }
                | {f"with {other}": after(name, [name, *groups[other]]) for other in groups if other != own}
                for name, own in PATTERNS.items()
            }
        )
    return sum(pd.DataFrame(draw).T for draw in draws) / len(draws)


def test_all_are_hurt_by_the_other_pattern(losses: pd.DataFrame) -> None:
    assert (losses["grouped"] < losses["pooled"] - 0.02).all(), losses


def test_small_hospitals_gain_from_their_own_pattern(losses: pd.DataFrame) -> None:
    gain = losses["alone"] - losses["grouped"]
    sizes = {hospital.name: hospital.rows for hospital in HOSPITALS}
    for name, pattern in PATTERNS.items():
        if pattern != "heart":  # the large ones gain little, and not from every draw
            assert gain[name] > (0.02 if sizes[name] <= 130 else 0), losses


def test_the_odd_one_out_is_best_alone(losses: pd.DataFrame) -> None:
    heart = losses.loc["Harbour Heart Centre"].dropna()
    assert (heart.drop(["alone", "grouped"]) > heart["alone"] + 0.02).all(), losses


def test_it_looks_like_patients() -> None:
    frame = hospitals()
    assert list(frame.columns[:2]) == ["hospital", "age"]
    sizes = frame[CLIENT].value_counts()
    assert (len(sizes), sizes.min(), sizes.max()) == (8, 60, 900)
    assert not lookalikes(sizes.index)
    assert warnings_about(read_clients(frame, CLIENT)) == ()
    assert 0.1 < frame[TARGET].mean() < 0.25
    assert frame.groupby(CLIENT)[TARGET].mean().between(0.05, 0.35).all()
    missing = frame.isna().mean()
    assert set(missing[missing > 0].index) == {"lactate", "creatinine", "glucose"}
    assert 0.1 < missing["lactate"] < 0.4
    limits = {"age": (18, 95), "lactate": (0.2, 12), "creatinine": (0.2, 8), "systolic_bp": (60, 220),
              "heart_rate": (35, 180), "oxygen_saturation": (75, 100), "glucose": (40, 500)}  # fmt: skip
    for name, (least, most) in limits.items():
        assert frame[name].dropna().between(least, most).all(), name


def test_a_seed_gives_the_same_patients() -> None:
    pd.testing.assert_frame_equal(hospitals(3), hospitals(3))
    assert not hospitals(3).equals(hospitals(4))
    with pytest.raises(InputError, match="rows_per_hospital is 0; it must be 1 or more"):
        hospitals(0, 0)
