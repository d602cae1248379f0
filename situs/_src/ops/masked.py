"""Values where a mask is true, and 0 elsewhere: the gradient of one side of a selection.

    masked([True, False], [5.0, nan])     [5, 0]

Multiplying by the mask would be wrong: 0 times infinity is NaN.
"""

from __future__ import annotations

import torch

from situs._src.base.dtype import COMPLEX, FLOATING
from situs._src.base.shapes import broadcast
from situs._src.base.tensor import Tensor
from situs._src.ir.registry.traits import FRESH
from situs._src.ops.compare import logical_not
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.sum_to import sum_to
from situs._src.runtime import dispatch

_masked = op("Masked", "mask: bool, x: T -> y: T", traits={FRESH}, T=FLOATING | COMPLEX)
_masked.shape(broadcast)


@_masked.kernel(CPU, GPU)
def _masked_kernel(mask: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return torch.where(mask, x, x.new_zeros(()))  # a number would be copied to the GPU, and the host wait for that


_call = dispatch.binary(_masked)


def masked(mask: Tensor, x: Tensor) -> Tensor:
    """Returns the elements of `x` where `mask` is true and 0 elsewhere; the two broadcast."""
    return _call(mask, x)


def unmasked(mask: Tensor, x: Tensor) -> Tensor:
    """Returns the elements of `x` where `mask` is false and 0 elsewhere."""
    return _call(logical_not(mask), x)


@_masked.gradient
def _masked_gradient(grad: Tensor, mask: Tensor, x_shape: object) -> tuple[None, Tensor]:
    return None, sum_to(_call(mask, grad), x_shape)
