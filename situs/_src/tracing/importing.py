"""Importing graphs from messages: `import_graph_def`; `files.graph_file` writes them to files.

    with tf.Graph().as_default() as graph:
        y, = tf.import_graph_def(graph_def, input_map={"x": image}, return_elements=["y:0"], name="model")

The nodes are sorted topologically, and each becomes an operation as if the program had called its op: dtypes and shapes
are inferred again, and must agree with the message. If one of them fails, none is left in the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import situs._src.ops
import situs._src.variables.state_ops  # noqa: F401 - these two declare the ops that nodes may name
from situs._src.base.devices.scope import here
from situs._src.base.errors import ArgumentError, DTypeError, InvalidArgumentError
from situs._src.base.export import export
from situs._src.base.proto.formats import from_json, parse, read_any
from situs._src.base.proto.graph import GraphDef
from situs._src.ir.graph.context import as_default, get_default_graph
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.constant import convert_to_tensor
from situs._src.runtime.symbolic.importer import Importer
from situs._src.runtime.symbolic.node_def import Source, parse_input


@export(
    v1=("import_graph_def", "graph_util.import_graph_def"),
    differs="Text or JSON of a GraphDef is imported too. versions.min_consumer is ignored: a graph is imported if "
    "its ops exist. Older ops (Add, Gather, Concat, BatchMatMul) and those on handles of variables (VarHandleOp) are "
    "replaced by Situs' own; Switch and Merge are errors.",
)
def import_graph_def(
    graph_def: Any,
    input_map: Any = None,
    return_elements: Any = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> list[Any] | None:
    """Adds the nodes of a graph to the default graph.

    Args:
        graph_def: A ``GraphDef``, the bytes of its ``SerializeToString``, its text, or its JSON.
        input_map: Tensors that replace results of imported nodes, by name: ``{"x:0": tensor}``.
        return_elements: Names of operations (``"y"``) and tensors (``"y:0"``) of the message to return.
        name: A prefix for the names, followed by a slash; ``"import"`` by default, no prefix if it is empty.
        op_dict: Accepted for TensorFlow's programs.
        producer_op_list: Accepted for TensorFlow's programs.

    Returns:
        The requested operations and tensors; None if none were requested.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: the message is malformed, or does not match `input_map` or `return_elements`.
        NotFoundError: a node has an unknown op.
    """
    content = read_graph_def(graph_def)
    wanted = _checked_names(return_elements)
    found = _added(content, "import" if name is None else name, _checked_map(input_map), wanted or [], None)
    return None if wanted is None else found


@export("import_graph_def", "graph_util.import_graph_def", v1=())
def import_graph_def_v2(
    graph_def: Any,
    input_map: Any = None,
    return_elements: Any = None,
    name: str | None = None,
    producer_op_list: Any = None,
) -> list[Any] | None:
    """Adds the nodes of a graph to the graph that is being built.

    Args:
        graph_def: A ``GraphDef``, the bytes of its ``SerializeToString``, its text, or its JSON.
        input_map: Tensors that replace results of imported nodes, by name: ``{"x:0": tensor}``.
        return_elements: Names of operations (``"y"``) and tensors (``"y:0"``) of the message to return.
        name: A prefix for the names, followed by a slash; ``"import"`` by default, no prefix if it is empty.
        producer_op_list: Accepted for TensorFlow's programs.

    Returns:
        The requested operations and tensors; None if none were requested.
    """
    return import_graph_def(graph_def, input_map, return_elements, name)


def import_what_is_known(content: GraphDef, name: str) -> dict[str, str]:
    """Adds those nodes of a graph to the default graph that can be added.

    Args:
        content: The graph.
        name: A prefix for the names, followed by a slash; no prefix if it is empty.

    Returns:
        The others, each with the reason; also those that depend on them.
    """
    left_out: dict[str, str] = {}
    _added(content, name, {}, [], left_out)
    return left_out


def _added(
    content: GraphDef, name: str, mapped: Mapping[str, Any], wanted: list[str], left_out: dict[str, str] | None
) -> list[Any]:
    graph = get_default_graph()
    with _inside(graph), graph.name_scope(name) as scope:
        inputs = _as_sources(graph, mapped, scope)
        library = {function.signature.name: function for function in content.library.function}
        importer = Importer(graph, content.node, scope.rstrip("/"), library, inputs, left_out=left_out)
        with _all_or_nothing(graph):
            importer.run()
            return [importer.element(text) for text in wanted]


@contextmanager
def _inside(graph: Graph) -> Iterator[None]:
    if here.graph is graph:
        yield
    else:
        with as_default(graph):
            yield


def read_graph_def(content: object) -> GraphDef:
    """A ``GraphDef`` from itself, from the bytes of its ``SerializeToString``, or from its text or JSON.

    Raises:
        TypeError: it is not one of these.
    """
    if isinstance(content, GraphDef):
        return content
    if isinstance(content, (bytearray, memoryview)):
        content = bytes(content)
    if not isinstance(content, (str, bytes)):
        raise DTypeError(f"Argument `graph_def` must be a GraphDef proto. Received type {type(content).__name__}.")
    if not content.strip():
        raise DTypeError("Argument `graph_def` must be a GraphDef proto, or the text of one. Received nothing.")
    try:
        if isinstance(content, bytes):
            return read_any(content, GraphDef)
        return (from_json if content.lstrip().startswith("{") else parse)(content, GraphDef())
    except InvalidArgumentError as error:
        raise DTypeError(f"Argument `graph_def` must be a GraphDef proto, or the text of one: {error}") from None


def _checked_names(elements: Any) -> list[str] | None:
    if elements is None:
        return None
    names = list(elements) if isinstance(elements, Iterable) and not isinstance(elements, (str, bytes)) else None
    names = names and [name.decode() if isinstance(name, bytes) else name for name in names]
    if names is None or not all(isinstance(text, str) for text in names):
        raise DTypeError(f"Argument `return_elements` must be a list of strings. Obtained {elements!r}.")
    return names


def _checked_map(mapped: Any) -> Mapping[str, Any]:
    if mapped is None:
        return {}
    if not isinstance(mapped, Mapping):
        raise DTypeError(f"Argument `input_map` must be a dictionary. Obtained {type(mapped).__name__}")
    named: dict[str, Any] = {key.decode() if isinstance(key, bytes) else key: each for key, each in mapped.items()}
    if not all(isinstance(key, str) for key in named):
        raise DTypeError(f"All keys for argument `input_map` must be strings. Obtained keys: {list(mapped)}")
    return named


def _as_sources(graph: Graph, mapped: Mapping[str, Any], scope: str) -> dict[Source, SymbolicTensor | Operation]:
    """The replacements for results of imported nodes; values that are not tensors become constants."""
    plain = [key for key, value in mapped.items() if not isinstance(value, (SymbolicTensor, Operation))]
    if plain and not scope:
        raise ArgumentError(
            "tf.import_graph_def() requires a non-empty `name` if `input_map` contains non-Tensor values. Try calling "
            "tf.convert_to_tensor() on `input_map` values before calling tf.import_graph_def()."
        )
    return {parse_input(key): _as_source(graph, key, value) for key, value in mapped.items()}


def _as_source(graph: Graph, key: str, value: Any) -> SymbolicTensor | Operation:
    if key.startswith("^") and isinstance(value, (SymbolicTensor, Operation)):
        return value.op if isinstance(value, SymbolicTensor) else value
    if isinstance(value, Operation):
        raise DTypeError(f"input_map[{key!r}] must be a tensor, got the operation {value!r}.")
    if not isinstance(value, SymbolicTensor):
        with graph.name_scope("_inputs"):
            value = convert_to_tensor(value)
    return graph.capture(value)


@contextmanager
def _all_or_nothing(graph: Graph) -> Iterator[None]:
    """Removes the operations that were added before something failed."""
    before = len(graph)
    try:
        yield
    except BaseException:
        _take_out(graph, before)
        raise


def _take_out(graph: Graph, first: int) -> None:
    with graph._lock:
        added = graph._operations[first:]
        del graph._operations[first:]
        for node in reversed(added):
            for producer in {tensor.op for tensor in node.inputs}:
                producer.consumers.remove(node)
            for other in node.control_inputs:
                other.followers.remove(node)
            del graph._by_name[node.name]
