"""Groups of operations that must share a device, and the constraints on that device.

    v (pinned GPU:1) ==> v/Assign          a reference edge: state is updated where it is
    v <-- loc:@v --- v/read                colocation requested by the program

Groups are merged as in a union-find structure; each keeps `Limits`, three device specs and the types of device
that have kernels for all members:

    assigned    decided by an earlier run             never dropped
    resource    requested for a variable              dropped last, with a warning, under soft placement
    requested   requested by any member; always at least as specific as the other two

Along a reference edge, the variable's request overrides the operation's. In an explicit group, no request takes
precedence: a conflict is an error, or under soft placement the conflicting fields are left open.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from situs._src.base.devices.spec import EMPTY, DeviceSpec, Fields
from situs._src.ir.graph.node import Operation
from situs._src.placement import failure
from situs._src.placement.log import print_ignored_colocation, print_ignored_request
from situs._src.placement.machine import Types


class Tie(NamedTuple):
    """Why an operation is in its group: ``state`` or ``colocated``, and with whom."""

    kind: str
    other: str


@dataclass(eq=False, slots=True)
class Limits:
    """The constraints on the device of some operations."""

    types: Types
    requested: DeviceSpec = EMPTY
    resource: DeviceSpec = EMPTY
    assigned: DeviceSpec = EMPTY


@dataclass(eq=False, slots=True)
class Group(Limits):
    """Operations that share a device. `parent` leads to the group that this one was merged into."""

    members: list[Operation] = field(default_factory=list)
    parent: Group | None = None


class IncompatibleError(Exception):
    """Two specs set the same field differently; caught where the requesters are known."""


class Colocation:
    """The groups of a graph. Operations without ties have none.

    Args:
        limits_of: The constraints of a single operation.
        soft: Whether conflicts in explicit groups may be resolved by leaving fields open.
        logs: Whether overridden requests are printed.
    """

    def __init__(self, limits_of: Callable[[Operation], Limits], soft: bool, logs: bool) -> None:
        self._limits_of = limits_of
        self._soft = soft
        self._logs = logs
        self._groups: dict[Operation, Group] = {}
        self._named: dict[str, Operation] = {}
        self.ties: dict[Operation, Tie] = {}
        self.overruled: set[Operation] = set()  # whose request was overridden by a variable's

    def enter(self, node: Operation) -> Group:
        """The group of an operation; a new one if it has none."""
        group = self.find(node)
        if group is None:
            known = self._limits_of(node)
            group = Group(known.types, known.requested, known.resource, known.assigned, [node])
            self._groups[node] = group
        return group

    def find(self, node: Operation) -> Group | None:
        """The group that an operation is in now."""
        group = self._groups.get(node)
        if group is not None and group.parent is not None:
            root = group.parent
            while root.parent is not None:
                root = root.parent
            group = self._groups[node] = root
        return group

    def follow(self, source: Operation, node: Operation) -> None:
        """Colocates an operation with the state that it takes.

        Raises:
            InvalidArgumentError: they cannot be on one device.
        """
        above, below = self.enter(source), self.enter(node)
        if not compatible(above.assigned, below.assigned):
            raise failure.reference_conflict("assigned", source, node, above.assigned, below.assigned)
        if not compatible(above.resource, below.resource):
            raise failure.reference_conflict("resource", source, node, above.resource, below.resource)
        if not compatible(above.requested, below.requested):
            self._overrule(source, node, above, below)
        try:
            self._merge(above, below)
        except IncompatibleError as error:
            raise failure.cannot_follow(source, node, str(error)) from None
        self.ties.setdefault(node, self.ties.get(source) or Tie("state", source.name))

    def _overrule(self, source: Operation, node: Operation, above: Group, below: Group) -> None:
        if self._logs:
            print_ignored_request(source, node, above.requested, below.requested)
        self.overruled.add(node)
        below.requested = refined(refined(above.requested, below.assigned), below.resource)

    def join(self, node: Operation, name: str) -> None:
        """Adds an operation to the group of that name, which is what ``loc:@name`` requests.

        Raises:
            InvalidArgumentError: it cannot be on one device with the group, and placement is not soft.
        """
        first = self._named.setdefault(name, node)
        if first is node:
            return
        try:
            self._merge(self.enter(node), self.enter(first))
        except IncompatibleError as error:
            refused = failure.cannot_colocate(node, first, str(error))
            if not self._soft:
                raise refused from None
            if self._logs:
                print_ignored_colocation(node, name, str(error))
            return
        self.ties.setdefault(node, Tie("colocated", first.name if name == node.name else name))

    def _merge(self, one: Group, other: Group) -> None:
        if one is other:
            return
        limits = _merged_limits(one, other, self._soft)
        kept, gone = (one, other) if len(one.members) >= len(other.members) else (other, one)
        kept.types, kept.requested = limits.types, limits.requested
        kept.resource, kept.assigned = limits.resource, limits.assigned
        kept.members += gone.members
        gone.parent, gone.members = kept, []


def _merged_limits(one: Limits, other: Limits, soft: bool) -> Limits:
    assigned = merged(one.assigned, other.assigned)
    resource = merged(one.resource, other.resource)
    requested = merged(one.requested, other.requested, soft)
    types = one.types & other.types
    if not types:
        raise IncompatibleError(
            " because no device type supports both of those nodes and the other nodes colocated with them. "
            f"One side has kernels for [{', '.join(sorted(one.types))}], the other for "
            f"[{', '.join(sorted(other.types))}]."
        )
    return Limits(types, refined(refined(requested, assigned), resource), resource, assigned)


# Specs. Most merges are of equal or empty ones, so these are checked first.

_PLURALS = Fields("jobs", "replicas", "tasks", "types", "ids")  # type: ignore[arg-type]


def merged(one: DeviceSpec, other: DeviceSpec, soft: bool = False) -> DeviceSpec:
    """The combination of both specs; if type or index differ, with soft placement, they are left open.

    Raises:
        IncompatibleError: they set a field differently.
    """
    if one is other or other is EMPTY:
        return one
    if one is EMPTY:
        return other
    conflict = _first_conflict(one, other)
    both = one.make_merged_spec(other)
    if conflict is None:
        return both
    if soft and conflict == "types":
        return both.replace(device_type=None, device_index=None)
    if soft and conflict == "ids":
        return both.replace(device_index=None)
    raise IncompatibleError(
        f": Cannot merge devices with incompatible {conflict}: '{one.to_string()}' and '{other.to_string()}'"
    )


def compatible(one: DeviceSpec, other: DeviceSpec) -> bool:
    """Whether no field differs between the two specs."""
    return one is other or one is EMPTY or other is EMPTY or _first_conflict(one, other) is None


def refined(spec: DeviceSpec, by: DeviceSpec) -> DeviceSpec:
    """A spec with the fields that another one sets."""
    return spec if spec is by or by is EMPTY else spec.make_merged_spec(by)


def relaxed(spec: DeviceSpec, *firm: DeviceSpec) -> DeviceSpec:
    """A spec without type and index, unless a firm spec sets them."""
    open_type = all(other.device_type is None for other in firm)
    open_index = all(other.device_index is None for other in firm)
    return spec.replace(
        device_type=None if open_type else spec.device_type, device_index=None if open_index else spec.device_index
    )


def _first_conflict(one: DeviceSpec, other: DeviceSpec) -> str | None:
    for name, mine, theirs in zip(_PLURALS, one._fields, other._fields, strict=True):
        if mine is not None and theirs is not None and mine != theirs:
            return str(name)
    return None
