"""Noticing that graphs are made too often, and saying so.

Making a graph takes about a thousand times as long as running a small one. Functions with the same code count
together, so that a ``tf.function`` made anew in every iteration of a loop is found out as well.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

WATCHED = 10  # the last calls
TOO_MANY = 5  # graphs made in these
MOST_WARNINGS = 2

_logger = logging.getLogger("situs")


class Watch:
    """Counts the calls of a function, and those that made a graph."""

    __slots__ = ("__weakref__", "calls", "made", "warnings")

    def __init__(self) -> None:
        self.calls = 0
        self.made: list[int] = []  # the numbers of the calls that made a graph
        self.warnings = 0

    def note(self, function: Callable[..., Any]) -> None:
        """Notes that the call that is going on makes a graph; warns if too many of the last ones have."""
        self.made = [number for number in self.made if number > self.calls - WATCHED] + [self.calls]
        if len(self.made) < TOO_MANY or self.warnings >= MOST_WARNINGS:
            return
        self.warnings += 1
        _logger.warning(
            "%d out of the last %d calls to %r triggered tf.function retracing. Tracing is expensive. Likely reasons: "
            "(1) a @tf.function that is made anew in a loop: make it once, outside; (2) tensors of many shapes: use "
            "reduce_retracing=True or an input_signature; (3) Python numbers and objects that change from call to "
            "call: pass tensors.",
            len(self.made),
            min(self.calls, WATCHED),
            function,
        )


_watches: WeakKeyDictionary[CodeType, Watch] = WeakKeyDictionary()


def watch_of(function: Callable[..., Any]) -> Watch:
    """The watch over all functions with the code of this one."""
    code = getattr(function, "__code__", None)
    return Watch() if code is None else _watches.setdefault(code, Watch())
