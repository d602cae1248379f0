"""The shape of tensors: reading, changing, broadcasting.

Nothing here computes; results often share memory with their inputs, which never change.

PyTorch has few kernels for unsigned integers of more than 8 bits. A kernel that only moves elements supports them
through `by_bits`, which passes it the signed dtype of the same width.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from situs._src.base.dtype import ALL, FIXED, FLOAT8, INDEX, REAL, STRING, WIDE_UNSIGNED, DType, as_dtype, int32
from situs._src.base.dtype import bool as bool_
from situs._src.base.errors import ArgumentError, CallError, DTypeError, KernelError, shown
from situs._src.base.export import export
from situs._src.base.shapes import SCALAR, UNKNOWN, Dim, TensorShape, brackets, broadcast
from situs._src.base.tensor import Tensor, is_tensor
from situs._src.base.typing import ArrayLike, AxisLike, DTypeLike, HostInput, HostValue, IntLike, ShapeLike, SizesOf
from situs._src.ir.graph.node import Operation
from situs._src.ir.registry.op import Op, find_op
from situs._src.ir.registry.traits import (
    ALIAS,
    EACH_VALUE,
    FOLDABLE,
    FRESH,
    MOVES,
    SHAPE_ONLY,
    SIZE_ARITHMETIC,
    VIEW,
    ZERO_OF_ZERO,
)
from situs._src.ops.attribute import as_bool, as_word, is_plain, plain
from situs._src.ops.define import CPU, GPU, F, KernelValue, op, unary
from situs._src.ops.spelling import renamed
from situs._src.ops.sum_to import sum_to
from situs._src.runtime import dispatch
from situs._src.runtime.eager.bridge import TORCH_DTYPE

# Values given on the host.

INTEGERS = frozenset({int})


def as_sizes(shape: Any) -> tuple[int, ...]:
    """A shape given on the host, as integers of at least -1."""
    sizes = shape if isinstance(shape, tuple) else (shape,)
    for size in sizes:
        if not isinstance(size, int) or isinstance(size, bool) or size < -1:
            raise ArgumentError(f"A shape consists of integers of at least -1, got {shape!r}")
    return sizes


def partly(check: Callable[[Any], tuple[int, ...]], shape: HostValue) -> tuple[Dim, ...]:
    """A shape whose known sizes `check` has seen; None, for a size that is not known, stays in its place."""
    if not isinstance(shape, tuple) or None not in shape:
        return check(shape)
    known = iter(check(tuple(size for size in shape if size is not None)))
    return tuple(None if size is None else next(known) for size in shape)


def as_integer(value: HostValue, what: str) -> int:
    """An integer given on the host."""
    if isinstance(value, tuple):
        raise ArgumentError(f"{what} must be a single integer, got the shape {brackets(host_shape(value))}")
    if not isinstance(value, int) or isinstance(value, bool):
        raise DTypeError(f"{what} must be a single integer, got {value!r}")
    return value


def as_lone_integer(value: HostValue, what: str) -> int:
    """An integer given on the host, where a list of one will do, as it does for a few ops of TensorFlow's."""
    return as_integer(value[0] if isinstance(value, tuple) and len(value) == 1 else value, what)


def as_integers(value: object, what: str) -> tuple[int, ...]:
    """A vector of integers given on the host; a single one counts as a vector of one."""
    values = value if isinstance(value, tuple) else (value,)
    return tuple(as_integer(each, f"Each entry of {what}") for each in values)


def as_attribute(value: object, what: str) -> int:
    """An integer attribute, from what the program passed for it."""
    if has_dimensions(value):
        raise DTypeError(f"{what} must be a single integer, got {shown(value)}")
    return as_integer(plain(value, what), what)


def has_dimensions(value: Any) -> bool:
    """Whether what stands for a number is a list, an array or a tensor with dimensions, which TensorFlow may refuse."""
    if type(value) is int:
        return False
    return isinstance(value, (list, tuple)) or bool(value.shape.rank if is_tensor(value) else np.ndim(value))


def host_shape(value: HostValue) -> tuple[int, ...]:
    """The shape of nested tuples."""
    return (len(value), *(host_shape(value[0]) if value else ())) if isinstance(value, tuple) else ()


def sizes_of(tensor: Tensor) -> TensorShape | Tensor:
    """The sizes of a tensor, to make another one of: its shape if it is known, else a tensor with the sizes."""
    return tensor.shape if tensor.shape.is_fully_defined() else shape(tensor)


