"""Initializers: their values, the statistics of random ones, and how they are written down."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

import situs as eager_tf
import situs.compat.v1 as tf
from situs._src.variables import initializers, initializers_v2
from situs.compat.v1 import initializers as namespace

V1 = [
    initializers.Zeros,
    initializers.Ones,
    initializers.Constant,
    initializers.Identity,
    initializers.RandomUniform,
    initializers.RandomNormal,
    initializers.TruncatedNormal,
    initializers.UniformUnitScaling,
    initializers.VarianceScaling,
    initializers.GlorotUniform,
    initializers.GlorotNormal,
    initializers.Orthogonal,
]
V2 = [getattr(initializers_v2, made.__name__) for made in V1 if hasattr(initializers_v2, made.__name__)]
SHAPE = (50, 80)


def drawn(initializer, shape=SHAPE, **kwargs):
    return initializer(shape, **kwargs).numpy()


# Constants.


@pytest.mark.parametrize(
    ("initializer", "shape", "dtype", "expected"),
    [
        (initializers.Zeros(), [2], tf.int32, [0, 0]),
        (initializers.Zeros(tf.float64), 3, None, [0.0, 0.0, 0.0]),
        (initializers.Zeros(), [1], tf.string, [b""]),
        (initializers.Ones(), [2], tf.bool, [True, True]),
        (initializers.Constant(3), [2], tf.int64, [3, 3]),
        (initializers.Constant([1, 2, 3, 4]), [2, 2], None, [[1, 2], [3, 4]]),
        (initializers.Constant("a"), [2], tf.string, [b"a", b"a"]),
        (initializers.Identity(3.0), [2, 3], None, [[3, 0, 0], [0, 3, 0]]),
        (initializers_v2.Constant([1, 2]), [2], None, [1, 2]),
        (initializers_v2.Zeros(), [2], tf.int32, [0, 0]),
    ],
)
def test_constant_initializers(initializer, shape, dtype, expected):
    made = initializer(shape, dtype)
    assert made.numpy().tolist() == expected
    assert dtype is None or made.dtype is dtype


def test_fewer_values_than_elements_are_filled_up_in_graphs_only():
    few = initializers.Constant([1.0, 2.0])
    with pytest.raises(TypeError, match="has 2 elements"):
        few([3])
    with tf.Graph().as_default(), tf.Session() as sess:
        assert sess.run(few([2, 2])).tolist() == [[1.0, 2.0], [2.0, 2.0]]
        with pytest.raises(TypeError, match="elements"):
            few([1])
        with pytest.raises(TypeError, match=r"shape \(3,\)"):
            few([3], verify_shape=True)


# Statistics.


@pytest.mark.parametrize(
    ("initializer", "mean", "deviation", "bounds"),
    [
        (initializers.RandomUniform(-1.0, 3.0, seed=1), 1.0, 4 / math.sqrt(12), (-1.0, 3.0)),
        (initializers.RandomUniform(seed=1), 0.5, 1 / math.sqrt(12), (0.0, 1.0)),
        (initializers.RandomNormal(2.0, 3.0, seed=1), 2.0, 3.0, None),
        (initializers.TruncatedNormal(2.0, 3.0, seed=1), 2.0, 3.0 * 0.8796, (-4.0, 8.0)),
        (initializers_v2.RandomUniform(seed=1), 0.0, 0.1 / math.sqrt(12), (-0.05, 0.05)),
        (initializers_v2.RandomNormal(seed=1), 0.0, 0.05, None),
        (initializers.UniformUnitScaling(2.0, seed=1), 0.0, 2 * math.sqrt(1 / 50), (-0.4899, 0.4899)),
        (initializers.GlorotUniform(seed=1), 0.0, math.sqrt(2 / 130), (-math.sqrt(6 / 130), math.sqrt(6 / 130))),
        (initializers.GlorotNormal(seed=1), 0.0, math.sqrt(2 / 130), None),
        (initializers.he_normal(seed=1), 0.0, math.sqrt(2 / 50), None),
        (initializers.he_uniform(seed=1), 0.0, math.sqrt(2 / 50), (-math.sqrt(6 / 50), math.sqrt(6 / 50))),
        (initializers.lecun_normal(seed=1), 0.0, math.sqrt(1 / 50), None),
        (initializers.lecun_uniform(seed=1), 0.0, math.sqrt(1 / 50), (-math.sqrt(3 / 50), math.sqrt(3 / 50))),
    ],
)
def test_random_initializers_have_the_moments_they_promise(initializer, mean, deviation, bounds):
    made = drawn(initializer)
    assert made.dtype == np.float32
    assert made.mean() == pytest.approx(mean, abs=5 * deviation / math.sqrt(made.size))
    assert made.std() == pytest.approx(deviation, rel=0.05)
    if bounds is not None:
        assert bounds[0] <= made.min()
        assert made.max() <= bounds[1]


@pytest.mark.parametrize(("mode", "count"), [("fan_in", 50), ("fan_out", 80), ("fan_avg", 65)])
@pytest.mark.parametrize("distribution", ["normal", "truncated_normal", "untruncated_normal", "uniform"])
def test_variance_scaling_gives_every_distribution_the_same_variance(mode, count, distribution):
    made = drawn(initializers.VarianceScaling(3.0, mode, distribution, seed=1))
    deviation = math.sqrt(3.0 / count)
    assert made.std() == pytest.approx(deviation, rel=0.05)
    if distribution in ("normal", "truncated_normal"):
        assert np.abs(made).max() <= 2 * deviation / 0.8796 + 1e-5
    if distribution == "uniform":
        assert np.abs(made).max() <= math.sqrt(3) * deviation


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((), (1, 1)), ((7,), (7, 7)), ((3, 4), (3, 4)), ((5, 5, 3, 4), (75, 100))],
)
def test_fans_count_the_inputs_and_outputs_of_a_unit(shape, expected):
    assert initializers.fans(shape) == expected


@pytest.mark.parametrize("shape", [(4, 4), (3, 7), (7, 3), (2, 3, 4), (3, 3, 2, 20)])
@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
def test_orthogonal_matrices_are_orthogonal(shape, dtype):
    made = drawn(initializers.Orthogonal(gain=2.0, seed=3), shape, dtype=dtype).reshape(-1, shape[-1])
    product = made @ made.T if made.shape[0] < made.shape[1] else made.T @ made
    np.testing.assert_allclose(product, 4.0 * np.eye(len(product)), atol=1e-5)


def test_random_integers():
    made = drawn(initializers.RandomUniform(2, 6, seed=1, dtype=tf.int32))
    assert (made.dtype, made.min(), made.max()) == (np.int32, 2, 5)


def test_seeds_repeat_values():
    def twice(initializer):
        eager_tf.random.set_seed(7)
        return drawn(initializer, [3]), drawn(initializer, [3])

    first, second = twice(initializers.RandomNormal(seed=5)), twice(initializers.RandomNormal(seed=5))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first[0], first[1])
    assert not np.array_equal(first[0], twice(initializers.RandomNormal(seed=6))[0])


def test_a_part_is_scaled_like_the_whole():
    part = SimpleNamespace(full_shape=[400, 80], var_offset=[0, 0])
    made = drawn(initializers.lecun_uniform(seed=1), partition_info=part)
    assert made.shape == SHAPE
    assert np.abs(made).max() <= math.sqrt(3 / 400)
    assert drawn(initializers_v2.Zeros(), [4], partition_shape=[2], partition_offset=[0]).shape == (2,)


# In graphs.


@pytest.mark.parametrize("made", [*V1, *V2])
def test_initializers_build_operations_in_graphs_and_values_elsewhere(made):
    assert drawn(made(), [2, 3]).shape == (2, 3)
    with tf.Graph().as_default(), tf.Session() as sess:
        tensor = made()([2, 3])
        assert isinstance(tensor, tf.Tensor)
        assert not hasattr(tensor, "_value")
        assert sess.run(tensor).shape == (2, 3)


def test_the_device_scope_is_obeyed():
    with tf.Graph().as_default(), tf.device("/gpu:1"):
        assert initializers.RandomUniform()([2]).device == "/device:GPU:1"


# Written down.


@pytest.mark.parametrize("made", [*V1, *V2])
def test_a_config_makes_the_initializer_again(made):
    config = made().get_config()
    again = made.from_config(config)
    assert (type(again), again.get_config()) == (made, config)
    assert ("dtype" in config) == (made in V1)


def test_configs_are_tensorflow_s():
    assert initializers.RandomNormal(1.0, 2.0, 3).get_config() == {
        "mean": 1.0,
        "stddev": 2.0,
        "seed": 3,
        "dtype": "float32",
    }
    assert initializers.he_normal().get_config() == {
        "scale": 2.0,
        "mode": "fan_in",
        "distribution": "truncated_normal",
        "seed": None,
        "dtype": "float32",
    }
    assert initializers.GlorotUniform(4).get_config() == {"seed": 4, "dtype": "float32"}
    assert initializers_v2.RandomUniform().get_config() == {"minval": -0.05, "maxval": 0.05, "seed": None}
    assert repr(initializers_v2.Zeros()) == "<Zeros initializer()>"


NAMES = """
    constant global_variables glorot_normal glorot_uniform he_normal he_uniform identity lecun_normal lecun_uniform
    local_variables ones orthogonal random_normal random_uniform tables_initializer truncated_normal
    uniform_unit_scaling variables variance_scaling zeros
