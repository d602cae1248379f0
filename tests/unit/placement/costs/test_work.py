"""What operations have to do, from their ops and shapes: against counts made by hand."""

from __future__ import annotations

import pytest

import situs.compat.v1 as tf
from situs._src.ir.registry import find_op
from situs._src.ir.registry.op import all_ops
from situs._src.ir.registry.traits import PRODUCT
from situs._src.placement.costs.work import GUESS, NOTHING, TURNS, work_of


@pytest.fixture
def graph():
    with tf.Graph().as_default() as made:
        yield made


def test_a_product_takes_two_steps_for_each_multiplication(graph):
    product = tf.matmul(tf.placeholder(tf.float32, [128, 784]), tf.placeholder(tf.float32, [784, 256]))
    found = work_of(product.op)
    assert found.steps == 2 * 128 * 784 * 256
    assert found.bytes == 4 * (128 * 784 + 784 * 256 + 128 * 256)
    assert found.calls == 1
    assert not found.guessed


def test_a_convolution_counts_its_filter(graph):
    images, filters = tf.placeholder(tf.float32, [2, 8, 8, 3]), tf.placeholder(tf.float32, [3, 3, 3, 16])
    made = tf.nn.conv2d(images, filters, strides=[1, 1, 1, 1], padding="SAME")
    assert work_of(made.op).steps == 2 * (2 * 8 * 8 * 16) * (3 * 3 * 3)


def test_an_element_wise_op_is_as_large_as_its_tensors(graph):
    found = work_of(tf.nn.relu(tf.placeholder(tf.float32, [10, 20])).op)
    assert (found.steps, found.bytes) == (200, 1600)


@pytest.mark.parametrize("make", [tf.identity, tf.shape, tf.stop_gradient], ids=lambda make: make.__name__)
def test_what_moves_nothing_costs_nothing(graph, make):
    assert work_of(make(tf.placeholder(tf.float32, [10, 20])).op) == NOTHING


def test_constants_variables_and_placeholders_cost_nothing(graph):
    variable = tf.Variable([1.0, 2.0])
    for node in (tf.constant([1.0]).op, variable.op, tf.placeholder(tf.float32).op, tf.no_op()):
        assert work_of(node) == NOTHING


def test_a_view_is_a_call_that_moves_nothing(graph):
    found = work_of(tf.reshape(tf.placeholder(tf.float32, [10, 20]), [20, 10]).op)
    assert (found.steps, found.bytes, found.calls) == (0, 0, 1)


def test_unknown_sizes_are_guessed_and_said_to_be(graph):
    found = work_of(tf.nn.relu(tf.placeholder(tf.float32, [None, 20])).op)
    assert found.steps == GUESS * 20
    assert found.guessed
    assert work_of(tf.matmul(tf.placeholder(tf.float32, [None, 8]), tf.placeholder(tf.float32, [8, 8])).op).guessed


def test_a_loop_does_what_its_body_does_several_times(graph):
    x = tf.placeholder(tf.float32, [100])
    _, out = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.tanh(y)), [0, x])
    once = work_of(tf.tanh(x).op)
    assert work_of(out.op).steps >= TURNS * once.steps


def of(*shape):
    return tf.placeholder(tf.float32, shape)


@pytest.mark.parametrize(
    ("equation", "shapes", "products"),
    [
        ("ij,jk->ik", [(2, 3), (3, 5)], 2 * 3 * 5),
        ("bhqd,bhkd->bhqk", [(2, 4, 8, 16), (2, 4, 9, 16)], 2 * 4 * 8 * 16 * 9),
        ("...ij,jk->...ik", [(7, 2, 3), (3, 5)], 7 * 2 * 3 * 5),
        ("i,j->ij", [(6,), (7,)], 6 * 7),
        ("ij,jk,kl->il", [(2, 3), (3, 5), (5, 7)], 2 * 3 * 5 + 2 * 5 * 7),
        ("ij->j", [(4, 6)], 4 * 6),
    ],
)
def test_an_einsum_counts_what_it_multiplies(graph, equation, shapes, products):
    made = tf.einsum(equation, *(of(*shape) for shape in shapes))
    node = next(node for node in graph.get_operations() if node.type == "Einsum" or node.outputs[0] is made)
    assert work_of(node).steps == 2 * products


def test_an_einsum_of_unknown_sizes_is_guessed(graph):
    found = work_of(tf.einsum("bij,jk->bik", of(None, 4, 8), of(8, 8)).op)
    assert found.guessed
    assert found.steps > 0


