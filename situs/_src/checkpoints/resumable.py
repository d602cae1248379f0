"""``Resumable``: the base of objects that save state other than variables: dataset iterators.

Checkpoint(iterator=iter(dataset))        iterator/.ATTRIBUTES/ITERATOR_STATE

A state is opaque bytes of the object. It is validated before anything of a checkpoint is restored.
"""

from __future__ import annotations

import abc


class Resumable(abc.ABC):
    """An object whose state a checkpoint saves as bytes."""

    @abc.abstractmethod
    def _saved_state(self) -> bytes:
        """The state as it is now.

        Raises:
            FailedPreconditionError: it cannot be brought back.
        """

    @abc.abstractmethod
    def _check_state(self, state: bytes) -> None:
        """Raises unless this object can be brought into a state.

        Raises:
            InvalidArgumentError: it is one of another kind of object.
            DataLossError: it is not one.
        """

    @abc.abstractmethod
    def _resume(self, state: bytes) -> None:
        """Brings the object into a state that has been checked."""
