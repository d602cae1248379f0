"""``tf.train.Saver``: variables by name.

    saver = tf.train.Saver(max_to_keep=3)
    with tf.Session() as sess:
        ...
        path = saver.save(sess, "run/model", global_step=100)        "run/model-100"
    with tf.Session() as sess:
        saver.restore(sess, path)

A variable is saved under the name of its operation, or under its key in `var_list`. Values are restored to wherever the
session's variables are, whatever devices they were saved from.
"""

from __future__ import annotations

import logging
import os
import weakref
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from situs._src.base.drafts import write_whole
from situs._src.base.errors import (
    ArgumentError,
    DTypeError,
    InvalidArgumentError,
    OpError,
    StateError,
    UnimplementedError,
    shown,
)
from situs._src.base.export import export
from situs._src.base.proto.meta_graph import MetaGraphDef, SaverDef
from situs._src.base.shapes import TensorShape, brackets
from situs._src.base.typing import IntLike, PathLike, SessionLike
from situs._src.checkpoints.cells import (
    check_dtype,
    full_name,
    is_saveable,
    needs_session,
    plain_session,
    put,
    reshaped,
    saved,
)
from situs._src.checkpoints.finding import checkpoint_exists, get_checkpoint_mtimes, remove_checkpoint
from situs._src.checkpoints.index import Entry
from situs._src.checkpoints.keeping import Keeper
from situs._src.checkpoints.layout import prefix_path
from situs._src.checkpoints.meta_graph import export_meta_graph, note_saved, write_meta_graph
from situs._src.checkpoints.objects import names_in
from situs._src.checkpoints.reader import CheckpointReader
from situs._src.checkpoints.saveable import Parts, SessionState, in_parts
from situs._src.checkpoints.state import checked_file_name, update_checkpoint_state
from situs._src.checkpoints.writer import write
from situs._src.files.paths import as_text, as_texts, translated
from situs._src.ir.graph.context import get_default_graph
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.attribute import as_bool, as_float, as_int
from situs._src.runtime.eager.tensor import EagerTensor
from situs._src.runtime.session.session import BaseSession
from situs._src.variables.collections import GraphKeys
from situs._src.variables.eager import Variable
from situs._src.variables.symbolic import RefVariable, makes_graph_variables

_logger = logging.getLogger("situs")


