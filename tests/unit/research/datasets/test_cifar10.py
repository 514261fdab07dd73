"""CIFAR-10 is read from each of its published forms alike, and divided as the paper says."""

import hashlib
import io
import os
import pickle
import struct
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from comity.errors import FormatError, InputError
from comity.research.datasets import cifar10
from comity.research.datasets.cifar10 import BINARY, PYTHON, Cifar10, Examples, Version, allocate_classes, read_pickle
from comity.research.datasets.published import PublishedFile

IMAGES = 20  # in each of the six batches that stand for the real ones


def has_cifar10() -> bool:
    try:
        cifar10.SOURCE.find(None, [[f"{BINARY.folder}/{BINARY.batches[0].name}"], [BINARY.archive.name]])
    except InputError:
        return False
    return True


needs_data = pytest.mark.skipif(not has_cifar10(), reason="COMITY_DATA does not say where CIFAR-10 is")


def as_records(images: np.ndarray, labels: np.ndarray) -> bytes:
    return np.column_stack([labels, images.reshape(len(images), -1)]).astype(np.uint8).tobytes()


def as_pickle(images: np.ndarray, labels: np.ndarray, *, by_columns: bool = False) -> bytes:
    """A batch as Python 2 pickled it (protocol 2, texts of bytes), opcode by opcode."""
    rows = images.reshape(len(images), -1)

    def text(value: bytes) -> bytes:
        return b"U" + bytes([len(value)]) + value

    def number(value: int) -> bytes:
        return b"J" + struct.pack("<i", value)

    data = (
        b"cnumpy.core.multiarray\n_reconstruct\n" + b"cnumpy\nndarray\n" + b"K\x00\x85" + text(b"b") + b"\x87R"
        + b"(K\x01" + b"".join(map(number, rows.shape)) + b"\x86"
        + b"cnumpy\ndtype\n" + text(b"u1") + b"K\x00K\x01\x87R"
        + b"(K\x03" + text(b"|") + b"NNN" + number(-1) + number(-1) + b"K\x00tb"
        + (b"\x88" if by_columns else b"\x89") + b"T" + struct.pack("<i", rows.size)
        + rows.tobytes("F" if by_columns else "C") + b"tb"
    )  # fmt: skip
    classes = b"](" + b"".join(map(number, labels.tolist())) + b"e"
    entries = text(b"batch_label") + text(b"one of some") + text(b"labels") + classes + text(b"data") + data
    return b"\x80\x02}(" + entries + b"u."


@pytest.fixture
def batches() -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    shape = (IMAGES, 3, 32, 32)
    return [(rng.integers(256, size=shape).astype(np.uint8), rng.permutation(IMAGES) % 10) for _ in range(6)]


Forms = Mapping[str, dict[str, bytes]]


@pytest.fixture
def forms(batches: list[tuple[np.ndarray, np.ndarray]], monkeypatch: pytest.MonkeyPatch) -> Forms:
    """The files of made-up images in each published form; their checksums stand for the published ones."""

    def pinned(published: PublishedFile, raw: bytes) -> PublishedFile:
        return replace(published, checksum=hashlib.sha256(raw).hexdigest(), size=len(raw))

    def made(version: Version, write: Callable[[np.ndarray, np.ndarray], bytes]) -> tuple[Version, dict[str, bytes]]:
        raws = [write(*batch) for batch in batches]
        files = {batch.name: raw for batch, raw in zip(version.batches, raws, strict=True)}
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            for name, raw in files.items():
                member = tarfile.TarInfo(f"{version.folder}/{name}")
                member.size = len(raw)
                archive.addfile(member, io.BytesIO(raw))
        pins = tuple(pinned(batch, raw) for batch, raw in zip(version.batches, raws, strict=True))
        whole = packed.getvalue()
        return replace(version, archive=pinned(version.archive, whole), batches=pins), files | {"archive": whole}

    all_forms = {}
    for name, version, write in (("BINARY", BINARY, as_records), ("PYTHON", PYTHON, as_pickle)):
        changed, files = made(version, write)
        monkeypatch.setattr(cifar10, name, changed)
        archive = files.pop("archive")
        all_forms[f"{name} folder"] = {f"{version.folder}/{name}": raw for name, raw in files.items()}
        all_forms[f"{name} files"] = files
        all_forms[f"{name} archive"] = {version.archive.name: archive}
    return all_forms


