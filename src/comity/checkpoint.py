"""A training kept on disk at intervals: whatever ends it costs little, and it goes on as if nothing had happened."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from comity.core.optional import require
from comity.errors import FormatError, InputError

if TYPE_CHECKING:
    from comity.fronts.hypernetwork import State, Trainer

_FILE = "training.safetensors"
_ARRAYS = ("parameters", "best")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Where a training is kept. Unless it is to `resume`, one that is there already is not touched."""

    directory: Path
    resume: bool = False

    @property
    def file(self) -> Path:
        """The file in which it is kept."""
        return self.directory / _FILE

    def check(self) -> None:
        """Check before any work that a training may be kept here."""
        if self.file.exists() and not self.resume:
            raise InputError(
                f"{self.directory}: a training that did not end is kept here; go on with it (--resume), or remove it"
            )

    def save(self, trainer: Trainer, state: State) -> None:
        """Keep a state: first in another file, so that there is always a whole one."""
        safetensors = require("safetensors.torch", "to keep trainings")
        arrays = {name: getattr(state, name).contiguous() for name in _ARRAYS}
        arrays |= {"mean": state.adam.mean.contiguous(), "square": state.adam.square.contiguous()}
        told = {
            "traffic": asdict(trainer.federation.traffic),
            "of": _fingerprint(trainer, state),
            "step": state.step,
            "adam_steps": state.adam.steps,
            "best_step": state.best_step,
            "best_loss": state.best_loss.hex(),
            "checks": [[step, loss.hex()] for step, loss in state.checks],
        }
        self.directory.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(dir=self.directory)
        try:
            with os.fdopen(number, "wb") as draft:
                draft.write(safetensors.save(arrays, metadata={"comity": json.dumps(told)}))
            Path(name).replace(self.file)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def load(self, trainer: Trainer, state: State) -> State:
        """Return the state that was kept, if there is one and it is to be gone on with; else the one given."""
        if not self.resume or not self.file.exists():
            return state
        safetensors = require("safetensors", "to go on with trainings")
        try:
            with safetensors.safe_open(self.file, framework="pt") as kept:
                told = json.loads(kept.metadata()["comity"])
                arrays = {name: kept.get_tensor(name) for name in kept.keys()}  # noqa: SIM118
        except (safetensors.SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
            raise FormatError(f"{self.file}: this is no training that was kept ({error})") from None
        if told.get("of") != _fingerprint(trainer, state):
            raise InputError(
                f"{self.file}: this training is of another model, other clients, columns or settings; go on with the "
                f"same, or remove {self.directory}"
            )
        try:
            state.parameters, state.best = (arrays[name] for name in _ARRAYS)
            state.adam.mean, state.adam.square, state.adam.steps = arrays["mean"], arrays["square"], told["adam_steps"]
            state.step, state.best_step = told["step"], told["best_step"]
            state.best_loss = float.fromhex(told["best_loss"])
            state.checks = [(step, float.fromhex(loss)) for step, loss in told["checks"]]
            for name, count in told["traffic"].items():  # what was asked before it was interrupted counts, too
                setattr(trainer.federation.traffic, name, int(count))
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"{self.file}: this is no training that was kept ({error})") from None
        return state

    def remove(self) -> None:
        """Remove what was kept, when the training has ended."""
        self.file.unlink(missing_ok=True)
        if self.directory.exists() and not any(self.directory.iterdir()):
            self.directory.rmdir()


def _fingerprint(trainer: Trainer, state: State) -> str:
    """Return a digest of what is trained, by whom and how."""
    told = [list(trainer.federation.clients), trainer.recipe.to_json(), asdict(trainer.settings), state.origin]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
