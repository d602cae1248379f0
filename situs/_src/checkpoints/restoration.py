"""Restoring objects: existing ones, and ones that are created later.

    restoration = Restoration(reader, graph, root)
    restoration.advance()                 traverses the objects and the saved graph in parallel
    net.w = tf.Variable(...)              `arrived(net, "w", variable)`: now this one can be restored too

A node of the saved graph is bound to the first object that is found at its path. If a bound object lacks a child that
the saved one had, the restoration waits for it; a later restoration of the same object takes precedence.
"""

from __future__ import annotations

import logging
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, DataLossError
from situs._src.base.shapes import TensorShape
from situs._src.checkpoints.cells import check_dtype, has_value, needs_session, put, variable_of, when_made
from situs._src.checkpoints.objects import STATE, ObjectGraph, children, may_hold_variables, walk
from situs._src.checkpoints.reader import CheckpointReader
from situs._src.checkpoints.resumable import Resumable
from situs._src.ir.graph.context import init_scope
from situs._src.runtime.session.session import BaseSession

_logger = logging.getLogger("situs")

_waiting: dict[int, tuple[Callable[[], Any], dict[Restoration, int]]] = {}  # by object: what to put into its children


def is_waiting(parent: object) -> bool:
    """Whether a restoration has values for children that an object did not have."""
    return id(parent) in _waiting


def arrived(parent: object, name: str, child: object) -> None:
    """Tells that an object has got a child; restorations that were waiting for it go on.

    That may be while a function is traced, as Keras builds its optimizers: values are restored outside of it.
    """
    with init_scope():
        _arrived(parent, name, variable_of(child))


def _arrived(parent: object, name: str, child: Any) -> None:
    found = _waiting.get(id(parent))
    if found is None or found[0]() is not parent or not may_hold_variables(child):
        return
    for restoration, number in reversed(list(found[1].items())):
        node = restoration.nodes[number].children.get(name)
        if node is not None:
            if restoration.nodes[node].key is not None and not has_value(child):
                when_made(child, partial(arrived, parent, name, child))
                return
            restoration.bind(child, node)
            if restoration.is_complete:
                del found[1][restoration]  # closes the files, if its status is not referenced any more
            return


