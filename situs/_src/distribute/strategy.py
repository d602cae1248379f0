"""``tf.distribute.Strategy`` and its kinds within one process.

Strategy                   the base class; also the default strategy with one replica
MirroredStrategy           a replica on each device, with its own copy of each variable, kept in sync
OneDeviceStrategy          one replica on one device
CentralStorageStrategy     a replica on each device, and variables on one of them
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

from situs._src.autodiff.custom import with_gradient
from situs._src.base.devices.scope import device, here, record_on
from situs._src.base.devices.spec import parse_spec
from situs._src.base.errors import ArgumentError, DTypeError, StateError, shown
from situs._src.base.export import export
from situs._src.base.tensor import read
from situs._src.base.tree import LEAF, flatten, pack_like, put_together, take_apart
from situs._src.config.devices import get_soft_device_placement, list_logical_devices
from situs._src.distribute import context, reduction
from situs._src.distribute.alike import alike
from situs._src.distribute.cluster_resolver import ClusterResolver
from situs._src.distribute.communication import CommunicationOptions
from situs._src.distribute.input import InputContext, distributed, from_function
from situs._src.distribute.packing import buckets, packed, unpacked
from situs._src.distribute.reduction import CrossDeviceOps, ReduceOp, as_reduce_op
from situs._src.distribute.replicas import Replica, run_replicas
from situs._src.distribute.values import DistributedValues, PerReplica, container_of, local_values, regroup, select
from situs._src.distribute.variables import AggregatingVariable, DistributedVariable, kind_of
from situs._src.ir.graph.function import FunctionGraph
from situs._src.ir.graph.replicas import Reduction, Replicas
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.array import identity
from situs._src.ops.array import shape as shape_of
from situs._src.ops.constant import convert_to_tensor
from situs._src.ops.constant import range as range_of
from situs._src.ops.cumulative import cumsum
from situs._src.ops.gather import gather
from situs._src.ops.join import concat, stack
from situs._src.ops.slices import IndexedSlices
from situs._src.placement import options as options_of_placement
from situs._src.tracing.function import Function, functions_run_eagerly
from situs._src.tracing.trace import TraceAgain
from situs._src.variables.creators import variable_creator_scope
from situs._src.variables.eager import Variable
from situs._src.variables.replication import VariableAggregation, VariableSynchronization, settled, strategies


@export("distribute.ReplicaContext")
class ReplicaContext:
    """The replica context inside ``strategy.run``.

    Args:
        strategy: The strategy.
        number: The number of the replica.
        name: Its device.
    """

    def __init__(self, strategy: Strategy, number: int, name: str) -> None:
        self._strategy = strategy
        self._number, self._name = number, name
        self.thread: Replica | None = None

    @property
    def strategy(self) -> Strategy:
        """The strategy."""
        return self._strategy

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        return self._strategy.num_replicas_in_sync

    @property
    def replica_id_in_sync_group(self) -> Any:
        """The number of this replica, a tensor."""
        context.differs("the number of its replica")
        number = self._strategy.first_replica + self._number
        if self._strategy.is_default:
            return convert_to_tensor(number)
        with device(self._name):
            return convert_to_tensor(number)

    @property
    def devices(self) -> tuple[str, ...]:
        """The device of this replica."""
        context.differs("the device of its replica")
        return (self._name,)

    def __enter__(self) -> ReplicaContext:
        self._before = context.stack.entered, here.replica
        context.stack.entered = (*context.stack.entered, context.Entered(self._strategy, self))
        here.replica = self._number
        return self

    def __exit__(self, *error: object) -> None:
        context.stack.entered, here.replica = self._before

    def merge_call(
        self, merge_fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Calls a function once for all replicas, in the cross-replica context.

        Args:
            merge_fn: Called with the strategy, and with the replicas' arguments as ``PerReplica`` values.
            args: The arguments of this replica.
            kwargs: The keyword arguments of this replica.
        """
        given = tuple(args), dict(kwargs or {})
        if context.current().replica is not self:
            raise StateError(
                "merge_call(), all_reduce() and all_gather() of a replica are for the function that strategy.run() "
                "calls, while it runs; this is not in there. Ask tf.distribute.get_replica_context() in that function."
            )
        if self.thread is not None:
            return self.thread.meet(merge_fn, *given)
        before = context.stack.entered
        context.stack.entered = (*before, context.Entered(self._strategy, None))
        try:
            return merge_fn(self._strategy, *given[0], **given[1])
        finally:
            context.stack.entered = before

    def all_reduce(self, reduce_op: Any, value: Any, options: Any = None) -> Any:
        """Reduces the values of all replicas; every replica gets the result.

        If all replicas pass the same tensor object, it is returned unchanged, as in TensorFlow.

        Args:
            reduce_op: ``SUM`` or ``MEAN``.
            value: A tensor, or a structure of them.
            options: How values are sent between workers.
        """
        op = as_reduce_op(reduce_op)
        if not self._strategy.extended.exchanges:
            return value
        values = [_as_value(leaf) for leaf in flatten(value)]

        def gradient(*grads: Any) -> list[Any]:  # of a sum over replicas, whatever each of them makes of it
            return list(self.all_reduce(op, list(grads), options))

        return pack_like(value, self._together(partial(self._reduced, op, options), values, gradient))

    def _together(
        self, compute: Callable[[list[Any]], list[Any]], values: list[Any], gradient: Callable[..., list[Any]]
    ) -> list[Any]:
        """What replicas compute together, in which a tape sees one operation with a gradient of its own.

        The tape of a replica sees its own part only, and what the others make of the results has gradients, too.

        Args:
            compute: From the values of this replica to its results.
            values: The values.
            gradient: From the gradients of this replica's results to those of its values.
        """
        if not here.tapes or any(isinstance(value, IndexedSlices) for value in values):
            results = compute(values)
            strategies.collectives.update(result.op for result in results if isinstance(result, SymbolicTensor))
            return results
        tapes = record_on(())
        try:
            results = compute(values)
        finally:
            record_on(tapes)
        return with_gradient(results, values, gradient)

    def _reduced(self, op: ReduceOp, options: Any, values: list[Any]) -> list[Any]:
        """The sums or means of values that replicas have, for this one."""
        is_alone = self._strategy.extended.replicas_here == 1  # no other device takes part: workers pack by themselves
        groups = [[place] for place in range(len(values))] if is_alone else buckets([[each] for each in values])
        sent = [
            packed([values[place] for place in places]) if len(places) > 1 else values[places[0]] for places in groups
        ]
        sums, shared = self.merge_call(partial(_reduce_all, op=op, options=options), args=(sent, values))
        found: dict[int, Any] = {}
        for places, total in zip(groups, sums, strict=True):
            if len(places) > 1:
                found.update(zip(places, unpacked(total, [values[place].shape for place in places]), strict=True))
            else:
                found[places[0]] = total if is_alone else _brought(total)
        found.update((place, _brought(values[place])) for place in shared)
        return [found[place] for place in range(len(values))]

    def all_gather(self, value: Any, axis: int, options: Any = None) -> Any:
        """Concatenates the values of all replicas along an axis; every replica gets the result.

        Args:
            value: A tensor, or a structure of them, whose sizes along the axis may differ.
            axis: The axis.
            options: Accepted for TensorFlow's programs.
        """
        if not self._strategy.extended.exchanges:
            return value

        def gathered(values: list[Any]) -> list[Any]:
            return list(self.merge_call(partial(_gather_all, axis=axis), args=(values,)))

        def gradient(*grads: Any) -> list[Any]:
            sizes = [shape_of(each)[axis] for each in values]
            return list(self.merge_call(partial(_own_parts, axis=axis), args=(list(grads), stack(sizes)[None])))

        values = [_as_value(leaf) for leaf in flatten(value)]
        return pack_like(value, self._together(gathered, values, gradient))


