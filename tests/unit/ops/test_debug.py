"""Assertions: what they let pass, and what they say. Messages were recorded from TensorFlow 2.21."""

from __future__ import annotations

import re

import numpy as np
import pytest

import situs.compat.v1 as v1
from situs._src.base import dtype as dt
from situs._src.base.devices.scope import device
from situs._src.ops import debug
from situs._src.runtime.eager.convert import to_tensor
from situs._src.variables.eager import Variable
from situs.errors import InvalidArgumentError, SitusError

c = to_tensor


def fails(kind, message, call):
    with pytest.raises(kind, match=re.escape(message)) as caught:
        call()
    assert isinstance(caught.value, SitusError)
    return str(caught.value)


# Assert.


@pytest.mark.parametrize("condition", [True, c(True), c([True]), c(1), 1, np.True_, Variable(True)])
def test_assert_lets_the_true_pass(on_device, condition):
    assert debug.Assert(condition, ["x"]) is None


@pytest.mark.parametrize(
    ("condition", "data", "summarize", "expected"),
    [
        (False, ["x", c([1, 2, 3, 4, 5])], None, "Expected 'False' to be true. Summarized data: b'x'\n1, 2, 3, ..."),
        (
            c(False),
            [c([1, 2, 3, 4, 5])],
            2,
            "Expected 'tf.Tensor(False, shape=(), dtype=bool)' to be true. Summarized data: 1, 2, ...",
        ),
        (False, [c([1, 2, 3, 4])], -1, "Expected 'False' to be true. Summarized data: 1, 2, 3, 4"),
        (None, ["a", c(["s", "t"]), 3.5], None, "Expected 'None' to be true. Summarized data: b'a'\nb's', b't'\n3.5"),
        (False, [], None, "Expected 'False' to be true. Summarized data: "),
    ],
)
def test_assert_shows_its_data(on_device, condition, data, summarize, expected):
    assert fails(InvalidArgumentError, expected, lambda: debug.Assert(condition, data, summarize)) == expected


def test_assert_refuses_other_arguments():
    fails(
        InvalidArgumentError, "The condition of an assertion is a scalar", lambda: debug.Assert(c([True, False]), ["x"])
    )
    fails(TypeError, "The data of an assertion is a list", lambda: debug.Assert(False, 3))


def test_the_assert_op_says_what_tensorflows_does_in_a_graph():
    with device("/CPU:0"):
        assert debug._assert.many(True, ["x"]) == []
        fails(InvalidArgumentError, "assertion failed: [m] [1 0]", lambda: debug._assert.many(False, ["m", [1, 0]]))
        fails(InvalidArgumentError, "condition must be a scalar", lambda: debug._assert.many([True, False], ["x"]))


# Comparisons.

COMPARED = [
    (debug.assert_equal, debug.assert_equal_v1, [1, 2], [1, 3], "=="),
    (debug.assert_less, debug.assert_less_v1, [1, 2], [2, 2], "<"),
    (debug.assert_less_equal, debug.assert_less_equal_v1, [1, 3], [2, 2], "<="),
    (debug.assert_greater, debug.assert_greater_v1, [3, 2], [2, 2], ">"),
    (debug.assert_greater_equal, debug.assert_greater_equal_v1, [2, 1], [2, 2], ">="),
    (debug.assert_none_equal, debug.assert_none_equal_v1, [1, 2], [2, 2], "!="),
]


@pytest.mark.parametrize(("assertion", "old", "x", "y", "symbol"), COMPARED)
def test_comparisons_say_where_they_fail(on_device, assertion, old, x, y, symbol):
    expected = (
        f"boo\nCondition x {symbol} y did not hold.\nIndices of first 1 different values:\n[[1]]\n"
        f"Corresponding x values:\n[{x[1]}]\nCorresponding y values:\n[{y[1]}]\n"
        f"First 2 elements of x:\n{np.array(x)}\nFirst 2 elements of y:\n{np.array(y)}"
    )
    for each in (assertion, old):
        assert fails(ValueError, expected, lambda each=each: each(c(x), c(y), message="boo")) == expected
        assert each(c(x)[:1], c(y)[:1]) is None


