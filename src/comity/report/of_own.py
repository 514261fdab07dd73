"""A client's own page: from what it got of a result to what is said of it, with nothing private of others."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from comity.own import Own
from comity.report.of_result import columns_of, dots_of
from comity.report.story import Member, Partner
from comity.report.words import Scale, minus, no_own_rows, should_join, unmet_wish
from comity.writing import count, places_for, plain, share_of


@dataclass(frozen=True, slots=True)
class OwnStory:
    """What a client's own page says; `others` are figures that others show everybody."""

    member: Member
    coalitions: tuple[tuple[str, ...], ...]
    verdict: str
    axis: str
    intervals: bool
    more_is_better: bool
    unit: str
    others: tuple[tuple[str, str], ...]
    done: tuple[tuple[str, str], ...]


def story_of_own(own: Own, saved: str = "", job: str = "") -> OwnStory:
    """Return what the page of a client says; `saved` says when it got it, and `job` in which job."""
    scale = Scale.of(own.metric, {own.client: own.standing})
    weights = own.weights["coalition"]
    places = places_for(list(own.brought.values()))
    partners = [name for name in weights if name != own.client]
    others = [name for name in own.coalition if name != own.client]
    member = Member(
        name=own.client,
        coalition=own.coalitions.index(own.coalition) + 1,
        advice=should_join(own.client, own.standing, partners, own.unmet, scale, own.study.rule, others)
        + no_own_rows(own.client, weights),
        unmet=tuple(unmet_wish(own.client, other) for other in own.unmet),
        partners=tuple(
            Partner(name, share_of(weight), minus(plain(own.brought[name], places)) if name in own.brought else "")
            for name, weight in weights.items()
        )
        if len(own.coalition) > 1
        else (),
        rows=own.standing.rows,
        dots=dots_of(own.standing, scale),
    )
    return OwnStory(
        member=member,
        coalitions=own.coalitions,
        verdict=own.verdict,
        axis=scale.described("each model"),
        intervals=any(dot.has_interval for dot in member.dots),
        more_is_better=scale.of_metric.more_is_better,
        unit="loss",
        others=tuple(
            (name, "unknown" if math.isnan(each.gain.value) else scale.change(each.gain))
            for name, each in own.others.items()
        ),
        done=tuple(_done(own, saved, job)),
    )


def _done(own: Own, saved: str, job: str) -> Iterator[tuple[str, str]]:
    """Yield what was done, by name."""
    yield "Data", count(own.standing.rows, "row")
    if own.study.model != "module":
        yield from columns_of(own.schema)
    yield "Seed", str(own.study.seed)
    yield "Version", f"comity {own.version}"
    if saved:
        yield "Received", saved
    if job:
        yield "Job", job
