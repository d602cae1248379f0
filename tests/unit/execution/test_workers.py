"""Processes that compile beside a program: what they make, and that none is left, waited for, or heard of."""

from __future__ import annotations

import os
import pickle
import time

import numpy as np
import pytest
import torch

from situs._src.runtime.passes.regions import Layout
from situs._src.runtime.plan.plan import Literal, Slot
from situs._src.runtime.run import inductor, workers
from situs._src.runtime.run.carry import packed
from situs._src.runtime.run.compile_worker import order_of
from situs._src.runtime.run.region_body import Body, Step
from situs._src.runtime.run.region_cache import Outcome
from situs._src.runtime.run.workers import EndedError, Workers, free_cores
from tests.conftest import RunPython

ECHO = """
import os, pickle, sys, time
from situs._src.runtime.run.compile_worker import receive, send
from situs._src.runtime.run.region_cache import Outcome
out = os.fdopen(os.dup(1), "wb")
known = []
while (data := receive(sys.stdin.buffer)) is not None:
    if data.isdigit():
        word = known[int(data)]
        if word == "die":
            os._exit(3)
        if word == "sleep":
            time.sleep(600)
        made = Outcome(kernels=f"{word} {os.getpid()}".encode())
    else:
        known.append(pickle.loads(data))
        if known[-1] == "die at once":
            os._exit(3)
        made = Outcome({0: "refused"} if known[-1] == "refuse" else {})
    send(out, pickle.dumps(made))
"""


@pytest.fixture
def echo(monkeypatch):
    """Workers that answer with the word they are given, and who they are."""
    monkeypatch.setattr(workers, "COMMAND", ("-c", ECHO))


def words(*each):
    return [pickle.dumps(word) for word in each]


