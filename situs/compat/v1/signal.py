"""``tf.signal`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.fourier import fft as fft
from situs._src.ops.fourier import fft2d as fft2d
from situs._src.ops.fourier import fft3d as fft3d
from situs._src.ops.fourier import fftnd as fftnd
from situs._src.ops.fourier import fftshift as fftshift
from situs._src.ops.fourier import ifft as ifft
from situs._src.ops.fourier import ifft2d as ifft2d
from situs._src.ops.fourier import ifft3d as ifft3d
from situs._src.ops.fourier import ifftnd as ifftnd
from situs._src.ops.fourier import ifftshift as ifftshift
from situs._src.ops.fourier import irfft as irfft
from situs._src.ops.fourier import irfft2d as irfft2d
from situs._src.ops.fourier import irfft3d as irfft3d
from situs._src.ops.fourier import irfftnd as irfftnd
from situs._src.ops.fourier import rfft as rfft
from situs._src.ops.fourier import rfft2d as rfft2d
from situs._src.ops.fourier import rfft3d as rfft3d
from situs._src.ops.fourier import rfftnd as rfftnd
from situs._src.ops.signal import dct as dct
from situs._src.ops.signal import frame as frame
from situs._src.ops.signal import hamming_window as hamming_window
from situs._src.ops.signal import hann_window as hann_window
from situs._src.ops.signal import idct as idct
from situs._src.ops.signal import inverse_mdct as inverse_mdct
from situs._src.ops.signal import inverse_stft as inverse_stft
from situs._src.ops.signal import inverse_stft_window_fn as inverse_stft_window_fn
from situs._src.ops.signal import kaiser_bessel_derived_window as kaiser_bessel_derived_window
from situs._src.ops.signal import kaiser_window as kaiser_window
from situs._src.ops.signal import linear_to_mel_weight_matrix as linear_to_mel_weight_matrix
from situs._src.ops.signal import mdct as mdct
from situs._src.ops.signal import mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms
from situs._src.ops.signal import overlap_and_add as overlap_and_add
from situs._src.ops.signal import stft as stft
from situs._src.ops.signal import vorbis_window as vorbis_window
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
