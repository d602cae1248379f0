"""The ops that write summaries of TensorFlow 2 to a file; they run for their effect, in a ``tf.function`` too.

WriteSummary(tensor, step)        writer    the writer that was the default when the op was called
                                  tag       what TensorBoard calls it
                                  metadata  bytes of a SummaryMetadata: which plugin shows it
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import Any

import torch

from situs._src.base.devices import scope
from situs._src.base.devices.scope import here
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, IntLike
from situs._src.ir.graph.context import name_scope
from situs._src.ir.graph.node import Operation
from situs._src.ops.constant import constant, convert_to_tensor
from situs._src.ops.define import CPU, op
from situs._src.summaries import messages
from situs._src.summaries.file_writer import parsed
from situs._src.summaries.ops import fill_value, new_summary
from situs._src.summaries.recording import if_recording, state, step_or_default

_WRITTEN = "_SUMMARY_V2"  # a collection, TensorFlow's

_write_summary = op("WriteSummary", "tensor: T, step: int64 ->", stateful=True, writer=None, tag="", metadata=b"")
_write_raw = op("WriteRawProtoSummary", "tensor: string, step: int64 ->", stateful=True, writer=None)
_flush = op("FlushSummaryWriter", "->", stateful=True, writer=None)
for _declared in (_write_summary, _write_raw, _flush):
    _declared.shape(lambda *inputs, **attrs: [])


@_write_summary.kernel(CPU)
def _write_kernel(tensor: ArrayLike, step: torch.Tensor, *, writer: Any, tag: str, metadata: bytes) -> tuple[()]:
    summary = new_summary()
    value = summary.value.add(tag=tag)
    fill_value(value, tensor, metadata)
    if not metadata:
        value.ClearField("metadata")
    _add(writer, step, summary=summary)
    return ()


@_write_raw.kernel(CPU)
def _write_raw_kernel(tensor: Any, step: torch.Tensor, *, writer: Any) -> tuple[()]:
    summary = new_summary()
    for item in tensor.reshape(-1):
        summary.MergeFrom(parsed(messages.proto("summary_pb2").Summary, item))
    _add(writer, step, summary=summary)
    return ()


@_flush.kernel(CPU)
def _flush_kernel(*, writer: Any) -> tuple[()]:
    writer.flush_now()
    return ()


def _add(writer: Any, step: torch.Tensor, **what: Any) -> None:
    if step.numel() != 1:
        raise ArgumentError(f"A step is one number, got a tensor of shape {list(step.shape)}.")
    writer.add(messages.proto("event_pb2").Event(wall_time=time.time(), step=int(step), **what))


# What programs call.


@export("summary.write", v1=())
def write(
    tag: str, tensor: object, step: IntLike | None = None, metadata: object = None, name: str | None = None
) -> Tensor:
    """Writes a tensor with the default writer; the functions for scalars, images and so on are made of it.

    Args:
        tag: What TensorBoard calls it.
        tensor: The value, or a function without arguments that makes it if it is to be written.
        step: The step; the one of ``tf.summary.experimental.set_step`` by default.
        metadata: A ``SummaryMetadata`` message, or the bytes of one.
        name: A name for the operation.

    Returns:
        Whether it was written, as a boolean tensor.

    Raises:
        ValueError: there is no step.
    """
    with nullcontext() if here.graph is None else name_scope(name, "write_summary"):
        return _write(tag, tensor, step, metadata)


def _write(tag: str, tensor: object, step: Any, metadata: object) -> Tensor:
    writer = state.writer
    if writer is None:
        return constant(False)
    if not isinstance(tag, str):
        raise DTypeError(f"The tag of a summary is a string, got {shown(tag)}.")
    attrs: dict[str, Any] = {"writer": writer, "tag": tag, "metadata": _as_bytes(metadata)}

    def record() -> Tensor:
        number = step_or_default(step)
        with scope.device(None):
            value = convert_to_tensor(tensor() if callable(tensor) else tensor)
            return _true_after(_write_summary.many(value, number, **attrs))

    return if_recording(record)


@export("summary.experimental.write_raw_pb", v1=())
def write_raw_pb(tensor: ArrayLike, step: Any = None, name: str | None = None) -> Tensor:
    """Writes ``Summary`` messages, given as a tensor of strings, as one event with the default writer."""
    writer = state.writer
    if writer is None:
        return constant(False)

    def record() -> Tensor:
        number = step_or_default(step)
        with scope.device(None):
            return _true_after(_write_raw.many(tensor, number, writer=writer, name=name))

    return if_recording(record)


def flush_in_graph(writer: Any) -> list[Tensor]:
    """Adds an operation that brings to disk what the operations of this graph wrote before."""
    graph = here.graph
    written = [tensor for tensor in graph.get_collection(_WRITTEN) if tensor.graph is graph]
    with graph.control_dependencies(written), scope.device(None):
        return _flush.many(writer=writer)


def _true_after(made: object) -> Tensor:
    """True; in a graph, once the operation has run."""
    if here.graph is None or not isinstance(made, Operation):
        return constant(True)
    with here.graph.control_dependencies([made]):
        done = constant(True)
    here.graph.add_to_collection(_WRITTEN, done)
    return done


def _as_bytes(metadata: object) -> bytes:
    if metadata is None:
        return b""
    made = metadata.SerializeToString() if hasattr(metadata, "SerializeToString") else metadata
    if not isinstance(made, bytes):
        raise DTypeError(f"The metadata of a summary are a SummaryMetadata message, got {shown(metadata)}.")
    parsed(messages.proto("summary_pb2").SummaryMetadata, made)
    return made
