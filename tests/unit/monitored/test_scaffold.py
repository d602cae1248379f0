"""Scaffolds and session managers: what is initialized, restored and waited for. Texts are TensorFlow 2.21's."""

from __future__ import annotations

import pytest

import situs.compat.v1 as tf
from situs import errors
from situs._src.v1.monitored import session_manager
from situs._src.v1.monitored.scaffold import Scaffold
from situs._src.v1.monitored.session import MonitoredSession
from situs._src.v1.monitored.session_creator import ChiefSessionCreator, WorkerSessionCreator
from situs._src.v1.monitored.session_manager import SessionManager
from situs._src.v1.monitored.tables import tables_initializer

pytestmark = pytest.mark.usefixtures("graph")


def nothing_missing():
    return tf.constant([], tf.string)


# Scaffolds.


def test_what_is_missing_is_made_and_collected(graph):
    tf.Variable(1.0, name="v")
    tf.Variable(2, name="local", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    scaffold = Scaffold().finalize()
    assert graph.finalized
    with tf.Session() as sess:
        assert sess.run(scaffold.ready_op).tolist() == [b"v", b"local"]
        assert sess.run(scaffold.ready_for_local_init_op).tolist() == [b"v"]
        sess.run(scaffold.init_op)
        assert sess.run(scaffold.ready_op).tolist() == [b"local"]
        assert sess.run(scaffold.ready_for_local_init_op).tolist() == []
        sess.run(scaffold.local_init_op)
        assert sess.run(scaffold.ready_op).tolist() == []
    assert scaffold.summary_op is None
    for key, made in {
        "init_op": scaffold.init_op,
        "ready_op": scaffold.ready_op,
        "ready_for_local_init_op": scaffold.ready_for_local_init_op,
        "local_init_op": scaffold.local_init_op,
        "savers": scaffold.saver,
    }.items():
        assert graph.get_collection(key) == [made]


def test_what_is_given_or_collected_is_kept(graph):
    ready, saver, init = nothing_missing(), tf.train.Saver(allow_empty=True), tf.no_op()
    tf.add_to_collection(tf.GraphKeys.READY_OP, ready)
    tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
    scaffold = Scaffold(init_op=init).finalize()
    assert scaffold.ready_op is ready
    assert scaffold.saver is saver
    assert scaffold.init_op is init
    assert Scaffold(copy_from_scaffold=scaffold).finalize().local_init_op is scaffold.local_init_op


def test_a_scaffold_can_be_finalized_again():
    tf.Variable(1.0)
    scaffold = Scaffold().finalize()
    assert scaffold.finalize() is scaffold


def test_two_of_a_kind_are_one_too_many():
    for _ in range(2):
        tf.add_to_collection(tf.GraphKeys.READY_OP, nothing_missing())
    with pytest.raises(RuntimeError, match=r'More than one item in the collection "ready_op".*Scaffold\(ready_op='):
        Scaffold().finalize()


def test_two_savers_are_one_too_many():
    for _ in range(2):
        tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver(allow_empty=True))
    with pytest.raises(RuntimeError, match=r"More than one item in collection savers. Please indicate which one"):
        Scaffold().finalize()


@pytest.mark.parametrize("given", [{"copy_from_scaffold": 5}, {"init_fn": 5}, {"saver": 5}])
def test_arguments_of_scaffolds_are_checked(given):
    with pytest.raises(TypeError, match=r"Scaffold|init_fn|saver"):
        Scaffold(**given)


def test_initializers_are_fed_and_functions_called():
    p = tf.placeholder(tf.float32, [])
    v, w = tf.Variable(p), tf.Variable(0.0, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    seen = []
    scaffold = Scaffold(
        init_feed_dict={p: 3.0},
        init_fn=lambda *args: seen.extend(args),
        local_init_op=w.assign(p),
        local_init_feed_dict={p: 4.0},
    )
    with MonitoredSession(ChiefSessionCreator(scaffold)) as sess:
        assert sess.run([v, w]) == [3.0, 4.0]
        assert seen == [scaffold, sess._tf_sess()]


def test_tables_are_what_the_graph_has_collected():
    v = tf.Variable(1)
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, v.initializer)
    init = tables_initializer()
    assert init.name == "init_all_tables"
    with tf.Session() as sess:
        sess.run(init)
        assert sess.run(v) == 1


# Models that are not ready.


def test_a_model_that_is_not_ready_is_refused():
    tf.Variable(0, name="v")
    text = (
        "Init operations did not make model ready for local_init.  Init op: NoOp, init fn: None, "
        "error: Variables not initialized: v"
    )
    with pytest.raises(RuntimeError, match=text):
        MonitoredSession(ChiefSessionCreator(Scaffold(init_op=tf.no_op())))


def test_or_a_model_that_local_initializers_do_not_make_ready():
    tf.Variable(0, name="v")
    scaffold = Scaffold(init_op=tf.no_op(), ready_for_local_init_op=nothing_missing(), local_init_op=tf.no_op("l"))
    text = "make model ready.  Init op: NoOp, init fn: None, local_init_op: l, error: Variables not initialized: v"
    with pytest.raises(RuntimeError, match=text):
        MonitoredSession(ChiefSessionCreator(scaffold))


def test_a_manager_needs_something_to_initialize_with():
    tf.Variable(0, name="v")
    with pytest.raises(RuntimeError, match="Model is not initialized and no init_op or init_fn or local_init_op was"):
        SessionManager().prepare_session("")
    with pytest.raises(ValueError, match="you must also pass a local_init_op"):
        SessionManager(ready_for_local_init_op=nothing_missing())


