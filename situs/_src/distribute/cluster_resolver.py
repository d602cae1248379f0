"""``tf.distribute.cluster_resolver``: the tasks of a cluster, and which of them this process is.

    TFConfigClusterResolver    TF_CONFIG={"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}}
    SlurmClusterResolver       Slurm's variables: SLURM_PROCID, SLURM_STEP_NODELIST ...
    SimpleClusterResolver      arguments of the program
    LaunchedClusterResolver    variables of torchrun and ``situs launch``: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT

A strategy calls `resolve()` if the program passes no resolver: ``TF_CONFIG`` takes precedence over ``RANK``.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from situs._src.base import settings
from situs._src.base.errors import ArgumentError, DTypeError, StateError, shown
from situs._src.base.export import export
from situs._src.config.devices import list_logical_devices
from situs._src.distribute.cluster_spec import ClusterSpec

MOST = 2**20  # tasks of a cluster, and hosts
DIGITS = 18  # of a number in the name of a host


@export("distribute.cluster_resolver.ClusterResolver")
class ClusterResolver:
    """The tasks of a program, and which of them this process is: the base class of resolvers."""

    environment: str | None = ""
    task_type: str | None = None
    task_id: int | None = None
    rpc_layer: str | None = None

    def cluster_spec(self) -> ClusterSpec:
        """The tasks, as known now."""
        raise NotImplementedError

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The address of a task, by default of this one, with the protocol as a prefix; "" if unknown."""
        kind = self.task_type if task_type is None else task_type
        number = self.task_id if task_id is None else task_id
        if kind is None or number is None:
            return ""
        return _url(self.cluster_spec().task_address(kind, number), rpc_layer or self.rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """The number of devices of each kind besides the CPU on a worker; assumed equal for all."""
        found = len(list_logical_devices("GPU"))
        return {"GPU": found} if found else {}


def _url(address: str, rpc_layer: str | None) -> str:
    return f"{rpc_layer}://{address}" if rpc_layer else address


@export("distribute.cluster_resolver.SimpleClusterResolver")
class SimpleClusterResolver(ClusterResolver):
    """A cluster described by the program.

    Args:
        cluster_spec: The tasks.
        master: The result of `master`.
        task_type: The job of this process.
        task_id: The number of its task.
        environment: Stored.
        num_accelerators: The number of devices of each kind on a worker.
        rpc_layer: The protocol in the result of `master`.
    """

    def __init__(
        self,
        cluster_spec: ClusterSpec,
        master: str = "",
        task_type: str | None = None,
        task_id: int | None = None,
        environment: str = "",
        num_accelerators: Mapping[str, int] | None = None,
        rpc_layer: str | None = None,
    ) -> None:
        if not isinstance(cluster_spec, ClusterSpec):
            raise DTypeError("cluster_spec must be a `tf.train.ClusterSpec`.")
        self._cluster_spec, self._master, self._accelerators = cluster_spec, master, num_accelerators
        self.task_type, self.task_id = task_type, task_id
        self.environment, self.rpc_layer = environment, rpc_layer

    def cluster_spec(self) -> ClusterSpec:
        """The tasks."""
        return self._cluster_spec

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The address of a given task; by default the given master."""
        if task_type is not None and task_id is not None:
            return super().master(task_type, task_id, rpc_layer)
        return _url(self._master, rpc_layer or self.rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """The given number; by default what this process has."""
        return super().num_accelerators() if self._accelerators is None else dict(self._accelerators)


@export("distribute.cluster_resolver.TFConfigClusterResolver")
class TFConfigClusterResolver(ClusterResolver):
    """A cluster described by the environment variable ``TF_CONFIG``.

    Args:
        task_type: The job of this process; overrides the variable.
        task_id: The number of its task; overrides the variable.
        rpc_layer: The protocol in the result of `master`; overrides the variable.
        environment: Stored.
    """

    def __init__(
        self,
        task_type: str | None = None,
        task_id: int | None = None,
        rpc_layer: str | None = None,
        environment: str | None = None,
    ) -> None:
        config = _tf_config()
        task = config.get("task", {})
        if not isinstance(task, Mapping):
            raise ArgumentError(f"The task of TF_CONFIG is a dictionary with a type and an index, got {shown(task)}.")
        kind = task.get("type") if task_type is None else task_type
        number = task.get("index") if task_id is None else task_id
        self.task_type = None if kind is None else str(kind)
        self.task_id = None if number is None else _whole("The index of the task of TF_CONFIG", number)
        self.rpc_layer = config.get("rpc_layer") if rpc_layer is None else rpc_layer
        self.environment = environment

    def cluster_spec(self) -> ClusterSpec:
        """The tasks that ``TF_CONFIG`` names; none if it is not set."""
        return ClusterSpec(_tf_config().get("cluster", {}))

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The address of a task; "" for a cluster of one, and if there is none."""
        given = _tf_config().get("session_master")
        if given is not None:
            return str(given)
        cluster = self.cluster_spec()
        if not cluster or (len(cluster.jobs) == 1 and cluster.num_tasks(cluster.jobs[0]) == 1):
            return ""
        return super().master(task_type, task_id, rpc_layer)


def _tf_config() -> dict[str, Any]:
    text = settings.tf_config()
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"TF_CONFIG is no JSON: {error}. It is set to {shown(text)}.") from None
    if not isinstance(found, dict):
        raise ArgumentError(f"TF_CONFIG is a dictionary with a cluster and a task, got {shown(found)}.")
    return found


