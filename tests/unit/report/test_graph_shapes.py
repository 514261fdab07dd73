"""The shapes of a report: an arrow meets no client but its own two."""

from __future__ import annotations

import re

import numpy as np
import pytest

from comity.report import describe_equilibrium
from comity.report.graph_shapes import group_clients, lay_out_graph
from support.reports import graph_document

NUMBER = re.compile(r"-?[\d.]+")
WISHES = [
    {"North": ["South", "Clinic"], "South": ["North"], "Clinic": []},
    {"North": ["South"], "South": ["North", "Clinic"], "Clinic": []},
    {"a": ["b"], "b": ["c"], "c": ["a", "x"], "x": ["y"], "y": ["x", "z"], "z": []},
    {"a": ["b"], "b": ["a", "c"], "c": ["d", "a"], "d": ["c"], "e": ["b", "d"]},
]


def met(line: str, x: float, y: float, radius: float) -> bool:
    """Tell whether a line, a quadratic curve, comes within a circle."""
    first, control, last = np.array(list(map(float, NUMBER.findall(line)))).reshape(3, 2)
    share = np.linspace(0, 1, 200)[:, None]
    points = (1 - share) ** 2 * first + 2 * share * (1 - share) * control + share**2 * last
    return bool((np.hypot(points[:, 0] - x, points[:, 1] - y) < radius).any())


@pytest.mark.parametrize("wishes", WISHES)
def test_arrows_go_around_other_clients(wishes: dict[str, list[str]]) -> None:
    story = describe_equilibrium(graph_document(wishes))
    shapes = lay_out_graph(story, group_clients(story))
    for (giver, receiver), arrow in zip(story.edges, shapes.arrows, strict=True):
        for name, node in zip(story.names, shapes.nodes, strict=True):
            if name not in (giver, receiver):
                assert not met(arrow.line, node.x, node.y, shapes.radius), (giver, receiver, name)
