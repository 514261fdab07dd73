"""A client with examples of any shape for a torch module: images, sequences, whatever a dataset holds."""

import copy
import os
from collections.abc import Callable, Sized
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import default_collate

from comity.client.audit import AuditEntry
from comity.client.gate import Respondent
from comity.client.policy import Policy
from comity.client.privacy import Privacy
from comity.core.names import check_name
from comity.errors import InputError
from comity.families.network.answers.learner import Learner
from comity.families.network.losses import LOSSES
from comity.families.network.modules import Functional, check_module
from comity.families.network.prediction import TargetScale
from comity.questions import Describe, Description, Recipe
from comity.questions.schema import ColumnSummary

TARGET = "target"


@dataclass(frozen=True, eq=False)
class DatasetClient(Respondent):
    """An owner of examples, which never leave it; it answers the questions about networks.

    Args:
        name: The client's name.
        dataset: Pairs of an input and a target, as a torch dataset or as two tensors.
        module: The module whose parameters are trained.
        loss: The name of a loss, or a function of outputs and targets that returns the loss of each row.
        policy: What the client allows.
        test: Examples on which models are evaluated, and which have no other use.
        log: The audit log, an entry for each question.
        privacy: How answers are clipped and noised.
        log_file: A file to which the log is appended; what its entries spent counts as spent.

    Raises:
        InputError: If the examples, the module or the loss cannot be used.
    """

    name: str
    dataset: Any = field(repr=False)
    module: nn.Module = field(repr=False)
    loss: str | Callable[[Tensor, Tensor], Tensor] = "cross-entropy"
    policy: Policy = field(default_factory=Policy)
    test: Any = field(default=None, repr=False)
    log: list[AuditEntry] = field(default_factory=list, repr=False)
    privacy: Privacy | None = None
    log_file: str | os.PathLike[str] | None = None
    _examples: tuple[Tensor, Tensor] = field(init=False, repr=False)
    _tests: tuple[Tensor, Tensor] | None = field(init=False, repr=False, default=None)
    _learners: dict[Recipe, Learner] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        check_name(self.name)
        check_module(self.module)
        if isinstance(self.loss, str) and self.loss not in LOSSES:
            raise InputError(f"there is no loss {self.loss!r}; there are {', '.join(LOSSES)}, or give a function")
        object.__setattr__(self, "_examples", _tensors(self.name, self.dataset, self.loss))
        if self.test is not None:
            object.__setattr__(self, "_tests", _tensors(self.name, self.test, self.loss))
        self._open_log()

    def personal_state(self, model: str = "coalition") -> dict[str, Tensor]:
        """Return the personal parameters of a model, as they were trained last.

        Args:
            model: ``alone``, ``coalition`` or ``best``.

        Returns:
            The parameters by name; those that `Result.state_of` returns complete the model.

        Raises:
            InputError: If the client has trained no model with personal parameters.
        """
        personal = [learner for learner in self._learners.values() if learner.functional.personal]
        if not personal:
            raise InputError(f"client {self.name!r} has trained no model with personal parameters")
        learner = personal[-1]
        return learner.functional.named(learner.functional.personal, learner.personal.of(model)[-1])

    def _count_rows(self, *, test: bool) -> int:
        return len((self._tests if test and self._tests is not None else self._examples)[1])

    def _describe(self, question: Describe) -> Description:
        """Return the number of examples, and for classes the number of each."""
        targets = self._examples[1]
        levels = None
        if not targets.is_floating_point():
            classes, counts = torch.unique(targets, return_counts=True)
            levels = {str(int(each)): int(count) for each, count in zip(classes, counts, strict=True)}
        summary = ColumnSummary(TARGET, "number", len(targets), 0, len(levels or ()), levels=levels)
        return Description(len(targets), (summary,))

    def learner(self, recipe: Recipe) -> Learner:
        """Return the learner that trains networks by a recipe; it keeps its state between questions."""
        if recipe not in self._learners:
            inputs, targets = self._examples
            if self._tests is not None:
                inputs, targets = (torch.cat(both) for both in zip(self._examples, self._tests, strict=True))
            classes = 0 if targets.is_floating_point() else int(targets.max()) + 1
            self._learners[recipe] = Learner(
                owner=self.name,
                recipe=recipe,
                functional=Functional.of(copy.deepcopy(self.module), recipe.personal),
                loss=LOSSES[self.loss] if isinstance(self.loss, str) else self.loss,
                inputs=inputs,
                targets=targets,
                strata=targets.double().numpy() if classes else np.zeros(len(targets)),
                target_scale=TargetScale(classes),
                test_rows=0 if self._tests is None else len(self._tests[1]),
                noise=self._noise,
            )
        return self._learners[recipe]


def _fitting(name: str, targets: Tensor, loss: object) -> Tensor:
    """Return targets as a loss needs them: one number or one class for each row."""
    if targets.dim() == 2 and targets.shape[1] == 1:
        targets = targets[:, 0]
    if targets.dim() != 1:
        raise InputError(f"client {name!r} has targets of shape {tuple(targets.shape)}; there must be one a row")
    if loss == "squared":
        return targets if targets.is_floating_point() else targets.float()
    if loss == "cross-entropy" and targets.is_floating_point():
        raise InputError(
            f"client {name!r} has targets of type {targets.dtype}; for the loss 'cross-entropy' they must be classes, "
            "whole numbers from 0 on"
        )
    if not targets.is_floating_point() and int(targets.min()) < 0:
        raise InputError(f"client {name!r} has the class {int(targets.min())}; classes are whole numbers from 0 on")
    return targets


def _tensors(name: str, dataset: Any, loss: object) -> tuple[Tensor, Tensor]:
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
    if any(each.is_floating_point() and not torch.isfinite(each).all() for each in (inputs, targets)):
        raise InputError(f"client {name!r} has a value that is missing or infinite; mend it")
    return inputs, _fitting(name, targets, loss)
