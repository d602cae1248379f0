"""What variables have besides values: names in scopes, words of replication, messages, creators, templates."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import situs as tf
from situs import errors

v1 = tf.compat.v1


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    """Ops of this dialect run at once, as they do in a program that comes through the eager door."""
    monkeypatch.setattr("situs._src.v1.frontend._builds", False)


def test_names_are_behind_those_of_name_scopes():
    with tf.name_scope("x"):
        with tf.name_scope("y"):
            assert tf.Variable(1.0).name == "x/y/Variable:0"
            assert tf.Variable(1.0, name="r").name == "x/y/r:0"
            assert tf.Variable(1.0, name="s/").name == "s:0"
        with tf.name_scope("x/"):
            assert tf.Variable(1.0).name == "x/Variable:0"
        with tf.name_scope(""):
            assert tf.Variable(1.0).name == "Variable:0"
        assert v1.get_variable("gv", [1]).name == "gv:0"
        with v1.variable_scope("vs"):
            assert v1.get_variable("gv", [1]).name == "vs/gv:0"
            assert tf.Variable(1.0, name="k").name == "x/vs/k:0"
    kept = []

    @tf.function
    def make():
        with tf.name_scope("a"), tf.name_scope("b"):
            if not kept:
                kept.append(tf.Variable(1.0, name="w"))
        return kept[0] * 2.0

    make()
    assert kept[0].name == "a/b/w:0"
    with tf.name_scope("other"):
        assert copy.deepcopy(kept[0]).name == "a/b/w:0"


def test_an_eager_variable_has_the_members_of_one_of_a_graph():
    v = tf.Variable([1.0, 2.0])
    assert v.initializer is None
    assert v.handle.shape.as_list() == []
    assert v.handle == v.handle
    assert v.handle != tf.Variable(1.0).handle
    assert v.handle.device == v.device
    assert bool(v.is_initialized())
    v.load([3.0, 4.0])
    assert v.numpy().tolist() == [3.0, 4.0]
    assert v.synchronization is tf.VariableSynchronization.AUTO
    assert v.aggregation is tf.VariableAggregation.NONE
    v.set_shape([2])
    with pytest.raises(ValueError, match="compatible"):
        v.set_shape([3])
    for call in (v.to_proto, lambda: v.initial_value):
        with pytest.raises(RuntimeError, match="eager"):
            call()
    open_shape = tf.Variable(tf.zeros([2, 2]), shape=[None, 2])
    open_shape.set_shape([5, 2])
    assert open_shape.shape.as_list() == [5, 2]


def test_an_assignment_that_is_not_read_gives_nothing():
    v = tf.Variable(1.0)
    assert v.assign(2.0, read_value=False) is None
    assert v.assign_add(2.0, read_value=False) is None
    assert v.assign_sub(1.0, read_value=False) is None
    assert float(v) == 3.0
    made = []

    @tf.function
    def step():
        made.append(v.assign_add(1.0, read_value=False))

    step()
    assert float(v) == 4.0
    assert made[0].type == "AssignAdd"


@pytest.mark.parametrize("make", [tf.Variable, v1.Variable])
def test_a_constraint_is_a_function(make):
    with pytest.raises(ValueError, match="constraint"):
        make(1.0, constraint=0.5)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="constraint"):
        make(1.0, constraint=0.5)


@pytest.mark.parametrize("in_graph", [False, True])
def test_words_of_replication(in_graph):
    def check():
        late, mean = tf.VariableSynchronization.ON_READ, tf.VariableAggregation.MEAN
        v = v1.Variable(1.0, synchronization=late, aggregation=mean)
        assert (v.synchronization, v.aggregation, v.trainable) == (late, mean, False)
        assert v1.Variable(1.0, synchronization=late, trainable=True).trainable
        assert not v1.get_variable("late", [1], synchronization=late).trainable
        with pytest.raises(ValueError, match="ON_READ"):
            v1.get_variable("both", [1], synchronization=late, trainable=True)
        with pytest.raises(ValueError, match="synchronization"):
            v1.Variable(1.0, synchronization="late")
        with pytest.raises(ValueError, match="aggregation"):
            v1.Variable(1.0, aggregation=2)

    if in_graph:
        with tf.Graph().as_default():
            check()
    else:
        check()


def test_a_variable_of_a_graph_as_a_message():
    with tf.Graph().as_default() as graph, v1.Session() as sess:
        with v1.name_scope("s"):
            v = v1.Variable([1.0, 2.0], name="v", trainable=False, aggregation=tf.VariableAggregation.SUM)
        message = v.to_proto()
        assert (message.variable_name, message.trainable) == ("s/v:0", False)
        assert v.to_proto("other") is None
        assert v.to_proto("s").variable_name == "v:0"
        for again in (
            v1.Variable.from_proto(message),
            v1.Variable.from_proto(v.to_proto("s"), "s"),
            v1.Variable(variable_def=message),
        ):
            assert again.name == v.name
            assert again.aggregation is tf.VariableAggregation.SUM
            assert again.initializer is v.initializer
            sess.run(again.initializer)
            assert sess.run(again.assign_add([1.0, 1.0])).tolist() == [2.0, 3.0]
        assert not sess.run(v1.Variable(1.0).is_initialized())
        assert len(graph.get_collection("variables")) == 2
        message.variable_name = "s/v/read:0"
        with pytest.raises(errors.InvalidArgumentError, match="this graph has none of that name"):
            v1.Variable.from_proto(message)
        with pytest.raises(TypeError):
            v1.Variable.from_proto("v")


def test_parts_of_variables_are_described():
    info = tf.Variable.SaveSliceInfo("w", [10, 4], [5, 0], [5, 4])
    assert info.spec == "10 4 5,5:0,4"
    again = tf.Variable.SaveSliceInfo.from_spec(info.spec)
    assert (again.full_shape, again.var_offset, again.var_shape) == ([10, 4], [5, 0], [5, 4])
    assert v1.Variable.SaveSliceInfo(save_slice_info_def=info.to_proto()).full_name == "w"
    for spec in ("0", "a b", "0 0:0", "0 a,0", "0 0,a"):
        with pytest.raises(ValueError, match="pec string"):
            tf.Variable.SaveSliceInfo.from_spec(spec)


# Creators.


@pytest.mark.parametrize("in_graph", [False, True])
def test_creators_stand_between_the_wish_and_the_variable(in_graph):
    told = []

    def outer(next_creator, **kwargs):
        told.append(("outer", kwargs["name"]))
        return next_creator(**{**kwargs, "name": "renamed"})

    def inner(next_creator, **kwargs):
        told.append(("inner", kwargs["name"]))
        return next_creator(**kwargs)

    def check():
        with tf.variable_creator_scope(outer), tf.variable_creator_scope(inner):
            v = v1.Variable(1.0, name="v")
        assert v.name == "renamed:0"
        assert told == [("inner", "v"), ("outer", "v")]
        assert v1.Variable(1.0, name="w").name == "w:0"
        assert len(told) == 2

    if in_graph:
        with tf.Graph().as_default():
            check()
    else:
        check()
    with pytest.raises(TypeError), tf.variable_creator_scope(3):
        pass


# Templates in eager code.


def dummy(trainable=True):
    return v1.get_variable("dummy", [1], trainable=trainable, initializer=v1.zeros_initializer())


def test_a_template_of_eager_code_shares_its_variables():
    v1.reset_default_graph()
    one, two = v1.make_template("s", dummy), v1.make_template("s", dummy)
    first = one()
    assert one() is first
    assert two() is not first
    assert [first.name, two().name] == ["s/dummy:0", "s_1/dummy:0"]
    assert len(one.variables) == 1
    assert one.variables[0] is first
    assert one.variable_scope_name == "s/"
    assert not one.non_trainable_variables
    with pytest.raises(ValueError, match="unique_name_"):
        v1.make_template("s", dummy, unique_name_="x")
    with pytest.raises(ValueError, match="name cannot be None"):
        v1.make_template(None, dummy)


def test_templates_in_templates_share_too():
    v1.reset_default_graph()

    def nested():
        inner = [v1.make_template("inner", dummy) for _ in range(2)]
        return [template() for template in inner]

    outer = v1.make_template("outer", nested)
    first, second = outer()
    again = outer()
    assert again[0] is first
    assert again[1] is second
    assert first is not second
    assert [variable.name for variable in outer.variables] == ["outer/inner/dummy:0", "outer/inner_1/dummy:0"]


def test_a_template_makes_trainable_variables_once(tmp_path):
    def side(name):
        v1.get_variable(name, [1])
        return dummy()

    template = v1.make_template("t", side)
    template("a")
    with pytest.raises(ValueError, match=r"does not exist|after the first time"):
        template("b")
    path = tf.train.Checkpoint(t=template).save(str(tmp_path / "ckpt"))
    template("a").assign([5.0])
    tf.train.Checkpoint(t=template).restore(path)
    assert template("a").numpy().tolist() == [0.0]


def test_regularizers_of_eager_code_are_collected():
    v1.reset_default_graph()
    with v1.variable_scope("r", regularizer=lambda v: tf.reduce_sum(v * v)):
        v1.get_variable("w", initializer=np.float32([1.0, 2.0]))
    (loss,) = v1.get_collection(v1.GraphKeys.REGULARIZATION_LOSSES)
    assert float(loss) == 5.0
    v1.reset_default_graph()


# Others that hold variables.


def test_functions_do_not_change_their_arguments():
    @tf.function
    def append(items, more=None):
        items.append(1.0)
        return tf.constant(1.0)

    @tf.function
    def put(items):
        items["x"][0] = items["x"][0] * 2.0
        return items["x"][0]

    with pytest.raises(ValueError, match=r"append\(items, more\) should not modify .* modified: items"):
        append([tf.constant(1.0)])
    with pytest.raises(ValueError, match="should not modify"):
        put({"x": [tf.constant(1.0)]})
    assert float(tf.function(lambda items: [*items, 1.0][0])([tf.constant(2.0)])) == 2.0


def test_an_optimizer_has_the_variables_of_the_default_graph():
    optimizer = v1.train.MomentumOptimizer(0.1, 0.9)
    for _ in range(2):
        with tf.Graph().as_default():
            v = v1.Variable(1.0, name="v")
            optimizer.minimize(v * v)
            assert [slot.name for slot in optimizer.variables()] == ["v/Momentum:0"]
            assert optimizer.variables()[0].graph is v.graph


def test_a_complex_variable_is_a_complex_number():
    assert complex(tf.Variable(1.5 + 2j)) == 1.5 + 2j


def test_names_that_tell_variables_apart():
    one, other = tf.Variable(1.0, name="v"), tf.Variable(1.0, name="v")
    assert one._shared_name == other._shared_name == "v"
    assert one._unique_id != other._unique_id
    assert one._unique_id.startswith("v_")
