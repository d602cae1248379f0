"""Running calls in parallel on a thread pool.

A call is made when its dependencies are done: cheap calls at once on the same thread, slow ones on the pool,
as in TensorFlow's executor (`runtime.plan.ready` has the rules). A plan is run this way only if two slow calls can
overlap.

*Slow* calls are those that block (Python functions, queues) and those with more than a few million arithmetic
operations on the CPU, which includes virtual GPUs. Calls on a real GPU are never slow, because they are asynchronous. A
call that may wait for another run (a queue) gets a thread of its own, so that waiting never exhausts the pool.

Slow calls that overlap share the cores: where two run at a time, the kernels of each use half of the threads that
PyTorch has. What each gets depends on the plan alone, so sums are made in the same order in every run.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn
from weakref import WeakSet

import torch

from situs._src.base import locks
from situs._src.base.errors import CancelledError, UnknownError
from situs._src.ir.graph.function import operations_in
from situs._src.ir.graph.node import Operation
from situs._src.ir.registry.traits import BLOCKS, CALLS_PYTHON, PRODUCT
from situs._src.runtime.eager.torch_private import below_autograd, kernel_threads
from situs._src.runtime.plan.effects import in_order
from situs._src.runtime.plan.plan import Call, Plan, makers, slots_in, waits_for
from situs._src.runtime.plan.ready import BLOCKING, CHEAP, SLOW, Ready, Work, rounds
from situs._src.runtime.run.emit import value_of
from situs._src.runtime.run.failure import explained, in_call
from situs._src.runtime.run.state import Run
from situs._src.runtime.run.trace import Recorder

HEAVY = 4_000_000  # multiplications: about a millisecond of one core


_thread = threading.local()


def _mark_worker() -> None:
    _thread.is_worker = True


def _use_threads(share: int) -> None:
    """Lets the kernels of this thread use so many threads, unless it has fewer, as in a forked child."""
    if not hasattr(_thread, "most"):
        _thread.most = _thread.share = torch.get_num_threads()
    share = min(share, _thread.most)
    if share != _thread.share:
        kernel_threads(share)
        _thread.share = share


class Pool:
    """The threads that run slow calls. `size` 0 means one per core; a shared pool outlives its sessions."""

    def __init__(self, size: int = 0, shared: bool = False) -> None:
        self.shared = shared
        self.cores = torch.get_num_threads()
        self.size = size or self.cores
        self.start()
        _pools.add(self)

    def start(self) -> None:
        """Creates threads: the first ones, or those of a forked child, which has none of its parent's."""
        self._executor = ThreadPoolExecutor(self.size, thread_name_prefix="situs-inter-op", initializer=_mark_worker)

    def submit(self, work: Any, *arguments: Any) -> None:
        """Runs some work as soon as a thread is free."""
        self._executor.submit(work, *arguments)

    def close(self) -> None:
        """Shuts down the threads of a session's own pool when their work is done."""
        if not self.shared:
            self._executor.shutdown(wait=False)


_pools: WeakSet[Pool] = WeakSet()


def _start_all() -> None:
    for pool in list(_pools):
        pool.start()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_all)
_shared: Pool | None = None
_lock = locks.lock()


def shared_pool(size: int = 0) -> Pool:
    """The threads of the process; the first caller determines their number."""
    global _shared
    with _lock:
        if _shared is None:
            _shared = Pool(size, shared=True)
        return _shared


def schedule(
    plan: Plan, pool: Pool, ordered: bool = False, states: Mapping[int, Hashable] | None = None
) -> Schedule | None:
    """How to run a plan on a pool; None if it may as well run sequentially.

    Args:
        plan: The plan.
        pool: The threads.
        ordered: Whether side effects happen in program order, as in functions.
        states: The variables that come in, by their slots.
    """
    products = (call for call in plan.calls if call.node is not None and PRODUCT in call.node.op_def.traits)
    several = len({call.device for call in products}) > 1
    unknown = HEAVY + 1 if several else 0  # on one device, small products are more likely
    kinds = [_kind(call, unknown) for call in plan.calls]
    maker = makers(plan.calls)
    dependencies = [waits_for(call, maker) for call in plan.calls]
    if ordered:
        dependencies = [before | effects for before, effects in zip(dependencies, in_order(plan, states), strict=True)]
    if not _overlap(kinds, dependencies):
        return None
    return Schedule(plan, pool, Ready(kinds, dependencies))


def _kind(call: Call, unknown: int) -> str:
    """How to run a call; `unknown` is the assumed work if its shapes are unknown."""
    if call.node is None:
        return CHEAP
    inside = list(operations_in(call.node))
    if any(BLOCKS in node.op_def.traits for node in inside):
        return BLOCKING
    if any(CALLS_PYTHON in node.op_def.traits for node in inside):
        return SLOW
    if call.device.is_card:
        return CHEAP
    return SLOW if max(_work(node, unknown) for node in inside) > HEAVY else CHEAP


def _work(node: Operation, unknown: int) -> int:
    """Roughly how many multiplications an operation takes, as far as shapes are known."""
    rule = node.op_def.work_rule
    if rule is not None:
        work = rule(node)
        return unknown if work is None else work
    sizes = (tensor.shape.num_elements() for tensor in (*node.inputs, *node.outputs))
    return max((size or 0 for size in sizes), default=0)


def _overlap(kinds: list[str], dependencies: list[set[int]]) -> bool:
    """Whether two slow calls are independent: some chain of them is shorter than their number."""
    if any(kind == BLOCKING and _beside(number, dependencies) for number, kind in enumerate(kinds)):
        return True  # what may block for ever must not hold up independent calls
    depth: list[int] = []
    for kind, first in zip(kinds, dependencies, strict=True):
        depth.append(max((depth[i] for i in first), default=0) + (kind != CHEAP))
    return max(depth, default=0) < sum(kind != CHEAP for kind in kinds)


