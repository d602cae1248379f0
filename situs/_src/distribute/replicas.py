"""Calling a function for every replica: each in a thread of its own, which meet where replicas have to agree.

    run(strategy, fn)
      replica 0   fn(...)  --> merge_call --.                    .--> goes on --> done
      replica 1   fn(...)  --> merge_call ---+-- the function ---+--> goes on --> done
                                                 for all of them

Where ops run at once, replicas run side by side. While a graph is built, and when a function is called for the first
time, one runs at a time, in their order, up to the next meeting. So graphs are the same every time; and what a
program makes when it is first called, such as the variables of an optimizer, the first replica has made before the
second looks.

The variables that replicas make are made by whoever comes first, for all: the n-th of one replica is the n-th of all.

A replica that fails ends the others at their next meeting. The error is its own, with a note of which replica it was.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from situs._src.base import locks
from situs._src.base.devices.scope import ROOT, build_into, device, here, record_on
from situs._src.base.errors import StateError
from situs._src.distribute import context
from situs._src.distribute.alike import Alike
from situs._src.distribute.values import regroup, select
from situs._src.ir.graph import context as graph_context
from situs._src.ir.graph.function import FunctionGraph
from situs._src.ir.graph.replicas import Replicas
from situs._src.summaries import recording
from situs._src.tracing import hooks
from situs._src.tracing.lock import tracing
from situs._src.variables import creators


class _Cancelled(BaseException):
    """Ends a replica that waits for others which will not come."""


class _Inherited:
    """What a thread has of the one that starts it: its graph, scopes and tapes, and what it is doing."""

    def __init__(self) -> None:
        self._graph, self._scope, self._tapes = here.graph, here.scope, here.tapes
        self._states = [(state, _copied(vars(state))) for state in self._thread_states()]
        self._tracer = tracing.owner() if here.graph is not None else None

    def _thread_states(self) -> list[Any]:
        found = [graph_context._stacks, hooks._creation, creators._opened, recording.state]
        return found if here.graph is None else [*found, here.graph.building]

    def enter(self) -> None:
        """Takes it over, in the new thread."""
        for state, values in self._states:
            vars(state).update(_copied(values))
        build_into(self._graph, self._scope)
        record_on(self._tapes)
        tracing.adopt(self._tracer)

    def leave(self) -> None:
        """Lets go of it, in the new thread."""
        tracing.adopt(None)
        record_on(())
        build_into(None, ROOT)


def _copied(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value.copy() if type(value) in (list, dict, set) else value for name, value in values.items()}


class _Made:
    """The variables that replicas of one call have made, in order."""

    def __init__(self) -> None:
        self.variables: list[Any] = []
        self.lock = locks.rlock()


class Replica(threading.Thread):
    """One replica of a call.

    Args:
        number: Which.
        place: Its context.
        fn: What it calls.
        inherited: What it has of the thread that started it.
        made: The variables that replicas of this call make.
    """

    def __init__(self, number: int, place: Any, fn: Callable[[], Any], inherited: _Inherited, made: _Made) -> None:
        super().__init__(name=f"replica {number}", daemon=True)
        self.number, self.place = number, place
        self.result: Any = None
        self.error: BaseException | None = None
        self.request: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]] | None = None
        self.answer: Any = None
        self.created = 0  # variables
        self.alike: Alike | None = None  # what makes copies of it, if the others are that
        self._fn, self._inherited, self._made = fn, inherited, made
        self._variables = 0  # that it has asked for
        self._go, self._stopped = threading.Event(), threading.Event()
        self._cancelled = False

    def resume(self) -> None:
        """Lets it go on."""
        self._stopped.clear()
        self._go.set()

    def wait(self) -> None:
        """Waits until it has ended or asks for a meeting."""
        self._stopped.wait()

    def cancel(self) -> None:
        """Ends it where it waits."""
        self._cancelled = True
        self._go.set()

    def run(self) -> None:
        """Calls the function."""
        self._go.wait()
        self._go.clear()
        try:
            if not self._cancelled:
                self._inherited.enter()
                try:
                    before = hooks._creation.count
                    self.result = self._call()
                    self.created = hooks._creation.count - before
                finally:
                    self._inherited.leave()
        except _Cancelled:
            pass
        except BaseException as error:  # also what ends a program: the thread that waits raises it
            self.error = error
        finally:
            self._stopped.set()

    def _call(self) -> Any:
        with ExitStack() as around:
            around.enter_context(self.place)
            around.enter_context(device(self.place._name))
            here.asked = None if self.alike is None else self.alike.requests
            if here.graph is not None and self.number:
                around.enter_context(here.graph.name_scope(f"replica_{self.number}"))
            return self._fn()

    def variable(self, strategy: Any, make: Callable[[], Any]) -> Any:
        """The next variable of this replica: made now, for all replicas, if no other has asked for it before."""
        with self._made.lock:
            number, self._variables = self._variables, self._variables + 1
            if number == len(self._made.variables):
                before, replica = context.stack.entered, here.replica
                context.stack.entered, here.replica = (*before, context.Entered(strategy, None)), None
                try:
                    self._made.variables.append(make())
                finally:
                    context.stack.entered, here.replica = before, replica
            return self._made.variables[number]

    def meet(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Waits for the other replicas; what a function gave that was called for all. To be called by the replica."""
        if here.tapes:
            context.differs("a meeting that a tape records")
        if self.alike is not None and here.graph is not self.alike.graph:
            context.differs("a meeting inside a branch, a loop or another function")
        self.request = fn, args, kwargs
        self._stopped.set()
        self._go.wait()
        self._go.clear()
        if self._cancelled:
            raise _Cancelled
        return self.answer


