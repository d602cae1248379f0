"""Kernels on abstract values: sizes and views as PyTorch makes them, and no memory taken."""

from __future__ import annotations

import pytest
import torch

import situs as tf
from situs._src.base import compile_c
from situs._src.ops import quick_counts, quick_resize
from situs._src.ops.nn import quick_pool
from situs._src.runtime.abstract.kernels import SMALL, AbstractMode, is_known, meta_like, meta_tensor

FLOATS = 4


def floats(*shape):
    return meta_tensor(shape, torch.float32)


CASES = {
    "product": (lambda x: x.reshape(64, 32) @ x.reshape(32, 64), 64 * 64 * FLOATS),
    "view": (lambda x: x.reshape(64, 32).t()[3:], 0),
    "copy of a view": (lambda x: x.reshape(64, 32).t().reshape(-1), 2048 * FLOATS),
    "two results": (lambda x: x.max(0), FLOATS + 8),
    "something besides": (lambda x: (x + 1.0).sum(), 2048 * FLOATS + FLOATS),
    "one after the other": (lambda x: ((x + 1.0) + 1.0).sum(), 2 * 2048 * FLOATS),
    "made of nothing": (lambda x: torch.zeros(1000, 1000, device="cpu"), 1000 * 1000 * FLOATS),
}


@pytest.mark.parametrize(("function", "peak"), CASES.values(), ids=CASES)
def test_what_is_held_at_most(function, peak):
    x = floats(2048)
    with AbstractMode() as mode:
        function(x)
    assert mode.peak == peak


@pytest.mark.parametrize("function", [function for function, _ in CASES.values()], ids=CASES)
def test_shapes_and_strides_are_those_of_the_kernel(function):
    truth = function(torch.ones(2048))
    with AbstractMode():
        found = function(floats(2048))
    for ours, theirs in zip(_listed(found), _listed(truth), strict=True):
        assert (ours.shape, ours.stride(), ours.dtype) == (theirs.shape, theirs.stride(), theirs.dtype)


def _listed(made):
    return [made] if isinstance(made, torch.Tensor) else list(made)


# By functions that call C: x is of 64 x 64 x 16, and each makes as many bytes as is said.
BY_C = {
    "uniform": (lambda x: tf.random.stateless_uniform([64, 64], [1, 2]), 64 * 64 * FLOATS),
    "normal": (lambda x: tf.random.stateless_normal([64, 64], [1, 2]), 64 * 64 * FLOATS),
    "truncated normal": (lambda x: tf.random.stateless_truncated_normal([64, 64], [1, 2]), 64 * 64 * FLOATS),
    "integers": (lambda x: tf.random.stateless_uniform([64, 64], [1, 2], 0, 9, tf.int32), 64 * 64 * 4),
    "dropout": (lambda x: tf.nn.experimental.stateless_dropout(x, 0.5, [1, 2]), 64 * 64 * 16 * FLOATS),
    "error function": (lambda x: tf.math.erf(x), 64 * 64 * 16 * FLOATS),
    "over its input": (lambda x: tf.math.erf(x * 2.0), 64 * 64 * 16 * FLOATS),
    "pooling": (lambda x: tf.nn.max_pool2d(x[None], 2, 2, "SAME"), 32 * 32 * 16 * FLOATS),
    "top": (lambda x: tf.math.in_top_k(tf.zeros([64], tf.int32), x[0], 2), 64),
    "histogram": (lambda x: tf.histogram_fixed_width(x, [0.0, 1.0], 7000), 7000 * 4),
    "resizing": (lambda x: tf.image.resize(x, [99, 99]), 99 * 99 * 16 * FLOATS),
    "resizing of what is known": (lambda x: tf.image.resize(tf.ones([3, 3, 1]), [99, 99]), 99 * 99 * FLOATS),
}


@pytest.mark.skipif(compile_c._compiler() is None, reason="no C compiler")
@pytest.mark.parametrize(("function", "size"), BY_C.values(), ids=BY_C)
def test_functions_in_c_are_not_called_without_elements(function, size, monkeypatch):
    for library in (quick_counts, quick_pool, quick_resize):
        monkeypatch.setattr(library, "_library", library.deferred(0))
    with tf.device("/CPU:0"):
        run = tf.function(function).get_concrete_function(tf.TensorSpec([64, 64, 16]))
        (device,) = tf.memory.plan(run).devices
        assert size <= device.peak < 2**21


@pytest.mark.parametrize("rank", [4, 5])
def test_a_convolution_keeps_the_channels_where_they_are(rank):
    function = torch.conv2d if rank == 4 else torch.conv3d
    order = (0, rank - 1, *range(1, rank - 1))
    x, w = torch.ones(2, *[8] * (rank - 2), 16), torch.ones(4, 16, *[3] * (rank - 2))
    truth = function(x.permute(order), w)
    with AbstractMode():
        found = function(meta_tensor(x.shape, x.dtype).permute(order), meta_tensor(w.shape, w.dtype))
    assert found.stride() == truth.stride()


def test_small_values_are_computed_in_earnest():
    with AbstractMode():
        sizes = torch.tensor(floats(7, 9).shape)
        assert (sizes * 2).tolist() == [14, 18]
        assert is_known(torch.zeros(3, device="cpu"))
        assert not is_known(sizes.repeat(SMALL))
        assert not is_known(floats(2) + torch.ones(2))


def test_what_looks_at_elements_fails():
    with AbstractMode(), pytest.raises(RuntimeError):
        bool((floats(3) > 0).any())


def test_a_known_value_is_not_changed_into_an_unknown_one():
    known = torch.ones(3)
    with AbstractMode(), pytest.raises(NotImplementedError):
        known.add_(floats(3))
    assert known.tolist() == [1, 1, 1]


def test_a_sketch_has_the_elements_of_a_small_value_and_the_strides_of_a_large_one():
    assert meta_like(torch.arange(3)).tolist() == [0, 1, 2]
    large = torch.ones(SMALL, 2).t()
    assert meta_like(large).stride() == large.stride()
    assert not is_known(meta_like(large))