class Restoration:
    """The values of one checkpoint on their way into the objects of a program.

    Args:
        reader: The checkpoint.
        graph: The object graph that it was saved with.
        root: The object to restore, which is not kept alive by this.
        optional: Variables that need not be in the checkpoint.
    """

    def __init__(self, reader: CheckpointReader, graph: ObjectGraph, root: Any, optional: Sequence[Any] = ()) -> None:
        self.expects_all = True
        self._bound: dict[int, Callable[[], Any]] = {}  # objects by node
        self._used: set[str] = set()  # keys of values that have found their variables
        self._graph = graph
        self.nodes = graph.nodes
        self._keys = {node.key for node in graph.nodes} - {None}
        self._reader = reader
        self._root = weakref.ref(root)
        self._optional = [_weakly(variable) for variable in optional]
        self._restored: dict[int, Callable[[], Any]] = {}  # variables by id
        self._later: list[tuple[Any, str]] = []  # variables of graphs, which get their values in a session

    def advance(self) -> None:
        """Restores what has been found since; everything, the first time."""
        root = self._root()
        if root is not None:
            self.bind(root, 0)

    def watch(self, value: object) -> None:
        """Restores what becomes a child of another object as if it had become a child of the root."""
        _wait(value, self, 0)

    def bind(self, value: object, number: int) -> None:
        """Restores an object, and what it leads to, from a node: nothing, if something does not fit."""
        found: list[tuple[Any, str]] = []
        queue, seen = [(value, number)], set()
        for value, number in queue:
            if (id(value), number) in seen or not self._bind_one(value, number, found):
                continue
            seen.add((id(value), number))
            wanted = self.nodes[number].children
            there = children(value) if wanted else {}
            queue += [(there[name], child) for name, child in wanted.items() if name in there]
            if wanted.keys() - there.keys():
                _wait(value, self, number)
        for variable, key in found:
            _check(variable, key, self._reader)
        self._restore(found)

    def _bind_one(self, value: object, number: int, found: list[tuple[Any, str]]) -> bool:
        """Binds a node to an object, and lists it if it is a variable; whether to go on with its children."""
        key = self.nodes[number].key
        if (key is not None) != has_value(value) or _wants_state(key) != isinstance(value, Resumable):
            return False  # a variable has become an object, or the other way round
        if number not in self._bound:
            self._bound[number] = _weakly(value)
            if key is not None:
                found.append((value, key))
            return True
        bound = self._bound[number]()
        if bound is None:  # a list, which may have grown; any other object is gone, and had its value
            return isinstance(value, (list, tuple, Mapping))
        if bound is not value:
            text = "Inconsistent references when loading %s: one saved object is two in this program, %r and %r"
            _logger.warning(text, self._reader.prefix, bound, value)
        return bound is value

    def _restore(self, found: list[tuple[Any, str]]) -> None:
        """Puts values into eager variables, and notes the others."""
        now = [pair for pair in found if not needs_session([pair[0]])]
        self._later += [pair for pair in found if needs_session([pair[0]])]
        self._put_all(now, None)
        for variable, key in found:
            self._restored[id(variable)] = _weakly(variable)
            self._used.add(key)

    def _put_all(self, found: list[tuple[Any, str]], session: BaseSession | None) -> None:
        self._reader.read_each([key for _, key in found], lambda number, value: put(found[number][0], session, value))

    def run(self, session: BaseSession | None) -> None:
        """Puts values into the variables of graphs, which have some in sessions only."""
        self.advance()
        self._put_all(self._later, session)

    # What has been done.

    def has_restored(self, variable: Any) -> bool:
        """Whether a variable has its value from here."""
        return self._restored.get(id(variable), lambda: None)() is variable

    def close(self) -> None:
        """Closes the files of the checkpoint, if nothing is left to be read."""
        if not self._later and self.is_complete:
            self._reader.close()

    @property
    def is_complete(self) -> bool:
        """Whether every saved value has found its variable."""
        return len(self._used) == len(self._keys)

    def bound_any(self) -> bool:
        """Whether anything but the root has been found."""
        return len(self._bound) > 1

    def unresolved(self) -> list[str]:
        """The saved values that nothing in the program has taken, by the ways to them."""
        numbers = [n for n, node in enumerate(self.nodes) if node.key is not None and node.key not in self._used]
        paths = self._graph.paths() if numbers else {}
        return [paths.get(number, f"node {number}") for number in numbers]

    def unmatched(self) -> list[Any]:
        """The variables of the program that have got no value from here."""
        root = self._root()
        found = [] if root is None else [variable for _, variable in walk(root).variables]
        may_lack = [variable() for variable in self._optional]
        return [v for v in found if not self.has_restored(v) and not any(v is other for other in may_lack)]

    def graph_variables(self) -> list[Any]:
        """The variables that get their values in a session."""
        return [variable for variable, _ in self._later]

    def __del__(self) -> None:
        if not self.expects_all or sys.is_finalizing():
            return
        for path in self.unresolved():
            _logger.warning("Value in checkpoint could not be found in the restored object: %s", path)


def _check(variable: Any, key: str, reader: CheckpointReader) -> None:
    if isinstance(variable, Resumable):
        _check_state(variable, key, reader)
        return
    entry = reader.entry(key)
    check_dtype(variable, entry.dtype, key)
    if not variable.shape.is_compatible_with(entry.shape):
        raise ArgumentError(
            f"Received incompatible tensor with shape {TensorShape(entry.shape)} when attempting to restore variable "
            f"with shape {variable.shape} and name {variable.name}."
        )


def _wants_state(key: str | None) -> bool:
    return key is not None and key.endswith(STATE)


def _check_state(value: Resumable, key: str, reader: CheckpointReader) -> None:
    entry = reader.entry(key)
    if entry.dtype is not dt.string or tuple(entry.shape):
        raise DataLossError(f"{key} of {reader.prefix} is not a state: it is {entry.dtype.name} {entry.shape}.")
    value._check_state(reader.read(key)[()])


def _wait(value: object, restoration: Restoration, number: int) -> None:
    """Notes that an object lacks children that a restoration has values for."""
    try:
        found = _waiting.get(id(value))
        if found is None or found[0]() is not value:
            key = id(value)
            found = _waiting[key] = weakref.ref(value, lambda _: _waiting.pop(key, None)), {}
    except TypeError:  # lists and dictionaries do not report changes; `advance` checks them again
        return
    found[1].pop(restoration, None)  # the latest comes last
    found[1][restoration] = number


def _weakly(value: object) -> Callable[[], Any]:
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: None
