"""Whole files as strings: ``tf.io.read_file`` and ``tf.io.write_file``.

A file is read when the op runs: in a graph, each time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from situs._src.base.errors import InvalidArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import SCALAR, TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import PathLike
from situs._src.files.paths import local, translated
from situs._src.ir.registry.traits import CHECK
from situs._src.ops.define import CPU, op

_read = op("ReadFile", "filename: string -> contents: string", traits={CHECK}, stateful=True)
_write = op("WriteFile", "filename: string, contents: string ->", stateful=True)


@_read.shape
def _read_shape(filename: TensorShape) -> TensorShape:
    _check_scalar(filename, "filename")
    return SCALAR


@_write.shape
def _write_shape(filename: TensorShape, contents: TensorShape) -> list[TensorShape]:
    _check_scalar(filename, "filename")
    _check_scalar(contents, "contents")
    return []


def _check_scalar(shape: TensorShape, what: str) -> None:
    if shape.rank not in (0, None):
        raise InvalidArgumentError(f"Input {what} tensor must be scalar, but had shape: {brackets(shape)}")


@_read.kernel(CPU)
def _read_kernel(filename: Any) -> np.ndarray[Any, Any]:
    _check_scalar(TensorShape(filename.shape), "filename")
    with translated(filename[()]):
        return np.array(local(filename[()]).read_bytes(), dtype=object)


@_write.kernel(CPU)
def _write_kernel(filename: Any, contents: Any) -> list[Any]:
    _write_shape(TensorShape(filename.shape), TensorShape(contents.shape))
    with translated(filename[()]):
        place = local(filename[()])
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(contents[()])
    return []


@export("io.read_file", v1=("read_file", "io.read_file"))
def read_file(filename: PathLike, name: str | None = None) -> Tensor:
    """What is in a file, as a string of bytes.

    Args:
        filename: The path of the file, a scalar string.
        name: A name for the op.

    Raises:
        NotFoundError: there is no such file.
    """
    return _read(filename, name=name)


@export("io.write_file", v1=("write_file", "io.write_file"))
def write_file(filename: PathLike, contents: Any, name: str | None = None) -> Tensor:
    """Writes a file, and the folders that lead to it.

    Args:
        filename: The path of the file, a scalar string.
        contents: What to write, a scalar string.
        name: A name for the op.
    """
    return _write(filename, contents, name=name)
