"""Checks before a job starts: which clients are connected, what their policies allow, and whether columns agree."""

import uuid
from dataclasses import replace

from flwr.serverapp import Grid

from comity.core.progress import Notify
from comity.errors import ComityError, InputError, RefusedError
from comity.families.problem import state_problem
from comity.families.registry import FAMILIES
from comity.flower.transport.federation import OverFlower
from comity.flower.transport.introduction import Patience, Roster
from comity.flower.transport.journal import Journal
from comity.solving.findings import ask_privacy
from comity.study import Study

_MAX_GRACE = 30.0  # seconds that a check waits for clients that are not connected


def check(grid: Grid, roster: Roster, study: Study, patience: Patience, notify: Notify) -> None:
    """Report for each client whether it is connected and allows what the study asks; raise one error with all problems.

    Clients are asked for their columns, as the study would ask, and for what they have disclosed.
    """
    short = replace(patience, grace=min(patience.grace, _MAX_GRACE))
    federation = OverFlower.join(grid, roster, short, Journal(), notify, f"check-{uuid.uuid4()}")
    problems = [f"client {name!r} is not connected" for name in roster.clients if name not in federation.clients]
    classes = study.task == "classes"
    if silent := [name for name in federation.clients if "describe" not in federation.rules[name].questions]:
        problems.append(f"client {silent[0]!r} does not describe its columns: its policy forbids 'describe'")
    else:
        try:
            problem = state_problem(federation, study)
            target = problem.schema.target
            classes = target.task == "classes"
            for name in federation.clients:
                rows = f"{problem.rows[name]:,} rows" if problem.rows[name] else "no rows, or too few for its policy"
                notify(f"client {name!r} is connected, with {rows}")
            for name, each in ask_privacy(federation, (), problem.limited)[1].items():
                told = f"{each['disclosed']:.0%} of the numbers in its rows; its limit is {each['limit']:.0%}"
                notify(f"client {name!r} has disclosed {told}")
            if study.model == "linear" and study.search != "borrow" and problem.limited:
                limited = ", ".join(map(repr, problem.limited))
                problems.append(f"the search {study.search!r} asks for more than the limits of {limited} let out")
            notify(
                f"columns that all clients have: {len(problem.schema.columns)}; "
                f"metric of {target.name!r}: {problem.metric}"
            )
            for warning in problem.warnings:
                notify(warning)
        except ComityError as error:
            problems.append(str(error))
    problems += _forbidden(federation, study, classes)
    if problems:
        raise InputError("the study cannot run: " + "; ".join(problems))
    notify("all checks passed")


def check_policies(federation: OverFlower, study: Study) -> None:
    """Raise an error if a policy forbids a question that the study is certain to ask.

    Only the columns show whether a target has classes; unless the study states it, those questions are not checked.
    """
    if problems := _forbidden(federation, study, study.task == "classes"):
        raise RefusedError("; ".join(problems))


def _forbidden(federation: OverFlower, study: Study, classes: bool) -> list[str]:
    """Return a sentence for each client whose policy forbids a question of the study."""
    asked = FAMILIES[study.model].questions(study, classes=classes)
    return [
        f"the policy of client {name!r} forbids what the study asks: {', '.join(forbidden)}"
        for name in federation.clients
        if (forbidden := [kind for kind in asked if kind not in federation.rules[name].questions])
    ]
