"""Baselines: other methods of federated learning to compare with, the nine of the paper and others in common use.

Each method has a file of its own and a line in `METHODS`. All of them ask clients through `Federation.ask`, work on
tables and on torch modules, and use the same rows and the same budget.

>>> sorted(METHODS)[:4]
['afl', 'fedavg', 'fedavg-ft', 'fedper']
"""

from comity.research.baselines.afl import AFL
from comity.research.baselines.fedavg import FedAvg
from comity.research.baselines.fedper import FedPer
from comity.research.baselines.fine_tuning import FedAvgFineTuned
from comity.research.baselines.ifca import IFCA
from comity.research.baselines.lg_fedavg import LGFedAvg
from comity.research.baselines.local import Local
from comity.research.baselines.method import Method, Trained, refit, train
from comity.research.baselines.per_fedavg import PerFedAvg
from comity.research.baselines.pfedhn import PFedHN, PFedHNPersonal
from comity.research.baselines.pfedme import PFedMe
from comity.research.baselines.qffl import QFFL
from comity.research.baselines.session import Budget, Session

METHODS: dict[str, Method] = {
    "local": Local(),
    "fedavg": FedAvg(),
    "fedavg-ft": FedAvgFineTuned(),
    "per-fedavg": PerFedAvg(),
    "per-fedavg-hf": PerFedAvg(curvature=True),
    "fedper": FedPer(),
    "lg-fedavg": LGFedAvg(),
    "pfedme": PFedMe(),
    "pfedhn": PFedHN(),
    "pfedhn-pc": PFedHNPersonal(),
    "afl": AFL(),
    "q-ffl": QFFL(),
    "ifca": IFCA(),
}

__all__ = ["METHODS", "Budget", "Method", "Session", "Trained", "refit", "train"]
