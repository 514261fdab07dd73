"""The main job from Python."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import comity
from comity.client.tables import read_clients
from comity.errors import ComityWarning, InputError, RefusedError, UnknownClientError
from support.small_tables import classes, numbers


@pytest.fixture(scope="module")
def result() -> comity.Result:
    return comity.solve(numbers(), client="site", target="effect")


def test_a_federation_is_a_source_too(result: comity.Result) -> None:
    federation = comity.InProcess(read_clients(numbers(), "site"))
    same = comity.solve(federation, target="effect")
    assert same.coalitions == result.coalitions
    assert same.traffic == result.traffic
    np.testing.assert_array_equal(same.models["coalition"], result.models["coalition"])
    assert all(client.log for client in federation.members), "what was given is in the log"


def test_columns_can_be_excluded_at_a_federation() -> None:
    federation = comity.InProcess(read_clients(numbers(), "site"))
    result = comity.solve(federation, target="effect", exclude=["dose"])
    assert "dose" not in result.schema.features
    assert result.study.exclude == ("dose",)
    with pytest.raises(InputError, match=r"no column 'doze'.*did you mean 'dose'"):
        comity.solve(federation, target="effect", exclude=["doze"])


def test_the_papers_rule_is_refused_with_many_clients_before_any_is_asked() -> None:
    many = [numbers().assign(site=f"s{place}") for place in range(19)]
    federation = comity.InProcess(read_clients(pd.concat(many), "site"))
    with pytest.raises(InputError, match="with 19 clients"):
        comity.solve(federation, target="effect", search="spo", rule="clip")
    assert not any(client.log for client in federation.members)


def test_a_client_may_refuse() -> None:
    policy = comity.Policy(questions=("describe",))
    federation = comity.InProcess(read_clients(numbers(), "site", policy))
    with pytest.raises(RefusedError, match="does not answer the question 'moments'"):
        comity.solve(federation, target="effect")


def test_settings_are_checked() -> None:
    with pytest.raises(InputError, match="target="):
        comity.solve(numbers(), client="site")
    with pytest.raises(InputError, match="no setting 'fold'"):
        comity.solve(numbers(), client="site", target="effect", fold=3)


def test_warnings_are_given_as_such() -> None:
    frame = numbers().assign(patient=range(72))
    with pytest.warns(ComityWarning, match="column 'patient' looks like an identifier"):
        result = comity.solve(frame, client="site", target="effect")
    assert result.left_out == ("patient",)


def test_predictions_follow_the_rows(result: comity.Result, tmp_path: Path) -> None:
    frame = numbers(rows=4, seed=3).sample(frac=1, random_state=0)
    predictions = result.predict(frame)
    assert predictions.index.equals(frame.index)
    assert predictions["client"].tolist() == frame["site"].tolist()
    for index, row in frame.iterrows():
        one = result.predict(pd.DataFrame([row]))
        assert one["prediction"].iloc[0] == pytest.approx(predictions.loc[index, "prediction"])
    result.save(tmp_path / "run")
    pd.testing.assert_frame_equal(comity.Result.load(tmp_path / "run").predict(frame), predictions)
    with pytest.raises(InputError, match="there is no model 'mine'"):
        result.predict(frame, model="mine")
    with pytest.raises(UnknownClientError, match="no model for client 'Nort'; did you mean 'North'"):
        result.predict(frame.assign(site="Nort"))
    with pytest.warns(ComityWarning, match="client 'Utopia' was not there: .* typical member"):
        newcomer = result.predict(frame.assign(site="Utopia"))["prediction"]
    members = [result.predict(frame.assign(site=name))["prediction"] for name in result.clients]
    np.testing.assert_allclose(newcomer, np.mean(members, axis=0))
    with pytest.warns(ComityWarning, match="ignored: 'more'"):
        result.predict(frame.assign(more=1))


def test_a_better_model_predicts_better() -> None:
    """Not only in the figures: on new rows, the models of the coalition beat those alone."""

    def drawn(rows: int, seed: int) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame(rng.normal(size=(4 * rows, 16))).add_prefix("x")
        sign = np.repeat([1, 1, -1, -1], rows)
        effect = sign * frame.sum(axis=1) + 2 * rng.normal(size=4 * rows)
        return frame.assign(site=np.repeat(["North", "South", "West", "East"], rows), effect=effect)

    result = comity.solve(drawn(40, seed=0), client="site", target="effect")
    new = drawn(400, seed=77)
    together = [client for coalition in result.coalitions if len(coalition) > 1 for client in coalition]
    assert together
    here = new["site"].isin(together)
    lost = {
        model: ((result.predict(new, model=model)["prediction"] - new["effect"])[here] ** 2).mean()
        for model in ("alone", "coalition")
    }
    assert lost["coalition"] < lost["alone"]


def test_weights_and_graph(result: comity.Result) -> None:
    assert set(result.weights_of("North")) <= {"North", "South"}
    assert sum(result.weights_of("North").values()) == pytest.approx(1)
    assert set(result.graph.to_networkx().nodes) == {"North", "South", "West"}
    with pytest.raises(UnknownClientError):
        result.weights_of("East")


def test_more_than_two_classes() -> None:
    frame = classes(rows=40)
    frame["cured"] = np.where(frame["dose"] > 5.5, "partly", frame["cured"])
    result = comity.solve(frame, client="site", target="cured")
    predictions = result.predict(frame)
    assert list(predictions.columns) == ["client", "prediction", "p_no", "p_partly", "p_yes"]
    np.testing.assert_allclose(predictions.filter(like="p_").sum(axis=1), 1)
    assert (predictions["prediction"] == frame["cured"]).mean() > 0.5


def pooled(classes: bool) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return rows of three clients of different sizes, all inputs with an intercept, and the target as numbers."""
    rng = np.random.default_rng(5)
    inputs = rng.normal(size=(150, 3))
    target = inputs @ np.array([1.0, -0.5, 0.25]) + rng.normal(size=150)
    frame = pd.DataFrame(inputs, columns=["a", "b", "c"]).assign(site=np.repeat(["x", "y", "z"], [30, 50, 70]))
    frame["y"] = np.where(target > 0, "yes", "no") if classes else target
    return frame, np.column_stack([inputs, np.ones(150)]), (target > 0).astype(float) if classes else target


