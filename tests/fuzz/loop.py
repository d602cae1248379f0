"""Cases of one target, one after the other, in a process of its own: counted, and the findings kept.

Where a case takes the process with it, the one that started it finds the number of the case in ``at`` and goes on
behind it.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import logging
import os
import resource
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.case import Case, Target
from tests.fuzz.judge import judge
from tests.fuzz.targets import TARGETS

SAVED_EVERY = 2.0  # seconds
STUCK = 60.0  # seconds besides its own after which a case that cannot be interrupted ends the process
ADDRESSES = 6 * 2**30  # bytes of address space that a target may ask for; libraries reserve a part of it
SHOWN = 2000  # characters of a case


def run(name: str, seed: int, first: int, until: float, folder: Path) -> None:
    """Tries cases from the first number on until the time has come; the counts are in ``folder/counts``."""
    target = prepared(name, folder / "work")
    counts: dict[str, Any] = {"executions": 0, "succeeded": 0, "errors": Counter(), "findings": {}}
    saved = 0.0
    number = first
    while time.monotonic() < until:
        (folder / "at").write_text(str(number))
        _count(counts, number, target.case(Random(f"{seed}:{name}:{number}")))
        number += 1
        if time.monotonic() > saved + SAVED_EVERY:
            saved = time.monotonic()
            _save(counts, folder)
    _save(counts, folder)


def prepared(name: str, folder: Path) -> Target:
    """The target, in a folder of its own."""
    warnings.simplefilter("ignore")
    logging.disable()
    _limit_memory()
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    module, _, made = TARGETS[name].rpartition(".")
    target: Target = getattr(importlib.import_module(module), made)(folder)
    return target


def _limit_memory() -> None:
    """What asks for terabytes is refused by the system, whatever else runs on this machine."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ADDRESSES, used + ADDRESSES))


def _count(counts: dict[str, Any], number: int, case: Case) -> None:
    faulthandler.dump_traceback_later(case.seconds + STUCK, exit=True, file=sys.__stderr__)
    verdict = judge(case)
    faulthandler.cancel_dump_traceback_later()
    counts["executions"] += 1
    if verdict.error is None:
        counts["succeeded"] += 1
    elif not verdict.finding:
        counts["errors"][verdict.error] += 1
    else:
        new = {"number": number, "case": case.shown[:SHOWN], "details": verdict.details[-SHOWN * 2 :], "times": 0}
        counts["findings"].setdefault(verdict.error, new)["times"] += 1


def _save(counts: dict[str, Any], folder: Path) -> None:
    draft = folder / "counts.draft"
    draft.write_text(json.dumps(counts))
    draft.replace(folder / "counts")
