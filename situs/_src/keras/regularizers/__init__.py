"""``tf.keras.regularizers``: losses of a layer's own variables.

layer = tf.keras.layers.Dense(3, kernel_regularizer="l2")
layer.losses                        [0.01 * sum of the squares of its kernel]
"""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import ArgumentError, UnimplementedError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.keras.finding import Shelf
from situs._src.ops.array import reshape, shape, transpose
from situs._src.ops.attribute import as_float
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.diagonal import eye
from situs._src.ops.linalg import matmul
from situs._src.ops.math import abs as absolute
from situs._src.ops.math import multiply, square
from situs._src.ops.nn.normalize import l2_normalize
from situs._src.ops.reduce import reduce_sum


@export("keras.regularizers.Regularizer")
class Regularizer:
    """The base of regularizers: a function from a variable to a loss."""

    def __call__(self, x: Any) -> Tensor:
        """The loss of a variable, or of the outputs of a layer."""
        raise UnimplementedError(f"{type(self).__name__} has no method `__call__`, which gives a variable's loss.")

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        raise UnimplementedError(f"{type(self).__name__} has no method `get_config`, which saving it needs.")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """A regularizer made with the arguments that `get_config` returned."""
        return cls(**config)


@export("keras.regularizers.L1L2")
class L1L2(Regularizer):
    """``l1 * sum(|x|) + l2 * sum(x * x)``."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1 = _weight(0.0 if l1 is None else l1, "l1")
        self.l2 = _weight(0.0 if l2 is None else l2, "l2")

    def __call__(self, x: Any) -> Tensor:
        """The loss of a variable."""
        value = convert_to_tensor(x)
        parts = []
        if self.l1:
            parts.append(multiply(reduce_sum(absolute(value)), self.l1))
        if self.l2:
            parts.append(multiply(reduce_sum(square(value)), self.l2))
        return sum(parts[1:], parts[0]) if parts else convert_to_tensor(0.0, value.dtype)

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return {"l1": self.l1, "l2": self.l2}


@export("keras.regularizers.L1", "keras.regularizers.l1")
class L1(L1L2):
    """``l1 * sum(|x|)``."""

    def __init__(self, l1: float = 0.01) -> None:
        super().__init__(l1=0.01 if l1 is None else l1)

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return {"l1": self.l1}


@export("keras.regularizers.L2", "keras.regularizers.l2")
class L2(L1L2):
    """``l2 * sum(x * x)``."""

    def __init__(self, l2: float = 0.01) -> None:
        super().__init__(l2=0.01 if l2 is None else l2)

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return {"l2": self.l2}


@export("keras.regularizers.OrthogonalRegularizer", "keras.regularizers.orthogonal_regularizer")
class OrthogonalRegularizer(Regularizer):
    """Keeps the rows (or columns) of a matrix apart: `factor` times the mean size of their cosines.

    Args:
        factor: What to multiply with.
        mode: ``"rows"`` or ``"columns"``.
    """

    def __init__(self, factor: float = 0.01, mode: str = "rows") -> None:
        if mode not in ("rows", "columns"):
            raise ArgumentError(f"`mode` must be 'rows' or 'columns', got {mode!r}.")
        self.factor, self.mode = _weight(factor, "factor"), mode

    def __call__(self, x: Any) -> Tensor:
        """The loss of a matrix."""
        value = convert_to_tensor(x)
        if value.shape.rank != 2:
            raise ArgumentError(f"Inputs to OrthogonalRegularizer must have rank 2, got shape {value.shape}.")
        rows = l2_normalize(value if self.mode == "rows" else transpose(value), axis=1)
        count = shape(rows)[0]
        products = multiply(matmul(rows, rows, transpose_b=True), 1.0 - eye(count, dtype=rows.dtype))
        pairs = cast(reshape(count * (count - 1), []), rows.dtype) / 2.0
        return self.factor * 0.5 * reduce_sum(absolute(products)) / pairs

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        return {"factor": self.factor, "mode": self.mode}


def _weight(value: Any, name: str) -> float:
    found = as_float(value, name)
    if not 0 <= found < float("inf"):
        raise ArgumentError(f"Invalid value for argument {name}: expected a non-negative float. Received: {value}")
    return found


@export("keras.regularizers.l1_l2")
def l1_l2(l1: float = 0.01, l2: float = 0.01) -> L1L2:
    """A regularizer with both parts."""
    return L1L2(l1, l2)


l1, l2, orthogonal_regularizer = L1, L2, OrthogonalRegularizer
_shelf = Shelf("regularizer", "keras.regularizers", (L1L2, L1, L2, OrthogonalRegularizer), {"l1_l2": l1_l2})
get, serialize, deserialize = _shelf.get, _shelf.serialize, _shelf.deserialize
export("keras.regularizers.serialize")(serialize)
export("keras.regularizers.get")(get)
export("keras.regularizers.deserialize")(deserialize)

__all__ = [
    "L1",
    "L1L2",
    "L2",
    "OrthogonalRegularizer",
    "Regularizer",
    "deserialize",
    "get",
    "l1",
    "l1_l2",
    "l2",
    "orthogonal_regularizer",
    "serialize",
]
