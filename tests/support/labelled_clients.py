"""Small federations whose target has two classes, and their schema."""

import numpy as np
import pandas as pd

from comity.client import Client
from comity.core.likelihood import LogLoss
from comity.families.problem import state_problem
from comity.federation import InProcess
from comity.questions.schema import Schema
from comity.rows.encoding import encode, encode_target
from comity.study import Study


def labelled(*rows: int, seed: int = 0, effect: float = 1.0) -> tuple[InProcess, Schema]:
    """Return clients c0, c1, … with these numbers of rows, and their schema; columns and noise determine classes."""
    rng = np.random.default_rng(seed)
    members = []
    for number, count in enumerate(rows):
        x = rng.normal(size=(count, 2))
        y = np.where(effect * x.sum(axis=1) + rng.logistic(size=count) > 0, "k1", "k0")
        members.append(Client(f"c{number}", pd.DataFrame(x, columns=["u", "v"]).assign(y=y)))
    federation = InProcess(tuple(members))
    return federation, state_problem(federation, Study("y")).schema


def loss_of(client: Client, schema: Schema) -> LogLoss:
    """Return the log loss on a client's rows."""
    return LogLoss(encode(client.rows, schema), encode_target(client.rows, schema), len(schema.target.classes))
