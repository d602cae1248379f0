"""The ops of optimizers: their arithmetic, on lists, on rows, on cells, with numbers and with tensors."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import situs as tf
import situs.compat.v1 as tf1
from situs._src.base.shapes import TensorShape
from situs._src.ir.registry.op import find_op
from situs._src.runtime.eager.bridge import host, place
from situs._src.runtime.eager.cell import Cell
from situs._src.variables import apply_ops as ops
from situs._src.variables.apply_ops import Apply
from situs.errors import InvalidArgumentError

# The updates once more, in NumPy and float64: functions from states, a gradient and numbers to new states.


def sgd(var, grad, *, alpha):
    return (var - alpha * grad,)


def momentum(var, accum, grad, *, lr, momentum, use_nesterov=False):
    accum = momentum * accum + grad
    return var - lr * (momentum * accum + grad if use_nesterov else accum), accum


def keras_momentum(var, accum, grad, *, lr, momentum, use_nesterov=False):
    accum = momentum * accum - lr * grad
    return var + (momentum * accum - lr * grad if use_nesterov else accum), accum


def adam(var, m, v, *rest, beta1_power, beta2_power, lr, beta1, beta2, epsilon, use_nesterov=False, weight_decay=0.0):
    *hat, grad = rest
    m, v = m + (grad - m) * (1 - beta1), v + (grad**2 - v) * (1 - beta2)
    hat = [np.maximum(each, v) for each in hat]
    alpha = lr * np.sqrt(1 - beta2_power) / (1 - beta1_power)
    along = beta1 * m + (1 - beta1) * grad if use_nesterov else m
    return var - var * weight_decay * lr - alpha * along / (np.sqrt((hat or [v])[0]) + epsilon), m, v, *hat


def adamax(var, m, v, grad, *, beta1_power, lr, beta1, beta2, epsilon):
    m, v = m + (grad - m) * (1 - beta1), np.maximum(beta2 * v, np.abs(grad))
    return var - lr / (1 - beta1_power) * m / (v + epsilon), m, v


def nadam(var, m, v, grad, *, lr, beta1, beta2, epsilon, beta2_power, now, after, product):
    m, v = m + (grad - m) * (1 - beta1), v + (grad**2 - v) * (1 - beta2)
    along = after * m / (1 - product * after) + (1 - now) * grad / (1 - product)
    return var - lr * along / (np.sqrt(v / (1 - beta2_power)) + epsilon), m, v


def lion(var, m, grad, *, lr, beta1, beta2):
    return var - lr * np.sign(beta1 * m + (1 - beta1) * grad), beta2 * m + (1 - beta2) * grad


def adagrad(var, accum, grad, *, lr, epsilon=0.0, update_slots=True, under_root=False):
    accum = accum + grad**2 * update_slots
    return var - lr * grad / (np.sqrt(accum + epsilon * under_root) + epsilon * (not under_root)), accum


def adadelta(var, accum, accum_update, grad, *, lr, rho, epsilon):
    accum = rho * accum + (1 - rho) * grad**2
    step = np.sqrt(accum_update + epsilon) / np.sqrt(accum + epsilon) * grad
    return var - lr * step, accum, rho * accum_update + (1 - rho) * step**2


def rms_prop(var, ms, *rest, lr, rho, epsilon, momentum=0.0):
    *mom, grad = rest
    ms = rho * ms + (1 - rho) * grad**2
    step = lr * grad / np.sqrt(ms + epsilon)
    moved = [momentum * each + step for each in mom]
    return var - (moved or [step])[0], ms, *moved


def centered_rms_prop(var, mg, ms, *rest, lr, rho, epsilon, momentum=0.0):
    *mom, grad = rest
    ms, mg = rho * ms + (1 - rho) * grad**2, rho * mg + (1 - rho) * grad
    step = lr * grad / np.sqrt(ms - mg**2 + epsilon)
    moved = [momentum * each + step for each in mom]
    return var - (moved or [step])[0], mg, ms, *moved


def ftrl(var, accum, linear, grad, *, lr, l1, l2, lr_power, l2_shrinkage=0.0):
    squares = accum + grad**2
    before, now = accum**-lr_power, squares**-lr_power
    linear = linear + grad + 2 * l2_shrinkage * var - (now - before) / lr * var
    quadratic = now / lr + 2 * l2
    return np.where(np.abs(linear) > l1, (np.sign(linear) * l1 - linear) / quadratic, 0.0), squares, linear


ADAM = {"beta1_power": 0.81, "beta2_power": 0.98, "lr": 0.1, "beta1": 0.9, "beta2": 0.99, "epsilon": 1e-3}
POWERS = {name: ADAM[name] for name in ("beta1_power", "beta2_power", "lr")}
BETAS = {name: ADAM[name] for name in ("beta1", "beta2", "epsilon")}
RMS = {"lr": 0.1, "rho": 0.8, "epsilon": 1e-2}
FTRL = {"lr": 0.2, "l1": 0.3, "l2": 0.1, "lr_power": -0.5}
NADAM = {"now": 0.5, "after": 0.6, "product": 0.2, "beta2_power": 0.98}
TABLE = [
    (ops.apply_gradient_descent, sgd, {"alpha": 0.1}, {}),
    (ops.apply_momentum, momentum, {"lr": 0.1, "momentum": 0.9}, {}),
    (ops.apply_momentum, momentum, {"lr": 0.1, "momentum": 0.9}, {"use_nesterov": True}),
    (ops.apply_momentum, momentum, {"lr": 0.1, "momentum": 0.0}, {}),
    (ops.apply_momentum, momentum, {"lr": 0.1, "momentum": 0.0}, {"use_nesterov": True}),
    (ops.apply_keras_momentum, keras_momentum, {"lr": 0.1, "momentum": 0.9}, {}),
    (ops.apply_keras_momentum, keras_momentum, {"lr": 0.1, "momentum": 0.0}, {}),
    (ops.apply_keras_momentum, keras_momentum, {"lr": 0.0, "momentum": 0.5}, {}),
    (ops.apply_keras_momentum, keras_momentum, {"lr": 0.1, "momentum": 0.9}, {"use_nesterov": True}),
    (ops.apply_adam, adam, ADAM, {}),
    (ops.apply_adam, adam, ADAM, {"use_nesterov": True}),
    (ops.apply_adam, adam, {**ADAM, "beta1": 1.0}, {}),
    (ops.apply_adam, adam, {**ADAM, "beta1": 0.0, "beta2": 0.0}, {}),
    (ops.apply_adam, adam, {**ADAM, "epsilon": 0.0}, {}),
    (ops.apply_adam, adam, {**ADAM, "lr": 0.0}, {}),
    (ops.apply_adam_w, adam, POWERS, {**BETAS, "weight_decay": 0.3}),
    (ops.apply_adam_w, adam, {**POWERS, "lr": 0.0}, {**BETAS, "weight_decay": 0.3}),
    (ops.apply_adam_with_amsgrad, adam, POWERS, BETAS),
    (ops.apply_ada_max, adamax, {k: v for k, v in ADAM.items() if k != "beta2_power"}, {}),
    (ops.apply_nadam, nadam, {k: v for k, v in {**ADAM, **NADAM}.items() if k != "beta1_power"}, {}),
    (ops.apply_lion, lion, {"lr": 0.1, "beta1": 0.9, "beta2": 0.99}, {}),
    (ops.apply_adagrad, adagrad, {"lr": 0.1}, {}),
    (ops.apply_adagrad, adagrad, {"lr": 0.1}, {"update_slots": False}),
    (ops.apply_adagrad_v2, adagrad, {"lr": 0.1, "epsilon": 0.1}, {}),
    (ops.apply_keras_adagrad, adagrad, {"lr": 0.1, "epsilon": 0.1}, {"under_root": True}),
    (ops.apply_adadelta, adadelta, RMS, {}),
    (ops.apply_rms_prop, rms_prop, {**RMS, "momentum": 0.5}, {}),
    (ops.apply_plain_rms_prop, rms_prop, RMS, {}),
    (ops.apply_centered_rms_prop, centered_rms_prop, {**RMS, "momentum": 0.5}, {}),
    (ops.apply_plain_centered_rms_prop, centered_rms_prop, RMS, {}),
    (ops.apply_ftrl, ftrl, FTRL, {}),
    (ops.apply_ftrl, ftrl, {**FTRL, "lr_power": -0.8, "l1": 0.0}, {}),
    (ops.apply_ftrl_v2, ftrl, {**FTRL, "l2_shrinkage": 0.1}, {}),
]
IDS = [f"{apply.op.name}-{number}" for number, (apply, *_) in enumerate(TABLE)]
every_op = pytest.mark.parametrize(("apply", "truth", "hyper", "attrs"), TABLE, ids=IDS)

SHAPES = [(2, 3), (4,), (), (0,), (3, 1, 2)]


def some(rng, shape, number=0, dtype=np.float32):
    """A state: positive, as sums of squares are; the second is small, so that the variance of gradients is positive."""
    return (rng.uniform(0.5, 1.5, shape) * (0.3 if number == 1 else 1.0)).astype(dtype)


def cell(array, dtype=tf.float32):
    value = torch.tensor(array)
    return Cell("v", dtype, TensorShape(value.shape), place(host(), dtype), value)


def changed(apply: Apply, truth, states, grads, hyper, attrs):
    """What the variables and states become, by NumPy."""
    columns = zip(*states, grads, strict=True)
    return [truth(*(np.asarray(x, np.float64) for x in column), **hyper, **attrs) for column in columns]


def close(cells, expected, tolerance=2e-6):
    for number, states in enumerate(expected):
        for column, state in enumerate(states):
            np.testing.assert_allclose(cells[column][number].value.numpy(), state, rtol=tolerance, atol=tolerance)


# Arithmetic.


@every_op
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_op_changes_many_variables_as_numpy_does(apply, truth, hyper, attrs, dtype):
    rng = np.random.default_rng(0)
    states = [[some(rng, shape, column, dtype) for shape in SHAPES] for column in range(apply.states)]
    grads = [rng.normal(0, 0.4, shape).astype(dtype) for shape in SHAPES]
    cells = [[cell(array, tf.as_dtype(dtype)) for array in column] for column in states]
    apply.change(cells, [torch.tensor(grad) for grad in grads], hyper, attrs)
    expected = changed(apply, truth, states, grads, hyper, attrs)
    close(cells, expected, 2e-6 if dtype == "float32" else 1e-12)


@every_op
def test_tensors_steer_as_numbers_do(apply, truth, hyper, attrs):
    """A tensor on a card stays a tensor; here one on the host goes the same way."""
    rng = np.random.default_rng(1)
    states = [[torch.tensor(some(rng, shape, n)) for shape in SHAPES] for n in range(apply.states)]
    others = [[value.clone() for value in column] for column in states]
    grads = [torch.tensor(rng.normal(0, 0.4, shape).astype(np.float32)) for shape in SHAPES]
    room = lambda: [torch.empty_like(value) for value in states[0]]  # noqa: E731
    apply._kernel(states, grads, room, **hyper, **attrs)
    apply._kernel(others, grads, room, **{name: torch.tensor(v) for name, v in hyper.items()}, **attrs)
    for column, other in zip(states, others, strict=True):
        for one, two in zip(column, other, strict=True):
            torch.testing.assert_close(one, two, rtol=1e-4, atol=2e-5)


@every_op
def test_tensors_with_gaps_are_changed_as_others(apply, truth, hyper, attrs):
    rng = np.random.default_rng(2)
    states = [[torch.tensor(some(rng, (3, 4), n)).t()] for n in range(apply.states)]
    grad = torch.tensor(rng.normal(0, 0.4, (4, 6)).astype(np.float32))[:, ::2]
    expected = changed(apply, truth, [[s[0].numpy().copy()] for s in states], [grad.numpy()], hyper, attrs)[0]
    apply._kernel(states, [grad], lambda: [torch.empty_like(states[0][0])], **hyper, **attrs)
    for (state,), value in zip(states, expected, strict=True):
        np.testing.assert_allclose(state.numpy(), value, rtol=2e-6, atol=2e-6)


@every_op
def test_without_room_nothing_is_changed(apply, truth, hyper, attrs):
    states = [[torch.ones(3)] for _ in range(apply.states)]
    tensors = {name: torch.tensor(value) for name, value in hyper.items()}

    def no_room():
        raise MemoryError

    gap = [torch.ones(3, 2)[:, 0]]
    for numbers in (hyper, tensors):
        try:
            apply._kernel(states, gap, no_room, **numbers, **attrs)
        except MemoryError:
            assert all((state == 1).all() for (state,) in states)
        else:
            states = [[torch.ones(3)] for _ in range(apply.states)]


@every_op
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_works(apply, truth, hyper, attrs, dtype):
    rng = np.random.default_rng(3)
    states = [[some(rng, (4,), n)] for n in range(apply.states)]
    grad = rng.normal(0, 0.4, (4,)).astype(np.float32)
    expected = changed(apply, truth, states, [grad], hyper, attrs)[0]
    made = [[torch.tensor(column[0]).to(dtype)] for column in states]
    apply._kernel(made, [torch.tensor(grad).to(dtype)], lambda: [torch.empty(4, dtype=dtype)], **hyper, **attrs)
    tolerance = 0.02 if dtype is torch.float16 else 0.1
    np.testing.assert_allclose(made[0][0].float().numpy(), expected[0], rtol=tolerance, atol=tolerance)


def test_a_weight_decay_takes_a_part_away():
    cells = [[cell(np.array([1.0, -2.0], np.float32)), cell(np.array(4.0, np.float32))]]
    ops.apply_weight_decay.change(cells, [torch.tensor(0.5), 0.1], {"lr": 0.1}, {})
    assert cells[0][0].value.tolist() == pytest.approx([0.95, -1.9])
    assert float(cells[0][1].value) == pytest.approx(3.96)


def test_a_moving_average_goes_a_part_of_the_way():
    cells = [[cell(np.array([0.0, 4.0], np.float32))]]
    ops.apply_moving_average.change(cells, [torch.tensor([1.0, 0.0])], {"rate": 0.25}, {})
    assert cells[0][0].value.tolist() == [0.25, 3.0]


def test_ftrl_keeps_at_0_what_has_no_gradient_though_nothing_was_collected():
    cells = [[cell(np.zeros(2, np.float32))] for _ in range(3)]
    ops.apply_ftrl.change(cells, [torch.tensor([0.0, 1.0])], {"lr": 0.1, "l1": 0.0, "l2": 0.0, "lr_power": -0.5}, {})
    assert cells[0][0].value[0] == 0.0
    assert torch.isfinite(cells[0][0].value).all()


# Rows.

ROWS = [
    (ops.sparse_apply_momentum, momentum, {"lr": 0.1, "momentum": 0.9}, {}),
    (ops.sparse_apply_momentum, momentum, {"lr": 0.1, "momentum": 0.9}, {"use_nesterov": True}),
    (ops.sparse_apply_adagrad, adagrad, {"lr": 0.1}, {}),
    (ops.sparse_apply_adadelta, adadelta, RMS, {}),
    (ops.sparse_apply_rms_prop, rms_prop, {**RMS, "momentum": 0.5}, {}),
    (ops.sparse_apply_centered_rms_prop, centered_rms_prop, {**RMS, "momentum": 0.5}, {}),
    (ops.sparse_apply_ftrl, ftrl, FTRL, {}),
    (ops.sparse_apply_ftrl_v2, ftrl, {**FTRL, "l2_shrinkage": 0.1}, {}),
]


@pytest.mark.parametrize(
    ("apply", "truth", "hyper", "attrs"), ROWS, ids=lambda x: getattr(getattr(x, "op", 0), "name", "")
)
@given(indices=st.lists(st.integers(0, 5), max_size=8), dtype=st.sampled_from([np.int32, np.int64]))
def test_rows_are_changed_by_the_sum_of_their_gradients_and_others_stay(apply, truth, hyper, attrs, indices, dtype):
    rng = np.random.default_rng(4)
    states = [some(rng, (6, 2), n) for n in range(apply.states)]
    grad = rng.normal(0, 0.2, (len(indices), 2)).astype(np.float32)
    total = np.zeros((6, 2))
    np.add.at(total, indices, grad)
    expected = [state.astype(np.float64).copy() for state in states]
    named = sorted(set(indices))
    for state, new in zip(expected, truth(*(s[named] for s in expected), total[named], **hyper, **attrs), strict=True):
        state[named] = new
    cells = [[cell(state)] for state in states]
    where = torch.tensor(np.array(indices, dtype))
    apply.change(cells, [torch.tensor(grad)], hyper, {**attrs, "indices": [where]})
    for (made,), state in zip(cells, expected, strict=True):
        np.testing.assert_allclose(made.value.numpy(), state, rtol=1e-5, atol=1e-5)


@given(indices=st.lists(st.integers(0, 5), max_size=8))
def test_gradient_descent_of_rows_adds_up(indices):
    grad = np.arange(len(indices) * 2, dtype=np.float32).reshape(len(indices), 2)
    expected = np.ones((6, 2), np.float32)
    np.subtract.at(expected, indices, 0.5 * grad)
    made = cell(np.ones((6, 2), np.float32))
    attrs = {"indices": [torch.tensor(indices, dtype=torch.int64)]}
    ops.sparse_apply_gradient_descent.change([[made]], [torch.tensor(grad)], {"alpha": 0.5}, attrs)
    np.testing.assert_allclose(made.value.numpy(), expected)


def test_rows_are_written_into_in_place():
    made = cell(np.ones((1000, 4), np.float32))
    made.value = made.value + 0
    before = made.value.data_ptr()
    attrs = {"indices": [torch.tensor([3, 3, 999])]}
    ops.sparse_apply_adagrad.change(
        [[made], [cell(np.ones((1000, 4), np.float32))]], [torch.ones(3, 4)], {"lr": 1.0}, attrs
    )
    assert made.value.data_ptr() == before


@pytest.mark.parametrize("row", [-1, 6, 2**40])
def test_a_row_that_does_not_exist_is_an_error_on_the_cpu(row):
    cells = [[cell(np.ones((6, 2), np.float32))], [cell(np.ones((6, 2), np.float32))]]
    attrs = {"indices": [torch.tensor([0, row])]}
    with pytest.raises(InvalidArgumentError, match=rf"Index {row} at offset 1 in indices is out of range \[0, 6\)"):
        ops.sparse_apply_adagrad.change(cells, [torch.ones(2, 2)], {"lr": 1.0}, attrs)
    assert (cells[0][0].value == 1).all()


@pytest.mark.parametrize(("grad", "indices"), [((2, 3), (2,)), ((3, 2), (2,)), ((2, 2), (2, 1)), ((2,), (2,))])
def test_rows_of_another_shape_are_an_error(grad, indices):
    cells = [[cell(np.ones((6, 2), np.float32))], [cell(np.ones((6, 2), np.float32))]]
    attrs = {"indices": [torch.zeros(indices, dtype=torch.int64)]}
    with pytest.raises(InvalidArgumentError, match="indices"):
        ops.sparse_apply_adagrad.change(cells, [torch.ones(grad)], {"lr": 1.0}, attrs)


# What is wrong.


@every_op
def test_a_gradient_of_another_shape_is_an_error_and_changes_nothing(apply, truth, hyper, attrs):
    cells = [[cell(np.ones(3, np.float32)), cell(np.ones((2, 3), np.float32))] for _ in range(apply.states)]
    with pytest.raises(
        InvalidArgumentError, match=r"var and grad do not have the same shape\[2,3\] \[3\]: variable 'v'"
    ):
        apply.change(cells, [torch.ones(3), torch.ones(3)], hyper, attrs)
    assert all((each.value == 1).all() for column in cells for each in column)


def test_what_steers_is_a_scalar():
    cells = [[cell(np.ones(3, np.float32))]]
    with pytest.raises(InvalidArgumentError, match=r"alpha is not a scalar: \[2\]"):
        ops.apply_gradient_descent.change(cells, [torch.ones(3)], {"alpha": torch.ones(2)}, {})


def test_a_number_of_numpy_steers():
    made = cell(np.ones(3, np.float32))
    ops.apply_gradient_descent.change([[made]], [torch.ones(3)], {"alpha": np.float32(0.5)}, {})
    assert made.value.tolist() == [0.5] * 3


# In graphs.


@every_op
def test_an_operation_of_a_graph_does_the_same(apply, truth, hyper, attrs, on_device):
    rng = np.random.default_rng(5)
    states = [some(rng, (2, 3), n) for n in range(apply.states)]
    grad = rng.normal(0, 0.3, (2, 3)).astype(np.float32)
    given = {name: value for name, value in attrs.items() if name in apply.op.attrs}
    with tf1.Graph().as_default(), tf1.Session() as session:
        variables = [tf1.Variable(state) for state in states]
        inputs = {arg.name: v._as_graph_element() for arg, v in zip(apply.op.inputs, variables, strict=False)}
        inputs[apply.op.inputs[apply.joint].name] = tf1.constant(grad)
        inputs |= {name: tf1.constant(value, tf.float32) for name, value in hyper.items()}
        made = apply.op(*(inputs[arg.name] for arg in apply.op.inputs), **given)
        session.run(tf1.global_variables_initializer())
        assert made.shape.as_list() == [2, 3]
        result = session.run(made)
        expected = truth(*(s.astype(np.float64) for s in states), grad, **hyper, **attrs)
        np.testing.assert_allclose(result, expected[0], rtol=5e-6, atol=5e-6)
        for variable, state in zip(variables, expected, strict=True):
            np.testing.assert_allclose(session.run(variable), state, rtol=5e-6, atol=5e-6)


def test_shapes_are_checked_when_the_graph_is_built():
    with tf1.Graph().as_default():
        v = tf1.Variable([[1.0, 2.0]])
        with pytest.raises(InvalidArgumentError, match="Shapes must be equal rank"):
            ops.apply_gradient_descent.op(v._as_graph_element(), 0.1, [1.0])


def test_a_shape_that_is_known_only_in_the_run_is_checked_then():
    with tf1.Graph().as_default(), tf1.Session() as session:
        v, grad = tf1.Variable([1.0, 2.0]), tf1.placeholder(tf.float32)
        made = ops.apply_gradient_descent.op(v._as_graph_element(), 0.1, grad, name="update")
        session.run(v.initializer)
        with pytest.raises(InvalidArgumentError, match=r"same shape\[2\] \[3\].*variable 'Variable'[^$]*node update"):
            session.run(made, {grad: [1.0, 2.0, 3.0]})
        assert session.run(v).tolist() == [1.0, 2.0]


def test_a_variable_without_a_value_is_an_error():
    with tf1.Graph().as_default(), tf1.Session() as session:
        v = tf1.Variable([1.0, 2.0], name="w")
        made = ops.apply_gradient_descent.op(v._as_graph_element(), 0.1, [1.0, 1.0])
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value w"):
            session.run(made)


def test_nothing_flows_back_through_an_update():
    with tf1.Graph().as_default():
        v, grad = tf1.Variable([1.0, 2.0]), tf1.placeholder(tf.float32, [2])
        made = ops.apply_gradient_descent.op(v._as_graph_element(), 0.1, grad)
        assert tf1.gradients(made, grad) == [None]


@pytest.mark.parametrize("name", ["GradientDescent", "Momentum", "AdagradV2", "CenteredRMSProp", "AdaMax", "FtrlV2"])
def test_ops_have_the_names_of_tensorflow(name):
    assert find_op(f"Apply{name}").updates
