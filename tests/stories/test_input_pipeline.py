"""An input pipeline of TensorFlow 1, from names of files to batches, as programs of its time are written.

Threads read "files" that a Python function makes up, take them apart, and fill a queue of examples; the program trains
on batches until two epochs are over.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import situs.compat.v1 as tf
from situs import errors
from situs._src.ops.python_function import py_func
from situs.compat.v1 import train
from situs.compat.v1.queue import FIFOQueue
from tests.conftest import STUCK

FILES = {b"a.txt": [1.0, 2.0, 3.0], b"b.txt": [4.0, 5.0, 6.0], b"c.txt": [7.0, 8.0, 9.0]}
LIMIT = STUCK


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def read(name: bytes) -> np.ndarray:
    if name not in FILES:
        raise FileNotFoundError(name.decode())
    return np.array(FILES[name], np.float32)


def pipeline(names: list[str], shuffled: bool = False):
    with tf.device("/cpu:0"), tf.name_scope("input"):
        queue = train.string_input_producer(names, num_epochs=2, shuffle=shuffled, seed=1)
        rows = py_func(read, [queue.dequeue()], tf.float32, name="read")
        rows.set_shape([3])
        if shuffled:
            return train.shuffle_batch([rows], 2, capacity=20, min_after_dequeue=4, enqueue_many=True, seed=1)
        return train.batch([rows], 2, enqueue_many=True, capacity=4)


def train_on(batch, sess):
    """The loop of a program: until the input ends, or a thread fails."""
    seen = []
    weight = tf.Variable(0.0, name="weight")
    step = weight.assign_add(tf.reduce_sum(batch))
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coord = train.Coordinator()
    threads = train.start_queue_runners(sess=sess, coord=coord)
    try:
        while not coord.should_stop():
            seen.append(sess.run([step, batch])[1].tolist())
    except errors.OutOfRangeError as error:
        coord.request_stop(error)
    finally:
        coord.request_stop()
    coord.join(threads, stop_grace_period_secs=LIMIT)
    return seen, sess.run(weight)


def test_two_epochs_in_order():
    with tf.Session() as sess:
        seen, weight = train_on(pipeline(sorted(name.decode() for name in FILES)), sess)
    flat = [number for rows in seen for number in rows]
    assert flat == list(range(1, 10)) * 2
    assert weight == 90.0


def test_two_epochs_shuffled():
    with tf.Session() as sess:
        seen, weight = train_on(pipeline(sorted(name.decode() for name in FILES), shuffled=True), sess)
    flat = [number for rows in seen for number in rows]
    assert sorted(flat) == sorted([*range(1, 10)] * 2) != flat
    assert weight == 90.0


def test_a_failing_reader_stops_the_program_and_says_why():
    with tf.Session() as sess, pytest.raises(errors.UnknownError, match=r"FileNotFoundError: missing\.txt") as caught:
        train_on(pipeline(["a.txt", "missing.txt"]), sess)
    assert "{{node input/read}}" in str(caught.value)


def test_threads_of_the_program_feed_a_queue_themselves():
    queue = FIFOQueue(4, [tf.float32, tf.int32], shapes=[(2,), ()])
    x, label = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.int32, [])
    put, close = queue.enqueue([x, label]), queue.close()
    images, labels = queue.dequeue_up_to(3)
    with tf.device("/gpu:0"):
        scores = tf.reduce_sum(images, axis=1) * 2.0
    coord, seen = train.Coordinator(), {}

    def produce(first: int) -> None:
        with coord.stop_on_exception():
            for number in range(first, first + 5):
                sess.run(put, {x: [number, number], label: number})

    def produce_all() -> None:
        producers = [threading.Thread(target=produce, args=(first,)) for first in (0, 5)]
        for producer in producers:
            producer.start()
        coord.join(producers, stop_grace_period_secs=LIMIT)
        sess.run(close)

    with tf.Session() as sess:
        everything = threading.Thread(target=produce_all, daemon=True)
        everything.start()
        with contextlib.suppress(errors.OutOfRangeError):
            while True:
                made, numbers = sess.run([scores, labels])
                seen.update(zip(numbers.tolist(), made.tolist(), strict=True))
        everything.join(LIMIT)
    assert seen == {number: number * 4.0 for number in range(10)}
