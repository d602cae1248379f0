"""``tf.placement.profile``; the runtime is loaded only when it is used."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from situs._src.base.export import export

if TYPE_CHECKING:
    from situs._src.runtime.dynamic.profile import Profile


@export("placement.profile", as_is=True)
def profile(save: bool = True, links: bool = True) -> AbstractContextManager[Profile]:
    """Measures what the operations of graphs cost that run meanwhile, and copies between devices.

    Recorded runs are slower: each call is timed by itself, and GPUs are waited for. The first run of each program is
    not recorded, because in it kernels are chosen and memory is taken.

    Args:
        save: Whether to write it to the user's file of costs at the end, for later programs.
        links: Whether to measure copies between all devices of this process, which takes milliseconds.

    Example:
        with tf.placement.profile():
            for _ in range(5):
                train_step(batch)
    """
    from situs._src.runtime.dynamic.profile import profiled

    return profiled(save, links)
