"""The settings of a hypernetwork's training."""

from dataclasses import dataclass, field
from typing import Annotated

from comity.core.settings import check_settings, real, whole
from comity.errors import InputError
from comity.families.network.hypernetworks import Hypernetwork
from comity.families.network.rays import Rays
from comity.questions.networks import Parametrisation
from comity.search.scalarisers import SCALARISERS


@dataclass(frozen=True, slots=True)
class Training:
    """How a hypernetwork is trained.

    Attributes:
        kind: Which kind of `Hypernetwork`; `width`, `depth` and `rank` are its sizes.
        scalariser: How clients' gradients are weighted for a ray: a name in `SCALARISERS`.
        rays: How rays (shares of the clients) are drawn.
        per_step: Number of rays in a step.
        steps: Number of steps.
        rate: Learning rate of the first step; it falls along a cosine.
        checks: Number of times that the held-out loss is computed, spread evenly; the best parameters are kept.
        check_rays: Number of rays, drawn once, on which it is computed.
        patience: Number of checks without improvement after which training ends; 0 means never.
        local_steps: Number of steps that clients take between two exchanges; 0 means exact gradients.
        local_rate: Learning rate of local steps.
        rate_alone: First learning rate of the models that clients train alone, and ten times that of fine-tuning.
        steps_alone: Number of steps of models that clients train alone; 0 means as many as `steps`.
        seed: Determines the rays and the initial parameters.
    """

    kind: Parametrisation = "residual"
    width: int = 64
    depth: int = 2
    rank: int = 16
    scalariser: str = "linear"
    rays: Rays = field(default_factory=Rays)
    per_step: Annotated[int, whole(1)] = 8
    steps: Annotated[int, whole(1)] = 800
    rate: Annotated[float, real(0, closed=False)] = 5e-3
    checks: Annotated[int, whole(1)] = 20
    check_rays: Annotated[int, whole()] = 48
    patience: Annotated[int, whole()] = 0
    local_steps: Annotated[int, whole()] = 0
    local_rate: Annotated[float, real(0, closed=False)] = 1e-3
    rate_alone: Annotated[float, real(0, closed=False)] = 1e-2
    steps_alone: Annotated[int, whole()] = 0
    seed: int = 0

    def __post_init__(self) -> None:
        check_settings(self)
        if self.scalariser not in SCALARISERS:
            raise InputError(f"there is no scalariser {self.scalariser!r}; there are {', '.join(SCALARISERS)}")
        if self.local_steps and self.scalariser != "linear":
            raise InputError(
                f"the scalariser {self.scalariser!r} needs every client's gradient, which local steps do not give; "
                "take exact gradients (no local steps) or the scalariser 'linear'"
            )

    def network(self, clients: int, size: int) -> Hypernetwork:
        """Return the hypernetwork for a number of clients and of parameters of a model."""
        return Hypernetwork(clients, size, self.kind, self.width, self.depth, self.rank)
