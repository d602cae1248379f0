"""Monitored sessions: who is called when, what is merged, how loops end. Orders and texts are TensorFlow 2.21's."""

from __future__ import annotations

import numpy as np
import pytest

import situs.compat.v1 as tf
from situs import errors
from situs._src.v1.monitored.hook import SessionRunArgs
from situs._src.v1.monitored.session import MonitoredSession, SingularMonitoredSession, StepContext
from situs._src.v1.monitored.session_creator import SessionCreator
from situs._src.v1.queues import queue_runner

pytestmark = pytest.mark.usefixtures("graph")

STARTED = ["a.begin", "b.begin", "c.begin", "a.create", "b.create", "c.create"]
ENDED = ["a.end", "b.end", "c.end"]


def raising(error):
    def fail(*_):
        raise error

    return fail


def once(error):
    """Raises at its second call only."""
    turns = []

    def fail(*_):
        turns.append(0)
        if len(turns) == 2:
            raise error

    return fail


# The order of calls.


def test_hooks_are_called_in_their_order(noting, calls):
    c = tf.constant(3)
    with MonitoredSession(hooks=[noting(name) for name in "abc"]) as sess:
        assert calls == STARTED
        assert sess.run(c) == 3
    run = ["a.before", "b.before", "c.before", "a.after", "b.after", "c.after"]
    assert calls == STARTED + run + ENDED


def test_hooks_get_the_session_and_the_coordinator(graph, noting):
    seen = []
    hook = noting(begin=lambda: seen.append(graph.finalized), create=lambda *args: seen.extend(args))
    with SingularMonitoredSession(hooks=[hook]) as sess:
        assert seen[0] is False
        assert graph.finalized
        assert isinstance(seen[1], tf.Session)
        assert seen[1] is sess.raw_session()
        assert isinstance(seen[2], tf.train.Coordinator)
    assert sess.raw_session() is None


@pytest.mark.parametrize("error", [errors.OutOfRangeError("x"), StopIteration(), ValueError("v")], ids=type)
@pytest.mark.parametrize(
    ("where", "before", "raised"),
    [
        ("begin", "a.begin b.begin", "always"),
        ("create", "a.begin b.begin c.begin a.create b.create", "always"),
        ("before", " ".join([*STARTED, "a.before", "b.before"]), "unless it means the end"),
        ("after", " ".join([*STARTED, "a.before b.before c.before a.after b.after"]), "unless it means the end"),
        ("end", " ".join([*STARTED, "a.before b.before c.before a.after b.after c.after a.end b.end"]), "always"),
    ],
)
def test_exceptions_in_hooks(noting, calls, error, where, before, raised):
    c = tf.constant(1)

    def loop():
        with MonitoredSession(hooks=[noting("a"), noting("b", **{where: raising(error)}), noting("c")]) as sess:
            sess.run(c)

    if raised == "always" or isinstance(error, ValueError):
        with pytest.raises(type(error)):
            loop()
        assert calls == before.split()
    else:
        loop()
        assert calls == before.split() + ENDED


def test_the_end_of_a_dataset_ends_the_loop():
    element = tf.data.make_one_shot_iterator(tf.data.Dataset.range(3)).get_next()
    seen = []
    with MonitoredSession() as sess:
        while not sess.should_stop():
            seen.append(int(sess.run(element)))
    assert seen == [0, 1, 2]


def test_an_initializable_iterator_is_initialized_as_a_table():
    iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(2))
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    element = iterator.get_next()
    with MonitoredSession() as sess:
        assert sess.run(element) == 0


# What is run.


def test_what_hooks_fetch_feed_and_ask_for_is_merged_with_what_the_program_does(noting):
    p, q = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    total = p + q
    seen = []
    one = SessionRunArgs({"t": total, "l": [p]}, {p: 1.0}, tf.RunOptions(timeout_in_ms=50_000))
    two = SessionRunArgs([total, "add:0"], options=tf.RunOptions(trace_level=tf.RunOptions.SOFTWARE_TRACE))
    hooks = [
        noting(before=lambda _: one, after=lambda _, values: seen.append(values)),
        noting(before=lambda _: two, after=lambda _, values: seen.append(values)),
        noting(after=lambda context, values: seen.extend([values, context.original_args])),
    ]
    with MonitoredSession(hooks=hooks) as sess:
        assert sess.run([total, {"q": q}], {q: 2.0}) == [3.0, {"q": 2.0}]
    assert seen[0].results == {"t": 3.0, "l": [1.0]}
    assert seen[1].results == [3.0, 3.0]
    assert seen[2].results is None
    assert (seen[0].options.timeout_in_ms, seen[0].options.trace_level) == (50_000, 1)
    assert seen[0].run_metadata.step_stats.dev_stats
    assert seen[3] == SessionRunArgs([total, {"q": q}], {q: 2.0})


