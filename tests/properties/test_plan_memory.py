"""Graphs whose results are written over inputs compute what they compute without that, and hold no more memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import situs.compat.v1 as tf
from situs._src.base.budget.ledger import accounts
from situs._src.ops.python_function import py_func
from situs._src.runtime.passes import reuse
from situs._src.runtime.run import threads
from situs._src.runtime.run.program import SCRIPTED_AFTER

SIZE = 3
ROW = np.linspace(-1, 1, SIZE)


def on_host(x: Any) -> Any:
    with tf.device("/cpu:0"):
        return py_func(lambda v: v, [x], tf.float64)


def made_in_a_branch(x: Any, y: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.abs(x * 2.0) - y, lambda: tf.tanh(tf.exp(y - 1.0) + x))


def taken_by_a_branch(x: Any, y: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: x, lambda: y)


def made_in_a_loop(x: Any) -> Any:
    """Of a loop that may not turn at all."""
    turns = tf.cast(tf.reduce_sum(x), tf.int32)
    return tf.while_loop(lambda n, v: n < turns, lambda n, v: (n + 1, tf.abs(tf.tanh(v) - 0.5)), (0, x))[1]


Ops = dict[str, tuple[int, Callable[..., Any]]]  # the number of inputs, and the op
ELEMENT_WISE: Ops = {
    "add": (2, tf.add),
    "sub": (2, tf.subtract),
    "max": (2, tf.maximum),
    "difference": (2, tf.math.squared_difference),
    "tanh": (1, tf.tanh),
    "abs": (1, tf.abs),
    "elu": (1, tf.nn.elu),
    "selu": (1, tf.nn.selu),
    "minus": (1, lambda x: 1.0 - x),
    "row": (1, lambda x: x * ROW),
    "bias": (1, lambda x: tf.nn.bias_add(x, ROW)),
    "clip": (1, lambda x: tf.clip_by_value(x, -0.5, 0.5)),
    "select": (2, lambda x, y: tf.where(x > y, x, y)),
    "sum of three": (2, lambda x, y: tf.add_n([x, tf.tanh(y), y])),
}
NEW: Ops = {  # that make memory of another kind
    "as float": (1, lambda x: tf.cast(tf.cast(x, tf.float32), tf.float64)),
    "matmul": (2, tf.matmul),
    "mean": (1, lambda x: x - tf.reduce_mean(x, 0, keepdims=True)),
    "softmax": (1, tf.nn.softmax),
    "concat": (2, lambda x, y: tf.concat([x, y], 0)[1 : SIZE + 1]),
}
VIEWS: Ops = {  # that return their input, or a view of it, or keep it
    "turn": (1, tf.transpose),
    "same": (1, tf.identity),
    "reshape": (1, lambda x: tf.reshape(x, [SIZE, SIZE])),
    "slice": (1, lambda x: x[:, ::-1]),
    "part": (1, lambda x: x[:SIZE]),
    "spread": (1, lambda x: tf.broadcast_to(x[:1], [SIZE, SIZE])),
    "python": (1, on_host),
    "branch": (2, made_in_a_branch),
    "taken": (2, taken_by_a_branch),
    "loop": (1, made_in_a_loop),
}
OPS = ELEMENT_WISE | NEW | VIEWS

Step = tuple[str, tuple[int, int], str]
HERE = "where the others are"
steps = st.lists(
    st.tuples(
        st.sampled_from(sorted(ELEMENT_WISE)) | st.sampled_from(sorted(NEW)) | st.sampled_from(sorted(VIEWS)),
        st.tuples(st.integers(0, 2), st.integers(0, 5)),  # how far back: what was made last is often read again
        st.just(HERE) | st.just(HERE) | st.sampled_from(["/cpu:0", "/gpu:0", "/gpu:1"]),
    ),
    min_size=3,
    max_size=24,
)
picks = st.lists(st.integers(0, 30), max_size=4)
seeds = st.integers(0, 2**16)
heights = st.sampled_from([SIZE, None])


class Built:
    """A random graph: a placeholder, a constant and a variable, and what the steps make of them."""

    def __init__(self, plan: list[Step], seed: int, height: int | None, assigned: int) -> None:
        rng = np.random.default_rng(seed)
        self.first = [rng.uniform(-1, 1, (SIZE, SIZE)) for _ in range(3)]
        self.fed = self.first[0].copy()
        self.x = tf.placeholder(tf.float64, [height, SIZE])
        self.constant = tf.constant(self.first[1])
        self.variable = tf.Variable(self.first[2])
        home = f"/{'cg'[seed % 2]}pu:0"
        with tf.device(home):
            self.other = tf.Variable(np.zeros([SIZE, SIZE]))
        self.made: list[Any] = [self.x, self.constant, self.variable.value()]
        for name, back, device in plan:
            count, op = OPS[name]
            with tf.device(home if device == HERE else device):
                self.made.append(op(*[self.made[-1 - each % len(self.made)] for each in back[:count]]))
            if len(self.made) == 4 + assigned % len(plan):
                self.kept = self.made[-1]
                self.assigned = self.other.assign(self.kept)

    def fetches(self, chosen: list[int]) -> list[Any]:
        """What nothing else is made of, so that everything is computed; and a few more."""
        ends = [tensor for tensor in self.made[3:] if not tensor.consumers()]
        return [self.made[pick % len(self.made)] for pick in chosen] + ends

    def check_roots(self, session: Any) -> None:
        """Nothing that outlives a run has changed."""
        np.testing.assert_array_equal(self.fed, self.first[0])
        np.testing.assert_array_equal(session.run([self.constant, self.variable]), self.first[1:])


@contextmanager
def graph(plan: list[Step], seed: int, height: int | None = SIZE, assigned: int = 0) -> Iterator[Built]:
    with np.errstate(all="ignore"), tf.Graph().as_default():
        yield Built(plan, seed, height, assigned)


@contextmanager
def session() -> Iterator[Any]:
    config = tf.ConfigProto(inter_op_parallelism_threads=3, use_per_session_threads=True, allow_soft_placement=True)
    with tf.Session(config=config) as made:
        made.run(tf.global_variables_initializer())
        yield made


def without_reuse(fetches: list[Any], feeds: dict[Any, Any]) -> list[Any]:
    with pytest.MonkeyPatch.context() as patch, session() as sess:
        patch.setattr(reuse, "overwrite", lambda *_: None)
        found: list[Any] = sess.run(fetches, feeds)
        return found


def check_same(found: list[Any], expected: list[Any]) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@given(steps, seeds, picks, heights)
@settings(max_examples=150)
def test_results_are_the_same_with_and_without_reuse(
    plan: list[Step], seed: int, chosen: list[int], height: int | None
) -> None:
    with graph(plan, seed, height) as built:
        fetches, feeds = built.fetches(chosen), {built.x: built.fed}
        expected = without_reuse(fetches, feeds)
        with session() as sess:
            first = sess.run(fetches, feeds)
            check_same(first, expected)
            check_same(sess.run(fetches, feeds), expected)
            check_same(first, expected)  # a later run leaves earlier results alone
            built.check_roots(sess)


@given(steps, seeds, picks)
@settings(max_examples=40)
def test_they_are_the_same_when_calls_run_side_by_side(plan: list[Step], seed: int, chosen: list[int]) -> None:
    with graph(plan, seed) as built, pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "HEAVY", -1)  # everything counts as slow
        fetches, feeds = built.fetches(chosen), {built.x: built.fed}
        expected = without_reuse(fetches, feeds)
        with session() as sess:
            for _ in range(5):
                check_same(sess.run(fetches, feeds), expected)
            built.check_roots(sess)


@given(steps, seeds, picks, heights)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_they_are_the_same_when_a_program_has_been_made_quicker(
    fast: None, plan: list[Step], seed: int, chosen: list[int], height: int | None
) -> None:
    with graph(plan, seed, height) as built:
        fetches, feeds = built.fetches(chosen), {built.x: built.fed}
        expected = without_reuse(fetches, feeds)
        with session() as sess:
            for _ in range(SCRIPTED_AFTER + 3):
                check_same(sess.run(fetches, feeds), expected)
            built.check_roots(sess)


@given(steps, seeds, picks, st.integers(0, 30))
@settings(max_examples=80)
def test_a_variable_keeps_what_it_was_assigned(plan: list[Step], seed: int, chosen: list[int], assigned: int) -> None:
    with graph(plan, seed, SIZE, assigned) as built:
        fetches, feeds = built.fetches(chosen), {built.x: built.fed}
        *expected, kept = without_reuse([*fetches, built.kept], feeds)
        with session() as sess:
            for _ in range(2):
                check_same(sess.run([*fetches, built.assigned.op], feeds)[:-1], expected)
                np.testing.assert_array_equal(sess.run(built.other), kept)


@given(steps, seeds, picks, st.sets(st.integers(0, 30), min_size=1, max_size=3))
@settings(max_examples=40)
def test_feeding_any_tensor_leaves_what_is_fed_alone(
    plan: list[Step], seed: int, chosen: list[int], cuts: set[int]
) -> None:
    with graph(plan, seed) as built:
        rng = np.random.default_rng(seed + 1)
        feeds = {built.x: built.fed}
        feeds |= {built.made[cut % len(built.made)]: rng.uniform(-1, 1, (SIZE, SIZE)) for cut in cuts}
        kept = {tensor: value.copy() for tensor, value in feeds.items()}
        fetches = built.fetches(chosen)
        expected = without_reuse(fetches, feeds)
        with session() as sess:
            check_same(sess.run(fetches, feeds), expected)
        for tensor, value in feeds.items():
            np.testing.assert_array_equal(value, kept[tensor])


# Memory, as the ledger of a virtual GPU counts it.


def peak(fetches: list[Any], feeds: dict[Any, Any]) -> int:
    """The most that a run holds on GPU:0 beside what is there before it."""
    account = accounts()[0]
    with session() as sess:
        account.reset_peak()
        before = account.usage().current
        sess.run([fetch.op for fetch in fetches], feeds)
        return account.usage().peak - before


@pytest.mark.virtual
@given(steps, seeds, picks)
@settings(max_examples=30)
def test_no_graph_holds_more_than_without_reuse(plan: list[Step], seed: int, chosen: list[int]) -> None:
    here = [(name, back, "/gpu:0") for name, back, _ in plan if name != "python"]
    with graph(here, seed) as built:
        fetches, feeds = built.fetches(chosen), {built.x: built.fed}
        found = peak(fetches, feeds)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reuse, "overwrite", lambda *_: None)
            assert found <= peak(fetches, feeds)


@pytest.mark.virtual
@given(st.lists(st.sampled_from(["tanh", "abs", "elu", "selu", "minus", "row", "bias", "clip"]), min_size=1))
def test_a_chain_of_element_wise_ops_holds_its_input_and_one_activation(names: list[str]) -> None:
    side = 64
    with tf.Graph().as_default(), tf.device("/gpu:0"):
        x = tf.placeholder(tf.float64, [side, SIZE])
        h = x
        for name in names:
            h = OPS[name][1](h)
        activation = side * SIZE * 8
        constants = 8 * (SIZE * len(names) + 2 * len(names))  # rows and bounds, at most
        assert peak([h], {x: np.ones([side, SIZE])}) <= 2 * activation + constants
