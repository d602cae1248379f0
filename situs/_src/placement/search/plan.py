"""A placement with what it rests on. (In work: the fields stand.)"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from situs._src.placement.search.problem import Objective


@dataclass(frozen=True)
class Forecast:
    """What a placement will take, as the simulator says.

    Attributes:
        value: The objective: seconds of a step, of one sample, or of the busiest device.
        busy: Seconds of computation, by device.
        traffic: Bytes that arrive, by (source, target) of devices.
        peak: Bytes at the fullest moment, by device.
    """

    value: float
    busy: Mapping[str, float]
    traffic: Mapping[tuple[str, str], float]
    peak: Mapping[str, float]


@dataclass(frozen=True)
class Plan:
    """Where each node goes, and why that is believed to be good.

    Attributes:
        placement: Devices by names of nodes.
        objective: What was made small.
        forecast: What the placement will take.
        single: What the best single device that fits would take, and which: (name, value); None if none fits.
        tried: What each starting point was worth, by name; None for one that fits nowhere.
        bound: No placement is better than this; 0 if nothing is known.
        rests_on: What the costs rest on, in words.
        notes: What else is to be known, such as a search that the clock has cut.
    """

    placement: Mapping[str, str]
    objective: Objective
    forecast: Forecast
    single: tuple[str, float] | None
    tried: Mapping[str, float | None]
    bound: float
    rests_on: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
