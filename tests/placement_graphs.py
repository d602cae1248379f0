"""Placement problems for tests: small ones by hand, random ones, and where the published workloads are."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from pathlib import Path

from situs._src.placement.search.problem import Device, Link, Node, Objective, Problem, Tensor
from situs._src.placement.search.simulate import simulate

PUBLISHED = Path(__file__).parent.parent.parent / "shared" / "placement_inputs"


def two_gpus(memory: float | None = None, lanes: int = 1) -> tuple[tuple[Device, ...], tuple[Link, ...]]:
    """Two GPUs without a way between them but the host: 1 s for a hop, and 1 s for each byte."""
    devices = (Device("GPU:0", "GPU", memory), Device("GPU:1", "GPU", memory), Device("CPU:0", "CPU", None, lanes))
    links = tuple(
        link for i in range(2) for link in (Link(i, 2, 1.0, 1.0, (f"{i} out",)), Link(2, i, 1.0, 1.0, (f"{i} in",)))
    )
    return devices, links


def chain(times: str, memory: float | None = None, size: float = 1.0) -> Problem:
    """A chain of nodes named a, b, c...; ``2 3`` takes 2 s and 3 s on a GPU, and ten times that on the CPU."""
    devices, links = two_gpus(memory)
    nodes = [Node(chr(97 + i), (float(t), float(t), 10 * float(t)), weights=size) for i, t in enumerate(times.split())]
    tensors = tuple(Tensor(i, 0.0, (i + 1,)) for i in range(len(nodes) - 1))
    return Problem(tuple(nodes), tensors, devices, links)


def random_problem(seed: int, most: int = 12, devices: int = 3) -> Problem:
    """Any problem: groups, pins, missing kernels, memory limits, relays, hops with a price of their own."""
    chance = random.Random(seed)
    count = chance.randrange(1, most + 1)
    width = chance.randrange(1, devices + 1)
    limit = chance.choice([None, 40.0, 400.0])
    own = [
        Device(f"GPU:{d}", "GPU", None if chance.random() < 0.3 else limit, chance.choice([1, 1, 2]))
        for d in range(width - 1)
    ]
    every = (*own, Device("CPU:0", "CPU", None, chance.choice([1, 3])))
    host = width - 1
    links = []
    for a, b in itertools.permutations(range(width), 2):
        if host in (a, b) or chance.random() < 0.5:
            shared = tuple(chance.sample([f"out {a}", f"in {b}", "bus"], chance.randrange(0, 3)))
            links.append(Link(a, b, chance.random(), chance.random() * 0.1, shared))
    nodes = []
    for i in range(count):
        times = [None if chance.random() < 0.1 else chance.random() * 5 for _ in range(width)]
        times[host] = chance.random() * 20
        allowed = tuple(sorted({host, chance.randrange(width)})) if chance.random() < 0.1 else None
        group = chance.choice(["p", "q"]) if chance.random() < 0.2 else None
        nodes.append(Node(f"n{i}", tuple(times), chance.randrange(20), chance.randrange(10), group, allowed))
    tensors = []
    for i in range(count):
        for _ in range(chance.choice([0, 1, 1, 2])):
            takers = chance.sample(range(i + 1, count), min(chance.randrange(4), count - i - 1))
            hop = chance.random() if chance.random() < 0.2 else None
            tensors.append(Tensor(i, float(chance.randrange(10)), tuple(sorted(takers)), hop))
    found = Problem(tuple(nodes), tuple(tensors), every, tuple(links))
    return found if chance.random() < 0.6 else ordered(found, chance)


def ordered(problem: Problem, chance: random.Random) -> Problem:
    """The problem with someone who orders calls, one by one unless all of them can be recorded together."""
    recordings = [chance.choice([None, "one", "one", "other"]) for _ in problem.devices]
    devices = [
        replace(device, processor=chance.choice([device.name, None]), recording=None if device.is_host else recording)
        for device, recording in zip(problem.devices, recordings, strict=True)
    ]
    nodes = []
    for node in problem.nodes:
        times = tuple(0.0 if device.is_host else chance.random() * 2 for device in devices)
        nodes.append(replace(node, ordering=times if chance.random() < 0.8 else ()))
    orderer = chance.choice(["the orderer", devices[-1].processor or "bus"])
    return replace(problem, nodes=tuple(nodes), devices=tuple(devices), orderer=orderer)


def layered(count: int, gpus: int = 4, seed: int = 0, memory: float | None = None) -> Problem:
    """A graph in layers, each node with two inputs from the layer before, on GPUs and a CPU with four cores."""
    chance = random.Random(seed)
    width = max(4, int(count**0.5) // 2)
    nodes, takers = [], dict[int, set[int]]()
    for i in range(count):
        seconds = chance.expovariate(1.0) * 1e-4
        nodes.append(Node(f"n{i}", (*(seconds,) * gpus, 10 * seconds), weights=chance.random() * 1e6))
        if i >= width:
            for _ in range(2):
                takers.setdefault((i // width - 1) * width + chance.randrange(width), set()).add(i)
    tensors = tuple(Tensor(u, chance.random() * 2e6, tuple(sorted(found))) for u, found in sorted(takers.items()))
    devices = (*(Device(f"GPU:{i}", "GPU", memory) for i in range(gpus)), Device("CPU:0", "CPU", None, 4))
    pairs = itertools.permutations(range(gpus + 1), 2)
    links = tuple(Link(a, b, 1e-5, 1e-10, (f"{a} out", f"{b} in")) for a, b in pairs)
    return Problem(tuple(nodes), tensors, devices, links)


def tight_problem(seed: int, most: int = 7) -> Problem:
    """A few nodes with pins, groups and weights that hardly fit, if at all: every device may have a limit."""
    chance = random.Random(seed)
    count, width = chance.randrange(2, most + 1), chance.randrange(2, 4)
    nodes, tensors = [], []
    for i in range(count):
        times = [None if chance.random() < 0.08 else chance.random() * 5 for _ in range(width)]
        if all(time is None for time in times):
            times[0] = 1.0
        allowed = tuple(sorted(chance.sample(range(width), chance.randrange(1, width + 1))))
        group = chance.choice("pq") if chance.random() < 0.25 else None
        pin = allowed if chance.random() < 0.3 else None
        nodes.append(Node(f"n{i}", tuple(times), chance.randrange(12), chance.randrange(6), group, pin))
        if chance.random() < 0.7:
            takers = chance.sample(range(i + 1, count), min(chance.randrange(3), count - i - 1))
            tensors.append(Tensor(i, float(chance.randrange(8)), tuple(sorted(takers))))
    held = sum(node.weights for node in nodes) + chance.random() * sum(tensor.bytes for tensor in tensors)
    devices = tuple(
        Device(
            f"D{d}",
            "CPU" if d == width - 1 and chance.random() < 0.5 else "GPU",
            int(held / width * chance.choice([0.8, 1.0, 1.2, 1.5])) + 2.0 if chance.random() < 0.9 else None,
        )
        for d in range(width)
    )
    pairs = itertools.permutations(range(width), 2)
    links = tuple(Link(a, b, chance.random(), 0.05, ("bus",) if chance.random() < 0.3 else ()) for a, b in pairs)
    return Problem(tuple(nodes), tuple(tensors), devices, links)


def planted_problem(seed: int, objective: Objective) -> tuple[Problem, dict[str, str]]:
    """A problem with a placement in which every device is exactly full: stretches of an order, or at random.

    Sizes are whole numbers, or any numbers, whose sums depend on the order in which they are added.
    """
    chance = random.Random(seed)
    count, width = chance.choice([12, 20, 60]), chance.choice([2, 3, 5])
    names = [f"GPU:{d}" for d in range(width)]
    is_whole, is_random = count > 20 or chance.random() < 0.5, chance.random() < 0.5
    where, now = [], 0
    for _ in range(count):
        now = chance.randrange(width) if is_random else min(width - 1, now + (chance.random() < width / count))
        where.append(now)
    nodes = []
    for i, d in enumerate(where):
        size = float(chance.randint(1, 100)) if is_whole else chance.random()
        others = {e for e in range(width) if chance.random() < 0.2}
        allowed = tuple(sorted({d} | others)) if chance.random() < 0.2 else None
        group = f"{d}" if chance.random() < 0.1 else None
        nodes.append(Node(f"n{i}", tuple(chance.random() for _ in names), size, 0.0, group, allowed))
    takers = {i: tuple(sorted(chance.sample(range(i + 1, count), min(2, count - i - 1)))) for i in range(count)}
    tensors = tuple(Tensor(i, 0.0, found) for i, found in takers.items() if found)
    links = tuple(Link(a, b, 0.01) for a, b in itertools.permutations(range(width), 2))
    free = Problem(tuple(nodes), tensors, tuple(Device(name, "GPU") for name in names), links)
    placement = {node.name: names[d] for node, d in zip(nodes, where, strict=True)}
    peak = simulate(free, placement, objective).peak
    return replace(free, devices=tuple(Device(name, "GPU", peak[name]) for name in names)), placement
