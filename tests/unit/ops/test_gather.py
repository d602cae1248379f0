"""Elements picked by index or condition, against NumPy and figures recorded from TensorFlow 2.21."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import situs as tf
from situs._src.base import dtype as dt
from situs._src.base.devices import scope
from situs._src.base.dtype import FIXED, WIDE_UNSIGNED
from situs._src.base.shapes import TensorShape
from situs._src.ir.registry.op import find_op, infer_shapes
from situs._src.ops import gather, scatter
from situs._src.ops.array import transpose
from situs._src.placement import options
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import DTypeError, InvalidArgumentError, UnimplementedError
from tests.unit.ops.conftest import check

X = np.arange(6, dtype=np.float32).reshape(2, 3)
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
WORDS = np.array([[b"a", b"b", b"c"], [b"d", b"", b"f"]], object)
DTYPES = sorted(FIXED, key=lambda dtype: dtype.name)


PICKS = [  # what is done, by us and by NumPy
    (lambda x: gather.gather(x, [1, 0, 1]), lambda x: x[[1, 0, 1]]),
    (lambda x: gather.gather(x, [2, 0], axis=1), lambda x: x[:, [2, 0]]),
    (lambda x: gather.gather(x, [[2, 0], [1, 1]], axis=-1), lambda x: x[:, [[2, 0], [1, 1]]]),
    (lambda x: gather.gather(x, [[2], [0]], batch_dims=1), lambda x: np.take_along_axis(x, np.array([[2], [0]]), 1)),
    (lambda x: gather.gather_nd(x, [[0, 1], [1, 2]]), lambda x: x[[0, 1], [1, 2]]),
    (lambda x: gather.gather_nd(x, [[1], [1]]), lambda x: x[[1, 1]]),
    (lambda x: gather.where([[True], [False]], x, x[0]), lambda x: np.where([[True], [False]], x, x[0])),
    (lambda x: gather.where_v1([False, True], x, x), lambda x: x),
    (lambda x: gather.boolean_mask(x, [False, True]), lambda x: x[[False, True]]),
    (lambda x: gather.boolean_mask(x, [True, False, True], axis=1), lambda x: x[:, [True, False, True]]),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
def test_elements_of_every_dtype_can_be_picked(on_device, dtype):
    x = (np.arange(6) % (2 if dtype is dt.bool else 100)).astype(dtype.as_numpy_dtype).reshape(2, 3)
    for tensor in (to_tensor(x), transpose(to_tensor(np.ascontiguousarray(x.T)))):  # the second is not contiguous
        for ours, theirs in PICKS:
            result = ours(tensor)
            assert result.dtype is dtype
            check(result, theirs(x), on_device)


def test_strings_can_be_picked_on_the_cpu():
    with scope.device("/CPU:0"):
        for ours, theirs in PICKS:
            check(ours(to_tensor(WORDS)), theirs(WORDS))
        for one in (
            gather.gather(["a", "b"], 1),
            gather.gather_nd(["a", "b"], [1]),
            gather.where(True, "b", "a"),
            gather.where_v1(True, "b", "a"),
        ):
            assert one.shape == ()
            assert type(one.numpy()) is bytes
            assert one.numpy() == b"b"


# Gather.


@given(st.data())
def test_gather_with_batch_dims_equals_a_loop(data):
    batch = data.draw(st.integers(0, 2))
    axis = data.draw(st.integers(batch, 2))
    more = data.draw(st.lists(st.integers(0, 3), max_size=2))
    shape = [*CUBE.shape[:batch], *more]
    flat = data.draw(
        st.lists(st.integers(0, CUBE.shape[axis] - 1), min_size=int(np.prod(shape)), max_size=int(np.prod(shape)))
    )
    indices = np.array(flat, np.int32).reshape(shape)
    expected = np.empty([*CUBE.shape[:axis], *more, *CUBE.shape[axis + 1 :]], np.float32)
    for place in np.ndindex(*CUBE.shape[:batch]):
        expected[place] = np.take(CUBE[place], indices[place], axis - batch)
    check(gather.gather(CUBE, indices, axis=axis, batch_dims=batch), expected)


def test_gather_takes_indices_of_many_kinds(on_device):
    for indices in (1, [1], [[1]], np.int64(1), np.array([1], np.int16), to_tensor([1]), np.zeros((0, 2), np.int32)):
        check(gather.gather(X, indices), X[np.asarray(indices)], on_device)
    check(gather.gather_v1(X, [0], None, "name", 1), X[:, :1])
    check(gather.batch_gather(X, [[2], [0]]), [[2.0], [3.0]])
    check(gather.gather(X[:0], np.zeros(0, np.int32)), X[:0])
    check(gather.gather(X, [[0, 1], [2, 0]], batch_dims=-1), [[0, 1], [5, 3]])  # recorded from TensorFlow


@pytest.mark.parametrize(
    ("indices", "axis", "text"),
    [
        ([1, 7], 0, r"indices\[1\] = 7 is not in \[0, 2\)"),
        ([1, -1], 0, r"indices\[1\] = -1 is not in \[0, 2\)"),
        ([[0], [3]], 1, r"indices\[1,0\] = 3 is not in \[0, 3\)"),
        (9, 0, r"indices = 9 is not in \[0, 2\)"),
    ],
)
def test_an_index_that_does_not_exist_is_an_error_on_a_cpu_and_zero_on_a_gpu(indices, axis, text):
    with scope.device("/CPU:0"), pytest.raises(InvalidArgumentError, match=text):
        gather.gather(X, indices, axis=axis)
    with scope.device("/GPU:0"):
        missing = (np.array(indices) < 0) | (np.array(indices) >= X.shape[axis])
        taken = np.take(X, np.where(missing, 0, indices), axis)
        taken[(slice(None),) * axis + (missing,)] = 0
        check(gather.gather(X, indices, axis=axis), taken)


def test_batched_and_empty_gathers_look_at_their_indices_too():
    with scope.device("/CPU:0"):
        with pytest.raises(InvalidArgumentError, match=r"indices\[1,1\] = 3 is not in \[0, 3\)"):
            gather.gather(X, [[0, 1], [2, 3]], batch_dims=1)
        with pytest.raises(InvalidArgumentError, match=r"indices\[0\] = 0 is not in \[0, 0\)"):
            gather.gather(X[:0], [0])
        with pytest.raises(InvalidArgumentError, match=r"indices\[0\] = 5 is not in \[0, 2\)"):
            gather.gather(WORDS, [5])
    with scope.device("/GPU:0"):
        check(gather.gather(X, [[0, 1], [2, 3]], batch_dims=1), [[0, 1], [5, 0]])
        check(gather.gather(X[:0], [0]), np.zeros((1, 3)))


@pytest.mark.parametrize(
    ("params", "indices", "arguments", "text"),
    [
        (X, [0], {"axis": 2}, "Shape must be at least rank 3 but is rank 2"),
        (X, [0], {"axis": -3}, "Shape must be at least rank 3 but is rank 2"),
        (X, [0], {"axis": [0]}, "axis must be scalar"),
        (X, [0], {"axis": 0.5}, "must be a single integer"),
        (1.0, 0, {}, "params must be at least 1 dimensional"),
        (X, [[0, 1]], {"axis": 1, "batch_dims": 1}, r"params.shape\[0\]: 2 should be equal to indices.shape\[0\]: 1"),
        (X, [0, 1], {"axis": 0, "batch_dims": 1}, r"batch_dims \(1\) must be less than or equal to axis \(0\)"),
        (X, [0, 1], {"axis": 1, "batch_dims": 2}, "Expected batch_dims in the range"),
    ],
)
def test_gather_refuses_what_does_not_fit(on_device, params, indices, arguments, text):
    with pytest.raises(InvalidArgumentError, match=text):
        gather.gather(params, indices, **arguments)


def test_gather_refuses_indices_that_are_no_integers(on_device):
    for indices in ([0.5], np.array([0], np.uint8), [True]):
        with pytest.raises(DTypeError, match="Value for attr 'Tindices'"):
            gather.gather(X, indices)


# GatherNd.


@pytest.mark.parametrize(
    ("indices", "batch_dims", "expected"),
    [
        ([1, 2], 0, CUBE[1, 2]),
        ([[1], [0]], 0, CUBE[[1, 0]]),
        ([[[1, 2, 3]], [[0, 0, 0]]], 0, [[23.0], [0.0]]),
        (np.zeros((2, 0), np.int32), 0, np.stack([CUBE, CUBE])),
        (np.zeros((0, 2), np.int64), 0, np.zeros((0, 4))),
        ([[1], [0]], 1, [CUBE[0, 1], CUBE[1, 0]]),
        ([[1, 0], [0, 3]], 1, [4.0, 15.0]),
        ([[[2], [0], [1]], [[3], [3], [3]]], 2, [[2, 4, 9], [15, 19, 23]]),
        ([[[1, 0]], [[0, 3]]], 1, [[4.0], [15.0]]),
    ],
)
def test_gather_nd_takes_vectors_of_indices(on_device, indices, batch_dims, expected):
    check(gather.gather_nd(CUBE, indices, batch_dims), expected, on_device)
    check(gather.gather_nd_v1(CUBE, indices, "name", batch_dims), expected)


def test_gather_nd_checks_indices_on_a_cpu_and_gives_zero_on_a_gpu():
    bad = [[[0, 1]], [[5, 1]]]
    with scope.device("/CPU:0"):
        with pytest.raises(
            InvalidArgumentError, match=r"indices\[1,0\] = \[5, 1\] does not index into param shape \[2,3"
        ):
            gather.gather_nd(X, bad)
        with pytest.raises(InvalidArgumentError, match=r"indices = \[0, -1\] does not index into"):
            gather.gather_nd(X, [0, -1])
        with pytest.raises(InvalidArgumentError, match="does not index into"):
            gather.gather_nd(X[:0], [[0]])
        with pytest.raises(InvalidArgumentError, match="does not index into"):
            gather.gather_nd(WORDS, [[0, 3]])
    with scope.device("/GPU:0"):
        check(gather.gather_nd(X, bad), [[1.0], [0.0]])
        check(gather.gather_nd(X, [[-1]]), np.zeros((1, 3)))
        check(gather.gather_nd(X[:0], [[0]]), np.zeros((1, 3)))


@pytest.mark.parametrize(
    ("indices", "batch_dims", "text"),
    [
        ([[0, 1, 2]], 0, "index innermost dimension length must be <= params rank; saw: 3 vs. 2"),
        (0, 0, "indices must be at least a vector"),
        ([[0, 1]], 2, r"batch_dims = 2 must be less than rank\(indices\) = 2"),
        ([[0]], 1, "The first 1 dimensions of params"),
    ],
)
def test_gather_nd_refuses_what_does_not_fit(on_device, indices, batch_dims, text):
    with pytest.raises(InvalidArgumentError, match=text):
        gather.gather_nd(X, indices, batch_dims)


# Where.


@pytest.mark.parametrize(
    "condition",
    [
        [[True, False], [False, True]],
        [1, 0, 2],
        [1.5, 0.0, float("nan")],
        [0j, 1j],
        np.array([0, 3], np.uint16),
        np.array([0, 3], np.uint64),
        np.array([0, 3], np.float16),
        np.zeros((0, 2), bool),
    ],
)
def test_where_alone_finds_coordinates(on_device, condition):
    found = gather.where(condition)
    assert found.dtype is dt.int64
    check(found, np.argwhere(condition), on_device)


@given(st.sampled_from([(), (3,), (2, 1), (2, 3)]), st.sampled_from([(), (1,), (2, 3)]), st.sampled_from([(), (1, 3)]))
def test_where_broadcasts_like_numpy(condition, x, y):
    mask = np.arange(int(np.prod(condition))).reshape(condition) % 2 == 0
    a, b = np.full(x, 7), np.full(y, 8)
    check(gather.where(mask, a, b), np.where(mask, a, b))


def test_where_adapts_python_values(on_device):
    result = gather.where([True, False], to_tensor(X[:, :2]), 9)
    assert result.dtype is dt.float32
    check(result, [[0, 9], [3, 9]], on_device)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (([True, False], [1, 2, 3], [1, 2, 3]), r"condition \[2\], then \[3\], and else \[3\] must be broadcastable"),
        ((True,), "WhereOp : Unhandled input dimensions: 0"),
        (([True], [1]), "x and y must both be non-None or both be None"),
        ((to_tensor([1, 0]), [1, 2], [3, 4]), "expected to be a bool tensor"),
        (([True], to_tensor([1]), to_tensor([0.5])), "cannot compute SelectV2"),
    ],
)
def test_where_refuses_what_does_not_fit(on_device, arguments, text):
    with pytest.raises(InvalidArgumentError, match=text):
        gather.where(*arguments)


def test_where_of_tensorflow_1_picks_rows(on_device):
    check(gather.where_v1([True, False], X, X * 10), [[0, 1, 2], [30, 40, 50]], on_device)  # recorded from TensorFlow
    check(gather.where_v1(True, X, X * 10), X)
    check(gather.where_v1(X > 2, X, X * 10), np.where(X > 2, X, X * 10))
    check(gather.where_v1([0, 1]), [[1]])


@pytest.mark.parametrize(
    ("condition", "x", "y", "text"),
    [
        ([True, False, True], X, X, "Number of batches of 'then' must match size of 'cond', but saw: 2 vs. 3"),
        ([[True, False, True]], X, X, r"Input 0: \[1,3\] != input 1: \[2,3\]"),
        ([True, False], X, X[0], "'then' and 'else' must have the same size"),
        ([True, False], 1.0, 2.0, "'then' must be at least a vector"),
    ],
)
def test_where_of_tensorflow_1_does_not_broadcast(on_device, condition, x, y, text):
    with pytest.raises(InvalidArgumentError, match=text):
        gather.where_v1(condition, x, y)


# BooleanMask.


@pytest.mark.parametrize(
    ("mask", "axis", "expected"),
    [
        (X > 1, None, X[X > 1]),
        ([True, False, True], -1, X[:, [0, 2]]),
        ([1, 0], 0, X[:1]),
        ([0.0, 2.5], 0, X[1:]),
        ([False, False], 0, X[:0]),
    ],
)
def test_boolean_mask_keeps_what_is_true(on_device, mask, axis, expected):
    check(gather.boolean_mask(X, mask, axis), expected, on_device)
    check(gather.boolean_mask_v1(X, mask, "name", axis), expected)


def test_boolean_mask_of_several_dimensions(on_device):
    mask = np.arange(12).reshape(3, 4) % 3 == 0
    check(gather.boolean_mask(CUBE, mask, axis=1), CUBE[:, mask], on_device)


@pytest.mark.parametrize(
    ("mask", "axis", "text"),
    [
        ([True, False, True], None, r"Shapes \(2,\) and \(3,\) are incompatible"),
        (True, None, "mask cannot be scalar"),
        ([True, False, True], 2, "axis 2 is out of range"),
        ([[True, False, True]], 0, r"Shapes \(2, 3\) and \(1, 3\) are incompatible"),
        ([[[True]]], 0, r"are incompatible"),
        ([True], 0, r"Shapes \(2,\) and \(1,\) are incompatible"),
    ],
)
def test_boolean_mask_refuses_what_does_not_fit(on_device, mask, axis, text):
    with pytest.raises(InvalidArgumentError, match=text):
        gather.boolean_mask(X, mask, axis)


# OneHot.


def test_one_hot_of_an_index_that_does_not_exist_is_off(on_device):
    result = gather.one_hot([0, 2, -1, 5], 3)
    assert result.dtype is dt.float32
    check(result, [[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]], on_device)


def test_one_hot_of_values_that_have_no_dtype_of_indices():
    for none, shape in (([], (0, 3)), ([[]], (1, 0, 3)), (np.zeros([0]), (0, 3)), (np.zeros([2, 0], int), (2, 0, 3))):
        assert gather.one_hot(none, 3).shape == shape
        with tf.Graph().as_default():
            assert gather.one_hot(none, 3).shape == shape
    for one in ([True], np.array([1], np.int16), np.array([1], np.uint32), [np.int16(1)]):
        check(gather.one_hot(one, 3), [[0.0, 1.0, 0.0]])
    for bad in ([1.0], np.ones(1), to_tensor(np.zeros([0]))):
        with pytest.raises(DTypeError, match="TI"):
            gather.one_hot(bad, 3)


@pytest.mark.parametrize("axis", [None, -1, 0, 1, 2])
def test_one_hot_lies_along_any_axis(on_device, axis):
    indices = np.array([[0, 1, 2], [2, 0, 1]])
    expected = np.moveaxis(np.eye(4, dtype=np.float32)[indices], -1, -1 if axis is None else axis)
    check(gather.one_hot(indices, 4, axis=axis), expected)


@pytest.mark.parametrize("dtype", sorted(FIXED - {dt.bool}, key=lambda d: d.name), ids=lambda dtype: dtype.name)
def test_one_hot_has_the_dtype_asked_for(on_device, dtype):
    options.set_soft(dtype in WIDE_UNSIGNED)  # these have no kernel on a GPU
    for result, expected in (
        (gather.one_hot([1, 0], 2, dtype=dtype), [[0, 1], [1, 0]]),
        (gather.one_hot([1, 0], 2, to_tensor(np.array(5).astype(dtype.as_numpy_dtype))), [[0, 5], [5, 0]]),
    ):
        assert result.dtype is dtype
        check(result, np.array(expected).astype(dtype.as_numpy_dtype))


def test_variables_in_functions():
    on, picks = tf.Variable(2.0), tf.Variable([[1], [0]])
    assert tf.function(lambda: gather.one_hot([1], 2, on, on * 0))().numpy().tolist() == [[0, 2]]
    assert tf.function(lambda: gather.one_hot([1], 2, on, 0.0))().numpy().tolist() == [[0, 2]]
    assert tf.function(lambda: gather.batch_gather(X, picks))().numpy().tolist() == [[1], [3]]


def test_one_hot_takes_values_of_many_kinds(on_device):
    check(gather.one_hot([0, 1], 2, on_value=5, off_value=1), [[5, 1], [1, 5]])
    assert gather.one_hot([0], 2, on_value=5).dtype is dt.int32
    check(gather.one_hot([0], 2, on_value=True, off_value=False), [[True, False]])
    check(gather.one_hot([0], 2, on_value=1j, off_value=2j), [[1j, 2j]])
    check(gather.one_hot([0], 2, on_value=float("inf"), dtype=dt.float32), [[np.inf, 0]])
    for kind in (np.uint8, np.int8, np.int64):
        check(gather.one_hot(kind(1), 3), [0, 1, 0])
    check(gather.one_hot([0, 1], 0), np.zeros((2, 0)))
    with scope.device("/CPU:0"):
        check(gather.one_hot([0, 1], 2, on_value="a", off_value="b"), [[b"a", b"b"], [b"b", b"a"]])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"axis": 2}, r"Expected axis to be -1 or between \[0, 2\).  But received: 2"),
        ({"axis": -2}, "But received: -2"),
        ({"depth": -1}, "depth must be non-negative, got: -1"),
        ({"depth": [2]}, r"depth must be a scalar, but got: \[1\]"),
        ({"depth": 2.5}, "must be a single integer"),
        ({"on_value": [5], "off_value": 1}, r"on_value must be a scalar, but got: \[1\]"),
        ({"on_value": 5.0, "off_value": 1}, "dtype float32 of on_value does not match dtype int32 of off_value"),
        ({"on_value": 5.0, "dtype": dt.int32}, "dtype int32 of dtype parameter does not match dtype float32"),
        ({"dtype": dt.bool}, "Cannot convert 1 to EagerTensor of dtype bool"),
        ({"dtype": dt.string}, "Cannot convert 1 to EagerTensor of dtype string"),
        ({"indices": [0.0, 1.0]}, "Value for attr 'TI' of float"),
        ({"indices": to_tensor(np.array([1], np.int16))}, "Value for attr 'TI' of int16"),
    ],
)
def test_one_hot_refuses_what_does_not_fit(on_device, arguments, text):
    with pytest.raises(InvalidArgumentError, match=text):
        gather.one_hot(**{"indices": [0, 1], "depth": 3, **arguments})


# The rules that graphs are built with.

UNKNOWN = TensorShape(None)


def s(*dims):
    return TensorShape(dims)


@pytest.mark.parametrize(
    ("name", "inputs", "attrs", "expected"),
    [
        ("GatherV2", (s(None, 3), s(2, None), 0), {"batch_dims": 0}, s(2, None, 3)),
        ("GatherV2", (s(None, 3), s(2, None), 1), {"batch_dims": 1}, s(None, None)),
        ("GatherV2", (s(None, 3), s(2), None), {"batch_dims": 0}, s(None, None)),
        ("GatherV2", (UNKNOWN, s(2), 0), {"batch_dims": 0}, UNKNOWN),
        ("GatherNd", (s(None, 3, 4), s(None, 2)), {"batch_dims": 0}, s(None, 4)),
        ("GatherNd", (s(None, 3, 4), s(5, None)), {"batch_dims": 0}, UNKNOWN),
        ("Where", (s(None, 3),), {}, s(None, 2)),
        ("Where", (UNKNOWN,), {}, s(None, None)),
        ("SelectV2", (s(None, 1), s(3), s()), {}, s(None, 3)),
        ("Select", (s(None), s(None, 3), s(2, None)), {}, s(2, 3)),
        ("BooleanMask", (s(None, 3, 4), s(None, 3), 0), {}, s(None, 4)),
        ("BooleanMask", (s(2, 3, 4), UNKNOWN, 0), {}, UNKNOWN),
        ("OneHot", (s(None, 3), 5, None, None), {"axis": 1}, s(None, 5, 3)),
        ("OneHot", (s(None, 3), None, 1, 0), {"axis": -1}, s(None, 3, None)),
        ("OneHot", (UNKNOWN, 5, 1, 0), {"axis": -1}, UNKNOWN),
    ],
)
def test_shape_rules_take_partial_shapes(name, inputs, attrs, expected):
    assert infer_shapes(find_op(name), inputs, attrs) == [expected]


@pytest.mark.parametrize("policy", ["IGNORE", "ERROR", "x"])
def test_policies_that_do_not_exist_are_refused(policy):
    with pytest.raises(UnimplementedError, match="only bad_indices_policy is 'DEFAULT'"):
        gather.gather_nd([1], [[0]], bad_indices_policy=policy)
    with pytest.raises(UnimplementedError, match="only bad_indices_policy is 'DEFAULT'"):
        scatter.scatter_nd([[0]], [1], [1], policy)


def test_gather_nd_takes_no_negative_batch_dims():  # as in TensorFlow 2.21
    with pytest.raises(InvalidArgumentError, match="does not allow negative batch_dims"):
        gather.gather_nd([[1, 2]], [[0]], -1)
