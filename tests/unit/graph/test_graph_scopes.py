"""What the contexts around an operation give it: devices, companions, operations to wait for.

Every expectation was recorded from TensorFlow 2.21.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack, nullcontext

import pytest

import situs as tf2
import situs.compat.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


# Devices.


def requested(*scopes):
    with ExitStack() as stack:
        for scope in scopes:
            stack.enter_context(tf.device(scope))
        return tf.constant(1.0).op.device


@pytest.mark.parametrize(
    ("scopes", "expected"),
    [
        (["/cpu:2", "/job:w"], "/job:w/device:CPU:2"),
        (["/cpu:2", None], ""),
        (["/cpu:2", None, "/job:w"], "/job:w"),
        (["/cpu:2", ""], "/device:CPU:2"),
        (["/cpu:1", None, ""], ""),
        (["/cpu:2", "/gpu"], "/device:GPU:2"),
        (["/gpu:3", "/device:CPU:*"], "/device:CPU:3"),
        (["cpu"], "/device:CPU:*"),
        (["/job:a/task:1", "/task:2"], "/job:a/task:2"),
        ([lambda op: "/cpu:1", "/cpu:2"], "/cpu:1"),
        (["/cpu:2", lambda op: "/job:x"], "/job:x/device:CPU:2"),
        (["/cpu:1", lambda op: ""], "/device:CPU:1"),
        ([lambda op: ""], ""),
        ([lambda op: "bogus"], "bogus"),
        ([lambda op: op.device + "/job:z", "/cpu:1"], "/device:CPU:1/job:z"),
        ([lambda op: "/cpu:1", lambda op: "/cpu:2"], "/cpu:1"),
        (["/cpu:2", lambda op: "/gpu"], "/device:GPU:2"),
        (["/job:z", lambda op: "/job:j/cpu:1", "/cpu:2"], "/job:j/device:CPU:1"),
        ([tf.DeviceSpec(job="r", device_type="CPU", device_index=0), "/task:1"], "/job:r/task:1/device:CPU:0"),
        ([lambda op: tf.DeviceSpec(job="q")], "/job:q"),
        ([None], ""),
        ([""], ""),
    ],
)
def test_device_scopes_merge_into_the_request(scopes, expected):
    assert requested(*scopes) == expected


@pytest.mark.parametrize(
    ("scopes", "error"),
    [
        (["/bogus:1"], ValueError),
        (["/cpu:1", lambda op: "bogus"], ValueError),
        ([lambda op: None], TypeError),
        ([lambda op: 1 / 0], ZeroDivisionError),
    ],
)
def test_scopes_that_name_no_device_are_refused(scopes, error):
    with pytest.raises(error):
        requested(*scopes)


def test_device_functions_see_each_operation_once():
    seen = []

    def choose(op):
        seen.append((op.type, op.name, op.device))
        return "/cpu:0"

    with tf.device(choose):
        a = tf.Variable(3.0, name="a")
        tf.multiply(a, tf.constant(1.0, name="b"), name="mul")
        a.assign_add(1.0)
    assert seen == [
        ("Const", "a/initial_value", ""),
        ("Variable", "a", ""),
        ("Const", "b", ""),
        ("Mul", "mul", ""),
        ("Const", "AssignAdd/value", ""),
    ]
    for name in ("a/Assign", "a/read", "AssignAdd"):
        operation = tf.get_default_graph().get_operation_by_name(name)
        assert operation.device == "/cpu:0"
        assert operation.colocation_groups() == [b"loc:@a"]


def test_device_scopes_belong_to_a_graph_and_a_thread(graph):
    other, seen = tf.Graph(), []
    with tf.device("/cpu:1"):
        with other.as_default():
            assert tf.constant(1.0).op.device == ""
            with tf.device("/cpu:2"), graph.as_default():
                pass

        def build():
            with graph.as_default():
                seen.append(tf.constant(1.0).op.device)

        thread = threading.Thread(target=build)
        thread.start()
        thread.join()
        assert tf.constant(1.0).op.device == "/device:CPU:1"
    assert seen == [""]


# Companions.


def test_colocation_beats_device_scopes():
    with tf.device("/cpu:1"):
        x = tf.constant(1.0, name="x")
    made = {}
    with tf.device("/cpu:2"):
        y = tf.constant(1.0, name="y")
        with tf.colocate_with(x):
            made["around"] = tf.constant(1.0)
            with tf.device("/cpu:3"):
                made["scope inside"] = tf.constant(1.0)
            with tf.device(None):
                made["no device inside"] = tf.constant(1.0)
            with tf.device(lambda op: "/cpu:9"):
                made["function inside"] = tf.constant(1.0)
            with tf.colocate_with(y):
                made["both"] = tf.constant(1.0)
            with tf.colocate_with(y, ignore_existing=True):
                made["another"] = tf.constant(1.0)
            with tf.colocate_with(None, ignore_existing=True):
                made["none"] = tf.constant(1.0)
                with tf.device("/cpu:5"):
                    made["scope in none"] = tf.constant(1.0)
        with tf.colocate_with(made["both"]):
            made["with both"] = tf.constant(1.0)
        made["after"] = tf.constant(1.0)
    found = {key: (t.op.device, t.op.colocation_groups()) for key, t in made.items()}
    own = {key: [f"loc:@{t.op.name}".encode()] for key, t in made.items()}
    assert found == {
        "around": ("/device:CPU:1", [b"loc:@x"]),
        "scope inside": ("/device:CPU:1", [b"loc:@x"]),
        "no device inside": ("/device:CPU:1", [b"loc:@x"]),
        "function inside": ("/device:CPU:1", [b"loc:@x"]),
        "both": ("/device:CPU:2", [b"loc:@x", b"loc:@y"]),
        "another": ("/device:CPU:2", [b"loc:@y"]),
        "none": ("", own["none"]),
        "scope in none": ("/device:CPU:5", own["scope in none"]),
        "with both": ("/device:CPU:2", [b"loc:@x", b"loc:@y"]),
        "after": ("/device:CPU:2", own["after"]),
    }
    assert made["both"].op.get_attr("_class") == [b"loc:@x", b"loc:@y"]
    with pytest.raises(ValueError, match="no attr named '_class'"):
        made["none"].op.get_attr("_class")


def test_colocation_with_nothing_must_be_meant():
    with pytest.raises(ValueError, match=r"Trying to reset colocation \(op is None\)"), tf.colocate_with(None):
        pass
    with pytest.raises(KeyError), tf.colocate_with("zz"):
        pass


# Whom to wait for.


def waits_for(thing):
    return [operation.name for operation in thing.op.control_inputs]


def test_control_dependencies_hold_inside():
    a, b, n = tf.constant(1.0, name="a"), tf.constant(2.0, name="b"), tf.no_op(name="n")
    with tf.control_dependencies([a]):
        c = tf.constant(3.0)
        assert waits_for(c) == ["a"]
        assert waits_for(tf.identity(c)) == []  # c waits already
        assert waits_for(tf.identity(a)) == []  # takes a's result anyway
        with tf.control_dependencies([b, n]):
            assert waits_for(tf.identity(b)) == ["a", "n"]
            d = tf.constant(1.0)
            assert waits_for(d) == ["a", "b", "n"]
            assert waits_for(tf.identity(d)) == []
            assert waits_for(tf.identity(c)) == ["b", "n"]
        with tf.control_dependencies([]):
            assert waits_for(tf.constant(1.0)) == ["a"]
        assert waits_for(tf.placeholder(tf.float32)) == ["a"]
    assert waits_for(tf.constant(1.0)) == []


def test_none_clears_the_dependencies_further_out():
    a, n = tf.constant(1.0, name="a"), tf.no_op(name="n")
    with tf.control_dependencies([a]):
        with tf.control_dependencies(None):
            assert waits_for(tf.constant(1.0)) == []
            with tf.control_dependencies([n]):
                inside = tf.constant(1.0)
                assert waits_for(inside) == ["n"]
        assert waits_for(tf.constant(1.0)) == ["a"]


def test_variables_wait_for_nothing():
    with tf.control_dependencies([tf.constant(1.0)]):
        v = tf.Variable(1.0)
    assert waits_for(v) == waits_for(v.value()) == []
    assert v.initializer.control_inputs == []


@pytest.mark.parametrize(
    "given",
    [
        lambda a, v: [a],
        lambda a, v: (a, a),
        lambda a, v: {a},
        lambda a, v: iter([a]),
        lambda a, v: [a.op],
        lambda a, v: ["a"],
        lambda a, v: ["a:0"],
        lambda a, v: a,
        lambda a, v: "a",
    ],
)
def test_operations_to_wait_for_come_in_many_forms(given):
    a, v = tf.constant(1.0, name="a"), tf.Variable(1.0, name="v")
    with tf.control_dependencies(given(a, v)):
        assert waits_for(tf.constant(1.0)) == ["a"]
    for variable in ([v], [v.op], v):
        with tf.control_dependencies(variable):
            assert waits_for(tf.constant(1.0)) == ["v"]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ([3], TypeError),
        (3, TypeError),
        ([None], TypeError),
        ([[]], TypeError),
        (["zz"], KeyError),
        ([print], TypeError),
    ],
)
def test_what_cannot_be_waited_for_is_refused(given, error):
    with pytest.raises(error), tf.control_dependencies(given):
        pass


def test_dependencies_do_not_reach_into_other_graphs():
    a = tf.constant(1.0)
    with tf.control_dependencies([a]), tf.Graph().as_default():
        assert waits_for(tf.constant(1.0)) == []
        with pytest.raises(ValueError, match="is not an element of this graph"), tf.control_dependencies([a]):
            pass


def test_scopes_of_names_and_dependencies_belong_to_a_thread(graph):
    seen = []

    def build():
        with graph.as_default():
            made = tf.constant(1.0)
            seen.append((made.op.name, waits_for(made)))

    with tf.name_scope("scope"), tf.control_dependencies([tf.constant(1.0)]), tf.colocate_with(tf.constant(1.0)):
        thread = threading.Thread(target=build)
        thread.start()
        thread.join()
    assert seen == [("Const", [])]


def test_groups_wait_for_all_of_theirs():
    a, b = tf.constant(1.0, name="a"), tf.constant(2.0, name="b")
    group = tf.group(a, [b], name="both")
    assert (group.name, [op.name for op in group.control_inputs]) == ("both", ["a", "b"])
    with tf.device("/cpu:1"):
        c = tf.constant(3.0, name="c")
    parted = tf.group(a, c, name="parted")
    assert [(op.name, op.device) for op in parted.control_inputs] == [
        ("parted/NoOp", ""),
        ("parted/NoOp_1", "/device:CPU:1"),
    ]


@pytest.mark.parametrize("eager", [False, True])
def test_a_name_with_a_slash_at_its_end_is_a_scope_as_it_is(eager):
    names = ["foo5//", "/", "//", "a//b/c"]
    with nullcontext() if eager else tf.Graph().as_default(), tf2.name_scope("foo/"):
        found = []
        for name in names:
            with tf2.name_scope(name) as entered:
                found.append(entered)
    assert found == ["foo5//", "/", "//", "foo/a//b/c/"]
