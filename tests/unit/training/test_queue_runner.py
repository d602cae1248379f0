"""Queue runners: what their threads do at the end of the inputs, at a stop and after an error."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import situs.compat.v1 as tf
from situs import errors
from situs._src.ops import queue as eager
from situs.compat.v1.queue import FIFOQueue
from situs.compat.v1.train import Coordinator, QueueRunner, add_queue_runner, start_queue_runners
from tests.conftest import STUCK

LIMIT = STUCK


@pytest.fixture
def sess() -> Iterator[Any]:
    with tf.Graph().as_default(), tf.Session() as made:
        yield made


def counting(sess: Any, limit: int) -> Any:
    """A tensor that counts from 0, until it raises OutOfRangeError."""
    count = tf.Variable(0, name="count")
    sess.run(count.initializer)
    return count.count_up_to(limit)


def ended(threads: list[threading.Thread]) -> bool:
    for thread in threads:
        thread.join(LIMIT)
    return not any(thread.is_alive() for thread in threads)


def test_it_fills_the_queue_and_closes_it_at_the_end_of_the_inputs(sess):
    q = FIFOQueue(3, tf.int32)
    runner = QueueRunner(q, [q.enqueue(counting(sess, 10))])
    threads = runner.create_threads(sess, start=True)
    take = q.dequeue()
    assert [sess.run(take) for _ in range(10)] == list(range(10))
    with pytest.raises(errors.OutOfRangeError, match="is closed and has insufficient elements"):
        sess.run(take)
    assert ended(threads)
    assert runner.exceptions_raised == []


def test_several_threads_close_it_when_the_last_has_ended(sess):
    q = FIFOQueue(3, tf.int32)
    runner = QueueRunner(q, [q.enqueue(counting(sess, 30))] * 3)
    threads = runner.create_threads(sess, start=True)
    take = q.dequeue()
    assert sorted(int(sess.run(take)) for _ in range(30)) == list(range(30))
    with pytest.raises(errors.OutOfRangeError):
        sess.run(take)
    assert len(threads) == 3
    assert ended(threads)


def test_a_stop_ends_threads_that_wait(sess):
    coord, q = Coordinator(), FIFOQueue(1, tf.float32)
    runner = QueueRunner(q, [q.enqueue(1.0)] * 2)
    threads = runner.create_threads(sess, coord=coord, start=True)
    assert len(threads) == 3  # and one that waits for the stop
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=LIMIT)
    assert sess.run(q.is_closed())


def test_an_error_is_reported_to_the_coordinator(sess):
    coord, q, x = Coordinator(), FIFOQueue(1, tf.float32), tf.placeholder(tf.float32, name="x")
    QueueRunner(q, [q.enqueue(x)]).create_threads(sess, coord=coord, start=True)
    with pytest.raises(errors.InvalidArgumentError, match="You must feed a value for placeholder tensor 'x'"):
        coord.join(stop_grace_period_secs=LIMIT)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_without_one_it_is_kept(sess):
    q, x = FIFOQueue(1, tf.float32), tf.placeholder(tf.float32)
    runner = QueueRunner(q, [q.enqueue(x)])
    assert ended(runner.create_threads(sess, start=True))
    assert [type(error) for error in runner.exceptions_raised] == [errors.InvalidArgumentError]


def test_other_errors_can_mean_the_end(sess):
    q, source = FIFOQueue(3, tf.float32), FIFOQueue(3, tf.float32)
    sess.run(source.close())
    kinds = (errors.OutOfRangeError, errors.CancelledError)
    runner = QueueRunner(q, [source.enqueue(1.0)], queue_closed_exception_types=kinds)
    assert ended(runner.create_threads(sess, start=True))
    assert sess.run(q.is_closed())
    assert runner.queue_closed_exception_types == kinds


def test_a_second_call_makes_no_threads_while_the_first_ones_run(sess):
    coord, q = Coordinator(), FIFOQueue(1, tf.float32)
    runner = QueueRunner(q, [q.enqueue(1.0)])
    threads = runner.create_threads(sess, coord=coord, start=True)
    assert runner.create_threads(sess, coord=coord) == []
    with tf.Session(graph=sess.graph) as other:
        assert len(runner.create_threads(other)) == 1
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=LIMIT)
    assert len(runner.create_threads(sess)) == 1


def test_threads_are_named_and_marked(sess):
    q = FIFOQueue(1, tf.float32, name="q")
    threads = QueueRunner(q, [q.enqueue(1.0)]).create_threads(sess, coord=Coordinator(), daemon=True)
    assert [t.name for t in threads] == ["QueueRunnerThread-q-q_enqueue", "QueueRunnerThread-q-close_on_stop"]
    assert all(t.daemon and not t.is_alive() for t in threads)


def test_what_it_was_made_of_can_be_asked_for(sess):
    q = FIFOQueue(1, tf.float32, name="q")
    put, close, cancel = q.enqueue(1.0), q.close(), q.close(True)
    runner = QueueRunner(q, [put], close, cancel)
    assert (runner.queue, runner.enqueue_ops, runner.close_op, runner.cancel_op) == (q, [put], close, cancel)
    assert runner.name == "q"


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda q: QueueRunner(), ValueError, "Must provide queue and enqueue_ops"),
        (lambda q: QueueRunner(q, []), ValueError, "Must provide queue and enqueue_ops"),
        (lambda q: QueueRunner(q, [q.close()], queue_closed_exception_types=()), TypeError, "tuple of tf.error types"),
        (lambda q: QueueRunner(q, [q.close()], queue_closed_exception_types=(KeyError,)), TypeError, "tf.error types"),
        (lambda q: QueueRunner(q, [q.close()], queue_runner_def=object()), ValueError, "not from a message"),
    ],
)
def test_runners_that_cannot_be_are_refused(sess, make, error, text):
    with pytest.raises(error, match=text):
        make(FIFOQueue(1, tf.float32))


@pytest.mark.parametrize("session", [None, 3])
def test_threads_need_a_session(sess, session):
    q = FIFOQueue(1, tf.float32)
    with pytest.raises(TypeError, match="work in a session"):
        QueueRunner(q, [q.enqueue(1.0)]).create_threads(session)


def test_in_eager_code_there_are_none():
    q = eager.FIFOQueue(3, "float32")
    with pytest.raises(RuntimeError, match="not supported when eager execution is enabled"):
        QueueRunner(q, [q.enqueue(1.0)])


def test_the_runners_of_a_graph_are_started_together(sess):
    coord = Coordinator()
    queues = [FIFOQueue(5, tf.int32), FIFOQueue(5, tf.float32)]
    add_queue_runner(QueueRunner(queues[0], [queues[0].enqueue(counting(sess, 5))]))
    add_queue_runner(QueueRunner(queues[1], [queues[1].enqueue(2.0)]))
    add_queue_runner(QueueRunner(queues[1], [queues[1].enqueue(2.0)]), collection="others")
    threads = start_queue_runners(coord=coord)
    assert len(threads) == 4
    assert sess.run([q.dequeue() for q in queues]) == [0, 2.0]
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=LIMIT)
    assert len(start_queue_runners(sess, start=False, collection="others")) == 1


def test_starting_needs_a_session(sess):
    with pytest.raises(TypeError, match=r"sess must be a `tf.Session` object"):
        start_queue_runners("session")


def test_starting_needs_a_default_session_or_one():
    with tf.Graph().as_default(), pytest.raises(ValueError, match="No default session is registered"):
        start_queue_runners()


def test_starting_nothing_warns(sess, caplog):
    assert start_queue_runners() == []
    assert "no queue runners were defined" in caplog.text
