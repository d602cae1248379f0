"""Distributed datasets: every element is a batch for each replica.

    range(7).batch(4) over 2 replicas       [0, 1] | [2, 3]
                                            [4, 5] | [6]

Underneath is a dataset of ``PerReplica`` values, so it is iterated and passed to functions as any other.

Over several workers a batch is for the replicas of all of them. What a worker takes is said by the option
``experimental_distribute.auto_shard_policy`` of the dataset:

    DATA    its part of every batch: all workers read everything, and together see what one process would
    FILE    files of its own (`sharding`), and of what they hold batches of its share of the size
    AUTO    FILE if the dataset reads files, and there are as many as workers; else DATA
    OFF     everything, in batches of its share of the size
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from situs._src.base.devices.scope import device
from situs._src.base.dtype import int64
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.tree import flatten, pack_like
from situs._src.data.dataset import Dataset
from situs._src.data.iterator import IteratorBase
from situs._src.distribute import sharding
from situs._src.distribute.values import regroup
from situs._src.ops.array import shape as shape_of
from situs._src.ops.constant import zeros
from situs._src.ops.math import maximum, minimum
from situs._src.tracing.spec import TensorSpec


@export("distribute.InputContext")
class InputContext:
    """For which part of the input a dataset is made.

    Args:
        num_input_pipelines: How many datasets there are: one for each process.
        input_pipeline_id: The number of this one.
        num_replicas_in_sync: How many replicas they feed.
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


@export("distribute.InputOptions")
class InputOptions:
    """How distributed datasets bring elements to replicas: accepted for TensorFlow's programs.

    Args:
        experimental_fetch_to_device: Kept.
        experimental_replication_mode: Kept.
        experimental_place_dataset_on_device: Kept.
        experimental_per_replica_buffer_size: Kept.
    """

    def __init__(
        self,
        experimental_fetch_to_device: bool | None = None,
        experimental_replication_mode: Any = None,
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
        dataset: The dataset underneath, whose elements are ``PerReplica`` values.
    """

    __module__ = "tensorflow.python.distribute.input_lib"  # by which Keras knows it

    def __init__(self, strategy: Any, dataset: Dataset) -> None:
        self._strategy = strategy
        self.__dataset__ = dataset

    @property
    def element_spec(self) -> Any:
        """The kind of its elements."""
        return self.__dataset__.element_spec

    def __iter__(self) -> Iterator[Any]:
        return iter(self.__dataset__)

    def __len__(self) -> int:
        return len(self.__dataset__)

    def cardinality(self) -> Any:
        """How many elements there are, as far as that is known."""
        return self.__dataset__.cardinality()


DistributedIterator = IteratorBase
export("distribute.DistributedIterator")(DistributedIterator)


def distributed(strategy: Any, dataset: Any) -> DistributedDataset:
    """A dataset whose batches are split among replicas.

    Raises:
        ValueError: its elements are not batches.
    """
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
        count = shape_of(leaves[0])[0]
        each = (count + replicas - 1) // replicas
        parts = []
        for number in range(worker, replicas, workers):
            begin, end = minimum(each * number, count), minimum(each * (number + 1), count)
            parts.append(pack_like(whole, [leaf[begin:end] for leaf in leaves]))
        return regroup(parts) if here > 1 else parts[0]

    with device(None):
        return DistributedDataset(strategy, dataset.map(split).prefetch(2))


def _in_shares(dataset: Any, workers: int) -> Any:
    """The batches of a dataset, each as several smaller ones: as many as there are workers."""

    def shares(*element: Any) -> Any:
        whole = element if len(element) != 1 else element[0]
        leaves = flatten(whole)
        count = shape_of(leaves[0], int64)[0]
        each = (count + workers - 1) // workers

        def share(number: Any) -> Any:
            return pack_like(whole, [leaf[number * each : minimum((number + 1) * each, count)] for leaf in leaves])

        return Dataset.range((count + each - 1) // maximum(each, 1)).map(share)

    return dataset.flat_map(shares)


def from_function(strategy: Any, dataset_fn: Callable[[InputContext], Any]) -> DistributedDataset:
    """A dataset of batches for replicas, each of which is an element of the dataset that a function makes."""
    replicas = strategy.extended.replicas_here
    extended = strategy.extended
    dataset = dataset_fn(InputContext(extended.workers, extended.worker_number, strategy.num_replicas_in_sync))
    if not isinstance(dataset, Dataset):
        raise DTypeError(f"The function gives a tf.data.Dataset of a replica's batches, got {shown(dataset)}.")
    if replicas == 1:
        return DistributedDataset(strategy, dataset)
    if (nothing := _no_rows(dataset)) is not None:  # for those for whom the last elements are not enough
        dataset = dataset.concatenate(Dataset.from_tensors(nothing).repeat(replicas - 1))
    turns = [dataset.shard(replicas, number) for number in range(replicas)]

    def joined(*elements: Any) -> Any:
        return regroup(list(elements))

    with device(None):
        return DistributedDataset(strategy, Dataset.zip(tuple(turns)).map(joined).prefetch(2))


def _no_rows(dataset: Any) -> Any:
    """A batch without rows, of the kind of a dataset's batches; None if they have sizes that cannot be 0."""
    specs = flatten(dataset.element_spec)
    if not all(isinstance(spec, TensorSpec) and spec.shape.rank and spec.shape[0] is None for spec in specs):
        return None
    rows = [zeros([0, *[size or 0 for size in spec.shape[1:]]], spec.dtype) for spec in specs]
    return pack_like(dataset.element_spec, rows)
