"""Graphs in files, as problems for ``situs place``: what Situs and TensorFlow write.

    graph.pb, graph.pbtxt, graph.json     a ``GraphDef``, as ``tf.io.write_graph`` writes it, or its JSON form
    folder/, folder/saved_model.pb        a saved program: the graph of its serving signature, or its first
    model.keras, model.h5, model.json     a model of Keras, or what its ``to_json`` says: its prediction

A ``GraphDef`` that cannot be imported, such as one with an op that Situs does not have, is placed by the bytes of its
tensors alone (`foreign_graph`), and so is a program that TensorFlow saved, without reading its variables
(`foreign_program`). Else
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
from situs._src.cli.foreign_program import message_of_program
from situs._src.ir.graph.function import FunctionGraph, graphs_of
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.registry.traits import STATE
from situs._src.placement.assembly import Running, assemble
from situs._src.placement.costs.model import CostModel
from situs._src.placement.costs.store import shared_store
from situs._src.placement.costs.work import work_of
from situs._src.placement.placer import Wish, place
from situs._src.placement.search.problem import Problem

LARGEST = 2**31  # bytes
KERAS = (".keras", ".h5", ".hdf5")
MOST_SAID = 300  # letters of an error
MOST = 0.8  # of the work of a graph: a call of a function that does so much is looked into


def is_graph_file(path: str | Path) -> bool:
    """Whether a file or folder is one that `problem_of` reads, as far as its name and first letters tell."""
    file = Path(path)
    try:
        is_folder, is_file = file.is_dir(), file.is_file()
    except OSError:  # too long for a name, for example
        return False
    if is_folder:
        return any((file / name).is_file() for name in ("saved_model.pb", "saved_model.pbtxt"))
    if file.suffix in (".pb", ".pbtxt", *KERAS):
        return True
    if file.suffix != ".json" or not is_file:
        return False
    data = _table(file)
    return _is_graph_table(data) or _is_keras_table(data)


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
    if file.is_file() and _is_message(file):
        message = _message(file)
        try:
            graph = _main_part(_imported(message))
        except OpError as error:  # an op that there is not, or that is written in another way
            why = str(error).partition("\n")[0][:MOST_SAID]
            return problem_of_message(message, where, CostModel(shared_store()), _memory(where), why)
        return problem_of_graph(graph, where)
    try:
        graph = read_graph(path)
    except OpError:  # written by TensorFlow: ops that there are not, or variables in its own format
        if not is_program(file):
            raise
        message = message_of_program(file if file.is_dir() else file.parent)
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
    running = Running(recordings=_recordings(devices))
    return assemble(found, devices, CostModel(shared_store()), memory=_memory(devices), running=running).problem


def _recordings(devices: Sequence[Device]) -> dict[Device, str]:
    """What calls of GPUs are recorded in when a graph runs."""
    cards = [device for device in devices if device.is_card]
    if not cards:
        return {}
    from situs._src.runtime.run.capture_regions import recording_of  # here, because it loads PyTorch

    return {device: recording_of(device) for device in cards}


def _memory(devices: Sequence[Device]) -> dict[Device, float]:
    return {device: float(device.memory_limit) for device in devices if device.type != "CPU"}


def _is_message(file: Path) -> bool:
    """Whether a file is a ``GraphDef``, and no saved program or model."""
    return not file.is_dir() and file.stem != "saved_model" and not _is_keras(file)


def _is_keras(file: Path) -> bool:
    return file.suffix in KERAS or (file.suffix == ".json" and file.is_file() and _is_keras_table(_table(file)))


def read_graph(path: str | Path) -> Graph:
    """The graph in a file.

    Raises:
        NotFoundError: there is no such file, or an op of the graph is not known.
        InvalidArgumentError: it holds something else.
    """
    file = Path(path)
    if not file.is_file() and not file.is_dir():
        raise NotFoundError(f"There is no graph {shown(str(file))}.")
    if is_program(file):
        return _main_part(_saved(file if file.is_dir() else file.parent))
    if _is_keras(file):
        _check_size(file)
        return _main_part(_of_keras(file))
    return _main_part(_imported(_message(file)))


def is_program(file: Path) -> bool:
    """Whether a file or folder is a saved program, by its name."""
    return file.is_dir() or file.name in ("saved_model.pb", "saved_model.pbtxt")


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
    return _written_out(signatures[name].graph)


def _of_keras(file: Path) -> Graph:
    from situs._src.tracing.function import function
    from situs._src.tracing.spec import TensorSpec

    keras = import_module("situs.keras")
    try:
        if file.suffix == ".json":
            model = keras.models.model_from_json(file.read_text(encoding="utf8"))
        else:
            model = keras.models.load_model(file, compile=False)
    except Exception as error:  # Keras, h5py and the archive raise what they meet
        text = str(error).rpartition("Exception encountered: ")[2]  # Keras puts the layer that failed in front
        first = text.strip().partition("\n")[0][:MOST_SAID]
        raise ArgumentError(f"Keras cannot load {shown(str(file))}: {type(error).__name__}: {first}") from error
    inputs = getattr(model, "inputs", None)  # a model that was never built raises, or has none
    if not inputs:
        raise ArgumentError(f"The model in {shown(str(file))} was never built, so that nothing says what it takes.")
    specs = [TensorSpec(tensor.shape, tensor.dtype) for tensor in inputs]
    called = function(lambda *inputs: model(inputs[0] if len(inputs) == 1 else list(inputs), training=False))
    return _written_out(called.get_concrete_function(*specs).graph)


def _written_out(graph: FunctionGraph) -> Graph:
    """The graph of a function, with the functions that it calls written out, as it is placed when it runs."""
    from situs._src.tracing.inlined import inlined

    return inlined(graph)


def _main_part(graph: Graph) -> Graph:
    """The graph; where nearly all of it is one call of a function, the graph of that."""
    while True:
        held = [(node, inner) for node in graph.operations for _, inner in graphs_of(node)]
        work = sum(work_of(node).steps for node in graph.operations)
        large = [inner for node, inner in held if len(graphs_of(node)) == 1 and work_of(node).steps >= MOST * work]
        if len(large) != 1 or not work:
            return graph
        graph = large[0]


def _table(file: Path) -> dict[str, Any]:
    """What stands in a JSON file; nothing if that is no table."""
    if file.stat().st_size > LARGEST:
        return {}
    try:
        data = json.loads(file.read_text(encoding="utf8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _is_keras_table(data: dict[str, Any]) -> bool:
    """Whether this is the configuration of a model of Keras."""
    return isinstance(data.get("class_name"), str) and isinstance(data.get("config"), dict)


def _is_graph_table(data: dict[str, Any]) -> bool:
    """Whether this is a graph: it has a list of nodes with names and ops."""
    nodes = data.get("node")
    return isinstance(nodes, list) and all(isinstance(node, dict) and "op" in node for node in nodes[:10])
