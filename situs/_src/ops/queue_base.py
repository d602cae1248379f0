"""What all queues do: `QueueBase`. `ops.queue` has the kinds that programs make.

    q = tf.FIFOQueue(3, tf.float32)
    sess.run(q.enqueue(x))              a producer; waits while the queue is full
    sess.run(q.dequeue())               a consumer; waits while it is empty

In a graph, the methods add operations (`ops.queue_ops`), and each session has a queue of its own. In eager code
they act at once; such a queue may also be used by the graphs of functions.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any
from weakref import WeakKeyDictionary

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import here
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, DTypeError
from situs._src.base.export import export
from situs._src.base.shapes import SCALAR, UNKNOWN, TensorShape
from situs._src.base.tensor import Tensor, is_tensor
from situs._src.base.tree import flatten, listed
from situs._src.ir.graph.function import outermost
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import Op, find_op
from situs._src.ir.registry.signature import Arg
from situs._src.ops import queue_ops
from situs._src.ops.attribute import as_bool, as_int, as_name
from situs._src.ops.constant import constant, convert_to_tensor
from situs._src.ops.inner import common, symbolic
from situs._src.runtime.eager.bridge import host, place
from situs._src.runtime.eager.tensor import copy_to, wrap
from situs._src.runtime.run.queue_buffer import Buffer
from situs._src.runtime.symbolic.bind import SymbolicBinder


@export("queue.QueueBase", v1=("QueueBase", "queue.QueueBase", "io.QueueBase"))
class QueueBase:
    """What all queues do. Programs make one of its subclasses.

    Args:
        dtypes: The dtypes of an element's components.
        shapes: Their shapes; unknown where they are not fixed.
        names: Their names, if elements are dictionaries.
        queue_ref: The handle.
    """

    def __init__(self, dtypes: Any, shapes: Any, names: Any, queue_ref: Any) -> None:
        if not isinstance(queue_ref, (Buffer, SymbolicTensor)):
            raise DTypeError(f"A queue is made with tf.FIFOQueue and its like; the handle of one is not {queue_ref!r}.")
        self._dtypes = [as_dtype(dtype) for dtype in listed(dtypes, "dtypes")]
        given = [UNKNOWN] * len(self._dtypes) if shapes is None else listed(shapes, "shapes")
        self._shapes = [TensorShape(shape) for shape in given]
        if len(self._shapes) != len(self._dtypes):
            raise ArgumentError(
                f"Queue shapes must have the same length as dtypes, received len(shapes)={len(self._shapes)}, "
                f"len(dtypes)={len(self._dtypes)}"
            )
        self._names = None if names is None else listed(names, "names")
        self._queue_ref: Any = queue_ref
        # Of eager code: its handles in graphs, none of which it keeps alive.
        self._captured: WeakKeyDictionary[Graph, weakref.ref[SymbolicTensor]] = WeakKeyDictionary()
        # What the names of the other operations begin with.
        self._name = queue_ref.name if isinstance(queue_ref, Buffer) else queue_ref.op.name.rpartition("/")[2]

    @staticmethod
    def from_list(index: object, queues: Any) -> QueueBase:
        """The queue of a list that has the number `index`, which may be a tensor.

        Raises:
            TypeError: it is not a list of queues that take the same elements.
        """
        if not isinstance(queues, list) or not queues or not all(isinstance(q, QueueBase) for q in queues):
            raise DTypeError("A list of queues expected")
        first = queues[0]
        if any(q.dtypes != first.dtypes for q in queues):
            raise DTypeError("Queues do not have matching component dtypes.")
        if any(q.names != first.names for q in queues):
            raise DTypeError("Queues do not have matching component names.")
        shapes = [functools.reduce(common, each) for each in zip(*(q.shapes for q in queues), strict=True)]
        return QueueBase(first.dtypes, shapes, first.names, _selected(index, queues))

    # What it is.

    @property
    def queue_ref(self) -> Any:
        """The handle: a tensor of a graph; in eager code, the buffer."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """The name of its operation."""
        return self._name if isinstance(self._queue_ref, Buffer) else self._queue_ref.op.name

    @property
    def dtypes(self) -> list[DType]:
        """The dtypes of an element's components."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """The shapes of an element's components; unknown where they are not fixed."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """The names of an element's components; None if elements are tuples."""
        return self._names

    # Elements in.

    def enqueue(self, vals: Any, name: str | None = None) -> Operation | None:
        """Puts one element in; waits while the queue is full.

        Args:
            vals: A tensor, a list or tuple of tensors, or a dictionary if the components have names.
            name: A name for the operation.
        """
        with self._building() as graph, _scope(graph, as_name(name, f"{self._name}_enqueue")) as scope:
            values = self._components(vals)
            for value, shape in zip(values, self._shapes, strict=True):
                value.shape.assert_is_compatible_with(shape)
            if graph is None:
                queue_ops.enqueue_kernel(self._queue_ref, [_on_host(value) for value in values])
                return None
            return self._add(graph, queue_ops.enqueue, (_inside(graph, values),), {}, [], scope)

    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation | None:
        """Puts elements in, one for each row of the tensors; waits while the queue is full."""
        with self._building() as graph, _scope(graph, as_name(name, f"{self._name}_EnqueueMany")) as scope:
            values = self._components(vals)
            rows = values[0].shape.with_rank_at_least(1)[:1]
            for value, shape in zip(values, self._shapes, strict=True):
                rows = _same_rows(rows, value.shape.with_rank_at_least(1)[:1])
                value.shape[1:].assert_is_compatible_with(shape)
            if graph is None:
                queue_ops.enqueue_many_kernel(self._queue_ref, [_on_host(value) for value in values])
                return None
            return self._add(graph, queue_ops.enqueue_many, (_inside(graph, values),), {}, [], scope)

    def _components(self, vals: Any) -> list[Any]:
        """The components of what is to be put in, as tensors of the queue's dtypes."""
        listed = self._as_list(vals)
        if len(listed) != len(self._dtypes):
            raise ArgumentError(f"Wrong number of components in tuple. Expected {len(self._dtypes)}, got {len(listed)}")
        pairs = zip(listed, self._dtypes, strict=True)
        return [_as_component(value, dtype, f"component_{i}") for i, (value, dtype) in enumerate(pairs)]

    def _as_list(self, vals: Any) -> list[Any]:
        if isinstance(vals, dict):
            if self._names is None:
                raise ArgumentError("Queue must have names to enqueue a dictionary")
            if sorted(self._names, key=str) != sorted(vals, key=str):
                raise ArgumentError(
                    "Keys in dictionary to enqueue do not match names of Queue.  "
                    f"Dictionary: {sorted(vals, key=str)},Queue: {sorted(self._names, key=str)}"
                )
            return [vals[name] for name in self._names]
        if self._names is not None:
            raise ArgumentError("You must enqueue a dictionary in a Queue with names")
        return list(vals) if isinstance(vals, (list, tuple)) else [vals]

    # Elements out.

    def dequeue(self, name: str | None = None) -> Any:
        """Takes one element out; waits while the queue is empty.

        Returns:
            A tensor, a list of them if there are several components, or a dictionary if these have names.
        """
        with self._building() as graph:
            if graph is None:
                return self._answer(self._taken_now(queue_ops.dequeue_kernel))
            results = list(zip(self._dtypes, self._shapes, strict=True))
            named = as_name(name, f"{self._name}_Dequeue")
            node = self._add(graph, queue_ops.dequeue, (), self._types(), results, named)
            return self._answer(node.outputs)

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Takes `n` elements out and joins them, component by component; waits until there are so many."""
        return self._several(queue_ops.dequeue_many, n, as_name(name, f"{self._name}_DequeueMany"))

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """Takes `n` elements out, or what is left in a closed queue, and joins them, component by component."""
        return self._several(queue_ops.dequeue_up_to, n, as_name(name, f"{self._name}_DequeueUpTo"))

    def _several(self, op_def: Op, n: Any, name: str) -> Any:
        with self._building() as graph:
            if graph is None:
                return self._answer(self._taken_now(_EAGER_KERNELS[op_def], as_int(n, "n")))
            number = _checked_count(SymbolicBinder(graph, name).host(n))
            rows = number if isinstance(number, int) and op_def is queue_ops.dequeue_many else None
            results = [
                (dtype, UNKNOWN if shape.rank is None else TensorShape([rows]) + shape)
                for dtype, shape in zip(self._dtypes, self._shapes, strict=True)
            ]
            return self._answer(self._add(graph, op_def, (number,), self._types(), results, name).outputs)

    def _types(self) -> dict[str, Any]:
        return {"component_types": tuple(self._dtypes)}

    def _taken_now(self, kernel: Any, *inputs: Any) -> list[Any]:
        """What a kernel takes out of a queue of eager code, as tensors."""
        values = kernel(self._queue_ref, *inputs)
        return [_as_tensor(value, dtype) for value, dtype in zip(values, self._dtypes, strict=True)]

    def _answer(self, tensors: Sequence[Any]) -> Any:
        if self._names is not None:
            return dict(zip(self._names, tensors, strict=True))
        return tensors[0] if len(tensors) == 1 else list(tensors)

    # Closing, and questions.

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation | None:
        """Closes the queue: nothing more goes in, and what is there can be taken out.

        Args:
            cancel_pending_enqueues: Whether enqueues that wait are cancelled; else closing waits for them.
            name: A name for the operation.
        """
        cancel = as_bool(cancel_pending_enqueues, "cancel_pending_enqueues")
        with self._building() as graph:
            if graph is None:
                queue_ops.close_kernel(self._queue_ref, cancel_pending_enqueues=cancel)
                return None
            attrs = {"cancel_pending_enqueues": cancel}
            return self._add(graph, queue_ops.close, (), attrs, [], as_name(name, f"{self._name}_Close"))

    def is_closed(self, name: str | None = None) -> Any:
        """A tensor that says whether the queue is closed."""
        return self._question(queue_ops.is_closed, dt.bool, as_name(name, f"{self._name}_Is_Closed"))

    def size(self, name: str | None = None) -> Any:
        """A tensor with the number of elements."""
        return self._question(queue_ops.size, dt.int32, as_name(name, f"{self._name}_Size"))

    def _question(self, op_def: Op, dtype: DType, name: str) -> Any:
        with self._building() as graph:
            if graph is None:
                return _as_tensor(_EAGER_KERNELS[op_def](self._queue_ref), dtype)
            return self._add(graph, op_def, (), {}, [(dtype, SCALAR)], name).outputs[0]

    # Graphs.

    def _building(self) -> Any:
        """A context that gives the graph to add to: the one being built, or the queue's own; None in eager code."""
        if here.graph is not None:
            return nullcontext(here.graph)
        return nullcontext(None) if isinstance(self._queue_ref, Buffer) else self._queue_ref.graph.as_default()

    def _add(
        self, graph: Graph, op_def: Op, inputs: tuple[Any, ...], attrs: dict[str, Any], results: list[Any], name: str
    ) -> Operation:
        declared = [(Arg("components", "any"), dtype, shape) for dtype, shape in results]
        return graph.add(op_def, (self._handle(graph), *inputs), {**op_def.attrs, **attrs}, {}, declared, name)

    def _handle(self, graph: Graph) -> SymbolicTensor:
        if not isinstance(self._queue_ref, Buffer):
            return graph.capture(self._queue_ref)
        top = outermost(graph)
        known = self._captured.get(top)
        handle = None if known is None else known()
        if handle is None:
            handle = _captured(top, self._queue_ref)
            self._captured[top] = weakref.ref(handle)
        return graph.capture(handle)

    def __repr__(self) -> str:
        return f"<tf.{type(self).__name__} '{self._name}' of {', '.join(dtype.name for dtype in self._dtypes)}>"


