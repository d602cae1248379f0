"""Variable scopes: names, sharing, defaults. Names and texts are those that TensorFlow 2.21 gave."""

from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

import situs as eager_tf
import situs.compat.v1 as tf
from situs._src.variables import initializers
from situs._src.variables.scope import (
    VariableScope,
    get_local_variable,
    get_variable,
    get_variable_scope,
    no_regularizer,
    variable_op_scope,
    variable_scope,
)
from situs._src.variables.store import AUTO_REUSE
from situs._src.variables.template import make_template


@pytest.fixture
def graph():
    with tf.Graph().as_default() as made:
        yield made


def op_name():
    return tf.constant(1.0).op.name


def initialized(*fetched):
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(list(fetched))


# Names.


def test_variables_take_the_name_of_the_variable_scope_and_not_of_name_scopes(graph):
    with tf.name_scope("n"), variable_scope("z") as scope:
        assert (scope.name, get_variable("w", [1]).name, op_name()) == ("z", "z/w:0", "n/z/Const")
    with tf.name_scope("m"):
        assert get_variable("direct", [1]).name == "direct:0"
        assert tf.Variable(1.0, name="v").name == "m/v:0"


def test_a_scope_entered_again_has_another_name_scope(graph):
    with variable_scope("a") as first:
        assert (get_variable("w", [1]).name, op_name(), first.original_name_scope) == ("a/w:0", "a/Const", "a/")
        with variable_scope("b"):
            assert (get_variable("w", [1]).name, op_name()) == ("a/b/w:0", "a/b/Const")
        with variable_scope("b"):
            assert (get_variable("w2", [1]).name, op_name()) == ("a/b/w2:0", "a/b_1/Const")
    with variable_scope("a", reuse=True) as second:
        assert (get_variable("w", [1]).name, op_name(), second.original_name_scope) == ("a/w:0", "a_1/Const", "a_1/")


def test_a_scope_object_is_entered_from_anywhere(graph):
    with variable_scope("a"), variable_scope("b") as scope:
        w = get_variable("w", [1])
    with variable_scope("c"):
        with variable_scope(scope, reuse=True) as again:
            assert get_variable("w", [1]) is w
            assert (again.name, again.original_name_scope, op_name()) == ("a/b", "a/b/", "c/b/Const")
        assert get_variable_scope().name == "c"
    assert not scope.reuse
    with variable_scope(scope, auxiliary_name_scope=False):
        assert op_name() == "Const"


def test_default_names_are_numbered(graph):
    found = []
    for _ in range(2):
        with variable_scope(None, "d") as scope:
            found.append((scope.name, get_variable("w", [1]).name, op_name()))
            with variable_scope(None, "e") as inner:
                found.append(inner.name)
    assert found == [("d", "d/w:0", "d/Const"), "d/e", ("d_1", "d_1/w:0", "d_1/Const"), "d_1/e"]
    with variable_scope("d"):
        assert op_name() == "d_2/Const"
    with variable_op_scope([], None, "d") as scope:
        assert scope.name == "d_2"


@pytest.mark.parametrize(
    ("name", "variable", "operation"),
    [("x/y", "x/y/w:0", "x/y/Const"), ("", "w:0", "Const"), ("a/", "a//w:0", "a/Const")],
)
def test_unusual_names(graph, name, variable, operation):
    with variable_scope(name):
        assert (get_variable("w", [1]).name, op_name()) == (variable, operation)


def test_a_scope_can_be_entered_twice(graph):
    scope = variable_scope("again")
    for expected in ("again/Const", "again_1/Const"):
        with scope:
            assert op_name() == expected
    with scope, scope as inner:
        assert inner.name == "again/again"
    assert get_variable_scope().name == ""


def test_graphs_and_threads_have_scopes_of_their_own(graph):
    seen = []

    def look():
        with graph.as_default():
            seen.append(get_variable_scope().name)

    with variable_scope("outer"):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        with tf.Graph().as_default():
            seen.append(get_variable_scope().name)
            other = get_variable("w", [1])
        mine = get_variable("w", [1])
    assert seen == ["", ""]
    assert (other.name, mine.name) == ("w:0", "outer/w:0")
    assert other.graph is not mine.graph


def test_a_scope_that_fails_is_left(graph):
    with pytest.raises(ZeroDivisionError), variable_scope("a"):
        1 / 0
    assert (get_variable_scope().name, op_name()) == ("", "Const")


# Sharing.


