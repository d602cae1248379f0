"""One thing to try, and what makes such things."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Protocol

SECONDS = 5.0  # that a case may take
IN_OWN = 120.0  # one that starts a process of its own, on a machine with other work


@dataclass(frozen=True)
class Case:
    """A call that has to succeed or to be refused, what to show of it, and the folder it may only read.

    With `plain`, Python's own ``TypeError`` and ``ValueError`` are refusals too.
    """

    shown: str
    run: Callable[[], Any]
    reads: Path | None = None
    plain: bool = False
    seconds: float = SECONDS


class Target(Protocol):
    """Makes cases; `__init__` gets a folder of its own, which is the working directory too."""

    def __init__(self, folder: Path) -> None: ...

    def case(self, random: Random) -> Case:
        """The case that a random generator leads to; the same one for the same seed."""


class WrongResultError(Exception):
    """Something succeeded that should not have, or gave the wrong values."""


def require(condition: bool, what: str) -> None:
    """Says that a result is wrong unless a condition holds."""
    if not condition:
        raise WrongResultError(what)
