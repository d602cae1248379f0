"""``situs memory PROGRAM``: runs a Python program and says what filled the memory of the GPUs.

    situs memory train.py --epochs 1                the table, when the program has ended
    situs memory -o memory.svg train.py             a picture of memory over time as well

The program runs as ``python PROGRAM`` would run it, or as ``situs run`` does if it imports TensorFlow. Its arguments
follow its name. However it ends, by an error or by ``sys.exit``, the report is made, and the exit status is the
program's.
"""

from __future__ import annotations

import argparse
from typing import Any

from situs._src.cli import output, program


def add_command(commands: Any) -> None:
    """Adds ``memory`` to the command line."""
    parser = commands.add_parser("memory", help="run a Python program and say what filled the memory of the GPUs")
    parser.add_argument("-o", "--output", metavar="FILE", help="write a picture (.svg, .html) or the data (.json) too")
    parser.add_argument("--json", action="store_true", help="print JSON, and what the program prints on standard error")
    parser.add_argument("program", metavar="PROGRAM", help="a Python file")
    parser.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER, help="what the program is given")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Runs the program, prints what was alive at the peak, and returns the program's exit status."""
    from situs._src.inspect.output import check_writable  # here, because these load PyTorch
    from situs._src.inspect.recording import record

    path = program.find(arguments.program)
    place = None if arguments.output is None else check_writable(arguments.output)
    program.use_situs(path)
    with record() as recording, output.apart(arguments.json):
        status = program.run(path, arguments.arguments)
    if arguments.json:
        output.print_json(recording.to_dict())
    else:
        output.print_after(f"\n{recording}")
    if place is not None:
        recording.save(place)
    return status
