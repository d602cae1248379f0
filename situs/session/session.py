"""``Session``: runs parts of a graph and keeps its variables.

    run(fetches, feed_dict)
      key        what is fetched and fed          -> a prepared run, kept
      prepare    prune, place, plan               -> a Program (situs.execution)
      run        feeds to values, the program, values to NumPy

Many threads may run one session: a run works on values of its own, and variables are guarded one by one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from situs.devices.logical import Device, in_listing_order
from situs.eager.bridge import Value, host
from situs.eager.tensor import to_numpy_value
from situs.errors import (
    DeadlineExceededError,
    DTypeError,
    FailedPreconditionError,
    InvalidArgumentError,
    UnimplementedError,
)
from situs.execution.engine import Engine
from situs.execution.program import Program
from situs.execution.state import Run, State
from situs.execution.trace import Recorder
from situs.graph import context
from situs.graph.graph import Graph
from situs.graph.node import Operation
from situs.graph.tensor import SymbolicTensor
from situs.placement.log import print_device_mapping
from situs.placement.placer import Placement
from situs.proto.config import ConfigProto, RunOptions
from situs.proto.stats import RunMetadata
from situs.session.config import read_config
from situs.session.feeds import check_dict, feed_tensors, feed_value, flattened
from situs.session.fetches import Fetches
from situs.session.partial import PartialRun
from situs.session.report import fill_metadata


class DeviceAttributes:
    """What ``list_devices`` tells of a device."""

    def __init__(self, device: Device) -> None:
        self.name = device.name
        self.device_type = device.type
        self.memory_limit_bytes = device.memory_limit
        self.incarnation = device.incarnation

    def __repr__(self) -> str:
        return f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit_bytes}, {self.incarnation})"


class Prepared:
    """One kind of run: what is fetched and fed, and the program for it."""

    __slots__ = ("feeds", "fetches", "program", "single")

    def __init__(self, fetches: Fetches, feeds: list[SymbolicTensor], program: Program, single: bool) -> None:
        self.fetches = fetches
        self.feeds = feeds
        self.program = program
        self.single = single  # one tensor, as it is


class BaseSession:
    """What all sessions do."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None) -> None:
        if target not in ("", "local", b""):
            raise UnimplementedError(
                f"Sessions run on the devices of this process; there is no server to connect to at {target!r}."
            )
        if graph is not None and not isinstance(graph, Graph):
            raise DTypeError(f"Argument `graph` must be a tf.Graph, but got {type(graph).__name__!r}")
        self._graph = context.get_default_graph() if graph is None else graph
        self._config = read_config(config)
        self._state = State()
        self._engine = Engine(
            self._graph,
            self._config.devices,
            soft=self._config.soft,
            log=self._config.log,
            pool=self._config.pool,
            pruned=self._config.pruned,
        )
        self._prepared: dict[Any, Prepared] = {}
        self._lock = threading.Lock()
        self._closed = False
        if self._config.log:
            print_device_mapping(self._config.devices)

    # What it is.

    @property
    def graph(self) -> Graph:
        """The graph it runs."""
        return self._graph

    @property
    def graph_def(self) -> Any:
        """The graph as a ``GraphDef``."""
        return self._graph.as_graph_def()

    @property
    def sess_str(self) -> str:
        """What the session is connected to: nothing but this process."""
        return ""

    def list_devices(self) -> list[DeviceAttributes]:
        """The devices of this session."""
        self._check_open()
        return [DeviceAttributes(device) for device in in_listing_order(self._config.devices)]

    def placement(self) -> Placement:
        """Where every operation of the graph goes, and why; places what has not been placed yet."""
        self._check_open()
        return self._engine.placement()

    # Running.

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Computes what is fetched, and nothing that it does not need.

        Args:
            fetches: A tensor, an operation, a variable, the name of one, or lists, tuples and dictionaries of them.
            feed_dict: Values to stand in for tensors.
            options: A ``RunOptions``: tracing, a time limit.
            run_metadata: A ``RunMetadata`` to be filled with what was traced.

        Returns:
            Values in the form of `fetches`: NumPy arrays and scalars, None for operations.
        """
        prepared, values = self._ready(fetches, feed_dict or {})
        if options is None and run_metadata is None and not self._config.timeout_ms:
            made = prepared.program.run(Run(self._state), values)
        else:
            made = self._run_with_options(prepared, values, options, run_metadata)
        if prepared.single:
            return to_client(made[0])
        return prepared.fetches.answer([to_client(value) for value in made])

    def _ready(self, fetches: Any, feed_dict: Any) -> tuple[Prepared, list[Value]]:
        """The prepared run for these fetches and feeds, and the values fed."""
        if self._closed:
            self._check_open()
        if type(feed_dict) is not dict:
            feed_dict = check_dict(feed_dict)
        try:
            prepared = self._prepared[_key(fetches, feed_dict)]
        except (KeyError, TypeError):  # not seen before, or not a form that can be a key
            feed_dict = flattened(feed_dict)
            prepared = self._prepare(fetches, feed_dict)
        share = not prepared.program.plan.changes_state
        fed = zip(prepared.feeds, feed_dict.values(), strict=True)
        return prepared, [feed_value(tensor, value, share) for tensor, value in fed]

    def _prepare(self, structure: Any, feed_dict: Mapping[Any, Any]) -> Prepared:
        if not len(self._graph):
            raise FailedPreconditionError(
                "The Session graph is empty. Add operations to the graph before calling run()."
            )
        feeds = feed_tensors(self._graph, feed_dict)
        fetches = Fetches(self._graph, structure)
        key = (*fetches.elements, None, *feeds)
        with self._lock:
            found = self._prepared.get(key)
            program = self._program(fetches, feeds) if found is None else found.program
            prepared = Prepared(fetches, feeds, program, isinstance(structure, SymbolicTensor))
            self._prepared[key] = prepared
            try:
                self._prepared[_key(structure, feed_dict)] = prepared
            except TypeError:
                pass
        return prepared

    def _program(self, fetches: Fetches, feeds: Sequence[SymbolicTensor]) -> Program:
        home = host()
        _check_fetchable(fetches.tensors)
        wanted = [(tensor, home) for tensor in fetches.tensors]
        return self._engine.program([(tensor, home) for tensor in feeds], wanted, fetches.operations)

    def _run_with_options(
        self, prepared: Prepared, values: list[Value], options: Any, metadata: Any
    ) -> tuple[Value, ...]:
        options = _checked(options, RunOptions, "options")
        metadata = _checked(metadata, RunMetadata, "run_metadata")
        traces = metadata is not None and options is not None and options.trace_level != RunOptions.NO_TRACE
        recorder = Recorder() if traces else None
        limit = (0 if options is None else options.timeout_in_ms) or self._config.timeout_ms
        run = Run(self._state)
        if limit:
            made = _within(limit, run, lambda: prepared.program.run(run, values, recorder))
        else:
            made = prepared.program.run(run, values, recorder)
        if metadata is not None:
            graphs = options is not None and options.output_partition_graphs
            fill_metadata(metadata, prepared.program.plan, recorder, graphs)
        return made

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """A function that runs the same fetches each time, given the values of `feed_list` in order."""
        feeds = feed_tensors(self._graph, feed_list or ())
        Fetches(self._graph, fetches)

        def call(*values: Any, options: Any = None, run_metadata: Any = None) -> Any:
            if len(values) != len(feeds):
                raise InvalidArgumentError(f"This callable takes {len(feeds)} values, got {len(values)}.")
            return self.run(fetches, dict(zip(feeds, values, strict=True)), options, run_metadata)

        return call

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> PartialRun:
        """Begins a run in parts: what may be fetched and fed in `partial_run`, once each."""
        self._check_open()
        wanted = Fetches(self._graph, fetches)
        return PartialRun(self._engine, Run(self._state), wanted.elements, feed_tensors(self._graph, feeds or ()))

    def partial_run(self, handle: PartialRun, fetches: Any, feed_dict: Any = None) -> Any:
        """Goes on with a run in parts: operations that ran in an earlier part do not run again."""
        self._check_open()
        wanted = Fetches(self._graph, fetches)
        feed_dict = check_dict(feed_dict or {})
        feeds = feed_tensors(self._graph, feed_dict)
        values = [feed_value(tensor, value, False) for tensor, value in zip(feeds, feed_dict.values(), strict=True)]
        made = handle.advance(wanted, dict(zip(feeds, values, strict=True)))
        return wanted.answer([to_client(value) for value in made])

    # Its life.

    def as_default(self) -> Any:
        """A context in which this session runs ``eval()`` and ``run()``; leaving it does not close the session."""
        return _Default(self)

    def close(self) -> None:
        """Ends the session: runs that wait are cancelled, variables are dropped."""
        self._closed = True
        self._state.closed.set()
        for resource in self._state.resources():
            wake = getattr(resource, "wake", None)
            if wake is not None:
                wake()
        self._prepared = {}
        self._state = State()
        self._state.closed.set()

    def _check_open(self) -> None:
        if self._closed:
            raise FailedPreconditionError("Attempted to use a closed Session.")


class _Default:
    """Makes a session, and nothing else, the default of this thread."""

    def __init__(self, session: BaseSession) -> None:
        self._session = session

    def __enter__(self) -> BaseSession:
        context.push_session(self._session)
        return self._session

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        context.pop_session(self._session)


class Session(BaseSession):
    """Runs parts of a graph and keeps its variables.

    Args:
        target: Empty: the devices of this process.
        graph: The graph; the default one if it is not given.
        config: A ``ConfigProto``.

    Example:
        with tf.Session() as sess:
            print(sess.run(c))
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None) -> None:
        super().__init__(target, graph, config)
        self._entered: list[Any] = []

    def __enter__(self) -> Session:
        graph = self._graph.as_default()
        graph.__enter__()
        self._entered.append(graph)
        context.push_session(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        context.pop_session(self)
        self._entered.pop().__exit__(None, None, None)
        self.close()


class InteractiveSession(BaseSession):
    """A session that is the default one from the start, for use at a prompt.

    Without a `config`, it places only what a run needs, and lets the memory taken from cards grow.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None) -> None:
        if config is None:
            config = ConfigProto()
            config.gpu_options.allow_growth = True
            config.graph_options.place_pruned_graph = True
        super().__init__(target, graph, config)
        self._explicit = None if graph is None else self._graph.as_default()
        if self._explicit is not None:
            self._explicit.__enter__()
        context.push_session(self)

    def close(self) -> None:
        """Ends the session, which is then no longer the default."""
        super().close()
        context.pop_session(self)
        if self._explicit is not None:
            self._explicit.__exit__(None, None, None)
            self._explicit = None


def _key(fetches: Any, feed_dict: Mapping[Any, Any]) -> Any:
    """What a prepared run is found by.

    Raises:
        TypeError: the fetches are in a form that cannot be a key.
    """
    if type(fetches) is list:
        fetches = ("list", *fetches)
    return (fetches, *feed_dict)


def to_client(value: Value) -> Any:
    """A fetched value for the program: an array of its own, a NumPy scalar, or bytes."""
    array = to_numpy_value(value)
    return array.copy() if array.ndim else array[()]


def _check_fetchable(tensors: Sequence[SymbolicTensor]) -> None:
    for tensor in tensors:
        if tensor.dtype.name == "resource":
            raise InvalidArgumentError(f"{tensor!r} stands for something the session holds, and has no value to fetch.")


def _checked(value: Any, kind: type, name: str) -> Any:
    if value is not None and not isinstance(value, kind):
        raise DTypeError(f"Argument `{name}` must be a tf.{kind.__name__}, but got {type(value).__name__!r}")
    return value


def _within(limit_ms: int, run: Run, work: Callable[[], tuple[Value, ...]]) -> tuple[Value, ...]:
    """Does some work on another thread and gives up waiting for it after a time.

    Raises:
        DeadlineExceededError: the time passed first. The work is told to stop; a call that has begun ends by itself.
    """
    outcome: list[Any] = []

    def attempt() -> None:
        try:
            outcome.append((work(), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=attempt, name="situs-timed-run", daemon=True)
    thread.start()
    thread.join(limit_ms / 1000)
    if not outcome:
        late = DeadlineExceededError(f"Timed out waiting for the run: it took longer than {limit_ms} ms.")
        run.stop(late)
        raise late
    made, error = outcome[0]
    if error is not None:
        raise error
    return made  # type: ignore[no-any-return]


__all__ = ["BaseSession", "InteractiveSession", "Operation", "Session"]
