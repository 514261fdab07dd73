"""The report of a study and a client's own page: from a `Result`, or a client's part of it, to the content."""

import math
import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

from comity.core.estimates import Estimate, Standing
from comity.core.metrics import METRICS
from comity.core.text import count, format_bytes, format_probability, format_weight
from comity.families.registry import FAMILIES
from comity.questions.schema import Schema
from comity.report import words
from comity.report.expected_words import advise, who_may_gain
from comity.report.narrative import build_steps
from comity.report.proofs import describe_proof
from comity.report.story import MODEL_LABELS, Dot, Edge, Member, Partner, Sensitivity, Story
from comity.report.words import MetricFormat, list_names
from comity.result.client_result import ClientResult
from comity.result.result import Result
from comity.result.sections import forgiven, loss_unit, privacy_spent, unmet_reason, wrong_edges
from comity.study import Study


@dataclass(frozen=True, slots=True)
class ClientStory:
    """The content of a client's own page; `others` are the gains that other clients show to everybody.

    With `expected`, the verdict is about expected losses.
    """

    member: Member
    coalitions: tuple[tuple[str, ...], ...]
    verdict: str
    expected: bool
    axis: str
    more_is_better: bool
    others: tuple[tuple[str, str], ...]
    done: tuple[tuple[str, str], ...]


def describe_result(result: Result, written: str = "") -> Story:
    """Return the content of the report of a result; `written` is when it was saved, as text."""
    equilibrium = result.equilibrium.to_dict()
    scores = MetricFormat.fit(result.metric, result.utilities)
    coalitions = tuple(tuple(coalition["members"]) for coalition in equilibrium["coalitions"])
    alone = [client for client in result.clients if len(result.equilibrium.coalition_of(client)) == 1]
    joined = [client for client in result.clients if len(result.equilibrium.coalition_of(client)) > 1]
    helped = [client for client in joined if set(result.weights_of(client)) != {client}]
    unmet: defaultdict[str, list[str]] = defaultdict(list)
    for wish in result.equilibrium.unmet:
        unmet[wish.client].append(wish.collaborator)
    contributions = {(each.giver, each.receiver): each.value for each in result.contributions}
    brings = words.write_contributions(contributions)
    sensitivity, borrows = _sensitivity(result), result.study.borrows
    proof = describe_proof(
        result.certificate.to_dict(), coalitions, losses=True, forgiven=forgiven(result), expected=borrows
    )
    gains = words.who_gains(result.utilities, helped, scores)
    if borrows:
        gains = who_may_gain(result.utilities, helped, result.mean_gain, scores)
    purpose = f", to predict {result.schema.target.name}" if result.family.tabular else ""
    return Story(
        title=f"Who should train with whom{purpose}",
        answer=(
            *words.who_trains(coalitions),
            *(gains if borrows else ()),
            words.how_sure(proof, sensitivity),
            *(() if borrows else gains),
            *words.why_alone(alone, unmet, words.rule_of(result.study)),
        ),
        coalitions=coalitions,
        members=tuple(_member(result, client, unmet[client], brings, scores) for client in result.clients),
        steps=build_steps(equilibrium),
        unmet=tuple((wish.collaborator, wish.client) for wish in result.equilibrium.unmet),
        contributions=contributions,
        unit=loss_unit(result),
        axis=scores.describe("each client's model", expected=borrows),
        more_is_better=scores.metric.more_is_better,
        proof=proof,
        sensitivity=sensitivity,
        done=tuple(_done(result, written)),
        privacy=privacy_spent(result),
        warnings=result.warnings,
    )


def describe_client_result(own: ClientResult, saved: str = "", job: str = "") -> ClientStory:
    """Return the content of a client's page; `saved` is when the client received it, and `job` in which job."""
    scores = MetricFormat.fit(own.metric, {own.client: own.standing})
    weights = own.weights["coalition"]
    brings = words.write_contributions(own.brought)
    shown = weights if len(own.coalition) > 1 else {}
    partners = [name for name in weights if name != own.client]
    others = [name for name in own.coalition if name != own.client]
    advice = _advice(own.study, own.client, own.standing, partners, own.unmet, scores, others)
    return ClientStory(
        member=Member(
            name=own.client,
            coalition=own.coalitions.index(own.coalition) + 1,
            advice=advice + words.own_rows_note(own.client, weights),
            unmet=tuple(words.describe_unmet_wish(own.client, other) for other in own.unmet),
            partners=tuple(Partner(name, format_weight(shown[name]), brings.get(name, "")) for name in shown),
            rows=own.standing.rows,
            dots=_describe_scores(own.standing, scores),
        ),
        coalitions=own.coalitions,
        verdict=own.verdict,
        expected=own.study.borrows,
        axis=scores.describe("each model", expected=own.study.borrows),
        more_is_better=scores.metric.more_is_better,
        others=tuple((name, _gain_of_other(standing, scores)) for name, standing in own.others.items()),
        done=tuple(_done_for_client(own, saved, job)),
    )


