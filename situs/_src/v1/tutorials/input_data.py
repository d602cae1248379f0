"""``tensorflow.examples.tutorials.mnist.input_data``: handwritten digits, batch by batch.

    mnist = input_data.read_data_sets("MNIST_data", one_hot=True)
    images, labels = mnist.train.next_batch(100)

The four files are read in the folder that is named, and fetched into it where they are missing. Batches are drawn with
NumPy's global generator, which is seeded as TensorFlow 1.15 does, so that they come in its order.
"""

from __future__ import annotations

import gzip
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from situs._src.base.drafts import write_whole
from situs._src.base.dtype import as_dtype, float32, uint8
from situs._src.base.errors import ArgumentError, DataLossError, DTypeError, NotFoundError
from situs._src.base.typing import DTypeLike, PathLike
from situs._src.files.paths import local
from situs._src.ops.seeds import get_seed

DEFAULT_SOURCE_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"
_FILES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)
_KINDS = {2051: "image", 2049: "label"}
_PIXELS = 784


class DataSet:
    """Images with their labels, which are given out batch by batch in a new order in each epoch.

    Args:
        images: An array: count x height x width x 1.
        labels: An array of as many labels.
        fake_data: Whether to give out one made-up example again and again.
        one_hot: Whether labels that are made up are vectors.
        dtype: ``uint8`` for pixels from 0 to 255, ``float32`` for pixels from 0 to 1.
        reshape: Whether images are given out as vectors.
        seed: A seed for the orders.
    """

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: DTypeLike = float32,
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        first, second = get_seed(seed)
        np.random.seed(first if seed is None else second)  # as TensorFlow does: programs draw from it as well
        kind = as_dtype(dtype)
        if kind not in (uint8, float32):
            raise DTypeError(f"Invalid image dtype {kind.name}, expected uint8 or float32")
        self._fake = fake_data
        self.one_hot = one_hot
        self._num_examples = 10000 if fake_data else len(images)
        if not fake_data:
            if len(images) != len(labels):
                raise ArgumentError(f"images.shape: {images.shape} labels.shape: {labels.shape}")
            if reshape:
                if images.shape[3] != 1:
                    raise ArgumentError(f"Only images with one channel become vectors, got shape {images.shape}.")
                images = images.reshape(len(images), images.shape[1] * images.shape[2])
            if kind is float32:
                images = np.multiply(images.astype(np.float32), 1.0 / 255.0)
        self._images = images
        self._labels = labels
        self._epochs_completed = 0
        self._index_in_epoch = 0

    @property
    def images(self) -> Any:
        """All images, in the order of this epoch."""
        return self._images

    @property
    def labels(self) -> Any:
        """All labels, in the order of this epoch."""
        return self._labels

    @property
    def num_examples(self) -> int:
        """How many there are."""
        return self._num_examples

    @property
    def epochs_completed(self) -> int:
        """How often all have been given out."""
        return self._epochs_completed

    def next_batch(self, batch_size: int, fake_data: bool = False, shuffle: bool = True) -> tuple[Any, Any]:
        """The next images and labels; what is left of an epoch comes first in the batch that begins the next one."""
        if fake_data or self._fake:
            label = [1] + [0] * 9 if self.one_hot else 0
            return [[1] * _PIXELS for _ in range(batch_size)], [label for _ in range(batch_size)]
        start = self._index_in_epoch
        if shuffle and start == 0 and self._epochs_completed == 0:
            self._shuffle()
        if start + batch_size <= self._num_examples:
            self._index_in_epoch = start + batch_size
            return self._images[start : start + batch_size], self._labels[start : start + batch_size]
        self._epochs_completed += 1
        rest = self._images[start:], self._labels[start:]
        if shuffle:
            self._shuffle()
        self._index_in_epoch = end = batch_size - len(rest[0])
        return np.concatenate([rest[0], self._images[:end]]), np.concatenate([rest[1], self._labels[:end]])

    def _shuffle(self) -> None:
        order = np.arange(self._num_examples)
        np.random.shuffle(order)
        self._images, self._labels = self._images[order], self._labels[order]


class Datasets(NamedTuple):
    """What a network learns from, is watched with, and is judged by."""

    train: DataSet
    validation: DataSet
    test: DataSet


