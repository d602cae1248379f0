"""Reports made by hand, for tests of the page and of the data."""

from __future__ import annotations

from situs._src.report.collect import Collector, Compiled, Decision, Event, Trace
from situs._src.report.data import About, as_data
from situs._src.report.graphs import Edge, GraphData, Node
from situs._src.report.memory import Held
from situs._src.report.schema import Data

HOSTILE = '</script><img src=x onerror="window.hacked=1"><script>window.hacked=1</script><!--'
OTHERS = ("{{data}}", "\u2028'\"`${window.hacked=1}", "<svg/onload=window.hacked=1>", "javascript:window.hacked=1")


def large(operations: int = 10_000, steps: int = 1, scoped: bool = True) -> Data:
    """A report on a graph of many operations, which ran some times on two GPUs."""
    graph = GraphData("train_step")
    collector = Collector()
    number = 0
    for place in range(operations):
        scope = f"block_{place // 500}/layer_{place // 50 % 10}/" if scoped else ""
        where = f"GPU:{place // 500 % 2}"
        line = f"/home/me/project/model.py:{10 + place % 300}"
        graph.nodes.append(
            Node(f"{scope}MatMul_{place}", "MatMul", where, "default: first GPU", "", line, "float32[8, 8]")
        )
        if place:
            graph.edges.append(Edge(place - 1, place, place % 500 == 0))
    for step in range(steps):
        for place, node in enumerate(graph.nodes):
            start = (step * operations + place) * 1000
            waits = (number - 1,) if place else ()
            collector.add(
                Event(
                    number, "op", node.name, node.op, node.device, "", 1, start, start + 700 + place % 250, 256,
                    node.line, node.why, node.result, waits, 0, place,
                )
            )  # fmt: skip
            number += 1
    collector.graphs.append(graph)
    return as_data(About("large", "/home/me/project/train.py", ended=operations * steps * 1000), collector, [])


def small(name: str = "MatMul", device: str = "GPU:1", title: str = "small") -> Data:
    """A report with something in each of its parts; `name` is used wherever a program chooses a name."""
    collector = Collector()
    line = f"/home/{name}/train.py:12"
    square = "float32[32, 32]"
    first = Event(
        0, "op", name, "MatMul", "GPU:0", "", 1, 1_000, 9_000, 4096, line, f"requested: {name}", square, (), 0, 0
    )
    copy = Event(1, "copy", name, "Copy", device, "GPU:0", 1, 9_500, 30_000, 4096, line, "", square, (0,))
    relu = Event(
        2, "op", "layer/Relu", "Relu", device, "", 1, 30_500, 42_000, 4096, line, "default", square, (1,), 0, 1
    )  # fmt: skip
    run = Event(3, "run", name, "run", "", "", 1, 500, 43_000, 0, line, "3 calls", "", (), 0)
    last = relu._replace(
        number=4, name="layer/Sum", op="Sum", start=90_000, end=95_000, size=4, result="float32[]", waits=(2,), node=2
    )
    beside = Event(5, "op", "Neg", "Neg", device, "", 1, 15_000, 16_000, 4, line, "default", "float32[]", ())
    for event in (first, copy, relu, run, last, beside):
        collector.add(event)
    nodes = [
        Node(name, "MatMul", "GPU:0", f"requested: {name}", name, line, "float32[32, 32]"),
        Node("layer/Relu", "Relu", device, "default", "", line, "float32[32, 32]"),
        Node("layer/Sum", "Sum", device, "default", "", line, "float32[]"),
    ]
    collector.graphs.append(GraphData(name, nodes, [Edge(0, 1, True), Edge(1, 2, False)], {}, [name]))
    collector.decide(Decision("soft", name, "/device:GPU:9", device, f"no {name}", line))
    collector.decide(Decision("refused", name, name, "", name, line))
    collector.trace(Trace(name, "the first call", 3, 0, 400, line))
    collector.compiled[0] = Compiled(0, [(name, f"kernel: {name}"), ("layer/Relu", "compiled region 1")])
    held = Held("GPU:0", 10_000, [1_000, 50_000], [4096, 8192], [(name, [4096, 8192])], 8192, 50_000)
    error = {"type": name, "message": name, "traceback": name}
    return as_data(About(title, name, [name], 0, 100_000, error, [name]), collector, [held])
