"""CIFAR-10, and the paper's ten clients with two classes each (Section 5.2).

The data are not part of comity: https://www.cs.toronto.edu/~kriz/cifar.html (Krizhevsky, 2009).
"""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from comity.datasets.batches import Bytes, read_pickle, read_records
from comity.datasets.dealing import deal
from comity.datasets.published import Published, Source
from comity.errors import InputError

Labels = NDArray[np.int64]
Rows = NDArray[np.intp]
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
SOURCE = Source(
    "CIFAR-10",
    "https://www.cs.toronto.edu/~kriz/cifar.html",
    "cifar-10-binary.tar.gz or cifar-10-python.tar.gz, packed or unpacked",
    ("cifar10",),
)


@dataclass(frozen=True, slots=True)
class Version:
    """One of the forms in which CIFAR-10 is published: an archive with a folder of six batches, the last for tests."""

    archive: Published
    folder: str
    batches: tuple[Published, ...]
    read: Callable[[bytes], tuple[Bytes, Bytes]]


# The page gives the MD5 of the archives only; the SHA-256 are those of the same bytes.
BINARY = Version(
    Published(
        "cifar-10-binary.tar.gz", "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd", 170_052_171
    ),
    "cifar-10-batches-bin",
    (
        Published("data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5", 30_730_000),
        Published("data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed", 30_730_000),
        Published("data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67", 30_730_000),
        Published("data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48", 30_730_000),
        Published("data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add", 30_730_000),
        Published("test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b", 30_730_000),
    ),
    read_records,
)
PYTHON = Version(
    Published(
        "cifar-10-python.tar.gz", "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce", 170_498_071
    ),
    "cifar-10-batches-py",
    (
        Published("data_batch_1", "c99cafc152244af753f735de768cd75f"),
        Published("data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec"),
        Published("data_batch_3", "54ebc095f3ab1f0389bbae665268c751"),
        Published("data_batch_4", "634d18415352ddfa80567beed471001a"),
        Published("data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb"),
        Published("test_batch", "40351d587109b95175f43aff81a1287e"),
    ),
    read_pickle,
)


class Examples(NamedTuple):
    """Images (n, 3, 32, 32) of bytes, and their classes (n,) from 0 to 9."""

    images: Bytes
    labels: Labels


@dataclass(frozen=True, eq=False)
class Cifar10:
    """The 50,000 images to train with and the 10,000 to test with, in their published order; see `Examples`."""

    train_images: Bytes = field(repr=False)
    train_labels: Labels = field(repr=False)
    test_images: Bytes = field(repr=False)
    test_labels: Labels = field(repr=False)


def load(directory: str | os.PathLike[str] | None = None) -> Cifar10:
    """Read CIFAR-10 from a directory, by default that which the environment variable COMITY_DATA names.

    The binary version or Python's, unpacked or as the published archive; nothing in a pickle is run.
    """
    versions = {
        tuple(f"{folder}{batch.name}" for batch in version.batches): version
        for version in (BINARY, PYTHON)
        for folder in (f"{version.folder}/", "")
    }
    archives: dict[tuple[str, ...], Version] = {(version.archive.name,): version for version in (BINARY, PYTHON)}
    place, names = SOURCE.find(directory, [*versions, *archives])
    if version := versions.get(tuple(names)):
        raws = (SOURCE.read(place / name, batch) for name, batch in zip(names, version.batches, strict=True))
        return _joined(map(version.read, raws))
    version = archives[tuple(names)]
    raw = SOURCE.read(place / version.archive.name, version.archive)
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        opened = (archive.extractfile(f"{version.folder}/{batch.name}") for batch in version.batches)
        return _joined(version.read(batch.read()) for batch in opened if batch)


def _joined(batches: Iterable[tuple[Bytes, Bytes]]) -> Cifar10:
    *train, test = batches
    images, labels = (np.concatenate(each) for each in zip(*train, strict=True))
    return Cifar10(images, labels.astype(np.int64), test[0], test[1].astype(np.int64))


@dataclass(frozen=True, eq=False)
class CifarClient:
    """A client with some of the classes: what it trains with, what it holds out to choose by, what it is tested on."""

    name: str
    classes: tuple[int, ...]
    train: Examples = field(repr=False)
    held_out: Examples = field(repr=False)
    test: Examples = field(repr=False)


def clients(
    data: Cifar10, seed: int, count: int = 10, classes: int = 2, held_out: float = 1 / 6
) -> tuple[CifarClient, ...]:
    """Divide the images among clients who have so many classes each, drawn at random (paper, Section 5.2).

    Every class goes to as many clients as every other, or to one more or fewer where that does not come out even; the
    images of a class, those to train with and those to test with, are divided evenly among the clients who have it. Of
    what it may train with, a client holds out a share of each class, 17 % in the paper. The seed determines it all.
    """
    if not 0 <= held_out < 1:
        raise InputError(f"a share from 0 to below 1 can be held out, not {held_out}")
    rng = np.random.default_rng(seed)
    dealt = deal(rng, len(CLASSES), count, classes)
    train, test = [_shares(rng, labels, dealt) for labels in (data.train_labels, data.test_labels)]
    return tuple(
        CifarClient(
            str(number),
            tuple(dealt[number].tolist()),
            _examples(data.train_images, data.train_labels, [rows[_cut(rows, held_out) :] for rows in train[number]]),
            _examples(data.train_images, data.train_labels, [rows[: _cut(rows, held_out)] for rows in train[number]]),
            _examples(data.test_images, data.test_labels, test[number]),
        )
        for number in range(count)
    )


def _shares(rng: np.random.Generator, labels: Labels, dealt: Rows) -> list[list[Rows]]:
    """Return for each client the rows that it gets of each of its classes, in a random order."""
    shares: list[list[Rows]] = [[] for _ in dealt]
    for each in range(len(CLASSES)):
        owners = np.flatnonzero((dealt == each).any(axis=1))
        rows = rng.permutation(np.flatnonzero(labels == each))
        if owners.size:
            for owner, share in zip(owners, np.array_split(rows, owners.size), strict=True):
                shares[owner].append(share)
    return shares


def _cut(rows: Rows, share: float) -> int:
    return round(share * rows.size)


def _examples(images: Bytes, labels: Labels, rows: list[Rows]) -> Examples:
    """Return some examples, in the order in which they are published: that of the classes would mislead a training."""
    taken = np.sort(np.concatenate(rows))
    return Examples(images[taken], labels[taken])
