"""The replicas of a distributed step's graph: which operation belongs to which, and the traffic of the reductions.

    replica 0: 21 operations on GPU:0
    replica 1: 21 operations on GPU:1
    1 value reduced at AddN on GPU:0: 128 bytes between devices

It is recorded while the graph is built, for ``tf.explain`` and the placement log; running does not need it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Reduction:
    """A reduction of values of replicas.

    Attributes:
        node: The operation that produces the first of them; empty in eager code.
        values: The number of values per replica.
        device: The device that reduces.
        between_devices: The bytes moved between the devices of a process; None if shapes are known only in a run.
        between_workers: The bytes that each process sends to the others.
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
        reductions: Their reductions.
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
    """The replicas of several graphs of one program."""
    whole = Replicas()
    for each in found:
        whole.of_node.update(each.of_node)
        whole.reductions += each.reductions
    return whole
