"""The report of a study: from a `Result` to what is said of it."""

from __future__ import annotations

import math
import shlex
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import fields

from comity.figures import Figure, Standing
from comity.metrics import METRICS
from comity.narration import tell_peels
from comity.report.proofs import proof_of
from comity.report.story import MODELS, Dot, Member, Partner, Sensitivity, Story, steps_of
from comity.report.words import Scale, how_sure, minus, no_own_rows, should_join, some, who_gains, who_trains, why_alone
from comity.result import Result
from comity.schema import Schema
from comity.study import Study
from comity.tellings import forgiven, loss_unit, privacy_spent, reason
from comity.writing import bytes_of, count, places_for, plain, share_of


def story_of(result: Result, written: str = "") -> Story:
    """Return what a report says of a result; `written` says when that was saved."""
    told = result.equilibrium.to_dict()
    scale = Scale.of(result.metric, result.utilities)
    coalitions = tuple(tuple(each["members"]) for each in told["coalitions"])
    joined = [client for client in result.clients if len(result.equilibrium.coalition_of(client)) > 1]
    alone = [client for client in result.clients if client not in set(joined)]
    unmet: defaultdict[str, list[str]] = defaultdict(list)
    for wish in result.equilibrium.unmet:
        unmet[wish.client].append(wish.collaborator)
    places = places_for([each.value for each in result.contributions])
    brings: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for each in result.contributions:
        brings[each.receiver][each.giver] = minus(plain(each.value, places))
    sensitivity = _sensitivity(result)
    proof = proof_of(result.certificate.to_dict(), coalitions, losses=True, extra=forgiven(result))
    purpose = "" if result.study.model == "module" else f", to predict {result.schema.target.name}"
    return Story(
        title=f"Who should train with whom{purpose}",
        answer=(
            *who_trains(coalitions),
            how_sure(proof, sensitivity),
            *who_gains(
                result.utilities, [client for client in joined if set(result.weights_of(client)) != {client}], scale
            ),
            *why_alone(alone, unmet, result.study.rule),
        ),
        coalitions=coalitions,
        members=tuple(_member(result, client, unmet[client], brings[client], scale) for client in result.clients),
        steps=steps_of(told, tell_peels(told, some)),
        unmet=tuple((wish.collaborator, wish.client) for wish in result.equilibrium.unmet),
        contributions={(each.giver, each.receiver): each.value for each in result.contributions},
        unit=loss_unit(result),
        axis=scale.described("each client's model"),
        more_is_better=scale.of_metric.more_is_better,
        proof=proof,
        sensitivity=sensitivity,
        done=tuple(_done(result, written)),
        privacy=privacy_spent(result),
        warnings=result.warnings,
    )


def _member(result: Result, client: str, lost: list[str], brings: Mapping[str, str], scale: Scale) -> Member:
    standing = result.utilities[client]
    home = result.equilibrium.coalition_of(client)
    weights = result.weights_of(client)
    partners = [name for name in weights if name != client]
    others = [name for name in result.clients if name in home and name != client]
    return Member(
        name=client,
        coalition=_number(result, client),
        advice=should_join(client, standing, partners, lost, scale, result.study.rule, others)
        + no_own_rows(client, weights)
        + _but(result, client),
        unmet=tuple(reason(wish, result) for wish in result.equilibrium.unmet if wish.client == client),
        partners=tuple(
            Partner(name, share_of(weights.get(name, 0.0)), brings.get(name, ""))
            for name in [client, *sorted(set(weights) - {client}, key=lambda name: -weights[name])]
        )
        if len(home) > 1
        else (),
        rows=standing.rows,
        dots=dots_of(standing, scale),
        gain=scale.change(standing.gain) if partners and not math.isnan(standing.gain.value) else "",
    )


def _but(result: Result, client: str) -> str:
    """Say of a client that the proof failed by that it did."""
    concerned = any(client in witness.members for witness in result.certificate.witnesses)
    return " But the proof failed, by this client among others: see there before you agree." if concerned else ""


def dots_of(standing: Standing, scale: Scale) -> tuple[Dot, ...]:
    """Return a client's figures, with their intervals as far as the metric can be."""
    least, most = scale.of_metric.least, scale.of_metric.most

    def dot(label: str, figure: Figure) -> Dot:
        if math.isnan(figure.value):
            return Dot(label, math.nan, text="unknown")
        if math.isnan(figure.error):
            return Dot(label, figure.value, text=scale.number(figure.value))
        low, high = max(figure.low, least), min(figure.high, most)
        return Dot(label, figure.value, low, high, f"{scale.number(figure.value)} ({scale.range(figure)})")

    return tuple(dot(label, getattr(standing, name)) for name, label in MODELS.items())


def _number(result: Result, client: str) -> int:
    return int(result.equilibrium.numbers[result.clients.index(client)]) + 1