@pytest.mark.parametrize(
    ("x", "y", "options", "expected"),
    [
        (1.0, 2.0, {}, "Condition x == y did not hold.\nFirst 1 elements of x:\n[1.]\nFirst 1 elements of y:\n[2.]"),
        ([1, 2], 1, {}, "Condition x == y did not hold.\nFirst 2 elements of x:\n[1 2]\nFirst 1 elements of y:\n[1]"),
        ("a", "b", {}, "First 1 elements of x:\n[b'a']\nFirst 1 elements of y:\n[b'b']"),
        (np.nan, float("nan"), {}, "First 1 elements of x:\n[nan]"),
        ([[1, 2], [3, 4]], [[1, 2], [3, 5]], {}, "values:\n[[1 1]]\nCorresponding x values:\n[4]\n"),
        (np.arange(9), -np.arange(9), {}, "Indices of first 3 different values:\n[[1]\n [2]\n [3]]\n"),
        (np.arange(9), -np.arange(9), {"summarize": 1}, "First 1 elements of x:\n[0]\n"),
        (np.arange(9), -np.arange(9), {"summarize": -1}, "Indices of first 8 different values:\n"),
    ],
)
def test_assert_equal_shows_the_first_elements(x, y, options, expected):
    fails(InvalidArgumentError, expected, lambda: debug.assert_equal(x, y, **options))


def test_a_tensor_equals_itself_unseen():
    unequal = to_tensor(np.nan)
    assert debug.assert_equal(unequal, unequal) is None
    fails(InvalidArgumentError, "did not hold", lambda: debug.assert_equal(unequal, to_tensor(np.nan)))
    with v1.Graph().as_default():
        made = v1.constant(np.nan)
        assert debug.assert_equal(made, made).type == "NoOp"


def test_comparisons_of_halves_bools_strings_and_nothing(on_device):
    assert debug.assert_equal(c([True, False]), [True, False]) is None
    assert debug.assert_equal(np.zeros(0), np.zeros(0)) is None
    assert debug.assert_less(np.float16(1), np.float16(2)) is None
    assert debug.assert_equal(Variable([1.0]), [1.0]) is None


def test_comparisons_of_what_does_not_compare():
    assert debug.assert_equal(["a"], ["a"]) is None
    fails(ValueError, "Incompatible shapes: [2] vs. [3]", lambda: debug.assert_equal(c([1, 2]), c([1, 2, 3])))
    fails(TypeError, "expected to be a int32 tensor but is a float", lambda: debug.assert_equal(c(1), c(1.0)))
    fails(TypeError, "Value for attr 'T' of string", lambda: debug.assert_less("a", "b"))


def test_old_assertions_show_the_programs_own_data():
    data = [c(np.arange(10)), "s", 3]
    expected = "m\n['0', '1', '2', '3', '4', '...']\ns\n3"
    call = lambda: debug.assert_equal_v1([1], [2], data, 5, "m")  # noqa: E731
    assert fails(InvalidArgumentError, expected, call) == expected


# Signs.


@pytest.mark.parametrize(
    ("assertion", "old", "good", "bad", "symbol"),
    [
        (debug.assert_positive, debug.assert_positive_v1, [1, 2], [1, 0], ">"),
        (debug.assert_negative, debug.assert_negative_v1, [-1, -2], [-1, 0], "<"),
        (debug.assert_non_negative, debug.assert_non_negative_v1, [1, 0], [1, -1], ">="),
        (debug.assert_non_positive, debug.assert_non_positive_v1, [-1, 0], [1, -1], "<="),
    ],
)
def test_signs(on_device, assertion, old, good, bad, symbol):
    expected = (
        f"mm.  \nCondition x {symbol} 0 did not hold element-wise:\nx (shape=(2,) dtype=int32) = \n"
        f"['{bad[0]}', '{bad[1]}']"
    )
    for each in (assertion, old):
        assert each(good) is None
        assert each(c(good, dt.float32)) is None
        assert fails(InvalidArgumentError, expected, lambda each=each: each(bad, message="mm")) == expected


def test_signs_of_much_and_of_scalars():
    fails(InvalidArgumentError, "\n['0', '-1', '-2', '...']", lambda: debug.assert_positive(-np.arange(10)))
    fails(InvalidArgumentError, "= \n-1.5", lambda: debug.assert_positive(-1.5))
    fails(TypeError, "string", lambda: debug.assert_positive(["a"]))


