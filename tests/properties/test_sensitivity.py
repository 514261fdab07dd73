"""What noise hides: a row more or less changes the sums that noise is added to by the sensitivity at most."""

from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comity.families.glm.answers.moments import expand, moments, slopes
from comity.families.network.answers.learner import learner_of
from comity.families.network.answers.replies import gradients, local_steps
from comity.families.network.hypernetworks import Hypernetwork
from comity.questions import Expand, Gradients, LocalSteps, Moments, Recipe, Slopes, Split
from comity.questions.schema import agree
from comity.rows.encoding import summarise
from comity.rows.noise import Noise
from comity.rows.rows import Rows
from comity.rows.splits import max_squared_count, row_keys, split_independently

ROWS = 24


@dataclass(frozen=True, eq=False)
class Seen(Noise):
    """Noise that is noted instead of added: the sums, and by how much a row may change them."""

    seen: list[tuple[np.ndarray, float]] = field(default_factory=list)

    def add_to(self, squares, *arrays):
        self.seen.append((np.concatenate([array.ravel() for array in arrays]), self.sensitivity(squares)))
        return arrays


@dataclass(frozen=True, eq=False)
class Blind(Noise):
    """Noise so large that nothing is left of the sums."""

    def add_to(self, squares, *arrays):
        return tuple(np.zeros_like(array) for array in arrays)


def table(seed: int, classes: int, wild: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(ROWS, 2)), columns=["a", "b"])
    frame["c"] = rng.choice(["u", "v"], ROWS)
    frame["y"] = rng.integers(classes, size=ROWS).astype(float) if classes else rng.normal(size=ROWS)
    if wild:
        frame.loc[0, "a"] = 10.0 ** rng.integers(0, 200)
    frame.loc[5] = frame.loc[6]  # rows may be alike
    return frame


def schema(classes: int) -> str:
    frame = table(0, classes)
    frame.loc[: max(classes, 1) - 1, "y"] = range(max(classes, 1))
    task = "classes" if classes else "regression"
    return agree({"a": summarise(frame, "y", bool(classes), 20)}, "y", task=task).schema


SCHEMAS = {classes: schema(classes) for classes in (0, 2, 3)}
SPLITS = st.builds(
    Split, folds=st.integers(2, 3), repeats=st.integers(1, 2), judges=st.sampled_from([0, 1, 2, 3]),
    resamples=st.integers(0, 3), seed=st.integers(0, 5),
).map(lambda split: split if split.judges else replace(split, repeats=1, resamples=0))  # fmt: skip


def points(*shape: int, scale: float = 1.0) -> np.ndarray:
    return scale * np.random.default_rng(0).normal(size=shape)


@cache
def size_of(classes: int) -> int:
    encoded = Rows("a", table(0, classes)).encoded(SCHEMAS[classes])
    return encoded.loss.size if classes else encoded.features.shape[1]


def answered(kind: str, frame: pd.DataFrame, classes: int, split: Split, noise: Noise, scale: float = 1.0):
    return answer_of(kind, Rows("a", frame, None, noise), classes, split, scale)


def answer_of(kind: str, rows: Rows, classes: int, split: Split, scale: float = 1.0):
    size = size_of(classes)
    if kind == "moments":
        at = points(split.views, size, scale=scale) if classes else np.empty((0, size))
        return moments(rows, Moments(SCHEMAS[classes], split, at))
    if kind == "expand":
        return expand(rows, Expand(SCHEMAS[classes], split, points(split.views, 3, size, scale=scale), 1))
    views = np.random.default_rng(split.seed).integers(split.views, size=4).astype(float)
    return slopes(rows, Slopes(SCHEMAS[classes], split, points(4, size, scale=scale), views))


def difference(kind: str, frame: pd.DataFrame, without: int, *settings, **options) -> tuple[float, float]:
    """How far the sums of neighbouring tables are apart, and how far they may be."""
    classes, split, clip = settings
    noise = Seen(clip, 1.0)
    answered(kind, frame, classes, split, noise, **options)
    answered(kind, frame.drop(index=without), classes, split, noise, **options)
    (one, allowed), (other, same) = noise.seen
    assert allowed == same, "the sensitivity must not hang on the rows"
    return float(np.linalg.norm(one - other)), allowed


