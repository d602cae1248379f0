"""``tf.train.ExponentialMovingAverage``: exponentially decaying averages of variables.

    ema = tf.train.ExponentialMovingAverage(decay=0.99)
    ema.apply([w])             average -= (1 - decay) (average - w)
    ema.average(w)             the variable that holds it: w/ExponentialMovingAverage

The averages are on the devices of their variables, and updated together, in place.
"""

from __future__ import annotations

from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import here
from situs._src.base.errors import DTypeError, shown
from situs._src.base.export import export
from situs._src.base.tensor import is_tensor, read
from situs._src.base.tree import listed
from situs._src.ir.graph.context import init_scope, name_scope
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor, zeros
from situs._src.ops.math import minimum, pow
from situs._src.ops.placeholder import group
from situs._src.v1.frontend import builds
from situs._src.v1.optimizers.arguments import check_number
from situs._src.v1.optimizers.base import FLOATS
from situs._src.v1.optimizers.slots import make_slot
from situs._src.variables.apply_ops import apply_moving_average
from situs._src.variables.apply_updates import Update, add, make
from situs._src.variables.collections import GraphKeys, global_variables, moving_average_variables, trainable_variables
from situs._src.variables.eager import Variable
from situs._src.variables.initializers import zeros_initializer
from situs._src.variables.scope import get_variable, variable_scope
from situs._src.variables.symbolic import RefVariable, here_or


@export("train.ExponentialMovingAverage")
class ExponentialMovingAverage:
    """Keeps moving averages of variables.

    Args:
        decay: How slowly what is long ago fades: 0.99 forgets in some hundred steps.
        num_updates: The number of updates so far, if the first ones are to count for more: the decay is then at most
            ``(1 + num_updates) / (10 + num_updates)``.
        zero_debias: Whether averages of tensors, which begin with 0, are corrected for that.
        name: The name of the operations, and of the averages.

    Example:
        >>> import situs as tf
        >>> w = tf.Variable(0.0)
        >>> ema = tf.train.ExponentialMovingAverage(0.5)
        >>> ema.apply([w])
        >>> _ = w.assign(4.0)
        >>> ema.apply([w])
        >>> float(ema.average(w))
        2.0
    """

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        check_number(decay=decay)
        if num_updates is not None:
            check_number(num_updates=num_updates)
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: dict[Any, Any] = {}
        self._biased: dict[Any, tuple[Any, Any]] = {}  # of averages that are corrected: the sum, and the updates so far

    @property
    def name(self) -> str:
        """The name it was given."""
        return self._name

    def apply(self, var_list: Any = None) -> Any:
        """Updates the averages of variables, and makes those that there are not yet.

        Args:
            var_list: The variables, or tensors of a graph; by default all that are trainable.

        Returns:
            The operation; None in eager code.
        """
        variables = trainable_variables() if var_list is None else listed(var_list, "variables")
        for variable in variables:
            _check_is_averaged(variable)
        graph = _graph_of(variables)
        if graph is None:
            self._apply_eagerly(variables)
            return None
        with here_or(graph):
            return self._apply_in_graph(variables)

    def _apply_eagerly(self, variables: list[Any]) -> None:
        for variable in variables:
            self._ensure(variable)
        hyper = {"rate": 1.0 - self._decay_now()}
        make([self._update(variable, hyper) for variable in variables])

    def _apply_in_graph(self, variables: list[Any]) -> Any:
        with init_scope():
            for variable in variables:
                self._ensure(variable)
        with name_scope(self._name) as scope:
            rate = 1.0 - self._decay_now()
            updates = [self._added(variable, {"rate": rate}) for variable in variables]
            return group(*updates, name=scope)

    def _update(self, variable: Any, hyper: dict[str, Any]) -> Update:
        return Update(apply_moving_average, (self._averages[variable.ref()],), read(variable), hyper)

    def _added(self, variable: Any, hyper: dict[str, Any]) -> Any:
        average = self._averages[variable.ref()]
        with name_scope("AssignMovingAvg"):
            if variable.ref() in self._biased:
                return _corrected(average, *self._biased[variable.ref()], read(variable), hyper["rate"])
            return add(self._update(variable, hyper))

    def _decay_now(self) -> Any:
        """The decay, with regard to the number of updates."""
        decay = self._decay
        if here.graph is not None:
            decay = convert_to_tensor(decay, None if is_tensor(decay) else dt.float32, name="decay")
        if self._num_updates is None:
            return decay
        if here.graph is None and not is_tensor(decay):
            count = float(self._num_updates)
            return min(decay, (1.0 + count) / (10.0 + count))
        updates = cast(convert_to_tensor(self._num_updates), dt.float32)
        return minimum(decay, (1.0 + updates) / (10.0 + updates))

    def _ensure(self, variable: Any) -> None:
        """Makes the average of a variable, if there is none."""
        key = variable.ref()
        if key in self._averages:
            return
        if isinstance(variable, (Variable, RefVariable)):
            self._averages[key] = make_slot(variable, lambda: _first(variable), self._name)
            if isinstance(variable, RefVariable):
                variable.graph.add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, variable)
            return
        nothing = lambda: zeros(variable.shape, variable.dtype)  # noqa: E731
        self._averages[key] = make_slot(variable, nothing, self._name, beside=False)
        if self._zero_debias:
            count = lambda: zeros([], variable.dtype)  # noqa: E731
            average = self._averages[key]
            self._biased[key] = make_slot(average, nothing, "biased"), make_slot(average, count, "local_step")

    # Asking for them.

    def average(self, var: Any) -> Any:
        """The variable that holds the average of another one; None if there is none."""
        return self._averages.get(_checked(var).ref())

    def average_name(self, var: Any) -> str:
        """The name of the variable that holds, or will hold, the average of another one."""
        found = self.average(var)
        if found is not None:
            return str(found.name).removesuffix(":0")
        name = getattr(var, "name", None)
        if name is None:
            raise DTypeError("A tensor of eager code has no name that its average could be named by; give a variable.")
        own = f"{name.partition(':')[0]}/{self._name}"
        graph = here.graph if here.graph is not None else _graph_of([var])
        return own if graph is None else graph.unique_name(own, mark_as_used=False)  # in the scope of the caller

    def variables_to_restore(self, moving_avg_variables: Any = None) -> dict[str, Any]:
        """All variables by the names to restore them from: averaged ones from their averages.

        Args:
            moving_avg_variables: The variables to restore from averages; by default those that have some, and those
                that are trainable.
        """
        if moving_avg_variables is None:
            moving_avg_variables = [*trainable_variables(), *moving_average_variables()]
        averaged = {_checked(variable).ref(): variable for variable in listed(moving_avg_variables, "variables")}
        found = {self.average_name(variable): variable for variable in averaged.values()}
        own = {str(variable.name).removesuffix(":0") for variable in averaged.values()}
        for variable in [*global_variables(), *moving_average_variables()]:
            name = str(variable.name).removesuffix(":0")
            if variable.ref() not in averaged and name not in found and name not in own:
                found[name] = variable
        return found


