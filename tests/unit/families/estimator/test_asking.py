"""What is asked about estimators, and what follows from the answers."""

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from comity.client import Client
from comity.families.estimator.asking import BorrowingOfEstimators
from comity.families.estimator.files import to_file
from comity.families.problem import state_problem
from comity.federation import InProcess
from comity.questions import Split
from comity.study import Study
from support.stacks import crossed


def silent(stage: str, done: int, total: int) -> None:
    pass


def asking_of(classes: int = 0) -> BorrowingOfEstimators:
    frame = crossed(rows=45, classes=classes)
    federation = InProcess(
        tuple(
            Client(name, rows.drop(columns="client").reset_index(drop=True)) for name, rows in frame.groupby("client")
        )
    )
    kind = DecisionTreeClassifier if classes else DecisionTreeRegressor
    tree = kind(max_depth=3, min_samples_leaf=3, random_state=0)
    problem = state_problem(federation, Study("y"))
    return BorrowingOfEstimators(
        federation, problem.schema, Split(folds=3, repeats=1, judges=0), silent, to_file(tree), (45,) * 6
    )


@pytest.mark.parametrize("classes", [0, 2])
def test_the_model_for_all_is_the_best_multiple_of_the_mean_without_each_part(classes: int) -> None:
    asking = asking_of(classes)
    models = asking.together[0]
    assert not np.allclose(models[0], models[1])
    for model, view in zip(models[:, 0], asking.lender.views, strict=True):
        total = view.sums.total()
        best = total.losses(model[None])[0]
        for scale, shift in ((1.05, 0.0), (0.95, 0.0), (1.0, 0.02), (1.0, -0.02)):
            other = np.append(scale * model[:6], model[6:] + shift)
            assert total.losses(other[None])[0] > best
        assert np.ptp(model[:6]) == pytest.approx(0.0)


@pytest.mark.parametrize("classes", [2, 3])
def test_losses_of_classes_are_measured_and_models_approached_in_bounded_steps(classes: int) -> None:
    asking = asking_of(classes)
    lender = asking.lender
    assert lender.measured is not None
    assert lender.measured.shape == (2, 6, 3)
    exact = lender.measured[0].sum(axis=1)
    np.testing.assert_allclose(lender.by_part[:, :, 0].sum(axis=1), exact, rtol=0.15)  # near the point of expansion
    assert np.abs(asking._approached()).max() < 5


def test_a_client_is_asked_about_all_models_in_four_rounds() -> None:
    asking = asking_of()
    asking.evaluate("rmse", asking.together[0])
    rounds = asking.federation.traffic.rounds
    assert rounds == 4, "describe, fit-estimator, stack-moments, evaluate-stacks"
    assert all(asking.files)
