"""Checkpoints to be damaged, and forged ones."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import DType
from situs._src.checkpoints.layout import index_path
from situs._src.checkpoints.reader import CheckpointReader
from situs._src.checkpoints.writer import Saved, write

VALUES: dict[str, tuple[DType, Any]] = {
    "b": (dt.bool, torch.tensor([True, False, True])),
    "c": (dt.complex64, torch.tensor([1 + 2j, 3 - 4j])),
    "s": (dt.string, np.array([[b"", b"a\x00b"], [b"\xff", b"long " * 5]], dtype=object)),
    "w": (dt.float32, torch.arange(6.0).reshape(2, 3)),
}


def write_sample(prefix: Path, values: Mapping[str, tuple[DType, Any]] = VALUES) -> Path:
    """Writes a checkpoint of two shards."""
    devices = [f"/device:GPU:{number % 2}" for number in range(len(values))]
    write(prefix, [Saved(name, *value, device) for (name, value), device in zip(values.items(), devices, strict=True)])
    return prefix


def read_all(prefix: Path) -> dict[str, Any]:
    """Reads everything there is."""
    with CheckpointReader(prefix) as reader:
        return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def is_sample(values: dict[str, Any]) -> bool:
    return values.keys() == VALUES.keys() and all(
        np.array_equal(values[name], np.asarray(value)) for name, (_, value) in VALUES.items()
    )


def forged(content: bytes) -> bytes:
    """A text with the checksum that an index of it has; the text begins with a brace."""
    return b'{"crc32":"%08x",' % zlib.crc32(content[1:]) + content[1:]


def forge(prefix: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Changes the index of a checkpoint, and makes its checksum right again."""
    path = index_path(prefix)
    content = json.loads(path.read_bytes())
    del content["crc32"]
    change(content)
    path.write_bytes(forged(json.dumps(content).encode()))
