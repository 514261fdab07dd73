"""CIFAR-10, and the paper's ten clients with two classes each (Section 5.2).

The data are not part of comity: https://www.cs.toronto.edu/~kriz/cifar.html (Krizhevsky, 2009).
"""

from __future__ import annotations

import io
import math
import os
import pickle
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from comity.errors import FormatError, InputError
from comity.research.datasets.published import PublishedFile, Source

Bytes = NDArray[np.uint8]
Labels = NDArray[np.int64]
Rows = NDArray[np.intp]
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
SOURCE = Source(
    "CIFAR-10",
    "https://www.cs.toronto.edu/~kriz/cifar.html",
    "cifar-10-binary.tar.gz or cifar-10-python.tar.gz, packed or unpacked",
    ("cifar10",),
)
_SWAPS_PER_CLASS = 20  # attempts for each class of each client: enough to forget the initial allocation
SHAPE = (3, 32, 32)  # red, green and blue planes, row by row


def read_records(raw: bytes) -> tuple[Bytes, Bytes]:
    """Return images (n, 3, 32, 32) and labels (n,) of a binary batch: records of a label and 3,072 pixels.

    >>> images, labels = read_records(bytes([6, *range(256)] + [0] * 2816))
    >>> images.shape, labels, images[0, 0, 1, :3]
    ((1, 3, 32, 32), array([6], dtype=uint8), array([32, 33, 34], dtype=uint8))
    """
    records = np.frombuffer(raw, np.uint8).reshape(-1, 1 + math.prod(SHAPE))
    return records[:, 1:].reshape(-1, *SHAPE), records[:, 0]


def read_pickle(raw: bytes) -> tuple[Bytes, Bytes]:
    """Return images (n, 3, 32, 32) and labels (n,) of a Python batch, without executing any code in it."""
    batch = _SafeUnpickler(io.BytesIO(raw), encoding="bytes").load()
    _, shape, _, by_columns, pixels = batch[b"data"].state
    images = np.frombuffer(pixels, np.uint8).reshape(shape, order="F" if by_columns else "C")
    return images.reshape(-1, *SHAPE), np.array(batch[b"labels"], np.uint8)


class _StandIn:
    """Stands in for a numpy array, which is known to have bytes, or its dtype, and keeps the pickled state."""

    def __init__(self, *_: Any) -> None:
        self.state: tuple[Any, ...] = ()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.state = state