def _gather_all(strategy: Strategy, values: Sequence[Any], axis: int) -> Any:
    """The values of all replicas, one after another, for each of them."""
    return _on_all(strategy, [strategy.gather(each, axis) for each in values])


def _own_parts(strategy: Strategy, grads: Sequence[Any], sizes: Any, axis: int) -> Any:
    """The gradients of what replicas gave to be gathered: each gets its part of the sums.

    Args:
        strategy: The strategy.
        grads: The gradients of what was gathered, of all replicas.
        sizes: How long the values of a replica are along the axis: a row.
        axis: The axis.
    """
    totals = _on_all(strategy, [strategy.reduce(ReduceOp.SUM, each) for each in grads])
    ends = cumsum(strategy.gather(sizes, 0), 0)
    parts = []
    for number, name in enumerate(strategy.extended.worker_devices):
        place = strategy.first_replica + number
        with device(name):
            found = []
            for column, total in enumerate(select(totals, number)):
                begin = ends[place - 1, column] if place else 0
                found.append(gather(total, range_of(begin, ends[place, column]), axis=axis))
        parts.append(found)
    return regroup(parts)


def _brought(value: Any) -> Any:
    """A copy of a value on the device of this replica."""
    if not isinstance(value, IndexedSlices):
        return identity(value)
    return IndexedSlices(identity(value.values), identity(value.indices), value._dense_shape)


