"""The cells of a program's variables, and restoring values into them.

    eager        a variable has one cell, for as long as it lives
    in a graph   every session has a cell for each variable, created with its first value

A value in a cell is immutable, so what is read here is consistent, however long it takes to write it; an assignment
meanwhile replaces the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch

from situs._src.base import dtype as dt
from situs._src.base.dtype import DType
from situs._src.base.errors import DTypeError, FailedPreconditionError, InvalidArgumentError, shown
from situs._src.base.shapes import TensorShape
from situs._src.checkpoints.resumable import Resumable
from situs._src.checkpoints.saveable import Parts, SessionState
from situs._src.checkpoints.writer import Saved
from situs._src.ir.graph.context import get_default_session
from situs._src.runtime.eager.allocations import enter_variable
from situs._src.runtime.eager.bridge import Value, host, place
from situs._src.runtime.eager.cell import Cell
from situs._src.runtime.eager.tensor import copy_to, wrap
from situs._src.runtime.session.session import BaseSession
from situs._src.variables.eager import Variable, variable_behind
from situs._src.variables.partitioned import PartitionedVariable
from situs._src.variables.symbolic import RefVariable


def is_variable(value: object) -> bool:
    """Whether this is a variable, of a graph or not."""
    return isinstance(value, (Variable, RefVariable))


def variable_of(value: object) -> Any:
    """The variable that something stands for, as a variable of Keras does; everything else as it is."""
    found = value if is_variable(value) else variable_behind(value)
    return found if is_variable(found) else value


def when_made(value: Any, then: Callable[[], None]) -> None:
    """Calls a function when a variable of Keras, which is to be initialized later, has got its variable.

    Keras makes those of layers that are built by a first call after that call's shapes are known.
    """
    if (
        getattr(value, "_initializer", None) is None
        or not hasattr(value, "_initialize")
        or "_initialize" in vars(value)
    ):
        return
    initialize = value._initialize

    def initialized(*args: Any) -> None:
        del value._initialize  # the class's own is there again
        initialize(*args)
        then()

    value._initialize = initialized


def is_saveable(value: object) -> bool:
    """Whether a ``Saver`` takes this: a variable, whole or in parts, or a state of a session."""
    return is_variable(value) or isinstance(value, (SessionState, Parts, PartitionedVariable))


def has_value(value: object) -> bool:
    """Whether a checkpoint has a value of its own for this: a variable, or an object with a state."""
    return is_variable(value) or isinstance(value, Resumable)


def needs_session(variables: Iterable[Any]) -> bool:
    """Whether one of the variables has values in sessions only."""
    every = [part for variable in variables for part in (variable.parts if isinstance(variable, Parts) else [variable])]
    return any(isinstance(variable, (RefVariable, SessionState)) for variable in every)


def full_name(variable: Any) -> str:
    """The name of a variable, by which a ``Saver`` knows it."""
    if isinstance(variable, Resumable):
        return ""  # such a thing has none
    if isinstance(variable, (SessionState, Parts)):
        return variable.name
    return str(variable.name).removesuffix(":0")


def plain_session(session: Any) -> BaseSession:
    """The session itself, out of what may be wrapped around it; the default one for None.

    Raises:
        TypeError: it is not one.
    """
    found = get_default_session() if session is None else session
    for _ in range(10):  # a monitored session is a session in a session in ...
        if isinstance(found, BaseSession):
            found._check_open()
            return found
        inner = getattr(found, "_tf_sess", None)
        if not callable(inner):
            break
        found = inner()
    raise DTypeError(f"'sess' must be a Session; {shown(session)}")


# Values.


def holds_value(variable: Any, session: BaseSession | None) -> bool:
    """Whether a variable has a value: not before it is initialized."""
    cell = _cell(variable, session)
    return cell is not None and cell.is_initialized


def saved(variable: Any, session: BaseSession | None, name: str) -> Saved:
    """What a variable holds now, to be saved under a name.

    Raises:
        FailedPreconditionError: it has no value yet.
    """
    if isinstance(variable, Resumable):
        return Saved(name, dt.string, np.array(variable._saved_state(), dtype=object), host().name)
    if isinstance(variable, SessionState):
        assert session is not None
        return Saved(name, dt.string, np.array(variable.read(session), dtype=object), host().name)
    if isinstance(variable, Parts):
        return Saved(name, variable.dtype, _joined(variable, session), host().name)
    if isinstance(variable, Variable) and variable._component() is not variable:  # of a strategy: for all replicas
        return Saved(name, variable.dtype, variable._tensor._value, variable.device)
    cell = _cell(variable, session)
    if cell is None:
        raise FailedPreconditionError(
            f"Attempting to use uninitialized value {full_name(variable)}. Run its initializer first, or "
            "tf.global_variables_initializer()."
        )
    return Saved(name, cell.dtype, cell.read(), cell.place.device.name)


def _joined(variable: Parts, session: BaseSession | None) -> Value:
    """The whole that parts make, on the host."""
    values = [saved(part, session, variable.name).value for part in variable.parts]
    sizes: list[Any] = variable.shape.as_list()
    if isinstance(values[0], torch.Tensor):
        whole: Any = torch.empty(sizes, dtype=values[0].dtype)
    else:
        whole = np.empty(sizes, dtype=object)
    for value, where in zip(values, variable.places(), strict=True):
        whole[where] = value
    return whole


def put(variable: Any, session: BaseSession | None, value: Value) -> None:
    """Puts a value of the host where a variable is, and makes it the variable's.

    Raises:
        InvalidArgumentError: it has another shape than the variable.
        ResourceExhaustedError: there is no room on the device of the variable.
    """
    if isinstance(variable, Resumable):
        variable._resume(value[()])
        return
    if isinstance(variable, SessionState):
        assert session is not None
        variable.put(session, value[()])
        return
    if isinstance(variable, Parts):
        for part, place_of_part in zip(variable.parts, variable.places(), strict=True):
            piece = value[place_of_part]
            put(part, session, piece.clone() if isinstance(piece, torch.Tensor) else piece.copy())
        return
    if isinstance(variable, Variable) and variable._component() is not variable:  # of a strategy: all its components
        variable.assign(wrap(value, place(host(), variable.dtype)))
        return
    cell = _cell(variable, session) or _new_cell(variable, session)
    cell.check(value)
    moved = copy_to(wrap(value, place(host(), cell.dtype)), cell.place.device, "Restore")._value
    with cell.lock:
        cell.value, cell.away = moved, None
    enter_variable(moved, cell.place.device, cell.name)


def check_dtype(variable: Any, saved_as: DType, key: str) -> None:
    """Raises unless a variable has the dtype that its value was saved with under a key.

    Raises:
        InvalidArgumentError: it has another.
    """
    if saved_as is not variable.dtype:
        raise InvalidArgumentError(
            f"tensor_name = {key}; expected dtype {variable.dtype.proto_name} does not equal original dtype "
            f"{saved_as.proto_name}: variable '{full_name(variable)}' was saved with another dtype."
        )


def reshaped(variable: Any, value: Value) -> Value:
    """A value in the shape of a variable.

    Raises:
        InvalidArgumentError: they have different numbers of elements.
    """
    shape = variable.shape
    if not shape.is_fully_defined():
        return value
    count = value.numel() if isinstance(value, torch.Tensor) else value.size
    if shape.num_elements() != count:
        raise InvalidArgumentError(
            f"Input to reshape is a tensor with {count} values, but the requested shape has {shape.num_elements()}: "
            f"variable '{full_name(variable)}' has shape {shape}, the checkpoint {TensorShape(value.shape)}."
        )
    return value.reshape(shape.as_list())


def _cell(variable: Any, session: BaseSession | None) -> Cell | None:
    """The cell of a variable; None if this session has none for it yet."""
    if isinstance(variable, Variable):
        return variable._cell
    own: Cell | None = variable.op.attrs["cell"]
    if own is not None:
        return own
    if session is None or variable.graph is not session.graph:
        raise InvalidArgumentError(
            f"Variable '{full_name(variable)}' belongs to a graph, and has values in sessions of that graph only. Pass "
            "such a session."
        )
    return session._state._cells.get(variable.op.attrs["shared_name"])


def _new_cell(variable: Any, session: BaseSession | None) -> Cell:
    """The cell that the variable would get if it were initialized now."""
    assert session is not None  # else the variable would have one
    node, name = variable.op, variable.op.attrs["shared_name"]
    device = session._engine.placement_for((), (), [node])[node].device
    return session._state.cell(
        name, lambda: Cell(name, variable.dtype, node.attrs["shape"], place(device, variable.dtype))
    )
