"""Claims about ordinary Python values that tests of TensorFlow programs make, beyond those of unittest."""
# ruff: noqa: N802, PT009 - this is unittest's way of writing, for unittest

from __future__ import annotations

import unittest
from typing import Any


class PlainAssertions(unittest.TestCase):
    """Assertions about lengths, members and bounds."""

    def assertLen(self, container: Any, expected_len: int, msg: str | None = None) -> None:
        """A container has so many items."""
        if len(container) != expected_len:
            text = f"{container!r} has length of {len(container)}, expected {expected_len}."
            self.fail(self._formatMessage(msg, text))

    def assertEmpty(self, container: Any, msg: str | None = None) -> None:
        """A container has no items."""
        self.assertLen(container, 0, msg)

    def assertNotEmpty(self, container: Any, msg: str | None = None) -> None:
        """A container has items."""
        if not len(container):
            self.fail(self._formatMessage(msg, f"{container!r} has length of 0."))

    def assertBetween(self, value: object, minv: Any, maxv: Any, msg: str | None = None) -> None:
        """A value is between two others, or one of them."""
        if not minv <= value <= maxv:
            self.fail(self._formatMessage(msg, f"{value!r} is not between {minv!r} and {maxv!r}"))

    def assertStartsWith(self, actual: str, expected_start: str, msg: str | None = None) -> None:
        """A text begins with another."""
        if not actual.startswith(expected_start):
            self.fail(self._formatMessage(msg, f"{actual!r} does not start with {expected_start!r}"))

    def assertEndsWith(self, actual: str, expected_end: str, msg: str | None = None) -> None:
        """A text ends with another."""
        if not actual.endswith(expected_end):
            self.fail(self._formatMessage(msg, f"{actual!r} does not end with {expected_end!r}"))

    def assertContainsSubset(self, expected_subset: Any, actual_set: Any, msg: str | None = None) -> None:
        """A set has all of some members."""
        missing = set(expected_subset) - set(actual_set)
        if missing:
            self.fail(self._formatMessage(msg, f"{missing} is not in {actual_set!r}"))

    def assertItemsEqual(self, expected_seq: Any, actual_seq: Any, msg: str | None = None) -> None:
        """Two sequences have the same items, in any order: unittest's assertCountEqual."""
        self.assertCountEqual(expected_seq, actual_seq, msg)

    def assertSameElements(self, expected_seq: Any, actual_seq: Any, msg: str | None = None) -> None:
        """Two sequences have the same items, however often and in any order."""
        self.assertEqual(set(expected_seq), set(actual_seq), msg)
