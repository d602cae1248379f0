"""Data files: records, lines, slices of one length, also compressed, and caches of datasets, damaged and read."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import situs as tf
from tests.fuzz.case import Case, require
from tests.fuzz.mutation import mutated_bytes

RECORDS = [b"one", b"", b"three" * 50, bytes(range(256))]
LINES = b"a line\nanother\r\n\n\xff\xfe last without an end"


class Records:
    """Cases of data files."""

    def __init__(self, folder: Path) -> None:
        self._place = folder / "read"
        self._place.mkdir()
        with tf.io.TFRecordWriter(str(folder / "good")) as writer:
            for record in RECORDS:
                writer.write(record)
        plain = (folder / "good").read_bytes()
        list(_cached(folder / "cache"))
        (cache,) = folder.glob("cache*")
        self._kinds = [("records", "", plain), ("lines", "", LINES), ("cache", "", cache.read_bytes())]
        self._kinds += [("records", "GZIP", gzip.compress(plain)), ("records", "ZLIB", zlib.compress(plain))]
        self._kinds += [("lines", "GZIP", gzip.compress(LINES)), ("lines", "ZLIB", zlib.compress(LINES))]
        self._kinds += [("slices", "", plain), ("slices", "GZIP", gzip.compress(plain))]
        self._name = cache.name

    def case(self, random: Random) -> Case:
        """A file of one kind, damaged, and read to the end in one of three ways."""
        kind, compression, content = random.choice(self._kinds)
        content = mutated_bytes(random, content, [other for _, _, other in self._kinds])
        calls = random.choice((None, None, 2))
        path = self._place / (self._name if kind == "cache" else "file")
        shown = f"{kind} {compression} {content!a}, {calls} readers"

        def run() -> None:
            path.write_bytes(content)
            for made in _dataset(kind, compression, path, calls):
                require(kind != "records" or made.numpy() in RECORDS, "a record that nobody wrote")
            require(path.read_bytes() == content, "reading a file changed it")

        return Case(shown, run)


def _dataset(kind: str, compression: str, path: Path, calls: int | None) -> Any:
    if kind == "cache":
        return _cached(path.with_name("cache"))
    if kind == "slices":
        return tf.data.FixedLengthRecordDataset(str(path), 7, 3, 2, compression_type=compression)
    make = tf.data.TFRecordDataset if kind == "records" else tf.data.TextLineDataset
    return make([str(path)], compression_type=compression, num_parallel_reads=calls)


def _cached(path: Path) -> Any:
    rows = {"a": np.arange(6, dtype=np.float32).reshape(3, 2), "b": np.array([b"x", b"", b"zz"], object)}
    return tf.data.Dataset.from_tensor_slices(rows).cache(str(path))
