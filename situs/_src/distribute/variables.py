"""Variables of a strategy: one component per device, which is what the ops, tapes and graphs of a replica see.

    with strategy.scope():
        v = tf.Variable(1.0)            MirroredVariable: v:0 on GPU:0, v/replica_1:0 on GPU:1

In a replica context it acts as its component. In the cross-replica context it is read on the current device, and an
assignment updates all components.

    MirroredVariable      all components have the same value; updates by replicas are aggregated first
    SyncOnReadVariable    each replica updates its own; they are aggregated on a cross-replica read
    AggregatingVariable   one component for all replicas, on the parameter device
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from situs._src.base.devices.scope import device, generation, here
from situs._src.base.errors import ArgumentError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, is_tensor, read
from situs._src.distribute import context
from situs._src.distribute.reduction import ReduceOp, divided, summed
from situs._src.distribute.values import DistributedValues, select
from situs._src.ir.registry.op import Op
from situs._src.ops.array import identity
from situs._src.ops.cast import cast
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.slices import IndexedSlices
from situs._src.variables import scatter_ops, state_ops
from situs._src.variables.eager import Variable
from situs._src.variables.replication import VariableAggregation as Aggregation
from situs._src.variables.replication import VariableSynchronization as Synchronization

# Changes of rows that several replicas can make together, and those where one has to be chosen.
_CHANGES_OF_ROWS = (
    scatter_ops.scatter_add,
    scatter_ops.scatter_sub,
    scatter_ops.scatter_mul,
    scatter_ops.scatter_div,
)
_CHOICES_OF_ROWS = (scatter_ops.scatter_update, scatter_ops.scatter_min, scatter_ops.scatter_max)


def _of_first(strategy: Any, *values: Any) -> tuple[Any, ...]:
    """What the first replica gives, for all."""
    return tuple(strategy.extended.from_first(each) for each in values)


class DistributedVariable(Variable, DistributedValues):
    """A variable with components on several devices; created by `made_of`."""

    _components: tuple[Variable, ...]
    _strategy: Any

    @classmethod
    def made_of(cls, strategy: Any, components: Sequence[Variable], aggregation: Aggregation) -> DistributedVariable:
        """A variable with these components.

        Args:
            strategy: The strategy.
            components: The variables of devices, in the order of replicas.
            aggregation: How updates by replicas are aggregated.
        """
        made = object.__new__(cls)
        first = components[0]
        made._components = made._values = tuple(components)
        made._strategy = strategy
        made.constraint, made.trainable = first.constraint, first.trainable
        made._synchronization, made._aggregation = first._synchronization, aggregation
        made._name, made._shape, made._made_by = first._name, first._shape, first._made_by
        made._memo, made._rules = {}, generation()
        for component in components:
            component._distributed_container = lambda: made  # type: ignore[attr-defined]
        return made

    @property
    def values(self) -> tuple[Variable, ...]:
        """The components."""
        self.is_told = True
        return self._components

    @property
    def distribute_strategy(self) -> Any:
        """The strategy that it was created under."""
        return self._strategy

    def _component(self) -> Variable:
        """The component that this thread's ops use."""
        number = context.replica_number()
        if number is not None and len(self._components) > 1:
            if self.is_told:
                context.differs(f"a component of the variable '{self._name}', which the program may have got before")
            return self._components[number]
        return self._components[0]

    @property
    def _primary(self) -> Variable:
        return self._components[0]

    # Attributes of the current component.

    @property
    def device(self) -> str:
        """The full name of the component's device."""
        context.differs(f"the device of the variable '{self._name}'")
        return self._component().device

    @property
    def _cell(self) -> Any:  # type: ignore[override]
        return self._component()._cell

    @property
    def _key(self) -> int:  # type: ignore[override]
        return self._component()._key

    @property
    def _unique_id(self) -> str:
        return self._components[0]._unique_id

    @property
    def handle(self) -> Any:
        """The handle of the current component."""
        return self._component().handle

    def __tensor__(self) -> Tensor:
        return self._component().__tensor__()

    @property
    def _tensor(self) -> Any:
        return read(self) if here.graph is None else self._component()._tensor

    # Updates.

    def _changed(self) -> tuple[Variable, ...]:
        """The components that an update in the cross-replica context changes."""
        return self._components[:1] if context.stack.saves else self._components

    def _change(self, update: Op, value: Any, name: str | None, read_value: bool = True) -> Any:
        if context.replica_number() is None:
            for number, component in enumerate(self._changed()):
                with device(component.device):
                    component._change(update, self._for_component(update, value, number), name, read_value)
            return self if read_value else None
        return self._change_in_replica(update, value, name, read_value)

    def _for_component(self, update: Op, value: Any, number: int) -> Any:
        return select(value, number)

    def _change_in_replica(self, update: Op, value: Any, name: str | None, read_value: bool) -> Any:
        self._component()._change(update, self._aggregated(value), name, read_value)
        return self if read_value else None

    def _update(self, update: Op, inputs: tuple[Any, ...], attrs: dict[str, Any], name: str | None) -> Any:
        if update in (state_ops.assign, state_ops.assign_add, state_ops.assign_sub):
            return self._change(update, inputs[0], name)
        if not context.stack.saves:
            self._check_rows(update)
        if context.replica_number() is not None:
            is_of_rows = update in (*_CHANGES_OF_ROWS, *_CHOICES_OF_ROWS)
            given = self._aggregated_rows(*inputs) if is_of_rows else inputs
            self._component()._update(update, given, attrs, name)
            return self
        for number, component in enumerate(self._changed()):
            component._update(update, tuple(select(each, number) for each in inputs), attrs, name)
        return self

    def _aggregated(self, value: Any) -> Any:
        """The aggregate of the values of all replicas."""
        replicas = self._strategy.num_replicas_in_sync
        if replicas == 1 or self._aggregation is Aggregation.NONE:
            return value
        if not is_tensor(value) and not hasattr(value, "__array__"):  # a number of Python's: the same for all
            if self._aggregation is Aggregation.SUM and value:
                raise ArgumentError(
                    f"The variable '{self.name}' takes the sum of what replicas give it, and {shown(value)} is a value "
                    "of Python's, of which it is not known whether it is for all of them or for each. Give a tensor "
                    f"for each, as tf.constant({value!r}), or assign it outside of strategy.run()."
                )
            return value
        replica = context.get_replica_context()
        if self._aggregation is Aggregation.ONLY_FIRST_REPLICA:
            return replica.merge_call(_of_first, args=(read(value),))[0]
        op = ReduceOp.SUM if self._aggregation is Aggregation.SUM else ReduceOp.MEAN
        return replica.all_reduce(op, identity(read(value)))  # each has one, even if all were given the same

    def _aggregated_rows(self, indices: Any, values: Any) -> tuple[Any, Any]:
        """The same for rows: those of all replicas."""
        replicas = self._strategy.num_replicas_in_sync
        if replicas == 1 or self._aggregation is Aggregation.NONE:
            return indices, values
        replica = context.get_replica_context()
        given = convert_to_tensor(read(indices)), convert_to_tensor(read(values), dtype=self.dtype)
        if self._aggregation is Aggregation.ONLY_FIRST_REPLICA:
            return tuple(replica.merge_call(_of_first, args=given))
        op = ReduceOp.SUM if self._aggregation is Aggregation.SUM else ReduceOp.MEAN
        rows = replica.all_reduce(op, IndexedSlices(identity(given[1]), identity(given[0])))
        return rows.indices, rows.values

    def _check_rows(self, update: Op) -> None:
        """Raises where changes of rows by several replicas cannot become one."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        components = [deepcopy(component, memo) for component in self._components]
        made = type(self).made_of(self._strategy, components, self._aggregation)
        memo[id(self)] = made
        return made

    def __repr__(self) -> str:
        parts = (f"  {number}: {value!r}" for number, value in enumerate(self._components))
        return f"{type(self).__name__}:{{\n" + ",\n".join(parts) + "\n}"


@export("types.experimental.distributed.Mirrored")
class MirroredVariable(DistributedVariable):
    """Components that have the same value."""

    @property
    def synchronization(self) -> Synchronization:
        """When components are synchronized: when they are updated."""
        return Synchronization.ON_WRITE

    def _check_rows(self, update: Op) -> None:
        if update in _CHOICES_OF_ROWS and self._aggregation in (Aggregation.SUM, Aggregation.MEAN):
            raise UnimplementedError(
                f"{update.name} of the variable '{self.name}' has no meaning for the {self._aggregation.name.lower()} "
                "of what replicas give: make it with the aggregation NONE or ONLY_FIRST_REPLICA."
            )


class SyncOnReadVariable(DistributedVariable):
    """Components that each replica updates separately."""

    def _change_in_replica(self, update: Op, value: Any, name: str | None, read_value: bool) -> Any:
        self._component()._change(update, value, name, read_value)
        return self if read_value else None

    def _aggregated_rows(self, indices: Any, values: Any) -> tuple[Any, Any]:
        return indices, values

    def _check_rows(self, update: Op) -> None:
        if update in (*_CHANGES_OF_ROWS, *_CHOICES_OF_ROWS) and context.replica_number() is None:
            raise UnimplementedError(
                f"{update.name} of the variable '{self.name}', which each replica changes by itself (ON_READ), is for "
                "strategy.run(): outside of it there is no one value whose rows could be changed."
            )

    def _for_component(self, update: Op, value: Any, number: int) -> Any:
        """In the cross-replica context a sum is distributed over components, so that reading returns it."""
        if self._aggregation is not Aggregation.SUM or context.stack.saves:
            return super()._for_component(update, value, number)
        if update is not state_ops.assign:
            raise ArgumentError(
                "SyncOnReadVariable does not support `assign_add` or `assign_sub` in the cross-replica context when "
                "aggregation is set to `tf.VariableAggregation.SUM`."
            )
        share = convert_to_tensor(read(select(value, number))) / self._strategy.num_replicas_in_sync
        return cast(share, self.dtype)

    def __tensor__(self) -> Tensor:
        replicas = self._strategy.num_replicas_in_sync
        if context.replica_number() is not None or replicas == 1 or context.stack.saves:
            return self._component().__tensor__()
        if self._aggregation is Aggregation.ONLY_FIRST_REPLICA:
            return self._strategy.extended.from_first(self._components[0].__tensor__())  # type: ignore[no-any-return]
        if self._aggregation is Aggregation.NONE:
            raise ArgumentError(
                f"The variable '{self.name}' has a value for each replica and no aggregation, so it has none for all "
                "of them. Read it in strategy.run(), or make it with an aggregation."
            )
        with device(self._primary.device):
            total = self._strategy.extended.across([summed([each.__tensor__() for each in self._components])])[0]
            is_mean = self._aggregation is Aggregation.MEAN
            return divided(total, replicas) if is_mean else identity(total)


class AggregatingVariable(DistributedVariable):
    """One component, which all replicas use."""

    def _change_in_replica(self, update: Op, value: Any, name: str | None, read_value: bool) -> Any:
        component = self._components[0]
        if self._strategy.num_replicas_in_sync == 1:
            component._change(update, value, name, read_value)
            return self if read_value else None
        if self._aggregation is Aggregation.NONE:
            raise ArgumentError(
                f"The variable '{self.name}' is one for all replicas, and these change it: make it with an "
                "aggregation, which says what becomes of the values that they give (MEAN, SUM or ONLY_FIRST_REPLICA "
                "of tf.VariableAggregation), or change it outside of strategy.run()."
            )
        op = ReduceOp.MEAN if self._aggregation is Aggregation.MEAN else ReduceOp.SUM
        first_only = self._aggregation is Aggregation.ONLY_FIRST_REPLICA

        def together(strategy: Any, values: Any) -> None:
            changed = select(values, 0) if first_only else strategy.reduce(op, values)
            component._change(update, changed, name, read_value)

        context.get_replica_context().merge_call(together, args=(read(value) if is_tensor(value) else value,))
        return self if read_value else None


def kind_of(synchronization: Synchronization) -> type[DistributedVariable]:
    """The class of variable to create."""
    return SyncOnReadVariable if synchronization is Synchronization.ON_READ else MirroredVariable
