"""Large products of matrices by oneDNN, against NumPy's in double precision."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import situs as tf
import situs.compat.v1 as v1
from situs._src.ops import linalg, quick_products
from situs._src.ops.quick_products import LARGE, add_product, is_large, product, product_plus
from situs._src.runtime.eager.torch_private import onednn

pytestmark = pytest.mark.skipif(onednn("linear_pointwise") is None, reason="a build of PyTorch without oneDNN")
SIZES = [(256, 256, 256), (8, 2048, 1100), (2048, 1024, 8), (300, 299, 301)]


@pytest.fixture(autouse=True)
def _needed(monkeypatch):
    """Takes this host for one where MKL is slow, and counts what oneDNN multiplies."""
    linear, counts = onednn("linear_pointwise"), []

    def counted(*values):
        counts.append(values[0].shape)
        return linear(*values)

    monkeypatch.setattr(quick_products, "IS_NEEDED", True)
    monkeypatch.setattr(quick_products, "LINEAR", counted)
    with tf.device("/CPU:0"):
        yield counts


@pytest.fixture
def multiplied(_needed):
    return _needed


def matrices(rows, inner, columns, seed=0):
    random = np.random.default_rng(seed)
    return random.standard_normal((rows, inner)).astype("f"), random.standard_normal((inner, columns)).astype("f")


def close(found, right, inner):
    np.testing.assert_allclose(found, right, rtol=3e-6, atol=2e-5 * inner**0.5)


@pytest.mark.parametrize("turns", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("sizes", SIZES)
def test_products_are_right_however_they_are_turned(sizes, turns, multiplied):
    a, b = matrices(*sizes)
    given = (a.T if turns[0] else a, b.T if turns[1] else b)
    found = tf.matmul(*map(tf.constant, given), transpose_a=turns[0], transpose_b=turns[1])
    close(found.numpy(), a.astype(float) @ b, sizes[1])
    assert len(multiplied) == 1


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (torch.ones(255, 256), torch.ones(256, 256)),  # fewer multiplications
        (torch.ones(3, 4096), torch.ones(4096, 4096)),  # fewer rows
        (torch.ones(256, 256, dtype=torch.float64), torch.ones(256, 256, dtype=torch.float64)),
        (torch.ones(256, 256), torch.ones(255, 257)),  # an error, which is MKL's to raise
        (torch.ones(2, 256, 256), torch.ones(2, 256, 256)),  # a batch
    ],
)
def test_other_products_are_left_alone(a, b):
    assert not is_large(a, b)


def test_rows_in_several_dimensions_are_one_product(multiplied):
    a, b = matrices(512, 256, 256)
    found = tf.matmul(a.reshape(4, 128, 256), b)
    close(found.numpy(), (a.astype(float) @ b).reshape(4, 128, 256), 256)
    assert len(multiplied) == 1


@pytest.mark.parametrize("cut", [np.s_[:, :256], np.s_[:, ::2], np.s_[:256, :256], np.s_[:, :1]])
@pytest.mark.parametrize("turned", [False, True])
def test_a_second_matrix_that_is_part_of_another_is_copied(cut, turned, monkeypatch):
    """oneDNN multiplies by the columns of a wider matrix a thousand times as slowly: it must not get them."""
    given = []
    linear = quick_products.LINEAR
    monkeypatch.setattr(quick_products, "LINEAR", lambda *values: given.append(values[1]) or linear(*values))
    whole = torch.randn(512, 512)
    b = whole[cut].t() if turned else whole[cut]
    b = b.expand(256, 512) if 1 in b.shape and turned else b.expand(512, 256) if 1 in b.shape else b
    a = torch.randn(300, b.shape[0])
    close(product(a, b), a.double() @ b.double(), b.shape[0])
    assert given
    assert all(each.is_contiguous() or each.t().is_contiguous() for each in given)


def test_graphs_copy_it_too():
    graph_product = linalg._large_product(lambda a, b, *_: (a, b), False, False)
    _, b = graph_product(torch.ones(300, 256), torch.ones(256, 600)[:, :300])
    assert b.shape == (300, 256)
    assert b.is_contiguous()


def test_sums_with_products(multiplied):
    a, b = map(torch.from_numpy, matrices(256, 256, 256))
    right = a.double() @ b.double()
    bias, whole = torch.arange(256.0), torch.full((256, 256), 2.0)
    close(product(a, b), right, 256)
    close(product_plus(bias, a, b), right + bias, 256)
    assert add_product(whole, a, b) is whole
    close(whole, right + 2, 256)
    assert len(multiplied) == 3
    close(product_plus(bias, a[:5], b), right[:5] + bias, 256)
    close(add_product(torch.ones(5, 256), a[:5], b), right[:5] + 1, 256)
    assert len(multiplied) == 3


def test_a_graph_that_does_not_know_its_sizes_asks_when_it_runs(multiplied):
    a, b = matrices(300, 256, 256)
    with v1.Graph().as_default(), v1.Session() as session, v1.device("/CPU:0"):
        x = v1.placeholder(v1.float32, [None, 256])
        y = v1.matmul(x, v1.constant(b))
        slope = v1.gradients(y, [x])[0]
        few = session.run(y, {x: a[:5]})
        assert not multiplied
        many, slopes = session.run([y, slope], {x: a})
    close(few, a[:5].astype(float) @ b, 256)
    close(many, a.astype(float) @ b, 256)
    close(slopes, np.ones((300, 256)) @ b.T.astype(float), 256)


def test_gradients_of_eager_products(multiplied):
    a, b = matrices(256, 300, 280)
    x, w = tf.Variable(a), tf.Variable(b)
    with tf.GradientTape() as tape:
        y = tf.matmul(x, w)
    of_x, of_w = tape.gradient(y, [x, w])
    close(of_x.numpy(), np.ones((256, 280)) @ b.T.astype(float), 280)
    close(of_w.numpy(), a.T.astype(float) @ np.ones((256, 280)), 256)
    assert len(multiplied) == 3


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(256, 260), (260, 270)]),
        ("ij,jk->ki", [(256, 260), (260, 270)]),
        ("abc,cde->abde", [(4, 70, 256), (256, 8, 32)]),
        ("abde,cde->abc", [(4, 70, 8, 32), (256, 8, 32)]),
        ("abc,abde->cde", [(4, 70, 256), (4, 70, 8, 32)]),
        ("ji,kj->ik", [(260, 256), (270, 260)]),
    ],
)
def test_contractions_that_are_one_product(equation, shapes, multiplied):
    x, y = (np.random.default_rng(n).standard_normal(shape).astype("f") for n, shape in enumerate(shapes))
    right = np.einsum(equation, x.astype(float), y)
    close(tf.einsum(equation, x, y).numpy(), right, x.size * y.size / right.size)
    assert len(multiplied) == 1


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("bij,bjk->bik", [(2, 256, 260), (2, 260, 270)]),  # a batch
        ("ij,jk->i", [(256, 260), (260, 270)]),  # a sum
        ("ij,kl->ijkl", [(64, 65), (65, 66)]),  # nothing in common
        ("...j,jk->...k", [(256, 260), (260, 270)]),
        ("iij,jk->ik", [(64, 64, 260), (260, 270)]),  # a diagonal
        ("ij,jk->ik", [(16, 260), (260, 270)]),  # small
    ],
)
def test_other_contractions_are_left_alone(equation, shapes, multiplied):
    x, y = (np.random.default_rng(n).standard_normal(shape).astype("f") for n, shape in enumerate(shapes))
    right = np.einsum(equation, x.astype(float), y)
    close(tf.einsum(equation, x, y).numpy(), right, 3000)
    assert not multiplied


def test_values_that_are_no_numbers_stay_so():
    a, b = (torch.ones(256, 256) for _ in range(2))
    a[0, 0], a[1, 1] = float("nan"), float("inf")
    found = product(a, b)
    assert torch.isnan(found[0]).all()
    assert torch.isinf(found[1]).all()
    assert (found[2:] == 256).all()


def test_the_limit_counts_multiplications():
    assert is_large(torch.ones(LARGE // 2**14, 2**7), torch.ones(2**7, 2**7))
    assert not is_large(torch.ones(LARGE // 2**14 - 1, 2**7), torch.ones(2**7, 2**7))
