"""``tf.spectral``: the transforms of ``tf.signal`` under the names they had before."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.fourier import fft as fft
from situs._src.ops.fourier import fft2d as fft2d
from situs._src.ops.fourier import fft3d as fft3d
from situs._src.ops.fourier import ifft as ifft
from situs._src.ops.fourier import ifft2d as ifft2d
from situs._src.ops.fourier import ifft3d as ifft3d
from situs._src.ops.fourier import irfft as irfft
from situs._src.ops.fourier import irfft2d as irfft2d
from situs._src.ops.fourier import irfft3d as irfft3d
from situs._src.ops.fourier import rfft as rfft
from situs._src.ops.fourier import rfft2d as rfft2d
from situs._src.ops.fourier import rfft3d as rfft3d
from situs._src.ops.signal import dct as dct
from situs._src.ops.signal import idct as idct
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
