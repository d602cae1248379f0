"""Replicas that are alike are traced once; what comes out is what tracing each of them gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import situs as tf
from situs._src.distribute import strategy as strategies
from situs._src.ir.graph.function import graphs_of

TWO = ["/gpu:0", "/gpu:1"]
SUM, MEAN = tf.VariableAggregation.SUM, tf.VariableAggregation.MEAN
ON_READ = tf.VariableSynchronization.ON_READ
X = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")

Step = Callable[..., Any]
Program = Callable[[Any], tuple[Step, list[Any]]]  # of a strategy: what replicas run, and variables to look at


@pytest.fixture
def strategy() -> Any:
    return tf.distribute.MirroredStrategy(TWO)


@pytest.fixture(autouse=True)
def _seeded() -> Iterator[None]:
    tf.random.set_seed(7)
    yield
    tf.random.set_seed(None)


def context() -> Any:
    return tf.distribute.get_replica_context()


def batch(strategy: Any) -> Any:
    (found,) = list(strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(X).batch(8)))
    return found


def operations(graph: Any) -> Counter[tuple[str, str]]:
    """How many operations of a type there are on a device, in a graph and those inside it."""
    found: Counter[tuple[str, str]] = Counter()
    for node in graph.operations:
        found[node.type, node.device[-5:]] += 1
        for _, inner in graphs_of(node):
            found += operations(inner)
    return found


class Outcome:
    """What a program computes in three steps, and what its graph consists of."""

    def __init__(self, program: Program, traced_each: bool) -> None:
        tf.keras.utils.set_random_seed(3)
        strategy = tf.distribute.MirroredStrategy(TWO)
        calls = []
        with pytest.MonkeyPatch.context() as patch:
            if traced_each:
                patch.setattr(strategies, "alike", lambda *given: None)
            with strategy.scope():
                step, variables = program(strategy)

            def counted(*args: Any) -> Any:
                calls.append(1)
                return step(*args)

            function = tf.function(lambda x: strategy.run(counted, (x,)))
            given = batch(strategy)
            self.values = [self._numbers(function(given)) for _ in range(3)]
            self.state = [[each.numpy() for each in v._components] for v in variables]
            graph = function.get_concrete_function(given).graph
        self.calls = len(calls)
        self.operations = operations(graph)
        self.owners = Counter(graph.replicas.of_node.values())
        graph.verify()

    def _numbers(self, found: Any) -> list[list[Any]]:
        leaves = tf.nest.flatten(found)
        return [[np.asarray(each) for each in getattr(leaf, "_values", (leaf,))] for leaf in leaves]


def assert_alike(program: Program) -> None:
    """Fails unless a program's replicas are traced once, and compute what they do if each of them is traced."""
    once, each = Outcome(program, False), Outcome(program, True)
    for got, wanted in zip(once.values, each.values, strict=True):
        for one, other in zip(got, wanted, strict=True):
            for a, b in zip(one, other, strict=True):
                np.testing.assert_array_equal(a, b)
    for one, other in zip(once.state, each.state, strict=True):
        np.testing.assert_array_equal(one, other)
    assert once.calls * 2 == each.calls
    aliases = once.operations - each.operations  # of what the first replica gives to all
    assert not each.operations - once.operations
    assert set(aliases) <= {("Identity", "GPU:0")}
    assert once.owners[1] == each.owners[1]


# What is alike.


def tower(strategy: Any) -> tuple[Step, list[Any]]:
    w, b = tf.Variable(tf.random.stateless_normal([3, 2], [1, 2])), tf.Variable(tf.zeros([2]))

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.nn.relu(x @ w + b) - 1.0))
        gradients = tape.gradient(loss, [w, b])
        for variable, gradient in zip([w, b], context().all_reduce("MEAN", gradients), strict=True):
            variable.assign_sub(0.1 * gradient)
        return {"loss": loss, "w": w + 0.0}

    return step, [w, b]


def dropout(strategy: Any) -> tuple[Step, list[Any]]:
    v = tf.Variable(1.0)

    def step(x: Any) -> Any:
        first = tf.nn.dropout(x * v, 0.5)
        total = context().all_reduce("SUM", tf.reduce_sum(first))
        return first, tf.random.uniform([2]) + total, tf.random.normal([2], seed=5)

    return step, [v]


