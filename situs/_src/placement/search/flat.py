"""A problem as arrays, for the inner loops: `pure.py` and `fast.c` read the same ones.

    node -> tensors it takes, tensors it makes        in_start/in_tensor, out_start/out_tensor
    tensor -> producer, consumers                     producer, consumer_start/consumer
    pair of devices -> relay, link, resources         relay, link_latency, link_per_byte, resource_start/resource
    orderer -> a lane or a resource; -1 for none      orderer, ordering; recording of devices, recordable nodes
    block -> nodes, candidates, neighbours            block_start/block_node, candidate_start/candidate, near_start/near
    orders of blocks                                  order[i], position[i] (the inverse)
    bundles: tensors of one block for the same others bundle_home, makes, takes; only for `max_load`

A list of lists is two arrays: ``in_tensor[in_start[v]:in_start[v + 1]]`` are the inputs of node ``v``. Blocks are
moved: sets of nodes that stay together; nodes are simulated, so that the simulation matches the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from situs._src.placement.search.problem import Problem

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
Blocks = Sequence[Sequence[int]]


@dataclass(frozen=True, eq=False)
class Flat:
    """Arrays in the order in which ``fast.c`` declares them."""

    nodes: int
    devices: int
    tensors: int
    blocks: int
    resources: int
    orders: int
    lanes: int
    check_memory: int
    time: Floats
    tail: Floats
    weights: Floats
    workspace: Floats
    bytes: Floats
    hop: Floats
    price_in: Floats
    price_out: Floats
    link_latency: Floats
    link_per_byte: Floats
    limit: Floats
    size: Floats
    in_start: Ints
    in_tensor: Ints
    out_start: Ints
    out_tensor: Ints
    producer: Ints
    consumer_start: Ints
    consumer: Ints
    relay: Ints
    resource_start: Ints
    resource: Ints
    lane_start: Ints
    is_host: Ints
    is_relay: Ints
    block_start: Ints
    block_node: Ints
    candidate_start: Ints
    candidate: Ints
    near_start: Ints
    near: Ints
    order: Ints
    position: Ints
    bundles: int
    orderer: int
    block_time: Floats
    block_size: Floats
    bundle_in: Floats
    bundle_out: Floats
    bundle_home: Ints
    makes_start: Ints
    makes: Ints
    takes_start: Ints
    takes: Ints
    ordering: Floats
    recording: Ints
    recordable: Ints


def floats(array: Floats) -> list[float]:
    """An array as a flat list, which Python reads faster."""
    found: list[float] = array.ravel().tolist()
    return found


def ints(array: Ints) -> list[int]:
    """An array as a flat list, which Python reads faster."""
    found: list[int] = array.ravel().tolist()
    return found


def rows_of(starts: Ints, values: Ints) -> list[list[int]]:
    """Two arrays as the list of lists that they represent."""
    ends, flat = ints(starts), ints(values)
    return [flat[ends[i] : ends[i + 1]] for i in range(len(ends) - 1)]


def flatten(problem: Problem, blocks: Blocks, orders: Sequence[Sequence[int]] | None = None) -> Flat:
    """The arrays of a problem whose nodes move in blocks.

    Args:
        problem: The problem.
        blocks: Nodes that move together; each node is in one of them.
        orders: Orders of the blocks, along which moves take intervals; by default the order of their first nodes.
    """
    n, k = len(problem.nodes), len(problem.devices)
    consumers = [sorted(set(tensor.consumers)) for tensor in problem.tensors]
    takes: list[list[int]] = [[] for _ in range(n)]
    makes: list[list[int]] = [[] for _ in range(n)]
    for t, tensor in enumerate(problem.tensors):
        makes[tensor.producer].append(t)
        for c in consumers[t]:
            takes[c].append(t)
    times = np.array([node.times for node in problem.nodes], float).reshape(n, k)  # None becomes NaN
    times[np.isnan(times)] = np.inf
    weights = np.array([node.weights for node in problem.nodes], float)
    sizes = np.array([tensor.bytes for tensor in problem.tensors], float)
    producer = np.array([tensor.producer for tensor in problem.tensors], np.int32)
    size = weights.copy()
    np.add.at(size, producer, sizes)
    workspace = np.array([node.workspace for node in problem.nodes], float)
    limit = np.array([device.room for device in problem.devices], float)
    spare = workspace.max(initial=0.0)
    price_in, price_out = prices(problem)
    in_start, in_tensor = _rows(takes)
    out_start, out_tensor = _rows(makes)
    consumer_start, consumer = _rows(consumers)
    graph = _BlockGraph(problem, blocks, consumers, price_in, price_out)
    lane_start = _lanes(problem)
    resources, resource_start, resource, orderer = _resources(problem, lane_start)
    ordering = np.zeros((n, k))
    for v, node in enumerate(problem.nodes):
        if node.ordering:
            ordering[v] = node.ordering
    recordings = sorted({device.recording for device in problem.devices if device.recording is not None})
    relay = np.full((k, k), -1, np.int32)
    latency, per_byte = np.zeros((k, k)), np.zeros((k, k))
    for (source, target), route in problem.routes.items():
        if len(route) > 1:
            relay[source, target] = route[0].target
        else:
            latency[source, target], per_byte[source, target] = route[0].latency, route[0].seconds_per_byte
    relays = np.zeros(k, np.int32)
    relays[relay[relay >= 0]] = 1
    block_start, block_node = _rows(blocks)
    candidate_start, candidate = _rows([block_candidates(problem, block) for block in blocks])
    near_start, near = _rows(graph.near)
    if orders is None:
        orders = [sorted(range(len(blocks)), key=lambda b: min(blocks[b]))]
    order = np.array(orders, np.int32).reshape(len(orders), len(blocks))
    position = np.empty_like(order)
    for i in range(len(orders)):
        position[i, order[i]] = np.arange(len(blocks), dtype=np.int32)
    makes_start, block_makes = _rows(graph.makes)
    takes_start, block_takes = _rows(graph.takes)
    with np.errstate(over="ignore"):  # more than a number holds is more than any limit
        everything = size.sum() + sizes.sum() + spare
    has_bytes = bool(spare or sizes.any())
    return Flat(
        nodes=n,
        devices=k,
        tensors=len(problem.tensors),
        blocks=len(blocks),
        resources=resources,
        orders=len(orders),
        lanes=int(lane_start.max(initial=0)),
        check_memory=int(has_bytes and bool((limit < everything).any())),
        time=times,
        tail=_tails(problem, times, consumers, makes),
        weights=weights,
        workspace=workspace,
        bytes=sizes,
        hop=np.array([-1.0 if t.hop_seconds is None else t.hop_seconds for t in problem.tensors], float),
        price_in=price_in,
        price_out=price_out,
        link_latency=latency,
        link_per_byte=per_byte,
        limit=limit,
        size=size,
        in_start=in_start,
        in_tensor=in_tensor,
        out_start=out_start,
        out_tensor=out_tensor,
        producer=producer,
        consumer_start=consumer_start,
        consumer=consumer,
        relay=relay,
        resource_start=resource_start,
        resource=resource,
        lane_start=lane_start,
        is_host=np.array([device.is_host for device in problem.devices], np.int32),
        is_relay=relays,
        block_start=block_start,
        block_node=block_node,
        candidate_start=candidate_start,
        candidate=candidate,
        near_start=near_start,
        near=near,
        order=order,
        position=position,
        bundles=len(graph.home),
        orderer=orderer if ordering.any() else -1,
        block_time=np.add.reduceat(times[block_node], block_start[:-1], axis=0) if n else times,
        block_size=np.add.reduceat(size[block_node], block_start[:-1]) if n else size,
        bundle_in=graph.price_in,
        bundle_out=graph.price_out,
        bundle_home=np.array(graph.home, np.int32),
        makes_start=makes_start,
        makes=block_makes,
        takes_start=takes_start,
        takes=block_takes,
        ordering=ordering,
        recording=np.array(
            [-1 if device.recording is None else recordings.index(device.recording) for device in problem.devices],
            np.int32,
        ),
        recordable=np.array([ordering[v, problem.candidates(v)].any() for v in range(n)], np.int32),
    )


def block_candidates(problem: Problem, block: Iterable[int]) -> list[int]:
    """The devices that all nodes of a block may have."""
    each = {problem.candidates(node) for node in block}
    found = set(range(len(problem.devices))).intersection(*each)
    return sorted(found)


def prices(problem: Problem) -> tuple[Floats, Floats]:
    """The prices in the published models of a tensor that a device receives, and that it sends: [tensor, device].

    They know one hop between a device and the host's memory, and hosts pay nothing. With links of several speeds it is
    the fastest one into the device, and out of it.
    """
    shape = len(problem.tensors), len(problem.devices)
    received, sent = np.full(shape, np.inf), np.full(shape, np.inf)
    sizes = np.array([tensor.bytes for tensor in problem.tensors], float)
    hops = np.array([tensor.hop_seconds for tensor in problem.tensors], float)  # None becomes NaN
    for link in problem.links:
        seconds = np.where(np.isnan(hops), link.latency + sizes * link.seconds_per_byte, hops)
        np.minimum(received[:, link.target], seconds, out=received[:, link.target])
        np.minimum(sent[:, link.source], seconds, out=sent[:, link.source])
    hosts = [d for d, device in enumerate(problem.devices) if device.is_host]
    received[:, hosts] = sent[:, hosts] = 0.0
    return np.where(np.isinf(received), 0.0, received), np.where(np.isinf(sent), 0.0, sent)


class _BlockGraph:
    """Blocks, and the tensors between them, bundled by their ends."""

    def __init__(
        self, problem: Problem, blocks: Blocks, consumers: Sequence[Sequence[int]], received: Floats, sent: Floats
    ) -> None:
        block_of = [0] * len(problem.nodes)
        for b, block in enumerate(blocks):
            for node in block:
                block_of[node] = b
        ends: dict[tuple[int, tuple[int, ...]], int] = {}
        bundle, bundled = [], []
        for t, tensor in enumerate(problem.tensors):
            home = block_of[tensor.producer]
            takers = tuple(sorted({block_of[c] for c in consumers[t]} - {home}))
            if takers:
                bundle.append(ends.setdefault((home, takers), len(ends)))
                bundled.append(t)
        self.home = [home for home, _ in ends]
        self.makes: list[list[int]] = [[] for _ in blocks]
        self.takes: list[list[int]] = [[] for _ in blocks]
        near: list[set[int]] = [set() for _ in blocks]
        for g, (home, takers) in enumerate(ends):
            self.makes[home].append(g)
            for b in takers:
                self.takes[b].append(g)
                near[b].add(home)
                near[home].add(b)
        self.near = [sorted(found) for found in near]
        shape = len(ends), len(problem.devices)
        self.price_in, self.price_out = np.zeros(shape), np.zeros(shape)
        np.add.at(self.price_in, bundle, received[bundled])
        np.add.at(self.price_out, bundle, sent[bundled])


def _tails(
    problem: Problem, times: Floats, consumers: Sequence[Sequence[int]], makes: Sequence[Sequence[int]]
) -> Floats:
    """The least time after each node, if all that follows runs where it is fastest."""
    least = times.min(axis=1, initial=np.inf)
    tails = [0.0] * len(problem.nodes)
    for v in range(len(problem.nodes) - 1, -1, -1):
        tails[v] = max((tails[c] + least[c] for t in makes[v] for c in consumers[t]), default=0.0)
    # Sums in another order than the simulator's differ in the last digits; a bound must not exceed them.
    return np.array(tails, float) * (1 - 1e-9)


def _lanes(problem: Problem) -> Ints:
    """For each device its first lane and the one after its last; devices with the same processor have the same ones."""
    found: dict[str | int, tuple[int, int]] = {}
    total = 0
    for d, device in enumerate(problem.devices):
        key = d if device.processor is None else device.processor
        if key not in found:
            sharing = [other.lanes for other in problem.devices if other.processor == device.processor]
            count = device.lanes if device.processor is None else max(sharing)
            found[key] = total, total + count
            total += count
    ranges = [found[d if device.processor is None else device.processor] for d, device in enumerate(problem.devices)]
    return np.array(ranges, np.int32).reshape(-1)


def _resources(problem: Problem, lane_start: Ints) -> tuple[int, Ints, Ints, int]:
    """How many resources there are, and those of each pair of devices; lanes of processors have negative numbers.

    The last is the orderer, counted from the first lane on: lanes, then resources.
    """
    lanes = int(lane_start.max(initial=0))
    names: dict[str, int] = {}
    of_processors = {
        device.processor: int(lane_start[2 * d]) - lanes
        for d, device in enumerate(problem.devices)
        if device.processor is not None
    }
    width = len(problem.devices)
    found: list[list[int]] = [[] for _ in range(width * width)]
    for link in problem.links:
        for name in link.resources:
            number = of_processors[name] if name in of_processors else names.setdefault(name, len(names))
            found[link.source * width + link.target].append(number)
    starts, flat = _rows(found)
    orderer = problem.orderer
    if orderer is None:
        return len(names), starts, flat, -1
    number = of_processors[orderer] if orderer in of_processors else names.setdefault(orderer, len(names))
    return len(names), starts, flat, lanes + number


def _rows(lists: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    starts = np.zeros(len(lists) + 1, np.int32)
    np.cumsum([len(each) for each in lists], out=starts[1:])
    return starts, np.array([x for each in lists for x in each], np.int32)
