"""Shapes that are not known before a graph runs: what functions still know of their results, and that they run.

The shapes are those that TensorFlow 2.21 says of the same calls.
"""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1
from situs._src.base.shapes import TensorShape

IMAGE = np.random.default_rng(0).random([6, 6, 3]).astype(np.float32)
BATCH = np.random.default_rng(1).random([2, 6, 6, 3]).astype(np.float32)


def _run(call, shape, value):
    """The static shape of a result, and its value."""
    with v1.Graph().as_default(), v1.Session() as session:
        given = v1.placeholder(tf.float32, shape)
        made = call(given)
        return made.shape, session.run(made, {given: value})


EITHER = {
    "flip_left_right": (v1.image.flip_left_right, lambda x: x[..., ::-1, :]),
    "flip_up_down": (v1.image.flip_up_down, lambda x: x[..., ::-1, :, :]),
    "transpose": (v1.image.transpose_image, lambda x: np.swapaxes(x, -3, -2)),
    "rot90": (v1.image.rot90, lambda x: np.rot90(x, axes=(-3, -2))),
    "rgb_to_grayscale": (v1.image.rgb_to_grayscale, lambda x: (x * [0.2989, 0.587, 0.114]).sum(-1, keepdims=True)),
    "grayscale_to_rgb": (lambda x: v1.image.grayscale_to_rgb(x[..., :1]), lambda x: np.repeat(x[..., :1], 3, -1)),
    "adjust_contrast": (
        lambda x: v1.image.adjust_contrast(x, 0.5),
        lambda x: (x + x.mean((-3, -2), keepdims=True)) / 2,
    ),
    "standardization": (
        v1.image.per_image_standardization,
        lambda x: (x - x.mean((-3, -2, -1), keepdims=True)) / x.std((-3, -2, -1), keepdims=True),
    ),
}


@pytest.mark.parametrize("value", [IMAGE, BATCH], ids=["image", "batch"])
@pytest.mark.parametrize("name", EITHER)
def test_an_image_of_unknown_rank_may_be_one_or_a_batch(name, value):
    call, expected = EITHER[name]
    shape, found = _run(call, None, value)
    assert shape.rank is None
    np.testing.assert_allclose(found, expected(value), atol=1e-5)


@pytest.mark.parametrize("value", [IMAGE, BATCH], ids=["image", "batch"])
def test_one_of_unknown_rank_is_flipped_at_random_as_one_of_known_rank(value):
    for flip in (v1.image.random_flip_left_right, v1.image.random_flip_up_down):
        _, known = _run(lambda x, flip=flip: flip(x, seed=3), value.shape, value)
        _, found = _run(lambda x, flip=flip: flip(x, seed=3), None, value)
        np.testing.assert_array_equal(found, known)


SIZED = {
    "crop_or_pad": (lambda x: v1.image.resize_image_with_crop_or_pad(x, 4, 9), (4, 9)),
    "pad_to_bounding_box": (lambda x: v1.image.pad_to_bounding_box(x, 1, 2, 10, 11), (10, 11)),
    "crop_to_bounding_box": (lambda x: v1.image.crop_to_bounding_box(x, 1, 2, 3, 4), (3, 4)),
    "resize_with_pad": (lambda x: v1.image.resize_image_with_pad(x, 4, 5), (4, 5)),
}


@pytest.mark.parametrize("name", SIZED)
def test_what_has_a_target_has_its_size(name):
    call, (high, wide) = SIZED[name]
    _, expected = _run(call, IMAGE.shape, IMAGE)
    for shape, known in (
        (None, [high, wide, None]),
        ([None, None, 3], [high, wide, 3]),
        ([None, None, None], [high, wide, None]),
    ):
        static, found = _run(call, shape, IMAGE)
        assert static.as_list() == known
        np.testing.assert_allclose(found, expected, atol=1e-6)
    static, found = _run(call, [None, None, None, 3], BATCH)
    assert static.as_list() == [None, high, wide, 3]
    assert found.shape == (2, high, wide, 3)


def test_what_is_taken_for_an_image_is_checked_when_it_is_there():
    with pytest.raises(tf.errors.InvalidArgumentError):
        _run(SIZED["crop_or_pad"][0], None, BATCH)
    with pytest.raises(ValueError, match="at least three-dimensional"):
        _run(v1.image.flip_left_right, [None, 3], np.ones([2, 3], np.float32))


def test_a_rate_of_unknown_shape_leaves_the_shape_of_what_it_drops():
    with v1.Graph().as_default():
        x, share = v1.placeholder(tf.float32, [None, 8]), v1.placeholder(tf.float32)
        dropped = [
            v1.nn.dropout(x, share),
            v1.nn.dropout(x, rate=share),
            v1.layers.dropout(x, share, training=True),
            v1.layers.dropout(x, share, training=v1.placeholder(tf.bool)),
        ]
        assert [each.shape.as_list() for each in dropped] == [[None, 8]] * 4
        assert v1.layers.dense(dropped[0], 2).shape.as_list() == [None, 2]


def test_a_bias_says_how_many_channels_there_are():
    with v1.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, None, None, None])
        assert v1.nn.bias_add(x, [1.0, 2.0]).shape == TensorShape([None, None, None, 2])
        first = v1.nn.bias_add(x, [1.0, 2.0], data_format="NCHW")
        assert first.shape == TensorShape([None, 2, None, None])


def test_labels_of_a_higher_rank_than_the_logits_are_taken_row_by_row():
    """As a program does that writes ``labels=[y]``; TensorFlow 2.21 gives these losses."""
    scores, chosen = np.float32([[1, 2, 3], [3, 2, 1]]), np.float32([[0, 0, 1], [0, 1, 0]])
    expected = [0.407606, 1.407606]
    with v1.Graph().as_default(), v1.Session() as session:
        logits, labels = v1.placeholder(tf.float32, [None, 3]), v1.placeholder(tf.float32, [None, 3])
        for call in (v1.nn.softmax_cross_entropy_with_logits, v1.nn.softmax_cross_entropy_with_logits_v2):
            losses = call(labels=v1.stop_gradient([labels]), logits=logits)
            assert losses.shape.as_list() == [None]
            (slope,) = v1.gradients(losses, logits)
            found, moved = session.run([losses, slope], {logits: scores, labels: chosen})
            np.testing.assert_allclose(found, expected, rtol=1e-5)
            np.testing.assert_allclose(moved.sum(-1), 0.0, atol=1e-6)
    eager = tf.nn.softmax_cross_entropy_with_logits(chosen[None], scores)
    np.testing.assert_allclose(eager, expected, rtol=1e-5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="broadcastable"):
        tf.nn.softmax_cross_entropy_with_logits(np.ones([2, 2, 3], np.float32), np.ones([3, 3], np.float32))


def test_how_alike_images_are_of_which_nothing_but_the_rank_is_known():
    def alike(x):
        return v1.image.ssim(x, x * x, 1.0, filter_size=5)

    wanted = tf.image.ssim(BATCH, BATCH * BATCH, 1.0, filter_size=5).numpy()
    np.testing.assert_allclose(_run(alike, [None] * 4, BATCH)[1], wanted, rtol=1e-5)


def test_cepstral_coefficients_of_any_number_of_bands():
    wanted = tf.signal.mfccs_from_log_mel_spectrograms(IMAGE).numpy()
    found = _run(v1.signal.mfccs_from_log_mel_spectrograms, [None] * 3, IMAGE)[1]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
