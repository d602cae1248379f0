"""Stages that work ahead: what they give, how far ahead they go, and that their threads end."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest

import situs as tf
from situs import errors
from situs._src.data import parallel
from situs._src.data.node import Life
from situs._src.data.parallel import Limit, TunedLimit, prefetched
from situs._src.data.worker_pool import Pace, WorkerPool
from situs.data import AUTOTUNE, Dataset, Options
from tests.unit.data.conftest import LIMIT, stands_in, working

AHEAD = [
    lambda ds: ds.prefetch(1),
    lambda ds: ds.prefetch(5),
    lambda ds: ds.prefetch(AUTOTUNE),
    lambda ds: ds.map(lambda x: x, num_parallel_calls=3),
    lambda ds: ds.map(lambda x: x, num_parallel_calls=AUTOTUNE),
    lambda ds: ds.prefetch(2).map(lambda x: x, num_parallel_calls=2).prefetch(2),
    lambda ds: ds.batch(3).prefetch(2).unbatch(),
]


@pytest.fixture(autouse=True)
def _no_collector(quick_collections) -> Iterator[None]:
    """Threads must end without the garbage collector."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def counting(pulled: list[int], count: int = 10**6):
    def generate():
        for number in range(count):
            pulled.append(number)
            yield number

    return Dataset.from_generator(generate, tf.int64, [])


@pytest.mark.parametrize("ahead", AHEAD)
@pytest.mark.parametrize("count", [0, 1, 2, 100, 1000])
def test_the_elements_and_their_order_are_the_same(ahead, count, values, ended):
    assert values(ahead(Dataset.range(count))) == list(range(count))
    assert ended()


def test_prefetch_works_while_the_program_does(ended):
    """The next element is begun before this one is done with."""
    begun = [threading.Event() for _ in range(6)]

    def generate():
        for number in range(5):
            begun[number].set()
            yield number
        begun[5].set()

    for number in Dataset.from_generator(generate, tf.int64).prefetch(1):
        assert begun[int(number) + 1].wait(LIMIT)
    assert ended()


@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_prefetch_goes_no_further_than_it_is_told(size, ended):
    pulled: list[int] = []
    elements = iter(counting(pulled).prefetch(size))
    for taken in range(1, 30):
        next(elements)
        settle(pulled)
        assert taken <= len(pulled) <= taken + size
    assert len(pulled) >= 29 + (size + 1) // 2  # and goes so far
    del elements
    assert ended()


def test_an_autotuned_buffer_is_bounded(ended):
    pulled: list[int] = []
    elements = iter(counting(pulled).prefetch(AUTOTUNE))
    for _ in range(500):
        next(elements)
    settle(pulled)
    assert len(pulled) <= 500 + TunedLimit.MOST
    del elements
    assert ended()


def test_an_autotuned_buffer_takes_quick_elements_as_they_are_asked_for(ended, monkeypatch):
    monkeypatch.setattr(parallel, "QUICK", float("inf"))
    pulled: list[int] = []
    elements = iter(counting(pulled).prefetch(AUTOTUNE))
    for taken in range(1, 50):
        next(elements)
        assert len(pulled) == taken
    assert ended()  # there is no thread


def test_an_autotuned_buffer_works_ahead_once_elements_take_long(ended, monkeypatch):
    monkeypatch.setattr(parallel, "QUICK", 0.0)
    pulled: list[int] = []
    elements = iter(counting(pulled).prefetch(AUTOTUNE))
    found = [int(next(elements)) for _ in range(parallel.SLOW_IN_A_ROW)]
    assert len(pulled) == parallel.SLOW_IN_A_ROW
    found.append(int(next(elements)))
    settle(pulled)
    assert found == list(range(parallel.SLOW_IN_A_ROW + 1))
    assert len(pulled) > len(found)
    del elements
    assert ended()


def settle(pulled: list[int]) -> None:
    """Waits until nothing more is pulled."""
    until = time.monotonic() + LIMIT
    before = -1
    while len(pulled) != before and time.monotonic() < until:
        before = len(pulled)
        time.sleep(0.01)


def test_a_tuned_limit_grows_when_a_full_buffer_runs_empty():
    limit = TunedLimit()
    element = (np.zeros(10),)
    for _ in range(10):
        limit.note(ready=False, all_ready=False, item=element)
    assert limit.size == 2  # a producer that is too slow gains nothing
    for _ in range(20):
        limit.note(ready=True, all_ready=True, item=element)
        limit.note(ready=False, all_ready=False, item=element)
    assert limit.size == TunedLimit.MOST
    large = TunedLimit()
    large.note(ready=True, all_ready=True, item=element)
    large.note(ready=False, all_ready=False, item=(np.broadcast_to(np.zeros(1), (2**26,)),))
    assert large.size == 2  # four of them would be too many bytes


@pytest.mark.parametrize("size", [-2, -3])
def test_a_buffer_has_no_negative_size(size):
    with pytest.raises(errors.InvalidArgumentError, match="buffer_size must be >= 0"):
        Dataset.range(3).prefetch(size)


