"""Calling a function for every replica: each in a thread of its own; they meet where replicas have to agree.

    run(strategy, fn)
      replica 0   fn(...)  --> merge_call --.                    .--> goes on --> done
      replica 1   fn(...)  --> merge_call ---+-- the function ---+--> goes on --> done
                                                 for all of them

Where ops run at once, replicas run side by side. While a graph is built, and when a function is called for the first
time, one runs at a time, in their order, up to the next meeting. So graphs are the same every time; and what a
program makes when it is first called, such as the variables of an optimizer, the first replica has made before the
second looks.

Where a graph is built, replicas that are alike are not all called (`distribute.alike`): the first one runs in the
thread of the call, and what it does between meetings is copied for the others.

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
    """What a thread has of the one that starts it: its graph, scopes and tapes, and what it is doing.

    Args:
        states: The states of threads that are kept; by default all that a new thread has to have.
    """

    def __init__(self, states: Sequence[Any] | None = None) -> None:
        self._graph, self._scope, self._tapes = here.graph, here.scope, here.tapes
        self.states = self._thread_states() if states is None else states
        self._values = [_copied(vars(state)) for state in self.states]
        self._tracer = tracing.owner() if here.graph is not None else None

    def _thread_states(self) -> list[Any]:
        found = [graph_context._stacks, hooks._creation, creators._opened, recording.state]
        return found if here.graph is None else [*found, here.graph.building]

    def enter(self) -> None:
        """Takes it over, in the new thread."""
        for state, values in zip(self.states, self._values, strict=True):
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
        self.leads: Callable[..., Any] | None = None  # what it calls for a meeting, where it runs in the thread of all
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
        if self.leads is not None:
            return self.leads(fn, args, kwargs)
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
    if alike is not None:
        return _Led(strategy, replicas, alike, inherited).run()
    for replica in replicas:
        replica.start()
    try:
        while True:
            _go_on(replicas, one_by_one or here.graph is not None)
            waiting = [replica for replica in replicas if replica.request is not None]
            if not waiting:
                break
            _meet(strategy, replicas, waiting)
    finally:
        _end(replicas)
    hooks._creation.count += replicas[0].created
    return regroup([replica.result for replica in replicas])


def _end(replicas: Sequence[Replica]) -> None:
    """Ends the threads of replicas, wherever they are."""
    for replica in replicas:
        replica.cancel()
    for replica in replicas:
        if replica.ident is not None:
            replica.join()
        replica.place.thread = None


class _Led:
    """A call whose first replica runs in this thread, and is copied; the others begin if they turn out to differ.

    At a meeting the thread leaves the first replica for a while: what it does then, it does where the call was made.

    Args:
        strategy: The strategy.
        replicas: The replicas.
        alike: Makes the copies.
        inherited: What the others have of this thread, if they begin.
    """

    def __init__(self, strategy: Any, replicas: Sequence[Replica], alike: Alike, inherited: _Inherited) -> None:
        self._strategy, self._replicas = strategy, replicas
        self._alike: Alike | None = alike
        self._outside = _Inherited([state for state in inherited.states if state is not hooks._creation])
        self._entered = context.stack.entered, here.replica
        self._seen = here.graph.version
        self._raised: BaseException | None = None  # by a meeting, and not by the replica
        replicas[0].alike, replicas[0].leads = alike, self._meeting

    def run(self) -> Any:
        """Calls the function, and returns what all replicas gave, regrouped."""
        first = self._replicas[0]
        try:
            try:
                first.result = first._call()
            except BaseException as error:
                if error is not self._raised:
                    first.error = error
                    _noted(first)
                raise
            finally:
                here.asked = None
            if self._raised is not None:  # and the program took no notice
                raise self._raised
            self._come_as_far()
            waiting = [replica for replica in self._replicas if replica.request is not None]
            if waiting:
                _meet(self._strategy, self._replicas, waiting)  # which says that the first one is missing
        finally:
            _end(self._replicas)
        alike = self._alike
        results = [each.result for each in self._replicas] if alike is None else alike.images(first.result)
        return regroup(results)

    def _meeting(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What the first replica gets of a meeting, at which it has come."""
        first = self._replicas[0]
        inside = _Inherited(self._outside.states)
        before = context.stack.entered, here.replica, here.asked
        self._outside.enter()
        context.stack.entered, here.replica = self._entered
        here.asked = None
        try:
            self._come_as_far()
            first.request = fn, args, kwargs
            running = self._replicas if self._alike is None else self._replicas[:1]
            waiting = [replica for replica in running if replica.request is not None]
            _meet(self._strategy, running, waiting, self._alike)
            self._seen = here.graph.version
        except BaseException as error:
            self._raised = error
            raise
        finally:
            first.request = None
            inside.enter()
            context.stack.entered, here.replica, here.asked = before
        return first.answer

    def _come_as_far(self) -> None:
        """Brings the others to where the first replica is: as copies, or by themselves."""
        of_node = here.graph.replicas.of_node
        of_node.update((node.name, 0) for node in here.graph.operations_since(self._seen))
        others = self._replicas[1:]
        if self._alike is not None:
            if self._alike.settled():
                self._alike.copy(of_node)
                return
            self._alike = self._replicas[0].alike = None  # nothing was copied yet: the others begin
            for replica in others:
                replica.start()
        _go_on(others, one_by_one=True)


def _go_on(replicas: Sequence[Replica], one_by_one: bool) -> None:
    """Lets all replicas go on to their next meeting, or to their end; raises what one of them raised."""
    alive = [replica for replica in replicas if replica.is_alive()]
    for replica in alive:
        replica.request = None
        replica.resume()
        if one_by_one:
            before = 0 if here.graph is None else here.graph.version
            replica.wait()
            if replica.error is not None:
                raise _noted(replica)
            if isinstance(here.graph, FunctionGraph) and here.graph.replicas is not None:
                own = here.graph.operations[before:]
                here.graph.replicas.of_node.update((node.name, replica.number) for node in own)
    for replica in alive:
        replica.wait()
        if replica.request is None:
            replica.join()
    for replica in alive:
        if replica.error is not None:
            raise _noted(replica)


def _noted(failed: Replica) -> BaseException:
    error = failed.error
    assert error is not None
    error.add_note(f"In replica {failed.number}, on {failed.place._name}.")
    return error


def _meet(strategy: Any, replicas: Sequence[Replica], waiting: Sequence[Replica], alike: Alike | None = None) -> None:
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
