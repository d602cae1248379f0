"""Products of matrices and vectors.

A matrix is the last two dimensions of a tensor; the dimensions before them make it a batch. Solving and decomposing are
in `ops.decompose`, norms in `ops.norms`, diagonals in `ops.diagonal`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import COMPLEX, FLOATING, REAL, SIGNED, WIDE_UNSIGNED, as_dtype
from situs._src.base.errors import ArgumentError, InvalidArgumentError
from situs._src.base.export import export
from situs._src.base.shapes import UNKNOWN, TensorShape, brackets, broadcast
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike, DTypeLike, SizesOf
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.traits import FRESH, MATRIX_LIBRARY, PRODUCT
from situs._src.ops import quick_products
from situs._src.ops.array import expand_dims, matrix_transpose, reshape, squeeze
from situs._src.ops.array import shape as sizes_op
from situs._src.ops.attribute import as_bool
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.define import CPU, GPU, of_sizes, op
from situs._src.ops.join import stack
from situs._src.ops.math import conjugated
from situs._src.ops.naming import Composed
from situs._src.ops.reduce import reduce_prod
from situs._src.ops.sum_to import sum_to
from situs._src.runtime import dispatch
from situs._src.runtime.eager.own_operators import declare
from situs._src.runtime.eager.torch_private import onednn

# MatMul: one op for matrices and for batches of them.

_matmul = op(
    "MatMul",
    "a: T, b: T -> product: T",
    traits={FRESH, MATRIX_LIBRARY, PRODUCT},
    T=FLOATING | COMPLEX | SIGNED,
    transpose_a=False,
    transpose_b=False,
    adjoint_a=False,
    adjoint_b=False,
)


_matmul.hints_dtype = True


@_matmul.work
def _multiplications(node: Operation) -> int | None:
    turned = node.attrs["transpose_a"] or node.attrs["adjoint_a"]
    count, inner = node.outputs[0].shape.num_elements(), node.inputs[0].shape[-2 if turned else -1]
    return None if count is None or inner is None else count * inner


@_matmul.shape
def _matmul_shape(
    a: TensorShape, b: TensorShape, *, transpose_a: bool, transpose_b: bool, adjoint_a: bool, adjoint_b: bool
) -> TensorShape:
    for number, shape in enumerate((a, b)):
        if shape.rank is not None and shape.rank < 2:
            raise ArgumentError(
                f"In[{number}] ndims must be >= 2: In[0]: {brackets(a)}, In[1]: {brackets(b)}. "
                "tf.linalg.matvec multiplies a matrix by a vector."
            )
    if a.rank is None or b.rank is None:
        return UNKNOWN
    rows, inner_a = (a[-1], a[-2]) if transpose_a or adjoint_a else (a[-2], a[-1])
    inner_b, columns = (b[-1], b[-2]) if transpose_b or adjoint_b else (b[-2], b[-1])
    if inner_a is not None and inner_b is not None and inner_a != inner_b:
        flags = {"transpose_a": transpose_a, "transpose_b": transpose_b, "adjoint_a": adjoint_a, "adjoint_b": adjoint_b}
        raise ArgumentError(
            f"Matrix size-incompatible: In[0]: {brackets(a)}, In[1]: {brackets(b)}"
            + "".join(f", {name}=True" for name, is_set in flags.items() if is_set)
        )
    return batch_shape(a, b).concatenate([rows, columns])


def batch_shape(a: TensorShape, b: TensorShape) -> TensorShape:
    """The shape of a batch of results, from the shapes of two batches of matrices."""
    try:
        return broadcast(a[:-2], b[:-2])
    except InvalidArgumentError:
        raise ArgumentError(
            f"In[0] and In[1] must have compatible batch dimensions: {brackets(a)} vs. {brackets(b)}"
        ) from None


# Two small matrices take PyTorch 1.3 us, so what stands before `mm` counts: finding it in its module
# takes 0.08 us, and each look at a rank 0.07 us. `b` is not looked at: `mm` itself refuses what is no
# matrix. Refusing takes 13 us, but a matrix times a batch is rare; a batch on the left pays nothing.
_mm = torch.mm


# Multiplications: from here on oneDNN is quicker than MKL, on any host (512 x 512 on two cores: 1.28 ms against 1.40).
_LARGE = quick_products.LARGE_IN_GRAPHS if quick_products.IS_NEEDED else 2**24
_SMALL = 2**14  # elements of a matrix by which hardly any number of rows is a large product
# Columns: MKL is slow where a tall result has fewer (1024 x 10: 0.36 ms), and quicker for its transpose (0.07 ms).
_NARROW = 16
_TALL = 64


def _product_on_cpu(a: Tensor, b: Tensor, **flags: bool) -> Any:
    """In a graph: oneDNN for large products of float32, `mm` for the other products of two matrices."""
    plain = _product_of_two(a, b, **flags)
    if plain is None or a.dtype is not dt.float32:
        return plain
    turn_a, turn_b = _turns(**flags)
    rows, inner = a.shape[::-1] if turn_a else a.shape
    columns = b.shape[0 if turn_b else 1]
    if rows is not None and columns is not None and columns < _NARROW and rows >= _TALL:
        return _narrow_product(turn_a, turn_b)
    linear = onednn("linear_pointwise")
    if linear is None:
        return plain
    if rows is None or not inner or not columns:
        is_small = inner is not None and columns is not None and inner * columns < _SMALL
        return plain if is_small or not quick_products.IS_NEEDED else _product_of_any_size(plain, turn_a, turn_b)
    if rows * inner * columns < _LARGE:
        return plain
    is_constant = isinstance(b, SymbolicTensor) and b.op.type == "Const"
    if is_constant and plain is _mm:
        return _product_with_constant(linear, rows)
    return _large_product(linear, turn_a, turn_b)


def _product_of_two(a: Tensor, b: Tensor, **flags: bool) -> Any:
    """In a graph where both are known to be matrices: `mm`."""
    if a.shape.rank != 2 or b.shape.rank != 2 or (a.dtype.is_complex and any(flags.values())):
        return None
    turn_a, turn_b = _turns(**flags)
    if turn_a:
        return (lambda a, b: _mm(a.t(), b.t())) if turn_b else (lambda a, b: _mm(a.t(), b))
    return (lambda a, b: _mm(a, b.t())) if turn_b else _mm


def _turns(transpose_a: bool, transpose_b: bool, adjoint_a: bool, adjoint_b: bool) -> tuple[bool, bool]:
    return transpose_a or adjoint_a, transpose_b or adjoint_b


def _narrow_product(turn_a: bool, turn_b: bool) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """A product with few columns, computed on its side."""

    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return _mm(b if turn_b else b.t(), a if turn_a else a.t()).t().contiguous()

    return product


def _large_product(linear: Any, turn_a: bool, turn_b: bool) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """A large product, by oneDNN."""

    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        a, b = a.t() if turn_a else a, b if turn_b else b.t()
        made: torch.Tensor = linear(a, quick_products.dense(b), None, "none", [], "")
        return made

    product.when_compiled = _for_compiler(turn_a, turn_b)  # type: ignore[attr-defined]
    return product


def _product_of_any_size(plain: Any, turn_a: bool, turn_b: bool) -> quick_products.Product:
    """A product whose size is known when it runs."""

    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return quick_products.product(a.t() if turn_a else a, b.t() if turn_b else b)

    product.when_compiled = plain  # type: ignore[attr-defined]
    return product


def _by_onednn(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    linear: Any = onednn("linear_pointwise")
    made: torch.Tensor = linear(a, quick_products.dense(b), None, "none", [], "")
    return made


def _like_product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.new_empty(a.shape[0], b.shape[0])


_PRODUCT = declare("product(Tensor a, Tensor b) -> Tensor", _by_onednn, _like_product)


def _for_compiler(turn_a: bool, turn_b: bool) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """A large product as PyTorch's compiler takes it: its own form of this one is for constant weights alone."""

    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return _PRODUCT(a.t() if turn_a else a, b if turn_b else b.t())

    return product


