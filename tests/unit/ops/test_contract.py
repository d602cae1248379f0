"""Contractions, against NumPy and recorded TensorFlow 2.21 behaviour, on every type of device."""

from __future__ import annotations

import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from situs._src.base import dtype as dt
from situs._src.base.dtype import COMPLEX, FLOATING
from situs._src.base.shapes import UNKNOWN, TensorShape
from situs._src.ir.registry.op import find_op, infer_shapes
from situs._src.ops.contract import einsum, parse_equation, tensordot
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import InvalidArgumentError

A = np.arange(6.0).reshape(2, 3)
B = np.arange(12.0).reshape(3, 4)
T = np.arange(24.0).reshape(2, 3, 4)


# Einsum.


@pytest.mark.parametrize(
    ("equation", "operands"),
    [
        ("ij,jk->ik", (A, B)),
        ("ij,jk", (A, B)),
        (" i j , j k -> k i ", (A, B)),
        ("ij->ji", (A,)),
        ("ji", (A,)),
        ("ij->", (A,)),
        ("ij->j", (A,)),
        ("ii->i", (np.eye(3),)),
        ("ii", (np.eye(3),)),
        ("ijj->i", (np.ones((2, 3, 3)),)),
        ("i,j->ij", (A[0], B[0])),
        ("i,i->", (A[0], A[1])),
        ("ij,->ij", (A, np.array(2.0))),
        ("ij,jk,kl->il", (A, B, B.T)),
        ("IJ,JK->IK", (A, B)),
        ("Ba,aA", (A, B)),
        ("...ij,...jk->...ik", (A, B)),
        ("...ij,...jk", (T, np.ones((4, 5)))),
        ("...ij,...jk->...ik", (T, np.ones((1, 4, 5)))),
        ("...ij->...ji", (T,)),
        ("i...->...", (T,)),
        ("...", (T,)),
        ("a...b->b...a", (T,)),
        ("->", (np.array(2.0),)),
        ("bij,bjk->bik", (T, np.ones((2, 4, 5)))),
        ("ij,jk->ik", (np.ones((2, 0)), np.ones((0, 2)))),
        ("ij->i", (np.ones((0, 3)),)),
    ],
)
def test_einsum_equals_numpy(on_device, equation, operands):
    result = einsum(equation, *operands)
    np.testing.assert_allclose(result.numpy(), np.einsum(equation, *operands))
    assert (result.dtype, result.device) == (dt.float64, on_device)


def test_the_ellipsis_of_a_result_may_stand_for_nothing(on_device):
    np.testing.assert_allclose(einsum("ij,ik->ijk...", A, A).numpy(), np.einsum("ij,ik->ijk", A, A))


@pytest.mark.parametrize("dtype", sorted(FLOATING | COMPLEX, key=str), ids=lambda d: d.name)
def test_einsum_keeps_its_dtype(on_device, dtype):
    result = einsum("ij,kj->ik", to_tensor(A, dtype), to_tensor(A, dtype))
    assert result.dtype is dtype
    np.testing.assert_array_equal(result.numpy().astype(complex), A @ A.T)


@pytest.mark.parametrize("dtype", [dt.int32, dt.int64])
def test_einsum_of_integers_runs_on_a_cpu(dtype):
    result = einsum("ij,kj->ik", to_tensor(A, dtype), to_tensor(A, dtype))
    assert (result.dtype, result.device[-5:]) == (dtype, "CPU:0")
    np.testing.assert_array_equal(result.numpy(), A @ A.T)


def test_einsum_reads_strided_tensors(on_device):
    x = to_tensor(T[:, ::2, ::-1].T)
    np.testing.assert_allclose(einsum("abc,abd->cd", x, x).numpy(), np.einsum("abc,abd->cd", x.numpy(), x.numpy()))


def test_einsum_takes_the_options_of_tensorflow(on_device):
    np.testing.assert_allclose(einsum("ij,jk->ik", A, B, optimize="optimal", name="n").numpy(), A @ B)
    with pytest.raises(TypeError, match="foo"):
        einsum("ij,jk->ik", A, B, foo=1)


@pytest.mark.parametrize(
    ("equation", "operands", "message"),
    [
        ("ij,jk->iz", (A, B), "label z not present in the input"),
        ("ij,jk->ii", (A, B), "label i more than once"),
        ("i->ii", (A[0],), "label i more than once"),
        ("i1->i", (A,), "Subscripts have incorrect format: 'i1->i'"),
        ("ij->k->l", (A,), "incorrect format"),
        (".ij->ij", (A,), "incorrect format"),
        ("....ij->ij", (A,), "incorrect format"),
        ("...i...->i", (A,), "incorrect format"),
        ("ij;jk", (A, B), "incorrect format"),
        ("ié->i", (A,), "incorrect format"),
        ("ij", (A, B), 'Got 2 inputs for equation "ij", expecting 1'),
        ("ij,jk->ik", (A,), "Got 1 inputs"),
        ("ij,jk->ik", (), "Got 0 inputs"),
        ("ij,jk->ik", ([A, B],), "Got 1 inputs"),
        ("ijk->", (A,), "Expected input 0 to have rank 3 but got: 2"),
        ("i->", (A,), "Expected input 0 to have rank 1 but got: 2"),
        ("...ijk->...", (A,), "to have rank at least 3 but got: 2"),
        ("ij,jk->ik", (A, A), r"Expected dimension 3 at axis 0 of the input shaped \[2,3\] but got dimension 2"),
        ("ij,ij->ij", (A, np.ones((2, 1))), "Expected dimension 3 at axis 1"),
        ("ij,jk->ik", (A, np.ones((1, 4))), "got dimension 1"),
        ("ii->i", (A,), "Expected dimension 2 at axis 1"),
        ("i...j->ij", (T,), r"1 broadcasting dimension\(s\) but no ellipsis"),
        ("...ij,...jk->...ik", (np.ones((2, 2, 3)), np.ones((3, 3, 2))), r"Incompatible shapes: \[2\] vs. \[3\]"),
        (5, (A,), "equation is a string"),
        ("ij,jk->ik", (A, to_tensor(B, dt.float32)), "input #1"),
        ("i->i", (["a"],), "not in the list of allowed values"),
    ],
)
def test_equations_that_do_not_fit_are_refused(on_device, equation, operands, message):
    with pytest.raises(InvalidArgumentError, match=message):
        einsum(equation, *(to_tensor(x) if isinstance(x, np.ndarray) else x for x in operands))


