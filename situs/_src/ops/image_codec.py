"""Image files: PNG, JPEG, GIF and BMP, decoded to tensors and encoded from them.

It uses Pillow, an optional dependency: it is small, built on libjpeg-turbo as TensorFlow's decoder is, and robust
against damaged or hostile files; torchvision would require its own version of PyTorch. Without Pillow these ops raise
an error that says how to install it.

As in TensorFlow, ``decode_png`` and ``decode_jpeg`` decode each other's files too. The numbers of a JPEG are those of
TensorFlow's ``dct_method="INTEGER_ACCURATE"``; its default differs from them by a few units.
"""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base import locks
from situs._src.base.dtype import DType, as_dtype
from situs._src.base.errors import ArgumentError, FailedPreconditionError, InvalidArgumentError, shown
from situs._src.base.export import export
from situs._src.base.shapes import SCALAR, UNKNOWN, TensorShape, brackets
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, DTypeLike, HostValue, IntLike
from situs._src.ops.attribute import as_bool, as_int, as_word
from situs._src.ops.cast import cast
from situs._src.ops.compare import equal
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.define import CPU, KernelValue, op
from situs._src.ops.image_color import convert_image_dtype
from situs._src.ops.naming import Composed
from situs._src.ops.random import uniform
from situs._src.ops.stateless import stateless_uniform
from situs._src.ops.strings import substr
from situs._src.runtime.eager.bridge import TORCH_DTYPE

Array = np.ndarray[Any, Any]

_UNKNOWN_FORMAT = "Unknown image file format. One of JPEG, PNG, GIF, BMP required."


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise FailedPreconditionError(
            "Images are decoded and encoded by Pillow, which is not installed: pip install pillow, or pip install "
            "'situs[images]'."
        ) from None
    return Image


# Decoding.


def _format_of(contents: bytes) -> str:
    """The kind of an image file, by its first bytes."""
    for start, name in ((b"\xff\xd8\xff", "JPEG"), (b"\x89PNG\r\n\x1a\n", "PNG"), (b"GIF8", "GIF"), (b"BM", "BMP")):
        if contents.startswith(start):
            return name
    raise InvalidArgumentError("Input is empty." if not contents else _UNKNOWN_FORMAT)


def _opened(contents: bytes, kind: str) -> Any:
    pillow = _pillow()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pillow.DecompressionBombWarning)
            return pillow.open(io.BytesIO(contents), formats=[kind])
    except (pillow.DecompressionBombError, pillow.DecompressionBombWarning) as error:
        raise InvalidArgumentError(f"{kind} image is too large: {error}") from None
    except (OSError, SyntaxError, ValueError) as error:
        raise InvalidArgumentError(f"Invalid {kind} data, size {len(contents)}: {error}") from None


_recovering = locks.lock()  # Pillow's word for it is one for the whole process


def _loaded(image: Any, contents: bytes, recovers: bool = False) -> Any:
    """An image whose pixels have been read; what is cut off is an error, or gray."""
    from PIL import ImageFile

    try:
        if not recovers:
            image.load()
            return image
        with _recovering:
            before, ImageFile.LOAD_TRUNCATED_IMAGES = ImageFile.LOAD_TRUNCATED_IMAGES, True
            try:
                image.load()
            finally:
                ImageFile.LOAD_TRUNCATED_IMAGES = before
    except (OSError, SyntaxError, ValueError, IndexError) as error:
        raise InvalidArgumentError(f"Invalid {image.format} data, size {len(contents)}: {error}") from None
    return image


def _pixels(image: Any, channels: int, dtype: DType) -> Array:
    """The pixels of an image: height x width x channels."""
    if image.mode in ("P", "1"):
        sees_through = image.mode == "P" and "transparency" in image.info
        image = image.convert("L" if image.mode == "1" else "RGBA" if sees_through else "RGB")
    if image.mode in ("CMYK", "YCbCr", "LAB", "HSV"):
        image = image.convert("RGB")
    found = np.asarray(image)
    if found.dtype.kind not in "u" or found.dtype.itemsize > 2:  # Pillow's modes of sixteen bits that are not "I;16"
        found = found.astype(np.uint16)
    pixels = found[:, :, None] if found.ndim == 2 else found
    return _of_dtype(_of_channels(pixels, channels), dtype)


