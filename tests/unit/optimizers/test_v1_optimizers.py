"""``tf.train.Optimizer`` and its kind: what they build, where it lies, what one's own classes may override."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as tf1
from situs._src.v1.optimizers.base import Optimizer
from situs._src.v1.optimizers.optimizers import (
    AdadeltaOptimizer,
    AdagradOptimizer,
    AdamOptimizer,
    FtrlOptimizer,
    GradientDescentOptimizer,
    MomentumOptimizer,
    RMSPropOptimizer,
)
from situs.errors import DTypeError, FailedPreconditionError, InvalidArgumentError, UnimplementedError
from tests.conftest import LOCAL

ALL = [
    lambda: GradientDescentOptimizer(0.1),
    lambda: MomentumOptimizer(0.1, 0.9),
    lambda: AdagradOptimizer(0.1),
    lambda: AdadeltaOptimizer(1.0, epsilon=1e-2),
    lambda: RMSPropOptimizer(0.1),
    lambda: RMSPropOptimizer(0.1, centered=True),
    lambda: AdamOptimizer(0.1),
    lambda: FtrlOptimizer(0.1),
]
each = pytest.mark.parametrize("make", ALL, ids=lambda make: type(make()).__name__)


@pytest.fixture
def graph():
    with tf1.Graph().as_default() as made:
        yield made


def model():
    """A line through a point: a loss, its variables, and what to feed."""
    w = tf1.Variable([[1.0], [2.0], [3.0]], name="W")
    with tf1.name_scope("layer"):
        b = tf1.Variable([0.5], name="b")
    x = tf1.placeholder(tf.float32, [None, 3])
    return tf1.reduce_mean(tf1.square(tf1.matmul(x, w) + b)), [w, b], {x: np.ones((4, 3), np.float32)}


def names_after(graph, start):
    return {op.name: op for op in graph.get_operations()[start:] if not op.name.startswith("gradients")}


# What is built.


def test_gradient_descent_has_one_update_for_each_variable(graph):
    loss, _, _ = model()
    start = len(graph.get_operations())
    train = GradientDescentOptimizer(0.1).minimize(loss)
    made = names_after(graph, start)
    assert list(made) == [
        "GradientDescent/learning_rate",
        "GradientDescent/update_W/ApplyGradientDescent",
        "GradientDescent/update_layer/b/ApplyGradientDescent",
        "GradientDescent",
    ]
    assert train is made["GradientDescent"]
    assert train.type == "NoOp"
    update = made["GradientDescent/update_W/ApplyGradientDescent"]
    assert [tensor.name for tensor in update.inputs][:2] == ["W:0", "GradientDescent/learning_rate:0"]
    assert update.colocation_groups() == [b"loc:@W"]


def test_the_global_step_is_the_last_thing_that_changes(graph):
    loss, _, _ = model()
    step = tf1.Variable(0, name="global_step", trainable=False, dtype=tf.int64)
    train = GradientDescentOptimizer(0.1, name="Descent").minimize(loss, global_step=step)
    assert (train.name, train.type) == ("Descent", "AssignAdd")
    assert [op.name for op in train.inputs[1].op.control_inputs] == ["Descent/update"]


SLOTS = [
    (lambda: MomentumOptimizer(0.1, 0.9), ["momentum"], ["W/Momentum", "layer/b/Momentum"]),
    (lambda: AdagradOptimizer(0.1), ["accumulator"], ["W/Adagrad", "layer/b/Adagrad"]),
    (
        lambda: AdamOptimizer(0.1),
        ["m", "v"],
        ["W/Adam", "W/Adam_1", "beta1_power", "beta2_power", "layer/b/Adam", "layer/b/Adam_1"],
    ),
    (
        lambda: RMSPropOptimizer(0.1, centered=True, name="R"),
        ["mg", "momentum", "rms"],
        ["W/R", "W/R_1", "W/R_2", "layer/b/R", "layer/b/R_1", "layer/b/R_2"],
    ),
    (
        lambda: FtrlOptimizer(0.1, accum_name="squares", linear_name="sums"),
        ["accum", "linear"],
        ["W/squares", "W/sums", "layer/b/squares", "layer/b/sums"],
    ),
]


@pytest.mark.parametrize(("make", "slots", "names"), SLOTS)
def test_slots_are_named_after_their_variables(graph, make, slots, names):
    loss, (w, _), _ = model()
    optimizer = make()
    optimizer.minimize(loss)
    assert optimizer.get_slot_names() == slots
    assert [v.name for v in optimizer.variables()] == [f"{name}:0" for name in names]
    assert not any(v.trainable for v in optimizer.variables())
    assert {v.name for v in optimizer.variables()} <= {v.name for v in tf1.global_variables()}
    for slot in slots:
        assert optimizer.get_slot(w, slot).op.colocation_groups() == [b"loc:@W"]


def test_slots_are_made_once(graph):
    loss, variables, _ = model()
    optimizer = MomentumOptimizer(0.1, 0.9)
    optimizer.minimize(loss)
    count = len(tf1.global_variables())
    optimizer.minimize(loss * 2.0, var_list=variables)
    assert len(tf1.global_variables()) == count
    MomentumOptimizer(0.1, 0.9).minimize(loss)
    assert {"W/Momentum_1:0", "layer/b/Momentum_1:0"} <= {v.name for v in tf1.global_variables()}


def test_a_variable_scope_stands_before_the_names_of_slots(graph):
    with tf1.variable_scope("net"):
        w = tf1.get_variable("w", [2], initializer=tf1.zeros_initializer())
        optimizer = MomentumOptimizer(0.1, 0.9)
        optimizer.minimize(tf1.reduce_sum(w))
    assert optimizer.get_slot(w, "momentum").name == "net/net/w/Momentum:0"


def test_the_train_op_is_collected(graph):
    loss, _, _ = model()
    train = GradientDescentOptimizer(0.1).minimize(loss)
    assert graph.get_collection(tf1.GraphKeys.TRAIN_OP) == [train]


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:1"])
def test_slots_and_updates_are_where_the_variable_is(graph, device):
    with tf1.device(device):
        w = tf1.Variable([1.0, 2.0], name="w")
    with tf1.device("/gpu:2"):
        optimizer = AdamOptimizer(0.1)
        train = optimizer.minimize(tf1.reduce_sum(w * w))
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        metadata = tf1.RunMetadata()
        session.run(train, options=tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE), run_metadata=metadata)
    where = {node.node_name: stats.device for stats in metadata.step_stats.dev_stats for node in stats.node_stats}
    expected = f"{LOCAL}/device:{'CPU:0' if device == '/cpu:0' else 'GPU:1'}"
    assert where["Adam/update_w/ApplyAdam"] == expected
    assert [where[name] for name in ("w/Adam", "w/Adam_1")] == [expected] * 2


# What it does.


@each
def test_the_loss_becomes_less(graph, make):
    loss, _, feed = model()
    train = make().minimize(loss)
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        first = session.run(loss, feed)
        for _ in range(20):
            session.run(train, feed)
        assert session.run(loss, feed) < first


@each
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_dtypes_are_trained(graph, make, dtype):
    w = tf1.Variable(tf1.constant([1.0, -2.0], dtype))
    train = make().minimize(tf1.reduce_sum(w * w))
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        for _ in range(10):
            session.run(train)
        value = session.run(tf1.cast(w, tf.float32))
        assert np.all(np.abs(value) < [1.0, 2.0])


@pytest.mark.parametrize("gate", [Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH])
def test_gates_change_no_result(graph, gate):
    loss, variables, feed = model()
    train = GradientDescentOptimizer(0.05).minimize(loss, gate_gradients=gate)
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        session.run(train, feed)
        w, b = session.run(variables)
        assert w.ravel().tolist() == pytest.approx([0.35, 1.35, 2.35])
        assert b.tolist() == pytest.approx([-0.15])


def test_a_learning_rate_may_be_fed(graph):
    loss, (_, b), feed = model()
    rate = tf1.placeholder(tf.float32, [])
    train = GradientDescentOptimizer(rate).minimize(loss, var_list=[b])
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        session.run(train, {**feed, rate: 0.0})
        assert session.run(b).tolist() == [0.5]
        session.run(train, {**feed, rate: 0.1})
        assert session.run(b).tolist() == pytest.approx([-0.8])


@pytest.mark.parametrize("rate", [0.5, lambda: 0.5, lambda: tf1.constant(0.5), lambda: np.float32(0.5)])
def test_a_learning_rate_may_be_a_function(graph, rate):
    w = tf1.Variable([1.0])
    train = GradientDescentOptimizer(rate).minimize(w * 2.0)
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        session.run(train)
        assert session.run(w).tolist() == [0.0]


def test_gradients_may_be_changed_between(graph):
    loss, variables, feed = model()
    optimizer = GradientDescentOptimizer(1.0)
    pairs = optimizer.compute_gradients(loss, variables)
    assert [variable for _, variable in pairs] == variables
    train = optimizer.apply_gradients([(tf1.clip_by_value(grad, -0.1, 0.1), v) for grad, v in pairs])
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        session.run(train, feed)
        assert session.run(variables[1]).tolist() == pytest.approx([0.4])


def test_a_gradient_of_the_loss_is_taken(graph):
    w = tf1.Variable([1.0, 1.0])
    train = GradientDescentOptimizer(1.0).minimize(w * 1.0, grad_loss=tf1.constant([0.5, 0.25]))
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        session.run(train)
        assert session.run(w).tolist() == [0.5, 0.75]


def test_what_is_gathered_is_changed_and_nothing_else(graph):
    table = tf1.Variable(np.ones((5, 2), np.float32))
    train = GradientDescentOptimizer(0.5).minimize(tf1.reduce_sum(tf1.gather(table, [1, 3, 1])))
    assert any(op.type == "SparseApplyGradientDescent" for op in graph.get_operations())
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        session.run(train)
        assert session.run(table)[:, 0].tolist() == [1.0, 0.0, 1.0, 0.5, 1.0]


def test_a_constraint_holds_after_the_step(graph):
    w = tf1.Variable([1.0, -1.0], constraint=lambda value: tf1.maximum(value, 0.0))
    train = GradientDescentOptimizer(0.1).minimize(tf1.reduce_sum(w))
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        session.run(train)
        assert session.run(w).tolist() == pytest.approx([0.9, 0.0])


def test_updates_in_a_branch_happen_when_it_is_taken(graph):
    w, choose = tf1.Variable([1.0]), tf1.placeholder(tf.bool, [])
    optimizer = MomentumOptimizer(0.5, 0.9)
    pairs = optimizer.compute_gradients(tf1.reduce_sum(w * w))
    train = tf1.cond(choose, lambda: optimizer.apply_gradients(pairs), tf1.no_op)
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        session.run(train, {choose: False})
        assert session.run(w).tolist() == [1.0]
        session.run(train, {choose: True})
        assert session.run(w).tolist() == [0.0]


def test_towers_on_several_gpus_are_trained_together(graph):
    w = tf1.Variable([2.0])
    losses = []
    for number in range(3):
        with tf1.device(f"/gpu:{number}"):
            losses.append(tf1.reduce_sum(w * float(number + 1)))
    train = GradientDescentOptimizer(0.1).minimize(tf1.add_n(losses), colocate_gradients_with_ops=True)
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        session.run(train)
        assert session.run(w).tolist() == pytest.approx([1.4])


# In eager code.


@each
def test_a_function_is_minimized_in_eager_code(make, on_device):
    w = tf.Variable([1.0, -2.0])
    optimizer = make()
    for _ in range(10):
        assert optimizer.minimize(lambda: tf.reduce_sum(w * w)) is None
    assert np.all(np.abs(w.numpy()) < [1.0, 2.0])
    assert {slot.device for slot in optimizer.variables()} <= {on_device}


def test_the_global_step_counts_in_eager_code():
    w, step = tf.Variable(1.0), tf.Variable(0, dtype=tf.int64)
    assert GradientDescentOptimizer(0.1).minimize(lambda: w * w, global_step=step) is step
    assert int(step) == 1


def test_all_variables_of_a_device_are_changed_by_one_op(capfd):
    with tf.device("/gpu:0"):
        on_gpu = [tf.Variable([1.0]) for _ in range(3)]
    with tf.device("/cpu:0"):
        on_cpu = [tf.Variable([1.0]) for _ in range(2)]
    optimizer = GradientDescentOptimizer(0.1)
    pairs = [(tf.constant([1.0]), v) for v in on_gpu + on_cpu]
    tf.debugging.set_log_device_placement(True)
    optimizer.apply_gradients(pairs)
    tf.debugging.set_log_device_placement(False)
    lines = [line for line in capfd.readouterr().out.splitlines() if "ApplyGradientDescent" in line]
    assert sorted(line.rpartition(":")[0][-3:] for line in lines) == ["CPU", "GPU"]
    assert [v.numpy()[0] for v in on_gpu + on_cpu] == pytest.approx([0.9] * 5)


def test_a_variable_that_is_given_twice_is_changed_twice():
    w = tf.Variable([1.0])
    GradientDescentOptimizer(0.5).apply_gradients([(tf.constant([1.0]), w), (tf.constant([1.0]), w)])
    assert w.numpy().tolist() == [0.0]


@each
def test_optimizers_work_in_functions(make):
    w = tf.Variable([1.0, -2.0])
    optimizer = make()

    @tf.function
    def step():
        optimizer.minimize(lambda: tf.reduce_sum(w * w), var_list=[w])

    for _ in range(10):
        step()
    assert np.all(np.abs(w.numpy()) < [1.0, 2.0])


def test_a_function_may_count_its_steps_and_be_traced_twice():
    w, step = tf.Variable([1.0, 1.0]), tf.Variable(0, dtype=tf.int64)
    optimizer = MomentumOptimizer(0.5, 0.0)

    @tf.function
    def train(x):
        optimizer.minimize(lambda: tf.reduce_sum(w * x), global_step=step, var_list=[w])
        optimizer.minimize(lambda: tf.reduce_sum(w * x), global_step=step, var_list=[w])

    train(tf.constant(1.0))
    train(tf.constant([1.0, 0.0]))
    assert int(step) == 4
    assert w.numpy().tolist() == [-1.0, 0.0]


# Classes of one's own.


class Halving(Optimizer):
    """Takes half of the gradient, and counts what it was called for."""

    def __init__(self):
        super().__init__(False, "Halving")
        self.seen = []

    def _create_slots(self, var_list):
        for v in var_list:
            self._get_or_make_slot(v, tf1.ones(v.shape) * 0.5, "half", self._name)

    def _apply_dense(self, grad, var):
        self.seen.append("dense")
        return var.assign_sub(grad * self.get_slot(var, "half")).op

    def _apply_sparse(self, grad, var):
        self.seen.append("sparse")
        return var.scatter_sub(tf1.IndexedSlices(grad.values * 0.5, grad.indices)).op


def test_a_class_of_ones_own_is_called_for_each_variable(graph):
    a, b = tf1.Variable([1.0]), tf1.Variable([2.0])
    optimizer = Halving()
    train = optimizer.minimize(tf1.reduce_sum(a * 2.0 + b * 4.0))
    assert optimizer.seen == ["dense", "dense"]
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        session.run(train)
        assert [value[0] for value in session.run([a, b])] == [0.0, 0.0]


def test_rows_that_are_named_twice_are_added_up_for_it(graph):
    table = tf1.Variable(np.zeros((3, 1), np.float32))
    optimizer = Halving()
    train = optimizer.minimize(tf1.reduce_sum(tf1.gather(table, [0, 0, 2])))
    assert optimizer.seen == ["sparse"]
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        session.run(train)
        assert session.run(table).ravel().tolist() == [-1.0, 0.0, -0.5]


class Doubling(GradientDescentOptimizer):
    """Changes variables twice."""

    def _resource_apply_dense(self, grad, handle):
        super()._resource_apply_dense(grad, handle)
        return super()._resource_apply_dense(grad, handle)

    def _apply_dense(self, grad, var):
        return super()._apply_dense(grad * 2.0, var)


def test_a_method_that_is_overridden_is_called():
    w = tf.Variable([1.0])
    Doubling(0.25).apply_gradients([(tf.constant([1.0]), w)])
    assert w.numpy().tolist() == [0.5]
    with tf1.Graph().as_default(), tf1.Session() as session:
        v = tf1.Variable([1.0])
        train = Doubling(0.25).minimize(tf1.reduce_sum(v))
        session.run(v.initializer)
        session.run(train)
        assert session.run(v).tolist() == [0.5]


# What is wrong.


def test_no_variables_no_gradients(graph):
    x = tf1.placeholder(tf.float32, [])
    with pytest.raises(InvalidArgumentError, match=r"No variables to optimize\."):
        GradientDescentOptimizer(0.1).minimize(x)
    w = tf1.Variable(1.0, name="w")
    with pytest.raises(
        ValueError, match="No gradients provided for any variable, check your graph for ops that do not"
    ):
        GradientDescentOptimizer(0.1).minimize(x)
    with pytest.raises(ValueError, match=r"No gradients provided for any variable: \["):
        GradientDescentOptimizer(0.1).apply_gradients([(None, w)])
    with pytest.raises(ValueError, match=r"No variables provided\."):
        GradientDescentOptimizer(0.1).apply_gradients([])


def test_a_gradient_that_is_none_leaves_its_variable_alone(graph):
    a, b = tf1.Variable([1.0]), tf1.Variable([1.0])
    train = GradientDescentOptimizer(0.5).minimize(a * 1.0, var_list=[a, b])
    with tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        session.run(train)
        assert [value[0] for value in session.run([a, b])] == [0.5, 1.0]


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda w: GradientDescentOptimizer(0.1, name=""), ValueError, "Must specify the optimizer name"),
        (lambda w: GradientDescentOptimizer(0.1, name=None), ValueError, "Must specify the optimizer name"),
        (lambda w: GradientDescentOptimizer(0.1).apply_gradients([1]), TypeError, "list of pairs of a gradient"),
        (lambda w: GradientDescentOptimizer(0.1).minimize(w * w, global_step=3), TypeError, "`global_step` is a var"),
        (lambda w: AdagradOptimizer(0.1, "a"), TypeError, "must be a number"),
        (lambda w: FtrlOptimizer(0.1, l1_regularization_strength="a"), TypeError, "must be a number"),
        (lambda w: AdagradOptimizer(0.1, 0.0), ValueError, "initial_accumulator_value must be positive: 0.0"),
        (lambda w: FtrlOptimizer(0.1, learning_rate_power=0.5), ValueError, "needs to be negative or zero"),
        (lambda w: FtrlOptimizer(0.1, l1_regularization_strength=-1.0), ValueError, "needs to be positive or zero"),
        (
            lambda w: GradientDescentOptimizer(0.1).minimize(w * w, gate_gradients=7),
            ValueError,
            "gate_gradients must be",
        ),
        (
            lambda w: GradientDescentOptimizer(0.1).apply_gradients([(w, w * 1.0)]),
            NotImplementedError,
            "Trying to update",
        ),
        (lambda w: GradientDescentOptimizer(0.1).apply_gradients([("a", w)]), TypeError, "string|Gradient must be"),
        (
            lambda w: GradientDescentOptimizer([0.1, 0.2]).minimize(w * w),
            ValueError,
            "Shape must be rank 0 but is rank 1",
        ),
        (lambda w: Optimizer(False, "o").minimize(w * w), NotImplementedError, "_apply_dense"),
    ],
)
def test_mistakes_are_named(graph, call, kind, text):
    w = tf1.Variable([1.0, 2.0])
    with pytest.raises(kind, match=text):
        tf1.Session().run(call(w))


def test_integers_are_not_trained(graph):
    w = tf1.Variable([1, 2])
    with pytest.raises(ValueError, match=r"Invalid type tf\.int32.*expected"):
        GradientDescentOptimizer(0.1).minimize(w * w)


def test_a_value_is_no_loss_in_eager_code():
    w = tf.Variable(1.0)
    with pytest.raises(FailedPreconditionError, match="should be a function when eager execution is enabled"):
        GradientDescentOptimizer(0.1).minimize(w * w)
    with pytest.raises(DTypeError, match="are numbers and scalar tensors"):
        GradientDescentOptimizer("fast").minimize(lambda: w * w)
    with pytest.raises(UnimplementedError):
        Optimizer(False, "o").minimize(lambda: w * w)
