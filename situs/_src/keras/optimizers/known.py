"""What a scalar variable holds, as a number, without asking its device every time.

    step = Known(iterations)
    step.number()        read from the device once
    step.add(1)          adds to the variable, and knows the result

An eager optimizer needs its step and its learning rate as numbers. On a card, reading them would make the host wait for
all work before. The value that was read is kept: as long as the variable holds that same value, the number is right.
"""

from __future__ import annotations

from typing import Any

from situs._src.runtime.eager.allocations import enter_variable
from situs._src.variables.eager import Variable


class Known:
    """A scalar variable and the number that it holds, as far as that is known."""

    def __init__(self, variable: Variable) -> None:
        self._cell = variable._cell
        self._value: Any = None
        self._number: Any = None

    def number(self) -> Any:
        """The number that the variable holds."""
        value = self._cell.read()
        if value is not self._value:
            self._value, self._number = value, value.item()
        return self._number

    def add(self, amount: int) -> None:
        """Adds to the variable."""
        with self._cell.lock:
            number = self.number()
            self._cell.value = self._value = self._value + amount
            self._number = number + amount
        enter_variable(self._value, self._cell.place.device, self._cell.name)
