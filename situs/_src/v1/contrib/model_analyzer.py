"""``tf.contrib.slim.model_analyzer``: how large the variables of a model are, as a list."""

from __future__ import annotations

from collections.abc import Iterable as _Iterable
from typing import Any as _Any

from situs._src.base.shapes import TensorShape as _TensorShape
from situs._src.variables.symbolic import RefVariable as _RefVariable


def tensor_description(var: _Any) -> str:
    """The dtype and the shape of a variable: ``(float32_ref 3x2)``."""
    sizes = "x".join(str(size) for size in var.shape.as_list())
    return f"({var.dtype.name}{'_ref' if isinstance(var, _RefVariable) else ''} {sizes})"


def analyze_vars(variables: _Iterable[_Any], print_info: bool = False) -> tuple[int, int]:
    """How many elements variables have, and how many bytes.

    Args:
        variables: The variables.
        print_info: Whether to print a line for each.
    """
    lines, elements, content = [], 0, 0
    for variable in variables:
        size = _TensorShape(variable.shape).num_elements() or 0
        count = size * variable.dtype.size
        elements, content = elements + size, content + count
        lines.append(f"{variable.name} {tensor_description(variable)} [{size}, bytes: {count}]")
    if print_info:
        rule = "---------"
        print(rule, "Variables: name (type shape) [size]", rule, *lines, sep="\n")
        print(f"Total size of variables: {elements}", f"Total bytes of variables: {content}", sep="\n")
    return elements, content
