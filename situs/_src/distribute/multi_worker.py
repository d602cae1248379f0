"""``tf.distribute.MultiWorkerMirroredStrategy``: the replicas of several processes, kept the same.

every process                    runs the same program, with its part of the input
replicas of one process          as under MirroredStrategy: threads, or parts of one graph
between processes                `collectives`: sums of gradients, values to be reduced or gathered

variables       the chief's first values; every process has components for its replicas
input           a batch is for all replicas: each process takes its part of it, or reads files of its own
checkpoints     are the chief's; reading variables that are added up where they are read takes all workers
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


class MultiWorkerExtended(StrategyExtended):
    """What libraries ask of a strategy, over several processes.

    Args:
        strategy: The strategy.
        devices: The devices of this process's replicas.
        group: The workers; None for a cluster of one.
        options: How values go between them.
    """

    experimental_between_graph = True

    def __init__(
        self, strategy: Strategy, devices: tuple[str, ...], group: Workers | None, options: CommunicationOptions
    ) -> None:
        super().__init__(strategy, devices)
        self._group, self._options = group, options

    @property
    def workers(self) -> int:
        """How many processes there are."""
        return 1 if self._group is None else self._group.size

    @property
    def worker_number(self) -> int:
        """Which of them this is."""
        return 0 if self._group is None else self._group.rank

    @property
    def should_checkpoint(self) -> bool:  # type: ignore[override]
        """Whether this process writes what all have: the chief does."""
        return self.worker_number == 0

    @property
    def should_save_summary(self) -> bool:  # type: ignore[override]
        """The same for summaries."""
        return self.worker_number == 0

    def _in_multi_worker_mode(self) -> bool:
        return self.workers > 1

    def barrier(self) -> None:
        """Waits until all workers are here."""
        if self._group is not None:
            self._group.barrier()

    def _first_component(self, made: Variable) -> None:
        if self._group is not None:
            with init_scope(), device(made.device):
                made.assign(collectives.from_chief(made))

    def reduce_rows(
        self, op: ReduceOp, rows: Sequence[Sequence[Any]], options: CommunicationOptions | None = None
    ) -> list[Any]:
        """For each place in lists of values, one list a replica, the sum or the mean over all workers."""
        if self._group is None:
            return super().reduce_rows(op, rows, options)
        columns = list(zip(*rows, strict=True))
        sums: list[Any] = [None] * len(columns)
        together = [list(range(len(columns)))] if here.graph is None else buckets(columns, packed_up_to=None)
        for places in together:  # in the same order everywhere; each as soon as its values are there
            own = [[row[place] for place in places] for row in rows]
            parts = own[0] if len(own) == 1 else super().reduce_rows(ReduceOp.SUM, own, options)
            with device(self.worker_devices[0]):
                for place, part in zip(places, self.across(parts, options), strict=True):
                    sums[place] = divided(part, self._strategy.num_replicas_in_sync) if op is ReduceOp.MEAN else part
        return sums

    def across(self, values: Sequence[Any], options: CommunicationOptions | None = None) -> list[Any]:
        """The sums of values over workers; rows of all of them are put one after another."""
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
        """What the first replica of the chief has, of the values of this process's replicas."""
        first = super().from_first(value)
        return first if self._group is None else collectives.from_chief(first)

    def joined(self, value: Any, axis: int) -> Any:
        """The values of all workers, joined."""
        return value if self._group is None else collectives.gather(value, axis)


@export("distribute.MultiWorkerMirroredStrategy")
class MultiWorkerMirroredStrategy(Strategy):
    """Replicas in several processes, each with variables of its own, which are kept the same.

    Every process runs the same program. Who they are is said by ``TF_CONFIG``, by torchrun or ``situs launch``, or by a
    resolver; where nothing is said, there is one process.

    Args:
        cluster_resolver: Who the workers are, and which of them this is.
        communication_options: How values go between them, and how long one waits for the others.

    Raises:
        DeadlineExceededError: Workers did not come; they are named.
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
        group = workers.join(members, rank) if len(members) > 1 else None
        super().__init__(MultiWorkerExtended(self, _devices(), group, options))
        self.first_replica = rank * self.extended.replicas_here

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas all processes have together."""
        return self.extended.replicas_here * self.extended.workers


@export("distribute.experimental.MultiWorkerMirroredStrategy")
class ExperimentalMultiWorkerMirroredStrategy(MultiWorkerMirroredStrategy):
    """The same, with the arguments that it had at first.

    Args:
        communication: What carries values between workers.
        cluster_resolver: Who the workers are, and which of them this is.
    """

    def __init__(
        self,
        communication: CommunicationImplementation = CommunicationImplementation.AUTO,
        cluster_resolver: ClusterResolver | None = None,
    ) -> None:
        super().__init__(cluster_resolver, CommunicationOptions(implementation=communication))


def _members(resolver: ClusterResolver) -> tuple[list[Member], int]:
    """The workers, the chief first, and which of them this process is; it alone where no other is named.

    Raises:
        ValueError: the cluster has parameter servers, or this process is none of its tasks.
    """
    cluster = resolver.cluster_spec()
    if "ps" in cluster.jobs:
        raise ArgumentError(
            f"MultiWorkerMirroredStrategy has a chief and workers, and no parameter servers; the cluster is {cluster}."
        )
    if not cluster or resolver.task_type == "evaluator":
        return [Member("worker", 0, "localhost:0")], 0
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
    """The devices of this process's replicas: its cards, of which processes of one machine have a part each."""
    cards = list_logical_devices("GPU")
    if not cards:
        return devices_of(["/device:CPU:0"])
    number, count = int(os.environ.get("LOCAL_RANK", "0")), int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    if count > 1 and any(each.is_card for each in process.devices()):  # each process makes up virtual ones of its own
        each = len(cards) // count
        cards = cards[number * each : (number + 1) * each] if each else [cards[number % len(cards)]]
    return devices_of([card.name for card in cards])