def shared_layer(strategy: Any) -> tuple[Step, list[Any]]:
    """The gradients of what is used twice are added beside one of them."""
    v = tf.Variable(tf.ones([3, 3]))

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.tanh(tf.tanh(x @ v) @ v))
        gradient = tape.gradient(loss, v)
        v.assign_sub(0.01 * context().all_reduce("SUM", gradient))
        return loss

    return step, [v]


def control_flow(strategy: Any) -> tuple[Step, list[Any]]:
    v = tf.Variable(tf.ones([3]))

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * v, lambda: x - v)
            _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y) * v), [0, y])
            loss = tf.reduce_sum(y)
        gradient = tape.gradient(loss, v)
        v.assign_sub(0.1 * context().all_reduce("SUM", gradient))
        return loss, y

    return step, [v]


def nested_function(strategy: Any) -> tuple[Step, list[Any]]:
    v, count = tf.Variable(2.0), tf.Variable(0.0)

    @tf.function
    def inner(x: Any, y: Any) -> Any:
        count.assign_add(1.0)
        return x * v + y + tf.random.uniform([])

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(inner(x, 1.0) * inner(x, 2.0))
        v.assign_sub(0.01 * context().all_reduce("MEAN", tape.gradient(loss, v)))
        return loss, inner(x, 1.0)

    return step, [v, count]


def effects(strategy: Any) -> tuple[Step, list[Any]]:
    """Changes of what replicas keep for themselves, of what they change together, and by the first alone."""
    own = tf.Variable(0.0, synchronization=ON_READ, aggregation=SUM)
    mean, first = (
        tf.Variable(1.0, aggregation=MEAN),
        tf.Variable(1.0, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA),
    )

    def step(x: Any) -> Any:
        size = tf.reduce_sum(x)
        before = own + 0.0
        own.assign_add(size)
        mean.assign(size + own)
        first.assign_add(mean * 2.0)
        with tf.control_dependencies([tf.debugging.assert_all_finite(size, "finite")]):
            return before, own + first, mean.assign_add(1.0) * 1.0

    return step, [own, mean, first]


def rows(strategy: Any) -> tuple[Step, list[Any]]:
    table = tf.Variable(tf.reshape(tf.range(12.0), [6, 2]))

    def step(x: Any) -> Any:
        places = tf.cast(tf.abs(x[:, 0]) * 2.0, tf.int32) % 6
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(tf.gather(table, places)))
        gradient = context().all_reduce("SUM", tape.gradient(loss, table))
        table.scatter_sub(gradient)
        return loss

    return step, [table]


def gathered(strategy: Any) -> tuple[Step, list[Any]]:
    v = tf.Variable(1.0)

    def step(x: Any) -> Any:
        everything = context().all_gather(x, axis=0)
        merged = context().merge_call(lambda strategy, each: strategy.reduce("SUM", each), args=(x * v,))
        return everything + 1.0, merged * 2.0

    return step, [v]


def pinned_elsewhere(strategy: Any) -> tuple[Step, list[Any]]:
    def step(x: Any) -> Any:
        with tf.device("/cpu:0"):
            y = x * 2.0
        with tf.device("/gpu:1"):
            z = y + 1.0
        return y, z, z - 1.0

    return step, []


@pytest.mark.parametrize(
    "program",
    [tower, dropout, shared_layer, control_flow, nested_function, effects, rows, gathered, pinned_elsewhere],
    ids=lambda program: program.__name__,
)
def test_copies_are_what_tracing_each_gives(program: Program) -> None:
    assert_alike(program)


def test_a_training_step_of_keras() -> None:
    def program(strategy: Any) -> tuple[Step, list[Any]]:
        layers = [tf.keras.layers.Dense(4, "relu"), tf.keras.layers.BatchNormalization(), tf.keras.layers.Dropout(0.5)]
        model = tf.keras.Sequential([tf.keras.Input((3,)), *layers, tf.keras.layers.Dense(1)])
        optimizer = tf.keras.optimizers.Adam(0.1)
        optimizer.build(model.trainable_variables)

        def step(x: Any) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x, training=True) - 1.0))
            optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
            return loss

        return step, [each.value for each in model.variables]

    assert_alike(program)