@export(
    v1="train.Saver",
    differs="Files are safetensors and JSON; TensorFlow's are only read. It adds no operations to the graph: their "
    "names in its SaverDef are empty, and filename= changes nothing. A graph with a Python function in "
    "it, or a dataset that takes elements from Python, is saved without a .meta file, with a line in the "
    "log.",
)
class Saver:
    """Saves and restores variables.

    Args:
        var_list: The variables: a list, or a dictionary of the names to save them under; by default those of the
            graph that are there when the saver is made.
        reshape: Whether to restore values whose shape is another, if the number of elements is the same.
        sharded: Whether the variables of each device go into a file of their own.
        max_to_keep: How many checkpoints to keep, the latest ones; 0 or None for all.
        keep_checkpoint_every_n_hours: Keeps one for ever in so many hours.
        name: Accepted for TensorFlow's programs, as nothing is added to the graph.
        restore_sequentially: Accepted for TensorFlow's programs.
        saver_def: A message to take the options from.
        builder: Not supported.
        defer_build: Whether to look for the variables only when `build` is called.
        allow_empty: Whether there may be nothing to save.
        write_version: Accepted for TensorFlow's programs.
        pad_step_number: Whether to write step numbers with eight digits.
        save_relative_paths: Accepted: the file ``checkpoint`` names what is in its folder by relative paths.
        filename: Accepted for TensorFlow's programs.

    Raises:
        ValueError: there are no variables, or two have the same name.
        TypeError: `var_list` holds something else than variables.
    """

    def __init__(
        self,
        var_list: Sequence[Any] | Mapping[str, Any] | None = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: SaverDef | None = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: Any = SaverDef.V2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        if builder is not None:
            raise UnimplementedError("A Saver adds nothing to the graph, so there is nothing for a builder to build.")
        if defer_build and var_list is not None:
            raise ArgumentError(
                "If `var_list` is provided then build cannot be deferred. Either set defer_build=False or "
                "var_list=None."
            )
        if not isinstance(saver_def, (SaverDef, type(None))):
            raise DTypeError(f"`saver_def` must be a SaverDef, got {shown(saver_def)}.")
        if saver_def is not None:
            sharded, max_to_keep = saver_def.sharded, saver_def.max_to_keep
            keep_checkpoint_every_n_hours = saver_def.keep_checkpoint_every_n_hours
        self._reshape = as_bool(reshape, "reshape")
        self._sharded = as_bool(sharded, "sharded")
        self._allow_empty = as_bool(allow_empty, "allow_empty")
        self._pad_step_number = as_bool(pad_step_number, "pad_step_number")
        keep = 0 if max_to_keep is None else as_int(max_to_keep, "max_to_keep")
        self._hours = as_float(keep_checkpoint_every_n_hours, "keep_checkpoint_every_n_hours")
        self._keeper = Keeper(keep, self._hours)
        self._own: set[str] = set()  # what this saver has saved, and may delete wherever it is
        self._graph_text: tuple[weakref.ref[Graph], Any, bytes | None] | None = None
        self._var_list: dict[str, Any] | None = None
        if not defer_build:
            self._var_list = _by_name(var_list, self._allow_empty)

    def build(self) -> None:
        """Looks for the variables of the graph, if that was deferred."""
        if self._var_list is None:
            self._var_list = _by_name(None, self._allow_empty)

    def _variables(self, before: str) -> dict[str, Any]:
        if self._var_list is None:
            raise StateError(f"`build()` should be called before {before} if defer_build==True")
        return self._var_list

    # Saving.

    def save(
        self,
        sess: SessionLike,
        save_path: PathLike,
        global_step: IntLike | None = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        """Saves the variables, all of them or, if that fails, nothing.

        Args:
            sess: The session whose values to save; not needed for eager variables.
            save_path: The path to begin the names of the files with.
            global_step: A number to add to it: an integer, or a tensor or variable that holds one.
            latest_filename: The name of the file that tells which checkpoint is the latest; ``checkpoint`` by default.
            meta_graph_suffix: How the name of the file with the graph ends.
            write_meta_graph: Whether to write the graph too.
            write_state: Whether to tell that this is the latest checkpoint, and to delete old ones.
            strip_default_attrs: Accepted for TensorFlow's programs.
            save_debug_info: Accepted for TensorFlow's programs.

        Returns:
            The prefix of the checkpoint, for `restore`; None if there was nothing to save.
        """
        variables = self._variables("save")
        session = plain_session(sess) if needs_session(variables.values()) else None
        path = self._with_step(as_text(save_path), global_step, session, sess)
        prefix = _place_for(path)
        state_file = checked_file_name(latest_filename, save_path)
        if not variables:
            if write_meta_graph and isinstance(sess, BaseSession):
                self._write_graph(sess.graph, f"{path}.{meta_graph_suffix}")
            return None
        write(prefix, [saved(variable, session, name) for name, variable in variables.items()], self._sharded)
        if write_meta_graph and session is not None:
            self._write_graph(session.graph, f"{path}.{meta_graph_suffix}")
        if write_state:
            self._note(path, prefix, state_file, meta_graph_suffix)
        return path

    def _with_step(self, path: str, step: Any, session: BaseSession | None, given: object) -> str:
        if not path:
            raise ArgumentError("no path specified")
        if step is None:
            return path
        number = as_step(step, given if session is None else session)
        return f"{path}-{number:08}" if self._pad_step_number else f"{path}-{number}"

    def _write_graph(self, graph: Graph, path: str) -> None:
        """Writes the graph; what it is as text is remembered, because a large one takes seconds."""
        state = graph.version, [len(graph.get_collection(name)) for name in graph.get_all_collection_keys()]
        try:
            if self._graph_text is None or self._graph_text[0]() is not graph or self._graph_text[1] != state:
                self._graph_text = weakref.ref(graph), state, None
                made = export_meta_graph(graph=graph, saver_def=self.as_saver_def())
                self._note_saved(made)
                content = made.SerializeToString()
                self._graph_text = weakref.ref(graph), state, content
            if self._graph_text[2] is not None:  # else it has been said before that this graph cannot be written
                with translated(path):
                    write_whole(prefix_path(path), self._graph_text[2])
        except OpError as error:  # a graph with a function of this process in it, for instance
            _logger.warning("The graph was not written to %s, and the variables were saved without it: %s", path, error)

    def _note(self, path: str, prefix: Path, state_file: str, meta_graph_suffix: str) -> None:
        """Makes a checkpoint the latest; old ones are deleted when that is written down."""
        self._own.add(path)
        self._keeper.add(path)
        folder = os.path.dirname(path)  # noqa: PTH120 - as it was written
        self._keeper.write_state(
            lambda paths, _: update_checkpoint_state(folder or ".", path, paths, state_file),
            lambda old: self._delete(old, prefix.parent, meta_graph_suffix),
        )

    def _delete(self, path: str, folder: Path, meta_graph_suffix: str) -> None:
        if path not in self._own and prefix_path(path).parent.resolve() != folder.resolve():
            _logger.warning("The old checkpoint %s was not saved here, and is not deleted.", path)
            return
        self._own.discard(path)
        remove_checkpoint(path, meta_graph_suffix=meta_graph_suffix)

    # Restoring.

    def restore(self, sess: SessionLike, save_path: PathLike) -> None:
        """Gives the variables the values that they were saved with; they need not have been initialized.

        Args:
            sess: The session to put them into; not needed for eager variables.
            save_path: What `save` returned, or `tf.train.latest_checkpoint`.

        Raises:
            ValueError: there is no such checkpoint.
            NotFoundError: a variable is not in it.
            InvalidArgumentError: a variable has another shape or dtype there.
            DataLossError: it is damaged.
        """
        variables = self._variables("restore")
        if save_path is None:
            raise ArgumentError("Can't load save_path when it is None.")
        if not variables:
            return
        session = plain_session(sess) if needs_session(variables.values()) else None
        if not checkpoint_exists(save_path):
            raise ArgumentError(f"The passed save_path is not a valid checkpoint: {as_text(save_path)}")
        with CheckpointReader(save_path).open_all() as reader:
            keys = _keys(reader, variables)
            for name, variable in variables.items():
                self._check(name, variable, reader.entry(keys[name]))
            self._put_all(list(variables.values()), session, reader, list(keys.values()))

    def _put_all(
        self, variables: list[Any], session: BaseSession | None, reader: CheckpointReader, keys: list[str]
    ) -> None:
        def use(number: int, value: object) -> None:
            variable = variables[number]
            fits = not self._reshape or isinstance(variable, SessionState)
            put(variable, session, value if fits else reshaped(variable, value))

        reader.read_each(keys, use)

    def _check(self, name: str, variable: Any, entry: Entry) -> None:
        """Raises unless a variable can take its value. All of them are asked before one is changed."""
        if isinstance(variable, SessionState):
            return  # which says itself what it cannot take
        check_dtype(variable, entry.dtype, name)
        if not self._reshape and not variable.shape.is_compatible_with(entry.shape):
            raise InvalidArgumentError(
                f"Assign requires shapes of both tensors to match. lhs shape= {brackets(variable.shape)} "
                f"rhs shape= {brackets(TensorShape(entry.shape))}: variable '{full_name(variable)}' has the first, and "
                "the checkpoint the second."
            )

    # What has been saved.

    @property
    def last_checkpoints(self) -> list[str]:
        """The checkpoints that are kept, oldest first."""
        return self._keeper.paths

    def set_last_checkpoints(self, last_checkpoints: Sequence[Any]) -> None:
        """Takes these for the checkpoints that this saver has saved, oldest first."""
        if not isinstance(last_checkpoints, (list, tuple)):
            raise DTypeError(f"Checkpoints are given as a list of their paths, got {shown(last_checkpoints)}.")
        self._keeper.set((as_text(path), 0.0) for path in last_checkpoints)

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: Sequence[tuple[Any, float]]) -> None:
        """Takes these for the checkpoints that this saver has saved: pairs of a path and a time, oldest first."""
        try:
            self._keeper.set((as_text(path), moment) for path, moment in last_checkpoints_with_time)
        except (TypeError, ValueError) as error:
            raise DTypeError(f"Checkpoints are given as a list of pairs of a path and a time: {error}") from None

    def recover_last_checkpoints(self, checkpoint_paths: Iterable[Any]) -> None:
        """Goes on where an earlier process stopped: of these checkpoints, those that are there count as saved here."""
        paths = [path for path in as_texts(checkpoint_paths, "Checkpoints") if checkpoint_exists(path)]
        self._keeper.set(zip(paths, get_checkpoint_mtimes(paths), strict=True))

    # As a message.

    @property
    def saver_def(self) -> SaverDef:
        """The options as a message."""
        return self.as_saver_def()

    def as_saver_def(self) -> SaverDef:
        """The options as a message."""
        return SaverDef(
            max_to_keep=int(self._keeper.max_to_keep),
            sharded=self._sharded,
            keep_checkpoint_every_n_hours=self._hours,
            version=SaverDef.V2,
        )

    def to_proto(self, export_scope: str | None = None) -> SaverDef:
        """The options as a message."""
        return self.as_saver_def()

    @staticmethod
    def from_proto(saver_def: SaverDef, import_scope: str | None = None) -> Saver:
        """A saver of the variables of the default graph, with the options of a message."""
        return Saver(saver_def=saver_def, allow_empty=True)

    def export_meta_graph(
        self,
        filename: PathLike | None = None,
        collection_list: Sequence[str] | None = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> Any:
        """The default graph with its variables and collections; `tf.train.export_meta_graph` says what the rest is."""
        made = export_meta_graph(
            saver_def=self.as_saver_def(),
            collection_list=collection_list,
            clear_devices=clear_devices,
            export_scope=export_scope,
        )
        self._note_saved(made)
        if filename is not None:
            write_meta_graph(made, filename, as_text)
        return made

    def _note_saved(self, content: MetaGraphDef) -> None:
        """Notes in a graph which of its variables this saver saves, and under which names."""
        if self._var_list is not None:
            note_saved(content, {key: full_name(variable) for key, variable in self._var_list.items()})


# The variables.


def _by_name(var_list: Any, allow_empty: bool) -> dict[str, Any]:
    """The variables by the names that they are saved under."""
    if var_list is None:
        if not makes_graph_variables():
            raise StateError(
                "When eager execution is enabled, `var_list` must specify a list or dict of variables to save"
            )
        graph = get_default_graph()
        var_list = graph.get_collection(GraphKeys.GLOBAL_VARIABLES) + graph.get_collection(GraphKeys.SAVEABLE_OBJECTS)
    found = _named(var_list) if isinstance(var_list, Mapping) else _unnamed(var_list)
    if not found and not allow_empty:
        raise ArgumentError("No variables to save")
    return found


def _named(var_list: Mapping[Any, Any]) -> dict[str, Any]:
    for name, variable in var_list.items():
        if not isinstance(name, str):
            raise DTypeError(
                "names_to_saveables must be a dict mapping string names to trackable operations. Name is not a string: "
                f"{shown(name)}"
            )
        if not is_saveable(variable) and not _are_parts(variable):
            raise DTypeError(
                "names_to_saveables must be a dict mapping string names to Tensors/Variables. Not a variable: "
                f"{shown(variable)}"
            )
    return {name: _whole(name, variable) for name, variable in var_list.items()}


def _are_parts(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(getattr(part, "_save_slice_info", None) for part in value)


def _whole(name: str, variable: Any) -> Any:
    """A variable, or the parts of one that was cut, saved under a name."""
    (found,) = in_parts(variable if _are_parts(variable) else [variable])
    return Parts(name, found.parts) if isinstance(found, Parts) else found


def _unnamed(var_list: Sequence[Any] | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(var_list, (str, bytes)) or is_saveable(var_list) or not isinstance(var_list, Iterable):
        raise DTypeError(f"var_list is a list or a dictionary of variables, got {shown(var_list)}.")
    found: dict[str, Any] = {}
    given = list(var_list)
    for variable in given:
        if not is_saveable(variable):
            raise DTypeError(f"Variable to save is not a Variable: {shown(variable)}")
    for variable in in_parts(given):
        if full_name(variable) in found:
            raise ArgumentError(f"At least two variables have the same name: {full_name(variable)}")
        found[full_name(variable)] = variable
    return found


def _keys(reader: CheckpointReader, variables: Mapping[str, Any]) -> dict[str, str]:
    """What the checkpoint calls the variables: their names, or what a ``tf.train.Checkpoint`` calls them."""
    if all(reader.has_tensor(name) for name in variables):
        return {name: name for name in variables}
    by_name = names_in(reader)
    return {name: by_name.get(name, name) for name in variables}


# Paths.


def as_step(step: IntLike, session: Any) -> int:
    """The number of a step: an integer, or the value of a tensor or variable; those of a graph are run in a session.

    Raises:
        DTypeError: it is no single number.
    """
    if isinstance(step, (int, np.integer)) and not isinstance(step, bool):
        return int(step)
    if isinstance(step, (EagerTensor, Variable)):
        value = step.numpy()
    elif isinstance(step, (SymbolicTensor, RefVariable, str)):
        value = plain_session(session).run(step)
    else:
        raise DTypeError(f"A step is an integer, or a tensor or variable that holds one; got {shown(step)}.")
    try:
        return int(np.asarray(value).item())
    except (TypeError, ValueError):
        raise DTypeError(f"global_step is one number, got {shown(value)}.") from None


def _place_for(path: str) -> Path:
    """The prefix to write to; its folder is made, if the folder that it is in is there."""
    prefix = prefix_path(path)
    with translated(prefix.parent):
        try:
            prefix.parent.mkdir(exist_ok=True)
        except FileNotFoundError:
            raise ArgumentError(f"Parent directory of {path} doesn't exist, can't save.") from None
    return prefix
