"""Compute threads at interpreter exit.

At exit, the interpreter kills threads that are still running, wherever they are; if one is inside PyTorch at that
moment, the process crashes. So threads that have been told to stop are joined, with a short timeout.
"""

from __future__ import annotations

import atexit
import threading
import time
from weakref import WeakSet

_PATIENCE = 2.0  # seconds for all of them together

_threads: WeakSet[threading.Thread] = WeakSet()


def wait_at_exit(thread: threading.Thread) -> None:
    """Joins a thread at exit, with a timeout."""
    _threads.add(thread)


@atexit.register
def _wait() -> None:
    until = time.monotonic() + _PATIENCE
    for thread in list(_threads):
        thread.join(max(0.0, until - time.monotonic()))
