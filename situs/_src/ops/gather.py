"""Selecting elements by index or by condition: gather, where, boolean_mask, one_hot.

An index that does not exist is an error on the CPU. On a GPU, where checking would synchronize, the ops behave like
TensorFlow's: `gather` and `gather_nd` return zeros there.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import numpy as np
import torch

from situs._src.base.dtype import (
    FIXED,
    INDEX,
    NUMERIC,
    STRING,
    WIDE_UNSIGNED,
    DType,
    as_dtype,
    float32,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from situs._src.base.errors import (
    ArgumentError,
    CallError,
    DTypeError,
    InvalidArgumentError,
    KernelError,
    UnimplementedError,
    shown,
)
from situs._src.base.export import export
from situs._src.base.shapes import SCALAR, UNKNOWN, TensorShape, brackets, broadcast, normalize_axis
from situs._src.base.tensor import Tensor, read
from situs._src.base.typing import ArrayLike, AxisLike, DTypeLike, HostInput, HostValue, IntLike, SizesOf
from situs._src.ir.graph.node import Operation
from situs._src.ir.registry.op import find_op
from situs._src.ir.registry.traits import EACH_VALUE, FOLDABLE, FRESH, MOVES, SIZE_ARITHMETIC
from situs._src.ops.array import also_by_bits, as_attribute, as_integer, has_dimensions, host_shape, squeeze
from situs._src.ops.array import rank as rank_op
from situs._src.ops.attribute import as_word, is_plain, plain
from situs._src.ops.cast import as_index
from situs._src.ops.define import CPU, GPU, KernelValue, compiled_as, of_sizes, op
from situs._src.ops.gather_gradient import boolean_mask_grad, gather_grad, gather_nd_grad, rows_of
from situs._src.ops.masked import masked, unmasked
from situs._src.ops.naming import Composed
from situs._src.ops.positions import any_outside, linear_indices, safe_linear_indices
from situs._src.ops.slices import IndexedSlices
from situs._src.ops.sum_to import sum_to
from situs._src.runtime.eager.bridge import TORCH_DTYPE
from situs._src.runtime.eager.convert import MAX_RANK, to_array
from situs._src.runtime.passes.reuse import Over

# GatherV2.

_gather = op(
    "GatherV2",
    "params: Tparams, indices: Tindices, axis: host -> output: Tparams",
    traits={FOLDABLE, MOVES, SIZE_ARITHMETIC},
    Tindices=INDEX | {int16},
    batch_dims=0,
)


@_gather.shape
def _gather_shape(params: TensorShape, indices: TensorShape, axis: HostValue, *, batch_dims: int) -> TensorShape:
    if params.rank is None or indices.rank is None:
        return UNKNOWN
    if axis is None:
        known = params.rank > 0 and 0 <= batch_dims <= indices.rank
        return TensorShape([None] * (params.rank - 1 + indices.rank - batch_dims)) if known else UNKNOWN
    place, batch = _gather_axes(params.rank, indices.rank, axis, batch_dims)
    for dim in range(batch):
        if not params[dim : dim + 1].is_compatible_with(indices[dim : dim + 1]):
            raise KernelError(
                f"params.shape[{dim}]: {params[dim]} should be equal to indices.shape[{dim}]: {indices[dim]}"
            )
    return TensorShape([*params[:place], *indices[batch:], *params[place + 1 :]])


def _gather_axes(params: int, indices: int, axis: HostValue, batch_dims: int) -> tuple[int, int]:
    """The axis and the number of batch dimensions for these ranks, counted from the front."""
    if isinstance(axis, tuple):
        raise ArgumentError(f"axis must be scalar, got {list(axis)}")
    if params == 0:
        raise ArgumentError("params must be at least 1 dimensional")
    place = as_integer(axis, "The axis of gather")
    if not -params <= place < params:
        need = place + 1 if place >= 0 else -place
        raise ArgumentError(f"Shape must be at least rank {need} but is rank {params}: axis is {place}")
    if not -indices <= batch_dims <= indices:
        raise ArgumentError(f"Expected batch_dims in the range [{-indices}, {indices}], but got {batch_dims}")
    place, batch = place % params, batch_dims + indices if batch_dims < 0 else batch_dims
    if batch > place:
        raise ArgumentError(f"batch_dims ({batch}) must be less than or equal to axis ({place}).")
    return place, batch


@also_by_bits(_gather, CPU, variable="Tparams")
@_gather.kernel(CPU)
def _gather_cpu(params: torch.Tensor, indices: torch.Tensor, axis: HostValue, batch_dims: int) -> torch.Tensor:
    place, batch = _gather_axes(params.ndim, indices.ndim, axis, batch_dims)
    if indices.ndim == 0 and not indices.is_meta:
        number = indices.item()
        if 0 <= number < params.shape[place]:
            return params.select(place, number).clone()  # type: ignore[arg-type]
    try:
        return _take(params, indices, place, batch)
    except (IndexError, RuntimeError):
        _check_in_range(indices, params.shape[place])
        raise


_WAKES = 2**16  # bytes from which on PyTorch would copy rows with several threads
_UNSIGNED = {torch.int32: np.uint32, torch.int64: np.uint64}
_OF_NUMPY = {torch.float16, torch.float32, torch.float64, torch.uint8, torch.int32, torch.int64}


def _gather_alone(params: torch.Tensor, indices: torch.Tensor, axis: HostValue, batch_dims: int) -> torch.Tensor:
    """The same by this thread, which does not wake PyTorch's: for who makes batches beside a program."""
    plain = batch_dims == 0 and axis == 0 and indices.ndim == 1 and indices.dtype is not torch.int16
    if plain and params.dtype in _OF_NUMPY and len(params) and params.nbytes // len(params) * len(indices) >= _WAKES:
        rows = indices.numpy()
        if rows.view(_UNSIGNED[indices.dtype]).max() < len(params):  # then none is negative, either
            return torch.from_numpy(params.numpy().take(rows, 0))
    return _gather_cpu(params, indices, axis, batch_dims)