def _product_with_constant(linear: Any, rows: int) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """A large product with a constant, which is laid out for oneDNN once (512 x 512: 1.22 ms)."""
    laid_out: tuple[Any, Any] = None, None
    lay_out: Any = onednn("reorder_linear_weight")

    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        nonlocal laid_out
        of, weight = laid_out
        if of is not b:
            weight = lay_out(b.t().contiguous(), rows)
            laid_out = b, weight
        made: torch.Tensor = linear(a, weight, None, "none", [], "")
        return made

    product.when_compiled = _for_compiler(False, False)  # type: ignore[attr-defined]
    return product


@_matmul.kernel(CPU, lower=_product_on_cpu, settled=True)
@_matmul.kernel(GPU, T=FLOATING | COMPLEX, lower=_product_of_two, settled=True)
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
    if quick_products.IS_NEEDED and a.numel() >= quick_products.SMALLEST and quick_products.is_large(a, b):
        return quick_products.by_onednn(a, b)
    if a.ndim == 2:
        try:
            return _mm(a, b)
        except RuntimeError:
            if b.ndim == 2:
                raise
    if a.ndim < 2 or b.ndim < 2:
        raise ValueError("matmul takes matrices")  # the shape rule says it better
    return torch.matmul(a, b)


def _add_product(
    whole: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    transpose_a: bool,
    transpose_b: bool,
    adjoint_a: bool,
    adjoint_b: bool,
) -> None:
    """Adds a product to a sum: as it is computed, where both are matrices."""
    if a.ndim == b.ndim == whole.ndim == 2 and not a.is_complex():
        turn_a, turn_b = _turns(transpose_a, transpose_b, adjoint_a, adjoint_b)
        quick_products.add_product(whole, a.t() if turn_a else a, b.t() if turn_b else b)
    else:
        whole.add_(_matmul_kernel(a, b, transpose_a, transpose_b, adjoint_a, adjoint_b))


