"""``tf.train.init_from_checkpoint``: variables that begin with what a checkpoint holds."""

from __future__ import annotations

import numpy as np
import pytest

import situs.compat.v1 as tf

A, B = np.arange(6.0, dtype="float32").reshape(3, 2), np.arange(12, dtype="float32").reshape(4, 3) * 0.5


@pytest.fixture
def saved(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("old/a", initializer=A)
        tf.get_variable("b", initializer=B)
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, str(tmp_path / "model"))
    return str(tmp_path)


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def begun(*variables):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run(tf.convert_to_tensor(variable)) for variable in variables]


@pytest.mark.parametrize("names", [{"old/": "new/in/"}, {"old/a": "new/in/a"}, [("old/", "new/in/")]])
def test_scopes_and_names(graph, saved, names):
    a, other = tf.get_variable("new/in/a", [3, 2]), tf.get_variable("other", initializer=7.0)
    tf.train.init_from_checkpoint(saved, names)
    found, unchanged = begun(a, other)
    assert np.array_equal(found, A)
    assert unchanged == 7


def test_the_root_variables_and_parts(graph, saved):
    a = tf.get_variable("old/a", [3, 2], tf.float64)
    b = tf.get_variable("b", [4, 3], partitioner=tf.fixed_size_partitioner(2))
    tf.train.init_from_checkpoint(saved, {"/": "/"})
    assert all(np.array_equal(x, y) for x, y in zip(begun(a, b), (A, B), strict=True))


def test_variables_themselves(graph, saved):
    variable = tf.Variable(tf.zeros([4, 3]), name="x")
    tf.train.init_from_checkpoint(saved, {"b": variable})
    with tf.Session() as session:
        assert np.array_equal(session.run(variable.initial_value), B)
        session.run(variable.initializer)
        assert np.array_equal(session.run(variable), B)


@pytest.mark.parametrize(
    ("names", "match"),
    [
        ({"zz": "c"}, '"zz" is not found in the checkpoint'),
        ({"old/a": "c"}, "doesn't match with shape"),
        ({"old/a": "c/d"}, "scope only name"),
        ({"old/": "/"}, "old/c .c in .* is not found"),
    ],
)
def test_what_does_not_fit_is_refused(graph, saved, names, match):
    tf.get_variable("c", [2])
    with pytest.raises(ValueError, match=match):
        tf.train.init_from_checkpoint(saved, names)
