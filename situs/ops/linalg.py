"""Products of matrices and vectors.

A matrix is the last two dimensions of a tensor; the dimensions before them make it a batch. Solving
and decomposing stand in `situs.ops.decompose`, norms in `situs.ops.norms`, diagonals in
`situs.ops.diagonal`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from situs import dispatch
from situs import dtype as dt
from situs.dtype import COMPLEX, FLOATING, REAL, SIGNED, WIDE_UNSIGNED, as_dtype
from situs.errors import InvalidArgumentError
from situs.graph.tensor import SymbolicTensor
from situs.ops.array import expand_dims, matrix_transpose, squeeze
from situs.ops.attribute import as_bool
from situs.ops.cast import cast
from situs.ops.constant import convert_to_tensor
from situs.ops.define import CPU, GPU, op
from situs.ops.naming import Composed
from situs.shapes import UNKNOWN, TensorShape, brackets, broadcast
from situs.tensor import Tensor

# MatMul: one op for matrices and for batches of them.

_matmul = op(
    "MatMul",
    "a: T, b: T -> product: T",
    T=FLOATING | COMPLEX | SIGNED,
    transpose_a=False,
    transpose_b=False,
    adjoint_a=False,
    adjoint_b=False,
)


@_matmul.shape
def _matmul_shape(
    a: TensorShape, b: TensorShape, *, transpose_a: bool, transpose_b: bool, adjoint_a: bool, adjoint_b: bool
) -> TensorShape:
    for number, shape in enumerate((a, b)):
        if shape.rank is not None and shape.rank < 2:
            raise InvalidArgumentError(
                f"In[{number}] ndims must be >= 2: In[0]: {brackets(a)}, In[1]: {brackets(b)}. "
                "tf.linalg.matvec multiplies a matrix by a vector."
            )
    if a.rank is None or b.rank is None:
        return UNKNOWN
    rows, inner_a = (a[-1], a[-2]) if transpose_a or adjoint_a else (a[-2], a[-1])
    inner_b, columns = (b[-1], b[-2]) if transpose_b or adjoint_b else (b[-2], b[-1])
    if inner_a is not None and inner_b is not None and inner_a != inner_b:
        flags = {"transpose_a": transpose_a, "transpose_b": transpose_b, "adjoint_a": adjoint_a, "adjoint_b": adjoint_b}
        raise InvalidArgumentError(
            f"Matrix size-incompatible: In[0]: {brackets(a)}, In[1]: {brackets(b)}"
            + "".join(f", {name}=True" for name, is_set in flags.items() if is_set)
        )
    return batch_shape(a, b).concatenate([rows, columns])


def batch_shape(a: TensorShape, b: TensorShape) -> TensorShape:
    """The shape of a batch of results, from the shapes of two batches of matrices."""
    try:
        return broadcast(a[:-2], b[:-2])
    except InvalidArgumentError:
        raise InvalidArgumentError(
            f"In[0] and In[1] must have compatible batch dimensions: {brackets(a)} vs. {brackets(b)}"
        ) from None


# Two small matrices take PyTorch 1.3 us, so what stands before `mm` counts: finding it in its module
# takes 0.08 us, and each look at a rank 0.07 us. `b` is not looked at: `mm` itself refuses what is no
# matrix. Refusing takes 13 us, but a matrix times a batch is rare; a batch on the left pays nothing.
_mm = torch.mm


# Multiplications: from here on oneDNN is quicker than MKL (512 x 512 on two cores: 1.28 ms against 1.40).
_LARGE = 2**24


def _product_on_cpu(a: Tensor, b: Tensor, **flags: bool) -> Any:
    """In a graph: oneDNN for large products of float32, `mm` for other plain ones."""
    rows, columns = a.shape.num_elements(), b.shape.num_elements()
    plain = _plain_product(a, b, **flags)
    if plain is None or a.dtype is not dt.float32 or not rows or not columns or not _has_onednn():
        return plain
    if rows * columns // (b.shape[0] or 1) < _LARGE:
        return plain
    is_constant = isinstance(b, SymbolicTensor) and b.op.type == "Const"
    return _onednn_product(a.shape[0] or 0) if is_constant else _turned_product


def _has_onednn() -> bool:
    available: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return available and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def _turned_product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    made: torch.Tensor = torch.ops.mkldnn._linear_pointwise(a, b.t(), None, "none", [], "")
    return made


def _onednn_product(rows: int) -> Any:
    """A product with a constant, which is laid out for oneDNN once (512 x 512: 1.22 ms)."""
    laid_out: tuple[Any, Any] = None, None

    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        nonlocal laid_out
        of, weight = laid_out
        if of is not b:
            weight = torch.ops.mkldnn._reorder_linear_weight(b.t().contiguous(), rows)
            laid_out = b, weight
        made: torch.Tensor = torch.ops.mkldnn._linear_pointwise(a, weight, None, "none", [], "")
        return made

    return product


def _plain_product(a: Tensor, b: Tensor, **flags: bool) -> Any:
    """In a graph where both are known to be matrices, and neither is to be turned: `mm` itself."""
    return _mm if a.shape.rank == b.shape.rank == 2 and not any(flags.values()) else None


@_matmul.kernel(CPU, lower=_product_on_cpu)
@_matmul.kernel(GPU, T=FLOATING | COMPLEX, lower=_plain_product)
def _matmul_kernel(
    a: torch.Tensor,
    b: torch.Tensor,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
) -> torch.Tensor:
    if transpose_a or adjoint_a:
        a = _turned(a, adjoint_a)
    if transpose_b or adjoint_b:
        b = _turned(b, adjoint_b)
    if a.ndim == 2:
        try:
            return _mm(a, b)
        except RuntimeError:
            if b.ndim == 2:
                raise
    return _batched(a, b)


def _turned(x: torch.Tensor, adjoint: bool) -> torch.Tensor:
    if x.ndim < 2:
        raise ValueError("matmul takes matrices")  # the shape rule says it better
    return x.mH if adjoint else x.mT


def _batched(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    if a.ndim < 2 or b.ndim < 2:
        raise ValueError("matmul takes matrices")  # the shape rule says it better
    return torch.matmul(a, b)


_matmul_as_they_are = dispatch.binary(_matmul)


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """Multiplies matrix `a` by matrix `b`, or batches of them whose leading dimensions broadcast.

    Args:
        a: A tensor of rank at least 2.
        b: A tensor of the same dtype and rank at least 2.
        transpose_a: Whether to transpose the last two dimensions of `a` first.
        transpose_b: The same for `b`.
        adjoint_a: Whether to conjugate and transpose `a` first.
        adjoint_b: The same for `b`.
        a_is_sparse: Whether `a` has many zeros; makes no difference here.
        b_is_sparse: The same for `b`.
        output_type: The dtype to compute and return, for instance int32 for int8 matrices.
        grad_a: Whether `a` is a gradient; makes no difference here.
        grad_b: The same for `b`.
        name: A name for the op.

    Raises:
        ValueError: the sizes do not match, or a matrix is to be both transposed and adjoint.
    """
    if not (transpose_a is transpose_b is adjoint_a is adjoint_b is False and output_type is None):
        flags = {"transpose_a": transpose_a, "transpose_b": transpose_b, "adjoint_a": adjoint_a, "adjoint_b": adjoint_b}
        flags = {flag: as_bool(value, flag) for flag, value in flags.items()}
        _refuse_both("a", flags["transpose_a"], flags["adjoint_a"])
        _refuse_both("b", flags["transpose_b"], flags["adjoint_b"])
        if output_type is not None:
            a, b = cast(a, as_dtype(output_type)), cast(b, as_dtype(output_type))
        return _matmul(a, b, name=name, **flags)
    return _matmul_as_they_are(a, b, name)


def _refuse_both(which: str, transposed: bool, adjoint: bool) -> None:
    if transposed and adjoint:
        raise InvalidArgumentError(
            f"Only one of `transpose_{which}` and `adjoint_{which}` can be True. "
            f"Received `transpose_{which}`={transposed}, `adjoint_{which}`={adjoint}."
        )


def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Multiplies matrix `a` by vector `b`, or batches of them; the arguments are those of `matmul`."""
    b = convert_to_tensor(b)
    if b.shape.rank == 0:
        raise InvalidArgumentError("In[1] ndims must be >= 1: matvec multiplies by a vector, got a scalar.")
    with Composed(name, "MatVec", "Squeeze") as last:
        product = matmul(a, expand_dims(b, -1), transpose_a=transpose_a, adjoint_a=adjoint_a)
        return squeeze(product, [-1], last)


