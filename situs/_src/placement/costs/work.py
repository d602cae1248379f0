"""The work of an operation, independent of the device: arithmetic, and bytes read and written.

The cost of an op is declared on the op: its rule (`Op.work`) says how many multiplications an operation takes, and its
traits say whether it moves data at all:

    MatMul [128,784] x [784,256]     2 * 128 * 784 * 256 steps     bytes of both inputs and the result
    Relu [128,256]                   128 * 256                     bytes of the input and the result
    Sort, FFT of n elements          n log n                       bytes of the input and the result
    GatherV2 of 8 rows of 1e6        8 rows                        twice 8 rows: other rows are not read
    ScatterAdd of 8 rows to 1e6      8 rows                        three times 8 rows, likewise
    Reshape, Identity, Shape         0                             0: a view, the same memory, or sizes alone

Unknown dimensions count as `GUESS`, and the work is marked as a guess. An operation that contains graphs does the work
of these, a loop `TURNS` times.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from situs._src.base.dtype import DType
from situs._src.base.shapes import TensorShape
from situs._src.ir.graph.function import graphs_of
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.traits import ALIAS, FED, MOVES, NO_WORK, PRODUCT, SHAPE_ONLY, STATE, VIEW

GUESS = 32  # assumed for an unknown dimension
TURNS = 10  # iterations assumed for a loop
CHANGED_ROWS = frozenset({"updates"})  # the input names of ops that update only some rows
FREE = frozenset({ALIAS, FED, NO_WORK, SHAPE_ONLY, STATE})  # negligible time
_UNKNOWN_RANK = GUESS * GUESS
_OF_A_STRING = 32  # bytes


@dataclass(frozen=True)
class Work:
    """The work of an operation.

    Attributes:
        steps: Multiplications and additions, or other arithmetic.
        bytes: Bytes read and written.
        calls: The number of kernel calls: 0 if none.
        guessed: Whether sizes were unknown.
    """

    steps: float = 0.0
    bytes: float = 0.0
    calls: int = 1
    guessed: bool = False

    def __add__(self, other: Work) -> Work:
        """Both, one after the other."""
        steps, moved = self.steps + other.steps, self.bytes + other.bytes
        return Work(steps, moved, self.calls + other.calls, self.guessed or other.guessed)

    def times(self, count: int) -> Work:
        """The same, several times."""
        return Work(self.steps * count, self.bytes * count, self.calls * count, self.guessed)


NOTHING = Work(calls=0)


def work_of(node: Operation) -> Work:
    """The work of an operation, as far as its shapes are known."""
    held = graphs_of(node)
    if held:
        once = _all_of(inner for _, graph in held for inner in graph.operations)
        return once.times(TURNS) if any(name == "body" for name, _ in held) else once
    traits = node.op_def.traits
    if not FREE.isdisjoint(traits) or (not node.inputs and not node.op_def.stateful):
        return NOTHING
    tensors = (*node.inputs, *node.outputs)
    guessed = any(not tensor.shape.is_fully_defined() for tensor in tensors)
    if VIEW in traits:
        return Work(guessed=guessed)
    touched = _touched(node)
    rule = node.op_def.work_rule
    products = None if rule is None else rule(node)
    if products is None and PRODUCT in traits:
        products = _unknown_product(node)
    steps = 2.0 * products if products is not None else float(max(map(elements, touched), default=0))
    return Work(steps, float(sum(map(tensor_bytes, touched))), 1, guessed)


def _touched(node: Operation) -> list[SymbolicTensor]:
    """The tensors whose bytes an operation reads and writes; if it reads or writes only some rows, these.

    A tensor occurs as often as its bytes are read or written.
    """
    if MOVES in node.op_def.traits:
        return [*node.outputs, *node.outputs]  # as much is read as returned
    rows = [tensor for arg, tensor in zip(node.op_def.inputs, node.args, strict=True) if arg.name in CHANGED_ROWS]
    if node.op_def.updates and rows and all(isinstance(tensor, SymbolicTensor) for tensor in rows):
        others = [tensor for tensor in node.inputs if not tensor.is_ref]
        return [*others, *rows, *rows]  # rows of the variable are read and written where they change
    return [*node.inputs, *node.outputs]


def elements(tensor: SymbolicTensor) -> int:
    """The number of elements of a tensor, with guesses for unknown dimensions."""
    return _elements(tensor.shape)


def tensor_bytes(tensor: SymbolicTensor) -> int:
    """The bytes of a tensor's elements, with guesses for unknown dimensions."""
    return shape_bytes(tensor.shape, tensor.dtype)


def shape_bytes(shape: TensorShape, dtype: DType) -> int:
    """The bytes of elements of a dtype in a shape, with guesses for unknown dimensions."""
    return _elements(shape) * (dtype.size or _OF_A_STRING)


def _elements(shape: TensorShape) -> int:
    if shape.rank is None:
        return _UNKNOWN_RANK
    count = 1
    for dim in shape:
        count *= GUESS if dim is None else dim
    return count


def _all_of(nodes: Iterable[Operation]) -> Work:
    total = NOTHING
    for node in nodes:
        total += work_of(node)
    return total


def _unknown_product(node: Operation) -> int:
    """The multiplications of a product whose shapes are not all known: as for matrices of their sizes."""
    first, *others = sorted(map(elements, (*node.inputs, *node.outputs)), reverse=True)
    return int(first * max(1.0, (others[0] if others else 1) ** 0.5))
