"""One compiled region: compared with its calls, timed against them, and guarded, so that it is always safe to use.

    call 1       both ways: the uncompiled results are used, the compiled ones compared with them
    calls 2-11   alternating, and timed
    later        the faster of the two

The compiled function is specialized to shapes, strides and sizes; for others, and whenever something fails in it, the
calls are made one by one, which gives the right result or Situs' own error.

It updates variables in place, as optimizers do (`runtime.eager.in_place`): a value that is still referenced elsewhere
is copied first. The first call writes into copies. If kernels reject values (an index out of range), the compiled
function writes back the old values and sets a flag: the calls then raise the error, and update what they would have
updated. Only if it fails in another way, such as running out of memory, may it have updated some of the variables; then
the failure is raised, and the calls are not repeated.

Results are compared with a tolerance per dtype, relative to the largest element; variables by how far they moved. That
is meaningless for a result that is only rounding error (such as the gradient of a bias before batch normalization),
which may differ completely. So a result outside the tolerance is checked once more, against how far the uncompiled
result moves when its inputs change in their last bits.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch

from situs._src.base import locks
from situs._src.runtime.eager import precision
from situs._src.runtime.eager.bridge import torch_device
from situs._src.runtime.eager.cell import Cell
from situs._src.runtime.eager.in_place import copy_for, shared_ones, with_values
from situs._src.runtime.eager.torch_private import storage_key
from situs._src.runtime.passes.regions import Region, Seen, are_like, layout_of
from situs._src.runtime.run import inductor
from situs._src.runtime.run.emit import Function

TRIALS = 5  # timed runs of a region, each way
MOST_FAILURES = 3  # failures of a region whose calls do not fail

# The largest difference, relative to the largest element. Integers and booleans must be equal.
TOLERANCE = {torch.float64: 1e-8, torch.complex128: 1e-8, torch.float32: 1e-4, torch.complex64: 1e-4}
COARSE = 2e-2  # in half precision, and where products are computed in TensorFloat-32
NOISE = 16.0  # times the effect of a change in the last bits of the inputs

_logger = logging.getLogger("situs")


class CompiledRegion:
    """A region as a function: compiled, or its calls one by one.

    Args:
        region: The region.
        number: Its number in the program, from 1.
        function: The compiled function.
        alone: Its calls, as emitted code.
        seen: The layouts it was compiled for.
        in_trial: Whether it has to be faster than its calls.
        refuses: Whether the last result of the compiled function is the flag for invalid values.

    Attributes:
        dropped: Why it is no longer used; empty while it is.
        times: The best seconds compiled and call by call, once they are known.
    """

    def __init__(
        self,
        region: Region,
        number: int,
        function: inductor.Compiled,
        alone: Function,
        seen: Seen,
        in_trial: bool,
        refuses: bool = False,
    ) -> None:
        self.number = number
        self.dropped = ""
        self.times: tuple[float, float] | None = None
        self._ops = len(region.calls)
        self._card = torch_device(region.device) if region.device.is_card else None
        self._compiled = function
        self._alone = alone
        self._count = len(region.sources)
        layouts = [seen.layout(source) for source in region.sources]
        self._shapes = [layout.shape for layout in layouts]
        self._strides = [layout.stride for layout in layouts]
        self._devices = [layout.device for layout in layouts]
        keys = [region.key(source) for source in region.sources]
        self._states = [place for place, key in enumerate(keys) if key in region.states]
        self._changed = [place for place, key in enumerate(keys) if key in region.changed]
        kept = enumerate(region.kept)
        self._passed = [(n, keys.index(region.states[slot])) for n, slot in kept if slot in region.states]
        self._refuses = refuses
        self._sizes = tuple([seen.sizes[slot] for slot in region.sizes])
        self._lock = locks.lock()
        self._is_compared = False
        self._in_trial = in_trial
        self._trials: tuple[list[float], list[float]] = [], []
        self._shared: list[int] = []  # the results that alias other memory, and must not
        self._strides_made: dict[int, tuple[int, ...]] = {}  # of results that have others compiled, those they need
        self._failures = 0

    @property
    def way(self) -> str:
        """How its operations run."""
        if self.dropped:
            return f"kernel: {self.dropped}"
        others = self._ops - 1
        return f"compiled region {self.number} (with {others} other{'s' if others > 1 else ''})"

    @property
    def is_settled(self) -> bool:
        """Whether it has been decided which way it runs."""
        return bool(self.dropped) or (self._is_compared and not self._in_trial)

    def __call__(self, *values: Any) -> Sequence[Any]:
        """Runs the region on its inputs, and returns the results that others use."""
        if self.dropped or not self._fits(values):
            return self._alone(None, *values)
        if self._is_compared and not self._in_trial:
            return self._run(values)
        if not self._lock.acquire(blocking=False):  # another thread is comparing
            return self._alone(None, *values)
        try:
            return self._tried(values) if self._is_compared else self._both_ways(values)
        finally:
            self._lock.release()

    def _fits(self, values: Sequence[Any]) -> bool:
        """Whether it was compiled for such values."""
        count = self._count
        return values[count:] == self._sizes and self._have_layouts(range(count), values)

    def _have_layouts(self, places: Iterable[int], values: Sequence[Any]) -> bool:
        """Whether some of its sources have the layouts they had."""
        for place, value in zip(places, values, strict=False):
            held = value.value if type(value) is Cell else value
            if held is None or held.shape != self._shapes[place]:
                return False
            if held.stride() != self._strides[place] and not are_like(held.shape, held.stride(), self._strides[place]):
                return False
            if held is not value and held.device != self._devices[place]:  # a variable can move to another device
                return False
        return True

    def _run(self, values: Sequence[Any]) -> Sequence[Any]:
        """Runs the compiled function; falls back to the calls if it fails."""
        try:
            made = self._made(values)
        except Exception as error:
            if self._changed:
                self._drop(f"compiled, it failed: {type(error).__name__}: {error}")
                raise
            return self._instead(values, error)
        if made is None:
            return self._alone(None, *values)
        for place in self._shared:
            made[place] = made[place].clone()
        for place, strides in self._strides_made.items():
            made[place] = _laid_out(made[place], strides)
        return self._with_states(made, values)

    def _made(self, values: Sequence[Any]) -> list[Any] | None:
        """Runs the compiled function on values, updating variables.

        None, with no effect, if it rejects one of the values, or variables have other layouts.
        """
        given = list(values[: self._count])
        cells: list[Cell] = [given[place] for place in self._states]
        if not cells or type(cells[0]) is not Cell:
            return self._unless_refused(list(self._compiled(given)))
        if len(set(map(id, cells))) < len(cells):
            return None
        return with_values(cells, lambda held: self._made_of(given, cells, held))

    def _made_of(self, given: list[Any], cells: Sequence[Cell], held: list[Any]) -> list[Any] | None:
        """The same, while the cells are locked."""
        if not self._have_layouts(self._states, held):
            return None
        for number in shared_ones(held):
            if self._states[number] in self._changed:
                held[number] = copy_for(cells[number], held[number])
        for number, place in enumerate(self._states):
            given[place] = held[number]
        return self._unless_refused(list(self._compiled(given)))

    def _unless_refused(self, made: list[Any]) -> list[Any] | None:
        return None if self._refuses and bool(made.pop()) else made

    def _with_states(self, made: list[Any], values: Sequence[Any]) -> list[Any]:
        """The results, and the variables to use with them afterwards."""
        for number, place in self._passed:
            made.insert(number, values[place])
        return made

    def _instead(self, values: Sequence[Any], error: Exception) -> Sequence[Any]:
        results = self._alone(None, *values)  # if that fails as well, the error is the program's
        self._failures += 1
        if self._failures >= MOST_FAILURES:
            self._drop(f"compiled, it failed though its ops do not: {type(error).__name__}: {error}")
        return results

    # The first call.

    def _both_ways(self, values: Sequence[Any]) -> Sequence[Any]:
        """The first call: both ways, and compared; the results of the calls are used."""
        before = {place: _held(values[place]).clone() for place in self._states}
        results = self._alone(None, *values)
        after = {place: _held(values[place]) for place in self._changed}
        given = list(values[: self._count])
        for place, value in before.items():
            given[place] = value.clone()
        compared = list(given)  # the compiled function may clear the other list
        try:
            made = self._unless_refused(list(self._compiled(given)))
        except Exception as error:
            self._drop(f"compiled, it failed: {type(error).__name__}: {error}")
            return results
        if made is None:  # though the calls accept it: the next call will be compared
            return results
        passed = {number for number, _ in self._passed}
        own = [value for number, value in enumerate(results) if number not in passed]
        difference = self._difference(values, before, own, made, [(p, after[p], compared[p]) for p in self._changed])
        if difference:
            self._drop(f"compiled, it gave other results: {difference}")
        self._strides_made = {
            n: usual.stride()
            for n, (usual, new) in enumerate(zip(own, made, strict=True))
            if not are_like(usual.shape, usual.stride(), new.stride())
        }
        self._shared = _not_own(made, compared, own, [_held(value) for value in values[: self._count]])
        self._is_compared = True
        return results

    def _difference(
        self,
        values: Sequence[Any],
        before: Mapping[int, torch.Tensor],
        results: Sequence[Any],
        made: Sequence[Any],
        changed: Sequence[tuple[int, torch.Tensor, torch.Tensor]],
    ) -> str:
        """Describes how results and variables differ; empty if they do not.

        Args:
            values: The inputs of the region.
            before: The values of variables before, by place.
            results: The results of its calls.
            made: The results of the compiled function.
            changed: The variables that were updated: their places, and their values in the end either way.
        """
        pairs: list[tuple[str, torch.Tensor | None, torch.Tensor, torch.Tensor]] = []
        pairs += [(f"result {n}", None, *pair) for n, pair in enumerate(zip(results, made, strict=True))]
        pairs += [(f"variable {n}", before[place], *pair) for n, (place, *pair) in enumerate(changed)]  # type: ignore[misc]
        again: list[torch.Tensor] | None = None
        nudged: list[torch.Tensor] | None = None
        for number, (name, old, usual, new) in enumerate(pairs):
            if (usual.shape, usual.dtype, usual.device) != (new.shape, new.dtype, new.device):
                return f"{layout_of(new)} in the place of {layout_of(usual)}"
            allowed, found = self._tolerance(usual.dtype), moved_apart(old, usual, new)
            if found > allowed and before:  # another thread may have changed variables meanwhile
                again = again or self._made_alone(values, before, lambda value: value)
                usual = again[number]
                found = moved_apart(old, usual, new)
            if found > allowed:
                if nudged is None and allowed:
                    nudged = self._made_alone(values, before, self._nudged)
                noise = 0.0 if nudged is None else moved_apart(old, usual, nudged[number])
                if not allowed or found > NOISE * noise:
                    return f"{found:.1e} of the largest element of {name}, where {allowed:.0e} is allowed"
        return ""

    def _made_alone(
        self, values: Sequence[Any], before: Mapping[int, torch.Tensor], change: Callable[[Any], Any]
    ) -> list[torch.Tensor]:
        """What the calls make, and what they make of variables, which are nobody else's and hold what they held before.

        Args:
            values: What the region was given.
            before: What variables held, by place.
            change: Is done to each value first.
        """
        given = [change(before[n].clone() if n in before else value) for n, value in enumerate(values)]
        for place in before:
            cell = values[place]
            if type(cell) is Cell:
                given[place] = Cell(cell.name, cell.dtype, cell.shape, cell.place, given[place])
        passed = {number for number, _ in self._passed}
        made = [value for number, value in enumerate(self._alone(None, *given)) if number not in passed]
        return [*made, *(_held(given[place]) for place in self._changed)]

    def _tolerance(self, dtype: torch.dtype) -> float:
        if not (dtype.is_floating_point or dtype.is_complex):
            return 0.0
        in_tf32 = self._card is not None and dtype is torch.float32 and precision.tensor_float_32()
        return COARSE if in_tf32 else TOLERANCE.get(dtype, COARSE)

    def _nudged(self, value: Any) -> Any:
        """A value changed in its last bits, every second element up and the others down."""
        if not isinstance(value, torch.Tensor) or not value.is_floating_point():
            return value
        is_coarse = self._tolerance(value.dtype) == COARSE and value.dtype is torch.float32
        last = 2.0**-11 if is_coarse else torch.finfo(value.dtype).eps
        signs = torch.ones(value.numel(), dtype=value.dtype, device=value.device)
        signs[::2] = -1
        nudged = torch.empty_like(value)  # keeps strides
        return nudged.copy_(value * (1 + last * signs.view(value.shape)))

    # Whether it pays.

    def _tried(self, values: Sequence[Any]) -> Sequence[Any]:
        """One of the calls in which the two ways are timed alternately."""
        compiled, usual = self._trials
        is_turn = len(compiled) <= len(usual)
        if len(usual) < TRIALS:
            self._finish()
            start = time.perf_counter()
            results = self._run(values) if is_turn else self._alone(None, *values)
            self._finish()
            (compiled if is_turn else usual).append(time.perf_counter() - start)
            return results
        self._in_trial = False
        if compiled:
            self.times = min(compiled), min(usual)
            if self.times[0] > self.times[1]:
                text = " against ".join(f"{seconds * 1e3:.3g}" for seconds in self.times)
                self.dropped = f"slower compiled, {text} ms"  # no warning: nothing is wrong
        return self._alone(None, *values) if self.dropped else self._run(values)

    def _finish(self) -> None:
        if self._card is not None:
            torch.cuda.synchronize(self._card)

    def _drop(self, why: str) -> None:
        self.dropped = why.partition("\n")[0]
        _logger.warning("%d ops of a graph run as they are: %s", self._ops, self.dropped)


def distance(usual: torch.Tensor, new: torch.Tensor) -> float:
    """How far a tensor is from another one, relative to its largest element; infinite if other elements are finite."""
    if usual.dtype == torch.bool or not (usual.is_floating_point() or usual.is_complex()):
        return 0.0 if torch.equal(usual, new) else float("inf")
    wide = torch.complex128 if usual.is_complex() else torch.float64
    usual, new = usual.to(wide), new.to(wide)
    finite = torch.isfinite(usual)
    if not torch.equal(finite, torch.isfinite(new)):
        return float("inf")
    rest, other = usual[~finite], new[~finite]
    if not torch.equal(torch.isnan(rest), torch.isnan(other)) or not torch.equal(rest.nan_to_num(), other.nan_to_num()):
        return float("inf")
    usual, new = usual[finite], new[finite]
    if not usual.numel():
        return 0.0
    apart = float((usual - new).abs().max())
    largest = float(usual.abs().max())
    return apart / largest if largest else (0.0 if apart < torch.finfo(torch.float32).tiny else float("inf"))


def moved_apart(before: torch.Tensor | None, usual: torch.Tensor, new: torch.Tensor) -> float:
    """How far a tensor is from another one: relative to its largest element, or to how far it moved from `before`.

    A variable moves little in a step, and of that step keeps only the digits that its own magnitude leaves: this loss
    is not counted.
    """
    apart = distance(usual, new)
    if before is None or not apart or math.isinf(apart) or not usual.is_floating_point():
        return apart
    wide = [value.double() for value in (before, usual, new)]
    finite = torch.isfinite(wide[0]) & torch.isfinite(wide[1])
    old, one, other = (value[finite] for value in wide)
    lost = 4 * torch.finfo(usual.dtype).eps * float(one.abs().max())
    rest, moved = float((one - other).abs().max()) - lost, float((one - old).abs().max())
    return 0.0 if rest <= 0 else rest / moved if moved else float("inf")


def _laid_out(value: torch.Tensor, strides: tuple[int, ...]) -> torch.Tensor:
    """The same elements with the strides that kernels give them, for which what follows is compiled."""
    if 0 in strides:  # elements that are one in memory
        return value
    return torch.empty_strided(value.shape, strides, dtype=value.dtype, device=value.device).copy_(value)


def _held(value: Any) -> Any:
    """A value itself, or the value in the cell of a variable."""
    return value.read() if type(value) is Cell else value


def _memory(value: Any) -> int:
    return storage_key(value.untyped_storage())


def _not_own(
    made: Sequence[torch.Tensor],
    given: Iterable[Any],
    usual: Sequence[torch.Tensor],
    usually_given: Iterable[Any],
) -> list[int]:
    """The places of the compiled results that share memory with an input, or with another result.

    Those whose uncompiled counterparts share memory as well, such as views, are excluded.
    """
    taken = {_memory(value) for value in given if isinstance(value, torch.Tensor)}
    theirs = {_memory(value) for value in usually_given if isinstance(value, torch.Tensor)}
    owned = [_memory(value) for value in usual]
    before: set[int] = set()
    found: list[int] = []
    for place, value in enumerate(made):
        memory = _memory(value)
        is_given = memory in taken and owned[place] not in theirs
        if is_given or (memory in before and owned.count(owned[place]) == 1):
            found.append(place)
        before.add(memory)
    return found
