"""Arguments of a ``tf.function``: defaults, keywords, input signatures."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import situs as tf

SCALAR, VECTOR = tf.TensorSpec([], tf.float32), tf.TensorSpec([None], tf.float32)


def plain(value):
    """Tensors as plain Python, in their structure."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return None if value is None else value.numpy().tolist()


def test_all_sorts_of_parameters():
    made = []

    @tf.function
    def f(a, b=2, *c, d, e=5, **k):
        made.append(1)
        return [a, b, list(c), d, e, k]

    one, four = tf.constant(1), tf.constant(4)
    assert plain(f(one, d=four)) == [1, 2, [], 4, 5, {}]
    assert plain(f(one, 2, d=four)) == plain(f(b=2, d=four, a=one)) == [1, 2, [], 4, 5, {}]
    assert len(made) == 1
    found = f(one, tf.constant(2), tf.constant(3), d=four, z=tf.constant(9), y=tf.constant(8))
    assert plain(found) == [1, 2, [3], 4, 5, {"z": 9, "y": 8}]
    assert len(made) == 2


@pytest.mark.parametrize(
    ("args", "kwargs", "reason"),
    [
        ((1,), {}, "missing a required argument: 'b'"),
        ((1, 2, 3), {}, "too many positional arguments"),
        ((1, 2), {"c": 3}, "got an unexpected keyword argument 'c'"),
        ((1,), {"a": 2}, "multiple values for argument 'a'"),
    ],
)
def test_arguments_that_do_not_fit(args, kwargs, reason):
    with pytest.raises(TypeError, match="Binding inputs to tf.function failed due to `" + reason):
        tf.function(lambda a, b: a)(*args, **kwargs)


def test_arrays_and_python_values():
    @tf.function
    def f(x):
        return isinstance(x, tf.Tensor)

    assert bool(f(np.zeros(3)))
    assert bool(f(np.float32(3)))
    assert not bool(f(3))
    assert not bool(f("word"))


def test_arrays_inside_structures():
    f = tf.function(lambda s: s[0] + s[1]["x"])
    assert f([np.array([1, 2]), {"x": np.array([3, 4])}]).numpy().tolist() == [4, 6]


# Input signatures.


def test_one_graph_for_all_that_fits():
    shapes = []

    @tf.function(input_signature=[VECTOR, tf.TensorSpec([], tf.int32)])
    def f(x, y):
        shapes.append(x.shape.as_list())
        return x * 2.0, y

    calls = [f(tf.constant([1.0, 2.0]), tf.constant(3)), f([1.0], 4), f(np.array([1, 2]), y=5), f(y=6, x=[0.5])]
    assert [plain(found) for found in calls] == [[[2, 4], 3], [[2], 4], [[2, 4], 5], [[1], 6]]
    assert shapes == [[None]]
    assert f.input_signature == (VECTOR, tf.TensorSpec([], tf.int32))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (tf.constant([1, 2]), r"Can not cast TensorSpec\(shape=\(2,\), dtype=tf.int32"),
        (tf.constant([[1.0]]), r"Can not cast TensorSpec\(shape=\(1, 1\)"),
        ("abc", "Cannot convert 'abc'"),
        (None, "None"),
        ([[1.0], [2.0, 3.0]], "."),
    ],
)
def test_what_does_not_fit_the_signature(value, reason):
    f = tf.function(lambda x: x, input_signature=[VECTOR])
    with pytest.raises(TypeError, match="Binding inputs to tf.function failed due to `.*" + reason):
        f(value)


def test_wrong_numbers_of_arguments():
    f = tf.function(lambda x, y: x, input_signature=[VECTOR, SCALAR])
    with pytest.raises(TypeError, match="missing a required argument: 'y'"):
        f(tf.constant([1.0]))
    with pytest.raises(TypeError, match="too many positional arguments"):
        f(tf.constant([1.0]), tf.constant(1.0), tf.constant(1.0))


def test_parameters_without_a_spec_keep_their_defaults():
    f = tf.function(lambda x, y=3.0, *, z=1.0: x + y + z, input_signature=[SCALAR])
    assert float(f(1.0)) == 5.0
    assert float(f(1.0, 3.0, z=1.0)) == 5.0
    with pytest.raises(TypeError, match=r"Can not cast 5.0 to Literal\[3.0\]"):
        f(1.0, 5.0)


