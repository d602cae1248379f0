"""Symbolic tensors: results of operations that have not run.

>>> import situs.compat.v1 as tf
>>> tf.constant([1.0, 2.0], name="a")
<tf.Tensor 'a:0' shape=(2,) dtype=float32>
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from situs._src.base.dtype import DType
from situs._src.base.errors import DTypeError, NoValueYetError, OperatorNotAllowedInGraphError
from situs._src.base.shapes import ShapeInGraph, ShapeOfDimensions, TensorShape, spell_dimensions
from situs._src.base.tensor import Tensor
from situs._src.base.typing import DTypeLike, FeedDict, SessionLike
from situs._src.ir.graph.origin import is_ours

if TYPE_CHECKING:
    from situs._src.ir.graph.graph import Graph
    from situs._src.ir.graph.node import Operation

_programs_see_dimensions = False


def show_dimensions(shown: bool) -> None:
    """Whether an unknown dimension of ``x.shape`` is TensorFlow 1's `Dimension` for the program, or None internally."""
    global _programs_see_dimensions
    _programs_see_dimensions = shown
    spell_dimensions(shown)


class SymbolicTensor(Tensor):
    """One result of an `Operation`. Compared by identity; usable as a key."""

    __slots__ = ("__dict__", "_dtype", "_shape", "is_ref", "op", "value_index")  # programs may leave anything on it

    def __init__(self, op: Operation, value_index: int, dtype: DType, shape: TensorShape, is_ref: bool) -> None:
        self.op = op
        self.value_index = value_index
        self.is_ref = is_ref  # it is the state of a variable, not a value
        self._dtype = dtype
        self._shape = ShapeInGraph(shape) if op.graph.has_dimensions else shape

    def like(self, op: Operation) -> SymbolicTensor:
        """The same result of an operation that is like this one's, in a graph of the same dialect."""
        made = object.__new__(SymbolicTensor)
        made.op = op
        made.value_index = self.value_index
        made.is_ref = self.is_ref
        made._dtype = self._dtype
        made._shape = self._shape
        return made

    @property
    def name(self) -> str:
        """The name of the operation and the number of the result: ``MatMul:0``."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def graph(self) -> Graph:
        """The graph it belongs to."""
        return self.op.graph

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        if _programs_see_dimensions and not is_ours(sys._getframe(1).f_code):
            return self.get_shape()
        return self._shape

    def get_shape(self) -> TensorShape:
        """The same as ``shape``; in a graph of TensorFlow 1's dialect all its dimensions have a ``value``."""
        return ShapeOfDimensions(self._shape) if self.op.graph.has_dimensions else self._shape

    @property
    def device(self) -> str:
        """The requested device; empty if there is none."""
        return self.op.device

    def set_shape(self, shape: Any) -> None:
        """Refines the static shape.

        Raises:
            ValueError: it contradicts what is known.
        """
        merged = self._shape.merge_with(TensorShape(shape))
        self._shape = ShapeInGraph(merged) if self.op.graph.has_dimensions else merged

    def consumers(self) -> list[Operation]:
        """The operations that take this tensor as an input, in the order they were made."""
        return [node for node in self.op.consumers if any(tensor is self for tensor in node.inputs)]

    def eval(self, feed_dict: FeedDict | None = None, session: SessionLike | None = None) -> Any:
        """Runs the graph for this tensor in `session`, or in the default one."""
        from situs._src.ir.graph.context import session_for

        return session_for(session, self.graph, "evaluate tensor", "eval").run(self, feed_dict)

    @property
    def numpy(self) -> Any:
        """Not available: this tensor has no value before its graph runs. Programs check with ``hasattr``."""
        raise AttributeError(
            f"'SymbolicTensor' object has no attribute 'numpy': {self!r} has no value before its graph runs. Fetch it "
            "with session.run(...), or return it from the tf.function."
        )

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Any:
        raise NoValueYetError(
            f"Cannot convert the symbolic {self!r} to a NumPy array. Fetch it with session.run(...), or keep to tf "
            "functions here."
        )

    def __bool__(self) -> bool:
        raise OperatorNotAllowedInGraphError(
            f"Using the symbolic {self!r} as a Python `bool` is not allowed. Use tf.cond or tf.while_loop in a graph; "
            "in a tf.function, write `if` and `while` in a function whose source AutoGraph can read."
        )

    def __index__(self) -> int:
        raise DTypeError(f"The symbolic {self!r} has no value before its graph runs; it cannot be a Python number.")

    def __len__(self) -> int:
        raise DTypeError(f"len is not well defined for the symbolic {self!r}. Use its shape, or tf.shape(x)[0].")

    def __iter__(self) -> Iterator[Tensor]:
        if self._shape.rank == 0:
            raise DTypeError("Cannot iterate over a scalar tensor.")
        if self._shape.rank is None or self._shape[0] is None:
            raise OperatorNotAllowedInGraphError(
                f"Iterating over the symbolic {self!r} needs a known first dimension. Use tf.map_fn or tf.while_loop."
            )
        return (self[i] for i in range(self._shape[0]))

    def __eq__(self, other: object) -> Any:
        """Elementwise in a tf.function; by identity in a graph, as in TensorFlow 1."""
        return _compared("equal", self, other) if self.op.graph.compares_elements else self is other

    def __ne__(self, other: object) -> Any:
        return _compared("not_equal", self, other) if self.op.graph.compares_elements else self is not other

    def __hash__(self) -> int:
        return id(self)

    def __copy__(self) -> SymbolicTensor:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> SymbolicTensor:
        return self

    def __reduce__(self) -> Any:
        raise DTypeError(f"cannot pickle {self!r}: it belongs to a graph; export the graph instead.")

    def __str__(self) -> str:
        device = f", device={self.device}" if self.device else ""
        shape = "" if self._shape.rank is None else f", shape={self._shape}"
        return f'Tensor("{self.name}"{shape}, dtype={self._dtype.name}{device})'

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self._shape} dtype={self._dtype.name}>"


comparison: dict[str, Any] = {}  # installed by situs._src.ops.operators, a higher layer


def _compared(name: str, x: SymbolicTensor, y: object) -> Any:
    return comparison[name](x, y)
