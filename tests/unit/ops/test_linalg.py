"""Products of matrices and vectors, against NumPy, on every type of device."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from situs._src.base import dtype as dt
from situs._src.base.devices import scope
from situs._src.base.dtype import COMPLEX, FLOATING, REAL, SIGNED, float32
from situs._src.base.shapes import UNKNOWN, TensorShape
from situs._src.ir.registry.op import find_op, infer_shapes
from situs._src.ops.linalg import adjoint, cross, matmul, matvec
from situs._src.runtime.eager.convert import to_tensor
from situs.errors import InvalidArgumentError

A = np.arange(6, dtype=np.float32).reshape(2, 3)
C = np.array([[1 + 1j, 2], [3j, 4]])
FLAGS = {"transpose_a": False, "transpose_b": False, "adjoint_a": False, "adjoint_b": False}


def test_matmul_equals_numpy_and_stays_on_its_device(on_device):
    product = matmul(to_tensor(A), to_tensor(A.T))
    np.testing.assert_array_equal(product.numpy(), A @ A.T)
    assert product.device == on_device
    assert product.dtype is float32


@pytest.mark.parametrize(("transpose_a", "transpose_b"), [(True, False), (False, True)])
def test_matmul_transposes(on_device, transpose_a, transpose_b):
    product = matmul(A, A, transpose_a=transpose_a, transpose_b=transpose_b)
    np.testing.assert_array_equal(product.numpy(), A.T @ A if transpose_a else A @ A.T)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({"adjoint_a": True}, C.conj().T @ C),
        ({"adjoint_b": True}, C @ C.conj().T),
        ({"adjoint_a": True, "adjoint_b": True}, C.conj().T @ C.conj().T),
        ({"transpose_a": True, "adjoint_b": True}, C.T @ C.conj().T),
    ],
)
def test_matmul_conjugates_for_an_adjoint(on_device, flags, expected):
    np.testing.assert_allclose(matmul(C, C, **flags).numpy(), expected)
    stacked = matmul(np.stack([C, C]), C, **flags)
    np.testing.assert_allclose(stacked.numpy(), np.stack([expected, expected]))


@pytest.mark.parametrize("dtype", sorted(FLOATING | COMPLEX, key=str), ids=lambda d: d.name)
def test_matmul_of_every_dtype_that_a_gpu_multiplies(on_device, dtype):
    product = matmul(to_tensor(A, dtype), to_tensor(A.T, dtype))
    assert product.dtype is dtype
    np.testing.assert_array_equal(product.numpy().astype(complex), A @ A.T)


@pytest.mark.parametrize("dtype", sorted(SIGNED, key=str), ids=lambda d: d.name)
def test_matmul_of_integers_runs_on_a_cpu(dtype):
    product = matmul(to_tensor(A, dtype), to_tensor(A.T, dtype))
    assert (product.dtype, product.device[-5:]) == (dtype, "CPU:0")
    np.testing.assert_array_equal(product.numpy(), A @ A.T)
    with scope.device("/GPU:0"), pytest.raises(InvalidArgumentError, match="no supported kernel for GPU"):
        matmul(to_tensor(A, dtype), to_tensor(A.T, dtype))


def test_matmul_in_another_dtype(on_device):
    product = matmul(to_tensor(A, dt.float16), to_tensor(A.T, dt.float16), output_type=dt.float32)
    assert product.dtype is float32
    np.testing.assert_array_equal(product.numpy(), A @ A.T)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((2, 3), (3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((5, 2, 3), (3, 4)),
        ((2, 3), (5, 3, 4)),
        ((5, 1, 2, 3), (6, 3, 4)),
        ((0, 3), (3, 4)),
        ((2, 0), (0, 4)),
        ((0, 2, 3), (0, 3, 4)),
        ((1, 2, 3), (7, 3, 4)),
    ],
)
def test_batches_broadcast(on_device, a, b):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=a), rng.normal(size=b)
    np.testing.assert_allclose(matmul(x, y).numpy(), x @ y)


def test_matmul_reads_strided_tensors(on_device):
    x = to_tensor(np.arange(24.0).reshape(4, 6)[::2, ::3].T)
    np.testing.assert_allclose(matmul(x, x, transpose_a=True).numpy(), x.numpy().T @ x.numpy())


def test_matmul_runs_as_users_run_it(fast):
    a, b = to_tensor(A), to_tensor(A.T)
    for _ in range(3):
        np.testing.assert_array_equal(matmul(a, b).numpy(), A @ A.T)
    with pytest.raises(InvalidArgumentError, match="Matrix size-incompatible"):
        matmul(a, a)
    with pytest.raises(InvalidArgumentError, match="ndims must be >= 2"):
        matmul(a, to_tensor([1.0, 2.0, 3.0]))
    batch = to_tensor(np.stack([A.T, A.T]))
    np.testing.assert_array_equal(matmul(a, batch).numpy(), A @ np.stack([A.T, A.T]))


def test_matmul_of_mismatched_inner_sizes_says_both_shapes(on_device):
    with pytest.raises(InvalidArgumentError, match=r"Matrix size-incompatible: In\[0\]: \[2,3\], In\[1\]: \[2,3\]"):
        matmul(A, A)
    with pytest.raises(InvalidArgumentError, match="adjoint_a=True"):
        matmul(A, A.T, adjoint_a=True)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (A, [1.0, 2.0, 3.0], r"In\[1\] ndims must be >= 2"),
        ([1.0, 2.0], A, r"In\[0\] ndims must be >= 2"),
        (1.0, A, r"In\[0\] ndims must be >= 2"),
        (A, 1.0, r"In\[1\] ndims must be >= 2"),
        (np.ones((2, 2, 3), np.float32), [1.0, 2.0, 3.0], r"In\[1\] ndims must be >= 2"),
        (np.ones((2, 2, 3)), np.ones((3, 3, 1)), r"compatible batch dimensions: \[2,2,3\] vs. \[3,3,1\]"),
        (np.ones((2, 2, 3)), np.ones((2, 4, 1)), "Matrix size-incompatible"),
    ],
)
def test_matmul_refuses_what_are_no_matrices(on_device, a, b, message):
    with pytest.raises(InvalidArgumentError, match=message):
        matmul(a, b)


@pytest.mark.parametrize("which", ["a", "b"])
def test_matmul_refuses_to_transpose_and_adjoin(which):
    with pytest.raises(ValueError, match=f"Only one of `transpose_{which}` and `adjoint_{which}` can be True"):
        matmul(A, A, **{f"transpose_{which}": True, f"adjoint_{which}": True})


@pytest.mark.parametrize("bad", [True, "a", np.uint32(1)])
def test_matmul_refuses_dtypes_that_have_no_product(bad):
    with pytest.raises(TypeError, match="not in the list of allowed values"):
        matmul([[bad]], [[bad]])


def test_matmul_does_not_mix_dtypes(on_device):
    with pytest.raises(TypeError, match="cannot compute MatMul as input #1"):
        matmul(to_tensor(A), to_tensor(A.T, dt.float64))


@pytest.mark.parametrize(
    ("a", "b", "flags", "expected"),
    [
        (TensorShape([None, 3]), TensorShape([3, 4]), {}, TensorShape([None, 4])),
        (TensorShape([None, None]), TensorShape([3, 4]), {"transpose_a": True}, TensorShape([None, 4])),
        (TensorShape([None, 2, 3]), TensorShape([5, 3, 4]), {}, TensorShape([5, 2, 4])),
        (UNKNOWN, TensorShape([3, 4]), {}, UNKNOWN),
    ],
)
def test_matmul_shape_rule_of_partly_known_shapes(a, b, flags, expected):
    assert infer_shapes(find_op("MatMul"), (a, b), {**FLAGS, **flags}) == [expected]


@given(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4), st.booleans(), st.booleans())
def test_transposing_beforehand_makes_no_difference(n, m, k, transpose_a, transpose_b):
    x, y = np.arange(n * m, dtype=np.float32).reshape(n, m), np.arange(m * k, dtype=np.float32).reshape(m, k)
    product = matmul(x.T.copy() if transpose_a else x, y.T.copy() if transpose_b else y, transpose_a, transpose_b)
    np.testing.assert_array_equal(product.numpy(), x @ y)


# Matrices by vectors.


def test_matvec(on_device):
    np.testing.assert_array_equal(matvec(A, [1.0, 2.0, 3.0]).numpy(), A @ [1, 2, 3])
    np.testing.assert_array_equal(matvec(A, [1.0, 2.0], transpose_a=True).numpy(), A.T @ [1, 2])
    np.testing.assert_allclose(matvec(C, np.array([1, 2j]), adjoint_a=True).numpy(), C.conj().T @ [1, 2j])
    np.testing.assert_array_equal(matvec(np.stack([A, A]), [1.0, 2.0, 3.0]).shape, (2, 2))


@pytest.mark.parametrize("b", [1.0, [1.0, 2.0]])
def test_matvec_refuses_other_sizes(on_device, b):
    with pytest.raises(InvalidArgumentError, match=r"ndims must be >= 1|size-incompatible"):
        matvec(A, b)


def test_adjoint(on_device):
    np.testing.assert_array_equal(adjoint(C).numpy(), C.conj().T)
    np.testing.assert_array_equal(adjoint(np.stack([A, A])).numpy()[1], A.T)
    with pytest.raises(InvalidArgumentError, match="rank >= 2"):
        adjoint([1.0])


# Cross products.


@pytest.mark.parametrize("dtype", sorted(REAL, key=str), ids=lambda d: d.name)
def test_cross_product_of_every_dtype(dtype):
    product = cross(to_tensor([1, 2, 3], dtype), to_tensor([4, 6, 5], dtype))
    assert product.dtype is dtype
    expected = np.array([-8, 7, -2])
    np.testing.assert_array_equal(product.numpy(), expected.astype(dtype.as_numpy_dtype))


def test_cross_products_in_batches(on_device):
    x, y = np.random.default_rng(2).normal(size=(2, 4, 5, 3))
    np.testing.assert_allclose(cross(x, y).numpy(), np.cross(x, y))
    assert cross(np.zeros((0, 3)), np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([1, 2], [4, 5], "only defined for 3-element vectors"),
        (np.ones((2, 3)), np.ones(3), r"same shape: \[2,3\] vs. \[3\]"),
        (1.0, 1.0, "only defined for 3-element vectors"),
        ([1j, 2, 3], [1j, 2, 3], "not in the list of allowed values"),
    ],
)
def test_cross_refuses_other_vectors(on_device, a, b, message):
    with pytest.raises(InvalidArgumentError, match=message):
        cross(a, b)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("flag", ["transpose_a", "adjoint_b"])
def test_scalars_are_refused_transposed_too(on_device, flag):
    with pytest.raises(InvalidArgumentError, match="ndims must be >= 2"):
        matmul(1.0, 2.0, **{flag: True})
