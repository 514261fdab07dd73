"""A client's own page: the content of what one client received, with nothing private of other clients."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from comity.core.text import count, format_number, format_weight, places_for
from comity.families.registry import FAMILIES
from comity.report.result_story import describe_columns, describe_scores
from comity.report.story import Member, Partner
from comity.report.words import MetricFormat, describe_unmet_wish, minus, own_rows_note, should_join
from comity.result.client_result import ClientResult


@dataclass(frozen=True, slots=True)
class ClientStory:
    """The content of a client's own page; `others` are the gains that other clients show to everybody."""

    member: Member
    coalitions: tuple[tuple[str, ...], ...]
    verdict: str
    axis: str
    intervals: bool
    more_is_better: bool
    unit: str
    others: tuple[tuple[str, str], ...]
    done: tuple[tuple[str, str], ...]


def describe_client_result(own: ClientResult, saved: str = "", job: str = "") -> ClientStory:
    """Return the content of a client's page; `saved` is when the client received it, and `job` in which job."""
    scores = MetricFormat.fit(own.metric, {own.client: own.standing})
    weights = own.weights["coalition"]
    places = places_for(list(own.brought.values()))
    partners = [name for name in weights if name != own.client]
    others = [name for name in own.coalition if name != own.client]
    member = Member(
        name=own.client,
        coalition=own.coalitions.index(own.coalition) + 1,
        advice=should_join(own.client, own.standing, partners, own.unmet, scores, own.study.rule, others)
        + own_rows_note(own.client, weights),
        unmet=tuple(describe_unmet_wish(own.client, other) for other in own.unmet),
        partners=tuple(
            Partner(
                name,
                format_weight(weight),
                minus(format_number(own.brought[name], places)) if name in own.brought else "",
            )
            for name, weight in weights.items()
        )
        if len(own.coalition) > 1
        else (),
        rows=own.standing.rows,
        dots=describe_scores(own.standing, scores),
    )
    return ClientStory(
        member=member,
        coalitions=own.coalitions,
        verdict=own.verdict,
        axis=scores.describe("each model"),
        intervals=any(dot.has_interval for dot in member.dots),
        more_is_better=scores.metric.more_is_better,
        unit="loss",
        others=tuple(
            (name, "unknown" if math.isnan(standing.gain.value) else scores.change(standing.gain))
            for name, standing in own.others.items()
        ),
        done=tuple(_done(own, saved, job)),
    )


def _done(own: ClientResult, saved: str, job: str) -> Iterator[tuple[str, str]]:
    """Yield what was done, as pairs of a name and a text."""
    yield "Data", count(own.standing.rows, "row")
    if FAMILIES[own.study.model].tabular:
        yield from describe_columns(own.schema)
    yield "Seed", str(own.study.seed)
    yield "Version", f"comity {own.version}"
    if saved:
        yield "Received", saved
    if job:
        yield "Job", job
