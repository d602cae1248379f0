"""What holds while layers are called: whether it is training, and inside which layer it happens.

before = calls.enter("model", True)         what `Layer.__call__` does
calls.training                              True, in every layer that the model calls
path("dense")                               "model/dense": how the variables of a layer made here begin
calls.leave(before)
"""

from __future__ import annotations

import inspect
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

_numbers = itertools.count(1)


class Calls(threading.local):
    """The calls that this thread is in.

    Attributes:
        names: The names of the layers being called, from the outermost.
        training: What the innermost of them that was told about it was told.
        number: The number of the outermost call, which no other call of any thread has.
        drawn: Whether they build into a graph that is thrown away.
        shapes: The shapes of the outputs of layers, by their ids, where somebody wants to know them.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.training: Any = None
        self.number = 0
        self.drawn = False
        self.shapes: dict[int, Any] | None = None

    def enter(self, name: str, training: Any) -> Any:
        """Begins the call of a layer; returns what `leave` needs."""
        before = self.training
        if not self.names:
            self.number = next(_numbers)
        self.names.append(name)
        self.training = training
        return before

    def leave(self, before: Any) -> None:
        """Ends the call of a layer."""
        self.names.pop()
        self.training = before


calls = Calls()


@contextmanager
def inside(name: str) -> Iterator[None]:
    """A context in which a layer is called, without being told about training."""
    before = calls.enter(name, None)
    try:
        yield
    finally:
        calls.leave(before)


def path(name: str) -> str:
    """A name with those of the layers being called before it."""
    return "/".join([*calls.names, name])


@contextmanager
def noting_shapes(shapes: dict[int, Any]) -> Iterator[None]:
    """A context in which the shapes of the outputs of layers are kept, by the ids of the layers."""
    before, calls.shapes = calls.shapes, shapes
    try:
        yield
    finally:
        calls.shapes = before


class CallForm:
    """What the signature of a layer's ``call`` says."""

    def __init__(self, function: Callable[..., Any]) -> None:
        parameters = inspect.signature(function).parameters
        self.names = [name for name, p in parameters.items() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self.names = self.names[1:]  # without `self`
        self.takes_training = "training" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())

    def training_in(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, bool]:
        """What a call says about training, and whether it says so by position."""
        if "training" in kwargs:
            return kwargs["training"], False
        place = self.names.index("training") if "training" in self.names else len(args)
        return (args[place], True) if place < len(args) else (None, False)


@lru_cache(maxsize=1024)
def call_form(function: Callable[..., Any]) -> CallForm:
    """The form of a ``call``; it is kept."""
    return CallForm(function)
