"""Replacing common patterns of small ops by one fused kernel, forward and backward.

    %6 = Mean(%5)                    %12, %m, %d = LayerNorm(%5)
    %7 = Sub(%5, %6)
    %8 = Mul(%7, %7)
    %9 = Mean(%8)            becomes
    %10 = AddV2(%9, 1e-5)
    %11 = Rsqrt(%10)
    %12 = Mul(%7, %11)
    ...                              ...
    %151 = AddV2(%147, %150)         %151 = LayerNormGrad(%139, %5, %m, %d)       in place of twelve calls

An *idiom* is a pair of functions of the same arguments: the pattern, and its fused replacement. Ops and gradients are
not listed by hand: both functions are traced with their gradients, and planned, for the shapes and constants found at a
candidate location of the plan (`Idiom.places`). Then the pattern's plan is matched against the given plan, call by
call: calls match if their functions (kernels with all bound arguments) and their inputs do. So a match computes exactly
the same, whatever the kernels are.

Conditions:

- Intermediate values of the pattern are used only inside it, and are not returned; others that are used must also be
  outputs of the fused function. Otherwise nothing is replaced.
- Either only the forward part matches, and nothing else uses its intermediates, or both forward and backward parts
  match. A sum of gradients may have other terms: it stays, with one term in place of several.
- Results agree up to rounding, including infinities and NaN (`tests/properties/test_idioms.py`). So only float32 and
  float64 are considered: in half precision, every op rounds.

Calls of the same function with the same values count as one. Additions and multiplications match in any order (the
traits `COMMUTATIVE` and `ADDS`). The pass runs after the first runs of a plan, on the host and for work captured
on a GPU; compiled programs do not need it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from situs._src.base.devices.logical import Device
from situs._src.base.dtype import DType, float32, float64
from situs._src.ir.graph.function import FunctionGraph
from situs._src.ir.graph.node import Operation
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.traits import ADDS, COMMUTATIVE
from situs._src.placement.candidates import Assignment
from situs._src.placement.placer import place
from situs._src.runtime.passes.repeats import identity
from situs._src.runtime.plan.plan import Call, Literal, Placed, Plan, Slot, Source, makers, slots_in

TYPES = (float32, float64)
MOST = 4000  # match attempts per plan: an idiom that almost matches everywhere must not cost seconds

Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class Place:
    """A possible match: its first arguments, and what the programs are traced for.

    Attributes:
        slots: The first arguments, at least one; others are found with the calls that use them.
        shapes: The shapes of all arguments.
        dtype: Their dtype.
        parameters: The other parameters of the programs, such as an axis.
    """

    slots: tuple[int, ...]
    shapes: tuple[tuple[int, ...], ...]
    dtype: DType
    parameters: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Idiom:
    """A common pattern, and its fused kernel.

    Attributes:
        name: Its name in `tf.explain`.
        anchor: An op that it contains.
        places: The possible matches, given a call of that op.
        written: The program as it is written: a function of tensors, and of the parameters by name.
        fused: The replacement; its results are the first ones of the other's. The first is differentiated.
        on: The types of devices where it was measured to be faster.
    """

    name: str
    anchor: Op
    places: Callable[[Look, Call], Iterable[Place]]
    written: Callable[..., Sequence[Any]]
    fused: Callable[..., Sequence[Any]]
    on: frozenset[str] = frozenset({"CPU", "GPU"})


idioms: list[Idiom] = []  # in matching order: the largest first
Tracer = Callable[[Callable[..., Sequence[Any]], Place], FunctionGraph]
tracer: list[Tracer] = []  # builds the graph of a program and its gradients: arguments, and the gradient of the result


class Look:
    """The calls of a plan, by results and inputs."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self.calls = calls
        self._maker = makers(calls)
        self.readers: dict[int, list[Call]] = {}
        self.same: dict[int, int] = {}  # the representative slot of equal values
        self.known: dict[Hashable, list[Call]] = {}
        self.number = {call: number for number, call in enumerate(calls)}
        for call in calls:
            for slot in dict.fromkeys(slots_in(call.inputs)):
                self.readers.setdefault(self.first(slot), []).append(call)
            if not _is_plain(call):
                continue
            alike = self.known.setdefault(key_of(call, self.first), [])
            if alike:
                self.same.update(zip(call.outputs, alike[0].outputs, strict=True))
            alike.append(call)

    def first(self, slot: int) -> int:
        """The representative of all slots with the same value."""
        return self.same.get(slot, slot)

    def maker(self, source: Source) -> Call | None:
        """The call that produces a source; None for constants and inputs."""
        number = self._maker.get(source.number) if isinstance(source, Slot) else None
        return None if number is None else self.calls[number]

    def made_at(self, slot: int) -> int:
        """The number of the call that produces a slot; -1 for inputs."""
        return self._maker.get(slot, -1)


