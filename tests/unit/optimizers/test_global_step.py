"""The global step: found, made, and checked."""

from __future__ import annotations

import pytest

import situs as tf
import situs.compat.v1 as tf1
from situs._src.v1.optimizers.global_step import (
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)
from situs.errors import DTypeError


@pytest.fixture
def graph():
    with tf1.Graph().as_default() as made:
        yield made


def test_a_graph_has_one_global_step(graph):
    assert get_global_step() is None
    step = create_global_step()
    assert (step.name, step.dtype, step.trainable) == ("global_step:0", tf.int64, False)
    assert get_global_step() is step
    assert get_or_create_global_step() is step
    assert graph.get_collection(tf1.GraphKeys.GLOBAL_STEP) == [step]
    with pytest.raises(ValueError, match='"global_step" already exists'):
        create_global_step()


def test_it_is_found_by_its_name(graph):
    step = tf1.Variable(5, name="global_step", trainable=False)
    assert get_global_step() is step
    with tf1.Session() as session:
        session.run(step.initializer)
        assert global_step(session, step) == 5


def test_it_is_made_in_the_graph_that_is_given(graph):
    other = tf1.Graph()
    with tf1.name_scope("inside"), tf1.device("/cpu:0"):
        step = create_global_step(other)
    assert step.graph is other
    assert step.name == "global_step:0"
    assert get_global_step() is None
    assert get_global_step(other) is step


def test_more_than_one_is_none(graph, caplog):
    for name in ("a", "b"):
        graph.add_to_collection(tf1.GraphKeys.GLOBAL_STEP, tf1.Variable(0, name=name))
    assert get_global_step() is None
    assert "Multiple tensors in global_step collection" in caplog.text


@pytest.mark.parametrize(("value", "text"), [(1.0, "integer type: float32"), ([1, 2], "not scalar")])
def test_a_global_step_counts(graph, value, text):
    with pytest.raises(TypeError, match=text):
        assert_global_step(tf1.Variable(value))
    tf1.Variable(value, name="global_step")
    with pytest.raises(TypeError, match=text):
        get_global_step()


def test_what_is_no_tensor_is_no_global_step():
    with pytest.raises(DTypeError, match="must be a Variable or Tensor"):
        assert_global_step("step")


def test_eager_code_keeps_what_it_makes(run_python):
    program = """
import situs as tf
from situs._src.v1.optimizers.global_step import create_global_step, get_global_step, global_step
step = create_global_step()
step.assign_add(3)
print(type(step).__name__, step.name, step.dtype.name, global_step(None, step), get_global_step())
"""
    assert run_python(program).strip() == "Variable global_step:0 int64 3 None"
