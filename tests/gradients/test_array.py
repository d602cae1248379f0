"""Gradients of shaping, joining, slicing, moving and sorting: differences, PyTorch, and TensorFlow 2.21's figures."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import situs.compat.v1 as tf1
from situs._src.autodiff.graph import gradients
from situs._src.autodiff.tape import GradientTape
from situs._src.base import dtype as dt
from situs._src.ops import array, indexing, join, rearrange, search
from situs._src.ops.constant import constant
from tests.gradients.check import check, check_all, check_graph
from tests.gradients.test_math import sample, sample_complex, tape_gradient

X = sample(-2, 2, (3, 4))
CUBE = sample(-2, 2, (2, 3, 4), seed=1)
Y = sample(-2, 2, (2, 4), seed=2)
IMAGE = sample(-2, 2, (2, 4, 2, 4), seed=3)
VECTOR = sample(-2, 2, (4,), seed=4)


def int32(*values):
    return np.array(values, np.int32)


# Name, function, arrays, what PyTorch calls it.

CASES = [
    ("reshape", lambda x: array.reshape(x, [2, -1]), [X], lambda x: x.reshape(2, -1)),
    ("reshape to a scalar", lambda x: array.reshape(x, []), [sample(0, 1, (1, 1))], lambda x: x.reshape(())),
    ("reshape of nothing", lambda x: array.reshape(x, [4, 0, 2]), [np.zeros((0, 3))], lambda x: x.reshape(4, 0, 2)),
    ("identity", array.identity, [X], lambda x: x),
    ("ensure_shape", lambda x: array.ensure_shape(x, [None, 4]), [X], lambda x: x),
    ("expand_dims", lambda x: array.expand_dims(x, 1), [X], lambda x: x.unsqueeze(1)),
    ("expand_dims from the end", lambda x: array.expand_dims(x, -1), [X], lambda x: x.unsqueeze(-1)),
    ("squeeze all", array.squeeze, [sample(0, 1, (1, 3, 1))], torch.squeeze),
    ("squeeze one", lambda x: array.squeeze(x, -1), [sample(0, 1, (1, 3, 1))], lambda x: x.squeeze(-1)),
    ("squeeze two", lambda x: array.squeeze(x, [0, 2]), [sample(0, 1, (1, 3, 1))], lambda x: x.squeeze((0, 2))),
    ("transpose", array.transpose, [CUBE], lambda x: x.permute(2, 1, 0)),
    ("transpose of a scalar", array.transpose, [np.array(1.5)], lambda x: x),
    ("transpose by axes", lambda x: array.transpose(x, [1, 2, 0]), [CUBE], lambda x: x.permute(1, 2, 0)),
    ("transpose from the end", lambda x: array.transpose(x, [-1, 0, 1]), [CUBE], lambda x: x.permute(-1, 0, 1)),
    ("matrix_transpose", array.matrix_transpose, [CUBE], lambda x: x.mT),
    ("broadcast_to", lambda x: array.broadcast_to(x, [2, 3, 4]), [sample(0, 1, (3, 1))], lambda x: x.expand(2, 3, 4)),
    (
        "meshgrid",
        lambda x, y: array.meshgrid(x, y),
        [VECTOR, VECTOR[:3]],
        lambda x, y: torch.meshgrid(x, y, indexing="xy"),
    ),
    (
        "meshgrid ij",
        lambda x, y, z: array.meshgrid(x, y, z, indexing="ij"),
        [VECTOR[:2], VECTOR[:3], VECTOR[:1]],
        lambda x, y, z: torch.meshgrid(x, y, z, indexing="ij"),
    ),
    ("meshgrid of one", lambda x: array.meshgrid(x), [VECTOR], lambda x: torch.meshgrid(x, indexing="xy")),
    ("concat", lambda x, y: join.concat([x, y, x], 0), [X, Y], lambda x, y: torch.cat([x, y, x])),
    ("concat from the end", lambda x, y: join.concat([x, y], -1), [X, X[:, :1]], lambda x, y: torch.cat([x, y], -1)),
    ("concat of one", lambda x: join.concat([x], 0), [X], lambda x: x),
    ("concat with nothing", lambda x, y: join.concat([x, y], 0), [X, X[:0]], lambda x, y: torch.cat([x, y])),
    ("stack", lambda x, y: join.stack([x, y], 1), [X, X + 1], lambda x, y: torch.stack([x, y], 1)),
    ("stack at the end", lambda x, y: join.stack([x, y], -1), [X, X + 1], lambda x, y: torch.stack([x, y], -1)),
    ("stack of scalars", lambda x: join.stack([x, x]), [np.array(2.0)], lambda x: torch.stack([x, x])),
    ("unstack", lambda x: join.unstack(x, 3), [X], lambda x: x.unbind()),
    ("unstack along another axis", lambda x: join.unstack(x, 4, -1), [X], lambda x: x.unbind(-1)),
    ("split", lambda x: join.split(x, 2, 1), [X], lambda x: x.chunk(2, 1)),
    ("split into one", lambda x: join.split(x, 1, 1), [X], lambda x: x.chunk(1, 1)),
    ("split by sizes", lambda x: join.split(x, [1, -1, 1], 1), [X], lambda x: x.split([1, 2, 1], 1)),
    ("tile", lambda x: join.tile(x, [2, 3]), [X], lambda x: x.repeat(2, 3)),
    ("tile once", lambda x: join.tile(x, [1, 1]), [X], lambda x: x.repeat(1, 1)),
    ("tile of a scalar", lambda x: join.tile(x, np.zeros(0, np.int32)), [np.array(2.0)], lambda x: x),
    ("repeat", lambda x: join.repeat(x, 3), [X], lambda x: x.repeat_interleave(3)),
    ("repeat along an axis", lambda x: join.repeat(x, 2, -1), [X], lambda x: x.repeat_interleave(2, -1)),
    (
        "repeat each",
        lambda x: join.repeat(x, [2, 0, 3], 0),
        [X],
        lambda x: x.repeat_interleave(torch.tensor([2, 0, 3]), 0),
    ),
    ("pad", lambda x: join.pad(x, [[1, 0], [0, 2]]), [X], lambda x: torch.nn.functional.pad(x, [0, 2, 1, 0])),
    (
        "pad with a number",
        lambda x: join.pad(x, [[1, 0], [0, 2]], constant_values=5.0),
        [X],
        lambda x: torch.nn.functional.pad(x, [0, 2, 1, 0], value=5.0),
    ),
    (
        "pad by reflection",
        lambda x: join.pad(x, [[0, 0], [2, 1], [3, 2]], "REFLECT"),
        [CUBE],
        lambda x: torch.nn.functional.pad(x[None], [3, 2, 2, 1], "reflect")[0],
    ),
    ("pad symmetrically", lambda x: join.pad(x, [[3, 1], [0, 4]], "SYMMETRIC"), [X], None),
    ("slice", lambda x: indexing.slice(x, [1, 0], [-1, 2]), [X], lambda x: x[1:, :2]),
    ("slice of nothing", lambda x: indexing.slice(x, [1, 0], [0, 2]), [X], lambda x: x[1:1, :2]),
    ("an element", lambda x: x[1, -1], [X], lambda x: x[1, -1]),
    ("a row", lambda x: x[2], [X], lambda x: x[2]),
    ("rows", lambda x: x[1:], [X], lambda x: x[1:]),
    ("steps", lambda x: x[:, 1::2], [X], lambda x: x[:, 1::2]),
    ("backwards", lambda x: x[::-1, 3:0:-2], [X], lambda x: x.flip(0)[:, [3, 1]]),
    ("dots and new axes", lambda x: x[..., None, 1:3], [CUBE], lambda x: x[..., None, 1:3]),
    ("dots backwards", lambda x: x[0, ..., ::-1], [CUBE], lambda x: x[0].flip(-1)),
    ("everything", lambda x: x[:], [X], lambda x: x),
    ("reverse", lambda x: rearrange.reverse(x, [0, -1]), [CUBE], lambda x: x.flip(0, -1)),
    ("roll", lambda x: rearrange.roll(x, 3, 1), [X], lambda x: x.roll(3, 1)),
    ("roll both", lambda x: rearrange.roll(x, [1, -2], [0, 1]), [X], lambda x: x.roll((1, -2), (0, 1))),
    ("reverse_sequence", lambda x, n: rearrange.reverse_sequence(x, n, 2, 0), [CUBE, int32(3, 0)], None),
    ("space_to_depth", lambda x: rearrange.space_to_depth(x, 2), [IMAGE], None),
    (
        "space_to_depth NCHW",
        lambda x: rearrange.space_to_depth(x, 2, "NCHW"),
        [IMAGE],
        None,
    ),
    ("depth_to_space", lambda x: rearrange.depth_to_space(x, 2), [IMAGE[:, :2]], None),
    ("space_to_batch", lambda x: rearrange.space_to_batch(x, [2, 2], [[1, 1], [0, 2]]), [IMAGE[..., :1]], None),
    ("batch_to_space", lambda x: rearrange.batch_to_space(x, [2], [[1, 0]]), [IMAGE[:, :, 0, :]], None),
    ("sort", search.sort, [X], lambda x: x.sort().values),
    (
        "sort downwards",
        lambda x: search.sort(x, 0, "DESCENDING"),
        [CUBE],
        lambda x: x.sort(0, descending=True).values,
    ),
    ("top_k", lambda x: search.top_k(x, 2), [CUBE], lambda x: x.topk(2).values),
    ("top_k of a vector", lambda x: search.top_k(x, 3).values, [VECTOR], lambda x: x.topk(3).values),
]
NAMES = [case[0] for case in CASES]


@pytest.mark.parametrize(("name", "function", "arrays", "theirs"), CASES, ids=NAMES)
def test_array_functions(name, function, arrays, theirs):
    check_all(function, *arrays, torch=theirs)


@pytest.mark.parametrize("name", NAMES)
def test_array_functions_of_tensors_of_unknown_rank(name):
    _, function, arrays, _ = CASES[NAMES.index(name)]
    check_graph(function, *arrays, rank_known=False)


# Where sizes and axes are tensors too.

STEERED = [
    ("reshape", array.reshape, [X, int32(2, 6)]),
    ("expand_dims", array.expand_dims, [X, np.array(1, np.int32)]),
    ("transpose", array.transpose, [CUBE, int32(2, 0, 1)]),
    ("broadcast_to", array.broadcast_to, [X, int32(2, 3, 4)]),
    ("concat", lambda x, y, axis: join.concat([x, y], axis), [X, X[:, :1], np.array(-1, np.int32)]),
    ("split", lambda x, axis: join.split(x, 2, axis), [X, np.array(1, np.int32)]),
    ("split by sizes", lambda x, n, axis: join.split(x, n, axis, num=2), [X, int32(1, -1), np.array(0, np.int32)]),
    ("part of a split", lambda x, n, axis: join.split(x, n, axis, num=2)[1], [X, int32(1, -1), np.array(-1, np.int32)]),
    ("tile", join.tile, [X, int32(1, 2)]),
    ("repeat", join.repeat, [X, np.array(2, np.int32)]),
    ("repeat each", lambda x, n, axis: join.repeat(x, n, axis), [X, int32(2, 0, 1), np.array(0, np.int32)]),
    ("pad", join.pad, [X, int32([1, 0], [0, 2])]),
    ("pad by a row", lambda x, row: join.pad(x, [row, [0, 1]]), [X, int32(2, 0)]),
    ("pad by reflection", lambda x, n: join.pad(x, n, "REFLECT"), [X, int32([1, 0], [0, 2])]),
    ("slice", indexing.slice, [X, int32(1, 2), int32(2, -1)]),
    ("index", lambda x, i: x[i, 1:], [X, np.array(-1, np.int32)]),
    ("rows", lambda x, i: x[i:], [X, np.array(1, np.int32)]),
    ("reverse", rearrange.reverse, [X, int32(1)]),
    ("roll", rearrange.roll, [X, int32(1, -1), int32(0, 1)]),
    ("roll by one tensor of two", lambda x, n: rearrange.roll(x, [n, 2], [0, 1]), [X, np.array(1, np.int32)]),
    ("space_to_batch", rearrange.space_to_batch, [IMAGE[..., :1], int32(2, 2), int32([1, 1], [0, 0])]),
    ("batch_to_space", rearrange.batch_to_space, [IMAGE[..., :1], int32(2), int32([[1, 0]])[0]]),
    ("sort", search.sort, [X, np.array(0, np.int32)]),
    ("top_k", search.top_k, [X, np.array(2, np.int32)]),
]


@pytest.mark.parametrize(("name", "function", "arrays"), STEERED, ids=[row[0] for row in STEERED])
def test_sizes_and_axes_may_be_tensors(name, function, arrays):
    check(function, *arrays)
    check_graph(function, *arrays)


# Results that nothing depends on.


@pytest.mark.parametrize(
    "function",
    [
        lambda x: join.unstack(x, 3)[1],
        lambda x: join.split(x, 2, 1)[0],
        lambda x: join.split(x, [1, -1, 1], 1)[1],
        lambda x: join.split(x, [0, 3, 1], 1)[1:],
        lambda x: array.meshgrid(x[0], x[1])[1],
    ],
)
def test_parts_that_nothing_depends_on(function):
    check_all(function, X)


def test_a_part_may_have_no_gradient():
    check(lambda x, y: join.stack([x, array.stop_gradient(y)]), X, X + 1, nothing=[1])
    check(lambda x, y: join.concat([array.stop_gradient(x), y], 0), X, Y, nothing=[0])


def test_padding_with_a_tensor_takes_it_for_a_constant():
    check(lambda x, c: join.pad(x, [[1, 0]], constant_values=c), VECTOR, np.array(2.0), nothing=[1])


# Complex numbers.


@pytest.mark.parametrize(
    "function",
    [
        lambda x: array.transpose(x, conjugate=True),
        lambda x: array.matrix_transpose(x, conjugate=True),
        lambda x: array.broadcast_to(x, [2, 2, 2]),
        lambda x: join.concat([x, x], 0),
        lambda x: join.tile(x, [2, 1]),
        lambda x: join.pad(x, [[1, 1], [0, 0]], "REFLECT"),
        lambda x: x[::-1, 0],
    ],
)
def test_complex_numbers(function):
    check_all(function, sample_complex((2, 2)))


# Random shapes.

SHAPES = st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple)


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_slices_of_random_shapes(data):
    shape = data.draw(SHAPES)
    index = tuple(data.draw(_entries(size)) for size in shape[: data.draw(st.integers(1, len(shape)))])
    if data.draw(st.booleans()):
        index = (*index, ..., None)
    check_all(lambda x: x[index], sample(-1, 1, shape), second=data.draw(st.booleans()))


def _entries(size):
    bound = st.one_of(st.none(), st.integers(-size - 1, size + 1))
    steps = st.sampled_from([None, 1, 2, -1, -2])
    return st.one_of(st.integers(-size, size - 1), st.builds(slice, bound, bound, steps), st.just(slice(None)))


@given(SHAPES, st.data())
@settings(max_examples=10, deadline=None)
def test_rearrangements_of_random_shapes(shape, data):
    x, rank = sample(-1, 1, shape), len(shape)
    axis = data.draw(st.integers(-rank, rank - 1))
    perm = data.draw(st.permutations(range(rank)))
    pads = data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=rank, max_size=rank))
    mirrored = [(min(a, n), min(b, n)) for (a, b), n in zip(pads, shape, strict=True)]
    counts = data.draw(st.lists(st.integers(0, 2), min_size=rank, max_size=rank))
    cut = data.draw(st.integers(0, shape[axis]))
    theirs_pad = [n for pair in reversed(pads) for n in pair]
    check_all(lambda t: array.transpose(t, perm), x, torch=lambda t: t.permute(perm), second=False)
    check_all(lambda t: join.pad(t, pads), x, torch=lambda t: torch.nn.functional.pad(t, theirs_pad), second=False)
    check_all(lambda t: join.pad(t, mirrored, "SYMMETRIC"), x)
    check_all(lambda t: join.tile(t, counts), x, torch=lambda t: t.repeat(counts), second=False)
    check_all(lambda t: join.split(t, [cut, -1], axis)[cut % 2], x)
    check_all(lambda t: search.sort(t, axis), x, torch=lambda t: t.sort(axis).values, second=False)
    check_all(lambda t: join.concat([t, t], axis), x, torch=lambda t: torch.cat([t, t], axis), second=False)


# Figures of TensorFlow 2.21.


def test_equal_elements_keep_their_order_when_sorted():
    up = constant([1.0, 2.0, 3.0], dt.float64)
    for direction in ("ASCENDING", "DESCENDING"):
        x = constant([5.0, 5.0, 5.0], dt.float64)
        with GradientTape() as tape:
            tape.watch(x)
            y = search.sort(x, direction=direction)
        assert tape.gradient(y, x, up).numpy().tolist() == [1.0, 2.0, 3.0]


def test_of_equal_elements_the_first_are_the_top():
    (found,) = tape_gradient(lambda x: search.top_k(x, 2).values, [1.0, 3.0, 3.0, 3.0])
    assert found.tolist() == [0.0, 1.0, 1.0, 0.0]


def test_what_has_no_gradient():
    assert tape_gradient(lambda x: array.sequence_mask(x, 3, dt.float64), [1.0, 2.0]) == [None]
    assert tape_gradient(array.stop_gradient, [1.0, 2.0]) == [None]
    for function in (lambda x: search.unique(x).y, lambda x: search.setdiff1d(x, x).out):
        with pytest.raises(LookupError, match="No gradient defined"):
            tape_gradient(function, [1.0, 2.0])


# Names and places in graphs.


def test_gradients_know_their_shape_where_the_graph_does():
    with tf1.Graph().as_default():
        x = tf1.placeholder(dt.float32, [None, 4])
        for y in (
            x[:, 1:3],
            array.transpose(x),
            join.concat([x, x], 1),
            array.expand_dims(x, 1),
            rearrange.reverse(x, [0]),
        ):
            (grad,) = gradients(y, [x])
            assert grad.shape.is_compatible_with([7, 4])


def test_ops_on_a_gpu_have_gradients_there():
    with tf1.Graph().as_default():
        with tf1.device("/gpu:1"):
            x = tf1.placeholder(dt.float32, [None, 4])
            y = join.tile(join.pad(x[:, ::-1], [[1, 0], [0, 1]]), [2, 1])
        (grad,) = gradients(y, [x])
        with tf1.Session() as session:
            assert session.placement()[grad.op].device.short_name == "GPU:1"
            np.testing.assert_array_equal(session.run(grad, {x: np.ones((2, 4))}), np.full((2, 4), 2.0))
