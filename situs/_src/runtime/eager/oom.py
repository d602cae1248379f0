"""An out-of-memory error in words: what was asked for, where, what holds the memory, and what helps.

OOM when allocating tensor with shape[4096,4096] and type float on .../device:GPU:0 by MatMul:
64.0 MiB were asked for, 180.0 MiB of 200.0 MiB are held (limit 200 MiB).
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
    "Let go of tensors or use smaller ones; raise the limit; or, for a graph, have it swap: tf.memory.swap_to_host(). "
    "tf.memory.snapshot() shows everything that is held."
)


def is_shortage(error: BaseException) -> bool:
    """Whether an exception says that a GPU has no room."""
    return isinstance(error, SHORTAGES) or (isinstance(error, torch.AcceleratorError) and "out of memory" in str(error))


def exhausted(error: BaseException, device: Device, op: str, like: object = None) -> ResourceExhaustedError:
    """The error to raise in place of a shortage of memory on a GPU.

    Args:
        error: What was raised.
        device: Where there was no room.
        op: What was to be made.
        like: A value of the shape and dtype that was to be made, or a pair of these, if they are known.
    """
    error.__traceback__ = None  # its frames hold what was refused
    if isinstance(error, LimitReached) and error.made is not None:  # an input's copy may be what did not fit
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
        return ""  # the memory was for something else, such as a kernel's own use
    return f" tensor with shape{brackets(shape)} and type {dtype.proto_name}"


def _figures(error: BaseException, asked: int | None, device: Device) -> str:
    before = "" if asked is None else f"{size_text(asked)} were asked for, "
    usage = device.account.usage()
    held = error.held if isinstance(error, LimitReached) else usage.current
    others = f", {size_text(held - usage.current)} of that by its other results" if held > usage.current else ""
    return (
        f"{before}{size_text(held)} of {size_text(usage.limit)} are held{others} "
        f"({policy.of(device)}; {size_text(usage.reserved)} taken from the card)."
    )


def bytes_asked(error: BaseException) -> int | None:
    """How much memory was asked for in vain, if the error says so."""
    if isinstance(error, LimitReached):
        return error.size
    found = _ASKED.search(str(error))
    return None if found is None or found[2] not in _UNITS else int(float(found[1]) * _UNITS[found[2]])


def holder_lines(account: Account) -> list[str]:
    """The largest holders of a device's memory, one a line, and what the others hold together."""
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
    """A number of bytes for people.

    >>> size_text(512), size_text(3 * 2**20)
    ('512 bytes', '3.0 MiB')
    """
    for unit in ("GiB", "MiB", "KiB"):
        if size >= _UNITS[unit]:
            return f"{size / _UNITS[unit]:.1f} {unit}"
    return f"{size} bytes"
