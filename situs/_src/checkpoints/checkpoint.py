"""``tf.train.Checkpoint``: variables by their path in the objects of a program.

    checkpoint = tf.train.Checkpoint(net=net, step=step)
    path = checkpoint.save("run/ckpt")                            "run/ckpt-1", then "run/ckpt-2", ...
    checkpoint.restore(path).assert_consumed()

Objects may be of any class, lists and dictionaries included. The restoring program may have its variables on other
devices. Variables that are created later are restored when they are attached to the checkpoint or to a `Trackable`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.devices.scope import ROOT, build_into, device, here
from situs._src.base.errors import ArgumentError, NotFoundError, UnimplementedError, shown
from situs._src.base.export import export
from situs._src.base.shapes import SCALAR
from situs._src.base.tensor import Tensor, is_tensor
from situs._src.base.typing import PathLike, SessionLike
from situs._src.checkpoints.cells import holds_value, is_variable, needs_session, plain_session, put, saved
from situs._src.checkpoints.layout import prefix_path
from situs._src.checkpoints.objects import GRAPH_KEY, children, may_hold_variables, pruned, read_graph, to_text, walk
from situs._src.checkpoints.options import Background, CheckpointOptions, as_options
from situs._src.checkpoints.reader import CheckpointReader
from situs._src.checkpoints.restoration import Restoration
from situs._src.checkpoints.state import update_checkpoint_state
from situs._src.checkpoints.status import (
    CheckpointLoadStatus,
    InitializationOnlyStatus,
    LoadStatus,
    NameBasedSaverStatus,
)
from situs._src.checkpoints.trackable import Trackable
from situs._src.checkpoints.writer import Saved, write
from situs._src.files.paths import as_text, translated
from situs._src.ir.graph.context import init_scope
from situs._src.ops.define import CPU, op
from situs._src.runtime.eager.bridge import host
from situs._src.variables.eager import Variable
from situs._src.variables.symbolic import RefVariable

_COUNTER = "save_counter"
_OWN = ("_background", "_base", "_counter")  # attributes that are no children


@export(
    "train.Checkpoint",
    v1=(),
    differs="Files are safetensors and JSON, written as a whole or not at all; TensorFlow's are only read. Lists "
    "and dictionaries that are attributes of an AutoTrackable stay what they are, and are saved.",
)
class Checkpoint(Trackable):
    """Saves and restores the variables that objects lead to.

    Args:
        root: An object whose children are saved as if they were the checkpoint's own.
        **kwargs: The objects to save, by name: variables, objects that have some, lists and dictionaries of them.

    Raises:
        ValueError: one of them cannot lead to variables, or `root` has another child of the same name.

    Example:
        >>> import tempfile, situs as tf
        >>> step = tf.Variable(7)
        >>> path = Checkpoint(step=step).save(tempfile.mkdtemp() + "/ckpt")
        >>> status = Checkpoint(step=step.assign(0)).restore(path)
        >>> int(step)
        7
    """

    _make_variable: Callable[..., Any] = Variable

    def __init__(self, root: Any = None, **kwargs: Any) -> None:
        reserved = kwargs.keys() & {_COUNTER, *_OWN}
        if reserved:
            raise ArgumentError(f"A Checkpoint has a {reserved.pop()} of its own: give the object another name.")
        for name, value in [("root", root), *kwargs.items()]:
            if not may_hold_variables(value) and not (name == "root" and value is None):
                raise ArgumentError(
                    f"`Checkpoint` was expecting {name} to be a trackable object: a variable, an object that has "
                    f"variables, or a list or dictionary of such; got {shown(value)}."
                )
        if is_variable(root):
            raise ArgumentError("A variable has no children: give it a name, as in Checkpoint(v=variable).")
        self._base = root
        self._counter: Any = None
        self._background = Background()
        taken = {} if root is None else children(root)
        for name in sorted(kwargs):
            if name in taken and taken[name] is not kwargs[name]:
                raise ArgumentError(
                    f"Cannot create a Checkpoint with keyword argument {name} if root.{name} already exists."
                )
            setattr(self, name, kwargs[name])

    def _checkpoint_children(self) -> dict[str, Any]:
        found = {} if self._base is None else children(self._base)
        found.update((name, value) for name, value in vars(self).items() if name not in _OWN)
        if self._counter is not None:
            found[_COUNTER] = self._counter
        return found

    @property
    def save_counter(self) -> Any:
        """How often this has been saved, as a variable; the next name is made with it."""
        if self._counter is None:
            with init_scope(), device("/cpu:0"):
                self._counter = type(self)._make_variable(0, dtype=dt.int64, name=_COUNTER, trainable=False)
        return self._counter

    # Saving.

    def save(self, file_prefix: PathLike, options: CheckpointOptions | None = None) -> str:
        """Saves everything under a name with a number, and makes it the latest checkpoint of its folder.

        Args:
            file_prefix: The path to begin the names of the files with; a number is added to it.
            options: How to write it.

        Returns:
            The path with the number, for `restore`.

        Raises:
            UnimplementedError: a ``tf.function`` is being traced; there is `write`.
        """
        return self._save(file_prefix, None, options)

    def _save(self, file_prefix: PathLike, session: Any, options: CheckpointOptions | None) -> str:
        if _in_function():
            raise NotInFunctionError(
                "Calling tf.train.Checkpoint.save() from a function is not supported, as it changes what Python knows "
                "of checkpoints. Consider using tf.train.Checkpoint.write(), or call it outside of the function."
            )

        def note(path: str) -> None:
            update_checkpoint_state(prefix_path(path).parent, path)

        return self.write_numbered(as_text(file_prefix), None, session, as_options(options), note)

    def write_numbered(
        self,
        file_prefix: str,
        number: int | None,
        session: Any,
        options: CheckpointOptions,
        note: Callable[[str], None],
    ) -> str:
        """Counts a save, writes it and notes it; if that fails, it does not count.

        Args:
            file_prefix: The path to begin the names of the files with.
            number: What to add to it, if it is not the count.
            session: The session of graph variables; the default one for None.
            options: How to write it.
            note: Notes that it has been written.

        Returns:
            The path.
        """
        self.sync()
        counter = self.save_counter
        used = plain_session(session) if needs_session([counter]) else None
        count = int(saved(counter, used, _COUNTER).value) if holds_value(counter, used) else 0
        put(counter, used, torch.tensor(count + 1))
        path = f"{file_prefix}-{count + 1 if number is None else number}"
        try:
            finish = self._taken(path, session)
        except BaseException:
            put(counter, used, torch.tensor(count))
            raise

        def write_and_note() -> None:
            try:
                finish()
                note(path)
            except BaseException:
                put(counter, used, torch.tensor(count))
                raise
            options.tell(path)

        self._now_or_beside(write_and_note, options)
        return path

    def write(self, file_prefix: PathLike, options: CheckpointOptions | None = None) -> Tensor | str:
        """Saves everything under exactly this name, without updating the file ``checkpoint``.

        In a ``tf.function`` this is an operation: each run writes the values that the variables have then.

        Args:
            file_prefix: The path to begin the names of the files with; in a ``tf.function`` it may be a tensor.
            options: How to write it.

        Returns:
            The same path, for `read`; in a ``tf.function`` a tensor that has it when it has been written.
        """
        return self._write(file_prefix, None, options)

    def _write(self, file_prefix: PathLike, session: Any, options: CheckpointOptions | None) -> Tensor | str:
        asked = as_options(options)
        if _in_function():
            prefix = file_prefix if is_tensor(file_prefix) else as_text(file_prefix)
            return _write_op(prefix, write=lambda path: self._written(path, session, asked))
        return self._written(as_text(file_prefix), session, asked, makes_folder=True)

    def _written(self, path: str, session: SessionLike, options: CheckpointOptions, makes_folder: bool = False) -> str:
        self.sync()
        finish = self._taken(path, session, makes_folder)

        def write_and_tell() -> None:
            finish()
            options.tell(path)

        self._now_or_beside(write_and_tell, options)
        return path

    def _now_or_beside(self, work: Callable[[], None], options: CheckpointOptions) -> None:
        if options.enable_async:
            self._background.start(work)
        else:
            work()

    def _taken(self, path: str, session: SessionLike, makes_folder: bool = True) -> Callable[[], None]:
        """Takes the values that there are now, and returns what writes them."""
        prefix = prefix_path(path)
        graph = pruned(walk(self))
        used = plain_session(session) if needs_session(variable for _, variable in graph.variables) else None
        values = [saved(variable, used, key) for key, variable in graph.variables]
        text = np.array(to_text(graph), dtype=object)

        def finish() -> None:
            with translated(prefix.parent):
                if makes_folder:
                    prefix.parent.mkdir(parents=True, exist_ok=True)
            write(prefix, [Saved(GRAPH_KEY, dt.string, text, host().name), *values])

        return finish

    def sync(self) -> None:
        """Waits for a checkpoint that is being written beside the program, and raises what its writing met."""
        self._background.wait()

    # Restoring.

    def restore(self, save_path: PathLike, options: CheckpointOptions | None = None) -> LoadStatus:
        """Gives the variables the values that they were saved with, and goes on counting from there.

        Args:
            save_path: What `save` returned, or `tf.train.latest_checkpoint`; None restores nothing.
            options: How to read it.

        Returns:
            A status that can be asked whether everything was found. Variables that are made later are restored when
            they are attached to an object that was restored.

        Raises:
            NotFoundError: there is no such checkpoint.
            InvalidArgumentError: a variable has another shape or dtype there.
            DataLossError: it is damaged.
        """
        if save_path is not None:
            _ = self.save_counter
        return self.read(save_path, options)

    def read(self, save_path: Any, options: CheckpointOptions | None = None) -> LoadStatus:
        """The same for a checkpoint of `write`; it does not count."""
        as_options(options)
        self.sync()
        if save_path is None:
            return InitializationOnlyStatus(self)
        reader = _opened(as_text(save_path))
        graph = read_graph(reader)
        if graph is None:
            return NameBasedSaverStatus(self, reader)
        restoration = Restoration(reader, graph, self, [] if self._counter is None else [self._counter])
        restoration.advance()
        if self._base is not None:
            restoration.watch(self._base)
        restoration.close()
        return CheckpointLoadStatus(self, restoration)


@export(v1="train.Checkpoint")
class CheckpointV1(Checkpoint):
    """The same in TensorFlow 1's dialect, where variables may be a graph's and have values in sessions."""

    _make_variable = RefVariable

    def save(  # type: ignore[override]
        self, file_prefix: PathLike, session: SessionLike | None = None, options: CheckpointOptions | None = None
    ) -> str:
        """Saves everything under a name with a number, and makes it the latest checkpoint of its folder.

        Args:
            file_prefix: The path to begin the names of the files with; a number is added to it.
            session: The session whose values to save; the default one if it is not given.
            options: How to write it.

        Returns:
            The path with the number, for `restore`.
        """
        return self._save(file_prefix, session, options)

    def write(  # type: ignore[override]
        self, file_prefix: PathLike, session: Any = None, options: CheckpointOptions | None = None
    ) -> Tensor | str:
        """Saves everything under exactly this name, without updating the file ``checkpoint``.

        Args:
            file_prefix: The path to begin the names of the files with.
            session: The session whose values to save; the default one if it is not given.
            options: How to write it.

        Returns:
            The same path, for `read`.
        """
        return self._write(file_prefix, session, options)


class NotInFunctionError(UnimplementedError, NotImplementedError):
    """Something that a traced function cannot do; TensorFlow's programs know it as a ``NotImplementedError``."""


_write_op = op("WriteCheckpoint", "prefix: string -> path: string", stateful=True, write=None)
_write_op.shape(lambda prefix, *, write: SCALAR)


@_write_op.kernel(CPU)
def _write_kernel(prefix: Any, *, write: Callable[[str], str]) -> Any:
    before = build_into(None, ROOT)
    try:
        write(os.fsdecode(prefix[()]))
    finally:
        build_into(*before)
    return prefix


def _in_function() -> bool:
    return bool(
        getattr(here.graph, "runs_effects", False)
    )  # of a traced function, also of one that a session's graph calls


def _opened(path: str) -> CheckpointReader:
    try:
        return CheckpointReader(path).open_all()
    except NotFoundError as error:
        raise NotFoundError(f"Error when restoring from checkpoint or SavedModel at {path}: {error}") from None
