"""``tf.test.TestCase``: a test with sessions, temporary folders and assertions about tensors.

    class AddTest(tf.test.TestCase):
        def test_adds(self):
            with self.session() as sess:
                self.assertAllEqual(sess.run(tf.add(1, 2)), 3)

    if __name__ == "__main__":
        tf.test.main()

Each test begins with an empty default graph and the same random seeds.
"""

from __future__ import annotations

import atexit
import functools
import os
import random
import shutil
import tempfile
import threading
import unittest
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from situs._src.base.devices.inventory import process
from situs._src.base.errors import ArgumentError
from situs._src.base.export import export
from situs._src.base.proto.config import ConfigProto
from situs._src.base.tree import flatten, pack_like
from situs._src.ir.graph.context import get_default_graph, get_default_session, reset_default_graph
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.seeds import set_graph_seed, set_seed
from situs._src.ops.slices import IndexedSlices, IndexedSlicesValue
from situs._src.runtime.session.config import memory_is_settled
from situs._src.runtime.session.session import Session
from situs._src.testing.assertions import Assertions
from situs._src.variables.symbolic import RefVariable

_SEED = 87654321


@export("test.TestCase")
class TestCase(Assertions):
    """A test of a program that computes with tensors."""

    def __init__(self, methodName: str = "runTest") -> None:  # noqa: N803 - unittest's name
        super().__init__(methodName)
        self._cached: Session | None = None
        self._cached_for: tuple[Any, Any, bool] = (None, None, False)
        self._folder: str | None = None
        self._threads: list[CheckedThread] = []

    def setUp(self) -> None:
        """Begins with an empty default graph and fixed seeds."""
        super().setUp()
        random.seed(_SEED)
        np.random.seed(_SEED)
        reset_default_graph()
        set_seed(_SEED)
        set_graph_seed(_SEED)

    def tearDown(self) -> None:
        """Closes what the test left open."""
        for thread in self._threads:
            thread.check_termination()
        if self._cached is not None:
            self._cached.close()
            self._cached = None
        super().tearDown()

    # Sessions.

    @contextmanager
    def session(
        self, graph: Graph | None = None, config: object = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> Iterator[Session]:
        """A context with a session of its own, in which ops are added to its graph.

        Args:
            graph: The graph; the default one if it is not given.
            config: A ``ConfigProto``.
            use_gpu: Whether ops may go to GPUs; without it they are put on the CPU.
            force_gpu: Whether ops are put on the first GPU, and fail if it cannot run them.
        """
        with Session("", graph, _config(config, force_gpu)) as session, _placing(session.graph, use_gpu, force_gpu):
            yield session

    @contextmanager
    def cached_session(
        self, graph: Graph | None = None, config: object = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> Iterator[Session]:
        """As `session`, with one session and one graph for the whole test: variables keep their values."""
        session = self._keep(graph, config, force_gpu)
        with session.graph.as_default(), session.as_default(), _placing(session.graph, use_gpu, force_gpu):
            yield session

    def test_session(
        self, graph: Graph | None = None, config: object = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> Any:
        """An older name: `cached_session` without a graph, `session` with one."""
        if self._testMethodName == "test_session":  # unittest takes it for a test, by its name
            self.skipTest("Not a test.")
        kind = self.cached_session if graph is None else self.session
        return kind(graph, config, use_gpu, force_gpu)

    def _keep(self, graph: Graph | None, config: object, force_gpu: bool) -> Session:
        """The session of the test: the one that was made first, of the graph that was the default one then."""
        if self._cached is None:
            self._cached = Session("", get_default_graph() if graph is None else graph, _config(config, force_gpu))
            self._cached_for = self._cached.graph, config, force_gpu
        wanted = self._cached.graph if graph is None else graph, config, force_gpu
        for name, now, first in zip(("graph", "config", "force_gpu"), wanted, self._cached_for, strict=True):
            if now != first:
                raise ArgumentError(
                    f"The {name} used to get the cached session is different than the one that was used to create the "
                    "session. Maybe create a new session with self.session()"
                )
        return self._cached

    def evaluate(self, tensors: object) -> Any:
        """The values of tensors, or structures of them: eager ones at once, those of graphs in the test's session."""
        leaves = flatten(tensors)
        symbolic = [leaf for leaf in leaves if isinstance(_rows_or(leaf), (SymbolicTensor, Operation, RefVariable))]
        if not symbolic:
            return pack_like(tensors, [_value_of(leaf) for leaf in leaves])
        session = get_default_session()
        if session is not None:
            return session.run(tensors)
        with self.test_session() as cached:
            return cached.run(tensors)

    # Folders and threads.

    def get_temp_dir(self) -> str:
        """A folder for this test, empty at first and deleted after it."""
        if self._folder is None:
            self._folder = tempfile.mkdtemp(dir=get_temp_dir())
            self.addCleanup(shutil.rmtree, self._folder, ignore_errors=True)
        return self._folder

    def checkedThread(  # noqa: N802 - TensorFlow's name
        self, target: Callable[..., Any], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> CheckedThread:
        """A thread whose errors are errors of the test, when it is joined."""
        thread = CheckedThread(self, target, args or (), kwargs or {})
        self._threads.append(thread)
        return thread


class CheckedThread:
    """A thread of a test: `join` raises what went wrong in it."""

    def __init__(
        self, case: unittest.TestCase, target: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        self._case, self._target, self._args, self._kwargs = case, target, args, kwargs
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._error: BaseException | None = None
        self._joined = True

    def _run(self) -> None:
        try:
            self._target(*self._args, **self._kwargs)
        except BaseException as error:
            self._error = error

    def start(self) -> None:
        """Starts the thread."""
        self._joined = False
        self._thread.start()

    def join(self) -> None:
        """Waits for the thread and raises its error, if it had one."""
        self._joined = True
        self._thread.join()
        if self._error is not None:
            raise self._case.failureException(f"Error in checkedThread: {self._error!r}") from self._error

    def is_alive(self) -> bool:
        """Whether it still runs."""
        return self._thread.is_alive()

    def check_termination(self) -> None:
        """Fails the test if the thread was not joined."""
        if not self._joined:
            self._case.fail("A checked thread was not joined before the end of the test: call its join().")


def _config(config: object, force_gpu: bool) -> Any:
    """What was given; otherwise, ops that a GPU cannot run go elsewhere unless a GPU was insisted on."""
    if config is not None:
        return config
    chosen = ConfigProto()
    chosen.allow_soft_placement = not force_gpu
    chosen.gpu_options.allow_growth = not memory_is_settled()
    return chosen


@contextmanager
def _placing(graph: Graph, use_gpu: bool, force_gpu: bool) -> Iterator[None]:
    if not force_gpu and use_gpu:
        yield
        return
    name = next((d.local_name for d in process.preview() if d.type == "GPU"), "") if force_gpu else "/device:CPU:0"
    if not name:
        raise ArgumentError("force_gpu=True asks for a GPU, and this machine has none.")
    with graph.device(name):
        yield


@export("test.get_temp_dir")
@functools.cache
def get_temp_dir() -> str:
    """A folder for the files of tests, deleted when the program ends; in ``TEST_TMPDIR`` if that is set."""
    above = os.environ.get("TEST_TMPDIR")
    if above:
        Path(above).mkdir(parents=True, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="situs_test_", dir=above or None)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@export("test.main")
def main(argv: list[str] | None = None) -> Any:
    """Runs the tests of the program, and exits."""
    return unittest.main(argv=argv)


def _rows_or(leaf: object) -> Any:
    """The rows of indexed slices; anything else itself."""
    return leaf.values if isinstance(leaf, IndexedSlices) else leaf


def _value_of(leaf: object) -> Any:
    """The value of an eager tensor, or of slices of some; anything else itself."""
    if isinstance(leaf, IndexedSlices):
        return IndexedSlicesValue(*[None if part is None else _value_of(part) for part in leaf.__components__()])
    return leaf.numpy() if hasattr(leaf, "numpy") else leaf