_gather_cpu.alone = _gather_alone  # type: ignore[attr-defined]


@also_by_bits(_gather, GPU, variable="Tparams")
@_gather.kernel(GPU, Tparams=FIXED - WIDE_UNSIGNED)
def _gather_gpu(params: torch.Tensor, indices: torch.Tensor, axis: HostValue, batch_dims: int) -> torch.Tensor:
    place, batch = _gather_axes(params.ndim, indices.ndim, axis, batch_dims)
    size = params.shape[place]
    if size == 0:
        shape = _gather_shape(TensorShape(params.shape), TensorShape(indices.shape), axis, batch_dims=batch_dims)
        return params.new_zeros(tuple(shape))  # type: ignore[arg-type]
    missing = (indices < 0) | (indices >= size)
    taken = _take(params, indices.clamp(0, size - 1), place, batch)
    ones = [1] * (params.ndim - place - 1)
    front = [*missing.shape[:batch], *[1] * (place - batch), *missing.shape[batch:]]
    return taken.masked_fill_(missing.view([*front, *ones]), 0)


def _gather_refuses(params: torch.Tensor, indices: torch.Tensor, axis: HostValue, batch_dims: int) -> torch.Tensor:
    place, _ = _gather_axes(params.ndim, indices.ndim, axis, batch_dims)
    return any_outside(indices, params.shape[place])


compiled_as(_gather_cpu, _gather_gpu, _gather_refuses)
compiled_as(_gather_gpu, _gather_gpu)


def _take(params: torch.Tensor, indices: torch.Tensor, axis: int, batch: int) -> torch.Tensor:
    if indices.dtype is torch.int16:
        indices = indices.int()
    if batch == 0 and indices.ndim == 1:
        return params.index_select(axis, indices)
    shape = [*params.shape[:axis], *indices.shape[batch:], *params.shape[axis + 1 :]]
    if batch == 0:
        return params.index_select(axis, indices.reshape(-1)).reshape(shape)
    if params.shape[:batch] != indices.shape[:batch]:
        raise ValueError("batch dimensions differ")  # the shape rule says it better
    outer, before, after = (math.prod(part) for part in (shape[:batch], shape[batch:axis], params.shape[axis + 1 :]))
    flat = params.reshape(outer, before, params.shape[axis], after)
    count = math.prod(indices.shape[batch:])
    wanted = indices.reshape(outer, 1, count, 1).to(torch.int64)
    return flat.gather(2, wanted.expand(outer, before, count, after)).reshape(shape)


