"""What ``run`` is given: values in the place of tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from situs.eager.bridge import Value
from situs.eager.convert import host_to_value, short, to_array
from situs.eager.tensor import EagerTensor
from situs.errors import DTypeError, InvalidArgumentError
from situs.graph.graph import Graph
from situs.graph.tensor import SymbolicTensor
from situs.tensor import Tensor


def feed_tensors(graph: Graph, keys: Iterable[Any]) -> list[SymbolicTensor]:
    """The tensors of a graph that the keys of a feed are or name.

    Raises:
        TypeError: a key cannot be a tensor.
        ValueError: it belongs to another graph, or may not be fed.
    """
    return [_feed_tensor(graph, key) for key in keys]


def _feed_tensor(graph: Graph, key: Any) -> SymbolicTensor:
    try:
        tensor: SymbolicTensor = graph.as_graph_element(key, allow_operation=False)
    except (InvalidArgumentError, KeyError) as error:
        message = getattr(error, "message", str(error))
        raise DTypeError(f"Cannot interpret feed_dict key as Tensor: {message}") from None
    if not graph.is_feedable(tensor):
        raise InvalidArgumentError(f"Tensor {tensor} may not be fed.")
    return tensor


def check_dict(feed_dict: Any) -> Mapping[Any, Any]:
    """The feed, if it is a dictionary.

    Raises:
        TypeError: it is not.
    """
    if not isinstance(feed_dict, Mapping):
        raise DTypeError(f"The `feed_dict` must be a dictionary from tensors to values, got {short(feed_dict)}.")
    return feed_dict


def flattened(feed_dict: Mapping[Any, Any]) -> dict[Any, Any]:
    """A feed whose keys may be tuples of tensors, as one from tensor to value."""
    flat: dict[Any, Any] = {}
    for key, value in feed_dict.items():
        if isinstance(key, tuple):
            flat.update(flattened(dict(zip(key, value, strict=True))))
        else:
            flat[key] = value
    return flat


def feed_value(tensor: SymbolicTensor, value: Any, share: bool) -> Value:
    """A value of the program as the value of a tensor on the host.

    Args:
        tensor: The tensor it stands in for.
        value: Anything that `tf.constant` takes.
        share: Whether the memory of a NumPy array may be used as it is: nothing keeps it after the run.

    Raises:
        TypeError: the value is a tensor of a graph, or does not fit the dtype.
        ValueError: it does not fit the shape.
    """
    if isinstance(value, Tensor) and not isinstance(value, EagerTensor):
        raise DTypeError(
            f"The value of a feed cannot be a tf.Tensor object: {value!r}. Acceptable feed values include Python scalars, "
            "strings, lists, numpy ndarrays, or eager tensors."
        )
    if tensor.is_ref or tensor.dtype.name == "resource":
        raise InvalidArgumentError(f"{tensor!r} stands for state, and cannot be fed; feed what is computed from it.")
    array = _shared(tensor, value) if share else None
    if array is None:
        array = to_array(value, tensor.dtype)[0]
    if not tensor.shape.is_compatible_with(array.shape):
        raise InvalidArgumentError(
            f"Cannot feed value of shape {array.shape} for Tensor {tensor.name}, which has shape {tensor.shape}"
        )
    return host_to_value(array, tensor.dtype)


def _shared(tensor: SymbolicTensor, value: Any) -> np.ndarray[Any, Any] | None:
    """The array itself where it can be used without a copy."""
    if type(value) is np.ndarray and value.dtype == tensor.dtype.as_numpy_dtype and value.dtype.kind != "O":
        if value.flags.c_contiguous and value.flags.writeable and value.flags.aligned:
            return value
    return None
