"""The text of an out-of-memory error: what was requested, where, what holds the memory, and what helps.

OOM when allocating tensor with shape[4096,4096] and type float on .../device:GPU:0 by MatMul:
tried to allocate 64.0 MiB, with 180.0 MiB of 200.0 MiB in use (limit 200 MiB; 182.0 MiB reserved).
  160.0 MiB  RandomUniform, 2 tensors  train.py:12
   20.0 MiB  MatMul, 1 tensor          train.py:14
"""

from __future__ import annotations

import re
from typing import Any

import torch

from situs._src.base.budget import policy
from situs._src.base.budget.ledger import Account, LimitReached
from situs._src.base.devices.logical import Device
from situs._src.base.errors import ResourceExhaustedError
from situs._src.base.shapes import TensorShape, brackets
from situs._src.ir.graph.origin import line_of
from situs._src.runtime.eager.allocations import SHORTAGES
from situs._src.runtime.eager.bridge import FROM_TORCH

HOLDERS_SHOWN = 8
_ASKED = re.compile(r"Tried to allocate ([\d.]+) (\w+)")
_UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_ROUNDING = 0.01  # PyTorch's errors give sizes to a few digits
_BLOCK = 20 * 2**20  # and the size of the block that it wanted to cut the tensor from
_HINT = (
    "Free tensors or use smaller ones; raise the limit; or, for a graph, let it offload values: "
    "tf.memory.swap_to_host(). tf.memory.snapshot() shows everything that is in use."
)


def is_shortage(error: BaseException) -> bool:
    """Whether an exception says that a GPU is out of memory."""
    return isinstance(error, SHORTAGES) or (isinstance(error, torch.AcceleratorError) and "out of memory" in str(error))


def exhausted(error: BaseException, device: Device, op: str, like: object = None) -> ResourceExhaustedError:
    """The error to raise in place of an out-of-memory error of a GPU.

    Args:
        error: The exception.
        device: The device that ran out of memory.
        op: The op that failed.
        like: A value of the shape and dtype that was to be allocated, or a pair of these, if known.
    """
    error.__traceback__ = None  # its frames hold the rejected tensor
    if isinstance(error, LimitReached) and error.made is not None:  # it may be the copy of an input
        op, shape, dtype = error.made
        like = TensorShape(shape), FROM_TORCH[dtype]
    asked = bytes_asked(error)
    lines = [
        f"OOM when allocating{_tensor_text(like, asked)} on {device.name} by {op}: {_figures(error, asked, device)}"
    ]
    lines += holder_lines(device.account)
    return ResourceExhaustedError("\n".join([*lines, _HINT]))


def _tensor_text(like: Any, asked: int | None) -> str:
    if like is None:
        return ""
    shape, dtype = like if isinstance(like, tuple) else (TensorShape(like.shape), FROM_TORCH[like.dtype])
    size = (shape.num_elements() or 0) * dtype.size
    if asked is not None and not size <= asked * (1 + _ROUNDING) <= (size + _BLOCK) * (1 + 2 * _ROUNDING):
        return ""  # the memory was for something else, such as a workspace
    return f" tensor with shape{brackets(shape)} and type {dtype.proto_name}"


def _figures(error: BaseException, asked: int | None, device: Device) -> str:
    before = "" if asked is None else f"tried to allocate {size_text(asked)}, with "
    usage = device.account.usage()
    held = error.held if isinstance(error, LimitReached) else usage.current
    others = f", {size_text(held - usage.current)} of that by the op's other results" if held > usage.current else ""
    return (
        f"{before}{size_text(held)} of {size_text(usage.limit)} in use{others} "
        f"({policy.of(device)}; {size_text(usage.reserved)} reserved)."
    )


def bytes_asked(error: BaseException) -> int | None:
    """The size of the failed allocation, if the error has it."""
    if isinstance(error, LimitReached):
        return error.size
    found = _ASKED.search(str(error))
    return None if found is None or found[2] not in _UNITS else int(float(found[1]) * _UNITS[found[2]])


def holder_lines(account: Account) -> list[str]:
    """The largest holders of a device's memory, one per line, and the total of the others."""
    held: dict[tuple[str, str], list[int]] = {}
    for holding in account.holdings():
        held.setdefault((holding.op, line_of(holding.made_at or ())), []).append(holding.size)
    largest = sorted(held.items(), key=lambda item: -sum(item[1]))[:HOLDERS_SHOWN]
    lines = [_holder_line(op, line, sizes) for (op, line), sizes in largest]
    rest = account.usage().current - sum(sum(sizes) for _, sizes in largest)
    if lines and rest > 0:
        lines.append(f"  {size_text(rest):>10}  in other tensors")
    return lines


def _holder_line(op: str, line: str, sizes: list[int]) -> str:
    tensors = f"{len(sizes)} tensor" + ("s" if len(sizes) > 1 else "")
    return f"  {size_text(sum(sizes)):>10}  {op}, {tensors}  {line}".rstrip()


def size_text(size: int) -> str:
    """A human-readable number of bytes.

    >>> size_text(512), size_text(3 * 2**20)
    ('512 bytes', '3.0 MiB')
    """
    for unit in ("GiB", "MiB", "KiB"):
        if size >= _UNITS[unit]:
            return f"{size / _UNITS[unit]:.1f} {unit}"
    return f"{size} bytes"
