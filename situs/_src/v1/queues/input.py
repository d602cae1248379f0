"""Input pipelines with queues: lists of values, epochs, and batches.

    names = tf.train.string_input_producer(["a", "b"], num_epochs=2)     a queue that a runner keeps full
    x = read(names.dequeue())
    batch = tf.train.batch([x], 32)                                      a queue of x, and 32 elements of it

Every function adds its queue's runner to the graph: nothing moves before `tf.train.start_queue_runners`, and epochs are
counted in local variables, which have to be initialized first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.tensor import is_tensor
from situs._src.base.tree import listed
from situs._src.base.typing import ArrayLike, DTypeLike, ShapeLike
from situs._src.files.matching import matching_files
from situs._src.ir.graph.context import control_dependencies, name_scope
from situs._src.ops.array import identity, shape
from situs._src.ops.attribute import as_bool, as_int
from situs._src.ops.compare import greater
from situs._src.ops.constant import constant, convert_to_tensor
from situs._src.ops.constant import range as range_of
from situs._src.ops.debug import Assert
from situs._src.ops.gather import gather
from situs._src.ops.queue import FIFOQueue, QueueBase
from situs._src.ops.random import shuffle as random_shuffle
from situs._src.v1.queues.filling import summarize_filling
from situs._src.v1.queues.queue_runner import QueueRunner, add_queue_runner
from situs._src.variables.collections import GraphKeys
from situs._src.variables.symbolic import RefVariable


@export(v1="train.limit_epochs")
def limit_epochs(tensor: ArrayLike, num_epochs: int | None = None, name: str | None = None) -> Any:
    """The tensor, which can be read so many times; after that, reading raises ``OutOfRangeError``.

    Args:
        tensor: Any tensor.
        num_epochs: How many times; None for any number.
        name: A name for the operations.
    """
    if num_epochs is None:
        return tensor
    if as_int(num_epochs, "num_epochs") <= 0:
        raise ArgumentError(f"num_epochs must be > 0 not {num_epochs}.")
    with name_scope(name, "limit_epochs") as scope:
        start = constant(0, dt.int64)
        epochs = RefVariable(start, name="epochs", trainable=False, collections=[GraphKeys.LOCAL_VARIABLES])
        counter = epochs.count_up_to(num_epochs)
        with control_dependencies([counter]):
            return identity(tensor, name=scope)


@export(v1=("train.match_filenames_once", "io.match_filenames_once"))
def match_filenames_once(pattern: ArrayLike, name: str | None = None) -> RefVariable:
    """A local variable of the names of files that fit a pattern, looked up when it is initialized.

    Args:
        pattern: A pattern with ``*``, ``?`` and ``[]``, or a vector of them.
        name: A name for the variable.
    """
    with name_scope(name, "matching_filenames") as scope:
        found = matching_files(pattern)
        local = [GraphKeys.LOCAL_VARIABLES]
        return RefVariable(found, trainable=False, validate_shape=False, name=scope, collections=local)


@export(v1="train.input_producer")
def input_producer(
    input_tensor: ArrayLike,
    element_shape: ShapeLike | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> QueueBase:
    """A queue of the rows of a tensor, again and again.

    Args:
        input_tensor: The rows.
        element_shape: The shape of a row, if that of the tensor is not known.
        num_epochs: How often; None for any number of times.
        shuffle: Whether to put the rows into another order every time.
        seed: Makes the orders repeat.
        capacity: How many rows the queue holds.
        shared_name: Queues of one shared name are one queue, in a session.
        summary_name: A name for a summary of the part of the queue that is filled; None for no summary.
        name: A name for the operations.
        cancel_op: What closes the queue when the coordinator stops.
    """
    with name_scope(name, "input_producer"):
        rows = _as_tensor(input_tensor, "input_tensor")
        row = rows.shape[1:].merge_with(element_shape)
        if not row.is_fully_defined():
            raise ArgumentError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be specified"
            )
        if as_bool(shuffle, "shuffle"):
            rows = random_shuffle(rows, seed=seed)
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(capacity, [rows.dtype], [row], shared_name=shared_name, name=name)
        add_queue_runner(QueueRunner(queue, [queue.enqueue_many([rows])], cancel_op=cancel_op))
        if summary_name is not None:
            summarize_filling(queue, capacity, name=summary_name)
        return queue


@export(v1="train.string_input_producer")
def string_input_producer(
    string_tensor: ArrayLike,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Any = None,
) -> QueueBase:
    """A queue of strings, such as the names of files; the arguments are those of `input_producer`."""
    none = "string_input_producer requires a non-null input tensor"
    if string_tensor is None or (isinstance(string_tensor, (list, tuple)) and not string_tensor):
        raise ArgumentError(none)
    with name_scope(name, "input_producer") as scope:
        strings = _as_tensor(string_tensor, "string_tensor", dt.string)
        if strings.shape.num_elements() == 0:
            raise ArgumentError(none)
        if strings.shape.num_elements() is None:
            with control_dependencies([Assert(greater(shape(strings)[0], 0), [none])]):
                strings = identity(strings)
        summary = f"fraction_of_{capacity}_full"
        return input_producer(
            strings, [], num_epochs, shuffle, seed, capacity, shared_name, summary, name=scope, cancel_op=cancel_op
        )


@export(v1="train.range_input_producer")
def range_input_producer(
    limit: ArrayLike,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> QueueBase:
    """A queue of the integers from 0 to `limit` - 1; the other arguments are those of `input_producer`."""
    with name_scope(name, "input_producer") as scope:
        summary = f"fraction_of_{capacity}_full"
        return input_producer(
            range_of(limit), [], num_epochs, shuffle, seed, capacity, shared_name, summary, name=scope
        )


@export(v1="train.slice_input_producer")
def slice_input_producer(
    tensor_list: Sequence[Any],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Any]:
    """One row of each tensor, the same in all, from a queue of the numbers of rows.

    Args:
        tensor_list: Tensors with the same number of rows.
        num_epochs: How often to go through the rows; None for any number of times.
        shuffle: Whether to put the rows into another order every time.
        seed: Makes the orders repeat.
        capacity: How many numbers the queue holds.
        shared_name: Queues of one shared name are one queue, in a session.
        name: A name for the operations.
    """
    with name_scope(name, "input_producer"):
        tensors = [_as_tensor(tensor, None) for tensor in listed(tensor_list, "tensors")]
        if not tensors:
            raise ArgumentError("Expected at least one tensor in slice_input_producer().")
        count = tensors[0].shape.with_rank_at_least(1)[0]
        count = shape(tensors[0])[0] if count is None else count
        index = range_input_producer(count, num_epochs, shuffle, seed, capacity, shared_name).dequeue()
        return [gather(tensor, index) for tensor in tensors]


def _as_tensor(value: ArrayLike, name: str | None, dtype: DTypeLike | None = None) -> Any:
    return convert_to_tensor(value, dtype) if is_tensor(value) else constant(value, dtype, name=name or "Const")


__all__ = [
    "input_producer",
    "limit_epochs",
    "match_filenames_once",
    "range_input_producer",
    "slice_input_producer",
    "string_input_producer",
]
