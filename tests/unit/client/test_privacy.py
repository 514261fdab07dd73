"""The privacy that noise buys, the answers it covers, and what a client has spent."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr
from torch import nn

from comity.client import Client, Policy, Privacy
from comity.client.examples import DatasetClient
from comity.client.privacy import COVERED, epsilon_of, within_budget
from comity.errors import InputError, RefusedError
from comity.families.network.hypernetworks import Hypernetwork
from comity.questions import QUESTIONS, AskPrivacy, Describe, Gradients, LocalSteps, Recipe, Split, to_plain
from support.small_client import ask_moments, rows

QUIET = Privacy(clip=1.0, noise=2.0, delta=1e-5)


def analytic(strength: float, delta: float) -> float:
    """The ε of the Gaussian mechanism (Balle and Wang 2018) with sensitivity over deviation √strength."""
    ratio = np.sqrt(strength)

    def excess(epsilon: float) -> float:
        over = np.exp(epsilon + log_ndtr(-ratio / 2 - epsilon / ratio))
        return float(ndtr(ratio / 2 - epsilon / ratio) - over - delta)

    return brentq(excess, 0.0, strength + 40 * ratio)


@settings(max_examples=25)
@given(st.floats(0.3, 30), st.integers(1, 300), st.sampled_from([1e-9, 1e-6, 1e-3]))
@example(noise=0.5, answers=277, delta=1e-6)
@example(noise=0.3, answers=300, delta=1e-9)
def test_the_accountant_agrees_with_the_analytic_mechanism(noise: float, answers: int, delta: float) -> None:
    strength = answers / noise**2
    truth = analytic(strength, delta)
    if truth < 700:
        assert epsilon_of(strength, delta) == pytest.approx(truth, rel=0.01, abs=1e-6)
    else:  # where the accountant's numbers end
        assert truth <= epsilon_of(strength, delta) <= 1.1 * truth


def test_no_answers_spend_nothing() -> None:
    assert epsilon_of(0.0, 1e-6) == 0.0


@settings(max_examples=10)
@given(st.floats(0.1, 20), st.floats(0.9, 1.1))
def test_a_budget_allows_what_is_within_it(limit: float, share: float) -> None:
    edge = brentq(lambda strength: analytic(strength, 1e-6) - limit, 1e-9, 1e3)
    if abs(share - 1) > 1e-4:
        assert within_budget(share * edge, limit, 1e-6) == (share < 1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"noise": 1.0}, "noise needs a clip; .*: clip=…"),
        ({"clip": 0.0}, "clip is 0.0; it must be a number, more than 0"),
        ({"clip": "1"}, "clip is '1'; it must be a number"),
        ({"clip": float("inf")}, "clip is inf; it must be a number"),
        ({"clip": 1.0, "noise": -1}, "noise is -1; it must be a number, 0 or more"),
        ({"clip": 1.0, "noise": True}, "noise is True"),
        ({"clip": 1.0, "noise": None}, "noise is None"),
        ({"delta": 0}, "delta is 0; it must be a small probability, more than 0 and less than 0.5"),
        ({"delta": 0.7}, "delta is 0.7; it must be a small probability"),
        ({"clip": 1.0, "noise": 1.0, "epsilon": 0}, "epsilon is 0; it must be a number, more than 0"),
        ({"clip": 1.0, "epsilon": 3}, "the limit of epsilon, 3, needs noise"),
    ],
)
def test_settings_that_are_not_allowed(given: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Privacy(**given)


def test_every_question_is_covered_or_listed_as_not_covered() -> None:
    assert QUIET.covered == COVERED
    assert {*COVERED, *QUIET.not_covered, "privacy"} == set(QUESTIONS)
    assert not set(COVERED) & set(QUIET.not_covered)
    assert Privacy(clip=1.0).covered == (), "clipping alone hides nothing"
    assert set(Privacy().not_covered) == set(QUESTIONS) - {"privacy"}


def test_a_restarted_client_knows_what_it_spent(tmp_path: Path) -> None:
    def client(**privacy: float) -> Client:
        settings = {"clip": 1.0, "noise": 1.0, "delta": 1e-5, "epsilon": 7.0} | privacy
        return Client("a", rows(), privacy=Privacy(**settings), log_file=tmp_path / "log")

    for _ in range(2):
        client().answer(ask_moments())
    with pytest.raises(RefusedError) as refused:
        client().answer(ask_moments())
    for figure in (analytic(2.0, 1e-5), analytic(3.0, 1e-5)):
        assert f"{figure:.4g}" in str(refused.value)
    assert "its limit is 7" in str(refused.value)
    assert client().answer(Describe("y")).rows == 20, "what is not covered costs nothing"
    with_more_noise = client(noise=4.0)
    with_more_noise.answer(ask_moments())
    stated = to_plain(with_more_noise.answer(AskPrivacy()).statement)
    assert stated["epsilon"] == pytest.approx(analytic(2 + 1 / 16, 1e-5), rel=0.01)
    assert stated["by_kind"] == {"moments": {"answers": 3, "releases": 3, "epsilon": stated["epsilon"]}}
    assert stated["without_noise"] == {"describe": 1}
    assert (stated["noise"], stated["limit"], stated["delta"]) == (4.0, 7.0, 1e-5)
    assert (tuple(stated["covered"]), tuple(stated["not_covered"])) == (COVERED, QUIET.not_covered)


def test_an_answer_that_is_refused_costs_nothing(tmp_path: Path) -> None:
    small = Client("a", rows(), Policy(largest_answer=10), privacy=QUIET, log_file=tmp_path / "log")
    with pytest.raises(RefusedError):
        small.answer(ask_moments())
    stated = to_plain(Client("a", rows(), privacy=QUIET, log_file=tmp_path / "log").answer(AskPrivacy()).statement)
    assert (stated["epsilon"], stated["by_kind"]) == (0.0, {})


def test_earlier_answers_without_noise_are_stated(tmp_path: Path) -> None:
    Client("a", rows(), log_file=tmp_path / "log").answer(ask_moments())
    client = Client("a", rows(), privacy=QUIET, log_file=tmp_path / "log")
    client.answer(ask_moments())
    stated = to_plain(client.answer(AskPrivacy()).statement)
    assert stated["without_noise"] == {"moments": 1}
    assert stated["epsilon"] == pytest.approx(analytic(0.25, 1e-5), rel=0.01)


def test_without_clip_and_noise_answers_are_exact() -> None:
    plain, same = (Client("a", rows(), privacy=privacy) for privacy in (None, Privacy()))
    for question in (Describe("y"), ask_moments()):
        for client in (plain, same):
            client.answer(question)
    assert [line.given for line in plain.log] == [line.given for line in same.log]


def test_a_description_says_private_only_if_the_policy_allows_asking_how() -> None:
    assert Client("a", rows(), privacy=QUIET).answer(Describe("y")).private
    assert Client("a", rows(), privacy=Privacy(clip=1.0)).answer(Describe("y")).private
    assert not Client("a", rows(), privacy=Privacy()).answer(Describe("y")).private
    silent = Client("a", rows(), Policy(questions=("describe",)), privacy=QUIET)
    assert not silent.answer(Describe("y")).private


def test_the_split_of_a_question_is_checked() -> None:
    client = Client("a", rows(), privacy=QUIET)
    question = ask_moments()
    for split in (Split(folds=2.5), Split(repeats=0), Split(judges=-1), Split(resamples=True)):
        with pytest.raises(InputError, match=r"of a split is .*; it must be a whole number"):
            client.answer(type(question)(question.schema, split, question.points))
    assert all(line.refused for line in client.log)


def by_network(module: nn.Module, inputs: torch.Tensor, **recipe: object) -> tuple[DatasetClient, Gradients]:
    client = DatasetClient("d", (inputs, torch.zeros(len(inputs))), module, "squared", privacy=QUIET)
    squared = Recipe(loss="squared", **recipe)
    size = sum(each.numel() for name, each in module.named_parameters() if not name.startswith("2"))
    return client, Gradients(squared, np.zeros((1, size), np.float32), np.zeros(1), np.ones(1), 0, 0.1)


@pytest.mark.parametrize(
    ("module", "recipe", "message"),
    [
        (nn.Linear(3, 1), {"batch": 5}, "of 5 rows a step.*take all rows a step"),
        (nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1)), {"personal": "^2"}, "with personal parameters"),
        (nn.Sequential(nn.Linear(3, 1), nn.Dropout(0.5)), {}, "cannot take rows one by one"),
        (
            nn.Sequential(nn.Linear(3, 1), nn.BatchNorm1d(1, track_running_stats=False)),
            {},
            "cannot take rows one by one",
        ),
    ],
    ids=["batch", "personal", "dropout", "batch norm"],
)
def test_gradients_that_noise_cannot_cover_are_refused(module: nn.Module, recipe: dict, message: str) -> None:
    client, question = by_network(module, torch.randn(40, 3), **recipe)
    with pytest.raises(RefusedError, match=message):
        client.answer(question)
    assert client.log[0].releases == 0


class Last(nn.Module):
    """A recurrent layer whose last output gives a number."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.layer, self.head = nn.GRU(3, 2, 2, batch_first=True, dropout=dropout), nn.Linear(2, 1)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.head(self.layer(inputs)[0][:, -1])


