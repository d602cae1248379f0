"""The result of a restoration, and what is missing: returned by ``tf.train.Checkpoint.restore``.

status = checkpoint.restore(path)
status.assert_consumed()                    every saved value was restored, and every variable has its value
status.assert_existing_objects_matched()    every existing variable has its value
status.expect_partial()                     something is missing, and that is fine
"""

from __future__ import annotations

from typing import Any

from situs._src.base.errors import FailedPreconditionError, shown
from situs._src.base.typing import SessionLike
from situs._src.checkpoints.cells import check_dtype, full_name, is_variable, needs_session, plain_session, put
from situs._src.checkpoints.objects import walk
from situs._src.checkpoints.reader import CheckpointReader
from situs._src.checkpoints.restoration import Restoration
from situs._src.runtime.session.session import BaseSession

_SHOWN = 10


class UnmatchedError(FailedPreconditionError, AssertionError):
    """Something in a checkpoint has no counterpart in the program, or the other way round."""


class LoadStatus:
    """What every restoration can be asked."""

    def assert_consumed(self) -> LoadStatus:
        """Raises unless everything in the checkpoint has been used, and every variable has been restored."""
        return self

    def assert_existing_objects_matched(self) -> LoadStatus:
        """Raises unless every variable that the object leads to has been restored."""
        return self

    def assert_nontrivial_match(self) -> LoadStatus:
        """Raises if nothing but the object itself was found in the checkpoint."""
        return self

    def expect_partial(self) -> LoadStatus:
        """Says that it is fine if values stay unused: there will be no warning of them."""
        return self

    def run_restore_ops(self, session: SessionLike | None = None) -> None:
        """Puts values into the variables of a session; eager variables have theirs already."""

    def initialize_or_restore(self, session: SessionLike | None = None) -> None:
        """The same, and initializes the variables of the session that the checkpoint has no values for."""


class CheckpointLoadStatus(LoadStatus):
    """What a restoration from the values of objects has done."""

    def __init__(self, root: Any, restoration: Restoration) -> None:
        self._root = root  # the restoration itself does not keep it alive
        self._restoration = restoration

    def assert_consumed(self) -> CheckpointLoadStatus:
        """Raises unless everything in the checkpoint has been used, and every variable has been restored.

        Raises:
            AssertionError: it has not.
        """
        self.assert_existing_objects_matched()
        unresolved = self._restoration.unresolved()
        if unresolved:
            raise UnmatchedError(
                f"Unresolved object in checkpoint {unresolved[0]}: its value was not restored to anything, nor were "
                f"those of {len(unresolved) - 1} others. Make what it belongs to, or call expect_partial()."
            )
        return self

    def assert_existing_objects_matched(self) -> CheckpointLoadStatus:
        """Raises unless every variable that the object leads to has been restored.

        Raises:
            AssertionError: it has not.
        """
        self._restoration.advance()
        unmatched = self._restoration.unmatched()
        if unmatched:
            raise UnmatchedError(
                f"Found {len(unmatched)} Python objects that were not bound to checkpointed values, likely due to "
                f"changes in the Python program. Showing {min(_SHOWN, len(unmatched))} of {len(unmatched)} unmatched "
                f"objects: {shown(unmatched[:_SHOWN], 1000)}"
            )
        return self

    def assert_nontrivial_match(self) -> CheckpointLoadStatus:
        """Raises if nothing but the object itself was found in the checkpoint.

        Raises:
            AssertionError: nothing was.
        """
        self._restoration.advance()
        if not self._restoration.bound_any():
            raise UnmatchedError(
                "Nothing except the root object matched a checkpointed value. Typically this means that the checkpoint "
                f"does not match the Python program: it has no children of {shown(self._root)}."
            )
        return self

    def expect_partial(self) -> CheckpointLoadStatus:
        """Says that it is fine if values stay unused: there will be no warning of them."""
        self._restoration.expects_all = False
        return self

    def run_restore_ops(self, session: SessionLike | None = None) -> None:
        """Puts values into the variables of a session; eager variables have theirs already."""
        self._restoration.advance()
        if self._restoration.graph_variables():
            self._restoration.run(plain_session(session))

    def initialize_or_restore(self, session: SessionLike | None = None) -> None:
        """The same, and initializes the variables of the session that the checkpoint has no values for."""
        self._restoration.advance()
        _initialize(self._restoration.unmatched(), session)
        self.run_restore_ops(session)


