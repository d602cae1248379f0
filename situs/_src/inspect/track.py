"""A track: the allocations and frees on one device, as arrays, and what follows from them.

    sizes    +4  +8  -4  +2        bytes allocated (positive) or freed (negative)
    totals    4  12   8  10        bytes in use after each event
                  ^ the peak

A million events are a few arrays here, and every answer is a few operations on them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from situs._src.base.budget.ledger import Event
from situs._src.inspect.holders import Holder, Maker, joined, maker

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Track:
    """The events of one device, oldest first."""

    name: str
    limit: int
    times: Integers  # nanoseconds, never falling
    sizes: Integers
    makers: Integers  # each a place in `known`
    known: tuple[Maker, ...]

    @cached_property
    def totals(self) -> Integers:
        """What was held after each event."""
        return np.cumsum(self.sizes)

    @cached_property
    def peak_at(self) -> int | None:
        """The event after which most was held, the first of them; None if there was none."""
        return int(np.argmax(self.totals)) if len(self.sizes) else None

    @property
    def peak(self) -> int:
        """What was held at most."""
        return 0 if self.peak_at is None else int(self.totals[self.peak_at])

    def holders(self, event: int | None) -> tuple[Holder, ...]:
        """What was held after an event, by op and line, largest first."""
        if event is None:
            return ()
        makers, sizes = self.makers[: event + 1], self.sizes[: event + 1]
        held = _sum_by(makers, sizes, len(self.known))
        counts = _sum_by(makers, np.sign(sizes), len(self.known))
        return joined((self.known[i], int(counts[i]), int(held[i])) for i in np.flatnonzero(held))

    def since(self, event: int, time: int) -> Track:
        """The track from an event on: what was held before it came at `time`."""
        if event == 0:
            return self
        blocks = np.stack([self.makers[:event], np.abs(self.sizes[:event])])
        kinds, which = np.unique(blocks, axis=1, return_inverse=True)
        counts = _sum_by(which.reshape(-1), np.sign(self.sizes[:event]), kinds.shape[1])
        makers, sizes = np.repeat(kinds, np.maximum(counts, 0), axis=1)
        times = np.maximum(np.concatenate([np.full(len(sizes), time), self.times[event:]]), time)
        return Track(
            self.name,
            self.limit,
            times,
            np.concatenate([sizes, self.sizes[event:]]),
            np.concatenate([makers, self.makers[event:]]),
            self.known,
        )


def _sum_by(groups: Integers, values: Integers, count: int) -> Integers:
    """The sum of the values of each group; exact, because what is held stays far below 2**53 bytes."""
    return np.bincount(groups, weights=values, minlength=count).astype(np.int64)


def track(name: str, limit: int, events: Iterable[Event]) -> Track:
    """The track of a device's events."""
    known: dict[Maker, int] = {}
    times, sizes, makers = [], [], []
    for event in events:
        times.append(event.time)
        sizes.append(event.size)
        makers.append(known.setdefault(maker(event.op, event.made_at), len(known)))
    rising = np.maximum.accumulate(np.array(times, np.int64))  # the system's clock may be set back
    return Track(name, limit, rising, np.array(sizes, np.int64), np.array(makers, np.int64), tuple(known))


# What a picture shows of a track.

OPS_SHOWN = 10


class Layer(NamedTuple):
    """What one op held at some moments, in bytes, and at the peak."""

    op: str
    values: Integers
    at_peak: int


def layers(track: Track, moments: Integers) -> list[Layer]:
    """What each of the largest ops held after some events, most at the peak first; then all the others."""
    ops = list(dict.fromkeys(made[0] for made in track.known))
    numbers = {op: number for number, op in enumerate(ops)}
    of_event = np.array([numbers[made[0]] for made in track.known], np.int64)[track.makers]
    count = len(ops)
    end = 0 if track.peak_at is None else track.peak_at + 1
    at_peak = _sum_by(of_event[:end], track.sizes[:end], count)
    largest = _largest(track, of_event, at_peak)
    shown = largest[:OPS_SHOWN]
    found = [Layer(ops[n], np.cumsum(np.where(of_event == n, track.sizes, 0))[moments], int(at_peak[n])) for n in shown]
    if len(shown) < len(largest):
        rest = track.totals[moments] - np.sum([layer.values for layer in found], axis=0)
        found.append(Layer("other", rest, track.peak - sum(layer.at_peak for layer in found)))
    return found


def _largest(track: Track, of_event: Integers, at_peak: Integers) -> list[int]:
    """The ops that have events: first those that held most at the peak, then those that ever held most."""
    order = np.argsort(of_event, kind="stable")
    starts = np.flatnonzero(np.diff(of_event[order], prepend=-1))
    sums = np.cumsum(track.sizes[order])
    most = np.maximum.reduceat(sums, starts) - (sums[starts] - track.sizes[order][starts])
    ever = dict(zip(of_event[order][starts].tolist(), most.tolist(), strict=True))
    return sorted(ever, key=lambda number: (-at_peak[number], -ever[number], number))


def moments(track: Track, at_most: int) -> Integers:
    """Events that tell the story of a track in few points: of each stretch of time the fullest and the last.

    The peak is among them, because it is the fullest of its stretch.
    """
    if not len(track.sizes):
        return np.zeros(0, np.int64)
    starts = np.flatnonzero(np.diff(_stretches(track.times, at_most // 2), prepend=-1))
    lengths = np.diff(starts, append=len(track.sizes))
    fullest = np.repeat(np.maximum.reduceat(track.totals, starts), lengths)
    full = np.flatnonzero(track.totals == fullest)
    first_full = full[np.searchsorted(full, starts)]
    return np.unique(np.concatenate([first_full, starts + lengths - 1]))


def _stretches(times: Integers, count: int) -> Integers:
    """The stretch of time, from 0 on, that each event belongs to; at most `count` of them."""
    since = times - times[0]
    changes = np.cumsum(np.diff(since, prepend=0) > 0, dtype=np.int64)
    stretches: Integers = changes if changes[-1] < count else since * count // (since[-1] + 1)
    return stretches
