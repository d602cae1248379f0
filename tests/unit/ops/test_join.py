"""Tensors put together and taken apart, against NumPy and figures recorded from TensorFlow 2.21."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import situs as tf
import situs.compat.v1 as v1
from situs._src.base import dtype as dt
from situs._src.base.dtype import FIXED
from situs._src.base.shapes import TensorShape
from situs._src.ir.registry.op import find_op, infer_shapes
from situs._src.ops import join
from situs._src.ops.array import transpose
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import DTypeError, InvalidArgumentError, ResourceExhaustedError
from tests.unit.ops.conftest import check

X = np.arange(6, dtype=np.float32).reshape(2, 3)
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
WORDS = np.array([[b"a", b"b", b"c"], [b"d", b"", b"f"]], object)
DTYPES = sorted(FIXED, key=lambda dtype: dtype.name)


MOVES = [  # what is done, by us and by NumPy
    (lambda x: join.concat([x, x], 0), lambda x: np.concatenate([x, x], 0)),
    (lambda x: join.concat([x, x, x], -1), lambda x: np.concatenate([x, x, x], -1)),
    (lambda x: join.stack([x, x], 1), lambda x: np.stack([x, x], 1)),
    (lambda x: join.unstack(x)[1], lambda x: x[1]),
    (lambda x: join.unstack(x, axis=-1)[0], lambda x: x[:, 0]),
    (lambda x: join.split(x, 3, 1)[2], lambda x: x[:, 2:]),
    (lambda x: join.split(x, [1, -1], 1)[1], lambda x: x[:, 1:]),
    (lambda x: join.tile(x, [2, 3]), lambda x: np.tile(x, [2, 3])),
    (lambda x: join.repeat(x, [1, 2], 0), lambda x: np.repeat(x, [1, 2], 0)),
    (lambda x: join.repeat(x, 2), lambda x: np.repeat(x, 2)),
    (lambda x: join.pad(x, [[1, 0], [0, 1]], "REFLECT"), lambda x: np.pad(x, [[1, 0], [0, 1]], "reflect")),
    (lambda x: join.pad(x, [[1, 2], [3, 0]], "symmetric"), lambda x: np.pad(x, [[1, 2], [3, 0]], "symmetric")),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
def test_elements_of_every_dtype_move_unchanged(on_device, dtype):
    x = (np.arange(6) % (2 if dtype is dt.bool else 100)).astype(dtype.as_numpy_dtype).reshape(2, 3)
    for tensor in (to_tensor(x), transpose(to_tensor(np.ascontiguousarray(x.T)))):  # the second is not contiguous
        for ours, theirs in MOVES:
            result = ours(tensor)
            assert result.dtype is dtype
            check(result, theirs(x), on_device)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
def test_padding_of_every_dtype(on_device, dtype):
    x = np.array([1, 0, 1]).astype(dtype.as_numpy_dtype)
    assert join.pad(x, [[1, 2]]).dtype is dtype
    one = True if dtype is dt.bool else 1
    for result, expected in (
        (join.pad(x, [[1, 2]]), [0, 1, 0, 1, 0, 0]),
        (join.pad(x, [[1, 2]], constant_values=one), [1, 1, 0, 1, 1, 1]),
        (join.pad_v1(x, [[1, 2]], "CONSTANT", "name", one), [1, 1, 0, 1, 1, 1]),
    ):
        check(result, np.array(expected).astype(dtype.as_numpy_dtype), on_device)


def test_strings_move_on_the_cpu():
    for ours, theirs in MOVES:
        check(ours(to_tensor(WORDS)), theirs(WORDS))
    check(join.pad(["a"], [[1, 1]]), [b"", b"a", b""])
    check(join.pad(["a"], [[1, 0]], constant_values="xy"), [b"xy", b"a"])
    assert join.unstack(["a", "b"])[1].numpy() == b"b"
    for scalar in (join.tile("a", []), join.pad("a", []), join.pad("a", [], "REFLECT")):
        assert scalar.numpy() == b"a"
    assert [part.numpy().tolist() for part in join.split(["a", "b"], [0, 2])] == [[], [b"a", b"b"]]


# Concat.


@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.integers(-3, 2))
def test_concat_equals_numpy(sizes, axis):
    shapes = [[size if dim == axis % 3 else 2 for dim in range(3)] for size in sizes]
    parts = [np.full(shape, number) for number, shape in enumerate(shapes)]
    check(join.concat(parts, axis), np.concatenate(parts, axis))


def test_concat_of_one_tensor_is_that_tensor(on_device):
    check(join.concat([X], 0), X)
    check(join.concat(X, 0), X)
    check(join.concat([X], 5), X)


def test_concat_takes_the_dtype_of_the_tensor_among_python_values(on_device):
    assert join.concat([[1, 2], to_tensor([1.0])], 0).dtype is dt.float32
    assert join.concat([np.array([1]), [2]], 0).dtype is dt.int64
    check(join.concat([X, X], [0]), np.concatenate([X, X]))


@pytest.mark.parametrize(
    ("values", "axis", "text"),
    [
        ([X, X], 2, r"Expected concatenating dimensions in the range \[-2, 2\), but got 2"),
        ([X, X], -3, "but got -3"),
        ([1, 2], 0, r"Can't concatenate scalars \(use tf.stack instead\)"),
        ([X, CUBE], 0, r"Ranks of all input tensors should match: shape\[0\] = \[2,3\] vs. shape\[1\] = \[2,3,4\]"),
        ([np.zeros(0, np.float32), X], 0, "Ranks of all input tensors should match"),
        ([X, np.zeros((2, 4), np.float32)], 0, r"Dimension 1 in both shapes must be equal"),
        ([X, X], [0, 1], r"axis tensor should be a scalar integer, but got shape \[2\]"),
        ([], 0, "at least one tensor"),
        ([X, X], 0.5, "must be a single integer"),
    ],
)
def test_concat_refuses_what_does_not_join(on_device, values, axis, text):
    with pytest.raises(InvalidArgumentError, match=text):
        join.concat(values, axis)


def test_concat_refuses_mixed_dtypes(on_device):
    with pytest.raises(DTypeError, match="cannot compute ConcatV2 as input #1"):
        join.concat([to_tensor([1.0]), to_tensor([1])], 0)
    with pytest.raises(DTypeError):
        join.concat([[[1, 2]], [[3.5, 4]]], 0)


# Stack and unstack.


@given(st.integers(1, 4), st.integers(-3, 2))
def test_unstack_undoes_stack(count, axis):
    parts = [X + number for number in range(count)]
    stacked = join.stack(parts, axis)
    check(stacked, np.stack(parts, axis))
    for ours, theirs in zip(join.unstack(stacked, axis=axis), parts, strict=True):
        check(ours, theirs)


def test_stack_of_python_values_has_the_dtype_that_holds_them_all(on_device):
    for values, dtype in (([1, 2.5], dt.float32), ([np.float32(1), 2], dt.float32), ([], dt.float32), (5, dt.int32)):
        result = join.stack(values)
        assert result.dtype is dtype
        check(result, values)
    assert join.stack([2, to_tensor(1.0)]).dtype is dt.float32
    check(join.stack(X), X)
    check(join.stack(to_tensor(X), axis=1), X.T)
    check(join.stack([[to_tensor(1), 2], [3, 4]]), [[1, 2], [3, 4]])


def test_stack_refuses_other_shapes_and_axes(on_device):
    with pytest.raises(InvalidArgumentError, match=r"Argument `axis` = 3 not in range \[-3, 3\)"):
        join.stack([X, X], axis=3)
    with pytest.raises(InvalidArgumentError, match=r"values\[0\].shape = \[2,3\] != values\[1\].shape = \[2,3,4\]"):
        join.stack([to_tensor(X), CUBE])
    with pytest.raises(InvalidArgumentError, match="at least one tensor"):
        join.stack([], axis=1)


def test_unstack_refuses_other_counts_and_axes(on_device):
    with pytest.raises(InvalidArgumentError, match=r"Argument `axis` = 2 not in range \[-2, 2\)"):
        join.unstack(X, axis=2)
    with pytest.raises(InvalidArgumentError, match=r"Input shape axis 0 must equal 3, got shape \[2,3\]"):
        join.unstack(X, num=3)
    with pytest.raises(InvalidArgumentError, match=r"`axis` = 0 not in range \[0, 0\)"):
        join.unstack(1.0)
    assert join.unstack(np.zeros((0, 2))) == []
    assert len(join.unstack(X, num=2)) == 2


# Split.


@given(st.lists(st.integers(0, 4), min_size=1, max_size=4), st.booleans(), st.integers(-1, 0))
def test_split_gives_parts_that_join_again(sizes, rest, axis):
    x = np.moveaxis(np.arange(2 * sum(sizes)).reshape(-1, 2), 0, axis)
    asked = [*sizes[:-1], -1] if rest else sizes
    parts = join.split(x, asked, axis)
    assert [part.shape[axis] for part in parts] == sizes
    check(join.concat(parts, axis), x)


def test_split_takes_numbers_and_sizes_of_many_kinds(on_device):
    for asked in (2, np.int64(2), [2, 2], [-1, 2], to_tensor([2, 2]), np.array([2, 2])):
        parts = join.split([1, 2, 3, 4], asked)
        assert [part.numpy().tolist() for part in parts] == [[1, 2], [3, 4]]
        assert {part.device for part in parts} == {on_device}
    assert [part.shape for part in join.split(np.zeros((0, 2)), 3)] == [(0, 2)] * 3


@pytest.mark.parametrize(
    ("asked", "axis", "text"),
    [
        (2, 1, r"evenly divide the split dimension, but got split_dim 1 \(size = 3\) and num_split 2"),
        (0, 1, "'num_split' of 0 must be at least minimum 1"),
        (-1, 1, "'num_split' of -1 must be at least minimum 1"),
        (2, 2, r"-input rank\(-2\) <= split_dim < input rank \(2\), but got 2"),
        ([1, 3], 1, "Determined shape must either match input shape.*Got: 4"),
        ([1, 1], 1, "Determined shape must either match input shape.*Got: 2"),
        ([-1, 4], 1, "Got: 4"),
        ([-1, -1], 1, "only be one -1"),
        ([-2, 5], 1, "Split size at index 0 must be >= 0. Got: -2"),
        ([[1, 2]], 1, "must be 1-D"),
        ([], 1, "Determined shape"),
        (2.0, 0, "Rank-0 tensors are not supported"),
        ([0.5, 2.5], 1, "must be a single integer"),
    ],
)
def test_split_refuses_what_does_not_divide(on_device, asked, axis, text):
    with pytest.raises(InvalidArgumentError, match=text):
        join.split(X, asked, axis)


def test_split_refuses_another_number_of_sizes(on_device):
    with pytest.raises(InvalidArgumentError, match="have the same elements as outputs"):
        join.split(X, [1, 2], 1, num=3)


# Tile and repeat.


@given(st.tuples(st.integers(0, 3), st.integers(0, 3)))
def test_tile_equals_numpy(multiples):
    check(join.tile(X, multiples), np.tile(X, multiples))


@pytest.mark.parametrize(
    ("multiples", "text"),
    [
        ([2], "vector of length 2 but got length 1"),
        ([1, 2, 3], "vector of length 2 but got length 3"),
        ([2, -1], r"Expected multiples\[1\] >= 0, but got -1"),
        (2, "Expected multiples to be 1-D"),
        ([1.0, 2.0], "must be a single integer"),
    ],
)
def test_tile_refuses_other_multiples(on_device, multiples, text):
    with pytest.raises(InvalidArgumentError, match=text):
        join.tile(X, multiples)


def test_sizes_beyond_all_memory_are_an_error_of_ours(on_device):
    with pytest.raises(ResourceExhaustedError):
        join.tile([1.0], [2**45])
    with pytest.raises(ResourceExhaustedError, match=r"it takes [\d.]+ GiB, and the (host|GPU) has"):
        join.tile([[1.0]], [2**40, 2**40])
    check(join.tile(1.0, []), 1.0)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("repeats", [0, 2, [3]])
def test_repeat_by_one_number_equals_numpy(on_device, repeats, axis):
    check(join.repeat(X, repeats, axis), np.repeat(X, repeats, axis), on_device)


def test_repeat_by_many_numbers_equals_numpy(on_device):
    check(join.repeat(X, [1, 2, 0], 1), np.repeat(X, [1, 2, 0], 1), on_device)
    check(join.repeat(X, to_tensor(np.array([2, 1])), -2), np.repeat(X, [2, 1], 0))
    check(join.repeat(X, np.arange(6)), np.repeat(X, np.arange(6)))
    check(join.repeat(5, 3), [5, 5, 5])
    check(join.repeat(X[:0], [], 0), X[:0])


@pytest.mark.parametrize(
    ("repeats", "axis", "text"),
    [
        ([1, 2, 3], 0, "Dimensions 2 and 3 are not compatible"),
        ([1, 2, 3], None, "Dimensions 6 and 3 are not compatible"),
        ([[1, 2]], 0, "must have rank at most 1"),
        (-1, 0, "Expected repeats >= 0, but got -1"),
        ([1, -1], 0, "Expected repeats >= 0, but got -1"),
        (2, 2, "axis 2 is out of range"),
        (1.5, 0, "must be a single integer"),
    ],
)
def test_repeat_refuses_other_repeats(on_device, repeats, axis, text):
    with pytest.raises(InvalidArgumentError, match=text):
        join.repeat(X, repeats, axis)


# Pad.


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=3, max_size=3))
def test_pad_equals_numpy(paddings):
    x = np.arange(36).reshape(3, 4, 3)
    check(join.pad(x, paddings), np.pad(x, paddings))
    check(join.pad(x, paddings, constant_values=7), np.pad(x, paddings, constant_values=7))
    check(join.pad(x, paddings, "REFLECT"), np.pad(x, paddings, "reflect"))
    check(join.pad(x, paddings, "SYMMETRIC"), np.pad(x, paddings, "symmetric"))


def test_pad_of_empty_tensors_and_scalars(on_device):
    check(join.pad(np.zeros((0, 2)), [[1, 0], [0, 0]], constant_values=3), [[3.0, 3.0]], on_device)
    check(join.pad(1.0, np.zeros((0, 2), np.int32)), 1.0)
    check(join.pad(1.0, []), 1.0)
    check(join.pad(np.zeros((0, 2)), [[0, 0], [1, 1]], "REFLECT"), np.zeros((0, 4)))


@pytest.mark.parametrize(
    ("paddings", "mode", "text"),
    [
        ([[1, 1]], "CONSTANT", "The first dimension of paddings must be the rank of inputs"),
        ([[1, 1], [-1, 0]], "CONSTANT", "Paddings must be non-negative: -1 0"),
        ([1, 1], "CONSTANT", r"paddings must be a matrix with 2 columns: \[2\]"),
        ([[1, 1, 1], [1, 1, 1]], "CONSTANT", r"matrix with 2 columns: \[2,3\]"),
        (5, "CONSTANT", "matrix with 2 columns"),
        ([[2, 1], [2, 2]], "REFLECT", "paddings must be less than the dimension size: 2, 1"),
        ([[3, 1], [2, 2]], "SYMMETRIC", "paddings must be no greater than the dimension size: 3, 1"),
        ([[1, 1], [0, 0]], "foo", "expected to be one of"),
        ([[1, 1], [0.5, 0]], "CONSTANT", "must be a single integer"),
    ],
)
def test_pad_refuses_other_paddings(on_device, paddings, mode, text):
    with pytest.raises(InvalidArgumentError, match=text):
        join.pad(X, paddings, mode)


def test_pad_refuses_other_values(on_device):
    with pytest.raises(InvalidArgumentError, match=r"constant_values must be a scalar. Found: \[2\]"):
        join.pad(X, [[1, 1], [0, 0]], constant_values=[9.0, 1.0])
    with pytest.raises(DTypeError):
        join.pad(np.array([1, 2]), [[1, 1]], constant_values=0.5)


# The rules that graphs are built with.


def shapes(value):
    if isinstance(value, dict):
        return TensorShape(value["shape"])
    return [shapes(each) for each in value] if isinstance(value, list) else value


def s(*dims):
    """The shape of a tensor input."""
    return {"shape": None if dims == (...,) else dims}


@pytest.mark.parametrize(
    ("name", "inputs", "attrs", "expected"),
    [
        ("ConcatV2", ([s(2, None), s(None, 3)], 0), {}, [(None, 3)]),
        ("ConcatV2", ([s(2, None), s(3, None)], 0), {}, [(5, None)]),
        ("ConcatV2", ([s(2, None), s(3, 4)], None), {}, [(None, None)]),
        ("ConcatV2", ([s(...), s(...)], 0), {}, [None]),
        ("Pack", ([s(None, 3), s(2, None)],), {"axis": 1}, [(2, 2, 3)]),
        ("Unpack", (s(2, None),), {"num": None, "axis": 0}, [(None,), (None,)]),
        ("Unpack", (s(...),), {"num": 2, "axis": 0}, [None, None]),
        ("Split", (0, s(None, 3)), {"num_split": 2}, [(None, 3)] * 2),
        ("Split", (None, s(4, 3)), {"num_split": 2}, [(None, None)] * 2),
        ("SplitV", (s(None, 3), (1, -1), 0), {"num_split": 2}, [(1, 3), (None, 3)]),
        ("SplitV", (s(4, 3), None, 0), {"num_split": 2}, [(None, 3)] * 2),
        ("Tile", (s(None, 3), (2, 2)), {}, [(None, 6)]),
        ("Tile", (s(2, 3), None), {}, [(None, None)]),
        ("Repeat", (s(None, 3), (1, 2), 0), {}, [(3, 3)]),
        ("Repeat", (s(None, 3), 2, 0), {}, [(None, 3)]),
        ("Pad", (s(None, 3), ((1, 1), (1, 1))), {}, [(None, 5)]),
        ("PadV2", (s(2, 3), None, s()), {}, [(None, None)]),
        ("MirrorPad", (s(None, 3), ((1, 1), (1, 1))), {"mode": "REFLECT"}, [(None, 5)]),
    ],
)
def test_shape_rules_take_partial_shapes(name, inputs, attrs, expected):
    found = infer_shapes(find_op(name), tuple(shapes(each) for each in inputs), attrs)
    assert found == [TensorShape(each) for each in expected]


def test_the_number_of_parts_must_be_known_when_a_graph_is_built():
    with pytest.raises(InvalidArgumentError, match="Cannot infer argument `num` from shape"):
        infer_shapes(find_op("Unpack"), (TensorShape([None, 2]),), {"num": None, "axis": 0})


def test_the_number_of_parts_is_one_that_can_be():
    with v1.Graph().as_default():
        unknown, size = v1.placeholder(dt.float32), v1.placeholder(dt.int32, [])
        for num in (-1, 2**21):
            with pytest.raises(InvalidArgumentError, match="were asked for"):
                join.split(unknown, v1.placeholder(dt.int32, [None]), num=num)
        shapes = [part.shape.as_list() for part in join.split(v1.placeholder(dt.float32, [2, 3]), [1, size], axis=1)]
        assert shapes == [[2, 1], [2, None]]
        assert len(join.split(unknown[:3], [1, size], num=3)) == 3


def test_one_tensor_needs_an_axis_too():
    with pytest.raises(DTypeError, match="The axis of concat must be a single integer, got 'a'"):
        join.concat([[1, 2]], "a")
    with pytest.raises(ValueError, match="The axis of concat"):
        join.concat(to_tensor([1, 2]), [0, 1])


def test_stacking_a_list_that_contains_itself_is_refused():
    loop = [1]
    loop.append(loop)
    with pytest.raises(InvalidArgumentError, match="contains itself"):
        join.stack(loop)


def test_repeating_an_unknown_number_of_times_keeps_the_other_sizes():
    shapes = []

    @tf.function(input_signature=[tf.TensorSpec([1, 4, 2]), tf.TensorSpec([], tf.int32)])
    def repeated(x, n):
        made = tf.repeat(x, n, axis=0)
        shapes.append(made.shape)
        return made

    assert repeated(np.ones([1, 4, 2], "float32"), 3).shape == (3, 4, 2)
    assert shapes == [tf.TensorShape([None, 4, 2])]
