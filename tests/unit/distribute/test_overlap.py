"""Gradients are reduced while the backward pass goes on: in buckets, of which the first is ready first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import situs as tf
from situs._src.distribute import packing
from situs._src.distribute.packing import BUCKET_BYTES, FIRST_BYTES, PACKED_UP_TO, buckets
from situs._src.runtime.run import program as programs
from tests.conftest import RunPython
from tests.unit.distribute.conftest import StartWorkers

# The gradient of the first layer waits until that of the last one, added up over all replicas, has been used. Without
# overlap it would wait for ever, so the times of this machine do not matter.
HELD = """
import threading
import numpy as np
import situs as tf
from situs.extend import op

used = threading.Event()
FLOAT = frozenset({tf.float32})


def held(name, kernel):
    made = op(name, "x: T -> y: T", T=FLOAT)
    made.shape(lambda x: x)
    made.work(lambda node: 10**9)
    made.kernel("CPU", "GPU")(kernel)
    return made


def wait_for_use(x):
    assert used.wait(60), "the last layer's gradient was not reduced meanwhile"
    return x + 0


def tell(x):
    used.set()
    return x + 0


passed = held("Passed", lambda x: x + 0)
wait = held("WaitForUse", wait_for_use)
told = held("Told", tell)
passed.gradient(lambda grad: wait(grad))

SIZE = 600
with strategy.scope():
    first, last = tf.Variable(tf.ones([2, SIZE])), tf.Variable(tf.ones([SIZE, SIZE]))


def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(passed(x @ first) @ last)
    gradients = tape.gradient(loss, [first, last])
    of_first, of_last = tf.distribute.get_replica_context().all_reduce("SUM", gradients)
    return of_first, told(of_last)


function = tf.function(lambda x: strategy.run(step, (x,)))
"""

BEGIN = "import situs as tf\ntf.config.threading.set_inter_op_parallelism_threads(4)\n"
MIRRORED = f"{BEGIN}strategy = tf.distribute.MirroredStrategy()\n{HELD}"
WORKERS = f"{BEGIN}strategy = tf.distribute.MultiWorkerMirroredStrategy()\n{HELD}"


def test_the_last_layer_is_reduced_while_the_first_is_computed(run_python: RunPython) -> None:
    program = (
        MIRRORED
        + """
for _ in range(3):
    used.clear()
    of_first, of_last = function(tf.ones([5, 2]))
    assert of_first.values[1].numpy().tolist() == [[2.0 * 5 * SIZE] * SIZE] * 2
    assert of_last.values[0].numpy().tolist() == [[2.0 * 5 * 2] * SIZE] * SIZE
print("done")
"""
    )
    assert run_python(program, SITUS_VIRTUAL_GPUS="2").strip() == "done"


def test_so_it_is_between_processes(start_workers: StartWorkers) -> None:
    program = (
        WORKERS
        + """
for _ in range(3):
    used.clear()
    of_first, of_last = function(tf.ones([5, 2]))
    assert of_first.numpy().tolist() == [[2.0 * 5 * SIZE] * SIZE] * 2
    assert of_last.numpy().tolist() == [[2.0 * 5 * 2] * SIZE] * SIZE
print("done")
"""
    )
    assert all("done" in printed for printed in start_workers(program, SITUS_VIRTUAL_GPUS="0").wait())


def test_a_recorded_step_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The schedule of a step starts the first sum before the last matrix products of the backward pass."""
    monkeypatch.setattr(packing, "FIRST_BYTES", 1000)
    strategy = tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"])
    with strategy.scope():
        layers = [tf.Variable(tf.ones([200, 200]) / 200.0) for _ in range(6)]

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            for layer in layers:
                x = tf.nn.relu(x @ layer)
            loss = tf.reduce_sum(x)
        sums = tf.distribute.get_replica_context().all_reduce("MEAN", tape.gradient(loss, layers))
        for layer, gradient in zip(layers, sums, strict=True):
            layer.assign_sub(0.001 * gradient)
        return loss

    function = tf.function(lambda x: strategy.run(step, (x,)))
    recorded: list[Any] = []
    monkeypatch.setattr(
        programs,
        "listener",
        programs.Listener(lambda plan, recorder, way: recorded.append(recorder), lambda plan, seconds: None),
    )
    for _ in range(2):
        function(tf.ones([128, 200]))
    (ready,) = function.get_concrete_function(tf.ones([128, 200]))._programs.values()
    schedule = ready._program.schedule
    order = [number for together in schedule.rounds() for number in together]
    types = [getattr(schedule.plan.calls[number].node, "type", "copy") for number in order]
    assert types.index("AddN") < len(types) - 1 - types[::-1].index("MatMul")
    started = [event.call.node.type for event in sorted(recorded[-1].events, key=lambda e: e.start) if event.call.node]
    assert started.count("AddN") == types.count("AddN") == 2