def test_specs_for_varargs():
    f = tf.function(lambda *xs: xs[0] - xs[1], input_signature=[SCALAR, SCALAR])
    assert float(f(5.0, 3.0)) == 2.0


@pytest.mark.parametrize(
    ("function", "signature", "reason"),
    [
        (lambda x, y: x, [SCALAR], "input_signature missing type constraint for y"),
        (lambda x: x, [SCALAR, SCALAR, SCALAR], "input_signature contains 2 extra type constraints"),
        (lambda x, *, y: x, [SCALAR], "keyword-only parameter `y` must have a default value"),
        (lambda x: x, SCALAR, "must be either a tuple or a list"),
        (lambda x: x, [3], "possibly nested sequence of TensorSpec objects"),
        (lambda x: x, [None], "possibly nested sequence of TensorSpec objects"),
    ],
)
def test_signatures_that_fit_no_call(function, signature, reason):
    with pytest.raises(TypeError, match=reason):
        tf.function(function, input_signature=signature)


def test_nested_signatures():
    f = tf.function(lambda d: (d["a"], d["b"][0]), input_signature=[{"a": SCALAR, "b": [SCALAR]}])
    assert plain(f({"a": 1.0, "b": [2.0]})) == [1.0, 2.0]
    for wrong in ({"a": 1.0}, {"a": 1.0, "b": []}, {"a": 1.0, "b": 2.0}, 1.0):
        with pytest.raises(TypeError, match=r"Binding inputs to tf\.function failed"):
            f(wrong)


def test_a_signature_of_unknown_rank():
    f = tf.function(lambda x: (tf.reduce_sum(x), tf.rank(x)), input_signature=[tf.TensorSpec(None, tf.float32)])
    assert plain(f(1.0)) == [1.0, 0]
    assert plain(f([[1.0, 2.0]])) == [3.0, 2]


def test_an_empty_signature():
    f = tf.function(lambda: 1, input_signature=())
    assert int(f()) == 1
    assert f.input_signature == ()


def test_a_variable_is_read_for_a_spec():
    f = tf.function(lambda x: x * 2.0, input_signature=[VECTOR])
    v = tf.Variable([1.0, 2.0])
    assert f(v).numpy().tolist() == [2.0, 4.0]
    v.assign([3.0, 4.0])
    assert f(v).numpy().tolist() == [6.0, 8.0]


# What may be decorated.


def test_lambdas_partials_and_callable_objects():
    class Times:
        def __call__(self, x):
            return x * 7.0

    assert float(tf.function(lambda x: x * 3.0)(tf.constant(2.0))) == 6.0
    assert float(tf.function(functools.partial(lambda a, b: a - b, b=2.0))(tf.constant(5.0))) == 3.0
    assert float(tf.function(Times())(tf.constant(2.0))) == 14.0
    assert float(tf.function(tf.square)(tf.constant(3.0))) == 9.0
    f = tf.function(lambda a, b: a - b)
    assert float(functools.partial(f, b=tf.constant(1.0))(tf.constant(3.0))) == 2.0


def test_what_is_no_function():
    with pytest.raises(TypeError, match="3 is not a callable object"):
        tf.function(3)
    with pytest.raises(ValueError, match="wrap it in a function"):
        tf.function(max)


def test_decorators_above_and_below():
    def twice(f):
        @functools.wraps(f)
        def g(*args):
            return f(*args) * 2.0

        return g

    assert float(tf.function(twice(lambda x: x + 1.0))(tf.constant(1.0))) == 4.0
    assert float(twice(tf.function(lambda x: x + 1.0))(tf.constant(1.0))) == 4.0


def test_a_function_looks_like_what_it_decorates():
    @tf.function
    def documented(x):
        """Says so."""
        return x

    assert documented.__name__ == "documented"
    assert documented.__doc__ == "Says so."
    assert documented.__wrapped__ is documented.python_function
    assert "documented" in repr(documented)
    assert str(documented.function_spec) == "(x)"
