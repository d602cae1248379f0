"""The tracing lock: one graph is traced at a time, by one thread or by the replicas that it has started.

The lock is reentrant, because tracing a function may trace others. The replicas of a strategy are
threads that build parts of the same graph, one after another: they enter as the thread that waits for them (`adopt`).
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

from situs._src.base import locks


class _Owner(threading.local):
    def __init__(self) -> None:
        self.token: Any = None


class TracingLock:
    """A lock that one owner may enter many times."""

    def __init__(self) -> None:
        self._lock = locks.lock()
        self._own = _Owner()
        self._holder: Any = None
        self._depth = 0

    def owner(self) -> Any:
        """The owner that this thread acts as."""
        if self._own.token is None:
            self._own.token = object()
        return self._own.token

    def adopt(self, owner: Any) -> None:
        """Makes this thread act as another owner; None restores its own identity."""
        self._own.token = owner

    def __enter__(self) -> None:
        owner = self.owner()
        if self._holder is not owner:
            self._lock.acquire()
            self._holder, self._depth = owner, 0
        self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        if not self._depth:
            self._holder = None
            self._lock.release()


tracing = TracingLock()
