"""What keeps the devices of this process in use: tensors, variables, sessions and functions, found on demand.

Everything that Python references is known to its garbage collector, which is scanned. What is on ``CPU:0`` does not
count (`config.reset` says why), nor do closed sessions and functions that have not run.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType

from situs._src.base.devices.inventory import process
from situs._src.base.devices.logical import Device
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


def lines_of_alive() -> list[str]:
    """A line for each kind of thing that holds on to devices, and for each GPU one with the lines of the program."""
    for forget in on_release:  # what is kept for the next time only
        forget()
    _drop_hidden_results()
    gc.collect()
    found = list(_alive().lines())
    return [*found, *_held_by_line()] if found else []


def _drop_hidden_results() -> None:
    """Drops the last results of cells that IPython still holds after ``%reset -f out``.

    It removes ``_``, ``__`` and ``___`` from the user's variables, and keeps them in a second dictionary, of which the
    user knows nothing.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    hidden, seen = getattr(shell, "user_ns_hidden", {}), getattr(shell, "user_ns", {})
    for name in ("_", "__", "___"):
        if name in hidden:
            hidden[name] = seen.get(name, "")


def _alive() -> _Alive:
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
