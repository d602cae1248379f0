"""``Supervisor``: sessions with threads that save and log. Texts are TensorFlow 2.21's."""

from __future__ import annotations

import threading

import pytest

import situs.compat.v1 as tf
from situs import errors
from situs._src.summaries import graph_summaries
from situs._src.v1.monitored.supervisor import Supervisor
from tests.conftest import STUCK

LIMIT = STUCK


def test_it_completes_the_graph(graph, model, tmp_path):
    sv = Supervisor(logdir=tmp_path)
    assert graph.finalized
    assert sv.is_chief
    assert sv.global_step is model.step
    assert sv.save_path == f"{tmp_path}/model.ckpt"
    assert (sv.save_model_secs, sv.save_summaries_secs) == (600, 120)
    assert graph.get_collection("init_op") == [sv.init_op]
    assert graph.get_collection("ready_op") == [sv.ready_op]
    assert graph.get_collection("savers") == [sv.saver]


def test_threads_save_and_log_beside_the_loop(model, tmp_path, logged, events):
    graph_summaries.scalar("value", model.x)
    sv = Supervisor(logdir=tmp_path, save_summaries_secs=0.05, save_model_secs=0.05)
    with sv.managed_session() as sess:
        while sum("Saving checkpoint" in line for line in logged()) < 3:
            assert not sv.should_stop()
            sess.run(model.train)
    assert sv.should_stop()
    assert tf.train.latest_checkpoint(str(tmp_path))
    assert {"Starting standard services.", "Starting queue runners."} < set(logged())
    assert any(line.startswith("Recording summary at step") for line in logged())
    found = events(tmp_path)
    assert [e.session_log.status for e in found if e.session_log.status in (1, 2)] == [1, 2]
    assert {e.summary.value[0].tag for e in found if e.summary.value} == {"value", "global_step/sec"}


def test_it_goes_on_where_it_stopped(model, tmp_path):
    sv = Supervisor(logdir=tmp_path, save_model_secs=0)
    with sv.managed_session() as sess:
        for _ in range(3):
            sess.run(model.train)
        sv.saver.save(sess, sv.save_path, global_step=sv.global_step)
    with sv.managed_session() as sess:
        assert sess.run(model.step) == 3


def test_errors_and_ends_of_input(graph):
    c = tf.constant(1)
    with pytest.raises(ValueError, match="boo"), Supervisor().managed_session() as sess:
        raise ValueError("boo")
    with Supervisor().managed_session() as sess:
        raise errors.OutOfRangeError("no more")
    with pytest.raises(RuntimeError, match="closed"):
        sess.run(c)


def test_queue_runners_are_started(graph):
    numbers = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
    sv, seen = Supervisor(), []
    with sv.managed_session() as sess:
        while not sv.should_stop():
            seen.append(int(sess.run(numbers)))
    assert seen == [0, 1, 2]


def test_without_a_folder_nothing_is_written(graph, logged):
    c = tf.constant(1)
    sv = Supervisor()
    sess = sv.prepare_or_wait_for_session()
    assert sess.run(c) == 1
    assert (sv.summary_writer, sv.saver, sv.global_step, sv.save_path) == (None, None, None, None)
    assert "Standard services need a 'logdir' passed to the SessionManager" in logged()
    with pytest.raises(RuntimeError, match=r"Writing a summary requires a summary writer."):
        sv.summary_computed(sess, b"")
    sv.stop()


def test_summaries_of_ones_own(model, tmp_path, events):
    summary = graph_summaries.scalar("mine", model.x)
    sv = Supervisor(logdir=tmp_path, summary_op=None)
    with sv.managed_session() as sess:
        sess.run(model.train)
        sv.summary_computed(sess, sess.run(summary))
        sv.summary_computed(sess, sess.run(summary), global_step=9)
    found = [(e.step, e.summary.value[0].tag) for e in events(tmp_path) if e.summary.value]
    assert [pair for pair in found if pair[1] == "mine"] == [(1, "mine"), (9, "mine")]


def test_loops_and_requests(graph):
    tf.constant(1)
    sv = Supervisor()
    sv.prepare_or_wait_for_session(start_standard_services=False)
    turns = threading.Event()
    looper = sv.loop(0.01, turns.set)
    assert turns.wait(LIMIT)
    with sv.stop_on_exception():
        raise ValueError("reason")
    sv.wait_for_stop()
    assert sv.should_stop()
    with pytest.raises(ValueError, match="reason"):
        sv.stop()
    assert not looper.is_alive()


def test_who_is_not_the_chief_waits_and_writes_nothing(model, tmp_path):
    sv = Supervisor(logdir=tmp_path, is_chief=False, recovery_wait_secs=0.01)
    assert sv.save_path is None
    with pytest.raises(errors.DeadlineExceededError):
        sv.prepare_or_wait_for_session(max_wait_secs=0.03)
    with pytest.raises(RuntimeError, match=r"Only chief supervisor can start standard services."):
        sv.start_standard_services(None)
    with pytest.raises(NotImplementedError, match="one machine"):
        sv.prepare_or_wait_for_session("grpc://other:1")
    assert not list(tmp_path.iterdir())


def test_initializers_and_functions(graph):
    p = tf.placeholder(tf.float32, [])
    v, seen = tf.Variable(p), []
    sv = Supervisor(init_feed_dict={p: 2.0}, init_fn=seen.append, ready_op=None)
    with sv.managed_session() as sess:
        assert sess.run(v) == 2.0
        assert seen == [sess]


@pytest.mark.parametrize("given", [{"graph": 3}, {"session_manager": 3}, {"checkpoint_basename": 3}])
def test_arguments_are_checked(graph, given):
    (name,) = given
    with pytest.raises(TypeError, match=name):
        Supervisor(**given)


def test_a_session_whose_services_do_not_start_is_closed(model, tmp_path, monkeypatch):
    closed = []
    monkeypatch.setattr(tf.Session, "close", lambda self: closed.append(self))
    supervisor = Supervisor(logdir=tmp_path)

    def fail(session):
        raise ValueError("no services")

    monkeypatch.setattr(supervisor, "start_standard_services", fail)
    with pytest.raises(ValueError, match="no services"):
        supervisor.prepare_or_wait_for_session()
    assert len(closed) == 1
    assert supervisor.should_stop()
    supervisor.summary_writer.close()
