"""Hooks that write: checkpoints, summaries, traces, and those that run something more. Steps are TensorFlow 2.21's."""

from __future__ import annotations

import json

import numpy as np
import pytest

import situs.compat.v1 as tf
from situs import errors
from situs._src.summaries import graph_summaries
from situs._src.v1.monitored.checkpoint_saver import CheckpointSaverHook, CheckpointSaverListener
from situs._src.v1.monitored.hook import SessionRunContext
from situs._src.v1.monitored.profiler import ProfilerHook
from situs._src.v1.monitored.run_hooks import FeedFnHook, FinalOpsHook
from situs._src.v1.monitored.session import MonitoredSession
from situs._src.v1.monitored.summary_hooks import SummarySaverHook

pytestmark = pytest.mark.usefixtures("graph")


def train(model, hook, steps, fetch=None):
    with MonitoredSession(hooks=[hook]) as sess:
        for _ in range(steps):
            if not sess.should_stop():
                sess.run(model.train if fetch is None else fetch)


def checkpoints(folder):
    return sorted(path.name.removesuffix(".index") for path in folder.glob("*.index"))


# Checkpoints.


def test_checkpoints_at_the_start_every_so_many_steps_and_at_the_end(model, tmp_path, logged, events):
    train(model, CheckpointSaverHook(str(tmp_path), save_steps=3), 8)
    assert checkpoints(tmp_path) == [f"model.ckpt-{step}" for step in (0, 3, 6, 8)]
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-8")
    assert (tmp_path / "graph.pbtxt").exists()
    assert (tmp_path / "model.ckpt-8.meta").exists()
    said = [line for line in logged() if "heckpoint" in line]
    assert said[:4] == [
        "Create CheckpointSaverHook.",
        "Calling checkpoint listeners before saving checkpoint 0...",
        f"Saving checkpoints for 0 into {tmp_path}/model.ckpt.",
        "Calling checkpoint listeners after saving checkpoint 0...",
    ]
    told = [
        (e.step, e.session_log.status, e.session_log.checkpoint_path) for e in events(tmp_path) if e.session_log.status
    ]
    assert told == [(step, 3, f"{tmp_path}/model.ckpt") for step in (0, 3, 6, 8)]


def test_the_last_checkpoint_is_not_saved_twice(model, tmp_path):
    hook = CheckpointSaverHook(tmp_path, save_secs=1000, checkpoint_basename="m", save_graph_def=False)
    train(model, hook, 0)
    assert checkpoints(tmp_path) == ["m-0"]
    assert not (tmp_path / "graph.pbtxt").exists()
    assert not (tmp_path / "m-0.meta").exists()


def test_listeners_are_told_and_may_stop(model, tmp_path, logged):
    told = []

    class Listener(CheckpointSaverListener):
        def begin(self):
            told.append("begin")

        def before_save(self, session, global_step_value):
            told.append(("before", global_step_value))

        def after_save(self, session, global_step_value):
            told.append(("after", global_step_value))
            return global_step_value == 2

        def end(self, session, global_step_value):
            told.append(("end", global_step_value))

    listeners = [CheckpointSaverListener(), Listener()]
    train(model, CheckpointSaverHook(tmp_path, save_steps=1, listeners=listeners), 5)
    saves = [(what, step) for step in (0, 1, 2) for what in ("before", "after")]
    assert told == ["begin", *saves, ("end", 2)]
    assert any("A CheckpointSaverListener requested that training be stopped." in line for line in logged())


def test_a_graph_with_what_lives_in_the_process_is_saved_without_it(tmp_path, logged):
    step = tf.train.get_or_create_global_step()
    element = tf.data.make_one_shot_iterator(
        tf.data.Dataset.from_generator(lambda: iter(range(5)), tf.int64)
    ).get_next()
    with MonitoredSession(hooks=[CheckpointSaverHook(tmp_path, save_steps=1)]) as sess:
        while not sess.should_stop():
            sess.run([element, step])
    assert checkpoints(tmp_path) == ["model.ckpt-0"]
    assert "OneShotIterator" in (tmp_path / "graph.pbtxt").read_text()
    assert sum("saved without the graph" in line for line in logged()) == 1


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "Either every_secs or every_steps should be provided."),
        ({"save_secs": 1, "save_steps": 1}, "Can not provide both every_secs and every_steps."),
        ({"save_secs": 1, "saver": 1, "scaffold": 1}, "You cannot provide both saver and scaffold."),
        ({"save_secs": 1, "saver": 1}, "saver must be"),
        ({"save_secs": 1, "scaffold": 1}, "scaffold must be"),
        ({"save_secs": 1, "listeners": [1]}, "Listeners are objects"),
        ({"save_secs": 1, "checkpoint_basename": 1}, "checkpoint_basename"),
    ],
)
def test_arguments_of_savers_are_checked(tmp_path, given, text):
    with pytest.raises(ValueError, match=text):
        CheckpointSaverHook(tmp_path, **given)


