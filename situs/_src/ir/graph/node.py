"""Operations: the nodes of a graph.

An `Operation` is one use of a declared op. ``args`` has its inputs as the op's signature groups them; ``inputs`` has
the same tensors in one flat tuple. A host input (a shape, an axis) in ``args`` is the plain value if the program gave
one, and a tensor, or a tuple with tensors in it, if it is computed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from itertools import count
from typing import TYPE_CHECKING, Any

from situs._src.base.devices.scope import as_request
from situs._src.base.devices.spec import DeviceSpec
from situs._src.base.dtype import DType
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.typing import FeedDict, SessionLike
from situs._src.ir.graph.origin import Origin, summary_of
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ir.registry.op import Op

if TYPE_CHECKING:
    import traceback

    from situs._src.ir.graph.graph import Graph


_serials = count()


def now() -> int:
    """A point in time, comparable with the serial numbers of operations."""
    return next(_serials)


@export("Operation")
class Operation:
    """A node of a graph. Created by ops while a graph is being built."""

    __slots__ = (
        "__weakref__",
        "args",
        "attrs",
        "colocated_with",
        "consumers",
        "control_inputs",
        "device",
        "followers",
        "graph",
        "index",
        "inputs",
        "made_at",
        "name",
        "op_def",
        "outputs",
        "residuals",
        "serial",
        "type",
        "types",
    )

    def __init__(
        self,
        graph: Graph,
        op_def: Op,
        name: str,
        args: tuple[Any, ...],
        attrs: Mapping[str, Any],
        types: Mapping[str, DType],
        made_at: Origin,
    ) -> None:
        if not isinstance(op_def, Op):
            raise DTypeError(f"An operation is made by calling an op, such as tf.add, not of {shown(op_def)}.")
        self.graph = graph
        self.op_def = op_def
        self.type = op_def.name
        self.name = name
        self.args = args
        self.attrs = attrs
        self.types = types
        self.made_at = made_at
        self.inputs: tuple[SymbolicTensor, ...] = tuple(tensors_in(args))
        self.outputs: list[SymbolicTensor] = []
        # Residuals of its graphs for gradients, a tensor of each graph: additional results, which for a loop are in
        # one, its history (`autodiff.residuals`).
        self.residuals: list[tuple[SymbolicTensor, ...]] = []
        self.control_inputs: list[Operation] = []
        self.colocated_with: tuple[str, ...] = ()  # names of operations this one is colocated with
        self.device = ""  # the requested device, as it was written
        self.index = -1  # its position in the graph
        self.serial = next(_serials)  # its position among all operations of the program, in order of creation
        self.consumers: list[Operation] = []  # the users of its results
        self.followers: list[Operation] = []  # operations with a control dependency on it

    def like(self, graph: Graph, name: str, args: tuple[Any, ...], attrs: Mapping[str, Any]) -> Operation:
        """An operation with other inputs, and results like those of this one; not added to the graph yet."""
        made = object.__new__(Operation)
        made.graph = graph
        made.op_def = self.op_def
        made.type = self.type
        made.name = name
        made.args = args
        made.attrs = attrs
        made.types = self.types
        made.made_at = self.made_at
        made.inputs = tuple(tensors_in(args))
        made.outputs = [each.like(made) for each in self.outputs]
        made.residuals = []
        made.control_inputs = []
        made.colocated_with = ()
        made.device = ""
        made.index = -1
        made.serial = next(_serials)
        made.consumers = []
        made.followers = []
        return made

    @property
    def traceback(self) -> traceback.StackSummary:
        """Where the program created it: the innermost frames outside Situs, outermost first."""
        return summary_of(self.made_at)

    @property
    def node_def(self) -> Any:
        """The operation as a ``NodeDef``."""
        from situs._src.ir.graph.serialize import to_node_def

        return to_node_def(self)

    def values(self) -> tuple[SymbolicTensor, ...]:
        """The results."""
        return tuple(self.outputs)

    def get_attr(self, name: str) -> Any:
        """The value of an attribute, or the dtype of a type variable.

        Raises:
            ValueError: there is none of that name.
        """
        if not isinstance(name, str):
            raise DTypeError(f"The name of an attr is a string, got {shown(name)} of type {type(name).__name__!r}.")
        if name == "_class" and self.colocated_with:
            return [f"loc:@{other}".encode() for other in self.colocated_with]
        for table in (self.attrs, self.types):
            if name in table:
                return table[name]
        has = ", ".join(sorted({*self.attrs, *self.types})) or "none"
        raise ArgumentError(f"Operation '{self.name}' has no attr named '{name}'; it has: {has}.")

    def colocation_groups(self) -> list[bytes]:
        """Its colocation groups, as TensorFlow writes them; its own by default."""
        return [f"loc:@{other}".encode() for other in self.colocated_with or (self.name,)]

    def run(self, feed_dict: FeedDict | None = None, session: SessionLike | None = None) -> None:
        """Runs the graph for this operation in `session`, or in the default one."""
        from situs._src.ir.graph.context import session_for

        session_for(session, self.graph, "execute operation", "run").run(self, feed_dict)

    def _set_device(self, device: object) -> None:
        """Requests another device; the name is checked when the graph is placed."""
        if self.index < self.graph.placed:
            logging.getLogger("situs").warning(
                "Operation '%s' was changed by setting device after it was run by a session. This mutation will have "
                "no effect there; ask for devices before the first run, or make a new session.",
                self.name,
            )
        self.device = device if isinstance(device, str) else _written(device)

    def __str__(self) -> str:
        from situs._src.ir.graph.printer import node_text

        return node_text(self)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"


def tensors_in(args: Any) -> list[SymbolicTensor]:
    """Every tensor in an operation's ``args``, in order."""
    found: list[SymbolicTensor] = []
    for arg in args:
        if isinstance(arg, SymbolicTensor):
            found.append(arg)
        elif isinstance(arg, (list, tuple)):
            found += tensors_in(arg)
    return found


def _written(device: object) -> str:
    request = as_request(device)
    if request is not None and not isinstance(request, DeviceSpec):
        raise DTypeError(f"An operation is asked to go to one device; got the function {request!r}.")
    return "" if request is None else request.to_string()
