"""Coordinators: who stops whom, and what `join` raises, as in TensorFlow 2.21."""

from __future__ import annotations

import sys
import threading
import time

import pytest

from situs import errors
from situs._src.v1.queues.coordinator import Coordinator, LooperThread
from tests.conftest import STUCK

LIMIT = STUCK


def started(work, *args) -> threading.Thread:
    thread = threading.Thread(target=work, args=args, daemon=True)
    thread.start()
    return thread


def test_a_request_stops_all_threads():
    coord, turns = Coordinator(), []

    def work() -> None:
        while not coord.should_stop():
            turns.append(0)
            coord.wait_for_stop(0.001)

    threads = [started(work) for _ in range(3)]
    assert not coord.should_stop()
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=LIMIT)
    assert coord.should_stop()
    assert coord.joined
    assert not any(thread.is_alive() for thread in threads)


def test_join_waits_for_threads_that_end_by_themselves():
    coord, done = Coordinator(), []
    coord.join([started(lambda: (time.sleep(0.05), done.append(1)))])
    assert done == [1]
    assert not coord.should_stop()


def test_registered_threads_are_waited_for_too():
    coord, done = Coordinator(), []
    thread = started(lambda: (time.sleep(0.05), done.append(1)))
    coord.register_thread(thread)
    coord.join()
    assert done == [1]


def test_an_exception_is_raised_in_join():
    coord = Coordinator()

    def work() -> None:
        with coord.stop_on_exception():
            raise KeyError("first")

    started(work).join(LIMIT)
    assert coord.wait_for_stop(LIMIT)
    with pytest.raises(KeyError, match="first") as caught:
        coord.join()
    assert "work" in [entry.name for entry in caught.traceback]  # where it came from


def test_the_first_report_counts():
    coord = Coordinator()
    coord.request_stop(ValueError("first"))
    coord.request_stop(KeyError("second"))
    with pytest.raises(ValueError, match="first"):
        coord.join([])


def test_a_request_without_an_exception_is_a_good_end_even_if_one_follows():
    coord = Coordinator()
    coord.request_stop()
    coord.request_stop(KeyError("late"))
    coord.join([])


@pytest.mark.parametrize("as_triple", [True, False])
def test_the_end_of_a_queue_is_a_good_end(as_triple):
    coord = Coordinator()
    try:
        raise errors.OutOfRangeError("no more")
    except errors.OutOfRangeError as error:
        coord.request_stop(sys.exc_info() if as_triple else error)
    coord.join([])
    assert coord.should_stop()


def test_other_exceptions_can_be_good_ends():
    coord = Coordinator(clean_stop_exception_types=(KeyError,))
    coord.request_stop(KeyError())
    coord.join([])
    strict = Coordinator(clean_stop_exception_types=())
    strict.request_stop(errors.OutOfRangeError("no more"))
    with pytest.raises(errors.OutOfRangeError):
        strict.join([])


def test_what_was_reported_can_be_asked_for_before_join():
    coord = Coordinator()
    coord.raise_requested_exception()
    coord.request_stop(KeyError("reported"))
    with pytest.raises(KeyError, match="reported"):
        coord.raise_requested_exception()


def test_stubborn_threads_are_an_error_after_the_grace_period():
    coord, end = Coordinator(), threading.Event()
    thread = started(end.wait, LIMIT)
    thread.name = "stubborn"
    coord.request_stop()
    with pytest.raises(RuntimeError, match="Coordinator stopped with threads still running: stubborn"):
        coord.join([thread], stop_grace_period_secs=0.02)
    coord.clear_stop()
    coord.request_stop()
    coord.join([thread], stop_grace_period_secs=0.02, ignore_live_threads=True)
    end.set()


def test_a_report_comes_before_stubborn_threads():
    coord, end = Coordinator(), threading.Event()
    thread = started(end.wait, LIMIT)
    coord.request_stop(KeyError("reported"))
    with pytest.raises(KeyError):
        coord.join([thread], stop_grace_period_secs=0.02)
    end.set()


def test_after_join_an_exception_is_raised_where_it_is_reported():
    coord = Coordinator()
    coord.join([])
    coord.request_stop()
    with pytest.raises(KeyError):
        coord.request_stop(KeyError("nobody else would hear"))


def test_it_can_begin_again():
    coord = Coordinator()
    coord.request_stop(KeyError())
    with pytest.raises(KeyError):
        coord.join([])
    coord.clear_stop()
    assert (coord.should_stop(), coord.joined) == (False, False)
    coord.join([])


def test_waiting_for_a_stop_has_a_limit():
    coord = Coordinator()
    assert not coord.wait_for_stop(0.001)
    started(lambda: (time.sleep(0.02), coord.request_stop()))
    assert coord.wait_for_stop(LIMIT)


@pytest.mark.parametrize("interval", [None, 0.001])
def test_a_looper_calls_until_it_is_stopped(interval):
    coord, seen = Coordinator(), []

    def work(limit: int, *, step: int) -> None:
        seen.append(step)
        if len(seen) >= limit:
            coord.request_stop()

    looper = LooperThread.loop(coord, interval, work, args=(3,), kwargs={"step": 5})
    coord.join(stop_grace_period_secs=LIMIT)
    assert seen == [5, 5, 5]
    assert not looper.is_alive()
    assert looper.daemon


def test_a_looper_can_be_a_subclass_and_its_exceptions_stop_the_others():
    coord, seen = Coordinator(), []

    class Failing(LooperThread):
        def start_loop(self) -> None:
            seen.append("start")

        def run_loop(self) -> None:
            raise KeyError("in the loop")

        def stop_loop(self) -> None:
            seen.append("stop")

    Failing(coord, None).start()
    with pytest.raises(KeyError, match="in the loop"):
        coord.join(stop_grace_period_secs=LIMIT)
    assert seen == ["start"]


def test_a_looper_needs_a_coordinator():
    with pytest.raises(ValueError, match="'coord' argument must be a Coordinator"):
        LooperThread("nobody", None)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"timer_interval_secs": "often"}, "'timer_interval_secs'"),
        ({"timer_interval_secs": 1, "target": 3}, "target of a LooperThread is a function"),
        ({"timer_interval_secs": 1, "kwargs": 3}, "come as a dictionary"),
    ],
)
def test_what_a_looper_cannot_do_is_said_before_it_runs(arguments, text):
    coord = Coordinator()
    with pytest.raises(TypeError, match=text):
        LooperThread(coord, **arguments)
    coord.join(stop_grace_period_secs=LIMIT)  # nothing was registered
