"""The sentences of a report about gains that are expected, each with a probability (the search ``borrow``)."""

import math
from collections.abc import Mapping, Sequence

from comity.core.estimates import Estimate, Standing
from comity.core.text import count, format_probability
from comity.report.words import MetricFormat, list_names, not_wanted

# From these probabilities of a gain on, advice begins with these words.
_ADVICE = {0.9: "Yes", 2 / 3: "Probably", 0.0: "Perhaps"}

_NEGLIGIBLE = 1e-6  # of the value alone: a gain that the proof needs, and nobody would see


def who_may_gain(
    standings: Mapping[str, Standing], joined: Sequence[str], mean: Estimate, scores: MetricFormat
) -> list[str]:
    """Say what clients gain on average, how many are expected to gain, and who the most and the least."""
    known = {name: standings[name].gain for name in joined if not math.isnan(standings[name].gain.value)}
    lines = []
    if known:
        better = sum(
            scores.is_better(gain) and abs(gain.value) > _NEGLIGIBLE * abs(standings[name].alone.value)
            for name, gain in known.items()
        )
        gain = f"{scores.metric.title} is expected to improve by {scores.improvement(mean)}"
        who = f"{better:,} of {count(len(standings), 'client')} {'is' if better == 1 else 'are'} expected to gain"
        lines.append(f"On average over all clients, {gain}; {who}.")
        order = sorted(known, key=lambda name: scores.improved(known[name]).value)
        lines.append(f"{order[-1]} is expected to gain the most ({_change(standings[order[-1]], scores)}).")
        if worse := [name for name in order if not scores.is_better(known[name])]:
            lines.append(f"{list_names(worse)} cannot expect to gain: look at the numbers before you agree.")
        elif len(order) > 1:
            lines[-1] = f"{lines[-1][:-1]}, and {order[0]} the least ({_change(standings[order[0]], scores)})."
    if unknown := [name for name in joined if name not in known]:
        lines.append(f"The gain of {list_names(unknown)} cannot be told from the available rows.")
    return lines


def _change(standing: Standing, scores: MetricFormat) -> str:
    sure = f", probability {format_probability(standing.probability)}" if standing.probability >= 0 else ""
    return f"{scores.metric.title} {scores.compare(standing)}{sure}"


def advise(name: str, standing: Standing, partners: Sequence[str], unmet: Sequence[str], scores: MetricFormat) -> str:
    """Answer in a paragraph whether a client with partners should join."""
    gain, probability = standing.gain, standing.probability
    begins = next((words for least, words in _ADVICE.items() if probability >= least), "Yes")
    advice = f"{begins}: train with {list_names(partners)}. "
    if math.isnan(gain.value):
        reason = f" ({scores.metric.title} needs {scores.metric.needs})" if scores.metric.needs else ""
        advice += f"How much {name} gains in {scores.metric.title} cannot be told from its rows{reason}."
    else:
        advice += f"Its {scores.metric.title} is expected to go from {scores.number(standing.alone.value)} to "
        advice += f"{scores.number(standing.coalition.value)}: {scores.change(gain)}."
    if not math.isnan(probability):
        advice += f" The probability that it gains is {format_probability(probability)}."
    return f"{advice} It also wanted {list_names(unmet)}, {not_wanted(name, unmet)}." if unmet else advice
