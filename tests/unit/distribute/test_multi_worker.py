"""``MultiWorkerMirroredStrategy``: processes on loopback compute what one device does, and notice who is missing."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import situs as tf
from tests.unit.distribute.conftest import StartWorkers, Workers

BEGIN = """
import json, os, sys
import numpy as np
import situs as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
rank = strategy.cluster_resolver.task_id


def say(**found):
    print("FOUND", json.dumps(found, default=lambda value: np.asarray(value).tolist()), flush=True)


def replica():
    return int(tf.get_static_value(tf.distribute.get_replica_context().replica_id_in_sync_group))
"""


def found(printed: str) -> dict[str, Any]:
    """What a worker has said."""
    lines = [line.removeprefix("FOUND ") for line in printed.splitlines() if line.startswith("FOUND ")]
    return {key: value for line in lines for key, value in json.loads(line).items()}


def said(workers: Workers) -> list[dict[str, Any]]:
    return [found(printed) for printed in workers.wait()]


VALUES = (
    BEGIN
    + """
with strategy.scope():
    v = tf.Variable(rank + 5.0)
    words = tf.Variable([rank == 0, True])
    total = tf.Variable(0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM)
    mean = tf.Variable(0.0, aggregation=tf.VariableAggregation.MEAN)
    first = tf.Variable(0.0, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)
say(first_values=[v, words], replicas=strategy.num_replicas_in_sync, chief=strategy.extended.should_checkpoint)


def inside():
    context = tf.distribute.get_replica_context()
    total.assign_add(tf.constant(1.0) + replica())
    mean.assign(tf.constant(1.0) * replica())
    first.assign(tf.constant(7.0) + replica())
    sums = context.all_reduce("SUM", {"a": tf.constant([1.0, 2.0]) * (replica() + 1), "b": [tf.constant(replica())]})
    rows = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([replica()]), tf.constant([4, 2]))
    rows = context.all_reduce("SUM", rows)
    with tf.GradientTape() as tape:
        x = tf.constant(3.0) + replica()
        tape.watch(x)
        y = context.all_reduce("SUM", x * x) * (1.0 + replica())
    slope = tape.gradient(y, x)
    gathered = context.all_gather(tf.fill([replica() + 1, 1], replica()), axis=0)
    return sums["a"], sums["b"][0], gathered, tf.convert_to_tensor(rows), slope


def program():
    a, b, gathered, rows, slope = strategy.run(inside)
    local = strategy.experimental_local_results
    given = strategy.run(lambda: tf.constant([1.0] * (replica() + 1)) * replica())
    return {
        "a": local(a)[0], "b": local(b)[0], "gathered": local(gathered)[0], "rows": local(rows)[0],
        "slope": list(local(slope)),
        "mean": strategy.reduce("MEAN", given, axis=0), "sum": strategy.reduce("SUM", given, axis=0),
        "scalar": strategy.reduce("MEAN", strategy.run(lambda: tf.constant(1.0) * replica()), axis=None),
        "joined": strategy.gather(given, axis=0),
    }


say(eager=program(), total=total, mean_value=list(mean.values), first_value=list(first.values))
say(traced=tf.function(program)())
contexts = strategy.experimental_distribute_values_from_function(lambda each: each.replica_id_in_sync_group)
say(numbers=list(strategy.experimental_local_results(contexts)))


def parts(dataset):
    return [[np.asarray(each).tolist() for each in strategy.experimental_local_results(batch)] for batch in dataset]


def with_policy(name, dataset):
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = getattr(tf.data.experimental.AutoShardPolicy, name)
    return strategy.experimental_distribute_dataset(dataset.with_options(options))


numbers = tf.data.Dataset.range(14).batch(8)
say(batches=parts(strategy.experimental_distribute_dataset(numbers)), off=parts(with_policy("OFF", numbers)))


def make(context):
    whole = tf.data.Dataset.range(8).shard(context.num_input_pipelines, context.input_pipeline_id)
    return whole.batch(context.get_per_replica_batch_size(4))


say(from_function=parts(strategy.distribute_datasets_from_function(make)))
lines = tf.data.TextLineDataset(sorted(tf.io.gfile.glob(os.environ["FOLDER"] + "/*.txt"))).batch(4)
listed = tf.data.Dataset.list_files(os.environ["FOLDER"] + "/*.txt", shuffle=False)
listed = listed.interleave(tf.data.TextLineDataset, cycle_length=1).batch(4)
by_numbers = [dataset.map(lambda x: tf.strings.to_number(x, tf.int32)) for dataset in (lines, listed)]
say(files=parts(strategy.experimental_distribute_dataset(by_numbers[0])))
say(listed=parts(with_policy("FILE", by_numbers[1])))
try:
    with_policy("FILE", numbers)
