"""CPUs that advertise AMX but trap: detected safely, and avoided.

On some virtual machines the CPU reports AMX, Intel's matrix instructions, but kills a process that uses them. oneDNN,
which computes PyTorch's bfloat16 products, relies on the report. Whether AMX works can only be found out by using it,
so a child process does, which may die:

    amx_tile in /proc/cpuinfo?     no: nothing to do, as on most machines
    ONEDNN_MAX_CPU_ISA set?        the user's choice is respected
    cached?                        for this CPU, kernel and PyTorch: that result is used
    a probe in a child process     bfloat16 products, with ever older instructions until it survives; cached
    -> ONEDNN_MAX_CPU_ISA          set before the first op, which is when oneDNN reads it; child processes inherit it

A probe that could not be run, or did not end in time, is inconclusive: oneDNN then does not use AMX, and the next
process tries again.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from situs._src.base import settings
from situs._src.base.devices.physical import processor_facts, torch_version

VARIABLE = "ONEDNN_MAX_CPU_ISA"
NO_LIMIT = "DEFAULT"
WITHOUT_AMX = "AVX512_CORE_BF16"
LIMITS = (NO_LIMIT, WITHOUT_AMX, "AVX512_CORE", "AVX2")  # as oneDNN names them, best first
PATIENCE = 60.0  # seconds for one probe

PROBE = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
sys.path[:] = json.loads(sys.argv[1])
import torch
print("ready", flush=True)
a, b = torch.ones(40, 8, dtype=torch.bfloat16), torch.ones(8, 40, dtype=torch.bfloat16)
products = torch.mm(a, b), torch.nn.functional.linear(a, b.t().contiguous())
assert all(bool((product == 8).all()) for product in products)
print("survived", flush=True)
"""


@dataclass(frozen=True)
class Verdict:
    """What oneDNN may use here.

    Attributes:
        limit: The best instructions, as oneDNN names them; ``DEFAULT`` for all that the CPU advertises.
        found: Who says so: ``cpu`` (it does not advertise AMX), ``user``, ``cache``, ``probe``, or ``unknown`` if
            the probe said nothing.
    """

    limit: str
    found: str

    @property
    def text(self) -> str:
        """The verdict in words; empty if there is nothing to say."""
        if self.found == "user":
            return f"oneDNN is held to {self.limit} by the environment"
        if self.found == "unknown":
            return f"whether AMX works could not be found out: oneDNN is held to {self.limit}"
        if self.limit == NO_LIMIT:
            return ""
        return f"AMX is advertised and does not work: oneDNN is held to {self.limit}"


Probe = Callable[[str], bool | None]


def verdict(probe: Probe | None = None, facts: dict[str, str] | None = None) -> Verdict:
    """Finds out what oneDNN may use; changes nothing but the cache.

    Args:
        probe: Whether products survive with a limit, or None if that cannot be said; by default in a child process.
        facts: What ``/proc/cpuinfo`` says of the CPU; by default of this one.
    """
    facts = processor_facts() if facts is None else facts
    if "amx_tile" not in facts.get("flags", "").split():
        return Verdict(NO_LIMIT, "cpu")
    chosen = settings.onednn_limit()
    if chosen is not None:
        return Verdict(chosen, "user")
    key = _key(facts)
    kept = _read(key)
    if kept is not None:
        return Verdict(kept, "cache")
    for limit in LIMITS:
        survived = (probe or survives)(limit)
        if survived is None:
            break
        if survived:
            _write(key, limit)
            return Verdict(limit, "probe")
    return Verdict(WITHOUT_AMX, "unknown")


def survives(limit: str, program: str = PROBE, patience: float = PATIENCE) -> bool | None:
    """Whether a child process whose oneDNN is held to `limit` survives products; None if it never came to them."""
    if not sys.executable or getattr(sys, "frozen", False):  # the executable is not Python's, but the program's
        return None
    try:
        done = subprocess.run(
            [sys.executable, "-c", program, json.dumps(sys.path)],
            env={**os.environ, VARIABLE: limit, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=patience,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode == -signal.SIGKILL or b"ready" not in done.stdout:  # killed by others, or torch is not available
        return None
    return done.returncode == 0 and b"survived" in done.stdout


def steer(was_loaded: bool = False, probe: Probe | None = None, facts: dict[str, str] | None = None) -> Verdict:
    """Keeps oneDNN from instructions that trap; called before the first op.

    Args:
        was_loaded: Whether the program had loaded PyTorch before Situs, and may have used oneDNN.
        probe: As in `verdict`.
        facts: As in `verdict`.
    """
    found = verdict(probe, facts)
    if found.limit != NO_LIMIT and found.found != "user":
        os.environ[VARIABLE] = found.limit
        if was_loaded:
            warnings.warn(
                f"{found.text}. PyTorch was imported before Situs: if it has computed a convolution or a product of "
                "bfloat16 already, oneDNN has not read that, and bfloat16 products on the CPU may end the process. "
                f"Import Situs first, or set {VARIABLE}={found.limit} in the environment.",
                RuntimeWarning,
                stacklevel=2,
            )
    return found


# The cache: a file for each CPU and PyTorch. One that cannot be read, or says something else, is not there.


def _key(facts: dict[str, str]) -> dict[str, str]:
    names = ("vendor_id", "model name", "cpu family", "model", "stepping", "microcode", "flags")
    own = {name: facts.get(name, "") for name in names}
    return {**own, "kernel": platform.release(), "torch": torch_version()}


def _files(key: dict[str, str]) -> Iterator[Path]:
    """Where the verdict may be kept: in the user's cache, or else in a folder of the user's beside temporary files."""
    name = f"onednn-{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]}.json"
    yield Path(settings.cache_folder()) / "situs" / name
    yield Path(tempfile.gettempdir()) / f"situs-{_user()}" / name


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else getpass.getuser()


def _read(key: dict[str, str]) -> str | None:
    for path in _files(key):
        try:
            if hasattr(os, "getuid") and path.stat().st_uid != os.getuid():
                continue
            kept = json.loads(path.read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(kept, dict) and kept.get("key") == key and kept.get("limit") in LIMITS:
            return str(kept["limit"])
    return None


def _write(key: dict[str, str], limit: str) -> None:
    """Keeps a verdict, as a whole file, in the first folder that can be written to."""
    text = json.dumps({"limit": limit, "key": key})
    for path in _files(key):
        draft = path.with_name(f"{path.stem}-{os.getpid()}.draft")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft.write_text(text)
            draft.replace(path)
        except OSError:
            with suppress(OSError):
                draft.unlink()
        else:
            return