def test_options_of_the_program_are_merged_and_left_as_they_are(noting):
    c = tf.constant(1) + 1
    options, metadata, seen = tf.RunOptions(timeout_in_ms=9000), tf.RunMetadata(), []
    asks = SessionRunArgs(None, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, timeout_in_ms=5000))
    hook = noting(before=lambda _: asks, after=lambda _, values: seen.append(values))
    with MonitoredSession(hooks=[hook]) as sess:
        sess.run(c, options=options, run_metadata=metadata)
    assert (seen[0].options.timeout_in_ms, seen[0].options.trace_level) == (9000, 3)
    assert options == tf.RunOptions(timeout_in_ms=9000)
    assert seen[0].run_metadata is metadata
    assert metadata.step_stats.dev_stats


def test_hooks_that_ask_for_nothing_get_empty_messages(noting):
    seen = []
    c = tf.constant(1)
    with MonitoredSession(hooks=[noting(after=lambda _, values: seen.append(values))]) as sess:
        sess.run(c)
    assert seen[0] == (None, tf.RunOptions(), tf.RunMetadata())


def run_once(hooks, fetch, feed_dict=None, kind=MonitoredSession):
    with kind(hooks=hooks) as sess:
        sess.run(fetch, feed_dict)


def test_a_tensor_is_fed_once(noting):
    p = tf.placeholder(tf.float32, [])
    feeds = {"before": lambda _: SessionRunArgs(None, {p: 1.0})}
    with pytest.raises(RuntimeError, match=r"Same tensor is fed by two hooks. Conflict\(s\): \[.*Placeholder:0"):
        run_once([noting(**feeds), noting(**feeds)], p)
    with pytest.raises(RuntimeError, match=r"Same tensor is fed by a SessionRunHook and user."):
        run_once([noting(**feeds)], p, {p: 2.0})


def test_before_run_returns_args_or_nothing(noting):
    c = tf.constant(1)
    with pytest.raises(TypeError, match=r"before_run of Noting returns a tf.train.SessionRunArgs, or None; got \[1\]"):
        run_once([noting(before=lambda _: [1])], c)


@pytest.mark.parametrize("hooks", [5, [5], [tf.Session], "hooks"])
def test_hooks_are_hooks(hooks):
    with pytest.raises(TypeError, match=r"hooks|Hooks"):
        MonitoredSession(hooks=hooks)


# Stopping.


def test_a_hook_stops_the_loop_and_no_run_follows(noting):
    c = tf.constant(1)
    with MonitoredSession(hooks=[noting(after=lambda context, _: context.request_stop())]) as sess:
        assert not sess.should_stop()
        sess.run(c)
        assert sess.should_stop()
        with pytest.raises(RuntimeError, match=r"Run called even after should_stop requested."):
            sess.run(c)


def test_a_session_is_closed_once(graph, noting, calls):
    c = tf.constant(1)
    sess = MonitoredSession(hooks=[noting("a")])
    assert sess.graph is graph
    sess.close()
    assert sess.should_stop()
    assert sess.graph is None
    with pytest.raises(RuntimeError, match="closed"):
        sess.run(c)
    with pytest.raises(RuntimeError, match="closed"):
        sess.run_step_fn(lambda step_context: 0)
    with pytest.raises(RuntimeError, match=r"Session is already closed."):
        sess.close()
    assert calls.count("a.end") == 1


def test_a_session_that_failed_is_closed_all_the_same(noting):
    sessions = []
    with pytest.raises(ValueError, match="v"):
        MonitoredSession(
            hooks=[noting(create=lambda sess, _: sessions.append(sess)), noting(create=raising(ValueError("v")))]
        )
    with pytest.raises(RuntimeError, match="closed"):
        sessions[0].list_devices()


def test_the_graph_is_final_while_the_session_lives(graph):
    tf.constant(1)
    with MonitoredSession(), pytest.raises(RuntimeError, match=r"Graph is finalized and cannot be modified."):
        tf.constant(2)
    assert not graph.finalized
    tf.constant(3)


def test_a_graph_that_was_final_before_must_be_complete(graph):
    tf.constant(1)
    graph.finalize()
    with pytest.raises(RuntimeError, match="finalized"):
        MonitoredSession()


# Steps of several runs.


def test_a_step_function_runs_with_and_without_hooks(noting, calls):
    c = tf.constant(3)

    class Steps:
        def step(self, step_context):
            assert isinstance(step_context, MonitoredSession.StepContext)
            return step_context.session.run(c), step_context.run_with_hooks(c)

    for kind in (MonitoredSession, SingularMonitoredSession):
        calls.clear()
        with kind(hooks=[noting("a")]) as sess:
            assert sess.run_step_fn(Steps().step) == (3, 3)
        assert calls == ["a.begin", "a.create", "a.before", "a.after", "a.end"]


