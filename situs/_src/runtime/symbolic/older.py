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


def _resize_grad(tensors: Sequence[SymbolicTensor]) -> tuple[list[SymbolicTensor], dict[str, Any]]:
    """``ResizeNearestNeighborGrad`` took the height and the width of the images, where ours takes their whole shape."""
    if len(tensors) != 2:
        raise ArgumentError(f"ResizeNearestNeighborGrad takes a gradient and a size, got {tensors}.")
    grads, size = tensors
    if size.shape.is_compatible_with([4]):
        return [grads, size], {}  # ours
    gather: Any = find_op("GatherV2")
    around: Any = find_op("Shape")(grads, out_type=dt.int32)
    shape: Any = find_op("ConcatV2")([gather(around, [0], 0), size, gather(around, [3], 0)], 0)
    return [shape, grads], {"original_size": {"input": 0}}


def _resize_grad_of_images(tensors: Sequence[SymbolicTensor]) -> tuple[list[SymbolicTensor], dict[str, Any]]:
    """``ResizeBilinearGrad`` took the images, where ours takes their shape."""
    if len(tensors) != 2:
        raise ArgumentError(f"ResizeBilinearGrad takes a gradient and images, got {tensors}.")
    if tensors[1].dtype.is_integer:
        return list(tensors), {}  # ours
    shape: Any = find_op("Shape")(tensors[1], out_type=dt.int32)
    return [shape, tensors[0]], {"original_size": {"input": 0}}


_DIAGONAL = {"k": 0, "padding_value": 0}
_ADJOINT = {"adj_x": "adjoint_a", "adj_y": "adjoint_b"}

_OLDER = {
    "AccumulateNV2": Older("AddN"),
    "Add": Older("AddV2"),
    "BatchCholesky": Older("Cholesky"),
    "BatchMatMul": Older("MatMul", _ADJOINT),
    "BatchMatMulV2": Older("MatMul", _ADJOINT),
    "BatchMatMulV3": Older("MatMul", _ADJOINT),
    "BiasAddV1": Older("BiasAdd"),
    "CheckNumericsV2": Older("CheckNumerics"),
    "Concat": Older("ConcatV2", hosts={"axis": {"input": 0}}),
    "DenseBincount": Older("DenseBincountOfRows"),  # with other inputs
    "FusedBatchNorm": Older("FusedBatchNormV3"),
    "FusedBatchNormV2": Older("FusedBatchNormV3"),
    "FusedBatchNormGradV3": Older("FusedBatchNormGradV3", takes=5),  # the sixth is what cuDNN has left
    "Gather": Older("GatherV2", hosts={"axis": 0}),
    "GuaranteeConst": Older("Identity"),
    "Inv": Older("Reciprocal"),
    "LookupTableImportV2": Older("InitializeTableV2", {"Tin": "Tkey", "Tout": "Tval"}),
    "MatrixDiag": Older("MatrixDiagV3", hosts={**_DIAGONAL, "num_rows": -1, "num_cols": -1}),
    "MatrixDiagPart": Older("MatrixDiagPartV3", hosts=_DIAGONAL),
    "MatrixSetDiag": Older("MatrixSetDiagV3", hosts={"k": 0}),
    "MaxPool3DGrad": Older("MaxPool3DGrad", inputs=_max_pool_grad),
    "MaxPoolGrad": Older("MaxPoolGrad", inputs=_max_pool_grad),
    "Mod": Older("TruncateMod"),
    "ParallelDynamicStitch": Older("DynamicStitch"),
    "PlaceholderV2": Older("Placeholder"),
    "PreventGradient": Older("Identity"),
    "ResizeBilinearGrad": Older("ResizeBilinearGrad", inputs=_resize_grad_of_images),
    "ResizeNearestNeighborGrad": Older("ResizeNearestNeighborGrad", inputs=_resize_grad),
    "Reverse": Older("ReverseV2", inputs=_reverse),
    "Snapshot": Older("Identity"),
    "SoftmaxCrossEntropyWithLogits": Older("SoftmaxCrossEntropyWithLogits", further="SoftmaxCrossEntropyGrad"),
    "SparseSoftmaxCrossEntropyWithLogits": Older(
        "SparseSoftmaxCrossEntropyWithLogits", further="SparseSoftmaxCrossEntropyGrad"
    ),
    "UnicodeDecode": Older("UnicodeDecodeWithOffsets"),
    "VariableV2": Older("Variable"),
}
_OURS = {  # ops with other inputs under the same name: an attribute that only ours has
    "DenseBincount": "per_row",
    "MaxPool3DGrad": "dilations",
    "MaxPoolGrad": "dilations",
    "ResizeBilinearGrad": f"{HOST}original_size",
    "ResizeNearestNeighborGrad": f"{HOST}original_size",
}
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
            "ApplyProximalAdagrad",
            "ApplyProximalGradientDescent",
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
            "SparseApplyProximalAdagrad",
            "SparseApplyProximalGradientDescent",
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
_ELEMENT = {"element_dtype": "dtype"}
_LISTS = {  # their elements' shape is the last input; it is known from the rows here
    "TensorListFromTensor": Older("TensorListFromTensor", _ELEMENT, takes=1),
    "TensorListGetItem": Older("TensorListGetItem", _ELEMENT, takes=2),
    "TensorListReserve": Older("TensorListReserve", inputs=lambda tensors: ([tensors[1]], {})),
    "TensorListSetItem": Older("TensorListSetItem", {**_ELEMENT, "resize_if_index_out_of_bounds": "resizes"}),
    "TensorListStack": Older("TensorListStack", _ELEMENT, takes=1),
}
_PATTERNS = {"StaticRegexFullMatch": "RegexFullMatch", "StaticRegexReplace": "RegexReplace"}  # known beforehand
_VARIANT = dt.variant.as_datatype_enum
_DIVISIONS = {True: Older("TruncateDiv"), False: Older("RealDiv")}  # of integers or not