def _check_in_range(indices: torch.Tensor, size: int) -> None:
    bad = ((indices < 0) | (indices >= size)).nonzero()
    if len(bad):
        where = bad[0].tolist()
        value = int(indices[tuple(where)])
        subscript = brackets(where) if where else ""
        raise ArgumentError(f"indices{subscript} = {value} is not in [0, {size})")


@_gather.kernel(CPU, Tparams=STRING)
def _gather_strings(params: Any, indices: torch.Tensor, axis: HostValue, batch_dims: int) -> Any:
    place, batch = _gather_axes(params.ndim, indices.ndim, axis, batch_dims)
    _check_in_range(indices, params.shape[place])
    # Strings are gathered through their positions.
    positions = torch.arange(params.size).reshape(params.shape)
    taken = _take(positions, indices, place, batch)
    return params.reshape(-1)[taken.reshape(-1).numpy()].reshape(tuple(taken.shape))


@_gather.gradient
def _gather_gradient(
    grad: Tensor, params_shape: SizesOf, indices: Tensor, axis: HostInput, *, batch_dims: int
) -> tuple[Any, None]:
    if is_plain(axis) and plain(axis, "axis") == 0:
        return rows_of(grad, indices, params_shape), None
    return gather_grad(grad, indices, params_shape, axis, batch_dims=batch_dims), None


