"""``situs memory PROGRAM``: runs a Python program and says what filled the memory of the GPUs.

    situs memory train.py --epochs 1                the table, when the program has ended
    situs memory -o memory.svg train.py             a picture of memory over time as well

The program runs as ``python PROGRAM`` would run it; what it is given stands after its name. However it ends,
by an error or by ``sys.exit``, the report is made, and the exit status is the program's.
"""

from __future__ import annotations

import argparse
import runpy
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from situs._src.base.errors import NotFoundError, shown


def add_command(commands: Any) -> None:
    """Adds ``memory`` to the command line."""
    parser = commands.add_parser("memory", help="run a Python program and say what filled the memory of the GPUs")
    parser.add_argument("-o", "--output", metavar="FILE", help="write a picture (.svg, .html) or the data (.json) too")
    parser.add_argument("program", metavar="PROGRAM", help="a Python file")
    parser.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER, help="what the program is given")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Runs the program, prints what was alive at the peak, and returns the program's exit status."""
    from situs._src.inspect.output import check_writable  # here, because these load PyTorch
    from situs._src.inspect.recording import record

    if not _is_file(arguments.program):
        raise NotFoundError(f"There is no program {shown(arguments.program)}.")
    if arguments.output is not None:
        check_writable(arguments.output)
    with record() as recording:
        status = _run_program(arguments.program, arguments.arguments)
    sys.stderr.flush()
    print(f"\n{recording}", flush=True)
    if arguments.output is not None:
        recording.save(arguments.output)
    return status


def _is_file(path: str) -> bool:
    try:
        return Path(path).is_file()
    except OSError:  # too long for a name, for example
        return False


def _run_program(program: str, arguments: Sequence[str]) -> int:
    try:
        with _as_script(program, arguments):
            runpy.run_path(program, run_name="__main__")
    except SystemExit as ended:
        return _status(ended.code)
    except BaseException as error:  # an interruption too: that is when one wants to know
        error.__traceback__ = _from_program(error, program)
        traceback.print_exception(error)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


@contextmanager
def _as_script(program: str, arguments: Sequence[str]) -> Iterator[None]:
    argv, path = sys.argv, list(sys.path)
    sys.argv = [program, *arguments]
    sys.path.insert(0, str(Path(program).resolve().parent))
    try:
        yield
    finally:
        sys.argv, sys.path[:] = argv, path


def _status(code: Any) -> int:
    """The exit status that Python makes of what ``sys.exit`` was called with."""
    if code is None or isinstance(code, int):
        return int(code or 0)
    print(code, file=sys.stderr)
    return 1


def _from_program(error: BaseException, program: str) -> TracebackType | None:
    """The traceback from the program's own first frame on; None if it has none, as for a syntax error."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != program:
        trace = trace.tb_next
    return trace
