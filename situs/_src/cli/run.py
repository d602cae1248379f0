"""``situs run PROGRAM``: runs a TensorFlow program as it is; what it imports as ``tensorflow`` is Situs.

    situs run train.py --epochs 1               the dialect is told from the names that the program uses
    situs run --dialect v1 old.py               TensorFlow 1: ops build graphs, which sessions run
    situs run -m package.train                  a module, as python -m runs it
    situs run --missing names.json train.py     what the program uses and Situs lacks, written to a file
    situs run --report out.html train.py        where everything ran, why, how long, and what filled the memory: a page

The program runs as ``python PROGRAM`` would run it, and the exit status is the program's. If it fails for lack of a
name, the last lines say which, where, and what to do.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from situs._src.cli import program


def add_command(commands: Any) -> None:
    """Adds ``run`` to the command line."""
    parser = commands.add_parser(
        "run",
        help="run a TensorFlow program as it is, on Situs",
        usage="situs run [options] (PROGRAM | -m MODULE) [argument ...]",
    )
    parser.add_argument(
        "--dialect", choices=["v1", "v2"], help="TensorFlow 1 or 2; detected from the program by default"
    )
    parser.add_argument("--missing", metavar="FILE", help="write the names that the program uses and Situs lacks")
    parser.add_argument("--report", metavar="FILE", help="write a report on the run: a page (.html) or data (.json)")
    parser.add_argument("--part", action="store_true", help=argparse.SUPPRESS)  # of a report that somebody else makes
    parser.add_argument("-m", dest="module", metavar="MODULE", help="run a module, as python -m does")
    parser.add_argument(
        "arguments", metavar="PROGRAM ...", nargs=argparse.REMAINDER, help="a file, and what it is given"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Runs the program and returns its exit status."""
    from situs._src.as_tensorflow import install, missing, roots  # here, because these load PyTorch
    from situs._src.as_tensorflow.dialect import dialect_of
    from situs._src.inspect.output import place_to_write

    given = list(arguments.arguments)
    if arguments.module is None and not given:
        raise program.UsageError("situs run needs a program: situs run PROGRAM, or situs run -m MODULE.")
    path = program.find(arguments.module or given.pop(0), is_module=arguments.module is not None)
    dialect = arguments.dialect or dialect_of(path)
    if install.is_installed():
        print("situs: TensorFlow is installed here too; this program gets Situs.", file=sys.stderr)
    install.install_as_tensorflow(dialect, replace=True)
    top = roots.root("tensorflow", dialect)
    source = str(Path(path).absolute())  # from wherever the program goes
    names = None if arguments.missing is None else place_to_write(arguments.missing)
    status = _run(path, given, arguments, lambda error: _explained(error, path, source, dialect, top))
    if names is not None:
        missing.write(str(names), path, _lacking(source, top))
    return status


def _run(path: str, given: list[str], arguments: argparse.Namespace, explain: Callable[[BaseException], str]) -> int:
    """Runs the program, with a report around it if one is wished for; that is written however the program ends."""
    if arguments.report is None:
        return program.run(path, given, arguments.module, explain)
    from situs._src.inspect.output import check_writable
    from situs._src.report.report import Report, check_suffix

    check_suffix(arguments.report)
    place = check_writable(arguments.report)
    report = Report(place, Path(path).name, path, given)

    def failed(error: BaseException) -> str:
        report.fail(error)
        return explain(error)

    with report:
        status = program.run(path, given, arguments.module, failed)
    if not arguments.part:
        print(f"situs: the report is in {place.resolve().as_uri()}", file=sys.stderr)
    return status


def _lacking(path: str, top: Any) -> dict[str, int]:
    """What a program uses and Situs lacks; nothing of one that Python itself cannot read."""
    from situs._src.as_tensorflow import missing

    try:
        return missing.lacking(missing.read_source(path), top)
    except (OSError, SyntaxError):
        return {}


def _explained(error: BaseException, path: str, source: str, dialect: str, top: Any) -> str:
    """What to say of an error that ended a program, if the want of a name did; `source` is its absolute path."""
    from situs._src.as_tensorflow import missing
    from situs._src.as_tensorflow.for_keras import LackingError

    owner = getattr(error, "obj", None)
    of_ours = getattr(owner, "__name__", "").partition(".")[0] in ("situs", "tensorflow")
    by_import = isinstance(error, ImportError) and (error.name or "").startswith(("tensorflow", "situs"))
    if not (of_ours or by_import or isinstance(error, LackingError)):
        return ""
    missing.note(error)  # type: ignore[type-var]
    lines = [f"\nsitus: {path} uses what Situs lacks"]
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    if frames:
        lines[0] += f", at line {frames[-1].lineno}: {frames[-1].line}"
    lacks = _lacking(source, top)
    if lacks:
        shown = [f"tf.{name} (line {line})" for name, line in list(lacks.items())[:10]]
        more = f" and {len(lacks) - 10} more" if len(lacks) > 10 else ""
        lines.append(f"  names of the program that are not there: {', '.join(shown)}{more}")
        lines += [f"  did you mean tf.{name}?" for name in missing.alike(lacks, top)[:3]]
    lines.append(f"  it was run as a program of TensorFlow {dialect[1:]}; --dialect v1 or v2 says otherwise")
    lines.append("  situs run --missing FILE writes the list, to send to the project")
    return "\n".join(lines)