def test_reuse_is_inherited(graph):
    with variable_scope("a", reuse=True) as a:
        assert a.reuse is True
        with variable_scope("b", reuse=False) as b:
            assert b.reuse is True
        with variable_scope("b", reuse=AUTO_REUSE) as b:
            assert b.reuse is AUTO_REUSE
    with variable_scope("c", reuse=AUTO_REUSE) as c:
        assert get_variable("w", [1]) is get_variable("w", [1])
        with variable_scope("d", reuse=True) as d:
            assert d.reuse is True
        with variable_scope("d") as d:
            assert d.reuse is AUTO_REUSE
        c.reuse_variables()
        assert get_variable_scope().reuse is True
    assert get_variable_scope().reuse is False


def test_a_name_is_taken_once(graph):
    with variable_scope("a"):
        get_variable("w", [1])
        with pytest.raises(ValueError, match="Variable a/w already exists, disallowed") as e:
            get_variable("w", [1])
    assert "Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in VarScope? Originally defined at:" in str(e.value)
    assert Path(__file__).name in str(e.value)


def test_a_variable_that_is_to_be_found_must_be_there(graph):
    tf.Variable(1.0, name="v")
    text = r"Variable v does not exist, or was not created with tf.get_variable\(\). Did you mean to set reuse"
    with variable_scope("", reuse=True), pytest.raises(ValueError, match=text):
        get_variable("v", [])
    assert get_variable("v", []).name == "v_1:0"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"shape": [2]}, r"Trying to share variable w, but specified shape \(2,\) and found shape \(3,\)."),
        (
            {"shape": [3], "dtype": tf.int32},
            "Trying to share variable w, but specified dtype int32 and found dtype float32",
        ),
        ({"initializer": [1.0], "shape": [1]}, "If initializer is a constant, do not specify shape."),
    ],
)
def test_a_shared_variable_must_fit(graph, arguments, text):
    w = get_variable("w", [3])
    with variable_scope("", reuse=True):
        assert get_variable("w") is w
        assert get_variable("w", [None]) is w
        with pytest.raises(ValueError, match=text):
            get_variable("w", **arguments)


# Making variables.


def test_operations_of_the_initializer_are_with_the_variable(graph):
    with tf.device("/gpu:1"), variable_scope("a"):
        w = get_variable("w", [2, 3])
    inside = [op for op in graph.get_operations() if op.name.startswith("a/w/Initializer/random_uniform")]
    assert [op.type for op in inside if op.type != "Const"] == ["RandomUniform", "Mul", "AddV2"]
    assert inside[-1].name == "a/w/Initializer/random_uniform"
    assert {(op.device, *op.colocation_groups()) for op in inside} == {("", b"loc:@a/w")}
    assert w.device == "/device:GPU:1"
    with tf.Session() as sess:
        sess.run(w.initializer)
        assert {sess.placement()[op].device.name[-5:] for op in inside} == {"GPU:1"}


def test_the_default_initializer_depends_on_the_dtype(graph):
    w, i, b, s = (
        get_variable(name, [40, 60], dtype)
        for name, dtype in [("w", None), ("i", tf.int32), ("b", tf.bool), ("s", tf.string)]
    )
    weights, integers, booleans, strings = initialized(w, i, b, s)
    assert 0 < np.abs(weights).max() <= np.sqrt(6 / 100)
    assert (integers.any(), booleans.any(), set(strings.flat)) == (False, False, {b""})
    with pytest.raises(ValueError, match="An initializer for variable c of <dtype: 'complex64'> is required"):
        get_variable("c", [2], tf.complex64)


