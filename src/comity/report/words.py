"""The sentences of a report, for readers who know their data but not the theory of coalitions."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from comity.core.estimates import Estimate, Standing
from comity.core.metrics import METRICS, Metric
from comity.core.text import count, decimals_for, format_number, join, places_for
from comity.report.story import Proof, Sensitivity
from comity.study import Study

Giver = TypeVar("Giver", bound=Hashable)
BORROWED = "borrow"  # a rule, beside those of a study
_MAX_NAMES = 12  # clients or coalitions listed in one sentence
_MAX_CHANGES = 4  # clients whose change is written out
_MIN_STABLE_SHARE = 0.5  # of resamples: coalitions found in fewer are called dependent on the sample


def minus(text: str) -> str:
    """Write a negative number with a minus sign instead of a hyphen.

    >>> minus("-0.5"), minus("1e-05")
    ('−0.5', '1e-05')
    """
    return f"−{text[1:]}" if text.startswith("-") else text


def write_contributions(values: Mapping[Giver, float]) -> dict[Giver, str]:
    """Write contributions with as many decimals as the median one needs to have two digits, and at least two."""
    places = places_for(list(values.values()))
    return {giver: minus(format_number(value, places)) for giver, value in values.items()}


def capitalise(text: str) -> str:
    """Return a clause with its first letter in upper case, and the rest as it is."""
    return text[:1].upper() + text[1:]


def list_names(names: Sequence[str]) -> str:
    """Write names as in a sentence; of a long list, the first ones and how many more there are.

    >>> list_names(["a", "b"]), list_names([str(n) for n in range(20)])
    ('a and b', '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 8 more')
    """
    if len(names) <= _MAX_NAMES + 1:
        return join(names)
    return f"{', '.join(names[:_MAX_NAMES])} and {len(names) - _MAX_NAMES:,} more"


def describe_unmet_wish(client: str, other: str) -> str:
    """Say that a wish stayed unmet, when the reason is not known or not to be shown.

    >>> describe_unmet_wish("a", "b")
    'a wanted b, but b did not want a'
    """
    return f"{client} wanted {other}, but {other} did not want {client}"


def who_trains(coalitions: Sequence[Sequence[str]]) -> list[str]:
    """Say who trains with whom.

    >>> who_trains([["a", "b"], ["c"]])
    ['a and b train together.', 'c trains alone.']
    """
    together = [members for members in coalitions if len(members) > 1]
    alone = [members[0] for members in coalitions if len(members) == 1]
    if not together and len(alone) > 1:
        return ["Everybody trains alone."]
    lines = [f"{list_names(members)} train together." for members in together[:_MAX_NAMES]]
    if len(together) > _MAX_NAMES:
        more = len(together) - _MAX_NAMES
        lines.append("There is one more coalition." if more == 1 else f"There are {more:,} more coalitions.")
    if alone:
        lines.append(f"{list_names(alone)} {'trains' if len(alone) == 1 else 'train'} alone.")
    return lines


@dataclass(frozen=True, slots=True)
class MetricFormat:
    """How values of a metric are written, and when a difference is an improvement."""

    metric: Metric
    places: int

    @classmethod
    def fit(cls, metric: str, standings: Mapping[str, Standing]) -> MetricFormat:
        """Return the format of a metric in which the median standard error has two digits."""
        scores = (score for each in standings.values() for score in (each.alone, each.coalition, each.best))
        return cls(METRICS[metric], decimals_for([score.error for score in scores]))

    def describe(self, models: str, *, expected: bool = False) -> str:
        """Say what the scores of these models are: the metric, its meaning, and the rows they are computed on."""
        rows = ", on rows used neither to train it nor to choose collaborators or settings"
        if expected:
            rows = ": alone and all together as measured on held-out rows, otherwise as expected from all clients' rows"
        return f"{self.metric.title} ({self.metric.meaning}) of {models}{rows}"

    def number(self, value: float, sign: str = "") -> str:
        """Write a value, with a plus if `sign` is "+"."""
        return "unknown" if math.isnan(value) else minus(format_number(value, self.places, sign))

    def change(self, gain: Estimate) -> str:
        """Write a difference, with its interval if that is known."""
        value, low, high = (self.number(number, "+") for number in (gain.value, gain.low, gain.high))
        return value if math.isnan(gain.error) else f"{value} (95 %: {low} to {high})"

    def improved(self, gain: Estimate) -> Estimate:
        """Return a difference so that more is better."""
        return gain if self.metric.more_is_better else -gain

    def improvement(self, gain: Estimate) -> str:
        """Write by how much a difference is an improvement, with its interval if that is known."""
        better = self.improved(gain)
        value, low, high = map(self.number, (better.value, better.low, better.high))
        return value if math.isnan(gain.error) else f"{value} (95 %: {low} to {high})"

    def compare(self, standing: Standing) -> str:
        """Write the metric alone and in the coalition."""
        return f"{self.number(standing.alone.value)} → {self.number(standing.coalition.value)}"

    def is_better(self, gain: Estimate) -> bool:
        """Return whether a difference is an improvement."""
        return gain.value > 0 if self.metric.more_is_better else gain.value < 0

    def is_significant(self, gain: Estimate) -> bool:
        """Return whether the interval of a difference excludes 0."""
        return gain.error > 0 and (gain.low > 0 or gain.high < 0)


def who_gains(standings: Mapping[str, Standing], joined: Sequence[str], scores: MetricFormat) -> list[str]:
    """Say which of the clients that joined a coalition gain, how much, and for which of them it may be chance."""
    known = {name: standings[name].gain for name in joined if not math.isnan(standings[name].gain.value)}
    better = [name for name, gain in known.items() if scores.is_better(gain) and scores.is_significant(gain)]
    unsure = [name for name, gain in known.items() if not scores.is_significant(gain)]
    worse = [name for name, gain in known.items() if not scores.is_better(gain) and scores.is_significant(gain)]

    def changes(names: Sequence[str]) -> str:
        first = ", ".join(f"{name} {scores.compare(standings[name])}" for name in names[:_MAX_CHANGES])
        return f"({scores.metric.title}: {first}{' …' if len(names) > _MAX_CHANGES else ''})"

    lines = []
    if better:
        most = max(better, key=lambda name: abs(known[name].value))
        gain = "gains significantly" if len(better) == 1 else f"gain significantly, {most} the most"
        lines.append(f"{list_names(better)} {gain}: {scores.metric.title} {scores.compare(standings[most])}.")
    if unsure:
        lines.append(f"For {list_names(unsure)}, the change on held-out rows may be due to chance {changes(unsure)}.")
    if worse:
        lines.append(
            f"{list_names(worse)} would do significantly worse than alone by this metric {changes(worse)}: "
            "look at the numbers before you agree."
        )
    if unknown := [name for name in joined if name not in known]:
        lines.append(f"The gain of {list_names(unknown)} cannot be estimated from the available rows.")
    return lines


def own_rows_note(name: str, weights: Mapping[str, float]) -> str:
    """Say that a client's own rows have no weight in its model; empty if they have some."""
    if name in weights:
        return ""
    return f" The rows of {name} have no weight in its own model: its loss was lowest with the rows of others only."


