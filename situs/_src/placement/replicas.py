"""``replica_device_setter``: a device function that spreads variables over parameter servers.

    with tf.device(tf.train.replica_device_setter(ps_tasks=2)):
        v1 = tf.Variable(...)     /job:ps/task:0
        v2 = tf.Variable(...)     /job:ps/task:1
        v3 = tf.Variable(...)     /job:ps/task:0
        y = v1 + v2               /job:worker

Requests of inner scopes win, field by field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from situs._src.base.devices.scope import PlacedOp
from situs._src.base.devices.spec import DeviceSpec, parse_spec
from situs._src.base.errors import ArgumentError, DTypeError
from situs._src.base.export import export
from situs._src.base.tree import listed

# Types of ops with state. The names of all versions of TensorFlow, because programs use them.
STANDARD_PS_OPS = (
    "Variable",
    "VariableV2",
    "AutoReloadVariable",
    "MutableHashTable",
    "MutableHashTableV2",
    "MutableHashTableOfTensors",
    "MutableHashTableOfTensorsV2",
    "MutableDenseHashTable",
    "MutableDenseHashTableV2",
    "VarHandleOp",
)

Strategy = Callable[[Any], int]


class RoundRobin:
    """A strategy that gives each variable the next task, in order of creation."""

    def __init__(self, num_tasks: int) -> None:
        self._num_tasks = num_tasks
        self._numbers = count()

    def __call__(self, op: object) -> int:
        """The task for the next variable."""
        return next(self._numbers) % self._num_tasks


class ReplicaDeviceChooser:
    """The device function that `replica_device_setter` returns."""

    def __init__(
        self,
        strategy: Strategy,
        ps_device: str | None,
        worker_device: str | None,
        merge_devices: bool,
        ps_ops: Iterable[str],
    ) -> None:
        self._strategy = strategy
        self._ps: DeviceSpec = DeviceSpec.from_string(ps_device or "")
        self._worker: DeviceSpec = DeviceSpec.from_string(worker_device or "")
        self._merge_devices = merge_devices
        self._ps_ops = frozenset(ps_ops)

    def __call__(self, op: PlacedOp) -> str:
        """The device for an op; its own request is kept."""
        if op.device and not self._merge_devices:
            return op.device
        asked = parse_spec(op.device or "")
        holds_state = bool(self._ps) and op.type in self._ps_ops
        return (self._server(op, asked) if holds_state else self._worker).make_merged_spec(asked).to_string()

    def _server(self, op: PlacedOp, asked: DeviceSpec) -> DeviceSpec:
        # A program that pins the variable to another job has not requested one of our tasks.
        if self._ps.job is None or asked.job not in (None, self._ps.job):
            return self._ps
        return self._ps.replace(task=self._strategy(op))


@export(v1="train.replica_device_setter", as_is=True)
def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str | None = "/job:ps",
    worker_device: str | None = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Iterable[str] | None = None,
    ps_strategy: Strategy | None = None,
) -> ReplicaDeviceChooser | None:
    """A device function for one replica of a program: variables on parameter servers, the rest on the worker.

    Args:
        ps_tasks: The number of parameter servers; 0 for none, which returns None.
        ps_device: The device of variables, without the task.
        worker_device: The device of everything else.
        merge_devices: Whether devices of inner scopes are completed, rather than kept unchanged.
        cluster: Names of jobs with their tasks, or an object whose ``as_dict()`` returns them; `ps_tasks` is taken
            from it.
        ps_ops: The types of ops with state.
        ps_strategy: A function from an op to the number of its task; round robin by default.

    Raises:
        TypeError: `ps_strategy` cannot be called, `ps_ops` is not a list, or `cluster` does not list tasks.
        ValueError: `ps_tasks` is not a number, or a device is not a device name.
    """
    if cluster is not None:
        ps_tasks = _tasks_in(cluster, ps_device)
    if not isinstance(ps_tasks, int) or ps_tasks < 0:
        raise ArgumentError(f"ps_tasks is a number of parameter servers, 0 or more, got {ps_tasks!r}.")
    if ps_tasks == 0:
        return None
    if ps_strategy is not None and not callable(ps_strategy):
        raise DTypeError(f"ps_strategy must be callable: a function from an op to a task. Got {ps_strategy!r}.")
    return ReplicaDeviceChooser(
        ps_strategy or RoundRobin(ps_tasks),
        ps_device,
        worker_device,
        merge_devices,
        STANDARD_PS_OPS if ps_ops is None else _types_of_ops(ps_ops),
    )


def _types_of_ops(ps_ops: Any) -> list[str]:
    if isinstance(ps_ops, str):
        raise DTypeError(f"ps_ops is a list of types of ops, got the single {ps_ops!r}. Write [{ps_ops!r}].")
    return listed(ps_ops, "types of ops")


def _tasks_in(cluster: Any, ps_device: str | None) -> int:
    jobs = cluster.as_dict() if hasattr(cluster, "as_dict") else cluster
    if not isinstance(jobs, Mapping):
        raise DTypeError(f"cluster is a dictionary from jobs to lists of tasks, or a ClusterSpec, got {cluster!r}.")
    job = DeviceSpec.from_string(ps_device or "").job
    tasks = jobs.get(job) or ()
    if isinstance(tasks, str) or not isinstance(tasks, (Sequence, Mapping)):
        raise DTypeError(f"A job of a cluster is a list of its tasks' addresses, got {tasks!r} for {job!r}.")
    return len(tasks)
