"""``tf.config.reset``: the devices of this process given up, so that they can be configured anew.

Devices are fixed at their first use, because tensors, variables, sessions and functions hold on to them. Where none of
these is left, nothing keeps the devices as they are, and a notebook need not be restarted to have others:

    alive (tensors, variables, sessions, functions)?  --yes-->  refused: what, how many, from which line
        |
        no  -->  devices, visibility, splits, virtual GPUs, memory policies, threads: as at the start

What lies on ``CPU:0`` does not count: that device there always is, and it stays the same. What can be changed at any
time (soft placement, the log, the placer, seeds) is left alone.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType

from situs._src.base.devices import scope
from situs._src.base.devices.inventory import process
from situs._src.base.devices.logical import Device
from situs._src.base.errors import StateError
from situs._src.base.export import export
from situs._src.inspect.snapshot import snapshot
from situs._src.runtime.eager.allocations import on_release
from situs._src.runtime.eager.cell import Cell
from situs._src.runtime.eager.tensor import EagerTensor
from situs._src.runtime.session.session import BaseSession
from situs._src.tracing.concrete import ConcreteFunction
from situs._src.tracing.function import Function

_SHOWN = 5  # of each kind


@dataclass
class _Alive:
    """What holds on to devices: each in a word or two."""

    tensors: list[str] = field(default_factory=list)
    variables: list[str] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """A line for each kind of which there is any."""
        for kind, found in vars(self).items():
            if found:
                yield f"  {len(found)} {kind if len(found) > 1 else kind[:-1]}: {_listed(found)}"


@export("config.reset", as_is=True)
def reset() -> None:
    """Gives up the devices of this process, so that they can be configured anew, as if the program had just begun.

    Forgotten are the logical devices, which physical ones are visible, how they are split, virtual GPUs, memory
    policies and bounds on threads. Soft placement, the placement log and the placer stay as they are: they can be
    changed at any time. Tensors on ``CPU:0`` stay too.

    Raises:
        FailedPreconditionError: tensors or variables on other devices, open sessions or functions that have run are
            still alive. The message says which.

    Example:
        >>> import situs as tf
        >>> tf.config.reset()  # doctest: +SKIP
        >>> tf.config.set_virtual_gpus(4)  # doctest: +SKIP
    """
    scope.forget()
    for forget in on_release:  # what is kept for the next time only
        forget()
    gc.collect()
    found = list(_alive().lines())
    if found:
        raise StateError(
            "tf.config.reset() gives the devices up only when nothing is left on them. Still alive:\n"
            + "\n".join([*found, *_held_by_line()])
            + "\nDelete these (del x) and close sessions first. In a notebook, results of cells stay alive in Out: "
            "%reset -f out lets go of them."
        )
    process.reset()


def _alive() -> _Alive:
    """What holds on to devices that are to be given up."""
    found = _Alive()
    lines: dict[str, str] = {}  # of Python functions, by name
    for item in gc.get_objects():
        kind = type(item)  # isinstance would ask the object, which may be anything
        if kind is EagerTensor and not _stays(item._place.device):
            op = "Const" if item._made_by is None else item._made_by.op
            found.tensors.append(f"{op} on {item._place.device.short_name}")
        elif kind is Cell and not _stays(item.place.device):
            found.variables.append(f"{item.name} on {item.place.device.short_name}")
        elif issubclass(kind, BaseSession) and not item.is_closed:
            found.sessions.append(f"{kind.__name__} of {len(item.graph.get_operations())} operations")
        elif kind is ConcreteFunction and item.is_placed:
            found.functions.append(item.title)
        elif issubclass(kind, Function):
            lines[item.name] = _line(item.python_function)
    found.functions = [f"{name}{lines.get(name, '')}" for name in found.functions]
    return found


def _stays(device: Device) -> bool:
    return device.type == "CPU" and device.index == 0


def _line(function: object) -> str:
    """Where a function was defined, if it says so."""
    code = getattr(function, "__code__", None)
    return f" ({Path(code.co_filename).name}:{code.co_firstlineno})" if isinstance(code, CodeType) else ""


def _listed(found: Iterable[str]) -> str:
    """A few of them, the most frequent first."""
    counted = Counter(found).most_common()
    shown = [text if count == 1 else f"{count} x {text}" for text, count in counted[:_SHOWN]]
    return ", ".join([*shown, *(["..."] if len(counted) > _SHOWN else [])])


def _held_by_line() -> Iterator[str]:
    """Which lines of the program made what GPUs hold, as far as their ledgers know."""
    if process.initialized:
        for memory in snapshot().by_line():
            lines = [f"{holder.line} ({holder.count})" for holder in memory.holders if holder.line]
            if lines:
                yield f"  on {memory.name.rpartition('device:')[2]} by line: {_listed(lines)}"
