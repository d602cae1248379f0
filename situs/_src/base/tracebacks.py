"""Which frames of an error people see where Situs prints it, as `situs run` does for a program.

    File "train.py", line 7, in <module>          kept: the program's, and those of other packages
      step(x)
    File ".../situs/_src/tracing/function.py" ... left out
    File "train.py", line 4, in step
      return tf.matmul(x, x)
    ValueError: Matrix size-incompatible: ...

Only errors that Situs raises on purpose are shortened: they say what was wrong. Any other one may be a defect of Situs,
whose frames say where.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

from situs._src.base.errors import SitusError
from situs._src.base.export import export

_ENGINE = str(Path(__file__).parent.parent) + os.sep
_enabled = True


@export(
    "debugging.enable_traceback_filtering",
    as_is=True,
    differs="For the tracebacks that `situs run` and its like print; Python prints those of other programs in full.",
)
def enable_traceback_filtering() -> None:
    """Leaves the frames of Situs out of the tracebacks that commands print, which is the default."""
    global _enabled
    _enabled = True


@export("debugging.disable_traceback_filtering", as_is=True)
def disable_traceback_filtering() -> None:
    """Prints all frames of errors that end a program which a command runs."""
    global _enabled
    _enabled = False


@export("debugging.is_traceback_filtering_enabled", as_is=True)
def is_traceback_filtering_enabled() -> bool:
    """Whether frames of Situs are left out of the tracebacks that commands print."""
    return _enabled


def shown(error: BaseException) -> TracebackType | None:
    """The traceback of an error as it is printed."""
    trace = error.__traceback__
    if not (_enabled and isinstance(error, SitusError)):
        return trace
    kept = []
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(_ENGINE):
            kept.append(trace)
        trace = trace.tb_next
    made: TracebackType | None = None
    for each in reversed(kept):
        made = TracebackType(made, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return made
