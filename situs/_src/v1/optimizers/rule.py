"""Optimizers of TensorFlow 1 that are one op, fully described by its arguments.

    Rule(apply_momentum, slots=("momentum",), hyper={"lr": "_learning_rate_tensor", ...})

A `RuleOptimizer` has such a rule, and another one for sparse gradients. In eager code all of its variables are updated
together; if a class overrides one of the methods for single variables, that method is called instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import torch

from situs._src.base.devices.scope import here
from situs._src.base.dtype import DType
from situs._src.base.errors import DTypeError, shown
from situs._src.base.tensor import is_tensor
from situs._src.ir.registry.op import find_op
from situs._src.ops.array import shape
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.slices import IndexedSlices
from situs._src.runtime.eager.bridge import TORCH_DTYPE
from situs._src.v1.optimizers.base import Optimizer
from situs._src.variables.apply_ops import Apply, hyper_dtype
from situs._src.variables.apply_updates import Update, do_all, make


class Rule(NamedTuple):
    """What changes a variable.

    Attributes:
        apply: The op.
        slots: The names of its states after the variable.
        hyper: For its hyperparameters the attributes of the optimizer that hold them.
        attrs: The attributes of the op.
    """

    apply: Apply
    slots: tuple[str, ...] = ()
    hyper: Mapping[str, str] = {}
    attrs: Mapping[str, Any] = {}


class RuleOptimizer(Optimizer):
    """The base of optimizers that are one op.

    A subclass lists in `_parameters` its hyperparameters: the attribute for the tensor, the attribute with what the
    program gave, and the name of the operation.
    """

    _parameters: ClassVar[tuple[tuple[str, str, str], ...]] = ()

    def _rule(self) -> Rule:
        """What changes a variable by a whole gradient."""
        raise NotImplementedError

    def _rows_rule(self) -> Rule | None:
        """What changes a variable by a gradient of some rows; None to make it whole first."""
        return None

    def _prepare(self) -> None:
        for tensor, given, name in self._parameters:
            value = self._call_if_callable(getattr(self, given))
            setattr(self, tensor, value if here.graph is None else convert_to_tensor(value, name=name))
        self._hyper_known: dict[Any, dict[str, Any]] = {}

    # One variable.

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        return _do(self._whole(grad, var))

    def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
        return _do(self._whole(grad, handle))

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        return _do(self._rows(grad.values, var, grad.indices))

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        return _do(self._rows(grad, handle, indices))

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Any) -> Any:
        if type(self)._apply_sparse is not RuleOptimizer._apply_sparse:
            return super()._apply_sparse_duplicate_indices(grad, var)
        return self._apply_sparse(grad, var)  # kernels add up rows that are named twice

    def _resource_apply_sparse_duplicate_indices(self, grad: Any, handle: Any, indices: Any) -> Any:
        if type(self)._resource_apply_sparse is not RuleOptimizer._resource_apply_sparse:
            return super()._resource_apply_sparse_duplicate_indices(grad, handle, indices)
        return self._resource_apply_sparse(grad, handle, indices)

    # All of them.

    def _updates(self, pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
        if here.graph is not None or self._has_methods_of_its_own or any(v.constraint is not None for _, v in pairs):
            return super()._updates(pairs)
        make([self._update_of(grad, variable) for grad, variable in pairs])
        return []

    @property
    def _has_methods_of_its_own(self) -> bool:
        names = ("_resource_apply_dense", "_resource_apply_sparse", "_resource_apply_sparse_duplicate_indices")
        return any(getattr(type(self), name) is not getattr(RuleOptimizer, name) for name in names)

    def _update_of(self, grad: Any, variable: Any) -> Update:
        if isinstance(grad, IndexedSlices):
            return self._rows(grad.values, variable, grad.indices)
        return self._whole(grad, variable)

    def _whole(self, grad: Any, variable: Any) -> Update:
        rule = self._rule()
        return Update(rule.apply, self._states(rule, variable), grad, self._hyper(rule, variable.dtype), rule.attrs)

    def _rows(self, values: Any, variable: Any, indices: Any) -> Update:
        rule = self._rows_rule()
        if rule is None:
            return self._whole(find_op("UnsortedSegmentSum")(values, indices, _rows_of(variable)), variable)
        states, hyper = self._states(rule, variable), self._hyper(rule, variable.dtype)
        return Update(rule.apply, states, values, hyper, rule.attrs, indices)

    def _states(self, rule: Rule, variable: Any) -> tuple[Any, ...]:
        return variable, *(self.get_slot(variable, name) for name in rule.slots)

    def _hyper(self, rule: Rule, dtype: DType) -> dict[str, Any]:
        """The hyperparameters of the op for variables of a dtype: the same object for all of them."""
        dtype = hyper_dtype(dtype)
        key = rule.apply, dtype, here.graph
        if key not in self._hyper_known:
            convert = _rounded if here.graph is None else _as_tensor
            hyper = {name: convert(getattr(self, attribute), dtype) for name, attribute in rule.hyper.items()}
            self._hyper_known[key] = hyper
        return self._hyper_known[key]


def _do(update: Update) -> Any:
    operations = do_all([update])
    return operations[0] if operations else None


def _as_tensor(value: Any, dtype: DType) -> Any:
    return cast(convert_to_tensor(value), dtype)


def _rounded(value: Any, dtype: DType) -> Any:
    """A number as one of a dtype; a tensor as it is."""
    if is_tensor(value):
        return value
    try:
        return torch.tensor(value, dtype=TORCH_DTYPE[dtype]).item()
    except (TypeError, ValueError, RuntimeError):
        raise DTypeError(
            f"Hyperparameters of an optimizer are numbers and scalar tensors, got {shown(value)}."
        ) from None


def _rows_of(variable: Any) -> Any:
    known = variable.shape.rank and variable.shape[0] is not None
    return variable.shape[0] if known else shape(variable)[0]
