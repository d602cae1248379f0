"""``MirroredStrategy`` and its like over virtual GPUs: what TensorFlow does, measured, and what it leaves behind."""

from __future__ import annotations

import copy
import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import situs as tf
from situs import errors
from tests.conftest import RunPython

TWO = ["/gpu:0", "/gpu:1"]
SUM, MEAN = tf.VariableAggregation.SUM, tf.VariableAggregation.MEAN
ON_READ = tf.VariableSynchronization.ON_READ


@pytest.fixture
def strategy() -> tf.distribute.MirroredStrategy:
    return tf.distribute.MirroredStrategy(TWO)


@pytest.fixture(autouse=True)
def _no_threads_left() -> Iterator[None]:
    yield
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("replica")]


def replica() -> int:
    return int(tf.get_static_value(tf.distribute.get_replica_context().replica_id_in_sync_group))


def in_both(fn: Any) -> list[Any]:
    return [fn, tf.function(fn)]


# Making one.


def test_all_gpus_by_default() -> None:
    found = tf.distribute.MirroredStrategy()
    assert found.num_replicas_in_sync == len(tf.config.list_logical_devices("GPU"))
    assert found.extended.worker_devices == found.extended.parameter_devices
    assert found.extended.worker_devices[1].endswith("/device:GPU:1")


def test_all_cpus_where_there_is_no_gpu(run_python: RunPython) -> None:
    program = """
import situs as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 3)
print(tf.distribute.MirroredStrategy().num_replicas_in_sync)
"""
    assert run_python(program, SITUS_VIRTUAL_GPUS="0").strip() == "3"


@pytest.mark.parametrize(
    ("devices", "error", "message"),
    [
        (["/gpu:0", "/gpu:0"], AssertionError, "No duplicates allowed"),
        (["/gpu:0", "/device:GPU:0"], AssertionError, "No duplicates allowed"),
        (["/gpu:9"], ValueError, "GPU:9"),
        ("/gpu:0", ValueError, "list of names"),
        ([3], ValueError, "names"),
        (["/nonsense:0"], ValueError, "nonsense"),
    ],
)
def test_devices_that_cannot_be(devices: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tf.distribute.MirroredStrategy(devices)


def test_a_missing_device_with_soft_placement() -> None:
    tf.config.set_soft_device_placement(True)
    try:
        found = tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:9"])
        assert found.num_replicas_in_sync == 2
    finally:
        tf.config.set_soft_device_placement(False)


@pytest.mark.parametrize("kind", ["ParameterServerStrategy", "TPUStrategy"])
def test_what_is_not_there_is_refused_in_words(kind: str) -> None:
    with pytest.raises(errors.UnimplementedError, match=kind):
        getattr(tf.distribute, kind)()


# Where the program is.


def test_contexts(strategy: Any) -> None:
    default = tf.distribute.get_strategy()
    assert not tf.distribute.has_strategy()
    assert tf.distribute.get_replica_context().replica_id_in_sync_group == 0
    with strategy.scope():
        assert tf.distribute.get_strategy() is strategy
        assert tf.distribute.in_cross_replica_context()
        assert tf.distribute.get_replica_context() is None
        with strategy.scope():
            assert tf.distribute.has_strategy()

    def inside() -> None:
        assert not tf.distribute.in_cross_replica_context()
        assert tf.distribute.get_strategy() is strategy

    strategy.run(inside)
    assert tf.distribute.get_strategy() is default


def test_two_strategies_do_not_mix(strategy: Any) -> None:
    with (
        strategy.scope(),
        pytest.raises(RuntimeError, match=r"Mixing different tf\.distribute\.Strategy objects"),
        tf.distribute.MirroredStrategy(TWO).scope(),
    ):
        pass
    assert not tf.distribute.has_strategy()


# Running.


@pytest.mark.parametrize("traced", [False, True])
def test_run_and_reduce(strategy: Any, traced: bool) -> None:
    def program() -> Any:
        return strategy.run(lambda: tf.constant(1.0) + replica())

    found = (tf.function(program) if traced else program)()
    assert [float(each) for each in strategy.experimental_local_results(found)] == [1.0, 2.0]
    assert [each.device[-5:] for each in found.values] == ["GPU:0", "GPU:1"]
    assert float(strategy.reduce("SUM", found)) == 3.0
    assert float(strategy.reduce(tf.distribute.ReduceOp.MEAN, found)) == 1.5
    with pytest.raises(ValueError, match="'MAX' is not a valid ReduceOp"):
        strategy.reduce("MAX", found)


def test_what_all_replicas_have_is_one_value(strategy: Any) -> None:
    assert strategy.run(lambda: 0) == 0
    assert strategy.reduce("SUM", 0) == 0
    with pytest.raises(ValueError, match="cannot be reduced"):
        strategy.reduce("SUM", 3)


def test_per_replica_is_printed(strategy: Any) -> None:
    found = strategy.run(lambda: replica() + 1)
    assert repr(found) == "PerReplica:{\n  0: 1,\n  1: 2\n}"


def test_arguments_are_dealt_out(strategy: Any) -> None:
    given = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant([context.replica_id_in_sync_group, context.num_replicas_in_sync])
    )
    found = strategy.run(lambda x, y, z: {"sum": x + y + z["a"]}, (given, 10), {"z": {"a": given}})
    assert [each.numpy().tolist() for each in found["sum"].values] == [[10, 14], [12, 14]]


