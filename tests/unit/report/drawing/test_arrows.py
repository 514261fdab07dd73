"""Arrows between boxes go around others where they can."""

import numpy as np

from comity.report.drawing.arrows import bend_around, bend_inward, middle_of, usual_bend


def test_without_obstacles_the_bend_is_the_usual_one() -> None:
    assert bend_around((0, 0), (4, 0), np.empty((0, 4))) == usual_bend((0, 0), (4, 0))
    assert bend_around((0, 0), (4, 0), np.array([[1, 5, 2, 6]])) == usual_bend((0, 0), (4, 0))


def test_an_arrow_goes_around_a_box() -> None:
    bend = bend_around((0, 0), (4, 0), np.array([[1.0, -0.4, 3.0, 0.4]]))
    assert abs(middle_of((0, 0), (4, 0), bend)[1]) > 0.4


def test_without_a_way_around_the_bend_is_the_usual_one() -> None:
    assert bend_around((0, 0), (4, 0), np.array([[1.0, -9, 3.0, 9]])) == usual_bend((0, 0), (4, 0))


def test_on_a_circle_arrows_to_and_fro_bend_inward_apart() -> None:
    left, right = (-0.6, 0.8), (0.6, 0.8)
    there = middle_of(left, right, bend_inward(left, right, (0, 0)))
    back = middle_of(right, left, bend_inward(right, left, (0, 0)))
    assert 0 < back[1] < there[1] < 0.8
