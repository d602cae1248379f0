"""Programs of two replicas on two logical CPUs, for TensorFlow and Situs: what TensorFlow gives is recorded.

    PYTHON_WITH_TENSORFLOW -m tests.unit.distribute.replica_programs      writes the figures anew

Each takes the library and a strategy, and gives something that can be written as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).parents[2] / "data" / "replica_figures.json"

Program = Callable[[Any, Any], Any]
PROGRAMS: dict[str, Program] = {}


def program(function: Program) -> Program:
    """Enters a program under its name."""
    PROGRAMS[function.__name__] = function
    return function


def strategy_of(tf: Any) -> Any:
    """A strategy of two replicas; to be made before anything else."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    return tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])


def shown(tf: Any, value: Any) -> Any:
    """A value as what JSON can write."""
    if isinstance(value, tf.IndexedSlices):
        return {"values": shown(tf, value.values), "indices": shown(tf, value.indices)}
    if isinstance(value, tf.distribute.DistributedValues):
        return ["PerReplica", *[shown(tf, each) for each in value.values]]
    if isinstance(value, tf.RaggedTensor):
        return ["ragged", value.to_list()]
    if isinstance(value, dict):
        return {name: shown(tf, each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [shown(tf, each) for each in value]
    return value.numpy().tolist() if hasattr(value, "numpy") else value


def number(tf: Any) -> Any:
    """The number of the replica, as a float."""
    return tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)


def both(tf: Any, strategy: Any, inside: Callable[[], Any]) -> list[Any]:
    """What a function gives that replicas call: at once, and in a graph."""
    traced = tf.function(lambda: strategy.run(inside), autograph=False)
    return [shown(tf, strategy.run(inside)), shown(tf, traced())]


# What replicas reduce and gather.


def reducing(name: str, op: str, value: Callable[[Any], Any]) -> None:
    """Enters a program that reduces a value over replicas."""

    def run(tf: Any, strategy: Any) -> Any:
        shared = tf.constant([1.0, 2.0])
        context = tf.distribute.get_replica_context
        return both(tf, strategy, lambda: context().all_reduce(op, value(tf) if name[:6] != "shared" else shared))

    PROGRAMS[f"all_reduce of {name}, {op}"] = run


def _slices(tf: Any) -> Any:
    rows = tf.constant([[1.0, 2.0]]) * (number(tf) + 1.0)
    return tf.IndexedSlices(rows, tf.constant([1]), tf.constant([3, 2]))


for _op in ("SUM", "MEAN"):
    reducing("shared tensors", _op, lambda tf: None)
    reducing("scalars", _op, number)
    reducing("integers", _op, lambda tf: tf.constant([3, 4]))
    reducing("structures", _op, lambda tf: {"a": number(tf) + 1.0, "b": [number(tf) * 2.0, (number(tf) + [1.0, 2.0],)]})
    reducing("slices", _op, _slices)
    reducing("slices and tensors", _op, lambda tf: [_slices(tf), number(tf)])


@program
def all_gather_of_sizes_that_differ(tf: Any, strategy: Any) -> Any:
    def inside() -> Any:
        context = tf.distribute.get_replica_context()
        return context.all_gather(tf.ones([int(context.replica_id_in_sync_group) + 1, 2]), axis=0)

    return shown(tf, strategy.run(inside))


@program
def all_gather_of_structures(tf: Any, strategy: Any) -> Any:
    def inside() -> Any:
        value = {"a": tf.expand_dims(number(tf), 0), "b": tf.expand_dims(number(tf) + [1.0, 2.0], 0)}
        return tf.distribute.get_replica_context().all_gather(value, axis=0)

    return shown(tf, strategy.run(inside))


@program
def gather_along_axes(tf: Any, strategy: Any) -> Any:
    def of(shape: Callable[[int], list[int]]) -> Any:
        return strategy.experimental_distribute_values_from_function(
            lambda context: tf.ones(shape(int(context.replica_id_in_sync_group)))
        )

    rows, columns = of(lambda n: [n + 1, 2]), of(lambda n: [2, n + 1])
    return shown(tf, [strategy.gather(rows, axis=0), strategy.gather(columns, axis=1)])


@program
def reduce_along_axes(tf: Any, strategy: Any) -> Any:
    value = strategy.run(lambda: tf.reshape(tf.range(6.0), [2, 3]) + number(tf))
    ways = [("SUM", None), ("MEAN", 0), ("SUM", -1), ("MEAN", (0, 1))]
    found = [shown(tf, strategy.reduce(op, value, axis=axis)) for op, axis in ways]
    return [*found, shown(tf, strategy.reduce("MEAN", tf.constant([1.0, 3.0]), axis=0))]


@program
def reduce_of_structures(tf: Any, strategy: Any) -> Any:
    value = strategy.run(lambda: {"a": number(tf), "b": [number(tf) + 2.0]})
    return shown(tf, strategy.reduce("SUM", value, axis=None))


@program
def reduce_to_a_variable(tf: Any, strategy: Any) -> Any:
    with strategy.scope():
        v = tf.Variable(1.0)
        value = strategy.run(lambda: number(tf) + 2.0)
        return shown(tf, strategy.extended.reduce_to(tf.distribute.ReduceOp.SUM, value, destinations=v))


@program
def losses(tf: Any, strategy: Any) -> Any:
    def inside() -> Any:
        each = tf.constant([1.0, 2.0])
        average = tf.nn.compute_average_loss(each), tf.nn.compute_average_loss(each, global_batch_size=8)
        weighted = tf.nn.compute_average_loss(each, sample_weight=[1.0, 0.0])
        return *average, weighted, tf.nn.scale_regularization_loss(tf.constant([4.0, 2.0]))

    return [*both(tf, strategy, inside), shown(tf, inside())]


# Calls.


@program
def arguments(tf: Any, strategy: Any) -> Any:
    named = strategy.run(lambda a, b, c=3: a + b + c, args=(tf.constant(1),), kwargs={"b": tf.constant(2)})
    only = strategy.run(lambda *, x, y=2.0: x * y, kwargs={"x": tf.constant(3.0)})
    nested = strategy.run(lambda x: {"a": (x["p"], [x["q"][0] + 1])}, args=({"p": 1, "q": [tf.constant(2)]},))
    return shown(tf, [named, only, nested, strategy.run(lambda: None)])


@program
def functions_in_functions(tf: Any, strategy: Any) -> Any:
    double = tf.function(lambda x: x * 2.0)
    outer = tf.function(lambda x: strategy.run(lambda y: double(y) + 1.0, (x,)), autograph=False)
    return shown(tf, [outer(tf.constant(1.0)), strategy.run(double, (tf.constant(1.0),))])


@program
def contexts(tf: Any, strategy: Any) -> Any:
    here = tf.distribute

    def state() -> list[bool]:
        return [here.has_strategy(), here.in_cross_replica_context(), here.get_replica_context() is None]

    found = [state()]
    with strategy.scope():
        found += [state(), here.get_strategy() is strategy]
    inside: list[Any] = []
    strategy.run(lambda: inside.append([*state(), here.get_replica_context().num_replicas_in_sync]))
    here.experimental_set_strategy(strategy)
    found += [state(), isinstance(tf.Variable(1.0), here.DistributedValues)]
    here.experimental_set_strategy(None)
    return [*found, *inside, state()]


@program
def what_is_refused(tf: Any, strategy: Any) -> Any:
    def entered() -> Any:
        with strategy.scope():
            return 1

    def set_inside() -> Any:
        with strategy.scope():
            tf.distribute.experimental_set_strategy(strategy)

    refused: list[Callable[[], Any]] = [
        lambda: strategy.run(lambda: strategy.run(lambda: 1)),
        lambda: strategy.run(entered),
        lambda: strategy.run(lambda: strategy.reduce("SUM", tf.constant(1.0), axis=None)),
        set_inside,
        lambda: tf.distribute.InputContext(1, 0, 2).get_per_replica_batch_size(3),
    ]
    found = []
    for each in refused:
        try:
            each()
            found.append("nothing")
        except (RuntimeError, ValueError) as error:
            found.append("RuntimeError" if isinstance(error, RuntimeError) else "ValueError")
    return found


# Variables.


@program
def variables(tf: Any, strategy: Any) -> Any:
    kinds = tf.VariableAggregation
    with strategy.scope():
        v = tf.Variable([1.0, 2.0])
        on_read = [
            tf.Variable(0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=kind)
            for kind in (kinds.SUM, kinds.MEAN, kinds.ONLY_FIRST_REPLICA)
        ]
    v.assign_add([1.0, 1.0])
    for each in on_read:
        strategy.run(lambda each=each: each.assign_add(number(tf) + 1.0))
    with strategy.scope():
        strategy.extended.update(v, lambda x, d: x.assign_add(d), args=([2.0, 2.0],))
    made_here = strategy.extended.variable_created_in_scope
    return [
        shown(tf, [each.read_value() for each in (v, *on_read)]),
        [made_here(v), made_here(tf.Variable(1.0))],
        [each.numpy().tolist() for each in v.values],
    ]


# Input.


def dataset(tf: Any, size: int, batch: int, **options: Any) -> Any:
    """Numbers in batches."""
    return tf.data.Dataset.range(size).batch(batch, **options)


@program
def batches(tf: Any, strategy: Any) -> Any:
    rows = np.arange(5.0), np.arange(10).reshape(5, 2)
    ragged = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1], [2, 3], [4], [5, 6]])).batch(4)
    given = {
        "short": dataset(tf, 9, 4),
        "one for the first": dataset(tf, 5, 4),
        "odd": dataset(tf, 6, 3),
        "dropped": dataset(tf, 9, 4, drop_remainder=True),
        "none": dataset(tf, 0, 4),
        "pairs": tf.data.Dataset.from_tensor_slices(rows).batch(4),
        "ragged": ragged,
    }
    split = strategy.experimental_distribute_dataset
    return {name: [shown(tf, each) for each in split(whole)] for name, whole in given.items()}