def test_a_hook_saves_with_the_saver_of_the_graph(model, tmp_path):
    hook = CheckpointSaverHook(tmp_path, save_steps=1)
    hook.begin()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        with pytest.raises(RuntimeError, match=r"No items in collection savers. Please add a saver"):
            hook.after_create_session(sess, None)
        tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver([model.step]))
        hook.after_create_session(sess, None)
    assert [name for name, _ in tf.train.list_variables(str(tmp_path))] == ["global_step"]


# Summaries.


@pytest.mark.parametrize(("every", "steps"), [(1, range(1, 9)), (2, (1, 3, 5, 7)), (3, (1, 4, 7))])
def test_summaries_of_every_so_many_steps(model, tmp_path, events, every, steps):
    summary = graph_summaries.scalar("x", model.x)
    train(model, SummarySaverHook(save_steps=every, output_dir=tmp_path, summary_op=summary), 8)
    found = events(tmp_path)
    assert [event.step for event in found if event.summary.value] == list(steps)
    assert [(event.step, event.session_log.status) for event in found if event.session_log.status] == [(1, 1)]


def test_several_summaries_and_none(model, tmp_path, events):
    ops = [graph_summaries.scalar(name, model.x) for name in ("a", "b")]
    train(model, SummarySaverHook(save_secs=1000, output_dir=tmp_path, summary_op=ops), 3)
    assert [event.summary.value[0].tag for event in events(tmp_path) if event.summary.value] == ["a", "b"]
    train(model, SummarySaverHook(save_steps=1, summary_op=ops), 3)  # nobody writes


def test_the_step_may_be_fetched_before_or_after_it_grows(model, tmp_path):
    written = []

    class Writer:
        def add_summary(self, summary, step):
            written.append(step)

        def add_session_log(self, log, step): ...

    class At:
        def __init__(self, step):
            self.step = step

        def run(self, _):
            return self.step

    for behind in (0, 1):
        hook = SummarySaverHook(save_steps=3, summary_writer=Writer(), summary_op=tf.constant("", name=f"s{behind}"))
        hook.begin()
        written.clear()
        for step in range(1, 9):
            context = SessionRunContext(None, At(step))
            asked = hook.before_run(context).fetches
            hook.after_run(
                context, _Values({"global_step": step - behind, **{key: [b""] for key in asked.keys() & {"summary"}}})
            )
        assert written == [1, 4, 7]


class _Values:
    def __init__(self, results):
        self.results = results


def test_arguments_of_summary_hooks_are_checked(model):
    for given in ({}, {"scaffold": 1, "summary_op": 1}):
        with pytest.raises(ValueError, match=r"Exactly one of scaffold or summary_op must be provided."):
            SummarySaverHook(1, **given)
    with pytest.raises(TypeError, match="scaffold must be"):
        SummarySaverHook(1, scaffold=1)


# Traces.


def test_traces_of_every_so_many_steps(model, tmp_path, logged, events):
    train(model, ProfilerHook(save_steps=2, output_dir=tmp_path, show_memory=True), 6)
    assert sorted(path.name for path in tmp_path.glob("*.json")) == [f"timeline-{step}.json" for step in (2, 4, 6)]
    assert f"Saving timeline for 2 into '{tmp_path}/timeline-2.json'." in logged()
    assert json.loads((tmp_path / "timeline-4.json").read_text())["traceEvents"]
    tags = [event.tagged_run_metadata.tag for event in events(tmp_path) if event.HasField("tagged_run_metadata")]
    assert tags == ["step_2", "step_4", "step_6"]


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: CheckpointSaverHook(folder, save_steps=1),
        lambda folder: SummarySaverHook(1, output_dir=folder, summary_op=tf.constant("")),
        lambda folder: ProfilerHook(1, output_dir=folder),
    ],
)
def test_hooks_need_a_global_step(tmp_path, make):
    hook = make(tmp_path)
    tf.constant(1)
    with pytest.raises(RuntimeError, match=f"Global step should be created to use {type(hook).__name__}."):
        MonitoredSession(hooks=[hook])


# More to run.


def test_a_function_feeds_every_run():
    p = tf.placeholder(tf.int32, [])
    numbers = iter(range(3))
    with MonitoredSession(hooks=[FeedFnHook(lambda: {p: next(numbers)})]) as sess:
        assert [int(sess.run(p)) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(TypeError, match="feed_fn is a function"):
        FeedFnHook({p: 1})


def test_something_is_run_at_the_end(model):
    p = tf.placeholder(tf.float32, [])
    hook = FinalOpsHook({"x": model.x, "p": p}, {p: 7.0})
    train(model, hook, 5)
    np.testing.assert_allclose([hook.final_ops_values["x"], hook.final_ops_values["p"]], [0.0, 7.0], atol=1e-6)
    none = FinalOpsHook(None)
    train(model, none, 1)
    assert none.final_ops_values is None


def test_what_is_run_at_the_end_must_not_need_input(logged):
    element = tf.data.make_one_shot_iterator(tf.data.Dataset.range(2)).get_next()

    def loop():
        with MonitoredSession(hooks=[FinalOpsHook(element)]) as sess:
            while True:
                sess.run(element)

    with pytest.raises(errors.OutOfRangeError):
        loop()
    assert any("FinalOpsHook" in line for line in logged())
