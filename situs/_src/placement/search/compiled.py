"""Bindings to ``fast.c``, if there is a C compiler: compiled at first use, and cached (`base.compile_c`).

Without a compiler, or with ``SITUS_NO_COMPILER=1``, `library` returns None, and `pure.py` does the same more slowly.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

import numpy as np

from situs._src.base import compile_c
from situs._src.placement.search.flat import Flat, Ints
from situs._src.placement.search.problem import Objective
from situs._src.placement.search.schedule import CODES, Found, Schedule

SOURCE = Path(__file__).with_name("fast.c")


class _CSchedule(ctypes.Structure):
    _fields_ = (
        ("moves", ctypes.c_int64),
        ("warm", ctypes.c_double),
        ("cold", ctypes.c_double),
        ("soft", ctypes.c_double),
        ("hard", ctypes.c_double),
        ("seed", ctypes.c_uint64),
        ("objective", ctypes.c_int32),
        ("doublings", ctypes.c_int32),
    )


class _CFound(ctypes.Structure):
    _fields_ = (("value", ctypes.c_double), ("excess", ctypes.c_double), ("tried", ctypes.c_int64))


class _CFlat(ctypes.Structure):
    _fields_ = tuple((field.name, ctypes.c_int32 if field.type == "int" else ctypes.c_void_p) for field in fields(Flat))


class Library:
    """The functions of ``fast.c``. They release the GIL."""

    def __init__(self, functions: ctypes.CDLL) -> None:
        self._functions = functions

    def anneal(self, flat: Flat, schedule: Schedule, place: Ints, stop: Ints) -> Found:
        """As `pure.anneal`."""
        table, found = _as_struct(flat), _CFound()
        asked = _CSchedule(
            schedule.moves,
            schedule.warm,
            schedule.cold,
            schedule.soft,
            schedule.hard,
            schedule.seed,
            CODES[schedule.objective],
            schedule.doublings,
        )
        done = self._functions.situs_anneal(
            ctypes.byref(table), ctypes.byref(asked), _address(place), _address(stop), ctypes.byref(found)
        )
        return _found(done, found)

    def evaluate(self, flat: Flat, objective: Objective, place: Ints) -> Found:
        """As `pure.evaluate`."""
        table, found = _as_struct(flat), _CFound()
        done = self._functions.situs_evaluate(
            ctypes.byref(table), CODES[objective], _address(place), ctypes.byref(found)
        )
        return _found(done, found)

    def every(self, flat: Flat, objective: Objective) -> tuple[list[int], Found]:
        """As `pure.every`."""
        table, found, place = _as_struct(flat), _CFound(), np.empty(flat.blocks, np.int32)
        done = self._functions.situs_every(ctypes.byref(table), CODES[objective], _address(place), ctypes.byref(found))
        return place.tolist(), Found(*_found(done, found).rank[::-1], 1)

    def list_schedule(self, flat: Flat, rank: Sequence[float], width: int) -> list[int]:
        """As `lists.list_schedule`."""
        table, ranks, place = _as_struct(flat), np.array(rank, np.float64), np.empty(flat.blocks, np.int32)
        if not self._functions.situs_list(
            ctypes.byref(table), ctypes.c_void_p(ranks.ctypes.data), width, _address(place)
        ):
            raise MemoryError("There is no memory left for the search.")
        found: list[int] = place.tolist()
        return found


def library() -> Library | None:
    """The compiled functions; None if they are not available."""
    found = compile_c.library("placement", SOURCE.read_text(encoding="utf-8"))
    return None if found is None else Library(found)


def _as_struct(flat: Flat) -> _CFlat:
    values = ((field.name, getattr(flat, field.name)) for field in fields(flat))
    return _CFlat(**{name: value.ctypes.data if isinstance(value, np.ndarray) else value for name, value in values})


def _address(array: Ints) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _found(done: int, found: _CFound) -> Found:
    if not done:
        raise MemoryError("There is no memory left for the search.")
    return Found(found.value, found.excess, found.tried)
