"""The learning rate of an optimizer of Keras: a variable, a schedule, or a function.

An optimizer asks for it in every step. In eager code it wants a number, and gets one without waiting for a device
wherever that can be: what a variable holds is known (`keras.optimizers.known`), and formulas are computed on the host.
"""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import device, here
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.tensor import is_tensor, read
from situs._src.keras.optimizers.known import Known
from situs._src.keras.optimizers.schedules import Formula, LearningRateSchedule, serialize
from situs._src.ops.constant import constant
from situs._src.variables.eager import Variable


class Rate:
    """A learning rate.

    Args:
        given: A number, a variable, a schedule, or a function of nothing.
        name: A name for the variable that holds it.
    """

    def __init__(self, given: Any, name: str) -> None:
        self._given: Any = given if _is_computed(given) or isinstance(given, Variable) else _variable(given, name)
        self._known = Known(self._given) if isinstance(self._given, Variable) else None

    @property
    def variable(self) -> Any:
        """The variable that holds it; None if it is computed."""
        return None if self._known is None else self._given

    def at(self, iterations: Any) -> Any:
        """The learning rate after so many steps, as programs see it: a variable if there is one."""
        if isinstance(self._given, LearningRateSchedule):
            return self._given(iterations)
        return self._given if self._known is not None else self._given()

    def now(self, iterations: Any, step: Known) -> Any:
        """The learning rate to compute with: in a graph a tensor, in eager code a number wherever one is known.

        Args:
            iterations: The variable that counts steps.
            step: What it holds.
        """
        if here.graph is not None:
            return read(self.at(iterations))
        if self._known is not None:
            return self._known.number()
        if isinstance(self._given, Formula):
            return self._given.at(step.number())
        if isinstance(self._given, LearningRateSchedule):
            with device("/CPU:0"):
                return read(self._given(constant(step.number(), dt.int64)))
        return read(self._given())

    def set(self, value: Any) -> None:
        """Makes it another one.

        Raises:
            TypeError: a schedule gives it, and the value is a number.
        """
        if _is_computed(value):
            self._given, self._known = value, None
        elif self._known is None:
            raise DTypeError(
                "This optimizer was created with a `LearningRateSchedule` object as its `learning_rate` constructor "
                "argument, hence its learning rate is not settable. If you need the learning rate to be settable, you "
                "should instantiate the optimizer with a float `learning_rate` argument."
            )
        else:
            self._given.assign(value)

    def config(self) -> Any:
        """The learning rate as plain data; a function as it is."""
        if isinstance(self._given, LearningRateSchedule):
            return serialize(self._given)
        return self._given if self._known is None else float(self._given)


def _is_computed(value: Any) -> bool:
    return isinstance(value, LearningRateSchedule) or (callable(value) and not is_tensor(value))


def _variable(given: Any, name: str) -> Variable:
    try:
        made = Variable(read(given), False, name=name, dtype=dt.float32)
    except (TypeError, ValueError):
        made = None
    if made is None or made.shape.rank != 0 or isinstance(given, bool):
        raise ArgumentError(
            "Argument `learning_rate` should be float, or an instance of LearningRateSchedule, or a callable (that "
            "takes in the current iteration value and returns the corresponding learning rate value). Received "
            f"instead: learning_rate={shown(given)}"
        )
    return made
