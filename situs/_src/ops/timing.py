"""What time it is, when an op runs."""

from __future__ import annotations

import time

import torch

from situs._src.base.export import export
from situs._src.base.shapes import SCALAR
from situs._src.base.tensor import Tensor
from situs._src.ops.define import CPU, op

_timestamp = op("Timestamp", "-> ts: float64", stateful=True)
_timestamp.shape(lambda: SCALAR)
_timestamp.stops_gradients()


@_timestamp.kernel(CPU)
def _timestamp_kernel() -> torch.Tensor:
    return torch.tensor(time.time(), dtype=torch.float64)


@export("timestamp")
def timestamp(name: str | None = None) -> Tensor:
    """Seconds since 1970, a float64 scalar: in a graph, those when it runs."""
    return _timestamp(name=name)
