"""Grey-scale dilation and erosion: the highest, or the lowest, of the values in a window and a filter."""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.tree import listed
from situs._src.base.typing import ArrayLike
from situs._src.ops.array import reshape
from situs._src.ops.array import shape as shape_of
from situs._src.ops.attribute import as_int, as_word
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.image_window import extract_patches
from situs._src.ops.join import concat, pad
from situs._src.ops.math import maximum
from situs._src.ops.naming import Composed
from situs._src.ops.rearrange import reverse
from situs._src.ops.reduce import reduce_max
from situs._src.ops.spelling import renamed


def _numbers(value: Any, name: str) -> list[int]:
    numbers = [as_int(each, name) for each in listed(value, name)]
    if len(numbers) != 4 or (numbers[0], numbers[3]) != (1, 1) or min(numbers) < 1:
        raise ArgumentError(f"`{name}` must be [1, rows, columns, 1], got {numbers}.")
    return numbers


def _dilated(input: Any, filters: Any, strides: Any, rates: Any, padding: Any) -> Tensor:
    given, window = convert_to_tensor(input), convert_to_tensor(filters)
    if given.shape.rank not in (4, None) or not window.shape.is_fully_defined() or window.shape.rank != 3:
        raise ArgumentError(f"Dilation takes a batch of images and filters of 3 dimensions, got {given.shape}.")
    steps, apart = _numbers(strides, "strides"), _numbers(rates, "dilations")
    sizes: Any = window.shape.as_list()
    high, wide, channels = sizes
    if as_word(padding, "padding").upper() == "SAME":  # a border that is never the highest
        paddings: list[Any] = [[0, 0]]
        for axis, size in ((1, high), (2, wide)):
            have: Any = given.shape[axis] if given.shape[axis] is not None else shape_of(given)[axis]
            reach, step = (size - 1) * apart[axis] + 1, steps[axis]
            spare: Any = (-(-have // step) - 1) * step + reach - have
            spare = max(spare, 0) if isinstance(spare, int) else maximum(spare, 0)
            paddings.append([spare // 2, spare - spare // 2])
        lowest = given.dtype.min
        given = pad(given, [*paddings, [0, 0]], constant_values=lowest)
    patches = extract_patches(given, [1, high, wide, 1], steps, apart, "VALID")
    each = reshape(patches, concat([shape_of(patches)[:3], [high * wide, channels]], 0))
    return reduce_max(each + reshape(window, [high * wide, channels]), 3)


def _check_layout(data_format: str) -> None:
    if not isinstance(data_format, str) or data_format != "NHWC":
        raise ArgumentError("Data formats other than NHWC are not yet supported")


@export("nn.dilation2d", v1=())
def dilation2d(
    input: ArrayLike,
    filters: ArrayLike,
    strides: Any,
    padding: str,
    data_format: str,
    dilations: Any,
    name: str | None = None,
) -> Tensor:
    """The highest sum of a pixel and the filter at its place, in every window.

    Args:
        input: A batch of images.
        filters: ``height x width x channels``.
        strides: How far windows are apart: ``[1, rows, columns, 1]``.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NHWC"``.
        dilations: How far their pixels are apart: ``[1, rows, columns, 1]``.
        name: A name for the ops.
    """
    _check_layout(data_format)
    with Composed(name, "Dilation2D"):
        return _dilated(input, filters, strides, dilations, padding)


@export("nn.erosion2d", v1=())
def erosion2d(
    value: ArrayLike,
    filters: ArrayLike,
    strides: Any,
    padding: str,
    data_format: str,
    dilations: Any,
    name: str | None = None,
) -> Tensor:
    """The lowest difference of a pixel and the filter at its place, which is reversed; see ``tf.nn.dilation2d``.

    Args:
        value: A batch of images.
        filters: ``height x width x channels``.
        strides: How far windows are apart: ``[1, rows, columns, 1]``.
        padding: ``"SAME"`` or ``"VALID"``.
        data_format: ``"NHWC"``.
        dilations: How far their pixels are apart: ``[1, rows, columns, 1]``.
        name: A name for the ops.
    """
    _check_layout(data_format)
    with Composed(name, "erosion2d"):
        turned = reverse(convert_to_tensor(filters), [0, 1])
        return -_dilated(-convert_to_tensor(value), turned, strides, dilations, padding)


@export(v1="nn.dilation2d")
def dilation2d_v1(
    input: ArrayLike,
    filter: ArrayLike | None = None,
    strides: Any = None,
    rates: Any = None,
    padding: Any = None,
    name: str | None = None,
    filters: ArrayLike | None = None,
    dilations: Any = None,
) -> Tensor:
    """`dilation2d`, with the argument order of TensorFlow 1 and its old names for `filters` and `dilations`."""
    window = renamed("filters", filters, "filter", filter, required=True)
    return dilation2d(input, window, strides, padding, "NHWC", renamed("dilations", dilations, "rates", rates), name)


@export(v1="nn.erosion2d")
def erosion2d_v1(
    value: ArrayLike, kernel: ArrayLike, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Tensor:
    """`erosion2d`, with the argument order of TensorFlow 1."""
    return erosion2d(value, kernel, strides, padding, "NHWC", rates, name)
