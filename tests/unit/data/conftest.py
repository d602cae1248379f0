"""What the tests of datasets share: elements as plain values, and the threads that pipelines start."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import situs.compat.v1 as tf1
from tests.conftest import STUCK

LIMIT = STUCK


def plain(value: Any) -> Any:
    """An element of NumPy values as lists and Python values."""
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


@pytest.fixture
def values() -> Callable[..., list[Any]]:
    """All elements of a dataset, as plain values."""
    return lambda dataset: [plain(element) for element in dataset.as_numpy_iterator()]


def working() -> list[str]:
    """The names of the threads that pipelines have started."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("situs-data")]


@pytest.fixture
def ended() -> Callable[[], bool]:
    """Whether all threads of pipelines end, without the help of the garbage collector."""

    def wait() -> bool:
        until = time.monotonic() + LIMIT
        while working() and time.monotonic() < until:
            time.sleep(0.005)
        return not working()

    return wait


@pytest.fixture
def graph() -> Iterator[Any]:
    """A graph of the test's own."""
    with tf1.Graph().as_default() as made:
        yield made


def stands_in(thread: threading.Thread, file: str) -> None:
    """Returns when a thread is in a function of this file."""
    end = time.monotonic() + LIMIT
    while file not in {Path(frame.f_code.co_filename).name for frame in _frames(thread)}:
        assert time.monotonic() < end, f"it does not come to {file}"
        time.sleep(0.001)


def _frames(thread: threading.Thread) -> Iterator[FrameType]:
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None:
        yield frame
        frame = frame.f_back
