"""``tf.distribute.MultiWorkerMirroredStrategy``: replicas in several processes, kept in sync.

every process                    runs the same program, on its shard of the input
replicas of one process          as under MirroredStrategy: threads, or parts of one graph
between processes                `collectives`: all-reduce of gradients, reducing and gathering values

variables       initialized by the chief; every process has components for its replicas
input           a batch is for all replicas: each process takes its shard, or reads its own files
checkpoints     written by the chief; reading on-read variables requires all workers
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from situs._src.base.devices.inventory import process
from situs._src.base.devices.scope import device, here
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.config.devices import list_logical_devices
from situs._src.distribute import collectives, workers
from situs._src.distribute.cluster_resolver import ClusterResolver, resolve
from situs._src.distribute.communication import CommunicationImplementation, CommunicationOptions
from situs._src.distribute.packing import buckets
from situs._src.distribute.reduction import ReduceOp, divided
from situs._src.distribute.strategy import Strategy, StrategyExtended, devices_of
from situs._src.distribute.workers import Member, Workers
from situs._src.ir.graph.context import init_scope
from situs._src.ops.slices import IndexedSlices
from situs._src.variables.eager import Variable

_TRAINING_JOBS = ("chief", "worker")
_ALONE = Member("worker", 0, "localhost:0")  # if there is no cluster


class MultiWorkerExtended(StrategyExtended):
    """``strategy.extended`` for several processes.

    Args:
        strategy: The strategy.
        devices: The devices of this process's replicas.
        group: The workers; None for a single one.
        options: How values are sent between them.
    """

    experimental_between_graph = True

    def __init__(
        self, strategy: Strategy, devices: tuple[str, ...], group: Workers | None, options: CommunicationOptions
    ) -> None:
        super().__init__(strategy, devices)
        self._group, self._options = group, options

    @property
    def workers(self) -> int:
        """The number of processes."""
        return 1 if self._group is None else self._group.size

    @property
    def worker_number(self) -> int:
        """The number of this one."""
        return 0 if self._group is None else self._group.rank

    @property
    def should_checkpoint(self) -> bool:  # type: ignore[override]
        """Whether this process writes checkpoints: the chief does."""
        return self.worker_number == 0

    @property
    def should_save_summary(self) -> bool:  # type: ignore[override]
        """The same for summaries."""
        return self.worker_number == 0

    @property
    def exchanges(self) -> bool:
        """Whether values are reduced and gathered: with several replicas, or a single one with NCCL."""
        return super().exchanges or self._group is not None

    def _in_multi_worker_mode(self) -> bool:
        return self.workers > 1

    def barrier(self) -> None:
        """Waits for all workers."""
        if self._group is not None:
            self._group.barrier()

    def _first_component(self, made: Variable) -> None:
        if self._group is not None:
            with init_scope(), device(made.device):
                made.assign(collectives.from_chief(made))

    def reduce_rows(
        self, op: ReduceOp, rows: Sequence[Sequence[Any]], options: CommunicationOptions | None = None
    ) -> list[Any]:
        """For each position in lists of values, one list per replica, the sum or the mean over all workers."""
        if self._group is None:
            return super().reduce_rows(op, rows, options)
        columns = list(zip(*rows, strict=True))
        sums: list[Any] = [None] * len(columns)
        together = [list(range(len(columns)))] if here.graph is None else buckets(columns, packed_up_to=None)
        for places in together:  # in the same order everywhere; each as soon as its values are available
            own = [[row[place] for place in places] for row in rows]
            parts = own[0] if len(own) == 1 else super().reduce_rows(ReduceOp.SUM, own, options)
            with device(self.worker_devices[0]):
                for place, part in zip(places, self.across(parts, options), strict=True):
                    sums[place] = divided(part, self._strategy.num_replicas_in_sync) if op is ReduceOp.MEAN else part
        return sums

    def across(self, values: Sequence[Any], options: CommunicationOptions | None = None) -> list[Any]:
        """The sums of values over workers; sparse rows of all of them are concatenated."""
        if self._group is None:
            return list(values)
        dense = [number for number, value in enumerate(values) if not isinstance(value, IndexedSlices)]
        sums = collectives.all_reduce([values[number] for number in dense], self._options.merged(options))
        found: dict[int, Any] = dict(zip(dense, sums, strict=True))
        for number, value in enumerate(values):
            if isinstance(value, IndexedSlices):
                rows, places = collectives.gather(value.values), collectives.gather(value.indices)
                found[number] = IndexedSlices(rows, places, value._dense_shape)
        return [found[number] for number in range(len(values))]

    def from_first(self, value: Any) -> Any:
        """The value of the chief's first replica."""
        first = super().from_first(value)
        return first if self._group is None else collectives.from_chief(first)

    def joined(self, value: Any, axis: int) -> Any:
        """The values of all workers, concatenated."""
        return value if self._group is None else collectives.gather(value, axis)


