"""``tf.train.import_meta_graph``: a program without the code that built its graph.

saver = tf.train.import_meta_graph("run/model-100.meta")
with tf.Session() as sess:
    saver.restore(sess, "run/model-100")
    sess.run("loss:0")
"""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import NotFoundError
from situs._src.base.export import export
from situs._src.base.proto.formats import read_any
from situs._src.base.proto.meta_graph import MetaGraphDef
from situs._src.base.typing import PathLike
from situs._src.checkpoints.cells import full_name
from situs._src.checkpoints.layout import prefix_path
from situs._src.checkpoints.meta_graph import add_meta_graph, saved_in
from situs._src.checkpoints.opening import read_plain
from situs._src.checkpoints.saveable import in_parts
from situs._src.checkpoints.saver import Saver
from situs._src.files.paths import as_text, translated
from situs._src.variables.collections import global_variables

_LARGEST = 2**30  # bytes: constants are part of a graph


@export(v1="train.import_meta_graph")
def import_meta_graph(
    meta_graph_or_file: Any, clear_devices: bool = False, import_scope: str | None = None, **kwargs: Any
) -> Saver | None:
    """Adds a graph that was exported to the default graph.

    Args:
        meta_graph_or_file: A ``MetaGraphDef``, or the file that `tf.train.Saver` or `export_meta_graph` has written.
        clear_devices: Whether to forget the devices that were asked for.
        import_scope: What to put before the names, with a slash.
        **kwargs: More options of the saver.

    Returns:
        A saver of the variables that the saver saved which wrote it, under the same names; of all of them if none did;
        if it has none, of those that the graph has, or None.

    Raises:
        OSError: there is no such file.
        InvalidArgumentError: it is malformed.
    """
    given = isinstance(meta_graph_or_file, MetaGraphDef)
    content = meta_graph_or_file if given else read_meta_graph_file(meta_graph_or_file)
    variables = add_meta_graph(content, clear_devices, import_scope)
    if not variables:
        return Saver(**kwargs) if global_variables(import_scope) else None
    if content.HasField("saver_def"):
        kwargs.setdefault("saver_def", content.saver_def)
    scope = f"{import_scope}/" if import_scope else ""
    by_name = {full_name(variable).removeprefix(scope): variable for variable in in_parts(variables)}
    saved = saved_in(content)
    chosen = by_name if saved is None else {key: by_name[name] for key, name in saved.items() if name in by_name}
    return Saver(chosen or by_name, **kwargs)


def read_meta_graph_file(filename: PathLike) -> MetaGraphDef:
    """The message in a file: bytes, text, or the JSON that Situs 0.1 wrote.

    Raises:
        NotFoundError: there is no such file.
        InvalidArgumentError: it is malformed.
    """
    path = prefix_path(filename)
    with translated(path):
        try:
            content = read_plain(path, _LARGEST)
        except FileNotFoundError:
            raise NoFileError(f"File {as_text(filename)} does not exist.") from None
    return read_any(content, MetaGraphDef)


class NoFileError(NotFoundError, OSError):
    """There is no such file; TensorFlow's programs know it as an ``OSError``."""
