"""Feeds of ``run``: values that replace tensors.

A value is converted to the tensor's dtype as NumPy does it, so integers may be fed to floats, and floats fed to
integers lose their fraction, as in TensorFlow. A Python integer that does not fit, an imaginary part and None are
errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from situs._src.base.devices.scope import build_into, here
from situs._src.base.dtype import DType
from situs._src.base.errors import ArgumentError, DTypeError, InvalidArgumentError, ResourceExhaustedError, shown
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor, read
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.runtime.eager.bridge import Value, host, place
from situs._src.runtime.eager.cell import Cell
from situs._src.runtime.eager.convert import host_to_value, to_array
from situs._src.runtime.eager.tensor import EagerTensor, to_numpy

# The keys.


def feed_tensors(graph: Graph, keys: Iterable[Any]) -> list[SymbolicTensor]:
    """The tensors of a graph for the keys of a feed: tensors or names.

    Raises:
        TypeError: a key cannot be a tensor.
        ValueError: it belongs to another graph, or may not be fed.
    """
    return [_feed_tensor(graph, key) for key in keys]


def _feed_tensor(graph: Graph, key: object) -> SymbolicTensor:
    try:
        tensor: SymbolicTensor = graph.as_graph_element(key, allow_operation=False)
    except (InvalidArgumentError, KeyError) as error:
        message = getattr(error, "message", str(error))
        raise DTypeError(f"Cannot interpret feed_dict key as Tensor: {message}") from None
    if tensor.dtype.name in ("resource", "variant"):
        raise ArgumentError(f"{tensor!r} stands for something the session holds, and cannot be fed.")
    if not graph.is_feedable(tensor):
        raise ArgumentError(f"Tensor {tensor.name} may not be fed.")
    return tensor


def as_mapping(feed_dict: Any) -> Mapping[Any, Any]:
    """The feed; an empty one for None.

    Raises:
        TypeError: it is not a dictionary.
    """
    if isinstance(feed_dict, Mapping):
        return feed_dict
    if feed_dict is None or (isinstance(feed_dict, (list, tuple)) and not feed_dict):
        return {}
    hint = " To fetch several things, pass them in a list." if isinstance(feed_dict, (Tensor, Operation)) else ""
    raise DTypeError(f"The feed_dict is a dictionary from tensors to values, got {shown(feed_dict)}.{hint}")


def flattened(feed_dict: Mapping[Any, Any]) -> dict[Any, Any]:
    """A feed whose keys may be tuples of tensors, or slices, flattened to single tensors.

    Raises:
        ValueError: a tuple of keys has another length than its values.
    """
    flat: dict[Any, Any] = {}
    for key, value in feed_dict.items():
        if isinstance(key, tuple):
            flat.update(flattened(_paired(key, value)))
        elif hasattr(type(key), "__fetched__"):  # slices, which have several tensors
            parts = tuple(part for part in key.__fetched__() if part is not None)
            given = [part for part in value if part is not None] if isinstance(value, (list, tuple)) else value
            flat.update(_paired(parts, given))
        else:
            flat[key] = value
    return flat


def _paired(keys: tuple[Any, ...], values: Any) -> dict[Any, Any]:
    if not isinstance(values, (list, tuple)) or len(keys) != len(values):
        found = f"{len(values)} elements" if isinstance(values, (list, tuple)) else shown(values)
        raise ArgumentError(
            f"Could not flatten dictionary. Key had {len(keys)} elements, but value had {found}. Feed one value for "
            f"each of {shown(keys)}."
        )
    return dict(zip(keys, values, strict=True))


# The values.


def feed_value(tensor: SymbolicTensor, value: Any, share: bool) -> Value:
    """Converts a value of the program to a tensor's value on the host.

    Args:
        tensor: The tensor it replaces.
        value: Anything that NumPy can convert to an array.
        share: Whether the memory of a NumPy array may be shared: nothing keeps it after the run.

    Raises:
        TypeError: the value is a symbolic tensor, or does not fit the dtype.
        ValueError: it does not fit the shape.
    """
    array = value if share and _fits_as_it_is(tensor, value) else _converted(tensor, value)
    if not tensor.shape.is_compatible_with(array.shape):
        raise ArgumentError(
            f"Cannot feed value of shape {array.shape} for Tensor {tensor.name}, which has shape {tensor.shape}"
        )
    fed = host_to_value(array, tensor.dtype)
    if tensor.is_ref:  # a variable, fed for one run
        return Cell(tensor.op.name, tensor.dtype, tensor.shape, place(host(), tensor.dtype), fed)
    return fed


def _fits_as_it_is(tensor: SymbolicTensor, value: object) -> bool:
    if type(value) is not np.ndarray or value.dtype != tensor.dtype.as_numpy_dtype or value.dtype.kind == "O":
        return False
    return value.flags.c_contiguous and value.flags.writeable and value.flags.aligned


def _converted(tensor: SymbolicTensor, value: object) -> np.ndarray[Any, Any]:
    """The value as a fresh array of the tensor's dtype."""
    value = _read_now(value)
    if isinstance(value, EagerTensor):
        value = to_numpy(value)
    if isinstance(value, Tensor):
        raise DTypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, strings, "
            f"lists, numpy ndarrays, or eager tensors. The tensor object was {value}, fed to {tensor}; fetch its "
            "value first."
        )
    if value is None:
        raise DTypeError(f"Cannot feed None for Tensor {tensor.name}; leave it out of the feed_dict to compute it.")
    if tensor.dtype.name == "string":
        return to_array(value, tensor.dtype)[0]
    return _as_numpy_does(tensor, value, tensor.dtype)


def _read_now(value: object) -> Any:
    """The value of an eager variable; everything else unchanged."""
    before = build_into(None, here.scope)  # else the read would become an operation of the graph
    try:
        return read(value)
    finally:
        build_into(*before)


def _as_numpy_does(tensor: SymbolicTensor, value: object, dtype: DType) -> np.ndarray[Any, Any]:
    found = getattr(value, "dtype", None)
    try:
        if getattr(found, "kind", "") == "c" and not dtype.is_complex:
            raise TypeError("its imaginary part would be lost")
        with np.errstate(all="ignore"):  # conversions lose information as in TensorFlow
            array = np.array(value, dtype=dtype.as_numpy_dtype, order="C")
            if type(value) is int and array != value:
                raise OverflowError
            return array
    except OverflowError:
        raise DTypeError(
            f"Type of feed value {shown(value)} with type {type(value)} is not compatible with Tensor type "
            f"{dtype.name} of {tensor.name}. Try explicitly setting the type of the feed tensor to a larger type "
            "(e.g. int64)."
        ) from None
    except MemoryError:
        raise ResourceExhaustedError(f"OOM when making an array of the value fed for {tensor.name}.") from None
    except (TypeError, ValueError) as error:
        kind = DTypeError if isinstance(error, TypeError) else ArgumentError
        raise kind(f"Cannot feed {shown(value)} for Tensor {tensor.name} of {dtype.name}: {error}.") from None


def shapes_of(tensors: Iterable[SymbolicTensor], values: Iterable[object]) -> dict[SymbolicTensor, TensorShape]:
    """The shapes of fed values, as far as known without converting them."""
    found = {}
    for tensor, value in zip(tensors, values, strict=True):
        shape = getattr(value, "shape", None)
        if shape is not None:
            found[tensor] = TensorShape(shape)
        elif tensor.shape.is_fully_defined():
            found[tensor] = tensor.shape
    return found
