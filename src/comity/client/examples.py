"""A client with examples of any shape, for a torch module: images, sequences, whatever a dataset holds."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Sized
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import default_collate

from comity.client.audit import Given
from comity.client.desk import Desk, judges
from comity.client.policy import Policy
from comity.client.privacy import Privacy
from comity.core import check_name
from comity.errors import InputError
from comity.neural.answers import ANSWERS
from comity.neural.described import Described
from comity.neural.learner import Learner
from comity.neural.losses import LOSSES, RowLoss
from comity.neural.modules import Functional, check_module
from comity.neural.recipe import Recipe
from comity.questions import Description
from comity.schema import ColumnSummary

TARGET = "target"


@dataclass(frozen=True, eq=False)
class DatasetClient:
    """An owner of examples, which go nowhere: pairs of an input and a target, in a torch dataset or as two tensors.

    It has the `module` whose parameters are trained, and the `loss`: a name, or a function of outputs and targets that
    gives each row's loss. What it answers is what a table's `Client` answers about networks. Examples to `test` with,
    if there are some, judge models and do nothing else. `privacy` and `log_file` are as a table's client has them.
    """

    name: str
    dataset: Any = field(repr=False)
    module: nn.Module = field(repr=False)
    loss: str | Callable[[Tensor, Tensor], Tensor] = "cross-entropy"
    policy: Policy = field(default_factory=Policy)
    test: Any = field(default=None, repr=False)
    log: list[Given] = field(default_factory=list, repr=False)
    privacy: Privacy | None = None
    log_file: str | os.PathLike[str] | None = None
    _desk: Desk = field(init=False, repr=False)
    _examples: tuple[Tensor, Tensor] = field(init=False, repr=False)
    _tests: tuple[Tensor, Tensor] | None = field(init=False, repr=False, default=None)
    _learners: dict[str, Learner] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        check_name(self.name)
        check_module(self.module)
        if isinstance(self.loss, str) and self.loss not in LOSSES:
            raise InputError(f"there is no loss {self.loss!r}; there are {', '.join(LOSSES)}, or give a function")
        object.__setattr__(self, "_examples", self._pairs(self.dataset))
        if self.test is not None:
            object.__setattr__(self, "_tests", self._pairs(self.test))
        desk = Desk.open(self.name, self.policy, self.privacy, self.log, self.log_file)
        object.__setattr__(self, "_desk", desk)

    def answer(self, question: object) -> Any:
        """Answer a question, or refuse it."""
        examples = self._tests if self._tests is not None and judges(question) else self._examples
        return self._desk.answer(question, len(examples[1]), self._reply)

    def _reply(self, kind: str, question: Any) -> Any:
        if kind == "describe":
            return self._describe()
        if kind in ANSWERS:
            return ANSWERS[kind](self.learner(question.recipe), question)
        raise InputError(f"client {self.name!r} has examples and no table; it cannot answer {kind!r}")

    def personal_state(self, model: str = "coalition") -> dict[str, Tensor]:
        """Return the parameters that never left this client, by their names, as they were trained last.

        `model` is ``alone``, ``coalition`` or ``best``; with what `Result.state_of` has, they make the whole model.
        """
        personal = [learner for learner in self._learners.values() if learner.functional.personal]
        if not personal:
            raise InputError(f"client {self.name!r} has trained no model with personal parameters")
        learner = personal[-1]
        return learner.functional.state_of_personal(learner.personal.of(model)[-1])

    def _pairs(self, dataset: Any) -> tuple[Tensor, Tensor]:
        inputs, targets = _stacked(self.name, dataset)
        return inputs, _fitting(self.name, targets, self.loss)

    def _describe(self) -> Description:
        """Tell how many examples there are, and of classes how many of each."""
        targets = self._examples[1]
        summary = ColumnSummary(TARGET, "number", len(targets), 0, 0)
        if not targets.is_floating_point():
            classes, counts = torch.unique(targets, return_counts=True)
            levels = {str(int(each)): int(count) for each, count in zip(classes, counts, strict=True)}
            summary = ColumnSummary(TARGET, "number", len(targets), 0, len(levels), levels=levels)
        return Description(len(targets), json.dumps([asdict(summary)]))

    def learner(self, recipe: str) -> Learner:
        """Return what trains networks by a recipe (JSON), with what it remembers from question to question."""
        if recipe not in self._learners:
            inputs, targets = self._examples
            if self._tests is not None:
                inputs, targets = (torch.cat(both) for both in zip(self._examples, self._tests, strict=True))
            classes = 0 if targets.is_floating_point() else int(targets.max()) + 1
            loss: RowLoss = LOSSES[self.loss] if isinstance(self.loss, str) else self.loss
            wanted = Recipe.from_json(recipe)
            self._learners[recipe] = Learner(
                owner=self.name,
                recipe=wanted,
                functional=Functional.of(copy.deepcopy(self.module), wanted.personal),
                loss=loss,
                inputs=inputs,
                targets=targets,
                strata=targets.double().numpy() if classes else np.zeros(len(targets)),
                described=Described(classes),
                apart=0 if self._tests is None else len(self._tests[1]),
                noise=self._desk.noise,
            )
        return self._learners[recipe]


def _fitting(name: str, targets: Tensor, loss: object) -> Tensor:
    """Return targets as a loss wants them: one number a row, or one class."""
    if targets.dim() == 2 and targets.shape[1] == 1:
        targets = targets[:, 0]
    if targets.dim() != 1:
        raise InputError(f"client {name!r} has targets of shape {tuple(targets.shape)}; there must be one a row")
    if loss == "squared":
        return targets.float() if not targets.is_floating_point() else targets
    if loss == "cross-entropy" and targets.is_floating_point():
        raise InputError(
            f"client {name!r} has targets of type {targets.dtype}; for the loss 'cross-entropy' they must be classes, "
            "whole numbers from 0 on"
        )
    if not targets.is_floating_point() and int(targets.min()) < 0:
        raise InputError(f"client {name!r} has the class {int(targets.min())}; classes are whole numbers from 0 on")
    return targets


def _stacked(name: str, dataset: Any) -> tuple[Tensor, Tensor]:
    """Return all inputs and all targets of a dataset as tensors."""
    if isinstance(dataset, tuple) and len(dataset) == 2:
        inputs, targets = (torch.as_tensor(each) for each in dataset)
    elif isinstance(dataset, Sized) and hasattr(dataset, "__getitem__"):
        if not len(dataset):
            raise InputError(f"client {name!r} has no examples")
        try:
            inputs, targets = default_collate([dataset[place] for place in range(len(dataset))])
        except (TypeError, ValueError, RuntimeError) as error:
            raise InputError(
                f"the examples of client {name!r} are not pairs of an input and a target, all of one shape "
                f"({str(error).splitlines()[0]})"
            ) from None
    else:
        raise InputError(
            f"the examples of client {name!r} must be a torch dataset of pairs, or two tensors, not "
            f"{type(dataset).__name__}"
        )
    if len(inputs) != len(targets):
        raise InputError(f"client {name!r} has {len(inputs)} inputs and {len(targets)} targets")
    finite = [each for each in (inputs, targets) if each.is_floating_point() and not torch.isfinite(each).all()]
    if finite:
        raise InputError(f"client {name!r} has a value that is missing or infinite; mend it")
    return inputs, targets