def _is_plain(call: Call) -> bool:
    node = call.node
    return node is not None and not (node.op_def.stateful or call.takes_run or node.control_inputs)


def _new(call: Call) -> Callable[..., Any]:
    """The function of a call that allocates its result."""
    return call.function if call.overwrites is None or call.anew is None else call.anew


def key_of(call: Call, first: Callable[[int], Hashable]) -> Hashable:
    """A key that is equal for calls with the same result: the function and its inputs."""
    assert call.node is not None
    taken = [_wired(source, first) for source in call.inputs]
    if COMMUTATIVE in call.node.op_def.traits and call.node.outputs[0].dtype.is_floating:
        flat = taken[0] if len(taken) == 1 and isinstance(taken[0], tuple) else taken
        return identity(_new(call)), call.device, frozenset(Counter(flat).items())
    return identity(_new(call)), call.device, tuple(taken)


def _wired(source: Source, first: Callable[[int], Hashable]) -> Any:
    if isinstance(source, Slot):
        return ("host", first(source.number)) if source.host else ("slot", first(source.number))
    if isinstance(source, Literal):
        return identity(source.value)
    return tuple([_wired(each, first) for each in source])


# Plans of the two programs.


@dataclass(frozen=True)
class _Program:
    """A program with its gradients, planned.

    Attributes:
        arguments: The slots of its arguments.
        seed: The slot of the gradient of its first result.
        results: The slots of its results.
        gradients: The slots of the gradients of its arguments.
        forward: The calls that compute the results, in an order for matching.
        backward: The others, which compute the gradients.
        placed: The kernels of its operations.
    """

    arguments: list[int]
    seed: int
    results: list[int]
    gradients: list[int]
    forward: list[Call]
    backward: list[Call]
    placed: Placed


def plan_of(graph: FunctionGraph, device: Device) -> Plan:
    """The plan of a graph's results on one device."""
    from situs._src.runtime.plan.planner import Planner  # which imports passes

    fixed = {tensor.op: device for tensor in graph.arguments}
    placement = place(graph.operations, [device], default=device, fixed=fixed)
    planner = Planner(lambda inner, fixed, holder: place(inner.operations, [holder], default=holder, fixed=fixed))
    feeds = [(tensor, device) for tensor in graph.arguments]
    return planner.plan(placement, feeds, [(tensor, device) for tensor in graph.results])


def _program_of(plan: Plan, count: int, bound: int) -> _Program | None:
    made = makers(plan.calls)
    slots = [source.number for source in plan.outputs if isinstance(source, Slot) and source.number in made]
    if len(slots) < len(plan.outputs) or len(set(slots)) < len(slots) or not all(map(_is_plain, plan.calls)):
        return None
    *arguments, seed = plan.inputs
    assert len(arguments) == count
    results, gradients = slots[:-count], slots[-count:]
    wanted = set(results)
    for call in reversed(plan.calls):
        if not wanted.isdisjoint(call.outputs):
            wanted.update(slots_in(call.inputs))
    forward = [call for call in plan.calls if not wanted.isdisjoint(call.outputs)]
    backward = [call for call in plan.calls if wanted.isdisjoint(call.outputs)]
    known = set(arguments[:bound])
    forward = _in_reach(forward, known)
    return _Program(arguments, seed, results, gradients, forward, _in_reach(backward, known), plan.assignments)


def _in_reach(calls: Sequence[Call], known: set[int]) -> list[Call]:
    """The calls in an order in which each has a known input, or all known inputs if possible."""
    left, found = list(calls), []
    made = {slot for call in calls for slot in call.outputs}
    while left:
        ready = [call for call in left if made.intersection(slots_in(call.inputs)) <= known]
        whole = [call for call in ready if known.issuperset(slots_in(call.inputs))]
        some = [call for call in ready if not known.isdisjoint(slots_in(call.inputs))]
        call = (whole or some or ready)[0]
        left.remove(call)
        found.append(call)
        known.update(slots_in([*call.inputs, *(Slot(slot) for slot in call.outputs)]))
    return found


# Matching.