def read_data_sets(
    train_dir: PathLike,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: DTypeLike = float32,
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str = DEFAULT_SOURCE_URL,
) -> Datasets:
    """Handwritten digits.

    Args:
        train_dir: The folder with the four files; those that are not there are fetched into it.
        fake_data: Whether to read nothing, and give out one made-up example.
        one_hot: Whether labels are vectors, with a one for the digit.
        dtype: ``uint8`` for pixels from 0 to 255, ``float32`` for pixels from 0 to 1.
        reshape: Whether images are vectors of 784 pixels.
        validation_size: How many of the training images are kept for watching.
        seed: A seed for the orders.
        source_url: Where files come from.

    Raises:
        NotFoundError: a file is missing and cannot be fetched.
        DataLossError: a file is not what its name says.
    """
    ways: dict[str, Any] = {"dtype": dtype, "reshape": reshape, "seed": seed}
    if fake_data:
        made = [DataSet([], [], fake_data=True, one_hot=one_hot, dtype=dtype, seed=seed) for _ in range(3)]
        return Datasets(*made)
    arrays = []
    for name in _FILES:
        path = maybe_download(name, train_dir, source_url or DEFAULT_SOURCE_URL)
        with Path(path).open("rb") as file:
            arrays.append(extract_images(file) if "images" in name else extract_labels(file, one_hot))
    images, labels, test_images, test_labels = arrays
    if not 0 <= validation_size <= len(images):
        raise ArgumentError(f"Validation size should be between 0 and {len(images)}. Received: {validation_size}.")
    return Datasets(
        train=DataSet(images[validation_size:], labels[validation_size:], **ways),
        validation=DataSet(images[:validation_size], labels[:validation_size], **ways),
        test=DataSet(test_images, test_labels, **ways),
    )


def maybe_download(filename: str, work_directory: PathLike, source_url: str) -> str:
    """The path of a file in a folder, into which it is fetched if it is not there.

    Raises:
        NotFoundError: it cannot be fetched.
    """
    path = local(work_directory) / filename
    if not path.exists():
        url = source_url if source_url.endswith(filename) else source_url + filename
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                content = answer.read()
        except (OSError, ValueError) as error:
            raise NotFoundError(
                f"{path} is not there and could not be fetched from {url}: {error}. Put the four files of MNIST "
                f"({', '.join(_FILES)}) into {path.parent.absolute()}."
            ) from None
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
        print("Successfully downloaded", filename, len(content), "bytes.")
    return str(path)


def extract_images(f: BinaryIO) -> Any:
    """The images of an open file: an array of bytes, count x height x width x 1."""
    count, rows, columns, pixels = _read(f, 2051, 3)
    return pixels.reshape(count, rows, columns, 1)


def extract_labels(f: BinaryIO, one_hot: bool = False, num_classes: int = 10) -> Any:
    """The labels of an open file: an array of bytes, or of vectors with a one."""
    _, labels = _read(f, 2049, 1)
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


def dense_to_one_hot(labels_dense: Any, num_classes: int) -> Any:
    """Labels as vectors with a one each."""
    return np.eye(num_classes)[labels_dense]


def _read(file: BinaryIO, kind: int, sizes: int) -> tuple[Any, ...]:
    """The sizes that a file begins with, and its bytes."""
    print("Extracting", file.name)
    try:
        with gzip.GzipFile(fileobj=file) as stream:
            content = stream.read()
    except (OSError, EOFError) as error:
        raise DataLossError(f"{file.name} cannot be unpacked: {error}") from None
    head = np.frombuffer(content[: 4 * (sizes + 1)], ">u4").tolist()
    if not head or head[0] != kind:
        found = head[0] if head else None
        raise DataLossError(f"Invalid magic number {found} in MNIST {_KINDS[kind]} file: {file.name}")
    values = np.frombuffer(content[4 * (sizes + 1) :], np.uint8)
    if len(head) != sizes + 1 or values.size != int(np.prod(head[1:])):
        raise DataLossError(f"{file.name} ends early: it has {values.size} bytes of {head[1:]}.")
    return (*head[1:], values)


__all__ = [
    "DEFAULT_SOURCE_URL",
    "DataSet",
    "Datasets",
    "dense_to_one_hot",
    "extract_images",
    "extract_labels",
    "maybe_download",
    "read_data_sets",
]
