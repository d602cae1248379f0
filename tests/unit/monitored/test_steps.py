"""Timers, and hooks that end or delay a loop."""

from __future__ import annotations

import threading
import time

import pytest

import situs.compat.v1 as tf
from situs._src.v1.monitored import stop
from situs._src.v1.monitored.session import MonitoredSession, SingularMonitoredSession
from situs._src.v1.monitored.steps import NeverTriggerTimer, SecondOrStepTimer, SessionTimer
from situs._src.v1.monitored.stop import GlobalStepWaiterHook, StopAtStepHook

# Timers.


def test_a_timer_of_steps():
    timer = SecondOrStepTimer(every_steps=3)
    assert timer.last_triggered_step() is None
    fired = []
    for step in range(9):
        if timer.should_trigger_for_step(step):
            fired.append((step, timer.update_last_triggered_step(step)[1]))
    assert fired == [(0, None), (3, 3), (6, 3)]
    assert timer.last_triggered_step() == 6
    timer.reset()
    assert timer.should_trigger_for_step(6)


def test_a_timer_of_seconds(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    timer = SecondOrStepTimer(every_secs=1.5)
    assert timer.should_trigger_for_step(1)
    assert timer.update_last_triggered_step(1) == (None, None)
    now[0] += 1
    assert not timer.should_trigger_for_step(2)
    now[0] += 0.5
    assert not timer.should_trigger_for_step(1)  # not twice at one step
    assert timer.should_trigger_for_step(5)
    assert timer.update_last_triggered_step(5) == (1.5, 4)


def test_a_timer_that_never_goes_off():
    timer = NeverTriggerTimer()
    assert not timer.should_trigger_for_step(1)
    assert timer.update_last_triggered_step(1) == (None, None)


def test_a_timer_of_ones_own_says_when():
    for call in ("should_trigger_for_step", "update_last_triggered_step"):
        with pytest.raises(NotImplementedError, match=call):
            getattr(SessionTimer(), call)(1)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "Either every_secs or every_steps should be provided."),
        ({"every_secs": 1, "every_steps": 1}, "Can not provide both every_secs and every_steps."),
        ({"every_steps": 1.5}, "every_steps"),
        ({"every_secs": "often"}, "every_secs"),
    ],
)
def test_a_timer_has_one_period(given, text):
    with pytest.raises(ValueError, match=text):
        SecondOrStepTimer(**given)


# Stopping.


@pytest.mark.parametrize(
    ("given", "last"), [({"num_steps": 3}, 3), ({"last_step": 4}, 4), ({"last_step": 1}, 3), ({"num_steps": 0}, 3)]
)
def test_a_loop_stops_at_a_step(model, given, last):
    def two_steps(step_context):
        for _ in range(2):
            step_context.session.run(model.train)

    with SingularMonitoredSession(hooks=[StopAtStepHook(**given)]) as sess:
        sess.run_step_fn(two_steps)  # which the hook does not see
        while not sess.should_stop():
            sess.run(model.train)
        assert sess.raw_session().run(model.step) == last


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "One of num_steps or last_step must be specified."),
        ({"num_steps": 1, "last_step": 1}, "Only one of num_steps or last_step can be specified."),
        ({"num_steps": "three"}, "num_steps"),
    ],
)
def test_stopping_is_at_one_step(given, text):
    with pytest.raises(ValueError, match=text):
        StopAtStepHook(**given)


@pytest.mark.parametrize(
    ("hook", "name"), [(StopAtStepHook(1), "StopAtStepHook"), (GlobalStepWaiterHook(1), "_GlobalStepWaiterHook")]
)
def test_hooks_need_a_global_step(graph, hook, name):
    tf.constant(1)
    with pytest.raises(RuntimeError, match=f"Global step should be created to use {name}."):
        MonitoredSession(hooks=[hook])


def test_a_loop_waits_for_a_step(model, logged, monkeypatch):
    monkeypatch.setattr(stop, "_WAIT", 0.01)

    def step_to(number, session):
        time.sleep(0.1)
        model.step.load(number, session)

    with SingularMonitoredSession(hooks=[GlobalStepWaiterHook(2000)]) as sess:
        raw = sess.raw_session()
        others = threading.Thread(target=lambda: [step_to(number, raw) for number in (1500, 2000)])
        others.start()
        sess.run(model.loss)
        assert raw.run(model.step) == 2000
        others.join()
    assert "Waiting for global step 2000 before starting training." in logged()
    assert "Waiting for global step 2000 before starting training. Current step is 1500." in logged()


def test_a_loop_does_not_wait_for_the_start(model):
    with MonitoredSession(hooks=[GlobalStepWaiterHook(0)]) as sess:
        sess.run(model.loss)
