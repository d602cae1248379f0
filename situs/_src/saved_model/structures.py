"""What functions take and return, as ``StructuredValue`` messages: structures of kinds of tensors, and plain values.

((TensorSpec([None, 3]), False), {})      tuple_value { ... tensor_spec_value { ... } ... bool_value: false }
an IndexedSlices                          type_spec_value { type_spec_class: INDEXED_SLICES_SPEC ... }
a named tuple Point(x, y)                 named_tuple_value { name: "Point" ... }, read as another class of that name
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping
from typing import Any

from situs._src.base.dtype import DType
from situs._src.base.errors import DataLossError, DTypeError, SitusError, shown
from situs._src.base.proto.saved_model import StructuredValue, TypeSpecProto
from situs._src.base.proto.tensor import dtype_from_proto, shape_from_proto, shape_to_proto
from situs._src.base.shapes import TensorShape
from situs._src.base.tree import MAX_DEPTH, deeper
from situs._src.ops.slices import IndexedSlices
from situs._src.ragged.tensor import RaggedTensorSpec
from situs._src.sparse.tensor import SparseTensorSpec
from situs._src.tracing.spec import IndexedSlicesSpec, TensorSpec
from situs._src.tracing.type_spec import TypeSpec

_SPECS: dict[str, type[TypeSpec]] = {
    "INDEXED_SLICES_SPEC": IndexedSlicesSpec,
    "RAGGED_TENSOR_SPEC": RaggedTensorSpec,
    "SPARSE_TENSOR_SPEC": SparseTensorSpec,
}
_INTEGERS = range(-(2**63), 2**63)


def written(value: Any, depth: int = 0) -> StructuredValue:
    """A structure as a message.

    Raises:
        TypeError: there is an object in it that lives in this process only.
    """
    made = StructuredValue()
    if value is None:
        made.none_value.SetInParent()
    elif isinstance(value, bool):
        made.bool_value = value
    elif isinstance(value, int) and value in _INTEGERS:
        made.int64_value = value
    elif isinstance(value, float):
        made.float64_value = value
    elif isinstance(value, str):
        made.string_value = value
    elif isinstance(value, DType):
        made.tensor_dtype_value = value.as_datatype_enum
    elif isinstance(value, TensorShape):
        made.tensor_shape_value.CopyFrom(shape_to_proto(value))
    elif isinstance(value, TypeSpec):
        _write_spec(made, value, depth)
    elif isinstance(value, IndexedSlices):
        _write_spec(made, _slices_spec(value), depth)
    else:
        _write_structure(made, value, deeper(depth))
    return made


def _write_spec(made: StructuredValue, spec: TypeSpec, depth: int) -> None:
    if isinstance(spec, TensorSpec):
        found = made.tensor_spec_value
        found.name, found.dtype = spec.name or "", spec.dtype.as_datatype_enum
        found.shape.CopyFrom(shape_to_proto(spec.shape))
        return
    name = next((name for name, kind in _SPECS.items() if type(spec) is kind), None)
    if name is None:
        raise DTypeError(f"A function that takes or returns {shown(spec)} cannot be saved.")
    made.type_spec_value.type_spec_class = TypeSpecProto.TypeSpecClass.Value(name)
    made.type_spec_value.type_spec_class_name = type(spec).__name__
    made.type_spec_value.type_state.CopyFrom(written(spec._serialize(), deeper(depth)))


def _slices_spec(slices: IndexedSlices) -> IndexedSlicesSpec:
    """The kind of slices that have specs in the places of tensors."""
    rows: Any = slices.values.shape
    shape = TensorShape(None) if rows.rank is None else TensorShape([None, *rows[1:]])
    sizes = None if slices.dense_shape is None else slices.dense_shape.dtype
    return IndexedSlicesSpec(shape, slices.values.dtype, slices.indices.dtype, sizes, slices.indices.shape)


def _write_structure(made: StructuredValue, value: Any, depth: int) -> None:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        made.named_tuple_value.name = type(value).__name__
        for name, item in zip(value._fields, value, strict=True):
            made.named_tuple_value.values.add(key=name, value=written(item, depth))
    elif isinstance(value, tuple):
        made.tuple_value.SetInParent()
        made.tuple_value.values.extend([written(item, depth) for item in value])
    elif isinstance(value, list):
        made.list_value.SetInParent()
        made.list_value.values.extend([written(item, depth) for item in value])
    elif isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        made.dict_value.SetInParent()
        for key, item in value.items():
            made.dict_value.fields[key].CopyFrom(written(item, depth))
    else:
        raise DTypeError(f"{shown(value)} of type {type(value).__name__} lives in this process only.")


def read(message: StructuredValue) -> Any:
    """The structure that a message describes.

    Raises:
        DataLossError: it describes none.
    """
    try:
        return _read(message, 0)
    except DataLossError:
        raise
    except (SitusError, ValueError, TypeError, LookupError) as error:
        raise DataLossError(f"What a function takes or returns cannot be read: {shown(error)}.") from None


def _read(message: StructuredValue, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise DataLossError(f"What a function takes or returns is nested more than {MAX_DEPTH} deep.")
    kind = message.WhichOneof("kind")
    below = depth + 1
    if kind == "none_value":
        return None
    if kind in ("bool_value", "int64_value", "float64_value", "string_value"):
        return getattr(message, kind)
    if kind == "tensor_dtype_value":
        return dtype_from_proto(message.tensor_dtype_value)
    if kind == "tensor_shape_value":
        return shape_from_proto(message.tensor_shape_value)
    if kind == "tensor_spec_value":
        said = message.tensor_spec_value
        return TensorSpec(shape_from_proto(said.shape), dtype_from_proto(said.dtype), said.name or None)
    if kind == "type_spec_value":
        name = TypeSpecProto.TypeSpecClass.Name(message.type_spec_value.type_spec_class)
        return _SPECS[name](*_read(message.type_spec_value.type_state, below))
    if kind == "list_value":
        return [_read(item, below) for item in message.list_value.values]
    if kind == "tuple_value":
        return tuple(_read(item, below) for item in message.tuple_value.values)
    if kind == "dict_value":
        return {key: _read(message.dict_value.fields[key], below) for key in sorted(message.dict_value.fields)}
    if kind == "named_tuple_value":
        pairs = message.named_tuple_value.values
        made = namedtuple(message.named_tuple_value.name, [pair.key for pair in pairs])  # type: ignore[misc]
        return made(*[_read(pair.value, below) for pair in pairs])
    raise DataLossError(f"A structured value of the kind {kind} is not known.")