@dataclass
class _Match:
    """The slots and calls of a plan that correspond to a program's.

    Attributes:
        slots: The slots, by the program's.
        calls: The calls.
        sums: Sums with additional terms, by the program's gradient slots: the call, and its terms.
    """

    slots: dict[int, int] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    sums: dict[int, tuple[Call, list[int]]] = field(default_factory=dict)

    def copy(self) -> _Match:
        """A copy, to extend."""
        return _Match(dict(self.slots), list(self.calls), dict(self.sums))


class _Search:
    """Searches for the calls of a program in a plan."""

    def __init__(self, look: Look, gradients: Sequence[int]) -> None:
        self._look = look
        self._gradients = set(gradients)

    def found(self, calls: Sequence[Call], match: _Match) -> Iterator[_Match]:
        """The ways to extend a match by these calls."""
        if not calls:
            yield match
            return
        call, *rest = calls
        for further in self._steps(call, match):
            yield from self.found(rest, further)

    def _steps(self, call: Call, match: _Match) -> Iterator[_Match]:
        slots = slots_in(call.inputs)
        if match.slots.keys() >= set(slots):
            alike = self._look.known.get(key_of(call, match.slots.__getitem__))
            if alike:
                yield self._with(match, call, alike)
            elif call.outputs[0] in self._gradients:
                yield from self._in_sums(call, match)
            return
        for other in self._candidates(call, match):
            for bound in self._bindings(call, other, match):
                further = match.copy()
                further.slots.update(bound)
                yield self._with(further, call, self._look.known[key_of(other, self._look.first)])

    def _with(self, match: _Match, call: Call, alike: Sequence[Call]) -> _Match:
        further = match.copy()
        further.calls += alike
        further.slots.update(zip(call.outputs, map(self._look.first, alike[0].outputs), strict=True))
        return further

    def _candidates(self, call: Call, match: _Match) -> list[Call]:
        """The candidates for a call of the program with inputs that are not known yet."""
        taken = [match.slots[slot] for slot in slots_in(call.inputs) if slot in match.slots]
        if not taken:
            return []
        wanted = identity(_new(call))
        found = [other for other in self._look.readers.get(taken[0], ()) if _is_plain(other)]
        return [other for other in found if other.device is call.device and identity(_new(other)) == wanted]

    def _bindings(self, call: Call, other: Call, match: _Match) -> Iterator[dict[int, int]]:
        """The unknown inputs of a call, if it matched another one."""
        assert call.node is not None
        orders = [other.inputs]
        if COMMUTATIVE in call.node.op_def.traits and len(other.inputs) == 2:
            orders.append(other.inputs[::-1])
        for order in orders:
            bound: dict[int, int] = {}
            if len(order) == len(call.inputs) and all(
                self._fits(one, two, match, bound) for one, two in zip(call.inputs, order, strict=True)
            ):
                yield bound

    def _fits(self, one: Source, two: Source, match: _Match, bound: dict[int, int]) -> bool:
        if not isinstance(one, Slot):
            return not isinstance(two, Slot) and _wired(one, match.slots.get) == _wired(two, self._look.first)
        if not isinstance(two, Slot) or one.host != two.host:
            return False
        slot = self._look.first(two.number)
        return match.slots.get(one.number, bound.setdefault(one.number, slot)) == slot

    def _in_sums(self, call: Call, match: _Match) -> Iterator[_Match]:
        """Sums with more terms than the program's call that computes a gradient."""
        assert call.node is not None
        if ADDS not in call.node.op_def.traits:
            return
        terms = [match.slots[slot] for slot in slots_in(call.inputs)]
        for other in self._look.readers.get(terms[0], ()):
            node = other.node
            if node is None or ADDS not in node.op_def.traits or other.device is not call.device:
                continue
            given = Counter(map(self._look.first, slots_in(other.inputs)))
            if isinstance(other.inputs[0], list) and not Counter(terms) - given and given.total() > len(terms):
                further = match.copy()
                further.sums[call.outputs[0]] = other, terms
                yield further


# The plan, with fused calls.


@dataclass(eq=False)
class Fused:
    """Calls of a plan, some of them fused.

    Attributes:
        calls: The calls.
        slots: The number of slots now.
        names: For operations whose calls were removed, what they are part of, and of how many.
        placed: The kernels of operations that are new in the plan.
    """

    calls: list[Call]
    slots: int
    names: dict[Operation, str]
    placed: dict[Operation, Assignment]


