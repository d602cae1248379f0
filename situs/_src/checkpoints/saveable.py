"""``SessionState``: session state other than variables, saved and restored by two operations: iterator positions.

    serialized      a string tensor: the state, in the session that computes it
    restore         an operation that takes the state from `given`, a placeholder

A ``Saver`` saves it under its name. When a graph is serialized, the names of the three are written too.

`Parts` are the parts of a partitioned variable: they are saved as the whole, under its name.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from situs._src.base.shapes import TensorShape
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.runtime.session.session import BaseSession
from situs._src.variables.partitioned import PartitionedVariable


class SessionState(NamedTuple):
    """A state of a session that is saved as a string.

    Attributes:
        name: What it is saved under.
        serialized: The state.
        given: What it is restored from.
        restore: Restores it.
    """

    name: str
    serialized: SymbolicTensor
    given: SymbolicTensor
    restore: Operation

    def read(self, session: BaseSession) -> bytes:
        """The state of a session."""
        return session.run(self.serialized)  # type: ignore[no-any-return]

    def put(self, session: BaseSession, state: bytes) -> None:
        """Brings a session into a state."""
        session.run(self.restore, {self.given: state})

    def names(self) -> list[str]:
        """The names of its parts, in the graph."""
        return [self.serialized.name, self.given.name, self.restore.name]

    @property
    def graph(self) -> Graph:
        """The graph it belongs to."""
        return self.serialized.graph


class Parts:
    """The parts of a variable that was cut, saved as the whole.

    Args:
        name: What the whole is saved under.
        parts: The parts; each knows where it is.
    """

    def __init__(self, name: str, parts: list[Any]) -> None:
        info = parts[0]._save_slice_info
        self.name = name
        self.parts = parts
        self.dtype = parts[0].dtype
        self.shape = TensorShape(info.full_shape)

    def places(self) -> list[tuple[slice, ...]]:
        """Where each part is in the whole."""
        infos = [part._save_slice_info for part in self.parts]
        return [
            tuple(slice(begin, begin + size) for begin, size in zip(info.var_offset, info.var_shape, strict=True))
            for info in infos
        ]


def in_parts(variables: Iterable[Any]) -> list[Any]:
    """Variables, with the parts of one that was cut in one thing."""
    found: dict[Any, Any] = {}  # lists of parts by the name of the whole, and what is whole by its number
    for number, variable in enumerate(variables):
        for part in list(variable) if isinstance(variable, PartitionedVariable) else [variable]:
            info = getattr(part, "_save_slice_info", None)
            if info is None:
                found[number] = part
            else:
                found.setdefault(info.full_name, []).append(part)
    return [Parts(str(key), item) if isinstance(item, list) else item for key, item in found.items()]


def states_of(elements: list[Any]) -> list[Any]:
    """The elements of a collection, with a state instead of its parts, as `SessionState.names` has them."""
    found: list[Any] = []
    rest = list(elements)
    while rest:
        head = rest.pop(0)
        if getattr(getattr(head, "op", None), "type", "") == "SerializeIterator" and len(rest) >= 2:
            found.append(SessionState(head.op.inputs[0].op.name, head, rest.pop(0), rest.pop(0)))
        else:
            found.append(head)
    return found