def run_replicas(
    strategy: Any,
    places: Sequence[Any],
    functions: Sequence[Callable[[], Any]],
    one_by_one: bool = False,
    alike: Alike | None = None,
) -> Any:
    """Calls a function for each replica, and returns what they gave, regrouped.

    Args:
        strategy: The strategy.
        places: The contexts of replicas.
        functions: What each calls.
        one_by_one: Whether one runs at a time, up to the next meeting; so it is while a graph is built.
        alike: Copies what the first of them does for the others; None if each of them is called.

    Raises:
        TraceAgain: the replicas turned out not to be alike.
    """
    if isinstance(here.graph, FunctionGraph) and here.graph.replicas is None:
        here.graph.replicas = Replicas()
    inherited, made = _Inherited(), _Made()
    pairs = enumerate(zip(places, functions, strict=True))
    replicas = [Replica(number, place, fn, inherited, made) for number, (place, fn) in pairs]
    for replica in replicas:
        replica.place.thread = replica
    replicas[0].alike = alike
    running = replicas if alike is None else replicas[:1]
    for replica in running:
        replica.start()
    try:
        while True:
            _go_on(running, one_by_one or here.graph is not None)
            if alike is not None and running[0].error is None:
                if alike.settled():
                    alike.copy(here.graph.replicas.of_node)
                else:  # before anything was copied: the others begin, and come as far
                    alike = replicas[0].alike = None
                    running = replicas
                    for replica in replicas[1:]:
                        replica.start()
                    _go_on(replicas[1:], one_by_one=True)
            failed = next((replica for replica in running if replica.error is not None), None)
            if failed is not None:
                raise _noted(failed)
            waiting = [replica for replica in running if replica.request is not None]
            if not waiting:
                break
            _meet(strategy, running, waiting, alike)
    finally:
        for replica in running:
            replica.cancel()
        for replica in running:
            replica.join()
        for replica in replicas:
            replica.place.thread = None
    hooks._creation.count += replicas[0].created
    results = [replica.result for replica in replicas] if alike is None else alike.images(replicas[0].result)
    return regroup(results)


def _go_on(replicas: Sequence[Replica], one_by_one: bool) -> None:
    """Lets all replicas go on to their next meeting, or to their end."""
    alive = [replica for replica in replicas if replica.is_alive()]
    for replica in alive:
        replica.request = None
        replica.resume()
        if one_by_one:
            before = 0 if here.graph is None else here.graph.version
            replica.wait()
            if replica.error is not None:
                return
            if isinstance(here.graph, FunctionGraph) and here.graph.replicas is not None:
                own = here.graph.operations[before:]
                here.graph.replicas.of_node.update((node.name, replica.number) for node in own)
    for replica in alive:
        replica.wait()
        if replica.request is None:
            replica.join()


def _noted(failed: Replica) -> BaseException:
    error = failed.error
    assert error is not None
    error.add_note(f"In replica {failed.number}, on {failed.place._name}.")
    return error


def _meet(strategy: Any, replicas: Sequence[Replica], waiting: Sequence[Replica], alike: Alike | None) -> None:
    if len(waiting) != len(replicas):
        missing = [replica.number for replica in replicas if replica not in waiting]
        raise StateError(
            f"Replicas {[replica.number for replica in waiting]} wait for the others in merge_call() or all_reduce(), "
            f"and {missing} ended without calling it: all replicas have to make the same calls."
        )
    requests = [replica.request for replica in waiting if replica.request is not None]
    fn = requests[0][0]
    given = [request[1:] for request in requests] if alike is None else alike.images(requests[0][1:])
    args, kwargs = regroup(given)
    before = context.stack.entered
    context.stack.entered = (*before, context.Entered(strategy, None))
    try:
        answer = fn(strategy, *args, **kwargs)
    finally:
        context.stack.entered = before
    if alike is not None:
        replicas[0].answer = alike.answered(answer)
        alike.go_on()
        return
    for replica in replicas:
        replica.answer = select(answer, replica.number)
