"""What an operation has to do, whatever does it: multiplications and additions, and bytes that are read and written.

What an op costs stands on the op: its rule of work (`Op.work`) says how many multiplications an operation takes, and
its traits say whether it moves anything at all:

    MatMul [128,784] x [784,256]     2 * 128 * 784 * 256 steps     bytes of both inputs and the result
    Relu [128,256]                   128 * 256                     bytes of the input and the result
    Reshape, Identity, Shape         0                             0: a view, the same memory, or sizes alone

Sizes that are not known count as `GUESS` in each unknown dimension, and the work says that it is a guess. An operation
that holds graphs does what these do, a loop `TURNS` times.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from situs._src.base.dtype import DType
from situs._src.base.shapes import TensorShape
from situs._src.ir.graph.function import graphs_of
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.traits import ALIAS, FED, NO_WORK, SHAPE_ONLY, STATE, VIEW

GUESS = 32  # what an unknown dimension counts as
TURNS = 10  # of a loop, before anything is known of it
FREE = frozenset({ALIAS, FED, NO_WORK, SHAPE_ONLY, STATE})  # what takes no time worth counting
_UNKNOWN_RANK = GUESS * GUESS
_OF_A_STRING = 32  # bytes


@dataclass(frozen=True)
class Work:
    """What an operation has to do.

    Attributes:
        steps: Multiplications and additions, or other arithmetic.
        bytes: What is read and written.
        calls: How many kernels that takes: 0 where nothing is called.
        guessed: Whether sizes were not known.
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
    """What an operation has to do, as far as its shapes are known."""
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
    rule = node.op_def.work_rule
    products = None if rule is None else rule(node)
    if rule is not None and products is None:
        products = _unknown_product(node)
    steps = 2.0 * products if products is not None else float(max(map(elements, tensors), default=0))
    return Work(steps, float(sum(map(tensor_bytes, tensors))), 1, guessed)


def elements(tensor: SymbolicTensor) -> int:
    """How many elements a tensor has, with guesses for what is not known."""
    return _elements(tensor.shape)


def tensor_bytes(tensor: SymbolicTensor) -> int:
    """How many bytes the elements of a tensor take, with guesses for what is not known."""
    return shape_bytes(tensor.shape, tensor.dtype)


def shape_bytes(shape: TensorShape, dtype: DType) -> int:
    """How many bytes elements of a dtype take in a shape, with guesses for what is not known of it."""
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
    """The multiplications of a product of tensors whose shapes are not all known: as of matrices of their sizes."""
    first, *others = sorted(map(elements, (*node.inputs, *node.outputs)), reverse=True)
    return int(first * max(1.0, (others[0] if others else 1) ** 0.5))