KINDS = st.sampled_from([("moments", 0), ("moments", 2), ("moments", 3), ("expand", 2), ("expand", 3), ("slopes", 3)])


@settings(max_examples=60)
@given(KINDS, st.integers(0, 1000), st.integers(0, ROWS - 1), SPLITS, st.floats(0.01, 100), st.booleans(),
       st.sampled_from([0.0, 1.0, 1e3, 1e200]))  # fmt: skip
def test_a_row_changes_no_more_than_is_said(kind, seed, without, split, clip, wild, scale) -> None:
    name, classes = kind
    frame = table(seed, classes, wild)
    far, allowed = difference(name, frame, without, classes, split, clip, scale=scale)
    assert far <= allowed * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize(("kind", "classes"), [("moments", 0), ("moments", 2), ("expand", 3), ("slopes", 2)])
@pytest.mark.parametrize("split", [Split(3, 2, 4), Split(2, 1, 2, resamples=2)], ids=str)
def test_some_row_changes_as_much_as_is_said(kind: str, classes: int, split: Split) -> None:
    """The sensitivity is no larger than it must be: some clipped row attains it, up to what the answer leaves out."""
    frame = table(3, classes)
    ratios = [np.divide(*difference(kind, frame, row, classes, split, 0.05)) for row in range(ROWS)]
    assert max(ratios) == pytest.approx(1.0, abs=0.3 if kind == "expand" else 1e-9)


@settings(max_examples=20)
@given(KINDS, st.integers(0, 1000), SPLITS)
def test_nothing_goes_past_the_noise(kind, seed, split) -> None:
    """With sums that say nothing, the answers about different tables are the same."""
    name, classes = kind
    one, other = (answered(name, table(each, classes), classes, split, Blind(1.0, 1.0)) for each in (seed, seed + 1))
    for part in one.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(one, part), getattr(other, part))


def test_clipping_alone_keeps_the_split_and_long_clips_change_nothing() -> None:
    split = Split(3, 2, 4, 2)
    for kind, classes in (("moments", 0), ("moments", 3), ("expand", 2), ("slopes", 3)):
        plain = answered(kind, table(1, classes), classes, split, None)
        clipped = answered(kind, table(1, classes), classes, split, Noise(1e9, 0.0))
        for part in plain.__dataclass_fields__:
            np.testing.assert_allclose(getattr(clipped, part), getattr(plain, part), atol=1e-9)


@pytest.mark.parametrize(("kind", "classes"), [("moments", 0), ("moments", 3), ("expand", 3), ("slopes", 2)])
def test_noise_is_as_wide_as_is_said_and_keeps_matrices_symmetric(kind: str, classes: int) -> None:
    split, generator = Split(2, 1, 3), np.random.default_rng(0)
    frame, clip = table(1, classes), 2.0
    exact = Seen(clip, 1.5)
    quiet = answered(kind, frame, classes, split, exact)
    rows = Rows("a", frame, None, Noise(clip, 1.5, generator))
    drawn = [answer_of(kind, rows, classes, split) for _ in range(100)]
    deviation = 1.5 * exact.seen[0][1]
    name = "curvatures" if kind == "slopes" else "gram"
    scale = 1.0 if kind == "slopes" or not classes else 0.5
    apart = np.stack([getattr(each, name) for each in drawn]) - getattr(quiet, name)
    np.testing.assert_array_equal(apart, apart.swapaxes(-1, -2))
    assert np.sqrt((apart**2).mean()) == pytest.approx(scale * deviation, rel=0.02)
    assert abs(apart.mean()) < 0.05 * deviation
    assert all((each.rows >= 1).all() for each in drawn)


def test_noise_is_never_the_same_twice() -> None:
    split = Split(2, 1, 2)
    one, other = (answered("moments", table(0, 0), 0, split, Noise(1.0, 1.0)).gram for _ in range(2))
    assert (one != other).any()