@builds
def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Any:
    """Moves a variable towards a value: ``variable -= (variable - value) * (1 - decay)``.

    Args:
        variable: A variable.
        value: A tensor of its shape.
        decay: How slowly what is long ago fades.
        zero_debias: Whether to correct for that the variable begins with 0; the sum and the number of its updates are
            then variables beside it, ``biased`` and ``local_step``.
        name: A name for the operation.

    Returns:
        What the variable holds afterwards.
    """
    with name_scope(name or "AssignMovingAvg") as scope:
        rate = cast(1.0 - convert_to_tensor(decay), variable.dtype)
        value = convert_to_tensor(value, variable.dtype)
        if not zero_debias:
            return variable.assign_sub((read(variable) - value) * rate, name=scope)
        with variable_scope(str(variable.name).removesuffix(":0"), values=[variable, value]):
            nothing = {"dtype": variable.dtype, "initializer": zeros_initializer(), "trainable": False}
            biased = get_variable("biased", shape=variable.shape, **nothing)
            count = get_variable("local_step", shape=[], **nothing)
        return _corrected(variable, biased, count, value, rate)


def _checked(item: Any) -> Any:
    if not is_tensor(item) and not isinstance(item, (Variable, RefVariable)):
        raise DTypeError(f"Averages are those of variables and tensors, got {shown(item)}.")
    return item


def _corrected(average: Any, biased: Any, count: Any, value: Any, rate: Any) -> Any:
    """Moves an average that began with 0, as if it had not."""
    rate = cast(convert_to_tensor(rate), average.dtype)
    moved = biased.assign_sub((read(biased) - value) * rate)
    turns = count.assign_add(1.0)
    return average.assign(read(moved) / (1.0 - pow(1.0 - rate, read(turns))))


def _check_is_averaged(variable: Any) -> None:
    """Refuses what no average is kept of."""
    if not is_tensor(variable):
        raise DTypeError(f"A moving average is kept of variables, got {variable!r}.")
    if isinstance(variable, (Variable, RefVariable, SymbolicTensor)):
        if variable.dtype not in FLOATS:
            raise DTypeError(f"The variables must be half, float, or double: {variable.name}")
        return
    raise DTypeError(
        "tf.train.ExponentialMovingAverage does not support non-Variable tensors when eager execution is enabled."
    )


def _graph_of(variables: list[Any]) -> Graph | None:
    if here.graph is not None:
        return here.graph  # type: ignore[no-any-return]
    return next((variable.graph for variable in variables if not isinstance(variable, Variable)), None)


def _first(variable: Any) -> Any:
    return variable.initialized_value() if isinstance(variable, RefVariable) else read(variable)