class LaunchedClusterResolver(ClusterResolver):
    """A cluster started by torchrun: each process has a rank; only the rendezvous address is known."""

    def __init__(self) -> None:
        found = {name: os.environ.get(name, "") for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
        missing = [name for name, value in found.items() if not value]
        if missing:
            raise StateError(
                f"RANK says that this process is one of several, and {', '.join(missing)} is not set. torchrun and "
                "`situs launch` set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT."
            )
        self.task_id, self._size = (_whole(name, found[name]) for name in ("RANK", "WORLD_SIZE"))
        if not self.task_id < self._size:
            raise ArgumentError(f"RANK is a number below WORLD_SIZE, got {self.task_id} of {self._size}.")
        port = _whole("MASTER_PORT", found["MASTER_PORT"])
        if not 0 < port < 2**16:
            raise ArgumentError(f"MASTER_PORT is the number of a port, 1 to 65535, got {port}.")
        self.task_type = "worker"
        self._meeting = f"{found['MASTER_ADDR']}:{found['MASTER_PORT']}"

    def cluster_spec(self) -> ClusterSpec:
        """All workers; the first has the rendezvous address, others are named by rank."""
        return ClusterSpec({"worker": [self._meeting, *(f"rank-{rank}" for rank in range(1, self._size))]})


# Slurm.


@export("distribute.cluster_resolver.SlurmClusterResolver")
class SlurmClusterResolver(ClusterResolver):
    """A cluster described by the Slurm job step of this process.

    Args:
        jobs: The number of tasks of each job; by default all tasks are workers.
        port_base: The port of the first task of a node; the others of the node have the next ones.
        gpus_per_node: The number of GPUs of a node; by default as many as this process sees.
        gpus_per_task: The number of GPUs of a task; by default they are divided evenly.
        tasks_per_node: The number of tasks of a node, or a dictionary of nodes; by default from Slurm.
        auto_set_gpu: Whether to set ``CUDA_VISIBLE_DEVICES`` to the GPUs of this task.
        rpc_layer: The protocol in the result of `master`.

    Raises:
        RuntimeError: Slurm's variables are incomplete, or tasks and GPUs do not add up.
    """

    def __init__(
        self,
        jobs: Mapping[str, int] | None = None,
        port_base: int = 8888,
        gpus_per_node: int | None = None,
        gpus_per_task: int | None = None,
        tasks_per_node: int | Mapping[str, int] | None = None,
        auto_set_gpu: bool = True,
        rpc_layer: str = "grpc",
    ) -> None:
        self._rank = _whole("SLURM_PROCID", _slurm("PROCID"))
        tasks = _whole("SLURM_STEP_NUM_TASKS", _slurm("STEP_NUM_TASKS")) if jobs is None else 0
        self._jobs = {"worker": tasks} if jobs is None else dict(jobs)
        self._port_base, self._sets_cards, self.rpc_layer = port_base, auto_set_gpu, rpc_layer
        if isinstance(tasks_per_node, Mapping):
            self._nodes = dict(tasks_per_node)
        else:
            hosts = expand_hostlist(_slurm("STEP_NODELIST"))
            if tasks_per_node is None:
                counts = expand_tasks_per_node(_slurm("STEP_TASKS_PER_NODE"))
            else:
                counts = [int(tasks_per_node)] * len(hosts)
            self._nodes = dict(zip(hosts, counts, strict=False))
        most = max(self._nodes.values(), default=0)
        if most < 1:
            raise StateError(f"Slurm names no node with a task: {shown(self._nodes)}.")
        self._node_cards = _cards_of_node() if gpus_per_node is None else gpus_per_node
        self._task_cards = self._node_cards // most if gpus_per_task is None else gpus_per_task
        if most * self._task_cards > self._node_cards:
            raise StateError(
                f"Requested more GPUs per node than available: {most} tasks with {self._task_cards} each, and a node "
                f"has {self._node_cards}."
            )
        asked, there = sum(self._jobs.values()), sum(self._nodes.values())
        if asked != there:
            raise StateError(f"Requested {asked} tasks but only {there} were assigned.")
        if self._rank >= there:
            raise StateError(f"SLURM_PROCID is the number of a task, and there are {there}; it is {self._rank}.")

    def cluster_spec(self) -> ClusterSpec:
        """The tasks; they are assigned to nodes and jobs in order."""
        tasks: list[tuple[str, str]] = []
        for host, count in sorted(self._nodes.items()):
            for number in range(count):
                first = number * self._task_cards
                cards = ",".join(map(str, range(first, first + self._task_cards)))
                tasks.append((f"{host}:{self._port_base + number}", cards))
        found: dict[str, list[str]] = {}
        begin = 0
        for job, count in sorted(self._jobs.items()):
            found[job] = [address for address, _ in tasks[begin : begin + count]]
            if begin <= self._rank < begin + count:
                self.task_type, self.task_id = job, self._rank - begin
            begin += count
        if self._sets_cards and self._task_cards:
            os.environ["CUDA_VISIBLE_DEVICES"] = tasks[self._rank][1]
        return ClusterSpec(found)

    def get_task_info(self) -> tuple[str | None, int | None]:
        """The job and the number of this task; known after `cluster_spec` was called."""
        return self.task_type, self.task_id

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """How many GPUs a task has."""
        return {"GPU": self._task_cards}


def _whole(what: str, given: object) -> int:
    """A number from 0 to `MOST`, given as one or as its digits.

    Raises:
        InvalidArgumentError: it is something else.
    """
    if isinstance(given, str) and re.fullmatch(r" *[0-9]{1,18} *", given):
        given = int(given)
    if type(given) is not int or not 0 <= given <= MOST:
        raise ArgumentError(f"{what} is a whole number from 0 to {MOST}, got {shown(given)}.")
    return given


def _slurm(name: str) -> str:
    found = os.environ.get(f"SLURM_{name}")
    if found is None:
        raise StateError(f"SLURM_{name} not found in environment. Not running inside a SLURM step?")
    return found


def _cards_of_node() -> int:
    visible = settings.cuda_visible_devices()
    if visible is not None:
        return len([each for each in visible.split(",") if each.strip()])
    return len(list_logical_devices("GPU"))


def expand_hostlist(text: str) -> list[str]:
    """The hosts of a Slurm host list.

    Example:
        >>> expand_hostlist("n[1-2,08-10],m,k[3]")
        ['n1', 'n2', 'n08', 'n09', 'n10', 'm', 'k3']
    """
    found: list[str] = []
    for part in re.findall(r"[^,\[\]]*\[[^\]]*\]|[^,]+", text):
        match = re.fullmatch(r"([^,\[\]]*)(?:\[([^\]]+)\])?", part)
        if match is None:
            raise ArgumentError(f"Invalid hostlist format {text!r}: {part!r} is neither a name nor a range.")
        prefix, ranges = match.groups()
        found += [prefix] if ranges is None else [prefix + number for number in _numbers(ranges, text)]
        if len(found) > MOST:
            raise ArgumentError(f"A hostlist names at most {MOST} hosts, got {shown(text)}.")
    return found


def _numbers(ranges: str, text: str) -> Iterator[str]:
    for each in ranges.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", each)
        if match is None:
            raise ArgumentError(f"Invalid hostlist format {text!r}: {each!r} is no range of numbers.")
        first, last = match.group(1), match.group(2) or match.group(1)
        if max(len(first), len(last)) > DIGITS or int(last) - int(first) >= MOST:
            raise ArgumentError(f"A hostlist names at most {MOST} hosts, got {shown(text)}.")
        yield from (str(number).zfill(len(first)) for number in range(int(first), int(last) + 1))


def expand_tasks_per_node(text: str) -> list[int]:
    """The number of tasks of nodes, in Slurm's notation.

    Example:
        >>> expand_tasks_per_node("3(x2),2,1")
        [3, 3, 2, 1]
    """
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part)
        if match is None:
            raise ArgumentError(f"Invalid tasks-per-node list format {text!r}: {part!r} is no number of tasks.")
        tasks, nodes = (_whole("A number of Slurm's tasks per node", each) for each in (match[1], match[2] or "1"))
        if max(tasks, nodes) > MOST:
            raise ArgumentError(f"At most {MOST} nodes and tasks per node can be, got {shown(text)}.")
        found += [tasks] * nodes
    return found


def resolve() -> ClusterResolver:
    """The resolver for the environment: ``TF_CONFIG``, else ``RANK``, else a cluster without tasks."""
    if settings.tf_config() is None and os.environ.get("RANK"):
        return LaunchedClusterResolver()
    return TFConfigClusterResolver()
