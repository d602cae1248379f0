"""Contractions: products of tensors, summed over dimensions that they share.

An einsum equation names the dimensions of each operand with letters, and those of the result:

    einsum("ij,jk->ik", a, b)           the product of two matrices: j is summed over
    einsum("...ij->...ji", a)           matrices transposed, whatever stands before them
    einsum("i,j->ij", u, v)             an outer product
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import torch

from situs._src.base.dtype import COMPLEX, FLOATING, INDEX, int32
from situs._src.base.errors import ArgumentError, DTypeError
from situs._src.base.export import export
from situs._src.base.shapes import SCALAR, UNKNOWN, Dim, TensorShape, brackets, broadcast
from situs._src.base.tensor import Tensor
from situs._src.base.typing import ArrayLike
from situs._src.ir.graph.node import Operation
from situs._src.ir.registry.traits import MATRIX_LIBRARY
from situs._src.ops import quick_products
from situs._src.ops.array import as_integers, rank, reshape, transpose
from situs._src.ops.array import shape as sizes_op
from situs._src.ops.attribute import is_plain, plain
from situs._src.ops.cast import cast
from situs._src.ops.compare import less
from situs._src.ops.constant import convert_to_tensor, ones
from situs._src.ops.constant import range as range_
from situs._src.ops.define import CPU, GPU, op
from situs._src.ops.diagonal import eye
from situs._src.ops.gather import gather, where
from situs._src.ops.join import concat, stack
from situs._src.ops.linalg import matmul
from situs._src.ops.math import add, conjugated, subtract
from situs._src.ops.naming import Composed
from situs._src.ops.reduce import reduce_prod
from situs._src.ops.search import setdiff1d
from situs._src.ops.sum_to import sum_to

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
ELLIPSIS = "..."


# Equations.


class Equation(NamedTuple):
    """An equation with its result spelled out; ``"..."`` stands for any number of dimensions."""

    operands: tuple[str, ...]
    result: str

    def __str__(self) -> str:
        return f"{','.join(self.operands)}->{self.result}"


@functools.lru_cache(maxsize=1024)
def parse_equation(text: str) -> Equation:
    """Reads an einsum equation.

    Raises:
        InvalidArgumentError: it is not one.
    """
    left, arrow, right = text.replace(" ", "").partition("->")
    operands = tuple(left.split(","))
    for term in (*operands, right):
        _check_term(term, text)
    broadcasts = any(ELLIPSIS in term for term in operands)
    letters = Counter("".join(operands).replace(".", ""))
    if not arrow:
        right = (ELLIPSIS if broadcasts else "") + "".join(sorted(c for c, times in letters.items() if times == 1))
    _check_result(right, letters, text)
    return Equation(operands, right if broadcasts else right.replace(ELLIPSIS, ""))


def _check_term(term: str, text: str) -> None:
    letters = term.replace(ELLIPSIS, "", 1)
    if any(c not in LETTERS for c in letters):
        raise ArgumentError(
            f"Subscripts have incorrect format: {text!r}. An equation consists of letters and '...', separated by ',', "
            "and at most one '->': 'ij,jk->ik'."
        )


def _check_result(result: str, letters: Counter[str], text: str) -> None:
    for letter, times in Counter(result.replace(ELLIPSIS, "")).items():
        if times > 1:
            raise ArgumentError(f"Output subscripts contain the label {letter} more than once: {text!r}")
        if letter not in letters:
            raise ArgumentError(
                f"Output subscripts contain the label {letter} not present in the input subscripts: {text!r}"
            )


def _equation_for(count: int, text: str) -> Equation:
    """Reads an einsum equation that must be one of `count` operands."""
    parsed = parse_equation(text)
    if count != len(parsed.operands):
        raise ArgumentError(f'Got {count} inputs for equation "{text}", expecting {len(parsed.operands)}')
    return parsed


# Einsum.

_einsum = op("Einsum", "inputs: T* -> output: T", traits={MATRIX_LIBRARY}, T=FLOATING | COMPLEX | INDEX, equation="")


@_einsum.shape
def _einsum_shape(inputs: Sequence[TensorShape], *, equation: str) -> TensorShape:
    parsed = _equation_for(len(inputs), equation)
    sizes: dict[str, Dim] = {}
    shared = SCALAR
    for number, (term, shape) in enumerate(zip(parsed.operands, inputs, strict=True)):
        if shape.rank is None:
            shared = UNKNOWN if ELLIPSIS in term else shared
            continue
        shared = broadcast(shared, _bind_letters(number, term, shape, sizes))
    return _result_shape(parsed.result, sizes, shared)


def _bind_letters(number: int, term: str, shape: TensorShape, sizes: dict[str, Dim]) -> TensorShape:
    """Notes the sizes of an operand's letters; returns what its ellipsis stands for."""
    before, ellipsis, after = term.partition(ELLIPSIS)
    rank, letters = len(shape), before + after
    if rank < len(letters) or (rank > len(letters) and not ellipsis):
        least = "at least " if ellipsis else ""
        raise ArgumentError(f"Expected input {number} to have rank {least}{len(letters)} but got: {rank}")
    axes = [*range(len(before)), *range(rank - len(after), rank)]
    for axis, letter in zip(axes, letters, strict=True):
        known, size = sizes.get(letter), shape[axis]
        if known is not None and size is not None and known != size:
            raise ArgumentError(
                f"Expected dimension {known} at axis {axis} of the input shaped {brackets(shape)} but got dimension "
                f"{size}: label {letter!r} must mean the same size everywhere."
            )
        sizes[letter] = size if known is None else known
    return shape[len(before) : rank - len(after)]


