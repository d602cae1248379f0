"""``MonitoredTrainingSession``: which hooks it has, and that it goes on where it stopped."""

from __future__ import annotations

import pytest

import situs.compat.v1 as tf
from situs import errors
from situs._src.summaries import graph_summaries
from situs._src.v1.monitored.scaffold import Scaffold
from situs._src.v1.monitored.stop import StopAtStepHook
from situs._src.v1.monitored.training_session import MonitoredTrainingSession


def kinds(session):
    return [type(hook).__name__ for hook in session._hooks]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ["StepCounterHook", "SummarySaverHook", "CheckpointSaverHook"]),
        ({"log_step_count_steps": 0}, ["SummarySaverHook", "CheckpointSaverHook"]),
        ({"log_step_count_steps": None, "save_summaries_steps": None}, ["CheckpointSaverHook"]),
        ({"save_summaries_steps": 0, "save_checkpoint_secs": None}, ["StepCounterHook"]),
        ({"save_checkpoint_steps": 0, "save_summaries_secs": 5}, ["StepCounterHook", "SummarySaverHook"]),
        ({"save_checkpoint_steps": 3}, ["StepCounterHook", "SummarySaverHook", "CheckpointSaverHook"]),
    ],
)
def test_the_hooks_that_a_folder_brings(model, tmp_path, noting, given, expected):
    with MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path), hooks=[noting()], chief_only_hooks=[noting(), noting()], **given
    ) as sess:
        assert kinds(sess) == ["Noting", "Noting", *expected, "Noting"]


def test_without_a_folder_there_are_none(model, noting):
    with MonitoredTrainingSession(hooks=[noting()]) as sess:
        assert kinds(sess) == ["Noting"]


def test_summaries_may_have_a_folder_of_their_own(model, tmp_path, events):
    graph_summaries.scalar("value", model.x)
    with MonitoredTrainingSession(summary_dir=tmp_path, save_summaries_steps=2, log_step_count_steps=2) as sess:
        assert kinds(sess) == ["StepCounterHook", "SummarySaverHook"]
        for _ in range(4):
            sess.run(model.train)
    found = [(event.step, event.summary.value[0].tag) for event in events(tmp_path) if event.summary.value]
    assert found == [(1, "value"), (3, "global_step/sec"), (3, "value")]


def test_it_goes_on_where_it_stopped(tmp_path, model, logged):
    for last in (3, 5):
        with MonitoredTrainingSession(checkpoint_dir=tmp_path, hooks=[StopAtStepHook(last_step=last)]) as sess:
            runs = 0
            while not sess.should_stop():
                sess.run(model.train)
                runs += 1
        assert runs == {3: 3, 5: 2}[last]
    assert f"Restoring parameters from {tmp_path}/model.ckpt-3" in logged()
    assert tf.train.load_variable(str(tmp_path), "global_step") == 5
    assert tf.train.load_variable(str(tmp_path), "x") == pytest.approx(0.0, abs=1e-6)


def test_after_a_failure_elsewhere_it_goes_on_from_the_last_checkpoint(tmp_path, model, noting):
    steps = []

    def fail(_):
        steps.append(0)
        if len(steps) == 6:
            raise errors.AbortedError("gone")

    with MonitoredTrainingSession(
        checkpoint_dir=tmp_path, hooks=[noting(before=fail)], save_checkpoint_steps=2
    ) as sess:
        seen = [int(sess.run([model.train, model.step])[1]) for _ in range(6)]
    assert seen == [1, 2, 3, 4, 5, 5]  # the checkpoint of step 4 was the last


def test_the_loop_of_a_dataset_ends_with_a_checkpoint(tmp_path, model):
    element = tf.data.make_one_shot_iterator(tf.data.Dataset.range(7)).get_next()
    with MonitoredTrainingSession(checkpoint_dir=tmp_path) as sess:
        while not sess.should_stop():
            sess.run(model.train if sess.run(element) >= 0 else [])
    assert tf.train.load_variable(str(tmp_path), "global_step") == 7


def test_a_loop_that_fails_saves_nothing_more(tmp_path, model):
    def loop():
        with MonitoredTrainingSession(checkpoint_dir=tmp_path) as sess:
            sess.run(model.train)
            raise ValueError("in the loop")

    with pytest.raises(ValueError, match="in the loop"):
        loop()
    assert tf.train.load_variable(str(tmp_path), "global_step") == 0


def test_a_worker_waits_for_the_chief(model):
    with pytest.raises(errors.DeadlineExceededError, match=r"Session was not ready after waiting 0.1 secs."):
        MonitoredTrainingSession(is_chief=False, max_wait_secs=0.1)


def test_a_worker_has_the_given_hooks_only(model, tmp_path, noting):
    ready = Scaffold(ready_op=tf.constant([], tf.string), ready_for_local_init_op=tf.constant([], tf.string))
    with MonitoredTrainingSession(
        is_chief=False, checkpoint_dir=tmp_path, hooks=[noting()], chief_only_hooks=[noting()], scaffold=ready
    ) as sess:
        assert kinds(sess) == ["Noting"]


def test_there_is_one_machine(model):
    with pytest.raises(errors.UnimplementedError, match="Situs runs on one machine"):
        MonitoredTrainingSession(master="grpc://worker:2222")
    with pytest.raises(ValueError, match="Can not provide both every_secs and every_steps"):
        MonitoredTrainingSession(checkpoint_dir="x", save_checkpoint_secs=1, save_checkpoint_steps=1)


@pytest.mark.parametrize("name", ["save_checkpoint_secs", "save_summaries_steps", "log_step_count_steps"])
def test_periods_are_numbers(model, tmp_path, name):
    with pytest.raises(TypeError, match="steps or seconds"):
        MonitoredTrainingSession(checkpoint_dir=tmp_path, **{name: "often"})
