"""Programs that are compiled in the background: when that begins, that it is taken up, and that all else stays."""

from __future__ import annotations

import gc
import importlib.util
import sys
import threading

import numpy as np
import pytest
import torch

import situs as tf
import situs.compat.v1 as tf1
from situs._src.base.budget.ledger import Account
from situs._src.runtime.passes.regions import Layout
from situs._src.runtime.plan.plan import Slot
from situs._src.runtime.run import (
    background,
    capture_regions,
    compiled,
    compiled_region,
    cuda_graph,
    inductor,
    workers,
)
from situs._src.runtime.run.background import Beside, Bits, Pace, Settled, courteous
from situs._src.runtime.run.carry import NotCarriedError
from situs._src.runtime.run.region_body import Body, Step, trace_body
from situs._src.runtime.run.workers import EndedError
from tests.unit.execution.test_capture import Again

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


class Clock:
    """Tells a time that tests move on."""

    def __init__(self):
        self.time = 0.0

    def __call__(self):
        return self.time


# When.


def runs_until(step, calls, pauses=(), of=None, free=0):
    clock = Clock()
    settled = Settled(calls, of or calls, clock, lambda: free)
    for run in range(1, 1_000_000):
        clock.time += step + (1000.0 if run in pauses else 0.0)
        if settled.now():
            return run
    return None


def cost(calls):
    return background.FIRST_SECONDS + background.SECONDS_A_CALL * calls


def test_on_few_cores_compiling_begins_when_it_pays_what_it_takes():
    assert runs_until(0.010, 100) == pytest.approx(cost(100) / background.PART / 0.010, rel=0.01)
    assert runs_until(0.010, 1000) > 2 * runs_until(0.010, 100)
    assert runs_until(1e-9, 100) is None


def test_with_free_cores_it_begins_soon():
    seconds = 0.010 * runs_until(0.010, 100, free=8)
    assert seconds == pytest.approx(
        max(background.LEAST_SECONDS, background.LOST * cost(100) / background.PART), abs=background.LOOKS
    )
    assert 0.010 * runs_until(0.010, 3000, free=8) > 2 * seconds


def test_what_is_won_is_a_part_of_what_is_compiled():
    assert runs_until(0.010, 100, of=400) == pytest.approx(4 * runs_until(0.010, 100), rel=0.01)


def test_nothing_begins_before_it_has_settled():
    assert runs_until(60.0, 10) == background.LEAST + 1
    assert 0.001 * runs_until(0.001, 1, free=8) >= background.LEAST_SECONDS


def test_cores_that_become_free_are_found_but_not_looked_for_in_every_run():
    clock, looks = Clock(), []
    settled = Settled(100, 100, clock, lambda: looks.append(clock.time) or int(clock.time > 20))
    while not settled.now():
        clock.time += 0.01
    assert 20 < clock.time < 20 + 2 * background.LOOKS
    assert len(looks) <= 20 / background.LOOKS + 1


def test_runs_of_a_card_that_are_waited_for_now_and_then_count():
    """Ten are ordered in a moment, and the host waits for the card after the tenth."""
    now = [0.0]
    settled = Settled(100, 100, lambda: now[0], lambda: 0)
    runs = 0
    while not settled.now():
        runs += 1
        now[0] += 0.0001 if runs % 10 else 0.020
    assert now[0] == pytest.approx(cost(100) / background.PART, rel=0.01)


def test_a_pause_is_not_time_of_the_program():
    assert runs_until(0.010, 100, pauses={60, 70, 80}) == pytest.approx(runs_until(0.010, 100), rel=0.05)


# Staying out of the way.


def test_bits_take_a_share_of_the_time():
    clock = Clock()
    begun = []

    def work():
        for seconds in (0.2, 0.1):
            begun.append(clock.time)
            clock.time += seconds
            yield
        begun.append(clock.time)

    bits = Bits(work(), clock)
    while not bits.is_over:
        bits.go_on()
        clock.time += 0.01
    rest = (1 - background.SHARE) / background.SHARE
    assert begun[1] - (begun[0] + 0.2) == pytest.approx(0.2 * rest, abs=0.02)
    assert begun[2] - (begun[1] + 0.1) == pytest.approx(0.1 * rest, abs=0.02)
    assert bits.longest == pytest.approx(0.2)
    bits.go_on()
    assert len(begun) == 3


def test_a_thread_takes_its_share():
    clock, slept = Clock(), []
    pace = Pace(0.1, clock, slept.append)
    clock.time = 0.5
    pace()
    pace()
    assert slept == pytest.approx([4.5, 0.0])


def test_threads_that_give_way_leave_everything_as_it_was():
    before = sys.getswitchinterval(), gc.get_threshold(), list(sys.meta_path)
    with courteous():
        assert sys.getswitchinterval() == pytest.approx(background.TURN)
        assert gc.get_threshold() == (*before[1][:2], background.SELDOM)
        with courteous():
            pass
        assert sys.getswitchinterval() == pytest.approx(background.TURN)
    assert sys.getswitchinterval() == pytest.approx(before[0])
    assert (gc.get_threshold(), list(sys.meta_path)) == before[1:]