def test_a_product_of_an_adjoint_counts_the_inner_size(graph):
    assert work_of(tf.matmul(of(7, 2), of(7, 5), adjoint_a=True).op).steps == 2 * 2 * 7 * 5


@pytest.mark.parametrize(
    ("make", "products"),
    [
        (lambda: tf.linalg.inv(of(3, 8, 8)), 3 * 8**3),
        (lambda: tf.linalg.cholesky(of(8, 8)), 8**3 / 6),
        (lambda: tf.linalg.qr(of(10, 4))[0], 2 * 10 * 4 * 4),
        (lambda: tf.linalg.solve(of(6, 6), of(6, 2)), 6**3 / 3 + 6 * 6 * 2),
        (lambda: tf.linalg.triangular_solve(of(6, 6), of(6, 2)), 6 * 6 * 2),
    ],
)
def test_decompositions_grow_with_the_third_power(graph, make, products):
    assert work_of(make().op).steps == pytest.approx(2 * products, rel=0.02)


def test_attention_is_two_products_and_its_gradient_five(graph):
    query, key = of(2, 16, 4, 8), of(2, 32, 4, 8)
    made = find_op("DotProductAttention").many(query, key, key, [], [], U=tf.float32)[0]
    once = 2 * (2 * 16 * 4 * 8) * 32
    assert work_of(made.op).steps == 2 * once
    tf.gradients(made, [query])
    (back,) = (node for node in graph.get_operations() if node.type == "DotProductAttentionGrad")
    assert work_of(back).steps == 5 * once


@pytest.mark.parametrize(("kind", "gates"), [("LSTM", 4), ("GRU", 3)])
def test_a_recurrent_layer_multiplies_its_state_in_every_step(graph, kind, gates):
    z, weights, state = of(5, 3, 4 * gates), of(4, 4 * gates), of(3, 4)
    other = state if kind == "LSTM" else of(4 * gates)
    given = (state, other) if kind == "LSTM" else (other, state)
    made = find_op(kind).many(z, weights, *given)[0]
    assert work_of(made.op).steps == 2 * 5 * 3 * (4 * 4 * gates)
    tf.gradients(made, [z])
    (back,) = (node for node in graph.get_operations() if node.type == f"{kind}Grad")
    assert work_of(back).steps == 2 * work_of(made.op).steps


# Families.


def test_rows_that_are_gathered_are_read_and_the_rest_of_the_table_is_not(graph):
    table = tf.placeholder(tf.float32, [100_000, 64])
    found = work_of(tf.gather(table, tf.placeholder(tf.int32, [8])).op)
    assert found.bytes == 2 * 8 * 64 * 4
    assert found.steps == 8 * 64


def test_rows_that_are_changed_are_read_and_written_and_the_rest_of_the_variable_is_not(graph):
    table = tf.Variable(tf.zeros([100_000, 64]))
    rows = tf.placeholder(tf.float32, [8, 64])
    found = work_of(tf.scatter_add(table, tf.placeholder(tf.int32, [8]), rows).op)
    assert found.bytes == 3 * 8 * 64 * 4 + 8 * 4


@pytest.mark.parametrize(
    "make",
    [tf.sort, lambda x: tf.nn.top_k(x, 3).values, lambda x: tf.signal.rfft(x), lambda x: tf.unique(x)[0]],
    ids=["sort", "top_k", "rfft", "unique"],
)
def test_sorts_and_transforms_take_n_log_n(graph, make):
    small, large = (work_of(_maker(make(tf.placeholder(tf.float32, [n])))).steps for n in (1 << 10, 1 << 16))
    assert small == pytest.approx((1 << 10) * 11, abs=1)
    assert large == pytest.approx((1 << 16) * 17, abs=1)


def _maker(tensor):
    """The operation with a rule that a tensor was made by, or of."""
    node = tensor.op
    while node.op_def.work_rule is None:
        node = node.inputs[0].op
    return node


def test_pools_look_at_a_window_for_each_result(graph):
    images = tf.placeholder(tf.float32, [2, 8, 8, 3])
    found = work_of(_maker(tf.nn.max_pool2d(images, 4, 4, "VALID")))
    assert found.steps == 2 * 2 * 2 * 3 * 16


def test_a_sort_of_unknown_size_is_no_product(graph):
    found = work_of(_maker(tf.sort(tf.placeholder(tf.float32, [None]))))
    assert found.steps == GUESS
    assert found.guessed


def test_every_op_has_an_estimate():
    """Whatever has operands has work, unless its traits say that nothing is done."""
    for op in all_ops().values():
        assert op.work_rule is not None or PRODUCT not in op.traits, f"{op.name} multiplies and does not say how much"
