"""The processes of a distributed program: rendezvous, collectives, and detecting lost workers.

    chief       TCPStore  <----- heartbeat of every worker, ten times a second: what it is doing, or that it left
                   |      -----> those of all others, read by a thread of every worker (`Watch`)
    workers     gloo / NCCL      all-reduce, broadcast from the chief, gather: in the same order everywhere

PyTorch does the communication (`torch.distributed`). This module adds a deadline to every wait, and errors that
name the workers concerned:

    a worker that           is detected                                                 error
    did not start           after SITUS_WORKERS_START seconds                           DeadlineExceededError
    was killed              its connections break: within a second                      UnavailableError
    hangs                   no heartbeat for SITUS_WORKERS_SILENT seconds,              UnavailableError
                            or the store that it hosts is as long silent
    left, and is needed     at once; not an error if nothing needs it                   UnavailableError
    does not join           SITUS_WORKERS_WAIT or the options' seconds in one call      DeadlineExceededError

Invariants:
    - A collective waits in short slices and checks the watch in between. So a collective that cannot complete is
      abandoned, and a keyboard interrupt is handled.
    - After a failed collective the group is marked as broken: a partial sum is never used.
    - PyTorch's process group that waits for a lost worker is kept until exit: destroying it would wait too.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import PrefixStore, Store, TCPStore  # type: ignore[attr-defined]  # they are there

from situs._src.base import locks, settings
from situs._src.base.errors import (
    AlreadyExistsError,
    ArgumentError,
    DeadlineExceededError,
    StateError,
    UnavailableError,
    UnimplementedError,
)
from situs._src.distribute.communication import PACK_BYTES, CommunicationImplementation, CommunicationOptions
from situs._src.runtime.eager.torch_private import gloo_group, nccl_group

BEAT_SECONDS = 0.1
SUSPECT_SECONDS = 0.5  # without a heartbeat after a connection has broken: five of them
_SLICE = timedelta(seconds=0.1)
_SUMMED = {
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.int8,
    torch.uint8,
    torch.int32,
    torch.int64,
}


@dataclass(frozen=True)
class Member:
    """A worker: its job and number, and the address that it is known by."""

    job: str
    number: int
    address: str

    def __str__(self) -> str:
        return f"/job:{self.job}/task:{self.number} ({self.address})"


@dataclass
class _Sign:
    """What is known about another worker: its last heartbeat, and when that came."""

    beat: int = -1
    calls: int = 0
    state: str = ""  # "", "left", or the error that ended its program
    seen: float = field(default_factory=time.monotonic)


class Watch(threading.Thread):
    """Sends this worker's heartbeats, and reads those of the others.

    Args:
        store: The store; used by this thread alone.
        members: All workers.
        rank: Which of them this is.
        hosts_store: Whether the first worker hosts the store, rather than a launcher.
    """

    def __init__(self, store: Store, members: Sequence[Member], rank: int, hosts_store: bool) -> None:
        super().__init__(name="situs workers", daemon=True)
        self._store, self._members, self._rank, self._hosts_store = store, members, rank, hosts_store
        self._others = [number for number in range(len(members)) if number != rank]
        self.signs = {number: _Sign() for number in self._others}
        self.gone: dict[int, str] = {}  # which, and how it was noticed
        self.calls = 0  # that this worker has begun
        self.state = ""
        self._suspects = self._has_suspected = False
        self._silent = settings.workers_silent()
        self._answers = 0  # of the store: how often it has been read
        self._looked = 0, 0.0, 0.0  # by `look`: at how many of them, when, and how long there were no more
        self._beats = 0
        self._changed = locks.event()
        self._ended = locks.event()

    def begin(self) -> None:
        """Sends the first heartbeat, so that the others find one, and continues in a thread, if there are others."""
        self._send()
        if self._others:
            self.start()

    def suspect(self) -> None:
        """A connection has broken: from now on, everywhere, a short silence counts as dead."""
        self._suspects = True
        self._changed.set()

    def end(self) -> None:
        """Stops sending."""
        self._ended.set()
        self._changed.set()
        if self.ident is not None:
            self.join(2.0)

    def run(self) -> None:
        """Sends and reads until it is stopped, or until the store is gone."""
        keys = [f"sign/{number}" for number in self._others]
        last = time.monotonic()
        try:
            self._store.wait(keys, timedelta(seconds=settings.workers_start()))
            while not self._ended.is_set():
                now = time.monotonic()
                if now - last > 1.0:  # this process itself was suspended: the others' silence means nothing
                    for sign in self.signs.values():
                        sign.seen = now
                last = now
                self._send()
                self._read(self._store.multi_get(keys), now)
                self._answers += 1
                self._changed.wait(BEAT_SECONDS)
                self._changed.clear()
        except RuntimeError as error:  # of the store: PyTorch has no narrower one for all of its versions
            if not self._ended.is_set():
                self._lost(error)

    def look(self) -> None:
        """Notices a store that is silent, for which this thread waits itself; to be called again and again by others.

        Time in which nobody looks does not count: this process may have been suspended.
        """
        now = time.monotonic()
        answers, before, silence = self._looked
        if not self._answers or answers != self._answers or not self.is_alive():
            self._looked = self._answers, now, 0.0
            return
        silence += min(now - before, SUSPECT_SECONDS)
        self._looked = answers, now, silence
        if silence > self._silent:
            how = f"no sign of life for {silence:.1f} s: it is frozen, or cannot be reached"
            for number in [0] if self._hosts_store and self._rank else self._others:
                self.gone.setdefault(number, f"the store at which the workers meet answers no more, {how}")

    def _send(self) -> None:
        self._beats += 1
        self._store.set(f"sign/{self._rank}", json.dumps([self._beats, self.calls, self.state]))
        if self._suspects and not self._has_suspected:
            self._store.set("suspect", "1")
            self._has_suspected = True

    def _read(self, found: Sequence[bytes], now: float) -> None:
        for number, text in zip(self._others, found, strict=True):
            sign = self.signs[number]
            beat, sign.calls, sign.state = json.loads(text)
            if beat != sign.beat:
                sign.beat, sign.seen = beat, now
        if not self._suspects and self._store.check(["suspect"]):
            self._suspects = self._has_suspected = True
        limit = SUSPECT_SECONDS if self._suspects else self._silent
        for number, sign in self.signs.items():
            if not sign.state and now - sign.seen > limit:
                how = "its connections broke" if self._suspects else "it is frozen, or cannot be reached"
                self.gone.setdefault(number, f"no sign of life for {now - sign.seen:.1f} s: {how}")
            elif sign.state and sign.state != "left":
                self.gone.setdefault(number, sign.state)

    def _lost(self, error: RuntimeError) -> None:
        """Handles a store that does not answer any more."""
        if self._hosts_store and self._rank:
            if not self.signs[0].state:
                self.gone.setdefault(0, "its store, at which the workers meet, answers no more: it was killed")
        else:
            for number in self._others:
                if not self.signs[number].state:
                    self.gone.setdefault(number, f"the store at which the workers meet answers no more: {error}")


Transfer = Callable[[], bool]  # waits a little: whether it has ended


def _by_host(work: Any) -> Transfer:
    def ended() -> bool:
        try:
            work.wait(_SLICE)
        except RuntimeError:
            if work.is_completed():
                raise
            return False
        return True

    return ended


def _by_cards(work: Any) -> Transfer:
    def ended() -> bool:
        limit = time.monotonic() + _SLICE.total_seconds()
        while not work.is_completed():
            if time.monotonic() > limit:
                return False
            time.sleep(2e-5)
        work.wait()  # raises what went wrong
        return True

    return ended


class Workers:
    """The workers of a program, seen from one of them. Created by `join`.

    Args:
        members: All workers; the first one is the chief.
        rank: Which of them this is.
        store: Where they have met.
        watch: Watches them.
        is_local: Whether all of them are on this machine's loopback.
    """

    def __init__(
        self, members: Sequence[Member], rank: int, store: Store, watch: Watch, is_local: bool = False
    ) -> None:
        self.members, self.rank = tuple(members), rank
        self._store, self._watch = store, watch
        self._broken: str | None = None
        self._lock = locks.lock()
        self.bytes_moved = 0  # sent by this worker's calls
        longest = timedelta(seconds=settings.workers_wait() + 3600.0)
        self._gloo = gloo_group(PrefixStore("gloo", store), rank, len(self.members), longest, is_local)
        self._nccl: Any = None
        self._no_nccl = ""  # why it cannot be used, once known

    @property
    def size(self) -> int:
        """How many workers there are."""
        return len(self.members)

    @property
    def is_chief(self) -> bool:
        """Whether this is the first one."""
        return self.rank == 0

    # Collectives.

    def all_reduce(
        self, tensors: Sequence[torch.Tensor], options: CommunicationOptions | None = None
    ) -> list[torch.Tensor]:
        """The sums over workers, tensor by tensor: new ones, on the devices of the inputs.

        Small tensors of one dtype are packed, large ones split, so that one is being sent while the next is copied.

        Args:
            tensors: This worker's tensors; with the same shapes and dtypes everywhere.
            options: How, and how long to wait.
        """
        options = options or CommunicationOptions()
        pack = options.bytes_per_pack or PACK_BYTES
        plain = [_plain(each) for each in tensors]
        found: list[tuple[list[int], torch.Tensor]] = []
        transfers: list[Transfer] = []
        with self._calling() as limit:
            for members in packs(plain, pack):
                given = [plain[number].reshape(-1) for number in members]
                by_cards = given[0].is_cuda and self._uses_cards(options)
                place = given[0].device if by_cards else torch.device("cpu")
                buffer = torch.empty(sum(map(len, given)), dtype=given[0].dtype, device=place)
                self.bytes_moved += buffer.numel() * buffer.element_size()
                transfers += self._started(given, buffer, pack, by_cards)
                found.append((members, buffer))
            self._wait(transfers, "all_reduce", limit(options))
        results: dict[int, torch.Tensor] = {}
        for members, buffer in found:
            parts = torch.split(buffer, [plain[number].numel() for number in members])
            for number, part in zip(members, parts, strict=True):
                results[number] = _as_given(part.view(plain[number].shape), tensors[number])
        return [results[number] for number in range(len(tensors))]

    def _started(
        self, given: Sequence[torch.Tensor], buffer: torch.Tensor, pack: int, by_cards: bool
    ) -> list[Transfer]:
        """Copies values into a buffer and starts its sums: for a single value part by part, overlapping copies."""
        group, ended = (self._nccl, _by_cards) if by_cards else (self._gloo, _by_host)
        if len(given) > 1:
            buffer.copy_(torch.cat(list(given)))
            return [ended(group.allreduce([buffer], dist.AllreduceOptions()))]
        step = max(pack // buffer.element_size(), 1)
        transfers = []
        for begin in range(0, len(buffer), step):
            part = buffer[begin : begin + step]
            part.copy_(given[0][begin : begin + step])
            transfers.append(ended(group.allreduce([part], dist.AllreduceOptions())))
        return transfers

    def broadcast(self, tensor: torch.Tensor, root: int = 0) -> torch.Tensor:
        """The value of one worker, the chief by default; a new tensor, on the device of the input."""
        given = _carried(tensor).detach().to("cpu", copy=True).contiguous()
        with self._calling() as limit:
            how = dist.BroadcastOptions()
            how.rootRank, how.rootTensor = root, 0
            self.bytes_moved += given.numel() * given.element_size()
            self._wait([_by_host(self._gloo.broadcast([given], how))], "broadcast", limit(None))
        return _as_given(given, tensor, _carried)

    def gather(self, tensor: torch.Tensor, axis: int) -> torch.Tensor:
        """The values of all workers, concatenated along an axis, along which their sizes may differ.

        Raises:
            ValueError: their other sizes differ, or there is no such axis.
        """
        if not -tensor.dim() <= axis < tensor.dim():
            raise ArgumentError(f"There is no axis {axis} to gather along in a value of shape {tuple(tensor.shape)}.")
        axis %= tensor.dim()
        value = _carried(tensor).detach().cpu()
        with self._calling() as limit_of:
            limit = limit_of(None)
            shapes = self._gathered(torch.tensor([*tensor.shape], dtype=torch.int64), limit)
            sizes = [int(shape[axis]) for shape in shapes]
            others = {tuple(torch.cat([shape[:axis], shape[axis + 1 :]]).tolist()) for shape in shapes}
            if len(others) > 1:
                raise ArgumentError(
                    f"Values that are gathered along axis {axis} have the same size along others; workers have "
                    f"{[tuple(shape.tolist()) for shape in shapes]}."
                )
            most = max(sizes)
            padded = value.new_zeros([*value.shape[:axis], most, *value.shape[axis + 1 :]])
            padded.narrow(axis, 0, value.shape[axis]).copy_(value)
            found = self._gathered(padded, limit)
        parts = [part.narrow(axis, 0, size) for part, size in zip(found, sizes, strict=True)]
        return _as_given(torch.cat(parts, axis), tensor, _carried)

    def _gathered(self, value: torch.Tensor, limit: float) -> list[torch.Tensor]:
        found = [torch.empty_like(value) for _ in self.members]
        self.bytes_moved += value.numel() * value.element_size()
        self._wait([_by_host(self._gloo.allgather([found], [value]))], "gather", limit)
        return found

    def barrier(self) -> None:
        """Waits for all workers."""
        with self._calling() as limit:
            work = self._gloo.allreduce([torch.zeros(1)], dist.AllreduceOptions())
            self._wait([_by_host(work)], "barrier", limit(None))

    def _uses_cards(self, options: CommunicationOptions) -> bool:
        """Whether values are sent from GPU to GPU: requested, or every worker has its own GPU."""
        if options.implementation is CommunicationImplementation.RING:
            return False
        if self._nccl is None:
            card = torch.cuda.get_device_properties(torch.cuda.current_device())
            self._store.set(f"card/{self.rank}", f"{socket.gethostname()} {getattr(card, 'uuid', self.rank)}")
            self._store.wait(
                [f"card/{number}" for number in range(self.size)], timedelta(seconds=settings.workers_wait())
            )
            cards = [bytes(self._store.get(f"card/{number}")).decode() for number in range(self.size)]
            self._no_nccl = why_no_nccl(self.members, cards, dist.is_nccl_available())
            has_own = not self._no_nccl
            self._nccl = nccl_group(PrefixStore("nccl", self._store), self.rank, self.size) if has_own else False
        if options.implementation is CommunicationImplementation.NCCL and self._no_nccl:
            raise UnimplementedError(
                f"CommunicationImplementation.NCCL was asked for, and {self._no_nccl}. "
                "CommunicationImplementation.AUTO or RING lets these workers go through their hosts, by gloo."
            )
        return bool(self._nccl)

    # Waiting.

    @contextmanager
    def _calling(self) -> Iterator[Callable[[CommunicationOptions | None], float]]:
        """A collective call: one at a time, and counted. Yields its deadline."""
        with self._lock:
            self.check()
            self._watch.calls += 1
            began = time.monotonic()

            def limit(options: CommunicationOptions | None) -> float:
                given = None if options is None else options.timeout_seconds
                return began + (settings.workers_wait() if given is None else given)

            yield limit

    def _wait(self, transfers: Sequence[Transfer], what: str, limit: float) -> None:
        """Waits for transfers to end.

        Raises:
            UnavailableError: a worker that is needed has gone.
            DeadlineExceededError: the time limit passed.
        """
        for ended in transfers:
            try:
                while not ended():
                    if missing := self._missing():
                        self._fail(UnavailableError, f"{what}: {missing}")
                    if time.monotonic() > limit:
                        self._fail(DeadlineExceededError, f"{what}: the time limit passed. {self._late()}")
            except RuntimeError as error:
                if isinstance(error, (UnavailableError, DeadlineExceededError)):
                    raise
                self._fail_after(error, what)

    def _missing(self) -> str:
        """The workers that will not take part in this call: dead ones, and those that left before it."""
        self._watch.look()
        parts = [f"{self.members[number]} is gone ({how})" for number, how in sorted(self._watch.gone.items())]
        for number, sign in sorted(self._watch.signs.items()):
            if sign.state == "left" and sign.calls < self._watch.calls:
                parts.append(f"{self.members[number]} has left: its program ended before this call")
        return "; ".join(parts)

    def _late(self) -> str:
        late = [
            f"{self.members[number]} has made {sign.calls} of {self._watch.calls} calls that workers make together"
            for number, sign in sorted(self._watch.signs.items())
            if sign.calls < self._watch.calls
        ]
        return "; ".join(late) or "All workers have begun the call."

    def _fail_after(self, error: RuntimeError, what: str) -> None:
        """A connection broke: waits a little for the watch to find out whose it was."""
        self._watch.suspect()
        limit = time.monotonic() + 4 * SUSPECT_SECONDS
        while time.monotonic() < limit and not self._missing() and self._watch.is_alive():
            time.sleep(0.02)
        broke = str(error).partition("\n")[0].partition("] ")[2] or str(error)
        self._fail(UnavailableError, f"{what}: {self._missing() or f'a connection between workers broke: {broke}'}")

    def _fail(self, kind: type[UnavailableError] | type[DeadlineExceededError], message: str) -> None:
        self._broken = message
        self._watch.suspect()
        for group in (self._gloo, self._nccl):
            if group:
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(group))  # its destructor would wait for the dead worker
        raise kind(
            f"{self.members[self.rank]} could not go on with {message}. Start all workers again; "
            "tf.keras.callbacks.BackupAndRestore or a checkpoint lets them go on where they were."
        )

    def check(self) -> None:
        """Raises if the group is broken.

        Raises:
            UnavailableError: one has gone.
        """
        if self._broken is not None:
            raise UnavailableError(f"The workers cannot go on together any more since {self._broken}")

    # Leaving.

    def leave(self, state: str = "left") -> None:
        """Tells the others that this worker's program has ended, and gives them time to notice. To be called once.

        Args:
            state: ``left``, or the error that ended the program.
        """
        watch = self._watch
        watch.state = state
        watch._changed.set()
        before = {number: sign.beat for number, sign in watch.signs.items()}
        limit = time.monotonic() + 10 * BEAT_SECONDS
        while (
            time.monotonic() < limit
            and watch.is_alive()
            and any(
                not (
                    sign.state or number in watch.gone or (sign.calls >= watch.calls and sign.beat > before[number] + 2)
                )
                for number, sign in watch.signs.items()
            )
        ):
            time.sleep(0.02)
        watch.end()
        self._broken = self._broken or "this worker left"


def why_no_nccl(members: Sequence[Member], cards: Sequence[str], is_built_in: bool) -> str:
    """Why workers cannot use NCCL, which requires a GPU per worker; empty if they can.

    Args:
        members: The workers.
        cards: The GPU of each, by its machine and its identity there.
        is_built_in: Whether PyTorch has NCCL.
    """
    if not is_built_in:
        return "this PyTorch was built without it"
    for card in cards:
        sharing = [str(member) for member, other in zip(members, cards, strict=True) if other == card]
        if len(sharing) > 1:
            host = card.partition(" ")[0]
            return f"it does not support two processes on one GPU: {' and '.join(sharing)} share one of {host}"
    return ""


# The representation of a tensor on the wire.


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor in a form that can be summed."""
    tensor = tensor.detach()
    if tensor.is_complex():
        return torch.view_as_real(tensor.resolve_conj())
    return tensor if tensor.dtype in _SUMMED else tensor.to(torch.int64)