def test_a_mean_along_an_axis_counts_elements(strategy: Any) -> None:
    given = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant([[1.0, 2.0, 3.0], [10.0]][context.replica_id_in_sync_group])
    )
    assert float(strategy.reduce("MEAN", given, axis=0)) == 4.0
    assert float(strategy.reduce("SUM", given, axis=0)) == 16.0
    assert strategy.gather(given, axis=0).numpy().tolist() == [1.0, 2.0, 3.0, 10.0]


@pytest.mark.parametrize("traced", [False, True])
def test_replicas_meet(strategy: Any, traced: bool) -> None:
    order = []

    def inside() -> Any:
        order.append(f"a{replica()}")
        context = tf.distribute.get_replica_context()
        given = tf.constant([1.0, 2.0]) * (replica() + 1)
        found = context.all_reduce("SUM", {"x": given, "y": [given * 10]})
        gathered = context.all_gather(given, axis=0)
        merged = context.merge_call(lambda strategy, each: strategy.reduce("MEAN", each), args=(given,))
        order.append(f"b{replica()}")
        return found["x"], found["y"][0], gathered, merged

    def program() -> Any:
        return strategy.run(inside)

    total, tens, gathered, merged = (tf.function(program) if traced else program)()
    for number in range(2):
        assert total.values[number].numpy().tolist() == [3.0, 6.0]
        assert total.values[number].device.endswith(f"GPU:{number}")
        assert tens.values[number].numpy().tolist() == [30.0, 60.0]
        assert gathered.values[number].numpy().tolist() == [1.0, 2.0, 2.0, 4.0]
    assert np.asarray(strategy.experimental_local_results(merged)[0]).tolist() == [1.5, 3.0]
    if traced:
        assert order[:2] == ["a0", "a1"]


def test_replicas_run_side_by_side(strategy: Any) -> None:
    """Each waits for the other, outside of the meetings of the strategy; the first time they run one by one."""
    barrier = threading.Barrier(2, timeout=30)
    order = []

    def inside(wait: bool) -> int:
        order.append(replica())
        if wait:
            barrier.wait()
        return replica()

    assert strategy.run(inside, (False,)).values == (0, 1)
    assert order == [0, 1]
    assert strategy.run(inside, (True,)).values == (0, 1)


