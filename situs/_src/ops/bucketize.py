"""``Bucketize``: the interval of each number.

boundaries  0, 10, 100        -5 -> 0    0 -> 1    9.9 -> 1    10 -> 2    1000 -> 3
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError
from situs._src.base.shapes import TensorShape
from situs._src.base.typing import HostValue
from situs._src.ops.define import CPU, GPU, op

bucketize = op(
    "Bucketize",
    "input: T -> output: int32",
    T=frozenset({dt.int32, dt.int64, dt.float32, dt.float64}),
    boundaries=(),
)


@bucketize.shape
def _bucketize_shape(input: TensorShape, *, boundaries: HostValue) -> TensorShape:
    _check(boundaries)
    return input


def _check(boundaries: Any) -> None:
    if any(after < before for before, after in pairwise(boundaries)):
        raise ArgumentError("Expected sorted boundaries")


@bucketize.kernel(CPU, GPU)
def _bucketize_kernel(input: torch.Tensor, *, boundaries: HostValue, device: torch.device) -> torch.Tensor:
    _check(boundaries)
    kind = torch.float64 if input.dtype is torch.float64 else torch.float32
    edges = torch.tensor(boundaries, dtype=torch.float32, device=device).to(kind)  # TensorFlow keeps them as float32
    return torch.bucketize(input.to(kind), edges, right=True, out_int32=True)
