"""The disk cache of compiled regions: the same region in the next process is neither traced nor compiled.

    key      SHA-256 of the body's text (`runtime.run.carry.described`), of Situs' sources, and of what compiled code
             depends on (`inductor.versions`)
    file     situs/regions/KEY in the user's cache folder, or in SITUS_COMPILE_CACHE: SHA-256 of the rest, then the rest

A file is written under a temporary name and renamed, so concurrent writers each leave a complete one. A damaged file
is ignored and deleted. A folder that others may write to is not used, because its contents would run as this
user. The oldest files are deleted when there are more than `MOST`.

Calls that cannot be traced are cached too: a region that contains them is split at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from situs._src.base import settings
from situs._src.base.compile_c import own_folder
from situs._src.runtime.run import inductor
from situs._src.runtime.run.carry import NotCarriedError, described
from situs._src.runtime.run.region_body import Body

MOST = 500  # files
_SUM = 32  # bytes of a SHA-256


@dataclass(frozen=True)
class Outcome:
    """The result of compiling a body.

    Attributes:
        refused: The numbers of its calls that cannot be traced, with the reasons: then nothing was compiled.
        kernels: The serialized kernels (`inductor.saved`); None if there are none, or they cannot be serialized.
        refuses: Whether the last result is the flag for invalid values.
        failure: Why the compiler failed; empty unless it did.
    """

    refused: dict[int, str] = field(default_factory=dict)
    kernels: bytes | None = None
    refuses: bool = False
    failure: str = ""


def key_of(body: Body, exact: bool) -> str | None:
    """The cache key of a body; None if it has no description, or the cache is off.

    Args:
        body: The body.
        exact: Whether fused values are rounded after each op.
    """
    if _folder() is None:
        return None
    try:
        text = described(body)
    except NotCarriedError:
        return None
    on_card = any(layout.device.type != "cpu" for layout in body.inputs)
    parts = (text, str(exact), _sources(), *inductor.versions(on_card))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _folder() -> Path | None:
    name = settings.compiled_folder()
    return None if name is None else own_folder(name)


@cache
def _sources() -> str:
    """A hash of the contents of Situs' sources."""
    root = Path(__file__).parents[2]
    found = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        found.update(str(file.relative_to(root)).encode())
        found.update(file.read_bytes())
    return found.hexdigest()


def kept(key: str) -> Outcome | None:
    """The cached outcome of a key; None if there is none, or it is damaged."""
    folder = _folder()
    if folder is None:
        return None
    file = folder / key
    try:
        data = file.read_bytes()
    except OSError:
        return None
    found = _read(data)
    with contextlib.suppress(OSError):
        if found is None:
            file.unlink()
        else:
            os.utime(file)  # it is of use
    return found


def _read(data: bytes) -> Outcome | None:
    """What a file holds; None if it is damaged, or holds something else."""
    if hashlib.sha256(data[_SUM:]).digest() != data[:_SUM]:
        return None
    try:
        found = pickle.loads(data[_SUM:])
    except Exception:  # whatever is in there: it is made again
        return None
    return found if isinstance(found, Outcome) else None


def keep(key: str, outcome: Outcome) -> None:
    """Caches an outcome, if possible; a failure of the compiler is not cached."""
    folder = _folder()
    if folder is None or outcome.failure or (outcome.kernels is None and not outcome.refused):
        return
    data = pickle.dumps(outcome, protocol=pickle.HIGHEST_PROTOCOL)
    try:
        handle, name = tempfile.mkstemp(prefix=".making-", dir=folder)
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(data).digest())
            file.write(data)
        Path(name).replace(folder / key)
        _let_go(folder)
    except OSError:  # disk full, for instance: the next process compiles again
        return


def _let_go(folder: Path) -> None:
    files = [(entry.stat().st_mtime, entry.path) for entry in os.scandir(folder) if entry.is_file()]
    for _, path in sorted(files)[: max(len(files) - MOST, 0)]:
        with contextlib.suppress(OSError):
            Path(path).unlink()
