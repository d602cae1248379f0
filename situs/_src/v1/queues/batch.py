"""Batches from queues: `batch`, `shuffle_batch`, their ``_join`` variants for several sources, and ``maybe_`` variants.

    x ---enqueue---> [ queue ] ---dequeue_many(batch_size)---> a tensor with one more dimension

The queue is filled by threads of a `QueueRunner`: several for one source, or one for each joined source. A dictionary
of tensors gives a dictionary of batches; a list of one tensor gives a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, DTypeError
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, TensorShape
from situs._src.base.tensor import Tensor, is_tensor
from situs._src.base.typing import ArrayLike, IntLike
from situs._src.ir.graph.context import name_scope
from situs._src.ops.attribute import as_bool, as_int
from situs._src.ops.constant import constant, convert_to_tensor
from situs._src.ops.control import cond
from situs._src.ops.gather import boolean_mask
from situs._src.ops.placeholder import no_op
from situs._src.ops.queue import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from situs._src.v1.queues.filling import summarize_filling
from situs._src.v1.queues.queue_runner import QueueRunner, add_queue_runner

MOST_THREADS = 4096  # of one queue


class _Shuffling(NamedTuple):
    least: int
    seed: int | None


class _Wish(NamedTuple):
    """What all forms have in common."""

    batch_size: Any
    capacity: int
    enqueue_many: bool
    shapes: Any
    smaller: bool
    shared_name: str | None
    pads: bool = False
    shuffling: _Shuffling | None = None

    def checked(self) -> _Wish:
        """The same, with switches that are true or false."""
        return self._replace(
            enqueue_many=as_bool(self.enqueue_many, "enqueue_many"),
            smaller=as_bool(self.smaller, "allow_smaller_final_batch"),
            pads=as_bool(self.pads, "dynamic_pad"),
        )


@export(v1="train.batch")
def batch(
    tensors: object,
    batch_size: IntLike,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: object = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of tensors.

    Args:
        tensors: A list or a dictionary of tensors.
        batch_size: How many elements a batch has.
        num_threads: How many threads fill the queue; with several, the order is not fixed.
        capacity: How many elements the queue holds.
        enqueue_many: Whether each row of the tensors is an element; else each tensor is.
        shapes: The shapes of an element, if those of the tensors are not known.
        dynamic_pad: Whether elements may differ in size; the shorter ones are filled up with zeros.
        allow_smaller_final_batch: Whether the last batch may have fewer elements; else they are left out.
        shared_name: Queues of one shared name are one queue, in a session.
        name: A name for the operations.
    """
    wish = _Wish(batch_size, capacity, enqueue_many, shapes, allow_smaller_final_batch, shared_name, pads=dynamic_pad)
    return _batches(wish, [tensors], num_threads, True, name, "batch")


