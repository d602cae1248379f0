"""16 threads on one session, then on eager ops, then on everything at once: each result checked against NumPy.

    python -m tests.fuzz threads --minutes 5        five minutes each

Nothing may deadlock, no value may be wrong, no update lost, and the memory of every device ends where it began.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import logging
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import numpy as np

import situs as tf
import situs.compat.v1 as v1
from situs._src.report import schema
from tests.fuzz.targets.reports import problem

THREADS = 16
STUCK = 60.0  # seconds that a thread may take to end after the others
DEVICES = ("/cpu:0", "/gpu:0", "/gpu:1")
Rng = np.random.Generator


class Program(Protocol):
    """What threads do, and what must hold when they have ended."""

    works: list[Callable[[Rng], None]]

    def finish(self) -> None:
        """Checks what all threads together have left, and closes it."""


def main(minutes: float, seed: int) -> int:
    """Runs all programs; 1 if anything was wrong."""
    logging.disable()  # functions are traced more often than is good for them, on purpose
    wrong = 0
    for make in (SessionProgram, EagerProgram, MixedProgram):
        wrong += run(make, 60 * minutes, seed)
    return 1 if wrong else 0


def run(make: Callable[[], Program], seconds: float, seed: int) -> int:
    """Runs one program, and prints what came of it; returns the number of failures."""
    _warm_up(make)
    eager = make is not SessionProgram
    before = _held(eager)
    jobs, failures = _worked(make(), seconds, seed)
    after = _held(eager)
    failures += [f"memory: {before} before, {after} after"] if after != before else []
    print(f"{make.__name__}: {THREADS} threads, {seconds / 60:.1f} minutes, {jobs} jobs, {len(failures)} failures")
    print("\n".join(failures[:5]), flush=True)
    return len(failures)


def _worked(program: Program, seconds: float, seed: int) -> tuple[int, list[str]]:
    """Lets threads do what they want of a program; returns how often they did something, and what went wrong."""
    counts, failures = [0] * THREADS, list[str]()
    until = time.monotonic() + seconds

    def work(number: int) -> None:
        rng = np.random.default_rng([seed, number])
        while time.monotonic() < until and len(failures) < 20:
            job = program.works[rng.integers(len(program.works))]
            try:
                job(rng)
            except BaseException:
                failures.append(f"{job.__name__}: {traceback.format_exc(limit=-6)}")
            counts[number] += 1

    stuck = _all_ended([threading.Thread(target=work, args=(n,), daemon=True) for n in range(THREADS)], seconds)
    failures += [f"{stuck} threads did not end"] if stuck else _finished(program)
    return sum(counts), failures


def _warm_up(make: Callable[[], Program]) -> None:
    """Does everything a few times, so that constants which are remembered are there before memory is looked at."""
    program, rng = make(), np.random.default_rng(0)
    for job in program.works * 10:
        job(rng)
    program.finish()


def _all_ended(threads: list[threading.Thread], seconds: float) -> int:
    """Starts threads and waits; says how many have not ended in time, and where those are."""
    for thread in threads:
        thread.start()
    limit = time.monotonic() + seconds + STUCK
    for thread in threads:
        thread.join(max(limit - time.monotonic(), 0))
    stuck = sum(thread.is_alive() for thread in threads)
    if stuck:
        faulthandler.dump_traceback(sys.stderr, all_threads=True)
    return stuck


def _finished(program: Program) -> list[str]:
    try:
        program.finish()
    except Exception:
        return [traceback.format_exc(limit=-6)]
    return []


def _held(eager: bool) -> dict[str, int]:
    """What the tensors on each GPU hold, in bytes."""
    for _ in range(3):  # what finalizers let go of falls to the next round
        gc.collect()
    tf.constant(1.0) if eager else v1.Session().close()
    return {name: tf.config.experimental.get_memory_info(name)["current"] for name in ("GPU:0", "GPU:1")}


def _near(made: Any, expected: Any) -> None:
    if not np.allclose(made, expected, rtol=1e-4, atol=1e-4):
        raise AssertionError(f"{made} is not {expected}")


class Tally:
    """Numbers that threads count up."""

    def __init__(self, size: int) -> None:
        self._lock = threading.Lock()
        self.values = np.zeros(size, np.int64)

    def add(self, place: int, number: int = 1) -> None:
        """Counts."""
        with self._lock:
            self.values[place] += number


class SessionProgram:
    """One session and one graph that grows: feeds, assignments, loops, branches, queues, partial runs of it."""

    MOST_NODES = 3000

    def __init__(self) -> None:
        self.graph = v1.Graph()
        with self.graph.as_default():
            self._build()
        self.session = v1.Session(graph=self.graph)
        self.session.run(self.start)
        self.tally = Tally(len(DEVICES))
        self.works = [self.compute, self.count, self.both, self.loop, self.branch, self.between, self.grow, self.train]
        self.works += [self.through_queue, self.refused, self.partial]

    def _build(self) -> None:
        self.x = v1.placeholder(v1.float32, [None, 4])
        self.turns, self.yes = v1.placeholder(v1.int32, []), v1.placeholder(v1.bool, [])
        self.counters = [self._counter(device) for device in DEVICES]
        self.more = [counter.assign_add(1) for counter in self.counters]
        with v1.device("/gpu:0"):
            self.a = v1.matmul(self.x, v1.constant(np.eye(4, dtype=np.float32) * 2))
        with v1.device("/gpu:1"):
            self.b = v1.reduce_sum(v1.nn.relu(self.a + 1.0), axis=1)
        self.rounds = v1.while_loop(lambda i, s: i < self.turns, lambda i, s: (i + 1, s + i), (0, 0))
        self.chosen = v1.cond(self.yes, lambda: self.counters[0].assign_add(1), lambda: v1.constant(0, v1.int64))
        self.weight = v1.get_variable("weight", initializer=np.ones([4, 1], np.float32))
        loss = v1.reduce_mean(v1.square(v1.matmul(self.x, self.weight)))
        self.gradient = v1.gradients(loss, self.weight)[0]
        self.queue = v1.FIFOQueue(64, [v1.float32], shapes=[[]])
        self.value = v1.placeholder(v1.float32, [])
        self.put, self.get = self.queue.enqueue(self.value), self.queue.dequeue()
        self.start = v1.global_variables_initializer()

    def _counter(self, device: str) -> Any:
        with v1.device(device):
            return v1.Variable(0, dtype=v1.int64)

    def _rows(self, rng: Rng) -> Any:
        return rng.standard_normal((rng.integers(1, 20), 4)).astype(np.float32)

    def compute(self, rng: Rng) -> None:
        """Feeds, and two devices."""
        rows = self._rows(rng)
        _near(self.session.run(self.b, {self.x: rows}), np.maximum(rows * 2 + 1, 0).sum(1))

    def count(self, rng: Rng) -> None:
        """An assignment on its own."""
        place = int(rng.integers(len(DEVICES)))
        self.session.run(self.more[place].op)
        self.tally.add(place)

    def both(self, rng: Rng) -> None:
        """An assignment beside other fetches."""
        place, rows = int(rng.integers(len(DEVICES))), self._rows(rng)
        made = self.session.run({"n": self.more[place], "l": [self.a, (self.b,)]}, {self.x: rows})
        self.tally.add(place)
        _near(made["l"][0], rows * 2)

    def loop(self, rng: Rng) -> None:
        """A loop."""
        turns = int(rng.integers(12))
        _near(self.session.run(self.rounds, {self.turns: turns}), (turns, turns * (turns - 1) // 2))

    def branch(self, rng: Rng) -> None:
        """A branch that assigns."""
        yes = bool(rng.integers(2))
        self.session.run(self.chosen, {self.yes: yes})
        self.tally.add(0, int(yes))

    def between(self, rng: Rng) -> None:
        """Feeds in the middle of the graph."""
        rows = self._rows(rng)
        _near(self.session.run(self.b, {self.a: rows}), np.maximum(rows + 1, 0).sum(1))

    def grow(self, rng: Rng) -> None:
        """New nodes, in scopes and on devices, and a run of them."""
        if len(self.graph) > self.MOST_NODES:
            return self.compute(rng)
        rows, plus = self._rows(rng), float(rng.integers(100))
        with self.graph.as_default(), v1.device(DEVICES[rng.integers(3)]), v1.name_scope("extra"):
            added = v1.add(self.a, plus)
        return _near(self.session.run(added, {self.x: rows}), rows * 2 + plus)

    def train(self, rng: Rng) -> None:
        """A gradient."""
        rows = self._rows(rng)
        weight, made = self.session.run([self.weight, self.gradient], {self.x: rows})
        _near(made, 2 * rows.T @ (rows @ weight) / len(rows))

    def through_queue(self, rng: Rng) -> None:
        """Something put into a queue, and something, perhaps another's, taken out."""
        self.session.run(self.put, {self.value: 1.0})
        _near(self.session.run(self.get), 1.0)

    def refused(self, rng: Rng) -> None:
        """A run that fails leaves the others alone."""
        try:
            self.session.run(self.b)
        except tf.errors.InvalidArgumentError:
            return
        raise AssertionError("a run without its feed succeeded")

    def partial(self, rng: Rng) -> None:
        """A prepared call."""
        rows = self._rows(rng)
        _near(self.session.make_callable(self.a, [self.x])(rows), rows * 2)

    def finish(self) -> None:
        """No update was lost."""
        made = self.session.run(self.counters)
        self.session.close()
        if list(made) != self.tally.values.tolist():
            raise AssertionError(f"counted {self.tally.values}, found {made}")


