"""Ops of graphs written by TensorFlow that have another name here: older ones, and those on handles of variables.

    Add(a, b)                  AddV2(a, b)
    Gather(a, n)               GatherV2(a, n), with the axis 0
    Concat(axis, a, b)         ConcatV2(a, b), with the first input as the axis
    VarHandleOp()              Variable()
    ReadVariableOp(handle)     Identity(variable)
    ResourceApplyAdam(...)     ApplyAdam(...)

The kernels of a release of TensorFlow support all older ops; its Python functions create only the newest ones. Its
graphs have variables of two kinds, of which one is known by a handle; here there is one kind, which is state that ops
name.
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
from situs._src.ir.registry.op import find_op
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
        forgets: Attributes that say what is not true of the replacement.
        takes: How many of the inputs are the replacement's; all if it is not given.
        further: The op that makes of ones and the inputs what was the next result after those of the replacement.
    """

    name: str
    attrs: Mapping[str, str] = field(default_factory=dict)
    hosts: Mapping[str, Any] = field(default_factory=dict)
    inputs: Callable[[Sequence[SymbolicTensor]], tuple[list[SymbolicTensor], dict[str, Any]]] | None = None
    forgets: frozenset[str] = frozenset()
    takes: int | None = None
    further: str = ""


def _reverse(tensors: Sequence[SymbolicTensor]) -> tuple[list[SymbolicTensor], dict[str, Any]]:
    """``Reverse`` took a boolean for each axis, where ``ReverseV2`` takes the axes."""
    flags = constant_value(tensors[1]) if len(tensors) == 2 else None
    if not isinstance(flags, (list, tuple)):
        raise ArgumentError(f"The axes of Reverse must be known: a constant vector of booleans, got {tensors[1:]}.")
    return [tensors[0]], {"axis": [axis for axis, is_reversed in enumerate(flags) if is_reversed]}


def _max_pool_grad(tensors: Sequence[SymbolicTensor]) -> tuple[list[SymbolicTensor], dict[str, Any]]:
    """``MaxPoolGrad`` looks for the places of the maxima again, which ``MaxPool`` gives here beside them."""
    if len(tensors) != 3 or len(tensors[1].op.outputs) != 2:
        raise ArgumentError(f"MaxPoolGrad takes what MaxPool took, what it gave, and a gradient, got {tensors}.")
    given, maxima, grad = tensors
    sizes: Any = find_op("Shape")(given, out_type=dt.int32)
    return [sizes, maxima, grad, maxima.op.outputs[1]], {"input_sizes": {"input": 0}}


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
    "FusedBatchNormGradV3": Older("FusedBatchNormGradV3", takes=5),  # the sixth is what cuDNN has left
    "Gather": Older("GatherV2", hosts={"axis": 0}),
    "Inv": Older("Reciprocal"),
    "MatrixDiag": Older("MatrixDiagV3", hosts={**_DIAGONAL, "num_rows": -1, "num_cols": -1}),
    "MatrixDiagPart": Older("MatrixDiagPartV3", hosts=_DIAGONAL),
    "MatrixSetDiag": Older("MatrixSetDiagV3", hosts={"k": 0}),
    "MaxPoolGrad": Older("MaxPoolGrad", inputs=_max_pool_grad),
    "Mod": Older("TruncateMod"),
    "PlaceholderV2": Older("Placeholder"),
    "Reverse": Older("ReverseV2", inputs=_reverse),
    "Snapshot": Older("Identity"),
    "SoftmaxCrossEntropyWithLogits": Older("SoftmaxCrossEntropyWithLogits", further="SoftmaxCrossEntropyGrad"),
    "SparseSoftmaxCrossEntropyWithLogits": Older(
        "SparseSoftmaxCrossEntropyWithLogits", further="SparseSoftmaxCrossEntropyGrad"
    ),
    "VariableV2": Older("Variable"),
}
_OURS = {"MaxPoolGrad": "dilations"}  # ops with other inputs under the same name: an attribute that only ours has
_SHAPES = frozenset({"_output_shapes"})  # of a handle, or of nothing
_VALUE = {"dtype": "T"}

_ON_HANDLES = {
    "AssignAddVariableOp": Older("AssignAdd", _VALUE, forgets=_SHAPES),
    "AssignSubVariableOp": Older("AssignSub", _VALUE, forgets=_SHAPES),
    "AssignVariableOp": Older("Assign", _VALUE, forgets=_SHAPES | {"validate_shape"}),
    "ReadVariableOp": Older("Identity", _VALUE),
    "ResourceCountUpTo": Older("CountUpTo"),
    "ResourceGather": Older("GatherV2", {"dtype": "Tparams"}, {"axis": 0}),
    "ResourceGatherNd": Older("GatherNd", {"dtype": "Tparams"}),
    "VarHandleOp": Older("Variable", forgets=_SHAPES),
    "VarIsInitializedOp": Older("IsVariableInitialized"),
    "VariableShape": Older("Shape"),
    **{
        f"Resource{name}": Older(name, forgets=_SHAPES)
        for name in (
            "ApplyAdaMax",
            "ApplyAdadelta",
            "ApplyAdagrad",
            "ApplyAdagradV2",
            "ApplyAdam",
            "ApplyCenteredRMSProp",
            "ApplyFtrl",
            "ApplyFtrlV2",
            "ApplyGradientDescent",
            "ApplyKerasMomentum",
            "ApplyMomentum",
            "ApplyRMSProp",
            "ScatterNdAdd",
            "ScatterNdMax",
            "ScatterNdMin",
            "ScatterNdSub",
            "ScatterNdUpdate",
            "SparseApplyAdadelta",
            "SparseApplyAdagrad",
            "SparseApplyCenteredRMSProp",
            "SparseApplyFtrl",
            "SparseApplyFtrlV2",
            "SparseApplyMomentum",
            "SparseApplyRMSProp",
        )
    },
    **{
        f"Resource{name}": Older(name, _VALUE, forgets=_SHAPES)
        for name in (
            "ScatterAdd",
            "ScatterDiv",
            "ScatterMax",
            "ScatterMin",
            "ScatterMul",
            "ScatterSub",
            "ScatterUpdate",
        )
    },
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
    if name in _OURS and _OURS[name] in attrs:
        return None
    return _OLDER.get(name) or _ON_HANDLES.get(name)


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
    named = {found.attrs.get(key, key): value for key, value in attrs.items() if key not in found.forgets}
    return {**named, **host_attrs(found.hosts)}


def host_attrs(values: Mapping[str, Any]) -> dict[str, AttrValue]:
    """Host values as node attributes."""
    return {HOST + key: AttrValue(s=json.dumps(value).encode()) for key, value in values.items()}
