"""Graphs with their variables and collections, as messages and in files.

    tf.train.export_meta_graph("model.meta")                writes the default graph
    saver = tf.train.import_meta_graph("model.meta")        adds it to the default graph: `checkpoints.meta_files`

A variable is written as the names of its operations, so that the reading program finds it in the same collections.
Collections of Python objects are left out, with a warning.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from situs._src.base.drafts import write_whole
from situs._src.base.errors import DTypeError, InvalidArgumentError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.base.proto.formats import read_any, to_text
from situs._src.base.proto.graph import GraphDef
from situs._src.base.proto.meta_graph import CollectionDef, MetaGraphDef, SaverDef, VariableDef
from situs._src.base.typing import PathLike
from situs._src.checkpoints.layout import prefix_path
from situs._src.checkpoints.saveable import SessionState, states_of
from situs._src.files.paths import translated
from situs._src.ir.graph.context import get_default_graph
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.tracing.importing import import_graph_def, import_what_is_known
from situs._src.variables.collections import GraphKeys
from situs._src.variables.symbolic import RefVariable

_logger = logging.getLogger("situs")


@export(v1="train.export_meta_graph")
def export_meta_graph(
    filename: PathLike | None = None,
    meta_info_def: MetaGraphDef.MetaInfoDef | None = None,
    graph_def: GraphDef | None = None,
    saver_def: SaverDef | None = None,
    collection_list: Iterable[str] | None = None,
    as_text: bool = False,
    graph: Graph | None = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
) -> MetaGraphDef:
    """A graph with its variables and collections as a message, and in a file if a name is given.

    Args:
        filename: The file to write.
        meta_info_def: What else to say of it.
        graph_def: The graph as a message, if it is not to be made from `graph`.
        saver_def: The options of the saver of its variables.
        collection_list: The collections to write; all by default.
        as_text: Whether to write the message as text; else as bytes.
        graph: The graph; the default one if it is not given.
        export_scope: Not supported.
        clear_devices: Whether to leave out the devices that were asked for.
        clear_extraneous_savers: Accepted, as savers are not part of graphs.
        strip_default_attrs: Accepted for TensorFlow's programs.
        save_debug_info: Accepted for TensorFlow's programs.

    Raises:
        InvalidArgumentError: the graph holds a Python object, such as the function of a ``py_func``.
    """
    if export_scope is not None:
        raise UnimplementedError("A graph is exported as a whole: build what you need in a graph of its own.")
    graph = get_default_graph() if graph is None else graph
    if not isinstance(graph, Graph):
        raise DTypeError(f"`graph` must be a tf.Graph, got {shown(graph)}.")
    made = MetaGraphDef()
    if meta_info_def is not None:
        made.meta_info_def.CopyFrom(meta_info_def)
    made.meta_info_def.meta_graph_version = made.meta_info_def.meta_graph_version or "situs"
    made.graph_def.CopyFrom(graph.as_graph_def() if graph_def is None else graph_def)
    if clear_devices:
        _clear_devices(made.graph_def)
    if saver_def is not None:
        made.saver_def.CopyFrom(saver_def)
    if isinstance(collection_list, (str, bytes)) or not isinstance(collection_list, (Iterable, type(None))):
        raise DTypeError(f"`collection_list` must be a list of names, got {shown(collection_list)}.")
    for name in graph.get_all_collection_keys() if collection_list is None else collection_list:
        _add_collection(made, name, graph.get_collection(name))
    if filename is not None:
        write_meta_graph(made, filename, as_text)
    return made


def write_meta_graph(content: MetaGraphDef, filename: PathLike, as_text: bool) -> None:
    """Writes the message, as text or as bytes."""
    path = prefix_path(filename)
    with translated(path):
        write_whole(path, to_text(content).encode() if as_text else content.SerializeToString(deterministic=True))


# What a saver saves of the variables of its graph. In TensorFlow the operations of the saver say it.

_SAVED = "situs/saved"


def note_saved(content: MetaGraphDef, variables: Mapping[str, str]) -> None:
    """Notes the names that variables are saved under, each with the name of the variable."""
    lines = [f"{key}\n{name}".encode() for key, name in variables.items()]
    content.collection_def[_SAVED].bytes_list.value.extend(lines)


def saved_in(content: MetaGraphDef) -> dict[str, str] | None:
    """What a saver saves: names of variables, by the names that they are saved under; None if there is no saver."""
    if _SAVED not in content.collection_def:
        return _saved_by_operations(content)
    lines = [line.decode(errors="replace").split("\n", 1) for line in content.collection_def[_SAVED].bytes_list.value]
    return {line[0]: line[-1] for line in lines}


def is_foreign(content: MetaGraphDef) -> bool:
    """Whether TensorFlow has written the graph."""
    version = content.meta_info_def.tensorflow_version
    return bool(version) and not version.startswith("situs")


def _saved_by_operations(content: MetaGraphDef) -> dict[str, str] | None:
    """What the operations of a saver of TensorFlow's save."""
    nodes = {node.name: node for node in content.graph_def.node}
    scope = content.saver_def.save_tensor_name.rpartition("/")[0]
    found: dict[str, str] = {}
    for node in nodes.values():
        if node.op != "SaveV2" or node.name.rpartition("/")[0] != scope:
            continue
        keys, slices = (nodes.get(name) for name in node.input[1:3])
        if keys is None or slices is None:
            continue
        cuts = slices.attr["value"].tensor.string_val
        for key, cut, source in zip(keys.attr["value"].tensor.string_val, cuts, node.input[3:], strict=False):
            name = key.decode(errors="replace")
            found[name] = name if cut else _variable_behind(nodes, source)
    return found or None


