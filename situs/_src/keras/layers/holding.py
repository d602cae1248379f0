"""What layers hold: variables, other layers, and losses.

    layer.weights               its variables, then those of the layers that its attributes lead to
    layer.losses                what regularizers and `add_loss` say, of all of them

Nothing is registered: attributes are looked at, lists, tuples and dictionaries included, in the order in which they
were set. Only what `add_weight` makes is kept in a list as well, because it need not become an attribute.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType
from typing import Any

from situs._src.base.tensor import is_tensor
from situs._src.base.tree import flatten
from situs._src.checkpoints.cells import is_variable
from situs._src.checkpoints.modules import Module
from situs._src.keras.layers.calling import calls
from situs._src.keras.layers.weights import get_values, set_values
from situs._src.keras.policy import DTypePolicy
from situs._src.ops.constant import convert_to_tensor

_BOOKS = frozenset({"_added", "_losses", "_made_with", "_regularized", "nodes"})  # attributes that hold no children
_PLAIN = frozenset({str, int, float, bool, type(None), FunctionType, DTypePolicy})  # nothing is found in these


class Holder(Module):
    """The part of a layer that holds things."""

    _trainable: bool
    _added: list[Any]  # variables
    _regularized: list[tuple[Any, Any]]  # variables with their regularizers
    _losses: tuple[int, list[Any]]  # the number of an outermost call, and what was added during it
    _called_at: int | None  # the number of its last outermost call

    @property
    def trainable(self) -> bool:
        """Whether optimizers should change its variables."""
        self._check_made()
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = bool(value)
        for layer in self._sublayers():
            layer.trainable = value

    # What it is made of.

    def _sublayers(self) -> list[Any]:
        """The layers that its attributes lead to, in the order in which the attributes were set."""
        return [part for part in self._parts() if isinstance(part, Holder)]

    def _parts(self) -> Iterator[Any]:
        """The variables, layers and modules of its attributes, each once."""
        seen = {id(self)}
        for name, value in list(vars(self).items()):
            if name in _BOOKS or type(value) in _PLAIN:
                continue
            for leaf in flatten(value):
                if id(leaf) not in seen and (isinstance(leaf, Module) or is_variable(leaf)):
                    seen.add(id(leaf))
                    yield leaf

    def _own_weights(self) -> list[Any]:
        """The variables that no layer inside has, the trainable first."""
        self._check_made()
        found = list(self._added)
        for part in self._parts():
            if not isinstance(part, Holder):
                found += part.variables if isinstance(part, Module) else [part]
        unique = list({id(variable): variable for variable in found}.values())
        return sorted(unique, key=lambda variable: not variable.trainable)

    @property
    def weights(self) -> list[Any]:
        """Its variables, then those of the layers inside."""
        found = self._own_weights()
        for layer in self._sublayers():
            found += layer.weights
        return list({id(variable): variable for variable in found}.values())

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables that optimizers should change."""
        if not self.trainable:
            return []
        found = [variable for variable in self._own_weights() if variable.trainable]
        for layer in self._sublayers():
            found += layer.trainable_weights
        return list({id(variable): variable for variable in found}.values())

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables that optimizers should leave alone."""
        changed = {id(variable) for variable in self.trainable_weights}
        return [variable for variable in self.weights if id(variable) not in changed]

    @property
    def variables(self) -> list[Any]:  # type: ignore[override]
        """The same as `weights`."""
        return self.weights

    @property
    def trainable_variables(self) -> list[Any]:  # type: ignore[override]
        """The same as `trainable_weights`."""
        return self.trainable_weights

    @property
    def non_trainable_variables(self) -> list[Any]:  # type: ignore[override]
        """The same as `non_trainable_weights`."""
        return self.non_trainable_weights

    def get_weights(self) -> list[Any]:
        """The values of its variables, as NumPy arrays."""
        return get_values(self.weights)

    def set_weights(self, weights: Any) -> None:
        """Gives its variables new values, in the order of `weights`."""
        set_values(self, self.weights, weights)

    def count_params(self) -> int:
        """How many numbers its variables hold."""
        return sum(variable.shape.num_elements() or 0 for variable in self.weights)

    def _checkpoint_children(self) -> dict[str, Any]:
        found = {name: value for name, value in vars(self).items() if name not in _BOOKS}
        held = {id(value) for value in found.values()}
        found.update((_last(variable), variable) for variable in self._added if id(variable) not in held)
        return found

    # Losses.

    @property
    def losses(self) -> list[Any]:
        """The losses of its variables' regularizers, and those that the last call has added; layers inside too."""
        self._check_made()
        return self._losses_of(self._called_at)

    def _losses_of(self, call: int | None) -> list[Any]:
        when, added = self._losses
        found = list(added) if call is None or when == call else []
        trained = {id(variable) for variable in self.trainable_weights}
        found += [regularizer(variable) for variable, regularizer in self._regularized if id(variable) in trained]
        for layer in self._sublayers():
            found += layer._losses_of(call)
        return found

    def add_loss(self, loss: Any) -> None:
        """Adds losses that depend on the inputs, during `call`; those of a graph that is thrown away are not kept."""
        if calls.drawn:
            return
        when, added = self._losses
        if when != calls.number:
            added = []
        for value in flatten(loss):
            value = value() if callable(value) and not is_tensor(value) else value
            added.append(value if is_tensor(value) else convert_to_tensor(value))
        self._losses = calls.number, added


def _last(variable: Any) -> str:
    return str(variable.name).rpartition("/")[2].partition(":")[0]
