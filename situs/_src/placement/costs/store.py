"""The cost store: times of operations by kind of device, and of copies by pair of devices.

    store.note(kind, key, work, seconds)       adds a measurement; the last `SAMPLES` are kept
    store.median(kind, key)                    the time of equal operations
    store.family(kind, key.family)             the times of its family, for interpolation
    store.save()                               merged with the file, which is replaced atomically

The file is JSON in the user's cache folder, so it can be inspected, edited, deleted, and shared: nothing in it is
executed, and entries of other kinds of devices do no harm. A file that cannot be read, has another version, or contains
something other than numbers where numbers are expected is ignored, with one warning, and replaced by the next `save`.

    {"format": "situs costs", "version": 1,
     "kinds": {KIND: {FAMILY: {SIZES: {"seconds": [...], "ordering": [...], "steps": n, "bytes": n, "at": unix time}}}},
     "links": {"CPU ... CPU:0 -> GPU ... GPU:1": {"latency": s, "per_byte": s, "at": unix time}},
     "paces": {KIND: {"per_call": s, "share": x, "at": unix time}}}

A *pace* relates the time of calls within a running step to their time when each is timed by itself: then the GPU is
synchronized after each call, and inputs are kept alive a little longer. The host's launch time (`Measured.ordering`)
has a pace of its own, under `ordering_of(kind)`.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from situs._src.base import locks, settings
from situs._src.base.errors import ArgumentError
from situs._src.placement.costs.key import Key
from situs._src.placement.costs.work import Work

FORMAT = "situs costs"
VERSION = 1
SAMPLES = 3  # of one key: the last ones, each of which is a mean over the operations of a step
LARGEST_FILE = 2**26  # bytes
LONGEST_NAME = 1000  # characters
LARGEST = 1e18  # seconds, bytes or steps that a file may name
LAST_MOMENT = 2.5e11  # in unix time, which dates can show
MOST = 200_000  # keys in one file


@dataclass
class Measured:
    """The measurements of an operation on one kind of device.

    Attributes:
        work: What it has to do.
        seconds: The last times, oldest first.
        at: When the last of them was taken, in seconds since 1970.
        ordering: The host's launch time each time; zeros for the host itself.
    """

    work: Work
    seconds: list[float] = field(default_factory=list)
    at: float = 0.0
    ordering: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """The median time."""
        return median(self.seconds)


@dataclass(frozen=True)
class MeasuredLink:
    """The measurements of copies from one device to another: a latency, and a time per byte."""

    latency: float
    per_byte: float
    at: float = 0.0


LEAST = 0.1  # the minimum time in a step, relative to a call by itself


@dataclass(frozen=True)
class Pace:
    """The time of calls within a step, relative to each by itself.

    Attributes:
        per_call: Seconds to subtract per call: launching and synchronizing.
        share: The factor for the rest; more than 1 if calls take longer within a step.
        at: When it was measured.
    """

    per_call: float = 0.0
    share: float = 1.0
    at: float = 0.0

    def of(self, seconds: float) -> float:
        """The time within a step of a call that takes this long by itself."""
        return max(LEAST * seconds, seconds - self.per_call) * self.share


class CostStore:
    """Measurements, in memory and in a file. Thread-safe.

    Args:
        path: The file; None for a store that is in memory only.
        clock: Returns the time in seconds since 1970.
    """

    def __init__(self, path: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._clock = clock
        self._lock = locks.rlock()
        self._kinds: dict[str, dict[str, dict[str, Measured]]] = {}
        self._links: dict[str, MeasuredLink] = {}
        self._paces: dict[str, Pace] = {}
        self.version = 0  # counts the additions
        if path is not None:
            self._read(path)

    # What is known.

    def __len__(self) -> int:
        return sum(len(sizes) for families in self._kinds.values() for sizes in families.values())

    def measured(self, kind: str, key: Key) -> Measured | None:
        """The measurements for a key on a kind of device."""
        return self._kinds.get(kind, {}).get(key.family, {}).get(key.sizes)

    def family(self, kind: str, family: str) -> list[Measured]:
        """The measurements of a family on a kind of device, least work first."""
        with self._lock:
            found = list(self._kinds.get(kind, {}).get(family, {}).values())
        return sorted(found, key=lambda each: (each.work.steps, each.work.bytes))

    def link(self, name: str) -> MeasuredLink | None:
        """The measurements of copies over a link."""
        return self._links.get(name)

    def pace(self, kind: str) -> Pace:
        """The pace of calls on a kind of device; the neutral one if unknown."""
        return self._paces.get(kind, Pace())

    def items(self) -> Iterator[tuple[str, Key, Measured]]:
        """All measurements of operations: kind, key, times."""
        with self._lock:
            every = [
                (kind, Key(family, sizes), found)
                for kind, families in self._kinds.items()
                for family, members in families.items()
                for sizes, found in members.items()
            ]
        return iter(every)

    def links(self) -> dict[str, MeasuredLink]:
        """All measurements of copies."""
        with self._lock:
            return dict(self._links)

    def paces(self) -> dict[str, Pace]:
        """All paces."""
        with self._lock:
            return dict(self._paces)

    # What is added.

    def note(self, kind: str, key: Key, work: Work, seconds: float, ordering: float = 0.0) -> None:
        """Adds one measurement of an operation: on its device, and the host's launch time."""
        for each in (seconds, ordering):
            if not (math.isfinite(each) and each >= 0):
                raise ArgumentError(f"A time is a number of seconds of at least 0, got {each!r}.")
        with self._lock:
            family = self._kinds.setdefault(kind, {}).setdefault(key.family, {})
            found = family.setdefault(key.sizes, Measured(work))
            found.seconds = [*found.seconds[-(SAMPLES - 1) :], seconds]
            found.ordering = [*found.ordering[-(SAMPLES - 1) :], ordering]
            found.work, found.at = work, self._clock()
            self.version += 1

    def note_link(self, name: str, latency: float, per_byte: float) -> None:
        """Sets the cost of copies over a link."""
        with self._lock:
            self._links[name] = MeasuredLink(latency, per_byte, self._clock())
            self.version += 1

    def note_pace(self, kind: str, per_call: float, share: float) -> None:
        """Sets the pace of calls on a kind of device."""
        with self._lock:
            self._paces[kind] = Pace(per_call, share, self._clock())
            self.version += 1

    # The file.

    def save(self) -> None:
        """Writes everything to the file, merged with what others have written to it meanwhile.

        Raises:
            ArgumentError: the store has no file.
            OSError: it cannot be written.
        """
        if self.path is None:
            raise ArgumentError("This store of costs is in memory only: it has no file to be saved to.")
        with self._lock:
            self._read(self.path, quiet=True)
            text = json.dumps(self._as_dict(), indent=1, sort_keys=True)
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=self.path.parent, prefix=f"{self.path.stem}-", suffix=".draft")
        try:
            with os.fdopen(handle, "w", encoding="utf8") as file:
                file.write(text)
            Path(draft).replace(self.path)
        except OSError:
            with suppress(OSError):
                Path(draft).unlink()
            raise

    def save_if_possible(self) -> None:
        """Writes everything to the file; if that fails, warns once and continues."""
        try:
            self.save()
        except OSError as error:
            _warn(Path(str(self.path)), error, "cannot be written")

    def _as_dict(self) -> dict[str, object]:
        kinds = {
            kind: {
                family: {
                    sizes: {
                        "seconds": m.seconds,
                        "ordering": m.ordering,
                        "steps": m.work.steps,
                        "bytes": m.work.bytes,
                        "at": m.at,
                    }
                    for sizes, m in members.items()
                }
                for family, members in families.items()
            }
            for kind, families in self._kinds.items()
        }
        links = {name: {"latency": x.latency, "per_byte": x.per_byte, "at": x.at} for name, x in self._links.items()}
        paces = {kind: {"per_call": x.per_call, "share": x.share, "at": x.at} for kind, x in self._paces.items()}
        return {"format": FORMAT, "version": VERSION, "kinds": kinds, "links": links, "paces": paces}

    def _read(self, path: Path, quiet: bool = False) -> None:
        """Reads entries from the file that are newer than those in memory."""
        try:
            if not path.exists():
                return
            if path.stat().st_size > LARGEST_FILE:
                raise ValueError(f"it is larger than {LARGEST_FILE >> 20} MiB")
            kinds, links, paces = _checked(json.loads(path.read_text(encoding="utf8")))
        except (OSError, ValueError, RecursionError) as error:
            if not quiet:
                _warn(path, error)
            return
        for kind, key, found in kinds:
            known = self.measured(kind, key)
            if known is None or known.at < found.at:
                self._kinds.setdefault(kind, {}).setdefault(key.family, {})[key.sizes] = found
        for name, link in links:
            if name not in self._links or self._links[name].at < link.at:
                self._links[name] = link
        for kind, pace in paces:
            if self.pace(kind).at < pace.at:
                self._paces[kind] = pace


