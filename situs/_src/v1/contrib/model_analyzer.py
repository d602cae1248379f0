"""``tf.contrib.slim.model_analyzer``: how large the variables of a model are, as a list."""

from __future__ import annotations

from collections.abc import Iterable as _Iterable
from typing import Any as _Any

from situs._src.base.dtype import DType as _DType
from situs._src.base.errors import DTypeError as _DTypeError
from situs._src.base.errors import shown as _shown
from situs._src.base.shapes import TensorShape as _TensorShape
from situs._src.variables.symbolic import RefVariable as _RefVariable


def _check(variable: _Any) -> None:
    if not isinstance(getattr(variable, "dtype", None), _DType) or not isinstance(variable.shape, _TensorShape):
        raise _DTypeError(f"A variable has a dtype and a shape, got {_shown(variable)}.")


def tensor_description(var: _Any) -> str:
    """The dtype and the shape of a variable: ``(float32_ref 3x2)``."""
    _check(var)
    sizes = "x".join(str(size) for size in var.shape.as_list())
    return f"({var.dtype.name}{'_ref' if isinstance(var, _RefVariable) else ''} {sizes})"


def analyze_vars(variables: _Iterable[_Any], print_info: bool = False) -> tuple[int, int]:
    """How many elements variables have, and how many bytes.

    Args:
        variables: The variables.
        print_info: Whether to print a line for each.
    """
    if not isinstance(variables, _Iterable) or not getattr(variables, "shape", True):
        raise _DTypeError(f"`variables` is a list of variables, got {_shown(variables)}.")
    lines, elements, content = [], 0, 0
    for variable in variables:
        _check(variable)
        size = _TensorShape(variable.shape).num_elements() or 0
        count = size * variable.dtype.size
        elements, content = elements + size, content + count
        lines.append(f"{variable.name} {tensor_description(variable)} [{size}, bytes: {count}]")
    if print_info:
        rule = "---------"
        print(rule, "Variables: name (type shape) [size]", rule, *lines, sep="\n")
        print(f"Total size of variables: {elements}", f"Total bytes of variables: {content}", sep="\n")
    return elements, content
