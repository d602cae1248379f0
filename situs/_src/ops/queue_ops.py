"""The ops of queues; `ops.queue` has the classes that programs use.

A queue is an operation whose value is a handle: the `Buffer` that the session holds under the queue's shared name, or
under its own. The other operations take the handle and run where the queue is, on a CPU.

    FIFOQueueV2 ---handle---> QueueEnqueueV2(components)     a tuple of tensors is one element
                `--handle---> QueueDequeueManyV2(n)          n elements, joined component by component
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import DType
from situs._src.base.errors import ArgumentError
from situs._src.base.shapes import SCALAR, UNKNOWN, TensorShape, brackets
from situs._src.base.streams import of_seeds
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.traits import BLOCKS
from situs._src.ops.define import CPU, op
from situs._src.ops.philox.sequence import Words
from situs._src.runtime.eager.bridge import TORCH_DTYPE, Value
from situs._src.runtime.run.queue_buffer import Buffer, PaddingBuffer, PriorityBuffer, ShuffleBuffer
from situs._src.runtime.run.state import Run


class Form(NamedTuple):
    """What the elements of a queue are made of, and the attributes that it was asked for with."""

    dtypes: tuple[DType, ...]
    shapes: tuple[TensorShape, ...]  # none at all if they are not fixed
    asked: dict[str, Any]


# Queues themselves.

_makers: dict[Op, Callable[..., Buffer]] = {}


def _queue_op(name: str, make: Callable[..., Buffer], **attrs: Any) -> Op:
    """Declares the op of one kind of queue; `make` gets a name, a capacity, the form and `attrs`.

    ``node_name`` is what a session holds the buffer under if there is no shared name. ``buffer`` is set where a graph
    uses a queue of eager code.
    """
    names: dict[str, Any] = {"capacity": -1, "container": "", "shared_name": "", "node_name": "", "buffer": None}
    declared = op(name, "-> handle: resource", stateful=True, component_types=(), shapes=(), **names, **attrs)
    declared.shape(lambda **attrs: SCALAR)
    _makers[declared] = make

    @declared.kernel(CPU)
    def kernel(
        *, container: str, shared_name: str, node_name: str, buffer: Buffer | None, run: Run, **asked: Any
    ) -> Buffer:
        label = shared_name or f"_{len(run.state.resources())}_{node_name}"
        key = f"{container}/{shared_name or node_name}"
        queue: Buffer = run.state.resource(key, lambda: buffer or make_buffer(declared, label, asked))
        if shared_name:
            _check_shared(queue, name.removesuffix("V2"), asked)
        return queue

    return declared


def make_buffer(op_def: Op, name: str, asked: dict[str, Any]) -> Buffer:
    """The buffer of a queue that is asked for with these attributes."""
    special = dict(asked)
    types, shapes = tuple(special.pop("component_types")), tuple(special.pop("shapes"))
    return _makers[op_def](name, special.pop("capacity"), Form(types, shapes, asked), **special)


def _check_shared(found: Buffer, kind: str, asked: dict[str, Any]) -> None:
    has = {**found.form.asked, "type": found.kind}
    for what, value in {"type": kind, **asked}.items():
        if value != has.get(what) and what not in ("seed", "seed2"):
            raise ArgumentError(
                f"Shared queue '{found.name}' has {what} {_spelled(has.get(what))} but requested {what} was "
                f"{_spelled(value)}"
            )


def _spelled(value: object) -> str:
    if not isinstance(value, tuple):
        return str(value)
    return "[" + ", ".join(v.proto_name if isinstance(v, DType) else brackets(v) for v in value) + "]"


def _priority_buffer(name: str, capacity: int, form: Form) -> Buffer:
    shapes = (SCALAR, *form.shapes) if len(form.shapes) == len(form.dtypes) else ()
    form = Form((dt.int64, *form.dtypes), shapes, form.asked)
    return PriorityBuffer(name, capacity, form, lambda element: int(element[0]))


def _shuffle_buffer(
    name: str, capacity: int, form: Form, *, min_after_dequeue: int, seed: int, seed2: int
) -> ShuffleBuffer:
    if not seed and not seed2:
        return ShuffleBuffer(name, capacity, form, min_after_dequeue)
    return ShuffleBuffer(name, capacity, form, min_after_dequeue, Words(of_seeds(seed, seed2)).below)


fifo_queue = _queue_op("FIFOQueueV2", Buffer)
random_shuffle_queue = _queue_op(
    "RandomShuffleQueueV2",
    _shuffle_buffer,
    min_after_dequeue=0,
    seed=0,
    seed2=0,
)
padding_fifo_queue = _queue_op("PaddingFIFOQueueV2", PaddingBuffer)
priority_queue = _queue_op("PriorityQueueV2", _priority_buffer)

queue_select = op("QueueSelect", "index: host, handles: resource* -> handle: resource", stateful=True)
queue_select.shape(lambda index, handles: SCALAR)


@queue_select.kernel(CPU)
def select_kernel(index: int, handles: list[Buffer]) -> Buffer:
    """The queue of a list that has the number `index`."""
    if not 0 <= index < len(handles):
        raise ArgumentError(f"index = {index} is not in [0, {len(handles)}): there is no such queue in the list.")
    return handles[index]


# Elements in.

enqueue = op("QueueEnqueueV2", "handle: resource, components: any* ->", traits={BLOCKS}, stateful=True, timeout_ms=-1)
enqueue_many = op(
    "QueueEnqueueManyV2", "handle: resource, components: any* ->", traits={BLOCKS}, stateful=True, timeout_ms=-1
)
enqueue.shape(lambda handle, components, **attrs: [])
enqueue_many.shape(lambda handle, components, **attrs: [])


@enqueue.kernel(CPU)
def enqueue_kernel(
    handle: Buffer, components: list[Value], *, timeout_ms: int = -1, run: Run | None = None
) -> tuple[()]:
    """Puts one element into a queue."""
    _check_number(handle, components)
    _check_shapes(handle, [tuple(value.shape) for value in components], SCALAR)
    handle.put([tuple(components)], run)
    return ()


@enqueue_many.kernel(CPU)
def enqueue_many_kernel(
    handle: Buffer, components: list[Value], *, timeout_ms: int = -1, run: Run | None = None
) -> tuple[()]:
    """Puts the rows of tensors into a queue as elements."""
    _check_number(handle, components)
    shapes = [tuple(value.shape) for value in components]
    _check_shapes(handle, shapes, TensorShape(shapes[0][:1] or [None]))
    handle.put(zip(*map(_rows, components), strict=True), run)
    return ()


def _check_number(queue: Buffer, components: list[Value]) -> None:
    wanted = len(queue.form.dtypes)
    if len(components) != wanted:
        raise ArgumentError(f"Wrong number of components in tuple. Expected {wanted}, got {len(components)}")


def _check_shapes(queue: Buffer, found: list[tuple[int, ...]], batch: TensorShape) -> None:
    """Raises unless components have the queue's shapes, behind the dimension of the batch."""
    for number, shape in enumerate(found):
        wanted = batch + (queue.form.shapes[number] if queue.form.shapes else UNKNOWN)
        if len(shape) < len(batch) or not wanted.is_compatible_with(shape):
            expected = "rank at least 1" if wanted.rank is None else brackets(wanted)
            raise ArgumentError(
                f"Shape mismatch in tuple component {number}. Expected {expected}, got {brackets(shape)}"
            )
        if len(batch) and shape[0] != found[0][0]:
            raise ArgumentError(
                f"All input tensors must have the same size in the 0th dimension. Component {number} has {shape[0]}, "
                f"and should have {found[0][0]}"
            )


