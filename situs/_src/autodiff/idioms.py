"""Common patterns and their fused kernels: pairs of programs for `runtime.passes.idioms`.

Each row is one way to write a pattern. The programs are plain Situs; their gradients come from their ops, so a new way
is one more row, and what is not listed here runs unfused.

    layer normalization    (x - mean) * rsqrt(variance + epsilon), over the last axes, with a scale and an offset or not
    batch normalization    the same over all axes but the last; `tf.nn.moments` and `tf.nn.batch_normalization`
    gelu                   x/2 (1 + tanh(...)), x/2 (1 + erf(...))
    attention              softmax(scale * q k') v, with heads before positions
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from situs._src.autodiff.graph import differentiate
from situs._src.base.devices.scope import ROOT, build_into, record_on
from situs._src.base.dtype import DType, float32
from situs._src.base.shapes import TensorShape
from situs._src.base.tensor import Tensor
from situs._src.ir.graph.function import FunctionGraph
from situs._src.ir.registry.op import find_op
from situs._src.ir.registry.traits import ADDS, COMMUTATIVE, ELEMENTWISE
from situs._src.ops.array import reshape, transpose
from situs._src.ops.linalg import matmul
from situs._src.ops.math import add, divide, erf, multiply, rsqrt, sqrt, square, squared_difference, subtract, tanh
from situs._src.ops.math import pow as power
from situs._src.ops.nn.activation import softmax
from situs._src.ops.nn.normalize import batch_normalization, moments
from situs._src.ops.reduce import reduce_mean
from situs._src.runtime.passes.idioms import TYPES, Idiom, Look, Place, idioms, tracer
from situs._src.runtime.plan.plan import Call, Literal, Slot, Source

Array: TypeAlias = np.ndarray[Any, Any]


def install() -> None:
    """Registers the programs with the pass."""
    tracer[:] = [traced]
    idioms[:] = [*_attentions(), *_norms(), *_gelus()]


def traced(program: Callable[..., Sequence[Any]], at: Place) -> FunctionGraph:
    """The graph of a program and of the gradients of its first result, whose own gradient is the last argument."""
    graph = FunctionGraph(None)
    tapes, before = record_on(()), build_into(graph, ROOT)  # whatever the program does that runs at this moment
    try:
        given = [graph.add_argument(at.dtype, TensorShape(shape)) for shape in at.shapes]
        results = program(*given, **dict(at.parameters))
        seed = graph.add_argument(at.dtype, results[0].shape)
        graph.results = [*results, *differentiate([results[0]], [seed], given)]
    finally:
        build_into(*before)
        record_on(tapes)
    return graph


# Normalization.

_SQUARES: dict[str, Callable[[Tensor], Tensor]] = {
    "Mul": lambda away: multiply(away, away),
    "Square": square,
    "Pow": lambda away: power(away, 2.0),
}


def _written_out(
    x: Tensor, *affine: Tensor, axis: Any, keepdims: bool, epsilon: float, squares: str, root: str, once: bool
) -> list[Tensor]:
    """A norm written out, with an optional scale and offset."""
    mean = reduce_mean(x, axis, keepdims)
    away = subtract(x, mean)
    if squares in _SQUARES:
        difference = _SQUARES[squares](away if once else subtract(x, mean))
    else:
        difference = squared_difference(x, mean)
    variance = reduce_mean(difference, axis, keepdims)
    total = add(variance, epsilon)
    normal = multiply(away, rsqrt(total)) if root == "Rsqrt" else divide(away, sqrt(total))
    for operation, value in zip((multiply, add), affine, strict=False):
        normal = operation(normal, value)
    return [normal, mean, variance]


def _by_moments(
    x: Tensor, *affine: Tensor, axis: Any, keepdims: bool, epsilon: float, squares: str, root: str, once: bool
) -> list[Tensor]:
    """A norm by two functions."""
    mean, variance = moments(x, axis, keepdims=keepdims)
    scale, offset = affine
    return [batch_normalization(x, mean, variance, offset, scale, epsilon), mean, variance]


def _as_batch_norm(
    x: Tensor, *affine: Tensor, axis: Any, keepdims: bool, epsilon: float, squares: str, root: str, once: bool
) -> list[Tensor]:
    """A norm over all axes but the last, by the batch normalization kernel."""
    sizes = _sizes(x.shape)
    channels, rows = sizes[-1], math.prod(sizes[:-1])
    images = x if len(sizes) == 4 else reshape(x, [rows, 1, 1, channels])
    scale, offset = _affine(affine, (channels,), float32)
    none = np.zeros(0, np.float32)
    y, mean, unbiased, *_ = find_op("FusedBatchNormV3").many(
        images, scale, offset, none, none, epsilon=epsilon, data_format="NHWC"
    )
    variance = multiply(unbiased, (rows - 1) / rows)
    shape = [*(1 for _ in sizes[:-1]), channels] if keepdims else [channels]
    moved = [reshape(each, shape) if keepdims else each for each in (mean, variance)]
    return [y if len(sizes) == 4 else reshape(y, sizes), *moved]


def _as_layer_norm(
    x: Tensor, *affine: Tensor, axis: Any, keepdims: bool, epsilon: float, squares: str, root: str, once: bool
) -> list[Tensor]:
    """A norm over the last axes."""
    axes = _axes(axis, len(x.shape))
    sizes = tuple([_sizes(x.shape)[each] for each in axes])
    scale, offset = _affine(affine, sizes, x.dtype)
    y, *_ = find_op("LayerNorm").many(x, scale, offset, axis=axes, epsilon=epsilon, U=x.dtype)
    return [y]


def _affine(given: Sequence[Tensor], sizes: tuple[int, ...], dtype: DType) -> tuple[Tensor | Array, Tensor | Array]:
    """A scale and an offset: the given ones, or neutral ones."""
    known = dtype.as_numpy_dtype
    scale = given[0] if given else np.ones(sizes, known)
    return scale, given[1] if len(given) > 1 else np.zeros(sizes, known)


def _sizes(shape: TensorShape) -> tuple[int, ...]:
    """The sizes of a static shape."""
    return tuple([size for size in shape.as_list() if size is not None])


def _axes(axis: Any, rank: int) -> tuple[int, ...]:
    """Sorted, nonnegative axes; empty if they are not numbers."""
    found = axis if isinstance(axis, (tuple, list)) else (axis,)
    return tuple(sorted(each % rank for each in found)) if all(type(each) is int for each in found) else ()


def _norm_places(over_rows: bool, affine: int, look: Look, call: Call) -> Iterable[Place]:
    """The possible matches of a norm at the root of a variance, over all axes but the last or over the last ones."""
    assert call.node is not None
    total = look.maker(call.inputs[0])
    averaged = None if total is None else _beside_number(look, total)
    if averaged is None:
        return
    variance, epsilon = averaged
    squares = look.maker(variance.inputs[0])
    if variance.node is None or variance.node.op_def is not find_op("Mean") or squares is None or squares.node is None:
        return
    name, axis = squares.node.op_def.name, variance.inputs[1]
    of = look.maker(squares.inputs[0]) if name in _SQUARES else squares
    if of is None or of.node is None or not isinstance(axis, Literal):
        return
    x = of.inputs[0]
    shape, dtype = of.node.inputs[0].shape, of.node.inputs[0].dtype
    if not isinstance(x, Slot) or not shape.is_fully_defined() or dtype not in TYPES:
        return
    sizes = _sizes(shape)
    axes, rank = _axes(axis.value, len(sizes)), len(sizes)
    rows = axes == tuple(range(rank - 1)) and math.prod(sizes[:-1]) > 1 and dtype is float32
    columns = bool(axes) and axes == tuple(range(rank - len(axes), rank)) and not rows
    if 0 in sizes or not (rows if over_rows else columns):
        return
    given = sizes[-1:] if over_rows else tuple([sizes[each] for each in axes])
    words = {"axis": axis.value, "keepdims": bool(variance.node.attrs["keep_dims"]), "epsilon": epsilon}
    words.update(squares=name, root=call.node.op_def.name)
    for once in (True, False) if name in _SQUARES else (True,):
        yield Place(
            (x.number,), (sizes, *(given for _ in range(affine))), dtype, tuple({**words, "once": once}.items())
        )


def _beside_number(look: Look, total: Call) -> tuple[Call, float] | None:
    """The mean, and the number that a call adds to it; None if it does something else."""
    if total.node is None or ADDS not in total.node.op_def.traits or len(total.inputs) != 2:
        return None
    for one, other in (total.inputs, total.inputs[::-1]):
        made = look.maker(one)
        if made is not None and isinstance(other, Literal) and getattr(other.value, "ndim", None) == 0:
            return made, float(other.value)
    return None


def _norms() -> list[Idiom]:
    rows = [(_by_moments, find_op("Rsqrt"), 2)]
    rows += [(_written_out, find_op(root), affine) for affine in (2, 1, 0) for root in ("Rsqrt", "Sqrt")]
    found: list[Idiom] = []
    for written, anchor, affine in rows:
        for name, fused, over_rows in (("batch", _as_batch_norm, True), ("layer", _as_layer_norm, False)):
            places = partial(_norm_places, over_rows, affine)
            found.append(Idiom(f"{name} normalization", anchor, places, written, fused))
    return found


# Gelu.

_ROOT = math.sqrt(2 / math.pi)
_CUBE = 0.044715


_INNER: list[Callable[[Tensor], Tensor]] = [
    lambda x: multiply(_ROOT, add(x, multiply(multiply(multiply(_CUBE, x), x), x))),
    lambda x: multiply(_ROOT, add(x, multiply(_CUBE, multiply(multiply(x, x), x)))),
    lambda x: multiply(_ROOT, add(x, multiply(_CUBE, power(x, 3.0)))),
    lambda x: multiply(multiply(_ROOT, x), add(1.0, multiply(multiply(_CUBE, x), x))),
    lambda x: multiply(multiply(_ROOT, x), add(1.0, multiply(_CUBE, square(x)))),
]
_OUTER: list[Callable[[Tensor, Tensor], Tensor]] = [
    lambda x, step: multiply(multiply(0.5, x), add(1.0, step)),
    lambda x, step: multiply(x, multiply(0.5, add(1.0, step))),
    lambda x, step: multiply(0.5, multiply(x, add(1.0, step))),
]
_OF_ERF: list[Callable[[Tensor], Tensor]] = [
    lambda x: divide(x, math.sqrt(2.0)),
    lambda x: multiply(x, math.sqrt(0.5)),
]


def _gelu_places(look: Look, call: Call) -> Iterable[Place]:
    """The values that are used most on the way to a step, if a number is added to the step."""
    assert call.node is not None
    tensor = call.node.outputs[0]
    if tensor.dtype not in TYPES or not tensor.shape.is_fully_defined():
        return
    readers = look.readers.get(look.first(call.outputs[0]), ())
    if not any(_beside_number(look, reader) is not None for reader in readers):
        return
    uses: Counter[int] = Counter()
    level: list[Source] = list(call.inputs)
    for _ in range(_LEVELS):
        above: list[Source] = []
        for source in level:
            made = look.maker(source)
            if isinstance(source, Slot):
                uses[look.first(source.number)] += 1
            if made is not None and made.node is not None and ELEMENTWISE in made.node.op_def.traits:
                above += made.inputs
        level = above
    for slot, _ in uses.most_common(_TRIED):
        yield Place((slot,), (_sizes(tensor.shape),), tensor.dtype)


_LEVELS = 5  # calls between a step and what it is of
_TRIED = 3  # values


def _gelus() -> list[Idiom]:
    gelu = find_op("Gelu")
    steps = [("Tanh", tanh, inner, True) for inner in _INNER] + [("Erf", erf, inner, False) for inner in _OF_ERF]
    return [
        Idiom(
            "gelu",
            find_op(anchor),
            _gelu_places,
            lambda x, step=step, inner=inner, outer=outer: [outer(x, step(inner(x)))],
            lambda x, approximate=approximate: [gelu(x, approximate=approximate)],
        )
        for anchor, step, inner, approximate in steps
        for outer in _OUTER
    ]


# Attention.


def _written_attention(
    q: Tensor, k: Tensor, v: Tensor, *, scale: float | None, by: str, transposed: bool
) -> list[Tensor]:
    """Attention with heads before positions; the scores are scaled by a product, or a quotient."""
    scores = matmul(q, transpose(k, [0, 1, 3, 2])) if transposed else matmul(q, k, transpose_b=True)
    if scale is not None:
        scores = multiply(scores, scale) if by == "product" else divide(scores, scale)
    return [matmul(softmax(scores), v)]


def _as_attention(q: Tensor, k: Tensor, v: Tensor, *, scale: float | None, by: str, transposed: bool) -> list[Tensor]:
    factor = 1.0 if scale is None else scale if by == "product" else 1.0 / scale
    given = [transpose(each, [0, 2, 1, 3]) for each in (q, k, v)]
    made, _ = find_op("DotProductAttention").many(*given, [], [], scale=factor, is_causal=False, U=q.dtype)
    return [transpose(made, [0, 2, 1, 3])]


def _attention_places(look: Look, call: Call) -> Iterable[Place]:
    """The possible matches of attention at its weights."""
    product, scale, by = look.maker(call.inputs[0]), None, "product"
    node = None if product is None else product.node
    if product is not None and node is not None and ELEMENTWISE in node.op_def.traits and len(product.inputs) == 2:
        one, other = product.inputs
        if not isinstance(other, Literal) or getattr(other.value, "ndim", None) != 0:
            return
        scale, by = float(other.value), "product" if COMMUTATIVE in node.op_def.traits else "quotient"
        product = look.maker(one)
    if product is None or product.node is None or product.node.op_def is not find_op("MatMul"):
        return
    q, k = product.inputs
    turned = look.maker(k)
    transposed = not product.node.attrs["transpose_b"]
    if transposed and (turned is None or turned.node is None or turned.node.op_def is not find_op("Transpose")):
        return
    of = turned if transposed else product
    assert of is not None
    assert of.node is not None
    key, place = (of.inputs[0], 0) if transposed else (k, 1)
    shapes = product.node.inputs[0].shape, of.node.inputs[place].shape
    if product.node.inputs[0].dtype is not float32 or not all(shape.is_fully_defined() for shape in shapes):
        return
    sizes = [_sizes(shape) for shape in shapes]
    if len(sizes[0]) != 4 or 0 in sizes[0] + sizes[1] or not isinstance(q, Slot) or not isinstance(key, Slot):
        return
    words = {"scale": scale, "by": by, "transposed": transposed}
    yield Place((q.number, key.number), (*sizes, sizes[1]), float32, tuple(words.items()))


def _attentions() -> list[Idiom]:
    anchor = find_op("Softmax")
    return [Idiom("attention", anchor, _attention_places, _written_attention, _as_attention, frozenset({"CPU"}))]