_EAGER_KERNELS: dict[Op, Any] = {
    queue_ops.dequeue_many: queue_ops.dequeue_many_kernel,
    queue_ops.dequeue_up_to: queue_ops.dequeue_up_to_kernel,
    queue_ops.size: queue_ops.size_kernel,
    queue_ops.is_closed: queue_ops.is_closed_kernel,
}


def _as_component(value: object, dtype: DType, name: str) -> Tensor:
    if isinstance(value, (list, tuple)) and not any(map(is_tensor, flatten(value))):
        return constant(value, dtype, name=name)
    return convert_to_tensor(value, dtype, name=name)


def _inside(graph: Graph, tensors: list[Any]) -> list[SymbolicTensor]:
    return [symbolic(graph, tensor) for tensor in tensors]


def _scope(graph: Graph | None, name: str) -> Any:
    return nullcontext("") if graph is None else graph.name_scope(name)


def _on_host(tensor: Any) -> Any:
    return copy_to(tensor, host())._value


def _as_tensor(value: Any, dtype: DType) -> Any:
    return wrap(value, place(host(), dtype))


def _same_rows(a: TensorShape, b: TensorShape) -> TensorShape:
    if not a.is_compatible_with(b):
        raise ArgumentError(f"Dimensions {a[0]} and {b[0]} are not compatible")
    return a.merge_with(b)


