"""Cropping, flipping and colors of images. The figures are TensorFlow 2.21's."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1

U = np.arange(24, dtype=np.uint8).reshape(2, 4, 3) * 10
F = U.astype(np.float32) / 255
N = np.arange(35, dtype=np.int32).reshape(5, 7, 1)
image = tf.image

WHOLE = {
    "flip_left_right": (image.flip_left_right, U[:, ::-1]),
    "flip_up_down": (image.flip_up_down, U[::-1]),
    "transpose": (image.transpose, U.transpose(1, 0, 2)),
    "rot90": (image.rot90, np.rot90(U)),
    "rot180": (lambda x: image.rot90(x, 2), np.rot90(U, 2)),
    "rot270": (lambda x: image.rot90(x, 3), np.rot90(U, 3)),
    "rot360": (lambda x: image.rot90(x, 4), U),
    "crop": (lambda x: image.crop_to_bounding_box(x, 1, 1, 1, 2), U[1:2, 1:3]),
    "pad": (lambda x: image.pad_to_bounding_box(x, 1, 2, 4, 7), np.pad(U, [(1, 1), (2, 1), (0, 0)])),
    "crop or pad": (lambda x: image.resize_with_crop_or_pad(x, 1, 6), np.pad(U[:1], [(0, 0), (1, 1), (0, 0)])),
    "central_crop of all": (lambda x: image.central_crop(x, 1.0), U),
    "grayscale_to_rgb": (lambda x: image.grayscale_to_rgb(x[..., :1]), np.repeat(U[..., :1], 3, -1)),
    "rgb_to_grayscale": (
        image.rgb_to_grayscale,
        np.arange(8, 248, 30, np.uint8).reshape(2, 4, 1),
    ),
    "brighter": (lambda x: image.adjust_brightness(x, 0.2), np.minimum(U.astype(int) + 51, 255).astype(np.uint8)),
}


@pytest.mark.parametrize(("call", "expected"), WHOLE.values(), ids=WHOLE.keys())
def test_an_image_a_batch_and_a_graph(call, expected):
    made = call(tf.constant(U))
    assert made.dtype == tf.uint8
    assert made.numpy().tolist() == expected.tolist()
    batch = call(tf.constant(np.stack([U, U[::-1]])))
    assert batch.numpy()[0].tolist() == expected.tolist()

    @tf.function(input_signature=[tf.TensorSpec([None, None, 3], tf.uint8)])
    def unknown(x):
        return call(x)

    assert unknown(U).numpy().tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("fraction", "rows", "columns"), [(0.6, slice(1, 4), slice(1, 6)), (0.1, slice(2, 3), slice(3, 4))]
)
def test_the_middle_of_an_image(fraction, rows, columns):
    assert image.central_crop(N, fraction).numpy().tolist() == N[rows, columns].tolist()


def test_the_middle_as_tensorflow_rounds_it():
    eight = np.arange(64).reshape(8, 8, 1)
    for fraction in (0.5, 0.3):  # the two figures are the same there too
        assert image.central_crop(eight, fraction).numpy()[0, :, 0].tolist() == [18, 19, 20, 21]


def test_crop_one_way_and_pad_the_other():
    made = image.resize_with_crop_or_pad(N, 4, 10)
    assert made.shape == [4, 10, 1]
    assert made.numpy().ravel()[:24].tolist() == [0, *range(7), 0, 0, 0, *range(7, 14), 0, 0, 0, 14, 15, 16]


def test_contrast():
    expected = [0] * 6 + [15, 25, 35, 75, 85, 95, 135, 145, 155, 195, 205, 215] + [255] * 6
    assert image.adjust_contrast(U, 2.0).numpy().ravel().tolist() == expected
    made = image.adjust_contrast(F, 2.0).numpy()
    np.testing.assert_allclose(made.ravel()[:4], [-0.41176, -0.37255, -0.33333, -0.17647], atol=2e-5)
    np.testing.assert_allclose(made, (F - F.mean((0, 1))) * 2 + F.mean((0, 1)), rtol=1e-5, atol=1e-6)


def test_standardization():
    made = image.per_image_standardization(U)
    np.testing.assert_allclose(made.numpy().ravel()[:4], [-1.66132, -1.51686, -1.37240, -1.22794], atol=2e-5)
    assert image.per_image_standardization(tf.ones([2, 2, 1])).numpy().ravel().tolist() == [0.0] * 4
    both = image.per_image_standardization(np.stack([F, F * 3])).numpy()
    np.testing.assert_allclose(both[0], both[1], rtol=1e-4, atol=1e-5)

    @tf.function(input_signature=[tf.TensorSpec([None, None, 3], tf.uint8)])
    def unknown(x):
        return image.per_image_standardization(x)

    np.testing.assert_allclose(unknown(U).numpy(), made.numpy(), rtol=1e-5)


I8 = [0, 1, 2, 100, 127]
F7 = [-0.1, 0.0, 0.3, 0.5, 0.999, 1.0, 1.5]
CONVERSIONS = [
    (tf.uint8, tf.float32, False, I8, [0.0, 0.00392, 0.00784, 0.39216, 0.49804]),
    (tf.float32, tf.uint8, True, F7, [0, 0, 76, 127, 255, 255, 255]),
    (tf.float32, tf.uint8, False, F7[1:6], [0, 76, 127, 255, 255]),
    (tf.uint8, tf.uint16, False, I8, [0, 256, 512, 25600, 32512]),
    (tf.uint16, tf.uint8, True, I8, [0, 0, 0, 0, 0]),
    (tf.int32, tf.uint8, False, I8, [0, 0, 0, 0, 0]),
    (tf.uint8, tf.int32, True, I8, [0, 8388608, 16777216, 838860800, 1065353216]),
    (tf.uint8, tf.int16, False, I8, [0, 128, 256, 12800, 16256]),
    (tf.float32, tf.int32, True, F7[:5], [-214748368, 0, 644245120, 1073741824, 2145336192]),
    (tf.int8, tf.float32, False, I8, [0.0, 0.00787, 0.01575, 0.78740, 1.0]),
    (tf.float32, tf.float16, False, [0.25], [0.25]),
    (tf.uint8, tf.uint8, False, I8, I8),
]


@pytest.mark.parametrize(("source", "target", "saturate", "pixels", "expected"), CONVERSIONS)
def test_conversions(source, target, saturate, pixels, expected):
    made = image.convert_image_dtype(tf.constant(pixels, source), target, saturate)
    assert made.dtype == target
    np.testing.assert_allclose(made.numpy().astype(np.float64), expected, atol=1e-5)


def test_there_are_no_images_of_strings():
    with pytest.raises(TypeError, match="floating point or integer"):
        image.convert_image_dtype(tf.constant([True]), tf.float32)


@pytest.mark.parametrize(
    ("flip", "other"), [(image.random_flip_left_right, U[:, ::-1]), (image.random_flip_up_down, U[::-1])]
)
def test_random_flips(flip, other):
    tf.random.set_seed(1)
    kinds = {flip(U).numpy().tobytes() for _ in range(30)}
    assert kinds == {U.tobytes(), np.ascontiguousarray(other).tobytes()}
    batch = flip(np.stack([U] * 40)).numpy()
    flipped = sum(one.tobytes() != U.tobytes() for one in batch)
    assert 5 < flipped < 35  # each image for itself
    assert {one.tobytes() for one in batch} <= kinds


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32])
def test_contrast_has_gradients_and_takes_batches(dtype):
    pixels = np.random.default_rng(0).uniform(size=(2, 3, 5, 4, 3)).astype(np.float32)
    images, factor = tf.cast(tf.constant(pixels), dtype), tf.constant(1.5)
    weights = tf.cast(tf.constant(pixels[::-1] ** 2), dtype)

    def by_parts(images, factor):
        wide = tf.cast(images, tf.float32)
        means = tf.reduce_mean(wide, [-3, -2], keepdims=True)
        return tf.cast((wide - means) * factor + means, images.dtype)

    found = []
    for function in (image.adjust_contrast, tf.function(image.adjust_contrast), by_parts):
        with tf.GradientTape() as tape:
            tape.watch([images, factor])
            made = function(images, factor)
        found.append([made, *tape.gradient(made, [images, factor], output_gradients=weights)])
    for results in found[:2]:
        for ours, right in zip(results, found[2], strict=True):
            assert ours.dtype == right.dtype
            np.testing.assert_allclose(ours.numpy(), right.numpy(), rtol=0, atol=1e-5 if dtype == tf.float32 else 1e-2)


@pytest.mark.parametrize(("images", "factor"), [(np.ones((4, 4), np.float32), 1.0), (F, [1.0, 2.0])])
def test_contrast_refuses_what_is_no_image_or_no_number(images, factor):
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        image.adjust_contrast(images, factor)


def test_random_brightness_and_contrast_stay_within_their_bounds():
    tf.random.set_seed(2)
    grey = tf.fill([2, 2, 1], 0.5)
    found = [float(image.random_brightness(grey, 0.2)[0, 0, 0]) for _ in range(50)]
    assert 0.3 <= min(found) < 0.4
    assert 0.6 < max(found) <= 0.7
    spread = [float(image.random_contrast(F, 0.5, 2.0).numpy().std()) / F.std() for _ in range(50)]
    assert 0.5 < min(spread) < 0.95
    assert 1.2 < max(spread) < 2.1
    assert image.random_brightness(U, 0.1, seed=3).dtype == tf.uint8


def test_the_same_seed_gives_the_same_image():
    made = []
    for _ in range(2):
        tf.random.set_seed(4)
        made.append(image.random_contrast(image.random_brightness(F, 0.5, seed=1), 0.1, 3.0, seed=2).numpy().tolist())
    assert made[0] == made[1]


MISTAKES = [
    (lambda: image.flip_up_down(tf.zeros([2, 2])), "must be at least three-dimensional"),
    (lambda: image.crop_to_bounding_box(U, 1, 1, 3, 2), "height must be >= target"),
    (lambda: image.crop_to_bounding_box(U, 0, 3, 1, 2), "width must be >= target"),
    (lambda: image.crop_to_bounding_box(U, -1, 1, 1, 2), "offset_height must be >= 0"),
    (lambda: image.crop_to_bounding_box(U, 0, 1, 0, 2), "target_height must be > 0"),
    (lambda: image.pad_to_bounding_box(U, 1, 0, 2, 4), "height must be <= target - offset"),
    (lambda: image.pad_to_bounding_box(U, 0, 1, 2, 4), "width must be <= target - offset"),
    (lambda: image.pad_to_bounding_box(U, -1, 0, 2, 4), "offset_height must be >= 0"),
    (lambda: image.resize_with_crop_or_pad(U, 0, 6), "target_height must be > 0"),
    (lambda: image.central_crop(U, 0.0), r"central_fraction must be within \(0, 1\]"),
    (lambda: image.central_crop(U, 1.5), r"central_fraction must be within \(0, 1\]"),
    (lambda: image.random_brightness(U, -1.0), "max_delta must be non-negative"),
    (lambda: image.random_contrast(U, 2.0, 1.0), "upper must be > lower"),
    (lambda: image.random_contrast(U, -1.0, 1.0), "lower must be non-negative"),
    (lambda: image.rgb_to_grayscale(U[..., :2]), "3 channels"),
]


NUMBERS = {"numpy": np.int64, "tensor": tf.constant, "variable": lambda n: tf.Variable(n, trainable=False)}


@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS.keys())
def test_sizes_may_be_arrays_tensors_and_variables(number):
    n = {k: number(k) for k in (0, 1, 2, 3, 6)}
    assert image.crop_to_bounding_box(U, n[1], n[0], n[1], n[3]).numpy().tolist() == U[1:2, :3].tolist()
    assert image.pad_to_bounding_box(U, n[1], n[0], n[3], n[6]).shape == [3, 6, 3]
    assert image.resize_with_crop_or_pad(U, n[1], n[6]).shape == [1, 6, 3]
    with pytest.raises(ValueError, match="height must be >= target"):
        image.crop_to_bounding_box(U, n[0], n[0], n[3], n[2])


@pytest.mark.parametrize("bad", ["a", None, 1.5, tf.constant(1.0)])
def test_sizes_are_integers(bad):
    for call in (image.crop_to_bounding_box, image.pad_to_bounding_box):
        with pytest.raises(TypeError, match="offset_height must be"):
            call(U, bad, 0, 4, 6)
        with pytest.raises(TypeError, match="target_width must be"):
            call(U, 0, 0, 2, bad)
    with pytest.raises(TypeError, match="target_height must be"):
        image.resize_with_crop_or_pad(U, bad, 2)


def test_crops_that_are_told_later_are_checked_when_they_are_made():
    with v1.Graph().as_default(), v1.Session() as session:
        rows = v1.placeholder(tf.int64, [])
        cropped = image.crop_to_bounding_box(U, 1, 0, rows, 2)
        assert cropped.shape.as_list() == [None, 2, 3]
        assert session.run(cropped, {rows: 1}).tolist() == U[1:, :2].tolist()
        with pytest.raises(ValueError, match="Expected size"):
            session.run(cropped, {rows: 2})
        with pytest.raises(TypeError, match="target_height must be an integer"):
            image.crop_to_bounding_box(U, 0, 0, v1.placeholder(tf.float32, []), 2)


@pytest.mark.parametrize(("call", "message"), MISTAKES)
def test_mistakes(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_gradients_go_through_crops_and_flips():
    x = tf.constant(F)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(image.flip_left_right(image.crop_to_bounding_box(x, 0, 1, 2, 2)) * [1.0, 2.0, 3.0])
    expected = np.zeros_like(F)
    expected[:, 1:3] = [1, 2, 3]
    assert tape.gradient(y, x).numpy().tolist() == expected.tolist()


def test_the_distortions_of_the_cifar_tutorial_in_a_session():
    with v1.Graph().as_default(), v1.Session() as session:
        v1.set_random_seed(1)
        x = v1.placeholder(tf.float32, [32, 32, 3])
        y = v1.random_crop(x, [24, 24, 3])
        y = v1.image.random_flip_left_right(y)
        y = v1.image.random_contrast(v1.image.random_brightness(y, max_delta=63), lower=0.2, upper=1.8)
        y = v1.image.per_image_standardization(y)
        z = v1.image.per_image_standardization(v1.image.resize_image_with_crop_or_pad(x, 24, 24))
        assert (y.shape, z.shape) == ([24, 24, 3], [24, 24, 3])
        found = session.run([y, z], {x: np.random.default_rng(0).random((32, 32, 3))})
    for pixels in found:
        assert abs(pixels.mean()) < 1e-4
        assert abs(pixels.std() - 1) < 1e-3
