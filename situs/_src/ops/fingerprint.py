"""``tf.fingerprint``: eight bytes for each row of a tensor, the same on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from situs._src.base.dtype import ALL
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.ops.define import CPU, op
from situs._src.ops.farmhash import fingerprint64

_fingerprint = op("Fingerprint", "data: T, method: host -> fingerprint: uint8", T=ALL)
_fingerprint.stops_gradients()


@_fingerprint.shape
def _fingerprint_shape(data: TensorShape, method: Any) -> TensorShape:
    if data.rank == 0:
        raise ArgumentError("tf.fingerprint takes a tensor with rows, got a scalar.")
    return TensorShape([None if data.rank is None else data[0], 8])


def _bytes(number: int) -> bytes:
    return number.to_bytes(8, "little")


@_fingerprint.kernel(CPU)
def _fingerprint_kernel(data: Any, method: Any) -> torch.Tensor:
    if method not in ("farmhash64", b"farmhash64"):
        raise ArgumentError(f"Unsupported data fingerprinting method: {method!r}; there is 'farmhash64'.")
    if isinstance(data, np.ndarray):  # of strings: of several the fingerprint of their fingerprints
        rows = [[fingerprint64(item) for item in row] for row in data.reshape(len(data), -1).tolist()]
        numbers = [row[0] if data.ndim == 1 else fingerprint64(b"".join(map(_bytes, row))) for row in rows]
    else:
        flat = data.contiguous().reshape(len(data), -1).view(torch.uint8).numpy()
        numbers = [fingerprint64(row.tobytes()) for row in flat]
    made = np.frombuffer(b"".join(map(_bytes, numbers)), np.uint8).reshape(-1, 8)
    return torch.from_numpy(made.copy())


@export("fingerprint")
def fingerprint(data: ArrayLike, method: str = "farmhash64", name: str | None = None) -> Tensor:
    """Eight bytes for each row of a tensor, which differ where rows do.

    Args:
        data: The rows.
        method: ``"farmhash64"``.
        name: A name for the op.
    """
    return _fingerprint(data, method, name=name)
