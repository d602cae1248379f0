"""Names of operations and scopes. Every expectation was recorded from TensorFlow 2.21."""

from __future__ import annotations

import pytest

import situs.compat.v1 as tf
from situs._src.base.devices.scope import build_into, here
from situs._src.ir.graph.context import name_scope


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def const(name=None):
    return tf.constant(1.0, name=name).op.name


def scope(*args, **kwargs):
    """What a scope gives, the name of an operation in it, and what the graph calls it."""
    with tf.name_scope(*args, **kwargs) as given:
        return given, const(), tf.get_default_graph().get_name_scope()


# Operations.


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ([None, None, None], ["Const", "Const_1", "Const_2"]),
        (["a", "a", "A", "a_1", "a"], ["a", "a_1", "A_2", "a_1_1", "a_3"]),
        (["a_1", "a", "a"], ["a_1", "a", "a_2"]),
        (["a/b", "a/b", "a"], ["a/b", "a/b_1", "a"]),
        (["a", "a/b"], ["a", "a/b"]),
        (["a/", "a"], ["a", "a_1"]),
        (["x/_y", "1x", ".x", "x>y", "x\\y", "a-b.c_d"], ["x/_y", "1x", ".x", "x>y", "x\\y", "a-b.c_d"]),
    ],
)
def test_names_are_made_unique(asked, given):
    assert [const(name) for name in asked] == given


@pytest.mark.parametrize("name", ["_x", "-x", "x y", "", "ä", "x:0", "^x", "/a"])
def test_other_names_are_refused(name):
    with pytest.raises(ValueError, match="is not a valid node name"):
        const(name)


@pytest.mark.parametrize("name", [3, b"x", ["x"]])
def test_names_are_text(name):
    with pytest.raises(TypeError, match="The name of a node is a string"):
        const(name)
    with pytest.raises(TypeError, match="The name of a scope is a string"):
        scope(name)


def test_a_name_that_is_taken_as_it_is_must_be_free():
    const("a")
    with pytest.raises(ValueError, match="Duplicate node name in graph: 'a'"):
        const("a/")
    assert tf.get_default_graph().get_operation_by_name("a").name == "a"
    tf.get_default_graph().verify()


def test_operations_are_named_after_their_type_and_constants_after_them():
    a = tf.constant([[1.0]])
    made = [tf.matmul(a, a), tf.matmul(a, a), a + a, a * 2.0, 3.0 - a, tf.Variable(1.0), tf.Variable(2.0)]
    assert [x.op.name for x in made] == ["MatMul", "MatMul_1", "add", "mul", "sub", "Variable", "Variable_1"]
    names = [operation.name for operation in tf.get_default_graph().get_operations()]
    assert {"mul/y", "sub/x"} < set(names)
    assert names[-4:] == ["Variable_1/initial_value", "Variable_1", "Variable_1/Assign", "Variable_1/read"]


# Scopes.


def test_scopes_are_made_unique_and_entered_again():
    assert scope("s") == ("s/", "s/Const", "s")
    assert scope("s") == ("s_1/", "s_1/Const", "s_1")
    assert scope("s/") == ("s/", "s/Const_1", "s")
    assert scope("s_1/") == ("s_1/", "s_1/Const_1", "s_1")
    assert scope("S") == ("S_2/", "S_2/Const", "S_2")
    assert scope("new/") == ("new/", "new/Const", "new")
    assert scope("s/t") == ("s/t/", "s/t/Const", "s/t")
    assert scope("s/t") == ("s/t_1/", "s/t_1/Const", "s/t_1")


@pytest.mark.parametrize("nothing", [None, ""])
def test_no_name_leads_out_of_all_scopes(nothing):
    with tf.name_scope("outer"):
        assert scope(nothing) == ("", "Const", "")
        assert const() == "outer/Const"


def test_a_default_name_is_taken_where_there_is_none():
    assert scope(None, "dflt")[0] == "dflt/"
    assert scope(None, "dflt")[0] == "dflt_1/"
    assert scope("n", "d")[0] == "n/"
    assert scope("", "d")[0] == ""
    with pytest.raises(ValueError, match="name"):
        scope(None, None, [const()])


def test_scopes_nest():
    with tf.name_scope("outer") as outer:
        assert scope("in") == ("outer/in/", "outer/in/Const", "outer/in")
        assert scope("in")[0] == "outer/in_1/"
        assert scope("outer")[0] == "outer/outer/"
        assert scope("fresh/")[0] == "fresh/"
        assert scope("_in")[0] == "outer/_in/"  # only at the top must a name begin with a letter
        assert scope("-in")[0] == "outer/-in/"
        assert const("_k") == "outer/_k"
        with tf.name_scope("deep"):
            assert scope(outer)[1] == "outer/Const"
            assert const() == "outer/deep/Const"
            with tf.name_scope(outer):
                assert scope("deep")[0] == "outer/deep_1/"
    assert const("outer") == "outer_1"


@pytest.mark.parametrize("name", ["_u", "x y", "-q", "p:q", "é", "/"])
def test_other_scopes_are_refused(name):
    with pytest.raises(ValueError, match="is not a valid scope name"):
        scope(name)


def test_an_error_leaves_the_scope(graph):
    with pytest.raises(KeyError), tf.name_scope("boom"):
        raise KeyError
    assert graph.get_name_scope() == ""


def test_unique_names_can_be_asked_for(graph):
    assert [graph.unique_name("foo") for _ in range(2)] == ["foo", "foo_1"]
    assert [graph.unique_name("foo", mark_as_used=False) for _ in range(2)] == ["foo_2", "foo_2"]
    assert graph.unique_name("FOO") == "FOO_2"
    assert const("foo") == "foo_3"
    with graph.name_scope("gs"):
        assert graph.unique_name("foo") == "gs/foo"
    assert graph.unique_name("x_1") == "x_1"
    assert [graph.unique_name("x") for _ in range(3)] == ["x", "x_2", "x_3"]


def test_names_of_scopes_are_strings_in_eager_code_too():
    for graph in (None, tf.Graph()):
        before = build_into(graph, here.scope)
        with pytest.raises(ValueError, match="name for name_scope must be a string, got 5"):
            name_scope(5).__enter__()
        build_into(*before)
