"""Sounds as WAV files of 16 bits, which browsers play.

encode_wav(samples, 44100)       float32 [frames, channels] between -1 and 1; what is beyond is cut off
"""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np

from situs._src.base.errors import ArgumentError

Array = np.ndarray[Any, Any]


def encode_wav(samples: Array, sample_rate: int) -> bytes:
    """The bytes of a WAV file.

    Raises:
        InvalidArgumentError: the rate or the number of channels cannot stand in such a file.
    """
    channels = samples.shape[1]
    if not 0 < sample_rate < 2**32:
        raise ArgumentError(f"sample_rate must be in (0, 2^32), got: {sample_rate}")
    if not 0 < channels < 2**15:  # two bytes for each, counted in 16 bits
        raise ArgumentError(f"num_channels must be in (0, 2^15), got: {channels}")
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(channels)
        out.setsampwidth(2)
        out.setframerate(sample_rate)
        scaled = np.nan_to_num(samples.astype(np.float32) * np.float32(2**15), nan=0.0)
        halves_up = np.trunc(scaled + np.copysign(np.float32(0.5), scaled))  # NumPy's own rounding makes halves even
        made: Array = np.clip(halves_up, -(2**15), 2**15 - 1).astype("<i2")
        out.writeframes(made.tobytes())
    return file.getvalue()