def test_a_step_function_may_stop_the_loop(noting, calls):
    tf.constant(3)
    with MonitoredSession(hooks=[noting("a")]) as sess:
        sess.run_step_fn(lambda step_context: step_context.request_stop())
        pytest.fail("the loop went on")
    assert calls == ["a.begin", "a.create", "a.end"]


def test_a_step_function_has_one_argument():
    tf.constant(3)
    with MonitoredSession() as sess:
        with pytest.raises(ValueError, match=r"`step_fn` may either have one `step_context` .* Got \('x',\) instead."):
            sess.run_step_fn(lambda x: 0)
        with pytest.raises(TypeError, match="step_fn is a function"):
            sess.run_step_fn(5)


# Recovery.


@pytest.mark.parametrize("error", [errors.AbortedError, errors.UnavailableError])
def test_a_session_is_made_again_after_a_failure_elsewhere(noting, calls, error):
    v = tf.Variable(0)
    add = v.assign_add(1)
    with MonitoredSession(hooks=[noting("a", before=once(error(None, None, "gone")))]) as sess:
        assert [int(sess.run(add)) for _ in range(3)] == [1, 1, 2]
    expected = (
        "a.begin a.create a.before a.after a.before a.create a.before a.after a.before a.after a.end"  # TensorFlow's
    )
    assert calls == expected.split()


def test_a_step_function_is_called_again_with_the_new_session(noting):
    v = tf.Variable(0)
    add = v.assign_add(1)
    fail, sessions = once(errors.AbortedError("gone")), []

    def step(step_context: StepContext):
        sessions.append(step_context.session)
        step_context.session.run(add)
        fail()
        return int(step_context.run_with_hooks(add))

    with MonitoredSession() as sess:
        assert [sess.run_step_fn(step) for _ in range(2)] == [2, 2]
    assert sessions[0] is sessions[1]
    assert sessions[1] is not sessions[2]


def test_a_singular_session_is_not(noting):
    c = tf.constant(1)
    with pytest.raises(errors.UnavailableError, match="gone"):
        run_once([noting(before=raising(errors.UnavailableError("gone")))], c, kind=SingularMonitoredSession)


def test_making_a_session_is_tried_again(noting, calls):
    c = tf.constant(1)
    turns = []

    def fail(*_):
        turns.append(0)
        if len(turns) == 1:
            raise errors.AbortedError("gone")

    with MonitoredSession(hooks=[noting("a", create=fail)]) as sess:
        assert sess.run(c) == 1
    assert calls == ["a.begin", "a.create", "a.create", "a.before", "a.after", "a.end"]


def test_a_failure_elsewhere_that_a_thread_met_makes_a_new_session(noting):
    c = tf.constant(1)
    coords = []

    def report(_, coord):
        coords.append(coord)
        if len(coords) == 1:
            coord.request_stop(errors.AbortedError("gone"))

    with MonitoredSession(hooks=[noting(create=report)]) as sess:
        assert not sess.should_stop()
        assert len(coords) == 2
        assert sess.run(c) == 1


# Threads.


def test_queue_runners_run_while_the_session_lives():
    numbers = tf.train.range_input_producer(3, num_epochs=2, shuffle=False).dequeue()
    seen = []
    with MonitoredSession() as sess:
        while not sess.should_stop():
            seen.append(int(sess.run(numbers)))
    assert seen == [0, 1, 2] * 2


def test_what_a_thread_raises_is_raised_at_the_end():
    queue = tf.FIFOQueue(10, [tf.float32], [[]])
    fails = tf.py_func(raising(ValueError("in the thread")), [], tf.float32)
    queue_runner.add_queue_runner(queue_runner.QueueRunner(queue, [queue.enqueue(fails)]))
    element = queue.dequeue()
    with pytest.raises(tf.errors.InvalidArgumentError, match="in the thread"), MonitoredSession() as sess:
        sess.run(element)


# What stands around it.


def test_a_saver_and_eval_take_a_monitored_session(tmp_path):
    v = tf.Variable([1.0, 2.0])
    saver = tf.train.Saver()
    with MonitoredSession() as sess:
        path = saver.save(sess, str(tmp_path / "model"))
        np.testing.assert_array_equal(v.eval(session=sess), [1, 2])
    assert tf.train.checkpoint_exists(path)


def test_a_creator_makes_sessions():
    with pytest.raises(TypeError, match="create_session"):
        MonitoredSession(session_creator=5)
    with pytest.raises(NotImplementedError, match="create_session is not implemented for SessionCreator"):
        MonitoredSession(session_creator=SessionCreator())
