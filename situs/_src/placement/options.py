"""Global placement options: soft or hard, logged or silent, by rules or by predicted time.

They can be changed at any time. A change invalidates the memos of all scopes, because
their decisions were made under the old rules.
"""

from __future__ import annotations

from dataclasses import dataclass

from situs._src.base.devices import scope
from situs._src.base.export import export
from situs._src.base.settings import switch
from situs._src.placement.placer_setting import SIMPLE, Placer


@dataclass
class Options:
    """The options of this process."""

    soft: bool = False
    log: bool = False
    placer: Placer = SIMPLE


current = Options()


def set_soft(enabled: bool) -> None:
    """Allows another device to be used if the requested one is missing or has no kernel."""
    current.soft = switch(enabled, "enabled")
    scope.forget()


def set_placer(placer: Placer) -> None:
    """Sets the placer for the graphs of sessions and functions that are created from now on."""
    current.placer = placer
    scope.forget()


@export(
    "debugging.set_log_device_placement",
    as_is=True,
    differs="Works at any time, also after the first op, and writes to standard output.",
)
def set_log(enabled: bool) -> None:
    """Prints a line for every op that runs, with its device; can be switched at any time."""
    current.log = switch(enabled, "enabled")
    scope.forget()


@export("debugging.get_log_device_placement", as_is=True)
def get_log() -> bool:
    """Whether a line is printed for every op that runs."""
    return current.log
