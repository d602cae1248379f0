"""A program run in a process that was forked for it, as Python would run it: what tests of several workers start.

It is a module of its own, because a process that is told to run a function imports it by its module's name.
"""

from __future__ import annotations

import atexit
import os
import runpy
import sys
import traceback


def run_program(path: str, output: str, env: dict[str, str]) -> None:
    """Runs a program in this process, as Python would, and ends the process."""
    for number in (1, 2):
        os.dup2(os.open(output, os.O_WRONLY | os.O_APPEND), number)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = [path]
    status = 0
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as ended:
        status = int(ended.code or 0)
    except BaseException as error:
        traceback.print_exc()
        sys.last_value = error
        status = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
