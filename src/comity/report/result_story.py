"""The report of a study: from a `Result` to the content of its report."""

from __future__ import annotations

import math
import shlex
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import fields

from comity.core.estimates import Estimate, Standing
from comity.core.metrics import METRICS
from comity.core.text import count, format_bytes, format_number, format_weight, places_for
from comity.questions.schema import Schema
from comity.report.narrative import describe_peels
from comity.report.proofs import describe_proof
from comity.report.story import MODEL_LABELS, Dot, Member, Partner, Sensitivity, Story, build_steps
from comity.report.words import (
    MetricFormat,
    how_sure,
    list_names,
    minus,
    own_rows_note,
    should_join,
    who_gains,
    who_trains,
    why_alone,
)
from comity.result.result import Result
from comity.result.sections import forgiven, loss_unit, privacy_spent, unmet_reason
from comity.study import Study


def describe_result(result: Result, written: str = "") -> Story:
    """Return the content of the report of a result; `written` is when it was saved, as text."""
    equilibrium = result.equilibrium.to_dict()
    scores = MetricFormat.fit(result.metric, result.utilities)
    coalitions = tuple(tuple(coalition["members"]) for coalition in equilibrium["coalitions"])
    joined = [client for client in result.clients if len(result.equilibrium.coalition_of(client)) > 1]
    alone = [client for client in result.clients if client not in set(joined)]
    unmet: defaultdict[str, list[str]] = defaultdict(list)
    for wish in result.equilibrium.unmet:
        unmet[wish.client].append(wish.collaborator)
    contributions = {(each.giver, each.receiver): each.value for each in result.contributions}
    places = places_for(list(contributions.values()))
    brings: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for (giver, receiver), value in contributions.items():
        brings[receiver][giver] = minus(format_number(value, places))
    sensitivity = _sensitivity(result)
    proof = describe_proof(result.certificate.to_dict(), coalitions, losses=True, forgiven=forgiven(result))
    purpose = "" if not result.family.tabular else f", to predict {result.schema.target.name}"
    return Story(
        title=f"Who should train with whom{purpose}",
        answer=(
            *who_trains(coalitions),
            how_sure(proof, sensitivity),
            *who_gains(
                result.utilities, [client for client in joined if set(result.weights_of(client)) != {client}], scores
            ),
            *why_alone(alone, unmet, result.study.rule),
        ),
        coalitions=coalitions,
        members=tuple(_member(result, client, unmet[client], brings[client], scores) for client in result.clients),
        steps=build_steps(equilibrium, describe_peels(equilibrium, list_names)),
        unmet=tuple((wish.collaborator, wish.client) for wish in result.equilibrium.unmet),
        contributions=contributions,
        unit=loss_unit(result),
        axis=scores.describe("each client's model"),
        more_is_better=scores.metric.more_is_better,
        proof=proof,
        sensitivity=sensitivity,
        done=tuple(_done(result, written)),
        privacy=privacy_spent(result),
        warnings=result.warnings,
    )


def _member(result: Result, client: str, lost: list[str], brings: Mapping[str, str], scores: MetricFormat) -> Member:
    standing = result.utilities[client]
    home = result.equilibrium.coalition_of(client)
    weights = result.weights_of(client)
    partners = [name for name in weights if name != client]
    others = [name for name in result.clients if name in home and name != client]
    return Member(
        name=client,
        coalition=_number(result, client),
        advice=should_join(client, standing, partners, lost, scores, result.study.rule, others)
        + own_rows_note(client, weights)
        + _failed_proof_note(result, client),
        unmet=tuple(unmet_reason(wish, result) for wish in result.equilibrium.unmet if wish.client == client),
        partners=tuple(
            Partner(name, format_weight(weights.get(name, 0.0)), brings.get(name, ""))
            for name in [client, *sorted(set(weights) - {client}, key=lambda name: -weights[name])]
        )
        if len(home) > 1
        else (),
        rows=standing.rows,
        dots=describe_scores(standing, scores),
        gain=scores.change(standing.gain) if partners and not math.isnan(standing.gain.value) else "",
    )


def _failed_proof_note(result: Result, client: str) -> str:
    """Warn a client that is part of what refutes the proof; empty for all others."""
    concerned = any(client in witness.members for witness in result.certificate.witnesses)
    return " But the proof failed because of this client, among others: read it before you agree." if concerned else ""


def describe_scores(standing: Standing, scores: MetricFormat) -> tuple[Dot, ...]:
    """Return the scores of a client's models, with intervals cut to the range of the metric."""
    least, most = scores.metric.least, scores.metric.most

    def dot(label: str, score: Estimate) -> Dot:
        if math.isnan(score.value):
            return Dot(label, math.nan, text="unknown")
        if math.isnan(score.error):
            return Dot(label, score.value, text=scores.number(score.value))
        low, high = max(score.low, least), min(score.high, most)
        return Dot(label, score.value, low, high, f"{scores.number(score.value)} ({scores.interval(score)})")

    return tuple(dot(label, getattr(standing, name)) for name, label in MODEL_LABELS.items())


