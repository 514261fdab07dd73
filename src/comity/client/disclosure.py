"""How much of its rows a client discloses: counted for each answer, and kept below the limit of its policy.

*Disclosure* is the number of independent numbers that left a client over the numbers in its rows: rows × (columns + 1),
with the target. An answer that is the same as an earlier one adds nothing. Sums hide rows only while they are few and
over many rows, so below a limit

- rows are dealt once, whatever seed is asked for: into as many parts as the limit allows for a whole job and for each
  part, or not at all; then the client answers as if it had no rows;
- a level, class or missing value that is rare in a part counts as the most common one there: the sum over its rows
  would show them.

Training of networks and splits with judges are not counted; below a limit the latter are refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from comity.client.policy import Policy, may_lack_rows
from comity.core.arrays import Floats
from comity.core.tasks import BY_EXPANSION
from comity.errors import RefusedError
from comity.questions import (
    AboutStacks,
    Describe,
    Description,
    Evaluate,
    Evaluation,
    Expand,
    FitEstimator,
    MomentsAnswer,
    Slopes,
    Split,
)
from comity.questions.schema import CategoryColumn, ColumnSummary, Schema
from comity.rows.encoding import summarise
from comity.rows.rows import Encoded, Rows

_MIN_ROWS_OF_PART = 2
_BYTES_OF_NUMBER = 8
_MAX_LEVELS = 100  # of a column that are listed, whatever limit is asked for
# What a job with the search "borrow" asks (comity.families.glm.asking):
_POINTS = 10  # of slopes, where losses are expanded: two in each of five rounds
_EVALUATED = 8  # numbers in an evaluation of three kinds of models: values, errors, errors of gains


def numbers_in_sum(schema: Schema) -> int:
    """Return how many independent numbers a sum over rows has: gram, cross, square; or loss, gradient, curvature.

    The number of rows is known before. The indicators of a column are zero where another is one, and equal to their
    squares; the gradients of classes add up to zero. Survival has no intercept.

    >>> from comity.questions.schema import NumberColumn, Target
    >>> columns = tuple(NumberColumn(name, 0.0, 1.0, False) for name in "abc")
    >>> numbers_in_sum(Schema(columns, Target("y", "regression")))  # 5 × 6 / 2 products of a, b, c, 1, y, but 1 × 1
    14
    """
    size, known = len(schema.features) + 1, 0
    for column in schema.columns:
        levels = len(column.features)
        known += levels * (levels + 1) // 2 if isinstance(column, CategoryColumn) else 2 * column.indicator
    if not schema.target.intercepts:  # the number of events, too; moments about the mean of those at risk
        return 2 + (size - 1) + (size - 1) * size // 2
    products, target = size * (size + 1) // 2 - known, schema.target
    if target.task not in BY_EXPANSION:
        return products + size
    others = max(len(target.classes) - 1, 1)
    return 1 + others * size + others * (others + 1) // 2 * products


def _count_columns(schema: Schema) -> int:
    return len(schema.columns) + len(schema.target.columns)


def _in_description(answer: Description) -> int:
    return sum(
        max(2 * (each.kind in ("number", "date")), len(each.levels or ())) + (each.missing > 0)
        for each in answer.columns
        if each.present
    )


def _in_evaluation(answer: Evaluation) -> int:
    """Gains are differences of the values."""
    told = np.concatenate([answer.values, answer.errors, answer.gain_errors[1:]])
    return int(np.isfinite(told).sum())


_COUNTS: dict[str, Callable[[Any, Any], int]] = {
    "describe": lambda question, answer: _in_description(answer),
    "moments": lambda question, answer: numbers_in_sum(question.schema) * int((answer.rows > 0).sum()),
    "slopes": lambda question, answer: numbers_in_sum(question.schema) * _different_points(question),
    "expand": lambda question, answer: (
        numbers_in_sum(question.schema) * (int((answer.rows > 0).sum()) + question.points.shape[1])
    ),
    "fit-own": lambda question, answer: np.unique(answer.parameters, axis=0).size + len(np.unique(answer.penalties)),
    "fit-alone": lambda question, answer: answer.parameters.size + answer.penalties.size + answer.losses.size,
    "part-losses": lambda question, answer: len(answer.losses) * int(answer.losses.any(axis=0).sum()),
    "fit-estimator": lambda question, answer: -(-answer.model.size // _BYTES_OF_NUMBER),
    "stack-moments": lambda question, answer: _in_quadratic(answer),
    "stack-losses": lambda question, answer: len(answer.losses) * int(answer.losses.any(axis=0).sum()),
    "evaluate-stacks": lambda question, answer: _in_evaluation(answer),
    "test-stacks": lambda question, answer: _in_evaluation(answer),
    "evaluate": lambda question, answer: _in_evaluation(answer),
    "evaluate-linear": lambda question, answer: _in_evaluation(answer),
}


def _in_quadratic(answer: MomentsAnswer) -> int:
    """Return the numbers in gram, cross and square, of the parts that have rows."""
    size = int(answer.cross.shape[-1])
    return (size * (size + 1) // 2 + size + 1) * int((answer.rows > 0).sum())


def _different_points(question: Slopes) -> int:
    return len(np.unique(np.column_stack([question.parameters, question.views]), axis=0))


def count_numbers(kind: str, question: Any, answer: Any) -> int:
    """Return how many independent numbers there are in an answer that is computed from rows; 0 if it is not counted."""
    split: Split | None = getattr(question, "split", None)
    return 0 if kind not in _COUNTS or (split is not None and split.judges) else _COUNTS[kind](question, answer)


@dataclass(frozen=True, slots=True)
class Plan:
    """What leaves a client in a job: sums over each of some `parts` of its rows, 0 for none, and perhaps `slopes`."""

    parts: int
    slopes: bool = True


def plan(schema: Schema, rows: int, max_parts: int, limit: float, described: int) -> Plan:
    """Return the plan with the most parts whose disclosure is within the limit; `described` numbers are known already.

    Each part has so many rows that its own disclosure is within the limit too.

    >>> from comity.questions.schema import NumberColumn, Target
    >>> columns = tuple(NumberColumn(name, 0.0, 1.0, False) for name in "abc")
    >>> [plan(Schema(columns, Target("y", "regression")), rows, 5, 0.5, 8).parts for rows in (10, 20, 40, 80)]
    [0, 1, 4, 5]
    """
    each, columns, expanded = numbers_in_sum(schema), _count_columns(schema), schema.target.task in BY_EXPANSION
    allowed = limit * rows * columns - described
    for parts in range(min(max_parts, rows // _MIN_ROWS_OF_PART), 0, -1):
        if each > limit * (rows // parts) * columns:
            continue
        own = (schema.parameters + 1) * (1 + parts * (parts > 1)) if expanded else 0
        judged = (_EVALUATED + 2 * parts * expanded) * (parts > 1)
        needed = parts * each + own + judged
        if needed <= allowed:
            return Plan(parts, slopes=needed + _POINTS * each <= allowed)
    return Plan(0, slopes=False)


@dataclass(frozen=True, eq=False)
class Disclosed:
    """The rows of a client as its policy lets them out: all answers about its table are computed from these."""

    table: Rows
    policy: Policy
    listed: tuple[str, ...] = ()
    _limited: dict[tuple[Schema, Split], tuple[Plan, Rows]] = field(default_factory=dict, init=False)

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return math.isfinite(self.policy.disclosure)

    @property
    def least(self) -> int:
        """The least number of rows over which a sum may be known."""
        return math.floor(1 / self.policy.disclosure) + 1

    def asked(self, question: Any) -> Any:
        """Return the question that is answered: below a limit the seed is always the same, and judges are refused."""
        split: Split | None = getattr(question, "split", None)
        if split is None or not self.limited:
            return question
        if isinstance(question, FitEstimator | AboutStacks):
            raise RefusedError(
                f"client {self.table.owner!r} limits what it discloses, and a model of scikit-learn may hold rows; "
                "take the model linear, or ask it to lift the limit (disclosure = inf)"
            )
        if split.judges:
            raise RefusedError(
                f"client {self.table.owner!r} limits what it discloses, and answers only if rows are dealt once; take "
                "the search borrow, or ask it to lift the limit (disclosure = inf)"
            )
        return replace(question, split=replace(split, seed=0))

    def rows_for(self, question: Any) -> Rows:
        """Return the rows from which a question is answered: none if these are too few."""
        if not may_lack_rows(question) or isinstance(question, Describe):
            return self.table
        if len(self.table.frame) < self.policy.least_rows:
            return self._none
        if not self.limited:
            return self.table
        schema, split = question.schema, question.split
        if (schema, split) not in self._limited:
            noisy = self.table.noise is not None and self.table.noise.noisy
            self._limited[schema, split] = (Plan(split.folds), self.table) if noisy else self._limit(schema, split)
        plan, rows = self._limited[schema, split]
        if isinstance(question, Evaluate):
            self._check_all_count(question, rows)
        return self._none if isinstance(question, Slopes | Expand) and not plan.slopes else rows

    @property
    def _none(self) -> Rows:
        return Rows(self.table.owner, self.table.frame.iloc[:0])

    def describe(self, question: Describe) -> Description:
        """Return the summaries of the columns, of no rows if these are too few."""
        frame = self.table.frame
        answer = self._summary(frame, question)
        if len(frame) < self.policy.least_rows or (
            self.limited and _in_description(answer) > self.policy.disclosure * frame.size
        ):
            return self._summary(frame.iloc[:0], question)
        return answer

    def _summary(self, frame: pd.DataFrame, question: Describe) -> Description:
        most = min(question.most_levels, _MAX_LEVELS)
        listed = () if self.limited else self.listed
        columns = summarise(frame, question.target, question.classes, most, question.categories, listed)
        if self.limited:
            columns = tuple(each if each.name == question.target else _of_common(each, self.least) for each in columns)
        return Description(len(frame), columns)

    def numbers_for(self, question: Any, rows: int) -> int:
        """Return how many numbers there are in the rows that a question is about."""
        schema: Schema | None = getattr(question, "schema", None)
        return rows * (self.table.frame.shape[1] if schema is None else _count_columns(schema))

    def _limit(self, schema: Schema, split: Split) -> tuple[Plan, Rows]:
        here, limit = self.table.encoded(schema), self.policy.disclosure
        rows, max_parts = len(here.target), split.folds
        if here.classes:  # dealt into more parts, a class would be rare in each
            sizes = np.bincount(here.target.astype(np.intp))
            max_parts = min([max_parts, *(size // self.least for size in sizes.tolist() if size >= self.least)])
        if schema.target.time:  # the sums over a part with few events would show them
            max_parts = min(max_parts, int((here.target > 0).sum()) // self.least)
        max_parts = min(max_parts, max(rows // self.policy.least_part, 1))
        if not max_parts:
            return Plan(0, slopes=False), self._none
        categories = tuple(each.name for each in schema.columns if isinstance(each, CategoryColumn))
        asked = Describe(schema.target.name, bool(here.classes), categories=categories)
        described = _in_description(self._summary(self.table.frame, asked)) * _count_columns(schema)
        described = math.ceil(described / max(self.table.frame.shape[1], 1))
        while (found := plan(schema, rows, max_parts, limit, described)).parts:
            dealt = replace(self.table, max_parts=found.parts, _encoded={schema: here}, _splits={})
            masks = dealt.splits(schema, split).masks
            smallest = masks.sum(axis=1)[masks.any(axis=1)].min()
            large = smallest >= max(_MIN_ROWS_OF_PART, self.policy.least_part)
            if found.parts == 1 or (large and numbers_in_sum(schema) <= limit * smallest * _count_columns(schema)):
                dealt._encoded[schema] = hide_rare(here, schema, masks, self.least)
                return found, dealt
            max_parts = found.parts - 1  # groups of rows may be of any size
        return found, self._none

    def _check_all_count(self, question: Evaluate, rows: Rows) -> None:
        """Refuse to evaluate on some parts and not on others."""
        filled = rows.splits(question.schema, question.split).masks.any(axis=1)
        if any(np.unique(counted[filled]).size > 1 for counted in question.counted):
            raise RefusedError(f"client {rows.owner!r} evaluates models on all parts of its rows, not on some of them")


def _of_common(summary: ColumnSummary, least: int) -> ColumnSummary:
    """Return a summary without levels that fewer than `least` rows have, except for the most common one."""
    if not summary.levels:
        return summary
    most = max(summary.levels, key=lambda level: (summary.levels or {})[level])
    return replace(summary, levels={k: n for k, n in summary.levels.items() if n >= least or k == most})


def hide_rare(encoded: Encoded, schema: Schema, masks: Floats, least: int) -> Encoded:
    """Return encoded rows in which every part has `least` rows or more, or none, of a level, class or missing value.

    The same is done for numbers with two values. Rare values become the most common ones of the part.
    """
    features, target = encoded.features.copy(), encoded.target.copy()
    for mask in masks:
        here, start = np.flatnonzero(mask), 0
        for column in schema.columns:
            block = slice(start, start + len(column.features))
            start = block.stop
            features[here, block] = _common(features[here, block], isinstance(column, CategoryColumn), least)
        target[here] = _common(target[here, None], bool(encoded.classes), least)[:, 0]
    return Encoded(features, target, encoded.spec, encoded.exposure)


def _common(values: Floats, category: bool, least: int) -> Floats:
    """Return the values (n, k) of a column with the rare ones replaced, if its sums would show them.

    Sums over n rows of k numbers and of products with them show the groups of equal rows if there are at most k + 1.
    """
    if not values.size:
        return values
    found, group, sizes = np.unique(values, axis=0, return_inverse=True, return_counts=True)
    if not category and len(found) > values.shape[1] + 1:
        if values.shape[1] == 1:
            return values
        missing = values[:, 1] == 1  # beside many numbers: only who has none is shown
        if 0 < missing.sum() < least:
            return np.column_stack([values[:, 0], np.zeros(len(values))])
        if 0 < (~missing).sum() < least:
            return np.tile([0.0, 1.0], (len(values), 1))
        return values
    rare = sizes < least
    replaced = np.where(rare, sizes.argmax(), np.arange(len(found)))
    return np.asarray(found[replaced[group.ravel()]])
