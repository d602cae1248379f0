"""Waiting for the next checkpoint that another process saves.

for path in tf.train.checkpoints_iterator("run", timeout=600):
    evaluate(path)
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

from situs._src.base.export import export
from situs._src.base.typing import PathLike
from situs._src.checkpoints.finding import latest_checkpoint
from situs._src.ops.attribute import as_float


@export("train.checkpoints_iterator")
def checkpoints_iterator(
    checkpoint_dir: PathLike,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """Gives each new checkpoint of a folder when it is complete; those that come too quickly are passed over.

    Args:
        checkpoint_dir: The folder.
        min_interval_secs: How many seconds to let pass between two of them at least.
        timeout: How many seconds to wait for one; None for as long as it takes.
        timeout_fn: Called when that time has passed: whether to give up. Without it, that is what happens.
    """
    interval = as_float(min_interval_secs, "min_interval_secs")
    last = None
    while True:
        found = wait_for_new_checkpoint(checkpoint_dir, last, timeout=timeout)
        if found is None:
            if timeout_fn is None or timeout_fn():
                return
            continue
        begun, last = time.monotonic(), found
        yield found
        time.sleep(min(max(0.0, begun + interval - time.monotonic()), threading.TIMEOUT_MAX))


def wait_for_new_checkpoint(
    checkpoint_dir: PathLike,
    last_checkpoint: str | None = None,
    seconds_to_sleep: float = 1.0,
    timeout: float | None = None,
) -> str | None:
    """Waits for a checkpoint that is not `last_checkpoint`.

    Args:
        checkpoint_dir: The folder.
        last_checkpoint: The one that is known already.
        seconds_to_sleep: How long to wait before looking again.
        timeout: How many seconds to wait in all; None for as long as it takes.

    Returns:
        Its prefix; None if the time has passed.
    """
    pause = min(max(as_float(seconds_to_sleep, "seconds_to_sleep"), 0.0), threading.TIMEOUT_MAX)
    end = None if timeout is None else time.monotonic() + as_float(timeout, "timeout")
    while True:
        found = latest_checkpoint(checkpoint_dir)
        if found is not None and found != last_checkpoint:
            return found
        if end is not None and time.monotonic() + pause > end:
            return None
        time.sleep(pause)
