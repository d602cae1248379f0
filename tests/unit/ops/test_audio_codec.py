"""WAV files. The file and the figures are TensorFlow 2.21's."""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np
import pytest

import situs as tf

AUDIO = np.array([[0, 0.5], [-1, 1], [0.25, -0.3], [1.5, -2], [3.0517578e-05 / 2, 3 / 65536]], "float32")
FOUND = np.array([[0, 16384], [-32768, 32767], [8192, -9830], [32767, -32768], [1, 2]]) / 32768


def test_sounds_become_files_and_sounds_again() -> None:
    file = tf.audio.encode_wav(AUDIO, 8000)
    with wave.open(io.BytesIO(file.numpy())) as read:
        assert (read.getnchannels(), read.getframerate(), read.getnframes(), read.getsampwidth()) == (2, 8000, 5, 2)
    audio, rate = tf.audio.decode_wav(file)
    assert int(rate) == 8000
    np.testing.assert_array_equal(audio, FOUND.astype("float32"))


def test_channels_and_samples_as_they_are_wanted() -> None:
    file = tf.audio.encode_wav(AUDIO, 8000)
    cases: dict[str, Any] = {
        "one": ({"desired_channels": 1}, FOUND[:, :1]),
        "three": ({"desired_channels": 3}, FOUND[:, [0, 1, 1]]),
        "short": ({"desired_samples": 2}, FOUND[:2]),
        "long": ({"desired_samples": 7}, np.pad(FOUND, [(0, 2), (0, 0)])),
    }
    for wanted, expected in cases.values():
        np.testing.assert_array_equal(tf.audio.decode_wav(file, **wanted)[0], expected.astype("float32"))

    @tf.function
    def load(contents: Any) -> Any:
        audio, rate = tf.audio.decode_wav(contents, 1, 3)
        assert audio.shape.as_list() == [3, 1]
        return audio, rate

    np.testing.assert_array_equal(load(file)[0], FOUND[:3, :1].astype("float32"))


def eight_bits() -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setnchannels(1)
        written.setsampwidth(1)
        written.setframerate(8000)
        written.writeframes(bytes([0, 128, 255]))
    return file.getvalue()


WHOLE = tf.audio.encode_wav(AUDIO, 8000).numpy()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tf.audio.decode_wav(b""), "Data too short"),
        (lambda: tf.audio.decode_wav(b"nonsense that is long"), "Expected RIFF"),
        (lambda: tf.audio.decode_wav(WHOLE[:40]), "too short"),
        (lambda: tf.audio.decode_wav(WHOLE[:-3]), "Data too short"),
        (lambda: tf.audio.decode_wav(eight_bits()), "16-bit WAV files, but received 8"),
        (lambda: tf.audio.decode_wav([WHOLE]), "rank 0"),
        (lambda: tf.audio.encode_wav([1.0], 8000), "2-dimensional"),
        (lambda: tf.audio.encode_wav([[1.0]], 0), "sample_rate must be in"),
    ],
)
def test_what_is_no_wav_file_is_refused(call: Any, words: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        call()


def test_what_is_decoded_has_fields() -> None:
    made = tf.audio.decode_wav(tf.audio.encode_wav([[0.5], [-0.5]], 8000))
    np.testing.assert_allclose(made.audio.numpy(), [[0.5], [-0.5]], atol=1e-4)
    assert int(made.sample_rate) == 8000
