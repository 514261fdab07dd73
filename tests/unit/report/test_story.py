"""A report says what the result holds."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

import comity
from comity.cli.equilibrium import build_document
from comity.core.text import format_probability
from comity.errors import FormatError
from comity.report import describe_client_result, describe_equilibrium, describe_result, render, render_client_page
from comity.report.narrative import build_steps
from comity.report.words import MetricFormat
from comity.result.client_result import ClientResult
from comity.result.sections import sections
from comity.study import Study
from support.reports import game_document, graph_document, result_of
from support.strategies import graphs

NAMES = ("North", "South", "East", "West", "Centre", "Coast")


@settings(max_examples=200)
@given(graphs())
def test_steps_are_the_peels(graph: comity.BenefitGraph) -> None:
    found = comity.find_equilibrium(graph)
    document = found.to_dict()
    steps = build_steps(document)
    for step, peel in zip(steps, found.peels, strict=True):
        assert step.remaining == peel.remaining
        assert set(step.edges) == set(peel.graph.edges())
        assert {frozenset(document["coalitions"][number]["members"]) for number in step.left} == set(peel.stable)
        assert len(step.left) == len(peel.stable)


def test_the_report_of_a_result_has_every_client_with_its_scores() -> None:
    result = result_of(NAMES)
    story = describe_result(result)
    assert story.names == result.clients
    assert {frozenset(members) for members in story.coalitions} == set(result.coalitions)
    for member in story.members:
        standing = result.utilities[member.name]
        scores = (standing.alone, standing.coalition, standing.best, standing.together)
        for dot, score in zip(member.dots, scores, strict=True):
            assert dot.value == score.value or math.isnan(score.value)
        assert {partner.name for partner in member.partners} in (set(), set(result.weights_of(member.name)))
        assert member.name in story.coalitions[member.coalition - 1]
    assert dict(story.contributions) == {(each.giver, each.receiver): each.value for each in result.contributions}
    assert story.proof is not None
    assert len(story.proof.outer) == len(result.certificate.outer)
    assert len(story.proof.inner) == len(result.certificate.inner)


def test_what_a_report_advises_can_be_done() -> None:
    result = result_of(NAMES[:3])
    studies = [Study("effect", search="spo"), Study("effect", model="mlp"), Study("effect", model="module")]
    linear, perceptron, module = (describe_result(replace(result, study=study)) for study in studies)
    assert linear.title == perceptron.title == "Who should train with whom, to predict effect"
    assert module.title == "Who should train with whom", "a module does not say what it predicts"
    assert "--resamples 50" in linear.sensitivity.how
    assert "--resamples" not in perceptron.sensitivity.how + module.sensitivity.how, "which networks refuse"
    assert {"Target", "Inputs"} <= dict(perceptron.done).keys()
    assert not {"Target", "Inputs", "To repeat it"} & dict(module.done).keys()


def test_the_answer_names_everybody_and_says_how_sure_it_is() -> None:
    result = result_of(NAMES)
    answer = " ".join(describe_result(result).answer)
    assert all(name in answer for name in NAMES)
    assert {"proved": "Stable", "refuted": "Not stable", "undecided": "Undecided"}[result.certificate.verdict] in answer
    assert "was not tested" not in answer
    assert "resamples" not in answer, "which have no effect on the search 'borrow'"
    sure = result_of(NAMES[:3], resamples=4)
    assert "of 4 resamples" in " ".join(describe_result(sure).answer)


def test_reports_of_a_game_and_of_a_graph() -> None:
    game = describe_equilibrium(game_document(NAMES, 3))
    assert [dot.model for dot in game.members[0].dots] == ["alone", "in the coalition", "at best"]
    assert game.proof is not None
    assert game.proof.verdict == "proved"
    assert game.contributions
    graph = describe_equilibrium(graph_document({"a": ["b"], "b": ["a"], "c": ["a"]}))
    assert graph.proof is None
    assert not graph.contributions
    assert graph.members[2].unmet == ("c wanted a, but a did not want c",)
    assert graph.unmet == (("a", "c"),)


@pytest.mark.parametrize("broken", [{}, {"clients": ["a"]}, {"kind": "graph", "clients": 3}, [], None, "text"])
def test_a_broken_document_is_refused(broken) -> None:
    with pytest.raises(FormatError, match="its contents are inconsistent"):
        describe_equilibrium(broken)


def test_the_command_repeats_the_study() -> None:
    story = describe_result(result_of(NAMES))
    command = dict(story.done)["To repeat it"]
    assert command == "comity solve TABLE --target effect"
    story = describe_result(result_of(NAMES[:3], resamples=4))
    command = dict(story.done)["To repeat it"]
    assert command == "comity solve TABLE --target effect --repeats 1 --judges 2 --resamples 4 --search spo"


def test_ties_of_a_game_are_listed_with_their_peel() -> None:
    both = [("a", ["a"], 1), ("a", ["a", "b"], 2), ("a", ["a", "c"], 2)]
    others = [(name, members, 1 + (len(members) > 1)) for name in "bc" for members in ([name], ["a", name])]
    game = comity.Game([*both, *others])
    found = comity.find_equilibrium(game)
    story = describe_equilibrium(build_document(found, game, comity.certify(found, game)))
    assert story.steps[0].lines[-1] == "A tie: a does equally well with {a and b} or {a and c}."


def test_the_training_of_networks_is_listed() -> None:
    training = {"loss": "squared", "personal": None, "steps": 9, "rays": {"alpha": 0.5, "sparse": 0.0}}
    result = replace(result_of(NAMES[:3]), training=training)
    assert dict(describe_result(result).done)["Training"] == "loss squared, steps 9, rays (alpha 0.5, sparse 0.0)"
    assert "Training" not in dict(describe_result(result_of(NAMES[:3])).done)


def test_the_version_is_the_one_that_made_the_result(tmp_path: Path) -> None:
    replace(result_of(NAMES[:3]), version="0.0.7").save(tmp_path / "run")
    again = comity.verify(tmp_path / "run")
    assert dict(describe_result(again).done)["Version"] == "comity 0.0.7"
    ClientResult.of(again, "North").save(tmp_path / "own")
    assert dict(describe_client_result(ClientResult.load(tmp_path / "own")).done)["Version"] == "comity 0.0.7"


def test_a_metric_is_spelled_out() -> None:
    assert describe_result(result_of(NAMES[:3], resamples=2)).axis == (
        "RMSE (root of the mean squared error, in the unit of the target) of each client's model, on rows used "
        "neither to train it nor to choose collaborators or settings"
    )


def test_a_report_of_expected_gains_tells_them_with_probabilities() -> None:
    """Who reads the first lines must see what the consortium gains, and how sure it is."""
    result = result_of(NAMES)
    story = describe_result(result)
    joined = [member for member in story.members if len(story.coalitions[member.coalition - 1]) > 1]
    assert joined
    scores = MetricFormat.fit(result.metric, result.utilities)
    mean = scores.improvement(result.mean_gain)
    better = round(result.share_better_off * len(NAMES))
    assert any(mean in line and f"{better} of 6 clients are expected to gain" in line for line in story.answer)
    for member in joined:
        assert member.probability == format_probability(result.utilities[member.name].probability)
        assert member.probability in member.advice
        assert all(partner.probability for partner in member.partners if partner.name != member.name)
    assert story.sensitivity.wrong in story.answer[-1] + story.answer[-2]
    assert f"{result.expected_wrong_edges:.1f}" in story.sensitivity.wrong


def test_no_word_of_significance_is_said_of_expected_gains() -> None:
    result = result_of(NAMES)
    pages = [render(describe_result(result))]
    pages += [render_client_page(describe_client_result(ClientResult.of(result, client))) for client in NAMES]
    pages += [str(section) for section in sections(result)]
    assert any("Stable for these estimates" in page for page in pages)
    for page in pages:
        for word in (
            "significant",
            "chosen by losses on other rows",
            "--resamples",
            "due to chance",
            "0 held-out parts",
        ):
            assert word not in page, word


def test_coalitions_are_numbered_without_clients_alone() -> None:
    story = replace(describe_result(result_of(NAMES)), coalitions=(("a",), ("b", "c"), ("d",), ("e", "f")))
    assert story.called == ("alone", "1", "alone", "2")