_COMPLEX, _REAL = {"Tcomplex": dt.complex64}, {"Treal": dt.float32}
_DTYPES: Mapping[str, Mapping[str, DType]] = {  # of results: those of TensorFlow, where a node says none
    "Angle": {"Tout": dt.float32},
    "ArgMax": {"output_type": dt.int64},
    "ArgMin": {"output_type": dt.int64},
    "Complex": {"Tout": dt.complex64},
    "ComplexAbs": {"Tout": dt.float32},
    "DecodeImage": {"dtype": dt.uint8},
    "DecodePng": {"dtype": dt.uint8},
    "ExtractJpegShape": {"output_type": dt.int32},
    "HistogramFixedWidth": {"dtype": dt.int32},
    "IRFFT": _REAL,
    "IRFFT2D": _REAL,
    "IRFFT3D": _REAL,
    "IRFFTND": _REAL,
    "Imag": {"Tout": dt.float32},
    "IsotonicRegression": {"output_dtype": dt.float32},
    "ListDiff": {"out_idx": dt.int32},
    "LowerBound": {"out_type": dt.int32},
    "Lu": {"output_idx_type": dt.int32},
    "MaxPoolWithArgmax": {"Targmax": dt.int64},
    "Multinomial": {"output_dtype": dt.int64},
    "RFFT": _COMPLEX,
    "RFFT2D": _COMPLEX,
    "RFFT3D": _COMPLEX,
    "RFFTND": _COMPLEX,
    "RandomPoissonV2": {"dtype": dt.int64},
    "Range": {"Tidx": dt.int32},
    "Real": {"Tout": dt.float32},
    "Shape": {"out_type": dt.int32},
    "ShapeN": {"out_type": dt.int32},
    "Size": {"out_type": dt.int32},
    "StatelessMultinomial": {"output_dtype": dt.int64},
    "StatelessRandomBinomial": {"dtype": dt.int64},
    "StatelessRandomNormal": {"dtype": dt.float32},
    "StatelessRandomNormalV2": {"dtype": dt.float32},
    "StatelessRandomUniform": {"dtype": dt.float32},
    "StatelessRandomUniformFullInt": {"dtype": dt.uint64},
    "StatelessRandomUniformFullIntV2": {"dtype": dt.uint64},
    "StatelessRandomUniformV2": {"dtype": dt.float32},
    "StatelessTruncatedNormal": {"dtype": dt.float32},
    "StatelessTruncatedNormalV2": {"dtype": dt.float32},
    "StringToNumber": {"out_type": dt.float32},
    "TopKV2": {"index_type": dt.int32},
    "Unique": {"out_idx": dt.int32},
    "UniqueV2": {"out_idx": dt.int32},
    "UniqueWithCounts": {"out_idx": dt.int32},
    "UniqueWithCountsV2": {"out_idx": dt.int32},
    "UpperBound": {"out_type": dt.int32},
    "VariableShape": {"out_type": dt.int32},
}


def older(name: str, attrs: Attrs) -> Older | None:
    """The replacement of a node's op; None if it is current."""
    if name == "Div":
        dtype = read_attr(attrs["T"]) if "T" in attrs else dt.float32
        return _DIVISIONS[isinstance(dtype, DType) and dtype.is_integer]
    if name in _OURS and _OURS[name] in attrs:
        return None
    if name in _LISTS and "element_dtype" in attrs:
        return _LISTS[name]
    if name in _PATTERNS:
        texts = {key: attrs[key].s.decode() for key in ("pattern", "rewrite") if key in attrs}
        return Older(_PATTERNS[name], hosts=texts)
    if name == "Identity" and "T" in attrs and attrs["T"].type == _VARIANT:
        return Older("TensorListIdentity")
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