def _advice(
    study: Study,
    name: str,
    standing: Standing,
    partners: Sequence[str],
    unmet: Sequence[str],
    scores: MetricFormat,
    coalition: Sequence[str],
) -> str:
    """Answer whether a client should join, in the terms of the search."""
    if study.borrows and partners:
        return advise(name, standing, partners, unmet, scores)
    return words.should_join(name, standing, partners, unmet, scores, words.rule_of(study), coalition)


def _member(result: Result, client: str, unmet: list[str], brings: Mapping[Edge, str], scores: MetricFormat) -> Member:
    standing, weights = result.utilities[client], result.weights_of(client)
    home = result.equilibrium.coalition_of(client)
    partners = [name for name in weights if name != client]
    others = [name for name in result.clients if name in home and name != client]
    advice = _advice(result.study, client, standing, partners, unmet, scores, others)
    advice += words.own_rows_note(client, weights)
    if any(client in witness.members for witness in result.certificate.witnesses):
        advice += " But the proof failed because of this client, among others: read it before you agree."
    shown = {client: 0.0, **weights} if len(home) > 1 else {}
    sure = {each.giver: each.probability for each in result.contributions if each.receiver == client}
    known = bool(partners) and not math.isnan(standing.gain.value)
    return Member(
        name=client,
        coalition=int(result.equilibrium.numbers[result.clients.index(client)]) + 1,
        advice=advice,
        unmet=tuple(unmet_reason(wish, result) for wish in result.equilibrium.unmet if wish.client == client),
        partners=tuple(
            Partner(name, format_weight(shown[name]), brings.get((name, client), ""), _probability(sure.get(name)))
            for name in shown
        ),
        rows=standing.rows,
        dots=_describe_scores(standing, scores),
        gain=scores.change(standing.gain) if known else "",
        probability=_probability(standing.probability) if partners else "",
    )


def _gain_of_other(standing: Standing, scores: MetricFormat) -> str:
    """Write the gain of another client; one that is alone has neither gain nor interval."""
    if math.isnan(standing.gain.value):
        return "unknown"
    return scores.change(standing.gain) if standing.gain.error or standing.gain.value else "none"


def _probability(value: float | None) -> str:
    """Write a probability; empty if it is not known."""
    return "" if value is None or math.isnan(value) else format_probability(value)


def _describe_scores(standing: Standing, scores: MetricFormat) -> tuple[Dot, ...]:
    """Return the scores of a client's models, with intervals cut to the range of the metric."""

    def dot(label: str, score: Estimate) -> Dot:
        value = scores.number(score.value)
        if math.isnan(score.value) or math.isnan(score.error):
            return Dot(label, score.value, text=value)
        low, high = max(score.low, scores.metric.least), min(score.high, scores.metric.most)
        return Dot(label, score.value, low, high, f"{value} ({scores.number(low)} to {scores.number(high)})")

    return tuple(dot(label, getattr(standing, name)) for name, label in MODEL_LABELS.items())


def _sensitivity(result: Result) -> Sensitivity:
    if sure := result.confidence:
        edges = sorted(((*edge, share) for edge, share in sure.edges.items()), key=lambda row: -row[2])
        return Sensitivity(sure.resamples, sure.equilibrium, tuple(edges))
    if result.study.borrows:
        sure_edges = sorted(
            ((each.giver, each.receiver, each.probability) for each in result.contributions), key=lambda row: -row[2]
        )
        return Sensitivity(wrong=wrong_edges(result) if sure_edges else "", edges=tuple(sure_edges))
    how = "With networks, this would take one training per resample; it is available for linear models."
    if "resamples" in result.family.settings:
        how = "Add --resamples 50 to test it; this takes about fifty times as long as the search."
    return Sensitivity(how=how)