def _sensitivity(result: Result) -> Sensitivity:
    sure = result.confidence
    if sure is None and result.study.model != "linear":
        return Sensitivity(
            how="With networks that would take a training for each resample; it is there for linear models."
        )
    if sure is None:
        return Sensitivity(how="--resamples 50 does it, in some fifty times the time of the search.")
    edges = sorted(((giver, taker, share) for (giver, taker), share in sure.edges.items()), key=lambda each: -each[2])
    return Sensitivity(sure.resamples, sure.equilibrium, tuple(edges))


def _done(result: Result, written: str) -> list[tuple[str, str]]:
    """Return what was done, by name."""
    study, split = result.study, result.split
    rows = sum(standing.rows for standing in result.utilities.values())
    sent, received = (bytes_of(result.traffic[way]) for way in ("sent", "received"))
    rounds = count(result.traffic["rounds"], "round")
    traffic = f"{rounds} of questions, {sent} to the clients, {received} from them"
    told = [
        ("Data", f"{count(rows, 'row')} of {count(len(result.clients), 'client')}"),
        *([] if study.model == "module" else columns_of(result.schema)),
        *([] if study.model == "module" else [("Left out", some(result.left_out) if result.left_out else "nothing")]),
        ("Model", _model(result)),
        ("Chosen by", _chosen(study, split.folds, split.repeats)),
        (
            "Judged by",
            f"{METRICS[result.metric].title}, in {count(split.judges, 'part')} of the rows that chose nothing",
        ),
        (
            "Settings",
            ", ".join(f"{name} {_told(value)}" for name, value in _settings(study).items()) or "the defaults",
        ),
        *([("Training", _told(result.training))] if result.training else []),
        ("Seed", str(study.seed)),
        ("Traffic", traffic),
        ("Version", f"comity {result.version}"),
    ]
    if written:
        told.append(("File dated", written))
    if study.model != "module":
        told.append(("To repeat it", _command(study)))
    if study.client is None and study.model != "module":
        told.append(("In a federation", "by the same study.toml and run.sh"))
    if any(stated["noise"] for stated in result.privacy.values()):
        told.append(("Noise", "drawn anew each time: the same seed does not repeat it"))
    return told


def columns_of(schema: Schema) -> list[tuple[str, str]]:
    """Return what is predicted from what, by name."""
    target = schema.target
    return [
        ("Target", target.name + (f", classes {some(target.classes)}" if target.classes else ", a number")),
        ("Inputs", count(len(schema.features), "column") + " after encoding"),
    ]


def _model(result: Result) -> str:
    study = result.study
    if study.model == "linear":
        return "logistic regression with a ridge penalty" if result.schema.target.classes else "ridge regression"
    if study.model == "mlp":
        return f"perceptron, {count(study.depth, 'hidden layer')} of {study.width}, by a hypernetwork"
    return "a torch module, by a hypernetwork"


def _chosen(study: Study, folds: int, repeats: int) -> str:
    times = "" if repeats == 1 else f", drawn {repeats} times"
    rule = "smallest set that is nearly as good" if study.rule == "smallest" else "the paper's clipped weights"
    held = f"{folds} folds{times}" if folds > 1 else "a part that was held out"
    counts = f"; a gain counts from {count_errors(study.confidence)} on" if study.rule == "smallest" else ""
    return f"loss in {held}; {rule}{counts}"


def count_errors(number: float) -> str:
    """Write a number of standard errors.

    >>> count_errors(1.0), count_errors(1.96)
    ('1 standard error', '1.96 standard errors')
    """
    return f"{number:g} standard error{'' if number == 1 else 's'}"


def _settings(study: Study) -> Mapping[str, object]:
    """Return the settings that are not as they come."""
    told = {"client", "target", "seed", "model", "width", "depth"}
    return {
        each.name: getattr(study, each.name)
        for each in fields(study)
        if each.name not in told and getattr(study, each.name) != each.default
    }


def _told(value: object) -> str:
    """Write a setting, or several by name, of which those that say nothing are left out.

    >>> _told({"steps": 800, "rays": {"sparse": 0.0}, "double": False, "personal": None})
    'steps 800, rays (sparse 0.0)'
    """
    if isinstance(value, Mapping):
        said = {name: each for name, each in value.items() if each not in (None, "") and each is not False}
        return ", ".join(
            f"{name} ({_told(each)})" if isinstance(each, Mapping) else f"{name} {_told(each)}"
            for name, each in said.items()
        )
    return some(value) if isinstance(value, list | tuple) else str(value)


def _command(study: Study) -> str:
    """Return the command that does the same again; where the table is, only the user knows.

    >>> _command(Study("died", client="ward", exclude=("patient id",), seed=7))
    "comity solve TABLE --target died --exclude 'patient id' --seed 7 --client ward"
    """
    words = ["comity", "solve", "TABLE"]
    for each in fields(study):
        value = getattr(study, each.name)
        if value == each.default or (each.name == "task" and study.metric is not None):
            continue
        option = f"--{each.name.replace('_', '-')}"
        for one in value if isinstance(value, tuple) else (value,):
            words += [option, str(one)]
    return shlex.join(words)
