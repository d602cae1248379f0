"""The published workloads of "Efficient Algorithms for Device Placement of DNN Graph Operators" (NeurIPS 2020).

A file holds nodes with a time on an accelerator and on a CPU, edges with the price of one hop between an accelerator
and the host's memory (the same for all edges of a producer), and how many devices there are. A split, which is what
their tools write, lists the nodes of each device:

    {"maxFPGAs": 6, "maxCPUs": 1, "maxSizePerFPGA": 1e9, "nodes": [{"id": 1, "fpgaLatency": 0.1, ...}], "edges": [...]}
    {"fpgas": [{"nodes": [1, 2]}, ...], "cpus": [{"nodes": [3]}]}

In a `Problem`, an edge's price is its tensor's ``hop_seconds``, a node's size is its weights, and accelerators have a
copy engine in and one out: from one to another it is two hops. The order of dispatch is that of the file, as far as
it is one in which nodes can run; the two published models know none, and `orders` has another for ``step``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from situs._src.base.errors import ArgumentError, shown
from situs._src.placement.search.problem import (
    HOST,
    Device,
    Json,
    Link,
    Node,
    Problem,
    Tensor,
    number,
    rows,
    sort_nodes,
    table_of,
)

MAX_DEVICES = 256
TOLERANCE = 1e-6  # tolerated difference of the prices of a producer's edges


def is_published(data: object) -> bool:
    """Whether plain data looks like one of these files."""
    return isinstance(data, dict) and "maxFPGAs" in data and "nodes" in data and "edges" in data


def read(data: object, cores: int | None = None) -> Problem:
    """Reads a workload.

    Nodes are named by their ids, because names are not always unique.

    Args:
        data: The file, as plain data.
        cores: None makes ``maxCPUs`` CPU devices; a number makes one device with that many lanes.

    Raises:
        InvalidArgumentError: it is not such a file.
    """
    table = table_of(data, "the file")
    count, hosts = _count(table, "maxFPGAs"), _count(table, "maxCPUs") if cores is None else 1
    limit = number(table, "maxSizePerFPGA", "the file")
    accelerators = [Device(f"FPGA:{i}", "FPGA", limit) for i in range(count)]
    devices = (*accelerators, *(Device(f"CPU:{i}", HOST, None, cores or 1) for i in range(hosts)))
    if not devices:
        raise ArgumentError("The file allows no device at all: maxFPGAs and maxCPUs are 0.")
    links = [
        link
        for i in range(count)
        for h in range(count, count + hosts)
        for link in (Link(i, h, resources=(f"FPGA:{i} out",)), Link(h, i, resources=(f"FPGA:{i} in",)))
    ]
    links += [Link(a, b) for a in range(count, count + hosts) for b in range(count, count + hosts) if a != b]
    if not hosts:  # there is no relay
        links = [
            Link(a, b, resources=(f"FPGA:{a} out", f"FPGA:{b} in"))
            for a in range(count)
            for b in range(count)
            if a != b
        ]
    nodes, index = [], {}
    for i, row in enumerate(rows(table, "nodes")):
        node = _node(row, f"nodes[{i}]", count, hosts)
        index[node.name] = i
        nodes.append(node)
    tensors = _tensors(table, index)
    order = sort_nodes(len(nodes), tensors)
    return Problem(tuple(nodes[i] for i in order), _moved(tensors, order), devices, tuple(links))


def orders(problem: Problem) -> list[Problem]:
    """The same workload in the orders of dispatch that are worth a search of ``step``, for which a file says none.

    The order of the file, and the one by the longest way to the end, the longest first.
    """
    count = len(problem.nodes)
    rank = [min((time for time in node.times if time is not None), default=0.0) for node in problem.nodes]
    after: list[list[int]] = [[] for _ in range(count)]
    for tensor in problem.tensors:
        after[tensor.producer] += tensor.consumers
    for v in reversed(range(count)):
        rank[v] += max((rank[c] for c in after[v]), default=0.0)
    wanted = sorted(range(count), key=lambda v: -rank[v])
    runs = sort_nodes(count, _moved(problem.tensors, wanted))  # ways of the same length may stand in a wrong order
    order = [wanted[i] for i in runs]
    nodes = tuple(problem.nodes[v] for v in order)
    return [problem, replace(problem, nodes=nodes, tensors=_moved(problem.tensors, order))]


def _moved(tensors: Iterable[Tensor], order: Sequence[int]) -> tuple[Tensor, ...]:
    """The tensors of nodes that stand in another order."""
    place = {v: i for i, v in enumerate(order)}
    return tuple(
        replace(t, producer=place[t.producer], consumers=tuple(place[c] for c in t.consumers)) for t in tensors
    )


def split_of(problem: Problem, placement: Mapping[str, str]) -> dict[str, Json]:
    """A placement of a problem from `read`, as the split that the published tools read."""
    sides: dict[bool, list[Json]] = {True: [], False: []}
    for device in problem.devices:
        held: list[Json] = [int(node.name) for node in problem.nodes if placement[node.name] == device.name]
        sides[device.is_host].append({"nodes": held})
    return {"fpgas": sides[False], "cpus": sides[True]}


def _node(data: object, where: str, count: int, hosts: int) -> Node:
    row = table_of(data, where)
    identity = row.get("id")
    if not isinstance(identity, int) or isinstance(identity, bool):
        raise ArgumentError(f"{where}: id must be a whole number, got {shown(identity)}.")
    fast, slow = number(row, "fpgaLatency", where), number(row, "cpuLatency", where)
    times = (fast if row.get("supportedOnFpga") else None,) * count + (slow,) * hosts
    color = row.get("colorClass")
    if color is not None and not isinstance(color, (int, str)):
        raise ArgumentError(f"{where}: colorClass must be a number, got {shown(color)}.")
    return Node(str(identity), times, number(row, "size", where, 0.0), group=None if color is None else str(color))


def _tensors(table: Mapping[str, object], index: Mapping[str, int]) -> list[Tensor]:
    price: dict[int, float] = {}
    takers: dict[int, list[int]] = {}
    for i, data in enumerate(rows(table, "edges")):
        where = f"edges[{i}]"
        row = table_of(data, where)
        ends = [index.get(str(row.get(key))) for key in ("sourceId", "destId")]
        source, target = ends
        if source is None or target is None:
            raise ArgumentError(
                f"{where}: there is no node {shown(row.get('sourceId' if source is None else 'destId'))}."
            )
        cost = number(row, "cost", where)
        if abs(price.setdefault(source, cost) - cost) > TOLERANCE:
            raise ArgumentError(f"{where}: node {row['sourceId']} has edges of two prices, {price[source]} and {cost}.")
        takers.setdefault(source, []).append(target)
    return [Tensor(source, 0.0, tuple(dict.fromkeys(found)), price[source]) for source, found in takers.items()]


def _count(table: Mapping[str, object], key: str) -> int:
    found = table.get(key)
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found <= MAX_DEVICES:
        raise ArgumentError(f"{key} must be a whole number from 0 to {MAX_DEVICES}, got {shown(found)}.")
    return found
