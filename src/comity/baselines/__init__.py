"""Other ways to train models for clients, to compare with: the nine of the paper, and those that users ask for.

Each is a file, and a line here. All go through `Federation.ask`, on tables and on torch modules, with the same rows and
the same budget.

>>> sorted(METHODS)[:4]
['afl', 'fedavg', 'fedavg-ft', 'fedper']
"""

from comity.baselines.afl import AFL
from comity.baselines.fedavg import FedAvg
from comity.baselines.fedper import FedPer
from comity.baselines.fine_tuning import FedAvgFineTuned
from comity.baselines.ifca import IFCA
from comity.baselines.lg_fedavg import LGFedAvg
from comity.baselines.local import Local
from comity.baselines.method import Method, Trained, refit, train
from comity.baselines.per_fedavg import PerFedAvg
from comity.baselines.pfedhn import PFedHN, PFedHNPersonal
from comity.baselines.pfedme import PFedMe
from comity.baselines.qffl import QFFL
from comity.baselines.session import Budget, Session

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

__all__ = [
    "AFL",
    "IFCA",
    "METHODS",
    "QFFL",
    "Budget",
    "FedAvg",
    "FedAvgFineTuned",
    "FedPer",
    "LGFedAvg",
    "Local",
    "Method",
    "PFedHN",
    "PFedHNPersonal",
    "PFedMe",
    "PerFedAvg",
    "Session",
    "Trained",
    "refit",
    "train",
]
