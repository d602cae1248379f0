"""``with device(...)``: device requests, per thread.

A scope is a link in a chain that is walked innermost first:

    with device("/cpu:2"):          inner fields win, the rest is inherited:
        with device("/gpu"):        -> /device:GPU:2
    with device(None):              the walk stops here: no request
    with device(function):          called with the op, whose ``device`` holds the result so far;
                                    its result replaces that; outer scopes are still merged

Eager code completes a request with the local host's ``CPU:0``, so ``/gpu`` means
``GPU:0`` and ``''`` at the top means ``CPU:0``, as in TensorFlow.

A `Scope` is interned: entering the same scope again gives the same object. ``memo`` is a dictionary in which the layer
above caches its decisions under this scope. `forget` empties them all when the rules of placement change; `remember`
does not cache decisions that were made before that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol

from situs._src.base import locks
from situs._src.base.devices.logical import Device, LogicalDevice
from situs._src.base.devices.spec import EMPTY, DeviceSpec, MutableDeviceSpec, parse_spec
from situs._src.base.errors import ArgumentError, DTypeError, StateError, shown
from situs._src.base.export import export


class PlacedOp(Protocol):
    """What a device function may look at: the op about to be placed."""

    @property
    def type(self) -> str:
        """The op's type, such as ``"MatMul"``."""
        ...

    device: str


DeviceFunction = Callable[[Any], object]
Request = DeviceSpec | DeviceFunction | None

_lock = locks.lock()
_all_scopes: list[Scope] = []


class Scope:
    """One link of the chain of device scopes; ``request`` is what this link itself asks for."""

    __slots__ = ("_children", "calls_functions", "memo", "parent", "request", "stops")

    def __init__(self, parent: Scope | None, request: Request) -> None:
        self.parent = parent
        self.request = request
        self.stops = request is None  # the walk outwards ends here
        self.calls_functions: bool = callable(request) or (
            parent is not None and not self.stops and parent.calls_functions
        )
        self.memo: dict[Any, Any] = {}
        self._children: dict[Request, Scope] = {}

    def child(self, request: Request) -> Scope:
        """The scope for `request` inside this one.

        None leads out of all scopes. Where functions are called, scopes are not kept: a function may be made
        again in every iteration of a loop, and nothing is remembered under it anyway.
        """
        if request is None:
            return ROOT
        if callable(request) or self.calls_functions:
            return Scope(self, request)
        with _lock:
            found = self._children.get(request)
            if found is None:
                found = self._children[request] = Scope(self, request)
                _all_scopes.append(found)
        return found

    def merged(self, op: PlacedOp) -> DeviceSpec:
        """The request for `op`: the whole chain merged, open fields left open."""
        spec, scope = EMPTY, self
        while not scope.stops:
            if isinstance(scope.request, DeviceSpec):
                spec = scope.request.make_merged_spec(spec)
            else:
                op.device = spec.to_string()
                spec = _as_spec(_called(scope.request, op), op)
            assert scope.parent is not None
            scope = scope.parent
        op.device = spec.to_string()
        return spec

    def written(self, op: PlacedOp) -> str:
        """The request for `op` as graphs keep it: what a function returned stays as it was written.

        So a function that returns nonsense is found out when the graph is placed, as in TensorFlow.
        """
        text, scope = "", self
        while not scope.stops:
            if isinstance(scope.request, DeviceSpec):
                text = scope.request.make_merged_spec(parse_spec(text)).to_string()
            else:
                op.device = text
                result = _called(scope.request, op)
                text = result if isinstance(result, str) else _as_spec(result, op).to_string()
            assert scope.parent is not None
            scope = scope.parent
        return text

    def eager_request(self, op: PlacedOp) -> DeviceSpec | None:
        """The full device name asked for `op`, or None when anything will do."""
        if self.stops:
            return None
        spec = self.merged(op)
        if self.calls_functions and not spec:
            return None  # the functions had no opinion
        return spec.completed()


ROOT = Scope(None, None)


class _Here(threading.local):
    """The state of one thread. A new thread starts outside all scopes."""

    def __init__(self) -> None:
        self.scope = ROOT
        self.memo = ROOT.memo  # the memo of the scope, one look-up closer: every op asks for it
        self.apart = False  # whether that is another one than that of the threads which have not entered anything
        self.entered: list[tuple[device, Scope]] = []  # who entered, and the scope around it
        self.graph: Any = None  # the graph that ops are added to; None where they run at once
        self.tapes: tuple[Any, ...] = ()  # what records ops for their gradients
        self.replica: int | None = None  # which of a strategy's this thread is
        self.asked: list[Request] | None = None  # the requests of ``with device``, if they are recorded
        self.look: Any = None  # what stands for a tensor of another graph, while a gradient of that graph is built


