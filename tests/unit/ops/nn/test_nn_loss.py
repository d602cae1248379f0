"""Losses against figures recorded from TensorFlow 2.21 and their definitions in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from situs._src.base import dtype as dt
from situs._src.base.devices import scope
from situs._src.base.shapes import TensorShape
from situs._src.ir.registry.op import find_op
from situs._src.ops.nn import loss
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import DTypeError, InvalidArgumentError

LOGITS = np.array([[1, 2, 3], [0, -1, 5]], np.float32)
LABELS = np.array([[0.2, 0.3, 0.5], [0, 0, 1]], np.float32)
HALF = [dt.float16, dt.bfloat16]

softmax_loss = loss.softmax_cross_entropy_with_logits
sparse_loss = loss.sparse_softmax_cross_entropy_with_logits
sigmoid_loss = loss.sigmoid_cross_entropy_with_logits


# Softmax cross entropy.


def test_softmax_cross_entropy_is_tensorflows(on_device):
    result = softmax_loss(labels=LABELS, logits=LOGITS)
    assert result.device == on_device
    # Recorded from TensorFlow 2.21.
    np.testing.assert_allclose(result.numpy(), [1.1076059, 0.00917445], rtol=1e-6)
    np.testing.assert_allclose(
        softmax_loss(LABELS, LOGITS, axis=0).numpy(), [0.06265233, 0.0145762, 1.1903921], rtol=1e-6
    )


@pytest.mark.parametrize("dtype", [*HALF, dt.float64], ids=lambda d: d.name)
def test_softmax_cross_entropy_keeps_the_dtype_of_logits(on_device, dtype):
    result = softmax_loss(to_tensor(LABELS, dtype), to_tensor(LOGITS, dtype))
    assert result.dtype is dtype
    np.testing.assert_allclose(np.asarray(result, np.float64), [1.1076059, 0.00917445], rtol=5e-3)


@pytest.mark.parametrize(
    "labels", [LABELS.astype(np.float64), (LABELS > 0.4), (LABELS > 0.4).astype(np.uint8)], ids=str
)
def test_labels_are_cast_to_the_dtype_of_logits(on_device, labels):
    expected = softmax_loss(labels.astype(np.float32), LOGITS).numpy()
    np.testing.assert_allclose(softmax_loss(to_tensor(labels), to_tensor(LOGITS)).numpy(), expected)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
def test_softmax_cross_entropy_of_more_dimensions(on_device, axis):
    x = np.sin(np.arange(24.0)).reshape(2, 3, 4)
    y = np.cos(np.arange(24.0)).reshape(2, 3, 4) ** 2
    expected = -(y * (x - np.log(np.exp(x).sum(axis, keepdims=True)))).sum(axis)
    np.testing.assert_allclose(softmax_loss(y, x, axis).numpy(), expected)


def test_one_row_of_labels_serves_all(on_device):
    # Recorded from TensorFlow 2.21.
    for labels in (LABELS[:1], LABELS[0]):
        np.testing.assert_allclose(softmax_loss(labels, LOGITS).numpy(), [1.1076059, 2.8091745], rtol=1e-6)


def test_extreme_logits(on_device):
    labels, logits = np.array([[1, 0]], np.float32), np.array([[1e4, -1e4]], np.float32)
    (perfect,) = softmax_loss(labels, logits).numpy()
    assert perfect == 0
    assert not np.signbit(perfect)
    assert softmax_loss(1 - labels, logits).numpy() == [2e4]
    assert softmax_loss(1 - labels, np.array([[1, -np.inf]], np.float32)).numpy() == [np.inf]


@pytest.mark.parametrize(
    ("labels", "logits", "axis", "text"),
    [
        ((2, 4), (2, 3), -1, r"must be broadcastable: logits_size=\[2,3\] labels_size=\[2,4\]"),
        ((2, 3), (1, 3), -1, "must be broadcastable"),
        ((2, 3), (2, 1), -1, "must be broadcastable"),
        ((2, 1, 4), (2, 3, 4), -1, "must be broadcastable"),
        ((), (3,), -1, "must be broadcastable"),
        ((2, 3), (2, 3), 2, "axis 2 is out of range"),
        ((), (), -1, "at least one dimension"),
    ],
)
def test_softmax_cross_entropy_refuses_wrong_shapes(on_device, labels, logits, axis, text):
    with pytest.raises(InvalidArgumentError, match=text):
        softmax_loss(np.zeros(labels, np.float32), np.zeros(logits, np.float32), axis)


def test_softmax_cross_entropy_refuses_integers_as_logits(on_device):
    with pytest.raises(DTypeError, match="not in the list of allowed values"):
        softmax_loss([[0, 1]], [[1, 2]])


def test_empty_batches_and_classes(on_device):
    empty = np.zeros((0, 3), np.float32)
    assert softmax_loss(empty, empty).shape == (0,)
    assert sparse_loss(np.zeros(0, np.int32), empty).shape == (0,)
    np.testing.assert_array_equal(softmax_loss(empty.T[:2], empty.T[:2]).numpy(), [0, 0])
    with pytest.raises(InvalidArgumentError, match="Must have at least one class"):
        sparse_loss([0, 0], np.zeros((2, 0), np.float32))


# Sparse labels.


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_sparse_cross_entropy_is_tensorflows(on_device, dtype):
    result = sparse_loss(labels=np.array([0, 2], dtype), logits=LOGITS)
    # Recorded from TensorFlow 2.21.
    np.testing.assert_allclose(result.numpy(), [2.407606, 0.00917445], rtol=1e-6)
    assert sparse_loss(dtype(0), LOGITS[0]).numpy() == pytest.approx(2.407606)


@given(st.lists(st.integers(0, 2), min_size=6, max_size=6), st.sampled_from([(6,), (2, 3), (1, 3, 2)]))
def test_sparse_and_one_hot_labels_agree(labels, shape):
    numbers = np.array(labels).reshape(shape)
    logits = np.sin(np.arange(18.0)).reshape(*shape, 3)
    np.testing.assert_allclose(sparse_loss(numbers, logits).numpy(), softmax_loss(np.eye(3)[numbers], logits).numpy())


@pytest.mark.parametrize("dtype", HALF, ids=lambda d: d.name)
def test_sparse_cross_entropy_of_narrow_floats(on_device, dtype):
    result = sparse_loss([0, 2], to_tensor(LOGITS, dtype))
    assert result.dtype is dtype
    np.testing.assert_allclose(np.asarray(result, np.float64), [2.407606, 0.00917445], rtol=5e-3)


@pytest.mark.parametrize("label", [3, -1, -100, 2**31 - 1])
def test_a_label_that_is_no_class_is_an_error_on_the_cpu_and_nan_on_a_gpu(label):
    with scope.device("/cpu:0"), pytest.raises(InvalidArgumentError, match=f"label value of {label} which is outside"):
        sparse_loss([0, label], LOGITS)
    with scope.device("/gpu:0"):
        good, bad = sparse_loss([0, label], LOGITS).numpy()
    assert good == pytest.approx(2.407606)
    assert np.isnan(bad)


@pytest.mark.parametrize(
    ("labels", "logits", "text"),
    [
        ((2, 1), (2, 3), "`labels.shape.rank` must equal `logits.shape.rank - 1`"),
        ((3,), (2, 3), "`labels.shape` must equal `logits.shape` except for the last"),
        ((1,), (2, 3), "`labels.shape` must equal `logits.shape` except for the last"),
        ((), (), "`logits` cannot be a scalar"),
    ],
)
def test_sparse_cross_entropy_refuses_wrong_shapes(on_device, labels, logits, text):
    with pytest.raises(InvalidArgumentError, match=text):
        sparse_loss(np.zeros(labels, np.int32), np.zeros(logits, np.float32))


@pytest.mark.parametrize("labels", [np.zeros(2, np.float32), np.zeros(2, np.complex64)], ids=str)
def test_sparse_labels_are_int32_or_int64(on_device, labels):
    with pytest.raises(DTypeError, match="'Tlabels'"):
        sparse_loss(labels, LOGITS)


# Sigmoid cross entropy.


def test_sigmoid_cross_entropy_is_tensorflows(on_device):
    # Recorded from TensorFlow 2.21.
    expected = [[1.1132617, 1.526928, 1.5485873], [0.6931472, 0.3132617, 0.00671535]]
    np.testing.assert_allclose(sigmoid_loss(LABELS, LOGITS).numpy(), expected, rtol=2e-6)


def test_sigmoid_cross_entropy_neither_overflows_nor_cancels(on_device):
    logits = np.array([1e4, 1e4, -1e4, -1e4, -30, 30], np.float32)
    labels = np.array([1, 0, 1, 0, 0, 1], np.float32)
    expected = [0, 1e4, 1e4, 0, np.exp(-30), np.exp(-30)]
    np.testing.assert_allclose(sigmoid_loss(labels, logits).numpy(), expected, rtol=1e-5)


def test_weighted_cross_entropy_is_tensorflows(on_device):
    # Recorded from TensorFlow 2.21.
    expected = [[1.175914, 1.5650064, 1.572881], [0.6931472, 0.31326175, 0.0134307]]
    result = loss.weighted_cross_entropy_with_logits(LABELS, LOGITS, 2.0)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5)
    unweighted = loss.weighted_cross_entropy_with_logits(LABELS, LOGITS, [1.0, 1.0, 1.0])
    np.testing.assert_allclose(unweighted.numpy(), sigmoid_loss(LABELS, LOGITS).numpy(), rtol=1e-5)
    assert loss.weighted_cross_entropy_with_logits([1.0], [1.0], np.ones((3, 1), np.float32)).shape == (3, 1)


@pytest.mark.parametrize("function", [sigmoid_loss, lambda y, x: loss.weighted_cross_entropy_with_logits(y, x, 2.0)])
def test_sigmoid_losses_do_not_broadcast_labels(on_device, function):
    with pytest.raises(InvalidArgumentError, match=r"must have the same shape, received \(\(2, 3\) vs \(1, 3\)\)"):
        function(LABELS[:1], LOGITS)


def test_labels_of_another_dtype_are_refused(on_device):
    with pytest.raises(DTypeError, match="cast input 'labels'"):
        sigmoid_loss(to_tensor(LABELS, dt.float64), to_tensor(LOGITS))


# The rest.


def test_l2_loss(on_device):
    assert loss.l2_loss(LOGITS).numpy() == 20
    assert loss.l2_loss(np.zeros((0, 2), np.float32)).numpy() == 0
    assert loss.l2_loss(3.0).numpy() == 4.5
    assert loss.l2_loss([[3.0, 4.0]]).shape == ()
    for dtype in (*HALF, dt.float64):
        assert loss.l2_loss(to_tensor(LOGITS, dtype)).dtype is dtype
        assert float(loss.l2_loss(to_tensor(LOGITS, dtype))) == 20
    with pytest.raises(DTypeError, match="not in the list of allowed values"):
        loss.l2_loss([1, 2])


def test_log_poisson_loss_is_tensorflows(on_device):
    targets, log_input = np.array([0, 1, 2, 5], np.float32), np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    # Recorded from TensorFlow 2.21.
    np.testing.assert_allclose(
        loss.log_poisson_loss(targets, log_input).numpy(), [1.105171, 1.0214027, 0.74985886, -0.50817525], rtol=1e-5
    )
    np.testing.assert_allclose(
        loss.log_poisson_loss(targets, log_input, compute_full_loss=True).numpy(),
        [1.105171, 1.0214027, 1.4016653, 4.262672],
        rtol=1e-5,
    )
    with pytest.raises(InvalidArgumentError, match="`log_input` and `targets` must have the same shape"):
        loss.log_poisson_loss(targets[:3], log_input)


# TensorFlow 1's spellings.


def test_first_generation_spellings():
    expected = softmax_loss(LABELS, LOGITS, axis=0).numpy()
    for call in (
        lambda: loss.softmax_cross_entropy_with_logits_v1(labels=LABELS, logits=LOGITS, dim=0),
        lambda: loss.softmax_cross_entropy_with_logits_v2(labels=LABELS, logits=LOGITS, dim=0),
        lambda: loss.softmax_cross_entropy_with_logits_v2(labels=LABELS, logits=LOGITS, axis=0),
    ):
        np.testing.assert_array_equal(call().numpy(), expected)
    default = softmax_loss(LABELS, LOGITS).numpy()
    np.testing.assert_array_equal(
        loss.softmax_cross_entropy_with_logits_v1(labels=LABELS, logits=LOGITS).numpy(), default
    )
    np.testing.assert_array_equal(
        loss.softmax_cross_entropy_with_logits_v2(labels=LABELS, logits=LOGITS).numpy(), default
    )
    np.testing.assert_array_equal(
        loss.sparse_softmax_cross_entropy_with_logits_v1(labels=[0, 2], logits=LOGITS).numpy(),
        sparse_loss([0, 2], LOGITS).numpy(),
    )
    np.testing.assert_array_equal(
        loss.weighted_cross_entropy_with_logits_v1(targets=LABELS, logits=LOGITS, pos_weight=2.0).numpy(),
        loss.weighted_cross_entropy_with_logits(LABELS, LOGITS, 2.0).numpy(),
    )


@pytest.mark.parametrize(
    "function",
    [
        sigmoid_loss,
        loss.softmax_cross_entropy_with_logits_v1,
        loss.sparse_softmax_cross_entropy_with_logits_v1,
        loss.weighted_cross_entropy_with_logits_v1,
    ],
)
def test_a_missing_input_is_named(function):
    with pytest.raises(InvalidArgumentError, match="`labels` is missing"):
        function(logits=LOGITS)


def test_both_names_of_an_argument_are_refused():
    with pytest.raises(InvalidArgumentError, match="Cannot specify both 'dim' and 'axis'"):
        loss.softmax_cross_entropy_with_logits_v2(LABELS, LOGITS, axis=0, dim=0)
    with pytest.raises(InvalidArgumentError, match="Cannot specify both 'targets' and 'labels'"):
        loss.weighted_cross_entropy_with_logits_v1(LABELS, LOGITS, 2.0, targets=LABELS)


def test_shape_rules_know_partial_shapes():
    unknown, rows = TensorShape(None), TensorShape([None, 3])
    softmax = find_op("SoftmaxCrossEntropyWithLogits").shape_rule
    assert softmax(rows, unknown, axis=-1).as_list() == [None]
    assert softmax(rows, TensorShape([4, None]), axis=0).as_list() == [3]
    assert softmax(unknown, rows, axis=-1).rank is None
    sparse = find_op("SparseSoftmaxCrossEntropyWithLogits").shape_rule
    assert sparse(rows, TensorShape([5])).as_list() == [5]
    assert sparse(unknown, TensorShape([5])).as_list() == [5]
    assert sparse(rows, unknown).as_list() == [None]
