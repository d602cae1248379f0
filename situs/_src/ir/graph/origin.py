"""The line of the user's program that created something.

An origin is the few innermost frames outside Situs and Keras, as (code, line) pairs: cheap to record for every node of
a large graph, and formatted only when an error needs it.
"""

from __future__ import annotations

import linecache
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

_PACKAGE = str(Path(__file__).parents[3]) + os.sep  # situs, with its public modules
_KERAS = f"{os.sep}site-packages{os.sep}keras{os.sep}"
_RUNPY = "<frozen runpy>"
_DEPTH = 4
_ENGINE = f"{__name__.partition('.')[0]}._src."
_module_at: Callable[[int], str | None] | None = getattr(sys, "_getframemodulename", None)  # from Python 3.12 on
_ours: dict[str, bool] = {}  # by file

Origin = tuple[tuple[CodeType, int], ...]


def origin() -> Origin:
    """The innermost frames of the program itself, innermost first."""
    depth = 1
    if _module_at is not None:  # avoids creating frame objects
        while (module := _module_at(depth)) is not None and module.startswith(_ENGINE):
            depth += 1
    frame: FrameType | None = sys._getframe(depth)
    frames: list[tuple[CodeType, int]] = []
    while frame is not None and len(frames) < _DEPTH:
        code = frame.f_code
        ours = _ours.get(code.co_filename)
        if ours is None:
            ours = is_ours(code)
        if not ours:
            if code.co_filename == _RUNPY:
                break  # the program begins here, under `situs run` or `python -m`
            frames.append((code, frame.f_lineno))
        frame = frame.f_back
    return tuple(frames)


def is_ours(code: CodeType) -> bool:
    """Whether this is code of Situs, not of the program."""
    found = _ours.get(code.co_filename)
    if found is None:
        file = code.co_filename
        found = _ours[file] = file.startswith(_PACKAGE) or _KERAS in file
    return found


def line_of(made_at: Origin) -> str:
    """The user's line as ``program.py:12``; empty if unknown."""
    if not made_at:
        return ""
    code, line = made_at[0]
    return f"{Path(code.co_filename).name}:{line}"


def text_of(made_at: Origin) -> str:
    """The user's frames in Python's format, outermost first."""
    lines = []
    for code, line in reversed(made_at):
        lines.append(f'  File "{code.co_filename}", line {line}, in {code.co_name}\n')
        source = linecache.getline(code.co_filename, line).strip()
        if source:
            lines.append(f"    {source}\n")
    return "".join(lines)


def summary_of(made_at: Origin) -> traceback.StackSummary:
    """The user's frames for Python's `traceback`, outermost first."""
    frames = [traceback.FrameSummary(c.co_filename, line, c.co_name) for c, line in reversed(made_at)]
    return traceback.StackSummary.from_list(frames)
