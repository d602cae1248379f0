"""Eager tensors: how they print, what Python can do with them, and how they reach other libraries."""

from __future__ import annotations

import copy
import pickle
import weakref

import numpy as np
import pytest
import torch

import situs as tf
from situs._src.runtime.eager.tensor import to_client

LOCAL = "/job:localhost/replica:0/task:0"
MATRIX = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


@pytest.mark.parametrize(
    ("value", "text", "shown"),
    [  # recorded from TensorFlow 2.21
        (5.0, "tf.Tensor(5.0, shape=(), dtype=float32)", "<tf.Tensor: shape=(), dtype=float32, numpy=5.0>"),
        (5, "tf.Tensor(5, shape=(), dtype=int32)", "<tf.Tensor: shape=(), dtype=int32, numpy=5>"),
        ("a", "tf.Tensor(b'a', shape=(), dtype=string)", "<tf.Tensor: shape=(), dtype=string, numpy=b'a'>"),
        (
            [1, 2],
            "tf.Tensor([1 2], shape=(2,), dtype=int32)",
            "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 2], dtype=int32)>",
        ),
        (
            [True],
            "tf.Tensor([ True], shape=(1,), dtype=bool)",
            "<tf.Tensor: shape=(1,), dtype=bool, numpy=array([ True])>",
        ),
        (
            [[1.0, 2.0], [3.0, 4.0]],
            "tf.Tensor(\n[[1. 2.]\n [3. 4.]], shape=(2, 2), dtype=float32)",
            "<tf.Tensor: shape=(2, 2), dtype=float32, numpy=\narray([[1., 2.],\n       [3., 4.]], dtype=float32)>",
        ),
    ],
)
def test_tensors_print_as_tensorflows(value, text, shown):
    tensor = tf.constant(value)
    assert str(tensor) == text
    assert repr(tensor) == shown


@pytest.mark.parametrize(
    ("value", "dtype", "shown"),
    [  # recorded from TensorFlow 2.21
        (0.1, "float32", "0.10000000149011612"),
        (0.1, "float16", "0.0999755859375"),
        (0.1, "float64", "0.1"),
        (12345678.0, "float32", "12345678.0"),
        (0.0, "bfloat16", "0.0"),
        (float("nan"), "float32", "nan"),
        (float("-inf"), "float32", "-inf"),
        (1 + 2j, "complex64", "(1+2j)"),
        (7, "uint64", "7"),
        (True, "bool", "True"),
    ],
)
def test_the_repr_of_a_scalar_is_pythons_number(value, dtype, shown):
    assert repr(tf.constant(value, dtype)) == f"<tf.Tensor: shape=(), dtype={dtype}, numpy={shown}>"


def test_bfloat16_prints_its_values():
    assert str(tf.constant([1.5], tf.bfloat16)) == "tf.Tensor([1.5], shape=(1,), dtype=bfloat16)"
    assert repr(tf.constant(1.5, tf.bfloat16)) == "<tf.Tensor: shape=(), dtype=bfloat16, numpy=1.5>"


def test_format_goes_to_the_value():
    assert f"{tf.constant(1.5):.2f}" == "1.50"
    assert f"{tf.constant([1.0, 2.0])}" == "[1. 2.]"


def test_what_a_tensor_is(on_device):
    tensor = tf.constant(MATRIX)
    assert tensor.shape == (2, 3)
    assert tensor.get_shape().as_list() == [2, 3]
    assert tensor.ndim == 2
    assert tensor.dtype is tf.float32
    assert tensor.device == tensor.backing_device == on_device
    with pytest.raises(AttributeError, match=r"Tensor.name is undefined"):
        tensor.name


def test_numpy_gives_a_copy_that_may_be_changed(on_device):
    tensor = tf.constant(MATRIX)
    array = tensor.numpy()
    array[0, 0] = 100
    assert tensor.numpy()[0, 0] == 1
    assert type(tensor[0, 0].numpy()) is np.float32


def test_an_array_that_finds_no_room_is_an_error_of_ours():
    class Huge(np.ndarray):
        def copy(self, order="C"):
            raise MemoryError

    with pytest.raises(tf.errors.ResourceExhaustedError, match=r"copying a tensor of shape \(2,\) to NumPy"):
        to_client(np.array([b"a", b"b"], dtype=object).view(Huge))


def test_the_value_of_a_string_is_bytes():
    assert tf.constant("a").numpy() == b"a"
    assert tf.constant(["a", "bc"]).numpy().tolist() == [b"a", b"bc"]


def test_asarray_shares_memory_and_cannot_be_written_to():
    with tf.device("/cpu:0"):
        tensor = tf.constant(MATRIX)
    array = np.asarray(tensor)
    assert not array.flags.writeable
    assert np.shares_memory(array, np.from_dlpack(tensor))
    assert np.array(tensor, copy=True).flags.writeable
    assert np.asarray(tensor, np.int64).dtype == np.int64
    with pytest.raises(ValueError, match="needs a copy"):
        np.asarray(tensor, np.int64, copy=False)