def with_idioms(calls: list[Call], kept: Iterable[int], slots: int) -> Fused:
    """The calls, with idioms fused; the same list if there are none.

    Args:
        calls: The calls, in order.
        kept: The slots that are used after them.
        slots: The number of slots.
    """
    anchors = {idiom.anchor for idiom in idioms}
    if not tracer or not any(call.node is not None and call.node.op_def in anchors for call in calls):
        return Fused(calls, slots, {}, {})
    joiner = _Joiner(calls, set(kept), slots)
    left = MOST
    for idiom in idioms:
        for call in calls:
            if call.node is None or call.node.op_def is not idiom.anchor or not joiner.may_join(call, idiom):
                continue
            for at in idiom.places(joiner.look, call):
                left -= 1
                if left >= 0 and joiner.join(idiom, at, call.device):
                    break
    return joiner.fused()


class _Joiner:
    """Finds idioms in the calls of a plan, one after the other, and then inserts the fused calls."""

    def __init__(self, calls: list[Call], returned: set[int], slots: int) -> None:
        self.look = Look(calls)
        self._calls = calls
        self._returned = returned
        self._slots = slots
        self._planned: dict[Hashable, _Program | None] = {}
        self._gone: set[Call] = set()
        self._names: dict[Operation, str] = {}
        self._placed: dict[Operation, Assignment] = {}
        self._inserted: dict[int, list[Call]] = {}  # before the call with this number
        self._terms: dict[Call, list[tuple[list[int], int]]] = {}  # of sums: removed terms, and their replacement
        self._touched: set[int] = set()  # slots that must not be overwritten
        self._of_variables: set[int] = set()
        for call in calls:
            node = call.node
            passes = node is not None and not (node.op_def.is_fresh(node) or node.op_def.updates)
            if call.reads is not None or (passes and not self._of_variables.isdisjoint(slots_in(call.inputs))):
                self._of_variables.update(call.outputs)

    def may_join(self, call: Call, idiom: Idiom) -> bool:
        """Whether a call may be part of an idiom on its device."""
        account = call.device.account
        counts_all = account is not None and account.enters_all
        return call.device.type in idiom.on and _is_plain(call) and call not in self._gone and not counts_all

    def join(self, idiom: Idiom, at: Place, device: Device) -> bool:
        """Fuses the calls of an idiom, if it matches."""
        written = self._program(idiom.written, at, device)
        if written is None:
            return False
        search = _Search(self.look, written.gradients)
        begun = _Match(dict(zip(written.arguments, map(self.look.first, at.slots), strict=False)))
        for match in search.found(written.forward, begun):
            fused = self._program(idiom.fused, at, device)
            if fused is None:
                return False
            if self._take(idiom, written, fused, match, None):
                return True
            for whole in search.found(written.backward, match):
                if self._take(idiom, written, fused, match, whole):
                    return True
        return False

    def _program(self, program: Callable[..., Sequence[Any]], at: Place, device: Device) -> _Program | None:
        """The plan of a program on a device; None if some of its results are not values of its own."""
        key = program, replace(at, slots=()), device
        if key not in self._planned:
            graph = tracer[0](program, at)
            self._planned[key] = _program_of(plan_of(graph, device), len(at.shapes), len(at.slots))
        return self._planned[key]

    def _take(self, idiom: Idiom, written: _Program, fused: _Program, forward: _Match, whole: _Match | None) -> bool:
        """Takes a match, of the forward calls alone or of all, if the values it removes have no other uses."""
        match = whole or forward
        members = set(match.calls)
        if not members.isdisjoint(self._gone) or not match.slots.keys() >= set(written.arguments):
            return False
        kept = [*zip(written.results, fused.results, strict=False)]  # the fused program may have fewer
        if whole is not None:
            kept += zip(written.gradients, fused.gradients, strict=True)
        becomes = {match.slots[old]: new for old, new in kept if old in match.slots}
        terms = {slot for _, slots in match.sums.values() for slot in slots}
        sums = {call for call, _ in match.sums.values()}
        used: dict[int, int] = {}  # values with other uses, and their first use
        for call in members:
            for slot in call.outputs:
                first = self.look.first(slot)
                readers = [each for each in self.look.readers.get(first, ()) if each not in members]
                if first in terms and readers and sums.issuperset(readers) and slot not in self._returned:
                    continue
                if not readers and slot not in self._returned:
                    continue
                if first not in becomes or slot != first:
                    return False
                used[slot] = min([self.look.number[each] for each in readers], default=len(self._calls))
        backward = [] if whole is None else whole.calls[len(forward.calls) :]
        starts = self._starts(written, forward, backward, match)
        if starts is None:
            return False
        late = {match.slots[slot] for slot in written.gradients if slot in match.slots}
        if any(when < starts[slot in late] for slot, when in used.items()):
            return False
        self._insert(written, fused, match, starts, {slot: becomes[slot] for slot in used})
        self._gone |= members
        others = len(members) - 1
        nodes = [call.node for call in members if call.node is not None]
        self._names.update(dict.fromkeys(nodes, f"kernel: {idiom.name}, with {others} others"))
        return True

    def _starts(
        self, written: _Program, forward: _Match, backward: Sequence[Call], match: _Match
    ) -> tuple[int, int] | None:
        """The positions of the fused calls, forward and backward; None if variables change in between."""
        arguments = [match.slots[slot] for slot in written.arguments]
        first = min(self.look.number[call] for call in forward.calls)
        start = max(first, *(self.look.made_at(slot) + 1 for slot in arguments))
        if not backward:
            return start, start
        again = max(start, self.look.made_at(match.slots[written.seed]) + 1)
        changes = (call.node is not None and call.node.op_def.updates for call in self._calls[start:again])
        if any(changes) and not self._of_variables.isdisjoint(arguments):
            return None
        return start, again

    def _insert(
        self, written: _Program, fused: _Program, match: _Match, starts: tuple[int, int], used: Mapping[int, int]
    ) -> None:
        """Records the fused calls whose values are used, by the slots of the fused program, and the terms of sums."""
        pairs = [*zip(written.arguments, fused.arguments, strict=True), (written.seed, fused.seed)]
        names = {new: match.slots[old] for old, new in pairs if old in match.slots}
        names.update({new: slot for slot, new in used.items()})
        for old, (call, terms) in match.sums.items():
            new = fused.gradients[written.gradients.index(old)]
            self._terms.setdefault(call, []).append((terms, self._named(names, new)))
        wanted = set(names) - {new for _, new in pairs}
        needed: list[tuple[int, Call]] = []
        stages = [(starts[0], call) for call in fused.forward] + [(starts[1], call) for call in fused.backward]
        for start, call in reversed(stages):
            if not wanted.isdisjoint(call.outputs):
                needed.insert(0, (start, call))
                wanted.update(slots_in(call.inputs))
        for start, call in needed:
            inputs = [self._renamed(names, source) for source in call.inputs]
            outputs = [self._named(names, slot) for slot in call.outputs]
            made = replace(
                call, function=_new(call), inputs=inputs, outputs=outputs, overwrites=None, anew=None, after=[]
            )
            self._inserted.setdefault(start, []).append(made)
            if call.node is not None:
                self._placed[call.node] = fused.placed[call.node]
            self._touched.update(slots_in(inputs), outputs)

    def _named(self, names: dict[int, int], slot: int) -> int:
        """The slot for one of the fused program: a new one, if there is none."""
        if slot not in names:
            names[slot] = self._slots
            self._slots += 1
        return names[slot]

    def _renamed(self, names: dict[int, int], source: Source) -> Source:
        if isinstance(source, Literal):
            return source
        if isinstance(source, Slot):
            return Slot(self._named(names, source.number), source.host)
        return type(source)(self._renamed(names, each) for each in source)

    def fused(self) -> Fused:
        """The resulting calls."""
        if not self._gone:
            return Fused(self._calls, self._slots, {}, {})
        calls: list[Call] = []
        for number, call in enumerate([*self._calls, None]):
            calls += self._inserted.get(number, ())
            if call is None or call in self._gone:
                continue
            if call in self._terms:
                call = self._summed(call)
            if call.overwrites in self._touched:
                call = replace(call, function=_new(call), overwrites=None, anew=None)
            calls.append(replace(call, after=[]))
        return Fused(calls, self._slots, self._names, self._placed)

    def _summed(self, call: Call) -> Call:
        """A sum with one term instead of several."""
        left = Counter[int]()
        for terms, _ in self._terms[call]:
            left.update(terms)
        rest: list[Source] = []
        (given,) = call.inputs
        assert isinstance(given, list)
        for source in given:
            slot = self.look.first(source.number) if isinstance(source, Slot) else -1
            if left[slot]:
                left[slot] -= 1
            else:
                rest.append(source)
        inputs: list[Source] = [[*(Slot(new) for _, new in self._terms[call]), *rest]]
        return replace(call, function=_new(call), inputs=inputs, overwrites=None, anew=None)
