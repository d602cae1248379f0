"""Claims about tensors, arrays and structures of them.

    self.assertAllClose(tf.nn.softmax(x), {...})     tensors are computed first, wherever they are

Values are compared element by element; the text of a failure names the first elements that differ.
"""
# ruff: noqa: N802, PT009 - this is unittest's way of writing, for unittest

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import ml_dtypes
import numpy as np

from situs._src.base.devices.spec import parse_spec
from situs._src.base.dtype import as_dtype
from situs._src.base.errors import OpError
from situs._src.testing.plain import PlainAssertions

_SHOWN = 10


class Assertions(PlainAssertions):
    """The assertions of ``tf.test.TestCase``."""

    def evaluate(self, tensors: object) -> Any:
        """The values of tensors."""
        raise NotImplementedError

    def _array(self, value: object) -> np.ndarray[Any, Any]:
        plain = isinstance(value, (np.ndarray, np.generic, int, float, complex, bytes))
        found = value if plain else self.evaluate(value)
        try:
            array = np.asarray(found)
        except ValueError:  # lists of different lengths
            array = np.array(found, object)
        return np.char.encode(array, "utf-8") if array.dtype.kind == "U" else array

    # Equal and close.

    def assertAllEqual(self, a: object, b: object, msg: str | None = None) -> None:
        """Two values have one shape and the same elements; NaN equals NaN."""
        first, second = self._same_shape(a, b, msg)
        self._none(~_equal(first, second), "Arrays are not equal", first, second, msg)

    def assertNotAllEqual(self, a: object, b: object, msg: str | None = None) -> None:
        """Two values differ somewhere."""
        self._fails(lambda: self.assertAllEqual(a, b), f"The values are equal: {a!r}", msg)

    def assertAllClose(
        self, a: object, b: object, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Two values, or structures of them, differ by at most ``atol + rtol * abs(b)``.

        Args:
            a: A tensor, an array, a number, or lists, tuples and dictionaries of them.
            b: What is expected, in the same form.
            rtol: The allowed difference relative to `b`.
            atol: The allowed difference.
            msg: What to say on failure besides.
        """
        self._close(a, b, lambda first, second: (rtol, atol), "", msg)

    def assertNotAllClose(
        self, a: object, b: object, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Two values differ somewhere by more than `assertAllClose` allows."""
        self._fails(lambda: self.assertAllClose(a, b, rtol, atol), "The values are close at all elements", msg)

    def assertAllCloseAccordingToType(
        self,
        a: object,
        b: object,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: str | None = None,
    ) -> None:
        """As `assertAllClose`, with wider bounds for the narrower dtypes among the two."""
        steps = [
            (np.dtype(np.float32), float_rtol, float_atol),
            (np.dtype(np.complex64), float_rtol, float_atol),
            (np.dtype(np.float16), half_rtol, half_atol),
            (np.dtype(ml_dtypes.bfloat16), bfloat16_rtol, bfloat16_atol),
        ]

        def bounds(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> tuple[float, float]:
            fitting = [(r, t) for dtype, r, t in steps if dtype in (first.dtype, second.dtype)]
            return max([rtol, *(r for r, _ in fitting)]), max([atol, *(t for _, t in fitting)])

        self._close(a, b, bounds, "", msg)

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """Two numbers differ by at most `err`."""
        if not (f1 == f2 or abs(f1 - f2) <= err):
            self.fail(self._formatMessage(msg, f"{f1!r} is not within {err!r} of {f2!r}"))

    def assertArrayNear(self, farray1: Any, farray2: Any, err: float, msg: str | None = None) -> None:
        """The numbers of two lists differ by at most `err` each."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for first, second in zip(farray1, farray2, strict=True):
            self.assertNear(float(first), float(second), err, msg)

    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None) -> None:
        """Two arrays are at most `err` apart, as vectors."""
        distance = float(np.linalg.norm(self._array(ndarray1) - self._array(ndarray2)))
        if not distance < err:
            self.fail(self._formatMessage(msg, f"The arrays are {distance} apart, which is not below {err}"))

    def _close(
        self, a: object, b: object, bounds: Callable[..., tuple[float, float]], path: str, msg: str | None
    ) -> None:
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            self.assertEqual(set(a), set(b), f"The keys of a{path} and b{path} differ")
            for key in a:
                self._close(a[key], b[key], bounds, f"{path}[{key!r}]", msg)
        elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and not (_is_array(a) and _is_array(b)):
            self.assertEqual(len(a), len(b), f"The lengths of a{path} and b{path} differ")
            for number, (first, second) in enumerate(zip(a, b, strict=True)):
                self._close(first, second, bounds, f"{path}[{number}]", msg)
        else:
            first, second = self._same_shape(a, b, msg)
            rtol, atol = bounds(first, second)
            head = f"a{path} is not close to b{path} (rtol={rtol}, atol={atol})"
            self._none(~_near(first, second, rtol, atol), head, first, second, msg)

    # Bounds and members.

    def assertAllGreater(self, a: object, comparison_target: Any) -> None:
        """All elements are greater than a number."""
        self._all(lambda x: x > comparison_target, a, f"greater than {comparison_target}")

    def assertAllGreaterEqual(self, a: object, comparison_target: Any) -> None:
        """All elements are at least a number."""
        self._all(lambda x: x >= comparison_target, a, f"at least {comparison_target}")

    def assertAllLess(self, a: object, comparison_target: Any) -> None:
        """All elements are less than a number."""
        self._all(lambda x: x < comparison_target, a, f"less than {comparison_target}")

    def assertAllLessEqual(self, a: object, comparison_target: Any) -> None:
        """All elements are at most a number."""
        self._all(lambda x: x <= comparison_target, a, f"at most {comparison_target}")

    def assertAllInRange(
        self,
        target: object,
        lower_bound: Any,
        upper_bound: Any,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """All elements are between two numbers, or these numbers unless a bound is open."""
        low = operator.gt if open_lower_bound else operator.ge
        high = operator.lt if open_upper_bound else operator.le
        shown = f"{'(' if open_lower_bound else '['}{lower_bound}, {upper_bound}{')' if open_upper_bound else ']'}"
        self._all(lambda x: low(x, lower_bound) & high(x, upper_bound), target, f"in the range {shown}")

    def assertAllInSet(self, target: object, expected_set: Any) -> None:
        """All elements are members of a set."""
        self._all(lambda x: np.isin(x, list(expected_set)), target, f"in {expected_set}")

    # Shapes, dtypes, devices, errors.

    def assertShapeEqual(self, input_a: Any, input_b: Any, msg: str | None = None) -> None:
        """Two arrays or tensors have the same, known shape."""
        self.assertEqual(_shape(input_a), _shape(input_b), msg)

    def assertDTypeEqual(self, target: object, expected_dtype: Any) -> None:
        """A value has a dtype."""
        self.assertEqual(as_dtype(self._array(target).dtype), as_dtype(expected_dtype))

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: str | None = None) -> None:
        """Two device names mean the same: ``/gpu:0`` is ``/device:GPU:0``."""
        self.assertEqual(parse_spec(device1 or ""), parse_spec(device2 or ""), msg)

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> AbstractContextManager[None]:
        """A context in which an op fails with a text that fits."""
        return self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate)

    @contextmanager
    def assertRaisesWithPredicateMatch(self, exception_type: Any, expected_err_re_or_predicate: Any) -> Iterator[None]:
        """A context that ends with an error of a type, for which a function is true or whose text fits a pattern."""
        wanted = expected_err_re_or_predicate
        try:
            yield
        except exception_type as error:
            fits = wanted(error) if callable(wanted) else re.search(wanted, str(error))
            if not fits:
                raise AssertionError(f"{type(error).__name__}: {error}\ndoes not fit {wanted!r}") from error
        else:
            self.fail(f"{getattr(exception_type, '__name__', exception_type)} was not raised")

    # Reports.

    def _same_shape(self, a: object, b: object, msg: str | None) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        first, second = self._array(a), self._array(b)
        if first.shape != second.shape:
            text = f"Shape mismatch: expected {first.shape}, got {second.shape}. Contents: {first!r}, {second!r}"
            self.fail(self._formatMessage(msg, text))
        return first, second

    def _none(self, bad: Any, head: str, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], msg: str | None) -> None:
        where = np.argwhere(bad)
        if not len(where):
            return
        rows = [f"  {list(map(int, index))}: {a[tuple(index)]!r} and {b[tuple(index)]!r}" for index in where[:_SHOWN]]
        text = "\n".join([f"{head}: {len(where)} of {a.size} elements differ", *rows])
        self.fail(self._formatMessage(msg, text))

    def _all(self, holds: Callable[[Any], Any], value: object, what: str) -> None:
        array = self._array(value)
        where = np.argwhere(~np.asarray(holds(array)))
        if len(where):
            rows = [f"  {list(map(int, index))} : {array[tuple(index)]!r}" for index in where[:_SHOWN]]
            self.fail("\n".join([f"{len(where)} of the {array.size} element(s) are not {what}:", *rows]))

    def _fails(self, claim: Callable[[], None], text: str, msg: str | None) -> None:
        try:
            claim()
        except self.failureException:
            return
        self.fail(self._formatMessage(msg, text))


def _equal(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    same = np.asarray(a == b)
    if a.dtype.kind in "fcV" and b.dtype.kind in "fcV":
        same |= (a != a) & (b != b)  # both NaN
    return same


def _near(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], rtol: float, atol: float) -> Any:
    wide = np.complex128 if "c" in (a.dtype.kind, b.dtype.kind) else np.float64
    return np.isclose(a.astype(wide), b.astype(wide), rtol=rtol, atol=atol, equal_nan=True)


def _is_array(value: object) -> bool:
    """Whether a list is one array of numbers."""
    try:
        return np.asarray(value).dtype.kind in "biufcV"
    except (TypeError, ValueError):
        return False


def _shape(value: Any) -> tuple[Any, ...]:
    shape = value.shape if hasattr(value, "shape") else np.shape(value)
    return tuple(shape.as_list()) if hasattr(shape, "as_list") else tuple(shape)
