"""Python functions as ops: what they get, what they may return, and what their errors become, as in TensorFlow 2.21."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import situs as tf2
import situs.compat.v1 as tf
from situs import errors
from situs._src.base import dtype as dt
from situs._src.base.devices.scope import here
from situs._src.ops.python_function import numpy_function, py_func, py_function, runs_at_once


@pytest.fixture
def sess() -> Iterator[Any]:
    with tf.Graph().as_default(), tf.Session() as made:
        yield made


def double(x: Any) -> Any:
    return x * 2


@pytest.mark.parametrize("call", [py_func, numpy_function, py_function])
class TestBoth:
    def test_a_function_is_an_operation(self, sess, call):
        y = call(double, [tf.constant([1.0, 2.0])], tf.float32, name="twice")
        assert (y.op.name, y.shape.rank, y.dtype) == ("twice", None, tf.float32)
        np.testing.assert_array_equal(sess.run(y), [2.0, 4.0])

    def test_a_list_of_dtypes_gives_a_list_of_tensors(self, sess, call):
        one = call(double, [1.0], [tf.float32])
        two = call(lambda x, y: (y, x), [1.0, "a"], [tf.string, tf.float32])
        assert sess.run([one, two]) == [[2.0], [b"a", 1.0]]

    def test_no_results_make_an_operation(self, sess, call):
        seen = []
        made = call(lambda x: seen.append(float(x)), [3.0], [])
        assert sess.run(made) is None
        assert seen == [3.0]

    def test_a_shape_can_be_set(self, sess, call):
        y = call(double, [tf.constant([1.0, 2.0])], tf.float32)
        y.set_shape([2])
        assert (y + tf.constant([1.0, 2.0])).shape == (2,)

    def test_it_is_called_once_a_run(self, sess, call):
        calls = []
        y = call(lambda: calls.append(0) or np.float32(len(calls)), [], tf.float32)
        assert sess.run([y, y + 1.0]) == [1.0, 2.0]
        assert sess.run(y) == 2.0

    def test_nothing_is_built_inside(self, sess, call):
        seen = []

        def look() -> Any:
            seen.append((here.graph, runs_at_once(), tf2.executing_eagerly()))
            return np.float32(tf2.add(1.0, 2.0))

        operations = len(sess.graph)
        y = call(look, [], tf.float32)
        assert sess.run(y) == 3.0
        assert seen == [(None, True, True)]
        assert len(sess.graph) == operations + 1
        assert not runs_at_once()

    @pytest.mark.parametrize(
        ("raised", "kind"),
        [
            (ValueError, errors.InvalidArgumentError),
            (TypeError, errors.InvalidArgumentError),
            (StopIteration, errors.OutOfRangeError),
            (MemoryError, errors.ResourceExhaustedError),
            (NotImplementedError, errors.UnimplementedError),
            (RuntimeError, errors.UnknownError),
            (KeyError, errors.UnknownError),
            (errors.NotFoundError, errors.UnknownError),
        ],
    )
    def test_what_it_raises_becomes_an_error_of_the_operation(self, sess, call, raised, kind):
        def fail(x: Any) -> Any:
            raise raised("on purpose")

        y = call(fail, [1.0], tf.float32, name="failing")
        with pytest.raises(kind) as caught:
            sess.run(y)
        text = str(caught.value)
        assert type(caught.value) is kind
        assert text.startswith(f"{raised.__name__}: ")
        assert "Traceback (most recent call last):" in text
        assert "in fail\n" in text
        assert "on purpose" in text
        assert "{{node failing}}" in text
        assert caught.value.op is y.op

    def test_the_wrong_number_of_results_is_an_error(self, sess, call):
        for made, found in ((None, 0), ((1.0, 2.0), 2)):
            y = call(lambda made=made: made, [], tf.float32)
            with pytest.raises(
                errors.InvalidArgumentError, match=f"returns {found} values, but expects to see 1 values"
            ):
                sess.run(y)

    def test_too_many_arguments_are_an_error_of_the_run(self, sess, call):
        y = call(lambda: 1.0, [1.0], tf.float32)
        with pytest.raises(errors.InvalidArgumentError, match="takes 0 positional arguments"):
            sess.run(y)

    @pytest.mark.parametrize(
        ("arguments", "error", "text"),
        [
            ((3, [], "float32"), ValueError, "Expected func to be callable. Received func=3"),
            ((double, 3.0, "float32"), TypeError, "a list of tensors"),
            ((double, [1.0], None), TypeError, "None"),
            ((double, [object()], "float32"), ValueError, "object"),
        ],
    )
    def test_what_cannot_be_built_is_refused(self, sess, call, arguments, error, text):
        with pytest.raises(error, match=text):
            call(*arguments)

    def test_the_function_lives_as_long_as_the_graph(self, call):
        def twice(x: Any) -> Any:
            return x * 2

        alive = weakref.ref(twice)
        with tf.Graph().as_default(), tf.Session() as sess:
            y = call(twice, [1.0], tf.float32)
            del twice
            gc.collect()
            assert alive() is not None
            assert sess.run(y) == 2.0

    def test_a_function_without_a_name_is_named_by_its_type(self, sess, call):
        class Caller:
            def __call__(self) -> None:
                return None

        with pytest.raises(errors.InvalidArgumentError, match="Caller"):
            sess.run(call(Caller(), [], tf.float32))

    def test_it_works_in_a_branch(self, sess, call):
        x = tf.placeholder(tf.float32, [])
        y = tf.cond(x > 0.0, lambda: call(double, [x], tf.float32), lambda: x)
        assert sess.run([y], {x: 3.0}) == [6.0]
        assert sess.run(y, {x: -3.0}) == -3.0


class TestArrays:
    @pytest.mark.parametrize(
        ("value", "kind"),
        [(1.0, np.float32), (True, np.bool_), ("a", bytes), ([1.0], np.ndarray), (np.int64(1), np.int64)],
    )
    def test_scalars_are_scalars_and_arrays_arrays(self, sess, value, kind):
        seen = []
        sess.run(py_func(lambda x: seen.append(x), [value], []))
        assert type(seen[0]) is kind

    def test_the_function_may_change_what_it_gets(self, sess):
        def clear(x: np.ndarray) -> np.ndarray:
            x[:] = 0
            return x

        x = tf.constant([1.0, 2.0])
        cleared = py_func(clear, [x], tf.float32)
        with tf.control_dependencies([cleared]):
            after = tf.identity(x)
        assert [a.tolist() for a in sess.run([cleared, after])] == [[0, 0], [1, 2]]

    def test_what_it_returns_may_be_changed_later(self, sess):
        kept = np.ones(2, np.float32)
        y = py_func(lambda: kept, [], tf.float32)
        made = sess.run(y)
        kept[:] = 7
        assert made.tolist() == [1, 1]

    @pytest.mark.parametrize(
        ("made", "dtype", "found"),
        [
            (np.int32(3), "float32", "int32"),
            (3, "int32", "int64"),
            (3.5, "float32", "double"),
            ("a", "float32", "string"),
            (np.float64(1), "float32", "double"),
        ],
    )
    def test_the_wrong_dtype_is_an_error_that_names_the_function(self, sess, made, dtype, found):
        def wrong() -> Any:
            return made

        wanted = dt.as_dtype(dtype).proto_name
        with pytest.raises(errors.InvalidArgumentError) as caught:
            sess.run(py_func(wrong, [], dtype))
        assert f"(wrong) is {found}, but expects {wanted}" in str(caught.value)
        assert "0-th value returned by pyfunc_" in str(caught.value)

    @pytest.mark.parametrize(
        ("made", "dtype", "value"),
        [
            (3, "int64", 3),
            (3.5, "float64", 3.5),
            (True, "bool", True),
            ("aé", "string", "aé".encode()),
            (b"\xff", "string", b"\xff"),
            ([[1, 2], [3, 4]], "int64", None),
        ],
    )
    def test_python_values_have_numpys_dtypes(self, sess, made, dtype, value):
        if value is None:
            np.testing.assert_array_equal(sess.run(py_func(lambda: (made,), [], dtype)), made)
        else:
            assert sess.run(py_func(lambda: made, [], dtype)) == value

    def test_rows_of_different_length_are_no_tensor(self, sess):
        with pytest.raises(errors.InvalidArgumentError, match="0-th value returned by"):
            sess.run(py_func(lambda: ([[1.0], [1.0, 2.0]],), [], tf.float64))

    def test_one_without_state_is_another_op(self, sess):
        assert py_func(double, [1.0], tf.float32, stateful=False).op.type == "PyFuncStateless"
        assert sess.run(py_func(double, [1.0], tf.float32, stateful=False)) == 2.0

    def test_it_runs_on_the_cpu(self):
        with tf.Graph().as_default(), tf.Session() as sess:
            y = py_func(double, [tf.constant([1.0]) + 1.0], tf.float32)
            assert sess.run(y).tolist() == [4.0]
            assert sess.placement().device_of(y.op).type == "CPU"


class TestTensors:
    @pytest.mark.parametrize("device", ["CPU:0", "GPU:1"])
    def test_tensors_are_on_the_devices_of_the_operation(self, sess, device):
        seen = []

        def look(x: Any, text: Any) -> Any:
            seen.append((x.device, text.numpy()))
            return x * 2.0, text

        word = tf.constant("a")
        with tf.device(f"/{device}"):
            y, text = py_function(look, [tf.constant([1.0]), word], [tf.float32, tf.string])
        assert sess.run(y + 1.0).tolist() == [3.0]
        assert sess.run(text) == b"a"
        assert seen[0] == (f"/job:localhost/replica:0/task:0/device:{device}", b"a")

    @pytest.mark.parametrize(
        ("made", "value"), [(3, 3.0), (3.5, 3.5), (np.int32(3), 3.0), (np.float64(0.5), 0.5), ([1, 2], None)]
    )
    def test_values_become_tensors_of_the_dtype_asked_for(self, sess, made, value):
        y = sess.run(py_function(lambda: [made], [], tf.float32))
        assert y.tolist() == (made if value is None else value)

    @pytest.mark.parametrize("made", ["a", lambda: 3])
    def test_values_that_cannot_are_an_error(self, sess, made):
        with pytest.raises(errors.InvalidArgumentError, match="0-th value returned by pyfunc_"):
            sess.run(py_function(lambda: made, [], tf.float32))

    def test_tensors_of_another_dtype_are_an_error(self, sess):
        with pytest.raises(errors.InvalidArgumentError, match="requested dtype float32 for Tensor with dtype int32"):
            sess.run(py_function(lambda: tf2.constant(3), [], tf.float32))

    def test_variables_can_be_returned(self):
        v = tf2.Variable(3.0)
        with tf.Graph().as_default(), tf.Session() as sess:
            assert sess.run(py_function(lambda: v, [], tf.float32)) == 3.0


class TestEager:
    def test_functions_are_called_at_once(self):
        assert py_func(double, [[1.0, 2.0]], tf.float32).numpy().tolist() == [2, 4]
        assert [t.numpy() for t in numpy_function(lambda x, y: (y, x), [1.0, 2], ["int32", "float32"])] == [2, 1.0]
        assert py_function(double, [3.0], tf.float32).numpy() == 6.0

    def test_python_numbers_take_the_dtype_asked_for(self):
        assert py_func(lambda: 3, [], tf.float32).dtype is tf.float32

    def test_arrays_must_have_it(self):
        with pytest.raises(errors.InvalidArgumentError, match="is int32, but expects float"):
            py_func(lambda: np.int32(3), [], tf.float32)

    def test_what_a_function_of_arrays_raises_is_raised_as_it_is(self):
        with pytest.raises(ZeroDivisionError):
            numpy_function(lambda: 1 / 0, [], tf.float32)

    def test_what_a_function_of_tensors_raises_is_an_error_of_the_op(self):
        with pytest.raises(errors.UnknownError, match="ZeroDivisionError: division by zero"):
            py_function(lambda: 1 / 0, [], tf.float32)

    def test_decorators(self):
        @numpy_function(Tout=dt.float32)
        def halved(x: Any) -> Any:
            """Half of it."""
            return x / np.float32(2)

        @py_function(Tout=dt.float32)
        def twice(x: Any) -> Any:
            return x * 2

        assert halved(3.0).numpy() == 1.5
        assert halved.__doc__ == "Half of it."
        assert twice(3.0).numpy() == 6.0
        with tf.Graph().as_default(), tf.Session() as sess:
            assert sess.run(twice(halved(tf.constant(3.0)))) == 3.0
