"""The ops of optimizers: each updates a variable and its slots in place.

    ApplyAdam(var&, m&, v&, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad)

They are TensorFlow's, and some of ours in the same style. Their kernels work on many variables at a time
(`variables.apply_kernels`); one operation is a list of one. A plan fuses those with the same hyperparameters into one
call (`runtime.passes.fuse_updates`); eager optimizers call `Apply.change` with all of their variables.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np
import torch

from situs._src.base.dtype import FLOATING, INDEX, DType, float32
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.shapes import TensorShape, brackets
from situs._src.ir.registry.op import Op
from situs._src.ops.define import CPU, GPU, op
from situs._src.runtime.eager.cell import Cell
from situs._src.runtime.eager.in_place import rewrite, with_room
from situs._src.runtime.eager.shown import is_shown
from situs._src.variables import apply_kernels as kernels
from situs._src.variables.apply_rows import on_rows, subtract_rows
from situs._src.variables.state_ops import merged

_OWN = frozenset({"grad", "delta", "value", "decay"})  # inputs that differ from variable to variable, besides states


_shape = attrgetter("shape")
Change = tuple[list[list[Any]], list[torch.Tensor], dict[str, Any], Mapping[str, Any]]  # states, gradients, the rest


class Apply:
    """What changes variables: an op of graphs, and the kernel behind it.

    Args:
        declared: The op. Its first inputs are states.
        kernel: A function of `variables.apply_kernels`, or of rows.

    Attributes:
        states: How many states the op has; the variable is the first.
        joint: Which input is the gradient.
        numbers: Which inputs are hyperparameters: constants among them are plain numbers to a compiler.
    """

    def __init__(self, declared: Op, kernel: Callable[..., None]) -> None:
        self.op = declared
        self.states = sum(arg.is_ref for arg in declared.inputs)
        names = [arg.name for arg in declared.inputs]
        self.joint = next(number for number, name in enumerate(names) if name in _OWN)
        self.hyper = [name for name in names[self.states :] if name not in (names[self.joint], "indices")]
        self.numbers = [number for number, name in enumerate(names) if name in self.hyper]
        self._inputs = names
        self._is_whole = "indices" not in names and names[self.joint] != "decay"
        self._kernel = kernel

    def change(
        self,
        cells: Sequence[Sequence[Cell]],
        grads: Sequence[torch.Tensor],
        hyper: Mapping[str, Any],
        attrs: Mapping[str, Any],
    ) -> None:
        """Changes variables in one go.

        Args:
            cells: For each state of the op the cells of all variables.
            grads: Their gradients, on their device.
            hyper: The other inputs, by name: numbers, or scalar tensors.
            attrs: The attributes; for an op of rows, the ``indices`` of each variable's as well.

        Raises:
            InvalidArgumentError: a gradient has another shape than its variable, or a hyperparameter is not a scalar.
        """
        numbers = as_numbers(hyper)
        count = len(grads)

        def write(values: list[torch.Tensor]) -> None:
            states = [values[start : start + count] for start in range(0, len(values), count)]
            if self._is_whole:
                _check_shapes(cells[0], states[0], grads)
            self._kernel(states, list(grads), partial(_room, cells[0][0], states[0]), **numbers, **attrs)

        rewrite(list(chain.from_iterable(cells)), write)

    def write(
        self,
        states: Sequence[Sequence[torch.Tensor]],
        grads: Sequence[torch.Tensor],
        hyper: Mapping[str, Any],
        attrs: Mapping[str, Any],
    ) -> None:
        """Writes into the memory of variables what `change` makes of them; shapes must be right."""
        own = [list(state) for state in states]
        self._kernel(own, list(grads), lambda: list(map(torch.empty_like, own[0])), **as_numbers(hyper), **attrs)

    def __call__(self, *inputs: Any, **attrs: Any) -> torch.Tensor:
        """What the variable becomes, computed from values: this is how a kernel is run on paper."""
        given = dict(zip(self._inputs, inputs, strict=True))
        states: list[list[torch.Tensor]] = [[value.clone()] for value in inputs[: self.states]]
        if "indices" in given:
            attrs["indices"] = [given["indices"]]
        self.write(states, [inputs[self.joint]], {name: given[name] for name in self.hyper}, attrs)
        return states[0][0]

    def hyper_in(self, inputs: Sequence[Any]) -> dict[str, Any]:
        """The hyperparameters among the inputs, by name."""
        return {name: value for name, value in zip(self._inputs, inputs, strict=True) if name in self.hyper}

    def on_cells(self, attrs: Mapping[str, Any]) -> OnCells:
        """What a plan calls for an operation with these attributes: a function of the cells of states."""
        return OnCells(self, attrs)


class OnCells:
    """An update as a plan calls it: cells come in where the op has states, and the first of them goes out.

    Attributes:
        states: How many states there are, the first inputs.
        joint: Which input is the variable's own, besides states; `fuse_updates` puts those of others there.
        kind: What updates that may be made together share besides their hyperparameters; None if none may.
        numbers: Which inputs are hyperparameters.
    """

    def __init__(self, apply: Apply, attrs: Mapping[str, Any]) -> None:
        self._apply = apply
        self._attrs = dict(attrs)
        self.states = apply.states
        self.joint = apply.joint
        self.numbers = apply.numbers
        self.kind: Hashable = None if "indices" in apply._inputs else (apply.op.name, *sorted(attrs.items()))

    def __call__(self, *inputs: Any) -> Cell:
        """Changes one variable."""
        self._apply.change(*self._alone(inputs))
        return inputs[0]  # type: ignore[no-any-return]

    def on_memory(self, *inputs: Any) -> torch.Tensor:
        """Does the same with tensors instead of cells."""
        self._apply.write(*self._alone(inputs))
        return inputs[0]  # type: ignore[no-any-return]

    @property
    def together(self) -> Together:
        """What changes several variables."""
        return Together(self._apply, self._attrs)

    def _alone(self, inputs: Sequence[Any]) -> Change:
        given = dict(zip(self._apply._inputs, inputs, strict=True))
        attrs = {**self._attrs, "indices": [given["indices"]]} if "indices" in given else self._attrs
        states = [[state] for state in inputs[: self.states]]
        return states, [inputs[self.joint]], self._apply.hyper_in(inputs), attrs


class Together:
    """Updates of several variables, as a plan calls them.

    The joint input is a list: the gradient of the last variable, then the states and gradients of the others.
    """

    def __init__(self, apply: Apply, attrs: Mapping[str, Any]) -> None:
        self.apply = apply
        self.numbers = apply.numbers
        self._attrs = attrs

    def __call__(self, *inputs: Any) -> Cell:
        """Changes the variables."""
        self.apply.change(*self._apart(inputs))
        return inputs[0]  # type: ignore[no-any-return]

    def on_memory(self, *inputs: Any) -> torch.Tensor:
        """Does the same with tensors instead of cells."""
        self.apply.write(*self._apart(inputs))
        return inputs[0]  # type: ignore[no-any-return]

    def _apart(self, inputs: Sequence[Any]) -> Change:
        grad, *others = inputs[self.apply.joint]
        one = self.apply.states + 1
        states = [[own, *others[n::one]] for n, own in enumerate(inputs[: self.apply.states])]
        return states, [grad, *others[one - 1 :: one]], self.apply.hyper_in(inputs), self._attrs


def _room(cell: Cell, like: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return with_room(cell, lambda: list(map(torch.empty_like, like)))


def as_numbers(hyper: Mapping[str, Any]) -> dict[str, Any]:
    """Hyperparameters, as numbers if they are known on the host.

    Raises:
        InvalidArgumentError: one of them is not a scalar, or no number at all.
    """
    return {name: _as_number(name, value) for name, value in hyper.items()}


def _as_number(name: str, value: Any) -> Any:
    """A hyperparameter as a number, if it is known on the host."""
    if isinstance(value, (int, float)) and not isinstance(value, np.generic):
        return value
    if not hasattr(value, "ndim"):
        raise DTypeError(f"{name} is not a number: {shown(value)}")
    if value.ndim:
        raise ArgumentError(f"{name} is not a scalar: {brackets(list(value.shape))}")
    if isinstance(value, torch.Tensor) and value.device.type != "cpu":
        return value
    return value.double() if is_shown() else value.item()  # the precision in which Python computes


def _check_shapes(cells: Sequence[Cell], values: Sequence[torch.Tensor], grads: Sequence[torch.Tensor]) -> None:
    if list(map(_shape, values)) == list(map(_shape, grads)):
        return
    for cell, value, grad in zip(cells, values, grads, strict=True):
        if value.shape != grad.shape:
            raise ArgumentError(
                f"var and grad do not have the same shape{brackets(list(value.shape))} {brackets(list(grad.shape))}: "
                f"variable '{cell.name}'"
            )


# Declaring them.


def _apply(name: str, states: str, inputs: str, kernel: Callable[..., None], **attrs: Any) -> Apply:
    """Declares an op; `states` and `inputs` are the names of its inputs."""
    given = [f"{word}: T&" for word in states.split()]
    given += [f"{word}: {_type_of(word)}" for word in inputs.split()]
    types: dict[str, Any] = {"Tindices": INDEX} if "indices" in inputs else {}
    made = op(name, f"{', '.join(given)} -> out: T&", stateful=True, T=FLOATING, S=FLOATING, **types, **attrs)
    apply = Apply(made, kernel)
    made.shape(_shape_rule(apply))
    made.kernel(CPU, GPU)(apply)
    made.stops_gradients()
    return apply


def _type_of(word: str) -> str:
    if word == "indices":
        return "Tindices"
    return "T" if word in _OWN and word != "decay" else "S"  # a hyperparameter may be more precise than the variable


def hyper_dtype(dtype: DType) -> DType:
    """The dtype of hyperparameters: at least float32, in which 0.999 is not 1."""
    return dtype if dtype.size >= 4 else float32


def _shape_rule(apply: Apply) -> Callable[..., TensorShape]:
    def rule(*inputs: Any, **attrs: Any) -> TensorShape:
        var, grad = inputs[0], inputs[apply.joint]
        for name, shape in zip(apply._inputs, inputs, strict=True):
            if name in apply.hyper and shape.rank:
                raise ArgumentError(f"Shape must be rank 0 but is rank {shape.rank}: {name} is one number")
        whole = apply._is_whole and not isinstance(grad, list)  # a list where a plan has joined several
        return merged(var, grad) if whole else var

    return rule


apply_gradient_descent = _apply("ApplyGradientDescent", "var", "alpha delta", kernels.gradient_descent)
apply_momentum = _apply("ApplyMomentum", "var accum", "lr grad momentum", kernels.momentum, use_nesterov=False)
apply_keras_momentum = _apply(
    "ApplyKerasMomentum", "var accum", "lr grad momentum", kernels.keras_momentum, use_nesterov=False
)
apply_adam = _apply(
    "ApplyAdam",
    "var m v",
    "beta1_power beta2_power lr beta1 beta2 epsilon grad",
    kernels.adam,
    use_nesterov=False,
)
# Keras knows these numbers when it builds a graph, and computes 1 - 0.999 before it rounds: as inputs they would be
# rounded first.
_KERAS_ADAM: dict[str, float] = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-7}
apply_adam_w = _apply(
    "ApplyAdamW", "var m v", "beta1_power beta2_power lr grad", kernels.adam, **_KERAS_ADAM, weight_decay=0.0
)
apply_adam_with_amsgrad = _apply(
    "ApplyAdamWithAmsgrad", "var m v vhat", "beta1_power beta2_power lr grad", kernels.adam, **_KERAS_ADAM
)
apply_ada_max = _apply("ApplyAdaMax", "var m v", "beta1_power lr beta1 beta2 epsilon grad", kernels.adamax)
apply_nadam = _apply(
    "ApplyNadam", "var m v", "lr beta1 beta2 epsilon beta2_power now after product grad", kernels.nadam
)
apply_lion = _apply("ApplyLion", "var m", "lr beta1 beta2 grad", kernels.lion)
apply_adagrad = _apply("ApplyAdagrad", "var accum", "lr grad", kernels.adagrad, update_slots=True)
apply_adagrad_v2 = _apply("ApplyAdagradV2", "var accum", "lr epsilon grad", kernels.adagrad, update_slots=True)
apply_keras_adagrad = _apply("ApplyKerasAdagrad", "var accum", "lr epsilon grad", kernels.adagrad, under_root=True)
apply_adadelta = _apply("ApplyAdadelta", "var accum accum_update", "lr rho epsilon grad", kernels.adadelta)
apply_rms_prop = _apply("ApplyRMSProp", "var ms mom", "lr rho momentum epsilon grad", kernels.rms_prop)
apply_plain_rms_prop = _apply("ApplyPlainRMSProp", "var ms", "lr rho epsilon grad", kernels.rms_prop)
apply_centered_rms_prop = _apply(
    "ApplyCenteredRMSProp", "var mg ms mom", "lr rho momentum epsilon grad", kernels.centered_rms_prop
)
apply_plain_centered_rms_prop = _apply(
    "ApplyPlainCenteredRMSProp", "var mg ms", "lr rho epsilon grad", kernels.centered_rms_prop
)
apply_ftrl = _apply("ApplyFtrl", "var accum linear", "grad lr l1 l2 lr_power", kernels.ftrl)
apply_ftrl_v2 = _apply("ApplyFtrlV2", "var accum linear", "grad lr l1 l2 l2_shrinkage lr_power", kernels.ftrl)
apply_proximal_gradient_descent = _apply(
    "ApplyProximalGradientDescent", "var", "alpha l1 l2 delta", kernels.proximal_descent
)
apply_proximal_adagrad = _apply("ApplyProximalAdagrad", "var accum", "lr l1 l2 grad", kernels.proximal_adagrad)
apply_moving_average = _apply("ApplyMovingAverage", "var", "rate value", kernels.moving_average)
apply_weight_decay = _apply("ApplyWeightDecay", "var", "lr decay", kernels.weight_decay)

# Of some rows only.

sparse_apply_gradient_descent = _apply("SparseApplyGradientDescent", "var", "alpha grad indices", subtract_rows)
sparse_apply_momentum = _apply(
    "SparseApplyMomentum", "var accum", "lr grad indices momentum", on_rows(kernels.momentum), use_nesterov=False
)
sparse_apply_adagrad = _apply(
    "SparseApplyAdagrad", "var accum", "lr grad indices", on_rows(kernels.adagrad), update_slots=True
)
sparse_apply_proximal_gradient_descent = _apply(
    "SparseApplyProximalGradientDescent", "var", "alpha l1 l2 grad indices", on_rows(kernels.proximal_descent)
)
sparse_apply_proximal_adagrad = _apply(
    "SparseApplyProximalAdagrad", "var accum", "lr l1 l2 grad indices", on_rows(kernels.proximal_adagrad)
)
sparse_apply_adadelta = _apply(
    "SparseApplyAdadelta", "var accum accum_update", "lr rho epsilon grad indices", on_rows(kernels.adadelta)
)
sparse_apply_rms_prop = _apply(
    "SparseApplyRMSProp", "var ms mom", "lr rho momentum epsilon grad indices", on_rows(kernels.rms_prop)
)
sparse_apply_centered_rms_prop = _apply(
    "SparseApplyCenteredRMSProp",
    "var mg ms mom",
    "lr rho momentum epsilon grad indices",
    on_rows(kernels.centered_rms_prop),
)
sparse_apply_ftrl = _apply(
    "SparseApplyFtrl", "var accum linear", "grad indices lr l1 l2 lr_power", on_rows(kernels.ftrl)
)
sparse_apply_ftrl_v2 = _apply(
    "SparseApplyFtrlV2", "var accum linear", "grad indices lr l1 l2 l2_shrinkage lr_power", on_rows(kernels.ftrl)
)