def ordering_of(kind: str) -> str:
    """The key for the pace of launches of a kind of GPU."""
    return f"{kind}, ordering"


_warned: set[Path] = set()


def _warn(path: Path, error: Exception, what: str = "are left out") -> None:
    """Warns once per file about what cannot be done with it."""
    if path not in _warned:
        _warned.add(path)
        hint = "`situs profile` measures again; SITUS_COSTS names another file."
        warnings.warn(f"The measured costs in {path} {what}: {error}. {hint}", RuntimeWarning, stacklevel=3)


def store_path() -> Path:
    """The file of this user: ``SITUS_COSTS``, or ``situs/costs.json`` in the cache folder."""
    given = settings.costs_file()
    return Path(given) if given else Path(settings.cache_folder()) / "situs" / "costs.json"


_shared: dict[Path, CostStore] = {}
_sharing = locks.lock()


def shared_store() -> CostStore:
    """The store of this process, with the user's file; a new one if that is another file by now."""
    path = store_path()
    with _sharing:
        if path not in _shared:
            _shared[path] = CostStore(path)
        return _shared[path]


# Reading untrusted files.

Entries = tuple[list[tuple[str, Key, Measured]], list[tuple[str, MeasuredLink]], list[tuple[str, Pace]]]


def _checked(data: object) -> Entries:
    """The entries of a file.

    Raises:
        ValueError: it is not a valid store.
    """
    top = _mapping(data, "the file")
    if top.get("format") != FORMAT:
        raise ValueError("it is not a store of costs")
    if top.get("version") != VERSION:
        raise ValueError(f"it is of version {str(top.get('version'))[:20]}, and this is version {VERSION}")
    kinds: list[tuple[str, Key, Measured]] = []
    for kind, families in _mapping(top.get("kinds", {}), "kinds").items():
        for family, members in _mapping(families, "a kind").items():
            for sizes, entry in _mapping(members, "a family").items():
                kinds.append((kind, Key(family, sizes), _measured(_mapping(entry, "a measurement"))))
                if len(kinds) > MOST:
                    raise ValueError(f"it has more than {MOST} measurements")
    links = []
    for name, entry in _mapping(top.get("links", {}), "links").items():
        link = _mapping(entry, "a link")
        links.append((name, MeasuredLink(*(_number(link.get(each), each) for each in ("latency", "per_byte", "at")))))
    paces = []
    for kind, entry in _mapping(top.get("paces", {}), "paces").items():
        pace = _mapping(entry, "a pace")
        paces.append((kind, Pace(*(_number(pace.get(each), each) for each in ("per_call", "share", "at")))))
    return kinds, links, paces


def _measured(entry: Mapping[str, object]) -> Measured:
    seconds = entry.get("seconds")
    if not isinstance(seconds, list) or not seconds:
        raise ValueError("the seconds of a measurement are a list of numbers")
    times = [_number(each, "seconds") for each in seconds[-SAMPLES:]]
    work = Work(_number(entry.get("steps"), "steps"), _number(entry.get("bytes"), "bytes"))
    ordering = entry.get("ordering", [])
    if not isinstance(ordering, list):
        raise ValueError("the times of ordering of a measurement are a list of numbers")
    ordered = [_number(each, "ordering") for each in ordering[-SAMPLES:]]
    return Measured(work, times, _number(entry.get("at"), "at"), ordered)


def _mapping(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, dict) or any(len(name) > LONGEST_NAME for name in value):
        raise ValueError(f"{what} should be a JSON object with names of at most {LONGEST_NAME} letters")
    return value


def _number(value: object, what: str) -> float:
    most = LAST_MOMENT if what == "at" else LARGEST
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
        raise ValueError(f"{what} should be a number of at least 0 and at most {most:g}")
    return float(value)
