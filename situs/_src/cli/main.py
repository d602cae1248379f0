"""``situs``: the command line.

situs devices [--json]    the devices of this machine, without touching a GPU
situs demo                a program placed on them, explained
situs run PROGRAM         a TensorFlow program, as it is; with --report FILE, a page about where everything ran
situs report A [B]        a page of a report that was saved as data, of two side by side, or of many workers
situs launch -n N PROGRAM a program in several processes, which train together
situs memory PROGRAM      what filled the memory of the GPUs while a program ran
situs profile PROGRAM     what the operations of a program cost, measured for the dynamic placer
situs place GRAPH         a graph placed on devices so that a step takes the least time
situs completion SHELL    what makes a shell complete all this
situs --version

Commands that print data print it as JSON with ``--json``. ``--no-color`` turns colours off in every command.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import situs
from situs._src.base.errors import SitusError
from situs._src.cli import completion, demo, devices, launch, memory, output, place, profile, program, report, run

STATUSES = """\
exit status:
  0     success
  1     an invalid file or argument, or the program failed
  2     a usage error
  3     place: no placement satisfies the constraints
  130   interrupted
  run, memory and profile end with the status of the program; launch with that of the worker that failed
  first, or 128 and the number of the signal that ended it
"""
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns the exit status."""
    parser = _parser()
    parsed = parser.parse_args(arguments)
    if parsed.run is None:
        parser.print_help(sys.stderr)
        return 2
    if parsed.no_color:
        output.forbid_colours()
    try:
        return int(parsed.run(parsed) or 0)
    except KeyboardInterrupt:
        return INTERRUPTED
    except SitusError as error:
        print(f"situs: {error}", file=sys.stderr)
        return 2 if isinstance(error, program.UsageError) else 1
    except BrokenPipeError:  # the reader of a pipe has gone; nobody is left to tell
        sys.stderr.close()
        return 1


_NO_COLOR = "print no colours, as with NO_COLOR=1 in the environment"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="situs",
        description="A tensor runtime whose subject is where computation happens.",
        epilog=STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"situs {situs.__version__}")
    parser.add_argument("--no-color", action="store_true", help=_NO_COLOR)
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    devices.add_command(commands)
    demo.add_command(commands)
    run.add_command(commands)
    report.add_command(commands)
    launch.add_command(commands)
    memory.add_command(commands)
    profile.add_command(commands)
    place.add_command(commands)
    completion.add_command(commands, _parser)
    for command in commands.choices.values():  # so that it may stand behind the command as well
        command.add_argument("--no-color", action="store_true", default=argparse.SUPPRESS, help=_NO_COLOR)
    return parser
