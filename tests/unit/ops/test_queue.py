"""Queues in graphs and in eager code. Names, shapes and messages are TensorFlow 2.21's."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest

import situs.compat.v1 as tf
from situs import errors
from situs._src.base import dtype as dt
from situs._src.base.proto.config import ConfigProto, RunOptions
from situs._src.base.shapes import TensorShape
from situs._src.ops import queue as eager
from situs.compat.v1.queue import FIFOQueue, PaddingFIFOQueue, PriorityQueue, QueueBase, RandomShuffleQueue
from tests.conftest import STUCK

LIMIT = STUCK
SOON = RunOptions(timeout_in_ms=100)


@pytest.fixture
def sess() -> Iterator[Any]:
    with tf.Graph().as_default(), tf.Session() as made:
        yield made


def background(call: Callable[[], Any]) -> Future[Any]:
    made: Future[Any] = Future()

    def work() -> None:
        try:
            made.set_result(call())
        except BaseException as error:
            made.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return made


def waiting(sess: Any, call: Callable[[], Any]) -> Future[Any]:
    """Starts a call and returns when it waits in a queue of the session."""

    def standing() -> int:
        return sum(len(q._producers) + len(q._consumers) for q in sess._state.resources())

    before, made, end = standing(), background(call), time.monotonic() + LIMIT
    while standing() == before:
        assert time.monotonic() < end, "it did not wait"
        time.sleep(0.001)
    return made


# Building.


def test_operations_are_named_after_the_queue(sess):
    with tf.name_scope("in"):
        q = FIFOQueue(3, tf.float32, shapes=[()], name="q")
    made = [q.enqueue(1.0), q.enqueue_many([[1.0]]), q.close(), q.close(True)]
    tensors = [q.dequeue(), q.dequeue_many(2), q.dequeue_up_to(2), q.size(), q.is_closed()]
    assert q.name == "in/q"
    assert [(o.name, o.type) for o in [q.queue_ref.op, *made, *(t.op for t in tensors)]] == [
        ("in/q", "FIFOQueueV2"),
        ("q_enqueue", "QueueEnqueueV2"),
        ("q_EnqueueMany", "QueueEnqueueManyV2"),
        ("q_Close", "QueueCloseV2"),
        ("q_Close_1", "QueueCloseV2"),
        ("q_Dequeue", "QueueDequeueV2"),
        ("q_DequeueMany", "QueueDequeueManyV2"),
        ("q_DequeueUpTo", "QueueDequeueUpToV2"),
        ("q_Size", "QueueSizeV2"),
        ("q_Is_Closed", "QueueIsClosedV2"),
    ]
    assert [i.name for i in made[0].inputs] == ["in/q:0", "q_enqueue/component_0:0"]
    assert q.queue_ref.dtype is dt.resource


@pytest.mark.parametrize(
    ("make", "kind", "name"),
    [
        (lambda: FIFOQueue(3, tf.float32), "FIFOQueueV2", "fifo_queue"),
        (lambda: RandomShuffleQueue(3, 1, tf.float32), "RandomShuffleQueueV2", "random_shuffle_queue"),
        (lambda: PaddingFIFOQueue(3, tf.float32, [(None,)]), "PaddingFIFOQueueV2", "padding_fifo_queue"),
        (lambda: PriorityQueue(3, tf.float32), "PriorityQueueV2", "priority_queue"),
    ],
)
def test_every_kind_has_its_op_and_default_name(sess, make, kind, name):
    q = make()
    assert (q.queue_ref.op.type, q.name) == (kind, name)
    assert isinstance(q, QueueBase)


def test_outside_any_scope_queues_go_into_the_default_graph():
    tf.reset_default_graph()  # another test may have closed it for changes
    q = FIFOQueue(1, tf.float32, name="of_the_process")
    assert q.queue_ref.graph is tf.get_default_graph()
    assert q.dequeue().graph is tf.get_default_graph()


@pytest.mark.parametrize(
    ("shapes", "known"),
    [((2,), [(2,)]), ((), [()]), ([()], [()]), (TensorShape([2]), [(2,)]), ([2, 3], [(2, 3)]), (None, [None])],
)
def test_shapes_may_be_written_in_several_ways(sess, shapes, known):
    assert FIFOQueue(3, [tf.float32], shapes).shapes == [TensorShape(shape) for shape in known]


def test_static_shapes_of_what_is_taken_out(sess):
    q = FIFOQueue(3, [tf.float32, tf.int32], shapes=[(), (2,)], names=["a", "b"])
    n = tf.placeholder(tf.int32)
    shapes = [
        {key: tensor.shape for key, tensor in made.items()}
        for made in (q.dequeue(), q.dequeue_many(3), q.dequeue_many(n), q.dequeue_up_to(3))
    ]
    assert shapes == [
        {"a": (), "b": (2,)},
        {"a": (3,), "b": (3, 2)},
        {"a": (None,), "b": (None, 2)},
        {"a": (None,), "b": (None, 2)},
    ]
    assert FIFOQueue(3, tf.float32).dequeue_many(3).shape.rank is None
    assert PaddingFIFOQueue(3, tf.float32, [(None,)]).dequeue_many(2).shape == (2, None)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (
            lambda: FIFOQueue(3, ["float32", "int32"], [()]),
            ValueError,
            "Queue shapes must have the same length as dtypes",
        ),
        (lambda: FIFOQueue(3, ["float32"], [(None,)]), ValueError, "All shapes must be fully defined"),
        (lambda: FIFOQueue(3, ["float32"], names=["a", "b"]), ValueError, "List of names must have the same length"),
        (lambda: FIFOQueue(3, []), ValueError, "at least one dtype"),
        (lambda: FIFOQueue(3, None), TypeError, "None"),
        (lambda: FIFOQueue("x", "float32"), TypeError, "Expected int for argument 'capacity'"),
        (lambda: PaddingFIFOQueue(3, ["float32"], None), ValueError, "a list of shapes must be provided"),
        (lambda: PaddingFIFOQueue(3, ["float32"], [(), ()]), ValueError, "Shapes must be provided for all components"),
        (lambda: PriorityQueue(3, ["float32"], names=["a"]), ValueError, "List of names"),
        (lambda: QueueBase.from_list(0, []), TypeError, "A list of queues expected"),
        (lambda: QueueBase.from_list(0, ["q"]), TypeError, "A list of queues expected"),
        (
            lambda: QueueBase.from_list(0, [FIFOQueue(1, "float32"), FIFOQueue(1, "int32")]),
            TypeError,
            "Queues do not have matching component dtypes",
        ),
    ],
)
def test_queues_that_cannot_be_are_refused(sess, make, error, text):
    with pytest.raises(error, match=text):
        make()


@pytest.mark.parametrize(
    ("put", "error", "text"),
    [
        (lambda q: q.enqueue({"a": 1.0}), ValueError, "Keys in dictionary to enqueue do not match names of Queue"),
        (lambda q: q.enqueue([1.0, [1, 2]]), ValueError, "You must enqueue a dictionary in a Queue with names"),
        (lambda q: q.enqueue({"a": 1.0, "b": [1, 2, 3]}), ValueError, r"Shapes \(3,\) and \(2,\) are incompatible"),
        (lambda q: q.enqueue({"a": "x", "b": [1, 2]}), TypeError, "float32"),
        (lambda q: q.enqueue({"a": tf.constant(1), "b": [1, 2]}), TypeError, "requested dtype float32 for Tensor"),
        (lambda q: q.enqueue_many({"a": [1.0], "b": [[1, 2, 3]]}), ValueError, "incompatible"),
        (
            lambda q: q.enqueue_many({"a": [1.0, 2.0], "b": [[1, 2]]}),
            ValueError,
            "Dimensions 2 and 1 are not compatible",
        ),
        (lambda q: q.enqueue_many({"a": 1.0, "b": [[1, 2]]}), ValueError, "must have rank at least 1"),
        (lambda q: q.dequeue_many(-1), ValueError, "must be >= 0, but is -1"),
        (lambda q: q.dequeue_many(1.5), TypeError, "1.5"),
        (lambda q: q.dequeue_many(tf.placeholder(tf.float32)), TypeError, "int32"),
        (lambda q: q.close("perhaps"), TypeError, "cancel_pending_enqueues"),
    ],
)
def test_what_does_not_fit_is_refused_while_the_graph_is_built(sess, put, error, text):
    with pytest.raises(error, match=text):
        put(FIFOQueue(3, [tf.float32, tf.int32], shapes=[(), (2,)], names=["a", "b"]))


def test_elements_have_the_components_of_the_queue(sess):
    q = FIFOQueue(3, [tf.float32, tf.int32])
    for vals in (1.0, [1.0], [1.0, 2, 3]):
        with pytest.raises(ValueError, match=r"Wrong number of components in tuple\. Expected 2"):
            q.enqueue(vals)
    with pytest.raises(ValueError, match="Queue must have names to enqueue a dictionary"):
        q.enqueue({"a": 1.0})


# Running.


def test_elements_go_in_and_come_out(sess):
    q = FIFOQueue(3, [tf.float32, tf.string])
    sess.run(q.enqueue([1.5, "a"]))
    sess.run(q.enqueue(([1.0, 2.0], b"b")))  # shapes are not fixed
    assert sess.run(q.size()) == 2
    first, second = sess.run(q.dequeue()), sess.run(q.dequeue())
    assert (first, second[1]) == ([1.5, b"a"], b"b")
    np.testing.assert_array_equal(second[0], [1.0, 2.0])


def test_names_make_dictionaries(sess):
    q = FIFOQueue(3, [tf.float32, tf.int32], shapes=[(), ()], names=["a", "b"])
    sess.run(q.enqueue({"b": 1, "a": 2.0}))
    assert sess.run(q.dequeue()) == {"a": 2.0, "b": 1}


@pytest.mark.parametrize("dtype", sorted(dt.ALL, key=lambda d: d.name), ids=lambda d: d.name)
def test_every_dtype_passes_through_whole(sess, dtype):
    if dtype is dt.resource:
        pytest.skip("handles are not put into queues")
    values = np.array([b"a", b"bc"], object) if dtype is dt.string else np.array([0, 1]).astype(dtype.as_numpy_dtype)
    for q in (
        FIFOQueue(4, dtype, [()]),
        PaddingFIFOQueue(4, dtype, [()]),
        RandomShuffleQueue(4, 0, dtype, [()], seed=1),
    ):
        sess.run(q.enqueue_many([values]))
        made = sess.run(q.dequeue_many(2))
        assert set(made.tolist()) == set(values.tolist())
        assert made.dtype == values.dtype


def test_what_was_fed_is_not_changed_by_the_program_later(sess):
    q, x = FIFOQueue(3, tf.float32), tf.placeholder(tf.float32)
    fed = np.ones(3, np.float32)
    sess.run(q.enqueue(x), {x: fed})
    fed[:] = 7
    np.testing.assert_array_equal(sess.run(q.dequeue()), [1, 1, 1])


def test_rows_are_elements_and_elements_are_rows(sess):
    q = FIFOQueue(10, [tf.float32, tf.int64], shapes=[(2,), ()])
    sess.run(q.enqueue_many([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [1, 2, 3]]))
    pairs, numbers = sess.run(q.dequeue_many(2))
    np.testing.assert_array_equal(pairs, [[1, 2], [3, 4]])
    assert numbers.tolist() == [1, 2]
    assert sess.run(q.dequeue())[1] == 3


@pytest.mark.parametrize("n", [0, 1, 3])
def test_as_many_as_are_asked_for_at_run_time(sess, n):
    q, count = FIFOQueue(5, tf.float32, shapes=[(2,)]), tf.placeholder(tf.int32)
    sess.run(q.enqueue_many([np.ones((4, 2))]))
    assert sess.run(q.dequeue_many(count), {count: n}).shape == (n, 2)


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (lambda q, x: (q.enqueue(x), [1.0]), r"Shape mismatch in tuple component 0\. Expected \[\], got \[1\]"),
        (lambda q, x: (q.enqueue_many(x), [[1.0]]), r"Expected \[1\], got \[1,1\]"),
        (lambda q, x: (q.enqueue_many(x), 1.0), r"Expected \[\?\], got \[\]"),
        (lambda q, x: (q.dequeue_many(tf.cast(x, tf.int32)), -1.0), "DequeueManyOp requested -1 < 0 elements"),
        (lambda q, x: (q.dequeue_up_to(tf.cast(x, tf.int32)), -1.0), "DequeueUpToOp requested -1 < 0 elements"),
    ],
)
def test_what_does_not_fit_is_refused_by_the_run(sess, run, text):
    x = tf.placeholder(tf.float32)
    fetch, fed = run(FIFOQueue(3, tf.float32, shapes=[()]), x)
    with pytest.raises(errors.InvalidArgumentError, match=text):
        sess.run(fetch, {x: fed})


def test_several_at_once_need_shapes(sess):
    text = "FIFOQueue's DequeueMany and DequeueUpTo require the components to have specified shapes."
    for take in (FIFOQueue(3, tf.float32).dequeue_many(1), FIFOQueue(3, tf.float32).dequeue_up_to(1)):
        with pytest.raises(errors.InvalidArgumentError, match=text):
            sess.run(take)


def test_a_full_queue_waits_for_a_consumer_and_an_empty_one_for_a_producer(sess):
    q, x = FIFOQueue(1, tf.float32), tf.placeholder(tf.float32)
    put, take = q.enqueue(x), q.dequeue()
    sess.run(put, {x: 1.0})
    producer = waiting(sess, lambda: sess.run(put, {x: 2.0}))
    assert sess.run(take) == 1.0
    producer.result(LIMIT)
    assert sess.run(take) == 2.0
    consumer = waiting(sess, lambda: sess.run(take))
    sess.run(put, {x: 3.0})
    assert consumer.result(LIMIT) == 3.0


def test_a_producer_and_a_consumer_may_be_in_one_run(sess):
    q = FIFOQueue(1, tf.float32)
    take, put = q.dequeue(), q.enqueue(2.0)
    assert background(lambda: sess.run([take, put])).result(LIMIT) == [2.0, None]


def test_closing_and_what_comes_after(sess):
    q = FIFOQueue(3, tf.float32, name="q")
    put, take, close = q.enqueue(1.0), q.dequeue(), q.close()
    sess.run(put)
    assert not sess.run(q.is_closed())
    sess.run(close)
    assert sess.run(q.is_closed())
    with pytest.raises(errors.CancelledError, match=r"FIFOQueue '_0_q' is closed\.") as caught:
        sess.run(put)
    assert "{{node q_enqueue}}" in str(caught.value)
    assert sess.run(take) == 1.0
    end = r"FIFOQueue '_0_q' is closed and has insufficient elements \(requested 1, current size 0\)"
    with pytest.raises(errors.OutOfRangeError, match=end):
        sess.run(take)
    with pytest.raises(errors.CancelledError, match="Queue '_0_q' is already closed"):
        sess.run(close)


def test_closing_waits_for_pending_enqueues_or_cancels_them(sess):
    q = FIFOQueue(1, tf.float32, shapes=[()])
    producer = waiting(sess, lambda: sess.run(q.enqueue_many([[1.0, 2.0]])))
    closing = waiting(sess, lambda: sess.run(q.close()))
    assert sess.run(q.dequeue_many(2)).tolist() == [1.0, 2.0]
    producer.result(LIMIT)
    closing.result(LIMIT)
    other = FIFOQueue(1, tf.float32, shapes=[()])
    producer = waiting(sess, lambda: sess.run(other.enqueue_many([[1.0, 2.0]])))
    sess.run(other.close(cancel_pending_enqueues=True))
    with pytest.raises(errors.CancelledError, match="Enqueue operation was cancelled"):
        producer.result(LIMIT)
    assert sess.run(other.dequeue_up_to(5)).tolist() == [1.0]


def test_the_end_of_the_session_ends_what_waits():
    with tf.Graph().as_default():
        sess, take = tf.Session(), FIFOQueue(1, tf.float32).dequeue()
        consumer = waiting(sess, lambda: sess.run(take))
        sess.close()
        with pytest.raises(errors.CancelledError, match="Dequeue operation was cancelled"):
            consumer.result(LIMIT)


def test_a_time_limit_ends_what_waits_and_nothing_is_lost(sess):
    q, x = FIFOQueue(5, tf.float32, shapes=[()]), tf.placeholder(tf.float32)
    take = q.dequeue_many(2)
    sess.run(q.enqueue(1.0))
    with pytest.raises(errors.DeadlineExceededError):
        sess.run(take, options=SOON)
    sess.run(q.enqueue(x), {x: 2.0})
    assert sess.run(take).tolist() == [1.0, 2.0]


def test_each_session_has_queues_of_its_own():
    with tf.Graph().as_default():
        q = FIFOQueue(3, tf.float32)
        with tf.Session() as first, tf.Session() as second:
            first.run(q.enqueue(1.0))
            assert (first.run(q.size()), second.run(q.size())) == (1, 0)


def test_a_shared_name_is_one_queue(sess):
    a = FIFOQueue(3, tf.float32, shared_name="both", name="a")
    b = FIFOQueue(3, tf.float32, shared_name="both", name="b")
    sess.run(a.enqueue(4.0))
    assert sess.run(b.dequeue()) == 4.0
    sess.run(b.close())
    with pytest.raises(errors.CancelledError, match=r"FIFOQueue 'both' is closed"):
        sess.run(a.enqueue(1.0))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: FIFOQueue(4, "float32", shared_name="s"), "has capacity 3 but requested capacity was 4"),
        (lambda: FIFOQueue(3, "int32", shared_name="s"), r"component_types \[float\] but requested"),
        (lambda: FIFOQueue(3, "float32", [()], shared_name="s"), "shapes"),
        (lambda: RandomShuffleQueue(3, 1, "float32", shared_name="s"), "has type FIFOQueue but requested"),
    ],
)
def test_a_shared_name_needs_the_same_kind_of_queue(sess, make, text):
    sess.run(FIFOQueue(3, tf.float32, shared_name="s").size())
    with pytest.raises(errors.InvalidArgumentError, match=f"Shared queue 's' .*{text}"):
        sess.run(make().size())


def test_one_of_a_list_chosen_at_run_time(sess):
    index = tf.placeholder(tf.int32)
    queues = [FIFOQueue(3, tf.float32, [()], name=f"q{i}") for i in range(2)]
    one = QueueBase.from_list(index, queues)
    assert one.shapes == [()]
    sess.run(one.enqueue(5.0), {index: 1})
    assert sess.run([q.size() for q in queues]) == [0, 1]
    assert sess.run(one.dequeue(), {index: 1}) == 5.0
    with pytest.raises(errors.InvalidArgumentError, match="no such queue"):
        sess.run(one.size(), {index: 2})


# The other kinds.


def test_a_shuffling_queue_gives_everything_once_in_an_order_that_its_seed_fixes(sess):
    q = RandomShuffleQueue(100, 0, tf.int32, shapes=[()], seed=1)
    put, take = q.enqueue_many([np.arange(100, dtype=np.int32)]), q.dequeue_many(100)
    orders = []
    for _ in range(2):
        with tf.Session(graph=sess.graph) as other:
            other.run(put)
            orders.append(other.run(take).tolist())
    assert orders[0] == orders[1] != sorted(orders[0]) == list(range(100))


def test_a_shuffling_queue_keeps_some_back_until_it_is_closed(sess):
    q = RandomShuffleQueue(10, 3, tf.float32, shapes=[()])
    sess.run(q.enqueue_many([[1.0, 2.0, 3.0, 4.0, 5.0]]))
    assert sess.run(q.dequeue_many(2)).shape == (2,)
    with pytest.raises(errors.DeadlineExceededError):
        sess.run(q.dequeue(), options=SOON)
    sess.run(q.close())
    assert sess.run(q.dequeue_up_to(5)).shape == (3,)


def test_a_shuffling_queue_without_choice_fails_when_it_is_used(sess):
    with pytest.raises(errors.InvalidArgumentError, match="min_after_dequeue 5 must be < capacity 2"):
        sess.run(RandomShuffleQueue(2, 5, tf.float32).size())


def test_a_padding_queue_fills_up_with_zeros(sess):
    q, x = PaddingFIFOQueue(10, [tf.float32], [(None,)]), tf.placeholder(tf.float32)
    for size in (1, 3, 2):
        sess.run(q.enqueue(x), {x: np.full(size, size)})
    np.testing.assert_array_equal(sess.run(q.dequeue_many(2)), [[1, 0, 0], [3, 3, 3]])
    np.testing.assert_array_equal(sess.run(q.dequeue()), [2, 2])
    with pytest.raises(errors.InvalidArgumentError, match=r"Expected \[\?\], got \[\]"):
        sess.run(q.enqueue(x), {x: 1.0})


def test_a_padding_queue_fills_strings_up_with_empty_ones(sess):
    q = PaddingFIFOQueue(10, [tf.string, tf.int64], [(None, 2), ()])
    sess.run(q.enqueue([[["a", "b"]], 1]))
    sess.run(q.enqueue([[["a", "b"], ["c", "d"]], 2]))
    texts, numbers = sess.run(q.dequeue_many(2))
    assert texts.tolist() == [[[b"a", b"b"], [b"", b""]], [[b"a", b"b"], [b"c", b"d"]]]
    assert numbers.tolist() == [1, 2]


def test_a_priority_queue_gives_the_least_first(sess):
    q = PriorityQueue(10, [tf.string], shapes=[()])
    sess.run(q.enqueue_many([[3, 1, 2, 1], ["c", "a", "b", "a2"]]))
    priorities, texts = sess.run(q.dequeue_many(4))
    assert (priorities.tolist(), texts.tolist()) == ([1, 1, 2, 3], [b"a", b"a2", b"b", b"c"])
    assert q.dtypes == [tf.int64, tf.string]


# Where they are.


def test_queues_and_their_operations_are_on_the_cpu():
    with tf.Graph().as_default(), tf.Session(config=ConfigProto(allow_soft_placement=True)) as sess:
        with tf.device("/gpu:1"):
            x = tf.constant([1.0, 2.0]) * 2.0
            queues = [FIFOQueue(3, tf.float32, [(2,)]), RandomShuffleQueue(3, 0, tf.float32, [(2,)])]
            put = [q.enqueue(x) for q in queues]
            take = [q.dequeue() for q in queues]
            y = take[0] + 1.0
        sess.run(put)
        np.testing.assert_array_equal(sess.run(y), [3.0, 5.0])
        where = sess.placement().device_of
        assert {where(op).type for op in (*put, *(q.queue_ref.op for q in queues), *(t.op for t in take))} == {"CPU"}
        assert where(y.op).short_name == where(x.op).short_name == "GPU:1"


def test_a_fifo_queue_asks_for_the_cpu_itself(sess):
    with tf.device("/gpu:0"):
        q = FIFOQueue(3, tf.float32)
        put = q.enqueue(1.0)
    assert q.queue_ref.device == "/device:CPU:0"
    sess.run(put)
    assert sess.run(q.size()) == 1


def test_queues_work_in_branches(sess):
    q, keep = FIFOQueue(3, tf.float32), tf.placeholder(tf.bool, [])
    x = tf.placeholder_with_default(5.0, [])
    maybe = tf.cond(keep, lambda: q.enqueue(x), tf.no_op)
    sess.run(maybe, {keep: False})
    assert sess.run(q.size()) == 0
    sess.run(maybe, {keep: True})
    assert sess.run(q.dequeue()) == 5.0


# Eager code.


def test_in_eager_code_methods_act_at_once():
    q = eager.FIFOQueue(3, [dt.float32, dt.string], shapes=[(2,), ()])
    assert q.enqueue(([1.0, 2.0], "a")) is None
    q.enqueue_many(([[3.0, 4.0], [5.0, 6.0]], ["b", "c"]))
    assert q.size().numpy() == 3
    numbers, texts = q.dequeue_many(2)
    assert (numbers.numpy().tolist(), texts.numpy().tolist()) == ([[1, 2], [3, 4]], [b"a", b"b"])
    q.close()
    assert q.is_closed().numpy()
    assert q.dequeue()[1].numpy() == b"c"
    with pytest.raises(errors.OutOfRangeError, match="'fifo_queue' is closed and has insufficient elements"):
        q.dequeue()


def test_a_queue_of_eager_code_can_be_used_by_a_graph():
    q = eager.FIFOQueue(3, dt.float32, shapes=[()])
    q.enqueue(1.0)
    with tf.Graph().as_default(), tf.Session() as sess:
        sess.run(q.enqueue(2.0))
        assert sess.run(q.dequeue()) == 1.0
    assert q.dequeue().numpy() == 2.0


def test_a_queue_of_eager_code_keeps_no_graph_alive():
    q = eager.FIFOQueue(3, dt.float32, shapes=[()])
    graph = tf.Graph()
    with graph.as_default():
        assert q.size().op.inputs[0] is q.size().op.inputs[0]
    left = weakref.ref(graph)
    del graph
    gc.collect()
    assert left() is None


def test_one_of_a_list_in_eager_code():
    queues = [eager.FIFOQueue(3, dt.float32), eager.FIFOQueue(3, dt.float32)]
    eager.QueueBase.from_list(1, queues).enqueue(1.0)
    assert [int(q.size()) for q in queues] == [0, 1]
    for index in (2, -1):
        with pytest.raises(errors.InvalidArgumentError, match="there is no such queue in the list"):
            eager.QueueBase.from_list(index, queues)


@pytest.mark.parametrize("shapes", [[], (), TensorShape([]), [[]], [()]])
def test_an_empty_list_is_the_shape_of_a_scalar(shapes):
    q = eager.FIFOQueue(3, dt.float32, shapes=shapes)
    q.enqueue_many([[1.0, 2.0]])
    assert q.dequeue_many(2).numpy().tolist() == [1.0, 2.0]


def test_many_threads_on_one_session_lose_nothing(sess):
    q, x = FIFOQueue(4, tf.int32, shapes=[()]), tf.placeholder(tf.int32, [None])
    put, take, close = q.enqueue_many([x]), q.dequeue_up_to(3), q.close()

    def take_all() -> list[int]:
        taken: list[int] = []
        while True:
            try:
                taken += sess.run(take).tolist()
            except errors.OutOfRangeError:
                return taken

    producers = [background(lambda k=k: sess.run(put, {x: range(k * 50, k * 50 + 50)})) for k in range(3)]
    consumers = [background(take_all) for _ in range(3)]
    for producer in producers:
        producer.result(LIMIT)
    sess.run(close)
    assert sorted(n for consumer in consumers for n in consumer.result(LIMIT)) == list(range(150))
