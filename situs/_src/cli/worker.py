"""One process of ``situs launch``: tells its program by ``TF_CONFIG`` what torchrun says, and runs it.

    python -m situs._src.cli.worker [--report-to FOLDER] PROGRAM ...

All workers meet at torchrun's own address, which ``TF_CONFIG`` gives the first of them. The others' addresses are
there to be counted: nothing listens at them. With a folder for reports, a worker leaves one there as RANK.json; also if
torchrun ends it because another has failed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from situs._src.cli.main import main


def tf_config(rank: int, size: int, host: str, port: int) -> str:
    """What ``TF_CONFIG`` says to a worker.

    Args:
        rank: Its number.
        size: How many there are.
        host: Where they meet.
        port: The port there.
    """
    workers = [f"{host}:{port + number}" for number in range(size)]
    return json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": rank}})


if __name__ == "__main__":
    environ = os.environ
    environ["TF_CONFIG"] = tf_config(
        int(environ["RANK"]), int(environ["WORLD_SIZE"]), environ["MASTER_ADDR"], int(environ["MASTER_PORT"])
    )
    given = sys.argv[1:]
    if given[:1] == ["--report-to"]:
        given = ["--part", "--report", str(Path(given[1]) / f"{environ['RANK']}.json"), *given[2:]]
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    sys.exit(main(["run", *given]))