def rule_of(study: Study) -> str:
    """Return by what rule collaborators were chosen: ``smallest``, ``clip``, or by borrowed strength."""
    return BORROWED if study.borrows else study.rule


def _nobody_helps(names: Sequence[str], rule: str) -> str:
    """Say that clients want nobody, in terms of the rule that found it."""
    model = "model" if len(names) == 1 else "models"
    if rule == "clip":
        return f"no other client has much weight in the best {model} for {list_names(names)}"
    if rule == BORROWED:
        return f"no other client is expected to make the {model} of {list_names(names)} better by enough to be worth it"
    return f"no other client was found to make the {model} of {list_names(names)} reliably better"


def not_wanted(client: str, others: Sequence[str]) -> str:
    """Say that the clients that one client wanted do not want it.

    >>> not_wanted("a", ["b"]), not_wanted("a", ["b", "c"])
    ('but b does not want a', 'but they do not want a')
    """
    return f"but {f'{others[0]} does' if len(others) == 1 else 'they do'} not want {client}"


def _would_gain(client: str, unmet: Sequence[str], rule: str) -> str:
    """Say which clients a client wanted that do not want it, in terms of the rule that found it."""
    if rule == "clip":
        has = "has" if len(unmet) == 1 else "have"
        return f"{list_names(unmet)} {has} weight in the best model for {client}, {not_wanted(client, unmet)}"
    gains = f"{unmet[0]} gains" if len(unmet) == 1 else "they gain"
    return f"{client} would gain from {list_names(unmet)}, but {gains} nothing from {client}"


def why_alone(alone: Sequence[str], unmet: Mapping[str, Sequence[str]], rule: str) -> list[str]:
    """Say why clients stay alone: nobody helps them, or those who would help do not want them."""
    unhelped = [name for name in alone if not unmet.get(name)]
    unwanted = [name for name in alone if unmet.get(name)]
    lines = [f"{capitalise(_nobody_helps(unhelped, rule))}."] if unhelped else []
    lines += [f"{_would_gain(name, unmet[name], rule)}." for name in unwanted[:_MAX_NAMES]]
    if (more := len(unwanted) - _MAX_NAMES) > 0:
        lines.append(f"The same holds for {count(more, 'more client')} that {'stays' if more == 1 else 'stay'} alone.")
    return lines