class EagerProgram:
    """Ops, scopes, variables, tapes and functions, some of them shared."""

    def __init__(self) -> None:
        self.shared = [self._variable(device) for device in DEVICES]
        self.tally = Tally(len(DEVICES))
        self.function = tf.function(lambda x: tf.reduce_sum(x * 2.0 + 1.0))
        self.counting = tf.function(self._count)
        self.works = [self.compute, self.move, self.count, self.count_in_function, self.own, self.gradient, self.second]
        self.works += [self.call, self.call_new, self.refused, self.data, self.metric]

    def _variable(self, device: str) -> Any:
        with tf.device(device):
            return tf.Variable(0, dtype=tf.int64)

    def _count(self) -> Any:
        return self.shared[1].assign_add(1)

    def _rows(self, rng: Rng) -> Any:
        return rng.standard_normal((rng.integers(1, 20), 4)).astype(np.float32)

    def compute(self, rng: Rng) -> None:
        """Ops on some device."""
        rows = self._rows(rng)
        with tf.device(DEVICES[rng.integers(3)]):
            _near(tf.reduce_sum(tf.nn.relu(tf.constant(rows) + 1.0), 1).numpy(), np.maximum(rows + 1, 0).sum(1))

    def move(self, rng: Rng) -> None:
        """Tensors from device to device, in nested scopes."""
        rows = self._rows(rng)
        outer, inner = DEVICES[rng.integers(3)], DEVICES[rng.integers(3)]
        with tf.device(outer):
            x = tf.constant(rows)
            with tf.device(inner):
                y = tf.identity(x) * 3.0
            if inner.lstrip("/").upper() not in y.device or outer.lstrip("/").upper() not in x.device:
                raise AssertionError(f"{x.device} and {y.device} in {outer} and {inner}")
            _near((x + y).numpy(), rows * 4)

    def count(self, rng: Rng) -> None:
        """Shared variables."""
        place = int(rng.integers(len(DEVICES)))
        self.shared[place].assign_add(1)
        self.tally.add(place)

    def count_in_function(self, rng: Rng) -> None:
        """A shared variable, in a function that is traced once."""
        self.counting()
        self.tally.add(1)

    def own(self, rng: Rng) -> None:
        """A variable of its own."""
        rows = self._rows(rng)
        v = tf.Variable(rows)
        v.assign_sub(rows * 0.5)
        v[0].assign(np.zeros(4, np.float32)) if hasattr(v[0], "assign") else v.assign_add(rows * 0)
        _near(v.numpy()[1:], rows[1:] * 0.5)

    def gradient(self, rng: Rng) -> None:
        """A tape."""
        x = tf.Variable(self._rows(rng))
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(x * x * x)
        _near(tape.gradient(y, x).numpy(), 3 * x.numpy() ** 2)

    def second(self, rng: Rng) -> None:
        """A tape in a tape."""
        x = tf.constant(self._rows(rng))
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(tf.sin(x))
            first = inner.gradient(y, x)
        _near(outer.gradient(first, x).numpy(), -np.sin(x.numpy()))

    def call(self, rng: Rng) -> None:
        """A shared function, which is traced anew for new shapes."""
        rows = self._rows(rng)
        _near(self.function(tf.constant(rows)).numpy(), (rows * 2 + 1).sum())

    def call_new(self, rng: Rng) -> None:
        """A function of its own."""
        plus, rows = float(rng.integers(100)), self._rows(rng)
        _near(tf.function(lambda x: x + plus)(tf.constant(rows)).numpy(), rows + plus)

    def refused(self, rng: Rng) -> None:
        """A call that fails leaves the others alone."""
        try:
            tf.matmul(tf.zeros([2, 3]), tf.zeros([2, 3]))
        except tf.errors.InvalidArgumentError:
            return
        raise AssertionError("a product of shapes that do not fit")

    def data(self, rng: Rng) -> None:
        """A dataset."""
        rows = self._rows(rng)
        made = [row.numpy() for row in tf.data.Dataset.from_tensor_slices(rows).map(lambda x: x * 2).batch(3)]
        _near(np.concatenate(made), rows * 2)

    def metric(self, rng: Rng) -> None:
        """A metric."""
        rows, metric = self._rows(rng), tf.metrics.Mean()
        metric.update_state(rows)
        _near(metric.result().numpy(), rows.mean())

    def finish(self) -> None:
        """No update was lost."""
        made = [int(variable) for variable in self.shared]
        if made != self.tally.values.tolist():
            raise AssertionError(f"counted {self.tally.values}, found {made}")


