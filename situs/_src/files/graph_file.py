"""``tf.io.write_graph``: a graph in a file, as text or as bytes that other programs read, such as Netron."""

from __future__ import annotations

from typing import Any

from situs._src.base.drafts import write_whole
from situs._src.base.errors import DTypeError
from situs._src.base.export import export
from situs._src.base.typing import PathLike
from situs._src.files.paths import as_text as path_text
from situs._src.files.paths import local, translated
from situs._src.ir.graph.graph import Graph


@export("io.write_graph", v1=("io.write_graph", "train.write_graph"))
def write_graph(graph_or_graph_def: Any, logdir: PathLike, name: str, as_text: bool = True) -> str:
    """Writes a graph into a file: all of it or nothing.

    Args:
        graph_or_graph_def: A ``Graph`` or a ``GraphDef``.
        logdir: The directory, which is made if it is not there.
        name: The name of the file, ``graph.pbtxt`` for example.
        as_text: Whether to write text; else the bytes of ``SerializeToString``.

    Returns:
        The path of the file.

    Raises:
        TypeError: there is no graph, or a path is not one.
        OpError: the file cannot be written.
    """
    from situs._src.base.proto.formats import to_text  # here, because it loads protobuf
    from situs._src.base.proto.graph import GraphDef

    content = graph_or_graph_def.as_graph_def() if isinstance(graph_or_graph_def, Graph) else graph_or_graph_def
    if not isinstance(content, GraphDef):
        raise DTypeError(f"write_graph takes a Graph or a GraphDef, got {graph_or_graph_def!r}.")
    path = local(logdir) / path_text(name)
    with translated(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, to_text(content).encode() if as_text else content.SerializeToString(deterministic=True))
    return str(path)