def put(directory: Path, files: Mapping[str, bytes]) -> None:
    for name, raw in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(raw)


FORMS = [f"{version} {form}" for version in ("BINARY", "PYTHON") for form in ("folder", "files", "archive")]


@pytest.mark.parametrize("below", [".", "cifar10"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same(
    forms: Forms, batches: list[tuple[np.ndarray, np.ndarray]], form: str, below: str, tmp_path: Path
) -> None:
    put(tmp_path / below, forms[form])
    data = cifar10.load(tmp_path)
    images, labels = (np.concatenate(each) for each in zip(*batches, strict=True))
    np.testing.assert_array_equal(data.train.images, images[: 5 * IMAGES])
    np.testing.assert_array_equal(data.train.labels, labels[: 5 * IMAGES])
    np.testing.assert_array_equal(data.test.images, images[5 * IMAGES :])
    np.testing.assert_array_equal(data.test.labels, labels[5 * IMAGES :])
    assert (data.train.images.dtype, data.train.labels.dtype) == (np.uint8, np.int64)


@pytest.mark.parametrize("form", FORMS)
def test_a_file_that_was_cut_or_changed_is_reported(forms: Forms, form: str, tmp_path: Path) -> None:
    name, raw = list(forms[form].items())[-1]
    again = "get it again from https://www.cs.toronto.edu/~kriz/cifar.html"
    put(tmp_path, forms[form] | {name: raw[:-1]})
    with pytest.raises(
        FormatError, match=f"{name}: this is not the published file of CIFAR-10 .* bytes instead of .*{again}"
    ):
        cifar10.load(tmp_path)
    put(tmp_path, {name: raw[:-1] + bytes([raw[-1] ^ 1])})
    with pytest.raises(
        FormatError, match=rf"{name}: this is not the published file of CIFAR-10 \(its SHA-256 differs\); {again}"
    ):
        cifar10.load(tmp_path)


def test_missing_files_are_reported(forms: Forms, tmp_path: Path) -> None:
    with pytest.raises(
        InputError,
        match=r"CIFAR-10 are not in this directory \(cifar-10-binary.tar.gz or .*\); get them .* COMITY_DATA",
    ):
        cifar10.load(tmp_path)
    put(tmp_path, forms["BINARY folder"])
    (tmp_path / "cifar-10-batches-bin" / "data_batch_3.bin").unlink()
    with pytest.raises(
        InputError, match=r"data_batch_3.bin: this file of CIFAR-10 is missing, although others are there; get"
    ):
        cifar10.load(tmp_path)


class Harm:
    def __reduce__(self) -> tuple[object, ...]:
        return os.system, ("touch harm",)


def test_a_pickle_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FormatError, match=r"would call .*system"):
        read_pickle(pickle.dumps({b"data": Harm(), b"labels": []}))
    assert list(tmp_path.iterdir()) == []


def test_a_pickle_that_has_columns_first(batches: list[tuple[np.ndarray, np.ndarray]]) -> None:
    images, labels = batches[0]
    read, classes = read_pickle(as_pickle(images, labels, by_columns=True))
    np.testing.assert_array_equal(read, images)
    np.testing.assert_array_equal(classes, labels)


def made_up(train: int, test: int) -> Cifar10:
    """Images that tell which one they are: two pixels are the place in the order, the third is train or test."""

    def part(count: int, which: int) -> tuple[np.ndarray, np.ndarray]:
        images = np.zeros((count, 3, 32, 32), np.uint8)
        images[:, 0, 0, 0], images[:, 0, 0, 1] = np.divmod(np.arange(count), 256)
        images[:, 0, 0, 2] = which
        return images, np.random.default_rng(which).permutation(count) % 10

    return Cifar10(Examples(*part(train, 0)), Examples(*part(test, 1)))


def places(images: np.ndarray) -> list[int]:
    return (images[:, 0, 0, 0].astype(int) * 256 + images[:, 0, 0, 1]).tolist()


@pytest.mark.parametrize(("count", "classes"), [(10, 2), (7, 3), (5, 10), (3, 1), (25, 4)])
def test_clients_share_out_all_images_of_their_classes(count: int, classes: int) -> None:
    data = made_up(1200, 300)
    members = cifar10.clients(data, seed=1, count=count, classes=classes)
    assert [client.name for client in members] == [str(number) for number in range(count)]
    owners = np.bincount([each for client in members for each in client.classes], minlength=10)
    assert owners.max() - owners.min() <= 1, "a class is dealt more often than another"
    for client in members:
        assert len(set(client.classes)) == classes
        for part in (client.train, client.held_out, client.test):
            assert set(part.labels.tolist()) == set(client.classes)
        assert {*client.train.images[:, 0, 0, 2], *client.held_out.images[:, 0, 0, 2]} == {0}, "tests are trained with"
        assert {*client.test.images[:, 0, 0, 2]} == {1}
        known = len(client.train.labels) + len(client.held_out.labels)
        assert len(client.held_out.labels) == pytest.approx(known / 6, abs=classes / 2)
        sizes = np.bincount(client.test.labels, minlength=10)
        expected = [30 / owners[each] if each in client.classes else 0 for each in range(10)]
        np.testing.assert_allclose(sizes, expected, atol=0.99)
    dealt = {each for client in members for each in client.classes}
    for labels, parts in (
        (data.train.labels, [part for client in members for part in (client.train, client.held_out)]),
        (data.test.labels, [client.test for client in members]),
    ):
        given = [place for part in parts for place in places(part.images)]
        assert sorted(given) == np.flatnonzero(np.isin(labels, sorted(dealt))).tolist(), "an image is lost or had twice"
        for part in parts:
            np.testing.assert_array_equal(labels[places(part.images)], part.labels)


def test_a_seed_gives_the_same_clients() -> None:
    data = made_up(600, 100)

    def drawn(seed: int) -> list[object]:
        members = cifar10.clients(data, seed)
        return [(client.classes, places(client.train.images), places(client.test.images)) for client in members]

    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)
    whole = cifar10.clients(data, 3, held_out=0)
    assert [len(client.held_out.labels) for client in whole] == [0] * 10
    assert sum(len(client.train.labels) for client in whole) == 600


