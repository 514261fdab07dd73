"""Scores of models, by the classes of the study."""

import numpy as np
import pytest

pytest.importorskip("sklearn")
from sklearn.tree import DecisionTreeClassifier

from comity.families.estimator.prediction import predict, scores


def test_probabilities_are_those_of_the_classes_that_a_model_knows() -> None:
    x = np.arange(20.0)[:, None]
    model = DecisionTreeClassifier(max_depth=1).fit(x, np.repeat([1, 2], 10))  # of three classes, the last two
    found = predict(model, x, 3)
    np.testing.assert_array_equal(found[:, 0], 0.0)
    np.testing.assert_array_equal(found.argmax(axis=1), np.repeat([1, 2], 10))
    assert (scores((model, 20), x, 3).argmin(axis=1) == 0).any()
