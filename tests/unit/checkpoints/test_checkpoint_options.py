"""``tf.train.CheckpointOptions``; checkpoints that are written beside the program, and by traced functions."""

from __future__ import annotations

import copy
import threading

import pytest

import situs as tf
from situs import errors


def read(path):
    found = tf.Variable(0.0)
    tf.train.Checkpoint(v=found).read(path).expect_partial()
    return float(found)


def test_callbacks_are_called_in_order_when_the_files_are_there(tmp_path):
    told = []
    options = tf.train.CheckpointOptions(
        experimental_write_callbacks=[lambda path: told.append((path, read(path))), lambda: told.append("nothing")]
    )
    checkpoint = tf.train.Checkpoint(v=tf.Variable(3.0))
    path = checkpoint.save(str(tmp_path / "a"), options)
    assert told == [(path, 3.0), "nothing"]
    path = checkpoint.write(str(tmp_path / "b"), options=options)
    assert told[2:] == [(path, 3.0), "nothing"]
    manager = tf.train.CheckpointManager(checkpoint, str(tmp_path / "m"), 2)
    path = manager.save(options=options)
    assert told[4:] == [(path, 3.0), "nothing"]
    assert len(options.experimental_write_callbacks) == 2


def test_a_callback_takes_a_path_or_nothing():
    with pytest.raises(AssertionError, match="callback"):
        tf.train.CheckpointOptions(experimental_write_callbacks=[lambda path, other: None])
    with pytest.raises(TypeError):
        tf.train.CheckpointOptions(experimental_write_callbacks=[3])


def test_a_copy_has_a_list_of_its_own():
    first = tf.train.CheckpointOptions("CPU:0", enable_async=True, experimental_write_callbacks=[lambda: None])
    second = copy.copy(first)
    second.enable_async = False
    second.experimental_write_callbacks.append(lambda: None)
    assert first.enable_async
    assert len(first.experimental_write_callbacks) == 1


def test_what_is_not_done_is_refused():
    with pytest.raises(errors.UnimplementedError):
        tf.train.CheckpointOptions(experimental_sharding_callback=object())
    with pytest.raises(errors.UnimplementedError):
        tf.train.CheckpointOptions(experimental_skip_slot_variables=True)
    with pytest.raises(TypeError):
        tf.train.Checkpoint(v=tf.Variable(0.0)).save("x", options="async")


@pytest.mark.parametrize("older", [False, True])
def test_a_thread_writes_the_values_of_the_call(tmp_path, older):
    go_on, threads = threading.Event(), []

    def wait():
        threads.append(threading.current_thread())
        go_on.wait()

    name = "experimental_enable_async_checkpoint" if older else "enable_async"
    options = tf.train.CheckpointOptions(experimental_write_callbacks=[wait], **{name: True})
    v = tf.Variable([1.0, 2.0])
    checkpoint = tf.train.Checkpoint(v=v)
    path = checkpoint.save(str(tmp_path / "a"), options)
    v.assign([7.0, 7.0])
    go_on.set()
    checkpoint.sync()
    assert threads[0] is not threading.current_thread()
    assert tf.train.latest_checkpoint(str(tmp_path)) == path
    checkpoint.restore(path)
    assert v.numpy().tolist() == [1.0, 2.0]


def test_what_a_thread_meets_is_raised_by_the_next_call(tmp_path):
    def fail():
        raise ValueError("no room")

    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    options = tf.train.CheckpointOptions(enable_async=True, experimental_write_callbacks=[fail])
    checkpoint.save(str(tmp_path / "a"), options)
    with pytest.raises(ValueError, match="no room"):
        checkpoint.sync()
    checkpoint.sync()


def test_a_traced_function_writes_the_values_of_each_run(tmp_path):
    v = tf.Variable(1.0)
    checkpoint = tf.train.Checkpoint(v=v)

    @tf.function
    def step(path):
        v.assign_add(2.0)
        written = checkpoint.write(path)
        v.assign_add(100.0)
        return written

    first = step(tf.constant(str(tmp_path / "a")))
    assert read(first.numpy().decode()) == 3.0
    step(tf.constant(str(tmp_path / "b")))
    assert read(str(tmp_path / "b")) == 105.0
    assert float(v) == 205.0
    with pytest.raises(errors.NotFoundError):
        step(tf.constant(str(tmp_path / "none" / "c")))


def test_save_in_a_traced_function_is_refused(tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))

    @tf.function
    def step():
        return checkpoint.save(str(tmp_path / "a"))

    with pytest.raises(NotImplementedError, match="write"):
        step()
