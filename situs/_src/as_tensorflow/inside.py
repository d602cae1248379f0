"""What programs import from TensorFlow's inside that is public nowhere: helpers of its layers, shapes and cells.

from tensorflow.python.layers import utils                      utils.smart_cond(is_training, f, g)
from tensorflow.python.framework import tensor_shape            tensor_shape.scalar()
from tensorflow.contrib.rnn.python.ops.core_rnn_cell import _linear
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.shapes import UNKNOWN, Dimension, TensorShape
from situs._src.base.tensor import is_tensor
from situs._src.ops.control_v1 import cond
from situs._src.ops.join import concat
from situs._src.ops.linalg import matmul
from situs._src.ops.nn.bias import bias_add
from situs._src.ops.static_value import get_static_value
from situs._src.v1.frontend import builds
from situs._src.variables.initializers import zeros_initializer
from situs._src.variables.scope import get_variable

# Choosing between two functions.


def smart_constant_value(pred: Any) -> bool | None:
    """A condition that is known before the graph runs; None if it is not.

    Raises:
        TypeError: it is no condition.
    """
    if isinstance(pred, bool) or (isinstance(pred, int) and pred in (0, 1)):
        return bool(pred)
    if not is_tensor(pred):
        raise DTypeError(f"`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: {shown(pred)}")
    known = get_static_value(pred)
    return None if known is None else bool(known)


@builds
def smart_cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    name: str | None = None,
) -> Any:
    """The result of one of two functions: called now, if the condition is known; else as by ``tf.cond``.

    Raises:
        TypeError: one of them is not a function.
    """
    if true_fn is None or false_fn is None or not (callable(true_fn) and callable(false_fn)):
        raise DTypeError("`true_fn` and `false_fn` must be callable.")
    known = smart_constant_value(pred)
    if known is None:
        return cond(pred, true_fn=true_fn, false_fn=false_fn, name=name)
    return true_fn() if known else false_fn()


# Arguments of layers.


def normalize_tuple(value: Any, n: int, name: str) -> tuple[int, ...]:
    """A number for each of `n` dimensions: the same for all, or those that are given.

    Raises:
        ValueError: they are not as many.
    """
    found = (value,) * n if isinstance(value, int) else tuple(value) if isinstance(value, (list, tuple)) else ()
    if len(found) != n or not all(isinstance(each, int) for each in found):
        raise ArgumentError(f"The `{name}` argument must be a tuple of {n} integers. Received: {shown(value)}")
    return found


def normalize_padding(value: str) -> str:
    """The name of a padding in lower case.

    Raises:
        ValueError: there is no such padding.
    """
    if value.lower() not in ("valid", "same"):
        raise ArgumentError(f'The `padding` argument must be one of "valid", "same". Received: {value}')
    return value.lower()


def convert_data_format(data_format: str, ndim: int) -> str:
    """What ops call a layout that layers call ``channels_last`` or ``channels_first``.

    Raises:
        ValueError: there is none for so many dimensions.
    """
    dimensions = {3: "W", 4: "HW", 5: "DHW"}.get(ndim)
    if dimensions is None or data_format not in ("channels_last", "channels_first"):
        raise ArgumentError(f"There is no layout {data_format!r} of {ndim} dimensions.")
    return f"N{dimensions}C" if data_format == "channels_last" else f"NC{dimensions}"


def conv_output_length(
    input_length: int | None, filter_size: int, padding: str, stride: int, dilation: int = 1
) -> int | None:
    """How long the result of a convolution is; None if that of its input is not known."""
    if input_length is None:
        return None
    covered = (filter_size - 1) * dilation + 1
    length = input_length if padding.lower() == "same" else input_length - covered + 1
    return (length + stride - 1) // stride


# Shapes.


def scalar() -> TensorShape:
    """The shape of a number."""
    return TensorShape([])


def vector(length: Any) -> TensorShape:
    """The shape of a vector."""
    return TensorShape([length])


def matrix(rows: Any, cols: Any) -> TensorShape:
    """The shape of a matrix."""
    return TensorShape([rows, cols])


def unknown_shape(rank: int | None = None, ndims: int | None = None) -> TensorShape:
    """A shape of which nothing is known, or its rank only."""
    known = ndims if rank is None else rank
    return UNKNOWN if known is None else TensorShape([None] * known)


def as_shape(shape: Any) -> TensorShape:
    """Anything that is a shape, as one."""
    return shape if isinstance(shape, TensorShape) else TensorShape(shape)


def as_dimension(value: Any) -> Dimension:
    """A size, or None, as a dimension."""
    return value if isinstance(value, Dimension) else Dimension(value)


# Cells.


@builds
def linear(
    args: Any, output_size: int, bias: bool, bias_initializer: Any = None, kernel_initializer: Any = None
) -> Any:
    """The sum of the products of matrices with the rows of ``kernel``, which is found in the open variable scope.

    Args:
        args: A matrix, or several.
        output_size: The number of columns of the result.
        bias: Whether to add the vector ``bias``.
        bias_initializer: What it begins with; zeros by default.
        kernel_initializer: What ``kernel`` begins with.

    Raises:
        ValueError: there is no matrix, or one whose number of columns is not known.
    """
    given: Sequence[Any] = args if isinstance(args, (list, tuple)) else [args]
    if not given:
        raise ArgumentError("`args` must be specified")
    shapes = [each.shape for each in given]
    if any(shape.rank != 2 or shape.as_list()[1] is None for shape in shapes):
        raise ArgumentError(f"linear expects matrices whose numbers of columns are known, got {shapes}.")
    size, dtype = sum(shape.as_list()[1] for shape in shapes), given[0].dtype
    kernel = get_variable("kernel", [size, output_size], dtype=dtype, initializer=kernel_initializer)
    made = matmul(given[0] if len(given) == 1 else concat(given, 1), kernel)
    if not bias:
        return made
    first = zeros_initializer(dtype=dtype) if bias_initializer is None else bias_initializer
    return bias_add(made, get_variable("bias", [output_size], dtype=dtype, initializer=first))