def how_sure(proof: Proof, sensitivity: Sensitivity) -> str:
    """Say whether the coalitions are stable, and how much they depend on the sample of rows."""
    inequalities = count(len(proof.outer) + len(proof.inner), "inequality", "inequalities")
    better = "significantly better" if proof.forgives and not proof.expected else "better"
    which = "for" if proof.expected else "by"
    verdict = {
        "proved": f"Stable {which} these estimates: no group of members would do {better} by leaving "
        f"(checked by {inequalities}, listed below).",
        "refuted": f"Not stable: {proof.finding} (see the proof below).",
        "undecided": f"Undecided: {proof.finding}.",
    }[proof.verdict]
    times = sensitivity.resamples
    if proof.expected:
        return f"{verdict} {sensitivity.wrong}".strip()
    if not times:
        return f"{verdict} How much the coalitions depend on this sample of rows was not tested."
    same = f"The same coalitions were found in {round(sensitivity.same * times)} of {times} resamples of the rows"
    unstable = ": they depend on this sample, and more rows are needed" if sensitivity.same < _MIN_STABLE_SHARE else ""
    return f"{verdict} {same}{unstable}."


def _at_best(standing: Standing, scores: MetricFormat, rule: str) -> str:
    """Say what a client would get with the collaborators it wanted first, if that is known."""
    change = standing.gain_at_best
    if math.isnan(standing.best.value) or math.isnan(change.value):
        return ""
    alone, best = (scores.number(score.value) for score in (standing.alone, standing.best))
    sentence = f" With the collaborators it wanted first, its {scores.metric.title} would be {best} instead of {alone}"
    if rule == BORROWED:
        return f"{sentence}, as far as can be expected."
    if not scores.is_significant(change):
        return f"{sentence}, which may be due to chance."
    return f"{sentence}." if scores.is_better(change) else f"{sentence}, which is worse."


def should_join(
    name: str,
    standing: Standing,
    partners: Sequence[str],
    unmet: Sequence[str],
    scores: MetricFormat,
    rule: str,
    coalition: Sequence[str] = (),
) -> str:
    """Answer in a paragraph whether a client should join.

    `partners` have weight in its model; `coalition` are the other members of its coalition, who may have none.
    """
    alone, metric = scores.number(standing.alone.value), scores.metric.title
    if not partners and coalition:
        train = "trains" if len(coalition) == 1 else "train"
        return (
            f"Optional: {list_names(coalition)} {train} with the rows of {name}, but no other client's rows have "
            f"weight in its own model. Alone, its {metric} is {alone}."
        )
    if not partners and not unmet:
        return f"No need: {_nobody_helps([name], rule)}. Alone, its {metric} is {alone}."
    if not partners:
        return (
            f"Not at present: {_would_gain(name, unmet, rule)}.{_at_best(standing, scores, rule)} "
            f"{unmet[0] if len(unmet) == 1 else 'They'} would need a reason to accept it."
        )
    gain, evidence = standing.gain, "its best weights" if rule == "clip" else "its cross-validated loss"
    train = f"train with {list_names(partners)}"
    if math.isnan(gain.value):
        reason = f" ({metric} needs {scores.metric.needs})" if scores.metric.needs else ""
        if not math.isnan(standing.alone.value):
            reason = " (when the rows for evaluation are held out, it stays alone)"
        advice = f"Yes, by {evidence}: {train}. How much {name} gains cannot be estimated from its rows{reason}."
    elif not scores.is_significant(gain):
        begins, worse = ("Probably", "") if scores.is_better(gain) else ("Perhaps", " for the worse")
        advice = (
            f"{begins}: {train}, judging by {evidence}. On held-out rows, its {metric} changes{worse} by "
            f"{scores.change(gain)}, which may be due to chance."
        )
    elif scores.is_better(gain):
        advice = (
            f"Yes: {train}. On held-out rows, its {metric} goes from {alone} to "
            f"{scores.number(standing.coalition.value)}: {scores.change(gain)}."
        )
    else:
        advice = (
            f"Doubtful: judging by {evidence}, {name} should {train}, but its {metric} on held-out rows gets worse: "
            f"{scores.change(gain)}. Decide which of the two counts."
        )
    return f"{advice} It also wanted {list_names(unmet)}, {not_wanted(name, unmet)}." if unmet else advice