except ValueError as error:
    say(no_files=str(error))
"""
)


def lines_in(folder: Path) -> str:
    """Two files of four lines each."""
    for number in range(2):
        (folder / f"{number}.txt").write_text("\n".join(str(10 * number + each) for each in range(4)))
    return str(folder)


def test_values_of_two_workers(start_workers: StartWorkers, tmp_path: Path) -> None:
    first, second = said(start_workers(VALUES, 2, FOLDER=lines_in(tmp_path)))
    assert (first["chief"], second["chief"]) == (True, False)
    assert (first["numbers"], second["numbers"]) == ([0], [1])
    for each in (first, second):
        assert each["replicas"] == 2
        assert each["first_values"] == [5.0, [True, True]]
        assert each["total"] == 3.0
        assert each["mean_value"] == [0.5]
        assert each["first_value"] == [7.0]
        assert each["eager"] == each["traced"] | {"slope": each["eager"]["slope"]}
        values = each["eager"]
        assert (values["a"], values["b"]) == ([3.0, 6.0], 1)
        assert values["gathered"] == [[0], [1], [1]]
        assert values["rows"] == [[1, 1], [1, 1], [0, 0], [0, 0]]
        assert values["scalar"] == 0.5
        assert values["joined"] == [0.0, 1.0, 1.0]
        assert values["mean"] == pytest.approx(2 / 3)
        assert values["sum"] == 2.0
        assert "FILE" in each["no_files"]
    # The sum's gradient is that of all replicas: 2 x (1 + 2).
    assert (first["eager"]["slope"], second["eager"]["slope"]) == ([18.0], [24.0])
    assert (first["traced"]["slope"], second["traced"]["slope"]) == ([18.0], [24.0])
    assert first["batches"] == [[[0, 1, 2, 3]], [[8, 9, 10]]]
    assert second["batches"] == [[[4, 5, 6, 7]], [[11, 12, 13]]]
    assert first["off"] == second["off"] == [[[0, 1, 2, 3]], [[4, 5, 6, 7]], [[8, 9, 10]], [[11, 12, 13]]]
    assert (first["from_function"], second["from_function"]) == ([[[0, 2]], [[4, 6]]], [[[1, 3]], [[5, 7]]])
    for kind in ("files", "listed"):
        assert (first[kind], second[kind]) == ([[[0, 1]], [[2, 3]]], [[[10, 11]], [[12, 13]]])


def test_two_replicas_in_each_of_two_workers(start_workers: StartWorkers) -> None:
    program = (
        BEGIN
        + """
context = tf.distribute.get_replica_context
say(
    replicas=strategy.num_replicas_in_sync,
    ids=list(strategy.run(replica).values),
    sums=list(strategy.run(lambda: context().all_reduce("SUM", tf.constant(1.0) * replica())).values),
    joined=strategy.gather(strategy.run(lambda: tf.constant([replica()])), axis=0),
)
dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(8))
say(batches=[[np.asarray(each).tolist() for each in batch.values] for batch in dataset])
"""
    )
    first, second = said(start_workers(program, 2, SITUS_VIRTUAL_GPUS="2"))
    assert (first["ids"], second["ids"]) == ([0, 1], [2, 3])
    assert first["sums"] == second["sums"] == [6.0, 6.0]
    assert first["joined"] == second["joined"] == [0, 1, 2, 3]
    assert first["replicas"] == 4
    # A replica's part goes round the workers, as Keras expects when it puts predictions into order again.
    assert (first["batches"], second["batches"]) == ([[[0, 1], [4, 5]]], [[[2, 3], [6, 7]]])


X = np.random.default_rng(0).normal(size=(64, 3)).astype("float32")
Y = X.sum(1, keepdims=True)

TRAINING = (
    BEGIN
    + """
X = np.random.default_rng(0).normal(size=(64, 3)).astype("float32")
Y = X.sum(1, keepdims=True)
folder = os.environ["FOLDER"]


def made(seed=0):
    with strategy.scope():
        tf.keras.utils.set_random_seed(seed)
        parts = [tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)]
        model = tf.keras.Sequential([tf.keras.Input((3,)), *parts])
        model.compile(tf.keras.optimizers.Adam(0.05), "mse", metrics=["mae"])
    return model


