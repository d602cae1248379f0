"""Progress of long work: a status line on standard error.

    with working("Tracing step", lambda: f"{len(graph.operations)} operations"):
        ...

    Tracing step: 48210 operations, 6 s          after two seconds, twice a second; removed when the work ends

Only a terminal or a notebook shows it; elsewhere, and for short work, nothing happens. The work itself pays nothing: a
thread polls it. Nested work has no line of its own, and Keras' ``fit`` shows its progress itself.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from situs._src.base import locks

PATIENCE = 2.0  # seconds until work counts as long
PERIOD = 0.5
_line = locks.lock()  # of the current line


@contextmanager
def working(what: str, state: Callable[[], str] | None = None) -> Iterator[None]:
    """Shows a line about the work inside, if it takes long and the output is interactive.

    Args:
        what: What is being done.
        state: How far it is, asked for from another thread; nothing where that cannot be said.
    """
    stream = sys.stderr
    if not is_watched(stream) or not _line.acquire(blocking=False):
        yield
        return
    over = locks.event()
    watcher = threading.Thread(target=_show, args=(what, state, stream, over), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        _line.release()


def is_watched(stream: TextIO | None) -> bool:
    """Whether a stream is shown interactively."""
    return stream is not None and (stream.isatty() or _is_notebook())


def _is_notebook() -> bool:
    """Whether this process runs the cells of a notebook."""
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return running is not None and "ipykernel" in type(running).__module__


def _show(what: str, state: Callable[[], str] | None, stream: TextIO, over: threading.Event) -> None:
    begin, width, wait = time.monotonic(), 0, PATIENCE
    while not over.wait(wait):
        parts = [*([state()] if state is not None else []), f"{time.monotonic() - begin:.0f} s"]
        line = f"{what}: {', '.join(parts)}"
        stream.write(f"\r{line.ljust(width)}")
        stream.flush()
        width, wait = max(width, len(line)), PERIOD
    if width:
        stream.write(f"\r{' ' * width}\r")
        stream.flush()
