"""Frozen graphs: a part of a graph as a message, with variables replaced by their values.

    frozen = tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["logits"])
    tf.import_graph_def(frozen)                    anywhere, without a checkpoint

    x ---> MatMul ---> logits                      x ---> MatMul ---> logits
    w (Variable) --^      `---> loss ---> train    w (Const) --^

Nodes keep their names, so that programs find them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.proto.graph import GraphDef, NodeDef
from situs._src.base.typing import ArrayLike, SessionLike
from situs._src.ir.registry.op import find_op
from situs._src.ir.registry.traits import STATE
from situs._src.ops.tensor_proto import make_tensor_proto
from situs._src.runtime.symbolic.node_def import parse_input


@export(v1="graph_util.extract_sub_graph")
def extract_sub_graph(graph_def: GraphDef, dest_nodes: Sequence[str]) -> GraphDef:
    """The nodes of a graph that some of them need, and these.

    Args:
        graph_def: The graph.
        dest_nodes: The names of nodes.

    Raises:
        TypeError: one of the two is something else.
        ValueError: there is no such node.
    """
    if not isinstance(graph_def, GraphDef):
        raise DTypeError(f"graph_def must be a GraphDef, got {shown(graph_def)}.")
    if isinstance(dest_nodes, (str, bytes)) or not isinstance(dest_nodes, Iterable):
        raise DTypeError(f"dest_nodes must be a list of names, got {shown(dest_nodes)}.")
    nodes = {node.name: node for node in graph_def.node}
    wanted = list(dest_nodes)
    for name in wanted:
        if name not in nodes:
            raise ArgumentError(f"{shown(name)} is not in graph: its nodes are named without ':0', such as 'logits'.")
    needed: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name not in needed:
            needed.add(name)
            wanted += [_node_of(source) for source in nodes[name].input]
    made = GraphDef()
    made.node.extend([node for node in graph_def.node if node.name in needed])
    made.library.CopyFrom(graph_def.library)
    made.versions.CopyFrom(graph_def.versions)
    return made


def _node_of(source: str) -> str:
    return parse_input(source).name


@export(v1="graph_util.convert_variables_to_constants")
def convert_variables_to_constants(
    sess: SessionLike,
    input_graph_def: GraphDef,
    output_node_names: Sequence[str],
    variable_names_whitelist: Sequence[str] | None = None,
    variable_names_blacklist: Sequence[str] | None = None,
) -> GraphDef:
    """A graph with constants instead of its variables: what some nodes need, and nothing else.

    Args:
        sess: The session that has the values.
        input_graph_def: The graph.
        output_node_names: The names of the nodes to keep, with all that they need.
        variable_names_whitelist: The names of variables to replace; all by default.
        variable_names_blacklist: The names of variables to leave as they are.

    Raises:
        ValueError: there is no such node, or one that is needed changes a variable.

    Example:
        >>> import situs.compat.v1 as tf
        >>> with tf.Graph().as_default() as graph, tf.Session() as session:
        ...     x = tf.placeholder(tf.float32, [], name="x")
        ...     y = tf.multiply(x, tf.Variable(3.0), name="y")
        ...     session.run(tf.global_variables_initializer())
        ...     frozen = tf.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
        >>> sorted({node.op for node in frozen.node})
        ['Const', 'Identity', 'Mul', 'Placeholder']
    """
    made = extract_sub_graph(input_graph_def, output_node_names)
    only, without = variable_names_whitelist, set(variable_names_blacklist or ())
    frozen = [node for node in made.node if STATE in find_op(node.op).traits and node.name not in without]
    frozen = [node for node in frozen if only is None or node.name in only]
    names = {node.name for node in frozen}
    for node in made.node:
        if find_op(node.op).updates and not names.isdisjoint(map(_node_of, node.input)):
            raise ArgumentError(
                f"{node.name} ({node.op}) changes a variable, which cannot become a constant: name nodes for "
                "output_node_names that do not need it."
            )
    values = sess.run([f"{node.name}:0" for node in frozen]) if frozen else []
    for node, value in zip(frozen, values, strict=True):
        _become_constant(node, value)
    return made


def _become_constant(node: NodeDef, value: ArrayLike) -> None:
    dtype = node.attr["dtype"].type
    node.op = "Const"
    del node.input[:]
    node.attr.clear()
    node.attr["dtype"].type = dtype
    node.attr["value"].tensor.CopyFrom(make_tensor_proto(value))
