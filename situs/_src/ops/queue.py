"""Queues: ``FIFOQueue``, ``RandomShuffleQueue``, ``PaddingFIFOQueue``, ``PriorityQueue``.

    q = tf.FIFOQueue(3, tf.float32)
    sess.run(q.enqueue(x))              a producer; waits while the queue is full
    sess.run(q.dequeue())               a consumer; waits while it is empty

What they do is in `ops.queue_base`; here are the elements that they take. The elements of one queue have the same
number of components, of the same dtypes, and `dequeue_many` needs to know their shapes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import device, here
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import SCALAR, UNKNOWN, TensorShape
from situs._src.base.tree import listed
from situs._src.ir.graph.context import init_scope
from situs._src.ir.registry.op import Op
from situs._src.ops import queue_ops
from situs._src.ops.attribute import as_int, as_name, as_word
from situs._src.ops.queue_base import QueueBase, add_queue
from situs._src.ops.seeds import next_seeds


@export("queue.FIFOQueue", v1=())
class FIFOQueue(QueueBase):
    """A queue that gives elements out in the order they came in.

    Args:
        capacity: How many elements it holds; negative for any number.
        dtypes: The dtypes of an element's components.
        shapes: Their shapes, fully known; None if elements may differ, and then only `dequeue` works.
        names: Names for them; elements are then dictionaries.
        shared_name: Queues of one shared name are one queue, in a session.
        name: A name for the operation.

    Example:
        >>> import situs.compat.v1 as tf
        >>> with tf.Graph().as_default(), tf.Session() as sess:
        ...     q = tf.FIFOQueue(3, tf.float32)
        ...     sess.run(q.enqueue(2.0))
        ...     float(sess.run(q.dequeue()))
        2.0
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str | None = "fifo_queue",
    ) -> None:
        form = _Form.fixed(dtypes, shapes, names)
        with init_scope(), device("CPU"):
            ref = _make(queue_ops.fifo_queue, form, capacity, shared_name, name)
        super().__init__(form.dtypes, form.shapes, form.names, ref)


@export("queue.RandomShuffleQueue", v1=())
class RandomShuffleQueue(QueueBase):
    """A queue that gives elements out at random.

    Args:
        capacity: How many elements it holds; negative for any number.
        min_after_dequeue: How many stay in it while it is open, so that there is something to choose from.
        dtypes: The dtypes of an element's components.
        shapes: Their shapes, fully known; None if elements may differ.
        names: Names for them; elements are then dictionaries.
        seed: Makes the order repeat.
        shared_name: Queues of one shared name are one queue, in a session.
        name: A name for the operation.
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        form = _Form.fixed(dtypes, shapes, names)
        special = {"min_after_dequeue": as_int(min_after_dequeue, "min_after_dequeue"), **next_seeds(seed)}
        with init_scope():
            ref = _make(queue_ops.random_shuffle_queue, form, capacity, shared_name, name, special)
        super().__init__(form.dtypes, form.shapes, form.names, ref)


@export("queue.PaddingFIFOQueue", v1=())
class PaddingFIFOQueue(QueueBase):
    """A queue whose elements may differ in size; `dequeue_many` fills the shorter ones up with zeros.

    Args:
        capacity: How many elements it holds; negative for any number.
        dtypes: The dtypes of an element's components.
        shapes: Their shapes; None in one stands for a dimension in which elements may differ.
        names: Names for them; elements are then dictionaries.
        shared_name: Queues of one shared name are one queue, in a session.
        name: A name for the operation.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        form = _Form.partial(dtypes, shapes, names)
        with init_scope():
            ref = _make(queue_ops.padding_fifo_queue, form, capacity, shared_name, name)
        super().__init__(form.dtypes, form.shapes, form.names, ref)


@export("queue.PriorityQueue", v1=())
class PriorityQueue(QueueBase):
    """A queue that gives the element with the least priority out first.

    An element's first component is its priority, an int64 scalar.

    Args:
        capacity: How many elements it holds; negative for any number.
        types: The dtypes of the components after the priority.
        shapes: Their shapes, fully known; None if elements may differ.
        names: Names for all components, that of the priority first; elements are then dictionaries.
        shared_name: Queues of one shared name are one queue, in a session.
        name: A name for the operation.
    """

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        form = _Form.fixed(types, shapes, None)
        dtypes = [dt.int64, *form.dtypes]
        named = _as_names(names, len(dtypes))
        with init_scope():
            ref = _make(queue_ops.priority_queue, form, capacity, shared_name, name)
        rest = form.shapes or [UNKNOWN] * len(form.dtypes)
        super().__init__(dtypes, [SCALAR, *rest], named, ref)


