"""``tf.train.Checkpoint``: variables by their place in the objects of a program.

    checkpoint = tf.train.Checkpoint(net=net, step=step)
    path = checkpoint.save("run/ckpt")                            "run/ckpt-1", then "run/ckpt-2", ...
    checkpoint.restore(path).assert_consumed()

Objects may be of any class, lists and dictionaries included. The program that restores may have its variables on other
devices. Variables that it makes later are restored when they are attached to the checkpoint or to a `Trackable`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from situs import dtype as dt
from situs.checkpoints.cells import holds_value, is_variable, needs_session, plain_session, put, saved
from situs.checkpoints.layout import prefix_path
from situs.checkpoints.objects import GRAPH_KEY, children, may_hold_variables, pruned, read_graph, to_text, walk
from situs.checkpoints.reader import CheckpointReader
from situs.checkpoints.restoration import Restoration
from situs.checkpoints.state import update_checkpoint_state
from situs.checkpoints.status import CheckpointLoadStatus, InitializationOnlyStatus, LoadStatus, NameBasedSaverStatus
from situs.checkpoints.trackable import Trackable
from situs.checkpoints.writer import Saved, write
from situs.devices.scope import device
from situs.eager.bridge import host
from situs.errors import InvalidArgumentError, NotFoundError, shown
from situs.files.paths import as_text, translated
from situs.graph.context import init_scope
from situs.variables.eager import Variable
from situs.variables.symbolic import RefVariable

_COUNTER = "save_counter"
_OWN = ("_base", "_counter")  # attributes that are no children


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
            raise InvalidArgumentError(f"A Checkpoint has a {reserved.pop()} of its own: give the object another name.")
        for name, value in [("root", root), *kwargs.items()]:
            if not may_hold_variables(value) and not (name == "root" and value is None):
                raise InvalidArgumentError(
                    f"`Checkpoint` was expecting {name} to be a trackable object: a variable, an object that has "
                    f"variables, or a list or dictionary of such; got {shown(value)}."
                )
        if is_variable(root):
            raise InvalidArgumentError("A variable has no children: give it a name, as in Checkpoint(v=variable).")
        self._base = root
        self._counter: Any = None
        taken = {} if root is None else children(root)
        for name in sorted(kwargs):
            if name in taken and taken[name] is not kwargs[name]:
                raise InvalidArgumentError(
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

    def save(self, file_prefix: Any, options: Any = None) -> str:
        """Saves everything under a name with a number, and makes it the latest checkpoint of its folder.

        Args:
            file_prefix: The path to begin the names of the files with; a number is added to it.
            options: Accepted for TensorFlow's programs.

        Returns:
            The path with the number, for `restore`.
        """
        return self._save(as_text(file_prefix), None)

    def _save(self, file_prefix: str, session: Any) -> str:
        path, undo = self.write_numbered(file_prefix, None, session)
        try:
            update_checkpoint_state(prefix_path(path).parent, path)
        except BaseException:
            undo()
            raise
        return path

    def write_numbered(self, file_prefix: str, number: int | None, session: Any) -> tuple[str, Callable[[], None]]:
        """Counts a save and writes it.

        Args:
            file_prefix: The path to begin the names of the files with.
            number: What to add to it, if it is not the count.
            session: The session of graph variables; the default one for None.

        Returns:
            The path, and a function that takes the count back.
        """
        counter = self.save_counter
        used = plain_session(session) if needs_session([counter]) else None
        count = int(saved(counter, used, _COUNTER).value) if holds_value(counter, used) else 0

        def undo() -> None:
            put(counter, used, torch.tensor(count))

        put(counter, used, torch.tensor(count + 1))
        try:
            return self._write(f"{file_prefix}-{count + 1 if number is None else number}", session), undo
        except BaseException:
            undo()
            raise

    def write(self, file_prefix: Any, options: Any = None) -> str:
        """Saves everything under a name as it is, and tells nobody.

        Args:
            file_prefix: The path to begin the names of the files with.
            options: Accepted for TensorFlow's programs.

        Returns:
            The same path, for `read`.
        """
        return self._write(as_text(file_prefix), None)

    def _write(self, path: str, session: Any) -> str:
        prefix = prefix_path(path)
        graph = pruned(walk(self))
        used = plain_session(session) if needs_session(variable for _, variable in graph.variables) else None
        values = [saved(variable, used, key) for key, variable in graph.variables]
        text = np.array(to_text(graph), dtype=object)
        with translated(prefix.parent):
            prefix.parent.mkdir(parents=True, exist_ok=True)
        write(prefix, [Saved(GRAPH_KEY, dt.string, text, host().name), *values])
        return path

    # Restoring.

    def restore(self, save_path: Any, options: Any = None) -> LoadStatus:
        """Gives the variables the values that they were saved with, and goes on counting from there.

        Args:
            save_path: What `save` returned, or `tf.train.latest_checkpoint`; None restores nothing.
            options: Accepted for TensorFlow's programs.

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
        return self.read(save_path)

    def read(self, save_path: Any, options: Any = None) -> LoadStatus:
        """The same for a checkpoint of `write`; it does not count."""
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


class CheckpointV1(Checkpoint):
    """The same in TensorFlow 1's dialect, where variables may be a graph's and have values in sessions."""

    _make_variable = RefVariable

    def save(self, file_prefix: Any, session: Any = None) -> str:
        """Saves everything under a name with a number, and makes it the latest checkpoint of its folder.

        Args:
            file_prefix: The path to begin the names of the files with; a number is added to it.
            session: The session whose values to save; the default one if it is not given.

        Returns:
            The path with the number, for `restore`.
        """
        return self._save(as_text(file_prefix), session)

    def write(self, file_prefix: Any, session: Any = None) -> str:
        """Saves everything under a name as it is, and tells nobody.

        Args:
            file_prefix: The path to begin the names of the files with.
            session: The session whose values to save; the default one if it is not given.

        Returns:
            The same path, for `read`.
        """
        return self._write(as_text(file_prefix), session)


def _opened(path: str) -> CheckpointReader:
    try:
        return CheckpointReader(path).open_all()
    except NotFoundError as error:
        raise NotFoundError(f"Error when restoring from checkpoint or SavedModel at {path}: {error}") from None