def _of_channels(pixels: Array, channels: int) -> Array:
    """Pixels with another number of channels: gray is repeated, what is seen through is left out or full."""
    have = pixels.shape[2]
    if channels in (0, have):
        return pixels
    full = np.full((*pixels.shape[:2], 1), np.iinfo(pixels.dtype).max, pixels.dtype)
    alpha = pixels[:, :, -1:] if have in (2, 4) else full
    colors = pixels[:, :, :3] if have > 2 else pixels[:, :, :1]
    if channels == 1:
        if colors.shape[2] == 1:
            return colors
        even = (colors == colors[:, :, :1]).all(2, keepdims=True)
        mixed = (colors.astype(np.int64) @ _GRAY + 16384 * (colors.dtype.itemsize - 1)) >> 15
        return np.where(even, colors[:, :, :1], mixed[:, :, None]).astype(colors.dtype)
    if colors.shape[2] == 1:
        colors = np.repeat(colors, 3, axis=2)
    return colors if channels == 3 else np.concatenate([colors, alpha], axis=2)


_GRAY = np.array([9797, 19234, 3737])  # parts of 32768, as libpng takes them


def _of_dtype(pixels: Array, dtype: DType) -> Array:
    wanted = dtype.as_numpy_dtype
    if pixels.dtype == wanted:
        return pixels
    if dtype.is_floating:
        return pixels.astype(np.float32) * np.float32(1 / np.iinfo(pixels.dtype).max)
    if pixels.dtype == np.uint16:
        return (pixels >> 8).astype(wanted)
    return pixels.astype(wanted) * 257


def _decoded(contents: bytes, channels: int, dtype: DType, **jpeg: Any) -> Array:
    """One image of a file, or the first of a file of several."""
    kind = _format_of(contents)
    image = _opened(contents, kind)
    if kind == "JPEG":
        return _of_dtype(_decoded_jpeg(image, contents, channels, **jpeg), dtype)
    return _pixels(_loaded(image, contents), channels or (3 if kind == "GIF" else 0), dtype)