@pytest.mark.parametrize(
    ("arguments", "expected", "dtype"),
    [
        ({"initializer": [1.0, 2.0]}, [1.0, 2.0], tf.float32),
        ({"initializer": 3}, 3, tf.int32),
        ({"initializer": np.ones([2])}, [1.0, 1.0], tf.float64),
        ({"initializer": lambda: tf.fill([2], 4.0)}, [4.0, 4.0], tf.float32),
        ({"initializer": initializers.ones_initializer, "shape": [2]}, [1.0, 1.0], tf.float32),
        ({"initializer": initializers.constant_initializer([1, 2]), "shape": [3]}, [1, 2, 2], tf.float32),
        ({"initializer": initializers.zeros_initializer(tf.float64), "shape": 2}, [0.0, 0.0], tf.float32),
        ({"initializer": lambda s, dtype, partition_info=None: tf.ones(s, dtype), "shape": [1]}, [1.0], tf.float32),
    ],
)
def test_initializers_are_values_or_functions(graph, arguments, expected, dtype):
    v = get_variable("v", **arguments)
    assert v.dtype is dtype
    np.testing.assert_array_equal(initialized(v)[0], expected)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: get_variable("w"), ValueError, "Variable w did not get an initializer, so its `shape` argument"),
        (lambda: get_variable("w", [None, 3]), ValueError, "The initializer passed is not valid"),
        (lambda: get_variable("w", initializer=lambda s: s), ValueError, "The initializer passed is not valid"),
        (lambda: get_variable("w", [2], initializer=[1.0]), ValueError, "do not specify shape"),
        (lambda: get_variable("w", [2], initializer=lambda s, dtype: tf.zeros([3])), ValueError, "must be equal"),
        (lambda: get_variable("w", dtype=tf.int32, initializer=2.0), ValueError, "don't match"),
        (lambda: get_variable("w", [-1]), ValueError, ">= 0"),
        (lambda: get_variable("w w", [1]), ValueError, "not a valid"),
        (lambda: get_variable(5, [1]), TypeError, "string"),
        (lambda: get_variable("", [1]), TypeError, "string"),
        (lambda: get_variable("w", [1], dtype="nope"), TypeError, "nope"),
        (
            lambda: get_variable("w", [1], partitioner=lambda **_: [1, 1]),
            ValueError,
            "does not match the Variable's rank",
        ),
        (lambda: variable_scope(None), TypeError, "If default_name is None then name_or_scope is required"),
        (lambda: variable_scope(3), TypeError, "name_or_scope must be a string or VariableScope"),
        (lambda: variable_scope("a", reuse="x"), ValueError, "The reuse parameter must be True or False or None"),
        (lambda: variable_scope("a", auxiliary_name_scope=3), TypeError, "auxiliary_name_scope"),
        (lambda: variable_scope(None, "a", reuse=True).__enter__(), ValueError, "without a name_or_scope"),
        (lambda: variable_scope("a b").__enter__(), ValueError, "not a valid"),
    ],
)
def test_mistakes_are_refused(graph, call, error, text):
    with pytest.raises(error, match=text):
        call()
    assert get_variable_scope().name == ""


def test_a_variable_that_failed_can_be_made_again(graph):
    with pytest.raises(ValueError, match="must be equal"):
        get_variable("w", [2], initializer=lambda s, dtype: tf.zeros([3]))
    assert get_variable("w", [2]).shape == (2,)


def test_scopes_have_defaults(graph):
    with variable_scope("a", initializer=initializers.Ones(), dtype=tf.float64) as a:
        with variable_scope("b"):
            x = get_variable("x", [1])
        with variable_scope("c", initializer=initializers.Constant(3.0)) as c:
            y = get_variable("y", [1])
            c.set_dtype(tf.int32)
            c.set_initializer(initializers.Constant(4))
            z = get_variable("z", [1])
    assert [v.dtype for v in (x, y, z)] == [tf.float64, tf.float64, tf.int32]
    assert [v.tolist() for v in initialized(x, y, z)] == [[1.0], [3.0], [4]]
    assert a.global_variables() == a.trainable_variables() == [x, y, z]
    assert (c.global_variables(), a.local_variables()) == ([y, z], [])
    assert isinstance(a, VariableScope)


def test_regularizers_collect_losses(graph):
    with variable_scope("r", regularizer=lambda x: tf.reduce_sum(x * x)):
        get_variable("w", [2], initializer=initializers.Constant(3.0))
        get_variable("x", [2], regularizer=no_regularizer)
    with variable_scope("r", reuse=True):
        get_variable("w")
    (loss,) = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    assert loss.name.startswith("r/w/Regularizer/")
    assert loss.op.colocation_groups() == [b"loc:@r/w"]
    assert initialized(loss) == [18.0]


def test_a_custom_getter_is_a_function(graph):
    with pytest.raises(TypeError, match="A custom_getter is a function, got 3"):
        get_variable("w", [1], custom_getter=3)


def test_custom_getters_are_nested(graph):
    seen = []

    def doubled(getter, name, *args, **kwargs):
        seen.append(("doubled", name, sorted(kwargs)))
        return getter(name, *args, **kwargs) * 2

    def renamed(getter, name, *args, **kwargs):
        seen.append(("renamed", name))
        return getter(f"{name}_x", *args, **kwargs)

    with variable_scope("r", custom_getter=doubled), variable_scope("q", custom_getter=renamed):
        w = get_variable("w", [2], initializer=initializers.Ones())
    assert seen[0] == ("renamed", "r/q/w")
    assert seen[1][:2] == ("doubled", "r/q/w_x")
    assert {"shape", "dtype", "initializer", "reuse", "trainable", "partitioner"} <= set(seen[1][2])
    assert w.name == "mul:0"
    assert initialized(w)[0].tolist() == [2.0, 2.0]


