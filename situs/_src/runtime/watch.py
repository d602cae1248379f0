"""Where whoever reports on a program listens: one watcher for the process, and nothing while there is none.

    eager op      its step is made with the watcher's function around the kernel, and around each copy of an input;
                  remembered steps are forgotten when a watcher comes or goes, so that the fast path asks for nothing
    graph         `Program.run` asks the watcher for a recorder, and hands it back when the run is over
    function      tracing says which graph it made, and why one more was needed
    refusal       what could not be placed

A watcher is told of things in the thread in which they happen, from any number of threads.
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
    """What is told of everything that runs."""

    def kernel(self, run: Function, op: Op, assignment: Assignment) -> Function:
        """The function of an eager step, with the watcher around it."""
        ...

    def copy(self, copy: Function, source: Device, target: Device) -> Function:
        """The function that copies an input of an eager step, with the watcher around it."""
        ...

    def update(self, change: Function, op: Op, device: Device) -> Function:
        """The function by which an eager optimizer changes variables of a device, with the watcher around it."""
        ...

    def begin(self, program: Program) -> Recorder:
        """A run of a graph begins: what to record it with, if somebody else does not."""
        ...

    def end(self, program: Program, recorder: Recorder, start: int, in_calls: bool, error: Exception | None) -> None:
        """A run of a graph is over.

        Args:
            program: The program.
            recorder: What recorded it.
            start: When it began, in nanoseconds of the system's clock.
            in_calls: Whether each call was recorded, rather than the run as a whole.
            error: What ended it.
        """
        ...

    def traced(self, name: str, graph: Graph, reason: str, start: int) -> None:
        """The graph of a function was made, in a time that began at `start`, because of `reason`."""
        ...

    def refused(self, what: str, requested: str, error: Exception) -> None:
        """Something could not be placed."""
        ...


watcher: Watcher | None = None


def install(new: Watcher | None) -> None:
    """Has a watcher told of everything from now on; None for nobody."""
    global watcher
    watcher = new
    scope.forget()
