"""Numbers of eight bits: they are kept, moved and cast, but not computed with. ``ml_dtypes`` says what they are."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import situs as tf

E4, E5 = tf.dtypes.experimental.float8_e4m3fn, tf.dtypes.experimental.float8_e5m2
ENDS = [0.0, -0.0, 300.0, -500.0, 448.0, 464.0, 465.0, 480.0, 1e9, 57344.0, 61439.0, 61441.0, 2.0**-9, 2.0**-17, np.inf]
VALUES = np.concatenate([np.random.RandomState(0).normal(size=500) * 100, ENDS]).astype("float32")


@pytest.mark.parametrize("dtype", [E4, E5])
def test_dtypes(dtype):
    theirs = getattr(ml_dtypes, dtype.name)
    assert tf.as_dtype(dtype.name) is tf.as_dtype(np.dtype(theirs)) is tf.as_dtype(dtype.as_datatype_enum) is dtype
    assert (dtype.size, dtype.is_floating, dtype.as_numpy_dtype) == (1, True, theirs)
    assert float(dtype.max) == float(ml_dtypes.finfo(theirs).max)


@pytest.mark.parametrize("source", [tf.float32, tf.float16, tf.bfloat16, tf.float64])
@pytest.mark.parametrize("dtype", [E4, E5])
def test_casts_round_as_ml_dtypes_does(dtype, source, on_device):
    given = tf.cast(np.clip(VALUES, -6e4, 6e4), source)
    wanted = given.numpy().astype("float32").astype(dtype.as_numpy_dtype)
    for made in (tf.cast(given, dtype), tf.function(lambda x: tf.cast(x * 1, dtype))(given)):
        assert made.dtype is dtype
        np.testing.assert_array_equal(made.numpy().astype("float32"), wanted.astype("float32"))
        np.testing.assert_array_equal(tf.cast(made, tf.float32).numpy(), wanted.astype("float32"))


def test_what_is_too_large():
    for dtype in (E4, E5):
        np.testing.assert_array_equal(
            tf.cast(VALUES, dtype).numpy().astype("float32"), VALUES.astype(dtype.as_numpy_dtype).astype("float32")
        )


def test_the_gradient_of_a_cast_is_a_cast():
    x = tf.Variable([1.1, 2.7])
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(tf.cast(tf.cast(x, E4), tf.float32) * [2.0, 3.0])
    assert tape.gradient(total, x).numpy().tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    "move",
    [
        tf.identity,
        lambda x: tf.reshape(x, [2, 1]),
        lambda x: tf.transpose(x[None]),
        lambda x: tf.concat([x, x], 0),
        lambda x: tf.stack([x, x]),
        lambda x: tf.gather(x, [1, 0]),
        lambda x: tf.tile(x, [2]),
        lambda x: x[1:],
        lambda x: tf.Variable(x).read_value(),
        lambda x: tf.where([True, False], x, x),
    ],
)
def test_moving(move):
    x = tf.constant([1.5, 2.5])
    small = move(tf.cast(x, E4))
    assert small.dtype is E4
    np.testing.assert_array_equal(tf.cast(small, tf.float32).numpy(), move(x).numpy())


def test_constants_and_text():
    x = tf.constant([1.0, 2.7], E5)
    assert x.numpy().dtype == ml_dtypes.float8_e5m2
    assert repr(x).startswith("<tf.Tensor: shape=(2,), dtype=float8_e5m2, numpy=array([1, 2.5]")
    np.testing.assert_array_equal(tf.constant(x.numpy()).numpy(), x.numpy())


@pytest.mark.parametrize("call", [lambda x: x + x, lambda x: tf.equal(x, x), lambda x: tf.matmul(x[None], x[:, None])])
def test_they_are_not_computed_with(call):
    with pytest.raises(tf.errors.InvalidArgumentError, match="float8_e4m3fn is not in the list of allowed values"):
        call(tf.constant([1.0], E4))