# Unsigned integers that PyTorch hardly knows.

SIGNED_TWIN = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}


def by_bits(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel for the wide unsigned dtypes, made of one that only moves elements."""

    @functools.wraps(kernel)
    def run(*inputs: Any, **attrs: Any) -> Any:
        tensors = [t for item in inputs for t in (item if isinstance(item, list) else [item])]
        wide = next(t.dtype for t in tensors if isinstance(t, torch.Tensor) and t.dtype in SIGNED_TWIN)
        signed = SIGNED_TWIN[wide]
        return _view(kernel(*(_view(item, wide, signed) for item in inputs), **attrs), signed, wide)

    return run


def also_by_bits(declared: Op, *device_types: str, variable: str = "T") -> Callable[[F], F]:
    """Lets a kernel that only moves elements serve the wide unsigned dtypes of an op too, as its decorator."""

    types: dict[str, Any] = {variable: WIDE_UNSIGNED}

    def register(kernel: F) -> F:
        declared.kernel(*device_types, **types)(by_bits(kernel))
        return kernel

    return register


def _view(item: object, old: torch.dtype, new: torch.dtype) -> Any:
    if isinstance(item, (list, tuple)) and item and isinstance(item[0], torch.Tensor):
        return [_view(each, old, new) for each in item]
    return item.view(new) if isinstance(item, torch.Tensor) and item.dtype is old else item


# Reshape.

_reshape = op("Reshape", "tensor: T, shape: host -> T", traits={FOLDABLE, MOVES, SIZE_ARITHMETIC, VIEW})


@_reshape.shape
def _reshape_shape(tensor: TensorShape, shape: HostValue) -> TensorShape:
    if shape is None:
        return UNKNOWN
    sizes = partly(as_sizes, shape)
    if sizes.count(-1) > 1:
        raise ArgumentError(f"Only one input size may be -1, got shape {list(sizes)}")
    missing = sizes.count(-1) + sizes.count(None)
    if not tensor.is_fully_defined() or missing > 1:
        return TensorShape(None if size == -1 else size for size in sizes)
    known = tuple(-1 if size is None else size for size in sizes)  # one that is not known can be worked out too
    return TensorShape(_infer_missing(tuple(d for d in tensor if d is not None), known))


def _infer_missing(dims: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[int, ...]:
    count, known = math.prod(dims), math.prod(size for size in sizes if size >= 0)
    if all(size >= 0 for size in sizes):
        if known != count:
            raise ArgumentError(
                f"Input to reshape is a tensor with {count} values, but the requested shape has {known}"
            )
        return sizes
    if known == 0 and count == 0:  # any size would do; TensorFlow takes the one that fits without the zeros
        count, known = math.prod(d for d in dims if d), math.prod(size for size in sizes if size > 0)
    if known == 0 or count % known:
        raise ArgumentError(
            f"Input to reshape is a tensor with {count} values, but the requested shape requires a multiple of {known}"
        )
    return tuple(count // known if size < 0 else size for size in sizes)


@_reshape.kernel(CPU)
@_reshape.kernel(GPU, T=FIXED)
def _reshape_kernel(tensor: KernelValue, shape: Any) -> KernelValue:
    sizes = shape if type(shape) is tuple and INTEGERS.issuperset(map(type, shape)) else as_sizes(shape)
    if 0 in sizes and -1 in sizes:
        sizes = _infer_missing(tuple(tensor.shape), sizes)
    return tensor.reshape(*sizes) if sizes else tensor.reshape(())  # PyTorch takes 0.6 us to look into a tuple


@_reshape.gradient
def _reshape_gradient(grad: Tensor, tensor_shape: SizesOf) -> Tensor:
    return _reshaped(grad, tensor_shape)


_reshaped = dispatch.with_host_inputs(_reshape)
_reshaped_quickly = dispatch.recalled(_reshape)


@export("reshape", v1=("reshape", "manip.reshape"))
def reshape(tensor: ArrayLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Returns the elements of `tensor` in another shape.

    Args:
        tensor: A tensor.
        shape: The new shape; one entry may be -1 and is then inferred.
        name: A name for the op.
    """
    if type(shape) is list or type(shape) is tuple:
        if INTEGERS.issuperset(map(type, shape)):
            made = _reshaped_quickly(tensor, tuple(shape))
            return _reshape(tensor, shape, name=name) if made is None else made
        if any(size is None for size in shape):
            raise ArgumentError(f"None values not supported: a shape of reshape has -1 for one size, got {shape!r}.")
        shape = [_whole(size) for size in shape]
    return _reshape(tensor, shape, name=name)


def _whole(size: Any) -> Any:
    """A size of a list; a tensor of floating-point numbers among them is cut to integers, as TensorFlow packs them."""
    if is_tensor(size) and size.dtype.is_floating:
        from situs._src.ops.cast import cast

        return cast(size, int32)
    return size


# Shape, ShapeN, Size, Rank: the results lie on the host.

_shape = op("Shape", "input: T -> output: out_type", traits={FRESH, SHAPE_ONLY}, out_type=INDEX)
_shape_n = op("ShapeN", "input: T* -> output: out_type*", traits={FRESH, SHAPE_ONLY}, out_type=INDEX)
_size = op("Size", "input: T -> output: out_type", traits={FRESH, SHAPE_ONLY}, out_type=INDEX)
_rank = op("Rank", "input: T -> output: int32", traits={FRESH, SHAPE_ONLY})


@_shape.shape
def _shape_shape(input: TensorShape) -> TensorShape:
    return TensorShape([input.rank])


@_shape_n.shape
def _shape_n_shape(input: list[TensorShape]) -> list[TensorShape]:
    return [_shape_shape(each) for each in input]


@_size.shape
@_rank.shape
def _scalar_shape(input: TensorShape) -> TensorShape:
    return SCALAR


@_shape.static_value
def _known_shape(node: Operation, value_of: Any) -> tuple[int | None, ...] | None:
    shape = node.inputs[0].shape
    return None if shape.rank is None else tuple(shape)


_size.static_value(lambda node, value_of: node.inputs[0].shape.num_elements())
_rank.static_value(lambda node, value_of: node.inputs[0].shape.rank)


@_shape.kernel(CPU)
@_shape.kernel(GPU, T=FIXED, host_output=True)
def _shape_kernel(input: KernelValue, out_type: DType) -> torch.Tensor:
    return torch.tensor(input.shape, dtype=TORCH_DTYPE[out_type])


@_shape_n.kernel(CPU)
@_shape_n.kernel(GPU, T=FIXED, host_output=True)
def _shape_n_kernel(input: list[Any], out_type: DType) -> list[torch.Tensor]:
    return [_shape_kernel(each, out_type) for each in input]


@_size.kernel(CPU)
@_size.kernel(GPU, T=FIXED, host_output=True)
def _size_kernel(input: KernelValue, out_type: DType) -> torch.Tensor:
    return torch.tensor(math.prod(input.shape), dtype=TORCH_DTYPE[out_type])


@_rank.kernel(CPU)
@_rank.kernel(GPU, T=FIXED, host_output=True)
def _rank_kernel(input: KernelValue) -> torch.Tensor:
    return torch.tensor(input.ndim, dtype=torch.int32)


@export("shape", v1=())
def shape(input: ArrayLike, out_type: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Returns the shape of a tensor as a vector of int32, or of `out_type`, on the host."""
    return _shape(input, out_type=as_dtype(int32 if out_type is None else out_type), name=name)


@export(v1="shape")
def shape_v1(input: ArrayLike, name: str | None = None, out_type: DTypeLike | None = None) -> Tensor:
    """Returns the shape of a tensor, with the argument order of TensorFlow 1."""
    return shape(input, out_type, name)


@export("shape_n")
def shape_n(input: ArrayLike, out_type: DTypeLike = int32, name: str | None = None) -> list[Tensor]:
    """Returns the shapes of several tensors of one dtype."""
    return _shape_n.many(input, out_type=as_dtype(out_type), name=name)


@export("size", v1=())
def size(input: ArrayLike, out_type: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Returns the number of elements of a tensor as int32, or as `out_type`, on the host."""
    return _size(input, out_type=as_dtype(int32 if out_type is None else out_type), name=name)


@export(v1="size")
def size_v1(input: ArrayLike, name: str | None = None, out_type: DTypeLike | None = None) -> Tensor:
    """Returns the number of elements of a tensor, with the argument order of TensorFlow 1."""
    return size(input, out_type, name)


@export("rank")
def rank(input: ArrayLike, name: str | None = None) -> Tensor:
    """Returns the number of dimensions of a tensor as an int32 scalar on the host."""
    return _rank(input, name=name)


# Identity, StopGradient, EnsureShape: the tensor itself.


def _itself(x: ArrayLike) -> Any:
    return x


_ITSELF = frozenset({ALIAS, SIZE_ARITHMETIC, FOLDABLE, MOVES})
_identity = unary(
    "Identity",
    _itself,
    ALL,
    "Returns the tensor itself.",
    gpu=FIXED | FLOAT8,
    traits=_ITSELF | {EACH_VALUE, ZERO_OF_ZERO},
)
_stop_gradient = unary("StopGradient", _itself, ALL, "Returns the tensor itself.", gpu=FIXED | FLOAT8, traits=_ITSELF)
find_op("Identity").passes_gradients()
find_op("StopGradient").stops_gradients()
_ensure_shape = op("EnsureShape", "input: T -> output: T", shape=UNKNOWN)


@_ensure_shape.shape
def _ensure_shape_shape(input: TensorShape, *, shape: TensorShape) -> TensorShape:
    if not shape.is_compatible_with(input):
        raise ArgumentError(
            f"Shape of tensor input {brackets(input)} is not compatible with expected shape {brackets(shape)}."
        )
    return input.merge_with(shape)


@_ensure_shape.kernel(CPU)
@_ensure_shape.kernel(GPU, T=FIXED)
def _ensure_shape_kernel(input: KernelValue, shape: TensorShape) -> KernelValue:
    _ensure_shape_shape(TensorShape(input.shape), shape=shape)
    return input


_ensure_shape.passes_gradients()


@export("identity")
def identity(input: Any, name: str | None = None) -> Tensor:
    """Returns a tensor with the same elements, on the device that the scope asks for."""
    if hasattr(type(input), "__apply__"):  # slices of a tensor stay slices
        return input.__apply__(lambda values: identity(values, name))  # type: ignore[no-any-return]
    return _identity(input, name)


_identity_n = op("IdentityN", "input: any* -> output: any*")  # several results of one node in graphs of TensorFlow
_identity_n.shape(lambda input: input)
_identity_n.kernel(CPU, GPU)(lambda input: list(input))
_identity_n.gradient(lambda grads: grads)


@export("guarantee_const")
def guarantee_const(input: ArrayLike, name: str | None = "GuaranteeConst") -> Tensor:
    """Returns the tensor as it is; a promise that it will not change, which nothing here depends on."""
    return _identity(input, name)


@export("identity_n")
def identity_n(input: ArrayLike, name: str | None = None) -> list[Tensor]:
    """Returns a list of tensors with the same elements as those given."""
    if not isinstance(input, (list, tuple)):
        raise DTypeError(f"identity_n takes a list of tensors, got {type(input).__name__}.")
    return [_identity(each, name) for each in input]


@export("stop_gradient")
def stop_gradient(input: Any, name: str | None = None) -> Tensor:
    """Returns a tensor with the same elements, which gradients treat as a constant."""
    if hasattr(type(input), "__apply__"):  # slices of a tensor stay slices
        return input.__apply__(lambda values: stop_gradient(values, name))  # type: ignore[no-any-return]
    return _stop_gradient(input, name)


@export("ensure_shape")
def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """Returns `x` after checking that its shape agrees with `shape`, which may be partial."""
    return _ensure_shape(x, shape=TensorShape(shape), name=name)


# ExpandDims and Squeeze.

_expand_dims = op("ExpandDims", "input: T, axis: host -> output: T", traits={FOLDABLE, MOVES, SIZE_ARITHMETIC, VIEW})
_squeeze = op("Squeeze", "input: T -> output: T", traits={FOLDABLE, MOVES, SIZE_ARITHMETIC, VIEW}, squeeze_dims=())


@_expand_dims.shape
def _expand_dims_shape(input: TensorShape, axis: HostValue) -> TensorShape:
    if input.rank is None or axis is None:
        return UNKNOWN if input.rank is None else TensorShape([None] * (input.rank + 1))
    place = as_lone_integer(axis, "The axis of expand_dims")
    if not -input.rank - 1 <= place <= input.rank:
        raise ArgumentError(f"Tried to expand dim index {place} for tensor with {input.rank} dimensions.")
    place += input.rank + 1 if place < 0 else 0
    return TensorShape([*input[:place], 1, *input[place:]])


@_expand_dims.kernel(CPU)
@_expand_dims.kernel(GPU, T=FIXED)
def _expand_dims_kernel(input: torch.Tensor, axis: HostValue) -> torch.Tensor:
    return input.unsqueeze(axis if type(axis) is int else as_lone_integer(axis, "The axis of expand_dims"))


@_expand_dims.kernel(CPU, T=STRING)
def _expand_dims_strings(input: KernelValue, axis: HostValue) -> np.ndarray[Any, Any]:
    return np.expand_dims(input, as_lone_integer(axis, "The axis of expand_dims"))


@_squeeze.shape
def _squeeze_shape(input: TensorShape, *, squeeze_dims: tuple[int, ...]) -> TensorShape:
    if input.rank is None:
        return UNKNOWN
    dims = tuple(input)
    if not squeeze_dims:
        return UNKNOWN if None in dims else TensorShape(d for d in dims if d != 1)
    dropped = {_squeezed(axis, dims) for axis in squeeze_dims}
    return TensorShape(d for place, d in enumerate(dims) if place not in dropped)


def _squeezed(axis: int, dims: tuple[Dim, ...]) -> int:
    if not -len(dims) <= axis < len(dims):
        raise ArgumentError(f"Tried to squeeze dim index {axis} for tensor with {len(dims)} dimensions.")
    if dims[axis] not in (1, None):
        raise ArgumentError(f"Can not squeeze dim[{axis}], expected a dimension of 1, got {dims[axis]}")
    return axis % len(dims)


@_squeeze.kernel(CPU)
@_squeeze.kernel(GPU, T=FIXED)
def _squeeze_kernel(input: KernelValue, squeeze_dims: tuple[int, ...]) -> KernelValue:
    if not squeeze_dims:
        return input.squeeze()
    return input.squeeze(tuple({_squeezed(axis, tuple(input.shape)) for axis in squeeze_dims}))


@_expand_dims.gradient
def _expand_dims_gradient(grad: Tensor, input_shape: SizesOf, axis: HostInput) -> Tensor:
    if isinstance(input_shape, tuple) or not is_plain(axis):
        return _reshaped(grad, input_shape)
    return squeeze(grad, axis)  # which need not wait for the input, to see its sizes


@_squeeze.gradient
def _squeeze_gradient(grad: Tensor, input_shape: SizesOf, *, squeeze_dims: tuple[int, ...]) -> Tensor:
    if isinstance(input_shape, tuple) or len(squeeze_dims) != 1:
        return _reshaped(grad, input_shape)
    return _expand_dims(grad, squeeze_dims[0])


_expanded = dispatch.with_host_inputs(_expand_dims)


@export("expand_dims", v1=())
def expand_dims(input: ArrayLike, axis: AxisLike, name: str | None = None) -> Tensor:
    """Returns `input` with a dimension of size 1 put in at `axis`, which may count from the end."""
    return _expanded(input, axis, name=name)


@export(v1="expand_dims")
def expand_dims_v1(
    input: ArrayLike, axis: AxisLike | None = None, name: str | None = None, dim: AxisLike | None = None
) -> Tensor:
    """Returns `input` with a dimension of size 1 put in at `axis`, which TensorFlow 1 also calls `dim`."""
    return expand_dims(input, renamed("axis", axis, "dim", dim, required=True), name)


_squeezed_quickly = dispatch.recalled(_squeeze)


@export("squeeze", v1=())
def squeeze(input: ArrayLike, axis: Any = None, name: str | None = None) -> Tensor:
    """Returns `input` without its dimensions of size 1: those named by `axis`, or all."""
    if axis is not None and not isinstance(axis, (int, list, tuple)) and has_dimensions(axis):
        raise DTypeError(f"Expected list for 'axis' argument to 'squeeze' Op, not {shown(axis)}.")
    dims = () if axis is None else as_integers(plain(axis, "axis"), "the axes of squeeze")
    made = _squeezed_quickly(input, dims)
    return _squeeze(input, squeeze_dims=dims, name=name) if made is None else made


@export(v1="squeeze")
def squeeze_v1(
    input: ArrayLike, axis: AxisLike | None = None, name: str | None = None, squeeze_dims: AxisLike | None = None
) -> Tensor:
    """Returns `input` without dimensions of size 1; TensorFlow 1 also calls the axes `squeeze_dims`."""
    return squeeze(input, renamed("axis", axis, "squeeze_dims", squeeze_dims), name)


# Transpose. `perm` may be a word that means something for every rank: all axes, or the last two.

_REVERSE, _MATRIX = "reverse", "matrix"
_transpose = op("Transpose", "x: T, perm: host -> y: T", traits={VIEW}, conjugate=False)


@_transpose.shape
def _transpose_shape(x: TensorShape, perm: HostValue, *, conjugate: bool) -> TensorShape:
    if x.rank is None or perm is None:
        return UNKNOWN if x.rank is None else TensorShape([None] * x.rank)
    return TensorShape(x[axis] for axis in _as_perm(perm, x.rank))


def _as_perm(perm: Any, rank: int) -> tuple[int, ...]:
    if isinstance(perm, str):
        return _named_perm(perm, rank)
    if not isinstance(perm, tuple) or any(isinstance(axis, tuple) for axis in perm):
        raise ArgumentError(f"perm must be rank 1, got shape {brackets(host_shape(perm))}")
    if len(perm) != rank:
        raise ArgumentError(f"transpose expects a vector of size {rank}. But input(1) is a vector of size {len(perm)}")
    for axis in perm:
        if not -rank <= as_integer(axis, "Each entry of perm") < rank:
            raise ArgumentError(f"{axis} is out of range [0 .. {rank})")
    axes = tuple(axis % rank for axis in perm)
    missing = set(range(rank)) - set(axes)
    if missing:
        raise KernelError(f"{min(missing)} is missing from {{{','.join(map(str, perm))}}}.")
    return axes


def _named_perm(word: str, rank: int) -> tuple[int, ...]:
    axes = tuple(range(rank))
    if word == _REVERSE:
        return axes[::-1]
    if word != _MATRIX:
        raise ArgumentError(f"perm must be a vector of axes, got {word!r}")
    if rank < 2:
        raise ArgumentError(f"Argument `a` should be a (batch) matrix with rank >= 2, got rank {rank}")
    return (*axes[:-2], axes[-1], axes[-2])


@_transpose.kernel(CPU)
@_transpose.kernel(GPU, T=FIXED)
def _transpose_kernel(x: torch.Tensor, perm: Any, conjugate: bool = False) -> torch.Tensor:
    rank = x.ndim
    if perm is _REVERSE and rank == 2:
        moved = x.t()
    elif type(perm) is tuple and rank and INTEGERS.issuperset(map(type, perm)):  # PyTorch refuses what is no order
        moved = x.permute(*perm)
    else:
        moved = x.permute(_as_perm(perm, rank))
    return moved.conj_physical() if conjugate and x.is_complex() else moved


@_transpose.kernel(CPU, T=STRING)
def _transpose_strings(x: Any, perm: Any, conjugate: bool = False) -> Any:
    return x.transpose(_as_perm(perm, x.ndim))


@_transpose.gradient
def _transpose_gradient(grad: Tensor, perm: HostInput, *, conjugate: bool) -> Tensor:
    return _transposed(grad, _inverse(perm), conjugate=conjugate)


_transposed = dispatch.with_host_inputs(_transpose)


def _inverse(perm: Any) -> Tensor | str | tuple[int, ...]:
    """The order of dimensions that undoes another; a word stands for one that undoes itself."""
    if isinstance(perm, str):
        return perm
    if not (isinstance(perm, (tuple, list)) and all(type(axis) is int for axis in perm)):
        if not is_plain(perm):
            return find_op("InvertPermutation")(perm)
        perm = plain(perm, "perm")
    back = [0] * len(perm)
    for place, axis in enumerate(perm):
        back[axis] = place
    return tuple(back)


@export("transpose", v1=())
def transpose(
    a: object, perm: AxisLike | None = None, conjugate: bool = False, name: str | None = "transpose"
) -> Tensor:
    """Returns `a` with its dimensions in another order.

    Args:
        a: A tensor.
        perm: For each dimension of the result, the dimension of `a` it comes from; by default
            the order is reversed.
        conjugate: Whether to conjugate complex elements too.
        name: A name for the op.
    """
    order = _REVERSE if perm is None else tuple(perm) if type(perm) is list else perm
    if conjugate is False:
        return _transposed(a, order, name=name)
    return _transposed(a, order, conjugate=as_bool(conjugate, "conjugate"), name=name)


@export(v1="transpose")
def transpose_v1(
    a: ArrayLike, perm: AxisLike | None = None, name: str | None = "transpose", conjugate: bool = False
) -> Tensor:
    """Returns `a` with its dimensions in another order, with the argument order of TensorFlow 1."""
    return transpose(a, perm, conjugate, name)


@export("linalg.matrix_transpose", v1=("matrix_transpose", "linalg.matrix_transpose", "linalg.transpose"))
def matrix_transpose(a: ArrayLike, name: str | None = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """Returns `a` with its last two dimensions swapped."""
    return _transposed(a, _MATRIX, conjugate=as_bool(conjugate, "conjugate"), name=name)


# BroadcastTo and BroadcastArgs.

_broadcast_to = op("BroadcastTo", "input: T, shape: host -> output: T")
_broadcast_args = op("BroadcastArgs", "s0: T, s1: T -> r0: T", traits={FOLDABLE, SIZE_ARITHMETIC}, T=INDEX)


@_broadcast_to.shape
def _broadcast_to_shape(input: TensorShape, shape: HostValue) -> TensorShape:
    if shape is None:
        return UNKNOWN
    sizes = TensorShape(partly(as_sizes, shape))
    assert sizes.rank is not None
    if input.rank is None:
        return sizes
    if input.rank > sizes.rank:
        raise ArgumentError(
            f"Rank of input ({input.rank}) must be no greater than rank of output shape ({sizes.rank})."
        )
    if not broadcast(input, sizes).is_compatible_with(sizes):
        raise ArgumentError(f"Incompatible shapes: {brackets(input)} vs. {brackets(sizes)}")
    return sizes


@_broadcast_to.kernel(CPU)
@_broadcast_to.kernel(GPU, T=FIXED)
def _broadcast_to_kernel(input: torch.Tensor, shape: HostValue) -> torch.Tensor:
    sizes = as_sizes(shape)
    if -1 in sizes:
        raise ArgumentError("Dimension -1 must be >= 0")
    return input.expand(sizes)


@_broadcast_to.kernel(CPU, T=STRING)
def _broadcast_to_strings(input: KernelValue, shape: HostValue) -> np.ndarray[Any, Any]:
    return np.broadcast_to(input, as_sizes(shape))


@_broadcast_args.shape
def _broadcast_args_shape(s0: TensorShape, s1: TensorShape) -> TensorShape:
    for each in (s0, s1):
        if each.rank not in (1, None):
            raise ArgumentError(f"In[0] and In[1] must be vectors, got {brackets(s0)} and {brackets(s1)}")
    lengths = [each[0] for each in (s0, s1)]
    return TensorShape([None if None in lengths else max(n for n in lengths if n is not None)])


@_broadcast_args.kernel(CPU)
@_broadcast_args.kernel(GPU, host_output=True)
def _broadcast_args_kernel(s0: torch.Tensor, s1: torch.Tensor) -> torch.Tensor:
    _broadcast_args_shape(TensorShape(s0.shape), TensorShape(s1.shape))
    both = broadcast(TensorShape(s0.tolist()), TensorShape(s1.tolist()))
    return torch.tensor(both.as_list(), dtype=s0.dtype)


@_broadcast_to.gradient
def _broadcast_to_gradient(grad: Tensor, input_shape: SizesOf) -> Tensor:
    return sum_to(grad, input_shape)


@export("broadcast_to")
def broadcast_to(input: ArrayLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """Returns `input` repeated along dimensions of size 1, or new ones in front, until it has `shape`."""
    return _broadcast_to(input, shape, name=name)


@export("broadcast_static_shape")
def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """Returns the shape of an element-wise result of tensors of two shapes, which may be partial."""
    return broadcast(TensorShape(shape_x), TensorShape(shape_y))


@export("broadcast_dynamic_shape")
def broadcast_dynamic_shape(shape_x: ShapeLike, shape_y: ShapeLike) -> Tensor:
    """Returns the shape of an element-wise result, as a tensor, from the shapes of the inputs as tensors."""
    return _broadcast_args(shape_x, shape_y)


# Meshgrid and SequenceMask.

_meshgrid = op("Meshgrid", "inputs: T* -> outputs: T*", indexing="xy")
_sequence_mask = op("SequenceMask", "lengths: T, maxlen: host -> mask: dtype", T=REAL - WIDE_UNSIGNED, dtype=FIXED)


@_meshgrid.shape
def _meshgrid_shape(inputs: list[TensorShape], *, indexing: str) -> list[TensorShape]:
    sizes = [each.num_elements() for each in inputs]
    if indexing == "xy" and len(sizes) > 1:
        sizes[:2] = sizes[1::-1]
    return [TensorShape(sizes)] * len(inputs)


@_meshgrid.kernel(CPU)
@_meshgrid.kernel(GPU, T=FIXED)
def _meshgrid_kernel(inputs: list[torch.Tensor], indexing: str) -> tuple[torch.Tensor, ...]:
    return torch.meshgrid(*(each.reshape(-1) for each in inputs), indexing=indexing)


@_meshgrid.kernel(CPU, T=STRING)
def _meshgrid_strings(inputs: list[Any], indexing: str) -> list[Any]:
    return list(np.meshgrid(*(each.reshape(-1) for each in inputs), indexing=indexing))  # type: ignore[call-overload]


@_meshgrid.gradient
def _meshgrid_gradient(grads: list[Any], inputs_shape: list[Any], *, indexing: str) -> list[Any]:
    axes = list(range(len(grads)))
    own = [1, 0, *axes[2:]] if indexing == "xy" and len(axes) > 1 else axes
    parts = zip(grads, inputs_shape, own, strict=True)
    return [None if grad is None else _along(grad, axis, len(axes), shape) for grad, shape, axis in parts]


def _along(grad: Tensor, axis: int, rank: int, shape: ShapeLike) -> Tensor:
    """The sum over all axes but one, in the shape of the vector that runs along it."""
    others = tuple(each for each in range(rank) if each != axis)
    return _reshape(find_op("Sum")(grad, others), shape)


@_sequence_mask.shape
def _sequence_mask_shape(lengths: TensorShape, maxlen: HostValue) -> TensorShape:
    return lengths.concatenate([None if maxlen is None else _as_maxlen(maxlen)])


def _as_maxlen(maxlen: Any) -> int:
    if isinstance(maxlen, tuple):
        raise CallError(f"Argument `maxlen` must be scalar for sequence_mask, received `maxlen` = {maxlen}")
    is_fraction = isinstance(maxlen, float) and math.isfinite(maxlen)
    length = math.ceil(maxlen) if is_fraction else as_integer(maxlen, "maxlen")
    if length < 0:
        raise CallError(f"Argument `maxlen` must not be negative, got {length}")
    return length


@_sequence_mask.kernel(CPU, GPU)
def _sequence_mask_kernel(lengths: torch.Tensor, maxlen: HostValue, dtype: DType) -> torch.Tensor:
    if maxlen is None:
        maxlen = max(lengths.max().item(), 0) if lengths.numel() else 0
    if not isinstance(maxlen, float):  # else half of a place counts as one
        lengths = lengths.to(torch.int64)
    places = torch.arange(_as_maxlen(maxlen), device=lengths.device)
    return (places < lengths.unsqueeze(-1)).to(TORCH_DTYPE[dtype])


_sequence_mask.stops_gradients()


@export("meshgrid")
def meshgrid(*args: Any, indexing: str = "xy", name: str | None = "meshgrid") -> list[Tensor]:
    """Returns the coordinates of a grid spanned by vectors, one tensor for each vector.

    Args:
        args: Vectors of one dtype.
        indexing: ``"xy"``: the first vector runs along the second dimension, as in a plot;
            ``"ij"``: it runs along the first, as in a matrix.
        name: A name for the op.
    """
    if as_word(indexing, "indexing") not in ("xy", "ij"):
        raise ArgumentError(f"Argument `indexing` parameter must be either 'xy' or 'ij', got {indexing!r}")
    return _meshgrid.many(list(args), indexing=indexing, name=name) if args else []


@export("sequence_mask")
def sequence_mask(
    lengths: ArrayLike, maxlen: IntLike | None = None, dtype: DTypeLike = bool_, name: str | None = None
) -> Tensor:
    """Returns a mask that is true at the first ``lengths[i]`` places of row i.

    Args:
        lengths: A tensor of numbers.
        maxlen: The length of a row; by default the largest of `lengths`.
        dtype: The dtype of the result.
        name: A name for the op.
    """
    return _sequence_mask(lengths, maxlen, dtype=as_dtype(dtype), name=name)
