"""Images as they stand in files. The figures are TensorFlow 2.21's for the same files.

TensorFlow decodes JPEG files with a faster, less exact transform by default: there the pixels may differ by 3 of 255.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import situs as tf

FIGURES = json.loads((Path(__file__).parents[2] / "data" / "image_codec_figures.json").read_text())
FILES = {name: base64.b64decode(text) for name, text in FIGURES.pop("files").items()}
RGB = tf.io.decode_png(FILES["png_rgb"])


def decoded(case: str) -> Any:
    """What a case of the figures asks for: function_kind_layout_option."""
    if case == "gif":
        return tf.io.decode_gif(FILES["gif"])
    if case == "crop_jpeg":
        return tf.io.decode_and_crop_jpeg(FILES["jpeg_rgb"], [2, 3, 8, 10])
    function, _, rest = case.partition("_")
    name = next(name for name in sorted(FILES, key=len, reverse=True) if rest.startswith(name))
    option = rest.removeprefix(name).lstrip("_")
    if function == "image":
        if option == "f":
            return tf.io.decode_image(FILES[name], channels=3, dtype=tf.float32, expand_animations=False)
        return tf.io.decode_image(FILES[name])
    decode = getattr(tf.io, f"decode_{name.partition('_')[0]}")
    options: dict[str, Any] = {
        "u16": {"dtype": tf.uint16},
        "half": {"ratio": 2},
        "acc": {"dct_method": "INTEGER_ACCURATE"},
    }
    return decode(FILES[name], **options.get(option, {"channels": int(option) if option.isdigit() else 0}))


@pytest.mark.parametrize("case", FIGURES)
def test_pixels_are_those_of_tensorflow(case: str) -> None:
    wanted, found = FIGURES[case], decoded(case).numpy()
    assert list(found.shape) == wanted["shape"]
    assert str(found.dtype) == wanted["dtype"]
    inexact = "jpeg" in case and not case.endswith("acc")
    most = (3.01 / 255 if found.dtype == np.float32 else 3) if inexact else 1e-6
    values = found.ravel()[: len(wanted["values"])].astype("float64")
    assert np.abs(values - wanted["values"]).max() <= most


def test_images_are_decoded_in_graphs() -> None:
    @tf.function
    def load(contents: Any) -> Any:
        image = tf.io.decode_jpeg(contents, channels=3)
        assert image.shape.as_list() == [None, None, 3]
        return image, tf.io.is_jpeg(contents), tf.io.extract_jpeg_shape(contents)

    image, is_jpeg, size = load(FILES["jpeg_rgb"])
    np.testing.assert_array_equal(image, tf.io.decode_jpeg(FILES["jpeg_rgb"]))
    assert bool(is_jpeg)
    np.testing.assert_array_equal(size, [16, 24, 3])
    assert not bool(tf.io.is_jpeg(FILES["png_rgb"]))


def test_functions_decode_files_of_other_kinds() -> None:
    np.testing.assert_array_equal(tf.io.decode_jpeg(FILES["png_rgb"]), RGB)
    np.testing.assert_array_equal(tf.io.decode_png(FILES["bmp_rgb"]), RGB)
    np.testing.assert_array_equal(tf.image.decode_png(FILES["gif"]), tf.io.decode_gif(FILES["gif"])[0])


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_png_files_keep_their_pixels(channels: int) -> None:
    image = (np.arange(24 * channels) * 7 % 256).reshape(4, 6, channels).astype("uint8")
    np.testing.assert_array_equal(tf.io.decode_png(tf.io.encode_png(image)), image)


def test_a_batch_of_images_is_a_batch_of_files_and_gray_has_sixteen_bits() -> None:
    files = tf.io.encode_png(tf.stack([RGB, 255 - RGB]), compression=9)
    assert files.shape.as_list() == [2]
    np.testing.assert_array_equal(tf.io.decode_png(files[1]), 255 - RGB.numpy())
    gray = (np.arange(12) * 5000).reshape(3, 4, 1).astype("uint16")
    np.testing.assert_array_equal(tf.io.decode_png(tf.io.encode_png(gray), dtype=tf.uint16), gray)


def test_jpeg_files_keep_their_pixels_nearly() -> None:
    smooth = tf.io.decode_jpeg(FILES["jpeg_rgb"])
    fine = tf.io.encode_jpeg(smooth, quality=100, chroma_downsampling=False)
    coarse = tf.io.encode_jpeg(smooth, quality=10)
    assert len(coarse.numpy()) < len(fine.numpy())
    assert np.abs(tf.io.decode_jpeg(fine).numpy().astype(int) - smooth.numpy()).max() <= 3
    assert tf.io.decode_jpeg(tf.io.encode_jpeg(smooth[:, :, :1], progressive=True)).shape.as_list() == [16, 24, 1]
    scaled = tf.image.adjust_jpeg_quality(tf.image.convert_image_dtype(smooth, tf.float32), 90)
    assert scaled.dtype == tf.float32
    assert np.abs(scaled.numpy() * 255 - smooth.numpy()).mean() < 5


def test_what_is_cut_off_is_an_error_or_gray() -> None:
    cut = FILES["jpeg_rgb"][:-40]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid JPEG data"):
        tf.io.decode_jpeg(cut)
    assert tf.io.decode_jpeg(cut, try_recover_truncated=True).shape.as_list() == [16, 24, 3]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid JPEG data"):
        tf.io.decode_jpeg(cut)


REFUSED: dict[str, tuple[Any, str]] = {
    "nonsense": (lambda: tf.io.decode_png(b"nonsense"), "Unknown image file format"),
    "nothing": (lambda: tf.io.decode_image(b""), "Input is empty"),
    "half": (lambda: tf.io.decode_png(FILES["png_rgb"][:60]), "Invalid PNG data, size 60"),
    "head": (lambda: tf.io.decode_gif(FILES["gif"][:12]), "Invalid GIF data"),
    "channels": (lambda: tf.io.decode_png(FILES["png_rgb"], channels=2), "must be 0, 1, 3 or 4 but got 2"),
    "four": (lambda: tf.io.decode_jpeg(FILES["jpeg_rgb"], channels=4), "1 or 3 channels"),
    "another kind": (lambda: tf.io.decode_gif(FILES["png_rgb"]), "use `decode_png`"),
    "several": (lambda: tf.io.decode_png([FILES["png_rgb"]]), "rank 0|scalar"),
    "ratio": (lambda: tf.io.decode_jpeg(FILES["jpeg_rgb"], ratio=3), "ratio must be 1, 2, 4, or 8"),
    "method": (lambda: tf.io.decode_jpeg(FILES["jpeg_rgb"], dct_method="x"), "dct_method must be"),
    "window": (lambda: tf.io.decode_and_crop_jpeg(FILES["jpeg_rgb"], [10, 0, 8, 8]), "not inside an image of 16 x 24"),
    "dtype": (lambda: tf.io.decode_image(FILES["png_rgb"], dtype=tf.int32), "got int32"),
    "rank": (lambda: tf.io.encode_png(np.zeros([2, 3], "uint8")), "at least rank 3"),
    "five": (lambda: tf.io.encode_png(np.zeros([2, 3, 5], "uint8")), "1, 2, 3, or 4 channels"),
    "empty": (lambda: tf.io.encode_png(np.zeros([0, 3, 3], "uint8")), "must not be empty"),
    "level": (lambda: tf.io.encode_png(RGB, compression=10), "compression should be in"),
    "alpha": (lambda: tf.io.encode_jpeg(np.zeros([2, 3, 4], "uint8")), "1 or 3 channels"),
    "quality": (lambda: tf.io.encode_jpeg(RGB, quality=101), "quality must be in"),
    "format": (lambda: tf.io.encode_jpeg(RGB, format="grayscale"), "needs 1 channels"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_image_is_refused_in_words(case: str) -> None:
    call, words = REFUSED[case]
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        call()


def test_without_pillow_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(tf.errors.FailedPreconditionError, match="pip install pillow"):
        tf.io.decode_png(FILES["png_rgb"])
