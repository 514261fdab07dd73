"""Whether everything fits, before anything is learned: who is there, what policies allow, whether columns agree."""

from __future__ import annotations

import uuid
from dataclasses import replace

from flwr.serverapp import Grid

from comity.errors import ComityError, InputError, RefusedError
from comity.flower.federation import OverFlower
from comity.flower.roster import Patience, Roster, Say
from comity.learn import agree_on
from comity.study import Study

_LONGEST = 30.0  # seconds that a check waits for somebody who is not there
_TABLES = ("describe", "moments", "evaluate")
_CLASSES = ("fit-alone", "slopes", "expand")
_NETWORKS = ("describe", "held-losses", "train-alone", "search-front", "judge-models")


def needed(study: Study, classes: bool) -> tuple[str, ...]:
    """Return the questions that a study asks.

    >>> needed(Study("dose"), classes=False)
    ('describe', 'moments', 'evaluate')
    """
    if study.model != "linear":
        return (*_NETWORKS, "local-steps" if study.local_steps else "gradients")
    return (*_TABLES, *_CLASSES) if classes else _TABLES


def check(grid: Grid, roster: Roster, study: Study, patience: Patience, say: Say) -> None:
    """Say of each client whether it is there and allows what the study asks; what does not fit is an error in the end.

    The columns are asked for, as the study would, and nothing else.
    """
    short = replace(patience, grace=min(patience.grace, _LONGEST))
    federation = OverFlower.join(grid, roster, short, None, say, f"check-{uuid.uuid4()}")
    wrong = [f"client {name!r} is not there" for name in roster.clients if name not in federation.clients]
    classes = study.task == "classes"
    if unwilling := [name for name in federation.clients if "describe" not in federation.rules[name].questions]:
        wrong.append(f"client {unwilling[0]!r} does not say what its columns are: its policy forbids 'describe'")
    else:
        try:
            rows, agreement, metric, *_ = agree_on(federation, study)
            target = agreement.schema.target
            classes = target.task == "classes"
            for name in federation.clients:
                say(f"client {name!r} is there, with {rows[name]:,} rows")
            say(f"columns that all have: {len(agreement.schema.columns)}; {target.name!r} is judged by {metric}")
            for note in agreement.warnings:
                say(note)
        except ComityError as error:
            wrong.append(str(error))
    wrong += _forbidden(federation, study, classes)
    if wrong:
        raise InputError("not everything fits: " + "; ".join(wrong))
    say("everything fits")


def check_policies(federation: OverFlower, study: Study) -> None:
    """Check that policies allow what a study asks for certain; whether there are classes shows only in the columns."""
    if wrong := _forbidden(federation, study, study.task == "classes"):
        raise RefusedError("; ".join(wrong))


def _forbidden(federation: OverFlower, study: Study, classes: bool) -> list[str]:
    """Say whose policy forbids what."""
    asked = needed(study, classes)
    forbidden = {
        name: [kind for kind in asked if kind not in federation.rules[name].questions] for name in federation.clients
    }
    return [
        f"the policy of client {name!r} forbids what the study asks: {', '.join(kinds)}"
        for name, kinds in forbidden.items()
        if kinds
    ]
