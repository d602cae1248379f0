"""Cursors: one iteration of a dataset, from which any number of threads take elements.

    cursor = Cursor(node, Binding())
    cursor.pull()        the next element; None at the end; raises its error
    cursor.close()       ends the threads of the pipeline; so does dropping the cursor

The iteration continues after an element that failed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from situs._src.base import locks
from situs._src.base.devices.logical import Device
from situs._src.base.errors import CancelledError
from situs._src.data.element import Element
from situs._src.data.node import Binding, Draws, Failure, Memory, Node, symbols_of
from situs._src.data.options import options_of
from situs._src.runtime.eager.bridge import Value
from situs._src.runtime.run.state import Run

_END: Any = object()
_NOTHING: Any = object()


class Cursor:
    """One iteration of a dataset.

    Args:
        node: The dataset.
        binding: What it is iterated with.

    Attributes:
        where: The device that the elements are on; None for the host.
    """

    def __init__(self, node: Node, binding: Binding) -> None:
        binding.deterministic = options_of(node).keeps_order
        self.node = node
        self._keep(binding)
        self._taken = 0
        self._failed = False
        self.where: Device | None = node.where
        self._life = binding.life
        self._lock = locks.lock()
        self._next: Any = _NOTHING  # what was looked at, and not taken
        self._items: Iterator[Any] = node.start(binding).elements()

    def pull(self, run: Run | None = None) -> Element | None:
        """The next element; None at the end.

        Args:
            run: The run of a session that waits for it, which may be told to stop.

        Raises:
            OpError: the element could not be made; the next one may still be.
            CancelledError: the iteration was closed.
        """
        with self._lock:
            if self._next is _NOTHING:
                self._next = self._take(run)
            if run is not None and type(self._next) is not Failure:
                run.check()  # an element that comes too late for its run stays for the next one
            item, self._next = self._next, _END if self._next is _END else _NOTHING
            self._taken += item is not _END
            self._failed |= type(item) is Failure
        if item is _END:
            return None
        if type(item) is not Failure:
            return item  # type: ignore[no-any-return]
        error = item.take()
        try:
            raise error
        finally:
            # The error holds this frame. If the frame held the error, both would outlive the iteration, which ends
            # its threads when it is dropped.
            del self, item, error

    def has_next(self, run: Run | None = None) -> bool:
        """Whether there is another element, which stays there."""
        with self._lock:
            if self._next is _NOTHING:
                self._next = self._take(run)
            return self._next is not _END

    def _keep(self, binding: Binding) -> None:
        """Keeps what a position is made of; not the binding, as a session's state holds the cursor already."""
        self.values, self._draws, self._memories = binding.values, binding.draws, binding.memories

    @contextmanager
    def standing(self) -> Iterator[tuple[int, bool, Draws, dict[int, Memory]]]:
        """How many elements were taken, whether one was an error, and what was drawn; none is taken meanwhile."""
        with self._lock:
            yield self._taken, self._failed, self._draws, self._memories

    def resume(self, node: Node, binding: Binding, taken: int, failed: bool) -> None:
        """Iterates again from behind so many elements.

        Args:
            node: The dataset.
            binding: What it is iterated with.
            taken: How many elements to leave out.
            failed: Whether there are errors among them: then they must be made to be counted.
        """
        binding.deterministic = options_of(node).keeps_order
        with self._lock:
            self._life.closed = True
            self.node, self._life = node, binding.life
            self._keep(binding)
            self._taken, self._failed, self._next = taken, failed, _NOTHING
            if failed:
                self._items = node.start(binding).elements()
                next(islice(self._items, taken, taken), None)
            else:
                self._items = node.start_after(binding, taken).elements()

    def _take(self, run: Any) -> Any:
        self._life.wanted_by(run)
        try:
            item = next(self._items, _END)
        except BaseException:  # closed, or an interrupt from the keyboard inside of a stage, which then cannot go on
            self._end(_Broken())
            raise
        finally:
            self._life.wanted_by(None)
        if item is _END:
            self._end(iter(()))
        return item

    def _end(self, instead: Iterator[Any]) -> None:
        self._items = instead  # releases the pipeline, and so of its threads

    def close(self) -> None:
        """Ends the iteration: its threads end, and waiters are released."""
        self._life.closed = True
        if self._lock.acquire(blocking=False):  # else the holder notices by itself
            self._end(_Broken())
            self._lock.release()

    def __del__(self) -> None:
        self._life.closed = True


class _Broken:
    """In the place of an iteration that cannot go on."""

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        raise CancelledError("The iterator was closed, or interrupted. Make a new one to iterate again.")


def binding_for(node: Node, values: Sequence[Value], run: Run) -> Binding:
    """The binding of a dataset that an operation iterates, with the values of the tensors it depends on."""
    symbols = symbols_of(node)
    return Binding({id(tensor): value for tensor, value in zip(symbols, values, strict=True)}, run.state)