@pytest.mark.parametrize("traced", [False, True])
def test_what_the_first_replica_makes_is_there_for_the_second(strategy: Any, traced: bool) -> None:
    """As with the variables of an optimizer, which says that it has them before it does."""
    made: list[Any] = []

    def inside() -> Any:
        if not made:
            made.append("begun")
            made.append(tf.Variable(1.0))
            made.append(tf.Variable(2.0))
        total = tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(1.0) + replica())
        return made[1].assign_add(total * made[2])

    def program() -> Any:
        return strategy.run(inside)

    with strategy.scope():
        (tf.function(program) if traced else program)()
    assert [float(each) for each in made[1].values] == [7.0, 7.0]


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("number", [0, 1])
def test_a_replica_that_fails(strategy: Any, traced: bool, number: int) -> None:
    def inside() -> Any:
        if replica() == number:
            raise KeyError("mine")
        return tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(1.0))

    def program() -> Any:
        return strategy.run(inside)

    with pytest.raises(KeyError, match="mine") as caught:
        (tf.function(program) if traced else program)()
    assert any(f"In replica {number}" in note for note in caught.value.__notes__)
    assert strategy.run(replica).values == (0, 1)


def test_replicas_that_do_not_meet(strategy: Any) -> None:
    def inside() -> Any:
        if replica() == 0:
            return None
        return tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(1.0))

    with pytest.raises(RuntimeError, match="same calls"):
        strategy.run(inside)


def test_what_is_not_a_function(strategy: Any) -> None:
    with pytest.raises(TypeError, match="function"):
        strategy.run(3)


# Variables.


def test_variables_have_a_component_on_each_device(strategy: Any) -> None:
    calls = []

    def first() -> Any:
        calls.append(1)
        return tf.random.normal([2])

    with strategy.scope():
        v = tf.Variable(first, name="v")
    assert calls == [1]
    assert [each.name for each in v.values] == ["v:0", "v/replica_1:0"]
    assert [each.device[-5:] for each in v.values] == ["GPU:0", "GPU:1"]
    assert (v.values[0].numpy() == v.values[1].numpy()).all()
    assert isinstance(v, tf.Variable)
    assert repr(v).startswith("MirroredVariable:{\n  0: <tf.Variable 'v:0'")
    assert strategy.extended.variable_created_in_scope(v)
    assert not strategy.extended.variable_created_in_scope(tf.Variable(1.0))


def test_a_device_inside_the_scope_does_not_move_components(strategy: Any) -> None:
    with strategy.scope(), tf.device("/cpu:0"):
        v = tf.Variable(1.0)
    assert [each.device[-5:] for each in v.values] == ["GPU:0", "GPU:1"]


@pytest.mark.parametrize("traced", [False, True])
def test_assignments_for_all(strategy: Any, traced: bool) -> None:
    with strategy.scope():
        v = tf.Variable(1.0)

    def program() -> None:
        v.assign(5.0)
        v.assign_add(2.0)

    (tf.function(program) if traced else program)()
    assert [float(each) for each in v.values] == [7.0, 7.0]
    assert float(v) == float(v + 0.0) == 7.0


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(("aggregation", "wanted"), [(SUM, [2.0, 2.0]), (MEAN, [1.5, 1.5]), (None, [1.0, 2.0])])
def test_assignments_by_replicas(strategy: Any, traced: bool, aggregation: Any, wanted: list[float]) -> None:
    with strategy.scope():
        v = tf.Variable(1.0, aggregation=aggregation)

    def program() -> Any:
        return strategy.run(lambda: v.assign_add(tf.constant(1.0) * replica()))

    (tf.function(program) if traced else program)()
    assert [float(each) for each in v.values] == wanted


def test_the_first_replica_decides(strategy: Any) -> None:
    with strategy.scope():
        v = tf.Variable(0.0, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)
    strategy.run(lambda: v.assign(tf.constant(5.0) + replica()))
    assert [float(each) for each in v.values] == [5.0, 5.0]


@pytest.mark.parametrize("traced", [False, True])
def test_variables_that_are_added_up_when_read(strategy: Any, traced: bool) -> None:
    with strategy.scope():
        v = tf.Variable(1.0, synchronization=ON_READ, aggregation=SUM)

    def program() -> Any:
        return strategy.run(lambda: v.assign_add(tf.constant(1.0) + replica()))

    v.assign(2.0)  # dealt out
    (tf.function(program) if traced else program)()
    assert [float(each) for each in v.values] == [2.0, 3.0]
    assert float(v.read_value()) == 5.0
    assert not v.trainable
    with pytest.raises(ValueError, match="cross-replica"):
        v.assign_add(1.0)


