"""``tf.TensorArray``. The figures and messages are TensorFlow 2.21's."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1
from situs._src.ops.tensor_array import TensorArray


def three(**options):
    """An array of three floats."""
    return TensorArray(tf.float32, size=3, **options)


def grown():
    """An array that grows."""
    return TensorArray(tf.float32, size=0, dynamic_size=True)


SAME = {
    "unstack": (lambda: three().unstack(tf.constant([1.0, 2.0, 3.0])).stack(), [1.0, 2.0, 3.0]),
    "read": (lambda: three().unstack(tf.constant([1.0, 2.0, 3.0])).read(1), 2.0),
    "what was not written is zero": (lambda: three().write(0, 1.0).write(2, 3.0).stack(), [1.0, 0.0, 3.0]),
    "rows": (lambda: three().write(1, [1.0, 2.0]).stack(), [[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]]),
    "grown": (lambda: grown().write(3, 1.0).stack(), [0.0, 0.0, 0.0, 1.0]),
    "written twice": (lambda: three().write(0, 1.0).write(0, 2.0).stack(), [2.0, 0.0, 0.0]),
    "size": (lambda: three().size(), 3),
    "size of what grew": (lambda: grown().write(4, 1.0).size(), 5),
    "gather": (lambda: three().unstack(tf.constant([1.0, 2.0, 3.0])).gather([2, 0]), [3.0, 1.0]),
    "scatter": (lambda: three().scatter([2, 0, 1], tf.constant([1.0, 2.0, 3.0])).stack(), [2.0, 3.0, 1.0]),
    "nothing": (lambda: TensorArray(tf.float32, size=0, element_shape=[2]).stack(), []),
    "never written": (lambda: three(element_shape=[]).read(0), 0.0),
    "concat": (lambda: three().unstack(tf.constant([[1.0], [2.0], [3.0]])).concat(), [1.0, 2.0, 3.0]),
    "strings": (lambda: TensorArray(tf.string, size=2).write(0, "a").write(1, "b").stack(), [b"a", b"b"]),
    "integers": (lambda: TensorArray(tf.int64, 2, element_shape=[]).write(1, 7).stack(), [0, 7]),
}


@pytest.mark.parametrize(("make", "expected"), SAME.values(), ids=SAME.keys())
def test_the_same_in_eager_code_in_functions_and_in_sessions(make, expected):
    assert make().numpy().tolist() == expected
    assert tf.function(make)().numpy().tolist() == expected
    with v1.Graph().as_default(), v1.Session() as session:
        assert np.asarray(session.run(make())).tolist() == expected


def test_pieces_of_different_lengths_in_eager_code():
    pieces = three(infer_shape=False).split(tf.constant([1.0, 2.0, 3.0, 4.0]), [1, 2, 1])
    assert pieces.concat().numpy().tolist() == [1.0, 2.0, 3.0, 4.0]
    assert pieces.read(1).numpy().tolist() == [2.0, 3.0]


def test_a_loop_of_autograph():
    @tf.function
    def squares(n):
        array = TensorArray(tf.float32, size=n)
        for i in tf.range(n):
            array = array.write(i, tf.cast(i, tf.float32) ** 2)
        return array.stack()

    assert squares(tf.constant(4)).numpy().tolist() == [0.0, 1.0, 4.0, 9.0]
    assert squares(tf.constant(6)).shape == [6]


def test_a_branch_of_autograph():
    @tf.function
    def even(n):
        array = TensorArray(tf.int32, size=0, dynamic_size=True)
        for i in tf.range(n):
            if i % 2 == 0:
                array = array.write(array.size(), i)
        return array.stack()

    assert even(tf.constant(7)).numpy().tolist() == [0, 2, 4, 6]


def test_reading_what_was_written_before_in_a_loop():
    @tf.function
    def fibonacci(n):
        array = TensorArray(tf.int32, size=n, element_shape=[], clear_after_read=False)
        array = array.write(0, 1).write(1, 1)
        for i in tf.range(2, n):
            array = array.write(i, array.read(i - 1) + array.read(i - 2))
        return array.stack()

    assert fibonacci(tf.constant(8)).numpy().tolist() == [1, 1, 2, 3, 5, 8, 13, 21]


@pytest.mark.parametrize("in_session", [False, True])
def test_while_loop(in_session):
    def build():
        def body(i, array, total):
            return i + 1, array.write(i, total), total + 2.0

        start = (tf.constant(0), TensorArray(tf.float32, size=4), tf.constant(1.0))
        _, array, _ = tf.while_loop(lambda i, *_: i < 4, body, start, maximum_iterations=10)
        return array.stack()

    if not in_session:
        assert build().numpy().tolist() == [1.0, 3.0, 5.0, 7.0]
        assert tf.function(build)().numpy().tolist() == [1.0, 3.0, 5.0, 7.0]
        return
    with v1.Graph().as_default(), v1.Session() as session:
        assert session.run(build()).tolist() == [1.0, 3.0, 5.0, 7.0]


def running_sums(x, array):
    """The sums of squares up to each element."""
    total = tf.constant(0.0)
    for i in tf.range(3):
        total = total + x[i] * x[i]
        array = array.write(i, total)
    return array.stack()


@pytest.mark.parametrize("make", [three, grown])
def test_the_gradient_through_a_loop(make):
    x = tf.Variable([1.0, 2.0, 3.0])

    @tf.function
    def slope():
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(running_sums(x, make()) * [1.0, 10.0, 100.0])
        return tf.convert_to_tensor(tape.gradient(y, x))

    assert slope().numpy().tolist() == [222.0, 440.0, 600.0]
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(running_sums(x, make()) * [1.0, 10.0, 100.0])
    assert tf.convert_to_tensor(tape.gradient(y, x)).numpy().tolist() == [222.0, 440.0, 600.0]


def test_the_gradient_of_reads_of_overwritten_rows_and_of_unstack():
    def value(x):
        array = three(clear_after_read=False).unstack(x)
        first = array.read(0)
        array = array.write(0, x[1] * 5.0)
        return tf.reduce_sum(array.stack() * [1.0, 10.0, 100.0]) + first * 7.0 + array.read(2) * 3.0

    x = tf.constant([1.0, 2.0, 3.0])

    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = value(x)
        return tape.gradient(y, x)

    assert slope(x).numpy().tolist() == [7.0, 15.0, 103.0]
    assert tf.function(slope)(x).numpy().tolist() == [7.0, 15.0, 103.0]
    with v1.Graph().as_default(), v1.Session() as session:
        p = v1.placeholder(tf.float32, [3])
        (grad,) = v1.gradients(value(p), p)
        assert session.run(grad, {p: [1.0, 2.0, 3.0]}).tolist() == [7.0, 15.0, 103.0]


def test_a_recurrent_layer_learns_the_same_in_eager_code_and_in_a_function():
    w = tf.Variable([[0.5, -0.2], [0.1, 0.3]])
    xs = tf.constant(np.random.default_rng(0).standard_normal((4, 3, 2)), tf.float32)

    def loss():
        inputs = TensorArray(tf.float32, size=4, clear_after_read=False).unstack(xs)
        outputs = TensorArray(tf.float32, size=4)
        state = tf.zeros([3, 2])
        for i in tf.range(4):
            state = tf.tanh(tf.matmul(inputs.read(i) + state, w))
            outputs = outputs.write(i, state)
        return tf.reduce_sum(outputs.stack() ** 2)

    def slope():
        with tf.GradientTape() as tape:
            y = loss()
        return tape.gradient(y, w)

    np.testing.assert_allclose(tf.function(slope)().numpy(), slope().numpy(), rtol=1e-5)


def test_what_is_known_of_the_shape():
    assert three(element_shape=[2]).element_shape == [2]
    array = three().write(0, [1.0, 2.0])
    assert (array.element_shape, array.dtype, array.dynamic_size) == ([2], tf.float32, False)
    with v1.Graph().as_default():
        assert three().write(0, [1.0, 2.0]).stack().shape.as_list() == [3, 2]
        assert three().write(0, [1.0, 2.0]).read(1).shape == [2]


def test_how_many_rows_there_are_is_known_where_it_stays():
    with v1.Graph().as_default():
        row = v1.placeholder(tf.float32, [2])
        assert three().write(0, row).stack().shape.as_list() == [3, 2]
        assert TensorArray(tf.float32, tf.constant(3)).write(0, row).stack().shape.as_list() == [3, 2]
        assert three(dynamic_size=True).write(0, row).stack().shape.as_list() == [None, 2]
        array = three().unstack(v1.placeholder(tf.float32, [3, 2]))
        assert array.stack().shape.as_list() == [3, 2]
        assert array.unstack(v1.placeholder(tf.float32, [4, 2])).stack().shape.as_list() == [None, 2]
        n = v1.placeholder(tf.int32, [])
        assert TensorArray(tf.float32, n).write(0, row).stack().shape.as_list() == [None, 2]


WRONG = [
    (
        lambda: three().write(5, 1.0),
        tf.errors.OutOfRangeError,
        "index 5 but array is not resizeable and size is: 3",
    ),
    (lambda: three().write(-1, 1.0), tf.errors.OutOfRangeError, r"Writing to negative indices \(index -1\)"),
    (lambda: three(element_shape=[]).read(5), tf.errors.OutOfRangeError, "read from index 5 but array size is: 3"),
]


@pytest.mark.parametrize(("call", "error", "message"), WRONG)
def test_places_that_are_not_there(call, error, message):
    def stacked():
        made = call()
        return made.stack() if isinstance(made, TensorArray) else made

    with pytest.raises(error, match=message):
        stacked()
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Trying to \w+ element -?\d in a list with 3"):
        tf.function(stacked)()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: three().write(0, tf.constant(1)), "dtype is float32 but Op is trying to write dtype int32"),
        (lambda: three().unstack(tf.constant([1])), "dtype is float32 but Op is trying to write dtype int32"),
        (
            lambda: three(element_shape=[2]).write(0, [1.0]),
            r"shape for value \(\(1,\)\), expected \(\(2,\)\)",
        ),
        (lambda: three().write(0, [1.0]).write(1, [1.0, 2.0]), "Incompatible shape for value"),
        (lambda: three().unstack(1.0), "must be at least a vector, but saw shape"),
        (lambda: three().scatter([0], tf.constant([1.0, 2.0])), "but saw: 1 vs. 2"),
    ],
)
def test_tensors_that_do_not_fit(call, message):
    with pytest.raises(ValueError, match=message):
        call()
    with pytest.raises(ValueError, match=message):
        tf.function(lambda: call().stack())()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: three().scatter(1.5, [1.0]), "Expected a list of indices, got 1.5"),
        (lambda: three().split([1.0, 2.0], 2), "Expected a list of lengths, got 2"),
    ],
)
def test_what_is_no_list_is_refused(call, message):
    with pytest.raises(TypeError, match=message):
        call()
    with pytest.raises(TypeError, match=message):
        tf.function(lambda: call().stack())()


def test_an_array_of_less_than_nothing_is_refused():
    for make in (lambda: TensorArray(tf.float32, -1).size(), tf.function(lambda: TensorArray(tf.float32, -1).size())):
        with pytest.raises(ValueError, match="must be a non negative number, but got -1"):
            make()


def test_a_single_row_is_scattered():
    for index in (1, np.int64(1)):
        assert three(element_shape=[]).scatter(index, [5.0]).stack().numpy().tolist() == [0.0, 5.0, 0.0]


def test_a_tensor_is_read_once_unless_it_is_kept():
    array = three().unstack(tf.constant([1.0, 2.0, 3.0]))
    array.read(0)
    for same in (array, array.identity()):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Could not read index 0 twice"):
            same.read(0)
    kept = three(clear_after_read=False).unstack(tf.constant([1.0, 2.0, 3.0]))
    assert float(kept.read(0)) == float(kept.read(0)) == 1.0


def test_nothing_known_of_what_was_never_written():
    with pytest.raises(ValueError, match="Give element_shape"):
        three().read(0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Give element_shape"):
        tf.function(lambda: three().stack())()


def test_an_array_of_eager_code_is_not_changed_by_a_graph():
    array = three()

    @tf.function
    def change(n):
        made = array
        for i in tf.range(n):
            made = made.write(i, 1.0)
        return made.stack()

    with pytest.raises(ValueError, match="Make it inside of the function"):
        change(tf.constant(3))


class TestRowsOfDifferentLengths:
    def test_concat(self):
        @tf.function
        def run():
            array = tf.TensorArray(tf.float32, size=2, infer_shape=False)
            return array.write(0, [1.0]).write(1, [2.0, 3.0]).concat()

        assert run().numpy().tolist() == [1.0, 2.0, 3.0]

    def test_split_by_a_tensor(self):
        @tf.function
        def run(values, lengths):
            array = tf.TensorArray(tf.float32, size=2, infer_shape=False).split(values, lengths)
            return array.read(0), array.read(1), array.concat()

        made = run(tf.constant([1.0, 2.0, 3.0]), tf.constant([1, 2]))
        assert [value.numpy().tolist() for value in made] == [[1.0], [2.0, 3.0], [1.0, 2.0, 3.0]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="sum of lengths is 4"):
            run(tf.constant([1.0, 2.0, 3.0]), tf.constant([1, 3]))

    @pytest.mark.parametrize("lengths", [[2, 2], [1, 3]])
    def test_gradients_go_through_parts(self, lengths):
        @tf.function
        def run(x):
            array = tf.TensorArray(tf.float32, size=2, infer_shape=False).split(x, lengths)
            first = tf.gradients(array.concat() ** 3, x)[0]
            return first, tf.gradients(first, x)[0]

        first, second = run(tf.constant([1.0, 2.0, 3.0, 4.0]))
        assert first.numpy().tolist() == [3.0, 12.0, 27.0, 48.0]
        assert second.numpy().tolist() == [6.0, 12.0, 18.0, 24.0]

    def test_identity_waits(self):
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            count = tf.compat.v1.Variable(0.0)
            array = tf.TensorArray(tf.float32, size=1).write(0, 5.0)
            with tf.control_dependencies([count.assign_add(1.0)]):
                same = array.identity()
            session.run(count.initializer)
            assert (session.run(same.read(0)), session.run(count)) == (5.0, 1.0)