def test_recurrent_layers_give_noisy_gradients_too() -> None:
    client, question = by_network(Last(), torch.randn(30, 4, 3))
    assert np.isfinite(client.answer(question).gradients).all()
    assert (client.log[0].releases, client.log[0].noise) == (1, 2.0)
    client, question = by_network(Last(0.5), torch.randn(30, 4, 3))
    with pytest.raises(RefusedError, match="a recurrent layer with dropout"):
        client.answer(question)


def test_every_local_step_counts_as_a_release() -> None:
    client, question = by_network(nn.Linear(3, 1), torch.randn(40, 3))
    network = Hypernetwork(2, 4, width=2, depth=1)
    begin, rays = np.zeros((1, network.parameters), np.float32), np.full((5, 2, 2), 0.5)
    client.answer(LocalSteps(question.recipe, network, begin, rays, 0, 0, 0.1))
    assert client.log[0].releases == 5
    stated = to_plain(client.answer(AskPrivacy()).statement)
    assert stated["epsilon"] == pytest.approx(analytic(5 / 4, 1e-5), rel=0.01)


def test_without_the_accountant_there_is_no_noise() -> None:
    """The error comes when a client is set up, before any answer."""
    script = (
        "import sys, importlib.abc\n"
        "class Hides(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'dp_accounting': sys.path.clear(); sys.path_importer_cache.clear()\n"
        "sys.meta_path.insert(0, Hides())\n"
        "import comity.client\n"
        "comity.client.Privacy(clip=1.0)\n"
        "try: comity.client.Privacy(clip=1.0, noise=1.0)\n"
        "except comity.ComityError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(
        "dp_accounting is needed to compute the privacy spent by noisy answers; install comity's extra 'privacy' "
    )


def test_the_accountant_is_loaded_only_when_it_is_needed() -> None:
    script = (
        "import sys, comity.client\n"
        "comity.client.Privacy(clip=1.0, noise=1.0)\n"
        "assert 'dp_accounting' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