def _carried(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor in a form that can be sent: bytes, if nothing else is possible."""
    tensor = tensor.detach()
    if tensor.is_complex():
        return torch.view_as_real(tensor.resolve_conj())
    return tensor if tensor.dtype in _SUMMED else tensor.contiguous().unsqueeze(-1).view(torch.uint8)


def _as_given(
    found: torch.Tensor, given: torch.Tensor, sent: Callable[[torch.Tensor], torch.Tensor] = _plain
) -> torch.Tensor:
    """A result converted back to a tensor's dtype and device."""
    if given.is_complex():
        found = torch.view_as_complex(found.clone())
    elif given.dtype not in _SUMMED:
        found = found.to(given.dtype) if sent is _plain else found.contiguous().view(given.dtype).squeeze(-1)
    return found.to(given.device)


def packs(tensors: Sequence[torch.Tensor], most: int) -> list[list[int]]:
    """Which tensors are packed, by position: neighbours of one dtype and device, up to a total number of bytes."""
    found: list[list[int]] = []
    open_packs: dict[tuple[torch.dtype, torch.device], tuple[list[int], int]] = {}
    for number, tensor in enumerate(tensors):
        key = tensor.dtype, tensor.device
        size = tensor.numel() * tensor.element_size()
        members, filled = open_packs.get(key, ([], most + 1))
        if filled + size > most:
            members, filled = [], 0
            found.append(members)
        members.append(number)
        open_packs[key] = members, filled + size
    return found


# Joining.

_joined: Workers | None = None
_joining = locks.lock()


def joined() -> Workers:
    """The workers that this process belongs to.

    Raises:
        RuntimeError: it belongs to none.
    """
    if _joined is None:
        raise StateError(
            "This process is not a worker of a distributed program: tf.distribute.MultiWorkerMirroredStrategy() makes "
            "it one."
        )
    return _joined


def join(members: Sequence[Member], rank: int) -> Workers:
    """Joins the other workers of a program; if this process has joined before, they are the same.

    Args:
        members: All workers; the first is the chief, whose address is the rendezvous.
        rank: Which of them this is.

    Raises:
        DeadlineExceededError: some did not join.
        ValueError: this process is a worker of another program already.
    """
    global _joined
    with _joining:
        if _joined is not None:
            if _joined.members != tuple(members) or _joined.rank != rank:
                raise ArgumentError(
                    f"This process is {_joined.members[_joined.rank]} of {_joined.size} workers already, and cannot be "
                    f"{members[rank]} of {len(members)} too."
                )
            return _joined
        limit = time.monotonic() + settings.workers_start()
        host, port = _address(members[0])
        by_launcher = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True" and f"{host}:{port}" == (
            f"{os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')}"
        )
        prefix = f"situs/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"
        is_local = _is_loopback(host)
        store = PrefixStore(prefix, _store(members, rank, host, port, rank == 0 and not by_launcher, is_local))
        if store.add(f"joined/{rank}", 1) > 1:
            raise AlreadyExistsError(
                f"{members[rank]} has been in this cluster before. When one worker is started again, all have to be: "
                "the others wait for the one that has gone."
            )
        _meet(store, members, limit)
        beats = PrefixStore(prefix, _connected(members[0], host, port, limit))
        watch = Watch(beats, members, rank, hosts_store=not by_launcher)
        watch.begin()
        _joined = Workers(members, rank, store, watch, is_local)
        atexit.register(_leave)
    return _joined