# Near and finite.


@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16, dt.float32, dt.float64, dt.complex64, dt.complex128])
def test_near_is_ten_times_the_precision(on_device, dtype):
    one = np.array([1, 2]).astype(dtype.as_numpy_dtype)
    near = {"float16": 1e-3, "bfloat16": 1e-2, "float32": 1e-7, "complex64": 1e-7}.get(dtype.name, 1e-16)
    assert debug.assert_near(c(one), c((one + near).astype(one.dtype))) is None
    with pytest.raises(InvalidArgumentError, match="x and y not equal to tolerance"):
        debug.assert_near(c(one), c((one + 100 * near * 2).astype(one.dtype)))


def test_near_with_tolerances_and_its_message():
    assert debug.assert_near(1.0, 1.1, atol=0.2) is None
    assert debug.assert_near(10.0, 11.0, rtol=0.1) is None
    expected = (
        "Expected 'tf.Tensor(False, shape=(), dtype=bool)' to be true. Summarized data: b'm.  '\n"
        "b'x and y not equal to tolerance rtol = tf.Tensor(0.1, shape=(), dtype=float64), "
        "atol = tf.Tensor(0.0, shape=(), dtype=float64)'\nb'x (shape=() dtype=float64) = '\n1.0\n"
        "b'y (shape=() dtype=float64) = '\n2.0"
    )
    one, two = np.float64(1), np.float64(2)
    call = lambda: debug.assert_near(one, two, rtol=0.1, atol=0.0, message="m")  # noqa: E731
    assert fails(InvalidArgumentError, expected, call) == expected
    fails(InvalidArgumentError, "b'mine'", lambda: debug.assert_near_v1(1.0, 2.0, data=["mine"]))
    fails(TypeError, "assert_near compares floating-point", lambda: debug.assert_near(1, 1))
    fails(InvalidArgumentError, "not equal", lambda: debug.assert_near(np.nan, np.nan))


@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16, dt.float32, dt.float64])
def test_check_numerics_finds_what_is_not_finite(on_device, dtype):
    good = c(np.array([1, 2]).astype(dtype.as_numpy_dtype))
    passed = debug.check_numerics(good, "msg")
    assert passed.numpy().tolist() == [1, 2]
    assert passed.device == on_device
    for bad, what in (([1, np.nan], "NaN"), ([1, -np.inf], "Inf"), ([np.inf, np.nan], "Inf and NaN")):
        value = np.array(bad).astype(dtype.as_numpy_dtype)
        for check in (debug.check_numerics, debug.assert_all_finite, debug.assert_all_finite_v1):
            fails(InvalidArgumentError, f"msg : Tensor had {what} values", lambda c=check, v=value: c(v, "msg"))


def test_check_numerics_refuses():
    assert debug.check_numerics(np.zeros([0, 2], np.float32), "m").shape == [0, 2]
    assert debug.assert_all_finite_v1(x=[1.0], message="m").numpy().tolist() == [1.0]
    fails(TypeError, "Value for attr 'T' of int32", lambda: debug.check_numerics(c([1]), "m"))
    fails(TypeError, "Expected string for argument 'message' not 3", lambda: debug.check_numerics(c([1.0]), 3))


# Ranks and shapes.

VECTOR = c([1, 2])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: debug.assert_rank(VECTOR, 2), "Tensor  must have rank 2.  Received rank 1, shape (2,)"),
        (lambda: debug.assert_rank_v1(VECTOR, 2, message="m"), "m.  Tensor  must have rank 2.  Received rank 1"),
        (lambda: debug.assert_rank_at_least(VECTOR, 2), "Tensor  must have rank at least 2.  Received rank 1"),
        (lambda: debug.assert_rank_at_least_v1(VECTOR, c(2)), "Tensor  must have rank at least 2.  Received rank 1"),
        (
            lambda: debug.assert_rank_in(VECTOR, [2, 3]),
            "Tensor  must have rank in (2, 3).  Received rank 1, shape (2,)",
        ),
        (lambda: debug.assert_rank_in_v1(VECTOR, [2]), "Tensor  must have rank in (2,)."),
        (lambda: debug.assert_rank(VECTOR, [2]), "Rank must be a scalar"),
        (lambda: debug.assert_rank(VECTOR, 1.5), "A rank is an integer"),
        (lambda: debug.assert_scalar(VECTOR), "Expected scalar shape, saw shape: (2,)."),
        (lambda: debug.assert_scalar_v1(VECTOR, message="m"), "m.  Expected scalar shape, saw shape: (2,)."),
    ],
)
def test_wrong_ranks(call, message):
    fails(ValueError, message, call)