# Checkpoints.


@pytest.fixture
def saved(tmp_path):
    """A folder with checkpoints 1 and 2 of a variable v, which holds the same number."""
    with tf.Graph().as_default():
        v = tf.Variable(0, name="v")
        saver = tf.train.Saver()
        with tf.Session() as sess:
            for number in (1, 2):
                sess.run(v.assign(number))
                saver.save(sess, str(tmp_path / "model"), global_step=number)
    return tmp_path


def test_the_latest_checkpoint_is_restored_and_the_rest_is_known(saved):
    v = tf.Variable(0, name="v")
    saver = tf.train.Saver(max_to_keep=2)
    sess = SessionManager().prepare_session("", saver=saver, checkpoint_dir=str(saved))
    assert sess.run(v) == 2
    assert [path[-7:] for path in saver.last_checkpoints] == ["model-1", "model-2"]
    saver.save(sess, str(saved / "model"), global_step=3)
    assert not tf.train.checkpoint_exists(str(saved / "model-1"))


def test_or_the_one_that_is_named(saved):
    v = tf.Variable(0, name="v")
    path = str(saved / "model-1")
    manager, saver = SessionManager(), tf.train.Saver()
    sess = manager.prepare_session("", saver=saver, checkpoint_filename_with_path=path)
    assert sess.run(v) == 1
    with pytest.raises(ValueError, match=r"Can not provide both checkpoint_dir and checkpoint_filename_with_path."):
        manager.prepare_session("", saver=saver, checkpoint_dir=str(saved), checkpoint_filename_with_path=path)


def test_a_damaged_checkpoint_is_passed_over_for_an_older_one(saved):
    (saved / "model-2.index").write_bytes(b"")
    v = tf.Variable(0, name="v")
    sess = SessionManager().prepare_session("", saver=tf.train.Saver(), checkpoint_dir=str(saved))
    assert sess.run(v) == 1


def test_but_if_there_is_none_training_does_not_begin_anew(saved):
    for path in saved.glob("*.index"):
        path.write_bytes(b"")
    v = tf.Variable(0, name="v")
    with pytest.raises(errors.OpError):
        SessionManager().prepare_session("", saver=tf.train.Saver(), checkpoint_dir=str(saved), init_op=v.initializer)


def test_recovering_tells_whether_there_was_a_checkpoint(saved, tmp_path_factory):
    v = tf.Variable(0, name="v")
    manager = SessionManager(ready_op=tf.report_uninitialized_variables())
    saver = tf.train.Saver()
    sess, ready = manager.recover_session("", saver, str(tmp_path_factory.mktemp("empty")))
    assert not ready
    with pytest.raises(errors.FailedPreconditionError):
        sess.run(v)
    sess, ready = manager.recover_session("", saver, str(saved))
    assert ready
    assert sess.run(v) == 2


def test_a_checkpoint_is_waited_for_but_not_for_ever(tmp_path, logged):
    v = tf.Variable(5, name="v")
    sess = SessionManager(recovery_wait_secs=0.05).prepare_session(
        "",
        init_op=v.initializer,
        saver=tf.train.Saver(),
        checkpoint_dir=str(tmp_path),
        wait_for_checkpoint=True,
        max_wait_secs=0.1,
    )
    assert sess.run(v) == 5
    assert "Waiting for checkpoint to be available." in logged()


# Workers.


class Clock:
    """A clock that goes on when somebody sleeps."""

    def __init__(self):
        self.slept = []

    def monotonic(self):
        return sum(self.slept)

    def sleep(self, seconds):
        self.slept.append(seconds)


def test_a_worker_waits_until_the_model_is_ready(logged, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(session_manager, "time", clock)
    tf.Variable(0, name="v")
    manager = SessionManager(ready_op=tf.report_uninitialized_variables(), recovery_wait_secs=20)
    with pytest.raises(errors.DeadlineExceededError, match=r"Session was not ready after waiting 50 secs."):
        manager.wait_for_session("", max_wait_secs=50)
    text = "Waiting for model to be ready.  Ready_for_local_init_op:  None, ready: Variables not initialized: v"
    assert logged() == [text] * 2
    assert clock.slept == [20, 20]


@pytest.mark.parametrize("use", ["wait_for_session", "recover_session"])
def test_a_session_whose_local_initializers_fail_is_closed(use, monkeypatch):
    closed = []
    monkeypatch.setattr(tf.Session, "close", lambda self: closed.append(self))
    failing = tf.Assert(tf.constant(False), ["no"])
    with pytest.raises(errors.InvalidArgumentError):
        getattr(SessionManager(local_init_op=failing), use)()
    assert len(closed) == 1


def test_a_function_for_initializing_is_checked():
    with pytest.raises(TypeError, match="init_fn"):
        SessionManager().prepare_session(init_fn=3)


def test_a_model_without_variables_is_ready_at_once():
    c = tf.constant(4)
    with MonitoredSession(WorkerSessionCreator(max_wait_secs=1)) as sess:
        assert sess.run(c) == 4


@pytest.mark.parametrize("make", [ChiefSessionCreator, WorkerSessionCreator])
def test_there_is_one_machine(make):
    with pytest.raises(NotImplementedError, match=r"Situs runs on one machine.*grpc://10.0.0.1:2222.*Leave `master`"):
        make(master="grpc://10.0.0.1:2222")
    with pytest.raises(TypeError, match="master is the address"):
        make(master=5)
    with pytest.raises(TypeError, match="scaffold must be"):
        make(scaffold=5)
    for master in ("", None, "local"):
        make(master=master)
