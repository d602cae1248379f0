"""``tf.experimental.numpy``: NumPy's values, with the dtypes that TensorFlow 2.21 gives them."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
from situs.errors import ArgumentError
from tests.unit.numpy_api.calls import AS_IN_NUMPY, RECORDED

tnp = tf.experimental.numpy

VALUES = {
    "i": np.array([1, 2, 3], np.int32),
    "f": np.array([1.5, -2, 3.25], np.float32),
    "d": np.array([1.25, 2, 3.5]),
    "h": np.array([1.5, 2, 0.5], np.float16),
    "u": np.array([1, 2, 3], np.uint8),
    "i8": np.array([4, -5, 6], np.int8),
    "b": np.array([True, False, True]),
    "b1": np.array([True, True, True]),
    "c": np.array([1 + 2j, -3, 1j], np.complex64),
    "m": np.array([[1, 2, 3], [4, 5, 6]]),
    "m2": np.array([[1, 4], [2, 0], [3, 1]], np.int32),
    "t3": np.arange(12, dtype=np.int32).reshape(2, 3, 2),
    "n": np.array([np.nan, np.inf, -np.inf], np.float32),
    "n0": np.array([np.nan, 1, 2.5], np.float32),
}
TENSORS = {name: tf.constant(value) for name, value in VALUES.items()}


def flat(result: object) -> list[object]:
    return [leaf for item in result for leaf in flat(item)] if isinstance(result, (list, tuple)) else [result]


def call(expression: str, values: dict[str, object]) -> list[object]:
    return flat(eval(f"tnp.{expression}", {"np": np, "tnp": tnp, **values}))


def expected(expression: str) -> tuple[str, list[object]]:
    if expression in RECORDED:
        return RECORDED[expression]
    with np.errstate(all="ignore"):
        return AS_IN_NUMPY[expression], flat(eval(f"np.{expression}", {"np": np, **VALUES}))


def check(found: list[object], expression: str) -> None:
    dtypes, values = expected(expression)
    assert " ".join(each.dtype.name for each in found) == dtypes
    for one, other in zip(found, values, strict=True):
        is_short = "float16" in dtypes or np.asarray(other).dtype == np.float16
        np.testing.assert_allclose(one, other, rtol=2e-3 if is_short else 2e-6, atol=1e-7)


@pytest.mark.parametrize("expression", [*AS_IN_NUMPY, *RECORDED])
def test_values_and_dtypes(expression):
    check(call(expression, TENSORS), expression)


@pytest.mark.parametrize("expression", [each for each in AS_IN_NUMPY if "polyval(f" not in each][::3])
def test_in_functions_whose_sizes_are_not_known(expression):
    names = [name for name in TENSORS if name in expression]
    specs = [tf.TensorSpec([None] * TENSORS[name].shape.rank, TENSORS[name].dtype) for name in names]
    made = tf.function(lambda *given: call(expression, dict(zip(names, given, strict=True))), input_signature=specs)(
        *[TENSORS[name] for name in names]
    )
    check(made, expression)


def test_questions_about_shapes_are_answered_in_python():
    assert tnp.ndim(VALUES["m"]) == 2
    assert tnp.shape([[1], [2]]) == (2, 1)
    assert tnp.size(VALUES["m"]) == 6
    assert tnp.isscalar(3) is True
    assert tnp.iscomplexobj(1j) is True
    assert tnp.isrealobj(VALUES["c"]) is False


def test_dtypes_by_numpys_rules():
    assert tnp.promote_types(tf.int32, np.float32) == np.float64
    assert tnp.result_type(tf.ones([2], tf.int32), tf.float32) == tf.float64
    assert tnp.result_type(tf.ones([2]), 1.5) == tf.float32
    assert tnp.result_type(1) == tf.int64
    assert tnp.result_type([1, 2.5]) == tf.float64
    assert tnp.float32 is np.float32
    assert tnp.issubdtype(tnp.int8, np.integer)
    assert tnp.iinfo(tnp.int8).max == 127
    assert isinstance(tnp.ones(2), tnp.ndarray)
    assert tnp.newaxis is None
    assert tnp.pi == np.pi


@pytest.mark.parametrize(
    ("name", "function", "point", "slope"),
    [
        ("sinc", lambda x: tnp.sinc(x), 0.0, 0.0),
        ("hypot", lambda x: tnp.hypot(x, 4.0), 3.0, 0.6),
        ("var", lambda x: tnp.var(tnp.stack([x, 1.0, 2.0])), 3.0, 2 / 3),
        ("clip", lambda x: tnp.clip(x, 0, 2) * 3, 1.0, 3.0),
        ("take", lambda x: tnp.take(tnp.stack([x, 2 * x]), 1), 1.0, 2.0),
        ("logaddexp", lambda x: tnp.logaddexp(x, x), 1.0, 1.0),
        ("dot", lambda x: tnp.dot(tnp.stack([x, x]), [1.0, 2.0]), 1.0, 3.0),
        ("polyval", lambda x: tnp.polyval([1.0, 2.0, 3.0], x), 2.0, 6.0),
    ],
)
def test_gradients(name, function, point, slope):
    x = tf.constant(point, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    assert float(tape.gradient(y, x)) == pytest.approx(slope)


def test_spaced_numbers_have_the_dtype_that_is_asked_for():
    assert tnp.linspace(0, 10, 5, dtype=np.int32).numpy().tolist() == [0, 2, 5, 7, 10]
    assert tnp.linspace(0, 10, 5, dtype=np.int32).dtype == tf.int32
    assert tnp.logspace(0, 2, 3, dtype=np.float32).dtype == tf.float32
    assert tnp.geomspace(1, 100, 3, dtype=np.float32).dtype == tf.float32


def test_variables_and_lists_of_tensors():
    v = tf.Variable([1.0, 2.0])
    assert tnp.add(v, 1).numpy().tolist() == [2, 3]
    made = tf.function(lambda x: tnp.array([x, 2, [1][0]]))(tf.constant(1.5))
    assert made.numpy().tolist() == [1.5, 2, 1]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: tnp.arange(1, 2, 0),
        lambda: tnp.matmul(tf.ones([2, 3]), tf.ones([2, 3])),
        lambda: tnp.where([True], 1),
        lambda: tnp.pad([1], [[1, 1]], "edge"),
        lambda: tnp.split(tnp.arange(5), 2),
        lambda: tnp.concatenate([]),
        lambda: tnp.mean([1.0], out=1),
        lambda: tnp.einsum("i->", [1], casting="same_kind"),
        lambda: tnp.sort([1], kind="heapsort"),
        lambda: tnp.cross(tf.ones([4]), tf.ones([4])),
        lambda: tnp.random.randint(3, dtype=np.int8),
        lambda: tnp.meshgrid([1], sparse=True),
        lambda: tnp.gcd(1.5, 2),
    ],
)
def test_what_does_not_fit_is_a_value_error(wrong):
    with pytest.raises(ArgumentError):
        wrong()


def test_random_numbers():
    tnp.random.seed(3)
    first = tnp.random.randn(2, 3)
    tnp.random.seed(3)
    np.testing.assert_array_equal(first, tnp.random.randn(2, 3))
    assert first.dtype == tf.float64
    assert first.shape == (2, 3)
    made = tnp.random.randint(2, 5, size=(100,))
    assert made.dtype == tf.int64
    assert set(made.numpy().tolist()) == {2, 3, 4}
    drawn = tnp.random.uniform([0.0, 10.0], [1.0, 11.0]).numpy()
    assert 0 <= drawn[0] <= 1
    assert 10 <= drawn[1] <= 11
    assert tnp.random.rand(4).shape == (4,)
    assert tnp.random.random().shape == ()
    assert tnp.random.standard_normal(3).shape == (3,)
    assert tnp.random.poisson(4.0, (2,)).dtype == tf.int64