@export(v1="train.maybe_batch")
def maybe_batch(
    tensors: object,
    keep_input: ArrayLike,
    batch_size: IntLike,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: object = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of those tensors for which `keep_input` is true: a scalar, or one for each row with `enqueue_many`."""
    wish = _Wish(batch_size, capacity, enqueue_many, shapes, allow_smaller_final_batch, shared_name, pads=dynamic_pad)
    return _batches(wish, [tensors], num_threads, keep_input, name, "batch")


@export(v1="train.batch_join")
def batch_join(
    tensors_list: Any,
    batch_size: IntLike,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: object = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of tensors from several sources: a list of what `batch` takes, with a thread for each."""
    return maybe_batch_join(
        tensors_list,
        True,
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


@export(v1="train.maybe_batch_join")
def maybe_batch_join(
    tensors_list: Any,
    keep_input: ArrayLike,
    batch_size: IntLike,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: object = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`batch_join` of those tensors for which `keep_input` is true."""
    wish = _Wish(batch_size, capacity, enqueue_many, shapes, allow_smaller_final_batch, shared_name, pads=dynamic_pad)
    return _batches(wish, tensors_list, 1, keep_input, name, "batch_join")


@export(v1="train.shuffle_batch")
def shuffle_batch(
    tensors: object,
    batch_size: IntLike,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: object = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Batches of tensors in another order.

    Args:
        tensors: A list or a dictionary of tensors.
        batch_size: How many elements a batch has.
        capacity: How many elements the queue holds.
        min_after_dequeue: How many stay in the queue, so that there is something to choose from.
        num_threads: How many threads fill the queue.
        seed: Makes the order repeat.
        enqueue_many: Whether each row of the tensors is an element; else each tensor is.
        shapes: The shapes of an element, if those of the tensors are not known.
        allow_smaller_final_batch: Whether the last batch may have fewer elements; else they are left out.
        shared_name: Queues of one shared name are one queue, in a session.
        name: A name for the operations.
    """
    return maybe_shuffle_batch(
        tensors,
        batch_size,
        capacity,
        min_after_dequeue,
        True,
        num_threads,
        seed,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


@export(v1="train.maybe_shuffle_batch")
def maybe_shuffle_batch(
    tensors: object,
    batch_size: IntLike,
    capacity: int,
    min_after_dequeue: int,
    keep_input: ArrayLike,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: object = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`shuffle_batch` of those tensors for which `keep_input` is true."""
    shuffling = _Shuffling(min_after_dequeue, seed)
    wish = _Wish(
        batch_size, capacity, enqueue_many, shapes, allow_smaller_final_batch, shared_name, shuffling=shuffling
    )
    return _batches(wish, [tensors], num_threads, keep_input, name, "shuffle_batch")


@export(v1="train.shuffle_batch_join")
def shuffle_batch_join(
    tensors_list: Any,
    batch_size: IntLike,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: object = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`shuffle_batch` of tensors from several sources, with a thread for each."""
    return maybe_shuffle_batch_join(
        tensors_list,
        batch_size,
        capacity,
        min_after_dequeue,
        True,
        seed,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


@export(v1="train.maybe_shuffle_batch_join")
def maybe_shuffle_batch_join(
    tensors_list: Any,
    batch_size: IntLike,
    capacity: int,
    min_after_dequeue: int,
    keep_input: ArrayLike,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: object = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """`shuffle_batch_join` of those tensors for which `keep_input` is true."""
    shuffling = _Shuffling(min_after_dequeue, seed)
    wish = _Wish(
        batch_size, capacity, enqueue_many, shapes, allow_smaller_final_batch, shared_name, shuffling=shuffling
    )
    return _batches(wish, tensors_list, 1, keep_input, name, "shuffle_batch_join")


# How they are made.


def _batches(wish: _Wish, sources: Any, threads: int, keep_input: ArrayLike, name: str | None, what: str) -> Any:
    wish = wish.checked()
    lists = [_as_tensors(source, what) for source in _checked_sources(sources)]
    with name_scope(name, what) as scope:
        keep = _checked_keep(keep_input, wish.enqueue_many)
        queue = _queue(wish, _dtypes(lists), _shapes(lists, wish))
        operations = [_enqueue(queue, tensors, keep, wish.enqueue_many) for tensors in lists]
        number = as_int(threads, "num_threads")
        if not 1 <= number <= MOST_THREADS:
            raise ArgumentError(f"A queue is filled by 1 to {MOST_THREADS} threads, got num_threads={number}.")
        add_queue_runner(QueueRunner(queue, operations * number))
        summarize_filling(queue, wish.capacity, 0 if wish.shuffling is None else wish.shuffling.least)
        dequeue = queue.dequeue_up_to if wish.smaller else queue.dequeue_many
        made = dequeue(wish.batch_size, name=scope)
    if not isinstance(sources[0], dict):
        return made
    return dict(zip(_sorted_keys(sources[0]), made if isinstance(made, list) else [made], strict=True))


def _checked_sources(sources: object) -> Sequence[Any]:
    if is_tensor(sources) or not isinstance(sources, (list, tuple)):
        raise DTypeError(f"Expected a list of sources, each a list or a dictionary of tensors; got {sources!r}.")
    if not sources:
        raise ArgumentError("Expected at least one set of tensors")
    if len({tuple(_sorted_keys(source)) if isinstance(source, dict) else None for source in sources}) > 1:
        raise ArgumentError("The sources that are joined must be dictionaries with the same keys, or all lists.")
    return sources


def _sorted_keys(source: dict[Any, Any]) -> list[Any]:
    try:
        return sorted(source)
    except TypeError:
        raise DTypeError(f"The keys of a dictionary of tensors must be comparable, got {list(source)}.") from None


def _as_tensors(source: object, what: str) -> list[Any]:
    if isinstance(source, dict):
        listed = [source[key] for key in _sorted_keys(source)]
    elif is_tensor(source) or not isinstance(source, (list, tuple)):
        raise DTypeError(f"{what}() takes a list or a dictionary of tensors, got {source!r}. Write [tensor] for one.")
    else:
        listed = list(source)
    if not listed:
        raise ArgumentError(f"Expected at least one tensor in {what}().")
    return [convert_to_tensor(value) for value in listed]


def _dtypes(lists: list[list[Any]]) -> list[dt.DType]:
    if len({len(tensors) for tensors in lists}) > 1:
        raise ArgumentError("The sources that are joined must have the same number of tensors.")
    for same in zip(*lists, strict=True):
        for tensor in same[1:]:
            if tensor.dtype is not same[0].dtype:
                raise DTypeError(f"Expected types to be consistent: {same[0].dtype.name} vs. {tensor.dtype.name}.")
    return [tensor.dtype for tensor in lists[0]]


def _shapes(lists: list[list[Any]], wish: _Wish) -> Any:
    """The shapes of the queue's elements: what holds for all sources."""
    if wish.shapes is not None:
        return wish.shapes
    return [_element_shape(same, wish.enqueue_many) for same in zip(*lists, strict=True)]


def _element_shape(tensors: Sequence[Tensor], enqueue_many: bool) -> TensorShape:
    found = [tensor.shape for tensor in tensors]
    if any(shape.rank is None for shape in found):
        raise ArgumentError(f"Cannot infer Tensor's rank: {tensors[0]}. Give its shape in `shapes`.")
    if enqueue_many:
        found = [shape.with_rank_at_least(1)[1:] for shape in found]
    if len({shape.rank for shape in found}) > 1:
        return UNKNOWN
    return TensorShape([sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*found, strict=True)])


def _queue(wish: _Wish, dtypes: list[dt.DType], shapes: object) -> QueueBase:
    if wish.shuffling is not None:
        least, seed = wish.shuffling
        return RandomShuffleQueue(wish.capacity, least, dtypes, shapes, seed=seed, shared_name=wish.shared_name)
    make = PaddingFIFOQueue if wish.pads else FIFOQueue
    return make(wish.capacity, dtypes, shapes, shared_name=wish.shared_name)


def _checked_keep(keep: Any, enqueue_many: bool) -> bool | Tensor:
    """What says which elements are kept: a boolean tensor, or True for all."""
    if keep is True:
        return True
    tensor = convert_to_tensor(keep, dt.bool) if is_tensor(keep) else constant(keep, dt.bool)
    if tensor.shape.rank is None:
        raise ArgumentError("`keep_input` dimensions must be known at graph construction.")
    if tensor.shape.rank > 1 or (tensor.shape.rank == 1 and not enqueue_many):
        raise ArgumentError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    return tensor


def _enqueue(queue: QueueBase, tensors: list[Any], keep: Any, enqueue_many: bool) -> Any:
    put: Callable[[Any], Any] = queue.enqueue_many if enqueue_many else queue.enqueue
    if keep is True:
        return put(tensors)
    if keep.shape.rank == 1:
        return put([boolean_mask(tensor, keep) for tensor in tensors])
    return cond(keep, lambda: put(tensors), no_op)


__all__ = [
    "batch",
    "batch_join",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "shuffle_batch",
    "shuffle_batch_join",
]
