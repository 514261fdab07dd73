"""What every baseline must satisfy, on tables and on torch modules."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from comity.families.network.answers.learner import Learner
from comity.federation import Federation, InProcess, Read
from comity.questions import Packed
from comity.research.baselines import METHODS, Budget, Session, train
from support.sessions import learners, linear, of_modules, small

BUDGET = Budget(rounds=5, steps=3, rate=0.03, checks=2)
PERSONAL = [name for name, method in METHODS.items() if method.personal]


def table(budget: Budget = BUDGET, **recipe) -> Session:
    return small(budget, depth=1, width=3, batch=5, **recipe)


def module(budget: Budget = BUDGET, **recipe) -> Session:
    generator = torch.Generator().manual_seed(0)
    network = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.2), nn.Tanh(), nn.Linear(4, 1))
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=0.5, generator=generator)
    given = linear(np.random.default_rng(0).normal(size=(3, 3)), [14, 20, 26])
    return of_modules(network, given, linear(np.zeros((3, 3)), [10] * 3), budget, batch=5, **recipe)


@dataclass(frozen=True)
class Recording(Federation):
    """A federation that keeps all questions and answers."""

    inside: InProcess
    messages: list[Packed] = field(default_factory=list)

    @property
    def clients(self) -> tuple[str, ...]:
        return self.inside.clients

    @property
    def members(self) -> tuple[object, ...]:
        return self.inside.members

    def _carry(self, questions: Mapping[str, Packed], read: Read) -> dict[str, Any]:
        def overheard(client: str, answer: Packed) -> Any:
            self.messages.append(answer)
            return read(client, answer)

        self.messages.extend(questions.values())
        return self.inside._carry(questions, overheard)


@pytest.fixture(params=[table, module])
def made(request: pytest.FixtureRequest) -> Callable[..., Session]:
    return request.param


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """How many gradients each client has computed."""
    counts: dict[str, int] = {}
    slopes = Learner.slopes

    def counting(learner: Learner, parameters: torch.Tensor, *rest):
        counts[learner.owner] = counts.get(learner.owner, 0) + len(parameters)
        return slopes(learner, parameters, *rest)

    monkeypatch.setattr(Learner, "slopes", counting)
    return counts


@pytest.mark.parametrize("name", METHODS)
def test_there_is_a_model_for_every_client_and_a_seed_determines_it(name: str, made: Callable[..., Session]) -> None:
    one, other = (train(METHODS[name], made()) for _ in range(2))
    assert one.models.shape == (3, one.session.base.size)
    assert one.models.dtype == np.float64
    assert np.isfinite(one.models).all()
    assert one.models.tobytes() == other.models.tobytes()
    assert (one.held_out_losses.tobytes(), one.rounds) == (other.held_out_losses.tobytes(), other.rounds)
    assert set(one.rounds) <= {2, 4, 5}
    judged = one.session.judge(one.models, "rmse")
    assert all(np.isfinite(judged[client].values).all() for client in one.session.clients)
    if METHODS[name].single_model:
        assert (np.ptp(one.models, axis=0) == 0).all()
        assert len(set(one.rounds)) == 1


@pytest.mark.parametrize("name", ["local", "fedavg", "fedper", "ifca"])
def test_test_rows_choose_neither_rounds_nor_models(name: str, made: Callable[..., Session]) -> None:
    """If other rows to test with gave other models, these would be chosen by what they are then judged by."""
    session = made(replace(BUDGET, checks=5))
    members = tuple(replace(member, test=_spoilt(member.test), log=[]) for member in session.federation.members)
    one, other = (train(METHODS[name], each) for each in (session, replace(session, federation=InProcess(members))))
    assert (one.models.tobytes(), one.held_out_losses.tobytes(), one.rounds) == (
        other.models.tobytes(), other.held_out_losses.tobytes(), other.rounds
    )  # fmt: skip
    judged = [each.session.judge(each.models, "rmse") for each in (one, other)]
    assert all(judged[0][client].values[0] < judged[1][client].values[0] / 2 for client in session.clients)


def _spoilt(test: Any) -> Any:
    """Rows to test with, whose targets are the opposite and far larger."""
    return test.assign(y=-50 * test["y"]) if isinstance(test, pd.DataFrame) else (test[0], -50 * test[1])


@pytest.mark.parametrize("name", METHODS)
def test_32_bit_numbers_stay_32_bit(name: str) -> None:
    trained = train(METHODS[name], table(double=False))
    assert trained.models.dtype == np.float32
    assert np.isfinite(trained.models).all()


@pytest.mark.parametrize("name", METHODS)
def test_nothing_but_shared_parameters_is_sent(name: str, made: Callable[..., Session]) -> None:
    session = made()
    recording = Recording(session.federation)
    trained = train(METHODS[name], replace(session, federation=recording))
    trained.session.judge(trained.models, "rmse")
    shared = trained.session.base.size
    for each in recording.messages:
        for label in ("parameters", "gradients"):
            if label in each.arrays:
                assert each.arrays[label].shape[-1] == shared
                assert each.kind != "TrainLocallyAnswer" or each.arrays[label].shape == (shared,)
        small_ones = [array for label, array in each.arrays.items() if label not in ("parameters", "gradients")]
        assert all(array.shape in {(1,), (2,)} for array in small_ones), "losses, and numbers of networks"
    numbers = np.concatenate([array.reshape(-1) for each in recording.messages for array in each.arrays.values()])
    for learner in learners(trained.session):
        assert learner.functional.size == shared
        assert bool(learner.functional.personal) == (name in PERSONAL)
        own = torch.cat([learner.personal.parameters, *learner.personal.at.values()]).unique().numpy()
        own = np.setdiff1d(own, learner.personal.began.numpy())  # the module's, which all have
        assert not np.isin(own, numbers).any()
        assert own.size > 0 or name not in PERSONAL


def test_personal_parameters_never_leave_their_client() -> None:
    """A head that begins as something that only its client knows is never sent."""
    for name in PERSONAL:
        session = module()
        secret = 0.123456789
        for member in session.federation.members:
            changed = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.2), nn.Tanh(), nn.Linear(4, 1))
            changed.load_state_dict(session.module.state_dict())
            with torch.no_grad():
                changed[0 if METHODS[name].personal == "body" else 3].bias.fill_(secret)
            object.__setattr__(member, "module", changed)
        recording = Recording(session.federation)
        train(METHODS[name], replace(session, federation=recording))
        sent = np.concatenate([array.reshape(-1) for each in recording.messages for array in each.arrays.values()])
        assert np.abs(sent - secret).min() > 1e-7


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("steps", [1, 3])
def test_no_more_gradients_are_computed_than_the_budget_allows(name: str, steps: int, counted: dict[str, int]) -> None:
    budget = replace(BUDGET, steps=steps)
    session, method = table(budget).with_personal(METHODS[name].personal), METHODS[name]
    session.reset_personal()
    state = method.begin(session)
    for number in range(budget.rounds):
        state = method.step(session, state, number)
        assert all(count <= (number + 1) * steps for count in counted.values())
    of_all = budget.rounds * steps
    assert set(counted) == {"c0", "c1", "c2"}, "something was trained"
    assert all(of_all - count < 5 for count in counted.values()), "and all that could be was spent"
    counted.clear()
    method.models(session, state)
    assert all(count <= steps for count in counted.values()), "at most a round's worth to adapt in the end"


def rows_used(learner: Learner) -> dict[str, tuple[bytes, ...]]:
    """The rows that train, are held out and judge, and their values, as bytes that can be compared."""
    parts = {"train": learner.training, "held": learner.held[0], "judged": learner.judging}
    return {
        part: (rows.tobytes(), learner.inputs[rows].numpy().tobytes(), learner.targets[rows].numpy().tobytes())
        for part, rows in parts.items()
    }


def test_all_methods_see_the_same_rows(made: Callable[..., Session]) -> None:
    session = made()
    seen: dict[str, set[tuple[tuple[bytes, ...], ...]]] = {client: set() for client in session.clients}
    for method in METHODS.values():
        for learner in learners(train(method, session).session):
            seen[learner.owner].add(tuple(rows_used(learner).values()))
    assert all(len(rows) == 1 for rows in seen.values())
    assert len(set.union(*seen.values())) == 3, "each client has rows of its own"


def test_the_seed_splits_the_rows_but_not_those_to_test_with() -> None:
    one, same, other_seed = (rows_used(learners(table(seed=seed))[0]) for seed in (0, 0, 1))
    assert one == same
    assert {part for part, rows in one.items() if other_seed[part] != rows} == {"train", "held"}
