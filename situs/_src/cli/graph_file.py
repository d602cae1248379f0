"""Graphs in files, as problems for ``situs place``: what Situs and TensorFlow write.

    graph.pb, graph.pbtxt, graph.json     a ``GraphDef``, as ``tf.io.write_graph`` writes it, or its JSON form
    folder/, folder/saved_model.pb        a saved program: the graph of its serving signature, or its first
    model.keras, model.h5                 a model of Keras: its prediction

A ``GraphDef`` with an op that Situs does not have is placed by the bytes of its tensors alone (`foreign_graph`). Else
the graph is imported, not run: shapes are inferred, and what is not known is guessed and said to be. Requests for
devices that are written in the graph are taken as wishes where there are such devices. Times come from the user's
measured costs, or are estimated.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from situs._src.base.devices.inventory import process
from situs._src.base.devices.logical import Device
from situs._src.base.errors import ArgumentError, NotFoundError, OpError, shown
from situs._src.base.proto.graph import GraphDef
from situs._src.cli.foreign_graph import problem_of_message
from situs._src.ir.graph.function import graphs_of
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.registry.traits import STATE
from situs._src.placement.assembly import assemble
from situs._src.placement.costs.model import CostModel
from situs._src.placement.costs.store import shared_store
from situs._src.placement.costs.work import work_of
from situs._src.placement.placer import Wish, place
from situs._src.placement.search.problem import Problem

LARGEST = 2**31  # bytes
KERAS = (".keras", ".h5", ".hdf5")
MOST = 0.8  # of the work of a graph: a call of a function that does so much is looked into


def is_graph_file(path: str | Path) -> bool:
    """Whether a file or folder is one that `problem_of` reads, as far as its name and first letters tell."""
    file = Path(path)
    if file.is_dir():
        return any((file / name).is_file() for name in ("saved_model.pb", "saved_model.pbtxt"))
    if file.suffix in (".pb", ".pbtxt", *KERAS):
        return True
    return file.suffix == ".json" and file.is_file() and _is_graph_json(file)


def problem_of(path: str | Path, devices: Sequence[Device] | None = None) -> Problem:
    """The problem of placing the graph in a file.

    Args:
        path: The file or folder.
        devices: The devices; by default those of this process.

    Raises:
        NotFoundError: there is no such file.
        InvalidArgumentError: it holds something else, or cannot be placed on these devices at all.
    """
    where, file = tuple(process.devices()) if devices is None else devices, Path(path)
    if not file.exists() or not _is_message(file):
        return problem_of_graph(read_graph(path), where)
    message = _message(file)
    try:
        graph = _main_part(_imported(message))
    except NotFoundError:  # an op that there is not
        return problem_of_message(message, where, CostModel(shared_store()), _memory(where))
    return problem_of_graph(graph, where)


def problem_of_graph(graph: Graph, devices: Sequence[Device]) -> Problem:
    """The problem of placing all operations of a graph that one run could need."""
    found: list[Wish] = []

    def choose(wishes: Sequence[Wish]) -> dict[Operation, Any]:
        found.extend(wishes)
        return {}

    for node in graph.operations:
        if STATE in node.op_def.traits and node.attrs.get("cell") is not None:
            node.device = ""  # where the variable was made in this process says nothing of where it should be
    place(graph.operations, devices, soft=True, choose=choose)
    if not found:
        raise ArgumentError("The graph is empty: there is nothing to place.")
    return assemble(found, devices, CostModel(shared_store()), memory=_memory(devices)).problem


def _memory(devices: Sequence[Device]) -> dict[Device, float]:
    return {device: float(device.memory_limit) for device in devices if device.type != "CPU"}


def _is_message(file: Path) -> bool:
    """Whether a file is a ``GraphDef``, and no saved program or model."""
    return not file.is_dir() and file.stem != "saved_model" and file.suffix not in KERAS


def read_graph(path: str | Path) -> Graph:
    """The graph in a file.

    Raises:
        NotFoundError: there is no such file, or an op of the graph is not known.
        InvalidArgumentError: it holds something else.
    """
    file = Path(path)
    if not file.exists():
        raise NotFoundError(f"There is no graph {shown(str(file))}.")
    if file.is_dir() or file.name in ("saved_model.pb", "saved_model.pbtxt"):
        return _main_part(_saved(file if file.is_dir() else file.parent))
    if file.suffix in KERAS:
        _check_size(file)
        return _main_part(_of_keras(file))
    return _main_part(_imported(_message(file)))


def _check_size(file: Path) -> None:
    if file.stat().st_size > LARGEST:
        raise ArgumentError(f"{shown(str(file))} is larger than {LARGEST >> 30} GiB, and so no graph.")


def _message(file: Path) -> GraphDef:
    """The graph that is written in a file.

    Raises:
        InvalidArgumentError: there is none in it.
    """
    from situs._src.tracing.importing import read_graph_def  # here, because it loads PyTorch

    _check_size(file)
    content: str | bytes = file.read_bytes()
    if file.suffix in (".pbtxt", ".json"):
        try:
            content = file.read_text(encoding="utf8")
        except UnicodeDecodeError as error:
            raise ArgumentError(f"{shown(str(file))} is not text: {error}.") from None
    try:
        return read_graph_def(content)
    except (TypeError, OpError) as error:
        raise ArgumentError(f"{shown(str(file))} holds no graph: {error}") from None


def _imported(message: GraphDef) -> Graph:
    from situs._src.tracing.importing import import_graph_def

    graph = Graph()
    with graph.as_default():
        import_graph_def(message, name="")
    return graph


def _saved(folder: Path) -> Graph:
    from situs._src.saved_model.loading import load

    signatures = load(folder).signatures
    if not len(signatures):
        raise ArgumentError(f"The program in {shown(str(folder))} has no signature, so nothing says what a run is.")
    name = "serving_default" if "serving_default" in signatures else next(iter(signatures))
    graph: Graph = signatures[name].graph
    return graph


def _of_keras(file: Path) -> Graph:
    from situs._src.tracing.function import function
    from situs._src.tracing.spec import TensorSpec

    keras = import_module("situs.keras")
    model = keras.models.load_model(file, compile=False)
    specs = [TensorSpec(tensor.shape, tensor.dtype) for tensor in model.inputs]
    called = function(lambda *inputs: model(inputs[0] if len(inputs) == 1 else list(inputs), training=False))
    graph: Graph = called.get_concrete_function(*specs).graph
    return graph


def _main_part(graph: Graph) -> Graph:
    """The graph; where nearly all of it is one call of a function, the graph of that."""
    while True:
        held = [(node, inner) for node in graph.operations for _, inner in graphs_of(node)]
        work = sum(work_of(node).steps for node in graph.operations)
        large = [inner for node, inner in held if len(graphs_of(node)) == 1 and work_of(node).steps >= MOST * work]
        if len(large) != 1 or not work:
            return graph
        graph = large[0]


def _is_graph_json(file: Path) -> bool:
    """Whether a JSON file is a graph: it has a list of nodes with names and ops."""
    if file.stat().st_size > LARGEST:
        return False
    try:
        data = json.loads(file.read_text(encoding="utf8"))
    except (OSError, ValueError, RecursionError):
        return False
    nodes = data.get("node") if isinstance(data, dict) else None
    return isinstance(nodes, list) and all(isinstance(node, dict) and "op" in node for node in nodes[:10])