@program
def batches_in_a_function(tf: Any, strategy: Any) -> Any:
    whole = strategy.experimental_distribute_dataset(dataset(tf, 5, 4))

    @tf.function
    def total() -> Any:
        found = tf.constant(0, tf.int64)
        for x in whole:
            found += strategy.reduce("SUM", strategy.run(tf.reduce_sum, (x,)), axis=None)
        return found

    numbers = tf.data.Dataset.from_tensor_slices(np.arange(5.0)).batch(4)
    means = [strategy.reduce("MEAN", x, axis=0) for x in strategy.experimental_distribute_dataset(numbers)]
    return shown(tf, [total(), means])


@program
def iterators(tf: Any, strategy: Any) -> Any:
    split = strategy.experimental_distribute_dataset
    found = iter(split(dataset(tf, 4, 4)))
    first = shown(tf, next(found))
    optional = iter(split(dataset(tf, 4, 4)))
    value = shown(tf, optional.get_next_as_optional().get_value())
    endless = iter(split(tf.data.Dataset.range(2).repeat().batch(4)))
    rest = [shown(tf, next(endless)) for _ in range(2)]
    return [first, next(found, "end"), value, bool(optional.get_next_as_optional().has_value()), rest]


@program
def datasets_from_functions(tf: Any, strategy: Any) -> Any:
    """The last elements are not enough for all replicas: the others get batches without rows."""
    seen = []

    def make(context: Any) -> Any:
        size = context.get_per_replica_batch_size(4)
        seen.append([context.num_input_pipelines, context.input_pipeline_id, context.num_replicas_in_sync, size])
        pairs = tf.data.Dataset.from_tensor_slices((np.arange(5), np.arange(10.0).reshape(5, 2)))
        return pairs.batch(size)

    found = [shown(tf, each) for each in strategy.distribute_datasets_from_function(make)]
    dropped = strategy.distribute_datasets_from_function(lambda context: dataset(tf, 7, 2, drop_remainder=True))
    return [found, seen, [shown(tf, each) for each in dropped]]