_matmul_kernel.adds_into = _add_product  # type: ignore[attr-defined]


def _turned(x: torch.Tensor, adjoint: bool) -> torch.Tensor:
    if x.ndim < 2:
        raise ValueError("matmul takes matrices")  # the shape rule says it better
    return x.mH if adjoint else x.mT


@_matmul.gradient
def _matmul_gradient(
    grad: Tensor,
    a: Tensor,
    b: Tensor,
    a_shape: SizesOf,
    b_shape: SizesOf,
    *,
    transpose_a: bool,
    transpose_b: bool,
    adjoint_a: bool,
    adjoint_b: bool,
) -> tuple[Any, Any]:
    turn_a, turn_b = _turns(transpose_a, transpose_b, adjoint_a, adjoint_b)
    matrices = a.shape.rank == b.shape.rank == 2

    def of_a() -> Tensor:
        other = b if adjoint_b else conjugated(b)
        if turn_a:
            made = matmul(other, grad, transpose_a=turn_b, transpose_b=True)
        else:
            made = matmul(grad, other, transpose_b=not turn_b)
        made = made if matrices else sum_to(made, a_shape)
        return conjugated(made) if adjoint_a else made

    def of_b() -> Tensor:
        other, given = a if adjoint_a else conjugated(a), grad
        if b.shape.rank == 2 and a.shape.rank not in (None, 2) and not turn_a:
            # One matrix for a whole batch: a single product, not one for each of the batch and then their sum.
            other, given = _rows_of(other), _rows_of(given)
        if turn_b:
            made = matmul(given, other, transpose_a=True, transpose_b=turn_a)
        else:
            made = matmul(other, given, transpose_a=not turn_a)
        made = made if made.shape.rank == 2 else sum_to(made, b_shape)
        return conjugated(made) if adjoint_b else made

    return of_a, of_b


