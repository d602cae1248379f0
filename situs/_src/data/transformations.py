"""Functions for ``Dataset.apply``: transformations as they were before they became methods.

    ds.apply(tf.data.experimental.shuffle_and_repeat(1000, count=3))        ds.shuffle(1000).repeat(3)

See the methods for their semantics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, DTypeError, FailedPreconditionError, InvalidArgumentError, shown
from situs._src.base.export import export
from situs._src.base.nest import map_structure
from situs._src.base.typing import DTypeLike, IntLike, PathLike
from situs._src.data.base import DatasetV2, node_of
from situs._src.data.dataset import Dataset
from situs._src.data.node import INFINITE, Binding, Failure, Node, Stream, Transformation
from situs._src.ops.attribute import as_int

Transform = Callable[[Any], Any]


def _method(name: str, *args: Any, **kwargs: Any) -> Transform:
    """The transformation that calls a method of the dataset."""

    def apply(dataset: Any) -> Any:
        node_of(dataset, f"{name}()")
        return getattr(dataset, name)(*args, **kwargs)

    return apply


@export("data.experimental.cardinality")
def cardinality(dataset: Any) -> Any:
    """The number of elements of a dataset, as ``dataset.cardinality()`` gives it."""
    node_of(dataset, "cardinality()")
    return dataset.cardinality()


@export("data.experimental.assert_cardinality")
def assert_cardinality(expected_cardinality: IntLike) -> Transform:
    """A transformation that says how many elements a dataset has, and holds it to that.

    Args:
        expected_cardinality: The number, or ``INFINITE_CARDINALITY``.
    """
    expected = as_int(expected_cardinality, "expected_cardinality")
    if expected < INFINITE:
        raise InvalidArgumentError(f"A dataset cannot have {expected} elements.")

    def apply(dataset: Any) -> Any:
        node = node_of(dataset, "assert_cardinality()")
        assert isinstance(dataset, DatasetV2)
        return dataset._of(AssertCardinality(node, expected))

    return apply


class AssertCardinality(Transformation):
    """The same elements; an error if there are fewer or more than was said."""

    title = "AssertCardinality"

    def __init__(self, input: Node, expected: int) -> None:
        super().__init__(input)
        self._expected = expected

    def start(self, binding: Binding) -> Stream:
        """Begins an iteration."""
        return Stream(self._counted(self.input.start(binding).elements()))

    def _counted(self, items: Iterator[Any]) -> Iterator[Any]:
        count = 0
        for item in items:
            count += type(item) is not Failure
            if 0 <= self._expected < count:
                yield self._wrong(f"at least {count}")
                return
            yield item
        if count != self._expected:
            yield self._wrong(f"{count}")

    def _wrong(self, found: str) -> Failure:
        expected = "an infinite number of" if self._expected == INFINITE else str(self._expected)
        return Failure(
            FailedPreconditionError(f"Input dataset was expected to contain {expected} elements but contained {found}.")
        )

    def cardinality(self, binding: Binding) -> int:
        """What was said."""
        return self._expected


@export("data.experimental.enumerate_dataset")
def enumerate_dataset(start: Any = 0) -> Transform:
    """A transformation to pairs of numbers and elements."""
    return _method("enumerate", start)


@export("data.experimental.group_by_window")
def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: IntLike | None = None,
    window_size_func: Callable[..., Any] | None = None,
) -> Transform:
    """A transformation that groups elements by a key; see ``Dataset.group_by_window``."""
    return _method("group_by_window", key_func, reduce_func, window_size, window_size_func)


@export("data.experimental.ignore_errors")
def ignore_errors(log_warning: bool = False) -> Transform:
    """A transformation that leaves out elements which could not be made."""
    return _method("ignore_errors", log_warning)


@export("data.experimental.map_and_batch")
def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: IntLike,
    num_parallel_batches: IntLike | None = None,
    drop_remainder: bool = False,
    num_parallel_calls: IntLike | None = None,
) -> Transform:
    """A transformation that maps and batches.

    Args:
        map_func: A function of elements.
        batch_size: How many results make a batch.
        num_parallel_batches: How many batches to work on at a time.
        drop_remainder: Whether to leave out the last batch if it is smaller.
        num_parallel_calls: How many elements to work on at a time.
    """
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ArgumentError("`map_and_batch` allows only one of `num_parallel_batches` and `num_parallel_calls`.")
    calls = num_parallel_calls
    if num_parallel_batches is not None:
        calls = as_int(num_parallel_batches, "num_parallel_batches") * as_int(batch_size, "batch_size")
    mapping = _method("map", map_func, calls)
    return lambda dataset: mapping(dataset).batch(batch_size, drop_remainder)


@export("data.experimental.parallel_interleave")
def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: IntLike,
    block_length: IntLike = 1,
    sloppy: bool | None = False,
    buffer_output_elements: IntLike | None = None,
    prefetch_input_elements: IntLike | None = None,
) -> Transform:
    """A transformation that reads several datasets at a time; see ``Dataset.interleave``.

    Args:
        map_func: A function from an element to a dataset.
        cycle_length: How many datasets take turns.
        block_length: How many elements one gives before the next has its turn.
        sloppy: Accepted for TensorFlow's programs: the order does not depend on the threads.
        buffer_output_elements: Accepted for TensorFlow's programs.
        prefetch_input_elements: Accepted for TensorFlow's programs.
    """
    return _method("interleave", map_func, cycle_length, block_length, cycle_length)


@export("data.experimental.scan")
def scan(initial_state: object, scan_func: Callable[..., Any]) -> Transform:
    """A transformation by a function with a state; see ``Dataset.scan``."""
    return _method("scan", initial_state, scan_func)


@export("data.experimental.shuffle_and_repeat")
def shuffle_and_repeat(buffer_size: IntLike, count: IntLike | None = None, seed: IntLike | None = None) -> Transform:
    """A transformation that shuffles and repeats."""
    shuffling = _method("shuffle", buffer_size, seed)
    return lambda dataset: shuffling(dataset).repeat(count)


@export("data.experimental.take_while")
def take_while(predicate: Callable[..., Any]) -> Transform:
    """A transformation to the elements before the first that a predicate does not hold for."""
    return _method("take_while", predicate)


@export("data.experimental.unbatch")
def unbatch() -> Transform:
    """A transformation to the rows of elements."""
    return _method("unbatch")


@export("data.experimental.unique")
def unique() -> Transform:
    """A transformation to elements that were not there before."""
    return _method("unique")


@export("data.experimental.get_next_as_optional")
def get_next_as_optional(iterator: Any) -> Any:
    """The next element of an iterator, or that there is none.

    Raises:
        TypeError: it is not an iterator of a dataset.
    """
    if not hasattr(iterator, "get_next_as_optional"):
        raise DTypeError(f"get_next_as_optional() takes an iterator of a dataset, got {shown(iterator)}.")
    return iterator.get_next_as_optional()


@export("data.experimental.get_single_element")
def get_single_element(dataset: Any) -> Any:
    """The element of a dataset that has one."""
    node_of(dataset, "get_single_element()")
    return dataset.get_single_element()


# What became methods of Dataset later, and keeps its older name.


@export("data.experimental.Counter", v1=())
def counter(start: Any = 0, step: IntLike = 1, dtype: DTypeLike = dt.int64) -> Any:
    """An endless dataset that counts; see ``Dataset.counter``."""
    return Dataset.counter(start, step, dtype)


@export("data.experimental.RandomDataset", v1=())
def random_dataset(seed: int | None = None, name: str | None = None) -> Any:
    """An endless dataset of random integers; see ``Dataset.random``."""
    return Dataset.random(seed)


@export("data.experimental.from_list")
def from_list(elements: Any, name: str | None = None) -> Any:
    """A dataset of the elements of a list, which have one structure and one shape each.

    Raises:
        TypeError: `elements` is not a list or a tuple.
        ValueError: the list is empty.
    """
    if not isinstance(elements, (list, tuple)):
        raise DTypeError(f"Invalid `elements`: it is a list of elements, got {shown(elements)}.")
    if not elements:
        raise ArgumentError(
            "Invalid `elements`. `elements` should not be empty. If you want an empty dataset, use "
            "`tf.data.Dataset.range(0)`."
        )
    return Dataset.from_tensor_slices(map_structure(lambda *leaves: list(leaves), *elements))


@export("data.experimental.choose_from_datasets", v1=())
def choose_from_datasets(datasets: Any, choice_dataset: Any, stop_on_empty_dataset: bool = False) -> Any:
    """The next element of the dataset whose number comes; see ``Dataset.choose_from_datasets``."""
    return Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


@export("data.experimental.sample_from_datasets", v1=())
def sample_from_datasets(
    datasets: Any, weights: Any = None, seed: Any = None, stop_on_empty_dataset: bool = False
) -> Any:
    """Elements of some datasets, at random; see ``Dataset.sample_from_datasets``."""
    return Dataset.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)


@export("data.experimental.bucket_by_sequence_length")
def bucket_by_sequence_length(*args: Any, **kwargs: Any) -> Transform:
    """A transformation to batches of elements of about the same length; see ``Dataset.bucket_by_sequence_length``."""
    return _method("bucket_by_sequence_length", *args, **kwargs)


@export("data.experimental.dense_to_ragged_batch")
def dense_to_ragged_batch(
    batch_size: IntLike, drop_remainder: bool = False, row_splits_dtype: DTypeLike = dt.int64
) -> Transform:
    """A transformation to ragged batches; see ``Dataset.ragged_batch``."""
    return _method("ragged_batch", batch_size, drop_remainder, row_splits_dtype)


@export("data.experimental.rejection_resample")
def rejection_resample(
    class_func: Callable[..., Any], target_dist: Any, initial_dist: Any = None, seed: IntLike | None = None
) -> Transform:
    """A transformation that leaves out elements at random; see ``Dataset.rejection_resample``."""
    return _method("rejection_resample", class_func, target_dist, initial_dist, seed)


@export("data.experimental.snapshot")
def snapshot(
    path: PathLike,
    compression: str = "AUTO",
    reader_func: Callable[..., Any] | None = None,
    shard_func: Callable[..., Any] | None = None,
) -> Transform:
    """A transformation that keeps elements in a file; see ``Dataset.snapshot``."""
    return _method("snapshot", path, compression, reader_func, shard_func)


@export("data.experimental.save")
def save(
    dataset: Any,
    path: PathLike,
    compression: str | None = None,
    shard_func: Callable[..., Any] | None = None,
    checkpoint_args: Any = None,
) -> None:
    """Writes the elements of a dataset to files; see ``Dataset.save``."""
    node_of(dataset, "save()")
    dataset.save(path, compression, shard_func, checkpoint_args)


@export("data.experimental.load")
def load(
    path: PathLike,
    element_spec: Any = None,
    compression: str | None = None,
    reader_func: Callable[..., Any] | None = None,
) -> Any:
    """The elements that ``save`` has written; see ``Dataset.load``."""
    return Dataset.load(path, element_spec, compression, reader_func)


@export("data.experimental.get_structure")
def get_structure(dataset_or_iterator: Any) -> Any:
    """What the elements of a dataset or an iterator are.

    Raises:
        TypeError: it is neither.
    """
    if not hasattr(dataset_or_iterator, "element_spec"):
        raise DTypeError(f"get_structure() takes a dataset or an iterator of one, got {shown(dataset_or_iterator)}.")
    return dataset_or_iterator.element_spec