def test_variables_without_a_value_for_all(strategy: Any) -> None:
    with strategy.scope():
        v = tf.Variable(1.0, synchronization=ON_READ)
    with pytest.raises(ValueError, match="no aggregation"):
        v.read_value()


@pytest.mark.parametrize("traced", [False, True])
def test_gradients_of_components(strategy: Any, traced: bool) -> None:
    with strategy.scope():
        v = tf.Variable([1.0, 2.0])

    def inside() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v * v) * (replica() + 1)
        gradient = tape.gradient(loss, v)
        return tf.distribute.get_replica_context().all_reduce("SUM", gradient)

    def program() -> Any:
        return strategy.run(inside)

    found = (tf.function(program) if traced else program)()
    assert found.values[1].numpy().tolist() == [6.0, 12.0]


def test_functions_called_by_replicas_use_their_components(strategy: Any) -> None:
    with strategy.scope():
        v = tf.Variable(0.0)

    @tf.function
    def add(x: Any) -> Any:
        return v.assign_add(x)

    for _ in range(2):
        strategy.run(lambda: add(tf.constant(1.0) + replica()))
    assert [float(each) for each in v.values] == [2.0, 4.0]


def test_variables_made_by_replicas(strategy: Any) -> None:
    made = []

    def inside() -> Any:
        made.append(tf.Variable(3.0))
        return made[-1] + tf.constant(1.0) * replica()

    found = strategy.run(inside)
    assert [float(each) for each in found.values] == [3.0, 4.0]
    assert made[0] is made[1]


def test_checkpoints_have_one_value(strategy: Any, tmp_path: Any) -> None:
    with strategy.scope():
        v = tf.Variable([1.0, 2.0])
        total = tf.Variable(0.0, synchronization=ON_READ, aggregation=SUM)
    strategy.run(lambda: total.assign_add(tf.constant(2.0)))
    path = tf.train.Checkpoint(v=v, total=total).save(str(tmp_path / "c"))
    plain, plain_total = tf.Variable([0.0, 0.0]), tf.Variable(0.0)
    tf.train.Checkpoint(v=plain, total=plain_total).restore(path)
    assert (plain.numpy().tolist(), float(plain_total)) == ([1.0, 2.0], 4.0)
    v.assign([0.0, 0.0])
    total.assign(0.0)
    tf.train.Checkpoint(v=v, total=total).restore(path)
    assert [each.numpy().tolist() for each in v.values] == [[1.0, 2.0]] * 2
    assert float(total.read_value()) == 4.0


def test_update_changes_every_component(strategy: Any) -> None:
    with strategy.scope():
        v = tf.Variable(1.0)
        strategy.extended.update(v, lambda each, x: each.assign_add(x), args=(tf.constant(2.0),))
    assert [float(each) for each in v.values] == [3.0, 3.0]


# Input.


def parts(found: Any) -> list[list[list[int]]]:
    return [[each.numpy().tolist() for each in x.values] for x in found]


def test_batches_are_split(strategy: Any) -> None:
    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(7).batch(4))
    assert parts(dataset) == [[[0, 1], [2, 3]], [[4, 5], [6]]]
    assert parts(dataset) == parts(dataset)


def test_batches_of_structures(strategy: Any) -> None:
    whole = tf.data.Dataset.from_tensor_slices({"x": np.arange(4.0), "y": np.arange(8).reshape(4, 2)}).batch(4)
    (found,) = list(strategy.experimental_distribute_dataset(whole))
    assert found["x"].values[1].numpy().tolist() == [2.0, 3.0]
    assert found["y"].values[0].shape == (2, 2)


