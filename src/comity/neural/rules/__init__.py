"""How a client trains a model on its rows: local rules, by name. A line in `RULES` adds another."""

from __future__ import annotations

import json
from dataclasses import asdict, fields

from comity.errors import InputError
from comity.neural.rules.descent import Descent
from comity.neural.rules.meta import Meta
from comity.neural.rules.moreau import Moreau
from comity.neural.rules.rule import Place, Rule

RULES: dict[str, type[Rule]] = {"descent": Descent, "meta": Meta, "moreau": Moreau}

__all__ = ["RULES", "Descent", "Meta", "Moreau", "Place", "Rule", "rule_from_json", "rule_to_json"]


def rule_to_json(rule: Rule) -> str:
    """Return a rule as it is sent.

    >>> rule_to_json(Descent(steps=3, rate=0.1))
    '{"momentum": 0.9, "pull": 0.0, "rate": 0.1, "rule": "descent", "steps": 3}'
    """
    name = next(name for name, kind in RULES.items() if type(rule) is kind)
    return json.dumps({"rule": name, **asdict(rule)}, sort_keys=True)


def rule_from_json(text: str) -> Rule:
    """Return the rule that was sent.

    >>> rule_from_json('{"rule": "descent", "steps": 3, "rate": 0.1}')
    Descent(steps=3, rate=0.1, momentum=0.9, pull=0.0)
    """
    given = json.loads(text)
    name = given.pop("rule", None)
    if name not in RULES:
        raise InputError(f"there is no rule {name!r} to train by; there are {', '.join(RULES)}")
    try:
        return RULES[name](**given)
    except TypeError:
        known = ", ".join(field.name for field in fields(RULES[name]))
        raise InputError(f"the rule {name!r} has the settings {known}, not {', '.join(given) or 'none'}") from None