def test_a_thread_that_gives_way_imports_slowly_and_others_do_not(monkeypatch):
    slept = []
    monkeypatch.setattr(background.Pace, "__call__", lambda pace: slept.append(threading.get_ident()))
    with courteous():
        assert importlib.util.find_spec("no_such_module_of_ours") is None
        other = threading.Thread(target=importlib.util.find_spec, args=("no_such_module_of_theirs",))
        other.start()
        other.join()
    assert set(slept) == {threading.get_ident()}


def test_what_fails_in_the_background_is_said_and_no_more(caplog):
    def fail():
        raise OSError("no space\nleft")

    beside = Beside(fail)
    beside.wait(10)
    assert (beside.is_over, beside.made, beside.failure) == (True, None, "OSError: no space")
    assert "compiling it failed: OSError: no space" in caplog.text


def test_what_ends_with_the_program_is_not_said(caplog):
    def end():
        raise EndedError

    beside = Beside(end)
    beside.wait(10)
    assert beside.is_over
    assert not caplog.text


def test_no_process_is_started_while_the_program_ends(monkeypatch):
    """Another program may have waited for its turn, and get it because the one before has ended."""
    monkeypatch.setattr(workers, "_ending", threading.Event())
    with workers.Workers(1) as running:
        workers._end_all()
        with pytest.raises(EndedError):
            running.outcomes([b"order"])
    with pytest.raises(EndedError):
        workers.Workers(1).__enter__()


def test_a_child_process_does_not_wait_for_a_thread_that_it_has_not(monkeypatch):
    wait = threading.Event()
    beside = Beside(wait.wait)
    assert not beside.is_over
    with monkeypatch.context() as patch:
        patch.setattr(background.os, "getpid", lambda: -1)
        assert beside.is_over
        assert "child" in beside.failure
    wait.set()
    beside.wait(10)


# What happens then.


@pytest.fixture
def compiler(monkeypatch, fast):
    """A stand-in in the place of other processes: it traces here, runs what was traced, and notes that it was asked."""
    asked = []

    def stand_in(beside, bodies):
        asked.extend(beside._exact for _ in bodies)
        return [found_of(body) for body in bodies]

    def found_of(body):
        traced, refused = trace_body(body)
        if traced is None:
            return compiled.Found(refused=refused)
        return compiled.Found(lambda values: traced.graph(*values), traced.refuses)

    monkeypatch.setattr(compiled_region, "TRIALS", 0)
    monkeypatch.setattr(compiled.switch, "on", False)
    monkeypatch.setattr(inductor, "missing", lambda on_card: None)
    monkeypatch.setattr(compiled._Beside, "found", stand_in)
    monkeypatch.setattr(background, "LEAST", 3)
    monkeypatch.setattr(background, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(background, "FIRST_SECONDS", 0.0)
    monkeypatch.setattr(background, "SECONDS_A_CALL", 0.0)
    monkeypatch.setattr(background, "SHARE", 0.9)
    return asked


def training(device):
    v = tf.Variable(X.T @ X)

    @tf.function
    def step(x):
        with tf.device(device):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((tf.tanh(x @ v) - x) ** 2)
            v.assign_sub(0.1 * tape.gradient(loss, v))
            return loss

    return step, v


def program_of(function):
    (program,) = [ready._program for made in function._graphs for ready in made._programs.values()]
    return program


def test_programs_on_the_cpu_are_left_alone_unless_they_are_asked_for(compiler, monkeypatch):
    for setting in (None, "auto"):
        monkeypatch.delenv("SITUS_COMPILE", raising=False)
        if setting is not None:
            monkeypatch.setenv("SITUS_COMPILE", setting)
        with tf.device("/cpu:0"):
            step, _ = training("/cpu:0")
            for _ in range(8):
                step(X)
        assert program_of(step)._compiling is None


def test_a_program_that_settles_is_compiled_beside_and_taken_up(compiler, monkeypatch):
    monkeypatch.setenv("SITUS_COMPILE", "auto-cpu")
    with tf.device("/cpu:0"):
        step, v = training("/cpu:0")
        monkeypatch.setenv("SITUS_COMPILE", "0")
        reference, w = training("/cpu:0")
        reference(X)
        monkeypatch.setenv("SITUS_COMPILE", "auto-cpu")
        step(X)
        assert {each.runs_as for each in tf.explain(step)} >= {
            "kernel: compiled when the program has run for long, which it has not"
        }
        for _ in range(4):
            np.testing.assert_allclose(step(X), reference(X), rtol=1e-5)
        compiling = program_of(step)._compiling
        compiling._beside.wait(60)
        assert compiler == [True]
        for _ in range(5):
            np.testing.assert_allclose(step(X), reference(X), rtol=1e-5)
        np.testing.assert_allclose(v, w, rtol=1e-5)
        assert any(each.runs_as.startswith("compiled region 1") for each in tf.explain(step))


def test_a_compiler_that_fails_beside_leaves_the_program_as_it_is(compiler, monkeypatch, caplog):
    def broken(*args, **kwargs):
        raise MemoryError("none left")

    monkeypatch.setattr(compiled, "Compilation", broken)
    monkeypatch.setenv("SITUS_COMPILE", "auto-cpu")
    with tf.device("/cpu:0"):
        step, _ = training("/cpu:0")
        for _ in range(5):
            step(X)
        program_of(step)._compiling._beside.wait(60)
        for _ in range(3):
            step(X)
    assert "compiling it failed: MemoryError: none left" in caplog.text
    assert any("the compiler failed: MemoryError" in each.runs_as for each in tf.explain(step))


def test_without_a_compiler_one_line_says_so_when_it_would_begin(compiler, monkeypatch, caplog):
    monkeypatch.setattr(inductor, "missing", lambda on_card: "a compiler")
    monkeypatch.setattr(compiled, "_told", set())
    monkeypatch.setenv("SITUS_COMPILE", "auto-cpu")
    with tf.device("/cpu:0"):
        for _ in range(2):
            step, _ = training("/cpu:0")
            for _ in range(7):
                step(X)
    assert caplog.text.count("this machine lacks a compiler") == 1


def test_captured_work_is_compiled_beside_and_recorded_again(compiler, monkeypatch):
    """Virtual GPUs pass for cards, and launches are made again in every replay, as in the tests of captures."""
    monkeypatch.setattr(capture_regions, "_on_card", lambda call: call.device.card is not None)
    monkeypatch.setattr(cuda_graph, "Launches", Again)
    monkeypatch.setattr(Account, "enters_all", property(lambda account: False))
    monkeypatch.setattr(cuda_graph.Captured, "_milliseconds", lambda captured, launches: 1.0)
    found = []
    for setting in ("0", "auto-cpu"):
        monkeypatch.setenv("SITUS_COMPILE", setting)
        with tf.device("/gpu:0"):
            step, v = training("/gpu:0")
            losses = [float(step(tf.constant(X))) for _ in range(cuda_graph.CAPTURED_AFTER + 8)]
            capturing = program_of(step)._capturing
            if setting != "0":
                capturing._beside[1].wait(60)
                before = capturing.captured
            for _ in range(200):
                losses.append(float(step(tf.constant(X))))
            found.append((losses, v.numpy()))
    assert compiler == [True]
    assert capturing.captured is before
    assert capturing._is_over
    assert any(each.runs_as.startswith("compiled region 1") for each in tf.explain(step))
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-5)
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-5)