class MixedProgram:
    """Sessions, functions that the dynamic placer places, plans, explanations, reports and forks, all at once."""

    def __init__(self) -> None:
        self.graph = v1.Graph()
        with self.graph.as_default(), v1.device("/gpu:0"):
            self.x = v1.placeholder(v1.float32, [None, 4])
            self.y = v1.reduce_sum(v1.nn.relu(self.x), axis=1)
        self.session = v1.Session(graph=self.graph)
        self.placed = tf.function(lambda x: tf.reduce_sum(tf.nn.relu(x) * 2.0), placer="dynamic")
        self.problem = problem()
        self.folder = TemporaryDirectory()
        self.works = [self.run, self.place, self.plan, self.explain, self.report, self.fork]

    def _rows(self, rng: Rng) -> Any:
        return rng.standard_normal((rng.integers(1, 6), 4)).astype(np.float32)

    def run(self, rng: Rng) -> None:
        """A session."""
        rows = self._rows(rng)
        _near(self.session.run(self.y, {self.x: rows}), np.maximum(rows, 0).sum(1))

    def place(self, rng: Rng) -> None:
        """A function that is placed anew while others run it."""
        rows = self._rows(rng)
        _near(self.placed(tf.constant(rows)).numpy(), np.maximum(rows, 0).sum() * 2)

    def plan(self, rng: Rng) -> None:
        """A plan that all threads write to one file, and read."""
        placement = {node.name: f"GPU:{rng.integers(2)}" for node in self.problem.nodes}
        path = f"{self.folder.name}/plan.json"
        tf.placement.plan_of(self.problem, placement).save(path)
        found = tf.placement.load_plan(path)
        if set(found.placement) != set(placement):
            raise AssertionError(f"{found.placement} is no plan of the problem")

    def explain(self, rng: Rng) -> None:
        """What ran last."""
        tf.ones([2]) + 1.0
        if not str(tf.explain(3)):
            raise AssertionError("nothing was explained")

    def report(self, rng: Rng) -> None:
        """A report among others, written to a file that all threads write."""
        path = f"{self.folder.name}/report.json"
        with tf.report(path) as report:
            tf.matmul(tf.ones([2, 2]), tf.ones([2, 2]))
        names = report.to_json()["strings"]
        if "MatMul" not in names:
            raise AssertionError(f"no MatMul among {names[:20]}")
        schema.read(json.loads(Path(path).read_text()), path)

    def fork(self, rng: Rng) -> None:
        """A child in the middle of all this, which computes by itself."""
        if rng.integers(20):
            return self.run(rng)
        child = os.fork()
        if not child:
            os._exit(0 if float(tf.reduce_sum(tf.ones([3, 3]) * 2.0)) == 18.0 else 1)
        _, status = os.waitpid(child, 0)
        if status:
            raise AssertionError(f"a child ended with {status}")
        return None

    def finish(self) -> None:
        """Nothing is left but the files."""
        self.session.close()
        left = sorted(path.name for path in Path(self.folder.name).iterdir())
        self.folder.cleanup()
        if not {"plan.json", "report.json"} >= set(left):
            raise AssertionError(f"{left} are left")