@program
def a_state_after_all_batches(tf: Any, strategy: Any) -> Any:
    split = strategy.experimental_distribute_dataset(dataset(tf, 8, 4))
    add = lambda state, x: state + strategy.reduce("SUM", strategy.run(tf.reduce_sum, (x,)), axis=None)  # noqa: E731
    return shown(tf, split.reduce(tf.constant(0, tf.int64), add))


@program
def updates_of_each_component(tf: Any, strategy: Any) -> Any:
    with strategy.scope():
        v = tf.Variable(1.0)
        each = strategy.run(lambda: number(tf))
        found = strategy.extended.update(v, lambda own, x: {"sum": own + x}, (each,), group=False)
        return [type(found["sum"]).__name__, shown(tf, found)]


@program
def ragged_and_sparse_datasets_from_functions(tf: Any, strategy: Any) -> Any:
    """Nothing is left out of the last elements either."""
    rows = tf.ragged.constant([[[1]], [[2], [3]], [], [[4, 5, 6]], [[7]]])
    ragged = strategy.distribute_datasets_from_function(
        lambda context: tf.data.Dataset.from_tensor_slices((rows, np.arange(5))).batch(2)
    )
    eye = tf.sparse.from_dense(np.eye(5, dtype="float32"))
    sparse = strategy.distribute_datasets_from_function(
        lambda context: tf.data.Dataset.from_tensor_slices(eye).batch(2)
    )
    sums = tf.function(lambda x: strategy.run(tf.sparse.reduce_sum, (x,)), autograph=False)
    return [[shown(tf, each) for each in ragged], [shown(tf, sums(each)) for each in sparse]]


