"""Audio in 16-bit WAV files: ``tf.audio``.

Samples are numbers from -1 to 1: samples x channels.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np
import torch

from situs._src.base.errors import ArgumentError, InvalidArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import SCALAR, TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, HostValue
from situs._src.ops.attribute import as_int
from situs._src.ops.define import CPU, KernelValue, op

_decode = op(
    "DecodeWav",
    "contents: string -> audio: float32, sample_rate: int32",
    desired_channels=-1,
    desired_samples=-1,
)
_encode = op("EncodeWav", "audio: float32, sample_rate: host -> contents: string")
_encode.stops_gradients()


@_decode.shape
def _decode_shape(contents: TensorShape, *, desired_channels: int, desired_samples: int) -> tuple[TensorShape, ...]:
    if contents.rank not in (0, None):
        raise ArgumentError(f"Shape must be rank 0 but is rank {contents.rank}: contents is one file, a scalar string.")
    sizes = [None if size < 0 else size for size in (desired_samples, desired_channels)]
    return TensorShape(sizes), SCALAR


@_decode.kernel(CPU)
def _decode_kernel(
    contents: KernelValue, *, desired_channels: int, desired_samples: int
) -> tuple[torch.Tensor, torch.Tensor]:
    if np.ndim(contents):
        raise InvalidArgumentError(f"contents must be rank 0, one file; got shape {brackets(np.shape(contents))}")
    samples, rate = _read(bytes(contents[()]))
    if desired_channels >= 0:
        more = max(desired_channels - samples.shape[1], 0)
        samples = np.concatenate([samples, np.repeat(samples[:, -1:], more, 1)], 1)[:, :desired_channels]
    if desired_samples >= 0:
        missing = max(desired_samples - len(samples), 0)
        samples = np.pad(samples, [(0, missing), (0, 0)])[:desired_samples]
    audio = samples.astype(np.float32) / np.float32(32768)
    return torch.from_numpy(audio), torch.tensor(rate, dtype=torch.int32)


def _read(data: bytes) -> tuple[np.ndarray[Any, Any], int]:
    """The samples of a file, as integers, and its rate."""
    if len(data) < 12:
        raise InvalidArgumentError(f"Data too short for a WAV file: {len(data)} bytes.")
    if data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise InvalidArgumentError(f"Header mismatch: Expected RIFF, WAVE but found {data[:4]!r}, {data[8:12]!r}")
    place, form = 12, None
    while place + 8 <= len(data):
        kind, (size,) = data[place : place + 4], struct.unpack("<I", data[place + 4 : place + 8])
        body = data[place + 8 : place + 8 + size]
        if kind == b"fmt ":
            form = _form(body)
        elif kind == b"data":
            if form is None:
                raise InvalidArgumentError(
                    "No fmt chunk before the samples of a WAV file: it says how they are written."
                )
            if len(body) < size:
                raise InvalidArgumentError(f"Data too short: {size} bytes of samples expected, {len(body)} found.")
            channels, rate = form
            count = len(body) // (2 * channels)
            return np.frombuffer(body, "<i2", count * channels).reshape(count, channels), rate
        place += 8 + size + size % 2
    raise InvalidArgumentError("No data chunk found in WAV file: data too short, or cut off.")


def _form(body: bytes) -> tuple[int, int]:
    """The number of channels and the rate."""
    if len(body) < 16:
        raise InvalidArgumentError(f"Data too short for the format of a WAV file: {len(body)} bytes.")
    code, channels, rate, _, _, bits = struct.unpack("<HHIIHH", body[:16])
    if code not in (1, 0xFFFE):
        raise InvalidArgumentError(f"Bad audio format for WAV: Expected 1 (PCM), but got {code}")
    if bits != 16:
        raise InvalidArgumentError(f"Can only read 16-bit WAV files, but received {bits}")
    if not channels:
        raise InvalidArgumentError("Bad number of channels for WAV: Expected at least 1, but got 0")
    return channels, rate


@_encode.shape
def _encode_shape(audio: TensorShape, sample_rate: HostValue) -> TensorShape:
    if audio.rank not in (2, None):
        raise ArgumentError(f"audio must be 2-dimensional{brackets(audio)}")
    return SCALAR


@_encode.kernel(CPU)
def _encode_kernel(audio: torch.Tensor, sample_rate: Any) -> np.ndarray[Any, Any]:
    _encode_shape(TensorShape(audio.shape), sample_rate)
    channels = audio.shape[1]
    if not isinstance(sample_rate, int) or not 0 < sample_rate < 2**32:
        raise InvalidArgumentError(f"sample_rate must be in (0, 2^32), got: {sample_rate}")
    if not 0 < channels < 2**15:
        raise InvalidArgumentError(f"num_channels must be in (0, 2^15), got: {channels}")
    scaled = audio.numpy().astype(np.float64) * 32768
    samples = np.clip(np.sign(scaled) * np.floor(np.abs(scaled) + 0.5), -32768, 32767).astype("<i2").tobytes()
    form = struct.pack("<HHIIHH", 1, channels, sample_rate, sample_rate * channels * 2, channels * 2, 16)
    head = b"RIFF" + struct.pack("<I", 36 + len(samples)) + b"WAVEfmt " + struct.pack("<I", 16) + form
    return np.array(head + b"data" + struct.pack("<I", len(samples)) + samples, dtype=object)


class DecodeWav(NamedTuple):
    """The result of `decode_wav`."""

    audio: Tensor
    sample_rate: Tensor


@export("audio.decode_wav")
def decode_wav(
    contents: ArrayLike, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None
) -> DecodeWav:
    """The samples of a WAV file of 16 bits.

    Args:
        contents: What is in the file, a scalar string.
        desired_channels: How many channels the result has: others are left out, or the last one repeated. -1 for those
            of the file.
        desired_samples: How many samples it has: others are left out, or zeros put behind. -1 for those of the file.
        name: A name for the op.

    Returns:
        samples x channels, from -1 to 1; the number of samples in a second.
    """
    channels, samples = as_int(desired_channels, "desired_channels"), as_int(desired_samples, "desired_samples")
    return DecodeWav(*_decode.many(contents, desired_channels=channels, desired_samples=samples, name=name))


@export("audio.encode_wav")
def encode_wav(audio: ArrayLike, sample_rate: ArrayLike, name: str | None = None) -> Tensor:
    """A WAV file of 16 bits.

    Args:
        audio: samples x channels, from -1 to 1; what is beyond is cut off.
        sample_rate: The number of samples in a second.
        name: A name for the op.
    """
    return _encode(audio, sample_rate, name=name)
