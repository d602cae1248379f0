"""``tf.optimizers.Optimizer``: what the optimizers of Keras share.

    apply_gradients(pairs)
      build          slots for all variables, the first time
      clip, decay    what the arguments ask to be done to gradients and variables
      update_step    for each variable; the optimizers of this package change all of them together
      iterations     counts the step

In a ``tf.function`` the same is added to its graph.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from situs._src.autodiff.tape import GradientTape
from situs._src.base import dtype as dt
from situs._src.base.devices.scope import here
from situs._src.base.errors import ArgumentError, DTypeError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.base.tensor import read
from situs._src.base.tree import flatten, listed
from situs._src.ir.graph.context import name_scope
from situs._src.keras.optimizers import arguments, processing
from situs._src.keras.optimizers.known import Known
from situs._src.keras.optimizers.own_variables import Keeper
from situs._src.keras.optimizers.rate import Rate
from situs._src.keras.optimizers.schedules import deserialize as deserialize_schedule
from situs._src.keras.optimizers.update import Update, do_all
from situs._src.ops.cast import cast
from situs._src.ops.compare import equal, not_equal
from situs._src.ops.constant import constant, zeros_like
from situs._src.ops.control import cond
from situs._src.ops.slices import IndexedSlices
from situs._src.variables.apply_ops import apply_moving_average, apply_weight_decay
from situs._src.variables.eager import Variable
from situs._src.variables.symbolic import RefVariable


@export(
    "optimizers.Optimizer",
    "keras.optimizers.Optimizer",
    "optimizers.legacy.Optimizer",
    "keras.optimizers.legacy.Optimizer",
    v1=(),
)
class Optimizer(Keeper):
    """The base of the optimizers of Keras.

    A class of one's own overrides `build`, which makes its variables, and `update_step`, which changes one variable.

    Args:
        learning_rate: A number, a schedule, or a function of nothing that gives a number.
        weight_decay: How much of a variable is taken away in each step, times the learning rate.
        clipnorm: The largest norm of each gradient.
        clipvalue: The largest element of gradients.
        global_clipnorm: The largest norm of all gradients together.
        use_ema: Whether moving averages of variables are kept.
        ema_momentum: How slowly they forget.
        ema_overwrite_frequency: After how many steps variables become their averages; None for never.
        loss_scale_factor: What the loss was multiplied by; gradients are divided by it.
        gradient_accumulation_steps: How many gradients are averaged before variables are changed.
        name: A name; by default that of the class.
    """

    _arguments: ClassVar[tuple[str, ...]] = ()  # what a class takes besides, kept in attributes of these names

    def __init__(
        self,
        learning_rate: Any,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        arguments.check_rest(kwargs)
        arguments.check_clipping(clipnorm, clipvalue, global_clipnorm)
        arguments.check_averaging(use_ema, ema_momentum, ema_overwrite_frequency)
        arguments.check_accumulation(gradient_accumulation_steps)
        super().__init__(name)
        self.weight_decay = weight_decay
        self.clipnorm = clipnorm
        self.clipvalue = clipvalue
        self.global_clipnorm = global_clipnorm
        self.use_ema = use_ema
        self.ema_momentum = ema_momentum
        self.ema_overwrite_frequency = ema_overwrite_frequency
        self.loss_scale_factor = loss_scale_factor
        self.gradient_accumulation_steps = gradient_accumulation_steps
        self._trainable_variables: list[Any] = []
        self._places: dict[int, int] = {}  # of trainable variables, by id
        self._averages: list[Any] = []
        self._accumulated_gradients: list[Any] = []
        self._excluded: tuple[frozenset[int], tuple[re.Pattern[str], ...]] = frozenset(), ()
        self._iterations = self._keep(Variable(0, False, name=f"{self.name}/iteration", dtype=dt.int64))
        _check_eager(self._iterations)
        self._step = Known(self._iterations)
        self._learning_rate = Rate(learning_rate, f"{self.name}/learning_rate")
        if self._learning_rate.variable is not None:
            self._keep(self._learning_rate.variable)

    @property
    def iterations(self) -> Any:
        """How many steps have been made; with accumulation, how many changes."""
        if self.gradient_accumulation_steps:
            return read(self._iterations) // self.gradient_accumulation_steps
        return self._iterations

    def build(self, variables: Sequence[Any]) -> None:
        """Makes the variables that are kept beside those to be trained."""
        arguments.check_number(**{name: getattr(self, name) for name in self._arguments})
        variables = listed(variables, "variables")
        self._places = {id(variable): place for place, variable in enumerate(variables)}
        self._trainable_variables = variables
        if self.use_ema:
            self._averages = self.add_optimizer_variables(variables, "average")
        if self.gradient_accumulation_steps:
            self._accumulated_gradients = self.add_optimizer_variables(variables, "gradient_accumulator")
        self.built = True

    def _get_variable_index(self, variable: Any) -> int:
        try:
            return self._places[id(variable)]
        except KeyError:
            raise ArgumentError(
                f"Unknown variable: {shown(variable)}. This optimizer can only be called for the variables it was "
                "originally built with. When working with a new set of variables, you should recreate a new "
                "optimizer instance."
            ) from None

    @property
    def learning_rate(self) -> Any:
        """The learning rate of the next step: a variable, unless a schedule or a function gives it."""
        return self._learning_rate.at(self._iterations)

    @learning_rate.setter
    def learning_rate(self, learning_rate: Any) -> None:
        self._learning_rate.set(learning_rate)

    @property
    def lr(self) -> Any:
        """The old name of `learning_rate`."""
        return self.learning_rate

    @lr.setter
    def lr(self, learning_rate: Any) -> None:
        self.learning_rate = learning_rate

    # A step.

    def minimize(
        self, loss: Any, var_list: Any, grad_loss: Any = None, name: str | None = None, tape: Any = None
    ) -> Any:
        """Changes variables so that `loss` becomes less.

        Args:
            loss: A function of nothing that computes it; or a tensor, if there is a `tape`.
            var_list: The variables, or a function of nothing that returns them.
            grad_loss: The gradient of the loss; 1 by default.
            name: Accepted for TensorFlow's programs.
            tape: The tape under which the loss was computed.
        """
        if not callable(loss) and tape is None:
            raise ArgumentError("`tape` is required when a `Tensor` loss is passed. Pass a function, or a tape.")
        tape = GradientTape() if tape is None else tape
        if not isinstance(tape, GradientTape):
            raise DTypeError(f"`tape` must be a tf.GradientTape, got {shown(tape)}.")
        if callable(loss):
            with tape:
                if not callable(var_list):
                    tape.watch(var_list)
                loss = loss()
        variables = flatten(var_list() if callable(var_list) else var_list)
        return self.apply_gradients(zip(tape.gradient(loss, variables, grad_loss), variables, strict=True))

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
        experimental_aggregate_gradients: bool = True,
    ) -> Any:
        """Changes variables by their gradients, and returns the number of steps.

        Args:
            grads_and_vars: Pairs of a gradient and a variable. A gradient that is None is left out, with a warning.
            name: Accepted for TensorFlow's programs, as what follows.
            skip_gradients_aggregation: Does nothing.
            experimental_aggregate_gradients: Does nothing.
        """
        pairs = arguments.as_pairs(grads_and_vars)
        self.apply([grad for grad, _ in pairs], [variable for _, variable in pairs])
        return self._iterations

    def apply(self, grads: Sequence[Any], trainable_variables: Sequence[Any] | None = None) -> None:
        """Changes variables by their gradients.

        Args:
            grads: The gradients.
            trainable_variables: The variables; not needed after the first time, if they are the same.
        """
        grads = listed(grads, "gradients")
        if not grads:
            raise ArgumentError("No gradients provided for any variable.")
        with name_scope(self.name):
            variables = self._expected(grads, trainable_variables)
            grads, variables = processing.without_missing(grads, variables)
            if self.loss_scale_factor is not None:
                grads = processing.divided(grads, self.loss_scale_factor)
            self._accumulate_or_change(grads, variables)
            for variable in variables:
                if variable.constraint is not None:
                    variable.assign(variable.constraint(variable))
            self._count()

    def _expected(self, grads: Sequence[Any], given: Sequence[Any] | None) -> list[Any]:
        """The variables that gradients are for; the optimizer is built with them the first time."""
        if given is None:
            return self._built_for(grads)
        variables = listed(given, "variables")
        if len(grads) != len(variables):
            raise ArgumentError(f"Each variable has one gradient, got {len(grads)} for {len(variables)}.")
        if not self.built:
            for variable in variables:
                _check_eager(variable)
            self.build(variables)
        for variable in variables:
            self._get_variable_index(variable)  # raises for one that is new
        return variables

    def _built_for(self, grads: Sequence[Any]) -> list[Any]:
        """The variables that the optimizer was built with, to go with gradients that come alone."""
        if not self.built:
            raise ArgumentError(
                "When passing `grads` without `variables`, the optimizer must already be built on a list of variables. "
                "Call `optimizer.build(trainable_variables)` first. "
            )
        if len(grads) != len(self._trainable_variables):
            raise ArgumentError(
                "When passing `grads` as a list of gradient tensors, the gradients must match `optimizer.variables` "
                f"one-to-on. Received a list of {len(grads)} gradients, but the optimizer is tracking "
                f"{len(self._trainable_variables)} trainable variables."
            )
        return self._trainable_variables

    def _accumulate_or_change(self, grads: list[Any], variables: list[Any]) -> None:
        steps = self.gradient_accumulation_steps
        if not steps:
            self._change(grads, variables)
        else:
            sums = [self._accumulated_gradients[self._get_variable_index(variable)] for variable in variables]
            self._either(
                _ends_round(self._steps(), steps),
                lambda: self._change_by_mean(grads, sums, variables),
                lambda: _add_all(sums, grads),
            )
        if self.use_ema:
            self._average()

    def _change_by_mean(self, grads: list[Any], sums: list[Any], variables: list[Any]) -> None:
        steps = self.gradient_accumulation_steps
        means = [(read(g) + read(total)) / steps for g, total in zip(grads, sums, strict=True)]
        self._change(means, variables)
        for total in self._accumulated_gradients:
            total.assign(zeros_like(read(total)))

    def _change(self, grads: list[Any], variables: list[Any]) -> None:
        grads = processing.clipped(grads, self.clipnorm, self.global_clipnorm, self.clipvalue)
        rate = self._learning_rate.now(self._iterations, self._step)
        self._apply_weight_decay(variables, rate)
        self._update_all(grads, variables, rate)

    def _update_all(self, grads: list[Any], variables: list[Any], rate: Any) -> None:
        for grad, variable in zip(grads, variables, strict=True):
            self.update_step(grad, variable, rate)

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Changes one variable by its gradient."""
        raise UnimplementedError(f"{type(self).__name__} has no method update_step.")

    def _count(self) -> None:
        if here.graph is None:
            self._step.add(1)
        else:
            self._iterations.assign_add(1)

    # In eager code and in graphs.

    def _steps(self) -> Any:
        """How many steps have been made: a number in eager code, a tensor in a graph."""
        return self._step.number() if here.graph is None else read(self._iterations)

    def _changes(self) -> Any:
        """How often variables have been changed, which with accumulation is not in every step."""
        steps = self.gradient_accumulation_steps
        return self._steps() // steps if steps else self._steps()

    def _either(self, condition: Any, then: Any, otherwise: Any) -> None:
        if here.graph is None:
            (then if condition else otherwise)()
        else:
            cond(condition, lambda: _no_result(then), lambda: _no_result(otherwise))

    def assign(self, variable: Any, value: Any) -> None:
        """Gives a variable a value; slices replace its rows."""
        if isinstance(value, IndexedSlices):
            variable.scatter_update(value)
        else:
            variable.assign(cast(value, variable.dtype))

    def assign_add(self, variable: Any, value: Any) -> None:
        """Adds to a variable; slices are added to its rows."""
        if isinstance(value, IndexedSlices):
            variable.scatter_add(value)
        else:
            variable.assign_add(cast(value, variable.dtype))

    def assign_sub(self, variable: Any, value: Any) -> None:
        """Subtracts from a variable; slices are subtracted from its rows."""
        if isinstance(value, IndexedSlices):
            variable.scatter_sub(value)
        else:
            variable.assign_sub(cast(value, variable.dtype))

    # Weight decay.

    def exclude_from_weight_decay(self, var_list: Any = None, var_names: Any = None) -> None:
        """Leaves variables as large as they are.

        Args:
            var_list: The variables.
            var_names: Regular expressions: variables whose names match one.
        """
        if self.built:
            raise ArgumentError("`exclude_from_weight_decay()` can only be configured before the optimizer is built.")
        if isinstance(var_names, str):
            raise DTypeError(f"`var_names` is a list of regular expressions, got {shown(var_names)}.")
        variables = frozenset(map(id, listed(var_list or (), "variables")))
        self._excluded = variables, tuple(map(_pattern, listed(var_names or (), "regular expressions")))

    def _decays(self, variable: Any) -> bool:
        ids, patterns = self._excluded
        return id(variable) not in ids and not any(pattern.search(str(variable.name)) for pattern in patterns)

    def _apply_weight_decay(self, variables: Sequence[Any], rate: Any) -> None:
        if self.weight_decay is None:
            return
        steering = {"lr": rate}
        decay = [Update(apply_weight_decay, (v,), self.weight_decay, steering) for v in variables if self._decays(v)]
        do_all(decay)

    # Moving averages.

    def _average(self) -> None:
        steering = {"rate": self._averaging_rate()}
        pairs = list(zip(self._averages, self._trainable_variables, strict=True))
        do_all([Update(apply_moving_average, (average,), read(v), steering) for average, v in pairs])
        if self.ema_overwrite_frequency:
            self._either(
                _ends_round(self._changes(), self.ema_overwrite_frequency),
                lambda: self.finalize_variable_values(self._trainable_variables),
                lambda: None,
            )

    def _averaging_rate(self) -> Any:
        """How far averages go; all the way until variables have been changed once."""
        changes = self._changes()
        if here.graph is None:
            return 1.0 - (self.ema_momentum if changes else 0.0)
        return 1.0 - cast(not_equal(changes, 0), dt.float32) * self.ema_momentum

    def finalize_variable_values(self, var_list: Sequence[Any]) -> None:
        """Gives variables their averages as values, if averages are kept."""
        if self.use_ema:
            for variable in listed(var_list, "variables"):
                variable.assign(read(self._averages[self._get_variable_index(variable)]))

    # As data.

    def scale_loss(self, loss: Any) -> Any:
        """The loss times the factor by which gradients will be divided."""
        return loss if self.loss_scale_factor is None else loss * self.loss_scale_factor

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, and what is pickled, is made anew with the same arguments; as in Keras, it has made no step yet."""
        if self.built:
            warnings.warn(
                f"The optimizer {self.name!r} is copied without its {len(self.variables)} variables: the copy begins "
                "at step 0. tf.train.Checkpoint saves and restores them.",
                UserWarning,
                stacklevel=3,
            )
        return type(self).from_config, (self.get_config(),)

    def get_config(self) -> dict[str, Any]:
        """The arguments it was made with."""
        common = ("weight_decay", "clipnorm", "global_clipnorm", "clipvalue", "use_ema", "ema_momentum")
        more = ("ema_overwrite_frequency", "loss_scale_factor", "gradient_accumulation_steps", *self._arguments)
        rate = self._learning_rate.config()
        return {"name": self.name, "learning_rate": rate} | {name: getattr(self, name) for name in (*common, *more)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> Any:
        """An optimizer made with the arguments that `get_config` returned."""
        config = dict(config)
        if isinstance(config.get("learning_rate"), dict):
            config["learning_rate"] = deserialize_schedule(config["learning_rate"], custom_objects)
        return cls(**config)


def _ends_round(done: Any, length: int) -> Any:
    """Whether what comes after so many steps is the last one of a round of some length."""
    last = (done + 1) % length
    return last == 0 if here.graph is None else equal(last, 0)


def _add_all(variables: Sequence[Any], values: Sequence[Any]) -> None:
    for variable, value in zip(variables, values, strict=True):
        variable.assign_add(read(value))


def _no_result(action: Any) -> Any:
    action()
    return constant(0)


def _pattern(text: Any) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except (re.error, TypeError):
        raise ArgumentError(f"`var_names` are regular expressions, got {shown(text)}.") from None


def _check_eager(variable: Any) -> None:
    """Refuses the variables of graphs that sessions run."""
    if isinstance(variable, RefVariable):
        raise UnimplementedError(
            f"Variable '{variable.name}' belongs to a graph, and the optimizers of Keras work in eager code and in "
            "tf.function. Use one of tf.compat.v1.train, such as tf.compat.v1.train.AdamOptimizer."
        )
    if not isinstance(variable, Variable):
        raise DTypeError(f"Optimizers change variables, got {shown(variable)}. Make one with tf.Variable.")
