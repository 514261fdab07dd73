"""Sentences that a report is made of, for people who know their rows and not our words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from comity.figures import Figure, Standing
from comity.metrics import METRICS, Metric
from comity.report.story import Proof, Sensitivity
from comity.writing import count, decimals_for, join, plain

_MANY = 12
_FEW = 4
_SHAKY = 0.5  # of resamples: partitions that come out of fewer depend on chance


def minus(text: str) -> str:
    """Write the sign of a number that is less than nothing as people do.

    >>> minus("-0.5"), minus("1e-05")
    ('−0.5', '1e-05')
    """
    return f"−{text[1:]}" if text.startswith("-") else text


def unmet_wish(client: str, other: str) -> str:
    """Say that a wish stayed unmet, of which nothing else is known.

    >>> unmet_wish("a", "b")
    'a wanted b, who does without it'
    """
    return f"{client} wanted {other}, who does without it"


def some(names: Sequence[str], most: int = _MANY) -> str:
    """Write names, the first of them if there are many.

    >>> some(["a", "b"]), some([str(n) for n in range(20)], most=2)
    ('a and b', '0, 1 and 18 more')
    """
    if len(names) <= most + 1:
        return join(names)
    return f"{', '.join(names[:most])} and {len(names) - most:,} more"


def who_trains(coalitions: Sequence[Sequence[str]]) -> list[str]:
    """Say who trains with whom.

    >>> who_trains([["a", "b"], ["c"]])
    ['a and b train together.', 'c trains alone.']
    """
    together = [members for members in coalitions if len(members) > 1]
    alone = [members[0] for members in coalitions if len(members) == 1]
    if not together:
        return ["Everybody trains alone." if len(alone) > 1 else f"{alone[0]} trains alone."]
    told = [f"{some(members)} train together." for members in together[:_MANY]]
    if len(together) > _MANY:
        more = len(together) - _MANY
        told.append("There is one more coalition." if more == 1 else f"There are {more:,} more coalitions.")
    if alone:
        told.append(f"{some(alone)} {'trains' if len(alone) == 1 else 'train'} alone.")
    return told


@dataclass(frozen=True, slots=True)
class Scale:
    """How figures of a metric are written: with so many decimals."""

    metric: str
    places: int

    @classmethod
    def of(cls, metric: str, standings: Mapping[str, Standing]) -> Scale:
        """Return the scale on which middling errors have two digits."""
        figures = [figure for each in standings.values() for figure in (each.alone, each.coalition, each.best)]
        return cls(metric, decimals_for([figure.error for figure in figures]))

    @property
    def of_metric(self) -> Metric:
        """The metric."""
        return METRICS[self.metric]

    @property
    def name(self) -> str:
        """The name of the metric, as people write it."""
        return self.of_metric.title

    def described(self, whose: str) -> str:
        """Say what figures of these models are: the metric, what it means, and on what rows."""
        return f"{self.name} ({self.of_metric.meaning}) of {whose}, on rows that neither trained it nor chose anything"

    def number(self, value: float) -> str:
        """Write a value."""
        return "unknown" if math.isnan(value) else minus(plain(value, self.places))

    def range(self, figure: Figure) -> str:
        """Write an interval, as far as it is within what the metric can be."""
        low, high = max(figure.low, self.of_metric.least), min(figure.high, self.of_metric.most)
        return f"{self.number(low)} to {self.number(high)}"

    def change(self, figure: Figure) -> str:
        """Write a difference with its interval, if that is known."""
        value, low, high = (minus(plain(each, self.places, "+")) for each in (figure.value, figure.low, figure.high))
        return value if math.isnan(figure.error) else f"{value} (95 %: {low} to {high})"

    def better(self, figure: Figure) -> bool:
        """Tell whether a difference is an improvement."""
        return figure.value > 0 if self.of_metric.more_is_better else figure.value < 0

    def beyond_chance(self, figure: Figure) -> bool:
        """Tell whether the interval of a difference leaves out 0."""
        return figure.error > 0 and (figure.low > 0 or figure.high < 0)


def who_gains(standings: Mapping[str, Standing], joined: Sequence[str], scale: Scale) -> list[str]:
    """Say who of those who joined a coalition gains how much, and for whom it may be chance."""
    known = {name: standings[name].gain for name in joined if not math.isnan(standings[name].gain.value)}
    sure = [name for name, gain in known.items() if scale.better(gain) and scale.beyond_chance(gain)]
    unsure = [name for name, gain in known.items() if not scale.beyond_chance(gain)]
    worse = [name for name, gain in known.items() if not scale.better(gain) and scale.beyond_chance(gain)]
    told = []
    if sure:
        most = max(sure, key=lambda name: abs(known[name].value))
        standing = standings[most]
        told.append(
            f"{some(sure)} {'gains' if len(sure) == 1 else 'gain'} beyond chance"
            + (", " if len(sure) == 1 else f", {most} the most: ")
            + f"{scale.name} {scale.number(standing.alone.value)} → "
            + f"{scale.number(standing.coalition.value)}."
        )
    if unsure:
        told.append(
            f"For {some(unsure)}, the change on rows that judge may be chance{_moves(unsure, standings, scale)}."
        )
    if worse:
        by = f"would do worse by this metric than alone{_moves(worse, standings, scale)}"
        told.append(f"{some(worse)} {by}: look at the figures before you agree.")
    if unknown := [name for name in joined if name not in known]:
        gain = "gains" if len(unknown) == 1 else "gain"
        told.append(f"What {some(unknown)} {gain} cannot be said on the rows there are.")
    return told


def _moves(names: Sequence[str], standings: Mapping[str, Standing], scale: Scale) -> str:
    """Write from what to what the metric goes for the first few of these clients."""
    shown = [(name, standings[name].alone.value, standings[name].coalition.value) for name in names[:_FEW]]
    told = [f"{name} {scale.number(alone)} → {scale.number(coalition)}" for name, alone, coalition in shown]
    return f" ({scale.name}: {', '.join(told)}{' …' if len(names) > _FEW else ''})"


def no_own_rows(name: str, weights: Mapping[str, float]) -> str:
    """Say of a client whose own rows have no weight in its model what that means."""
    told = f" The rows of {name} have no weight in its own model: with those of others alone, losses were least."
    return "" if name in weights else told


def _why_unknown(standing: Standing, scale: Scale) -> str:
    """Say why a gain is unknown: there are no rows that can judge, or without those that could it would not join."""
    if not math.isnan(standing.alone.value):
        return " (without the rows that would judge it, it would have stayed alone)"
    return f" ({scale.name} needs {scale.of_metric.needs})" if scale.of_metric.needs else ""


def _nobody_helps(names: Sequence[str], rule: str) -> str:
    """Say that clients want nobody, which each rule finds in its own way."""
    model = "model" if len(names) == 1 else "models"
    if rule == "clip":
        return f"nobody else has much weight in the {model} that would be best for {some(names)}"
    return f"nobody was found who makes the {model} of {some(names)} reliably better"


def _would_gain(name: str, unmet: Sequence[str], rule: str) -> str:
    """Say whom a client wanted in vain, which each rule finds in its own way."""
    does = f"who {'does' if len(unmet) == 1 else 'do'} without it"
    if rule == "clip":
        has = "has" if len(unmet) == 1 else "have"
        return f"in the model that would be best for {name}, {some(unmet)} {has} weight, {does}"
    return f"by its losses {name} would gain from {some(unmet)}, {does}"


def why_alone(alone: Sequence[str], unmet: Mapping[str, Sequence[str]], rule: str) -> list[str]:
    """Say why clients stay alone: nobody helps them, or who would does without them."""
    unhelped = [name for name in alone if not unmet.get(name)]
    told = []
    if unhelped:
        told.append(f"N{_nobody_helps(unhelped, rule)[1:]}.")
    for name in [name for name in alone if unmet.get(name)][:_MANY]:
        said = _would_gain(name, unmet[name], rule)
        told.append(f"{said[:1].upper()}{said[1:]}.")
    if (more := sum(bool(unmet.get(name)) for name in alone) - _MANY) > 0:
        told.append(f"So it is with {count(more, 'more client')} who {'stays' if more == 1 else 'stay'} alone.")
    return told


def how_sure(proof: Proof, sensitivity: Sensitivity) -> str:
    """Say how sure the coalitions are."""
    listed = count(len(proof.outer) + len(proof.inner), "inequality", "inequalities")
    told = {
        "proved": f"That {proof.said} is proved of these estimates, by {listed} listed below",
        "refuted": f"The proof failed: {proof.said} (see below)",
        "undecided": f"{proof.said[:1].upper()}{proof.said[1:]}",
    }[proof.verdict]
    times = sensitivity.resamples
    if not times:
        return f"{told}; how much it depends on these very rows was not tested."
    same = f"the same coalitions came out of {round(sensitivity.same * times)} of {times} resamples of the rows"
    shaky = ": they depend on these very rows, and more are needed" if sensitivity.same < _SHAKY else ""
    return f"{told}; {same}{shaky}."


def _at_best(standing: Standing, scale: Scale) -> str:
    """Say what a client would have with those whom it wanted first, as far as that is known."""
    change = standing.gain_at_best
    if math.isnan(standing.best.value) or math.isnan(change.value):
        return ""
    alone, best = (scale.number(figure.value) for figure in (standing.alone, standing.best))
    told = f" With those whom it wanted first, {scale.name} would be {best} instead of {alone}"
    if not scale.beyond_chance(change):
        return f"{told}, which may be chance."
    return f"{told}." if scale.better(change) else f"{told}, which is worse."


def should_join(
    name: str,
    standing: Standing,
    partners: Sequence[str],
    unmet: Sequence[str],
    scale: Scale,
    rule: str,
    home: Sequence[str] = (),
) -> str:
    """Answer a client's question, in a paragraph.

    `partners` have weight in its model; `home` are the others of its coalition, who may have none.
    """
    alone, metric = scale.number(standing.alone.value), scale.name
    if not partners and home:
        return (
            f"As it likes: {some(home)} {'trains' if len(home) == 1 else 'train'} with the rows of {name}; in its own "
            f"model nobody else's have weight. Alone, its {metric} is {alone}."
        )
    if not partners:
        if not unmet:
            return f"No need: {_nobody_helps([name], rule)}. Alone, its {metric} is {alone}."
        return (
            f"Not as things are: {_would_gain(name, unmet, rule)}.{_at_best(standing, scale)} "
            f"{'It' if len(unmet) == 1 else 'They'} would have to be given a reason."
        )
    gain, by = standing.gain, "the weights that are best for it" if rule == "clip" else "its losses"
    told = f"train with {some(partners)}"
    if math.isnan(gain.value):
        unsaid = f"how much {name} gains cannot be said on the rows it has{_why_unknown(standing, scale)}"
        said = f"By {by}, yes: {told}; {unsaid}."
    elif scale.better(gain) and scale.beyond_chance(gain):
        said = (
            f"Yes: {told}. On rows that chose nothing, {metric} goes from {alone} to "
            f"{scale.number(standing.coalition.value)}: {scale.change(gain)}."
        )
    elif scale.beyond_chance(gain):
        said = (
            f"Doubtful: by {by} {name} should {told}, but {metric} changes for the worse: "
            f"{scale.change(gain)}. Decide which of the two counts."
        )
    else:
        begins, though = ("Probably", "") if scale.better(gain) else ("Perhaps", " for the worse")
        said = (
            f"{begins}: {told}, by {by}. On rows that chose nothing, {metric} changes{though} by "
            f"{scale.change(gain)}, which may be chance."
        )
    if unmet:
        said += f" It would have liked {some(unmet)} as well, who {'does' if len(unmet) == 1 else 'do'} without it."
    return said