def _reduce_all(
    strategy: Strategy, sent: Sequence[Any], values: Sequence[Any], op: ReduceOp, options: CommunicationOptions | None
) -> tuple[list[Any], list[int]]:
    """The sums or means of the replicas' values, on the first device, from where they are copied.

    Args:
        strategy: The strategy.
        sent: Their values, packed.
        values: Their values.
        op: The sum or the mean.
        options: How values are sent between workers.

    Returns:
        The sums, and the positions of values that were the same objects in all replicas.
    """
    extended = strategy.extended
    rows = [[_as_value(value) for value in select(sent, number)] for number in range(extended.replicas_here)]
    sums = extended.reduce_rows(op, rows, options)
    _note_reduction(extended, rows[0], sums, len(values), returned=True)
    is_one = extended.replicas_here == 1
    return sums, [place for place, value in enumerate(values) if not (is_one or _differs(value))]


def _differs(value: Any) -> bool:
    """Whether replicas have different objects at this part of a merged structure."""
    parts = (value.values, value.indices) if isinstance(value, IndexedSlices) else (value,)
    return any(isinstance(part, PerReplica) for part in parts)


def _note_reduction(
    extended: StrategyExtended, row: Sequence[Any], sums: Sequence[Any], count: int, returned: bool
) -> None:
    """Records the traffic of a reduction: in the current graph, or in the log.

    Args:
        extended: The strategy's.
        row: The values of one replica.
        sums: The results.
        count: The number of values in them.
        returned: Whether every replica gets the sums.
    """
    is_logged = here.graph is None and options_of_placement.current.log
    if not sums or not (is_logged or isinstance(here.graph, FunctionGraph)):
        return
    sizes = [reduction.bytes_of(value) for value in row]
    size = None if None in sizes else sum(sizes)  # type: ignore[arg-type]
    moves = (extended.replicas_here - 1) * (2 if returned else 1)
    first = sums[0].values if isinstance(sums[0], IndexedSlices) else sums[0]
    noted = Reduction(
        "" if here.graph is None else first.op.name,
        count,
        extended.worker_devices[0],
        0 if not moves else None if size is None else moves * size,
        0 if extended.workers == 1 else size,
    )
    if not isinstance(here.graph, FunctionGraph):
        print(noted, flush=True)
        return
    if here.graph.replicas is None:
        here.graph.replicas = Replicas()
    here.graph.replicas.reductions.append(noted)


def _on_all(strategy: Strategy, structure: Any) -> Any:
    """Values for every replica, each on its device; sparse rows are not copied."""
    names = strategy.extended.worker_devices
    return structure if len(names) == 1 else _on_each(structure, names)


def _on_each(structure: Any, names: Sequence[str]) -> Any:
    """Values on each of several devices."""
    each = []
    for name in names:
        with device(name):
            values = [leaf if isinstance(leaf, IndexedSlices) else identity(leaf) for leaf in flatten(structure)]
            each.append(pack_like(structure, values))
    return regroup(each)