def test_loops_and_iterators_of_functions(strategy: Any) -> None:
    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(7).batch(4))

    @tf.function
    def total() -> Any:
        found = tf.constant(0, tf.int64)
        for x in dataset:
            found += strategy.reduce("SUM", strategy.run(tf.reduce_sum, (x,)))
        return found

    @tf.function
    def step(iterator: Any) -> Any:
        return strategy.run(lambda x: x * 2, (next(iterator),))

    assert int(total()) == 21
    iterator = iter(dataset)
    assert [each.numpy().tolist() for each in step(iterator).values] == [[0, 2], [4, 6]]
    assert [each.numpy().tolist() for each in step(iterator).values] == [[8, 10], [12]]
    assert step.experimental_get_tracing_count() == 1


def test_datasets_from_a_function(strategy: Any) -> None:
    seen = []

    def make(context: tf.distribute.InputContext) -> Any:
        seen.append((context.num_input_pipelines, context.get_per_replica_batch_size(4)))
        return tf.data.Dataset.range(8).batch(context.get_per_replica_batch_size(4))

    assert parts(strategy.distribute_datasets_from_function(make)) == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    assert seen == [(1, 2)]
    with pytest.raises(ValueError, match="not divisible"):
        tf.distribute.InputContext(1, 0, 2).get_per_replica_batch_size(3)


@pytest.mark.parametrize("given", [tf.data.Dataset.range(4), [1, 2]])
def test_what_cannot_be_distributed(strategy: Any, given: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"batch|Dataset"):
        strategy.experimental_distribute_dataset(given)


# Others.


def test_one_device() -> None:
    strategy = tf.distribute.OneDeviceStrategy("/gpu:1")
    with strategy.scope():
        v = tf.Variable(1.0)
    assert v.device.endswith("GPU:1")
    found = strategy.run(lambda: v + 1.0)
    assert (float(found), found.device[-5:]) == (2.0, "GPU:1")
    assert float(strategy.reduce("SUM", found)) == 2.0


@pytest.mark.parametrize("traced", [False, True])
def test_central_storage(traced: bool) -> None:
    strategy = tf.distribute.experimental.CentralStorageStrategy(TWO)
    with strategy.scope():
        v = tf.Variable(1.0, aggregation=SUM)

    def program() -> Any:
        return strategy.run(lambda: v.assign_add(tf.constant(1.0) + replica()))

    (tf.function(program) if traced else program)()
    assert v.device.endswith("CPU:0")
    assert float(v) == 4.0


def test_the_default_strategy() -> None:
    strategy = tf.distribute.get_strategy()
    with strategy.scope():
        v = tf.Variable(2.0)
    assert type(v) is tf.Variable
    assert float(strategy.run(lambda x: v * x, (3.0,))) == 6.0
    assert float(strategy.reduce("MEAN", tf.constant([2.0, 4.0]), axis=0)) == 3.0
    assert tf.distribute.get_replica_context().all_reduce("SUM", 4.0) == 4.0


# What is said of a step.


def distributed_step(strategy: Any) -> Any:
    """A function with two replicas, whose gradients are added up, and losses after that."""
    with strategy.scope():
        v = tf.Variable([1.0, 2.0])

    def inside() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v * v)
        v.assign_sub(tf.distribute.get_replica_context().all_reduce("SUM", tape.gradient(loss, v)))
        return loss

    return tf.function(lambda: strategy.reduce("SUM", strategy.run(inside)))


def test_a_step_is_explained(strategy: Any) -> None:
    step = distributed_step(strategy)
    outer = tf.function(lambda: step())
    step()
    outer()
    for function in (step, outer):
        found = tf.explain(function)
        by_replica = {
            number: {row["device"][-5:] for row in found.to_dicts() if row.get("replica") == number}
            for number in ("0", "1")
        }
        assert by_replica == {"0": {"GPU:0"}, "1": {"GPU:1"}}
        gradients, losses = found.reductions
        assert (gradients.values, gradients.between_devices, gradients.between_workers) == (1, 16, 0)  # there and back
        assert (losses.values, losses.between_devices) == (1, 4)
        printed = str(found)
        assert "replica 1: " in printed
        assert "on GPU:1" in printed
        assert "on GPU:0: 16 bytes between devices" in printed


