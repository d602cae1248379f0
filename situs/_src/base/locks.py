"""Fork-safe locks.

After ``os.fork`` the child has only the thread that forked. A lock that another thread held at that moment would stay
locked for ever, so the locks that every op, session or variable may need are created here, and released in the child.
The state they guard is consistent: it is changed atomically, or by the thread that forked.
"""

from __future__ import annotations

import os
import threading
from typing import Any
from weakref import WeakSet

_locks: WeakSet[Any] = WeakSet()


def lock() -> threading.Lock:
    """A lock as `threading.Lock` makes it."""
    made = threading.Lock()
    _locks.add(made)
    return made


def rlock() -> threading.RLock:
    """A lock as `threading.RLock` makes it."""
    made = threading.RLock()
    _locks.add(made)
    return made


def event() -> threading.Event:
    """A flag as `threading.Event` makes it; it stays set, or not, in the child."""
    made = threading.Event()
    _locks.add(made)
    return made


def _open_all() -> None:
    for each in list(_locks):
        if not getattr(each, "_is_owned", bool)():  # by the thread that forked, which will release it itself
            each._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open_all)