# Gradients through meetings, changes of rows, means of integers, and what is refused.


def to_one_device(tf: Any) -> Any:
    """A strategy whose reductions fail alone: TensorFlow's default one does nothing any more after a failure."""
    return tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"], cross_device_ops=tf.distribute.ReductionToOneDevice())


def refused(tf: Any, call: Callable[[], Any]) -> str:
    """The class of the error that a call ends with, of those that programs catch; "" if it ends well."""
    try:
        call()
    except (ValueError, TypeError, RuntimeError) as error:
        kinds = (NotImplementedError, ValueError, TypeError, RuntimeError)
        return next(kind.__name__ for kind in kinds if isinstance(error, kind))
    return ""


@program
def gradients_of_sums_over_replicas(tf: Any, strategy: Any) -> Any:
    """What other replicas make of a sum has gradients, too."""
    strategy = to_one_device(tf)

    def inside(op: str) -> Any:
        x = tf.stack([number(tf) + 1.0, number(tf) + 3.0])
        y = number(tf) * 2.0
        with tf.GradientTape() as tape:
            tape.watch([x, y])
            sums = tf.distribute.get_replica_context().all_reduce(op, {"x": x, "y": y})
            loss = tf.reduce_sum(sums["x"] * sums["x"]) * (number(tf) + 1.0) + sums["y"] * x[0]
        return loss, tape.gradient(loss, [x, y])

    return [both(tf, strategy, partial(inside, op)) for op in ("SUM", "MEAN")]


