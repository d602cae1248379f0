"""Variables in parts: how they are cut, what they hold, how they are saved. TensorFlow's numbers."""

from __future__ import annotations

import numpy as np
import pytest

import situs.compat.v1 as tf


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


WHOLE = np.arange(20, dtype=np.float32).reshape(5, 4)


@pytest.mark.parametrize(
    ("partitioner", "expected"),
    [
        (tf.fixed_size_partitioner(5), [4, 1, 1, 1]),
        (tf.fixed_size_partitioner(3, axis=2), [1, 1, 3, 1]),
        (tf.variable_axis_size_partitioner(131072), [1, 1, 1, 1]),
        (tf.variable_axis_size_partitioner(65536, axis=1), [1, 1, 1, 1]),
        (tf.variable_axis_size_partitioner(32768, axis=2), [1, 1, 2, 1]),
        (tf.variable_axis_size_partitioner(2048, axis=3), [1, 1, 1, 32]),
        (tf.variable_axis_size_partitioner(1024, axis=3, max_shards=4), [1, 1, 1, 4]),
        (tf.min_max_variable_partitioner(max_partitions=2, axis=1, min_slice_size=1 << 10), [1, 2, 1, 1]),
        (tf.min_max_variable_partitioner(max_partitions=100, axis=3, min_slice_size=8 << 10), [1, 1, 1, 8]),
        (tf.min_max_variable_partitioner(), [1, 1, 1, 1]),
    ],
)
def test_partitioners_say_how_to_cut(partitioner, expected):
    assert list(partitioner(shape=tf.TensorShape([4, 8, 16, 32]), dtype=tf.float32)) == expected


@pytest.mark.parametrize("axis", [0, 1])
def test_a_variable_in_parts_is_the_whole(axis):
    with tf.variable_scope("root", partitioner=tf.fixed_size_partitioner(2, axis=axis)):
        w = tf.get_variable("w", initializer=WHOLE)
        scalar = tf.get_variable("scalar", [])
    assert scalar.name == "root/scalar:0"
    assert isinstance(w, tf.PartitionedVariable)
    assert (w.name, w.dtype, w.shape.as_list()) == ("root/w", tf.float32, [5, 4])
    assert [part.name for part in w] == ["root/w/part_0:0", "root/w/part_1:0"]
    assert [part.shape.as_list() for part in w] == ([[3, 4], [2, 4]] if axis == 0 else [[5, 2], [5, 2]])
    assert len([v for v in tf.trainable_variables() if v.name.startswith("root/w")]) == 2
    joined, sums, product = w.as_tensor(), w + 1.0, tf.matmul(tf.ones([1, 5]), w)
    assert joined.name == "root/w:0"
    change = w.assign_add(np.ones([5, 4], np.float32))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert np.array_equal(sess.run(joined), WHOLE)
        assert np.array_equal(sess.run(sums), WHOLE + 1)
        assert np.array_equal(sess.run(product), WHOLE.sum(axis=0, keepdims=True))
        sess.run(change)
        assert np.array_equal(sess.run(joined), WHOLE + 1)


def test_parts_are_trained():
    w = tf.get_variable("w", initializer=WHOLE, partitioner=tf.fixed_size_partitioner(2))
    step = tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(tf.convert_to_tensor(w) ** 2))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(step)
        assert np.array_equal(sess.run(w.as_tensor()), np.zeros_like(WHOLE))


def test_parts_are_shared():
    cut = tf.fixed_size_partitioner
    with tf.variable_scope("s", partitioner=cut(2)):
        w = tf.get_variable("w", [5, 4])
        with pytest.raises(ValueError, match="already exists"):
            tf.get_variable("w", [5, 4])
    with tf.variable_scope("s", reuse=True):
        assert tf.get_variable("w") is w
        assert tf.get_variable("w", [5, 4], partitioner=cut(2)) is w
        with pytest.raises(ValueError, match=r"specified partitions .* and found partitions"):
            tf.get_variable("w", [5, 4], partitioner=cut(3))