def _result_shape(result: str, sizes: dict[str, Dim], shared: TensorShape) -> TensorShape:
    before, ellipsis, after = result.partition(ELLIPSIS)
    if shared.rank and not ellipsis:
        raise ArgumentError(
            f"Output contains {shared.rank} broadcasting dimension(s) but no ellipsis (...) was found in the output "
            "subscripts."
        )
    return (
        TensorShape(sizes.get(c) for c in before)
        + (shared if ellipsis else SCALAR)
        + TensorShape(sizes.get(c) for c in after)
    )


@_einsum.work
def _multiplications(node: Operation) -> int | None:
    """Operands are multiplied from left to right; what neither the rest nor the result names is summed on the way."""
    if not all(tensor.shape.is_fully_defined() for tensor in node.inputs):
        return None
    parsed = parse_equation(node.attrs["equation"])
    sizes: dict[str, Dim] = {}
    shared = SCALAR
    for number, (term, tensor) in enumerate(zip(parsed.operands, node.inputs, strict=True)):
        shared = broadcast(shared, _bind_letters(number, term, tensor.shape, sizes))
    rest = shared.num_elements() or 0  # what the ellipsis stands for
    terms = [set(term.replace(ELLIPSIS, "")) for term in (*parsed.operands, parsed.result)]
    held, count = terms[0], 0
    for i, other in enumerate(terms[1:-1] or [set[str]()], 1):
        together = held | other
        count += rest * prod(sizes[letter] or 0 for letter in together)
        held = together & set[str]().union(*terms[i + 1 :])
    return count


@functools.lru_cache(maxsize=1024)
def _check_sizes(equation: str, shapes: tuple[torch.Size, ...]) -> None:
    _einsum_shape([TensorShape(shape) for shape in shapes], equation=equation)


@_einsum.kernel(CPU)
@_einsum.kernel(GPU, T=FLOATING | COMPLEX)
def _einsum_kernel(inputs: list[torch.Tensor], equation: str) -> torch.Tensor:
    # PyTorch takes a size of 1 for any size, and sums over an ellipsis that the result leaves out.
    _check_sizes(equation, tuple(x.shape for x in inputs))
    if quick_products.IS_NEEDED and len(inputs) == 2:
        product = _large_product(equation, *inputs)
        if product is not None:
            return product
    made: torch.Tensor = torch.einsum(str(parse_equation(equation)), *inputs)
    return made.to(inputs[0].dtype)  # where it only sums, PyTorch gives int64 for every integer dtype