def _variable_behind(nodes: Mapping[str, Any], source: str) -> str:
    """The name of the variable that a tensor is read from."""
    name = source.partition(":")[0]
    while name in nodes and nodes[name].op in ("Identity", "ReadVariableOp"):
        name = nodes[name].input[0].partition(":")[0]
    return name


def _clear_devices(content: GraphDef) -> None:
    functions = [function.node_def for function in content.library.function]
    for nodes in [content.node, *functions]:
        for node in nodes:
            node.device = ""


# Collections.


def _add_collection(made: MetaGraphDef, name: Any, items: list[Any]) -> None:
    if not isinstance(name, str) or not items or name == GraphKeys.SAVERS:  # the saver that writes this comes with it
        return
    if any(isinstance(item, SessionState) for item in items):
        items = [part for item in items for part in (item[1:] if isinstance(item, SessionState) else [item])]
    for fits, kind, write in _KINDS:
        if all(fits(item) for item in items):
            collection = CollectionDef()
            try:
                getattr(collection, kind).value.extend([write(item) for item in items])
                made.collection_def[name].CopyFrom(collection)
            except (ValueError, OverflowError) as error:  # no text in UTF-8, or no integer of 64 bits
                _logger.warning("The collection %r is not written: %s", name, error)
            return
    _logger.warning("The collection '%s' is not written: it holds objects of this process.", name)


def _is(*kinds: type) -> Callable[[Any], bool]:
    return lambda item: isinstance(item, kinds) and not isinstance(item, bool)


_KINDS: tuple[tuple[Callable[[Any], bool], str, Callable[[Any], Any]], ...] = (
    (_is(RefVariable), "bytes_list", lambda item: item.to_proto().SerializeToString()),
    (_is(SymbolicTensor, Operation), "node_list", lambda item: item.name),
    (_is(str, bytes), "bytes_list", lambda item: item.encode() if isinstance(item, str) else item),
    (_is(int), "int64_list", int),
    (_is(float), "float_list", float),
)


# Back into a graph.


def add_meta_graph(content: MetaGraphDef, clear_devices: bool = False, import_scope: str | None = None) -> list[Any]:
    """Adds a graph with its collections to the default graph, and returns its variables and other saved states.

    Args:
        content: The message.
        clear_devices: Whether to forget the devices that were asked for.
        import_scope: What to put before the names, with a slash.

    Raises:
        InvalidArgumentError: the message is malformed.
    """
    if not isinstance(content, MetaGraphDef):
        raise DTypeError(f"A graph is imported from a MetaGraphDef or its file, got {type(content).__name__}.")
    if clear_devices:
        content = copy.deepcopy(content)
        _clear_devices(content.graph_def)
    graph = get_default_graph()
    if is_foreign(content):
        scope = f"{import_scope}/" if import_scope else ""
        left_out = import_what_is_known(content.graph_def, import_scope or "")
        graph.left_out.update({f"{scope}{name}": why for name, why in left_out.items()})
        _logger.info("%d of %d operations are left out", len(left_out), len(content.graph_def.node))
    else:
        import_graph_def(content.graph_def, name=import_scope or "")
    states: list[Any] = []
    variables: dict[str, Any] = {}  # one object for a variable, however many collections it is in
    for name, collection in content.collection_def.items():
        if name == _SAVED:
            continue
        found = _items(graph, name, collection, f"{import_scope}/" if import_scope else "", variables)
        for item in states_of(found) if name == GraphKeys.SAVEABLE_OBJECTS else found:
            graph.add_to_collection(name, item)
            if isinstance(item, SessionState):
                states.append(item)
    return [*variables.values(), *states]


# Collections of messages that look like those of variables: their first fields are strings too.
_MESSAGES = (GraphKeys.COND_CONTEXT, GraphKeys.WHILE_CONTEXT, GraphKeys.QUEUE_RUNNERS, GraphKeys.SAVERS)


def _items(graph: Graph, name: str, collection: CollectionDef, scope: str, variables: dict[str, Any]) -> list[Any]:
    kind = collection.WhichOneof("kind")
    values = [] if kind is None else list(getattr(collection, kind).value)
    if kind == "node_list":
        there = [name for name in values if scope + name.partition(":")[0] not in graph.left_out]
        return [graph.as_graph_element(scope + name) for name in there]
    if kind != "bytes_list":
        return values
    if name in _MESSAGES:
        return [_as_string(value) for value in values]
    return [_from_bytes(graph, value, scope, variables) for value in values]


def _from_bytes(graph: Graph, content: bytes, scope: str, variables: dict[str, Any]) -> Any:
    """A variable, or the string that the bytes are if they describe none that the graph has."""
    message = _as_variable(content)
    if message is None or scope + message.variable_name.partition(":")[0] in graph.left_out:
        return _as_string(content)
    if message.variable_name not in variables:
        variables[message.variable_name] = RefVariable.from_proto(message, scope.removesuffix("/"))
    return variables[message.variable_name]


def _as_variable(content: bytes) -> VariableDef | None:
    try:
        found = read_any(content, VariableDef)
    except InvalidArgumentError:
        return None
    return found if found.variable_name and found.initializer_name else None


def _as_string(content: bytes) -> str | bytes:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content