def test_every_deal_is_as_likely_as_another() -> None:
    """Of four clients with two of four classes each there are 90; who is dealt first has no advantage."""
    counts: dict[bytes, int] = {}
    rng = np.random.default_rng(0)
    for _ in range(1800):
        drawn = allocate_classes(rng, classes=4, clients=4, per_client=2).tobytes()
        counts[drawn] = counts.get(drawn, 0) + 1
    assert len(counts) == 90
    assert sum((count - 20) ** 2 / 20 for count in counts.values()) < 135  # a chi-square of 89; 1 in 1,000 is larger


@pytest.mark.parametrize(
    "wrong", [{"count": 0}, {"classes": 0}, {"classes": 11}, {"held_out": 1.0}, {"held_out": -0.1}]
)
def test_numbers_that_make_no_sense_are_reported(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=r"cannot give|held_out is"):
        cifar10.clients(made_up(100, 100), 0, **wrong)


@needs_data
def test_the_real_images() -> None:
    data = cifar10.load()
    assert data.train.images.shape == (50_000, 3, 32, 32)
    assert data.test.images.shape == (10_000, 3, 32, 32)
    assert np.bincount(data.train.labels).tolist() == [5000] * 10
    assert np.bincount(data.test.labels).tolist() == [1000] * 10
    assert [cifar10.CLASSES[label] for label in data.train.labels[:3]] == ["frog", "truck", "truck"]
    assert [cifar10.CLASSES[label] for label in data.test.labels[:3]] == ["cat", "ship", "ship"]
    means = data.train.images.mean(axis=(0, 2, 3)) / 255
    np.testing.assert_allclose(means, [0.4914, 0.4822, 0.4465], atol=5e-5)  # as everybody normalises them