@export("distribute.MultiWorkerMirroredStrategy")
class MultiWorkerMirroredStrategy(Strategy):
    """Mirrored replicas in several processes, each with its own copy of the variables, kept in sync.

    Every process runs the same program. The cluster is described by ``TF_CONFIG``, by torchrun or ``situs launch``, or
    by a resolver; without any, there is one process. A cluster of one exchanges nothing, unless NCCL is requested: then
    its values go through NCCL like those of several workers.

    Args:
        cluster_resolver: Describes the workers, and which of them this is.
        communication_options: How values are sent between them, and the timeout.

    Raises:
        DeadlineExceededError: workers are missing; the message names them.
    """

    def __init__(
        self, cluster_resolver: ClusterResolver | None = None, communication_options: CommunicationOptions | None = None
    ) -> None:
        if cluster_resolver is not None and not isinstance(cluster_resolver, ClusterResolver):
            raise DTypeError(f"`cluster_resolver` is one of tf.distribute's, got {shown(cluster_resolver)}.")
        options = communication_options or CommunicationOptions()
        if not isinstance(options, CommunicationOptions):
            raise DTypeError(f"`communication_options` are tf.distribute's CommunicationOptions, got {shown(options)}.")
        self.cluster_resolver = cluster_resolver or resolve()
        members, rank = _members(self.cluster_resolver)
        asked = options.implementation is CommunicationImplementation.NCCL and members != [_ALONE]
        group = workers.join(members, rank) if len(members) > 1 or asked else None
        super().__init__(MultiWorkerExtended(self, _devices(), group, options))
        self.first_replica = rank * self.extended.replicas_here

    @property
    def num_replicas_in_sync(self) -> int:
        """The number of replicas of all processes together."""
        return self.extended.replicas_here * self.extended.workers


@export("distribute.experimental.MultiWorkerMirroredStrategy")
class ExperimentalMultiWorkerMirroredStrategy(MultiWorkerMirroredStrategy):
    """The same, with its older arguments.

    Args:
        communication: The communication library.
        cluster_resolver: Describes the workers, and which of them this is.
    """

    def __init__(
        self,
        communication: CommunicationImplementation = CommunicationImplementation.AUTO,
        cluster_resolver: ClusterResolver | None = None,
    ) -> None:
        super().__init__(cluster_resolver, CommunicationOptions(implementation=communication))


def _members(resolver: ClusterResolver) -> tuple[list[Member], int]:
    """The workers, the chief first, and the rank of this process; this one alone if there is no cluster.

    Raises:
        ValueError: the cluster has parameter servers, or this process is not one of its tasks.
    """
    cluster = resolver.cluster_spec()
    if "ps" in cluster.jobs:
        raise ArgumentError(
            f"MultiWorkerMirroredStrategy has a chief and workers, and no parameter servers; the cluster is {cluster}."
        )
    if not cluster or resolver.task_type == "evaluator":
        return [_ALONE], 0
    members = [
        Member(job, number, cluster.task_address(job, number))
        for job in _TRAINING_JOBS
        if job in cluster.jobs
        for number in cluster.task_indices(job)
    ]
    for rank, member in enumerate(members):
        if (member.job, member.number) == (resolver.task_type, resolver.task_id):
            return members, rank
    raise ArgumentError(
        f"This process is task {resolver.task_id} of job {resolver.task_type!r}, which the cluster has not: {cluster}. "
        'TF_CONFIG says it like "task": {"type": "worker", "index": 0}.'
    )


def _devices() -> tuple[str, ...]:
    """The devices of this process's replicas: its GPUs, of which processes of one machine have a share each."""
    cards = list_logical_devices("GPU")
    if not cards:
        return devices_of(["/device:CPU:0"])
    number, count = int(os.environ.get("LOCAL_RANK", "0")), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    if count > 1 and any(each.is_card for each in process.devices()):  # each process has its own virtual ones
        each = len(cards) // count
        cards = cards[number * each : (number + 1) * each] if each else [cards[number % len(cards)]]
    return devices_of([card.name for card in cards])
