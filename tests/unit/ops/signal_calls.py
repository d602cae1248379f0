"""Calls of ``tf.signal``, by name: `test_signal.py` compares them with the figures of TensorFlow 2.21.

``python -m tests.unit.ops.signal_calls`` prints the figures of what ``import tensorflow`` gives.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

WAVE = (np.sin(np.arange(40) * 0.7) + 0.3 * np.cos(np.arange(40) * 1.9)).astype("float32")
ROWS = np.stack([WAVE[:20], WAVE[20:]])
CUBE = np.resize(WAVE, (2, 3, 4, 5))
Z = (CUBE + 1j * CUBE[::-1, :, ::-1]).astype("complex64")
STEP = {"frame_length": 8, "frame_step": 3}
Call = Callable[[Any], Any]

CALLS: dict[str, Call] = {
    "fft": lambda tf: tf.signal.fft(Z),
    "fft double": lambda tf: tf.signal.fft(tf.constant(Z.astype("complex128"))),
    "fft2d": lambda tf: tf.signal.fft2d(Z),
    "fft3d": lambda tf: tf.signal.fft3d(Z),
    "ifft": lambda tf: tf.signal.ifft(Z),
    "ifft2d": lambda tf: tf.signal.ifft2d(Z),
    "ifft3d": lambda tf: tf.signal.ifft3d(Z),
    "rfft": lambda tf: tf.signal.rfft(ROWS),
    "rfft cut": lambda tf: tf.signal.rfft(ROWS, [7]),
    "rfft filled": lambda tf: tf.signal.rfft(ROWS, [32]),
    "rfft2d": lambda tf: tf.signal.rfft2d(CUBE),
    "rfft2d lengths": lambda tf: tf.signal.rfft2d(CUBE, [3, 8]),
    "rfft3d": lambda tf: tf.signal.rfft3d(CUBE),
    "irfft": lambda tf: tf.signal.irfft(Z),
    "irfft odd": lambda tf: tf.signal.irfft(Z, [9]),
    "irfft cut": lambda tf: tf.signal.irfft(Z, [5]),
    "irfft2d": lambda tf: tf.signal.irfft2d(Z),
    "irfft3d": lambda tf: tf.signal.irfft3d(Z),
    "fftshift": lambda tf: tf.signal.fftshift(CUBE),
    "fftshift axes": lambda tf: tf.signal.fftshift(CUBE, [1, 3]),
    "ifftshift": lambda tf: tf.signal.ifftshift(CUBE),
    "frame": lambda tf: tf.signal.frame(ROWS, 6, 4),
    "frame end": lambda tf: tf.signal.frame(ROWS, 6, 4, pad_end=True, pad_value=9.0),
    "frame axis": lambda tf: tf.signal.frame(CUBE, 2, 1, axis=2),
    "frame short": lambda tf: tf.signal.frame(WAVE[:3], 6, 4),
    "frame short end": lambda tf: tf.signal.frame(WAVE[:3], 6, 4, pad_end=True),
    "overlap_and_add": lambda tf: tf.signal.overlap_and_add(CUBE, 2),
    "overlap_and_add one": lambda tf: tf.signal.overlap_and_add(CUBE[0, 0], 3),
    "overlap_and_add gaps": lambda tf: tf.signal.overlap_and_add(CUBE[0], 7),
    "hann": lambda tf: tf.signal.hann_window(8),
    "hann odd": lambda tf: tf.signal.hann_window(7, dtype=tf.float64),
    "hann symmetric": lambda tf: tf.signal.hann_window(8, periodic=False),
    "hann one": lambda tf: tf.signal.hann_window(1),
    "hamming": lambda tf: tf.signal.hamming_window(8),
    "hamming symmetric": lambda tf: tf.signal.hamming_window(9, periodic=False),
    "kaiser": lambda tf: tf.signal.kaiser_window(9),
    "kaiser beta": lambda tf: tf.signal.kaiser_window(10, beta=3.0),
    "kaiser_bessel_derived": lambda tf: tf.signal.kaiser_bessel_derived_window(10),
    "vorbis": lambda tf: tf.signal.vorbis_window(8),
    "stft": lambda tf: tf.signal.stft(ROWS, **STEP),
    "stft end": lambda tf: tf.signal.stft(WAVE, **STEP, fft_length=16, pad_end=True),
    "stft window": lambda tf: tf.signal.stft(WAVE, **STEP, window_fn=tf.signal.hamming_window),
    "stft no window": lambda tf: tf.signal.stft(WAVE, 6, 3, window_fn=None),
    "inverse_stft": lambda tf: tf.signal.inverse_stft(Z, **STEP),
    "inverse_stft wide": lambda tf: tf.signal.inverse_stft(Z, 6, 2, fft_length=16, window_fn=None),
    "inverse_stft narrow": lambda tf: tf.signal.inverse_stft(Z, 6, 2, fft_length=4, window_fn=None),
    "inverse_stft again": lambda tf: tf.signal.inverse_stft(
        tf.signal.stft(ROWS, 8, 2), 8, 2, window_fn=tf.signal.inverse_stft_window_fn(2)
    ),
    "inverse_stft_window_fn": lambda tf: tf.signal.inverse_stft_window_fn(3)(8, dtype=tf.float32),
    "dct": lambda tf: tf.signal.dct(ROWS),
    "dct 1": lambda tf: tf.signal.dct(ROWS, type=1),
    "dct 2 ortho": lambda tf: tf.signal.dct(ROWS, norm="ortho"),
    "dct 2 n": lambda tf: tf.signal.dct(ROWS, n=13),
    "dct 3": lambda tf: tf.signal.dct(ROWS, type=3),
    "dct 3 ortho": lambda tf: tf.signal.dct(ROWS, type=3, norm="ortho", n=24),
    "dct 4": lambda tf: tf.signal.dct(ROWS, type=4),
    "dct 4 ortho": lambda tf: tf.signal.dct(ROWS, type=4, norm="ortho"),
    "idct": lambda tf: tf.signal.idct(ROWS),
    "idct ortho": lambda tf: tf.signal.idct(ROWS, norm="ortho"),
    "mdct": lambda tf: tf.signal.mdct(ROWS, 8),
    "mdct end": lambda tf: tf.signal.mdct(ROWS, 8, pad_end=True, norm="ortho"),
    "mdct no window": lambda tf: tf.signal.mdct(ROWS, 8, window_fn=None),
    "inverse_mdct": lambda tf: tf.signal.inverse_mdct(CUBE[..., :4]),
    "inverse_mdct ortho": lambda tf: tf.signal.inverse_mdct(CUBE[..., :4], norm="ortho"),
    "inverse_mdct no window": lambda tf: tf.signal.inverse_mdct(CUBE[..., :4], window_fn=None),
    "mel": lambda tf: tf.signal.linear_to_mel_weight_matrix(),
    "mel few": lambda tf: tf.signal.linear_to_mel_weight_matrix(5, 33, 16000, 0.0, 8000.0, tf.float64),
    "mfccs": lambda tf: tf.signal.mfccs_from_log_mel_spectrograms(CUBE),
}


def _gradient(function: Callable[[Any, Any], Any], x: Any) -> Call:
    def call(tf: Any) -> Any:
        given = tf.constant(x)
        with tf.GradientTape() as tape:
            tape.watch(given)
            made = function(tf, given)
            weights = tf.reshape(tf.range(1.0, tf.cast(tf.size(made), tf.float32) + 1.0), tf.shape(made)) / 10.0
            loss = tf.reduce_sum(weights * tf.math.real(made)) + tf.reduce_sum(weights[::-1] * tf.math.imag(made))
        return tape.gradient(loss, given)

    return call


CALLS |= {
    "gradient fft": _gradient(lambda tf, z: tf.signal.fft(z), Z),
    "gradient ifft2d": _gradient(lambda tf, z: tf.signal.ifft2d(z), Z),
    "gradient fft3d": _gradient(lambda tf, z: tf.signal.fft3d(z), Z),
    "gradient rfft": _gradient(lambda tf, x: tf.signal.rfft(x), ROWS),
    "gradient rfft filled": _gradient(lambda tf, x: tf.signal.rfft(x, [32]), ROWS),
    "gradient rfft2d": _gradient(lambda tf, x: tf.signal.rfft2d(x), CUBE),
    "gradient irfft": _gradient(lambda tf, z: tf.cast(tf.signal.irfft(z), tf.complex64), Z),
    "gradient irfft2d": _gradient(lambda tf, z: tf.cast(tf.signal.irfft2d(z), tf.complex64), Z),
    "gradient stft": _gradient(lambda tf, x: tf.signal.stft(x, **STEP), ROWS),
    "gradient overlap": _gradient(lambda tf, x: tf.cast(tf.signal.overlap_and_add(x, 2), tf.complex64), CUBE),
    "gradient frame": _gradient(lambda tf, x: tf.cast(tf.signal.frame(x, 4, 3, True), tf.complex64), ROWS),
}


def figures(made: Any) -> dict[str, Any]:
    """What is kept of a result: its shape, its dtype, every n-th number and the sum of all, weighed."""
    flat = np.asarray(made).reshape(-1)
    weighed = np.sum(flat * np.cos(np.arange(flat.size))) if flat.size else 0.0
    some = flat[:: max(1, flat.size // 12)]
    return {
        "shape": list(np.shape(made)),
        "dtype": str(np.asarray(made).dtype),
        "some": [[round(float(x.real), 6), round(float(x.imag), 6)] for x in some],
        "sum": [round(float(np.real(weighed)), 5), round(float(np.imag(weighed)), 5)],
    }


if __name__ == "__main__":
    import tensorflow

    found = {name: figures(call(tensorflow).numpy()) for name, call in CALLS.items()}
    print("{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in found.items()) + "\n}")