"""


def test_the_namespace_has_tensorflow_s_names():
    assert [name for name in dir(namespace) if not name.startswith("_")] == NAMES.split()


# Mistakes.


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: initializers.VarianceScaling(scale=-1), ValueError, "`scale` must be a positive float. Received: -1"),
        (lambda: initializers.VarianceScaling(mode="x"), ValueError, "`mode` should be one of"),
        (lambda: initializers.VarianceScaling(distribution="x"), ValueError, "`distribution` should be one of"),
        (lambda: initializers.RandomNormal(dtype=tf.int32), ValueError, "expected to be floating point"),
        (lambda: initializers.GlorotUniform()([2], tf.int32), ValueError, "expected to be floating point"),
        (lambda: initializers.RandomUniform()([2], tf.string), (TypeError, ValueError), "string"),
        (lambda: initializers.RandomUniform()([2], tf.int32), ValueError, "Must specify maxval"),
        (lambda: initializers.Orthogonal()([2]), ValueError, "must be at least two-dimensional"),
        (lambda: initializers.Identity()([2]), ValueError, "must be at least two-dimensional"),
        (lambda: initializers.Constant({}), TypeError, "Invalid type for initial value"),
        (lambda: initializers.Zeros()([None, 2]), ValueError, "fully known shape"),
        (lambda: initializers.Zeros()("a"), (TypeError, ValueError), "integer"),
        (lambda: initializers.Zeros()([2], foo=1), TypeError, "Keyword argument should be one of"),
        (lambda: initializers_v2.Zeros()([2], tf.string), ValueError, "numeric or boolean"),
        (lambda: initializers_v2.RandomNormal()([2], tf.int32), ValueError, "floating point"),
    ],
)
def test_mistakes_are_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_an_initializer_of_ones_own_must_be_callable():
    class Mine(initializers.Initializer):
        pass

    with pytest.raises(NotImplementedError, match="Mine must override `__call__"):
        Mine()([2])