@export(
    "gather",
    v1=(),
    differs="Reading a variable runs where the scope says, else on the best device, like every other read; "
    "TensorFlow runs it where the variable is.",
)
def gather(
    params: Any,
    indices: ArrayLike,
    validate_indices: bool | None = None,
    axis: AxisLike | None = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Tensor:
    """Returns the slices of `params` along an axis that `indices` name.

    Args:
        params: A tensor of at least one dimension.
        indices: Integers. On the CPU an index outside the axis is an error, on a GPU it gives zeros.
        validate_indices: Not used.
        axis: The axis; by default the first one that is not a batch dimension.
        batch_dims: How many leading dimensions of `params` and `indices` go together.
        name: A name for the op.
    """
    batch = as_attribute(batch_dims, "batch_dims")
    return _gather(params, indices, batch if axis is None else axis, batch_dims=batch, name=name)


@export(v1="gather")
def gather_v1(
    params: ArrayLike,
    indices: ArrayLike,
    validate_indices: bool | None = None,
    name: str | None = None,
    axis: AxisLike | None = None,
    batch_dims: int = 0,
) -> Tensor:
    """Returns the slices of `params` that `indices` name, with the argument order of TensorFlow 1."""
    return gather(params, indices, validate_indices, axis, batch_dims, name)


@export(v1="batch_gather")
def batch_gather(params: ArrayLike, indices: ArrayLike, name: str | None = None) -> Tensor:
    """Gathers along the last axis of `indices`, with all dimensions before it as batch dimensions."""
    indices = read(indices)
    rank = indices.shape.rank if isinstance(indices, Tensor) else to_array(indices)[0].ndim
    with Composed(name, "BatchGather") as last:
        axis = rank_op(indices) - 1 if rank is None else rank - 1
        return gather(params, indices, batch_dims=-1, axis=axis, name=last)


# GatherNd.

_gather_nd = op("GatherNd", "params: Tparams, indices: Tindices -> output: Tparams", Tindices=INDEX, batch_dims=0)


@_gather_nd.shape
def _gather_nd_shape(params: TensorShape, indices: TensorShape, *, batch_dims: int) -> TensorShape:
    if params.rank is None or indices.rank is None or (indices.rank > 0 and indices[-1] is None):
        return UNKNOWN
    if indices.rank == 0:
        raise ArgumentError("indices must be at least a vector")
    batch = batch_dims
    if batch < 0:
        raise CallError(f"tf.gather_nd does not allow negative batch_dims, got {batch}")
    if batch >= indices.rank:
        raise CallError(f"batch_dims = {batch_dims} must be less than rank(indices) = {indices.rank}")
    depth = indices[-1] or 0
    if depth > params.rank - batch:
        raise ArgumentError(
            f"index innermost dimension length must be <= params rank; saw: {depth} vs. {params.rank - batch}"
        )
    if not params[:batch].is_compatible_with(indices[:batch]):
        raise ArgumentError(
            f"The first {batch} dimensions of params {brackets(params)} and indices {brackets(indices)} must be equal"
        )
    return TensorShape([*indices[:-1], *params[batch + depth :]])


_gather_nd_sizes = of_sizes(_gather_nd_shape)


def _with_batch(params: KernelValue, indices: torch.Tensor, batch_dims: int) -> torch.Tensor:
    """Indices that name the batch dimensions too."""
    _gather_nd_sizes(params.shape, indices.shape, batch_dims=batch_dims)
    if not batch_dims:
        return indices
    lead, shape = indices.shape[:-1], indices.shape[:batch_dims]
    grids = torch.meshgrid(*(torch.arange(n, device=indices.device) for n in shape), indexing="ij")
    ones = [1] * (len(lead) - batch_dims)
    columns = [grid.reshape([*shape, *ones]).expand(lead).to(indices.dtype) for grid in grids]
    return torch.cat([torch.stack(columns, -1), indices], -1)


@also_by_bits(_gather_nd, CPU, variable="Tparams")
@_gather_nd.kernel(CPU)
def _gather_nd_cpu(params: Any, indices: torch.Tensor, batch_dims: int) -> torch.Tensor:
    wanted = _with_batch(params, indices, batch_dims)
    rows = linear_indices(wanted, params.shape, "param shape")
    return _rows(params, rows, wanted)


@also_by_bits(_gather_nd, GPU, variable="Tparams")
@_gather_nd.kernel(GPU, Tparams=FIXED - WIDE_UNSIGNED)
def _gather_nd_gpu(params: torch.Tensor, indices: torch.Tensor, batch_dims: int) -> torch.Tensor:
    wanted = _with_batch(params, indices, batch_dims)
    rows, missing = safe_linear_indices(wanted, params.shape)
    if params.numel() == 0:
        return params.new_zeros([*wanted.shape[:-1], *params.shape[wanted.shape[-1] :]])
    taken = _rows(params, rows.masked_fill(missing, 0), wanted)
    ones = [1] * (params.ndim - wanted.shape[-1])
    return taken.masked_fill(missing.reshape([*wanted.shape[:-1], *ones]), 0)


def _gather_nd_refuses(params: torch.Tensor, indices: torch.Tensor, batch_dims: int) -> torch.Tensor:
    return safe_linear_indices(_with_batch(params, indices, batch_dims), params.shape)[1].any()


compiled_as(_gather_nd_cpu, _gather_nd_gpu, _gather_nd_refuses)
compiled_as(_gather_nd_gpu, _gather_nd_gpu)


@_gather_nd.kernel(CPU, Tparams=STRING)
def _gather_nd_strings(params: KernelValue, indices: torch.Tensor, batch_dims: int) -> KernelValue:
    wanted = _with_batch(params, indices, batch_dims)
    rows = linear_indices(wanted, params.shape, "param shape")
    table = params.reshape([-1, *params.shape[wanted.shape[-1] :]])
    return table[rows.numpy()].reshape([*wanted.shape[:-1], *table.shape[1:]])


def _rows(params: torch.Tensor, rows: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """The slices of `params` that linear indices name."""
    inner = params.shape[wanted.shape[-1] :]
    count = math.prod(params.shape[: wanted.shape[-1]])
    return params.reshape([count, *inner]).index_select(0, rows).reshape([*wanted.shape[:-1], *inner])


@_gather_nd.gradient
def _gather_nd_gradient(grad: Tensor, params_shape: SizesOf, indices: Tensor, *, batch_dims: int) -> tuple[Any, None]:
    if indices.shape.rank == 2 and indices.shape[-1] == 1 and not batch_dims:
        return IndexedSlices(grad, squeeze(indices, -1), params_shape), None
    return gather_nd_grad(grad, indices, params_shape, batch_dims=batch_dims), None


def check_bad_indices_policy(policy: object) -> None:
    """Refuses a policy other than the default: an error on the CPU, nothing done on a GPU."""
    if as_word(policy, "bad_indices_policy") not in ("", "DEFAULT"):
        raise UnimplementedError(f"The only bad_indices_policy is 'DEFAULT', got {policy!r}.")


@export("gather_nd", v1=())
def gather_nd(
    params: Any, indices: ArrayLike, batch_dims: int = 0, name: str | None = None, bad_indices_policy: str = ""
) -> Tensor:
    """Returns the elements or slices of `params` that the vectors along the last axis of `indices` name.

    Args:
        params: A tensor.
        indices: Integers; each vector names positions in the first dimensions of `params`. On the CPU an
            index that does not exist is an error, on a GPU it gives zeros.
        batch_dims: How many leading dimensions of `params` and `indices` go together.
        name: A name for the op.
        bad_indices_policy: ``"DEFAULT"``, or empty.
    """
    check_bad_indices_policy(bad_indices_policy)
    return _gather_nd(params, as_index(indices), batch_dims=as_attribute(batch_dims, "batch_dims"), name=name)


@export(v1=("gather_nd", "manip.gather_nd"))
def gather_nd_v1(
    params: ArrayLike, indices: ArrayLike, name: str | None = None, batch_dims: int = 0, bad_indices_policy: str = ""
) -> Tensor:
    """Gathers by vectors of indices, with the argument order of TensorFlow 1."""
    return gather_nd(params, indices, batch_dims, name, bad_indices_policy)


# Where and Select.

_where = op("Where", "condition: T -> index: int64", T=FIXED)
_select_v2 = op("SelectV2", "condition: bool, t: T, e: T -> output: T", traits={FRESH, EACH_VALUE})
_select = op("Select", "condition: bool, t: T, e: T -> output: T", traits={FRESH})


@_where.shape
def _where_shape(condition: TensorShape) -> TensorShape:
    if condition.rank == 0:
        raise ArgumentError("WhereOp : Unhandled input dimensions: 0")
    return TensorShape([None, condition.rank])


@_where.kernel(CPU, GPU)
def _where_kernel(condition: torch.Tensor) -> torch.Tensor:
    if condition.ndim == 0:
        raise ValueError("a scalar has no coordinates")  # the shape rule says it better
    return condition.nonzero()


@_where.kernel(CPU, GPU, T=WIDE_UNSIGNED)
def _where_unsigned(condition: torch.Tensor) -> torch.Tensor:
    return _where_kernel(condition != 0)


_select_v2.in_place(1, 2)(lambda node, place: Over(torch.where, place))


def _picks_elements(node: Operation, place: int) -> bool:
    """Whether the condition is one for each element, or one for all: one of rank 1 picks rows."""
    condition, *branches = (tensor.shape for tensor in node.inputs)
    into = branches[0]
    return into.is_fully_defined() and branches[1] == into and condition in (SCALAR, into)


_select.in_place(1, 2, fits=_picks_elements)(lambda node, place: Over(torch.where, place))


@_select_v2.shape
def _select_v2_shape(condition: TensorShape, t: TensorShape, e: TensorShape) -> TensorShape:
    try:
        return broadcast(condition, broadcast(t, e))
    except InvalidArgumentError:
        raise ArgumentError(
            f"condition {brackets(condition)}, then {brackets(t)}, and else {brackets(e)} must be broadcastable"
        ) from None


@_select.shape
def _select_shape(condition: TensorShape, t: TensorShape, e: TensorShape) -> TensorShape:
    if not t.is_compatible_with(e):
        raise ArgumentError(
            f"'then' and 'else' must have the same size.  but received: {brackets(t)} vs. {brackets(e)}"
        )
    if condition.rank == 1 and t.rank == 0:
        raise ArgumentError(f"'then' must be at least a vector, but saw shape: {brackets(t)}")
    if condition.rank == 1 and not condition.is_compatible_with(t[:1]):
        raise ArgumentError(
            f"Number of batches of 'then' must match size of 'cond', but saw: {t[0]} vs. {condition[0]}"
        )
    if condition.rank not in (0, 1, None) and not condition.is_compatible_with(t):
        raise ArgumentError(
            "Inputs to operation Select of type Select must have the same size and shape.  "
            f"Input 0: {brackets(condition)} != input 1: {brackets(t)}"
        )
    return t.merge_with(e)


@_select_v2.kernel(CPU)
def _select_v2_on_host(condition: torch.Tensor, t: torch.Tensor, e: torch.Tensor) -> torch.Tensor:
    bits = _BITS.get(t.dtype)
    if bits is None or not _FEW < condition.numel() <= _MANY or not condition.shape == t.shape == e.shape:
        return torch.where(condition, t, e)
    # By bits, because PyTorch's own jumps at every element: four times as fast where the condition is not foreseen.
    chosen, other = condition.view(torch.int8).to(bits).neg_(), e.view(bits)
    return torch.bitwise_xor(t.view(bits), other).bitwise_and_(chosen).bitwise_xor_(other).view(t.dtype)


_BITS = {torch.float32: torch.int32, torch.int32: torch.int32, torch.float64: torch.int64, torch.int64: torch.int64}
_FEW, _MANY = 2**11, 2**20  # elements: where calls cost more than work, and where memory is what is waited for


@also_by_bits(_select_v2, CPU, GPU)
@_select_v2.kernel(GPU, T=FIXED - WIDE_UNSIGNED)
def _select_v2_kernel(condition: torch.Tensor, t: torch.Tensor, e: torch.Tensor) -> torch.Tensor:
    return torch.where(condition, t, e)


@_select_v2.kernel(CPU, T=STRING)
def _select_v2_strings(condition: torch.Tensor, t: KernelValue, e: KernelValue) -> np.ndarray[Any, Any]:
    return np.asarray(np.where(condition.numpy(), t, e))


@also_by_bits(_select, CPU, GPU)
@_select.kernel(CPU)
@_select.kernel(GPU, T=FIXED)
def _select_kernel(condition: torch.Tensor, t: Any, e: Any) -> np.ndarray[Any, Any] | torch.Tensor:
    _select_shape(TensorShape(condition.shape), TensorShape(t.shape), TensorShape(e.shape))
    if condition.ndim == 1:
        condition = condition.reshape([-1, *[1] * (t.ndim - 1)])
    if not isinstance(t, torch.Tensor):
        return _select_v2_strings(condition, t, e)
    return torch.where(condition, t, e)


@_select_v2.gradient
def _select_v2_gradient(grad: Tensor, condition: Tensor, t_shape: SizesOf, e_shape: SizesOf) -> tuple[Any, ...]:
    return None, lambda: sum_to(masked(condition, grad), t_shape), lambda: sum_to(unmasked(condition, grad), e_shape)


@_select.gradient
def _select_gradient(grad: Tensor, condition: Tensor) -> tuple[Any, ...]:
    zeros = find_op("ZerosLike")(grad)
    return None, lambda: _select(condition, grad, zeros), lambda: _select(condition, zeros, grad)


@export("where", v1="where_v2")
def where(condition: ArrayLike, x: ArrayLike | None = None, y: Any = None, name: str | None = None) -> Tensor:
    """Picks elements of `x` where `condition` is true and of `y` elsewhere; alone, finds where it is true.

    Args:
        condition: Booleans; without `x` and `y`, numbers will do: those that are not zero are true.
        x: A tensor that broadcasts with `condition` and `y`.
        y: The same, of the same dtype.
        name: A name for the op.

    Returns:
        The picked elements; without `x` and `y`, the coordinates of the true elements as int64, one row each.
    """
    if x is None and y is None:
        return _where(condition, name=name)
    return _select_v2(condition, *_both(x, y), name=name)


@export(v1="where")
def where_v1(
    condition: ArrayLike, x: ArrayLike | None = None, y: ArrayLike | None = None, name: str | None = None
) -> Tensor:
    """Picks like `where`, by the rule of TensorFlow 1: nothing broadcasts, but a vector picks whole rows."""
    if x is None and y is None:
        return _where(condition, name=name)
    return _select(condition, *_both(x, y), name=name)


def _both(x: Any, y: Any) -> tuple[Any, Any]:
    if x is None or y is None:
        raise ArgumentError("x and y must both be non-None or both be None.")
    return x, y


# BooleanMask.

_boolean_mask = op("BooleanMask", "tensor: T, mask: Tmask, axis: host -> output: T", Tmask=FIXED - WIDE_UNSIGNED)


@_boolean_mask.shape
def _boolean_mask_shape(tensor: TensorShape, mask: TensorShape, axis: HostValue) -> TensorShape:
    if mask.rank == 0:
        raise CallError("mask cannot be scalar.")
    if tensor.rank is None or mask.rank is None or axis is None:
        return UNKNOWN
    place = normalize_axis(as_integer(axis, "The axis of boolean_mask"), max(tensor.rank, 1))
    masked = tensor[place : place + mask.rank]
    if not masked.is_compatible_with(mask):
        raise CallError(f"Shapes {masked} and {mask} are incompatible: the mask must fit the tensor {tensor}")
    return TensorShape([*tensor[:place], None, *tensor[place + mask.rank :]])


@also_by_bits(_boolean_mask, CPU, GPU)
@_boolean_mask.kernel(CPU)
@_boolean_mask.kernel(GPU, T=FIXED - WIDE_UNSIGNED)
def _boolean_mask_kernel(tensor: KernelValue, mask: torch.Tensor, axis: HostValue) -> KernelValue:
    if mask.ndim == 0 or mask.ndim > tensor.ndim:
        raise ValueError("a mask has dimensions, and no more than the tensor")  # the shape rule says it better
    place = normalize_axis(as_integer(axis, "The axis of boolean_mask"), tensor.ndim)
    chosen = mask if mask.dtype is torch.bool else mask != 0
    index = (slice(None),) * place
    return tensor[(*index, chosen if isinstance(tensor, torch.Tensor) else chosen.numpy())]


@_boolean_mask.gradient
def _boolean_mask_gradient(grad: Tensor, tensor_shape: SizesOf, mask: Tensor, axis: HostInput) -> tuple[Tensor, None]:
    return boolean_mask_grad(grad, mask, axis, tensor_shape), None


@export("boolean_mask", v1=())
def boolean_mask(
    tensor: ArrayLike, mask: ArrayLike, axis: AxisLike | None = None, name: str | None = "boolean_mask"
) -> Tensor:
    """Returns the elements or slices of `tensor` where `mask` is true.

    Args:
        tensor: A tensor.
        mask: Booleans; their shape is that of the dimensions of `tensor` from `axis` on.
        axis: The first dimension that the mask is about; by default 0.
        name: A name for the op.
    """
    if axis is not None and has_dimensions(axis):
        raise DTypeError(f"The axis of boolean_mask must be a single integer, got {shown(axis)}")
    return _boolean_mask(tensor, mask, 0 if axis is None else axis, name=name)


@export(v1="boolean_mask")
def boolean_mask_v1(
    tensor: ArrayLike, mask: ArrayLike, name: str | None = "boolean_mask", axis: AxisLike | None = None
) -> Tensor:
    """Returns the elements of `tensor` where `mask` is true, with the argument order of TensorFlow 1."""
    return boolean_mask(tensor, mask, axis, name)


# OneHot.

_one_hot = op(
    "OneHot",
    "indices: TI, depth: host, on_value: host, off_value: host -> output: T",
    traits={EACH_VALUE},
    TI=frozenset({uint8, int8, int32, int64}),
    axis=-1,
)


@_one_hot.shape
def _one_hot_shape(
    indices: TensorShape, depth: HostValue, on_value: HostValue, off_value: HostValue, *, axis: int
) -> TensorShape:
    _check_scalars(on_value, off_value)
    size = None if depth is None else _as_depth(depth)
    if indices.rank is None:
        return UNKNOWN
    place = _one_hot_axis(axis, indices.rank)
    return TensorShape([*indices[:place], size, *indices[place:]])


def _check_scalars(on_value: HostValue, off_value: HostValue) -> None:
    for what, each in (("on_value", on_value), ("off_value", off_value)):
        if isinstance(each, tuple):
            raise ArgumentError(f"{what} must be a scalar, but got: {brackets(host_shape(each))}")


def _as_depth(depth: HostValue) -> int:
    if isinstance(depth, tuple):
        raise ArgumentError(f"depth must be a scalar, but got: {brackets(host_shape(depth))}")
    size = as_integer(depth, "The depth of one_hot")
    if size < 0:
        raise ArgumentError(f"depth must be non-negative, got: {size}")
    return size


def _one_hot_axis(axis: int, rank: int) -> int:
    if not -1 <= axis <= rank:
        raise KernelError(f"Expected axis to be -1 or between [0, {rank + 1}).  But received: {axis}")
    return rank if axis == -1 else axis


@_one_hot.kernel(CPU, T=FIXED)
@_one_hot.kernel(GPU, T=FIXED - WIDE_UNSIGNED)
def _one_hot_kernel(
    indices: torch.Tensor,
    depth: Any,
    on_value: Any,
    off_value: Any,
    axis: int,
    T: DType,  # noqa: N803
) -> torch.Tensor:
    _check_scalars(on_value, off_value)
    hot, kind = _is_hot(indices, depth, axis), TORCH_DTYPE[T]
    if on_value == 1 and off_value == 0:
        return hot.to(kind)
    if T in WIDE_UNSIGNED:
        on, off = (np.array(value, T.as_numpy_dtype) for value in (on_value, off_value))
        return torch.from_numpy(np.where(hot.numpy(), on, off))
    return torch.full(hot.shape, off_value, dtype=kind, device=hot.device).masked_fill_(hot, on_value)


def _is_hot(indices: torch.Tensor, depth: HostValue, axis: int) -> torch.Tensor:
    place = _one_hot_axis(axis, indices.ndim)
    classes = torch.arange(_as_depth(depth), device=indices.device)
    return indices.unsqueeze(place) == classes.reshape([-1, *[1] * (indices.ndim - place)])


@_one_hot.kernel(CPU, T=STRING)
def _one_hot_strings(
    indices: torch.Tensor,
    depth: HostValue,
    on_value: HostValue,
    off_value: HostValue,
    axis: int,
    T: DType,  # noqa: N803
) -> np.ndarray[Any, Any]:
    _check_scalars(on_value, off_value)
    on, off = to_array(on_value)[0], to_array(off_value)[0]
    return _select_v2_strings(_is_hot(indices, depth, axis), on, off)


@export("one_hot")
def one_hot(
    indices: ArrayLike,
    depth: IntLike,
    on_value: ArrayLike | None = None,
    off_value: ArrayLike | None = None,
    axis: AxisLike | None = None,
    dtype: DTypeLike | None = None,
    name: str | None = "one_hot",
) -> Tensor:
    """Returns for each index a vector that is `on_value` at that place and `off_value` elsewhere.

    Args:
        indices: Integers; one outside ``[0, depth)`` gives a vector that is `off_value` throughout.
        depth: The length of the vectors.
        on_value: By default 1.
        off_value: By default 0.
        axis: Where the vectors lie in the result; by default they are its last dimension.
        dtype: The dtype of the result; by default that of the values, else float32.
        name: A name for the op.
    """
    on_value, off_value = read(on_value), read(off_value)
    wanted = _one_hot_dtype(on_value, off_value, None if dtype is None else as_dtype(dtype))
    on, off = _scalar(on_value, 1, wanted), _scalar(off_value, 0, wanted)
    place = -1 if axis is None else as_attribute(axis, "The axis of one_hot")
    if isinstance(indices, (list, tuple, np.ndarray)):
        indices = _class_numbers(indices)
    return _one_hot(indices, depth, on, off, axis=place, T=wanted, name=name)


def _class_numbers(indices: ArrayLike) -> Any:
    """Indices that are no tensor yet: int64 where there are none, or where the op has no kernel for such integers."""
    first = indices
    for _ in range(MAX_RANK):  # a list may hold itself
        if not (isinstance(first, (list, tuple)) and first):
            break
        first = first[0]
    if not isinstance(first, (list, tuple, bool, np.ndarray, np.generic)):
        return indices
    array = to_array(indices)[0]
    other = array.dtype.kind in "biu" and array.dtype not in (np.uint8, np.int8, np.int32, np.int64)
    return array.astype(np.int64) if other or (not array.size and array.dtype.kind != "i") else indices


def _one_hot_dtype(on_value: Any, off_value: Any, dtype: DType | None) -> DType:
    """The dtype of the result: what the caller asks for and what the values have, which must agree."""
    wanted, asked = dtype, "dtype parameter"
    for what, value in (("on_value", on_value), ("off_value", off_value)):
        if value is None:
            continue
        found = _dtype_hinted(value, dtype)
        if wanted is not None and found is not wanted:
            raise DTypeError(f"dtype {wanted.name} of {asked} does not match dtype {found.name} of {what}")
        wanted, asked = found, what
    return wanted or float32


def _dtype_hinted(value: object, hint: DType | None) -> DType:
    """The dtype of a value; a Python number has the one that is hinted at, where it fits there."""
    if isinstance(value, Tensor):
        return value.dtype
    if hint is not None and type(value) in (bool, int, float, complex):
        with suppress(InvalidArgumentError, DTypeError):
            return to_array(value, hint)[1]
    return to_array(value)[1]


def _scalar(value: object, default: int, dtype: DType) -> int | Tensor | np.ndarray[Any, Any]:
    """A value to fill with, which must fit the dtype; one that is known only later stays a tensor."""
    if value is None and dtype in NUMERIC:
        return default
    return value if isinstance(value, Tensor) else to_array(default if value is None else value, dtype)[0]
