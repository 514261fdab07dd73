"""Trainings that need only sums are the same when no term is seen: to what quantisation leaves."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from comity.errors import InputError, MissingClientsError, RefusedError, TrainingError
from comity.families.network.rays import Rays
from comity.families.network.trainer import train
from comity.families.network.training import Training
from comity.federation import Federation, InProcess, Member, Read, Traffic
from comity.flower.secure import SecureSum, answer_securely
from comity.questions import QUESTIONS, Packed, unpack
from comity.research.baselines import METHODS, Budget
from comity.research.baselines import train as train_baseline
from support.grids import InMemoryGrid, silent
from support.linear_networks import Linear
from support.sessions import small


@dataclass(frozen=True)
class Secured(Federation):
    """Clients who are asked as in one process, but for sums, which are secure and over a grid."""

    inside: InProcess
    grid: InMemoryGrid

    @classmethod
    def of(cls, inside: InProcess) -> "Secured":
        return cls(inside, InMemoryGrid({17 + place: app_of(each) for place, each in enumerate(inside.members)}))

    @property
    def clients(self) -> tuple[str, ...]:
        return self.inside.clients

    @property
    def hides_terms(self) -> bool:
        return True

    def _carry(self, questions: Mapping[str, Packed], read: Read) -> dict[str, Any]:
        return self.inside._carry(questions, read)

    def _carry_total(self, questions: Mapping[str, Packed], read: Read) -> tuple[Any, Traffic]:
        nodes = {name: 17 + place for place, name in enumerate(self.clients)}
        total, cost = SecureSum(self.grid, nodes, timeout=5.0).total_of_all(questions)
        return unpack(total), cost


def app_of(member: Member) -> ClientApp:
    app = ClientApp()

    @app.train()
    def sum_securely(message: Message, context: Context) -> Message:
        return answer_securely(message, context, member)

    return app


def _keep(losses: list[float], step: int, total: int, loss: float) -> None:
    losses.append(loss)


@pytest.mark.parametrize(("double", "within"), [(True, 1e-9), (False, 1e-4)])
def test_a_hypernetwork_learns_the_same(double: bool, within: float) -> None:
    settings = Training(steps=6, checks=2, local_steps=2, width=8)
    fronts, losses = [], []
    for secure in (False, True):
        linear = Linear.drawn(4, double=double)
        federation = Secured.of(linear.federation) if secure else linear.federation
        before, of_run = federation.traffic.rounds, []
        fronts.append(train(federation, linear.recipe, torch.zeros(linear.size), settings, partial(_keep, of_run)))
        losses.append(of_run)
        rounds = federation.traffic.rounds - before
        assert rounds == (6 * 4 + 3 if secure else 6 + 3), "a sum is four rounds; three checks are one each"
    np.testing.assert_allclose(fronts[1].parameters, fronts[0].parameters, atol=within)
    np.testing.assert_allclose(losses[1], losses[0], atol=within)


@pytest.mark.parametrize("name", ["fedavg", "per-fedavg", "pfedme"])
def test_baselines_that_average_learn_the_same(name: str) -> None:
    session = small(Budget(rounds=4, steps=2, rate=0.1, checks=2))
    plain = train_baseline(METHODS[name], session)
    secured = Secured.of(session.federation)
    secure = train_baseline(METHODS[name], replace(session, federation=secured))
    np.testing.assert_allclose(secure.models, plain.models, atol=1e-10)
    sums = 1 if name == "pfedme" else 4  # a step of pFedMe takes five gradients
    assert len(secured.grid.received) == sums * 4 * 3, "four exchanges with three clients"


def test_nobodys_model_leaves_its_client_in_fedavg() -> None:
    session = small(Budget(rounds=1, steps=2, rate=0.1, checks=1))
    secured = Secured.of(session.federation)
    method = METHODS["fedavg"]
    method.step(replace(session, federation=secured), session.base, 0)
    asked = [each.content.config_records for each in secured.grid.sent if "texts" in each.content]
    assert len({each["texts"]["plain"] for each in asked}) == 3, "each has its own share"
    for message in secured.grid.received:
        for record in message.content.array_records.values():
            assert all(array.numpy().dtype == np.uint64 for array in record.values())


def test_a_rate_that_is_too_high_names_the_client() -> None:
    session = small(Budget(rounds=60, steps=4, rate=1e200))
    with pytest.raises(TrainingError, match=r"the loss of client 'c\d' is not finite in round \d+; take a lower rate"):
        train_baseline(METHODS["fedavg"], replace(session, federation=Secured.of(session.federation)))


def test_a_training_ends_with_the_name_of_a_client_that_is_lost_or_refuses() -> None:
    linear = Linear.drawn(4)
    secured = Secured.of(linear.federation)
    settings = Training(steps=6, checks=2, local_steps=2, width=8)
    secured.grid.faults[18] = silent()
    with pytest.raises(
        MissingClientsError, match=r"clients are missing from the secure sum: 'c1' did not answer"
    ) as raised:
        train(secured, linear.recipe, torch.zeros(linear.size), settings)
    assert raised.value.clients == ("c1",)
    members = list(linear.federation.members)
    allowed = tuple(kind for kind in QUESTIONS if kind != "local-steps")
    members[2] = replace(members[2], policy=replace(members[2].policy, questions=allowed))
    with pytest.raises(
        RefusedError, match="client 'c2' does not answer the question 'local-steps': its policy forbids it"
    ):
        train(Secured.of(InProcess(tuple(members))), linear.recipe, torch.zeros(linear.size), settings)


def test_a_step_whose_sum_is_the_term_of_one_client_is_an_error() -> None:
    linear = Linear.drawn(4)
    settings = Training(steps=40, checks=2, local_steps=1, per_step=1, width=8, rays=Rays(sparse=1.0, most=1))
    with pytest.raises(InputError, match="all rays of step 0 are on one client, so the sum would reveal its term"):
        train(Secured.of(linear.federation), linear.recipe, torch.zeros(linear.size), settings)
    train(linear.federation, linear.recipe, torch.zeros(linear.size), settings)  # where terms are seen, nothing is lost
