"""``tf.train.ClusterSpec``: the tasks of a distributed program, by job.

    ClusterSpec({"worker": ["10.0.0.1:2222", "10.0.0.2:2222"]})         a job is a list of addresses,
    ClusterSpec({"worker": {1: "10.0.0.2:2222"}, "ps": ["..."]})        or the addresses of some of its tasks

It lists the tasks, but does not say which one this process is: `cluster_resolver` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.proto.config import ClusterDef


@export("train.ClusterSpec")
class ClusterSpec:
    """The tasks of a distributed program.

    Args:
        cluster: For each job a list of addresses, or a dictionary from numbers of tasks to addresses; or a
            ``ClusterDef``; or another ``ClusterSpec``.

    Raises:
        TypeError: it is something else.

    Example:
        >>> import situs as tf
        >>> cluster = tf.train.ClusterSpec({"worker": ["a:1", "b:1"], "ps": {2: "c:1"}})
        >>> cluster.num_tasks("worker"), cluster.task_address("ps", 2)
        (2, 'c:1')
    """

    def __init__(self, cluster: Any) -> None:
        if isinstance(cluster, ClusterSpec):
            jobs: Mapping[str, Any] = cluster.as_dict()
        elif isinstance(cluster, ClusterDef):
            jobs = {job.name: dict(job.tasks) for job in cluster.job}
        elif isinstance(cluster, Mapping):
            jobs = cluster
        else:
            raise DTypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists of network addresses, or a "
                f"`ClusterDef` protocol buffer, got {shown(cluster)}."
            )
        self._jobs = {_word(name, "Job name"): _tasks(name, tasks) for name, tasks in jobs.items()}

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return self._jobs == (other._jobs if isinstance(other, ClusterSpec) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        jobs = sorted(self.as_dict().items())
        return "ClusterSpec({" + ", ".join(f"{name!r}: {tasks!r}" for name, tasks in jobs) + "})"

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def as_dict(self) -> dict[str, list[str | None] | dict[int, str]]:
        """For each job a list of addresses; a dictionary if task numbers are not consecutive."""
        found: dict[str, list[str | None] | dict[int, str]] = {}
        for name, tasks in self._jobs.items():
            is_dense = bool(tasks) and max(tasks) + 1 == len(tasks)
            found[name] = self.job_tasks(name) if is_dense else dict(sorted(tasks.items()))
        return found

    def as_cluster_def(self) -> ClusterDef:
        """The same as a protocol buffer."""
        made = ClusterDef()
        for name, tasks in sorted(self._jobs.items()):
            job = made.job.add()
            job.name = name
            for number, address in sorted(tasks.items()):
                job.tasks[number] = address
        return made

    def num_tasks(self, job_name: str) -> int:
        """How many tasks a job has."""
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """The numbers of a job's tasks."""
        return sorted(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """The address of a task.

        Raises:
            ValueError: there is no such job or task.
        """
        tasks = self._job(job_name)
        if task_index not in tasks:
            raise ArgumentError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """The addresses of a job's tasks by number; None for missing numbers."""
        tasks = self._job(job_name)
        return [tasks.get(number) for number in range(max(tasks, default=-1) + 1)]

    def _job(self, name: str) -> dict[int, str]:
        if name not in self._jobs:
            raise ArgumentError(f"No such job in cluster: {name!r}")
        return self._jobs[name]


def _word(given: Any, what: str) -> str:
    if isinstance(given, bytes):
        return given.decode(errors="replace")
    if not isinstance(given, str):
        raise DTypeError(f"{what} {given!r} must be bytes or unicode")
    return given


def _number(job: Any, given: Any) -> int:
    """The number of a task; a string in JSON."""
    try:
        number = int(given)
    except (TypeError, ValueError, OverflowError):
        number = -1
    if not 0 <= number < 2**31:
        raise ArgumentError(f"The tasks of job {shown(job)} have numbers from 0, got {shown(given)}.")
    return number


def _tasks(job: Any, tasks: Any) -> dict[int, str]:
    if isinstance(tasks, Mapping):
        pairs = [(_number(job, number), address) for number, address in tasks.items()]
    elif isinstance(tasks, Sequence) and not isinstance(tasks, (str, bytes)):
        pairs = list(enumerate(tasks))
    else:
        raise DTypeError(f"The tasks for job {job!r} must be a list or a dictionary from integers to strings.")
    return {number: _word(address, "Task address") for number, address in pairs}
