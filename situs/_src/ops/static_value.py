"""``tf.get_static_value``: what is known of a tensor's value before its graph runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from situs._src.base.export import export
from situs._src.base.tensor import is_tensor
from situs._src.base.typing import ArrayLike
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.attribute import as_bool
from situs._src.runtime.eager.tensor import EagerTensor
from situs._src.runtime.symbolic.fold import known_value


@export("get_static_value")
def get_static_value(tensor: ArrayLike, partial: bool = False) -> Any:
    """The value of a tensor if it is known already; None if it is not. What is no tensor is returned as it is.

    Args:
        tensor: A tensor.
        partial: Whether an array of objects may be returned, with None for what is not known.
    """
    if isinstance(tensor, EagerTensor):
        return tensor.numpy()
    if not isinstance(tensor, SymbolicTensor):
        return None if is_tensor(tensor) else tensor
    known = known_value(tensor)
    if known is not None:
        from situs._src.ir.graph.array_proto import as_array  # which loads protobuf

        return as_array(known, tensor.dtype)[()]
    return _from_parts(tensor, as_bool(partial, "partial"))


def _from_parts(tensor: SymbolicTensor, partial: bool) -> Any:
    """What is known of a tensor that stacks others, or that is cut out of one which is known, perhaps in part."""
    node = tensor.op
    if node.type == "Pack" and partial and node.get_attr("axis") == 0:
        parts = [get_static_value(part, partial=True) for part in node.inputs]
        return None if all(part is None for part in parts) else np.array(parts, dtype=object)
    if node.type == "Unpack" and node.get_attr("axis") == 0:
        whole = get_static_value(node.inputs[0], partial)
        return None if whole is None else whole[tensor.value_index]
    if node.type == "Split":
        axis, whole = get_static_value(node.args[0]), get_static_value(node.args[1], partial)
        if axis is not None and whole is not None and axis < np.ndim(whole):
            return np.split(whole, node.get_attr("num_split"), int(axis))[tensor.value_index]
    return None
