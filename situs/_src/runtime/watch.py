"""Hooks for reports on a program: one watcher per process, and no cost while there is none.

    eager op      its step wraps the kernel, and each copy of an input, in the watcher's function;
                  cached steps are dropped when a watcher is installed or removed, so the fast path need not check
    graph         `Program.run` asks the watcher for a recorder, and returns it when the run ends
    function      tracing reports the new graph, and why a retrace was needed
    refusal       what could not be placed

The watcher is called in the thread in which things happen, from any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from situs._src.base.devices import scope
from situs._src.base.devices.logical import Device

if TYPE_CHECKING:
    from situs._src.ir.graph.graph import Graph
    from situs._src.ir.registry.op import Op
    from situs._src.placement.candidates import Assignment
    from situs._src.runtime.run.program import Program
    from situs._src.runtime.run.trace import Recorder

Function = Callable[..., Any]


class Watcher(Protocol):
    """An observer of everything that runs."""

    def kernel(self, run: Function, op: Op, assignment: Assignment) -> Function:
        """Wraps the kernel of an eager step."""
        ...

    def copy(self, copy: Function, source: Device, target: Device) -> Function:
        """Wraps the function that copies an input of an eager step."""
        ...

    def update(self, change: Function, op: Op, device: Device) -> Function:
        """Wraps the function with which an eager optimizer updates the variables of a device."""
        ...

    def begin(self, program: Program) -> Recorder:
        """A run of a graph begins: the recorder to use, unless another one is given."""
        ...

    def end(self, program: Program, recorder: Recorder, start: int, in_calls: bool, error: Exception | None) -> None:
        """A run of a graph has ended.

        Args:
            program: The program.
            recorder: Its recorder.
            start: When it began, in nanoseconds of the system's clock.
            in_calls: Whether each call was recorded, rather than the run as a whole.
            error: The exception that ended it, if any.
        """
        ...

    def traced(self, name: str, graph: Graph, reason: str, start: int) -> None:
        """A function was traced, beginning at `start`, because of `reason`."""
        ...

    def refused(self, what: str, requested: str, error: Exception) -> None:
        """Something could not be placed."""
        ...


watcher: Watcher | None = None


def install(new: Watcher | None) -> None:
    """Installs the watcher of the process; None removes it."""
    global watcher
    watcher = new
    scope.forget()