def _rows_of(x: Tensor) -> Tensor:
    """A batch of matrices as one matrix of all their rows."""
    width, count = x.shape[-1], x.shape.num_elements()
    if width and count is not None:
        return reshape(x, [count // width, width])
    sizes = sizes_op(x)
    return reshape(x, stack([reduce_prod(sizes[:-1]), sizes[-1]]))


_matmul_as_they_are = dispatch.binary(_matmul)


@export("matmul", "linalg.matmul")
def matmul(
    a: ArrayLike,
    b: ArrayLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: DTypeLike | None = None,
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
    as_they_are = transpose_a is False and transpose_b is False and adjoint_a is False and adjoint_b is False
    if as_they_are and output_type is None:
        return _matmul_as_they_are(a, b, name)
    flags = {"transpose_a": transpose_a, "transpose_b": transpose_b, "adjoint_a": adjoint_a, "adjoint_b": adjoint_b}
    flags = {flag: as_bool(value, flag) for flag, value in flags.items()}
    _refuse_both("a", flags["transpose_a"], flags["adjoint_a"])
    _refuse_both("b", flags["transpose_b"], flags["adjoint_b"])
    if output_type is not None:
        a, b = cast(a, as_dtype(output_type)), cast(b, as_dtype(output_type))
    return _matmul(a, b, name=name, **flags)


def _refuse_both(which: str, transposed: bool, adjoint: bool) -> None:
    if transposed and adjoint:
        raise ArgumentError(
            f"Only one of `transpose_{which}` and `adjoint_{which}` can be True. "
            f"Received `transpose_{which}`={transposed}, `adjoint_{which}`={adjoint}."
        )


@export("linalg.matvec")
def matvec(
    a: ArrayLike,
    b: ArrayLike,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Multiplies matrix `a` by vector `b`, or batches of them; the arguments are those of `matmul`."""
    b = convert_to_tensor(b)
    if b.shape.rank == 0:
        raise ArgumentError("In[1] ndims must be >= 1: matvec multiplies by a vector, got a scalar.")
    with Composed(name, "MatVec", "Squeeze") as last:
        product = matmul(a, expand_dims(b, -1), transpose_a=transpose_a, adjoint_a=adjoint_a)
        return squeeze(product, [-1], last)


@export("linalg.adjoint")
def adjoint(matrix: ArrayLike, name: str | None = "adjoint") -> Tensor:
    """Transposes the last two dimensions and conjugates the elements."""
    return matrix_transpose(matrix, name, conjugate=True)


# Cross products.

_cross = op("Cross", "a: T, b: T -> product: T", T=REAL)


@_cross.shape
def _cross_shape(a: TensorShape, b: TensorShape) -> TensorShape:
    if not a.is_compatible_with(b):
        raise ArgumentError(f"Both inputs must be of same shape: {brackets(a)} vs. {brackets(b)}")
    merged = a.merge_with(b)
    if merged.rank == 0 or (merged.rank is not None and merged[-1] not in (None, 3)):
        raise ArgumentError(f"Cross-products are only defined for 3-element vectors, got {brackets(merged)}.")
    return merged


_cross_sizes = of_sizes(_cross_shape)


@_cross.kernel(CPU, GPU, T=REAL - WIDE_UNSIGNED)
def _cross_kernel(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    _cross_sizes(a.shape, b.shape)
    product: torch.Tensor = torch.linalg.cross(a, b, dim=-1)
    return product


@_cross.kernel(CPU, T=WIDE_UNSIGNED)
def _cross_wide(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    _cross_sizes(a.shape, b.shape)
    return torch.from_numpy(np.cross(a.numpy(), b.numpy()))


@_cross.gradient
def _cross_gradient(grad: Tensor, a: Tensor, b: Tensor) -> tuple[Any, Any]:
    return lambda: cross(b, grad), lambda: cross(grad, a)


@export("linalg.cross", v1=("cross", "linalg.cross"))
def cross(a: ArrayLike, b: ArrayLike, name: str | None = None) -> Tensor:
    """Computes the cross products of vectors of three elements, which are the last dimension."""
    return _cross(a, b, name=name)