def test_dlpack_shares_memory_with_pytorch_and_numpy():
    theirs = torch.arange(4.0)
    ours = tf.experimental.dlpack.from_dlpack(theirs)
    theirs[0] = 7
    assert ours.numpy()[0] == 7
    back = torch.from_dlpack(ours)
    assert back.data_ptr() == theirs.data_ptr()
    array = np.arange(3.0)
    assert np.shares_memory(np.from_dlpack(tf.experimental.dlpack.from_dlpack(array)), array)
    capsule = tf.experimental.dlpack.to_dlpack(ours)
    assert tf.experimental.dlpack.from_dlpack(capsule).numpy()[0] == 7


def test_dlpack_of_what_cannot_be_shared_is_refused():
    with pytest.raises(ValueError, match="__dlpack__"):
        tf.experimental.dlpack.from_dlpack([1, 2])
    with pytest.raises(ValueError, match="not defined for string tensors"):
        tf.constant("a").__dlpack__()
    with pytest.raises(ValueError, match="must be a TF tensor"):
        tf.experimental.dlpack.to_dlpack(np.zeros(2))


def test_memory_that_runs_backwards_is_refused_without_harm(run_python):
    out = run_python(
        "import numpy as np, situs as tf\n"
        "array = np.arange(6.).reshape(2, 3)[:, ::-1]\n"
        "newest = {'max_version': (1, 0)} if np.lib.NumpyVersion(np.__version__) >= '2.1.0' else {}\n"
        "for source in (array, array.__dlpack__(), array.__dlpack__(**newest)):\n"
        "  try: tf.experimental.dlpack.from_dlpack(source)\n"
        "  except ValueError as error: print(error)\n"
        "for source in (array[:, ::-1].__dlpack__(), np.array(3.0).__dlpack__(**newest)):\n"
        "  print(tf.experimental.dlpack.from_dlpack(source).shape)"
    )
    assert out == "Memory that runs backwards cannot be shared; use tf.constant for a copy.\n" * 3 + "(2, 3)\n()\n"


def test_scalars_are_python_numbers():
    assert int(tf.constant(3)) == 3
    assert float(tf.constant(1.5)) == 1.5
    assert complex(tf.constant(1 + 2j)) == 1 + 2j
    assert [10, 20, 30][tf.constant(1)] == 20
    with pytest.raises(TypeError, match="Only integer tensors"):
        [10, 20][tf.constant(1.0)]
    with pytest.raises(TypeError, match="Only scalar tensors"):
        int(tf.constant([1, 2]))


def test_truth():
    assert tf.constant(True)
    assert not tf.constant(0)
    assert tf.constant([5])
    assert not tf.constant([])
    with pytest.raises(ValueError, match="truth value"):
        bool(tf.constant([1, 2]))


def test_iteration_and_length(on_device):
    rows = list(tf.constant(MATRIX))
    assert [row.numpy().tolist() for row in rows] == MATRIX
    assert len(tf.constant(MATRIX)) == 2
    with pytest.raises(TypeError, match="Cannot iterate over a scalar tensor"):
        list(tf.constant(1))
    with pytest.raises(TypeError, match="Scalar tensor has no"):
        len(tf.constant(1))


def test_tensors_are_not_hashable_but_their_references_are():
    tensor = tf.constant(1)
    with pytest.raises(TypeError, match=r"use tensor.ref\(\) as the key"):
        hash(tensor)
    assert {tensor.ref(): "x"}[tensor.ref()] == "x"
    assert tensor.ref().deref() is tensor
    assert tensor.ref() != tf.constant(1).ref()


def test_copies_and_pickles():
    tensor = tf.constant(MATRIX)
    assert copy.copy(tensor) is tensor
    assert copy.deepcopy(tensor) is tensor
    for value in (tensor, tf.constant("a"), tf.constant([1.5], tf.bfloat16)):
        back = pickle.loads(pickle.dumps(value))
        assert back.dtype is value.dtype
        assert np.array_equal(back.numpy(), value.numpy())


def test_a_tensor_is_freed_with_its_last_reference():
    tensor = tf.constant(MATRIX) + 1.0
    gone = weakref.ref(tensor)
    del tensor
    assert gone() is None


def test_moving_between_devices():
    tensor = tf.constant(MATRIX)
    assert tensor.cpu().device == f"{LOCAL}/device:CPU:0"
    moved = tensor.gpu(2)
    assert moved.device == f"{LOCAL}/device:GPU:2"
    assert moved.numpy().tolist() == MATRIX
    with pytest.raises(RuntimeError, match="GPU:9 unknown device"):
        tensor.gpu(9)


def test_set_shape_checks():
    tensor = tf.constant(MATRIX)
    tensor.set_shape([2, None])
    with pytest.raises(ValueError, match="not compatible with supplied shape"):
        tensor.set_shape([3, 3])