class InitializationOnlyStatus(LoadStatus):
    """There was nothing to restore: what ``restore(None)`` returns."""

    def __init__(self, root: Any) -> None:
        self._root = root

    def assert_consumed(self) -> LoadStatus:
        """Raises: there was no checkpoint.

        Raises:
            AssertionError: always.
        """
        raise UnmatchedError("No checkpoint specified (save_path=None); nothing is being restored.")

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed

    def run_restore_ops(self, session: SessionLike | None = None) -> None:
        """Raises: there was no checkpoint.

        Raises:
            AssertionError: always.
        """
        self.assert_consumed()

    def initialize_or_restore(self, session: SessionLike | None = None) -> None:
        """Initializes the variables of the session."""
        _initialize([variable for _, variable in walk(self._root).variables], session)


class NameBasedSaverStatus(LoadStatus):
    """A checkpoint that a ``Saver`` has saved: variables are found by their names."""

    def __init__(self, root: Any, reader: CheckpointReader) -> None:
        self._root = root
        self._reader = reader
        self._restore([v for v in self._variables() if not needs_session([v])], None)

    def _variables(self) -> list[Any]:
        return [variable for _, variable in walk(self._root).variables if is_variable(variable)]

    def _restore(self, variables: list[Any], session: BaseSession | None) -> None:
        there = [variable for variable in variables if self._reader.has_tensor(full_name(variable))]
        for variable in there:
            check_dtype(variable, self._reader.entry(full_name(variable)).dtype, full_name(variable))
        for variable in there:
            put(variable, session, self._reader.read(full_name(variable)))

    def assert_consumed(self) -> NameBasedSaverStatus:
        """Raises unless every value has a variable of its name, and every variable a value.

        Raises:
            AssertionError: one has not.
        """
        self.assert_existing_objects_matched()
        names = {full_name(variable) for variable in self._variables()}
        unused = sorted(set(self._reader.get_variable_to_shape_map()) - names)
        if unused:
            raise UnmatchedError(f"Some values of the checkpoint belong to no variable: {shown(unused, 1000)}")
        return self

    def assert_existing_objects_matched(self) -> NameBasedSaverStatus:
        """Raises unless every variable has a value of its name in the checkpoint.

        Raises:
            AssertionError: one has not.
        """
        names = [full_name(variable) for variable in self._variables()]
        missing = [name for name in names if not self._reader.has_tensor(name) and name != "save_counter"]
        if missing:
            raise UnmatchedError(f"Some variables are not in the checkpoint: {shown(missing, 1000)}")
        return self

    assert_nontrivial_match = assert_existing_objects_matched

    def run_restore_ops(self, session: SessionLike | None = None) -> None:
        """Puts values into the variables of a session; eager variables have theirs already."""
        variables = [v for v in self._variables() if needs_session([v])]
        if variables:
            self._restore(variables, plain_session(session))

    def initialize_or_restore(self, session: SessionLike | None = None) -> None:
        """The same, and initializes the variables of the session that the checkpoint has no values for."""
        _initialize(self._variables(), session)
        self.run_restore_ops(session)


def _initialize(variables: list[Any], session: Any) -> None:
    """Runs the initializers of those variables that are a graph's."""
    initializers = [variable.initializer for variable in variables if needs_session([variable])]
    if initializers:
        plain_session(session).run(initializers)
