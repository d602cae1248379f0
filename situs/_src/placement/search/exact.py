"""A proof, or better: the largest load as an integer program, if OR-Tools is installed (``pip install situs[exact]``).

    x[block, device]         the block is there: one device for each block
    in[bundle, device]       >= x[taker, device] - x[maker, device]
    out[bundle, device]      >= x[maker, device] - x[taker, device]
    load[device]             time of blocks + price of in + price of out <= T; sizes <= limit;  minimize T

Equal devices are numbered by their first use by the larger blocks, which breaks the symmetry. Prices are integer
multiples of `GRAIN` of the value, rounded down: what is proven holds for the real prices. The solver is limited by its
own deterministic work counter, so that it ends at the same point each time, and by the clock. Bounds for ``step`` and
``latency`` are the longest path, which the solver does not improve.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from situs._src.placement.search.flat import Flat, rows_of
from situs._src.placement.search.problem import Objective
from situs._src.placement.search.schedule import Found

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

MOST = 3000  # blocks times devices
GRAIN = 1e-6  # of the value
WORKERS = 2
WORK = 0.08  # of the solver's own seconds per second of the budget


@dataclass(frozen=True)
class Proof:
    """The solver's result.

    Attributes:
        place: The best placement of blocks that it knows.
        bound: A lower bound of all placements.
        note: The same in words.
        was_cut: Whether the clock stopped it.
    """

    place: tuple[int, ...]
    bound: float
    note: str
    was_cut: bool = False


def is_there() -> bool:
    """Whether OR-Tools can be imported."""
    return importlib.util.find_spec("ortools") is not None


def applies(flat: Flat, objective: Objective) -> bool:
    """Whether there is an exact finish for a problem."""
    return objective == "max_load" and 0 < flat.blocks * flat.devices <= MOST and is_there()


def finish(flat: Flat, place: Sequence[int], found: Found, budget: float, seconds: float) -> Proof:
    """Improves a placement that fits, or proves how good it is.

    Args:
        flat: The problem.
        place: A placement of blocks.
        found: Its value.
        budget: The budget of the whole search, which limits the solver's work counter.
        seconds: The time limit.
    """
    try:
        from ortools.sat.python import cp_model  # here, because it takes a while to load
    except ImportError as error:  # it is there, and something that it needs is not
        return Proof(tuple(place), 0.0, f"exact: OR-Tools cannot be loaded: {error}")
    if found.excess > 0 or found.value <= 0:
        return Proof(tuple(place), 0.0, "exact: nothing to prove")
    model = cp_model.CpModel()
    program = _Program(flat, model, found.value * GRAIN)
    program.hint(place, found.value)
    model.minimize(program.most)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = WORKERS
    solver.parameters.interleave_search = True
    solver.parameters.random_seed = 1
    solver.parameters.catch_sigint_signal = False  # it would replace Python's handler
    solver.parameters.max_deterministic_time = WORK * budget
    solver.parameters.max_time_in_seconds = seconds
    status = solver.solve(model)
    bound = solver.best_objective_bound * found.value * GRAIN * (1 - 1e-12)
    answer = tuple(place)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        answer = tuple(next(d for d, x in row.items() if solver.boolean_value(x)) for row in program.on)
    proven = "proven best" if status == cp_model.OPTIMAL else "not proven"
    was_cut = status != cp_model.OPTIMAL and solver.wall_time >= seconds
    return Proof(answer, max(0.0, bound), f"exact: bound {bound:.6g}, {proven}, by OR-Tools", was_cut)


class _Program:
    """The variables and constraints of the integer program."""

    def __init__(self, flat: Flat, model: cp_model.CpModel, grain: float) -> None:
        self.flat = flat
        self.model = model
        self.grain = grain
        self.candidates = rows_of(flat.candidate_start, flat.candidate)
        self.takers: list[list[int]] = [[] for _ in range(flat.bundles)]
        for b, taken in enumerate(rows_of(flat.takes_start, flat.takes)):
            for g in taken:
                self.takers[g].append(b)
        self.on = [{d: model.new_bool_var(f"x{b},{d}") for d in row} for b, row in enumerate(self.candidates)]
        self.most = model.new_int_var(0, 2 * int(1 / GRAIN), "T")
        for row in self.on:
            model.add_exactly_one(row.values())
        for d in range(flat.devices):
            self._device(d)
        self._number_alike()

    def _device(self, d: int) -> None:
        """The load of a device, and its memory use."""
        flat, model = self.flat, self.model
        terms = [(row[d], int(flat.block_time[b, d] / self.grain)) for b, row in enumerate(self.on) if d in row]
        for g in range(flat.bundles):
            home = self.on[int(flat.bundle_home[g])].get(d)
            takers = [self.on[b].get(d) for b in self.takers[g]]
            for price, is_in in ((flat.bundle_in[g, d], True), (flat.bundle_out[g, d], False)):
                cost = int(price / self.grain)
                if not cost or (not is_in and home is None):
                    continue
                paid = model.new_bool_var(f"{'in' if is_in else 'out'}{g},{d}")
                for taker in takers:
                    if is_in and taker is not None:
                        model.add_bool_or([paid, ~taker] if home is None else [paid, ~taker, home])
                    elif not is_in and home is not None:
                        model.add_bool_or([paid, ~home] if taker is None else [paid, ~home, taker])
                terms.append((paid, cost))
        model.add(sum(x * cost for x, cost in terms) <= self.most)
        limit = float(flat.limit[d])
        if limit < float(flat.block_size.sum()):
            # Sizes are rounded up and the limit down, so that what is found fits.
            unit = max(1.0, limit / 1e9)
            held = sum(row[d] * -int(-flat.block_size[b] // unit) for b, row in enumerate(self.on) if d in row)
            model.add(held <= int(limit // unit))

    def _number_alike(self) -> None:
        """Among equal devices, a block uses a new one only if a larger block uses the one before."""
        flat = self.flat
        kinds: dict[tuple[bytes, ...], list[int]] = {}
        for d in range(flat.devices):
            columns = flat.block_time[:, d], flat.bundle_in[:, d], flat.bundle_out[:, d], flat.limit[d : d + 1]
            kinds.setdefault(tuple(column.tobytes() for column in columns), []).append(d)
        order = sorted(range(flat.blocks), key=lambda b: (-float(flat.block_time[b].min()), b))
        self.alike = [devices for devices in kinds.values() if len(devices) > 1]
        self.order = order
        for devices in self.alike:
            if any(d not in row for row in self.on for d in devices if set(row) & set(devices)):
                continue
            for i, b in enumerate(order):
                for before, d in pairwise(devices):
                    if d in self.on[b]:
                        earlier = [self.on[c][before] for c in order[:i] if before in self.on[c]]
                        self.model.add_bool_or([*earlier, ~self.on[b][d]])

    def hint(self, place: Sequence[int], value: float) -> None:
        """Starts from a placement, its devices renumbered as in the program."""
        rename = {d: d for d in range(self.flat.devices)}
        for devices in self.alike:
            used = list(dict.fromkeys(place[b] for b in self.order if place[b] in devices))
            used += [d for d in devices if d not in used]
            rename |= dict(zip(used, devices, strict=True))
        for b, row in enumerate(self.on):
            for d, x in row.items():
                self.model.add_hint(x, rename[place[b]] == d)
        self.model.add_hint(self.most, int(value / self.grain) + 1)
