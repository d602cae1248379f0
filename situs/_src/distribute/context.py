"""Which strategy holds, and which replica this thread is: what ``tf.distribute.get_strategy`` and its like ask.

outside             the default strategy, in whose one replica every program runs
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
    """Where a thread is: in a strategy's scope, and as one of its replicas or as none."""

    strategy: Any
    replica: Any  # a ReplicaContext; None in the cross-replica context


class _Stack(threading.local):
    def __init__(self) -> None:
        self.entered: tuple[Entered, ...] = ()
        self.saves = False  # what is traced will be saved, for one replica
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
    """The strategy that holds here; outside of all scopes the default one, which has one replica."""
    return current().strategy  # type: ignore[no-any-return]


@export("distribute.experimental_set_strategy")
def experimental_set_strategy(strategy: Strategy | None) -> None:
    """Lets a strategy hold from here on, as if all that follows were in its ``scope()``: for notebooks.

    Args:
        strategy: The strategy; None for none from here on.

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
    """Whether a strategy other than the default one holds here."""
    return bool(stack.entered) and not stack.entered[-1].strategy.is_default


@export("distribute.get_replica_context")
def get_replica_context() -> Any:
    """The replica that calls this; None in the cross-replica context, as inside of ``strategy.scope()``."""
    return current().replica


@export("distribute.in_cross_replica_context")
def in_cross_replica_context() -> bool:
    """Whether what is done here is done for all replicas together."""
    return current().replica is None


def replica_number() -> int | None:
    """The number of the replica that this thread is; None for threads that are none of a strategy."""
    if not stack.entered or stack.entered[-1].replica is None:
        return None
    return stack.entered[-1].replica._number  # type: ignore[no-any-return]


@contextmanager
def saving() -> Iterator[None]:
    """No strategy holds in here, and of its variables there is the first component alone: so functions are saved."""
    before = stack.entered, here.replica, stack.saves
    stack.entered, here.replica, stack.saves = (), None, True
    try:
        yield
    finally:
        stack.entered, here.replica, stack.saves = before


def differs(what: str) -> None:
    """Notes that a replica asks for something that no other replica gets: it is not made by copying another one.

    Args:
        what: What it asked for.
    """
    replica = stack.entered[-1].replica if stack.entered else None
    if replica is not None and replica.thread is not None and replica.thread.alike is not None:
        replica.thread.alike.differs(what)


def _told_number() -> int | None:
    """The number of the replica, told to somebody who computes with it."""
    differs("the number of its replica")
    return replica_number()


strategies.has_strategy, strategies.replica_number = has_strategy, _told_number
strategies.differs, strategies.saving = differs, saving