def test_keras_fit() -> None:
    """It traces once, and gives the losses of replicas that are traced by themselves."""
    seen: list[int] = []

    class Counting(tf.keras.layers.Layer):
        def call(self, x: Any) -> Any:
            seen.append(1)
            return x * 1.0

    def losses(traced_each: bool) -> list[float]:
        seen.clear()
        tf.keras.utils.set_random_seed(3)
        strategy = tf.distribute.MirroredStrategy(TWO)
        with pytest.MonkeyPatch.context() as patch, strategy.scope():
            if traced_each:
                patch.setattr(strategies, "alike", lambda *given: None)
            layers = [tf.keras.layers.Dense(4), tf.keras.layers.BatchNormalization(), tf.keras.layers.Dropout(0.3)]
            model = tf.keras.Sequential([tf.keras.Input((3,)), Counting(), *layers, tf.keras.layers.Dense(1)])
            model.compile(tf.keras.optimizers.Adam(0.05), "mse", metrics=["mae"])
            before = len(seen)
            history = model.fit(X, X.sum(1), batch_size=4, epochs=3, shuffle=False, verbose=0).history
        calls.append(len(seen) - before)
        return [*history["loss"], *history["mae"]]

    calls: list[int] = []
    assert losses(False) == losses(True)
    assert (calls[0] - 1) * 2 == calls[1] - 1  # one call is there to build the model


def test_the_step_is_explained_as_ever(strategy: Any) -> None:
    function = tf.function(lambda x: strategy.run(lambda x: tf.reduce_sum(x * 2.0), (x,)))
    function(batch(strategy))
    found = tf.explain(function)
    by_replica = {n: {row["device"][-5:] for row in found.to_dicts() if row.get("replica") == n} for n in ("0", "1")}
    assert by_replica == {"0": {"GPU:0"}, "1": {"GPU:1"}}


