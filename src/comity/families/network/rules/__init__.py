"""Rules by which a client trains a model on its own rows. A file and a line in `RULES` add another."""

from __future__ import annotations

from comity.errors import InputError
from comity.families.network.rules.descent import Descent
from comity.families.network.rules.meta import Meta
from comity.families.network.rules.moreau import Moreau
from comity.families.network.rules.rule import Place, Rule
from comity.questions import TrainingRule, from_plain, to_plain

RULES: dict[str, type[Rule]] = {"descent": Descent, "meta": Meta, "moreau": Moreau}

__all__ = ["RULES", "Descent", "Meta", "Moreau", "Place", "Rule", "record_of", "rule_of"]


def record_of(rule: Rule) -> TrainingRule:
    """Return a rule as a record that can be sent.

    >>> record_of(Descent(steps=3, rate=0.1))
    TrainingRule(name='descent', settings={'steps': 3, 'rate': 0.1, 'momentum': 0.9, 'pull': 0.0})
    """
    name = next(name for name, kind in RULES.items() if type(rule) is kind)
    return TrainingRule(name, to_plain(rule))


def rule_of(record: TrainingRule) -> Rule:
    """Return the rule of a record; settings that do not fit it are an `InputError`.

    >>> rule_of(TrainingRule("descent", {"steps": 3, "rate": 0.1, "momentum": 0.9, "pull": 0.0}))
    Descent(steps=3, rate=0.1, momentum=0.9, pull=0.0)
    """
    if record.name not in RULES:
        raise InputError(f"there is no rule {record.name!r} to train by; there are {', '.join(RULES)}")
    return from_plain(RULES[record.name], record.settings)
