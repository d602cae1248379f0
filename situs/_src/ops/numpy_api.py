"""``tf.experimental.numpy``: the functions of it that Keras calls. For the rest there are the ops of ``tf`` itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes

from situs._src.base.dtype import as_dtype
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.typing import DTypeLike
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.gather import where


@export("experimental.numpy.finfo")
def finfo(dtype: DTypeLike) -> Any:
    """The limits of a floating-point dtype, as NumPy tells them.

    Raises:
        ValueError: it is not one.
    """
    found = as_dtype(dtype)
    if not (found.is_floating or found.is_complex):
        raise ArgumentError(f"data type {found.name} not inexact: finfo() is of floating-point dtypes.")
    return ml_dtypes.finfo(found.real_dtype.as_numpy_dtype)  # type: ignore[no-untyped-call]


@export("experimental.numpy.select")
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: object = 0) -> Tensor:
    """The elements of the first of `choicelist` whose condition is true; `default` where none is.

    Raises:
        TypeError: one of them is not a list.
        ValueError: there are more conditions than choices, or fewer.

    Example:
        >>> import situs as tf
        >>> x = tf.constant([1, 2, 3])
        >>> tf.experimental.numpy.select([x < 2, x > 2], [x * 10, x * 100]).numpy().tolist()
        [10, 0, 300]
    """
    for given, what in ((condlist, "condlist"), (choicelist, "choicelist")):
        if not isinstance(given, (list, tuple)):
            raise DTypeError(f"{what} is a list of tensors, got {shown(given)}.")
    if len(condlist) != len(choicelist):
        raise ArgumentError(f"condlist must have length equal to choicelist ({len(condlist)} vs {len(choicelist)})")
    if not condlist:
        raise ArgumentError("condlist must not be empty.")
    choices = [convert_to_tensor(choice) for choice in choicelist]
    made: Any = convert_to_tensor(default, choices[0].dtype)
    for condition, choice in zip(reversed(list(condlist)), reversed(choices), strict=True):
        made = where(convert_to_tensor(condition), choice, made)
    return made  # type: ignore[no-any-return]
