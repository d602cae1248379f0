"""Gradients of products, contractions, diagonals, solutions and decompositions."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

import situs.compat.v1 as tf1
from situs._src.autodiff.backprop import NoGradientError
from situs._src.autodiff.graph import gradients
from situs._src.autodiff.tape import GradientTape
from situs._src.ops import contract, decompose, diagonal, linalg
from situs._src.ops.array import expand_dims
from situs._src.ops.cast import cast
from situs._src.ops.constant import constant
from situs._src.ops.math import abs as abs_
from situs._src.ops.math import add, multiply
from situs.errors import UnimplementedError
from tests.gradients.check import check, check_all, check_graph, check_second_order, check_torch, tape_gradient


def random(*shape, seed=0, complex=False):
    generator = np.random.RandomState(seed)
    real = generator.normal(size=shape)
    return real + 1j * generator.normal(size=shape) if complex else real


KINDS = pytest.mark.parametrize("complex", [False, True], ids=["real", "complex"])

# Products.

FLAGS = [
    {},
    {"transpose_a": True},
    {"transpose_b": True},
    {"transpose_a": True, "transpose_b": True},
    {"adjoint_a": True},
    {"adjoint_b": True},
    {"adjoint_a": True, "transpose_b": True},
    {"adjoint_a": True, "adjoint_b": True},
]


@KINDS
@pytest.mark.parametrize("flags", FLAGS, ids=["-".join(flags) or "plain" for flags in FLAGS])
def test_a_product_of_matrices(flags, complex):
    a = random(2, 3, complex=complex).transpose(range(2)[:: -1 if any("_a" in flag for flag in flags) else 1])
    b = random(3, 2, seed=1, complex=complex).transpose(range(2)[:: -1 if any("_b" in flag for flag in flags) else 1])
    check_all(lambda a, b: linalg.matmul(a, b, **flags), a, b)


BATCHES = [((2, 2, 3), (3, 2)), ((2, 3), (2, 3, 2)), ((2, 1, 2, 3), (2, 3, 1)), ((2, 2, 3), (1, 3, 2))]


@pytest.mark.parametrize(("a", "b"), BATCHES)
def test_products_of_batches(a, b):
    check_all(linalg.matmul, random(*a), random(*b, seed=1), torch=torch.matmul)
    check_graph(linalg.matmul, random(*a), random(*b, seed=1), rank_known=False)


def test_a_product_with_no_elements():
    check(linalg.matmul, random(2, 3, 0), random(0, 2))
    check(linalg.matmul, random(0, 2, 3), random(3, 2))
    check(linalg.matmul, random(2, 3, 2), random(2, 0))


@settings(max_examples=15)
@given(
    mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=3),
    st.tuples(*[st.integers(1, 4)] * 3),
    st.booleans(),
    st.booleans(),
)
def test_products_of_any_shapes(shapes, sizes, turn_a, turn_b):
    rows, inner, columns = sizes
    a, b = (inner, rows) if turn_a else (rows, inner), (columns, inner) if turn_b else (inner, columns)
    batches = shapes.input_shapes
    check_torch(
        lambda a, b: linalg.matmul(a, b, transpose_a=turn_a, transpose_b=turn_b),
        lambda a, b: (a.mT if turn_a else a) @ (b.mT if turn_b else b),
        random(*batches[0], *a),
        random(*batches[1], *b, seed=1),
    )


def test_one_matrix_for_a_batch_takes_one_product():
    with tf1.Graph().as_default() as graph:
        x, w = tf1.placeholder(tf1.float32, [5, 7, 3]), tf1.placeholder(tf1.float32, [3, 2])
        (grad,) = gradients(tf1.matmul(x, w), [w])
        (product,) = [op for op in graph.get_operations() if op.type == "MatMul" and op.name.startswith("gradients")]
        assert grad is product.outputs[0]
        assert [tensor.shape.as_list() for tensor in product.inputs] == [[35, 3], [35, 2]]


LARGE = [(128, 1024, 160), (128, 160, 1024), (130, 700, 10), (700, 130, 10), (64, 33, 15)]


@pytest.mark.parametrize(("rows", "inner", "columns"), LARGE)
def test_quicker_forms_for_graphs_give_the_same(rows, inner, columns):
    """Of float32 matrices, large ones and narrow ones are multiplied in ways of their own."""
    a, b, up = random(rows, inner), random(inner, columns, seed=1), random(rows, columns, seed=2)
    with tf1.Graph().as_default():
        x, y, seed = (tf1.placeholder(tf1.float32, value.shape) for value in (a, b, up))
        product = tf1.matmul(x, y)
        fetches = [product, *gradients(product, [x, y], [seed])]
        with tf1.Session() as session:
            found = session.run(fetches, {x: a, y: b, seed: up})
    for one, other in zip(found, [a @ b, up @ b.T, a.T @ up], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)
        assert one.flags.c_contiguous


@pytest.mark.parametrize("function", [linalg.matvec, linalg.cross])
def test_vectors(function):
    shapes = ((2, 2, 3), (2, 3)) if function is linalg.matvec else ((2, 3), (2, 3))
    check_all(function, random(*shapes[0]), random(*shapes[1], seed=1))


# Contractions.

EQUATIONS = [
    ("ij,jk->ik", (2, 3), (3, 2)),
    ("bij,bjk->bik", (2, 2, 2), (2, 2, 3)),
    ("ij->ji", (2, 3)),
    ("ij->", (2, 3)),
    ("ij->i", (2, 3)),
    ("ii->i", (3, 3)),
    ("ii->", (3, 3)),
    ("iij,jk->ik", (2, 2, 3), (3, 2)),
    ("iiij->j", (2, 2, 2, 2)),
    ("ij,k->ik", (2, 3), (2,)),
    ("i,j->ij", (2,), (3,)),
    ("...ij,...jk->...ik", (2, 2, 2), (2, 3)),
    ("a...b,b...->...a", (2, 2, 3), (3, 1)),
    ("a...b,bc->ca...", (2, 2, 3), (3, 2)),
    ("...i->...", (2, 3)),
    ("ij,jk,kl->il", (2, 2), (2, 2), (2, 2)),
]


@pytest.mark.parametrize("row", EQUATIONS, ids=[row[0] for row in EQUATIONS])
def test_equations(row):
    equation, *shapes = row
    arrays = [random(*shape, seed=seed) for seed, shape in enumerate(shapes)]
    check_all(lambda *x: contract.einsum(equation, *x), *arrays, torch=lambda *x: torch.einsum(equation, *x))


@pytest.mark.parametrize("equation", ["ij,jk->ik", "iij->j", "...i,...i->..."])
def test_equations_of_complex_numbers(equation):
    shapes = {"ij,jk->ik": ((2, 2), (2, 2)), "iij->j": ((2, 2, 2),), "...i,...i->...": ((2, 2), (2,))}[equation]
    arrays = [random(*shape, seed=seed, complex=True) for seed, shape in enumerate(shapes)]
    check(lambda *x: contract.einsum(equation, *x), *arrays)


def test_an_equation_for_any_rank():
    check_graph(
        lambda a, b: contract.einsum("...ij,...jk->...ik", a, b), random(2, 2, 3), random(3, 2), rank_known=False
    )


def test_tensordot():
    check_all(lambda a, b: contract.tensordot(a, b, [[1, 0], [0, 2]]), random(2, 3, 2), random(3, 2, 2))
    check_graph(lambda a, b: contract.tensordot(a, b, 1), random(2, 3), random(3, 2), rank_known=False)


# Diagonals.

DIAGONALS = [
    ("diag", lambda x: diagonal.diag(x), (2, 3)),
    ("diag above", lambda x: diagonal.diag(x, k=1), (3,)),
    ("diag band", lambda x: diagonal.diag(x, k=(-1, 1)), (2, 3, 3)),
    ("diag in a rectangle", lambda x: diagonal.diag(x, k=-1, num_rows=4, num_cols=5), (3,)),
    ("part", lambda x: diagonal.diag_part(x), (2, 3, 4)),
    ("part below", lambda x: diagonal.diag_part(x, k=-2), (4, 5)),
    ("part band", lambda x: diagonal.diag_part(x, k=(-1, 2)), (3, 4)),
    ("part band left", lambda x: diagonal.diag_part(x, k=(-1, 2), align="LEFT_LEFT"), (2, 3, 4)),
    ("set", diagonal.set_diag, (3, 4), (3,)),
    ("set band", lambda x, y: diagonal.set_diag(x, y, k=(0, 1)), (2, 3, 4), (2, 2, 3)),
    ("tensor", diagonal.tensor_diag, (2, 2)),
    ("tensor part", diagonal.tensor_diag_part, (2, 2, 2, 2)),
    ("band", lambda x: diagonal.band_part(x, 1, 0), (2, 3, 4)),
    ("lower", lambda x: diagonal.band_part(x, -1, 0), (3, 3)),
    ("trace", diagonal.trace, (2, 3, 3)),
]


@pytest.mark.parametrize("row", DIAGONALS, ids=[row[0] for row in DIAGONALS])
def test_diagonals(row):
    _, function, *shapes = row
    check_all(function, *(random(*shape, seed=seed) for seed, shape in enumerate(shapes)))


# Solutions and decompositions.


def definite(x):
    """Self-adjoint positive definite matrices, of any matrices."""
    return add(linalg.matmul(x, x, adjoint_b=True), np.eye(x.shape[-1] or 3))


def near_identity(complex):
    return random(2, 3, 3, complex=complex) + 3 * np.eye(3)


FUNCTIONS = {
    "inv": decompose.inv,
    "inv of the adjoint": lambda x: decompose.inv(x, adjoint=True),
    "det": decompose.det,
    "logarithm of det": lambda x: decompose.slogdet(x)[1],
    "cholesky": lambda x: decompose.cholesky(definite(x)),
    "logdet": lambda x: decompose.logdet(definite(x)),
    "lu": lambda x: decompose.lu(x)[0],
    "expm": lambda x: decompose.expm(multiply(x, 0.3)),
    "eigenvalues of self-adjoint ones": decompose.eigvalsh,
    "eigenvalues": decompose.eigvals,
}


@KINDS
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_square_matrices(name, complex):
    function, x = FUNCTIONS[name], near_identity(complex)
    check(function, x)
    check_graph(function, x)
    check_second_order(function, x[0], graph=False)


THEIRS = {
    "inv": torch.linalg.inv,
    "det": torch.linalg.det,
    "logarithm of det": lambda x: torch.linalg.slogdet(x)[1],
    "expm": lambda x: torch.linalg.matrix_exp(0.3 * x),
}


@pytest.mark.parametrize("name", THEIRS)
def test_functions_of_square_matrices_as_pytorch(name):
    check_torch(FUNCTIONS[name], THEIRS[name], near_identity(False))


@KINDS
@pytest.mark.parametrize("adjoint", [False, True])
def test_solutions(adjoint, complex):
    a, b = near_identity(complex), random(2, 3, 2, seed=1, complex=complex)
    check_all(lambda a, b: decompose.solve(a, b, adjoint=adjoint), a[0], b[0])
    for lower in (False, True):
        function = lambda a, b: decompose.triangular_solve(a, b, lower=lower, adjoint=adjoint)  # noqa: B023, E731
        check(function, a, b[0])
        check_graph(function, a, b[0])
        check_second_order(function, a[0], b[0], graph=False)


def test_least_squares():
    check_all(lambda a, b: decompose.lstsq(a, b, 0.1), random(3, 2), random(3, 1, seed=1), second=False)
    check(lambda a, b: decompose.lstsq(a, b), random(2, 3), random(2, 1, seed=1))
    with pytest.raises(NoGradientError, match="MatrixSolveLs"):
        tape_gradient(lambda a: decompose.lstsq(a, np.ones((3, 1)), fast=False), random(3, 2))


def test_pseudo_inverses():
    check_all(decompose.pinv, random(3, 2), torch=torch.linalg.pinv, second=False)


@KINDS
@pytest.mark.parametrize("shape", [(3, 3), (3, 2), (2, 2, 3)])
def test_orthogonal_factors(shape, complex):
    x = random(*shape, complex=complex)
    check(decompose.qr, x)
    check(lambda x: decompose.qr(x)[0], x)
    check(lambda x: decompose.qr(x)[1], x)


def test_orthogonal_factors_need_sizes():
    with tf1.Graph().as_default():
        x = tf1.placeholder(tf1.float32, [None, 3])
        with pytest.raises(UnimplementedError, match="needs the sizes of the matrices"):
            gradients(decompose.qr(x)[1], [x])
    for function in (decompose.qr, decompose.svd):
        with pytest.raises(UnimplementedError, match="square matrices only"):
            tape_gradient(lambda x: function(x, full_matrices=True)[1], random(3, 2))  # noqa: B023


def recomposed(x):
    """Functions of singular vectors that do not depend on the angles of complex ones."""
    s, u, v = decompose.svd(x)
    s = expand_dims(cast(s, x.dtype), -2)
    scaled = multiply(u, s)
    return (
        linalg.matmul(multiply(scaled, s), v, adjoint_b=True),
        linalg.matmul(scaled, u, adjoint_b=True),
        linalg.matmul(multiply(v, s), v, adjoint_b=True),
    )


@KINDS
@pytest.mark.parametrize("shape", [(3, 3), (3, 2), (2, 2, 3)])
def test_singular_values(shape, complex):
    x = random(*shape, complex=complex)
    for function in (recomposed, lambda x: decompose.svd(x, compute_uv=False)):
        check(function, x)
        check_graph(function, x)
    if not complex:
        check(decompose.svd, x)
    if shape == (3, 3):
        check_second_order(recomposed, x, graph=False)


@KINDS
def test_eigenvectors(complex):
    x = random(2, 3, 3, complex=complex)

    def of_self_adjoint(x):
        e, v = decompose.eigh(x)
        return linalg.matmul(multiply(v, expand_dims(multiply(e, e), -2)), v, adjoint_b=True)

    check_all(of_self_adjoint, x)
    check_all(lambda x: abs_(decompose.eig(x)[1]), x[0])
    if not complex:
        check(decompose.eigh, x)


# Precision and devices.


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_products_of_short_numbers(on_device, dtype):
    a, b = random(4, 3) / 4, random(3, 2, seed=1) / 4
    wanted = tape_gradient(linalg.matmul, a, b, dtype="float32")
    found = tape_gradient(linalg.matmul, a, b, dtype=dtype)
    for one, other in zip(found, wanted, strict=True):
        assert str(one.dtype) == dtype
        np.testing.assert_allclose(one.astype("float32"), other, rtol=0.02, atol=0.02)


def test_gradients_are_made_on_the_device_of_the_product(on_device):
    a = constant(random(2, 3), "float32")
    with GradientTape() as tape:
        tape.watch(a)
        result = linalg.matmul(a, a, transpose_b=True)
    assert tape.gradient(result, a).device == on_device
