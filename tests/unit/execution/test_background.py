"""Programs that are compiled in the background: when that begins, that it is taken up, and that all else stays."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as tf1
from situs._src.base.budget.ledger import Account
from situs._src.runtime.run import background, capture_regions, compiled, compiled_region, cuda_graph, inductor
from situs._src.runtime.run.background import Beside, Pace, Settled
from tests.unit.execution.test_capture import Again

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


class Clock:
    """Tells a time that tests move on."""

    def __init__(self):
        self.time = 0.0

    def __call__(self):
        return self.time


# When.


def runs_until(step, calls, pauses=()):
    clock = Clock()
    settled = Settled(calls, clock)
    for run in range(1, 1_000_000):
        clock.time += step + (1000.0 if run in pauses else 0.0)
        if settled.now():
            return run
    return None


def test_compiling_begins_when_it_pays():
    cost = background.FIRST_SECONDS + background.SECONDS_A_CALL * 100
    expected = cost / background.PART / 0.010
    assert runs_until(0.010, 100) == pytest.approx(expected, rel=0.01)
    assert runs_until(0.010, 1000) > 2 * runs_until(0.010, 100)
    assert runs_until(1e-9, 100) is None


def test_long_runs_wait_for_a_few_others():
    assert runs_until(60.0, 10) == background.LEAST + 1


def test_runs_of_a_card_that_are_waited_for_now_and_then_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten are ordered in a moment, and the host waits for the card after the tenth."""
    now = [0.0]
    settled = background.Settled(100, lambda: now[0])
    runs = 0
    while not settled.now():
        runs += 1
        now[0] += 0.0001 if runs % 10 else 0.020
    assert now[0] == pytest.approx(
        (background.FIRST_SECONDS + 100 * background.SECONDS_A_CALL) / background.PART, rel=0.01
    )


def test_a_pause_is_not_time_of_the_program():
    assert runs_until(0.010, 100, pauses={60, 70, 80}) == pytest.approx(runs_until(0.010, 100), rel=0.05)


def test_a_thread_works_for_its_share():
    worked, slept = Clock(), []
    pace = Pace(0.1, worked, slept.append)
    worked.time = 0.5
    pace()
    pace()
    assert slept == pytest.approx([4.5, 0.0])


def test_what_fails_in_the_background_is_said_and_no_more(caplog):
    def fail():
        raise OSError("no space\nleft")

    beside = Beside(fail)
    beside.wait(10)
    assert (beside.is_over, beside.made, beside.failure) == (True, None, "OSError: no space")
    assert "compiling it failed: OSError: no space" in caplog.text


# What happens then.


@pytest.fixture
def compiler(monkeypatch, fast):
    """A stand-in that runs what was traced, and notes whether it was asked to do so elsewhere."""
    asked = []

    def stand_in(traced, exact=False, elsewhere=False):
        asked.append((exact, elsewhere))
        return lambda values: traced.graph(*values)

    monkeypatch.setattr(compiled_region, "TRIALS", 0)
    monkeypatch.setattr(compiled.switch, "on", False)
    monkeypatch.setattr(inductor, "missing", lambda on_card: None)
    monkeypatch.setattr(inductor, "compiled", stand_in)
    monkeypatch.setattr(background, "LEAST", 3)
    monkeypatch.setattr(background, "FIRST_SECONDS", 0.0)
    monkeypatch.setattr(background, "SECONDS_A_CALL", 0.0)
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
        assert compiler == [(True, True)]
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
    monkeypatch.setattr(cuda_graph.Captured, "_milliseconds", lambda captured, work: 1.0)
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
            losses += [float(step(tf.constant(X))) for _ in range(8)]
            found.append((losses, v.numpy()))
    assert compiler == [(True, True)]
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
