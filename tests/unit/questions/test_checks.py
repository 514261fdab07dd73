from dataclasses import replace

import numpy as np
import pytest

from comity.errors import AnswerError
from comity.questions import (
    Describe,
    Description,
    Evaluate,
    Evaluation,
    Gradients,
    GradientsAnswer,
    HypernetworkSpec,
    Moments,
    MomentsAnswer,
    Recipe,
    SearchFront,
    SearchFrontAnswer,
    Slopes,
    SlopesAnswer,
    Split,
    TrainAlone,
    TrainAloneAnswer,
)
from comity.questions.checks import check_answer
from comity.questions.schema import NumberColumn, Schema, Target
from comity.questions.search import SearchSettings

SCHEMA = Schema((NumberColumn("a", 0.0, 1.0, False), NumberColumn("b", 0.0, 1.0, True)), Target("y", "regression"))
SPLIT = Split(folds=2, repeats=3, judges=4)
V, K, D = 5, 6, 4


def moments(views=V, folds=K, size=D) -> MomentsAnswer:
    return MomentsAnswer(
        np.ones((views, folds, size, size)),
        np.ones((views, folds, size)),
        np.ones((views, folds)),
        np.ones((views, folds)),
    )


QUESTION = Moments(SCHEMA, SPLIT, np.zeros((0, 0)))


def test_an_answer_that_fits_passes():
    check_answer("a", QUESTION, moments())
    check_answer("a", Describe("y"), Description(3, ()))


@pytest.mark.parametrize("wrong", [moments(views=4), moments(folds=5), moments(size=5), moments(size=3)])
def test_the_message_names_the_expected_shape(wrong):
    with pytest.raises(AnswerError, match=r"'moments' has 'gram' of the shape .*, not 5 × 6 × 4 × 4"):
        check_answer("a", QUESTION, wrong)


def test_arrays_of_one_answer_must_agree_in_their_dimensions():
    question = Slopes(SCHEMA, SPLIT, np.zeros((2, 3)), np.zeros(2))
    answer = SlopesAnswer(np.zeros(2), np.zeros((2, 3)), np.zeros((2, 3, 4)), np.zeros(2))
    with pytest.raises(AnswerError, match="'curvatures' of the shape 2 × 3 × 4, not 2 × 3 × 3"):
        check_answer("a", question, answer)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused(value):
    wrong = moments()
    wrong.cross[1, 2, 3] = value
    with pytest.raises(AnswerError, match="a value in 'cross' that is not a number") as caught:
        check_answer("North", QUESTION, wrong)
    assert caught.value.client == "North"


def test_a_metric_may_be_undefined():
    nothing = np.full(2, np.nan)
    question = Evaluate(SCHEMA, SPLIT, "rmse", np.zeros((2, 5, 4)), np.ones((2, 4)))
    check_answer("a", question, Evaluation(nothing, nothing, nothing, nothing))


def test_losses_of_networks_may_be_infinite():
    question = Gradients(Recipe(), np.zeros((2, 3)), np.zeros(2), np.ones(2), 0, 0.1)
    check_answer("a", question, GradientsAnswer(np.array([np.inf, 1.0]), np.full((2, 3), np.nan)))
    with pytest.raises(AnswerError, match="'gradients' of the shape 3 × 2, not 2 × 3"):
        check_answer("a", question, GradientsAnswer(np.zeros(2), np.zeros((3, 2))))


def test_a_trained_model_has_the_size_of_its_start():
    for start in (np.zeros(7), np.zeros((3, 7))):
        question = TrainAlone(Recipe(), "alone", start, 5, 0.1)
        check_answer("a", question, TrainAloneAnswer(np.zeros(7), np.zeros(1)))
        with pytest.raises(AnswerError, match="of the shape 8, not 7"):
            check_answer("a", question, TrainAloneAnswer(np.zeros(8), np.zeros(1)))


def test_a_search_answers_about_the_faces_of_the_question():
    faces = np.ones((2, 3))
    question = SearchFront(
        recipe=Recipe(),
        network=HypernetworkSpec(3, 4),
        parameters=np.zeros((1, 9)),
        counts=np.ones(3),
        own=0,
        alone=1.0,
        task="best",
        search=SearchSettings(),
        strength=0.0,
        faces=faces,
        start=faces,
        other=faces,
    )
    fitting = SearchFrontAnswer(faces, np.zeros((3, 2, 3)), np.zeros((3, 2)), np.zeros(2), np.zeros(2))
    check_answer("a", question, fitting)
    with pytest.raises(AnswerError, match="'weights' of the shape 2 × 2 × 3, not 3 × 2 × 3"):
        check_answer("a", question, replace(fitting, weights=np.zeros((2, 2, 3))))


def test_an_answer_of_another_kind_is_refused():
    with pytest.raises(AnswerError, match="answers 'moments' with Description, not with MomentsAnswer"):
        check_answer("a", QUESTION, Description(3, ()))
