"""What a client allows, and how it refuses the rest."""

import numpy as np
import pytest

from comity.client import Client, Policy, Privacy
from comity.client.policy import target_of
from comity.errors import InputError, RefusedError
from comity.questions import AskPrivacy, Describe, Gradients, Recipe
from support.small_client import ask_moments, rows, schema


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"questions": ("describe", "momints")}, "no question 'momints'; did you mean 'moments'"),
        ({"questions": ["rows please"]}, "no question 'rows please'; there are describe, moments"),
        (
            {"questions": "describe"},
            "questions is 'describe'; it must be a list of names of questions: describe, moments",
        ),
        ({"questions": [1]}, "must be a list of names of questions"),
        ({"least_rows": 0}, "least_rows is 0; it must be a whole number, 1 or more"),
        ({"least_rows": True}, "least_rows is True"),
        ({"least_rows": None}, "least_rows is None"),
        ({"largest_answer": 0}, "largest_answer is 0"),
        ({"largest_answer": 2.5}, "largest_answer is 2.5"),
        ({"target": ""}, "target is ''; it must be the name of a column"),
        ({"target": 3}, "target is 3"),
        ({"share_utilities": "yes"}, "share_utilities is 'yes'; it must be true or false"),
        ({"disclosure": 0.0}, "disclosure is 0.0; it must be a number, more than 0, or inf for no limit"),
        ({"disclosure": True}, "disclosure is True"),
        ({"only_private": 1}, "only_private is 1"),
    ],
)
def test_settings_that_are_not_allowed(settings: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Policy(**settings)


def test_an_answer_that_is_too_large_is_refused_with_both_sizes() -> None:
    free = Client("a", rows())
    free.answer(ask_moments())
    needed = free.log[0].size
    assert Client("a", rows(), Policy(largest_answer=needed)).answer(ask_moments()) is not None
    small = Client("a", rows(), Policy(largest_answer=needed - 1))
    with pytest.raises(
        RefusedError, match=f"'moments': the answer has {needed} bytes, and its policy allows {needed - 1}"
    ):
        small.answer(ask_moments())
    assert (small.log[0].size, small.log[0].given) == (0, "")


def test_a_client_with_a_target_refuses_others() -> None:
    client = Client("a", rows(), Policy(target="y"))
    client.answer(Describe("y"))
    client.answer(ask_moments())
    for question in (Describe("z"), ask_moments("z")):
        with pytest.raises(RefusedError, match="about the target 'y' and not about 'z'"):
            client.answer(question)
    nothing = np.empty((0, 0))
    other = Recipe(schema=schema("z"), loss="squared")
    with pytest.raises(RefusedError, match="not about 'z'"):
        client.answer(Gradients(other, nothing, np.empty(0), np.empty(0), 0, 0.1))
    assert target_of(Gradients(Recipe(), nothing, np.empty(0), np.empty(0), 0, 0.1)) is None


def test_only_private_refuses_answers_without_noise() -> None:
    private = Privacy(clip=1.0, noise=1.0)
    client = Client("a", rows(), Policy(only_private=True), privacy=private)
    client.answer(ask_moments())
    client.answer(AskPrivacy())
    with pytest.raises(
        RefusedError, match="'describe': its answer would leave without noise, and its policy allows only"
    ):
        client.answer(Describe("y"))
    for without in (None, Privacy(), Privacy(clip=1.0)):
        with pytest.raises(InputError, match="only_private, and there is no noise: it would answer nothing"):
            Client("a", rows(), Policy(only_private=True), privacy=without)


def test_a_client_with_few_rows_still_states_its_privacy() -> None:
    answer = Client("a", rows(3), Policy(share_utilities=True)).answer(AskPrivacy())
    assert answer.shares_utilities
    assert Client("a", rows()).answer(Describe("y")).shares_utilities is False
    assert Client("a", rows(), Policy(share_utilities=True)).answer(Describe("y")).shares_utilities is True
    with pytest.raises(RefusedError, match="does not answer the question 'privacy'"):
        Client("a", rows(), Policy(questions=("describe",))).answer(AskPrivacy())
