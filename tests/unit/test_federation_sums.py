"""`Federation.total`: the sum of the clients' answers, its cost and its errors."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from comity.errors import AnswerError, InputError, NotFiniteError, TrainingError, UnknownClientError
from comity.families.network.trainer import Trainer
from comity.families.network.training import Training
from comity.federation import InProcess
from comity.questions import (
    AskPrivacy,
    HeldLosses,
    HeldLossesAnswer,
    HypernetworkSpec,
    LocalSteps,
    LocalStepsAnswer,
    Packed,
    PrivacyAnswer,
    PrivacyStatement,
    Recipe,
    pack,
)
from support.linear_networks import Linear

QUESTION = HeldLosses(Recipe(), np.zeros((3, 2)), np.zeros(3), 0, -1)


@dataclass(frozen=True)
class FixedClient:
    """A client that gives the same answer to every question."""

    name: str
    answer: Any

    def reply(self, packed: Packed) -> Packed:
        return pack(self.answer)


def federation_of(*answers: Any) -> InProcess:
    return InProcess(tuple(FixedClient(f"c{number}", answer) for number, answer in enumerate(answers)))


numbers = arrays(np.float64, (3,), elements=st.floats(-1e6, 1e6))


@given(st.lists(numbers, min_size=1, max_size=6))
def test_the_total_is_the_sum_of_the_answers(losses: list[np.ndarray]) -> None:
    federation = federation_of(*map(HeldLossesAnswer, losses))
    np.testing.assert_allclose(federation.total(QUESTION).losses, np.sum(losses, axis=0), rtol=1e-12, atol=1e-9)


def test_a_total_does_not_depend_on_the_order_in_which_answers_arrive() -> None:
    class Reversed(InProcess):
        def _carry(self, questions: Any, read: Any) -> dict[str, Any]:
            return dict(reversed(super()._carry(questions, read).items()))

    federation = federation_of(*(HeldLossesAnswer(np.full(3, value)) for value in (1.0, 1e16, -1e16)))
    late = Reversed(federation.members)
    assert late.total(QUESTION).losses.tolist() == federation.total(QUESTION).losses.tolist()


def test_a_total_over_some_clients_has_the_traffic_of_asking_them() -> None:
    federation, other = (
        federation_of(*(HeldLossesAnswer(np.arange(3.0) + number) for number in range(3))) for _ in range(2)
    )
    assert federation.total(QUESTION, ["c0", "c2"]).losses.tolist() == [2.0, 4.0, 6.0]
    other.ask({"c0": QUESTION, "c2": QUESTION})
    assert federation.traffic == other.traffic
    assert federation.traffic.rounds == 1
    assert federation.traffic.received == 2 * 3 * 8 + 2 * len("{}")


def test_every_array_of_a_sum_keeps_its_type() -> None:
    single = LocalStepsAnswer(np.ones((1, 2), np.float32), np.array([0.5]))
    question = LocalSteps(Recipe(), HypernetworkSpec(2, 2), np.zeros((1, 2)), np.zeros((1, 1, 2)), 0, 0, 0.1)
    total = federation_of(single, single).total(question)
    assert (total.change.tolist(), total.change.dtype) == ([[2.0, 2.0]], np.float32)
    assert (total.objective.tolist(), total.objective.dtype) == ([1.0], np.float64)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_the_error_for_a_value_that_is_not_finite_names_the_client(value: float) -> None:
    federation = federation_of(HeldLossesAnswer(np.zeros(3)), HeldLossesAnswer(np.array([1.0, value, 0.0])))
    with pytest.raises(NotFiniteError, match="the answer of client 'c1' holds a value that is infinite") as raised:
        federation.total(QUESTION)
    assert raised.value.client == "c1"


def test_answers_that_cannot_be_summed_are_refused() -> None:
    with pytest.raises(AnswerError, match=r"client 'c0' .* has 'losses' of the shape 2, not 3"):
        federation_of(HeldLossesAnswer(np.zeros(2)), HeldLossesAnswer(np.zeros(3))).total(QUESTION)
    asked = {"c0": QUESTION, "c1": replace(QUESTION, parameters=np.zeros((2, 2)), networks=np.zeros(2))}
    with pytest.raises(InputError, match=r"client 'c0' has losses \(3,\) float64, and that of 'c1' losses \(2,\)"):
        federation_of(HeldLossesAnswer(np.zeros(3)), HeldLossesAnswer(np.zeros(2))).total(asked)
    statement = PrivacyStatement(None, 0.0, 1e-6, None, 0.0, {}, (), (), {}, 0.0, None)
    with pytest.raises(InputError, match="a PrivacyAnswer cannot be summed: beside arrays it has statement"):
        federation_of(PrivacyAnswer(statement, shares_utilities=True)).total(AskPrivacy())
    with pytest.raises(InputError, match="nobody is asked"):
        federation_of(HeldLossesAnswer(np.zeros(2))).total({})
    with pytest.raises(UnknownClientError, match="'c9'"):
        federation_of(HeldLossesAnswer(np.zeros(2))).total(QUESTION, ["c9"])


def test_averaging_names_step_and_client_of_a_loss_that_is_not_a_number() -> None:
    linear = Linear.drawn(3, batch=0)
    settings = Training(steps=10, checks=1, local_steps=2)
    trainer = Trainer(linear.federation, linear.recipe, settings, linear.size)
    state = trainer.begin(torch.zeros(linear.size))

    def spoil_targets(step: int, *_: object) -> None:
        if step == 1:
            linear.learners[1].targets[:] = torch.nan

    with pytest.raises(TrainingError, match=r"the loss of client 'c1' is not a number at step 1;"):
        next(trainer.step(state, spoil_targets))