def _rows(value: Value) -> list[Value]:
    """The rows of a tensor. They are copies: a view would keep the whole of it alive."""
    if isinstance(value, torch.Tensor):
        return [row.clone() for row in value.unbind(0)] if len(value) > 1 else list(value.unbind(0))
    return [np.array(row, dtype=object) for row in value]


# Elements out.

_OUT: dict[str, Any] = {"component_types": (), "timeout_ms": -1}
dequeue = op("QueueDequeueV2", "handle: resource -> components: any*", traits={BLOCKS}, stateful=True, **_OUT)
dequeue_many = op(
    "QueueDequeueManyV2", "handle: resource, n: host -> components: any*", traits={BLOCKS}, stateful=True, **_OUT
)
dequeue_up_to = op(
    "QueueDequeueUpToV2", "handle: resource, n: host -> components: any*", traits={BLOCKS}, stateful=True, **_OUT
)
for _declared in (dequeue, dequeue_many, dequeue_up_to):
    _declared.shape(lambda *inputs, component_types, **attrs: [UNKNOWN] * len(component_types))


@dequeue.kernel(CPU)
def dequeue_kernel(
    handle: Buffer, *, component_types: Any = (), timeout_ms: int = -1, run: Run | None = None
) -> list[Value]:
    """Takes one element out of a queue."""
    return list(handle.take(1, run)[0])


