"""``tf.signal``: figures of TensorFlow 2.21 for the calls of `signal_calls`, NumPy's transforms, and bad arguments."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1
from tests.unit.ops.signal_calls import CALLS, CUBE, ROWS, WAVE, Z, figures

FIGURES = json.loads((Path(__file__).parents[2] / "data" / "signal_figures.json").read_text())


@pytest.mark.parametrize("name", CALLS)
def test_figures_of_tensorflow(name, on_device):
    found, wanted = figures(CALLS[name](tf).numpy()), FIGURES[name]
    assert (found["shape"], found["dtype"]) == (wanted["shape"], wanted["dtype"])
    np.testing.assert_allclose(found["some"], wanted["some"], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found["sum"], wanted["sum"], rtol=1e-4, atol=3e-3)


def test_all_calls_have_figures():
    assert FIGURES.keys() == CALLS.keys()


@pytest.mark.parametrize("name", [name for name in CALLS if "again" not in name])
def test_functions_give_the_same(name):
    np.testing.assert_allclose(
        tf.function(lambda: CALLS[name](tf))().numpy(), CALLS[name](tf).numpy(), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("norm", [None, "backward", "forward", "ortho"])
@pytest.mark.parametrize(
    ("lengths", "axes"), [(None, None), (None, [0, 3]), ([2, 7], [1, 3]), ([4, 3], None), ([3], [1])]
)
def test_any_axes(lengths, axes, norm):
    given = {"fft_length": lengths, "axes": axes, "norm": norm}
    kept = {"s": lengths, "axes": axes if axes or not lengths else [-2, -1], "norm": norm or "backward"}
    close = {"rtol": 1e-4, "atol": 1e-4}
    np.testing.assert_allclose(tf.signal.fftnd(Z, **given).numpy(), np.fft.fftn(Z, **kept), **close)
    np.testing.assert_allclose(tf.signal.ifftnd(Z, **given).numpy(), np.fft.ifftn(Z, **kept), **close)
    np.testing.assert_allclose(tf.signal.rfftnd(CUBE, **given).numpy(), np.fft.rfftn(CUBE, **kept), **close)
    np.testing.assert_allclose(tf.signal.irfftnd(Z, **given).numpy(), np.fft.irfftn(Z, **kept), **close)


def test_sizes_that_are_known_only_when_it_runs():
    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def again(x):
        back = tf.signal.inverse_stft_window_fn(2)
        return tf.signal.irfft(tf.signal.rfft(x)), tf.signal.inverse_stft(tf.signal.stft(x, 8, 2), 8, 2, window_fn=back)

    same, inner = again(ROWS)
    np.testing.assert_allclose(same.numpy(), ROWS, atol=1e-5)
    np.testing.assert_allclose(inner.numpy()[:, 8:-8], ROWS[:, 8:-8], atol=1e-5)


def test_gradients_where_sizes_are_known_only_when_it_runs():
    @tf.function(input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec([1], tf.int32)])
    def slope(x, length):
        return tf.gradients(tf.reduce_sum(tf.abs(tf.signal.rfft(x, length)) ** 2.0), x)[0]

    for length in (12, 32):
        x = tf.constant(ROWS)
        with tf.GradientTape() as tape:
            tape.watch(x)
            total = tf.reduce_sum(tf.abs(tf.signal.rfft(x, [length])) ** 2.0)
        np.testing.assert_allclose(slope(x, [length]).numpy(), tape.gradient(total, x).numpy(), rtol=1e-4, atol=1e-4)


def test_shapes_in_graphs():
    found = []

    @tf.function(input_signature=[tf.TensorSpec([None, 20])])
    def shapes(x):
        found.extend(list(made.shape) for made in (tf.signal.rfft(x), tf.signal.rfft(x, [9]), tf.signal.stft(x, 8, 4)))
        return x

    shapes.get_concrete_function()
    assert found == [[None, 11], [None, 5], [None, 4, 5]]


def test_nothing_to_transform():
    assert tf.signal.fft(np.zeros([0, 4], "complex64")).shape == (0, 4)
    assert tf.signal.rfft(np.zeros([2, 0], "float32")).shape == (2, 0)
    assert tf.signal.irfft(np.zeros([2, 1], "complex64")).shape == (2, 0)
    assert tf.signal.overlap_and_add(np.zeros([0, 4], "float32"), 2).shape == (2,)


def test_names_of_tensorflow_1():
    with v1.Graph().as_default(), v1.Session() as session:
        found = session.run([v1.spectral.rfft(ROWS), v1.signal.rfft(ROWS), v1.fft(Z)])
    np.testing.assert_allclose(found[0], np.fft.rfft(ROWS), atol=1e-4)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_allclose(found[2], np.fft.fft(Z), atol=1e-4)


@pytest.mark.parametrize(
    ("error", "call", "words"),
    [
        (TypeError, lambda: tf.signal.fft(ROWS), "Tcomplex|complex64"),
        (ValueError, lambda: tf.signal.fft(tf.constant(1j, tf.complex64)), "at least rank 1"),
        (ValueError, lambda: tf.signal.fft2d(Z[0, 0, 0]), "at least rank 2"),
        (ValueError, lambda: tf.signal.rfft(tf.range(4)), "RFFT requires tf.float32 or tf.float64"),
        (ValueError, lambda: tf.signal.irfft(tf.constant(ROWS)), "IRFFT requires tf.complex64 or tf.complex128"),
        (ValueError, lambda: tf.signal.rfft(ROWS, [2, 2]), r"Shape must be \[1\]"),
        (ValueError, lambda: tf.signal.rfft(ROWS, [-1]), r"fft_length\[0\] must be >= 0, got -1"),
        (ValueError, lambda: tf.signal.fftnd(Z, axes=[0, 4]), r"axes must be in \[-4, 4\)"),
        (ValueError, lambda: tf.signal.fftnd(Z, axes=[0, 0]), "axes must be different"),
        (ValueError, lambda: tf.signal.irfftnd(np.complex64(1)), "needs a tensor with axes"),
        (ValueError, lambda: tf.signal.fftnd(Z, axes=[]), "needs one axis or more"),
        (ValueError, lambda: tf.signal.hann_window(10**400), "window_length must fit int32"),
        (ValueError, lambda: tf.signal.fftnd(Z, norm="x"), "norm must be .* got 'x'"),
        (ValueError, lambda: tf.signal.fftnd(tf.constant(ROWS)), "requires tf.complex64"),
        (ValueError, lambda: tf.signal.frame(WAVE, 0, 2), "frame_length must be positive, got 0"),
        (ValueError, lambda: tf.signal.frame(WAVE, 2, -1), "frame_step must be positive, got -1"),
        (ValueError, lambda: tf.signal.frame(WAVE, 2.5, 1), "frame_length must be an integer, got 2.5"),
        (ValueError, lambda: tf.signal.frame(WAVE, [2], 1), "frame_length must be an integer"),
        (ValueError, lambda: tf.signal.frame(WAVE, tf.constant([2]), 1), "must be a scalar"),
        (ValueError, lambda: tf.signal.frame(WAVE, 2, 1, axis=1), "axis must be in"),
        (ValueError, lambda: tf.signal.overlap_and_add(WAVE, 1), "rank 2 or more"),
        (ValueError, lambda: tf.signal.hann_window(3, dtype=tf.int32), "dtype must be a floating point type"),
        (ValueError, lambda: tf.signal.hann_window(-3), "window_length must not be negative"),
        (ValueError, lambda: tf.signal.kaiser_bessel_derived_window(3), "window_length must be even, got 3"),
        (ValueError, lambda: tf.signal.stft(WAVE, 4, 2, window_fn=3), "window_fn is a function"),
        (ValueError, lambda: tf.signal.stft(1.0, 4, 2), "rank 1 or more"),
        (ValueError, lambda: tf.signal.inverse_stft(Z[0, 0, 0], 4, 2), "rank 2 or more"),
        (NotImplementedError, lambda: tf.signal.dct(ROWS, axis=0), "axis must be -1"),
        (ValueError, lambda: tf.signal.dct(ROWS, type=5), "got type 5"),
        (ValueError, lambda: tf.signal.dct(ROWS, norm="l2"), "norm must be None or 'ortho'"),
        (ValueError, lambda: tf.signal.dct(ROWS, type=1, norm="ortho"), "Type-I"),
        (ValueError, lambda: tf.signal.dct(ROWS[:, :1], type=1), "greater than one"),
        (ValueError, lambda: tf.signal.mdct(ROWS, 6), "multiple of 4"),
        (ValueError, lambda: tf.signal.inverse_mdct(WAVE), "rank 2 or more"),
        (ValueError, lambda: tf.signal.linear_to_mel_weight_matrix(10**9), "too large"),
        (ValueError, lambda: tf.signal.linear_to_mel_weight_matrix(4, 0), "num_spectrogram_bins must be positive"),
        (ValueError, lambda: tf.signal.linear_to_mel_weight_matrix(0), "num_mel_bins must be positive"),
        (ValueError, lambda: tf.signal.linear_to_mel_weight_matrix(lower_edge_hertz=4000.0), ">= upper_edge_hertz"),
        (ValueError, lambda: tf.signal.linear_to_mel_weight_matrix(upper_edge_hertz=9000.0), "Nyquist"),
        (ValueError, lambda: tf.signal.mfccs_from_log_mel_spectrograms(np.zeros([2, 0], "float32")), "Got: 0"),
    ],
)
def test_bad_arguments(error, call, words):
    with pytest.raises(error, match=words):
        call()


def test_a_signal_of_unknown_rank_is_told():
    with pytest.raises(ValueError, match="number of dimensions"):
        tf.function(lambda x: tf.signal.idct(x, type=4), input_signature=[tf.TensorSpec(None)]).get_concrete_function()


def test_the_gradient_of_frames_is_no_slices():
    x = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.signal.frame(x, 3, 1)
    assert tape.gradient(y, x).numpy().tolist() == [1.0, 2.0, 3.0, 2.0, 1.0]
