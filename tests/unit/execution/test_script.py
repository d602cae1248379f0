"""Runs of PyTorch's own functions as one TorchScript function."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import situs.compat.v1 as tf
from situs._src.runtime.run.program import SCRIPTED_AFTER
from situs._src.runtime.run.torchscript import SHORTEST, scripted


@pytest.fixture(autouse=True)
def _graph(fast):
    with tf.Graph().as_default(), tf.device("/cpu:0"):
        yield


def chain(x, count):
    for _ in range(count):
        x = tf.tanh(x)
    return x


def program_of(session, *fetches):
    return next(p.program for p in session._prepared.values() if p.fetches.tensors == list(fetches))


def planned(*fetches):
    session = tf.Session()
    return session, session._program(session_fetches(session, fetches), []).plan


def session_fetches(session, fetches):
    from situs._src.runtime.session.fetches import Fetches

    return Fetches(session.graph, list(fetches))


def test_a_long_enough_run_becomes_one_call():
    _, plan = planned(chain(tf.random_normal([3]), SHORTEST))
    assert len(scripted(plan).calls) == len(plan.calls) - SHORTEST + 1


def test_a_short_run_stays_as_it_is():
    _, plan = planned(chain(tf.random_normal([3]), SHORTEST - 1))
    assert scripted(plan) is plan


def test_a_torch_without_torchscript_will_do(monkeypatch):
    monkeypatch.delattr(torch._C, "CompilationUnit")
    x = tf.placeholder(tf.float32, [3])
    y = chain(x, SHORTEST)
    session, plan = planned(chain(tf.random_normal([3]), SHORTEST))
    assert scripted(plan) is plan
    given = np.array([1, 2, 3], np.float32)
    expected = given
    for _ in range(SHORTEST):
        expected = np.tanh(expected)
    for _ in range(SCRIPTED_AFTER + 2):
        np.testing.assert_allclose(session.run(y, {x: given}), expected, rtol=1e-5)


def test_other_calls_part_the_runs():
    first = chain(tf.random_normal([3]), SHORTEST)
    _, plan = planned(chain(tf.cumsum(first), SHORTEST))
    names = [call.node.type if call.node else "run" for call in scripted(plan).calls]
    assert names == ["RandomStandardNormal", "run", "Cumsum", "run"]


def test_values_needed_later_come_out_of_the_run():
    x = tf.placeholder(tf.float32, [2])
    middle = chain(x, SHORTEST)
    last = chain(middle, SHORTEST)
    with tf.Session() as session:
        for _ in range(SCRIPTED_AFTER + 3):
            made = session.run([middle, last], {x: [0.5, 1.0]})
        assert len(scripted(program_of(session, middle, last).plan).calls) == 1
    expected = torch.tensor([0.5, 1.0])
    for _ in range(SHORTEST):
        expected = torch.tanh(expected)
    np.testing.assert_allclose(made[0], expected)
    for _ in range(SHORTEST):
        expected = torch.tanh(expected)
    np.testing.assert_allclose(made[1], expected)


def test_constants_come_in_from_outside():
    x = tf.placeholder(tf.float32, [2])
    h = x
    for number in range(20):
        h = h * 0.5 + float(number)
    with tf.Session() as session:
        results = [session.run(h, {x: [1.0, 2.0]}).tolist() for _ in range(SCRIPTED_AFTER + 5)]
    assert all(result == results[0] for result in results)
    expected = np.array([1.0, 2.0], np.float32)
    for number in range(20):
        expected = expected * np.float32(0.5) + np.float32(number)
    np.testing.assert_allclose(results[0], expected, rtol=1e-6)


def test_a_failure_in_a_run_names_its_operation():
    x = tf.placeholder(tf.float32, [None, None])
    h = x
    for _ in range(6):
        h = tf.matmul(h, x)
    h = tf.add(h, tf.constant([1.0, 2.0, 3.0]), name="culprit")
    with tf.Session() as session:
        for _ in range(SCRIPTED_AFTER + 3):
            session.run(h, {x: np.eye(3)})
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Incompatible shapes.*\n.*culprit"):
            session.run(h, {x: np.eye(2)})
        assert session.run(h, {x: np.eye(3)}).shape == (3, 3)


def test_the_thread_keeps_its_own_setting_of_torchscript():
    x = tf.placeholder(tf.float32, [2])
    h = chain(x, 8)
    with tf.Session() as session:
        for _ in range(SCRIPTED_AFTER + 3):
            session.run(h, {x: [1.0, 2.0]})
    assert torch._C._get_graph_executor_optimize()


@pytest.mark.parametrize(("function", "of_torch"), [(tf.tanh, torch.tanh), (tf.sigmoid, torch.sigmoid)])
def test_gradients_of_a_chain_are_one_run(function, of_torch):
    x = tf.placeholder(tf.float64, [2])
    h = x
    for _ in range(SHORTEST):
        h = function(h * 1.5)
    (gradient,) = tf.gradients(h, x)
    with tf.Session() as session:
        for _ in range(SCRIPTED_AFTER + 3):
            found = session.run(gradient, {x: [0.5, -1.0]})
        names = [call.node.type if call.node else "run" for call in scripted(program_of(session, gradient).plan).calls]
    assert len(names) < 10
    given = torch.tensor([0.5, -1.0], dtype=torch.float64, requires_grad=True)
    h = given
    for _ in range(SHORTEST):
        h = of_torch(h * 1.5)
    h.sum().backward()
    np.testing.assert_allclose(found, given.grad, rtol=1e-10)