def _number(result: Result, client: str) -> int:
    return int(result.equilibrium.numbers[result.clients.index(client)]) + 1


def _sensitivity(result: Result) -> Sensitivity:
    sure = result.confidence
    if sure is None and "resamples" not in result.family.settings:
        return Sensitivity(
            how="With networks, this would take one training per resample; it is available for linear models."
        )
    if sure is None:
        return Sensitivity(how="Add --resamples 50 to test it; this takes about fifty times as long as the search.")
    edges = sorted(((*edge, share) for edge, share in sure.edges.items()), key=lambda row: -row[2])
    return Sensitivity(sure.resamples, sure.equilibrium, tuple(edges))


def _done(result: Result, written: str) -> list[tuple[str, str]]:
    """Return what was done, as pairs of a name and a text."""
    study, split, tabular = result.study, result.split, result.family.tabular
    rows = sum(standing.rows for standing in result.utilities.values())
    sent, received = (format_bytes(result.traffic[way]) for way in ("sent", "received"))
    rounds = count(result.traffic["rounds"], "round")
    left_out = list_names(result.left_out) if result.left_out else "nothing"
    traffic = f"{rounds} of questions, {sent} to the clients, {received} from them"
    done = [
        ("Data", f"{count(rows, 'row')} of {count(len(result.clients), 'client')}"),
        *([*describe_columns(result.schema), ("Left out", left_out)] if tabular else []),
        ("Model", result.family.describe(study, result.schema)),
        ("Chosen by", _chosen(study, split.folds, split.repeats)),
        ("Evaluated by", f"{METRICS[result.metric].title}, on {count(split.judges, 'held-out part')} of the rows"),
        (
            "Settings",
            ", ".join(f"{name} {_setting(value)}" for name, value in _settings(study).items()) or "the defaults",
        ),
        *([("Training", _setting(result.training))] if result.training else []),
        ("Seed", str(study.seed)),
        ("Traffic", traffic),
        ("Version", f"comity {result.version}"),
    ]
    if written:
        done.append(("File dated", written))
    if tabular:
        done.append(("To repeat it", _command(study)))
    if study.client is None and tabular:
        done.append(("In a federation", "run.sh with the same study.toml"))
    if any(stated["noise"] for stated in result.privacy.values()):
        done.append(("Noise", "drawn anew in every run: the same seed does not repeat it"))
    return done


def describe_columns(schema: Schema) -> list[tuple[str, str]]:
    """Return the target and the inputs, as pairs of a name and a text."""
    target = schema.target
    return [
        ("Target", target.name + (f", classes {list_names(target.classes)}" if target.classes else ", a number")),
        ("Inputs", count(len(schema.features), "column") + " after encoding"),
    ]


def _chosen(study: Study, folds: int, repeats: int) -> str:
    times = "" if repeats == 1 else f", drawn {repeats} times"
    rule = "the smallest set that is nearly as good" if study.rule == "smallest" else "the paper's clipped weights"
    held = f"{folds} folds{times}" if folds > 1 else "a held-out part"
    counts = f"; gains count if they exceed {_count_errors(study.confidence)}" if study.rule == "smallest" else ""
    return f"loss in {held}; {rule}{counts}"


def _count_errors(number: float) -> str:
    """Write a number of standard errors.

    >>> _count_errors(1.0), _count_errors(1.96)
    ('1 standard error', '1.96 standard errors')
    """
    return f"{number:g} standard error{'' if number == 1 else 's'}"


def _settings(study: Study) -> Mapping[str, object]:
    """Return the settings that differ from their defaults and are not reported elsewhere."""
    elsewhere = {"client", "target", "seed", "model", "width", "depth"}
    return {
        field.name: getattr(study, field.name)
        for field in fields(study)
        if field.name not in elsewhere and getattr(study, field.name) != field.default
    }


def _setting(value: object) -> str:
    """Write the value of a setting; of a mapping, the names and values of those that are set.

    >>> _setting({"steps": 800, "rays": {"sparse": 0.0}, "double": False, "personal": None})
    'steps 800, rays (sparse 0.0)'
    """
    if isinstance(value, Mapping):
        given = {name: setting for name, setting in value.items() if setting not in (None, "") and setting is not False}
        return ", ".join(
            f"{name} ({_setting(setting)})" if isinstance(setting, Mapping) else f"{name} {_setting(setting)}"
            for name, setting in given.items()
        )
    return list_names(value) if isinstance(value, list | tuple) else str(value)


def _command(study: Study) -> str:
    """Return the command that repeats the study; TABLE stands for the user's path.

    >>> _command(Study("died", client="ward", exclude=("patient id",), seed=7))
    "comity solve TABLE --target died --exclude 'patient id' --seed 7 --client ward"
    """
    words = ["comity", "solve", "TABLE"]
    for field in fields(study):
        value = getattr(study, field.name)
        if value == field.default or (field.name == "task" and study.metric is not None):
            continue
        option = f"--{field.name.replace('_', '-')}"
        for item in value if isinstance(value, tuple) else (value,):
            words += [option, str(item)]
    return shlex.join(words)
