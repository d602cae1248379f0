"""Distributed datasets: every element is a batch for each replica.

    range(7).batch(4) over 2 replicas       [0, 1] | [2, 3]
                                            [4, 5] | [6]

It is implemented as a dataset of ``PerReplica`` values, so it can be iterated and passed to functions like any other.

With several workers, a batch is for the replicas of all of them. The dataset option
``experimental_distribute.auto_shard_policy`` says what each worker reads:

    DATA    its part of every batch: all workers read everything, and together see what one process would
    FILE    its own files (`sharding`), in batches of its share of the batch size
    AUTO    FILE if the dataset reads files, and there are at least as many as workers; otherwise DATA
    OFF     everything, in batches of its share of the batch size
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from typing import Any

from situs._src.base.devices.scope import device
from situs._src.base.dtype import int32, int64
from situs._src.base.errors import ArgumentError, DTypeError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.base.tree import flatten, pack_like
from situs._src.data.dataset import Dataset
from situs._src.data.iterator import IteratorBase
from situs._src.distribute import sharding
from situs._src.distribute.values import regroup
from situs._src.ops.array import shape as shape_of
from situs._src.ops.cast import cast
from situs._src.ops.constant import zeros, zeros_like
from situs._src.ops.join import concat
from situs._src.ops.math import maximum, minimum
from situs._src.ragged.tensor import RaggedTensor, RaggedTensorSpec
from situs._src.sparse.shaping import slice as slice_sparse
from situs._src.sparse.tensor import SparseTensor, SparseTensorSpec
from situs._src.tracing.spec import TensorSpec


@export("distribute.InputContext")
class InputContext:
    """The part of the input that a dataset is created for.

    Args:
        num_input_pipelines: The number of datasets: one for each process.
        input_pipeline_id: The number of this one.
        num_replicas_in_sync: The number of replicas.
    """

    def __init__(self, num_input_pipelines: int = 1, input_pipeline_id: int = 0, num_replicas_in_sync: int = 1) -> None:
        self.num_input_pipelines = num_input_pipelines
        self.input_pipeline_id = input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """The size of a replica's batch.

        Raises:
            ValueError: the batch cannot be divided evenly.
        """
        if global_batch_size % self.num_replicas_in_sync:
            raise ArgumentError(
                f"The `global_batch_size` {global_batch_size} is not divisible by `num_replicas_in_sync` "
                f"{self.num_replicas_in_sync}"
            )
        return global_batch_size // self.num_replicas_in_sync

    def __repr__(self) -> str:
        return (
            f"tf.distribute.InputContext(input pipeline id {self.input_pipeline_id}, total: {self.num_input_pipelines})"
        )


@export("distribute.InputReplicationMode")
class InputReplicationMode(enum.Enum):
    """For whom `distribute_datasets_from_function` calls its function: for the process, or for each of its replicas."""

    PER_WORKER = "PER_WORKER"
    PER_REPLICA = "PER_REPLICA"


@export("distribute.InputOptions")
class InputOptions:
    """How distributed datasets bring elements to replicas.

    Args:
        experimental_fetch_to_device: Accepted for TensorFlow's programs; so are the last two.
        experimental_replication_mode: Whether each replica has a dataset of its own.
        experimental_place_dataset_on_device: Kept.
        experimental_per_replica_buffer_size: Kept.
    """

    def __init__(
        self,
        experimental_fetch_to_device: bool | None = None,
        experimental_replication_mode: InputReplicationMode = InputReplicationMode.PER_WORKER,
        experimental_place_dataset_on_device: bool = False,
        experimental_per_replica_buffer_size: int = 1,
    ) -> None:
        self.experimental_fetch_to_device = experimental_fetch_to_device
        self.experimental_replication_mode = experimental_replication_mode
        self.experimental_place_dataset_on_device = experimental_place_dataset_on_device
        self.experimental_per_replica_buffer_size = experimental_per_replica_buffer_size


@export("distribute.DistributedDataset")
class DistributedDataset:
    """A dataset of batches for the replicas of a strategy.

    Args:
        strategy: The strategy.
        dataset: The underlying dataset, whose elements are ``PerReplica`` values.
    """

    __module__ = "tensorflow.python.distribute.input_lib"  # Keras checks it

    def __init__(self, strategy: Any, dataset: Dataset) -> None:
        self._strategy = strategy
        self.__dataset__ = dataset

    @property
    def element_spec(self) -> Any:
        """The spec of its elements."""
        return self.__dataset__.element_spec

    def __iter__(self) -> Iterator[Any]:
        return iter(self.__dataset__)

    def __len__(self) -> int:
        return len(self.__dataset__)

    def cardinality(self) -> Any:
        """The number of elements, as far as known."""
        return self.__dataset__.cardinality()

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any]) -> Any:
        """The state after all batches, as ``Dataset.reduce`` gives it.

        Args:
            initial_state: The state before the first batch.
            reduce_func: Called with the state and a batch, of the replicas; returns the next state.
        """
        return self.__dataset__.reduce(initial_state, reduce_func)


DistributedIterator = IteratorBase
export("distribute.DistributedIterator")(DistributedIterator)


def _is_per_replica(options: InputOptions | None) -> bool:
    return options is not None and options.experimental_replication_mode is InputReplicationMode.PER_REPLICA


def distributed(strategy: Any, dataset: Any, options: InputOptions | None = None) -> DistributedDataset:
    """A dataset whose batches are split among replicas.

    Raises:
        ValueError: its elements are not batches.
        NotImplementedError: each replica was to have a dataset of its own.
    """
    if _is_per_replica(options):
        raise UnimplementedError(
            "InputReplicationMode.PER_REPLICA is for distribute_datasets_from_function(), which can make a dataset for "
            "each replica; experimental_distribute_dataset() splits the batches of one."
        )
    if isinstance(dataset, DistributedDataset):
        return dataset
    if not isinstance(dataset, Dataset):
        raise DTypeError(f"A strategy distributes a tf.data.Dataset, got {shown(dataset)}.")
    extended = strategy.extended
    here, workers, worker = extended.replicas_here, extended.workers, extended.worker_number
    specs = flatten(dataset.element_spec)
    if any(getattr(spec, "shape", None) is not None and spec.shape.rank == 0 for spec in specs):
        raise ArgumentError(
            "The elements of a dataset that is distributed are batches, which are split among replicas; this one has "
            f"scalars: {dataset.element_spec}. Call batch() with the size of the global batch."
        )
    if workers > 1 and (own := sharding.of_worker(dataset, workers, worker)) is not None:
        with device(None):
            dataset, workers, worker = _in_shares(own, workers), 1, 0
    replicas = here * workers
    if replicas == 1:
        return DistributedDataset(strategy, dataset)

    def split(*element: Any) -> Any:
        whole = element if len(element) != 1 else element[0]
        leaves = flatten(whole)
        count = _rows_of(leaves[0])
        each = (count + replicas - 1) // replicas
        parts = []
        for number in range(worker, replicas, workers):
            begin, end = minimum(each * number, count), minimum(each * (number + 1), count)
            parts.append(pack_like(whole, [_rows(leaf, begin, end) for leaf in leaves]))
        return regroup(parts) if here > 1 else parts[0]

    with device(None):
        return DistributedDataset(strategy, dataset.map(split).prefetch(2))


def _rows_of(batch: Any) -> Any:
    """How many rows a batch has."""
    if isinstance(batch, SparseTensor):
        return cast(batch.dense_shape[0], int32)
    return batch.nrows(int32) if isinstance(batch, RaggedTensor) else shape_of(batch)[0]


def _rows(batch: Any, begin: Any, end: Any) -> Any:
    """Some rows of a batch, one after another."""
    if not isinstance(batch, SparseTensor):
        return batch[begin:end]
    begin, size = cast(begin, int64), cast(end - begin, int64)
    rest = batch.dense_shape[1:]
    return slice_sparse(batch, concat([begin[None], zeros_like(rest)], 0), concat([size[None], rest], 0))


def _in_shares(dataset: Any, workers: int) -> Any:
    """The batches of a dataset, each split into smaller ones: as many as there are workers."""

    def shares(*element: Any) -> Any:
        whole = element if len(element) != 1 else element[0]
        leaves = flatten(whole)
        count = cast(_rows_of(leaves[0]), int64)
        each = (count + workers - 1) // workers

        def share(number: Any) -> Any:
            begin, end = number * each, minimum((number + 1) * each, count)
            return pack_like(whole, [_rows(leaf, begin, end) for leaf in leaves])

        return Dataset.range((count + each - 1) // maximum(each, 1)).map(share)

    return dataset.flat_map(shares)


def from_function(
    strategy: Any, dataset_fn: Callable[[InputContext], Any], options: InputOptions | None = None
) -> DistributedDataset:
    """A dataset of batches for replicas, each of which is an element of the dataset that a function makes."""
    if not callable(dataset_fn):
        raise DTypeError(f"distribute_datasets_from_function() takes a function, got {shown(dataset_fn)}.")
    extended = strategy.extended
    replicas, total = extended.replicas_here, strategy.num_replicas_in_sync
    if replicas > 1 and _is_per_replica(options):
        first = strategy.first_replica
        turns = [_made_by(dataset_fn, InputContext(total, first + number, total)) for number in range(replicas)]
    else:
        dataset = _made_by(dataset_fn, InputContext(extended.workers, extended.worker_number, total))
        if replicas == 1:
            return DistributedDataset(strategy, dataset)
        if (nothing := _no_rows(dataset)) is not None:  # for those for whom the last elements are not enough
            dataset = dataset.concatenate(Dataset.from_tensors(nothing).repeat(replicas - 1))
        turns = [dataset.shard(replicas, number) for number in range(replicas)]

    def joined(*elements: Any) -> Any:
        return regroup(list(elements))

    with device(None):
        return DistributedDataset(strategy, Dataset.zip(tuple(turns)).map(joined).prefetch(2))


def _made_by(dataset_fn: Callable[[InputContext], Any], given: InputContext) -> Dataset:
    made = dataset_fn(given)
    if not isinstance(made, Dataset):
        raise DTypeError(f"The function gives a tf.data.Dataset of a replica's batches, got {shown(made)}.")
    return made


def _no_rows(dataset: Any) -> Any:
    """An empty batch like a dataset's batches; None if they have fixed sizes."""
    specs = flatten(dataset.element_spec)
    batches = TensorSpec, RaggedTensorSpec, SparseTensorSpec
    if not all(isinstance(spec, batches) and spec.shape.rank and spec.shape[0] is None for spec in specs):
        return None
    return pack_like(dataset.element_spec, [_empty(spec) for spec in specs])


def _empty(spec: Any) -> Any:
    """A batch without rows."""
    sizes = [size or 0 for size in spec.shape]
    if isinstance(spec, SparseTensorSpec):
        return SparseTensor(zeros([0, len(sizes)], int64), zeros([0], spec.dtype), sizes)
    if not isinstance(spec, RaggedTensorSpec):
        return zeros(sizes, spec.dtype)
    splits = [zeros([1], spec.row_splits_dtype)] * spec.ragged_rank
    values = zeros([0, *sizes[spec.ragged_rank + 1 :]], spec.dtype)
    return RaggedTensor.from_nested_row_splits(values, splits, validate=False)
