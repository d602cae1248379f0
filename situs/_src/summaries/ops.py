"""The ops of TensorFlow 1's summaries: each makes a ``Summary`` message, as a string, on the CPU.

ScalarSummary      tags, values             one value for each tag
HistogramSummary   tag, values              a histogram of all values
ImageSummary       tag, tensor              tag/image/0, tag/image/1, ...; tag/image if there is at most one
AudioSummaryV2     tag, tensor, sample_rate the same with audio
TensorSummaryV2    tag, tensor, metadata    the tensor as it is
MergeSummary       inputs                   what stands in all of them
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import FLOATING, REAL
from situs._src.base.errors import ArgumentError, DataLossError
from situs._src.base.shapes import SCALAR, brackets
from situs._src.base.typing import ArrayLike
from situs._src.ops.define import CPU, op
from situs._src.ops.strings import strings_of
from situs._src.runtime.eager.bridge import host, place_of
from situs._src.runtime.eager.tensor import to_numpy_value
from situs._src.summaries import messages
from situs._src.summaries.file_writer import parsed
from situs._src.summaries.histogram import fill_message
from situs._src.summaries.picture import as_pixels, encode_png
from situs._src.summaries.sound import encode_wav

Array = np.ndarray[Any, Any]
_PICTURES = (FLOATING - {dt.bfloat16}) | {dt.uint8}

scalar_summary = op("ScalarSummary", "tags: string, values: T -> summary: string", T=REAL)
histogram_summary = op("HistogramSummary", "tag: string, values: T -> summary: string", T=REAL)
image_summary = op("ImageSummary", "tag: string, tensor: T -> summary: string", T=_PICTURES, max_images=3)
audio_summary = op(
    "AudioSummaryV2", "tag: string, tensor: float32, sample_rate: float32 -> summary: string", max_outputs=3
)
tensor_summary = op("TensorSummaryV2", "tag: string, tensor: T, serialized_summary_metadata: string -> summary: string")
merge_summary = op("MergeSummary", "inputs: string* -> summary: string")
for _declared in (scalar_summary, histogram_summary, image_summary, audio_summary, tensor_summary, merge_summary):
    _declared.shape(lambda *inputs, **attrs: SCALAR)


def _made(summary: Any) -> Array:
    return strings_of([summary.SerializeToString()], ())


def new_summary() -> Any:
    """An empty ``Summary``."""
    return messages.proto("summary_pb2").Summary()


def _text(tag: Any) -> str:
    """A tag as text; one that is not UTF-8 cannot stand in a message."""
    item = tag if isinstance(tag, bytes) else _one(tag)
    try:
        return item.decode()
    except UnicodeDecodeError:
        raise ArgumentError(f"A tag is UTF-8 text, got {item!r}.") from None


def _one(value: Array) -> bytes:
    if value.size != 1:
        raise ArgumentError(f"A tag must be a scalar, got shape {brackets(value.shape)}.")
    return value.reshape(-1)[0]  # type: ignore[no-any-return]


# Numbers.


@scalar_summary.kernel(CPU)
def _scalar_kernel(tags: Array, values: torch.Tensor) -> Array:
    if tuple(tags.shape) != tuple(values.shape):
        which = f" (tag '{_text(tags)}')" if tags.size == 1 else ""
        raise ArgumentError(
            f"tags and values are not the same shape: {brackets(tags.shape)} != {brackets(values.shape)}{which}"
        )
    summary = new_summary()
    for tag, number in zip(tags.reshape(-1), to_numpy_value(values).astype(np.float32).reshape(-1), strict=True):
        summary.value.add(tag=_text(tag), simple_value=float(number))
    return _made(summary)


@histogram_summary.kernel(CPU)
def _histogram_kernel(tag: Array, values: torch.Tensor) -> Array:
    summary, name = new_summary(), _text(tag)
    value = summary.value.add(tag=name)
    fill_message(value.histo, to_numpy_value(values).astype(np.float64), name)
    return _made(summary)


# Pictures and sounds.


@image_summary.kernel(CPU)
def _image_kernel(tag: Array, tensor: torch.Tensor, *, max_images: int) -> Array:
    shape = tuple(tensor.shape)
    if len(shape) != 4 or shape[3] not in (1, 3, 4):
        raise ArgumentError(f"Tensor must be 4-D with last dim 1, 3, or 4, not {brackets(shape)}")
    if 0 in shape[1:]:
        raise ArgumentError(f"input tensor must have non-zero dims. Found: {brackets(shape)}.")
    summary, images = new_summary(), to_numpy_value(tensor[:max_images])
    for number, image in enumerate(images):
        value = summary.value.add(tag=_numbered(f"{_text(tag)}/image", number, max_images))
        value.image.height, value.image.width, value.image.colorspace = image.shape
        value.image.encoded_image_string = encode_png(image if image.dtype == np.uint8 else as_pixels(image))
    return _made(summary)


def _numbered(tag: str, number: int, most: int) -> str:
    return f"{tag}/{number}" if most > 1 else tag


@audio_summary.kernel(CPU)
def _audio_kernel(tag: Array, tensor: torch.Tensor, sample_rate: torch.Tensor, *, max_outputs: int) -> Array:
    if tensor.ndim not in (2, 3):
        raise ArgumentError(f"Tensor must be 3-D or 2-D, got: {brackets(tuple(tensor.shape))}")
    rate = _rate(sample_rate)
    summary, clips = new_summary(), to_numpy_value(tensor[:max_outputs])
    for number, clip in enumerate(clips[..., np.newaxis] if clips.ndim == 2 else clips):
        value = summary.value.add(tag=_numbered(f"{_text(tag)}/audio", number, max_outputs))
        value.audio.sample_rate, value.audio.content_type = rate, "audio/wav"
        value.audio.length_frames, value.audio.num_channels = clip.shape
        value.audio.encoded_audio_string = encode_wav(clip, int(rate + 0.5))
    return _made(summary)


def _rate(sample_rate: torch.Tensor) -> float:
    if sample_rate.numel() != 1:
        raise ArgumentError(f"sample_rate must be a scalar, got shape {brackets(tuple(sample_rate.shape))}")
    rate = float(sample_rate)
    if not 0 < rate < 2**32:
        raise ArgumentError(f"sample_rate must be > 0, and less than 2^32; got {rate:g}")
    return rate


# Tensors as they are.


@tensor_summary.kernel(CPU)
def _tensor_kernel(tag: Array, tensor: ArrayLike, serialized_summary_metadata: Array) -> Array:
    summary = new_summary()
    fill_value(summary.value.add(tag=_text(tag)), tensor, serialized_summary_metadata.reshape(-1)[0])
    return _made(summary)


def fill_value(value: Any, tensor: Any, metadata: bytes) -> None:
    """Puts a tensor, and the metadata that say what it is, into a value of a summary.

    Raises:
        DataLossError: the metadata are not of their kind.
    """
    value.metadata.CopyFrom(parsed(messages.proto("summary_pb2").SummaryMetadata, metadata))
    made = value.tensor
    made.dtype = place_of(host(), tensor).dtype.as_datatype_enum
    made.tensor_shape.SetInParent()
    for size in tensor.shape:
        made.tensor_shape.dim.add(size=int(size))
    array = to_numpy_value(tensor)
    if isinstance(tensor, torch.Tensor):
        made.tensor_content = np.ascontiguousarray(array).tobytes()
    else:
        made.string_val.extend(array.reshape(-1).tolist())


@merge_summary.kernel(CPU)
def _merge_kernel(inputs: list[Array]) -> Array:
    summary, seen = new_summary(), set()
    for item in [item for value in inputs for item in value.reshape(-1)]:
        for value in _parsed_input(item).value:
            if value.tag in seen:
                raise ArgumentError(f"Duplicate tag {value.tag} found in summary inputs")
            seen.add(value.tag)
            summary.value.append(value)
    return _made(summary)


def _parsed_input(item: bytes) -> Any:
    try:
        return parsed(messages.proto("summary_pb2").Summary, item)
    except DataLossError as error:
        raise ArgumentError(f"Could not parse one of the summary inputs. {error}") from None