@program
def gradients_of_what_is_gathered(tf: Any, strategy: Any) -> Any:
    strategy = to_one_device(tf)

    def inside() -> Any:
        rows = tf.distribute.get_replica_context().replica_id_in_sync_group + 1
        x = tf.fill(tf.stack([rows, 2]), number(tf) + 1.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            whole = tf.distribute.get_replica_context().all_gather(x, axis=0)
            loss = tf.reduce_sum(whole * whole * tf.constant([[1.0], [2.0], [3.0]])) * (number(tf) + 1.0)
        return tape.gradient(loss, x)

    return both(tf, strategy, inside)


@program
def rows_that_replicas_change(tf: Any, strategy: Any) -> Any:
    strategy = to_one_device(tf)
    found = []
    for name in ("NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA"):
        for method in ("scatter_add", "scatter_sub", "scatter_mul", "scatter_update", "scatter_max"):
            with strategy.scope():
                v = tf.Variable(tf.ones([3, 2]), aggregation=getattr(tf.VariableAggregation, name))

            def inside(v: Any = v, method: str = method) -> None:
                row = tf.reshape(tf.distribute.get_replica_context().replica_id_in_sync_group, [1])
                getattr(v, method)(tf.IndexedSlices(tf.ones([1, 2]) * (number(tf) + 2.0), row))

            whole = partial(strategy.run, inside)
            for run in (whole, tf.function(whole)):
                found.append([name, method, refused(tf, run), [shown(tf, each) for each in v.values]])
    return found


@program
def means_of_integers(tf: Any, strategy: Any) -> Any:
    strategy = to_one_device(tf)
    whole = strategy.run(lambda: tf.distribute.get_replica_context().replica_id_in_sync_group + tf.constant([1, 4]))
    means = [strategy.reduce("MEAN", whole, axis=axis) for axis in (None, 0)]
    return [[shown(tf, mean), mean.dtype.name] for mean in means]


@program
def values_in_structures(tf: Any, strategy: Any) -> Any:
    made = strategy.experimental_distribute_values_from_function(
        lambda each: {"a": each.replica_id_in_sync_group, "b": [each.num_replicas_in_sync]}
    )
    results = strategy.experimental_local_results
    return [shown(tf, made), results(made), results(3), results([1, 2]), str(made)]


@program
def numbers_of_replicas(tf: Any, strategy: Any) -> Any:
    seen = []

    def inside() -> Any:
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        seen.append([number.dtype.name, number.shape.as_list()])
        return tf.gather([10.0, 20.0], number)

    return [both(tf, strategy, inside), seen]


@program
def functions_that_are_given_to_run_in_functions(tf: Any, strategy: Any) -> Any:
    strategy = to_one_device(tf)

    @tf.function
    def inner(x: Any) -> Any:
        return tf.distribute.get_replica_context().all_reduce("SUM", x + number(tf))

    outer = tf.function(lambda x: strategy.run(inner, (x,)))
    return shown(tf, [outer(tf.constant(1.0)), strategy.run(inner, (tf.constant(2.0),))])


@program
def meetings_where_replicas_cannot_meet(tf: Any, strategy: Any) -> Any:
    strategy = to_one_device(tf)

    def total(x: Any) -> Any:
        return tf.distribute.get_replica_context().all_reduce("SUM", x)

    def branch() -> Any:
        x = number(tf)
        return tf.cond(tf.reduce_sum(x) > -1.0, lambda: total(x), lambda: x)

    def loop() -> Any:
        return tf.while_loop(lambda x: x < 10.0, lambda x: [total(x)], [number(tf) + 1.0])

    inner = tf.function(total)
    kept: list[Any] = []
    strategy.run(lambda: kept.append(tf.distribute.get_replica_context()))
    return [
        refused(tf, tf.function(lambda: strategy.run(branch))),
        refused(tf, tf.function(lambda: strategy.run(loop))),
        refused(tf, tf.function(lambda: strategy.run(lambda: inner(number(tf))))),
        refused(tf, lambda: strategy.run(lambda: inner(number(tf)))),
        refused(tf, lambda: kept[0].all_reduce("SUM", tf.constant(1.0))),
        shown(tf, strategy.run(lambda: total(number(tf)))),
    ]


@program
def variables_that_are_refused(tf: Any, strategy: Any) -> Any:
    strategy = to_one_device(tf)
    words, times = tf.VariableAggregation, tf.VariableSynchronization
    with strategy.scope():
        v = tf.Variable(1.0, aggregation=words.SUM)
        found = [
            refused(tf, lambda: tf.Variable(1.0, synchronization=times.NONE)),
            refused(tf, lambda: tf.Variable(1, aggregation=words.MEAN)),
            refused(tf, lambda: tf.Variable(1, synchronization=times.ON_READ, aggregation=words.MEAN)),
        ]
    found += [refused(tf, lambda: strategy.run(lambda: v.assign_add(2.0))), shown(tf, v)]
    with strategy.scope():
        counted = tf.Variable(0, synchronization=times.ON_READ, aggregation=words.SUM)
        counted.assign(6)
    return [*found, shown(tf, counted), shown(tf, counted.read_value())]


@program
def sparse_batches(tf: Any, strategy: Any) -> Any:
    rows = tf.sparse.from_dense([[1, 0], [0, 2], [3, 0]])
    pairs = tf.data.Dataset.from_tensor_slices((rows, np.arange(3))).batch(3)
    found = strategy.experimental_distribute_dataset(pairs)
    return [[[shown(tf, tf.sparse.to_dense(part)) for part in s.values], shown(tf, x)] for s, x in found]


@program
def datasets_for_each_replica(tf: Any, strategy: Any) -> Any:
    options = tf.distribute.InputOptions(
        experimental_replication_mode=tf.distribute.InputReplicationMode.PER_REPLICA, experimental_fetch_to_device=False
    )
    seen = []

    def make(context: Any) -> Any:
        seen.append([context.num_input_pipelines, context.input_pipeline_id, context.num_replicas_in_sync])
        return dataset(tf, 4, 2).map(lambda x: x + 10 * context.input_pipeline_id)

    found = [shown(tf, each) for each in strategy.distribute_datasets_from_function(make, options)]
    return [found, seen, refused(tf, lambda: strategy.experimental_distribute_dataset(dataset(tf, 4, 2), options))]


if __name__ == "__main__":
    import tensorflow

    made = strategy_of(tensorflow)
    recorded = {name: run(tensorflow, made) for name, run in PROGRAMS.items()}
    lines = (f"{json.dumps(name)}: {json.dumps(each)}" for name, each in recorded.items())
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
