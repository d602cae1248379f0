"""Cells: the memory behind a variable.

An eager variable has one for its lifetime; a session has one for each variable of its graph. The value in a cell is a
kernel's value (a PyTorch tensor, for strings an array), and values are immutable: an update replaces the value, so a
value that was read before does not change. While a GPU is out of memory, the value may be offloaded to the host; it is
brought back when it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from situs._src.base import locks
from situs._src.base.dtype import DType
from situs._src.base.errors import FailedPreconditionError, InvalidArgumentError
from situs._src.base.shapes import TensorShape, brackets
from situs._src.runtime.eager.bridge import Place, Value
from situs._src.runtime.eager.tensor import EagerTensor


class Cell:
    """The state of one variable: a replaceable value, or none yet."""

    __slots__ = ("away", "dtype", "is_recorded", "lock", "name", "place", "shape", "value")

    def __init__(self, name: str, dtype: DType, shape: TensorShape, place: Place, value: Value = None) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape  # every value must be compatible
        self.place = place
        self.value = value
        self.away: Callable[[], Value] | None = None  # brings an offloaded value back
        self.is_recorded = False  # whether a CUDA graph has captured the memory of the value
        self.lock = locks.rlock()

    @property
    def is_initialized(self) -> bool:
        """Whether there is a value, here or on the host."""
        return self.value is not None or self.away is not None

    def read(self) -> Value:
        """The value.

        Raises:
            FailedPreconditionError: there is none yet.
        """
        value = self.value
        return self._brought_back() if value is None else value

    def _brought_back(self) -> Value:
        with self.lock:
            if self.value is None:
                if self.away is None:
                    raise FailedPreconditionError(
                        f"Attempting to use uninitialized value {self.name}. Run its initializer first, or "
                        "tf.global_variables_initializer()."
                    )
                self.value = self.away()
            self.away = None
            return self.value

    def move_out(self, value: Value, away: Callable[[], Value]) -> bool:
        """Offloads the value until it is read; not if it was replaced meanwhile, or another thread has locked it.

        Args:
            value: The value.
            away: Brings it back.

        Returns:
            Whether it was released.
        """
        if not self.lock.acquire(blocking=False):
            return False
        try:
            if self.value is not value:
                return False
            self.away, self.value = away, None
            return True
        finally:
            self.lock.release()

    # Ops use these names for a tensor and for the cell of a variable alike.
    _value: Value
    _place: Place

    def check(self, value: Value) -> None:
        """Raises unless a value has a shape that this cell accepts.

        Raises:
            InvalidArgumentError: it has not.
        """
        if not self.shape.is_compatible_with(value.shape):
            raise InvalidArgumentError(
                f"Assign requires shapes of both tensors to match. lhs shape= {brackets(self.shape)} "
                f"rhs shape= {brackets(TensorShape(value.shape))}: variable '{self.name}'"
            )


for _slot in ("value", "place"):
    setattr(Cell, f"_{_slot}", vars(Cell)[_slot])

# The types of variables that are read through their ``_cell``; others are read in other ways.
VARIABLES: set[type] = set()


def holder(item: Any) -> Any:
    """The holder of the value of a tensor or a variable: the tensor itself, or the cell; None for anything else.

    The value in a cell may be None: it was offloaded to the host, or is being written. Reading the variable waits for
    it.
    """
    kind = type(item)
    return item if kind is EagerTensor else item._cell if kind in VARIABLES else None
