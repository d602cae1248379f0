"""The *key* of an operation: operations with equal keys take equally long.

    MatMul float32 [128,784] [784,256] -> [128,256] transpose_a=False transpose_b=False

The *family* of a key is the same without the sizes: op, dtypes, ranks and attributes. Between members of a family times
are interpolated.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from situs._src.base.dtype import DType
from situs._src.base.shapes import TensorShape
from situs._src.ir.graph.function import graphs_of
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor

_DRAWS = frozenset({"seed", "seed2"})  # the seed does not affect the time
LONGEST = 400  # characters of a key; longer ones are too specific to recur


class Key(NamedTuple):
    """The key of an operation: its family, and the sizes."""

    family: str
    sizes: str

    def __str__(self) -> str:
        return f"{self.family} | {self.sizes}"


def key_of(node: Operation) -> Key | None:
    """The key of an operation; None if its shapes are unknown, or it contains graphs, whose parts have keys."""
    tensors = (*node.inputs, *node.outputs)
    if graphs_of(node) or not all(tensor.shape.is_fully_defined() for tensor in tensors):
        return None
    return made_key(node, [tensor.shape for tensor in node.inputs], [tensor.shape for tensor in node.outputs])


def made_key(node: Operation, inputs: Iterable[TensorShape], outputs: Iterable[TensorShape]) -> Key | None:
    """The key of an operation whose tensors have these shapes; None if it would be too long."""
    before, after = list(inputs), list(outputs)
    dtypes = " ".join(dtype.name for dtype in _distinct((*node.inputs, *node.outputs)))
    ranks = f"{','.join(str(shape.rank) for shape in before)}->{','.join(str(shape.rank) for shape in after)}"
    attrs = " ".join(
        f"{name}={value}" for name, value in sorted(node.attrs.items()) if name not in _DRAWS and _is_plain(value)
    )
    family = " ".join(filter(None, (node.type, dtypes, ranks, attrs)))
    sizes = f"{' '.join(map(_text, before))} -> {' '.join(map(_text, after))}"
    return None if len(family) + len(sizes) > LONGEST else Key(family, sizes)


def _distinct(tensors: Iterable[SymbolicTensor]) -> list[DType]:
    return list(dict.fromkeys(tensor.dtype for tensor in tensors))


def _text(shape: TensorShape) -> str:
    return f"[{','.join(map(str, shape))}]"


def _is_plain(value: object) -> bool:
    """Whether an attribute says how an op computes, rather than on what: no constants, names or graphs."""
    if isinstance(value, (list, tuple)):
        return len(value) <= 8 and all(isinstance(item, (bool, int)) for item in value)
    return isinstance(value, (bool, int)) or (isinstance(value, str) and value.isupper())