@pytest.mark.parametrize(
    ("equation", "shapes", "expected"),
    [
        ("ij,jk->ik", [TensorShape([None, 3]), TensorShape([3, 4])], TensorShape([None, 4])),
        ("ij,jk->ji", [TensorShape([None, None]), TensorShape([3, 4])], TensorShape([3, None])),
        ("ij,jk->ik", [UNKNOWN, TensorShape([3, 4])], TensorShape([None, 4])),
        ("...i->...i", [UNKNOWN], UNKNOWN),
        ("...i->i...", [TensorShape([None, 2, 3])], TensorShape([3, None, 2])),
    ],
)
def test_einsum_shape_rule_of_partly_known_shapes(equation, shapes, expected):
    if expected.rank is None:
        assert infer_shapes(find_op("Einsum"), (shapes,), {"equation": equation})[0].rank is None
    else:
        assert infer_shapes(find_op("Einsum"), (shapes,), {"equation": equation}) == [expected]


def test_an_equation_reads_back_with_its_result_spelled_out():
    assert str(parse_equation("...b,ba")) == "...b,ba->...a"
    assert str(parse_equation("a, a")) == "a,a->"


@given(st.data())
def test_any_pair_of_terms_equals_numpy(data):
    letters = st.lists(st.sampled_from("abcd"), unique=True, max_size=3).map("".join)
    left, right = data.draw(letters), data.draw(letters)
    both = sorted(set(left + right))
    result = "".join(data.draw(st.permutations(both)))[: data.draw(st.integers(0, len(both)))]
    sizes = dict(zip("abcd", (2, 3, 1, 0 if data.draw(st.booleans()) else 4), strict=True))
    x, y = (
        np.arange(np.prod([sizes[c] for c in term])).reshape([sizes[c] for c in term]) * 1.0 for term in (left, right)
    )
    equation = f"{left},{right}->{result}"
    np.testing.assert_allclose(einsum(equation, x, y).numpy(), np.einsum(equation, x, y))


# Tensordot.


@pytest.mark.parametrize(
    ("a", "b", "axes"),
    [
        (A, B, 1),
        (A, B, 0),
        (A, A, 2),
        (A, B, [[1], [0]]),
        (A, B, (1, 0)),
        (A, B, [[-1], [-2]]),
        (A, B, [[], []]),
        (A, B, np.array([[1], [0]])),
        (T, T.transpose(2, 1, 0)[:, :, :1], [[1, 2], [1, 0]]),
        (T, B, [[1, 2], [0, 1]]),
        (np.zeros((2, 0)), np.zeros((0, 3)), 1),
        (np.array(2.0), np.array(3.0), 0),
        (np.array(2.0), B, 0),
    ],
)
def test_tensordot_equals_numpy(on_device, a, b, axes):
    result = tensordot(a, b, axes)
    numpy_axes = [[int(x) for x in np.ravel(part)] for part in axes] if not isinstance(axes, int) else axes
    np.testing.assert_allclose(result.numpy(), np.tensordot(a, b, numpy_axes))
    assert result.device == on_device


def test_tensordot_of_integers_and_with_axes_from_a_tensor():
    assert tensordot([1, 2], [3, 4], 1).numpy() == 11
    np.testing.assert_allclose(tensordot(A, B, to_tensor([[1], [0]])).numpy(), A @ B)


@pytest.mark.parametrize(
    ("a", "b", "axes", "message"),
    [
        (A, A, 1, "Expected dimension 3 at axis 0"),
        (A, A, 3, "must not be larger than the number of dimensions. Received 3"),
        (A, A, -1, "must be at least 0. Received: -1"),
        (A, B, [[1], [0, 1]], "Different number of contraction axes `a` and `b`, 1 != 2"),
        (A, B, [[2], [0]], r"Axis 2 in `axes` is out of range \[-2, 2\)"),
        (A, A, [[0, 0], [0, 1]], "names an axis twice"),
        (A, B, [[1]], "must be an integer or have length 2"),
        (A, B, [[1], [0], [1]], "must be an integer or have length 2"),
        (A, B, "x", "must be an integer or have length 2"),
        (A, B, 1.5, "must be an integer or have length 2"),
        (A, B, [[0.5], [0]], "must be a single integer"),
        (np.ones([1] * 27), np.ones([1] * 27), 1, "takes 52 axes in all"),
    ],
)
def test_axes_that_do_not_fit_are_refused(on_device, a, b, axes, message):
    with pytest.raises(InvalidArgumentError, match=message):
        tensordot(a, b, axes)


def test_every_letter_can_be_used(on_device):
    equation = f"{string.ascii_letters[:26]},{string.ascii_letters[26:]}->"
    assert einsum(equation, np.ones([1] * 26), np.ones([1] * 26)).numpy() == 1
