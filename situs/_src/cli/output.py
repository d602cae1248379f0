"""What commands print: tables for people, with colours that can be turned off, and JSON for programs.

Colours and bold letters are for terminals; ``--no-color``, or ``NO_COLOR`` in the environment with any value but an
empty one, turns them off there too, and then no escape sequence is written at all.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def forbid_colours() -> None:
    """Writes no colours from now on, here and in what this process starts."""
    os.environ["NO_COLOR"] = "1"


def console() -> Console:
    """Where tables are printed."""
    from rich.console import Console  # loaded only when a table is printed

    return Console(soft_wrap=False, color_system=None if os.environ.get("NO_COLOR") else "auto")


def print_json(data: object) -> None:
    """Prints data for programs."""
    print_after(json.dumps(data, indent=2))


def print_after(text: str) -> None:
    """Prints what a command has to say once a program has ended, which may have closed what it prints to."""
    if not sys.stderr.closed:
        sys.stderr.flush()
    if not sys.stdout.closed:
        print(text, flush=True)


@contextmanager
def apart(is_json: bool) -> Iterator[None]:
    """Has what a program prints on standard error, where standard output is to hold nothing but JSON."""
    if not is_json:
        yield
        return
    with redirect_stdout(sys.stderr):
        yield