class _SafeUnpickler(pickle.Unpickler):
    """An unpickler of lists, numbers, strings and arrays, which calls no function that the file names."""

    _KNOWN: ClassVar = {
        ("numpy.core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "_reconstruct"),
        ("numpy", "ndarray"),
        ("numpy", "dtype"),
    }

    def find_class(self, module: str, name: str) -> type[_StandIn]:
        """Return the stand-in for one of the names that a pickled array needs."""
        if (module, name) not in self._KNOWN:
            raise FormatError(
                f"this pickle would call {module}.{name}, which no batch of CIFAR-10 does; get the file again"
            )
        return _StandIn


@dataclass(frozen=True, slots=True)
class Version:
    """A published version of CIFAR-10: an archive with a folder of six batches, the last with the test images."""

    archive: PublishedFile
    folder: str
    batches: tuple[PublishedFile, ...]
    read: Callable[[bytes], tuple[Bytes, Bytes]]


# The page publishes only the MD5 of the archives; the SHA-256 were computed from files with that MD5.
BINARY = Version(
    PublishedFile(
        "cifar-10-binary.tar.gz", "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd", 170_052_171
    ),
    "cifar-10-batches-bin",
    tuple(
        PublishedFile(f"{name}.bin", checksum, 30_730_000)
        for name, checksum in {
            "data_batch_1": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
            "data_batch_2": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
            "data_batch_3": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
            "data_batch_4": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
            "data_batch_5": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
            "test_batch": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
        }.items()
    ),
    read_records,
)
PYTHON = Version(
    PublishedFile(
        "cifar-10-python.tar.gz", "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce", 170_498_071
    ),
    "cifar-10-batches-py",
    (
        PublishedFile("data_batch_1", "c99cafc152244af753f735de768cd75f"),
        PublishedFile("data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec"),
        PublishedFile("data_batch_3", "54ebc095f3ab1f0389bbae665268c751"),
        PublishedFile("data_batch_4", "634d18415352ddfa80567beed471001a"),
        PublishedFile("data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb"),
        PublishedFile("test_batch", "40351d587109b95175f43aff81a1287e"),
    ),
    read_pickle,
)


class Examples(NamedTuple):
    """Images (n, 3, 32, 32) of bytes, and their classes (n,) from 0 to 9."""

    images: Bytes
    labels: Labels

    def take(self, rows: list[Rows]) -> Examples:
        """Return some examples in their published order: sorted by class, they would make poor batches."""
        taken = np.sort(np.concatenate(rows))
        return Examples(self.images[taken], self.labels[taken])


@dataclass(frozen=True, eq=False)
class Cifar10:
    """The 50,000 training images and the 10,000 test images, in their published order."""

    train: Examples = field(repr=False)
    test: Examples = field(repr=False)


def load(directory: str | os.PathLike[str] | None = None) -> Cifar10:
    """Read CIFAR-10 from a directory, by default the one in the environment variable COMITY_DATA.

    The version may be the binary one or Python's, unpacked or as the published archive; no code in a pickle is run.
    """
    versions = (BINARY, PYTHON)
    folders = {
        tuple(f"{folder}{batch.name}" for batch in version.batches): version
        for version in versions
        for folder in (f"{version.folder}/", "")
    }
    archives: dict[tuple[str, ...], Version] = {(version.archive.name,): version for version in versions}
    place, found = SOURCE.find(directory, [*folders, *archives])
    names = tuple(found)
    if names in folders:
        version = folders[names]
        raws = [SOURCE.read(place / name, batch) for name, batch in zip(names, version.batches, strict=True)]
    else:
        version = archives[names]
        packed = SOURCE.read(place / version.archive.name, version.archive)
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            opened = (archive.extractfile(f"{version.folder}/{batch.name}") for batch in version.batches)
            raws = [batch.read() for batch in opened if batch]
    *train, test = map(version.read, raws)
    images, labels = (np.concatenate(arrays) for arrays in zip(*train, strict=True))
    return Cifar10(Examples(images, labels.astype(np.int64)), Examples(test[0], test[1].astype(np.int64)))


@dataclass(frozen=True, eq=False)
class CifarClient:
    """A client with some of the classes: its training, held-out and test images."""

    name: str
    classes: tuple[int, ...]
    train: Examples = field(repr=False)
    held_out: Examples = field(repr=False)
    test: Examples = field(repr=False)


def clients(
    data: Cifar10, seed: int, count: int = 10, classes: int = 2, held_out: float = 1 / 6
) -> tuple[CifarClient, ...]:
    """Divide the images among `count` clients with `classes` random classes each (paper, Section 5.2).

    Every class goes to equally many clients, or to one more where the numbers do not divide. The training images of a
    class are divided evenly among the clients that have it, and so are its test images. A client holds out a share of
    the training images of each of its classes, 17 % in the paper. The seed determines the division.
    """
    if not 0 <= held_out < 1:
        raise InputError(f"held_out is {held_out}; it must be a share from 0 to below 1")
    rng = np.random.default_rng(seed)
    allocated = allocate_classes(rng, len(CLASSES), count, classes)
    train, test = [_shares(rng, labels, allocated) for labels in (data.train.labels, data.test.labels)]

    def cut(rows: Rows) -> int:
        return round(held_out * rows.size)

    return tuple(
        CifarClient(
            str(number),
            tuple(allocated[number].tolist()),
            data.train.take([rows[cut(rows) :] for rows in train[number]]),
            data.train.take([rows[: cut(rows)] for rows in train[number]]),
            data.test.take(test[number]),
        )
        for number in range(count)
    )


def allocate_classes(rng: np.random.Generator, classes: int, clients: int, per_client: int) -> Rows:
    """Return the classes of each client (clients, per_client), distinct and sorted.

    Every class goes to equally many clients, or to one more where the numbers do not divide. Classes are handed out in
    turn; then random pairs of clients swap random classes, whenever the classes of both stay distinct.

    >>> allocate_classes(np.random.default_rng(0), classes=4, clients=4, per_client=2).tolist()
    [[2, 3], [1, 2], [0, 1], [0, 3]]
    """
    if clients < 1 or not 1 <= per_client <= classes:
        raise InputError(
            f"cannot give {per_client} of {classes} classes to each of {clients} clients; there must be at least one "
            f"client, with 1 to {classes} classes"
        )
    turns = np.arange(clients * per_client) % classes
    allocated: Rows = rng.permutation(classes)[turns].reshape(clients, per_client)
    swaps = _SWAPS_PER_CLASS * allocated.size
    pairs, places = rng.integers(clients, size=(swaps, 2)), rng.integers(per_client, size=(swaps, 2))
    for (first, second), (i, j) in zip(pairs.tolist(), places.tolist(), strict=True):
        mine, yours = allocated[first, i], allocated[second, j]
        if yours not in allocated[first] and mine not in allocated[second]:
            allocated[first, i], allocated[second, j] = yours, mine
    return np.sort(allocated, axis=1)


def _shares(rng: np.random.Generator, labels: Labels, allocated: Rows) -> list[list[Rows]]:
    """Return for each client its rows of each of its classes, in random order."""
    shares: list[list[Rows]] = [[] for _ in allocated]
    for label in range(len(CLASSES)):
        owners = np.flatnonzero((allocated == label).any(axis=1))
        rows = rng.permutation(np.flatnonzero(labels == label))
        if owners.size:
            for owner, share in zip(owners, np.array_split(rows, owners.size), strict=True):
                shares[owner].append(share)
    return shares