class _Common:
    """What holds for every thread alike, while none is in a scope, builds a graph or records; None while one does.

    ``memo`` is the root's. To look here first saves ops the look-up of their thread's state, which costs as much as
    that of the step. ``rules`` is one object for as long as nothing changes: a step found under it needs no look-up.
    """

    __slots__ = ("_apart", "memo", "rules")

    def __init__(self) -> None:
        self._apart = 0  # the number of threads that have a memo of their own
        self.memo: dict[Any, Any] | None = None
        self.rules: object | None = None
        self.change()

    def count(self, difference: int) -> None:
        """One more thread has a memo of its own, or one less. One that ended inside a scope counts for ever."""
        with _lock:
            self._apart += difference
            self.change()

    def change(self) -> None:
        """The rules have changed, or who goes by them; to be called under the lock."""
        self.memo, self.rules = (None, None) if self._apart else (ROOT.memo, object())


here = _Here()
common = _Common()
_NOTHING: dict[Any, Any] = {}  # the memo while a graph is built or a tape records: no call takes the short way


_generation = 0  # how often the rules have changed


def generation() -> int:
    """Which version of the rules holds now; to be asked before deciding what `remember` shall keep."""
    return _generation


def remember(memo: dict[Any, Any], key: object, decision: Any, decided_under: int) -> None:
    """Keeps a decision in a memo, unless the rules have changed since it was made."""
    with _lock:
        if decided_under == _generation:
            memo[key] = decision


def forget() -> None:
    """Empties every memo: the rules of placement have changed."""
    global _generation
    with _lock:
        _generation += 1
        for scope in (ROOT, *_all_scopes):
            scope.memo.clear()
        common.change()


def _enter(scope: Scope) -> None:
    memo = scope.memo if here.graph is None and not here.tapes else _NOTHING
    apart = memo is not ROOT.memo
    if (
        apart and not here.apart
    ):  # in this order: an interrupt anywhere between leaves a thread counted that need not be
        common.count(1)
        here.apart = True
    here.scope = scope
    here.memo = memo
    if here.apart and not apart:
        here.apart = False
        common.count(-1)


def build_into(graph: Any, scope: Scope) -> tuple[Any, Scope]:
    """Lets this thread's ops be added to a graph, under a device scope; None lets them run at once.

    Returns:
        What held before, to be handed to this function again.
    """
    before = here.graph, here.scope
    here.graph = graph
    _enter(scope)
    return before


def record_on(tapes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Records this thread's ops on these tapes; returns the previous ones."""
    before = here.tapes
    here.tapes = tapes
    _enter(here.scope)
    return before


def enter(scope: Scope) -> Scope:
    """Goes into a scope, as the op did whose gradient is being computed; returns the scope before."""
    before = here.scope
    _enter(scope)
    return before


@export(
    "device",
    differs="A function from an op to a device works in eager code too.",
    v1=(),
)
class device:  # noqa: N801 - the name programs use
    """A context in which ops run on the device asked for.

    Args:
        device_name: A device name, full or partial; a ``DeviceSpec`` or ``LogicalDevice``; a function
            from an op to any of these; or None to ask for nothing.

    Example:
        with tf.device("/gpu:1"):
            c = tf.matmul(a, b)
    """

    __slots__ = ("_request",)

    def __init__(self, device_name: object) -> None:
        self._request = as_request(device_name)

    def __enter__(self) -> device:
        if here.asked is not None:
            here.asked.append(self._request)
        here.entered.append((self, here.scope))
        _enter(here.scope.child(self._request))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if here.entered and here.entered[-1][0] is self:
            _enter(here.entered.pop()[1])
            return
        _leave_out_of_order(self)
        raise StateError("Exiting device scope without proper scope nesting")


@export(v1="device", as_is=True)
def device_v1(device_name_or_function: object) -> device:
    """A context in which ops run on the device asked for: by its name, or by a function from an op to a device.

    Args:
        device_name_or_function: What `tf.device` takes.
    """
    return device(device_name_or_function)


def _leave_out_of_order(left: device) -> None:
    """Goes back to where `left` was entered, so that the thread does not stay in a scope that is never exited."""
    for position in reversed(range(len(here.entered))):
        entered, outer = here.entered[position]
        if entered is left:
            del here.entered[position:]
            _enter(outer)
            return


def as_request(name: object) -> Request:
    """What `device` accepts, as a spec, a function or None.

    Raises:
        ValueError: `name` is none of these, or is not a device name.
    """
    if name is None or isinstance(name, DeviceSpec):
        return name
    if isinstance(name, str):
        return parse_spec(name)
    if isinstance(name, MutableDeviceSpec):
        return DeviceSpec(*name._fields)
    if isinstance(name, (LogicalDevice, Device)):
        return parse_spec(name.name)
    if callable(name):
        return name
    raise ArgumentError(f"Expecting a string device name. Got {type(name)}({shown(name)})")


def _called(function: Any, op: PlacedOp) -> object:
    """What a device function returns for an op."""
    result = function(op)
    if result is None:
        raise DTypeError(
            f"The device function {getattr(function, '__name__', function)!r} returned None for op {op.type}. "
            "Expected a device name; return '' to leave the op to the scopes around it."
        )
    return result


def _as_spec(result: object, op: PlacedOp) -> DeviceSpec:
    """What a device function returned, as a spec."""
    spec = as_request(result)
    if not isinstance(spec, DeviceSpec):
        raise DTypeError(f"A device function returns a device name, got {result!r} for op {op.type}.")
    return spec
