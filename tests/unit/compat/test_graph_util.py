"""Frozen graphs: parts of graphs, and variables that become constants."""

from __future__ import annotations

import numpy as np
import pytest

import situs.compat.v1 as tf


@pytest.fixture
def network():
    """A small network with what trains it, in a session whose variables have been changed."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        w = tf.get_variable("w", initializer=[[1.0], [2.0]])
        steps = tf.get_variable("steps", initializer=np.int64(0))
        names = tf.get_variable("names", initializer=["a", "b"])
        y = tf.matmul(x, w, name="y")
        tf.gather(names, tf.cast(y[0, 0], tf.int32), name="word")
        with tf.control_dependencies([steps.assign_add(1)]):
            tf.identity(y, name="counted")
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y), name="train")
        session.run(tf.global_variables_initializer())
        session.run(w.assign([[0.5], [0.25]]))
        yield graph.as_graph_def(), session


def test_a_part_of_a_graph_is_what_its_nodes_need_in_order(network):
    content, _ = network
    made = tf.graph_util.extract_sub_graph(content, ["y"])
    names = [node.name for node in made.node]
    assert set(names) == {"x", "w", "w/read", "y"}
    assert names == [node.name for node in content.node if node.name in names]
    counted = tf.graph_util.extract_sub_graph(content, ["counted"])
    assert "steps" in [node.name for node in counted.node]  # by a control input


def test_variables_become_constants_with_the_values_of_the_session(network):
    content, session = network
    frozen = tf.graph_util.convert_variables_to_constants(session, content, ["y", "word"])
    assert "Variable" not in {node.op for node in frozen.node}
    with tf.Graph().as_default(), tf.Session() as other:
        y, word = tf.graph_util.import_graph_def(frozen, return_elements=["y:0", "word:0"], name="in")
        found = other.run([y, word], {"in/x:0": [[2.0, 0.0]]})
        assert found[0].tolist() == [[1.0]]
        assert found[1] == b"b"
        assert y.name == "in/y:0"
        assert tf.get_default_graph().get_tensor_by_name("in/w:0").dtype is tf.float32
        assert not tf.global_variables()


def test_some_variables_can_be_left_as_they_are(network):
    content, session = network
    convert = tf.graph_util.convert_variables_to_constants
    kept = convert(session, content, ["y", "word"], variable_names_blacklist=["w"])
    assert {node.name: node.op for node in kept.node if node.name in ("w", "names")} == {
        "w": "Variable",
        "names": "Const",
    }
    only = convert(session, content, ["y", "word"], variable_names_whitelist=["w"])
    assert {node.name: node.op for node in only.node if node.name in ("w", "names")} == {
        "w": "Const",
        "names": "Variable",
    }


def test_what_is_not_there_or_changes_variables_is_refused(network):
    content, session = network
    with pytest.raises(ValueError, match="not in graph"):
        tf.graph_util.extract_sub_graph(content, ["y:0"])
    with pytest.raises(TypeError, match="list of names"):
        tf.graph_util.extract_sub_graph(content, "y")
    with pytest.raises(TypeError, match="GraphDef"):
        tf.graph_util.extract_sub_graph("y", ["y"])
    with pytest.raises(ValueError, match="changes a variable"):
        tf.graph_util.convert_variables_to_constants(session, content, ["train"])
