"""One process of ``situs launch``: tells its program by ``TF_CONFIG`` what torchrun says, and runs it.

    python -m situs._src.cli.worker PROGRAM ...

All workers meet at torchrun's own address, which ``TF_CONFIG`` gives the first of them. The others' addresses are
there to be counted: nothing listens at them.
"""

from __future__ import annotations

import json
import os
import sys

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
    sys.exit(main(["run", *sys.argv[1:]]))