@dequeue_many.kernel(CPU)
def dequeue_many_kernel(
    handle: Buffer, n: int, *, component_types: Any = (), timeout_ms: int = -1, run: Run | None = None
) -> list[Value]:
    """Takes `n` elements out of a queue and joins them."""
    return _taken(handle, n, run, fewer=False)


@dequeue_up_to.kernel(CPU)
def dequeue_up_to_kernel(
    handle: Buffer, n: int, *, component_types: Any = (), timeout_ms: int = -1, run: Run | None = None
) -> list[Value]:
    """Takes `n` elements, or the last ones of a closed queue, and joins them."""
    return _taken(handle, n, run, fewer=True)


def _taken(queue: Buffer, n: int, run: Any, fewer: bool) -> list[Value]:
    if n < 0:
        raise ArgumentError(f"Dequeue{'UpTo' if fewer else 'Many'}Op requested {n} < 0 elements")
    if not queue.form.shapes:
        raise ArgumentError(
            f"{queue.kind}'s DequeueMany and DequeueUpTo require the components to have specified shapes."
        )
    elements = queue.take(n, run, fewer)
    columns: Sequence[Any] = list(zip(*elements, strict=True)) if elements else [()] * len(queue.form.dtypes)
    return [_joined(*each) for each in zip(columns, queue.form.dtypes, queue.form.shapes, strict=True)]


def _joined(values: Sequence[Value], dtype: DType, shape: TensorShape) -> Value:
    """One tensor with a row for each value; where the queue's shape is open, shorter values are padded."""
    if values and dtype is not dt.string and shape.is_fully_defined():
        return torch.stack(list(values))
    sizes = [max((v.shape[axis] for v in values), default=0) if d is None else d for axis, d in enumerate(shape)]
    joined: Any = np.full((len(values), *sizes), b"", dtype=object)
    if dtype is not dt.string:
        joined = torch.zeros((len(values), *sizes), dtype=TORCH_DTYPE[dtype])
    for number, value in enumerate(values):
        joined[(number, *(slice(size) for size in value.shape))] = value if value.ndim else value[()]
    return joined


# Closing, and questions.

close = op("QueueCloseV2", "handle: resource ->", traits={BLOCKS}, stateful=True, cancel_pending_enqueues=False)
size = op("QueueSizeV2", "handle: resource -> size: int32", stateful=True)
is_closed = op("QueueIsClosedV2", "handle: resource -> is_closed: bool", stateful=True)
close.shape(lambda handle, **attrs: [])
size.shape(lambda handle: SCALAR)
is_closed.shape(lambda handle: SCALAR)


@close.kernel(CPU)
def close_kernel(handle: Buffer, *, cancel_pending_enqueues: bool = False, run: Run | None = None) -> tuple[()]:
    """Closes a queue."""
    handle.close(cancel_pending_enqueues, run)
    return ()


@size.kernel(CPU)
def size_kernel(handle: Buffer) -> torch.Tensor:
    """How many elements a queue has."""
    return torch.tensor(handle.size(), dtype=torch.int32)


@is_closed.kernel(CPU)
def is_closed_kernel(handle: Buffer) -> torch.Tensor:
    """Whether a queue is closed."""
    return torch.tensor(handle.is_closed)