@settings(max_examples=50)
@given(st.integers(0, 1000), SPLITS, st.integers(0, ROWS - 1))
def test_a_row_has_its_place_by_itself(seed: int, split: Split, without: int) -> None:
    features = table(seed, 0)[["a", "b", "y"]].to_numpy()
    fewer = np.delete(features, without, axis=0)
    one, other = (split_independently(row_keys((each,), split.seed, "a"), split, "a") for each in (features, fewer))
    for name in ("counts", "masks"):
        whole, part = getattr(one, name), getattr(other, name)
        assert set(map(tuple, part.T)) <= set(map(tuple, whole.T))
        # As sums over rows, which is all that leaves, they differ by one row's part.
        change = whole.sum(axis=1) - part.sum(axis=1)
        assert any(np.array_equal(change, column) for column in whole.T)
    assert (np.sort(one.masks.sum(axis=0)) == split.repeats).all()
    assert (one.counts**2).sum(axis=0).max() <= max_squared_count(split, np.ones(split.views))


def recipe(**options) -> str:
    given = {"schema": SCHEMAS[0], "depth": 1, "width": 3, "loss": "squared", "double": True, "parts": 3} | options
    return Recipe(**given)


def asked(kind: str, learner, folds: int):
    networks = folds + 1 if folds > 1 else 1
    rng = np.random.default_rng(0)
    if kind == "gradients":
        models = rng.normal(size=(2 * networks, learner.functional.size))
        numbers = np.repeat(np.arange(networks, dtype=float), 2)
        return gradients(learner, Gradients("", models, numbers, np.ones(2 * networks), 0, 0.1))
    network = Hypernetwork(2, learner.functional.size, width=2, depth=1)
    begin = rng.normal(size=(networks, network.parameters))
    rays = rng.dirichlet(np.ones(2), (2, 3))
    return local_steps(learner, LocalSteps(learner.recipe, network, begin, rays, 0, 0, 0.1))


def learner(frame: pd.DataFrame, noise: Noise, folds: int):
    return learner_of(Rows("a", frame, None, noise), recipe(folds=folds))


@settings(max_examples=15)
@given(st.integers(0, 1000), st.integers(0, ROWS - 1), st.sampled_from([1, 2, 3]), st.floats(0.01, 100), st.booleans())
def test_a_row_changes_gradients_no_more_than_is_said(seed, without, folds, clip, wild) -> None:
    noise = Seen(clip, 1.0)
    for frame in (table(seed, 0, wild), table(seed, 0, wild).drop(index=without)):
        asked("gradients", learner(frame, noise, folds), folds)
    (one, allowed), (other, same) = noise.seen
    assert allowed == same
    assert np.linalg.norm(one - other) <= allowed * (1 + 1e-9)


@pytest.mark.parametrize("folds", [1, 3])
def test_some_row_changes_gradients_as_much_as_is_said(folds: int) -> None:
    noise = Seen(1e-3, 1.0)
    for without in range(-1, ROWS):
        asked("gradients", learner(table(2, 0).drop(index=[] if without < 0 else without), noise, folds), folds)
    (whole, allowed), *others = noise.seen
    assert max(np.linalg.norm(whole - other) for other, _ in others) == pytest.approx(allowed)


@pytest.mark.parametrize("folds", [1, 2])
@pytest.mark.parametrize("kind", ["gradients", "local-steps"])
def test_nothing_of_a_network_goes_past_the_noise(kind: str, folds: int) -> None:
    one, other = (asked(kind, learner(table(seed, 0), Blind(1.0, 1.0), folds), folds) for seed in (0, 1))
    for part in one.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(one, part), getattr(other, part))


@pytest.mark.parametrize("kind", ["gradients", "local-steps"])
def test_a_long_clip_without_noise_gives_the_plain_gradients(kind: str) -> None:
    plain, clipped = (asked(kind, learner(table(0, 0), noise, 2), 2) for noise in (None, Noise(1e9, 0.0)))
    for part in plain.__dataclass_fields__:
        np.testing.assert_allclose(getattr(clipped, part), getattr(plain, part), rtol=1e-9, atol=1e-12)


def test_every_local_step_has_its_own_noise() -> None:
    noise = Seen(1.0, 1.0)
    asked("local-steps", learner(table(0, 0), noise, 1), 1)
    assert len(noise.seen) == 2, "two steps are two releases"