def test_one_model_for_all_is_that_of_all_rows() -> None:
    frame, inputs, target = pooled(classes=False)
    result = comity.solve(frame, client="site", target="y", search="spo", penalty=1e-9, judges=2)
    expected = inputs @ np.linalg.lstsq(inputs, target, rcond=None)[0]
    np.testing.assert_allclose(result.predict(frame, model="together")["prediction"], expected, atol=1e-6)


def test_one_model_for_all_of_classes_is_that_of_all_rows() -> None:
    frame, inputs, target = pooled(classes=True)
    result = comity.solve(frame, client="site", target="y", search="spo", penalty=1e-9, judges=2)
    probability = result.predict(frame, model="together")["p_yes"].to_numpy()
    np.testing.assert_allclose(inputs.T @ (probability - target), 0.0, atol=1e-4)


def test_one_model_for_all_chooses_its_penalty_by_all_rows() -> None:
    frame, _, _ = pooled(classes=False)
    result = comity.solve(frame, client="site", target="y")
    assert len(set(result.penalties["together"].tolist())) == 1
    assert np.allclose(result.models["together"], result.models["together"][0])
    standing = result.utilities["x"]
    assert standing.together.value == pytest.approx(standing.alone.value + standing.gain_together.value)


def test_too_many_clients_for_every_subset_are_refused_before_anything_is_learned() -> None:
    rng = np.random.default_rng(0)
    tables = {f"h{place}": pd.DataFrame(rng.normal(size=(20, 2)), columns=["x", "y"]) for place in range(13)}
    federation = comity.InProcess(tuple(comity.Client(name, table) for name, table in tables.items()))
    with pytest.raises(comity.InputError, match="at most 12 clients"):
        comity.solve(federation, target="y", search="exhaustive")
    assert federation.traffic.rounds == 1
