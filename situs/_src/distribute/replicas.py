"""Calling a function once per replica, each in its own thread; merge calls synchronize them.

    run(strategy, fn)
      replica 0   fn(...)  --> merge_call --.                    .--> continues --> done
      replica 1   fn(...)  --> merge_call ---+-- merge function -+--> continues --> done
                                                 once, for all

In eager code, replicas run in parallel. While a graph is being built, and when a function is called for the first
time, they run one at a time, in order, up to the next merge call. So graphs are deterministic, and whatever a
program creates in its first call, such as the variables of an optimizer, has been created by the first replica before
the second one needs it.

While a graph is being built, identical replicas are not all called (`distribute.alike`): the first one runs in the
calling thread, and its ops between merge calls are copied for the others.

Variables that replicas create are created by the first one to get there, for all: the n-th variable of one replica is
the n-th of all.

If a replica fails, the others end at their next merge call. Its own error is raised, with a note of which replica it
was.
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
    """The state that a thread inherits from its parent: graph, scopes and tapes.

    Args:
        states: The inherited thread-local states; by default all that a new thread needs.
    """

    def __init__(self, states: Sequence[Any] | None = None) -> None:
        self.graph, self._scope, self._tapes = here.graph, here.scope, here.tapes
        self.states = self._thread_states() if states is None else states
        self._values = [_copied(vars(state)) for state in self.states]
        self._tracer = tracing.owner() if here.graph is not None else None

    def _thread_states(self) -> list[Any]:
        found = [graph_context._stacks, hooks._creation, creators._opened, recording.state]
        return found if here.graph is None else [*found, here.graph.building]

    def enter(self) -> None:
        """Applies it, in the new thread."""
        for state, values in zip(self.states, self._values, strict=True):
            vars(state).update(_copied(values))
        build_into(self.graph, self._scope)
        record_on(self._tapes)
        tracing.adopt(self._tracer)

    def leave(self) -> None:
        """Resets it, in the new thread."""
        tracing.adopt(None)
        record_on(())
        build_into(None, ROOT)


def _copied(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value.copy() if type(value) in (list, dict, set) else value for name, value in values.items()}


class _Made:
    """The variables that replicas of one call have created, in order."""

    def __init__(self) -> None:
        self.variables: list[Any] = []
        self.lock = locks.rlock()


class Replica(threading.Thread):
    """One replica of a call.

    Args:
        number: Its number.
        place: Its context.
        fn: The function to call.
        inherited: The state inherited from the parent thread.
        made: The variables that replicas of this call create.
    """

    def __init__(self, number: int, place: Any, fn: Callable[[], Any], inherited: _Inherited, made: _Made) -> None:
        super().__init__(name=f"replica {number}", daemon=True)
        self.number, self.place = number, place
        self.result: Any = None
        self.error: BaseException | None = None
        self.request: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]] | None = None
        self.answer: Any = None
        self.created = 0  # variables
        self.alike: Alike | None = None  # makes copies of it, if the others are copies
        self.leads: Callable[..., Any] | None = None  # called at a merge call, if it runs in the calling thread
        self._fn, self._inherited, self._made = fn, inherited, made
        self._variables = 0  # that it has requested
        self._go, self._stopped = threading.Event(), threading.Event()
        self._cancelled = False

    def resume(self) -> None:
        """Resumes it."""
        self._stopped.clear()
        self._go.set()

    def wait(self) -> None:
        """Waits until it has ended or reached a merge call."""
        self._stopped.wait()

    def cancel(self) -> None:
        """Cancels it where it waits."""
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
        except BaseException as error:  # also SystemExit etc.: the waiting thread raises it
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
        """The next variable of this replica: created now, for all replicas, if no other has requested it before."""
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
        """Waits for the other replicas; returns the result of the merge call. To be called by the replica."""
        if here.tapes:
            context.differs("a meeting that a tape records")
        if here.graph is not self._inherited.graph:
            raise StateError(
                "Replicas meet (merge_call(), all_reduce(), all_gather(), an optimizer that applies gradients) in the "
                "function that strategy.run() calls, and this is inside of another graph: a branch or a loop on "
                "tensors, or a tf.function that it calls. Give that tf.function itself to strategy.run(), or let the "
                "replicas meet outside of the branch."
            )
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
    """Calls a function for each replica, and returns their results, regrouped.

    Args:
        strategy: The strategy.
        places: The contexts of replicas.
        functions: The function of each.
        one_by_one: Whether one runs at a time, up to the next merge call, as while a graph is built.
        alike: Copies what the first of them does for the others; None if each of them is called.

    Raises:
        TraceAgain: the replicas turned out to differ.
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
    """Ends the threads of replicas, wherever they are; what failed is held by its error alone from then on."""
    for replica in replicas:
        replica.cancel()
    for replica in replicas:
        if replica.ident is not None:
            replica.join()
        replica.place.thread = replica.error = None


class _Led:
    """A call whose first replica runs in this thread, and is copied; the others are started if they turn out to differ.

    At a merge call the thread leaves the first replica's context, and works in that of the caller.

    Args:
        strategy: The strategy.
        replicas: The replicas.
        alike: Makes the copies.
        inherited: The state that the others inherit, if they are started.
    """

    def __init__(self, strategy: Any, replicas: Sequence[Replica], alike: Alike, inherited: _Inherited) -> None:
        self._strategy, self._replicas = strategy, replicas
        self._alike: Alike | None = alike
        self._outside = _Inherited([state for state in inherited.states if state is not hooks._creation])
        self._entered = context.stack.entered, here.replica
        self._seen = here.graph.version
        self._raised: BaseException | None = None  # by a merge call, not by the replica
        replicas[0].alike, replicas[0].leads = alike, self._meeting

    def run(self) -> Any:
        """Calls the function, and returns the results of all replicas, regrouped."""
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
            if self._raised is not None:  # and the program has swallowed it
                raise self._raised
            self._come_as_far()
            waiting = [replica for replica in self._replicas if replica.request is not None]
            if waiting:
                _meet(self._strategy, self._replicas, waiting)  # raises: the first one is missing
        finally:
            _end(self._replicas)
            self._raised = None
        alike = self._alike
        results = [each.result for each in self._replicas] if alike is None else alike.images(first.result)
        return regroup(results)

    def _meeting(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The first replica's part of the result of a merge call."""
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
        """Brings the others to the same point as the first replica: by copying, or by running them."""
        of_node = here.graph.replicas.of_node
        of_node.update((node.name, 0) for node in here.graph.operations_since(self._seen))
        others = self._replicas[1:]
        if self._alike is not None:
            if self._alike.settled():
                self._alike.copy(of_node)
                return
            self._alike = self._replicas[0].alike = None  # nothing was copied yet: the others are started
            for replica in others:
                replica.start()
        _go_on(others, one_by_one=True)


def _go_on(replicas: Sequence[Replica], one_by_one: bool) -> None:
    """Resumes all replicas up to their next merge call, or to their end; raises what one of them raised."""
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
