"""``tf.summary.trace_on``: traced graphs for TensorBoard.

    tf.summary.trace_on()
    train(x)                                              a tf.function
    with writer.as_default():
        tf.summary.trace_export("train", step=0)          the graphs of all functions called meanwhile

There is one trace at a time in a process. Profiles are not recorded: a session's ``RunMetadata`` has the times of a
run.
"""

from __future__ import annotations

import logging
from typing import Any

from situs._src.base import locks
from situs._src.base.devices import scope
from situs._src.base.devices.scope import here
from situs._src.base.errors import ArgumentError, StateError
from situs._src.base.export import export
from situs._src.base.settings import switch
from situs._src.base.typing import IntLike, PathLike
from situs._src.ops.strings import strings_of
from situs._src.summaries import messages
from situs._src.summaries.file_writer import graph_bytes
from situs._src.summaries.write_ops import write
from situs._src.tracing import concrete

_logger = logging.getLogger("situs")
_lock = locks.lock()


class _Trace:
    """The functions that were called since the trace began."""

    def __init__(self) -> None:
        self.functions: dict[concrete.ConcreteFunction, None] = {}

    def __call__(self, function: concrete.ConcreteFunction) -> None:
        self.functions.setdefault(function)


_current: _Trace | None = None


@export("summary.trace_on", v1=())
def trace_on(graph: bool = True, profiler: bool = False, profiler_outdir: PathLike | None = None) -> None:
    """Begins a trace of the ``tf.function`` graphs that run.

    Args:
        graph: Whether to keep the graphs.
        profiler: Accepted with a warning: no profile is taken.
        profiler_outdir: Accepted for TensorFlow's programs.
    """
    global _current
    if here.graph is not None:
        _logger.warning("Cannot enable trace inside a tf.function.")
        return
    keeps, profiles = switch(graph, "graph"), switch(profiler, "profiler")
    if profiles:
        _logger.warning("No profile is taken: tf.summary.trace_on keeps graphs only.")
    with _lock:
        if _current is not None:
            _logger.warning("Trace already enabled")
            return
        _current = _Trace()
        if keeps:
            concrete.on_call.append(_current)
    scope.forget()  # calls like earlier ones are told of as well


@export("summary.trace_off", v1=())
def trace_off() -> None:
    """Ends the trace, and forgets what it has kept."""
    _stopped()


@export("summary.trace_export", v1=())
def trace_export(name: str, step: IntLike | None = None, profiler_outdir: PathLike | None = None) -> None:
    """Ends the trace, and writes its graphs with the default writer.

    Args:
        name: The tag in TensorBoard.
        step: The step; the one of ``tf.summary.experimental.set_step`` by default.
        profiler_outdir: Accepted for TensorFlow's programs.

    Raises:
        ValueError: there is no trace, or no step.
    """
    if here.graph is not None:
        raise StateError("Cannot export a trace inside a tf.function.")
    trace = _stopped()
    if trace is None:
        raise ArgumentError("Must enable trace before export through tf.summary.trace_on.")
    write(name, lambda: strings_of([_run_metadata(trace)], ()), step, _metadata())


def _stopped() -> _Trace | None:
    global _current
    with _lock:
        trace, _current = _current, None
        if trace in concrete.on_call:
            concrete.on_call.remove(trace)
    return trace


def _run_metadata(trace: _Trace) -> bytes:
    made = messages.proto("config_pb2").RunMetadata()
    for function in list(trace.functions):
        data = graph_bytes(function.graph, None)
        made.partition_graphs.add().ParseFromString(data)
        made.function_graphs.add().pre_optimization_graph.ParseFromString(data)
    return made.SerializeToString()  # type: ignore[no-any-return]


def _metadata() -> Any:
    made = messages.proto("summary_pb2").SummaryMetadata()
    plugin = messages.part("tensorboard.plugins.graph.metadata")
    made.plugin_data.plugin_name, made.plugin_data.content = plugin.PLUGIN_NAME_RUN_METADATA_WITH_GRAPH, b"1"
    return made
