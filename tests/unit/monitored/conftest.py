"""A hook that notes its calls, a model to train, and what an event file says."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import situs.compat.v1 as tf
from situs._src.summaries.cache import FileWriterCache
from situs._src.v1.monitored.hook import SessionRunHook


@pytest.fixture
def graph() -> Iterator[Any]:
    """A graph of the test's own."""
    with tf.Graph().as_default() as made:
        yield made


@pytest.fixture(autouse=True)
def _no_writers_left() -> Iterator[None]:
    yield
    FileWriterCache.clear()


class Noting(SessionRunHook):
    """Notes its calls, and does in them what it is told."""

    def __init__(self, name: str, calls: list[str], **does: Callable[..., Any]) -> None:
        self.name, self.calls, self.does = name, calls, does

    def _do(self, what: str, *args: Any) -> Any:
        self.calls.append(f"{self.name}.{what}")
        return self.does[what](*args) if what in self.does else None

    def begin(self):
        self._do("begin")

    def after_create_session(self, session, coord):
        self._do("create", session, coord)

    def before_run(self, run_context):
        return self._do("before", run_context)

    def after_run(self, run_context, run_values):
        self._do("after", run_context, run_values)

    def end(self, session):
        self._do("end", session)


@pytest.fixture
def calls() -> list[str]:
    """The calls that were noted."""
    return []


@pytest.fixture
def noting(calls: list[str]) -> Callable[..., Noting]:
    """Makes hooks that note their calls in `calls`."""
    return lambda name="h", **does: Noting(name, calls, **does)


class Model:
    """One variable that goes down, and the step."""

    def __init__(self) -> None:
        self.step = tf.train.get_or_create_global_step()
        self.x = tf.Variable(1.0, name="x")
        self.loss = tf.multiply(self.x, 2.0, name="loss")
        self.train = tf.train.GradientDescentOptimizer(0.1).minimize(self.loss, global_step=self.step)


@pytest.fixture
def model(graph: Any) -> Model:
    """A model in `graph`."""
    return Model()


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """What was logged so far, from the level INFO on."""
    caplog.set_level(logging.INFO, logger="situs")
    return lambda: [record.getMessage() for record in caplog.records]


@pytest.fixture
def events() -> Callable[[Path], list[Any]]:
    """The events in the files of a folder, in the order they were written."""
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event

    def read(folder: Path) -> list[Any]:
        FileWriterCache.clear()
        files = [RawEventFileLoader(str(path)) for path in sorted(folder.glob("events*"))]
        return [Event.FromString(record) for file in files for record in file.Load()]

    return read
