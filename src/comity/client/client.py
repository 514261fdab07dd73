"""A client with a table: private rows in, answers out."""

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from comity.client.audit import AuditEntry
from comity.client.disclosure import Disclosed
from comity.client.gate import Respondent
from comity.client.policy import Policy
from comity.client.privacy import Privacy
from comity.core.extras import require
from comity.core.names import check_name
from comity.core.text import count
from comity.errors import InputError
from comity.questions import Describe, Description, Recipe
from comity.questions.schema import list_columns
from comity.rows.columns import level_of
from comity.rows.rows import Rows
from comity.rows.splits import Keys


@dataclass(frozen=True, eq=False)
class Client(Respondent):
    """An owner of rows, which never leave it: `answer` gives what its policy allows, and `log` records it.

    Args:
        name: The client's name.
        rows: The table to train with.
        policy: What the client allows.
        test: Rows on which models are evaluated, and which have no other use.
        log: The audit log, an entry for each question.
        privacy: How answers are clipped and noised; those that noise covers are listed by `Privacy.covered`.
        log_file: A file to which the log is appended; what its entries spent counts as spent.
        group: A column whose rows with equal values, such as those of one patient, are held out together. Nothing else
            is done with it, and it is not described to anybody.
        listed: Columns of text whose values are listed however few rows there are, up to a hundred, unless disclosure
            is limited. They are known where all tables are read in one process, never at a site of a federation.

    Raises:
        InputError: If the name is empty, two columns have the same name, or the group is missing.

    >>> from comity.questions import Describe
    >>> client = Client("North", pd.DataFrame({"dose": range(20), "effect": range(20)}))
    >>> client.answer(Describe("effect")).rows
    20
    >>> [(entry.question, entry.rows) for entry in client.log]
    [('describe', 20)]
    """

    name: str
    rows: pd.DataFrame = field(repr=False)
    policy: Policy = field(default_factory=Policy)
    test: pd.DataFrame | None = field(default=None, repr=False)
    log: list[AuditEntry] = field(default_factory=list, repr=False)
    privacy: Privacy | None = None
    log_file: str | os.PathLike[str] | None = None
    group: str | None = None
    listed: tuple[str, ...] = ()
    _disclosed: Disclosed = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_name(self.name)
        rows, test = _with_text_names(self.rows), None if self.test is None else _with_text_names(self.test)
        double = rows.columns[rows.columns.duplicated()]
        if len(double):
            raise InputError(f"client {self.name!r} has two columns {double[0]!r}; give every column one name")
        groups = None if self.group is None else self._group_of(rows, self.group)
        if self.group is not None:
            rows, test = (
                frame if frame is None else frame.drop(columns=self.group, errors="ignore") for frame in (rows, test)
            )
        self._open_log()
        table = Rows(self.name, rows, test, self._noise, groups, least_part=self.policy.least_part)
        object.__setattr__(self, "_disclosed", Disclosed(table, self.policy, self.listed))

    def _group_of(self, rows: pd.DataFrame, column: str) -> Keys:
        """Return a hash of each row's group."""
        if column not in rows.columns:
            columns = list_columns([*map(str, rows.columns)], column)
            raise InputError(f"client {self.name!r} has no column {column!r}, which groups its rows; {columns}")
        if missing := int(rows[column].isna().sum()):
            raise InputError(
                f"column {column!r}, which groups rows, is missing in {count(missing, 'row')} of client {self.name!r}; "
                "fill it in, or take these rows out"
            )
        return np.asarray(pd.util.hash_array(rows[column].astype(object).map(level_of).to_numpy(object)))

    @property
    def groups(self) -> Keys | None:
        """A number for each row, equal for rows that are held out together; None if there is no group."""
        return self._disclosed.table.groups

    def learner(self, recipe: Recipe) -> Any:
        """Return the learner that trains networks by a recipe; it keeps its state between questions.

        Args:
            recipe: The model, the loss, and how the rows are split.
        """
        require("torch", "to train neural networks")
        from comity.families.network.answers.learner import learner_of

        return learner_of(self._disclosed.table, recipe)

    def _count_rows(self, *, test: bool) -> int:
        return len(self.test if test and self.test is not None else self.rows)

    def _describe(self, question: Describe) -> Description:
        return self._disclosed.describe(question)


def _with_text_names(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose columns are named by text: others, such as 0, 1, 2 …, cannot be sent."""
    return frame.set_axis([level_of(name) for name in frame.columns], axis=1)