class _Form(NamedTuple):
    """What the elements of a queue are made of."""

    dtypes: list[DType]
    shapes: list[TensorShape] | None
    names: list[str] | None

    @classmethod
    def fixed(cls, dtypes: object, shapes: object, names: object) -> _Form:
        """Elements of fully known shapes, or of shapes that are not fixed at all."""
        kinds = _as_dtypes(dtypes)
        sizes = None if shapes is None else _as_shapes(shapes)
        if sizes is not None:
            if len(sizes) != len(kinds):
                raise ArgumentError(
                    f"Queue shapes must have the same length as dtypes, received len(shapes)={len(sizes)}, "
                    f"len(dtypes)={len(kinds)}"
                )
            if not all(shape.is_fully_defined() for shape in sizes):
                raise ArgumentError(f"All shapes must be fully defined: {sizes}")
        return cls(kinds, sizes, _as_names(names, len(kinds)))

    @classmethod
    def partial(cls, dtypes: Any, shapes: object, names: object) -> _Form:
        """Elements whose shapes have known ranks."""
        kinds = _as_dtypes(dtypes)
        sizes = None if shapes is None else _as_shapes(shapes)
        if sizes is None or any(shape.rank is None for shape in sizes):
            raise ArgumentError("When providing partial shapes, a list of shapes must be provided.")
        if len(sizes) != len(kinds):
            raise ArgumentError(
                f"Shapes must be provided for all components, but received {len(kinds)} dtypes and {len(sizes)} shapes."
            )
        return cls(kinds, sizes, _as_names(names, len(kinds)))


def _as_dtypes(dtypes: object) -> list[DType]:
    return [as_dtype(d) for d in dtypes] if isinstance(dtypes, (list, tuple)) else [as_dtype(dtypes)]


def _as_shapes(shapes: Any) -> list[TensorShape]:
    """A list of shapes; a single one may stand alone."""
    if isinstance(shapes, TensorShape):
        return [shapes]
    if not isinstance(shapes, (list, tuple)):
        return [TensorShape(shapes)]
    if all(isinstance(item, (int, type(None))) for item in shapes):
        return [TensorShape(shapes)]
    return [TensorShape(shape) for shape in shapes]


def _as_names(names: object, count: int) -> list[str] | None:
    given = [] if names is None else [names] if isinstance(names, str) else listed(names, "names")
    if not given:
        return None
    if len(given) != count:
        raise ArgumentError(
            f"List of names must have the same length as the list of dtypes, received len(names)={len(given)},"
            f"len(dtypes)={count}"
        )
    return [as_word(name, "names") for name in given]


def _make(
    op_def: Op,
    form: _Form,
    capacity: Any,
    shared_name: str | None,
    name: str | None,
    special: dict[str, Any] | None = None,
) -> Any:
    """The handle of a new queue: a tensor of the graph being built, or a buffer."""
    if not form.dtypes:
        raise ArgumentError("A queue needs at least one dtype: its elements have at least one component.")
    number = as_int(capacity, "capacity")
    if number > dt.int32.max:
        raise ArgumentError(
            f"The capacity of a queue is at most {dt.int32.max}, or negative for any number; got {number}."
        )
    given = {
        "component_types": tuple(form.dtypes),
        "shapes": tuple(form.shapes or ()),
        "capacity": number,
        **(special or {}),
    }
    if here.graph is None:
        return queue_ops.make_buffer(op_def, as_name(name, op_def.name), given)
    unique = here.graph.claim_name(op_def, name)
    shared = "" if shared_name is None else as_word(shared_name, "shared_name")
    return add_queue(here.graph, op_def, {**given, "shared_name": shared, "node_name": unique}, f"{unique}/")


__all__ = ["FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "QueueBase", "RandomShuffleQueue"]
