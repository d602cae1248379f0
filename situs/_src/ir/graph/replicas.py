"""What the graph of a distributed step says of its replicas: which operation is whose, and what the reductions move.

    replica 0: 21 operations on GPU:0
    replica 1: 21 operations on GPU:1
    1 value reduced at AddN on GPU:0: 128 bytes between devices

It is written down while the graph is built, for ``tf.explain`` and the placement log; nothing that runs needs it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Reduction:
    """Values of replicas that become one.

    Attributes:
        node: The operation that the first of them comes from; empty in eager code.
        values: How many there are for each replica.
        device: Where they are added.
        between_devices: How many bytes move between the devices of a process; None if shapes are known in a run only.
        between_workers: How many bytes each process gives to the others.
    """

    node: str
    values: int
    device: str
    between_devices: int | None
    between_workers: int | None

    def __str__(self) -> str:
        what = f"{self.values} value{'s' if self.values != 1 else ''} reduced"
        where = f"{f' at {self.node}' if self.node else ''} on {self.device.rpartition('device:')[2]}"
        moved = [
            f"{'an unknown number of' if count is None else count} bytes between {who}"
            for count, who in ((self.between_devices, "devices"), (self.between_workers, "workers"))
            if count != 0
        ]
        return f"{what}{where}: {', '.join(moved) or 'nothing moves'}"


@dataclass
class Replicas:
    """The replicas of a graph.

    Attributes:
        of_node: The numbers of replicas, by the names of their operations.
        reductions: Where their values become one.
    """

    of_node: dict[str, int] = field(default_factory=dict)
    reductions: list[Reduction] = field(default_factory=list)

    def summary(self, devices: Mapping[str, str]) -> list[str]:
        """Lines about operations whose devices are given by their names, and about the reductions."""
        counted = Counter((self.of_node[name], device) for name, device in devices.items() if name in self.of_node)
        lines = []
        for number in sorted({number for number, _ in counted}):
            parts = [
                f"{count} operation{'s' if count != 1 else ''} on {device}"
                for (whose, device), count in sorted(counted.items())
                if whose == number
            ]
            lines.append(f"replica {number}: {', '.join(parts)}")
        return [*lines, *map(str, self.reductions)]


def together(found: Iterable[Replicas]) -> Replicas:
    """The replicas of several graphs, which are parts of one program."""
    whole = Replicas()
    for each in found:
        whole.of_node.update(each.of_node)
        whole.reductions += each.reductions
    return whole
