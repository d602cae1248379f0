"""Synchronization and aggregation of variables on several devices: the settings of programs.

Variables of a strategy use them (``situs._src.distribute.variables``). Any other variable has one value, and they only
affect whether it is trainable by default.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from weakref import WeakSet

from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.ir.graph.node import Operation


@export("VariableSynchronization")
class VariableSynchronization(enum.Enum):
    """When the copies of a variable are brought together."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


@export("VariableAggregation")
class VariableAggregation(enum.Enum):
    """How the changes of copies become one."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = 3  # noqa: PIE796 - its name in TensorFlow 1


class Strategies:
    """What is known here of strategies: ``distribute`` says it, when it is loaded."""

    def __init__(self) -> None:
        self.has_strategy: Callable[[], bool] = lambda: False  # whether one holds here
        self.replica_number: Callable[[], int | None] = lambda: None  # which of its replicas this thread is
        self.saving: Callable[[], AbstractContextManager[None]] = nullcontext  # what is traced is of one replica
        self.differs: Callable[[str], None] = lambda what: None  # told what a replica does that no copy of it may do
        self.collectives: WeakSet[Operation] = WeakSet()  # of graphs, whose results no tape has recorded


strategies = Strategies()


def settled(
    synchronization: Any, aggregation: Any, trainable: bool | None, name: Any
) -> tuple[VariableSynchronization, VariableAggregation, bool]:
    """What a variable is made with, and whether it is trainable.

    Raises:
        InvalidArgumentError: these are no such words.
    """
    if synchronization is None:
        synchronization = VariableSynchronization.AUTO
    if aggregation is None:
        aggregation = VariableAggregation.NONE
    if not isinstance(synchronization, VariableSynchronization):
        raise ArgumentError(
            f"Invalid variable synchronization mode: {synchronization} for variable: {name}. Use one of "
            "tf.VariableSynchronization."
        )
    if not isinstance(aggregation, VariableAggregation):
        raise ArgumentError(
            f"Invalid variable aggregation mode: {aggregation} for variable: {name}. Use one of tf.VariableAggregation."
        )
    if trainable is None:
        trainable = synchronization is not VariableSynchronization.ON_READ
    return synchronization, aggregation, trainable


def check_constraint(constraint: Any) -> None:
    """Raises unless this is a function, or nothing.

    Raises:
        InvalidArgumentError: it is something else.
    """
    if constraint is not None and not callable(constraint):
        raise ArgumentError(f"Argument `constraint` must be None or a callable. Got a {type(constraint)}: {constraint}")