OPERATORS = {
    "a + b": "a + b",
    "a - b": "a - b",
    "a * b": "a * b",
    "a / b": "a / b",
    "a // b": "a // b",
    "a % b": "a % b",
    "a ** b": "a ** b",
    "-a": "-a",
    "abs(-a)": "abs(-a)",
    "a < b": "a < b",
    "a <= b": "a <= b",
    "a > b": "a > b",
    "a >= b": "a >= b",
    "a == b": "a == b",
    "a != b": "a != b",
    "2.0 + a": "2.0 + a",
    "2.0 - a": "2.0 - a",
    "2.0 * a": "2.0 * a",
    "2.0 / a": "2.0 / a",
    "7.0 // a": "7.0 // a",
    "7.0 % a": "7.0 % a",
    "2.0 ** a": "2.0 ** a",
    "a @ b.T": "a @ t(b)",
}


@pytest.mark.parametrize(("numpy_form", "form"), OPERATORS.items())
def test_operators_compute_what_numpy_computes(on_device, numpy_form, form):
    a, b = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32), np.array([[2.0, 2.0], [1.0, 4.0]], np.float32)
    expected = eval(numpy_form, {"a": a, "b": b})
    ours = eval(form, {"a": tf.constant(a), "b": tf.constant(b), "t": tf.transpose})
    np.testing.assert_allclose(ours.numpy(), expected, rtol=1e-6)
    assert ours.device == on_device
    mixed = eval(form, {"a": a, "b": tf.constant(b), "t": tf.transpose}) if "b" in form.replace("abs", "") else ours
    assert isinstance(mixed, tf.Tensor)


def test_logic_is_for_booleans_and_bits_for_integers(on_device):
    t, f = tf.constant(True), tf.constant(False)
    assert [bool(x) for x in (t & f, t | f, t ^ t, ~t, True & t)] == [False, True, False, False, True]
    six, three = tf.constant(6), tf.constant(3)
    assert [int(x) for x in (six & three, six | three, six ^ three, ~six)] == [2, 7, 5, -7]


def test_comparing_with_none_or_with_a_shape_that_does_not_fit():
    tensor = tf.constant([1.0, 2.0])
    assert (tensor == None) is False  # noqa: E711
    assert (tensor != None) is True  # noqa: E711
    assert not bool(tensor == tf.constant([1.0, 2.0, 3.0]))
    assert bool(tensor != tf.constant([1.0, 2.0, 3.0]))


def test_python_numbers_adapt_and_tensors_do_not():
    assert (tf.constant([1, 2]) + 1).dtype is tf.int32
    assert (tf.constant([1.0]) + 1).dtype is tf.float32
    assert (tf.constant([1.0]) + np.array([1.5])).dtype is tf.float32
    assert (tf.constant([1.0]) + np.array([1])).dtype is tf.float32
    assert (1 + tf.constant([1.5], tf.bfloat16)).dtype is tf.bfloat16
    for bad in (
        lambda: tf.constant([1, 2]) + 1.5,
        lambda: tf.constant(1) + tf.constant(1.0),
        lambda: tf.constant([1]) + [1.5],
    ):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"was expected to be a int32 tensor.*Tensors are not promoted"
        ):
            bad()


def test_numbers_that_do_not_fit_the_tensors_dtype_are_refused():
    with pytest.raises(TypeError):
        tf.constant([1], tf.int8) + 300
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.constant([1.0]) + "a"
    with pytest.raises(ValueError, match="unsupported type"):
        tf.constant([1.0]) + None


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: bool(tf.constant([1, 2])), ValueError, r"shape \(2,\) is ambiguous. Use tf.reduce_any"),
        (lambda: int(tf.constant([1, 2])), TypeError, "Only scalar tensors"),
        (lambda: [1, 2][tf.constant(1.0)], TypeError, "Only integer tensors"),
        (lambda: len(tf.constant(1)), TypeError, "no `len"),
        (lambda: list(tf.constant(1)), TypeError, "Cannot iterate"),
        (lambda: hash(tf.constant(1)), TypeError, "unhashable"),
        (
            lambda: tf.constant(1)[(None,) * 70].numpy(),
            NotImplementedError,
            "at most 64 dimensions, this tensor has 70",
        ),
        (lambda: tf.constant(1).cpu().__dlpack__(stream=5), ValueError, "cannot be"),
        (lambda: tf.zeros(3) & tf.constant([1, 2, 3]), TypeError, "cast"),
    ],
)
def test_what_a_tensor_cannot_do_is_refused_by_an_error_of_ours(call, kind, message):
    with pytest.raises(kind, match=message) as caught:
        call()
    assert isinstance(caught.value, tf.errors.SitusError)


def test_what_keras_leaves_on_a_tensor():
    logits, output = tf.constant([1.0]), tf.constant([2.0])
    assert not hasattr(output, "_keras_logits")
    output._keras_logits = logits
    output._keras_mask = None
    assert output._keras_logits is logits
    assert output._keras_mask is None

    @tf.function
    def f(x):
        y = x + 1.0
        y._keras_logits = x
        y.anything = "else"
        assert y.anything == "else"
        return y._keras_logits

    assert f(tf.constant(3.0)).numpy() == 3.0
