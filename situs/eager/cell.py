"""Cells: the memory behind a variable.

An eager variable has one for as long as it lives; a session has one for each variable of its graph. The
value in a cell is a kernel's value (a PyTorch tensor, for strings an array), and values never change: an
update puts a new one in its place, so what was read before stays as it was.
"""

from __future__ import annotations

import threading

from situs.dtype import DType
from situs.eager.bridge import Place, Value
from situs.errors import FailedPreconditionError, InvalidArgumentError
from situs.shapes import TensorShape, brackets


class Cell:
    """The state of one variable: a value that can be exchanged, or none yet."""

    __slots__ = ("dtype", "lock", "name", "place", "shape", "value")

    def __init__(self, name: str, dtype: DType, shape: TensorShape, place: Place, value: Value = None) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape  # what every value must fit
        self.place = place
        self.value = value
        self.lock = threading.Lock()

    def read(self) -> Value:
        """The value.

        Raises:
            FailedPreconditionError: there is none yet.
        """
        if self.value is None:
            raise FailedPreconditionError(
                f"Attempting to use uninitialized value {self.name}. Run its initializer first, or "
                "tf.global_variables_initializer()."
            )
        return self.value

    def check(self, value: Value) -> None:
        """Raises unless a value has a shape that this cell takes.

        Raises:
            InvalidArgumentError: it has not.
        """
        if not self.shape.is_compatible_with(value.shape):
            raise InvalidArgumentError(
                f"Assign requires shapes of both tensors to match. lhs shape= {brackets(self.shape)} "
                f"rhs shape= {brackets(TensorShape(value.shape))}: variable '{self.name}'"
            )