@export("distribute.StrategyExtended")
class StrategyExtended:
    """The API of strategies for libraries.

    Args:
        strategy: The strategy.
        devices: The devices of its replicas; empty for the default strategy.
        cross_device_ops: How values of devices are reduced.
        central: The device of variables, if they are on one.
    """

    experimental_require_static_shapes = False
    experimental_between_graph = False
    should_checkpoint = True
    should_save_summary = True

    def __init__(
        self,
        strategy: Strategy,
        devices: tuple[str, ...],
        cross_device_ops: CrossDeviceOps | None = None,
        central: str | None = None,
    ) -> None:
        self._strategy = strategy
        self._devices = devices
        self._reducer = cross_device_ops or CrossDeviceOps()
        self._central = central
        self._joint: WeakKeyDictionary[Function, Function] = WeakKeyDictionary()  # all replicas in one graph
        self._called: WeakSet[Any] = WeakSet()  # the code of functions that replicas have called
        self._traced_each: WeakSet[Any] = WeakSet()  # and of those whose replicas turned out to differ

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The devices of replicas."""
        return self._devices or ("/device:CPU:0",)

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        """The devices of variables."""
        return self.worker_devices if self._central is None else (self._central,)

    @property
    def replicas_here(self) -> int:
        """The number of replicas of this process."""
        return max(len(self._devices), 1)

    @property
    def workers(self) -> int:
        """The number of processes."""
        return 1

    @property
    def worker_number(self) -> int:
        """The number of this one."""
        return 0

    def _in_multi_worker_mode(self) -> bool:
        return False

    def barrier(self) -> None:
        """Waits for all workers."""

    # Variables.

    def create(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        """Creates a variable of the strategy in place of a plain ``tf.Variable``."""
        if not self._devices:
            return next_creator(**kwargs)
        replica = context.get_replica_context()
        if replica is not None and replica.thread is not None:
            return replica.thread.variable(self._strategy, partial(self._made, next_creator, kwargs))
        return self._made(next_creator, kwargs)

    def _made(self, next_creator: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
        synchronization, aggregation, _ = settled(
            kwargs.get("synchronization"), kwargs.get("aggregation"), kwargs.get("trainable"), kwargs.get("name")
        )
        if synchronization is VariableSynchronization.NONE:
            raise ArgumentError(
                "`NONE` variable synchronization mode is not supported with tf.distribute strategy: the variable "
                f"{kwargs.get('name')!r} takes AUTO, ON_WRITE or ON_READ."
            )
        is_central = self._central is not None and synchronization is not VariableSynchronization.ON_READ
        components: list[Any] = []
        for number, name in enumerate(self.parameter_devices if is_central else self.worker_devices):
            given = dict(kwargs)
            if components:
                first = components[0]
                given.update(initial_value=partial(_value_of, first), name=f"{first._name}/replica_{number}/")
            with device(None), device(name):
                made = next_creator(**given)
            if not isinstance(made, Variable):
                return made  # of a session's graph
            if not components:
                if aggregation is VariableAggregation.MEAN and not is_central and not made.dtype.is_floating:
                    self._check_mean(made)
                self._first_component(made)
            components.append(made)
        kind = AggregatingVariable if is_central else kind_of(synchronization)
        return kind.made_of(self._strategy, components, aggregation)

    def _check_mean(self, made: Variable) -> None:
        """Raises if replicas would give a variable means that its dtype cannot hold."""
        if self.exchanges:
            raise ArgumentError(
                f"The variable '{made.name}' of dtype {made.dtype.name} cannot take the mean of what replicas give it "
                "(aggregation=MEAN), which is no integer: use a floating dtype, or another aggregation."
            )

    def _first_component(self, made: Variable) -> None:
        """Hook for the component of a new variable that the others are copied from."""

    @contextmanager
    def colocate_vars_with(self, colocate_with_variable: Any) -> Iterator[None]:
        """A context in which variables are colocated with another one."""
        if self._devices and isinstance(colocate_with_variable, DistributedVariable):
            yield  # components are always colocated
            return
        with device(colocate_with_variable.device):
            yield

    def variable_created_in_scope(self, v: Any) -> bool:
        """Whether a variable was made under this strategy."""
        container = v if isinstance(v, DistributedVariable) else container_of(v)
        if container is None:
            return not self._devices
        return container.distribute_strategy is self._strategy

    # Calls.

    def call_for_each_replica(
        self, fn: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Calls a function for every replica; see `Strategy.run`.

        A ``tf.function`` becomes one graph with all replicas in it, where they can merge: separately traced ones could
        not.
        """
        kwargs = dict(kwargs or {})
        if isinstance(fn, Function) and len(self.worker_devices) > 1 and not functions_run_eagerly():
            return self._with_all_replicas(fn)(tuple(args), kwargs)
        places = [ReplicaContext(self._strategy, n, name) for n, name in enumerate(self.worker_devices)]

        def of(number: int) -> Callable[[], Any]:
            given = select(tuple(args), number), select(kwargs, number)
            return lambda: fn(*given[0], **given[1])

        functions = [of(number) for number in range(len(places))]
        if len(places) == 1:
            with places[0], device(places[0]._name):
                return functions[0]()
        code = getattr(inspect.unwrap(getattr(fn, "python_function", fn)), "__code__", type(fn))
        is_first = code not in self._called
        copied = None if code in self._traced_each else alike(here.graph, self.worker_devices, (tuple(args), kwargs))
        try:
            found = run_replicas(self._strategy, places, functions, one_by_one=is_first, alike=copied)
        except TraceAgain:
            self._traced_each.add(code)
            raise
        self._called.add(code)
        return found

    def _with_all_replicas(self, fn: Function) -> Function:
        """A function that calls another one for every replica."""
        if fn not in self._joint:
            inner = fn._traced_function

            def all_replicas(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
                return self.call_for_each_replica(inner, args, kwargs)

            self._joint[fn] = Function(
                all_replicas,
                autograph=False,
                reduce_retracing=fn._reduce_retracing,
                name=fn._name,
                placer=fn._placer,
                jit_compile=fn._jit_compile,
            )
        return self._joint[fn]

    def update(
        self,
        var: Any,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        group: bool = True,
    ) -> Any:
        """Calls a function that updates a variable: for each component, in the cross-replica context.

        Args:
            var: The variable.
            fn: Called with a component, and with the part of each argument that is for it.
            args: The other arguments.
            kwargs: Arguments by name.
            group: Whether to give one result, rather than a tuple with that of each component.
        """
        args, kwargs = tuple(args), dict(kwargs or {})
        container = var if isinstance(var, DistributedVariable) else None
        if container is None or context.replica_number() is not None:
            return fn(var, *args, **kwargs)
        made = []
        for number, component in enumerate(container._components):
            with device(component.device):
                made.append(fn(component, *select(args, number), **select(kwargs, number)))
        if group:
            return made[0]
        return pack_like(made[0], list(zip(*map(flatten, made), strict=True)))

    @property
    def exchanges(self) -> bool:
        """Whether values are reduced and gathered: there is more than one replica."""
        return self._strategy.num_replicas_in_sync > 1

    def reduce_rows(
        self, op: ReduceOp, rows: Sequence[Sequence[Any]], options: CommunicationOptions | None = None
    ) -> list[Any]:
        """For each position in lists of values, one list per replica, the sum or the mean, on the first device."""
        return self._reducer.reduced_all(op, rows, self.worker_devices[0])

    # Between processes: here there is only one.

    def across(self, values: Sequence[Any], options: CommunicationOptions | None = None) -> list[Any]:
        """The sums of values over workers."""
        return list(values)

    def from_first(self, value: Any) -> Any:
        """The value of the very first replica."""
        return select(value, 0)

    def joined(self, value: Any, axis: int) -> Any:
        """The values of all workers, concatenated along an axis."""
        return value

    def reduce_to(self, reduce_op: Any, value: Any, destinations: Any, options: Any = None) -> Any:
        """Reduces the values of replicas, to the devices of a variable or to a given one."""
        total = self._strategy.reduce(reduce_op, value)
        if len(parts := local_values(destinations)) > 1:
            return _on_each(total, [part.device for part in parts])
        name = destinations if isinstance(destinations, str) else getattr(destinations, "device", None)
        with device(name):
            return identity(total)

    def batch_reduce_to(self, reduce_op: Any, value_destination_pairs: Sequence[Any], options: Any = None) -> list[Any]:
        """The same for several values."""
        return [self.reduce_to(reduce_op, *pair) for pair in value_destination_pairs]

    def value_container(self, value: Any) -> Any:
        """The strategy variable of a component; the value itself if it is not a component."""
        found = container_of(value)
        return value if found is None else found

    def read_var(self, v: Any) -> Any:
        """The value of a variable."""
        return read(v)


@export("distribute.Strategy")
class Strategy:
    """A program on several devices.

    Args:
        extended: Accepted for TensorFlow's programs; by itself, a strategy has one replica.
    """

    is_default = False
    first_replica = 0  # the number of this process's first replica among those of all processes
    cluster_resolver: ClusterResolver | None = None
    can_update_apart = True  # whether replicas can update their variables without a merge call

    def __init__(self, extended: Any = None) -> None:
        if extended is not None and not isinstance(extended, StrategyExtended):
            raise DTypeError(f"A strategy has a tf.distribute.StrategyExtended, got {shown(extended)}.")
        self.extended = StrategyExtended(self, ()) if extended is None else extended
        self.only_replica = ReplicaContext(self, 0, self.extended.worker_devices[0])

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas there are."""
        return self.extended.replicas_here

    @contextmanager
    def scope(self) -> Iterator[Strategy]:
        """A context in which variables belong to this strategy: the cross-replica context.

        Raises:
            RuntimeError: another strategy is active.
        """
        self._check_is_for_all("scope() and run()")
        holds = context.stack.entered[-1].strategy if context.stack.entered else None
        if holds is not None and holds is not self and not holds.is_default:
            raise StateError(f"Mixing different tf.distribute.Strategy objects: {holds} is not {self}")
        before = context.stack.entered
        context.stack.entered = (*before, context.Entered(self, None))
        try:
            if holds is self:
                yield self
            else:
                with variable_creator_scope(self.extended.create):
                    yield self
        finally:
            context.stack.entered = before

    def _check_is_for_all(self, what: str) -> None:
        """Raises if it is called in a replica context instead of the cross-replica context."""
        entered = context.stack.entered[-1] if context.stack.entered else None
        if entered is not None and entered.strategy is self and entered.replica is not None:
            raise StateError(
                f"{what} of a strategy are for the cross-replica context, and this is one of its replicas: here, use "
                "all_reduce(), all_gather() or merge_call() of tf.distribute.get_replica_context()."
            )

    def run(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        options: RunOptions | None = None,
    ) -> Any:
        """Calls a function for every replica, on its device.

        Args:
            fn: The function.
            args: Its arguments; of a ``PerReplica`` each replica gets its own value.
            kwargs: The same, by name.
            options: Accepted for TensorFlow's programs.

        Returns:
            The results of the calls, with ``PerReplica`` values where they differ.
        """
        if not callable(fn):
            raise DTypeError(f"Strategy.run takes a function, got {shown(fn)}.")
        with self.scope():
            return self.extended.call_for_each_replica(fn, args, kwargs)

    def reduce(self, reduce_op: Any, value: Any, axis: Any = None) -> Any:
        """Reduces the values of all replicas to one.

        Args:
            reduce_op: ``"SUM"`` or ``"MEAN"``.
            value: A ``PerReplica`` value, or a structure of them.
            axis: An axis along which each of them is reduced as well; None for none.
        """
        op = as_reduce_op(reduce_op)
        self._check_is_for_all("reduce() and gather()")
        return pack_like(value, [self._reduced(op, leaf, axis) for leaf in flatten(value)])

    def _reduced(self, op: ReduceOp, value: Any, axis: Any) -> Any:
        values = local_values(value)
        extended = self.extended
        if axis is not None:
            with device(extended.worker_devices[0]) if len(values) > 1 else device(""):
                return reduction.reduced_within(op, values, axis, extended.across)
        if isinstance(value, DistributedValues) or len(extended.worker_devices) == 1:
            if not extended.exchanges:
                return values[0]
            rows = [[_as_value(each)] for each in values]
            sums = extended.reduce_rows(op, rows)
            _note_reduction(extended, rows[0], sums, 1, returned=False)
            return sums[0]
        if op is ReduceOp.MEAN or (isinstance(value, (int, float)) and value == 0):
            return value
        raise ArgumentError(
            f"A non-DistributedValues value {shown(value)} cannot be reduced with the given reduce op {op}."
        )

    def gather(self, value: Any, axis: int) -> Any:
        """Concatenates the values of all replicas along an axis.

        Args:
            value: A ``PerReplica`` value, or a structure of them, whose sizes along the axis may differ.
            axis: The axis.
        """
        self._check_is_for_all("reduce() and gather()")
        return pack_like(value, [self._gathered(leaf, axis) for leaf in flatten(value)])

    def _gathered(self, value: Any, axis: int) -> Any:
        values = local_values(value)
        with device(self.extended.worker_devices[0]) if self.extended.replicas_here > 1 else device(""):
            tensors = [convert_to_tensor(read(each)) for each in values]
            return self.extended.joined(concat(tensors, axis) if len(tensors) > 1 else tensors[0], axis)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The values of the replicas of this process."""
        if isinstance(value, DistributedValues):
            return value.values
        form, leaves = take_apart(value, whole=lambda part: isinstance(part, DistributedValues))
        if form is LEAF:
            return (value,)
        for leaf in leaves:
            if isinstance(leaf, DistributedValues):
                leaf.is_told = True
        rows = [[_part(leaf, number) for leaf in leaves] for number in range(self.extended.replicas_here)]
        return tuple(put_together(form, row) for row in rows)

    # Input.

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """A dataset whose elements are batches for the replicas: each batch of `dataset` is split among them."""
        return distributed(self, dataset, options)

    def distribute_datasets_from_function(self, dataset_fn: Callable[[InputContext], Any], options: Any = None) -> Any:
        """A dataset whose elements are batches for the replicas, from a function that makes a dataset of these."""
        return from_function(self, dataset_fn, options)

    def experimental_distribute_values_from_function(self, value_fn: Callable[[Any], Any]) -> Any:
        """A value for each replica, from a function of a context that has its number."""
        numbers = range(self.first_replica, self.first_replica + self.extended.replicas_here)
        contexts = [ValueContext(number, self.num_replicas_in_sync) for number in numbers]
        values = [value_fn(each) for each in contexts]
        if len(values) == 1:
            return values[0]
        form, first = take_apart(values[0])
        columns = zip(*[first, *[_leaves_like(form, each) for each in values[1:]]], strict=True)
        made = [PerReplica(column) for column in columns]
        for each in made:
            each.is_told = True  # the function may have kept them
        return put_together(form, made)

    def __deepcopy__(self, memo: dict[int, Any]) -> Strategy:
        return self


def _part(leaf: Any, number: int) -> Any:
    """What one replica has of a value; of a variable its component."""
    return leaf._values[min(number, len(leaf._values) - 1)] if isinstance(leaf, DistributedValues) else leaf


def _leaves_like(form: Any, structure: Any) -> list[Any]:
    """The leaves of a structure that has to have a form."""
    found, leaves = take_apart(structure)
    if found != form:
        raise ArgumentError(
            "experimental_distribute_values_from_function() takes a function that returns structures of one form for "
            f"all replicas, got {shown(structure)} after another one."
        )
    return leaves


def _value_of(variable: Variable) -> Any:
    return variable._tensor


def _as_value(value: Any) -> Any:
    return value if isinstance(value, IndexedSlices) else convert_to_tensor(read(value))


@export("distribute.RunOptions")
class RunOptions(NamedTuple):
    """How a strategy runs a function: accepted for TensorFlow's programs.

    Attributes:
        experimental_enable_dynamic_batch_size: Shapes may always differ from call to call.
        experimental_bucketizing_dynamic_shape: They are never padded.
        experimental_xla_options: There is no XLA.
    """

    experimental_enable_dynamic_batch_size: bool = True
    experimental_bucketizing_dynamic_shape: bool = False
    experimental_xla_options: Any = None


@export("distribute.experimental.ValueContext")
class ValueContext:
    """The replica that a value is created for.

    Args:
        replica_id_in_sync_group: Its number.
        num_replicas_in_sync: How many there are.
    """

    def __init__(self, replica_id_in_sync_group: int = 0, num_replicas_in_sync: int = 1) -> None:
        self.replica_id_in_sync_group = replica_id_in_sync_group
        self.num_replicas_in_sync = num_replicas_in_sync

    def __repr__(self) -> str:
        return (
            f"tf.distribute.ValueContext(replica id {self.replica_id_in_sync_group}, "
            f" total replicas in sync: {self.num_replicas_in_sync})"
        )


class DefaultStrategy(Strategy):
    """The strategy outside of all scopes: one replica, which is the program itself."""

    is_default = True

    @contextmanager
    def scope(self) -> Iterator[Strategy]:
        """A context in which this strategy is active: as if there were none."""
        yield self

    def run(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        options: RunOptions | None = None,
    ) -> Any:
        """Calls a function."""
        return fn(*args, **(kwargs or {}))

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """The dataset itself."""
        return dataset


@cache
def default_strategy() -> DefaultStrategy:
    """The one default strategy."""
    return DefaultStrategy()


def devices_of(given: Any) -> tuple[str, ...]:
    """The full names of devices.

    Args:
        given: Their names; None for all GPUs, or all CPUs if there is no GPU.

    Raises:
        ValueError: one of them does not exist, and soft placement is off.
        AssertionError: one is named twice.
    """
    if not given:
        found = list_logical_devices("GPU") or list_logical_devices("CPU")
        return tuple(_full(each.name) for each in found)
    if isinstance(given, str):
        raise ArgumentError(f"The devices of a strategy are a list of names, got the string {given!r}.")
    names = tuple(_full(getattr(each, "name", each)) for each in given)
    if len(set(names)) != len(names):
        raise AssertionError(f"No duplicates allowed in `devices` argument: {tuple(given)}")
    there = {_full(each.name) for each in list_logical_devices()}
    missing = [name for name in names if name not in there]
    if missing and not get_soft_device_placement():
        raise ArgumentError(
            f"There is no {', '.join(missing)} in this process for a replica of the strategy. There are "
            f"{', '.join(sorted(there))}. tf.config.set_soft_device_placement(True) would use others in their place."
        )
    return names


def _full(name: Any) -> str:
    if not isinstance(name, str):
        raise ArgumentError(f"The devices of a strategy are names, got {shown(name)}.")
    return parse_spec(name).completed().to_string()


@export("distribute.MirroredStrategy")
class MirroredStrategy(Strategy):
    """A replica on each of several devices, each with its own copy of the variables, kept in sync.

    Args:
        devices: The names of the devices; by default all GPUs, or all CPUs if there is no GPU.
        cross_device_ops: How values of devices are reduced.

    Example:
        >>> import situs as tf
        >>> strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
        >>> with strategy.scope():
        ...     v = tf.Variable(2.0)
        >>> float(strategy.reduce("SUM", strategy.run(lambda: v * 3.0)))
        6.0
    """

    def __init__(self, devices: Any = None, cross_device_ops: CrossDeviceOps | None = None) -> None:
        if cross_device_ops is not None and not isinstance(cross_device_ops, CrossDeviceOps):
            raise ArgumentError(f"`cross_device_ops` is one of tf.distribute's, got {shown(cross_device_ops)}.")
        super().__init__(StrategyExtended(self, devices_of(devices), cross_device_ops))


@export("distribute.OneDeviceStrategy")
class OneDeviceStrategy(Strategy):
    """One replica on one device, for programs that are written for strategies.

    Args:
        device: The name of the device.
    """

    def __init__(self, device: str) -> None:
        super().__init__(StrategyExtended(self, devices_of([device])))


@export("distribute.experimental.CentralStorageStrategy")
class CentralStorageStrategy(Strategy):
    """A replica on each of several devices, with variables on one device that all of them share.

    Args:
        compute_devices: The devices of replicas; by default all GPUs, or the CPU if there is no GPU.
        parameter_device: The device of variables; by default the device of a single replica, else the CPU.
    """

    can_update_apart = False

    def __init__(self, compute_devices: Any = None, parameter_device: str | None = None) -> None:
        devices = devices_of(compute_devices)
        if parameter_device is None:
            parameter_device = devices[0] if len(devices) == 1 else "/device:CPU:0"
        super().__init__(StrategyExtended(self, devices, central=devices_of([parameter_device])[0]))