# Parallel calls.


def sleeping(seconds: float):
    def sleep(x):
        time.sleep(seconds)
        return x

    return lambda x: tf.numpy_function(sleep, [x], tf.int64)


@pytest.mark.parametrize("calls", [4, AUTOTUNE])
def test_slow_functions_run_at_the_same_time(calls, values, monkeypatch, ended):
    """Four of them wait for each other; the first few, by which AUTOTUNE finds out, only take their time."""
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    together = threading.Barrier(4, timeout=LIMIT)

    def meet(x):
        time.sleep(0.002)
        if x >= 4:
            together.wait()
        return x

    ds = Dataset.range(20).map(lambda x: tf.numpy_function(meet, [x], tf.int64), num_parallel_calls=calls)
    assert values(ds) == list(range(20))
    assert ended()


@pytest.mark.usefixtures("fast")
def test_quick_functions_need_no_threads():
    elements = iter(Dataset.range(1000).map(lambda x: x + 1, num_parallel_calls=AUTOTUNE))
    assert [int(x) for x in islice(elements, 500)] == list(range(1, 501))
    assert working() == []


@pytest.mark.parametrize("by", ["argument", "options"])
def test_without_order_a_slow_element_does_not_hold_up_the_others(by, ended):
    """The first element is made only after another one has arrived."""
    arrived = threading.Event()

    def wait(x):
        assert x != 0 or arrived.wait(LIMIT)
        return x

    def function(x):
        return tf.numpy_function(wait, [x], tf.int64)

    if by == "argument":
        ds = Dataset.range(8).map(function, num_parallel_calls=2, deterministic=False)
    else:
        options = Options()
        options.deterministic = False
        ds = Dataset.range(8).map(function, num_parallel_calls=2).with_options(options)
    made = []
    for x in ds:
        made.append(int(x))
        arrived.set()
    assert sorted(made) == list(range(8))
    assert made[0] != 0
    assert ended()


def test_the_argument_counts_more_than_the_options(values):
    options = Options()
    options.deterministic = False
    ds = Dataset.range(8).map(sleeping(0.001), num_parallel_calls=4, deterministic=True).with_options(options)
    assert values(ds) == list(range(8))


def test_parallel_calls_go_no_further_than_they_are_told(ended):
    pulled: list[int] = []
    elements = iter(counting(pulled).map(sleeping(0.001), num_parallel_calls=3))
    next(elements)
    settle(pulled)
    assert len(pulled) <= 1 + 3 + 3
    del elements
    assert ended()


def test_datasets_are_read_at_the_same_time(values, ended):
    """The first elements of four datasets wait for each other."""
    together = threading.Barrier(4, timeout=LIMIT)

    def reader(n):
        def generate(number):
            together.wait()
            yield from [number, number]

        return Dataset.from_generator(generate, tf.int64, [], args=(n,))

    ds = Dataset.range(4).interleave(reader, cycle_length=4, num_parallel_calls=4)
    assert values(ds) == [0, 1, 2, 3] * 2
    assert ended()


@pytest.mark.parametrize(
    "ahead",
    [
        lambda ds: ds.prefetch(4),
        lambda ds: ds.map(lambda x: x, num_parallel_calls=4),
        lambda ds: ds.map(sleeping(0.0), num_parallel_calls=4, deterministic=False),
        lambda ds: ds.interleave(lambda x: Dataset.from_tensors(x), cycle_length=3, num_parallel_calls=2),
        lambda ds: ds.interleave(lambda x: Dataset.from_tensors(x), cycle_length=1, num_parallel_calls=1),
    ],
)
def test_an_element_that_is_ready_does_not_wait_for_the_next(ahead, ended):
    going_on = threading.Event()

    def blocked():
        yield 0
        assert going_on.wait(LIMIT)
        yield 1

    elements = iter(ahead(Dataset.from_generator(blocked, tf.int64, [])))
    assert int(next(elements)) == 0
    going_on.set()
    assert [int(x) for x in elements] == [1]
    assert ended()


# Their end.


def pipelines():
    def endless():
        yield from range(10**9)

    source = Dataset.from_generator(endless, tf.int64, [])
    return [
        source.prefetch(2),
        source.map(lambda x: x, num_parallel_calls=3),
        source.map(sleeping(0.0), num_parallel_calls=2).batch(2).prefetch(1).map(lambda x: x).prefetch(3),
        source.interleave(lambda x: Dataset.from_tensors(x).repeat(3), cycle_length=2, num_parallel_calls=2),
        source.flat_map(lambda x: Dataset.range(5).prefetch(2)),
        source.prefetch(2).repeat().shuffle(10),
    ]


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("how", ["dropped", "closed", "left by break"])
def test_threads_end_with_the_iterator(number, how, ended):
    ds = pipelines()[number]
    if how == "left by break":
        for _ in ds:
            break
    else:
        elements = iter(ds)
        next(elements)
        assert working()
        if how == "closed":
            elements.close()
            with pytest.raises(errors.CancelledError, match="closed"):
                next(elements)
        else:
            del elements
    assert ended()


