"""Saved models of a session's graph and variables, in TensorFlow 1's style.

    builder = tf.saved_model.Builder(folder)
    builder.add_meta_graph_and_variables(sess, ["serve"], {"serving_default": signature})
    builder.save()

    tf.saved_model.loader.load(sess, ["serve"], folder)          adds the graph, and restores the variables

Models written by `tf.saved_model.save` can be loaded into a session as well.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import Any

from situs._src.base.errors import ArgumentError, DataLossError, DTypeError, FailedPreconditionError, StateError, shown
from situs._src.base.export import export
from situs._src.base.proto.meta_graph import MetaGraphDef
from situs._src.base.proto.saved_model import SignatureDef
from situs._src.base.typing import PathLike
from situs._src.base.version import __version__
from situs._src.checkpoints.cells import plain_session
from situs._src.checkpoints.meta_files import import_meta_graph
from situs._src.checkpoints.meta_graph import export_meta_graph
from situs._src.checkpoints.saver import Saver
from situs._src.files.paths import as_text, local, translated
from situs._src.ir.graph.context import as_default, get_default_graph
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ops.static_value import get_static_value
from situs._src.saved_model.constants import (
    ASSETS_DIRECTORY,
    DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    LEGACY_INIT_OP_KEY,
    MAIN_OP_KEY,
    SERVING,
)
from situs._src.saved_model.files import read_model, tag_list, variables_prefix, with_tags, write_model
from situs._src.saved_model.signature_defs import predict_signature_def


class OccupiedError(FailedPreconditionError, AssertionError):
    """A folder has something in it; TensorFlow raises an ``AssertionError``."""


@export(v1=("saved_model.Builder", "saved_model.builder.SavedModelBuilder"))
class SavedModelBuilder:
    """Writes the graph and the variables of a session to a folder.

    Args:
        export_dir: The folder, which is empty or not there yet.

    Raises:
        AssertionError: there is something in it.
    """

    def __init__(self, export_dir: Any) -> None:
        self._folder = local(export_dir)
        with translated(self._folder):
            if self._folder.is_dir() and any(self._folder.iterdir()):
                raise OccupiedError(
                    f"Export directory {as_text(export_dir)} already exists, and isn't empty. Please choose a "
                    "different export directory, or delete all the contents of the specified directory."
                )
            self._folder.mkdir(parents=True, exist_ok=True)
        self._graphs: list[MetaGraphDef] = []

    def add_meta_graph_and_variables(
        self,
        sess: Any,
        tags: Any,
        signature_def_map: Mapping[str, SignatureDef] | None = None,
        assets_collection: Any = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
        assets_list: Any = None,
        init_op: Any = None,
        train_op: Any = None,
    ) -> None:
        """Adds the graph of a session, and writes the values of its variables; the first graph comes with them.

        Args:
            sess: The session.
            tags: What to find the graph by.
            signature_def_map: Signatures by name.
            assets_collection: Constants with the paths of files that belong to it: these are copied.
            legacy_init_op: An operation to run after loading, in older programs.
            clear_devices: Whether to leave out the devices that were asked for.
            main_op: An operation to run after loading.
            strip_default_attrs: Accepted for TensorFlow's programs.
            saver: The saver of the variables; one of all of them by default.
            assets_list: The same as `assets_collection`.
            init_op: The same as `main_op`.
            train_op: Accepted for TensorFlow's programs.

        Raises:
            AssertionError: there are variables already.
        """
        if self._graphs:
            raise OccupiedError(
                "Graph state including variables and assets has already been saved. Use add_meta_graph."
            )
        session = plain_session(sess)
        graph = session.graph
        prefix = variables_prefix(self._folder)
        with as_default(graph):
            saver = Saver(sharded=True, allow_empty=True) if saver is None else saver
            with translated(prefix):
                os.makedirs(os.path.dirname(prefix), exist_ok=True)  # noqa: PTH103, PTH120
            if _has_variables(saver):
                saver.save(session, prefix, write_meta_graph=False, write_state=False)
        assets = assets_collection if assets_list is None else assets_list
        first = _only(main_op, init_op, legacy_init_op)
        self._add(graph, tags, signature_def_map, assets, first, clear_devices, saver)

    def add_meta_graph(
        self,
        tags: Any,
        signature_def_map: Mapping[str, SignatureDef] | None = None,
        assets_collection: Any = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
        assets_list: Any = None,
        init_op: Any = None,
        train_op: Any = None,
    ) -> None:
        """Adds the default graph, which uses the variables that were written with the first one.

        The arguments are those of `add_meta_graph_and_variables`.

        Raises:
            AssertionError: there are no variables yet.
        """
        if not self._graphs:
            raise OccupiedError(
                "Graph state including variables and assets has not been saved yet. Please invoke "
                "`add_meta_graph_and_variables()` first."
            )
        assets = assets_collection if assets_list is None else assets_list
        first = _only(main_op, init_op, legacy_init_op)
        self._add(get_default_graph(), tags, signature_def_map, assets, first, clear_devices, saver)

    def _add(
        self,
        graph: Graph,
        tags: Any,
        signatures: Mapping[str, SignatureDef] | None,
        assets: Any,
        first: Operation | None,
        clear_devices: bool,
        saver: Saver | None,
    ) -> None:
        named = signatures or {}
        for name, message in named.items():
            if not isinstance(name, str) or not isinstance(message, SignatureDef):
                raise DTypeError(f"Signatures are SignatureDefs by name, got {shown(name)}: {shown(message)}.")
        made = export_meta_graph(
            graph=graph, clear_devices=clear_devices, saver_def=None if saver is None else saver.as_saver_def()
        )
        made.meta_info_def.tags.extend(tag_list(tags))
        made.meta_info_def.tensorflow_version = f"situs {__version__}"
        for name, message in named.items():
            made.signature_def[name].CopyFrom(message)
        if first is not None:
            made.collection_def[MAIN_OP_KEY].node_list.value.append(first.name)
        for tensor in assets or ():
            self._add_asset(made, tensor)
        self._graphs.append(made)

    def _add_asset(self, made: MetaGraphDef, tensor: Any) -> None:
        value = get_static_value(tensor)
        if value is None:
            raise DTypeError(f"Asset path tensor {shown(tensor)} is no constant.")
        source = local(os.fsdecode(value[()]) if hasattr(value, "shape") else value)
        target = self._folder / ASSETS_DIRECTORY / source.name
        with translated(source):
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(source, target)
        made.asset_file_def.add(filename=source.name, tensor_info={"name": tensor.name})

    def save(self, as_text: bool = False) -> bytes:
        """Writes the file, and returns its path.

        Args:
            as_text: Whether it is text; else bytes.
        """
        if not self._graphs:
            raise StateError("There is no graph to save: call add_meta_graph_and_variables first.")
        return os.fsencode(write_model(self._folder, self._graphs, as_text))


def _has_variables(saver: Saver) -> bool:
    return bool(saver._variables("save"))


def _only(*operations: Any) -> Operation | None:
    """The one operation that runs after loading."""
    given = [each for each in operations if each is not None]
    if len(given) > 1:
        raise ArgumentError("One operation runs after loading: give one of main_op and legacy_init_op.")
    if not given:
        return None
    found = getattr(given[0], "op", given[0])
    if not isinstance(found, Operation):
        raise DTypeError(f"main_op needs to be an Operation: {shown(given[0])}")
    return found


@export(v1="saved_model.simple_save")
def simple_save(
    session: Any,
    export_dir: PathLike,
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    legacy_init_op: Any = None,
) -> None:
    """Saves the graph and the variables of a session, with one signature: ``serving_default``.

    Args:
        session: The session.
        export_dir: The folder, which is empty or not there yet.
        inputs: Tensors that the signature takes, by name.
        outputs: Tensors that it gives, by name.
        legacy_init_op: An operation to run after loading.
    """
    signature = predict_signature_def(inputs, outputs)
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(
        session,
        [SERVING],
        {DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature},
        main_op=legacy_init_op,
        clear_devices=True,
    )
    builder.save()


@export(v1=("saved_model.load", "saved_model.loader.load"))
def load(
    sess: Any, tags: Any, export_dir: PathLike, import_scope: str | None = None, **saver_kwargs: Any
) -> MetaGraphDef:
    """Adds a saved graph to the graph of a session, restores its variables, and runs what it says is to be run.

    Args:
        sess: The session.
        tags: All the tags of the graph.
        export_dir: The folder.
        import_scope: What to put before the names, with a slash.
        **saver_kwargs: More options of the saver.

    Returns:
        The graph as a message, with its signatures.

    Raises:
        OSError: there is no program, or it is damaged.
        RuntimeError: it has no graph with these tags.
    """
    session = plain_session(sess)
    content = with_tags(read_model(export_dir), tags, export_dir)
    folder = local(export_dir)
    with as_default(session.graph):
        saver = import_meta_graph(content, import_scope=import_scope, **saver_kwargs)
        if saver is not None and _has_variables(saver):
            saver.restore(session, variables_prefix(folder))
        feeds = {}
        for asset in content.asset_file_def:
            name = f"{import_scope}/{asset.tensor_info.name}" if import_scope else asset.tensor_info.name
            if os.path.basename(asset.filename) != asset.filename:  # noqa: PTH119
                raise DataLossError(f"The file {shown(asset.filename)} does not lie in the folder of {folder}.")
            feeds[session.graph.as_graph_element(name)] = str(folder / ASSETS_DIRECTORY / asset.filename)
        for key in (MAIN_OP_KEY, LEGACY_INIT_OP_KEY):
            if key in content.collection_def:
                names = content.collection_def[key].node_list.value
                wanted = [f"{import_scope}/{name}" if import_scope else name for name in names]
                session.run([session.graph.as_graph_element(name) for name in wanted], feeds)
    return content
