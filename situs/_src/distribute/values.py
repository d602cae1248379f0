"""Per-replica values: ``PerReplica``, and nested structures of them.

regroup([{"loss": a}, {"loss": b}])         {"loss": PerReplica(a, b)}
select({"loss": PerReplica(a, b)}, 1)       {"loss": b}

A ``PerReplica`` is a composite tensor: it can be passed through functions, loops and datasets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from situs._src.base.devices.scope import here
from situs._src.base.export import export
from situs._src.base.tree import flatten, pack_like
from situs._src.ops.constant import convert_to_tensor
from situs._src.tracing.spec import type_spec_from_value
from situs._src.tracing.type_spec import CompositeTensor, TypeSpec


@export("distribute.DistributedValues")
class DistributedValues:
    """A value for each replica.

    Args:
        values: The values, in the order of replicas.
    """

    is_told = False  # whether the program has accessed the values, and may use one in all replicas

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = tuple(values)

    @property
    def values(self) -> tuple[Any, ...]:
        """The values, in the order of replicas."""
        self.is_told = True
        return self._values

    def __repr__(self) -> str:
        return self._listed(repr)

    def __str__(self) -> str:
        return self._listed(str)

    def _listed(self, shown: Callable[[Any], str]) -> str:
        parts = (f"  {number}: {shown(value)}" for number, value in enumerate(self._values))
        return f"{type(self).__name__}:{{\n" + ",\n".join(parts) + "\n}"


@export("types.experimental.distributed.PerReplica")
class PerReplica(DistributedValues, CompositeTensor):
    """A value for each replica, which may differ."""

    @property
    def _type_spec(self) -> PerReplicaSpec:
        return PerReplicaSpec(*map(type_spec_from_value, self._values))


class PerReplicaSpec(TypeSpec):
    """The spec of a ``PerReplica``: those of its values."""

    __slots__ = ("_specs",)

    def __init__(self, *specs: Any) -> None:
        self._specs = specs

    @property
    def value_type(self) -> type[PerReplica]:
        """`PerReplica`."""
        return PerReplica

    @property
    def _component_specs(self) -> tuple[Any, ...]:
        return self._specs

    def _to_components(self, value: PerReplica) -> tuple[Any, ...]:
        return value._values

    def _from_components(self, components: Any) -> PerReplica:
        return PerReplica(components)

    def _serialize(self) -> tuple[Any, ...]:
        return self._specs


def regroup(structures: Sequence[Any]) -> Any:
    """Merges one structure per replica: ``PerReplica`` where they differ, the common value where they do not."""
    first = structures[0]
    columns = zip(*map(flatten, structures), strict=True)
    return pack_like(first, [_joined(column) for column in columns])


def _joined(values: tuple[Any, ...]) -> Any:
    containers = [container_of(value) for value in values]
    if containers[0] is not None and all(each is containers[0] for each in containers):
        return containers[0]
    if all(value is values[0] for value in values[1:]):
        return values[0]
    if here.graph is not None and all(type(value) in (bool, int, float) for value in values):
        return PerReplica([convert_to_tensor(value) for value in values])  # a function returns tensors
    return PerReplica(values)


def container_of(value: Any) -> Any:
    """The strategy variable of a component; None for other values."""
    found = getattr(value, "_distributed_container", None)
    return None if found is None else found()


def local_values(value: Any) -> tuple[Any, ...]:
    """The values of the replicas of this process; for anything else, only itself."""
    return value._values if isinstance(value, DistributedValues) else (value,)


def select(structure: Any, replica: int) -> Any:
    """One replica's part of a structure. A variable stays whole: it knows which replica uses it."""
    leaves = flatten(structure)
    if not any(isinstance(leaf, PerReplica) for leaf in leaves):
        return structure
    return pack_like(structure, [leaf._values[replica] if isinstance(leaf, PerReplica) else leaf for leaf in leaves])
