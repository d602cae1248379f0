"""Small graphs written as pictures, for tests of placement.

    a: Const @/cpu:1            an operation `a` of type Const, pinned
    v: Variable int32           of dtype int32 (float32 if none is named)
    w: Assign(v, a) loc:v ^a    with inputs, colocated with v, after a

The ops are the tests' own: same names as the real ones, kernels as stated in `OPS`.
"""

from __future__ import annotations

import re

from situs._src.base.devices.logical import Device
from situs._src.base.devices.physical import Card, PhysicalDevice
from situs._src.base.dtype import ALL, FLOATING, as_dtype, float32, int32, string
from situs._src.base.shapes import TensorShape
from situs._src.ir.graph.graph import Graph
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.signature import parse_signature
from situs._src.ir.registry.traits import SHAPE_ONLY, STATE_ANYWHERE
from situs._src.placement.placer import place

LOCAL = "/job:localhost/replica:0/task:0"
NOTHING = frozenset()
ANY = ALL - {string}
STATE = ANY - {int32}  # no int32 variables on a GPU

# name: signature, dtypes of the CPU kernel, dtypes of the GPU kernel
OPS = {
    "Const": ("-> output: dtype", ALL, ANY),
    "Variable": ("-> ref: dtype&", ALL, STATE),
    "Assign": ("ref: T&, value: T -> output: T&", ALL, ANY),
    "AssignOnCpu": ("ref: T&, value: T -> output: T&", ALL, NOTHING),
    "AssignOnGpu": ("ref: T&, value: T -> output: T&", NOTHING, ALL),
    "AssignMany": ("refs: T&, others: T&, value: T -> output: T&", ALL, ANY),
    "Handle": ("-> output: resource", ALL, ALL),
    "AssignHandle": ("handle: resource, value: T -> ", ALL, ANY),
    "ReadHandle": ("handle: resource -> value: dtype", ALL, ANY),
    "Apply": ("one: resource, other: resource -> ", ALL, ANY),
    "ApplyAll": ("handles: resource* -> ", ALL, ANY),
    "Identity": ("input: T -> output: T", ALL, ANY),
    "Exp": ("x: T -> y: T", ALL, ANY),
    "Add": ("x: T, y: T -> z: T", ALL, ANY),
    "AddN": ("inputs: T* -> sum: T", ALL, ANY),
    "MatMul": ("a: T, b: T -> product: T", FLOATING, FLOATING),
    "Shape": ("input: T -> output: int32", ALL, ALL),
    "Size": ("input: T -> output: int32", ALL, ALL),
    "Rank": ("input: T -> output: int32", ALL, ALL),
    "ShapeN": ("input: T* -> output: int32*", ALL, ALL),
    "StringLength": ("input: T -> output: int32", ALL, NOTHING),
    "CpuOnly": ("x: T -> y: T", ALL, NOTHING),
    "GpuOnly": ("x: T -> y: T", NOTHING, ALL),
    "Nowhere": ("x: T -> y: T", NOTHING, NOTHING),
    "NoOp": ("->", ALL, ALL),
    "If": ("inputs: T* -> output: T", ALL, ANY),
    "Seeded": ("-> output: dtype", ALL, ANY),
}
TRAITS = {name: frozenset({SHAPE_ONLY}) for name in ("Shape", "ShapeN", "Size", "Rank")}
TRAITS["If"] = frozenset({STATE_ANYWHERE})
LINE = re.compile(r"^(?P<name>[\w/.]+): (?P<type>\w+)(?:\((?P<inputs>[^)]*)\))?(?P<rest>.*)$")


def _declare(name: str, signature: str, on_cpu: frozenset, on_gpu: frozenset) -> Op:
    parsed = parse_signature(signature)
    made = Op(name, parsed, dict.fromkeys(parsed.variables, ALL), {}, traits=TRAITS.get(name, ()))
    for device_type, dtypes in (("CPU", on_cpu), ("GPU", on_gpu)):
        if dtypes:
            made.kernel(device_type, **dict.fromkeys(parsed.variables, dtypes))(lambda *args: None)
    return made


DECLARED = {name: _declare(name, *rest) for name, rest in OPS.items()}


def draw(picture: str, graph: Graph | None = None) -> Graph:
    """The graph of a picture, or a graph with a picture added to it."""
    graph = graph or Graph()
    for line in picture.strip().splitlines():
        add(graph, line.strip())
    return graph


def add(graph: Graph, line: str):
    """Adds the operation of one line of a picture."""
    match = LINE.match(line)
    assert match, f"cannot read {line!r}"
    made = DECLARED[match["type"]]
    dtype, device, group, after = float32, None, [], []
    for word in match["rest"].split():
        if word[0] == "@":
            device = word[1:]
        elif word[0] == "^":
            after.append(graph.get_operation_by_name(word[1:]))
        elif word.startswith("loc:"):
            group.append(word[4:])
        else:
            dtype = as_dtype(word)
    node = _add(graph, made, match["name"], (match["inputs"] or "").replace(",", " ").split(), dtype)
    node.colocated_with = tuple(group) or node.colocated_with
    node.device = node.device if device is None else device
    graph.add_controls(node, after)
    return node


def _add(graph: Graph, made: Op, name: str, inputs: list[str], dtype):
    tensors = tuple(graph.get_operation_by_name(other).outputs[0] for other in inputs)
    grouped = (tensors,) if made.inputs and made.inputs[0].is_list else tensors
    count = len(tensors) if made.outputs and made.outputs[0].is_list else 1
    results = [
        (arg, dtype if isinstance(arg.type, str) else arg.type, TensorShape([2])) for arg in made.outputs * count
    ]
    return graph.add(made, grouped, {}, dict.fromkeys(made.signature.variables, dtype), results, name)


def machine(cpus: int = 4, gpus: int = 0) -> list[Device]:
    """Devices that were never made by an inventory."""
    card = Card("Tesla K40c", "0000:05:00.0", (3, 5), 2**30, "GPU-0")

    def make(kind: str, index: int) -> Device:
        physical = PhysicalDevice(f"/physical_device:{kind}:{index}", kind)
        return Device(kind, index, physical, 2**30, card if kind == "GPU" else None, index)

    return [make("CPU", i) for i in range(cpus)] + [make("GPU", i) for i in range(gpus)]


def placement(picture: str, cpus: int = 4, gpus: int = 0, **options):
    """The placement of a picture on some devices."""
    return place(draw(picture).operations, machine(cpus, gpus), **options)


def placed(picture: str, cpus: int = 4, gpus: int = 0, **options) -> dict[str, str]:
    """Where each operation of a picture goes: name to short device name."""
    return {node.name: a.device.short_name for node, a in placement(picture, cpus, gpus, **options).items()}


def why(picture: str, cpus: int = 4, gpus: int = 0, **options) -> dict[str, str]:
    """The same with reasons: name to ``GPU:0 (default: ...)``."""
    lines = str(placement(picture, cpus, gpus, **options)).splitlines()
    return dict(line.split(" -> ", 1) for line in lines)
