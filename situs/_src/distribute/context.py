"""The current strategy, and the replica of this thread: ``tf.distribute.get_strategy`` and the like.

outside             the default strategy, with a single replica
strategy.scope()    that strategy, in the cross-replica context
strategy.run(fn)    inside fn: that strategy, in the context of one replica
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from situs._src.base.devices.scope import here
from situs._src.base.errors import DTypeError, StateError, shown
from situs._src.base.export import export
from situs._src.variables.replication import strategies

if TYPE_CHECKING:
    from situs._src.distribute.strategy import Strategy


class Entered(NamedTuple):
    """The state of a thread: in a strategy's scope, and as one of its replicas or none."""

    strategy: Any
    replica: Any  # a ReplicaContext; None in the cross-replica context


class _Stack(threading.local):
    def __init__(self) -> None:
        self.entered: tuple[Entered, ...] = ()
        self.saves = False  # tracing for a saved model, for one replica
        self.opened: AbstractContextManager[Strategy] | None = None  # by `experimental_set_strategy`


stack = _Stack()


def current() -> Entered:
    """The innermost strategy of this thread, and its replica."""
    if stack.entered:
        return stack.entered[-1]
    from situs._src.distribute.strategy import default_strategy

    strategy = default_strategy()
    return Entered(strategy, strategy.only_replica)


@export("distribute.get_strategy")
def get_strategy() -> Strategy:
    """The current strategy; outside of all scopes the default one, which has one replica."""
    return current().strategy  # type: ignore[no-any-return]


@export("distribute.experimental_set_strategy")
def experimental_set_strategy(strategy: Strategy | None) -> None:
    """Enters a strategy from here on, as if all that follows were in its ``scope()``: for notebooks.

    Args:
        strategy: The strategy; None to leave it.

    Raises:
        RuntimeError: It is called inside of a scope.
    """
    if strategy is not None and not callable(getattr(strategy, "scope", None)):
        raise DTypeError(f"experimental_set_strategy takes a tf.distribute.Strategy or None, got {shown(strategy)}.")
    opened, stack.opened = stack.opened, None
    if opened is not None:
        opened.__exit__(None, None, None)
    if has_strategy():
        raise StateError(
            "Must not be called inside a `tf.distribute.Strategy` scope: experimental_set_strategy() is for what is in "
            "no `with strategy.scope():`."
        )
    if strategy is not None:
        scope = strategy.scope()
        scope.__enter__()
        stack.opened = scope


@export("distribute.has_strategy")
def has_strategy() -> bool:
    """Whether the current strategy is not the default one."""
    return bool(stack.entered) and not stack.entered[-1].strategy.is_default


@export("distribute.get_replica_context")
def get_replica_context() -> Any:
    """The current replica; None in the cross-replica context, as inside ``strategy.scope()``."""
    return current().replica


@export("distribute.in_cross_replica_context")
def in_cross_replica_context() -> bool:
    """Whether this thread is in the cross-replica context."""
    return current().replica is None


def replica_number() -> int | None:
    """The number of this thread's replica; None for threads that are not replicas."""
    if not stack.entered or stack.entered[-1].replica is None:
        return None
    return stack.entered[-1].replica._number  # type: ignore[no-any-return]


@contextmanager
def saving() -> Iterator[None]:
    """A context without a strategy, in which variables have only their first component: for saving functions."""
    before = stack.entered, here.replica, stack.saves
    stack.entered, here.replica, stack.saves = (), None, True
    try:
        yield
    finally:
        stack.entered, here.replica, stack.saves = before


def differs(what: str) -> None:
    """Records that a replica asked for something specific to it: it cannot be a copy of another one.

    Args:
        what: What was asked for.
    """
    replica = stack.entered[-1].replica if stack.entered else None
    if replica is not None and replica.thread is not None and replica.thread.alike is not None:
        replica.thread.alike.differs(what)


def _told_number() -> int | None:
    """The number of the replica, for a program that computes with it."""
    differs("the number of its replica")
    return replica_number()


strategies.has_strategy, strategies.replica_number = has_strategy, _told_number
strategies.differs, strategies.saving = differs, saving
