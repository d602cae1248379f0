"""The variables of an optimizer's own: made beside others, listed in order, saved and restored.

self.add_variable_from_reference(w, "momentum")        like w, on the device of w
self.variables                                         the step, the learning rate, slots
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import device
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.tree import listed
from situs._src.checkpoints.restoration import arrived
from situs._src.ir.graph.context import init_scope
from situs._src.ops.constant import constant, fill, zeros
from situs._src.variables.eager import Variable

_names: Counter[str] = Counter()


class Keeper:
    """An object that has variables of its own.

    Args:
        name: Its name, which those of its variables begin with; by default that of its class, numbered.
    """

    def __init__(self, name: str | None) -> None:
        self.name = _unique_name(type(self).__name__) if name is None else name
        self.built = False
        self._variables: list[Any] = []

    @property
    def variables(self) -> list[Any]:
        """The variables of the optimizer's own: the step, the learning rate, slots."""
        return list(self._variables)

    def add_variable(
        self,
        shape: Any,
        initializer: Any = "zeros",
        dtype: Any = None,
        aggregation: Any = None,
        layout: Any = None,
        name: str | None = None,
    ) -> Any:
        """A new variable of the optimizer's own.

        Args:
            shape: Its shape.
            initializer: ``"zeros"``, ``"ones"``, a number, or a function of a shape and a dtype.
            dtype: Its dtype; float32 by default.
            aggregation: Accepted for TensorFlow's programs.
            layout: Accepted for TensorFlow's programs.
            name: Its name.
        """
        wanted = dt.float32 if dtype is None else dt.as_dtype("int64" if dtype == "int" else dtype)
        with init_scope():
            first = _initial(initializer, shape, wanted)
            return self._keep(Variable(first, False, name=f"{self.name}/{name or 'variable'}"))

    def add_variable_from_reference(
        self, reference_variable: Any, name: str | None = None, initializer: Any = "zeros"
    ) -> Any:
        """A new variable like another one, and where that is."""
        if not hasattr(reference_variable, "assign"):
            raise DTypeError(f"An optimizer's variables stand beside other variables, got {shown(reference_variable)}.")
        own = re.sub(r"[/:]", "_", str(reference_variable.name))
        with init_scope(), device(reference_variable.device):
            shape, dtype = reference_variable.shape, reference_variable.dtype
            return self.add_variable(shape, initializer, dtype, name=f"{own}_{name or 'var'}")

    def add_optimizer_variables(self, trainable_variables: Sequence[Any], name: Any, initializer: Any = "zeros") -> Any:
        """One new variable beside each of several; or several, if there are several names.

        Returns:
            A list of variables, or a tuple with one for each name.
        """
        names = [name] if isinstance(name, str) else list(name)
        firsts = list(initializer) if isinstance(initializer, (list, tuple)) else [initializer] * len(names)
        if len(firsts) != len(names):
            raise ArgumentError(
                "The number of provided names must match the number of provided initializers.  Received "
                f"name='{name}', initializer='{initializer}'"
            )
        rows = [
            [self.add_variable_from_reference(variable, each, first) for each, first in zip(names, firsts, strict=True)]
            for variable in trainable_variables
        ]
        columns = tuple([row[number] for row in rows] for number in range(len(names)))
        return columns[0] if isinstance(name, str) else columns

    def _keep(self, variable: Any) -> Any:
        self._variables.append(variable)
        arrived(self, f"_variables_{len(self._variables) - 1}", variable)
        return variable

    # Their values.

    def _checkpoint_children(self) -> dict[str, Any]:
        """What a ``tf.train.Checkpoint`` saves of it."""
        return {f"_variables_{number}": variable for number, variable in enumerate(self._variables)}

    def get_weights(self) -> list[Any]:
        """What the optimizer's own variables hold, as arrays."""
        return [variable.numpy() for variable in self.variables]

    def set_weights(self, weights: Sequence[Any]) -> None:
        """Gives the optimizer's own variables their values."""
        if not self.built:
            raise ArgumentError(
                "You are calling `set_weights()` on an optimizer that has not yet been built. Please call "
                "`optimizer.build(trainable_variables)` to create the optimizer weights before calling `set_weights()`."
            )
        for variable, weight in zip(self.variables, listed(weights, "weights"), strict=False):
            variable.assign(weight)

    def save_own_variables(self, store: Any) -> None:
        """Puts the values of its own variables into a dictionary, by number."""
        store.update((str(number), value) for number, value in enumerate(self.get_weights()))

    def load_own_variables(self, store: Any) -> None:
        """Takes the values of its own variables from a dictionary that `save_own_variables` filled."""
        if len(store) != len(self.variables):
            raise ArgumentError(
                f"Optimizer '{self.name}' has {len(self.variables)} variables, and there are {len(store)} values. "
                "Build it with the same variables first."
            )
        for number, variable in enumerate(self.variables):
            if str(number) not in store:
                raise ArgumentError(f"There is no value for variable {number} ('{variable.name}').")
            variable.assign(store[str(number)])


def _initial(initializer: Any, shape: Any, dtype: dt.DType) -> Any:
    if isinstance(initializer, str) and initializer in ("zeros", "ones"):
        initializer = float(initializer == "ones")
    if isinstance(initializer, (int, float)):
        return fill(shape, constant(initializer, dtype)) if initializer else zeros(shape, dtype)
    if not callable(initializer):
        raise ArgumentError(
            f"An initializer is 'zeros', 'ones', a number, or a function of a shape and a dtype; got {initializer!r}."
        )
    return initializer(shape, dtype=dtype)


def _unique_name(class_name: str) -> str:
    """A name made of a class's, with a number if there has been one."""
    words = re.sub("([a-z])([A-Z])", r"\1_\2", re.sub("(.)([A-Z][a-z]+)", r"\1_\2", class_name)).lower()
    _names[words] += 1
    return words if _names[words] == 1 else f"{words}_{_names[words] - 1}"
