"""``Session``: runs parts of a graph and keeps its variables.

    run(fetches, feed_dict)
      key        fetches and feeds                -> a prepared run, cached
      prepare    prune, place, plan               -> a Program (`runtime.run.program`)
      run        feeds to values, the program, values to NumPy

Many threads may run one session: each run has its own values, and variables are locked one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from situs._src.base import locks
from situs._src.base.devices.logical import Device, in_listing_order
from situs._src.base.errors import ArgumentError, DTypeError, StateError, UnimplementedError
from situs._src.base.export import export
from situs._src.base.tensor import Tensor
from situs._src.base.tree import key_of
from situs._src.ir.graph import context
from situs._src.ir.graph.graph import Graph
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.placement.log import print_device_mapping
from situs._src.placement.placer import Placement
from situs._src.runtime.dynamic.engine import DynamicEngine
from situs._src.runtime.dynamic.learn import learn
from situs._src.runtime.eager.bridge import Value, host
from situs._src.runtime.eager.tensor import to_client
from situs._src.runtime.run.engine import Engine
from situs._src.runtime.run.program import Program
from situs._src.runtime.run.state import Run, State
from situs._src.runtime.run.trace import Recorder
from situs._src.runtime.session.config import memory_is_settled, read_config
from situs._src.runtime.session.deadline import within
from situs._src.runtime.session.feeds import as_mapping, feed_tensors, feed_value, flattened, shapes_of
from situs._src.runtime.session.fetches import Fetches
from situs._src.runtime.session.partial import PartialRun
from situs._src.runtime.session.partition import fill_partitions
from situs._src.runtime.session.prepared import Prepared
from situs._src.runtime.session.report import fill_metadata

if TYPE_CHECKING:
    from situs._src.base.proto.config import ConfigProto


class DeviceAttributes:
    """A device in the result of ``list_devices``."""

    def __init__(self, device: Device) -> None:
        self.name = device.name
        self.device_type = device.type
        self.memory_limit_bytes = device.memory_limit
        self.incarnation = device.incarnation

    def __repr__(self) -> str:
        return f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit_bytes}, {self.incarnation})"


class BaseSession:
    """The base class of sessions."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None) -> None:
        if not isinstance(target, (str, bytes)):
            raise DTypeError(f'Argument `target` must be a string, but got "{type(target).__name__}"')
        if target not in ("", "local", b"", b"local"):
            raise UnimplementedError(
                f"Sessions run on the devices of this process; there is no server to connect to at {target!r}."
            )
        if graph is not None and not isinstance(graph, Graph):
            raise DTypeError(f'Argument `graph` must be a tf.Graph, but got "{type(graph).__name__}"')
        self._graph = context.get_default_graph() if graph is None else graph
        self._config = read_config(config)
        self._state = State()
        self._engine = self._make_engine()
        self._programs: dict[Any, Program] = {}  # by fetches and feeds
        self._prepared: dict[Any, Prepared] = {}  # by those and their structure
        self._lock = locks.lock()
        self._closed = False
        if self._config.log:
            print_device_mapping(self._config.devices)

    def _make_engine(self) -> Engine:
        config = self._config
        if config.placer.is_dynamic:
            return DynamicEngine(
                self._graph,
                config.devices,
                config.placer,
                soft=config.soft,
                log=config.log,
                pool=config.pool,
                pruned=config.pruned,
                swaps=config.swaps,
                compiles=config.compiles,
                state=lambda: self._state,
            )
        return Engine(
            self._graph,
            config.devices,
            soft=config.soft,
            log=config.log,
            pool=config.pool,
            pruned=config.pruned,
            swaps=config.swaps,
            compiles=config.compiles,
        )

    # What it is.

    @property
    def is_closed(self) -> bool:
        """Whether it has been closed."""
        return self._closed

    @property
    def graph(self) -> Graph:
        """The graph it runs."""
        return self._graph

    @property
    def graph_def(self) -> Any:
        """The graph as a ``GraphDef``; with the shapes of its results where the ``ConfigProto`` asks for them."""
        return self._graph.as_graph_def(add_shapes=self._config.adds_shapes)

    @property
    def sess_str(self) -> str:
        """What the session is connected to: nothing but this process."""
        return ""

    def list_devices(self) -> list[DeviceAttributes]:
        """The devices of this session."""
        self._check_open()
        return [DeviceAttributes(device) for device in in_listing_order(self._config.devices)]

    def placement(self) -> Placement:
        """The device of every operation of the graph, with the reason; places what has not been placed yet."""
        self._check_open()
        return self._engine.placement()

    # Running.

    def run(self, fetches: object, feed_dict: Any = None, options: object = None, run_metadata: object = None) -> Any:
        """Computes the fetches, and runs only what they need.

        Args:
            fetches: A tensor, an operation, a variable, the name of one, or lists, tuples and dictionaries of them.
            feed_dict: Values that replace tensors.
            options: A ``RunOptions``: tracing, a time limit.
            run_metadata: A ``RunMetadata`` to be filled with the trace.

        Returns:
            Values in the structure of `fetches`: NumPy arrays and scalars, None for operations.
        """
        state = self._state  # read first: closing the session replaces it
        if self._closed:
            self._check_open()
        if type(feed_dict) is not dict:
            feed_dict = as_mapping(feed_dict)
        prepared = self._find(fetches, feed_dict)
        if prepared is None:
            feed_dict = flattened(feed_dict)
            prepared = self._find(fetches, feed_dict) or self._prepare(fetches, feed_dict)
        values = prepared.values(feed_dict.values()) if feed_dict else ()
        return self._run(prepared, values, state, options, run_metadata)

    def _find(self, fetches: object, feed_dict: Mapping[Any, Any]) -> Prepared | None:
        """The prepared run for these fetches and feeds; None if there is none."""
        kind = type(fetches)
        try:
            form = fetches if kind is SymbolicTensor or kind is Operation else key_of(fetches)
            found = self._prepared.get((form, *feed_dict))
        except TypeError:  # not hashable
            return None
        return None if self._graph.restricted else found  # permissions are checked again

    def _prepare(self, structure: object, feed_dict: Mapping[Any, Any]) -> Prepared:
        if not len(self._graph):
            raise StateError(
                "The Session graph is empty. Add operations to the graph before calling run(). It is the graph "
                "that was the default one when the session was made; Session(graph=...) takes another."
            )
        feeds = feed_tensors(self._graph, feed_dict)
        fetches = Fetches(self._graph, structure)
        with self._lock:
            key = (*fetches.elements, None, *feeds)
            if key not in self._programs:
                if isinstance(self._engine, DynamicEngine):
                    self._engine.expect(shapes_of(feeds, feed_dict.values()))
                self._programs[key] = self._program(fetches, feeds)
            prepared = Prepared(fetches, feeds, self._programs[key], isinstance(structure, SymbolicTensor))
            try:
                self._prepared[key_of(structure), *feed_dict] = prepared
            except TypeError:
                pass
        return prepared

    def _program(self, fetches: Fetches, feeds: Sequence[SymbolicTensor]) -> Program:
        home = host()
        _check_fetchable(fetches.tensors)
        wanted = [(tensor, home) for tensor in fetches.tensors]
        return self._engine.program([(tensor, home) for tensor in feeds], wanted, fetches.operations)

    def _run(self, prepared: Prepared, values: Sequence[Value], state: State, options: object, metadata: object) -> Any:
        if self._engine.version != self._graph.version:
            self._engine.follow()
        if options is None and metadata is None and not self._config.timeout_ms:
            made = prepared.program.run(Run(state), values)
        else:
            made = self._run_with_options(prepared, values, Run(state), options, metadata)
        return prepared.answer(made)

    def _run_with_options(
        self, prepared: Prepared, values: Sequence[Value], run: Run, options: Any, metadata: Any
    ) -> tuple[Value, ...]:
        from situs._src.base.proto.config import RunOptions  # here, because it loads protobuf
        from situs._src.base.proto.stats import RunMetadata

        options = _checked(options, RunOptions, "options")
        metadata = _checked(metadata, RunMetadata, "run_metadata")
        traces = metadata is not None and options is not None and options.trace_level != RunOptions.NO_TRACE
        recorder, program = Recorder() if traces else None, prepared.program
        limit = (0 if options is None else options.timeout_in_ms) or self._config.timeout_ms
        if limit > 0:
            made = within(limit, run, lambda: program.run(run, values, recorder, stoppable=True))
        else:
            made = program.run(run, values, recorder)
        if metadata is not None:
            fill_metadata(metadata, recorder, program.plan, prepared.fetches.tensors)
            if recorder is not None and isinstance(self._engine, DynamicEngine):
                self._engine.note(learn([recorder.events], program.plan, self._engine.store))
                self._engine.store.save_if_possible()
            if options is not None and options.output_partition_graphs:
                fill_partitions(metadata, program.plan, prepared.feeds, prepared.fetches.tensors)
        return made  # type: ignore[no-any-return]

    def make_callable(
        self, fetches: object, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """A function that runs the same fetches each time, given the values of `feed_list` in order.

        Args:
            fetches: As for `run`.
            feed_list: The tensors to be fed.
            accept_options: Accepted for TensorFlow's programs: ``options`` and ``run_metadata`` are always taken.
        """
        feeds = dict.fromkeys(feed_tensors(self._graph, as_list(feed_list, "feed_list")))
        Fetches(self._graph, fetches)

        def call(*values: Any, options: object = None, run_metadata: object = None) -> Any:
            if len(values) != len(feeds):
                raise ArgumentError(f"This callable takes {len(feeds)} values, got {len(values)}.")
            state = self._state
            self._check_open()
            prepared = self._find(fetches, feeds) or self._prepare(fetches, feeds)
            return self._run(prepared, prepared.values(values), state, options, run_metadata)

        return call

    def partial_run_setup(self, fetches: object, feeds: Any = None) -> PartialRun:
        """Starts a partial run: what may be fetched and fed in `partial_run`, once each."""
        self._check_open()
        wanted = Fetches(self._graph, fetches)
        if not wanted.elements:
            raise ArgumentError("Must specify at least one target to fetch or execute.")
        announced = feed_tensors(self._graph, as_list(feeds, "feeds"))
        return PartialRun(self._engine, Run(self._state), wanted.elements, announced)

    def partial_run(self, handle: PartialRun, fetches: object, feed_dict: Any = None) -> Any:
        """Continues a partial run: operations that ran in an earlier part do not run again."""
        self._check_open()
        if not isinstance(handle, PartialRun):
            raise ArgumentError(
                "Must run 'setup' before performing partial runs! Expected what partial_run_setup() gave, got "
                f"{handle!r}."
            )
        wanted = Fetches(self._graph, fetches)
        feed_dict = flattened(as_mapping(feed_dict))
        feeds = feed_tensors(self._graph, feed_dict)
        values = [feed_value(tensor, value, False) for tensor, value in zip(feeds, feed_dict.values(), strict=True)]
        made = handle.advance(wanted, dict(zip(feeds, values, strict=True)))
        return wanted.answer([to_client(value) for value in made])

    # Its life.

    def __reduce__(self) -> Any:
        raise DTypeError(
            f"cannot pickle or copy a {type(self).__name__}: it holds values of this process. tf.train.Saver saves its "
            "variables."
        )

    def as_default(self) -> _Default:
        """A context in which this session runs ``eval()`` and ``run()``; leaving it does not close the session."""
        return _Default(self)

    def close(self) -> None:
        """Closes the session: waiting runs are cancelled, variables are dropped."""
        self._closed = True
        self._state.closed.set()
        for resource in self._state.resources():
            wake = getattr(resource, "wake", None)
            if wake is not None:
                wake()
        if self._config.pool is not None:
            self._config.pool.close()
        self._prepared, self._programs = {}, {}
        self._engine.close()
        self._state = State()
        self._state.closed.set()

    def _check_open(self) -> None:
        if self._closed:
            raise StateError("Attempted to use a closed Session.")


class _Default:
    """Makes a session the default of this thread, and nothing else."""

    def __init__(self, session: BaseSession) -> None:
        self._session = session

    def __enter__(self) -> BaseSession:
        context.push_session(self._session)
        return self._session

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        context.pop_session(self._session)


@export(
    v1="Session",
    differs="Targets on other machines are errors: a session uses the devices of this process only. The arrays that "
    "run returns always belong to the caller. A None in a feed is an error; TensorFlow feeds NaN. An error names the "
    "operation and the line of the program that created it.",
)
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
        if self._entered:
            raise StateError(
                "Session context managers are not re-entrant. Use `Session.as_default()` if you want to enter a "
                "session multiple times."
            )
        self._check_open()
        graph = self._graph.as_default()
        graph.__enter__()
        self._entered.append(graph)
        context.push_session(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._entered:
            raise StateError("The session was not entered: there is no `with` to leave.")
        context.pop_session(self)
        self._entered.pop().__exit__(None, None, None)
        self.close()


@export(v1="InteractiveSession")
class InteractiveSession(BaseSession):
    """A session that is the default one from the start, for use at a prompt.

    It places only what a run needs and, without a `config`, lets the reserved GPU memory grow.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: ConfigProto | None = None) -> None:
        super().__init__(target, graph, _for_a_prompt(config))
        self._explicit = None if graph is None else self._graph.as_default()
        if self._explicit is not None:
            self._explicit.__enter__()
        context.push_session(self)

    def close(self) -> None:
        """Closes the session, which is then no longer the default."""
        super().close()
        context.pop_session(self, nested=False)
        if self._explicit is not None:
            self._explicit.__exit__(None, None, None)
            self._explicit = None


def _for_a_prompt(config: object) -> Any:
    """The options of an interactive session; the program's own message is not modified."""
    from situs._src.base.proto.config import ConfigProto  # here, because it loads protobuf

    if config is not None and not isinstance(config, ConfigProto):
        return config  # rejected later
    chosen = ConfigProto()
    if config is None:
        chosen.gpu_options.allow_growth = not memory_is_settled()  # our default, so no warning
    else:
        chosen.CopyFrom(config)
    chosen.graph_options.place_pruned_graph = True
    return chosen


def as_list(given: object, name: str) -> Sequence[Any]:
    """An argument as a list: empty for None, with one element for a single tensor or name.

    Raises:
        TypeError: it is something else.
    """
    if given is None:
        return []
    if isinstance(given, (str, bytes, Tensor)):
        return [given]
    if not isinstance(given, Iterable):
        raise DTypeError(f"Argument `{name}` must be a list of tensors, but got {given!r}")
    return list(given)


def _check_fetchable(tensors: Sequence[SymbolicTensor]) -> None:
    for tensor in tensors:
        if tensor.dtype.name in ("resource", "variant"):
            raise ArgumentError(f"{tensor!r} stands for something the session holds, and has no value to fetch.")


def _checked(value: object, kind: type, name: str) -> Any:
    if value is not None and not isinstance(value, kind):
        raise DTypeError(f'Argument `{name}` must be a tf.{kind.__name__}, but got "{type(value).__name__}"')
    return value


__all__ = ["BaseSession", "InteractiveSession", "Session"]


def ways_in(session: BaseSession) -> dict[str, str]:
    """How operations have run in a session that compiles, by name; of several programs, one that has compiled them."""
    found: dict[str, str] = {}
    for program in list(session._programs.values()):
        for node, way in program.ways().items():
            if node.name not in found or way.startswith("compiled"):
                found[node.name] = way
    return found