def adjoint(matrix: Any, name: str | None = "adjoint") -> Tensor:
    """Transposes the last two dimensions and conjugates the elements."""
    return matrix_transpose(matrix, name, conjugate=True)


# Cross products.

_cross = op("Cross", "a: T, b: T -> product: T", T=REAL)


@_cross.shape
def _cross_shape(a: TensorShape, b: TensorShape) -> TensorShape:
    if not a.is_compatible_with(b):
        raise InvalidArgumentError(f"Both inputs must be of same shape: {brackets(a)} vs. {brackets(b)}")
    merged = a.merge_with(b)
    if merged.rank == 0 or (merged.rank is not None and merged[-1] not in (None, 3)):
        raise InvalidArgumentError(f"Cross-products are only defined for 3-element vectors, got {brackets(merged)}.")
    return merged


@_cross.kernel(CPU, GPU, T=REAL - WIDE_UNSIGNED)
def _cross_kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    _cross_shape(TensorShape(a.shape), TensorShape(b.shape))
    product: torch.Tensor = torch.linalg.cross(a, b, dim=-1)
    return product


@_cross.kernel(CPU, T=WIDE_UNSIGNED)
def _cross_wide(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    _cross_shape(TensorShape(a.shape), TensorShape(b.shape))
    return torch.from_numpy(np.cross(a.numpy(), b.numpy()))


def cross(a: Any, b: Any, name: str | None = None) -> Tensor:
    """Computes the cross products of vectors of three elements, which are the last dimension."""
    return _cross(a, b, name=name)
