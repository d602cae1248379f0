"""Programs of several workers: processes on the loopback device, which are ended whatever happens.

Each is forked from a process that has imported Situs, and does what Python does with a program: that saves seconds.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest

from tests.conftest import ROOT
from tests.worker_program import run_program

LONGEST = 240.0  # seconds: only what hangs takes so long


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["situs._src.distribute.multi_worker", "situs.distribute", "situs.data"])


@dataclass
class Worker:
    """A process of a program, and what it has printed."""

    process: Any
    output: IO[str]

    def printed(self) -> str:
        """What it has printed so far."""
        self.output.seek(0)
        return self.output.read()

    def wait(self) -> int:
        """Waits for its end; its exit status."""
        self.process.join(LONGEST)
        return int(self.process.exitcode)

    def send(self, number: signal.Signals) -> None:
        """Sends it a signal."""
        os.kill(self.process.pid, number)

    def wait_for(self, text: str) -> None:
        """Waits until it has printed something."""
        limit = time.monotonic() + LONGEST
        while text not in self.printed():
            assert self.process.exitcode is None, self.printed()
            assert time.monotonic() < limit, f"{text!r} was not printed: {self.printed()}"
            time.sleep(0.02)


class Workers(list[Worker]):
    """The processes of a program."""

    def wait(self) -> list[str]:
        """Waits for all of them to end well; what each has printed."""
        statuses = [each.wait() for each in self]
        printed = [each.printed() for each in self]
        assert statuses == [0] * len(self), "\n".join(printed)
        return printed


StartWorkers = Callable[..., Workers]


@pytest.fixture
def start_workers(tmp_path: Path) -> Iterator[StartWorkers]:
    """Starts a program in several processes, which ``TF_CONFIG`` tells of each other."""
    started: list[Worker] = []

    def start(program: str, count: int = 2, *, only: tuple[int, ...] | None = None, **env: str) -> Workers:
        assert count <= 4
        number = len(list(tmp_path.glob("program*.py")))
        path = tmp_path / f"program{number}.py"
        path.write_text(program)
        addresses = [f"127.0.0.1:{free_port()}" for _ in range(count)]
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("SITUS_", "CUDA_"))}
        made = Workers()
        for rank in range(count) if only is None else only:
            config = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": rank}}
            own = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "TF_CONFIG": json.dumps(config)}
            own["SITUS_WORKERS_SILENT"] = "60"  # a busy machine is not taken for a worker that hangs
            own.update(env)
            output = (tmp_path / f"output{number}.{rank}").open("w+")
            process = FORKS.Process(target=run_program, args=(str(path), output.name, {**clean, **own}))
            process.start()
            made.append(Worker(process, output))
            started.append(made[-1])
        return made

    yield start
    for each in started:
        if each.process.exitcode is None:
            each.process.kill()
            each.process.join()
        each.output.close()
