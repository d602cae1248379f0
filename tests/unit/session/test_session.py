"""The life of sessions: their graph, their state, closing, defaults, threads, limits. Texts are TensorFlow's."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import situs.compat.v1 as tf
from situs._src.ops.python_function import py_func
from tests.conftest import STUCK

LOCAL = "/job:localhost/replica:0/task:0"


@pytest.fixture
def graph():
    with tf.Graph().as_default() as made:
        yield made


def slowly(seconds, value=1.0, name=None):
    """A tensor that takes its time."""

    def wait(x):
        time.sleep(seconds)
        return x

    return py_func(wait, [tf.constant(value)], tf.float32, name=name)


def comes_to_rest(turns):
    """Whether a loop makes no more turns, sooner or later."""
    end, made = time.monotonic() + STUCK, -1
    while len(turns) != made and time.monotonic() < end:
        made = len(turns)
        time.sleep(0.1)
    return len(turns) == made


# What a session is made of.


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"config": 3}, 'Argument `config` must be a tf.ConfigProto, but got "int"'),
        ({"config": {}}, 'Argument `config` must be a tf.ConfigProto, but got "dict"'),
        ({"config": tf.GPUOptions()}, 'Argument `config` must be a tf.ConfigProto, but got "GPUOptions"'),
        ({"graph": 3}, 'Argument `graph` must be a tf.Graph, but got "int"'),
        ({"target": 3}, 'Argument `target` must be a string, but got "int"'),
        ({"target": tf.Graph()}, 'Argument `target` must be a string, but got "Graph"'),
    ],
)
@pytest.mark.parametrize("kind", [tf.Session, tf.InteractiveSession])
def test_arguments_of_the_wrong_type_are_refused(kind, options, text):
    with pytest.raises(TypeError) as caught:
        kind(**options)
    assert str(caught.value) == text


def test_there_is_no_server_to_connect_to(graph):
    with pytest.raises(tf.errors.UnimplementedError, match="there is no server to connect to at 'grpc://h:1'"):
        tf.Session("grpc://h:1")
    tf.Session("").close()


def test_a_session_has_the_default_graph_unless_it_is_given_one(graph):
    other = tf.Graph()
    assert tf.Session().graph is graph
    assert tf.Session(graph=other).graph is other
    assert tf.Session().graph_def == graph.as_graph_def()


def test_an_empty_graph_cannot_run(graph):
    sess = tf.Session()
    for fetches in ("x", []):
        with pytest.raises(RuntimeError) as caught:
            sess.run(fetches)
        assert str(caught.value).startswith(
            "The Session graph is empty. Add operations to the graph before calling run(). It is the graph that was the"
        )
    assert sess.list_devices()


# State.


def test_variables_belong_to_one_session(graph):
    v = tf.Variable(1.0, name="v")
    one, other = tf.Session(), tf.Session()
    one.run(v.initializer)
    with pytest.raises(tf.errors.FailedPreconditionError, match="Attempting to use uninitialized value v"):
        other.run(v)
    other.run(v.initializer)
    one.run(v.assign_add(5.0))
    assert (one.run(v), other.run(v)) == (6.0, 1.0)


@pytest.mark.parametrize("fetch", ["v:0", "v/read:0", "w:0"])
def test_a_variable_without_a_value_is_named(graph, fetch):
    v = tf.Variable(1.0, name="v")
    tf.identity(v + 1.0, name="w")
    with pytest.raises(tf.errors.FailedPreconditionError) as caught:
        tf.Session().run(fetch)
    assert str(caught.value).startswith("Attempting to use uninitialized value v")
    assert "test_session.py" in str(caught.value)
    assert caught.value.op.name in ("v", "v/read")


def test_a_run_that_fails_leaves_the_session_usable(graph):
    p = tf.placeholder(tf.float32, name="p")
    v = tf.Variable([1.0, 2.0])
    bad = tf.add(p, v, name="bad")
    sess = tf.Session()
    sess.run(v.initializer)
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Incompatible shapes: \[3\] vs\. \[2\]") as caught:
            sess.run(bad, {p: [1, 2, 3]})
        assert caught.value.op is bad.op
        assert caught.value.error_code == 3
        assert "{{node bad}}" in str(caught.value)
        assert "test_session.py" in str(caught.value)
        assert sess.run(bad, {p: 1.0}).tolist() == [2.0, 3.0]


def test_two_programs_of_the_same_form_name_their_own_operations(graph):
    """Plans that look alike have code that is equal; the failure is still told of the right one."""
    p, q = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    tf.add(p, q, name="first"), tf.matmul(p, q, name="second"), tf.multiply(p, q, name="third")
    sess = tf.Session()
    for name in ("first", "second", "third"):
        assert sess.run(f"{name}:0", {p: [[1.0]], q: [[1.0]]}) is not None
    for name in ("third", "first", "second"):
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            sess.run(f"{name}:0", {p: np.ones((2, 3)), q: np.ones((2, 4))})
        assert caught.value.op.name == name


# The end.


def test_a_closed_session_does_nothing(graph):
    c, v = tf.constant(1.0), tf.Variable(1.0)
    sess = tf.Session()
    call, handle = sess.make_callable(c), sess.partial_run_setup([c])
    sess.run(v.initializer)
    sess.close()
    sess.close()
    for use in (
        lambda: sess.run(c),
        lambda: sess.run([]),
        lambda: c.eval(session=sess),
        lambda: sess.list_devices(),
        lambda: sess.partial_run_setup([c]),
        lambda: sess.partial_run(handle, c),
        lambda: sess.placement(),
        call,
    ):
        with pytest.raises(RuntimeError, match=r"^Attempted to use a closed Session\.$"):
            use()


def test_leaving_the_context_closes_the_session_and_leaving_the_default_does_not(graph):
    c = tf.constant(1.0)
    with tf.Session() as sess:
        assert sess.run(c) == 1.0
    with pytest.raises(RuntimeError, match="closed Session"):
        sess.run(c)
    sess = tf.Session()
    for _ in range(2):
        with sess.as_default():
            assert c.eval() == 1.0
    assert sess.run(c) == 1.0
    with pytest.raises(ZeroDivisionError), tf.Session() as sess:
        1 / 0
    with pytest.raises(RuntimeError, match="closed Session"):
        sess.run(c)


def test_a_session_is_entered_once(graph):
    with tf.Session() as sess:
        with pytest.raises(RuntimeError, match="Session context managers are not re-entrant"):
            sess.__enter__()
        assert sess.run(tf.constant(1.0)) == 1.0


def test_closing_ends_a_loop_that_is_running(graph):
    begun = threading.Event()
    forever = tf.while_loop(
        lambda i: True, lambda i: py_func(lambda x: begun.set() or x + 1, [i], tf.int32), [0], [tf.TensorShape(None)]
    )
    sess, outcome = tf.Session(), []

    def run():
        try:
            sess.run(forever)
        except tf.errors.CancelledError as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    begun.wait(STUCK)
    sess.close()
    thread.join(STUCK)
    assert not thread.is_alive()
    assert "cancelled" in str(outcome[0])


def test_a_run_that_began_before_closing_keeps_its_variables(graph):
    v = tf.Variable(3.0)
    begun = threading.Event()

    def begin(x):
        begun.set()
        time.sleep(0.2)
        return x

    with tf.control_dependencies([py_func(begin, [tf.constant(1.0)], tf.float32)]):
        read = v.read_value()
    sess, outcome = tf.Session(), []
    sess.run(v.initializer)

    def run():
        try:
            outcome.append(sess.run(read))
        except tf.errors.CancelledError:
            outcome.append("cancelled")

    thread = threading.Thread(target=run)
    thread.start()
    begun.wait(STUCK)
    sess.close()
    thread.join(STUCK)
    assert outcome in ([3.0], ["cancelled"])


# Defaults.


def test_eval_and_run_need_a_session():
    with tf.Graph().as_default():
        c = tf.constant(1.0)
        with pytest.raises(ValueError, match="Cannot evaluate tensor") as caught:
            c.eval()
        assert str(caught.value) == (
            "Cannot evaluate tensor using `eval()`: No default session is registered. Use `with sess.as_default()` or "
            "pass an explicit session to `eval(session=sess)`"
        )
        with pytest.raises(ValueError, match=r"Cannot execute operation using `run\(\)`: No default session"):
            c.op.run()
        assert c.eval(session=tf.Session()) == 1.0
        assert c.op.run(session=tf.Session()) is None
        with tf.Session() as sess, tf.Graph().as_default():
            other = tf.constant(2.0)
            with pytest.raises(
                ValueError, match="Cannot use the default session to evaluate tensor: the tensor's graph"
            ):
                other.eval()
            with pytest.raises(ValueError, match="Cannot use the given session to execute operation"):
                other.op.run(session=sess)


def test_default_sessions_nest_and_belong_to_a_thread(graph):
    assert tf.get_default_session() is None
    other, seen = tf.Graph(), []
    with tf.Session() as outer, tf.Session(graph=other) as inner:
        assert tf.get_default_session() is inner
        assert tf.get_default_graph() is other
        with outer.as_default():
            assert tf.get_default_session() is outer
            assert tf.get_default_graph() is other  # as_default says nothing of graphs
        thread = threading.Thread(target=lambda: seen.append(tf.get_default_session()))
        thread.start()
        thread.join()
    assert seen == [None]
    assert tf.get_default_session() is None
    assert tf.get_default_graph() is graph


def test_an_interactive_session_is_the_default_until_it_is_closed(graph):
    c, other = tf.constant(1.0), tf.Graph()
    sess = tf.InteractiveSession()
    assert tf.get_default_session() is sess
    assert c.eval() == 1.0
    sess.close()
    sess.close()
    assert tf.get_default_session() is None
    sess = tf.InteractiveSession(graph=other)
    assert tf.get_default_graph() is other
    sess.close()
    assert tf.get_default_graph() is graph


@pytest.mark.parametrize("config", [None, tf.ConfigProto(allow_soft_placement=False)])
def test_an_interactive_session_places_only_what_it_runs(graph, config):
    good = tf.constant(1.0)
    with tf.device("/gpu:77"):
        bad = tf.constant(2.0)
    sess = tf.InteractiveSession(config=config)
    assert sess.run(good) == 1.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="GPU:77"):
        sess.run(bad)
    assert sess.run(good) == 1.0
    sess.close()
    assert config is None or not config.graph_options.place_pruned_graph  # the program's own message


# Limits of time.


def test_a_run_that_takes_too_long_is_given_up(graph):
    end = threading.Event()
    late, soon = py_func(lambda: end.wait(STUCK), [], tf.bool), tf.constant(2.0)
    sess = tf.Session()
    with pytest.raises(tf.errors.DeadlineExceededError, match="Timed out waiting for notification"):
        sess.run(late, options=tf.RunOptions(timeout_in_ms=100))
    assert sess.run(soon) == 2.0
    assert sess.run(soon, options=tf.RunOptions(timeout_in_ms=int(STUCK * 1000))) == 2.0
    end.set()


def test_a_program_may_end_while_a_run_that_took_too_long_still_computes(run_python):
    out = run_python(
        "import situs.compat.v1 as tf\n"
        "with tf.device('/cpu:0'):\n"
        "  x = tf.random_normal([1200, 1200])\n"
        "  for _ in range(200): x = tf.matmul(x, x) * 1e-3\n"
        "try:\n  tf.Session().run(x, options=tf.RunOptions(timeout_in_ms=20))\n"
        "except tf.errors.DeadlineExceededError: print('late')"
    )
    assert out == "late\n"


def test_a_session_may_limit_all_its_runs(graph):
    end = threading.Event()
    late = py_func(lambda: end.wait(STUCK), [], tf.bool)
    sess = tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=100))
    with pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(late)
    end.set()
    assert sess.run(slowly(0.15), options=tf.RunOptions(timeout_in_ms=int(STUCK * 1000))) == 1.0


def test_a_loop_that_takes_too_long_ends(graph):
    turns = []
    counted = tf.while_loop(
        lambda i: True,
        lambda i: py_func(lambda x: turns.append(x) or x + 1, [i], tf.int32),
        [0],
        [tf.TensorShape(None)],
    )
    sess = tf.Session()
    with pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(counted, options=tf.RunOptions(timeout_in_ms=100))
    assert comes_to_rest(turns)


def test_an_interrupt_ends_a_run_with_a_limit(graph, monkeypatch):
    turns = []
    counted = tf.while_loop(
        lambda i: True,
        lambda i: py_func(lambda x: turns.append(x) or x + 1, [i], tf.int32),
        [0],
        [tf.TensorShape(None)],
    )
    sess = tf.Session()

    def interrupt(thread, timeout=None):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "join", interrupt)
        with pytest.raises(KeyboardInterrupt):
            sess.run(counted, options=tf.RunOptions(timeout_in_ms=int(STUCK * 1000)))
    assert comes_to_rest(turns)


def test_errors_within_the_limit_are_the_errors_of_the_run(graph):
    p = tf.placeholder(tf.float32, name="p")
    with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value"):
        tf.Session().run(p, options=tf.RunOptions(timeout_in_ms=5000))


# Callables.


def test_a_callable_takes_values_in_order(graph):
    a, b = tf.placeholder(tf.float32, [2], name="a"), tf.placeholder(tf.float32, name="b")
    sess = tf.Session()
    call = sess.make_callable({"sum": a + b, "all": [a, tf.no_op()]}, [a, "b:0"])
    for factor in (1.0, 2.0):
        made = call([1, 2], factor)
        assert made["sum"].tolist() == [1.0 + factor, 2.0 + factor]
        assert made["all"][1] is None
    with pytest.raises(ValueError, match="takes 2 values, got 1"):
        call([1, 2])
    with pytest.raises(ValueError, match=r"Cannot feed value of shape \(3,\)"):
        call([1, 2, 3], 1.0)
    assert sess.make_callable(tf.constant(4.0))() == 4.0
    assert sess.make_callable([])() == []


def test_a_callable_takes_options(graph):
    a = tf.placeholder(tf.float32)
    metadata = tf.RunMetadata()
    call = tf.Session().make_callable(a * 2.0, [a], accept_options=True)
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    assert call(3.0, options=options, run_metadata=metadata) == 6.0
    assert metadata.step_stats.dev_stats


@pytest.mark.parametrize(("fetches", "feeds"), [(3, None), (None, None), ("zz:0", None), ([], [3]), ([], 3)])
def test_a_callable_of_nonsense_is_refused_at_once(graph, fetches, feeds):
    tf.constant(1.0)
    with pytest.raises((TypeError, ValueError)):
        tf.Session().make_callable(fetches, feeds)


# Options.


@pytest.mark.parametrize("wrong", [3, "x", tf.ConfigProto(), {}])
def test_options_and_metadata_have_types(graph, wrong):
    c, sess = tf.constant(1.0), tf.Session()
    with pytest.raises(TypeError, match=r"Argument `options` must be a tf\.RunOptions"):
        sess.run(c, options=wrong)
    with pytest.raises(TypeError, match=r"Argument `run_metadata` must be a tf\.RunMetadata"):
        sess.run(c, run_metadata=wrong)
    assert sess.run(c, options=tf.RunOptions(), run_metadata=tf.RunMetadata()) == 1.0
