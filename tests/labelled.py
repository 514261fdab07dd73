"""A small federation whose target is one of two classes, with the schema it agrees on and its rows as numbers."""

import numpy as np
import pandas as pd

from comity.client import Client
from comity.encoding import encode, encode_target
from comity.federation import InProcess
from comity.learn import agree_on
from comity.likelihood import LogLoss
from comity.schema import Schema
from comity.study import Study


def labelled(*rows: int, seed: int = 0, effect: float = 1.0) -> tuple[InProcess, Schema]:
    """Clients c0, c1, … with so many rows each: the classes k0 and k1 follow from two columns, and chance."""
    rng = np.random.default_rng(seed)
    members = []
    for number, count in enumerate(rows):
        x = rng.normal(size=(count, 2))
        y = np.where(effect * x.sum(axis=1) + rng.logistic(size=count) > 0, "k1", "k0")
        members.append(Client(f"c{number}", pd.DataFrame(x, columns=["u", "v"]).assign(y=y)))
    federation = InProcess(tuple(members))
    return federation, agree_on(federation, Study("y"))[1].schema


def loss_of(client: Client, schema: Schema) -> LogLoss:
    """Return the log loss on a client's rows."""
    return LogLoss(encode(client.rows, schema), encode_target(client.rows, schema), len(schema.target.classes))