def test_sessions_compile_beside_too(compiler, monkeypatch):
    monkeypatch.setenv("SITUS_COMPILE", "auto-cpu")
    with tf1.Graph().as_default(), tf1.device("/cpu:0"), tf1.Session() as session:
        x = tf1.placeholder(tf1.float32, [3, 4])
        y = tf1.exp(x * 2.0) + 1.0
        for _ in range(6):
            session.run(y, {x: X})
        (prepared,) = session._prepared.values()
        prepared.program._compiling._beside.wait(60)
        for _ in range(4):
            np.testing.assert_allclose(session.run(y, {x: X}), np.exp(X * 2) + 1, rtol=1e-6)
    assert len(compiler) == 1


# Several regions of a program that waits.


def test_several_regions_are_compiled_side_by_side_where_cores_are_free(compiler, monkeypatch):
    asked = []

    def found(beside, bodies):
        asked.append((len(bodies), beside._is_asked))
        return [compiled.Found(failure="nothing is compiled here") for _ in bodies]

    monkeypatch.setattr(compiled._Beside, "found", found)
    monkeypatch.setattr(compiled, "free_cores", lambda: 8)
    with tf.device("/cpu:0"):
        f = tf.function(lambda x: tf.exp(tf.cast(tf.unique(tf.exp(x) * 2.0)[0], tf.float32)) + 1.0, jit_compile=True)
        for _ in range(3):
            f(X[0])
    assert asked == [(2, True)]


def test_what_belongs_to_this_process_is_left_outside_or_compiled_here():
    lock = threading.Lock()
    layout = Layout(torch.Size([3]), (1,), torch.float32, torch.device("cpu"))

    def held(x):
        with lock:
            return torch.tanh(x)

    plain = Step(torch.exp, [Slot(0)], [1], [layout], True, [], False, None, False, False)
    ours = Step(held, [Slot(1)], [2], [layout], True, [], False, None, False, False)
    body = Body([layout], [plain, ours], [], [], [2], frozenset(), True)
    (found,) = compiled._Beside(exact=True).found([body])
    assert list(found.refused) == [1]
    assert found.refused[1].startswith("cannot be compiled in the background: ")
    with pytest.raises(NotCarriedError):
        compiled._Beside(exact=True, is_asked=True).found([body])
