"""``situs profile PROGRAM``: runs a Python program and keeps what its operations cost, for the dynamic placer.

    situs profile train.py --steps 20               into the user's file of costs
    situs profile -o costs.json train.py            into another file, to be given to others: SITUS_COSTS names it

The program runs as ``python PROGRAM`` would run it, or as ``situs run`` does if it imports TensorFlow. Its arguments
follow its name. Its graphs are recorded as they run: those of sessions, and of functions that are called without a tape
around them. However it ends, what was measured is kept, and the exit status is the program's.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

from situs._src.cli import output, program

SHOWN = 12  # rows


def add_command(commands: Any) -> None:
    """Adds ``profile`` to the command line."""
    parser = commands.add_parser("profile", help="run a Python program and measure what its operations cost")
    parser.add_argument("-o", "--output", metavar="FILE", help="keep the costs in this file instead of the user's")
    parser.add_argument("--json", action="store_true", help="print JSON, and what the program prints on standard error")
    parser.add_argument("program", metavar="PROGRAM", help="a Python file")
    parser.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER, help="what the program is given")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Runs the program, says what was measured, and returns the program's exit status."""
    from situs._src.inspect.output import place_to_write  # here, because these load PyTorch
    from situs._src.runtime.dynamic.profile import profiled

    path = program.find(arguments.program)
    if arguments.output is not None:
        os.environ["SITUS_COSTS"] = str(place_to_write(arguments.output))
    program.use_situs(path)
    with profiled(save=True, links=True) as found, output.apart(arguments.json):
        status = program.run(path, arguments.arguments)
    if arguments.json:
        output.print_json(found.to_dict())
    else:
        output.print_after(f"\n{found.report(SHOWN)}")
    return status
