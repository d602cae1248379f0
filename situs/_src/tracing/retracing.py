"""Detecting excessive retracing, and warning about it.

Tracing takes about a thousand times as long as running a small graph. Functions with the same code count
together, so that a ``tf.function`` defined inside a loop is detected as well.

`reason_for` gives the reason for a trace: which argument was new, and what it was before.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

from situs._src.tracing.kind import Kind
from situs._src.tracing.parameters import Parameters
from situs._src.tracing.text import input_texts

WATCHED = 10  # the last calls
TOO_MANY = 5  # traces among these
MOST_WARNINGS = 2

_logger = logging.getLogger("situs")


class Watch:
    """Counts the calls of a function, and its traces."""

    __slots__ = ("__weakref__", "calls", "made", "warnings")

    def __init__(self) -> None:
        self.calls = 0
        self.made: list[int] = []  # the numbers of the calls that traced
        self.warnings = 0

    def note(self, function: Callable[..., Any]) -> None:
        """Records that the current call traces a graph; warns if too many of the last ones have."""
        self.made = [number for number in self.made if number > self.calls - WATCHED] + [self.calls]
        if len(self.made) < TOO_MANY or self.warnings >= MOST_WARNINGS:
            return
        self.warnings += 1
        _logger.warning(
            "%d out of the last %d calls to %r triggered tf.function retracing. Tracing is expensive. Likely reasons: "
            "(1) a @tf.function defined inside a loop: define it once, outside; (2) tensors of many shapes: use "
            "reduce_retracing=True or an input_signature; (3) Python numbers and objects that change from call to "
            "call: pass tensors.",
            len(self.made),
            min(self.calls, WATCHED),
            function,
        )


_watches: WeakKeyDictionary[CodeType, Watch] = WeakKeyDictionary()


def watch_of(function: Callable[..., Any]) -> Watch:
    """The watch of all functions with the code of this one."""
    code = getattr(function, "__code__", None)
    return Watch() if code is None else _watches.setdefault(code, Watch())


FIRST = "the first call"


def reason_for(kind: Kind, earlier: Sequence[Kind], parameters: Parameters) -> str:
    """Why a graph is traced for a kind of arguments: what differs from the most similar earlier kind.

    Args:
        kind: The kind that the graph is traced for.
        earlier: The kinds that the function has graphs for.
        parameters: The parameters of the function.
    """
    if not earlier:
        return FIRST
    if kind in earlier:
        return "another place: inside another graph, another replica, or under another device scope"
    wanted = {name: text for name, _, text in input_texts(parameters, kind)}
    known = [{name: text for name, _, text in input_texts(parameters, each)} for each in earlier]
    differing = [[name for name in {**wanted, **old} if wanted.get(name) != old.get(name)] for old in known]
    best = min(range(len(known)), key=lambda number: len(differing[number]))
    if not differing[best]:  # different objects with the same repr
        return "an argument is another object than before"
    changes = (
        f"{name}: {known[best].get(name, 'not given')} before, {wanted.get(name, 'not given')} now"
        for name in differing[best]
    )
    return "; ".join(changes)
