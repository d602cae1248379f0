"""Ops of graphs written by older releases of TensorFlow, replaced by their successors.

    Add(a, b)             AddV2(a, b)
    Gather(a, n)          GatherV2(a, n), with the axis 0
    Concat(axis, a, b)    ConcatV2(a, b), with the first input as the axis

The kernels of a release support them all; its Python functions create only the newest ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.dtype import DType
from situs._src.base.errors import ArgumentError
from situs._src.base.proto.graph import AttrValue
from situs._src.ir.graph.attributes import read_attr
from situs._src.ir.graph.serialize import HOST, LENGTH
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.runtime.symbolic.fold import constant_value

Attrs = Mapping[str, AttrValue]


@dataclass(frozen=True)
class Older:
    """The replacement of an op.

    Attributes:
        name: The op that replaces it.
        attrs: The new names of attributes.
        hosts: Host values that it did not take as inputs; ``{"input": 0}`` stands for its first input.
        inputs: The new inputs, and more host values, if that depends on their values.
    """

    name: str
    attrs: Mapping[str, str] = field(default_factory=dict)
    hosts: Mapping[str, Any] = field(default_factory=dict)
    inputs: Callable[[Sequence[SymbolicTensor]], tuple[list[SymbolicTensor], dict[str, Any]]] | None = None


def _reverse(tensors: Sequence[SymbolicTensor]) -> tuple[list[SymbolicTensor], dict[str, Any]]:
    """``Reverse`` took a boolean for each axis, where ``ReverseV2`` takes the axes."""
    flags = constant_value(tensors[1]) if len(tensors) == 2 else None
    if not isinstance(flags, (list, tuple)):
        raise ArgumentError(f"The axes of Reverse must be known: a constant vector of booleans, got {tensors[1:]}.")
    return [tensors[0]], {"axis": [axis for axis, is_reversed in enumerate(flags) if is_reversed]}


_DIAGONAL = {"k": 0, "padding_value": 0}
_ADJOINT = {"adj_x": "adjoint_a", "adj_y": "adjoint_b"}

_OLDER = {
    "Add": Older("AddV2"),
    "BatchCholesky": Older("Cholesky"),
    "BatchMatMul": Older("MatMul", _ADJOINT),
    "BatchMatMulV2": Older("MatMul", _ADJOINT),
    "BatchMatMulV3": Older("MatMul", _ADJOINT),
    "BiasAddV1": Older("BiasAdd"),
    "Concat": Older("ConcatV2", hosts={"axis": {"input": 0}}),
    "FusedBatchNorm": Older("FusedBatchNormV3"),
    "FusedBatchNormV2": Older("FusedBatchNormV3"),
    "Gather": Older("GatherV2", hosts={"axis": 0}),
    "Inv": Older("Reciprocal"),
    "MatrixDiag": Older("MatrixDiagV3", hosts={**_DIAGONAL, "num_rows": -1, "num_cols": -1}),
    "MatrixDiagPart": Older("MatrixDiagPartV3", hosts=_DIAGONAL),
    "MatrixSetDiag": Older("MatrixSetDiagV3", hosts={"k": 0}),
    "Mod": Older("TruncateMod"),
    "PlaceholderV2": Older("Placeholder"),
    "Reverse": Older("ReverseV2", inputs=_reverse),
    "Snapshot": Older("Identity"),
    "VariableV2": Older("Variable"),
}
_DIVISIONS = {True: Older("TruncateDiv"), False: Older("RealDiv")}  # of integers or not

_DTYPES: Mapping[str, Mapping[str, DType]] = {  # of results, which later ops let a program choose
    "ArgMax": {"output_type": dt.int64},
    "ArgMin": {"output_type": dt.int64},
    "Shape": {"out_type": dt.int32},
    "ShapeN": {"out_type": dt.int32},
    "Size": {"out_type": dt.int32},
    "TopKV2": {"index_type": dt.int32},
    "Unique": {"out_idx": dt.int32},
    "UniqueWithCounts": {"out_idx": dt.int32},
}


def older(name: str, attrs: Attrs) -> Older | None:
    """The replacement of a node's op; None if it is current."""
    if name == "Div":
        dtype = read_attr(attrs["T"]) if "T" in attrs else dt.float32
        return _DIVISIONS[isinstance(dtype, DType) and dtype.is_integer]
    return _OLDER.get(name)


def today(name: str, attrs: Attrs, found: Older | None, lists: Sequence[str]) -> Attrs:
    """The attributes of a node as the current op has them.

    Args:
        name: The op of the node.
        attrs: Its attributes.
        found: The replacement of the op.
        lists: The inputs of the op that are lists; several have the length of the attribute ``N``.
    """
    missing = {key: value for key, value in _DTYPES.get(name, {}).items() if key not in attrs}
    if len(lists) > 1 and "N" in attrs and LENGTH + lists[0] not in attrs:
        attrs = {**attrs, **{LENGTH + key: attrs["N"] for key in lists}}
    if missing:
        attrs = {**attrs, **{key: AttrValue(type=dtype.as_datatype_enum) for key, dtype in missing.items()}}
    if found is None:
        return attrs
    named = {found.attrs.get(key, key): value for key, value in attrs.items()}
    return {**named, **host_attrs(found.hosts)}


def host_attrs(values: Mapping[str, Any]) -> dict[str, AttrValue]:
    """Host values as node attributes."""
    return {HOST + key: AttrValue(s=json.dumps(value).encode()) for key, value in values.items()}
