"""``tf.distribute`` of a program that uses one replica: the default strategy, which Keras asks for everywhere.

Strategies over several devices are not there yet: making one is refused in words.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from situs._src.base.devices.scope import device
from situs._src.base.errors import UnimplementedError


class ReduceOp(enum.Enum):
    """How the values of replicas become one."""

    SUM = "SUM"
    MEAN = "MEAN"


class Extended:
    """What libraries ask of a strategy: here everything happens where it is."""

    worker_devices = ("/device:CPU:0",)

    @contextmanager
    def colocate_vars_with(self, colocate_with_variable: Any) -> Iterator[None]:
        """A context in which variables are made beside another one."""
        with device(colocate_with_variable.device):
            yield

    def update(
        self,
        var: object,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        group: bool = True,
    ) -> Any:
        """Calls a function that changes a variable."""
        return fn(var, *args, **(kwargs or {}))

    def _in_multi_worker_mode(self) -> bool:
        return False


class Strategy:
    """The default strategy: one replica, which is the program itself."""

    def __init__(self) -> None:
        self.extended = Extended()
        self.num_replicas_in_sync = 1

    def scope(self) -> AbstractContextManager[Strategy]:
        """A context in which variables are this strategy's."""
        return nullcontext(self)

    def run(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        options: Any = None,
    ) -> Any:
        """Calls a function on every replica."""
        return fn(*args, **(kwargs or {}))

    def reduce(self, reduce_op: ReduceOp, value: Any, axis: int | None = None) -> Any:
        """The values of all replicas as one."""
        if axis is None:
            return value
        from situs._src.ops.reduce import reduce_mean, reduce_sum

        return (reduce_sum if ReduceOp(reduce_op) is ReduceOp.SUM else reduce_mean)(value, axis)

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """The part of a dataset that each replica reads."""
        return dataset

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The values of the replicas of this process."""
        return (value,)


class ReplicaContext:
    """What the function that a strategy runs may ask."""

    num_replicas_in_sync = 1
    replica_id_in_sync_group = 0

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy

    def all_reduce(self, reduce_op: ReduceOp, value: Any, options: Any = None) -> Any:
        """The values of all replicas as one, on every replica."""
        return value

    def merge_call(
        self, merge_fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Calls a function once for all replicas."""
        return merge_fn(self.strategy, *args, **(kwargs or {}))


class _Absent:
    """A class of ``tf.distribute`` that has no objects here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise UnimplementedError(
            f"Situs has no tf.distribute.{type(self).__name__} yet: place towers by hand with tf.device, as "
            "examples/cifar10_cnn.py does."
        )


_strategy = Strategy()
_replica = ReplicaContext(_strategy)


def names() -> dict[str, Any]:
    """The names of ``tf.distribute``."""
    return {
        **{name: type(name, (_Absent,), {"__doc__": f"``{name}``, which is not there yet."}) for name in _CLASSES},
        "ReduceOp": ReduceOp,
        "ReplicaContext": ReplicaContext,
        "Strategy": Strategy,
        "StrategyExtended": Extended,
        "get_replica_context": lambda: _replica,
        "get_strategy": lambda: _strategy,
        "has_strategy": lambda: False,
        "in_cross_replica_context": lambda: False,
    }


_CLASSES = (
    "CentralStorageStrategy",
    "DistributedDataset",
    "DistributedIterator",
    "DistributedValues",
    "MirroredStrategy",
    "MultiWorkerMirroredStrategy",
    "OneDeviceStrategy",
    "ParameterServerStrategy",
    "TPUStrategy",
)