def _done(result: Result, written: str) -> Iterator[tuple[str, str]]:
    """Yield what was done, as pairs of a name and a text."""
    study, split, traffic, tabular = result.study, result.split, result.traffic, result.family.tabular
    rows = sum(standing.rows for standing in result.utilities.values())
    yield "Data", f"{count(rows, 'row')} of {count(len(result.clients), 'client')}"
    if tabular:
        yield from _describe_columns(result.schema)
        yield "Left out", list_names(result.left_out) or "nothing"
    yield "Model", result.family.describe(study, result.schema)
    yield "Chosen by", _chosen(study, split.folds, split.repeats)
    title, parts = METRICS[result.metric].title, count(split.judges or split.folds, "held-out part")
    gains = "; gains as expected from the rows of all clients" if study.borrows else ""
    yield "Evaluated by", f"{title}, on {parts} of the rows{gains}"
    elsewhere = ("client", "target", "seed", "model", "width", "depth")
    changed = {name: value for name, value in _changed_settings(study).items() if name not in elsewhere}
    yield "Settings", _setting(changed) or "the defaults"
    if result.training:
        yield "Training", _setting(result.training)
    yield "Seed", str(study.seed)
    sent, received = format_bytes(traffic["sent"]), format_bytes(traffic["received"])
    yield "Traffic", f"{count(traffic['rounds'], 'round')} of questions, {sent} to the clients, {received} from them"
    yield "Version", f"comity {result.version}"
    if written:
        yield "File dated", written
    if tabular:
        yield "To repeat it", _command(study)
    if tabular and study.client is None:
        yield "In a federation", "run.sh with the same study.toml"
    if any(stated["noise"] for stated in result.privacy.values()):
        yield "Noise", "drawn anew in every run: the same seed does not repeat it"


def _done_for_client(own: ClientResult, saved: str, job: str) -> Iterator[tuple[str, str]]:
    """Yield what was done, as pairs of a name and a text."""
    yield "Data", count(own.standing.rows, "row")
    if FAMILIES[own.study.model].tabular:
        yield from _describe_columns(own.schema)
    if own.fitted_at_site:
        yield "Models", "fitted at your site, on your own rows; they have not left it"
    yield "Seed", str(own.study.seed)
    yield "Version", f"comity {own.version}"
    if saved:
        yield "Received", saved
    if job:
        yield "Job", job


def _describe_columns(schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield the target and the inputs, as pairs of a name and a text."""
    target = schema.target
    yield "Target", f"{target.name}, {target.noun} {list_names(target.classes)}".strip()
    yield "Inputs", f"{count(len(schema.features), 'column')} after encoding"


def _chosen(study: Study, folds: int, repeats: int) -> str:
    """Say how collaborators were chosen."""
    if study.borrows:
        evidence = f"expected loss, from the rows of all clients in {folds} folds"
        rule = "the smallest set that gives up hardly anything of the best expected gain"
        return f"{evidence}; {rule}, if that is at least {100 * study.worth:g} % of the loss"
    times = "" if repeats == 1 else f", drawn {repeats} times"
    held_out = f"{folds} folds{times}" if folds > 1 else "a held-out part"
    rule = "the paper's clipped weights"
    if study.rule == "smallest":
        errors = f"{study.confidence:g} standard error{'' if study.confidence == 1 else 's'}"
        rule = f"the smallest set that is nearly as good; gains count if they exceed {errors}"
    return f"loss in {held_out}; {rule}"


def _changed_settings(study: Study) -> dict[str, object]:
    """Return the settings that differ from their defaults."""
    defaults = {field.name: field.default for field in fields(study)} | {"search": FAMILIES[study.model].searches[0]}
    return {name: getattr(study, name) for name, default in defaults.items() if getattr(study, name) != default}


def _setting(value: object) -> str:
    """Write the value of a setting; of a mapping, the names and values of those that are set.

    >>> _setting({"steps": 800, "rays": {"sparse": 0.0}, "double": False, "personal": None})
    'steps 800, rays (sparse 0.0)'
    """
    if isinstance(value, Mapping):
        return ", ".join(
            f"{name} ({_setting(setting)})" if isinstance(setting, Mapping) else f"{name} {_setting(setting)}"
            for name, setting in value.items()
            if setting not in (None, "") and setting is not False
        )
    return list_names(value) if isinstance(value, list | tuple) else str(value)


def _command(study: Study) -> str:
    """Return the command that repeats the study; TABLE stands for the user's path.

    >>> _command(Study("died", client="ward", exclude=("patient id",), seed=7))
    "comity solve TABLE --target died --exclude 'patient id' --seed 7 --client ward"
    """
    command = ["comity", "solve", "TABLE"]
    for name, value in _changed_settings(study).items():
        if (name == "task" and study.metric is not None) or (name == "target" and study.event is not None):
            continue
        for item in value if isinstance(value, tuple) else (value,):
            command += [f"--{name.replace('_', '-')}", str(item)]
    return shlex.join(command)
