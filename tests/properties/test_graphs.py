"""Random graphs over all devices compute what NumPy computes, wherever they are cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import situs.compat.v1 as tf
from situs._src.ops.python_function import py_func

SIZE = 3
DEVICES = ["/cpu:0", "/gpu:0", "/gpu:1", "/gpu:2", "/gpu:3", None]

# name: number of inputs, the op, what NumPy does
OPS: dict[str, tuple[int, Callable[..., Any], Callable[..., Any]]] = {
    "add": (2, tf.add, np.add),
    "sub": (2, tf.subtract, np.subtract),
    "mul": (2, tf.multiply, np.multiply),
    "max": (2, tf.maximum, np.maximum),
    "neg": (1, tf.negative, np.negative),
    "tanh": (1, tf.tanh, np.tanh),
    "abs": (1, tf.abs, np.abs),
    "turn": (1, tf.transpose, np.transpose),
    "same": (1, tf.identity, lambda x: x),
    "matmul": (2, lambda x, y: tf.tanh(tf.matmul(x, y)), lambda x, y: np.tanh(x @ y)),
    "concat": (2, lambda x, y: tf.concat([x, y], 0)[1 : SIZE + 1], lambda x, y: np.concatenate([x, y])[1 : SIZE + 1]),
    "sum": (2, lambda x, y: tf.reduce_sum(tf.stack([x, y]), 0), np.add),
    "scale": (1, lambda x: x * 0.5, lambda x: x * 0.5),
}

Step = tuple[str, tuple[int, int], str | None]
steps = st.lists(
    st.tuples(
        st.sampled_from(sorted(OPS)), st.tuples(st.integers(0, 99), st.integers(0, 99)), st.sampled_from(DEVICES)
    ),
    min_size=1,
    max_size=20,
)
seeds = st.integers(0, 2**16)


def built(plan: list[Step], roots: list[Any]) -> list[Any]:
    """The tensors of a random graph, one for each step."""
    made = list(roots)
    for name, picks, device in plan:
        count, op, _ = OPS[name]
        with tf.device(device):
            made.append(op(*[made[pick % len(made)] for pick in picks[:count]]))
    return made


def computed(plan: list[Step], roots: list[Any], known: dict[int, Any]) -> list[Any]:
    """The same in NumPy; `known` holds values that are given in place of computed ones."""
    made = [known.get(number, root) for number, root in enumerate(roots)]
    for name, picks, _ in plan:
        count, _, truth = OPS[name]
        value = truth(*[made[pick % len(made)] for pick in picks[:count]])
        made.append(known.get(len(made), value))
    return made


def start(seed: int) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1, 1, (SIZE, SIZE)) for _ in range(3)]


def graph_of(plan: list[Step], first: list[Any]) -> tuple[Any, list[Any]]:
    """A placeholder, a constant and a variable, and what the steps make of them."""
    p, c = tf.placeholder(tf.float64, [SIZE, SIZE]), tf.constant(first[1])
    v = tf.Variable(first[2])
    return (p, v), built(plan, [p, c, v.value()])


def close(found: Any, expected: Any) -> bool:
    return np.allclose(found, expected, rtol=1e-6, atol=1e-9, equal_nan=True)


@given(steps, seeds)
def test_a_graph_computes_what_numpy_does(plan: list[Step], seed: int) -> None:
    first = start(seed)
    with np.errstate(all="ignore"), tf.Graph().as_default(), tf.Session() as sess:
        (p, v), made = graph_of(plan, first)
        sess.run(v.initializer)
        found = sess.run(made, {p: first[0]})
        expected = computed(plan, first, {})
        assert all(close(x, y) for x, y in zip(found, expected, strict=True))
        assert close(sess.run(made[-1], {p: first[0]}), expected[-1])


@given(steps, seeds, st.sets(st.integers(0, 22), max_size=4))
def test_feeding_any_tensor_is_computing_with_its_value(plan: list[Step], seed: int, cuts: set[int]) -> None:
    first = start(seed)
    with np.errstate(all="ignore"), tf.Graph().as_default(), tf.Session() as sess:
        (p, v), made = graph_of(plan, first)
        sess.run(v.initializer)
        rng = np.random.default_rng(seed + 1)
        known = {cut % len(made): rng.uniform(-1, 1, (SIZE, SIZE)) for cut in cuts}
        feed = {p: first[0], **{made[number]: value for number, value in known.items()}}
        expected = computed(plan, first, known)
        found = sess.run(made, feed)
        assert all(close(x, y) for x, y in zip(found, expected, strict=True))


@given(steps, seeds)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_many_runs_are_alike(fast: None, plan: list[Step], seed: int) -> None:
    """Programs that have run a few times are made quicker; the results stay the same."""
    first = start(seed)
    with np.errstate(all="ignore"), tf.Graph().as_default(), tf.Session() as sess:
        (p, v), made = graph_of(plan, first)
        sess.run(v.initializer)
        for turn in range(12):
            given = first[0] + turn
            assert close(sess.run(made[-1], {p: given}), computed(plan, [given, *first[1:]], {})[-1])


@given(steps, seeds)
@settings(max_examples=30)
def test_each_tensor_crosses_to_a_device_once(plan: list[Step], seed: int) -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        (p, _), made = graph_of(plan, start(seed))
        calls = sess._prepare(made, {p: None}).program.plan.calls
        crossings = [(call.copies, call.device) for call in calls if call.copies is not None]
        assert len(set(crossings)) == len(crossings)
        called = [call.node for call in calls if call.node is not None]
        assert len(set(called)) == len(called)
        sess.graph.verify()


# Variables: statements that wait for each other do what the same statements do in Python.

KINDS = ["read", "assign", "add", "snapshot", "python", "branch", "loop", "read twice"]
Statement = tuple[str, int, int, float, str | None]
statements = st.lists(
    st.tuples(
        st.sampled_from(KINDS),
        st.integers(0, 2),
        st.integers(0, 2),
        st.integers(-4, 4).map(float),
        st.sampled_from(DEVICES),
    ),
    min_size=1,
    max_size=10,
)


def in_graph(statement: Statement, v: list[Any]) -> Any:
    kind, i, j, c, _ = statement
    a, b = v[i], v[j]
    if kind == "read":
        return a + b * 0.5
    if kind == "assign":
        return tf.identity(a.assign(b + c))
    if kind == "add":
        return tf.identity(a.assign_add(c))
    if kind == "snapshot":
        old = a.read_value()
        with tf.control_dependencies([old]), tf.control_dependencies([a.assign(c)]):
            return old + a
    if kind == "python":
        with tf.device("/cpu:0"):
            return py_func(lambda x: x + 1.0, [a], tf.float64)
    if kind == "branch":
        return tf.cond(a > b, lambda: a.assign_sub(c) + b, lambda: b.assign(a * 0.5) - a)
    if kind == "loop":
        return tf.while_loop(lambda n, x: n < 2, lambda n, x: (n + 1, x + a.assign_add(b * 0.5)), (0, b))[1]
    first = a + b
    with tf.control_dependencies([first]), tf.control_dependencies([b.assign(c)]):
        return first - (a + b)


def in_python(statement: Statement, v: list[float]) -> float:
    kind, i, j, c, _ = statement
    if kind == "read":
        return v[i] + v[j] * 0.5
    if kind == "assign":
        v[i] = v[j] + c
        return v[i]
    if kind == "add":
        v[i] += c
        return v[i]
    if kind == "snapshot":
        old, v[i] = v[i], c
        return old + c
    if kind == "python":
        return v[i] + 1.0
    if kind == "branch":
        if v[i] > v[j]:
            v[i] -= c
            return v[i] + v[j]
        v[j] = v[i] * 0.5
        return v[j] - v[i]
    if kind == "loop":
        total = v[j]
        for _ in range(2):
            v[i] += v[j] * 0.5
            total += v[i]
        return total
    first = v[i] + v[j]
    v[j] = c
    return first - (v[i] + v[j])


def check_statements(plan: list[Statement], homes: list[str | None], runs: int, aside: bool) -> None:
    """Runs the statements; with `aside`, beside Python functions, so that calls are made on several threads."""
    with tf.Graph().as_default(), tf.Session() as sess:
        variables = []
        for number, home in enumerate(homes):
            with tf.device(home):
                variables.append(tf.Variable(float(number), dtype=tf.float64))
        made: list[Any] = []
        for statement in plan:
            with tf.control_dependencies(made[-1:]), tf.device(statement[-1]):
                made.append(in_graph(statement, variables))
        sess.run(tf.global_variables_initializer())
        others = [py_func(lambda: 1.0, [], tf.float64) for _ in range(2 if aside else 0)]
        values = [0.0, 1.0, 2.0]
        for _ in range(runs):
            expected = [in_python(statement, values) for statement in plan]
            assert np.allclose(sess.run(made + others), expected + [1.0] * len(others))
            assert np.allclose(sess.run(variables), values)


@given(statements, st.lists(st.sampled_from(DEVICES), min_size=3, max_size=3), st.booleans())
def test_statements_in_order_do_what_python_does(plan: list[Statement], homes: list[str | None], aside: bool) -> None:
    check_statements(plan, homes, 2, aside)


@given(statements, st.lists(st.sampled_from(DEVICES), min_size=3, max_size=3), st.booleans())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_they_do_so_again_and_again(fast: None, plan: list[Statement], homes: list[str | None], aside: bool) -> None:
    check_statements(plan, homes, 13, aside)
