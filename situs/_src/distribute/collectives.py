"""Collective ops: the functions of `workers`, as ops for eager code, functions and gradients.

    all_reduce(values)      the sums over workers       gradient: the sums of gradients
    from_chief(value)       the chief's value           for initial values of variables
    gather(value, axis)     all values, joined

Every worker has to run the same collectives in the same order. Eager code does so naturally; in functions, side effects
happen in program order, and collectives count as side effects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from situs._src.base.dtype import FIXED
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.distribute.communication import CommunicationOptions
from situs._src.distribute.workers import joined
from situs._src.ir.registry.traits import BLOCKS, COLLECTIVE
from situs._src.ops.constant import zeros
from situs._src.ops.define import CPU, GPU, op, same_shape

_all_reduce = op(
    "CollectiveReduceMany",
    "inputs: T* -> sums: T*",
    traits={BLOCKS, COLLECTIVE},
    stateful=True,
    T=FIXED,
    bytes_per_pack=0,
    timeout_seconds=0.0,
    implementation="AUTO",
)
_from_chief = op("CollectiveFromChief", "input: T -> data: T", traits={BLOCKS, COLLECTIVE}, stateful=True, T=FIXED)
_gather = op("CollectiveGatherRows", "input: T -> data: T", traits={BLOCKS, COLLECTIVE}, stateful=True, T=FIXED, axis=0)

_all_reduce.shape(lambda inputs, **attrs: list(inputs))
_from_chief.shape(same_shape)


@_gather.shape
def _gather_shape(input: TensorShape, *, axis: int) -> TensorShape:
    if input.rank is None:
        return input
    sizes = list(input)
    sizes[axis] = None
    return TensorShape(sizes)


@_all_reduce.kernel(CPU)
@_all_reduce.kernel(GPU)
def _all_reduce_kernel(
    inputs: list[torch.Tensor], *, bytes_per_pack: int, timeout_seconds: float, implementation: str
) -> list[torch.Tensor]:
    return joined().all_reduce(inputs, CommunicationOptions(bytes_per_pack, timeout_seconds or None, implementation))


@_from_chief.kernel(CPU)
@_from_chief.kernel(GPU)
def _from_chief_kernel(input: torch.Tensor) -> torch.Tensor:
    return joined().broadcast(input)


@_gather.kernel(CPU)
@_gather.kernel(GPU)
def _gather_kernel(input: torch.Tensor, *, axis: int) -> torch.Tensor:
    return joined().gather(input, axis)


@_all_reduce.gradient
def _all_reduce_gradient(
    grads: list[Any], inputs_shape: list[Any], *, bytes_per_pack: int, timeout_seconds: float, implementation: str
) -> list[Tensor]:
    like = next(grad.dtype for grad in grads if grad is not None)
    given = [zeros(shape, like) if grad is None else grad for grad, shape in zip(grads, inputs_shape, strict=True)]
    how: dict[str, Any] = {
        "bytes_per_pack": bytes_per_pack,
        "timeout_seconds": timeout_seconds,
        "implementation": implementation,
    }
    return _all_reduce.many(given, **how)


_from_chief.stops_gradients()
_gather.stops_gradients()


def all_reduce(values: Sequence[Any], options: CommunicationOptions | None = None) -> list[Any]:
    """Sums tensors of any dtypes over workers, in few transfers."""
    options = options or CommunicationOptions()
    found: dict[int, Any] = {}
    by_dtype: dict[Any, list[int]] = {}
    for number, value in enumerate(values):
        by_dtype.setdefault(value.dtype, []).append(number)
    for numbers in by_dtype.values():
        sums = _all_reduce.many(
            [values[number] for number in numbers],
            bytes_per_pack=options.bytes_per_pack,
            timeout_seconds=float(options.timeout_seconds or 0.0),
            implementation=options.implementation.value,
        )
        found.update(zip(numbers, sums, strict=True))
    return [found[number] for number in range(len(values))]


def from_chief(value: Any) -> Any:
    """The chief's value (broadcast)."""
    return _from_chief(value)


def gather(value: Any, axis: int = 0) -> Any:
    """The values of all workers, concatenated along an axis, along which their sizes may differ."""
    return _gather(value, axis=axis)