def is_there(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_orders_are_answered_in_their_order_and_the_processes_go(echo):
    with Workers(2) as pool:
        found = [outcome.kernels.decode().split() for outcome in pool.outcomes(words("a", "b", "c", "d"))]
    assert [word for word, _ in found] == ["a", "b", "c", "d"]
    assert not any(is_there(int(process)) for _, process in found)


def test_a_process_that_dies_is_a_failure_of_its_order(echo):
    with Workers(1) as pool:
        first, second = pool.outcomes(words("a", "die"))
    assert first.kernels is not None
    assert second == Outcome(failure="the process that compiles has ended")


def test_each_order_has_an_outcome_though_a_process_dies_tracing(echo):
    with Workers(2) as pool:
        found = pool.outcomes(words("die at once", "a", "b", "c"))
    assert found[0] == Outcome(failure="the process that compiles has ended")
    assert all(outcome.kernels for outcome in found[1:])
    with Workers(1) as pool:
        found = pool.outcomes(words("die at once", "a"))
    assert found == [Outcome(failure="the process that compiles has ended")] * 2


def test_nothing_is_compiled_if_something_cannot_be_traced(echo):
    with Workers(2) as pool:
        found = pool.outcomes(words("a", "refuse", "die"))
    assert found == [None, Outcome({0: "refused"}), None]


def test_a_python_that_cannot_be_started_is_a_failure(monkeypatch):
    monkeypatch.setattr(workers.sys, "executable", "/nowhere/python")
    with Workers(1) as pool:
        (found,) = pool.outcomes(words("a"))
    assert "no process can be started" in found.failure


def test_what_is_ended_says_so(echo):
    pool = Workers(1)
    with pool:
        beside = []

        def ask():
            try:
                pool.outcomes(words("sleep"))
            except EndedError as error:
                beside.append(error)

        thread = workers.threading.Thread(target=ask)
        thread.start()
        while not pool._processes:
            time.sleep(0.01)
        pool.end()
        thread.join(60)
    assert len(beside) == 1


@pytest.mark.parametrize(("load", "count", "expected"), [(0.0, 16, 15), (10.5, 16, 5), (40.0, 16, 0), (0.0, 4, 0)])
def test_cores_are_free_that_nobody_uses_on_a_machine_with_many(monkeypatch, load, count, expected):
    monkeypatch.setattr(workers, "cores", lambda: count)
    monkeypatch.setattr(workers.os, "getloadavg", lambda: (load, 0.0, 0.0))
    assert free_cores() == expected


EXITS = """
import os, pickle, sys, threading, time
from situs._src.runtime.run import workers
from situs._src.runtime.run.background import Beside
workers.COMMAND = ("-c", {echo!r})
pool = workers.Workers(1)

def make():
    with pool:
        return pool.outcomes([pickle.dumps("sleep")])

beside = Beside(make)
while not pool._processes:
    time.sleep(0.01)
print(pool._processes[0].pid)
"""


def test_a_program_that_ends_meanwhile_leaves_no_process_and_says_nothing(run_python: RunPython) -> None:
    said = run_python(EXITS.format(echo=ECHO) + "print('over', flush=True)")
    process, over = said.split()
    assert over == "over"
    assert not is_there(int(process))


def test_a_child_process_leaves_the_workers_to_its_parent(run_python: RunPython) -> None:
    said = run_python(
        EXITS.format(echo=ECHO) + "child = os.fork()\n"
        "if not child:\n    print('child', beside.is_over, flush=True)\n    sys.exit(0)\n"
        "os.waitpid(child, 0)\n"
        "os.kill(pool._processes[0].pid, 0)\nprint('still there', flush=True)"
    )
    assert "child True" in said
    assert said.endswith("still there\n")
    assert not is_there(int(said.split()[0]))


def test_a_worker_ends_when_its_program_is_killed(run_python: RunPython) -> None:
    """The real one watches who has started it; nothing is compiled."""
    program = EXITS.replace('workers.COMMAND = ("-c", {echo!r})\n', "")
    program = program.replace("beside = Beside(make)", "workers.send = lambda pipe, data: None\nbeside = Beside(make)")
    said = run_python(program + "sys.stdout.flush()\nos.kill(os.getpid(), 9)", fails=True)
    process = int(said.split()[0])
    end = time.monotonic() + 120
    while is_there(process) and time.monotonic() < end:
        time.sleep(0.1)
    assert not is_there(process)


@pytest.mark.skipif(inductor.missing(on_card=False) is not None, reason="needs a C++ compiler")
def test_a_region_compiled_in_another_process_computes_here():
    layout = Layout(torch.Size([3, 4]), (4, 1), torch.float32, torch.device("cpu"))
    steps = [
        Step(torch.tanh, [Slot(0)], [1], [layout], True, [], False, None, False, False),
        Step(torch.add, [Slot(1), Literal(1.5)], [2], [layout], True, [], False, None, False, False),
    ]
    order = packed(order_of(Body([layout], steps, [], [], [2], frozenset(), True), exact=True))
    refused = Step(torch.nonzero, [Slot(0)], [1], [layout], True, [], False, None, False, False)
    other = packed(order_of(Body([layout], [refused], [], [], [1], frozenset(), True), exact=True))
    with Workers(1) as pool:
        (made,) = pool.outcomes([order])
        (not_made,) = pool.outcomes([other])
    assert not_made.refused == {0: "looks at values"}
    assert made.kernels is not None
    x = torch.linspace(-1, 1, 12).reshape(3, 4)
    (found,) = inductor.loaded(made.kernels)([x])
    np.testing.assert_allclose(found, np.tanh(x.numpy()) + 1.5, rtol=1e-5)


def test_kernels_are_chosen_by_a_few_launches_in_this_thread_alone(monkeypatch):
    from torch._inductor.runtime.benchmarking import benchmarker

    class Event:
        def __init__(self, enable_timing):
            pass

        def record(self):
            self.time = len(launches)

        def synchronize(self):
            pass

        def elapsed_time(self, other):
            return float(other.time - self.time)

    launches, pauses = [], []
    monkeypatch.setattr(torch.cuda, "Event", Event)
    usual = type(benchmarker).benchmark
    with inductor.chosen_quickly(lambda: pauses.append(len(launches))):
        found = benchmarker.benchmark(fn=lambda: launches.append(0), device="cuda", rep=40)
        assert len(launches) == 1 + inductor._LAUNCHES
        others = []
        thread = workers.threading.Thread(
            target=lambda: others.append(benchmarker.benchmark(lambda: None, device="cpu", rep=1, warmup=1))
        )
        thread.start()
        thread.join()
    assert found == 1.0
    assert pauses == [len(launches)]
    assert len(others) == 1
    assert benchmarker.benchmark.__func__ is usual
