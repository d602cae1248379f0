"""``tf.summary`` of TensorFlow 2: what kinds of values can be written, and in which form TensorBoard wants them.

scalar       float32 []                                 plugin scalars
histogram    float64 [buckets, 3]: left, right, count   plugin histograms
image        strings: width, height, PNG files          plugin images
text         strings                                    plugin text
audio        strings [clips, 2]: WAV file, label        plugin audio
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import BOOL, REAL
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, IntLike
from situs._src.ops.attribute import as_int
from situs._src.ops.cast import cast
from situs._src.ops.constant import constant, convert_to_tensor
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.strings import strings_of
from situs._src.runtime.eager.tensor import to_numpy_value
from situs._src.summaries import messages
from situs._src.summaries.histogram import buckets_of
from situs._src.summaries.picture import as_bytes, encode_png
from situs._src.summaries.recording import state
from situs._src.summaries.sound import encode_wav
from situs._src.summaries.tags import summary_scope
from situs._src.summaries.write_ops import write

Array = np.ndarray[Any, Any]

_buckets = op("HistogramBuckets", "data: T -> buckets: float64", T=REAL | BOOL, count=30)
_buckets.shape(lambda data, *, count: TensorShape([max(count, 0), 3]))
_buckets.kernel(CPU, GPU)(lambda data, *, count: buckets_of(data, count))
_buckets.stops_gradients()
_pictures = op("SummaryImages", "images: T -> strings: string", T=REAL)
_pictures.shape(lambda images: TensorShape([None if images.rank is None or images[0] is None else images[0] + 2]))
_sounds = op("SummaryAudio", "clips: float32, sample_rate: host -> strings: string")
_sounds.shape(lambda clips, sample_rate: TensorShape([None if clips.rank is None else clips[0], 2]))


@export("summary.scalar", v1=())
def scalar(name: str, data: ArrayLike, step: IntLike | None = None, description: str | None = None) -> Tensor:
    """Writes a number.

    Args:
        name: The tag in TensorBoard, behind the name scopes around it.
        data: A scalar; written as float32.
        step: The step; the one of ``tf.summary.experimental.set_step`` by default.
        description: What to say of it, in Markdown.

    Returns:
        Whether it was written, as a boolean tensor: not without a default writer.

    Raises:
        ValueError: there is no step, or the data are no scalar.
    """

    def number() -> Tensor:
        tensor = convert_to_tensor(data)
        if tensor.shape.rank not in (0, None):
            raise ArgumentError(f"Expected scalar shape, saw shape: {tensor.shape}.")
        return cast(tensor, dt.float32)

    return _written(name, "scalar", number, step, description)


@export("summary.histogram", v1=())
def histogram(
    name: str, data: ArrayLike, step: IntLike | None = None, buckets: int | None = None, description: str | None = None
) -> Tensor:
    """Writes how the values of a tensor are distributed.

    Args:
        name: The tag in TensorBoard, behind the name scopes around it.
        data: A tensor of any shape.
        step: The step; the one of ``tf.summary.experimental.set_step`` by default.
        buckets: How many buckets to sort the values into; 30 by default.
        description: What to say of it, in Markdown.

    Returns:
        Whether it was written, as a boolean tensor: not without a default writer.
    """
    count = 30 if buckets is None else as_int(buckets, "buckets")
    return _written(name, "histogram", lambda: _buckets(data, count=count), step, description)


@export("summary.image", v1=())
def image(
    name: str, data: ArrayLike, step: IntLike | None = None, max_outputs: int = 3, description: str | None = None
) -> Tensor:
    """Writes images.

    Args:
        name: The tag in TensorBoard, behind the name scopes around it.
        data: Images, ``[k, height, width, channels]`` with 1 to 4 channels: uint8, or floats between 0 and 1.
        step: The step; the one of ``tf.summary.experimental.set_step`` by default.
        max_outputs: How many of them to write at most.
        description: What to say of them, in Markdown.

    Returns:
        Whether they were written, as a boolean tensor: not without a default writer.

    Raises:
        ValueError: the data are not of rank 4.
    """
    most = _not_negative(max_outputs)
    return _written(name, "image", lambda: _pictures(_of_rank(data, 4)[:most]), step, description)


@export("summary.text", v1=())
def text(name: str, data: ArrayLike, step: IntLike | None = None, description: str | None = None) -> Tensor:
    """Writes strings, which TensorBoard shows as Markdown, and a table of them as a table.

    Args:
        name: The tag in TensorBoard, behind the name scopes around it.
        data: A string, or a tensor of strings.
        step: The step; the one of ``tf.summary.experimental.set_step`` by default.
        description: What to say of it, in Markdown.

    Returns:
        Whether it was written, as a boolean tensor: not without a default writer.

    Raises:
        TypeError: the data are not strings.
    """

    def strings() -> Tensor:
        tensor = convert_to_tensor(data)
        if tensor.dtype is not dt.string:
            raise DTypeError(f"tensor must be of type tf.string; got {shown(tensor)}")
        return tensor

    return _written(name, "text", strings, step, description)


@export("summary.audio", v1=())
def audio(
    name: str,
    data: ArrayLike,
    sample_rate: IntLike,
    step: IntLike | None = None,
    max_outputs: int = 3,
    encoding: str | None = None,
    description: str | None = None,
) -> Tensor:
    """Writes sounds.

    Args:
        name: The tag in TensorBoard, behind the name scopes around it.
        data: Samples between -1 and 1, float32 ``[k, frames, channels]``.
        sample_rate: Samples a second, an integer.
        step: The step; the one of ``tf.summary.experimental.set_step`` by default.
        max_outputs: How many of them to write at most.
        encoding: ``"wav"``, which is the default.
        description: What to say of them, in Markdown.

    Returns:
        Whether they were written, as a boolean tensor: not without a default writer.

    Raises:
        ValueError: the data are not of rank 3, or the encoding is another one.
    """
    if encoding not in (None, "wav"):
        raise ArgumentError(f"Unknown encoding: {encoding!r}; sounds are written as 'wav'.")
    most = _not_negative(max_outputs)
    return _written(name, "audio", lambda: _sounds(_of_rank(data, 3)[:most], sample_rate), step, description)


def _written(name: Any, plugin: str, value: Callable[[], Tensor], step: Any, description: object) -> Tensor:
    with summary_scope(name, f"{plugin}_summary") as (tag, _):
        if state.writer is None:
            return constant(False)  # TensorBoard's package is not even loaded
        return write(tag, value, step, _metadata(plugin, description))


def _metadata(plugin: str, description: object) -> bytes:
    if description is not None and not isinstance(description, str):
        raise DTypeError(f"The description of a summary is a string, got {shown(description)}.")
    if plugin != "audio":
        return messages.metadata(plugin, description)
    wav = messages.part("tensorboard.plugins.audio.metadata").Encoding.Value("WAV")
    return messages.metadata(plugin, description, encoding=wav)


def _of_rank(data: ArrayLike, rank: int) -> Tensor:
    tensor = convert_to_tensor(data)
    if tensor.shape.rank not in (rank, None):
        raise ArgumentError(f"Tensor must have rank {rank}.  Received rank {tensor.shape.rank}, shape {tensor.shape}")
    return tensor


def _not_negative(max_outputs: IntLike) -> int:
    most = as_int(max_outputs, "max_outputs")
    if most < 0:
        raise ArgumentError(f"max_outputs says how many to write at most, 0 or more; got {most}.")
    return most


# Kernels.


@_pictures.kernel(CPU)
def _pictures_kernel(images: torch.Tensor) -> Array:
    _check_rank(images, 4)
    sizes = [str(images.shape[2]).encode(), str(images.shape[1]).encode()]
    files = [encode_png(image) for image in as_bytes(to_numpy_value(images))]
    return strings_of([*sizes, *files], (len(files) + 2,))


@_sounds.kernel(CPU)
def _sounds_kernel(clips: torch.Tensor, sample_rate: IntLike) -> Array:
    _check_rank(clips, 3)
    files = [encode_wav(clip, as_int(sample_rate, "sample_rate")) for clip in to_numpy_value(clips)]
    return strings_of([item for file in files for item in (file, b"")], (len(files), 2))


def _check_rank(tensor: torch.Tensor, rank: int) -> None:
    if tensor.ndim != rank:
        raise ArgumentError(f"Tensor must have rank {rank}.  Received rank {tensor.ndim}")
