"""Variables of a strategy: one component for each device, which is what ops, tapes and graphs of a replica see.

    with strategy.scope():
        v = tf.Variable(1.0)            MirroredVariable: v:0 on GPU:0, v/replica_1:0 on GPU:1

In the context of a replica it is its component. In the cross-replica context it is read on the device at hand, and an
assignment changes all components.

    MirroredVariable      all components have the same value; a change by replicas is aggregated first
    SyncOnReadVariable    each replica changes its own; they become one where it is read for all
    AggregatingVariable   one component for all replicas, on the device of parameters
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from situs._src.base.devices.scope import device, generation, here
from situs._src.base.errors import ArgumentError, StateError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, is_tensor, read
from situs._src.distribute import context
from situs._src.distribute.reduction import ReduceOp, divided, summed
from situs._src.distribute.values import DistributedValues, select
from situs._src.ir.registry.op import Op
from situs._src.ops.array import identity
from situs._src.variables import state_ops
from situs._src.variables.eager import Variable
from situs._src.variables.replication import VariableAggregation as Aggregation
from situs._src.variables.replication import VariableSynchronization as Synchronization


class DistributedVariable(Variable, DistributedValues):
    """A variable with components on several devices; it is made by `made_of`."""

    _components: tuple[Variable, ...]
    _strategy: Any

    @classmethod
    def made_of(cls, strategy: Any, components: Sequence[Variable], aggregation: Aggregation) -> DistributedVariable:
        """A variable whose components these are.

        Args:
            strategy: The strategy.
            components: The variables of devices, in the order of replicas.
            aggregation: How changes by replicas become one.
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
        """The strategy that it was made under."""
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

    # What a variable is asked, of the component at hand.

    @property
    def device(self) -> str:
        """The full name of the device that holds the component."""
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
        """What stands for the state of the component at hand."""
        return self._component().handle

    def __tensor__(self) -> Tensor:
        return self._component().__tensor__()

    @property
    def _tensor(self) -> Any:
        return read(self) if here.graph is None else self._component()._tensor

    # Changing it.

    def _changed(self) -> tuple[Variable, ...]:
        """The components that a change in the cross-replica context changes."""
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
        if context.replica_number() is not None:
            self._component()._update(update, inputs, attrs, name)
            return self
        for number, component in enumerate(self._changed()):
            component._update(update, tuple(select(each, number) for each in inputs), attrs, name)
        return self

    def _aggregated(self, value: Any) -> Any:
        """What all replicas together make of the values that each of them gives."""
        replicas = self._strategy.num_replicas_in_sync
        if replicas == 1 or self._aggregation is Aggregation.NONE:
            return value
        if not is_tensor(value) and not hasattr(value, "__array__"):  # a number of Python's: the same for all
            return value * replicas if self._aggregation is Aggregation.SUM else value
        replica = context.get_replica_context()
        if self._aggregation is Aggregation.ONLY_FIRST_REPLICA:
            return replica.merge_call(lambda strategy, each: strategy.extended.from_first(each), args=(read(value),))
        op = ReduceOp.SUM if self._aggregation is Aggregation.SUM else ReduceOp.MEAN
        return replica.all_reduce(op, identity(read(value)))  # each has one, be it that all were given the same

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        raise StateError(f"The variable '{self.name}' of a strategy cannot be copied: copy one of its `values`.")

    def __repr__(self) -> str:
        parts = (f"  {number}: {value!r}" for number, value in enumerate(self._components))
        return f"{type(self).__name__}:{{\n" + ",\n".join(parts) + "\n}"


@export("types.experimental.distributed.Mirrored")
class MirroredVariable(DistributedVariable):
    """Components that have the same value."""

    @property
    def synchronization(self) -> Synchronization:
        """When components become the same: when they are changed."""
        return Synchronization.ON_WRITE


class SyncOnReadVariable(DistributedVariable):
    """Components that each replica changes by itself."""

    def _change_in_replica(self, update: Op, value: Any, name: str | None, read_value: bool) -> Any:
        self._component()._change(update, value, name, read_value)
        return self if read_value else None

    def _for_component(self, update: Op, value: Any, number: int) -> Any:
        """In the cross-replica context a sum is dealt out, so that it is the value where it is read."""
        if self._aggregation is not Aggregation.SUM or context.stack.saves:
            return super()._for_component(update, value, number)
        if update is not state_ops.assign:
            raise ArgumentError(
                "SyncOnReadVariable does not support `assign_add` or `assign_sub` in the cross-replica context when "
                "aggregation is set to `tf.VariableAggregation.SUM`."
            )
        return read(select(value, number)) / self._strategy.num_replicas_in_sync

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
        op = ReduceOp.MEAN if self._aggregation is Aggregation.MEAN else ReduceOp.SUM
        first_only = self._aggregation in (Aggregation.ONLY_FIRST_REPLICA, Aggregation.NONE)

        def together(strategy: Any, values: Any) -> None:
            changed = select(values, 0) if first_only else strategy.reduce(op, values)
            component._change(update, changed, name, read_value)

        context.get_replica_context().merge_call(together, args=(read(value) if is_tensor(value) else value,))
        return self if read_value else None


def kind_of(synchronization: Synchronization) -> type[DistributedVariable]:
    """Which kind of variable is made."""
    return SyncOnReadVariable if synchronization is Synchronization.ON_READ else MirroredVariable
