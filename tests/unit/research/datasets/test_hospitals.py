"""The made-up hospitals gain from each other as they were designed to."""

import numpy as np
import pandas as pd
import pytest

from comity.client.tables import read_clients, warnings_about
from comity.core.arrays import Floats
from comity.core.names import lookalikes
from comity.errors import InputError
from comity.questions.schema import Schema, agree
from comity.research.datasets.hospitals import CLIENT, TARGET, hospitals
from comity.rows.encoding import encode, encode_target, summarise

GROUPS = {
    "protocol": ["Northgate", "Alder Valley", "Queensmead", "Millbrook"],
    "early": ["St. Brigid's", "Eastfield", "Larkhill", "Oakbridge"],
    "research": ["University Hospital"],
    "heart": ["Harbour Heart Centre"],
}
OWN_GROUP = {name: members for members in GROUPS.values() for name in members}
DRAWS = 3


def fit(x: Floats, y: Floats, ridge: float) -> Floats:
    """Fit a ridge regression; the intercept, the last column, is hardly penalised."""
    penalty = np.r_[np.full(x.shape[1] - 1, ridge), 1e-9]
    return np.linalg.solve(x.T @ x + np.diag(penalty), x.T @ y)


def encoded(frame: pd.DataFrame, schema: Schema) -> dict[str, tuple[Floats, Floats]]:
    clients = read_clients(frame, CLIENT)
    return {client.name: (encode(client.rows, schema), encode_target(client.rows, schema)) for client in clients}


@pytest.fixture(scope="module")
def losses() -> pd.DataFrame:
    """Losses of each hospital (row) on new patients with models trained on several sets of hospitals (columns).

    Each loss is that of the best of four ridge penalties, so that no column is at a disadvantage, averaged over some
    draws of the patients.
    """
    clients = read_clients(hospitals(), CLIENT)
    schema = agree({client.name: summarise(client.rows, TARGET, False, 100) for client in clients}, TARGET).schema
    fresh = encoded(hospitals(1000, 5_000), schema)
    draws = []
    for seed in range(DRAWS):
        rows = encoded(hospitals(seed), schema)

        def loss_with(name: str, members: list[str], rows: dict[str, tuple[Floats, Floats]] = rows) -> float:
            x, y = (np.concatenate([rows[member][part] for member in members]) for part in (0, 1))
            new, target = fresh[name]
            return min(float(np.mean((new @ fit(x, y, ridge) - target) ** 2)) for ridge in (0.1, 1.0, 10.0, 30.0))

        def loss_pulled(name: str, members: list[str], rows: dict[str, tuple[Floats, Floats]] = rows) -> float:
            x, y = (np.concatenate([rows[member][part] for member in members]) for part in (0, 1))
            common, (own, wanted), (new, target) = fit(x, y, 1.0), rows[name], fresh[name]
            pulled = (common + fit(own, wanted - own @ common, ridge) for ridge in (1.0, 10.0, 30.0))
            return min(float(np.mean((new @ model - target) ** 2)) for model in pulled)

        draws.append(
            {
                name: {
                    "alone": loss_with(name, [name]),
                    "grouped": loss_with(name, OWN_GROUP.get(name, [name])),
                    "pooled": loss_with(name, list(rows)),
                    "pulled": loss_pulled(name, GROUPS["protocol"]),
                    "with Fairhaven": loss_with(name, [*OWN_GROUP.get(name, []), "Fairhaven"]),
                }
                | {f"with {group}": loss_with(name, [name, *members]) for group, members in GROUPS.items()}
                for name in rows
            }
        )
    return sum(pd.DataFrame(draw).T for draw in draws) / DRAWS


def test_every_hospital_does_much_worse_with_all_than_alone(losses: pd.DataFrame) -> None:
    assert (losses["alone"] < 0.9 * losses["pooled"]).all(), losses


def test_small_hospitals_gain_much_from_their_own_group(losses: pd.DataFrame) -> None:
    small = [*GROUPS["protocol"], *GROUPS["early"]]
    assert (losses.loc[small, "grouped"] < 0.9 * losses.loc[small, "alone"]).all(), losses


def test_two_hospitals_are_alone_for_a_good_reason(losses: pd.DataFrame) -> None:
    for name in ("University Hospital", "Harbour Heart Centre"):
        others = [f"with {group}" for group, members in GROUPS.items() if name not in members]
        assert (losses.loc[name, others] > losses.loc[name, "alone"]).all(), losses


def test_a_hospital_wants_others_that_gain_nothing_from_it(losses: pd.DataFrame) -> None:
    protocol = losses.loc[GROUPS["protocol"]]
    assert (protocol["with Fairhaven"] > protocol["grouped"]).all(), losses
    assert losses.loc["Fairhaven", "pulled"] < 0.9 * losses.loc["Fairhaven", "alone"], losses


def test_the_patients_are_plausible() -> None:
    frame = hospitals()
    assert list(frame.columns[:2]) == ["hospital", "age"]
    sizes = frame[CLIENT].value_counts()
    assert (len(sizes), sizes.min(), sizes.max()) == (11, 34, 1500)
    assert not lookalikes(sizes.index)
    assert warnings_about(read_clients(frame, CLIENT)) == ()
    assert frame[TARGET].between(0.5, 40).all()
    assert frame.groupby(CLIENT)[TARGET].mean().between(10, 18).all()
    missing = frame.isna().mean()
    assert set(missing[missing > 0].index) == {"albumin"}
    limits = {"age": (18, 95), "lactate": (0.3, 4), "creatinine": (0.4, 2), "systolic_bp": (70, 170),
              "heart_rate": (50, 130), "oxygen_saturation": (90, 100), "platelets": (50, 400)}  # fmt: skip
    for name, (low, high) in limits.items():
        assert frame[name].dropna().between(low, high).all(), name


def test_a_seed_gives_the_same_patients() -> None:
    pd.testing.assert_frame_equal(hospitals(3), hospitals(3))
    assert not hospitals(3).equals(hospitals(4))
    with pytest.raises(InputError, match="rows_per_hospital is 0; it must be 1 or more"):
        hospitals(0, 0)
