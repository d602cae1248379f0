"""Device policy: what happens when an input is not on the device of its op.

``silent`` (the default) copies it; ``warn`` copies it with a warning; ``explicit`` raises an error;
``silent_for_int32`` copies int32 tensors and raises for others. Per thread, as in TensorFlow.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

from situs._src.base.devices import scope
from situs._src.base.devices.logical import Device
from situs._src.base.dtype import int32
from situs._src.base.errors import ArgumentError, InvalidArgumentError

if TYPE_CHECKING:
    from situs._src.runtime.eager.bridge import Place

SILENT, WARN, EXPLICIT, SILENT_FOR_INT32 = "silent", "warn", "explicit", "silent_for_int32"
POLICIES = (SILENT, WARN, EXPLICIT, SILENT_FOR_INT32)


class _ThreadPolicy(threading.local):
    policy: str = SILENT


_thread = _ThreadPolicy()
# Whether some thread may not copy silently: then no copying step may be cached in a shared memo.
_ever_strict = False


def get_policy() -> str:
    """The policy of this thread."""
    return _thread.policy


def set_policy(policy: str | None) -> None:
    """Sets the policy of this thread; None means ``silent``.

    Raises:
        ValueError: there is no such policy.
    """
    global _ever_strict
    wanted = SILENT if policy is None else policy
    if not isinstance(wanted, str) or wanted not in POLICIES:
        raise ArgumentError(
            f"Invalid argument `device_policy`: {policy!r}. The policies are: {', '.join(POLICIES)}, or None."
        )
    _thread.policy = wanted
    if wanted != SILENT:
        _ever_strict = True
        scope.forget()


def copies_may_be_kept() -> bool:
    """Whether a step that copies inputs may be cached for all threads."""
    return not _ever_strict


def check(op: str, number: int, where: Place, target: Device) -> None:
    """Applies the policy to one input that needs a copy.

    Raises:
        InvalidArgumentError: the policy forbids the copy.
    """
    policy = _thread.policy
    if policy == SILENT or (policy == SILENT_FOR_INT32 and where.dtype is int32):
        return
    place = (
        f"was expected to be on {target.name} but is actually on {where.device.name} "
        f"(operation running on {target.name})"
    )
    if policy == WARN:
        print(
            f"before computing {op} input #{number} {place}. "
            "This triggers a copy which can be a performance bottleneck.",
            file=sys.stderr,
        )
        return
    raise InvalidArgumentError(
        f"Tensors on conflicting devices: cannot compute {op} as input #{number} {place} Tensors can be copied "
        "explicitly using: with tf.device(...): tf.identity(tensor), or transparently after "
        "tf.config.experimental.set_device_policy('silent')"
    )
