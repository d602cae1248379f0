"""Normalisation against figures recorded from TensorFlow 2.21 and definitions in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from situs._src.base import dtype as dt
from situs._src.base.shapes import TensorShape
from situs._src.ir.registry.op import find_op
from situs._src.ops.nn import normalize as norm
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import DTypeError, InvalidArgumentError

X = np.random.RandomState(0).rand(2, 3, 3, 4).astype(np.float32)
S = np.array([1, 2, 3, 4], np.float32)
B = np.array([0.1, 0.2, 0.3, 0.4], np.float32)


def first(tensor, count=6):
    return np.asarray(tensor, np.float64).ravel()[:count]


# Moments.


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axes", [[0, 1, 2], [1], 0, [-1], None, []])
def test_moments_are_numpys(on_device, axes, keepdims):
    mean, variance = norm.moments(X, axes, keepdims=keepdims)
    along = axes if axes is None or isinstance(axes, int) else tuple(axes)
    np.testing.assert_allclose(mean.numpy(), X.mean(along, keepdims=keepdims), rtol=1e-5)
    np.testing.assert_allclose(variance.numpy(), X.var(along, keepdims=keepdims), rtol=1e-4, atol=1e-7)
    assert mean.device == variance.device == on_device


@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16], ids=lambda d: d.name)
def test_moments_of_narrow_floats_do_not_overflow(on_device, dtype):
    x = to_tensor(np.array([-300, 300] * 500), dtype)
    mean, variance = norm.moments(x, [0])
    assert mean.dtype is variance.dtype is dtype
    assert float(mean) == 0
    assert float(variance) == (np.inf if dtype is dt.float16 else pytest.approx(90000, rel=1e-2))
    ones = to_tensor(np.ones(5000), dtype)
    assert float(norm.moments(ones, [0])[0]) == 1


def test_moments_of_integers_are_integers(on_device):
    mean, variance = norm.moments(np.array([[1, 2], [5, 8]]), [0])
    np.testing.assert_array_equal(mean.numpy(), [3, 5])  # recorded from TensorFlow 2.21
    np.testing.assert_array_equal(variance.numpy(), [4, 9])


def test_moments_of_first_generation(on_device):
    assert norm.moments_v1(X, [0], keep_dims=True)[0].shape == (1, 3, 3, 4)
    assert norm.moments_v1(X, [0], None, "name")[0].shape == (3, 3, 4)
    with pytest.raises(InvalidArgumentError, match="Cannot specify both 'keep_dims' and 'keepdims'"):
        norm.moments_v1(X, [0], keep_dims=True, keepdims=True)
    with pytest.raises(InvalidArgumentError, match="Invalid reduction dimension"):
        norm.moments(X, [5])


# Batches.


def test_batch_normalization_is_tensorflows(on_device):
    # Recorded from TensorFlow 2.21.
    full = norm.batch_normalization(X, B, S, S, S, 1e-3)
    np.testing.assert_allclose(first(full, 4), [1.4485893, 2.7284057, 3.524314, 4.28973], rtol=1e-6)
    bare = norm.batch_normalization(X, 0.5, 2.0, None, None, 1e-3)
    np.testing.assert_allclose(first(bare, 3), [0.03450775, 0.15212384, 0.0726465], rtol=1e-5)
    half = norm.batch_normalization(to_tensor(X, dt.float16), to_tensor(B), to_tensor(S), None, None, 1e-3)
    assert half.dtype is dt.float16
    np.testing.assert_allclose(first(half, 3), [0.4482, 0.3645, 0.1744], rtol=2e-3)
    with pytest.raises(InvalidArgumentError, match="Incompatible shapes"):
        norm.batch_normalization(X, S[:3], S[:3], None, None, 1e-3)


def test_global_normalization_scales_if_asked(on_device):
    scaled = norm.batch_norm_with_global_normalization(X, B, S, B, S, 1e-3, True)
    np.testing.assert_array_equal(scaled.numpy(), norm.batch_normalization(X, B, S, B, S, 1e-3).numpy())
    plain = norm.batch_norm_with_global_normalization_v1(X, B, S, B, S, 1e-3, False)
    np.testing.assert_array_equal(plain.numpy(), norm.batch_normalization(X, B, S, B, None, 1e-3).numpy())


def test_fused_training_is_tensorflows(on_device):
    y, mean, variance = norm.fused_batch_norm(X, S, B)
    assert y.device == on_device
    # Recorded from TensorFlow 2.21; the variance is unbiased.
    np.testing.assert_allclose(
        first(y), [0.19367996, 1.9437578, 1.2793852, 1.3831977, -0.23651981, 1.3902687], rtol=1e-5
    )
    np.testing.assert_allclose(mean.numpy(), [0.52155906, 0.4968759, 0.50668746, 0.46994475], rtol=1e-6)
    np.testing.assert_allclose(variance.numpy(), [0.0885613, 0.06532653, 0.09064509, 0.09735843], rtol=1e-6)


def test_fused_training_moves_averages(on_device):
    old = to_tensor(S)
    _, mean, variance = norm.fused_batch_norm(X, S, B, mean=old, variance=old, exponential_avg_factor=0.1)
    # Recorded from TensorFlow 2.21.
    np.testing.assert_allclose(mean.numpy(), [0.9521559, 1.8496876, 2.7506685, 3.6469944], rtol=1e-6)
    np.testing.assert_allclose(variance.numpy(), [0.9088561, 1.8065326, 2.7090642, 3.6097357], rtol=1e-6)
    np.testing.assert_array_equal(old.numpy(), S)


def test_fused_inference_is_tensorflows(on_device):
    y, mean, variance = norm.fused_batch_norm(X, S, B, mean=S, variance=S, is_training=False)
    # Recorded from TensorFlow 2.21.
    np.testing.assert_allclose(
        first(y), [-0.35096106, -1.6165426, -3.851444, -6.5093703, -0.47605726, -1.7145165], rtol=1e-5
    )
    np.testing.assert_array_equal(mean.numpy(), S)
    np.testing.assert_array_equal(variance.numpy(), S)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(
    ("data_format", "there"),
    [
        ("NCHW", lambda x: np.moveaxis(x, -1, 1)),
        ("NDHWC", lambda x: x[:, None]),
        ("NCDHW", lambda x: np.moveaxis(x[:, None], -1, 1)),
    ],
)
def test_fused_normalization_in_other_formats(on_device, data_format, there, training):
    arguments = {"mean": S, "variance": S, "is_training": training}
    expected = [tensor.numpy() for tensor in norm.fused_batch_norm(X, S, B, **arguments)]
    found = norm.fused_batch_norm(there(X), S, B, data_format=data_format, **arguments)
    np.testing.assert_allclose(found[0].numpy(), there(expected[0]), rtol=1e-4, atol=1e-5)
    for tensor, value in zip(found[1:], expected[1:], strict=True):
        np.testing.assert_allclose(tensor.numpy(), value, rtol=1e-5)


@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16], ids=lambda d: d.name)
def test_fused_normalization_of_narrow_floats_keeps_float32_statistics(on_device, dtype):
    y, mean, variance = norm.fused_batch_norm(to_tensor(X, dtype), S, B)
    assert [y.dtype, mean.dtype, variance.dtype] == [dtype, dt.float32, dt.float32]
    np.testing.assert_allclose(mean.numpy(), X.mean((0, 1, 2)), rtol=5e-3)


def test_fused_normalization_of_one_element_or_none(on_device):
    y, _, variance = norm.fused_batch_norm(X[:1, :1, :1], S, B)
    np.testing.assert_allclose(y.numpy().ravel(), B, atol=1e-5)
    np.testing.assert_array_equal(variance.numpy(), [0, 0, 0, 0])
    _, _, moved = norm.fused_batch_norm(X[:1, :1, :1], S, B, mean=S, variance=S, exponential_avg_factor=0.25)
    np.testing.assert_allclose(moved.numpy(), 0.75 * S)
    y, mean, _ = norm.fused_batch_norm(X[:0], S, B)
    assert y.shape == (0, 3, 3, 4)
    assert np.isnan(mean.numpy()).all()


def test_fused_epsilon_has_a_floor(on_device):
    # TensorFlow does not go below 1.001e-5.
    constant = np.ones((1, 2, 2, 4), np.float32) * np.arange(4, dtype=np.float32)
    y, _, _ = norm.fused_batch_norm(constant, S, B, mean=S, variance=0 * S, epsilon=0.0, is_training=False)
    np.testing.assert_allclose(y.numpy()[0, 0, 0], (np.arange(4) - S) / np.sqrt(1.001e-5) * S + B, rtol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((X, S[:3], B), "scale must have the same number of elements as the channels of x, got 3 and 4"),
        ((X, S, B[:1]), "offset must have the same number of elements"),
        ((X, S[None], B), r"scale must be 1-dimensional\[1,4\]"),
        ((X, S, B, S[:2], S), "mean must have the same number of elements"),
        ((X[0], S, B), r"input must be 4-dimensional\[3,3,4\]"),
        ((X, S, B, None, None, 1e-3, "CHWN"), "'data_format' of \"CHWN\""),
        ((X, S, B, None, None, 1e-3, "NHWC", False), "Both `mean` and `variance` must be a 1D tensor"),
        ((X, S, B, S, None, 1e-3, "NHWC", True, None, 0.5), "Both `mean` and `variance` must be a 1D tensor"),
    ],
)
def test_fused_normalization_refuses_what_does_not_fit(on_device, arguments, text):
    with pytest.raises(InvalidArgumentError, match=text):
        norm.fused_batch_norm(*arguments)


def test_fused_normalization_takes_at_most_float32(on_device):
    with pytest.raises(DTypeError, match="not in the list of allowed values"):
        norm.fused_batch_norm(X.astype(np.float64), S, B)


# Layers.


@pytest.mark.parametrize("axis", [-1, 3, 1, [2, 3], [-1, -2], [1, 3], [0, 1, 2, 3]])
def test_layer_norm_is_its_definition(on_device, axis):
    axes = tuple(sorted(a % 4 for a in (axis if isinstance(axis, list) else [axis])))
    sizes = [X.shape[a] for a in axes]
    scale, offset = (np.linspace(low, 2, int(np.prod(sizes)), dtype=np.float32).reshape(sizes) for low in (1, -1))
    spread = [size if a in axes else 1 for a, size in enumerate(X.shape)]
    mean, variance = X.mean(axes, keepdims=True), X.var(axes, keepdims=True)
    expected = (X - mean) / np.sqrt(variance + 1e-3) * scale.reshape(spread) + offset.reshape(spread)
    result = norm.layer_norm(X, scale, offset, axis)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-4, atol=1e-5)
    assert result.device == on_device


@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16, dt.float64], ids=lambda d: d.name)
def test_layer_norm_dtypes(on_device, dtype):
    result = norm.layer_norm(*(to_tensor(v, dtype) for v in (X, S, B)), epsilon=1e-5)
    assert result.dtype is dtype
    mean, variance = X.mean(-1, keepdims=True), X.var(-1, keepdims=True)
    expected = (X - mean) / np.sqrt(variance + 1e-5) * S + B
    np.testing.assert_allclose(np.asarray(result, np.float64), expected, rtol=0.05, atol=0.05)


@pytest.mark.parametrize(
    ("scale", "offset", "axis", "text"),
    [
        (S[:3], B, -1, r"scale must have the shape of the normalised dimensions, \[4\], got \[3\]"),
        (S, B[:1], -1, "offset must have the shape"),
        (S, B, 1, r"dimensions, \[3\]"),
        (S, B, 4, "axis 4 is out of range"),
        (S, B, [3, -1], "each dimension at most once"),
        (S, B, [], "at least one"),
    ],
)
def test_layer_norm_refuses_what_does_not_fit(on_device, scale, offset, axis, text):
    with pytest.raises(InvalidArgumentError, match=text):
        norm.layer_norm(X, scale, offset, axis)


def test_layer_norm_of_an_empty_batch(on_device):
    assert norm.layer_norm(X[:0], S, B).shape == (0, 3, 3, 4)


# Neighbouring channels.


def plain_lrn(x, radius, bias, alpha, beta):
    sums = [(x[..., max(c - radius, 0) : c + radius + 1] ** 2).sum(-1) for c in range(x.shape[-1])]
    return x / (bias + alpha * np.stack(sums, -1)) ** beta


@pytest.mark.parametrize("radius", [0, 1, 2, 5, 1000])
def test_lrn_is_its_definition(on_device, radius):
    found = norm.lrn(X, radius, bias=2.0, alpha=0.5, beta=0.75)
    np.testing.assert_allclose(found.numpy(), plain_lrn(X, radius, 2.0, 0.5, 0.75), rtol=1e-5)
    assert found.device == on_device


def test_lrn_is_tensorflows(on_device):
    # Recorded from TensorFlow 2.21.
    np.testing.assert_allclose(
        first(norm.local_response_normalization(X)),
        [0.34899592, 0.45479596, 0.38330317, 0.34649658, 0.26358214, 0.40185112],
        rtol=1e-5,
    )
    x = (np.sin(np.arange(7) * 1.3 + 0.2) * 2).astype(np.float32).reshape(1, 1, 1, 7)
    expected = [0.17991483, 0.75092751, 0.22067745, -0.52571344, -0.49806842, 0.26691562, 0.75902367]
    np.testing.assert_allclose(first(norm.lrn(x, 2, 1.5, 0.3, 0.75), 7), expected, rtol=1e-5)
    half = norm.lrn(to_tensor(X, dt.float16))
    assert half.dtype is dt.float16
    np.testing.assert_allclose(first(half, 2), [0.349, 0.4548], rtol=2e-3)


def test_lrn_refuses_what_does_not_fit(on_device):
    assert norm.lrn(X[:0]).shape == (0, 3, 3, 4)
    with pytest.raises(InvalidArgumentError, match="in must be 4-dimensional"):
        norm.lrn(X[0])
    with pytest.raises(InvalidArgumentError, match="depth_radius must not be negative"):
        norm.lrn(X, depth_radius=-1)
    with pytest.raises(DTypeError, match="not in the list of allowed values"):
        norm.lrn(X.astype(np.float64))


# Lengths, and zeros.


@pytest.mark.parametrize("axis", [None, -1, 0, [1, 2]])
def test_l2_normalize_gives_unit_length(on_device, axis):
    along = tuple(axis) if isinstance(axis, list) else axis
    expected = X / np.sqrt((X**2).sum(along, keepdims=True))
    np.testing.assert_allclose(norm.l2_normalize(X, axis).numpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(norm.l2_normalize(X, dim=axis).numpy(), expected, rtol=1e-5)


def test_l2_normalize_of_little_and_of_complex_numbers(on_device):
    np.testing.assert_array_equal(norm.l2_normalize(np.zeros(2, np.float32)).numpy(), [0, 0])
    np.testing.assert_allclose(norm.l2_normalize([0.1, 0.2], epsilon=1.0).numpy(), [0.1, 0.2], rtol=1e-6)
    np.testing.assert_allclose(norm.l2_normalize(np.array([3 + 4j, 0])).numpy(), [0.6 + 0.8j, 0])
    with pytest.raises(DTypeError):
        norm.l2_normalize(np.array([1, 2]))


@pytest.mark.parametrize(
    "value",
    [
        np.array([0, 1, 0, 2], np.float32),
        np.array([0, 1, 0, 2], np.int8),
        np.array([[0, 1j], [0, 2]], np.complex64),
        np.array([True, False]),
    ],
    ids=lambda v: v.dtype.name,
)
def test_zero_fraction(on_device, value):
    result = norm.zero_fraction(value)
    assert result.dtype is dt.float32
    assert result.numpy() == 0.5


def test_zero_fraction_of_other_things():
    assert norm.zero_fraction(np.array([0, 7], np.uint32)).numpy() == 0.5
    assert norm.zero_fraction(["", "text"]).numpy() == 0.5
    assert norm.zero_fraction(0.0).numpy() == 1
    assert np.isnan(norm.zero_fraction(np.zeros(0, np.float32)).numpy())


def test_shape_rules_know_partial_shapes():
    declared = find_op("FusedBatchNormV3")
    vector, unknown = TensorShape([4]), TensorShape(None)
    shapes = declared.shape_rule(TensorShape([None, 8, 8, 4]), vector, unknown, vector, unknown, **declared.attrs)
    assert [s.as_list() for s in shapes] == [[None, 8, 8, 4], *[[4]] * 4]
    assert declared.shape_rule(unknown, vector, vector, vector, vector, **declared.attrs)[0].rank is None
    layer = find_op("LayerNorm")
    shapes = layer.shape_rule(TensorShape([None, 4]), vector, unknown, **layer.attrs)  # and those of the moments
    assert [s.as_list() for s in shapes] == [[None, 4], [None, 1], [None, 1]]
    assert layer.shape_rule(unknown, vector, unknown, **layer.attrs)[0].rank is None