def test_an_error_of_a_copy_names_its_replica(strategy: Any) -> None:
    @tf.function
    def function(x: Any) -> Any:
        def inside(x: Any) -> Any:
            tf.debugging.assert_positive(x)
            return x + 1.0

        return strategy.run(inside, (x,))

    values = [tf.constant([1.0]), tf.constant([-1.0])]
    function(strategy.experimental_distribute_values_from_function(lambda c: values[0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="replica_1"):
        function(strategy.experimental_distribute_values_from_function(lambda c: values[c.replica_id_in_sync_group]))


# What is not.


def check_each(strategy: Any, inside: Callable[..., Any], args: tuple[Any, ...] = (), times: int = 2) -> Any:
    """What a function gives whose replicas are traced one by one; how often it is called is looked at."""
    calls = []

    def counted(*args: Any) -> Any:
        calls.append(1)
        return inside(*args)

    found = tf.function(lambda *args: strategy.run(counted, args))(*args)
    assert len(calls) == times
    return found


def numbers(found: Any) -> list[Any]:
    return [np.asarray(each).tolist() for each in found.values]


def test_whoever_asks_for_its_number_is_traced(strategy: Any) -> None:
    found = check_each(strategy, lambda: tf.constant(10) + context().replica_id_in_sync_group)
    assert numbers(found) == [10.0, 11.0]


def test_whoever_asks_for_it_after_a_meeting_is_traced_from_the_beginning(strategy: Any) -> None:
    with strategy.scope():
        v = tf.Variable(0.0)

    def inside() -> Any:
        v.assign_add(1.0)
        total = context().all_reduce("SUM", tf.constant(1.0))
        return total + tf.cast(context().replica_id_in_sync_group, tf.float32)

    found = check_each(strategy, inside, times=3)  # once for nothing, then each
    assert numbers(found) == [2.0, 3.0]
    assert [float(each) for each in v.values] == [1.0, 1.0]  # what was begun for nothing had no effect
    assert numbers(check_each(strategy, inside, times=2)) == [2.0, 3.0]  # it is remembered


def test_a_pin_to_the_device_of_the_first_replica_stays(strategy: Any) -> None:
    def inside(x: Any) -> Any:
        with tf.device("/gpu:0"):
            return x + 1.0

    found = check_each(strategy, inside, (batch(strategy),))
    assert [each.device[-5:] for each in found.values] == ["GPU:0", "GPU:0"]


def test_devices_that_functions_choose(strategy: Any) -> None:
    def inside(x: Any) -> Any:
        with tf.device(lambda op: "/cpu:0"):
            return x + 1.0

    check_each(strategy, inside, (batch(strategy),))


def test_values_that_differ_before_the_graph_runs(strategy: Any) -> None:
    sizes = tf.types.experimental.distributed.PerReplica([1, 2])
    calls = []

    @tf.function
    def function() -> Any:
        return strategy.run(lambda n: calls.append(n) or tf.ones([n]), (sizes,))

    assert [each.shape[0] for each in function().values] == [1, 2]
    assert calls == [1, 2]


def test_shapes_that_differ(strategy: Any) -> None:
    ragged = strategy.experimental_distribute_values_from_function(
        lambda c: tf.ones([c.replica_id_in_sync_group + 1, 2])
    )
    found = check_each(strategy, lambda x: x * float(x.shape[0]), (ragged,))
    assert numbers(found) == [[[1.0, 1.0]], [[2.0, 2.0]] * 2]


def test_a_value_of_one_replica_that_all_use(strategy: Any) -> None:
    x = batch(strategy)

    @tf.function
    def function(x: Any) -> Any:
        first = strategy.experimental_local_results(x)[0]
        return strategy.run(lambda y: y - first, (x,))

    found = function(x)
    np.testing.assert_array_equal(found.values[0], np.zeros([4, 3]))
    np.testing.assert_allclose(found.values[1], X[4:] - X[:4])


def test_a_component_that_all_replicas_use(strategy: Any) -> None:
    with strategy.scope():
        v = tf.Variable(1.0)
    strategy.run(lambda: v.assign(tf.constant(5.0) + float(context().replica_id_in_sync_group)))
    first = v.values[0]
    found = tf.function(lambda: strategy.run(lambda: v * first))()
    assert numbers(found) == [25.0, 30.0]


def test_gradients_through_a_meeting(strategy: Any) -> None:
    """As of a normalization over all replicas; a part of what was gathered is at another place for each."""
    with strategy.scope():
        v = tf.Variable(tf.ones([3]))

    def inside(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = x * v
            everything = context().all_gather(y, axis=0)
            loss = tf.reduce_sum(everything * tf.reshape(tf.range(24.0), [8, 3]))
        return tape.gradient(loss, v)

    found = check_each(strategy, inside, (batch(strategy),), times=1)
    weights = np.arange(24.0).reshape(8, 3)
    for number in range(2):  # both replicas have a loss of everything
        part = slice(4 * number, 4 * number + 4)
        np.testing.assert_allclose(found.values[number], 2 * (X[part] * weights[part]).sum(0), rtol=1e-4)


def test_gradients_without_a_tape_do_not_go_through_a_meeting(strategy: Any) -> None:
    """What other replicas do with a sum counts as well, and tf.gradients of one replica cannot know it."""

    def inside(x: Any) -> Any:
        total = context().all_reduce("SUM", x * x)
        return tf.gradients(tf.reduce_sum(total * x), x)[0]

    with pytest.raises(tf.errors.UnimplementedError, match=r"through a collective of replicas.*GradientTape"):
        tf.function(lambda x: strategy.run(inside, (x,)))(batch(strategy))


def test_gradients_without_a_tape_beside_a_meeting(strategy: Any) -> None:
    def inside(x: Any) -> Any:
        count = context().all_reduce("SUM", tf.constant(4.0))
        return tf.gradients(tf.reduce_sum(x * x) / count, x)[0]

    found = tf.function(lambda x: strategy.run(inside, (x,)))(batch(strategy))
    np.testing.assert_allclose(found.values[1], 2 * X[4:] / 8, rtol=1e-5)


def test_objects_of_the_program(strategy: Any) -> None:
    class Held:
        def __init__(self, value: Any) -> None:
            self.value = value

    @tf.function
    def function(x: Any) -> Any:
        found = strategy.run(lambda x: Held(tf.reduce_sum(x)), (x,))
        return [each.value for each in found.values]

    np.testing.assert_allclose(function(batch(strategy)), [X[:4].sum(), X[4:].sum()], rtol=1e-5)


def test_variables_that_replicas_make(strategy: Any) -> None:
    made: list[Any] = []

    def inside(x: Any) -> Any:
        if not made:
            made.append(tf.Variable(tf.ones([3])))
        return x * made[0].assign_add(context().all_reduce("SUM", tf.reduce_sum(x, 0)))

    with strategy.scope():
        function = tf.function(lambda x: strategy.run(inside, (x,)))
        function(batch(strategy))
    for component in made[0].values:
        np.testing.assert_allclose(component, 1.0 + X.sum(0), atol=1e-5)


def test_a_generator_gives_every_replica_numbers_of_its_own(strategy: Any) -> None:
    with strategy.scope():
        generator = tf.random.Generator.from_seed(1)
    eager = strategy.run(lambda: generator.normal([3]))
    with strategy.scope():
        generator = tf.random.Generator.from_seed(1)
    found = check_each(strategy, lambda: generator.normal([3]))
    assert numbers(found) == numbers(eager)
    assert numbers(found)[0] != numbers(found)[1]