def test_losses_do_not_depend_on_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).normal(size=(32, 4)).astype("float32")

    def losses(first: int, others: int) -> list[float]:
        monkeypatch.setattr(packing, "FIRST_BYTES", first)
        monkeypatch.setattr(packing, "BUCKET_BYTES", others)
        strategy = tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"])
        with strategy.scope():
            tf.keras.utils.set_random_seed(0)
            layers = [tf.keras.layers.Dense(8, "relu") for _ in range(4)]
            model = tf.keras.Sequential([tf.keras.Input((4,)), *layers, tf.keras.layers.Dense(1)])
            model.compile(tf.keras.optimizers.SGD(0.05), "mse")
        found: list[float] = model.fit(x, x.sum(1), batch_size=8, epochs=2, shuffle=False, verbose=0).history["loss"]
        return found

    np.testing.assert_allclose(losses(100, 300), losses(FIRST_BYTES, BUCKET_BYTES), rtol=1e-6)


# Which values travel together.


def columns(*sizes: int, dtype: Any = "float32") -> list[list[Any]]:
    return [[tf.zeros([size], dtype)] for size in sizes]


def test_a_small_model_is_one_bucket_the_last_layer_first() -> None:
    assert buckets(columns(10, 20, 30)) == [[2, 1, 0]]


def test_the_first_bucket_is_small() -> None:
    quarter = FIRST_BYTES // 16  # elements of a quarter of the first bucket
    assert buckets(columns(*[quarter] * 10)) == [[9, 8, 7, 6], [5, 4, 3, 2, 1, 0]]


def test_other_buckets_have_their_size() -> None:
    large = 2**19  # two MiB
    found = buckets(columns(*[large] * 30), packed_up_to=None)
    assert [len(each) for each in found] == [1, 12, 12, 5]
    assert [place for each in found for place in each] == list(range(29, -1, -1))


def test_what_is_large_goes_by_itself() -> None:
    assert buckets(columns(10, PACKED_UP_TO + 1, 20)) == [[2, 0], [1]]
    assert buckets(columns(10, FIRST_BYTES // 4, 20), packed_up_to=None) == [[2], [1, 0]]


def test_dtypes_do_not_mix() -> None:
    mixed = [*columns(3), *columns(4, dtype="float64"), *columns(5), *columns(6, dtype="float64")]
    assert buckets(mixed) == [[3, 1], [2, 0]]


def test_rows_and_unknown_sizes_go_by_themselves() -> None:
    rows = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0]), tf.constant([3, 2]))
    found: list[Any] = []

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def function(x: Any) -> Any:
        found.append(buckets([[x + 1.0], [tf.ones([2])], [tf.ones([3])]]))
        return x

    function(tf.ones([2]))
    assert found == [[[0], [1, 2]]]  # in a graph in the order of the operations
    assert buckets([*columns(3), [rows], *columns(4)]) == [[2, 0], [1]]


@pytest.mark.parametrize("traced", [False, True])
def test_packing_has_gradients(traced: bool) -> None:
    x, y = tf.Variable([[1.0, 2.0], [3.0, 4.0]]), tf.Variable([5.0])

    def gradients() -> Any:
        with tf.GradientTape() as tape:
            a, b, _ = packing.unpacked(packing.packed([x, y, x * y]) * 3.0, [x.shape, y.shape, x.shape])
            loss = tf.reduce_sum(a * a) + tf.reduce_sum(b)
        return tape.gradient(loss, [x, y])

    of_x, of_y = (tf.function(gradients) if traced else gradients)()
    np.testing.assert_allclose(of_x, 18.0 * np.array([[1.0, 2.0], [3.0, 4.0]]))
    np.testing.assert_allclose(of_y, [3.0])