def test_the_placement_log_says_it_too(strategy: Any, capsys: pytest.CaptureFixture[str]) -> None:
    tf.debugging.set_log_device_placement(True)
    distributed_step(strategy)()
    printed = capsys.readouterr().out
    assert "replica 1: " in printed
    assert "16 bytes between devices" in printed
    strategy.reduce("SUM", strategy.run(lambda: tf.constant([1.0, 2.0])))
    assert "1 value reduced on GPU:0: 8 bytes between devices" in capsys.readouterr().out


def test_gradients_go_there_and_back_in_one_piece(strategy: Any) -> None:
    """Twenty values of two replicas are two transfers: one to the device that adds, and one from there."""
    with strategy.scope():
        variables = [tf.Variable(tf.ones([3, number + 1])) for number in range(20)]

    def inside() -> Any:
        values = [variable * (1.0 + replica()) for variable in variables]
        return tf.distribute.get_replica_context().all_reduce("SUM", values)

    function = tf.function(lambda: strategy.run(inside))
    sums = function()
    for number, each in enumerate(sums):
        assert [value.device[-5:] for value in each.values] == ["GPU:0", "GPU:1"]
        for value in each.values:
            np.testing.assert_array_equal(value.numpy(), np.full([3, number + 1], 3.0))
    (ready,) = function.get_concrete_function()._programs.values()
    copies = [call for call in ready._program.plan.calls if call.copies is not None]
    assert len(copies) == 2


def test_the_number_of_a_replica_is_a_tensor_and_can_be_returned() -> None:
    """As in TensorFlow: on the device of the replica in eager code; functions return it as a tensor."""
    strategy = tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"])

    def number() -> Any:
        return tf.distribute.get_replica_context().replica_id_in_sync_group

    eager = strategy.run(number)
    assert [each.device[-5:] for each in eager.values] == ["GPU:0", "GPU:1"]
    for found in (eager, tf.function(lambda: strategy.run(number))()):
        assert [(each.numpy().item(), each.dtype) for each in found.values] == [(0, tf.int32), (1, tf.int32)]
    assert strategy.run(lambda: ["first", "second"][number()]).values == ("first", "second")


def test_a_copy_of_a_variable(strategy: Any) -> None:
    with strategy.scope():
        v = tf.Variable([1.0, 2.0], aggregation=tf.VariableAggregation.MEAN)
    copied = copy.deepcopy(v)
    v.assign([5.0, 5.0])
    assert type(copied) is type(v)
    assert copied.aggregation is v.aggregation
    assert [each.device[-5:] for each in copied.values] == ["GPU:0", "GPU:1"]
    for each in copied.values:
        np.testing.assert_array_equal(each, [1.0, 2.0])


def test_replicas_do_not_change_a_central_variable_without_aggregation() -> None:
    strategy = tf.distribute.experimental.CentralStorageStrategy(["/gpu:0", "/gpu:1"])
    with strategy.scope():
        v = tf.Variable(1.0)
    with pytest.raises(ValueError, match="make it with an aggregation"):
        strategy.run(lambda: v.assign_add(tf.constant(1.0)))
    v.assign(3.0)
    assert float(v) == 3.0


def test_a_replica_without_rows_is_told_when_values_are_reduced(strategy: Any) -> None:
    batch = next(iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(1).batch(1))))
    with pytest.raises(errors.InvalidArgumentError, match=r"\[1\] != input 1: \[0\]") as caught:
        strategy.reduce("SUM", batch, axis=None)
    assert "fewer rows than there are replicas" in caught.value.__notes__[0]


@pytest.mark.parametrize("traced", [False, True])
def test_what_a_replica_held_that_failed_is_freed_with_its_error(strategy: Any, traced: bool) -> None:
    """At once, not when garbage is collected: it may be what filled the device."""
    held: list[Any] = []

    def step() -> None:
        large = {1.0}
        held.append(weakref.ref(large))
        raise ValueError("mine")

    run = tf.function(lambda: strategy.run(step), autograph=False) if traced else lambda: strategy.run(step)
    gc.disable()
    try:
        for _ in range(2):
            try:
                run()
            except ValueError:
                pass
    finally:
        gc.enable()
    assert held
    assert not any(each() for each in held)