def test_right_ranks(on_device):
    assert debug.assert_rank(VECTOR, 1) is None
    assert debug.assert_rank("a", c(0)) is None
    assert debug.assert_rank_at_least([[1]], 1) is None
    assert debug.assert_rank_in(Variable([1.0]), [1, 3]) is None
    assert debug.assert_scalar(1) is None
    assert debug.assert_scalar_v1(1.5).numpy() == 1.5


MATRIX = c([[1, 2], [3, 4], [5, 6]])


@pytest.mark.parametrize(
    "shapes",
    [
        [(VECTOR, ("N",)), (c([[1, 2, 3], [4, 5, 6]]), ("N", "D"))],
        [(VECTOR, (None,)), (MATRIX, (3, "."))],
        [(VECTOR, (..., 2)), (MATRIX, ("*", 2)), (MATRIX, "NM")],
        [(c(1), ()), (c(1), ("N",)), ([1, 2], (2,))],
        [(VECTOR, (2.0,)), (VECTOR, (("side", 0),)), (MATRIX, (None, ("side", 0)))],
        {VECTOR.ref(): ("N",)},
        [],
        {},
    ],
)
def test_shapes_that_fit(shapes):
    assert debug.assert_shapes(shapes) is None


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (
            [(VECTOR, ("N",)), (MATRIX, ("N", "D"))],
            "Specified by tensor shape=(2,) dtype=int32 dimension 0.  Tensor shape=(3, 2) dtype=int32 dimension 0 must "
            "have size 2.  Received size 3, shape (3, 2)",
        ),
        (
            [(VECTOR, (3,))],
            "Specified explicitly.  Tensor shape=(2,) dtype=int32 dimension 0 must have size 3.  Received",
        ),
        ([(MATRIX, (..., 3))], "Specified explicitly.  Tensor shape=(3, 2) dtype=int32 dimension 1 must have size 3."),
        ([(VECTOR, (2, 3))], "Tensor  must have rank 2.  Received rank 1, shape (2,)"),
        ([(VECTOR, ("*", 2, 2))], "Tensor  must have rank at least 2.  Received rank 1, shape (2,)"),
        ([(c(1), (2,))], "Specified explicitly.  Tensor shape=() dtype=int32 dimension 0 must have size 2."),
        ([(MATRIX, ("N", "*"))], "specified shape index 1.  Symbol `...` or `*` for a variable number"),
        ([(VECTOR, 2)], "Specified shape must be an iterable.  Received specified shape: 2"),
        ([(MATRIX, ("N", "N"))], "Tensor shape=(3, 2) dtype=int32 dimension 1 must have size 3."),
        (
            [(VECTOR, np.array([3]))],
            "Specified explicitly.  Tensor shape=(2,) dtype=int32 dimension 0 must have size 3.",
        ),
        ([(VECTOR, ([2],))], "A shape consists of integers, words, None and `...`, got the entry [2]."),
        ([(VECTOR, (2.5,))], "A shape consists of integers, words, None and `...`, got the entry 2.5."),
        ([(VECTOR, (9.0,))], "must have size 9.  Received size"),
        ([(VECTOR, (("side", 0),)), (c([1]), (("side", 0),))], "must have size"),
    ],
)
def test_shapes_that_do_not_fit(shapes, message):
    fails(ValueError, message, lambda: debug.assert_shapes(shapes))


