"""What tests on a real card share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import STUCK
from tests.gpu.forked import Server

RunForked = Callable[..., str]


@pytest.fixture(scope="module")
def forking() -> Iterator[Server]:
    """A process that forks others, which find everything loaded."""
    server = Server()
    yield server
    server.close()


@pytest.fixture
def run_forked(forking: Server, tmp_path: Path) -> RunForked:
    """Runs a program as `run_python` does, in a process of its own that finds everything imported."""

    def run(program: str, *, fails: bool = False, **env: str) -> str:
        done = forking.run(program, tmp_path, STUCK, **env)
        assert (done.code != 0) == fails, done.out + done.err
        return done.out + done.err

    return run