def _large_product(equation: str, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor | None:
    """A contraction that is one product of two matrices, by oneDNN; None if it is another, or a small one."""
    orders = _orders_of_product(equation)
    if orders is None or min(x.numel(), y.numel()) < quick_products.SMALLEST:
        return None
    of_x, of_y, of_result, shared = orders
    a, b = x.permute(of_x), y.permute(of_y)
    rows, columns = a.shape[: a.ndim - shared], b.shape[shared:]
    a, b = a.reshape(rows.numel(), -1), b.reshape(-1, columns.numel())
    if not quick_products.is_large(a, b):
        return None
    return quick_products.by_onednn(a, b).view(*rows, *columns).permute(of_result)


@functools.lru_cache(maxsize=1024)
def _orders_of_product(text: str) -> tuple[list[int], list[int], list[int], int] | None:
    """How the operands of an equation are turned so that their product is one of matrices; None if it is not.

    Returns:
        The order of dimensions of the first operand, those that are shared last; of the second one, those first; of the
        result, out of what the first has alone and what the second has; the number of shared dimensions.
    """
    equation = parse_equation(text)
    first, second = equation.operands
    shared = [c for c in first if c in second]
    alone = [c for c in first + second if c not in shared]
    if ELLIPSIS in text or len(set(first)) < len(first) or len(set(second)) < len(second) or not shared:
        return None
    if set(equation.result) != set(alone):
        return None  # a batch of products, or a sum
    of_first = [first.index(c) for c in (*(c for c in first if c not in shared), *shared)]
    of_second = [second.index(c) for c in (*shared, *(c for c in second if c not in shared))]
    return of_first, of_second, [alone.index(c) for c in equation.result], len(shared)


@_einsum.gradient
def _einsum_gradient(grad: Tensor, inputs: list[Tensor], inputs_shape: list[Any], *, equation: str) -> list[Any]:
    parsed = parse_equation(equation)
    return [functools.partial(_operand_gradient, grad, parsed, n, inputs, inputs_shape[n]) for n in range(len(inputs))]


def _operand_gradient(grad: Tensor, equation: Equation, number: int, inputs: list[Tensor], sizes: Any) -> Tensor:
    """The gradient of one operand: a contraction of that of the result with the other operands.

    A letter that stands nowhere else was summed over, and is spread again by a vector of ones; a letter that stands
    there twice took a diagonal, which an identity puts back.
    """
    before, ellipsis, after = equation.operands[number].partition(ELLIPSIS)
    letters, places = before + after, [*range(len(before)), *range(-len(after), 0)]
    terms = [equation.result, *(term for n, term in enumerate(equation.operands) if n != number)]
    others = [grad, *(conjugated(x) for n, x in enumerate(inputs) if n != number)]
    elsewhere, unused = "".join(terms), iter(c for c in LETTERS if c not in str(equation))
    wanted = ""
    for letter, place in zip(letters, places, strict=True):
        if letter in wanted:
            twin = next(unused)
            terms, others = [*terms, letter + twin], [*others, eye(sizes[place], dtype=grad.dtype)]
            letter = twin
        elif letter not in elsewhere:
            terms, others = [*terms, letter], [*others, ones([sizes[place]], grad.dtype)]
        wanted += letter
    if ELLIPSIS not in equation.result:
        return einsum(f"{','.join(terms)}->{wanted}", *others)
    made = einsum(f"{','.join(terms)}->{ELLIPSIS}{wanted}", *others)
    made = sum_to(made, _ellipsis_first(sizes, len(before), len(after)))
    if not ellipsis or not before:
        return made
    return einsum(f"{ELLIPSIS}{wanted}->{wanted[: len(before)]}{ELLIPSIS}{wanted[len(before) :]}", made)


def _ellipsis_first(sizes: Any, before: int, after: int) -> Tensor | tuple[Any, ...]:
    """The sizes of an operand, those that its ellipsis stands for before those of its letters."""
    end = -after or None
    parts = [sizes[before:end], sizes[:before], sizes[end:] if end else ()]
    if isinstance(sizes, tuple):
        return (*parts[0], *parts[1], *parts[2])
    return concat(parts if end else parts[:2], 0)


@export("einsum", "linalg.einsum")
def einsum(equation: str, *inputs: Any, optimize: Any = "greedy", name: str | None = None) -> Tensor:
    """Multiplies tensors and sums over dimensions, as an equation says; see the module for its form.

    Args:
        equation: The letters of the operands' dimensions and of the result's. Without ``->`` and a
            result, the letters that stand there once, in alphabetical order.
        inputs: The operands.
        optimize: How to order more than two operands; makes no difference here.
        name: A name for the op.

    Raises:
        ValueError: the equation is not a valid one, or does not fit the operands.
    """
    if not isinstance(equation, str):
        raise DTypeError(f"An einsum equation is a string such as 'ij,jk->ik', got {equation!r}.")
    _equation_for(len(inputs), equation)
    with Composed(name, "einsum", "Einsum") as last:
        return _einsum(list(inputs), equation=equation, name=last)


# Tensordot.


@export("tensordot", "linalg.tensordot")
def tensordot(a: ArrayLike, b: ArrayLike, axes: ArrayLike, name: str | None = "Tensordot") -> Tensor:
    """Sums the products of `a` and `b` over pairs of their axes.

    Args:
        a: A tensor.
        b: A tensor of the same dtype.
        axes: How many of the last axes of `a` to pair with as many first ones of `b`; or the list of
            axes of `a` and the list of those of `b` that go with them.
        name: A name for the op.

    Raises:
        ValueError: the axes are not valid, or their sizes differ.
    """
    a, b = convert_to_tensor(a), convert_to_tensor(b)
    if a.shape.rank is None or b.shape.rank is None or not is_plain(axes):
        with Composed(name, "Tensordot") as last:
            axes_a, axes_b = _axes_later(axes, rank(a), rank(b))
            rows, kept_a = _as_matrix(a, axes_a, contracted_last=True)
            columns, kept_b = _as_matrix(b, axes_b, contracted_last=False)
            return reshape(matmul(rows, columns), concat([kept_a, kept_b], 0), last)
    axes = tuple(plain(each, "axes") for each in axes) if isinstance(axes, (list, tuple)) else plain(axes, "axes")
    pairs = _axis_pairs(axes, a.shape.rank, b.shape.rank)
    return _einsum([a, b], equation=_tensordot_equation(a.shape.rank, b.shape.rank, pairs), name=name)


def _tensordot_equation(rank_a: int, rank_b: int, pairs: dict[int, int]) -> str:
    """The equation for pairs of axes, given as those of `b` with those of `a`."""
    if rank_a + rank_b > len(LETTERS):
        raise ArgumentError(f"tensordot takes {len(LETTERS)} axes in all, got {rank_a} and {rank_b}.")
    letters_a = LETTERS[:rank_a]
    letters_b = [letters_a[pairs[i]] if i in pairs else LETTERS[rank_a + i] for i in range(rank_b)]
    kept_a = [c for i, c in enumerate(letters_a) if i not in pairs.values()]
    kept_b = [c for i, c in enumerate(letters_b) if i not in pairs]
    return f"{letters_a},{''.join(letters_b)}->{''.join(kept_a + kept_b)}"


def _axis_pairs(axes: ArrayLike, rank_a: int, rank_b: int) -> dict[int, int]:
    """For each contracted axis of `b`, that of `a`."""
    if isinstance(axes, int):
        if axes < 0:
            raise ArgumentError(f"`axes` must be at least 0. Received: {axes}.")
        if axes > min(rank_a, rank_b):
            raise ArgumentError(
                f"`axes` must not be larger than the number of dimensions. Received {axes}, vs. {rank_a} and {rank_b}."
            )
        return {i: rank_a - axes + i for i in range(axes)}
    if not isinstance(axes, tuple) or len(axes) != 2:
        raise ArgumentError(f"`axes` must be an integer or have length 2. Received {axes!r}.")
    axes_a, axes_b = _positions(axes[0], rank_a), _positions(axes[1], rank_b)
    if len(axes_a) != len(axes_b):
        raise ArgumentError(f"Different number of contraction axes `a` and `b`, {len(axes_a)} != {len(axes_b)}.")
    return dict(zip(axes_b, axes_a, strict=True))


def _positions(axes: ArrayLike, rank: int) -> list[int]:
    positions = []
    for axis in as_integers(axes, "`axes`"):
        if not -rank <= axis < rank:
            raise ArgumentError(f"Axis {axis} in `axes` is out of range [{-rank}, {rank}).")
        positions.append(axis % rank)
    if len(set(positions)) != len(positions):
        raise ArgumentError(f"`axes` names an axis twice: {axes!r}.")
    return positions


# The same where the ranks or the axes are not known before the graph runs: a product of matrices.


def _axes_later(axes: ArrayLike, rank_a: Tensor, rank_b: Tensor) -> tuple[Tensor, Tensor]:
    """The contracted axes of each operand, as vectors of positions."""
    if not isinstance(axes, (list, tuple)):
        axes = cast(axes, int32)
        if axes.shape.rank is None:
            raise ArgumentError("The rank of `axes` must be known when the graph is built: 0, 1 or 2.")
        if axes.shape.rank == 0:
            return range_(subtract(rank_a, axes), rank_a), range_(axes)
    elif len(axes) != 2:
        raise ArgumentError(f"`axes` must be an integer or have length 2. Received {axes!r}.")
    return _positions_later(axes[0], rank_a), _positions_later(axes[1], rank_b)


def _positions_later(axes: ArrayLike, rank_: Tensor) -> Tensor:
    axes = reshape(cast(axes, int32), [-1])
    return where(less(axes, 0), add(axes, rank_), axes)


def _as_matrix(x: Tensor, axes: Tensor, contracted_last: bool) -> tuple[Tensor, Tensor]:
    """An operand as a matrix, with the contracted axes on one side; and the sizes of those it keeps."""
    sizes = sizes_op(x)
    free = setdiff1d(range_(rank(x)), axes).out
    kept, contracted = gather(sizes, free), gather(sizes, axes)
    order, counts = [free, axes], [reduce_prod(kept), reduce_prod(contracted)]
    if not contracted_last:
        order, counts = order[::-1], counts[::-1]
    return reshape(transpose(x, concat(order, 0)), stack(counts)), kept