model = made(seed=rank)  # the chief's first values hold
saved = tf.keras.callbacks.ModelCheckpoint(folder + "/best.keras")
history = model.fit(X, Y, batch_size=16, epochs=2, verbose=0, shuffle=False, callbacks=[saved]).history
evaluated = model.evaluate(X, Y, verbose=0, batch_size=16)
say(loss=history["loss"], mae=history["mae"], weights=[each.ravel() for each in model.get_weights()])
say(predicted=model.predict(X, verbose=0, batch_size=16).ravel(), evaluated=evaluated, saved=os.listdir(folder))


class Stop(Exception):
    pass


class StopAfter(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if epoch == 1:
            raise Stop


backup = lambda: tf.keras.callbacks.BackupAndRestore(folder + "/backup")
model = made()
try:
    model.fit(X, Y, batch_size=16, epochs=4, verbose=0, shuffle=False, callbacks=[backup(), StopAfter()])
except Stop:
    pass
model = made(seed=3)
history = model.fit(X, Y, batch_size=16, epochs=4, verbose=0, shuffle=False, callbacks=[backup()])
say(epochs=history.epoch, resumed=history.history["loss"], left=os.path.exists(folder + "/backup"))
"""
)


def test_keras_trains_as_one_device_does(start_workers: StartWorkers, tmp_path: Path) -> None:
    workers = start_workers(TRAINING, 2, FOLDER=str(tmp_path))
    tf.keras.utils.set_random_seed(0)
    parts = [tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)]
    model = tf.keras.Sequential([tf.keras.Input((3,)), *parts])
    model.compile(tf.keras.optimizers.Adam(0.05), "mse", metrics=["mae"])
    wanted = model.fit(X, Y, batch_size=16, epochs=2, verbose=0, shuffle=False).history
    weights, predicted = model.get_weights(), model.predict(X, verbose=0).ravel()
    evaluated = model.evaluate(X, Y, verbose=0, batch_size=16)
    for _ in range(2):
        wanted["loss"] += model.fit(X, Y, batch_size=16, epochs=1, verbose=0, shuffle=False).history["loss"]
    for each in said(workers):
        np.testing.assert_allclose(each["loss"], wanted["loss"][:2], rtol=1e-5)
        np.testing.assert_allclose(each["mae"], wanted["mae"], rtol=1e-5)
        np.testing.assert_allclose(
            np.concatenate(each["weights"]), np.concatenate([w.ravel() for w in weights]), 1e-4, 1e-5
        )
        np.testing.assert_allclose(each["predicted"], predicted, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(each["evaluated"], evaluated, rtol=1e-4)
        assert "best.keras" in each["saved"]
        # Two epochs were backed up, by the chief; both workers went on from there.
        assert each["epochs"] == [2, 3]
        np.testing.assert_allclose(each["resumed"], wanted["loss"][2:4], rtol=1e-4)
    assert not (tmp_path / "backup").exists()


# Workers that are missing.

STEPS = (
    BEGIN
    + """
import time
print("ready", flush=True)
try:
    for number in range(100_000):
        strategy.run(lambda: tf.distribute.get_replica_context().all_reduce("SUM", tf.ones([1000])))
        if number == 10:
            print("stepping", flush=True)
        if number == int(os.environ.get("LEAVE", -1)) and rank == 1:
            sys.exit()
        if number == int(os.environ.get("RAISE", -1)) and rank == 1:
            raise ValueError("mine")
except tf.errors.OpError as error:
    print("FAILED", time.time(), type(error).__name__, error, flush=True)
    try:
        strategy.reduce("SUM", tf.constant(1.0), axis=None)
    except tf.errors.UnavailableError as again:
        print("AGAIN", again, flush=True)
"""
)


def failed(printed: str) -> tuple[float, str]:
    line = next(line for line in printed.splitlines() if line.startswith("FAILED"))
    _, when, message = line.split(" ", 2)
    assert "AGAIN" in printed
    return float(when), message


@pytest.mark.parametrize("victim", [0, 1, 2])
def test_a_worker_that_is_killed(start_workers: StartWorkers, victim: int) -> None:
    workers = start_workers(STEPS, 3)
    workers[victim].wait_for("stepping")
    workers[victim].process.kill()
    killed = time.time()
    for rank, worker in enumerate(workers):
        if rank != victim:
            assert worker.wait() == 0, worker.printed()
            when, message = failed(worker.printed())
            assert message.startswith("UnavailableError")
            assert f"/job:worker/task:{victim} (" in message.partition("could not go on")[2]
            assert when - killed < 30.0  # by broken connections: within a second if nothing else runs


@pytest.mark.parametrize("victim", [0, 1])
def test_a_worker_that_is_frozen(start_workers: StartWorkers, victim: int) -> None:
    """Also the one that hosts the store: the other waits neither for it nor for the time limit of the start."""
    workers = start_workers(STEPS, 2, SITUS_WORKERS_SILENT="1.5")
    workers[victim].wait_for("stepping")
    workers[victim].send(signal.SIGSTOP)
    other = workers[1 - victim]
    assert other.wait() == 0
    message = failed(other.printed())[1]
    assert message.startswith("UnavailableError")
    assert f"/job:worker/task:{victim} (" in message.partition("could not go on")[2]
    assert "frozen" in message


@pytest.mark.parametrize(("how", "why"), [("LEAVE", "has left"), ("RAISE", "its program ended with ValueError: mine")])
def test_a_worker_that_ends_while_it_is_needed(start_workers: StartWorkers, how: str, why: str) -> None:
    workers = start_workers(STEPS, 2, **{how: "5"})
    assert workers[0].wait() == 0
    message = failed(workers[0].printed())[1]
    assert "/job:worker/task:1 (" in message
    assert why in message


def test_leaving_is_no_error(start_workers: StartWorkers) -> None:
    """Each worker ends at its own time: first the chief, then the other."""
    program = (
        BEGIN + "import time\nstrategy.reduce('SUM', tf.constant(1.0), axis=None)\ntime.sleep(1.5 * rank)\nsay(end=1)\n"
    )
    assert [each["end"] for each in said(start_workers(program + "say(end=1)\n", 2))] == [1, 1]


def test_workers_that_do_not_come(start_workers: StartWorkers) -> None:
    chief = start_workers(BEGIN, 3, only=(0,), SITUS_WORKERS_START="1")
    other = start_workers(BEGIN, 2, only=(1,), SITUS_WORKERS_START="1")
    assert chief[0].wait() == 1
    assert "2 of 3 workers did not come within 1 seconds" in chief[0].printed()
    assert "/job:worker/task:1 (127" in chief[0].printed()
    assert "/job:worker/task:2 (127" in chief[0].printed()
    assert other[0].wait() == 1
    assert "/job:worker/task:0 (127" in other[0].printed()
    assert "did not come" in other[0].printed()


def test_a_worker_that_does_something_else(start_workers: StartWorkers) -> None:
    program = (
        BEGIN
        + """
import time
options = tf.distribute.experimental.CommunicationOptions(timeout_seconds=0.7)
if rank == 0:
    try:
        strategy.run(lambda: tf.distribute.get_replica_context().all_reduce("SUM", tf.ones([3]), options=options))
    except tf.errors.DeadlineExceededError as error:
        say(late=str(error))
else:
    time.sleep(2)
"""
    )
    first, _ = said(start_workers(program, 2))
    assert "/job:worker/task:1 (" in first["late"]
    assert "0 of 1 calls" in first["late"]


ALONE = """
import json
import situs as tf
from situs._src.distribute import workers

kinds = tf.distribute.experimental.CommunicationImplementation
options = tf.distribute.experimental.CommunicationOptions
alone = tf.distribute.MultiWorkerMirroredStrategy()
assert alone.extended._group is None
strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options(implementation=kinds.NCCL))
with strategy.scope():
    v = tf.Variable(2.0)


def step():
    total = tf.distribute.get_replica_context().all_reduce("SUM", tf.ones([3]) * v)
    v.assign_add(tf.reduce_sum(total))
    return total


sums = [call().numpy().tolist() for call in (lambda: strategy.run(step), tf.function(lambda: strategy.run(step)))]
moved = workers.joined().bytes_moved
gathered = strategy.gather(tf.ones([2, 3]), axis=0).shape.as_list()
said = {"sums": sums, "v": v.numpy().item(), "shape": gathered, "moved": moved}
print("FOUND", json.dumps(said))
"""


def test_a_cluster_of_one_exchanges_values_if_nccl_is_asked_for(start_workers: StartWorkers) -> None:
    """Without cards they go by gloo; on a card NCCL carries them (tests/gpu)."""
    (printed,) = start_workers(ALONE, 1, SITUS_VIRTUAL_GPUS="0").wait()
    said = found(printed)
    assert said["sums"] == [[2.0] * 3, [8.0] * 3]
    assert (said["v"], said["shape"]) == (32.0, [2, 3])
    assert said["moved"] == 4 + 2 * 3 * 4  # the first value of the variable, and two sums
