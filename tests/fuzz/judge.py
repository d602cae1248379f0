"""One case tried under limits of time and memory, and judged.

A case is fine if it succeeds or is refused by an error of `situs.errors`. Where a program passes Python values and not
text or files, Python's own ``TypeError`` and ``ValueError`` are fine as well, and counted apart; so is a value that
``repr`` itself cannot print. Everything else is a finding: any other exception, more than five seconds, more than a GiB
of memory, a file changed that should only be read.
"""

from __future__ import annotations

import contextlib
import io
import re
import resource
import signal
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from situs.errors import SitusError
from tests.fuzz.case import Case

MEMORY = 2**30
_OURS = re.compile(r"/(situs|tests)/")
_VARIABLE = re.compile(r"'[^']*'|\"[^\"]*\"|[-\d.]+|\b0x\w+")


@dataclass(frozen=True)
class Verdict:
    """How a case ended: `error` names the kind of refusal or finding; None if it succeeded."""

    error: str | None = None
    finding: bool = False
    details: str = ""


class HangError(BaseException):
    """The time of a case is over; no ``except Exception`` catches it."""


def judge(case: Case, seconds: float = 0.0) -> Verdict:
    """Runs a case and says how it ended; after its seconds, or these if they are more, it hangs."""
    before = _content(case.reads)
    memory = _most_memory()
    verdict = _tried(case, max(case.seconds, seconds))
    if _most_memory() - memory > MEMORY:
        return Verdict("memory", True, f"{(_most_memory() - memory) / 2**30:.1f} GiB more; {verdict.error}")
    if not verdict.finding and _content(case.reads) != before:
        return Verdict("files changed", True, str(case.reads))
    return verdict


def _tried(case: Case, seconds: float) -> Verdict:
    signal.signal(signal.SIGALRM, _over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            case.run()
    except SitusError as error:
        return Verdict(f"{type(error).__name__}: {_pattern(error)}")
    except SystemExit as error:
        return Verdict(f"SystemExit: {error.code}", finding=error.code not in (None, 0, 1, 2))
    except (TypeError, ValueError) as error:
        if case.plain:
            return Verdict(f"plain {type(error).__name__} in {_place(error)}")
        return _found(error)
    except (Exception, HangError) as error:
        if isinstance(error, RecursionError) and "repr of an object" in str(error):
            return Verdict("RecursionError: an argument that Python itself cannot print")
        return _found(error)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return Verdict()


def _found(error: BaseException) -> Verdict:
    return Verdict(f"{type(error).__name__} in {_place(error)}", True, "".join(traceback.format_exception(error)))


def _over(number: int, frame: FrameType | None) -> Any:
    raise HangError("more than the seconds that a case may take")


def _pattern(error: BaseException) -> str:
    """The beginning of a message, without what differs from case to case."""
    try:
        return ascii(_VARIABLE.sub("#", str(error)))[:60]
    except Exception as failed:  # a message that cannot be made is shown as what it is
        return f"no message: {type(failed).__name__}"


def _place(error: BaseException) -> str:
    """The last line of Situs that an error went through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _OURS.search(frame.filename)]
    own = [frame for frame in frames if "/situs/" in frame.filename] or frames
    return f"{'/'.join(Path(own[-1].filename).parts[-3:])}:{own[-1].lineno}" if own else "?"


def _most_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _content(folder: Path | None) -> dict[Path, bytes]:
    if folder is None:
        return {}
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