@pytest.mark.parametrize("saved", [1, 2, 3])
@pytest.mark.parametrize("restored", [1, 2, 5])
def test_parts_are_saved_as_the_whole(tmp_path, saved, restored):
    def build(count, value):
        cut = None if count == 1 else tf.fixed_size_partitioner(count)
        return tf.get_variable("w", initializer=value, partitioner=cut)

    build(saved, WHOLE)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(sess, str(tmp_path / "model"))
    assert tf.train.list_variables(path) == [("w", [5, 4])]
    with tf.Graph().as_default(), tf.Session() as sess:
        w = build(restored, WHOLE * 0)
        tf.train.Saver().restore(sess, path)
        assert np.array_equal(sess.run(tf.convert_to_tensor(w)), WHOLE)
    with tf.Graph().as_default(), tf.Session() as sess:
        saver = tf.train.import_meta_graph(f"{path}.meta")
        saver.restore(sess, path)
        parts = [sess.run(variable) for variable in tf.global_variables()]
        assert np.array_equal(np.concatenate(parts), WHOLE)


def test_lists_of_parts():
    with tf.variable_scope("hi"):
        one = tf.create_partitioned_variables([5, 4], [1, 2], WHOLE)
        two = tf.create_partitioned_variables([13, 5], [3, 1], tf.zeros_initializer())
    assert [part.name for part in one] == ["hi/PartitionedVariable/part_0:0", "hi/PartitionedVariable/part_1:0"]
    assert two[0].name == "hi/PartitionedVariable_1/part_0:0"
    assert [part._save_slice_info.spec for part in two] == ["13 5 0,5:0,5", "13 5 5,4:0,5", "13 5 9,4:0,5"]
    for shape, slicing, message in (
        ([10], [1, 1], "rank"),
        ([10, 43], [1], "rank"),
        ([10, 43], [11, 1], "cannot be cut"),
        ([10, 43], [2, 2], "one dimension"),
        ([10, 43], [0, 1], "zero partitions"),
    ):
        with pytest.raises(ValueError, match=message):
            tf.create_partitioned_variables(shape, slicing, tf.zeros_initializer())
    with pytest.raises(ValueError, match="initializer has shape"):
        tf.create_partitioned_variables([5, 3], [1, 1], WHOLE)


def test_what_makes_no_whole_is_refused():
    part = tf.Variable(1.0)
    with pytest.raises(TypeError):
        tf.PartitionedVariable("w", [1], tf.float32, part, [1])
    for parts, partitions, message in (([], [1], "empty"), ([part], [1], "save_slice_info"), ([part], [0], "positive")):
        with pytest.raises(ValueError, match=message):
            tf.PartitionedVariable("w", [1], tf.float32, parts, partitions)
    with pytest.raises(ValueError, match="callable"):
        tf.get_variable("x", [2], partitioner=3)
    with pytest.raises(ValueError, match="fully defined"):
        tf.get_variable("x", [None], partitioner=tf.fixed_size_partitioner(2))


def test_an_initializer_knows_which_part_it_makes():
    with tf.Session() as sess:
        cut = tf.fixed_size_partitioner(10)
        eye = tf.get_variable("eye", [10, 10], initializer=tf.initializers.identity(), partitioner=cut)
        default = tf.get_variable("default", [1000, 50], partitioner=cut)
        scaled = tf.get_variable("scaled", [1000, 50], initializer=tf.initializers.variance_scaling(), partitioner=cut)
        sess.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(sess.run(tf.identity(eye)), np.eye(10))
        # By the size of the whole, not of a part: sqrt(2 / (1000 + 50)) and sqrt(1 / 1000).
        np.testing.assert_allclose(np.std(sess.run(tf.identity(default))), 0.0436, rtol=0.05)
        np.testing.assert_allclose(np.std(sess.run(tf.identity(scaled))), 0.0316, rtol=0.05)


def test_a_function_of_the_program_that_asks_is_told_too():
    parts = []

    def made(shape, dtype=None, partition_info=None):
        parts.append((list(shape), list(partition_info.full_shape), list(partition_info.var_offset)))
        return tf.zeros(shape, dtype)

    tf.get_variable("w", [4, 2], initializer=made, partitioner=tf.fixed_size_partitioner(2))
    assert parts == [([2, 2], [4, 2], [0, 0]), ([2, 2], [4, 2], [2, 0])]


def test_reading_the_whole_waits_for_nothing():
    first = tf.constant(1.0)
    with tf.control_dependencies([first]):
        v = tf.get_variable("v", [4], partitioner=tf.fixed_size_partitioner(2))
        before = set(tf.get_default_graph().get_operations())
        v.as_tensor()
    added = [node for node in tf.get_default_graph().get_operations() if node not in before]
    assert added
    assert not any(node.control_inputs for node in added)
