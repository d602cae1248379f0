"""Threads that compute, and the end of the program.

The interpreter ends threads that run on when the program is over wherever they are; one that is in PyTorch at that
moment brings the process down. So threads that have been told to stop are waited for, for a little while.
"""

from __future__ import annotations

import atexit
import threading
import time
from weakref import WeakSet

_PATIENCE = 2.0  # seconds for all of them

_threads: WeakSet[threading.Thread] = WeakSet()


def wait_at_exit(thread: threading.Thread) -> None:
    """Has the program wait for a thread when it ends."""
    _threads.add(thread)


@atexit.register
def _wait() -> None:
    until = time.monotonic() + _PATIENCE
    for thread in list(_threads):
        thread.join(max(0.0, until - time.monotonic()))
