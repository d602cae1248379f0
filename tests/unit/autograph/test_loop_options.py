"""``tf.autograph.experimental.set_loop_options``. The figures are TensorFlow 2.21's."""

from __future__ import annotations

import pytest

import situs as tf

set_loop_options = tf.autograph.experimental.set_loop_options


@pytest.fixture
def grown():
    @tf.function
    def grown(n):
        v = tf.zeros([0])
        for i in tf.range(n):
            set_loop_options(shape_invariants=[(v, tf.TensorShape([None]))])
            v = tf.concat([v, [tf.cast(i, tf.float32)]], 0)
        return v

    return grown


def test_a_tensor_that_grows(grown):
    assert grown(tf.constant(3)).numpy().tolist() == [0.0, 1.0, 2.0]
    assert grown(tf.constant(0)).numpy().tolist() == []


def test_a_tensor_that_grows_in_a_while_loop():
    @tf.function
    def doubled(n):
        v = tf.ones([1, 2])
        while tf.shape(v)[0] < n:
            set_loop_options(shape_invariants=iter([(v, [None, 2])]), parallel_iterations=4, swap_memory=True)
            v = tf.concat([v, v], 0)
        return v

    assert doubled(tf.constant(5)).shape == [8, 2]


def test_without_it_the_shape_must_stay():
    @tf.function
    def grown(n):
        v = tf.zeros([0])
        for i in tf.range(n):
            v = tf.concat([v, [tf.cast(i, tf.float32)]], 0)
        return v

    with pytest.raises(ValueError, match=r"'v' has shape \(0,\) before the loop, but shape \(1,\).*set_loop_options"):
        grown(tf.constant(3))


def test_the_gradient_goes_through_a_tensor_that_grew():
    x = tf.Variable(2.0)

    @tf.function
    def slope(n):
        with tf.GradientTape() as tape:
            v = tf.zeros([0])
            for i in tf.range(n):
                set_loop_options(shape_invariants=[(v, tf.TensorShape([None]))])
                v = tf.concat([v, [x * tf.cast(i, tf.float32)]], 0)
            y = tf.reduce_sum(v * v)
        return tape.gradient(y, x)

    assert float(slope(tf.constant(4))) == 2 * 2.0 * (1 + 4 + 9)


@pytest.mark.parametrize(("n", "expected"), [(5, 2), (1, 1), (0, 0)])
def test_the_most_iterations(n, expected):
    @tf.function
    def counted(n):
        i = 0
        while i < n:
            set_loop_options(maximum_iterations=2)
            i += 1
        return i

    @tf.function
    def counted_for(n):
        i = 0
        for _ in tf.range(n):
            set_loop_options(maximum_iterations=2)
            i += 1
        return i

    assert int(counted(tf.constant(n))) == expected
    assert int(counted_for(tf.constant(n))) == expected


def test_a_shape_that_does_not_fit_at_the_start():
    @tf.function
    def wrong(n):
        v = tf.zeros([2])
        for _ in tf.range(n):
            set_loop_options(shape_invariants=[(v, tf.TensorShape([3]))])
            v = v + 1
        return v

    with pytest.raises(ValueError, match=r"shape \(2,\) before the loop, which does not conform with.*\(3,\)"):
        wrong(tf.constant(3))


def test_what_is_no_variable_of_the_loop():
    @tf.function
    def wrong(n):
        v, other = tf.zeros([2]), tf.zeros([2])
        for _ in tf.range(n):
            set_loop_options(shape_invariants=[(other, tf.TensorShape([None]))])
            v = v + other
        return v

    with pytest.raises(ValueError, match="no variable of the loop"):
        wrong(tf.constant(3))


def test_loops_inside_of_loops_have_their_own_options():
    @tf.function
    def nested(n):
        total = tf.zeros([0])
        for i in tf.range(n):
            set_loop_options(shape_invariants=[(total, [None])])
            row = tf.zeros([0])
            for j in tf.range(i):
                set_loop_options(shape_invariants=[(row, [None])])
                row = tf.concat([row, [tf.cast(j, tf.float32)]], 0)
            total = tf.concat([total, row], 0)
        return total

    assert nested(tf.constant(4)).numpy().tolist() == [0.0, 0.0, 1.0, 0.0, 1.0, 2.0]


def test_it_does_nothing_in_loops_of_python():
    turns = 0
    for _ in range(3):
        set_loop_options(maximum_iterations=1, shape_invariants=[(tf.zeros([2]), [None])])
        turns += 1
    assert turns == 3


@pytest.mark.parametrize("given", [3, [3], [(1, 2, 3)]])
def test_shape_invariants_are_a_list_of_pairs(given):
    @tf.function
    def wrong(n):
        v = tf.zeros([2])
        for _ in tf.range(n):
            set_loop_options(shape_invariants=given)
            v = v + 1
        return v

    with pytest.raises(ValueError, match="shape_invariants are"):
        wrong(tf.constant(3))


def test_a_loop_through_a_dataset_may_change_shapes():
    @tf.function
    def grown():
        v = tf.constant([1.0])
        for _ in tf.data.Dataset.range(3):
            v = tf.concat([v, v], 0)
        return v

    assert grown().numpy().tolist() == [1.0] * 8
