"""``situs launch -n 4 PROGRAM``: runs a program in several processes on this machine, which find each other.

    situs launch -n 4 train.py --epochs 1       four workers for tf.distribute.MultiWorkerMirroredStrategy()
    situs launch -n 2 -m package.train
    situs launch -n 4 --report out.html train.py    a page about all of them, on one clock

torchrun (`torch.distributed.run`) starts and watches them: if one fails, the others are ended, and so is the
command, with its status. Each process runs its program as ``situs run`` does, and has RANK, WORLD_SIZE,
MASTER_ADDR and MASTER_PORT as torchrun sets them, and a ``TF_CONFIG`` that says the same (`cli.worker`).
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from situs._src.cli import program

MOST = 1024


def add_command(commands: Any) -> None:
    """Adds ``launch`` to the command line."""
    parser = commands.add_parser(
        "launch",
        help="run a program in several processes that train together",
        usage="situs launch -n N [options] (PROGRAM | -m MODULE) [argument ...]",
    )
    parser.add_argument("-n", "--workers", type=int, required=True, metavar="N", help="how many processes")
    parser.add_argument(
        "--report", metavar="FILE", help="write a report on all of them: a page (.html) or data (.json)"
    )
    parser.add_argument("-m", dest="module", metavar="MODULE", help="run a module, as python -m does")
    parser.add_argument(
        "arguments", metavar="PROGRAM ...", nargs=argparse.REMAINDER, help="a file, and what it is given"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Runs the program, and returns the status of the worker that failed first, or 0."""
    given = list(arguments.arguments)
    if not 1 <= arguments.workers <= MOST:
        raise program.UsageError(f"situs launch -n takes a number of processes, 1 to {MOST}, got {arguments.workers}.")
    if arguments.module is None and not given:
        raise program.UsageError(
            "situs launch needs a program: situs launch -n N PROGRAM, or situs launch -n N -m MODULE."
        )
    program.find(arguments.module or given[0], is_module=arguments.module is not None)  # says if there is none
    if arguments.module is not None:
        given = ["-m", arguments.module, *given]
    os.environ.setdefault("OMP_NUM_THREADS", str(max((os.cpu_count() or 1) // arguments.workers, 1)))
    if arguments.report is None:
        return _launched(arguments.workers, given)
    return _reported(arguments.workers, given, arguments.report)


def _reported(workers: int, given: list[str], path: str) -> int:
    """Runs the program with a report on each worker, and makes one of them, however the workers ended."""
    from situs._src.inspect.output import check_writable  # here, because these load PyTorch
    from situs._src.report import data
    from situs._src.report.report import check_suffix, write
    from situs._src.report.workers import together

    check_suffix(path)
    place = check_writable(path)
    with TemporaryDirectory(prefix="situs-") as folder:
        status = _launched(workers, ["--report-to", folder, *given])
        parts = [Path(folder) / f"{rank}.json" for rank in range(workers)]
        made = together([data.load(part) if part.is_file() else None for part in parts], f"{workers} workers")
    write(made, path)
    print(f"situs: the report is in {place.resolve().as_uri()}", file=sys.stderr)
    return status


def _launched(workers: int, given: list[str]) -> int:
    import logging

    from torch.distributed import run as torchrun  # here, because it loads PyTorch
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    how = ["--nnodes=1", f"--nproc-per-node={workers}", "--max-restarts=0"]
    meeting = ["--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0", "--local-addr=127.0.0.1"]
    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)  # what a worker ended with is said below
    try:
        torchrun.main([*how, *meeting, "-m", "situs._src.cli.worker", *given])
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        ended = "was ended by a signal" if failure.exitcode < 0 else f"failed with status {failure.exitcode}"
        print(f"situs: worker {rank} of {workers} {ended}, and the others were ended.", file=sys.stderr)
        return 128 - failure.exitcode if failure.exitcode < 0 else failure.exitcode
    return 0
