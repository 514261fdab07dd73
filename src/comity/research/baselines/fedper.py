"""FedPer: a shared body and a personal head."""

from dataclasses import dataclass
from typing import ClassVar, final

from comity.research.baselines.fedavg import Averaging
from comity.research.baselines.session import Part


@final
@dataclass(frozen=True)
class FedPer(Averaging):
    """Personalisation layers (Arivazhagan et al. 2019, Algorithms 1 and 2): w_B ← Σ (n_i / n) w_B,i for the body only.

    The head, which is the last layer, is trained together with the body and never leaves its client.
    """

    personal: ClassVar[Part] = "head"
