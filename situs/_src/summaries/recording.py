"""The summary state of a thread: the default writer, the step, and whether to write at all.

    with writer.as_default(step=3), tf.summary.record_if(lambda: step % 100 == 0):
        tf.summary.scalar("loss", loss)

A ``tf.function`` keeps the state from when it was traced; a step or a condition that is a tensor or a variable is read
whenever it runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from situs._src.base import dtype as dt
from situs._src.base.errors import ArgumentError, DTypeError, shown
from situs._src.base.export import export
from situs._src.base.tensor import Tensor, is_tensor, read
from situs._src.base.typing import IntLike
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.cast import cast
from situs._src.ops.constant import constant, convert_to_tensor
from situs._src.ops.control import cond

if TYPE_CHECKING:
    from situs._src.summaries.writer import SummaryWriter


class _State(threading.local):
    def __init__(self) -> None:
        self.writer: SummaryWriter | None = None
        self.step: Any = None
        self.condition: Any = True


state = _State()


@export("summary.experimental.set_step", v1=())
def set_step(step: IntLike) -> None:
    """Sets the step of summaries that are given none, for this thread: a number, a tensor, a variable, or None."""
    state.step = step


@export("summary.experimental.get_step", v1=())
def get_step() -> Any:
    """The step of summaries that are given none; None if it is not set."""
    return state.step


@export("summary.record_if", v1=())
@contextmanager
def record_if(condition: object) -> Iterator[None]:
    """A context in which summaries are written only under a condition.

    Args:
        condition: A bool, a boolean tensor, or a function that gives one and is called for each summary.
    """
    before, state.condition = state.condition, condition
    try:
        yield
    finally:
        state.condition = before


@export("summary.should_record_summaries", v1=())
def should_record_summaries() -> Tensor:
    """Whether a summary would be written now, as a boolean tensor."""
    return convert_to_tensor(_wanted())


def _wanted() -> Any:
    """Whether to write: a bool, or a tensor."""
    if state.writer is None:
        return False
    found = read(state.condition() if callable(state.condition) else state.condition)
    if isinstance(found, Tensor) and not found.dtype.is_bool:
        raise DTypeError(f"Summaries are recorded if a boolean is true, got {shown(found)}.")
    return found if isinstance(found, Tensor) else bool(found)


def if_recording(record: Callable[[], Tensor]) -> Tensor:
    """What `record` gives if summaries are to be written, and else False; in a graph, decided when it runs."""
    wanted = _wanted()
    if isinstance(wanted, SymbolicTensor):
        return cond(wanted, record, lambda: constant(False), name="summary_cond")  # type: ignore[no-any-return]
    return record() if bool(wanted) else constant(False)


def step_or_default(step: Any) -> Tensor:
    """A step, or the thread's, as an int64 tensor.

    Raises:
        ValueError: there is none.
        TypeError: it is not a whole number.
    """
    found = state.step if step is None else step
    if found is None:
        raise ArgumentError(
            "No step set. Please specify one either through the `step` argument or through "
            "tf.summary.experimental.set_step()"
        )
    found = found() if callable(found) and not is_tensor(found) else found
    if not is_tensor(found):
        return convert_to_tensor(found, dtype=dt.int64)
    number: Tensor = read(found)
    if not number.dtype.is_integer:
        raise DTypeError(f"A step is a tensor of whole numbers, int64 at best; got {shown(number)}.")
    return cast(number, dt.int64)
