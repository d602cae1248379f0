"""Buffers: who waits, who goes first, and what wakes those who wait. Messages are TensorFlow 2.21's."""

from __future__ import annotations

import queue
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from situs._src.runtime.run.queue_buffer import Buffer, PaddingBuffer, PriorityBuffer, ShuffleBuffer
from situs._src.runtime.run.state import Run, State
from situs.errors import CancelledError, DeadlineExceededError, InvalidArgumentError, OutOfRangeError
from tests.conftest import STUCK

LIMIT = STUCK


class Background:
    """A call in a thread of its own."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._outcome: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue()
        threading.Thread(target=self._work, args=(call,), daemon=True).start()

    def _work(self, call: Callable[[], Any]) -> None:
        try:
            self._outcome.put((call(), None))
        except BaseException as error:
            self._outcome.put((None, error))

    def result(self) -> Any:
        made, error = self._outcome.get(timeout=LIMIT)
        if error is not None:
            raise error
        return made


def waiting(buffer: Buffer, call: Callable[[], Any]) -> Background:
    """Starts a call and returns when it stands in line."""
    before = standing(buffer)
    made = Background(call)
    end = time.monotonic() + LIMIT
    while standing(buffer) == before:
        assert time.monotonic() < end, "it did not wait"
        time.sleep(0.001)
    return made


def standing(buffer: Buffer) -> int:
    return len(buffer._producers) + len(buffer._consumers)


def test_elements_come_out_in_the_order_they_went_in():
    buffer = Buffer("q", 5)
    buffer.put([1, 2])
    buffer.put([3])
    assert (buffer.size(), buffer.take(1), buffer.take(2), buffer.size()) == (3, [1], [2, 3], 0)


@given(st.lists(st.integers(), max_size=30), st.integers(1, 5))
def test_a_producer_and_a_consumer_agree_whatever_the_capacity(elements, capacity):
    buffer = Buffer("q", capacity)
    producer = Background(lambda: buffer.put(elements))
    taken = [buffer.take(1)[0] for _ in elements]
    producer.result()
    assert taken == elements


def test_a_full_buffer_lets_producers_wait():
    buffer = Buffer("q", 1)
    buffer.put(["a"])
    producer = waiting(buffer, lambda: buffer.put(["b"]))
    assert buffer.take(1) == ["a"]
    producer.result()
    assert buffer.take(1) == ["b"]


def test_an_empty_buffer_lets_consumers_wait_and_serves_them_in_order():
    buffer = Buffer("q", 10)
    first = waiting(buffer, lambda: buffer.take(2))
    second = waiting(buffer, lambda: buffer.take(1))
    buffer.put([1])
    buffer.put([2, 3])
    assert first.result() == [1, 2]
    assert second.result() == [3]


def test_a_later_small_request_does_not_overtake_a_large_one():
    buffer = Buffer("q", 10)
    large = waiting(buffer, lambda: buffer.take(3))
    small = waiting(buffer, lambda: buffer.take(1))
    buffer.put([1, 2])
    assert buffer.size() == 0  # the large one has them already
    buffer.put([3, 4])
    assert (large.result(), small.result()) == ([1, 2, 3], [4])


def test_more_elements_than_fit_go_in_as_room_appears():
    buffer = Buffer("q", 3)
    producer = waiting(buffer, lambda: buffer.put([1, 2, 3, 4, 5]))
    assert buffer.size() == 3
    assert buffer.take(1) == [1]
    assert buffer.size() == 3
    assert buffer.take(4) == [2, 3, 4, 5]
    producer.result()


def test_more_elements_than_fit_can_be_taken_at_once():
    buffer = Buffer("q", 2)
    consumer = waiting(buffer, lambda: buffer.take(5))
    buffer.put([1, 2, 3, 4, 5])
    assert consumer.result() == [1, 2, 3, 4, 5]


def test_elements_of_two_waiting_producers_do_not_mix():
    buffer = Buffer("q", 1)
    first = waiting(buffer, lambda: buffer.put("abc"))
    second = waiting(buffer, lambda: buffer.put("xyz"))
    assert buffer.take(6) == list("abcxyz")
    first.result()
    second.result()


def test_a_negative_capacity_is_no_limit():
    buffer = Buffer("q", -1)
    buffer.put(range(10_000))
    assert buffer.size() == 10_000


def test_nothing_is_put_and_taken_at_once_even_when_closed():
    buffer = Buffer("q", 0)
    buffer.close()
    buffer.put([])
    assert buffer.take(0) == []


class TestClosing:
    def test_a_closed_buffer_takes_nothing_more_in(self):
        buffer = Buffer("_0_q", 3)
        buffer.close()
        assert buffer.is_closed
        with pytest.raises(CancelledError, match=r"^FIFOQueue '_0_q' is closed\.$"):
            buffer.put([1])

    def test_what_is_there_can_be_taken_out_and_then_it_is_over(self):
        buffer = Buffer("_0_q", 3)
        buffer.put([1])
        buffer.close()
        assert buffer.take(1) == [1]
        text = r"^FIFOQueue '_0_q' is closed and has insufficient elements \(requested 1, current size 0\)$"
        with pytest.raises(OutOfRangeError, match=text):
            buffer.take(1)

    def test_too_few_are_left_where_they_are(self):
        buffer = Buffer("q", 3)
        buffer.put([1, 2])
        buffer.close()
        with pytest.raises(OutOfRangeError, match=r"requested 3, current size 2"):
            buffer.take(3)
        assert buffer.take(2) == [1, 2]

    def test_the_rest_will_do_for_who_takes_fewer(self):
        buffer = Buffer("q", 3)
        buffer.put([1, 2])
        buffer.close()
        assert buffer.take(3, fewer=True) == [1, 2]
        with pytest.raises(OutOfRangeError, match=r"requested 3, current size 0"):
            buffer.take(3, fewer=True)

    def test_waiting_consumers_get_what_is_left_or_an_error(self):
        buffer = Buffer("q", 3)
        fewer = waiting(buffer, lambda: buffer.take(2, fewer=True))
        all_of_them = waiting(buffer, lambda: buffer.take(2))
        buffer.put([1])
        buffer.close()
        assert fewer.result() == [1]
        with pytest.raises(OutOfRangeError):
            all_of_them.result()

    def test_what_a_consumer_had_taken_before_the_end_is_there_again(self):
        buffer = Buffer("q", 3)
        consumer = waiting(buffer, lambda: buffer.take(2))
        buffer.put([1])
        buffer.close()
        with pytest.raises(OutOfRangeError, match=r"requested 1, current size 0"):
            consumer.result()
        assert buffer.take(1) == [1]

    def test_producers_that_wait_are_let_in_before_it_closes(self):
        buffer = Buffer("q", 1)
        buffer.put([1])
        producer = waiting(buffer, lambda: buffer.put([2]))
        closing = waiting(buffer, buffer.close)
        late = waiting(buffer, lambda: buffer.put([3]))
        assert not buffer.is_closed
        assert buffer.take(1) == [1]
        producer.result()
        closing.result()
        with pytest.raises(CancelledError, match="is closed"):
            late.result()
        assert buffer.take(5, fewer=True) == [2]

    def test_producers_that_wait_fail_when_they_are_cancelled(self):
        buffer = Buffer("q", 1)
        producer = waiting(buffer, lambda: buffer.put([1, 2]))
        buffer.close(cancel=True)
        with pytest.raises(CancelledError, match=r"^Enqueue operation was cancelled$"):
            producer.result()
        assert buffer.take(5, fewer=True) == [1]

    def test_closing_twice_fails_unless_it_cancels(self):
        buffer = Buffer("q", 1)
        buffer.close()
        buffer.close(cancel=True)
        with pytest.raises(CancelledError, match=r"^Queue 'q' is already closed\.$"):
            buffer.close()


class TestRuns:
    def test_a_run_that_is_stopped_gives_up_and_puts_back_what_it_had(self):
        buffer, run = Buffer("q", 5), Run(State())
        consumer = waiting(buffer, lambda: buffer.take(3, run))
        buffer.put([1, 2])
        run.stop(CancelledError("another part failed"))
        assert standing(buffer) == 0  # at once: what comes now is not lost on it
        with pytest.raises(CancelledError, match=r"^Dequeue operation was cancelled$"):
            consumer.result()
        assert buffer.take(2) == [1, 2]
        assert run.on_stop == []

    def test_a_run_out_of_time_says_so(self):
        buffer, run = Buffer("q", 5), Run(State())
        consumer = waiting(buffer, lambda: buffer.take(1, run))
        run.stop(DeadlineExceededError("too late"))
        with pytest.raises(DeadlineExceededError, match="too late"):
            consumer.result()

    def test_a_run_that_was_stopped_before_does_not_wait(self):
        buffer, run = Buffer("q", 5), Run(State())
        run.stop(CancelledError("stopped"))
        with pytest.raises(CancelledError):
            Background(lambda: buffer.take(1, run)).result()
        assert standing(buffer) == 0

    def test_the_end_of_a_session_wakes_its_runs_and_no_others(self):
        state, buffer = State(), Buffer("q", 1)
        buffer.put([0])
        ours = waiting(buffer, lambda: buffer.put([1], Run(state)))
        others = waiting(buffer, lambda: buffer.put([2], Run(State())))
        state.closed.set()
        buffer.wake()
        with pytest.raises(CancelledError, match=r"^Enqueue operation was cancelled$"):
            ours.result()
        assert buffer.take(2) == [0, 2]
        others.result()

    def test_closing_can_be_given_up_too(self):
        buffer, run = Buffer("q", 0), Run(State())
        waiting(buffer, lambda: buffer.put([1], Run(State())))
        closing = waiting(buffer, lambda: buffer.close(run=run))
        run.stop(CancelledError("stopped"))
        with pytest.raises(CancelledError, match=r"^Close operation was cancelled$"):
            closing.result()
        assert not buffer.is_closed

    def test_giving_up_lets_the_next_in_line_go_on(self):
        buffer, run = Buffer("q", 5), Run(State())
        first = waiting(buffer, lambda: buffer.take(3, run))
        second = waiting(buffer, lambda: buffer.take(1))
        buffer.put([1])
        run.stop(CancelledError("stopped"))
        with pytest.raises(CancelledError):
            first.result()
        assert second.result() == [1]


class TestKinds:
    def test_shuffled_elements_come_out_once_each_in_the_order_that_is_chosen(self):
        def order(seed: int) -> list[int]:
            buffer = ShuffleBuffer("q", 100, choose=random.Random(seed).randrange)
            buffer.put(range(100))
            return buffer.take(100)

        assert sorted(order(1)) == list(range(100))
        assert order(1) == order(1)
        assert order(1) != order(2)
        assert order(1) != list(range(100))

    def test_shuffling_keeps_some_until_it_is_closed(self):
        buffer = ShuffleBuffer("q", 10, least=3)
        buffer.put(range(5))
        taken = buffer.take(2)
        consumer = waiting(buffer, lambda: buffer.take(3))
        assert buffer.size() == 3
        buffer.close()
        assert sorted(taken + consumer.result()) == [0, 1, 2, 3, 4]
        with pytest.raises(OutOfRangeError, match=r"^RandomShuffleQueue 'q' is closed and has insufficient"):
            buffer.take(1)

    @pytest.mark.parametrize(("capacity", "least"), [(2, 5), (3, 3), (5, -1)])
    def test_shuffling_needs_room_to_choose(self, capacity, least):
        with pytest.raises(InvalidArgumentError, match="min_after_dequeue"):
            ShuffleBuffer("q", capacity, least=least)

    @given(st.lists(st.tuples(st.integers(-5, 5), st.integers()), max_size=20))
    def test_priorities_come_in_order_and_equal_ones_by_age(self, elements):
        buffer = PriorityBuffer("q", -1, priority=lambda element: element[0])
        buffer.put(elements)
        assert buffer.take(len(elements)) == sorted(elements, key=lambda element: element[0])

    def test_priorities_that_are_put_back_come_first_among_equals(self):
        buffer = PriorityBuffer("q", -1, priority=lambda element: element[0])
        run = Run(State())
        consumer = waiting(buffer, lambda: buffer.take(5, run))
        buffer.put([(1, "a"), (1, "b")])
        run.stop(CancelledError("stopped"))
        with pytest.raises(CancelledError):
            consumer.result()
        buffer.put([(1, "c")])
        assert buffer.take(3) == [(1, "a"), (1, "b"), (1, "c")]

    @pytest.mark.parametrize("kind", [Buffer, PaddingBuffer, ShuffleBuffer, PriorityBuffer])
    def test_all_kinds_lose_and_repeat_nothing_among_many_threads(self, kind):
        buffer = kind("q", 7)
        producers = [Background(lambda k=k: buffer.put(range(k * 100, k * 100 + 100))) for k in range(4)]
        consumers = [Background(lambda: _take_all(buffer)) for _ in range(4)]
        for producer in producers:
            producer.result()
        buffer.close()
        taken = [element for consumer in consumers for element in consumer.result()]
        assert Counter(taken) == Counter(range(400))


def _take_all(buffer: Buffer) -> list[Any]:
    taken: list[Any] = []
    while True:
        try:
            taken += buffer.take(3, fewer=True)
        except OutOfRangeError:
            return taken