# Dtypes and Python types.


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: debug.assert_type(c(1), dt.float32, "m"),
            TypeError,
            "m.  tensor must be of type tf.float32; got tf.int32",
        ),
        (lambda: debug.assert_integer(c(1.0)), TypeError, 'Expected "x" to be integer type.  Found: tensor of dtype'),
        (
            lambda: debug.assert_same_float_dtype([c(1)]),
            ValueError,
            "Expected floating point type, got <dtype: 'int32'>",
        ),
        (lambda: debug.assert_same_float_dtype([c(1.0), np.float64(1)]), ValueError, "must be of the same type"),
        (lambda: debug.assert_same_float_dtype([c(1.0)], dt.float64), ValueError, "must be of the same type"),
        (lambda: debug.assert_proper_iterable(c([1])), TypeError, 'to be a "proper" iterable'),
        (lambda: debug.assert_proper_iterable("a"), TypeError, 'to be a "proper" iterable'),
        (lambda: debug.assert_proper_iterable(3), TypeError, 'Expected argument "values" to be iterable'),
    ],
)
def test_wrong_types(call, kind, message):
    fails(kind, message, call)


def test_right_types(on_device):
    assert debug.assert_type("a", dt.string) is None
    assert debug.assert_type(c(1), "int32") is None
    assert debug.assert_integer(np.uint8(3)) is None
    assert debug.assert_same_float_dtype([c(1.0), 2.0]) is dt.float32
    assert debug.assert_same_float_dtype(dtype=dt.float64) is dt.float64
    assert debug.assert_same_float_dtype() is dt.float32
    assert debug.assert_proper_iterable([1]) is None


@pytest.mark.parametrize(
    ("value", "numeric"),
    [(c(1), True), (c(1j), True), (c("a"), False), (c(True), False), (1, False), (np.array(1), False)],
)
def test_numeric_tensors(value, numeric):
    assert debug.is_numeric_tensor(value) is numeric


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("Expected int for argument 'summarize'", lambda: debug.assert_less(2, 1, summarize=[3])),
        ("Expected a list for argument 'data'", lambda: debug.assert_less_v1(2, 1, 5)),
        ("Expected a list for argument 'ranks'", lambda: debug.assert_rank_in(1, 5)),
        ("Expected a list for argument 'shapes'", lambda: debug.assert_shapes(5)),
        ("Expected pairs of a tensor and its shape, got 1", lambda: debug.assert_shapes([1, 2])),
        ("Expected a list for argument 'tensors'", lambda: debug.assert_same_float_dtype(5)),
    ],
)
def test_assertions_refuse_arguments_of_the_wrong_kind(message, call):
    fails(InvalidArgumentError, message, call)


def test_a_message_may_be_any_value():
    fails(InvalidArgumentError, "5\nCondition x < y did not hold.", lambda: debug.assert_less(2, 1, 5))
    fails(InvalidArgumentError, "[0. 0.].  ", lambda: debug.assert_positive(-1, np.zeros(2)))


def test_ranks_that_are_no_scalars_and_data_that_is_no_list_are_refused_in_graphs():
    with v1.Graph().as_default():
        unknown, rank = v1.placeholder(dt.float32), v1.placeholder(dt.int32, [])
        fails(InvalidArgumentError, "Rank must be a scalar", lambda: debug.assert_rank(unknown, [rank]))
        several = v1.placeholder(dt.int32, [2])
        fails(InvalidArgumentError, "Rank must be a scalar", lambda: debug.assert_rank(unknown, several))
        later = v1.placeholder(dt.int32)
        check = debug.assert_rank(unknown, later)
        with v1.Session() as session:
            session.run(check, {unknown: [1.0], later: 1})
            fails(
                InvalidArgumentError,
                "is not compatible with expected shape []",
                lambda: session.run(check, {unknown: [1.0], later: [1, 2]}),
            )
        message = "Expected a list for argument 'data' not 5."
        fails(TypeError, message, lambda: debug.assert_rank_v1(unknown, 2, data=5))


def test_a_scalar_and_a_vector_of_one_element_have_the_same_shape():
    one, scalar = c([1.0]), c(5)
    debug.assert_shapes([(one, ()), (scalar, ())])
    debug.assert_shapes([(one, (1,)), (scalar, (1,))])
    with pytest.raises(ValueError, match=r"dimension 0 must have size 1\.  Received size 2"):
        debug.assert_shapes([(c([1.0, 2.0]), ())])


def test_add_check_numerics_ops_checks_all_that_is_there():
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(v1.float32, [], name="x")
        v1.cast(v1.log(x, name="y"), v1.int32)
        checks = v1.add_check_numerics_ops()
        session.run(checks, {x: 1.0})
        with pytest.raises(InvalidArgumentError, match="y:0"):
            session.run(checks, {x: -1.0})