def _checked_count(n: Any) -> Any:
    if isinstance(n, SymbolicTensor):
        if not n.dtype.is_integer:
            raise DTypeError(f"Expected int32 passed to parameter 'n' of a dequeue, got {n!r}.")
        return n
    if as_int(n, "n") < 0:
        raise ArgumentError(f"Input 'n' must be >= 0, but is {n}: so many elements cannot be dequeued.")
    return n


def _selected(index: object, queues: list[QueueBase]) -> Any:
    with queues[0]._building() as graph:
        if graph is None:
            return queue_ops.select_kernel(as_int(index, "index"), [queue._queue_ref for queue in queues])
        number = SymbolicBinder(graph, "index").host(index)
        number = number if isinstance(number, SymbolicTensor) else as_int(number, "index")
        handles = [queue._handle(graph) for queue in queues]
        result = (Arg("handle", "any"), dt.resource, SCALAR)
        return graph.add(queue_ops.queue_select, (number, handles), {}, {}, [result]).outputs[0]


def _captured(graph: Graph, buffer: Buffer) -> SymbolicTensor:
    """The operation that stands for a queue of eager code in a graph."""
    attrs = {"buffer": buffer, "node_name": f"{buffer.name}@{id(buffer)}"}
    with graph.as_default(), graph.control_dependencies(None), graph.colocate_with(None, ignore_existing=True):
        return add_queue(graph, find_op(f"{buffer.kind}V2"), attrs, buffer.name)


def add_queue(graph: Graph, op_def: Op, attrs: dict[str, Any], name: str) -> SymbolicTensor:
    """Adds the operation that is a queue."""
    result = (op_def.outputs[0], dt.resource, SCALAR)
    return graph.add(op_def, (), {**op_def.attrs, **attrs}, {}, [result], name).outputs[0]
