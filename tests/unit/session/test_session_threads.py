"""Many threads run one session: nothing is lost, nothing is mixed up, while the graph grows."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import situs.compat.v1 as tf

THREADS = 16
SECONDS = 3.0


class Program:
    """A graph over all devices, and the things that a thread does with it; each checks its own result."""

    def __init__(self):
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.x = tf.placeholder(tf.float32, [None])
            self.n, self.p = tf.placeholder(tf.int32, []), tf.placeholder(tf.bool, [])
            self.variables = [self._variable(f"/gpu:{i}") for i in range(4)] + [self._variable("/cpu:0")]
            self.more = [v.assign_add(1.0) for v in self.variables]
            with tf.device("/gpu:1"):
                self.a = self.x * 2.0
            with tf.device("/gpu:2"):
                self.b = self.a + 1.0
            self.loop = tf.while_loop(lambda i, s: i < self.n, lambda i, s: (i + 1, s + i), (0, 0))
            first = self.variables[0]
            self.branch = tf.cond(self.p, lambda: first.assign_add(1.0), lambda: tf.constant(0.0))
        self.sess = tf.Session(graph=self.graph)
        with self.graph.as_default():
            self.sess.run(tf.global_variables_initializer())

    def _variable(self, device):
        with tf.device(device):
            return tf.Variable(0.0)

    def compute(self, rng, counts):
        given = rng.standard_normal(rng.integers(1, 50)).astype(np.float32)
        assert np.allclose(self.sess.run(self.b, {self.x: given}), given * 2 + 1, atol=1e-5)

    def count(self, rng, counts):
        number = rng.integers(5)
        self.sess.run(self.more[number].op)
        counts[number] += 1

    def count_and_compute(self, rng, counts):
        number, given = rng.integers(5), rng.standard_normal(3).astype(np.float32)
        made = self.sess.run({"n": self.more[number], "l": [self.a, (self.b,)]}, {self.x: given})
        counts[number] += 1
        assert made["n"] >= 1.0
        assert np.allclose(made["l"][1][0], given * 2 + 1, atol=1e-5)

    def go_round(self, rng, counts):
        turns = int(rng.integers(10))
        assert self.sess.run(self.loop, {self.n: turns}) == (turns, turns * (turns - 1) // 2)

    def choose(self, rng, counts):
        yes = bool(rng.integers(2))
        self.sess.run(self.branch, {self.p: yes})
        counts[0] += yes

    def feed_between(self, rng, counts):
        given = rng.standard_normal(4).astype(np.float32)
        assert np.array_equal(self.sess.run(self.a, {self.b: given, self.x: given}), given * 2)
        assert np.allclose(self.sess.run(self.b, {self.a: given}), given + 1)

    def grow(self, rng, counts):
        if len(self.graph) < 400:
            with self.graph.as_default():
                added = tf.add(self.b, float(rng.integers(100)), name="extra")
            value = added.op.inputs[1]
            made, plus = self.sess.run([added, value], {self.x: [1.0]})
            assert made == 3.0 + plus


def test_threads_share_a_session(fast):
    program = Program()
    actions = [getattr(program, name) for name in vars(Program) if not name.startswith("_")]
    counts, errors = np.zeros((THREADS, 5), int), []
    stop = time.monotonic() + SECONDS

    def work(number):
        rng = np.random.default_rng(number)
        try:
            while time.monotonic() < stop:
                actions[rng.integers(len(actions))](rng, counts[number])
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors[0]
    assert program.sess.run(program.variables) == counts.sum(axis=0).tolist()
    program.graph.verify()


def test_names_stay_unique_when_threads_build_one_graph():
    graph = tf.Graph()

    def build():
        with graph.as_default(), tf.name_scope("tower"):
            for _ in range(50):
                tf.add(tf.constant(1.0), 2.0)

    threads = [threading.Thread(target=build) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    names = [operation.name for operation in graph.get_operations()]
    assert len(set(names)) == len(names) == 8 * 50 * 3
    graph.verify()


@pytest.mark.parametrize("initially", [0.0, 5.0])
def test_a_first_run_in_many_threads_prepares_once(initially):
    with tf.Graph().as_default():
        c = tf.constant(initially) + 1.0
        sess, made, barrier = tf.Session(), [], threading.Barrier(8)

    def run():
        barrier.wait()
        made.append(sess.run(c))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [initially + 1.0] * 8
    assert len(sess._programs) == 1
