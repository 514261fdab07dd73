"""Checkpoints: the state of a training, saved at intervals, from which an interrupted training is resumed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from comity.core.extras import require
from comity.core.files import open_atomic
from comity.core.wording import mention
from comity.errors import FormatError, InputError
from comity.questions import to_plain

if TYPE_CHECKING:
    from comity.families.network.trainer import State, Trainer

_FILE = "training.safetensors"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The directory of a checkpoint. One that is already there is left untouched, except to `resume` from it."""

    directory: Path
    resume: bool = False

    @property
    def file(self) -> Path:
        """The file that holds the state."""
        return self.directory / _FILE

    def check(self) -> None:
        """Check before training that the checkpoint may be written here."""
        if self.file.exists() and not self.resume:
            raise InputError(
                f"{self.directory}: a training that did not end is kept here; continue it "
                f"({mention('resume', True)}), or remove it"
            )

    def save(self, trainer: Trainer, state: State) -> None:
        """Save a state, completely or not at all."""
        safetensors = require("safetensors.torch", "to keep trainings")
        adam = state.adam
        arrays = {"parameters": state.parameters, "best": state.best, "mean": adam.mean, "square": adam.square}
        metadata = {
            "traffic": asdict(trainer.federation.traffic),
            "of": _fingerprint(trainer, state),
            "step": state.step,
            "adam_steps": adam.steps,
            "best_step": state.best_step,
            "best_loss": state.best_loss.hex(),
            "checks": [[step, loss.hex()] for step, loss in state.checks],
        }
        content = safetensors.save(
            {name: array.contiguous() for name, array in arrays.items()}, metadata={"comity": json.dumps(metadata)}
        )
        self.directory.mkdir(parents=True, exist_ok=True)
        with open_atomic(self.file) as opened:
            opened.write(content)

    def load(self, trainer: Trainer, state: State) -> State:
        """Return the saved state if there is one to resume from, else the given one."""
        if not self.resume or not self.file.exists():
            return state
        safetensors = require("safetensors", "to go on with trainings")
        try:
            with safetensors.safe_open(self.file, framework="pt") as saved:
                metadata = json.loads(saved.metadata()["comity"])
                arrays = {name: saved.get_tensor(name) for name in saved.keys()}  # noqa: SIM118
            adam = replace(state.adam, mean=arrays["mean"], square=arrays["square"], steps=metadata["adam_steps"])
            resumed = replace(
                state,
                parameters=arrays["parameters"],
                adam=adam,
                best=arrays["best"],
                best_step=metadata["best_step"],
                best_loss=float.fromhex(metadata["best_loss"]),
                step=metadata["step"],
                checks=[(step, float.fromhex(loss)) for step, loss in metadata["checks"]],
            )
            traffic = {name: int(count) for name, count in metadata["traffic"].items()}
        except (safetensors.SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
            raise FormatError(f"{self.file}: this is no training that was kept ({error})") from None
        if metadata.get("of") != _fingerprint(trainer, state):
            raise InputError(
                f"{self.file}: this training is of another model, other clients, columns or settings; go on with the "
                f"same, or remove {self.directory}"
            )
        for name, count in traffic.items():  # the traffic before the interruption counts too
            setattr(trainer.federation.traffic, name, count)
        return resumed

    def remove(self) -> None:
        """Remove the checkpoint after the training has ended."""
        self.file.unlink(missing_ok=True)
        if self.directory.exists() and not any(self.directory.iterdir()):
            self.directory.rmdir()


def _fingerprint(trainer: Trainer, state: State) -> str:
    """Return a digest of the clients, the recipe, the settings and the initial parameters."""
    identity = [list(trainer.federation.clients), to_plain(trainer.recipe), asdict(trainer.settings), state.origin]
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