def _decoded_jpeg(
    image: Any, contents: bytes, channels: int, ratio: int = 1, try_recover_truncated: bool = False, **other: Any
) -> Array:
    if channels == 4:
        raise InvalidArgumentError("JPEG images have 1 or 3 channels, got channels=4.")
    gray = channels == 1 or (channels == 0 and image.mode == "L")
    if ratio > 1:
        width, height = image.size
        image.draft("L" if gray else "RGB", (-(-width // ratio), -(-height // ratio)))
    elif gray:
        image.draft("L", image.size)
    image = _loaded(image, contents, try_recover_truncated)
    return _of_channels(_pixels(image if image.mode in ("L", "RGB") else image.convert("RGB"), 0, dt.uint8), channels)


def _frames(contents: bytes) -> Array:
    """All frames of a GIF: frames x height x width x 3."""
    from PIL import ImageSequence

    image = _opened(contents, "GIF")
    try:
        return np.stack([np.asarray(frame.convert("RGB")) for frame in ImageSequence.Iterator(image)])
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        raise InvalidArgumentError(f"Invalid GIF data (size {len(contents)}), {error}") from None


def _bytes_of(contents: Any) -> bytes:
    if np.ndim(contents):
        raise InvalidArgumentError(f"contents must be scalar, got shape {brackets(np.shape(contents))}")
    return bytes(contents[()])


def _value(pixels: Array, dtype: DType = dt.uint8) -> torch.Tensor:
    return torch.from_numpy(np.array(pixels, order="C")).to(TORCH_DTYPE[dtype])


def _shape_of_one(contents: TensorShape, *, channels: int, **attrs: Any) -> TensorShape:
    if contents.rank not in (0, None):
        raise ArgumentError(f"Shape must be rank 0 but is rank {contents.rank}: contents is one file, a scalar string.")
    return TensorShape([None, None, channels or None])


_JPEG: dict[str, Any] = {
    "ratio": 1,
    "fancy_upscaling": True,
    "try_recover_truncated": False,
    "acceptable_fraction": 1.0,
    "dct_method": "",
}
_png = op("DecodePng", "contents: string -> image: dtype", channels=0, dtype=frozenset({dt.uint8, dt.uint16}))
_jpeg = op("DecodeJpeg", "contents: string -> image: uint8", channels=0, **_JPEG)
_crop = op("DecodeAndCropJpeg", "contents: string, crop_window: host -> image: uint8", channels=0, **_JPEG)
_bmp = op("DecodeBmp", "contents: string -> image: uint8", channels=0)
_gif = op("DecodeGif", "contents: string -> image: uint8")
_image = op(
    "DecodeImage",
    "contents: string -> image: dtype",
    channels=0,
    dtype=frozenset({dt.uint8, dt.uint16, dt.float32}),
    expand_animations=True,
)
for _one in (_png, _jpeg, _bmp):
    _one.shape(_shape_of_one)
_gif.shape(lambda contents: TensorShape([None, None, None, 3]))


@_image.shape
def _image_shape(contents: TensorShape, *, channels: int, expand_animations: bool) -> TensorShape:
    one = _shape_of_one(contents, channels=channels)
    return UNKNOWN if expand_animations else one


@_png.kernel(CPU)
def _png_kernel(contents: KernelValue, *, channels: int, dtype: DType) -> torch.Tensor:
    return _value(_decoded(_bytes_of(contents), channels, dtype), dtype)


@_jpeg.kernel(CPU)
def _jpeg_kernel(contents: KernelValue, *, channels: int, **options: Any) -> torch.Tensor:
    return _value(_decoded(_bytes_of(contents), channels, dt.uint8, **options))


@_crop.shape
def _crop_shape(contents: TensorShape, crop_window: HostValue, *, channels: int, **options: Any) -> TensorShape:
    return _shape_of_one(contents, channels=channels)


@_crop.kernel(CPU)
def _crop_kernel(contents: KernelValue, crop_window: Any, *, channels: int, **options: Any) -> torch.Tensor:
    pixels = _decoded(_bytes_of(contents), channels, dt.uint8, **options)
    if len(crop_window) != 4:
        raise InvalidArgumentError(f"crop_window must have four elements: y, x, height, width; got {crop_window}.")
    y, x, height, width = crop_window
    if min(y, x) < 0 or min(height, width) < 1 or y + height > pixels.shape[0] or x + width > pixels.shape[1]:
        raise InvalidArgumentError(
            f"Invalid JPEG data or crop window: {[y, x, height, width]} is not inside an image of "
            f"{pixels.shape[0]} x {pixels.shape[1]} pixels."
        )
    return _value(pixels[y : y + height, x : x + width])


@_bmp.kernel(CPU)
def _bmp_kernel(contents: KernelValue, *, channels: int) -> torch.Tensor:
    data = _bytes_of(contents)
    _check_format(data, "BMP", "decode_bmp")
    return _value(_decoded(data, channels, dt.uint8))


@_gif.kernel(CPU)
def _gif_kernel(contents: KernelValue) -> torch.Tensor:
    data = _bytes_of(contents)
    _check_format(data, "GIF", "decode_gif")
    return _value(_frames(data))


def _check_format(data: bytes, wanted: str, function: str) -> None:
    found = _format_of(data)
    if found != wanted:
        raise InvalidArgumentError(
            f"Trying to decode {found} format using a wrong op, {function}: use `decode_{found.lower()}`, or "
            "`decode_image`."
        )


@_image.kernel(CPU)
def _image_kernel(contents: KernelValue, *, channels: int, dtype: DType, expand_animations: bool) -> torch.Tensor:
    data = _bytes_of(contents)
    if _format_of(data) == "GIF" and expand_animations:
        if channels not in (0, 3):
            raise InvalidArgumentError("channels must be 0 or 3 for GIF, as the frames of one have colors.")
        return _value(_of_dtype(_frames(data), dtype), dtype)
    return _value(_decoded(data, channels, dtype), dtype)


def _as_channels(channels: Any, allowed: tuple[int, ...]) -> int:
    number = as_int(channels, "channels")
    if number not in allowed:
        words = f"{', '.join(map(str, allowed[:-1]))} or {allowed[-1]}"
        raise InvalidArgumentError(f"`channels` must be {words} but got {number}")
    return number


@export("image.decode_png", "io.decode_png")
def decode_png(contents: ArrayLike, channels: int = 0, dtype: DTypeLike = dt.uint8, name: str | None = None) -> Tensor:
    """The pixels of a PNG file; of a JPEG, GIF or BMP file too.

    Args:
        contents: What is in the file, a scalar string.
        channels: 1 for gray, 3 for colors, 4 for colors and what is seen through; 0 for what the file has.
        dtype: ``tf.uint8`` or ``tf.uint16``.
        name: A name for the op.

    Returns:
        An image: height x width x channels.
    """
    return _png(contents, channels=_as_channels(channels, (0, 1, 3, 4)), dtype=as_dtype(dtype), name=name)


@export(
    "image.decode_jpeg",
    "io.decode_jpeg",
    differs='Pixels are those of the exact transform, dct_method="INTEGER_ACCURATE"; TensorFlow\'s fast one '
    "differs by up to 3 of 255. Pillow decodes: pip install 'situs[images]'.",
)
def decode_jpeg(
    contents: ArrayLike,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """The pixels of a JPEG file; of a PNG, GIF or BMP file too.

    Args:
        contents: What is in the file, a scalar string.
        channels: 1 for gray, 3 for colors; 0 for what the file has.
        ratio: 1, 2, 4 or 8: by how much the image is made smaller.
        fancy_upscaling: Accepted for TensorFlow's programs; colors are smoothed as in TensorFlow's default.
        try_recover_truncated: Whether what is cut off is gray, and no error.
        acceptable_fraction: Accepted for TensorFlow's programs.
        dct_method: Accepted for TensorFlow's programs.
        name: A name for the op.

    Returns:
        An image: height x width x channels.
    """
    options = _jpeg_options(ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method)
    return _jpeg(contents, channels=_as_channels(channels, (0, 1, 3, 4)), **options, name=name)


def _jpeg_options(ratio: Any, upscales: Any, recovers: Any, fraction: Any, method: str | int) -> dict[str, Any]:
    if as_int(ratio, "ratio") not in (1, 2, 4, 8):
        raise InvalidArgumentError(f"ratio must be 1, 2, 4, or 8, got {ratio}")
    if method not in ("", "INTEGER_FAST", "INTEGER_ACCURATE"):
        raise InvalidArgumentError(
            f"dct_method must be one of {{'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}}, got {method!r}"
        )
    return {
        "ratio": ratio,
        "fancy_upscaling": as_bool(upscales, "fancy_upscaling"),
        "try_recover_truncated": as_bool(recovers, "try_recover_truncated"),
        "acceptable_fraction": float(fraction),
        "dct_method": as_word(method, "dct_method"),
    }


@export("image.decode_and_crop_jpeg", "io.decode_and_crop_jpeg")
def decode_and_crop_jpeg(
    contents: ArrayLike,
    crop_window: ArrayLike,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """A part of a JPEG image; the other arguments are those of `decode_jpeg`.

    Args:
        contents: What is in the file, a scalar string.
        crop_window: The first row, the first column, the height and the width.
        channels: See `decode_jpeg`.
        ratio: See `decode_jpeg`.
        fancy_upscaling: See `decode_jpeg`.
        try_recover_truncated: See `decode_jpeg`.
        acceptable_fraction: See `decode_jpeg`.
        dct_method: See `decode_jpeg`.
        name: A name for the op.
    """
    options = _jpeg_options(ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method)
    return _crop(contents, crop_window, channels=_as_channels(channels, (0, 1, 3)), **options, name=name)


@export("image.decode_bmp", "io.decode_bmp")
def decode_bmp(contents: ArrayLike, channels: int = 0, name: str | None = None) -> Tensor:
    """The pixels of a BMP file; for `channels` see `decode_png`."""
    return _bmp(contents, channels=_as_channels(channels, (0, 1, 3, 4)), name=name)


@export("image.decode_gif", "io.decode_gif")
def decode_gif(contents: ArrayLike, name: str | None = None) -> Tensor:
    """The frames of a GIF file: frames x height x width x 3."""
    return _gif(contents, name=name)


@export("image.decode_image", "io.decode_image")
def decode_image(
    contents: ArrayLike,
    channels: int | None = None,
    dtype: DTypeLike = dt.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """The pixels of a PNG, JPEG, GIF or BMP file.

    Args:
        contents: What is in the file, a scalar string.
        channels: 1 for gray, 3 for colors, 4 for colors and what is seen through; 0 for what the file has.
        dtype: ``tf.uint8``, ``tf.uint16`` or a floating-point dtype, for pixels from 0 to 1.
        name: A name for the op.
        expand_animations: Whether the result for a GIF has all frames, in a dimension of their own.
    """
    wanted = as_dtype(dtype)
    if wanted not in (dt.uint8, dt.uint16) and not wanted.is_floating:
        raise InvalidArgumentError(f"decode_image makes uint8, uint16 or floating-point pixels, got {wanted.name}.")
    options: dict[str, Any] = {
        "channels": _as_channels(0 if channels is None else channels, (0, 1, 3, 4)),
        "expand_animations": as_bool(expand_animations, "expand_animations"),
    }
    if wanted.is_integer or wanted is dt.float32:
        return _image(contents, dtype=wanted, **options, name=name)
    with Composed(name, "decode_image") as last:
        return cast(_image(contents, dtype=dt.float32, **options), wanted, name=last)


@export("image.is_jpeg", "io.is_jpeg")
def is_jpeg(contents: ArrayLike, name: str | None = None) -> Tensor:
    """Whether the first bytes of a file are those of a JPEG."""
    return equal(substr(contents, 0, 3), b"\xff\xd8\xff", name=name)


_jpeg_size = op(
    "ExtractJpegShape", "contents: string -> image_shape: output_type", output_type=frozenset({dt.int32, dt.int64})
)
_jpeg_size.shape(lambda contents, **attrs: TensorShape([3]))


@_jpeg_size.kernel(CPU)
def _jpeg_size_kernel(contents: KernelValue, *, output_type: DType) -> torch.Tensor:
    data = _bytes_of(contents)
    _check_format(data, "JPEG", "extract_jpeg_shape")
    image = _opened(data, "JPEG")
    return torch.tensor([image.size[1], image.size[0], len(image.getbands())], dtype=TORCH_DTYPE[output_type])


@export("image.extract_jpeg_shape", "io.extract_jpeg_shape")
def extract_jpeg_shape(contents: ArrayLike, output_type: DTypeLike = dt.int32, name: str | None = None) -> Tensor:
    """The height, the width and the number of channels of a JPEG file, without decoding it."""
    return _jpeg_size(contents, output_type=as_dtype(output_type), name=name)


# Encoding.

_encode_png = op("EncodePng", "image: T -> contents: string", T=frozenset({dt.uint8, dt.uint16}), compression=-1)
_encode_jpeg = op(
    "EncodeJpeg",
    "image: uint8 -> contents: string",
    format="",
    quality=95,
    progressive=False,
    optimize_size=False,
    chroma_downsampling=True,
    density=(300, 300),
    xmp_metadata="",
)


@_encode_png.shape
def _encode_png_shape(image: TensorShape, *, compression: int) -> TensorShape:
    if image.rank is not None and image.rank < 3:
        raise ArgumentError(f"images must be at least rank 3{brackets(image)}")
    return UNKNOWN if image.rank is None else image[:-3]


_encode_jpeg_at = op("EncodeJpegVariableQuality", "images: uint8, quality: host -> contents: string")
_encode_jpeg_at.takes_no_size()


@_encode_jpeg_at.shape
def _encode_jpeg_at_shape(images: TensorShape, quality: HostValue) -> TensorShape:
    return _encode_jpeg_shape(images)


@_encode_jpeg.shape
def _encode_jpeg_shape(image: TensorShape, **attrs: Any) -> TensorShape:
    if image.rank not in (3, None):
        raise ArgumentError(f"image must be 3-dimensional{brackets(image)}")
    return SCALAR


_PNG_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


@_encode_png.kernel(CPU)
def _encode_png_kernel(image: torch.Tensor, *, compression: int) -> KernelValue:
    _encode_png_shape(TensorShape(image.shape), compression=compression)
    pixels = image.numpy()
    count = pixels.shape[-1]
    if count not in _PNG_MODES:
        raise InvalidArgumentError(f"image must have 1, 2, 3, or 4 channels, got {brackets(pixels.shape)}")
    if pixels.dtype == np.uint16 and count != 1:
        raise InvalidArgumentError(
            f"Images of 16 bits are encoded with one channel here, got shape {brackets(pixels.shape)}. Use uint8, or "
            "encode the channels one by one."
        )
    made = np.empty(pixels.shape[:-3], dtype=object)
    for place in np.ndindex(made.shape):
        made[place] = _png_of(pixels[place], compression)
    return made


def _png_of(pixels: Array, compression: int) -> bytes:
    if 0 in pixels.shape:
        raise InvalidArgumentError(f"image must not be empty, got shape {brackets(pixels.shape)}")
    file = io.BytesIO()
    flat = np.ascontiguousarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)
    options = {} if compression < 0 else {"compress_level": compression}
    _pillow().fromarray(flat).save(file, "PNG", **options)
    return file.getvalue()


@_encode_jpeg.kernel(CPU)
def _encode_jpeg_kernel(image: torch.Tensor, **options: Any) -> np.ndarray[Any, Any]:
    pixels = image.numpy()
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 3):
        raise InvalidArgumentError(f"image must have 1 or 3 channels, got {brackets(pixels.shape)}")
    wanted = {"": pixels.shape[2], "grayscale": 1, "rgb": 3}[options["format"]]
    if wanted != pixels.shape[2]:
        raise InvalidArgumentError(
            f"format {options['format']!r} needs {wanted} channels, got {brackets(pixels.shape)}"
        )
    if 0 in pixels.shape:
        raise InvalidArgumentError(f"image must not be empty, got shape {brackets(pixels.shape)}")
    file = io.BytesIO()
    made = _pillow().fromarray(np.ascontiguousarray(pixels[:, :, 0] if wanted == 1 else pixels))
    made.save(
        file,
        "JPEG",
        quality=options["quality"],
        progressive=options["progressive"],
        optimize=options["optimize_size"],
        subsampling=2 if options["chroma_downsampling"] else 0,
        dpi=options["density"],
    )
    return np.array(file.getvalue(), dtype=object)


@_encode_jpeg_at.kernel(CPU)
def _encode_jpeg_at_kernel(images: torch.Tensor, quality: Any) -> np.ndarray[Any, Any]:
    if not isinstance(quality, int) or isinstance(quality, bool) or not 0 <= quality <= 100:
        raise InvalidArgumentError(f"quality must be in [0,100], got {shown(quality)}")
    return _encode_jpeg_kernel(images, **{**_encode_jpeg.attrs, "quality": quality})


@export(
    "image.encode_png",
    "io.encode_png",
    differs="16 bits for one channel only.",
)
def encode_png(image: ArrayLike, compression: int = -1, name: str | None = None) -> Tensor:
    """An image, or a batch of them, as PNG files.

    Args:
        image: height x width x channels, of uint8, or of uint16 with one channel.
        compression: From 0 to 9; -1 for what is usual.
        name: A name for the op.
    """
    level = as_int(compression, "compression")
    if not -1 <= level <= 9:
        raise InvalidArgumentError(f"compression should be in [-1,9], got {level}")
    return _encode_png(image, compression=level, name=name)


@export("image.encode_jpeg", "io.encode_jpeg")
def encode_jpeg(
    image: ArrayLike,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """An image as a JPEG file.

    Args:
        image: height x width x channels, of uint8, with one channel or three.
        format: ``"grayscale"``, ``"rgb"``, or the one that fits.
        quality: From 0 to 100.
        progressive: Whether the file shows a coarse image first.
        optimize_size: Whether to take more time for a smaller file.
        chroma_downsampling: Whether colors have half the resolution.
        density_unit: ``"in"`` or ``"cm"``.
        x_density: Pixels in a unit.
        y_density: Pixels in a unit.
        xmp_metadata: Refused.
        name: A name for the op.
    """
    if format not in ("", "grayscale", "rgb"):
        raise InvalidArgumentError(f"format must be '', 'grayscale' or 'rgb', got {shown(format)}.")
    if not 0 <= as_int(quality, "quality") <= 100:
        raise InvalidArgumentError(f"quality must be in [0,100], got {quality}")
    if xmp_metadata:
        raise InvalidArgumentError("encode_jpeg writes no XMP metadata. Leave xmp_metadata out.")
    if density_unit not in ("in", "cm"):
        raise InvalidArgumentError(f"Invalid density_unit {shown(density_unit)}: 'in' or 'cm'.")
    factor = 1.0 if density_unit == "in" else 2.54
    return _encode_jpeg(
        image,
        format=format,
        quality=quality,
        progressive=as_bool(progressive, "progressive"),
        optimize_size=as_bool(optimize_size, "optimize_size"),
        chroma_downsampling=as_bool(chroma_downsampling, "chroma_downsampling"),
        density=(round(x_density * factor), round(y_density * factor)),
        name=name,
    )


@export("image.adjust_jpeg_quality")
def adjust_jpeg_quality(
    image: ArrayLike, jpeg_quality: IntLike, dct_method: str = "", name: str | None = None
) -> Tensor:
    """An image as it looks after it has been a JPEG file of some quality.

    Args:
        image: height x width x channels, of uint8 or of floating-point numbers from 0 to 1.
        jpeg_quality: From 0 to 100.
        dct_method: Accepted for TensorFlow's programs.
        name: A name for the ops.
    """
    with Composed(name, "adjust_jpeg_quality") as last:
        given = convert_to_tensor(image)
        channels = given.shape[-1] if given.shape.rank == 3 else None
        file = _encode_jpeg_at(convert_image_dtype(given, dt.uint8, saturate=True), jpeg_quality)
        return convert_image_dtype(decode_jpeg(file, channels or 0, dct_method=dct_method), given.dtype, name=last)


@export("image.random_jpeg_quality")
def random_jpeg_quality(
    image: ArrayLike, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Tensor:
    """An image as it looks after it has been a JPEG file of a random quality.

    Args:
        image: height x width x channels, of uint8 or of floating-point numbers from 0 to 1.
        min_jpeg_quality: The lowest quality, from 0 on.
        max_jpeg_quality: What the quality is below, at most 100.
        seed: A seed for the choice.
    """
    lowest, highest = _qualities(min_jpeg_quality, max_jpeg_quality)
    return adjust_jpeg_quality(image, uniform([], lowest, highest, dt.int32, seed))


@export("image.stateless_random_jpeg_quality", v1=())
def stateless_random_jpeg_quality(
    image: ArrayLike, min_jpeg_quality: int, max_jpeg_quality: int, seed: ArrayLike
) -> Tensor:
    """`random_jpeg_quality` that depends on its seed, two integers, alone."""
    lowest, highest = _qualities(min_jpeg_quality, max_jpeg_quality)
    return adjust_jpeg_quality(image, stateless_uniform([], seed, lowest, highest, dt.int32))


def _qualities(lowest: object, highest: object) -> tuple[int, int]:
    """The bounds of a random quality."""
    low, high = as_int(lowest, "min_jpeg_quality"), as_int(highest, "max_jpeg_quality")
    if not (0 <= low <= 100 and 0 <= high <= 100):
        raise ArgumentError(f"jpeg encoding range must be between 0 and 100, got {low} and {high}.")
    if low >= high:
        raise ArgumentError(f"`min_jpeg_quality` must be less than `max_jpeg_quality`, got {low} and {high}.")
    return low, high