def test_local_variables_are_neither_saved_nor_trained(graph):
    v = get_local_variable("l", [2])
    assert (v.trainable, tf.local_variables(), tf.global_variables(), tf.trainable_variables()) == (False, [v], [], [])


def test_a_variable_made_in_a_branch_belongs_to_the_graph(graph):
    chosen = tf.cond(
        tf.placeholder_with_default(True, []),
        lambda: get_variable("w", initializer=1.0) + 1.0,
        lambda: tf.constant(5.0),
    )
    (w,) = tf.global_variables()
    assert w.graph is graph
    assert initialized(chosen) == [2.0]


def test_graphs_are_freed_with_their_variables():
    with tf.Graph().as_default() as graph, variable_scope("a"):
        get_variable("w", [1])
    gone = weakref.ref(graph)
    del graph
    gc.collect()
    assert gone() is None


# Templates.


def test_a_template_makes_its_variables_once(graph):
    def scaled(x, by=1.0):
        return get_variable("w", [], initializer=initializers.Constant(3.0)) * x * by

    a, b = make_template("t", scaled), make_template("t", scaled, by=2.0)
    results = [a(tf.constant(1.0)), a(tf.constant(2.0)), b(1.0)]
    assert [v.name for v in tf.global_variables()] == ["t/w:0", "t_1/w:0"]
    assert [v.name for v in a.variables] == ["t/w:0"]
    assert [v.name for v in b.trainable_variables] == ["t_1/w:0"]
    assert initialized(*results) == [3.0, 6.0, 6.0]
    now = make_template("u", scaled, create_scope_now_=True)
    assert (now.name, now.variable_scope.name) == ("u", "u")
    assert now(1.0).op.name.startswith("u")


def test_a_template_makes_no_variables_later(graph):
    count = iter(range(9))
    named = make_template("t", lambda: get_variable(f"w{next(count)}", []))
    named()
    with pytest.raises(ValueError, match=r"Variable t/w1 does not exist(.|\n)*originally defined at:"):
        named()
    plain = make_template("p", lambda: tf.Variable(1.0))
    plain()
    with pytest.raises(ValueError, match="Trainable variable created when calling a template after the first time"):
        plain()


# Eager code.


def test_in_eager_code_variables_are_made_anew(monkeypatch):
    monkeypatch.setattr("situs._src.variables.symbolic.eager_by_default", lambda: True)
    with variable_scope("a"):
        v = get_variable("w", [2], initializer=initializers.Ones())
        again = get_variable("w", [2])
    assert isinstance(v, eager_tf.Variable)
    assert (v.name, v.numpy().tolist(), again is v) == ("a/w:0", [1.0, 1.0], False)


def test_a_template_opens_its_name_scope_when_it_is_called():
    def linear(x):
        return x + tf.get_variable("w", [], initializer=tf.zeros_initializer()), tf.get_variable_scope().name

    found = []
    with tf.Graph().as_default():
        for _ in range(2):
            template = tf.make_template("foo", linear, create_scope_now_=True)
            found.append([template(1.0)[0].name for _ in range(2)])
    assert found == [["foo/add:0", "foo_1/add:0"], ["foo_1_1/add:0", "foo_1_2/add:0"]]


def test_a_custom_getter_is_told_how_copies_of_the_variable_work():
    told = []

    def getter(get, *args, **kwargs):
        told.append((kwargs["synchronization"], kwargs["aggregation"]))
        return get(*args, **kwargs)

    with tf.Graph().as_default(), tf.variable_scope("scope", custom_getter=getter):
        tf.get_variable("v", [1])
        tf.get_variable("w", [1], aggregation=tf.VariableAggregation.MEAN)
    automatic = tf.VariableSynchronization.AUTO
    assert told == [(automatic, tf.VariableAggregation.NONE), (automatic, tf.VariableAggregation.MEAN)]


def test_a_variable_that_the_body_of_a_loop_gets_is_named_by_its_variable_scopes_alone():
    def add_two(total, x):
        with tf.variable_scope("body"):
            return total + x * tf.get_variable("two", [], tf.int32, initializer=tf.constant_initializer(2))

    with tf.Graph().as_default(), tf.variable_scope("root"):
        tf.foldl(add_two, tf.constant([1, 2, 3]))
        assert [variable.name for variable in tf.global_variables()] == ["root/body/two:0"]
