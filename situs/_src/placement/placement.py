"""`Placement`: the device of every operation of a graph, and the reason.

placement["MatMul"].device.short_name   'GPU:0'
placement["MatMul"].reason              'default: first GPU with a float32 kernel'
print(placement)                        MatMul -> GPU:0 (default: first GPU with a float32 kernel)
                                        a -> GPU:0 (generator: follows its only consumer 'MatMul')
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from situs._src.base.devices.logical import Device
from situs._src.ir.graph.graph import NameNotFoundError
from situs._src.ir.graph.node import Operation
from situs._src.placement.candidates import Assignment
from situs._src.placement.explain import Explanation
from situs._src.placement.profile import Profile

if TYPE_CHECKING:
    from situs._src.placement.search.plan import Plan

Reason = tuple[str, str]  # the kind and the detail of an `Assignment`


class Placement(Mapping[Operation, Assignment]):
    """The assignments of a graph's operations, in the order of the graph. Also indexed by name."""

    def __init__(
        self,
        nodes: Sequence[Operation],
        placed: Mapping[Operation, tuple[Device, Reason]],
        profiles: Mapping[Operation, Profile],
    ) -> None:
        self._nodes = nodes
        self._placed = placed
        self._profiles = profiles
        self._by_name: dict[str, Operation] = {}
        self.plan: Plan | None = None  # of the dynamic placer, where that placed them

    def __getitem__(self, key: Operation | str) -> Assignment:
        """The assignment of an operation, which may be given by its name.

        Raises:
            KeyError: it was not placed.
        """
        node = self._named(key) if isinstance(key, str) else key
        if node is None or node not in self._placed:
            raise NameNotFoundError(f"{key!r} is not among the {len(self)} operations that were placed.")
        device, (kind, detail) = self._placed[node]
        profile = self._profiles[node]
        kernel = profile.kernels[device.type]
        return Assignment(node.type, device, kernel, kind, detail, profile.request_text, node.name)

    def _named(self, name: str) -> Operation | None:
        if not self._by_name:
            self._by_name = {node.name: node for node in self._nodes}
        return self._by_name.get(name)

    def __iter__(self) -> Iterator[Operation]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    def device_of(self, node: Operation) -> Device:
        """The device of an operation; faster than the whole assignment."""
        return self._placed[node][0]

    def devices(self) -> dict[Device, list[Operation]]:
        """The devices that are used, best first, each with its operations."""
        found: dict[Device, list[Operation]] = {}
        for node in self._nodes:
            found.setdefault(self._placed[node][0], []).append(node)
        return dict(sorted(found.items(), key=lambda item: item[0].rank))

    def explain(self) -> Explanation:
        """Every assignment with its reason, to iterate over or print as a table."""
        return Explanation(list(self.values()), plan=self.plan)

    def to_dicts(self) -> list[dict[str, str]]:
        """One plain dictionary per operation."""
        return self.explain().to_dicts()

    def __str__(self) -> str:
        return "\n".join(map(str, self.values()))

    def __repr__(self) -> str:
        used = ", ".join(f"{len(nodes)} on {device.short_name}" for device, nodes in self.devices().items())
        return f"<Placement of {len(self)} operations: {used}>"

    def _repr_html_(self) -> str:
        return self.explain()._repr_html_()
