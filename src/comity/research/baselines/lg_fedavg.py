"""LG-FedAvg: a shared head and a personal representation."""

from dataclasses import dataclass
from typing import ClassVar, final

from comity.research.baselines.fedavg import Averaging
from comity.research.baselines.session import Part


@final
@dataclass(frozen=True)
class LGFedAvg(Averaging):
    """Local representations (Liang et al. 2020, Algorithm 1): θ_g ← Σ (n_i / n) θ_g,i for the head only.

    The body, which represents the inputs, is trained together with the head and never leaves its client.
    """

    personal: ClassVar[Part] = "body"