def test_threads_end_after_an_error(ended):
    def fail():
        yield 1
        raise ValueError("boom")

    elements = iter(Dataset.from_generator(fail, tf.int64).prefetch(1).map(lambda x: x, num_parallel_calls=2))
    next(elements)
    with pytest.raises(errors.InvalidArgumentError):
        next(elements)
    del elements
    assert ended()


def test_an_iterator_that_was_never_used_has_no_threads():
    elements = iter(Dataset.range(10).prefetch(2).map(lambda x: x, num_parallel_calls=2))
    assert working() == []
    del elements


def test_closing_does_not_wait_for_a_generator_that_blocks(ended):
    going_on, waited = threading.Event(), []

    def blocked():
        yield 1
        waited.append(going_on.wait(LIMIT))
        yield 2

    elements = iter(Dataset.from_generator(blocked, tf.int64).prefetch(1))
    next(elements)
    elements.close()
    assert waited == []
    going_on.set()
    assert ended()


def test_closing_wakes_whoever_waits(ended):
    going_on = threading.Event()

    def blocked():
        yield 1
        going_on.wait(LIMIT)

    elements = iter(Dataset.from_generator(blocked, tf.int64).prefetch(1))
    next(elements)
    outcome: list[str] = []

    def wait(waited_for) -> None:
        try:
            next(waited_for)
        except errors.CancelledError:
            outcome.append("cancelled")

    waiting = threading.Thread(target=wait, args=(elements,))
    waiting.start()
    stands_in(waiting, "worker_pool.py")
    elements.close()
    waiting.join(LIMIT)
    assert outcome == ["cancelled"]
    going_on.set()
    del elements, waiting
    assert ended()


@pytest.mark.parametrize(
    "ahead",
    [
        lambda ds: ds.prefetch(1),
        lambda ds: ds.prefetch(1).prefetch(2),
        lambda ds: ds.prefetch(1).map(lambda x: x, num_parallel_calls=2).prefetch(1),
        lambda ds: ds.map(sleeping(0.0), num_parallel_calls=2, deterministic=False).prefetch(1),
    ],
)
def test_an_interrupt_from_the_keyboard_loses_nothing(ahead, ended, interruptible):
    going_on = threading.Event()

    def blocked():
        yield 0
        going_on.wait(LIMIT)
        yield 1

    elements = iter(ahead(Dataset.from_generator(blocked, tf.int64)))
    assert int(next(elements)) == 0
    threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        next(elements)
    going_on.set()
    assert [int(x) for x in elements] == [1]
    assert ended()


@pytest.fixture
def interruptible():
    """A process in which the signal of the keyboard is heard: one in the background is told to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_inside_of_a_stage_ends_the_iteration(ended):
    def interrupted():
        yield 0
        raise KeyboardInterrupt

    elements = iter(Dataset.from_generator(interrupted, tf.int64).batch(1))
    next(elements)
    with pytest.raises(KeyboardInterrupt):
        next(elements)
    with pytest.raises(errors.CancelledError, match="interrupted"):
        next(elements)
    assert ended()


def test_a_program_may_end_while_threads_work(run_python):
    out = run_python(
        "import situs.data\n"
        "elements = iter(situs.data.Dataset.range(10**9).map(lambda x: x, num_parallel_calls=2).prefetch(4))\n"
        "print(int(next(elements)), flush=True)\n"
    )
    assert out == "0\n"


def test_many_threads_may_take_from_one_iterator(ended):
    elements = iter(Dataset.range(2000).map(lambda x: x).prefetch(8))
    taken: list[int] = []

    def take() -> None:
        taken.extend(int(x) for x in elements)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert sorted(taken) == list(range(2000))
    assert ended()


# The parts.


def test_a_pace_quickens_and_slows_down():
    pace = Pace(16)
    for _ in range(10):
        pace.note(1e-6)
    assert pace.size == 16
    for _ in range(10):
        pace.note(0.01)
    assert pace.size == 1


def test_a_crew_passes_on_what_its_work_raises():
    pool = WorkerPool(1, "test")

    def fail():
        raise KeyError("inside")

    job = pool.submit(fail)
    job.wait(Life())
    with pytest.raises(KeyError, match="inside"):
        job.result()
    pool.close()
    pool.close()


def test_a_stream_that_raises_raises_in_the_consumer(ended):
    def broken():
        yield 1
        raise KeyboardInterrupt

    items = prefetched(broken(), Limit(1), Life())
    assert next(items) == 1
    with pytest.raises(KeyboardInterrupt):
        next(items)
    del items
    assert ended()


def test_a_buffer_or_a_crew_may_be_asked_for_that_no_machine_has_room_for(values):
    assert values(Dataset.range(300).prefetch(2**62)) == list(range(300))
    assert values(Dataset.range(300).map(lambda x: x, num_parallel_calls=2**40)) == list(range(300))
