"""The made-up hospitals gain from each other as they were designed to."""

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
    """Fit a logistic regression by Newton's method; the intercept, the last column, is hardly penalised."""
    parameters = np.zeros(x.shape[1])
    penalty = np.r_[np.full(x.shape[1] - 1, ridge), 1e-9]
    for _ in range(30):
        risk = 1 / (1 + np.exp(-x @ parameters))
        curvature = (x * (risk * (1 - risk))[:, None]).T @ x + np.diag(penalty)
        step = np.linalg.solve(curvature, x.T @ (risk - y) + penalty * parameters)
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
    """Losses of each hospital (row) on new patients with models trained on several sets of hospitals (columns).

    Each loss is that of the best of three ridge penalties, so that no column is at a disadvantage, averaged over three
    draws of the patients.
    """
    clients = read_clients(hospitals(), CLIENT)
    schema = agree({client.name: summarise(client.rows, TARGET, False, 100) for client in clients}, TARGET).schema
    fresh = encoded(hospitals(1000, 20_000), schema)
    groups = {pattern: [name for name in fresh if PATTERNS[name] == pattern] for pattern in PATTERNS.values()}
    draws = []
    for seed in range(3):
        rows = encoded(hospitals(seed), schema)

        def loss_with(name: str, members: list[str], rows: dict[str, tuple[Floats, Floats]] = rows) -> float:
            x, y = (np.concatenate([rows[member][part] for member in members]) for part in (0, 1))
            return min(loss(*fresh[name], fit(x, y, ridge)) for ridge in (1.0, 10.0, 30.0))

        draws.append(
            {
                name: {
                    "alone": loss_with(name, [name]),
                    "grouped": loss_with(name, groups[own]),
                    "pooled": loss_with(name, list(rows)),
                }
                | {f"with {other}": loss_with(name, [name, *groups[other]]) for other in groups if other != own}
                for name, own in PATTERNS.items()
            }
        )
    return sum(pd.DataFrame(draw).T for draw in draws) / len(draws)


def test_every_hospital_does_worse_with_all_than_with_its_pattern(losses: pd.DataFrame) -> None:
    assert (losses["grouped"] < losses["pooled"] - 0.02).all(), losses


def test_small_hospitals_gain_from_their_own_pattern(losses: pd.DataFrame) -> None:
    gain = losses["alone"] - losses["grouped"]
    sizes = {hospital.name: hospital.rows for hospital in HOSPITALS}
    for name, pattern in PATTERNS.items():
        if pattern != "heart":  # it has a pattern of its own
            assert gain[name] > (0.02 if sizes[name] <= 130 else 0), losses  # large hospitals gain little


def test_the_hospital_with_a_pattern_of_its_own_is_best_alone(losses: pd.DataFrame) -> None:
    heart = losses.loc["Harbour Heart Centre"].dropna()
    assert (heart.drop(["alone", "grouped"]) > heart["alone"] + 0.02).all(), losses


def test_the_patients_are_plausible() -> None:
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
    for name, (low, high) in limits.items():
        assert frame[name].dropna().between(low, high).all(), name


def test_a_seed_gives_the_same_patients() -> None:
    pd.testing.assert_frame_equal(hospitals(3), hospitals(3))
    assert not hospitals(3).equals(hospitals(4))
    with pytest.raises(InputError, match="rows_per_hospital is 0; it must be 1 or more"):
        hospitals(0, 0)