def _leave() -> None:
    """At exit."""
    if _joined is not None:
        error = getattr(sys, "last_value", None)  # the uncaught exception
        _joined.leave("left" if error is None else f"its program ended with {type(error).__name__}: {error}"[:500])


def _address(member: Member) -> tuple[str, int]:
    host, _, port = member.address.rpartition(":")
    if not host or not port.isdigit():
        raise ArgumentError(f"The address of a task is HOST:PORT, got {member.address!r} for {member}.")
    return host.strip("[]"), int(port)


def _is_loopback(host: str) -> bool:
    return host in ("localhost", "::1") or host.startswith("127.")


def _store(members: Sequence[Member], rank: int, host: str, port: int, is_host: bool, is_local: bool) -> Store:
    """The store for the rendezvous: created by the chief; else a connection to it."""
    if not is_host:
        return _connected(members[0], host, port, time.monotonic() + settings.workers_start())
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host if is_local else "", port))
        listening.listen(max(64, 4 * len(members)))
    except OSError as error:
        listening.close()
        raise UnavailableError(
            f"{members[rank]} cannot listen at its address, at which the workers meet: {error}. Another program may "
            "use the port, or the address is not of this machine."
        ) from None
    return TCPStore(
        host,
        port,
        is_master=True,
        wait_for_workers=False,
        timeout=timedelta(seconds=settings.workers_start()),
        master_listen_fd=listening.detach(),
    )


def _connected(chief: Member, host: str, port: int, limit: float) -> Store:
    seconds = max(limit - time.monotonic(), 1.0)
    try:
        return TCPStore(host, port, is_master=False, wait_for_workers=False, timeout=timedelta(seconds=seconds))
    except RuntimeError as error:
        first = str(error).partition("\n")[0]
        raise DeadlineExceededError(
            f"{chief}, at which the workers meet, did not come within {seconds:.0f} seconds (SITUS_WORKERS_START). "
            f"{first}"
        ) from None


def _meet(store: Store, members: Sequence[Member], limit: float) -> None:
    """Waits until all workers have joined."""
    while True:
        missing = [member for number, member in enumerate(members) if not store.check([f"joined/{number}"])]
        if not missing:
            return
        if time.monotonic() > limit:
            raise DeadlineExceededError(
                f"{len(missing)} of {len(members)} workers did not come within {settings.workers_start():.0f} seconds "
                f"(SITUS_WORKERS_START): {', '.join(map(str, missing))}."
            )
        time.sleep(0.05)