def _beside(number: int, dependencies: list[set[int]]) -> bool:
    """Whether a later call does not depend on this one."""
    after = {number}
    for other in range(number + 1, len(dependencies)):
        if not dependencies[other] & after:
            return True
        after.add(other)
    return False


class Schedule:
    """A plan with its dependencies."""

    def __init__(self, plan: Plan, pool: Pool, ready: Ready) -> None:
        self.plan = plan
        self.pool = pool
        self.ready = ready  # the initial state of a run
        self.shares = _shares(ready, pool)
        uses = [0] * plan.slots
        for call in plan.calls:
            for slot in slots_in(call.inputs):
                uses[slot] += 1
        for slot in slots_in(plan.outputs):
            uses[slot] += 1
        self.uses = uses

    def rounds(self) -> list[list[int]]:
        """The calls in the order in which they run, as far as known; those in one list run in parallel."""
        return rounds(self.ready.again(), self.pool.size)

    def run(self, run: Run, values: Sequence[Any], recorder: Recorder | None = None) -> tuple[Any, ...]:
        """Runs the plan and returns its fetches."""
        return _Running(self, run, values, recorder).finish()


def _shares(ready: Ready, pool: Pool) -> dict[int, int]:
    """How many threads the kernels of each slow call may use."""
    shares = {}
    for together in rounds(ready.again(), pool.size):
        slow = [number for number in together if ready.kinds[number] != CHEAP]
        shares.update(dict.fromkeys(slow, max(1, pool.cores // max(len(slow), 1))))
    return shares


class _Running:
    """One run of a schedule."""

    def __init__(self, schedule: Schedule, run: Run, values: Sequence[Any], recorder: Recorder | None) -> None:
        self.schedule = schedule
        self.run = run
        self.recorder = recorder
        self.values: list[Any] = [None] * schedule.plan.slots
        for slot, value in zip(schedule.plan.inputs, values, strict=True):
            self.values[slot] = value
        self.ready = schedule.ready.again()
        self.uses = list(schedule.uses)
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.failed = False
        self.error: Exception | None = None  # until it is raised
        # A nested run (a Python function that runs the session) waits in a worker: the others may do the same.
        self.is_nested = getattr(_thread, "is_worker", False)

    def finish(self) -> tuple[Any, ...]:
        """Starts what is ready, waits for the end and returns the fetches."""
        self._start(self.ready.first())
        if self.ready.left:
            try:
                self.over.wait()
            except BaseException:  # KeyboardInterrupt: what has not begun must not start any more
                self.run.stop(CancelledError("The run was interrupted."))
                raise
        if self.failed:
            self._raise()
        return tuple(value_of(source, self.values) for source in self.schedule.plan.outputs)

    def _raise(self) -> NoReturn:
        """Raises the error and drops it: it references frames, these reference this run, and both hold values."""
        error, self.error = self.error, None
        self.values = [None] * len(self.values)
        try:
            raise error or CancelledError("The run failed.")
        finally:
            del error

    def _start(self, pieces: list[Work]) -> None:
        """Submits calls to the pool; one that may wait for another run gets a thread of its own."""
        for numbers in pieces:
            if self.is_nested or self.ready.kinds[numbers[0]] == BLOCKING:
                threading.Thread(target=self._work, args=(numbers,), daemon=True).start()
            else:
                self.schedule.pool.submit(self._work, numbers)

    def _work(self, numbers: list[int]) -> None:
        try:
            self._work_through(deque(numbers))
        except BaseException as error:  # the thread that waits for the run must see it
            self._fail(UnknownError(f"{type(error).__name__}: {error}"))

    def _work_through(self, todo: deque[int]) -> None:
        with below_autograd():
            while todo and not self.failed:
                self._start(self.ready.go_on(todo, self._call(todo.popleft())))

    def _call(self, number: int) -> list[int]:
        """Runs one call and returns those that are ready now."""
        call = self.schedule.plan.calls[number]
        arguments: list[Any] = []
        if number in self.schedule.shares:
            _use_threads(self.schedule.shares[number])
        try:
            began = None if self.recorder is None else self.recorder.begin(call)
            arguments = [value_of(source, self.values) for source in call.inputs]
            self.run.check()  # only now: a run that has failed releases its values
            made = call.function(self.run, *arguments) if call.takes_run else call.function(*arguments)
            if self.recorder is not None and began is not None:
                self.recorder.note(call, began, made)
        except BaseException as raised:
            error = raised if isinstance(raised, Exception) else UnknownError(f"{type(raised).__name__}: {raised}")
            self._fail(in_call(explained(error), self.schedule.plan, number, arguments))
            return []
        return self._done(number, call, made)

    def _done(self, number: int, call: Call, made: Any) -> list[int]:
        with self.lock:
            for slot, value in zip(call.outputs, (made,) if call.single else made, strict=True):
                self.values[slot] = value if self.uses[slot] else None
            for slot in slots_in(call.inputs):
                self.uses[slot] -= 1
                if not self.uses[slot]:
                    self.values[slot] = None
            ready = self.ready.end(number)
            if not self.ready.left:
                self.over.set()
        return ready

    def _fail(self, failure: Exception) -> None:
        """The first failure ends the run; calls in progress are cancelled."""
        with self.lock:
            if not self.failed:
                self.failed, self.error = True, failure
        self.run.stop(failure)
        self.over.set()
