"""``tf.train.Checkpoint(iterator=it)``: an iteration goes on where it was saved, in the same program or another."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import situs as tf
import situs.compat.v1 as v1
from situs._src.data.resuming import Position

Range = tf.data.Dataset.range


def numbers(iterator: Any, count: int) -> list[Any]:
    """The next elements, as Python has them."""
    return [next(iterator).numpy().tolist() for _ in range(count)]


PIPELINES = {
    "range": lambda: Range(1000),
    "seeded shuffle over epochs": lambda: Range(7).shuffle(4, seed=3).repeat(),
    "shuffle without a seed": lambda: Range(1000).shuffle(1000),
    "one order for all epochs": lambda: Range(6).shuffle(6, reshuffle_each_iteration=False).repeat(),
    "map, batch, prefetch": lambda: Range(100).shuffle(10, seed=1).map(lambda x: x * 2).batch(3).prefetch(2),
    "a remainder in each epoch": lambda: Range(10).shuffle(10, seed=1).batch(4).repeat(),
    "parallel map": lambda: Range(100).map(lambda x: x + 1, num_parallel_calls=3).prefetch(tf.data.AUTOTUNE),
    "filter": lambda: Range(200).filter(lambda x: x % 3 == 0),
    "zip of shuffles": lambda: tf.data.Dataset.zip((Range(50).shuffle(9), Range(50).shuffle(9))).map(
        lambda a, b: a - b
    ),
    "flat_map": lambda: Range(50).flat_map(lambda x: Range(3).shuffle(3, seed=5).map(lambda y: x * 10 + y)),
    "interleave": lambda: Range(9).interleave(lambda x: Range(x, 30 + x), cycle_length=3, num_parallel_calls=2),
    "random numbers": lambda: tf.data.Dataset.random(seed=4),
    "samples": lambda: tf.data.Dataset.sample_from_datasets([Range(99), Range(500, 599)], seed=9),
    "scan": lambda: Range(99).scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s + x)),
    "cache": lambda: Range(5).shuffle(5, seed=2).cache().repeat(),
    "branches": lambda: Range(99).map(lambda x: tf.cond(x > 3, lambda: x, lambda: -x)),
    "loops": lambda: Range(99).map(lambda x: tf.while_loop(lambda i: i < 9, lambda i: [i + x + 1], [x])[0]),
    "options": lambda: Range(99).map(lambda x: -x).with_options(tf.data.Options()),
}


@pytest.mark.parametrize("make", PIPELINES.values(), ids=PIPELINES.keys())
@pytest.mark.parametrize("taken", [0, 1, 13])
def test_the_same_elements_follow_in_a_restored_iterator_and_in_a_new_one(tmp_path, make, taken):
    dataset = make()
    it = iter(dataset)
    numbers(it, taken)
    checkpoint = tf.train.Checkpoint(iterator=it)
    path = checkpoint.save(tmp_path / "ckpt")
    following = numbers(it, 9)
    checkpoint.restore(path).assert_consumed()
    assert numbers(it, 9) == following
    other = iter(dataset)
    numbers(other, 4)
    tf.train.Checkpoint(iterator=other).restore(path).assert_consumed()
    assert numbers(other, 9) == following


def test_a_seeded_shuffle_goes_on_through_later_epochs_in_a_dataset_made_anew(tmp_path):
    it = iter(PIPELINES["seeded shuffle over epochs"]())
    numbers(it, 10)
    path = tf.train.Checkpoint(iterator=it).save(tmp_path / "ckpt")
    following = numbers(it, 40)
    again = iter(PIPELINES["seeded shuffle over epochs"]())
    tf.train.Checkpoint(iterator=again).restore(path)
    assert numbers(again, 40) == following


def test_the_key_is_tensorflows(tmp_path):
    path = tf.train.Checkpoint(iterator=iter(Range(3))).save(tmp_path / "ckpt")
    names = [name for name, _ in tf.train.list_variables(path)]
    assert "iterator/.ATTRIBUTES/ITERATOR_STATE" in names  # recorded from TensorFlow 2.21


def test_an_iterator_that_ended_has_ended_again(tmp_path):
    it = iter(Range(3))
    assert len(list(it)) == 3
    checkpoint = tf.train.Checkpoint(iterator=it)
    path = checkpoint.save(tmp_path / "ckpt")
    other = iter(Range(3))
    tf.train.Checkpoint(iterator=other).restore(path)
    assert list(other) == []
    with pytest.raises(tf.errors.OutOfRangeError):
        other.get_next()


def test_an_element_that_was_only_looked_at_has_not_been_taken(tmp_path):
    it = iter(Range(9))
    numbers(it, 2)
    assert it.get_next_as_optional().has_value()
    assert bool(it.has_next())
    checkpoint = tf.train.Checkpoint(iterator=it)
    path = checkpoint.save(tmp_path / "ckpt")
    numbers(it, 3)
    checkpoint.restore(path)
    assert numbers(it, 2) == [3, 4]


def test_elements_that_a_function_takes_are_counted_and_it_sees_the_restored_position(tmp_path):
    it = iter(Range(99))

    @tf.function
    def three():
        return next(it) + next(it) + next(it)

    assert int(three()) == 3
    checkpoint = tf.train.Checkpoint(iterator=it)
    path = checkpoint.save(tmp_path / "ckpt")
    assert int(three()) == 12
    checkpoint.restore(path)
    assert int(three()) == 12


def test_errors_among_the_elements_taken_are_counted(tmp_path):
    dataset = Range(20).map(lambda x: tf.debugging.check_numerics(1.0 / tf.cast(x - 2, tf.float32), "x")).batch(2)
    it = iter(dataset)
    next(it)
    with pytest.raises(tf.errors.InvalidArgumentError):
        next(it)
    checkpoint = tf.train.Checkpoint(iterator=it)
    path = checkpoint.save(tmp_path / "ckpt")
    following = numbers(it, 3)
    checkpoint.restore(path)
    assert numbers(it, 3) == following


def test_functions_are_not_run_for_elements_that_are_left_out(tmp_path):
    it = iter(Range(2000).map(lambda x: x * 2).batch(10).prefetch(1))
    numbers(it, 5)
    path = tf.train.Checkpoint(iterator=it).save(tmp_path / "ckpt")
    other = iter(Range(2000).map(lambda x: x * 2).batch(10).prefetch(1))
    tf.train.Checkpoint(iterator=other).restore(path)
    assert next(other).numpy().tolist() == list(range(100, 120, 2))


def draws(x):
    """A function that has a state of its own."""
    return x + tf.random.uniform([], 0, 9, tf.int64, seed=1)


REFUSED = {
    "a generator": (
        lambda: tf.data.Dataset.from_generator(lambda: iter(range(9)), output_types=tf.int64),
        "EagerPyFunc is stateful",
    ),
    "random numbers in a function": (lambda: Range(9).map(draws), "RandomUniformInt is stateful"),
    "in a function's dataset": (lambda: Range(9).flat_map(lambda x: Range(x).map(draws)), "is stateful"),
    "python": (lambda: Range(9).map(lambda x: tf.py_function(lambda y: y, [x], tf.int64)), "PyFunc is stateful"),
    "any order": (lambda: Range(9).map(lambda x: x, 2, deterministic=False), "not deterministic"),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_brought_back_is_refused_when_it_is_saved(tmp_path, make, message):
    it = iter(make())
    next(it)
    with pytest.raises(tf.errors.FailedPreconditionError, match=message):
        tf.train.Checkpoint(iterator=it).save(tmp_path / "ckpt")
    assert tf.train.latest_checkpoint(tmp_path) is None


def test_an_iterator_of_a_graph_is_refused(tmp_path):
    with v1.Graph().as_default(), v1.Session():
        it = v1.data.make_initializable_iterator(v1.data.Dataset.range(3))
        with pytest.raises(tf.errors.UnimplementedError, match="in the runs of its graph"):
            v1.train.Checkpoint(iterator=it).write(str(tmp_path / "ckpt"))


@pytest.mark.parametrize(
    "inner",
    [
        lambda x: Range(3).shuffle(3),
        lambda x: Range(3).shuffle(3, reshuffle_each_iteration=False),
        lambda x: tf.data.Dataset.random().take(3),
    ],
    ids=["another order each time", "one order", "random numbers"],
)
def test_what_draws_without_a_seed_inside_of_a_function_is_refused(tmp_path, inner):
    it = iter(Range(9).flat_map(inner))
    next(it)
    with pytest.raises(tf.errors.FailedPreconditionError, match="Give it a seed"):
        tf.train.Checkpoint(iterator=it).save(tmp_path / "ckpt")


def test_a_position_in_another_dataset_is_refused_and_nothing_is_restored(tmp_path):
    step = tf.Variable(1)
    path = tf.train.Checkpoint(iterator=iter(Range(9).shuffle(3)), step=step).save(tmp_path / "ckpt")
    step.assign(2)
    it = iter(Range(9))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Shuffle <- Range; this one is of Range"):
        tf.train.Checkpoint(iterator=it, step=step).restore(path)
    assert int(step) == 2
    assert numbers(it, 2) == [0, 1]


def saved(**others: Any) -> bytes:
    """A position as it is saved, with other values in some places."""
    return json.dumps({"taken": 1, "failed": False, "stages": ["Range"], "draws": [[0, [5]]], **others}).encode()


def test_a_position_is_read_as_it_was_saved():
    assert Position.from_bytes(saved()) == Position(1, False, ["Range"], [(0, [5])])
    assert Position.from_bytes(saved(taken=2**63 - 1)).taken == 2**63 - 1


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{}", b"\xff", b"[" * 99, saved(draws=[[0, ["x"]]]), saved(draws=[[0.5, []]])]
    + [saved(taken=number) for number in (-1, 2**63, 1.5, True, "1", None)],
)
def test_a_state_that_is_none_is_an_error(content):
    with pytest.raises(tf.errors.DataLossError, match="position of an iterator"):
        Position.from_bytes(content)


def test_a_variable_in_the_place_of_an_iterator_keeps_its_value(tmp_path):
    path = tf.train.Checkpoint(x=iter(Range(3))).save(tmp_path / "ckpt")
    v = tf.Variable(5)
    tf.train.Checkpoint(x=v).restore(path).expect_partial()
    assert int(v) == 5


STORY = """
import os, sys
import situs as tf
folder, kill_at = sys.argv[1], int(sys.argv[2])
dataset = tf.data.Dataset.range(12).shuffle(5).repeat().map(lambda x: x * x).batch(3).prefetch(2)
step, it = tf.Variable(0), iter(dataset)
manager = tf.train.CheckpointManager(tf.train.Checkpoint(step=step, iterator=it), folder, max_to_keep=2)
manager.checkpoint.restore(manager.latest_checkpoint)
while int(step) < 12:
    batch = next(it).numpy().tolist()
    step.assign_add(1)
    print(int(step), batch, flush=True)
    if int(step) == kill_at:
        os.kill(os.getpid(), 9)
    manager.save()
"""


def test_a_program_that_is_killed_sees_the_batch_again_that_was_not_saved(tmp_path: Path):
    def run(kill_at: int) -> list[str]:
        args = [sys.executable, "-c", STORY, str(tmp_path / "run"), str(kill_at)]
        return subprocess.run(args, capture_output=True, text=True, check=False).stdout.splitlines()

    first, second = run(5), run(0)
    assert [line.split()[0] for line in first] == list("12345")
    assert second[0] == first[-1]  # step 5 again, with the same batch, though the shuffle has no seed
    seen = [int(x) for line in first[:4] for x in json.loads(line.split(" ", 1)[1])]
    assert sorted(seen) == [x * x for x in range(12)]  # each element of the first epoch once
    rest = [int(x) for line in second[:4] for x in json.loads(line.split(" ", 1)[1])]
    assert sorted(rest) == [x * x for x in range(12)]
