"""``tf.test.TestCase``: what its assertions accept and refuse, its sessions, folders and threads."""

from __future__ import annotations

import unittest
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import situs as eager_tf
import situs.compat.v1 as tf
from situs import constant
from situs import test as tf_test
from situs.errors import InvalidArgumentError, OpError

Pair = namedtuple("Pair", ["x", "y"])


@pytest.fixture
def case() -> Iterator[tf_test.TestCase]:
    class Case(tf_test.TestCase):
        def runTest(self) -> None:
            pass

    made = Case()
    made.setUp()
    yield made
    made.tearDown()
    made.doCleanups()


NAN = float("nan")
HALF, BRAIN = np.float16, ml_dtypes.bfloat16


@pytest.mark.parametrize(
    "claim",
    [
        lambda c: c.assertAllEqual([1, 2], np.array([1, 2])),
        lambda c: c.assertAllEqual(constant([1, 2]), (1, 2)),
        lambda c: c.assertAllEqual([NAN], [NAN]),
        lambda c: c.assertAllEqual(b"a", "a"),
        lambda c: c.assertAllEqual([], []),
        lambda c: c.assertAllEqual([b"a", b"b"], constant(["a", "b"])),
        lambda c: c.assertNotAllEqual([1, 2], [1, 3]),
        lambda c: c.assertNotAllEqual([1, 2], [1]),
        lambda c: c.assertAllClose([1.0, NAN], [1.0 + 1e-7, NAN]),
        lambda c: c.assertAllClose({"a": 1, "b": [constant(2.0), 3]}, {"b": [2.0, 3.0], "a": 1}),
        lambda c: c.assertAllClose(Pair(1, [2]), Pair(1.0, np.array([2.0]))),
        lambda c: c.assertAllClose([[1, 2], [3]], [[1, 2], [3]]),
        lambda c: c.assertAllClose(1 + 2j, np.complex64(1 + 2j)),
        lambda c: c.assertAllClose([np.inf], [np.inf]),
        lambda c: c.assertNotAllClose(1.0, 1.1),
        lambda c: c.assertAllCloseAccordingToType(HALF(1), HALF(1.0009)),
        lambda c: c.assertAllCloseAccordingToType(BRAIN(1), np.float32(1.005)),
        lambda c: c.assertNear(1.0, 1.05, 0.1),
        lambda c: c.assertArrayNear([1.0, 2.0], [1.05, 2.0], 0.1),
        lambda c: c.assertNDArrayNear([1.0, 2.0], [1.05, 2.0], 0.1),
        lambda c: c.assertAllGreater(constant([2, 3]), 1),
        lambda c: c.assertAllGreaterEqual([1, 3], 1),
        lambda c: c.assertAllLess([1, 3], 4),
        lambda c: c.assertAllLessEqual([1, 4], 4),
        lambda c: c.assertAllInRange([1, 5], 1, 5),
        lambda c: c.assertAllInSet([1, 5, 1], {1, 5}),
        lambda c: c.assertShapeEqual(np.ones((2, 3)), constant(np.zeros((2, 3)))),
        lambda c: c.assertDTypeEqual(constant([1.0]), np.float32),
        lambda c: c.assertDeviceEqual("/gpu:0", "/device:GPU:0"),
        lambda c: c.assertLen([1, 2], 2),
        lambda c: c.assertEmpty([]),
        lambda c: c.assertNotEmpty({1}),
        lambda c: c.assertBetween(2, 1, 3),
        lambda c: c.assertStartsWith("abc", "ab"),
        lambda c: c.assertEndsWith("abc", "bc"),
        lambda c: c.assertContainsSubset({1}, [1, 2]),
        lambda c: c.assertItemsEqual([1, 2, 2], [2, 1, 2]),
        lambda c: c.assertSameElements([1, 2, 2], [2, 1]),
    ],
)
def test_true_claims_pass(case: tf_test.TestCase, claim: Any) -> None:
    claim(case)


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        (lambda c: c.assertAllEqual([1, 2], [1, 3]), r"1 of 2 elements differ\n  \[1\]: .*2.* and .*3"),
        (lambda c: c.assertAllEqual([1, 2], [1, 2, 3]), r"Shape mismatch: expected \(2,\), got \(3,\)"),
        (lambda c: c.assertAllEqual(1, [1]), r"Shape mismatch: expected \(\), got \(1,\)"),
        (lambda c: c.assertAllEqual("a", "b", "more"), "differ(.|\n)* : more"),
        (lambda c: c.assertNotAllEqual([1], [1]), "The values are equal"),
        (lambda c: c.assertAllClose([1, 2, 3], [1, 2, 4]), r"a is not close to b \(rtol=1e-06, atol=1e-06\): 1 of 3"),
        (lambda c: c.assertAllClose({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}), r"a\['a'\]\[1\]\['b'\] is not close"),
        (lambda c: c.assertAllClose({"a": 1}, {"b": 1}), "The keys of a and b differ"),
        (lambda c: c.assertAllClose([[1, 2], [3]], [[1, 2]]), "The lengths of a and b differ"),
        (lambda c: c.assertAllClose(np.inf, -np.inf), "not close"),
        (lambda c: c.assertAllClose(1 + 2j, 1 + 3j), "not close"),
        (lambda c: c.assertNotAllClose(1.0, 1.0), "are close"),
        (lambda c: c.assertAllCloseAccordingToType(HALF(1), HALF(1.01)), r"rtol=0.001"),
        (lambda c: c.assertNear(1.0, 1.2, 0.1), "1.0 is not within 0.1 of 1.2"),
        (lambda c: c.assertNear(NAN, 1.2, 0.1), "not within"),
        (lambda c: c.assertArrayNear([1.0, 2.0], [1.0], 0.1), "2 != 1"),
        (lambda c: c.assertNDArrayNear([1.0], [2.0], 0.1), "1.0 apart"),
        (lambda c: c.assertAllGreater([2, 1], 1), r"1 of the 2 element\(s\) are not greater than 1:\n  \[1\]"),
        (lambda c: c.assertAllGreaterEqual([0], 1), "at least 1"),
        (lambda c: c.assertAllLess([4], 4), "less than 4"),
        (lambda c: c.assertAllLessEqual([5], 4), "at most 4"),
        (lambda c: c.assertAllInRange([1, 9], 1, 5), r"not in the range \[1, 5\]"),
        (
            lambda c: c.assertAllInRange([1, 5], 1, 5, True, True),
            r"2 of the 2 element\(s\) are not in the range \(1, 5\)",
        ),
        (lambda c: c.assertAllInRange([NAN], 1, 5), "not in the range"),
        (lambda c: c.assertAllInSet([1, 2], {1}), r"not in \{1\}"),
        (lambda c: c.assertShapeEqual(np.ones(2), np.ones(3)), r"\(2,\) != \(3,\)"),
        (lambda c: c.assertDTypeEqual(np.ones(2), np.float32), "float64"),
        (lambda c: c.assertDeviceEqual("/gpu:0", "/gpu:1"), "!="),
        (lambda c: c.assertLen([1, 2], 3), "has length of 2, expected 3"),
        (lambda c: c.assertNotEmpty([]), "has length of 0"),
        (lambda c: c.assertBetween(4, 1, 3), "4 is not between 1 and 3"),
        (lambda c: c.assertStartsWith("abc", "b"), "does not start with 'b'"),
        (lambda c: c.assertEndsWith("abc", "b"), "does not end with 'b'"),
        (lambda c: c.assertContainsSubset({3}, [1, 2]), r"\{3\} is not in"),
    ],
)
def test_false_claims_fail_and_say_why(case: tf_test.TestCase, claim: Any, text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        claim(case)


def test_errors_of_ops_are_expected(case: tf_test.TestCase) -> None:
    with case.assertRaisesOpError("b.r"):
        raise InvalidArgumentError("bar")
    with case.assertRaisesWithPredicateMatch(ValueError, lambda error: "x" in str(error)):
        raise ValueError("x")
    with pytest.raises(AssertionError, match="does not fit 'foo'"), case.assertRaisesOpError("foo"):
        raise InvalidArgumentError("bar")
    with pytest.raises(AssertionError, match="OpError was not raised"), case.assertRaisesOpError("foo"):
        pass
    with pytest.raises(ValueError, match="other"), case.assertRaisesOpError("other"):
        raise ValueError("other")


# Sessions.


def test_tensors_of_graphs_are_computed(case: tf_test.TestCase) -> None:
    x = tf.constant([1.0, 2.0])
    case.assertAllClose(x * 2, [2, 4])
    assert case.evaluate({"a": tf.constant(1), "b": [tf.constant(2)]}) == {"a": 1, "b": [2]}
    with case.session() as session:
        assert tf.get_default_session() is session
        case.assertAllEqual(tf.add(1, 2), 3)
        v = tf.Variable(5)
        session.run(v.initializer)
        case.assertAllEqual(v, 5)
    with pytest.raises(RuntimeError, match="closed"):
        session.run(x)


def test_a_cached_session_keeps_variables(case: tf_test.TestCase) -> None:
    v = tf.Variable(1)
    with case.cached_session() as first:
        first.run(v.initializer)
    with case.test_session() as second:
        assert second is first
        assert second.run(v.assign_add(1)) == 2
    with (
        pytest.raises(InvalidArgumentError, match="The config used to get the cached session"),
        case.cached_session(config=tf.ConfigProto()),
    ):
        pass


def test_a_cached_session_keeps_its_graph(case: tf_test.TestCase) -> None:
    with tf.Graph().as_default() as graph, case.cached_session() as first:
        assert first.run(tf.constant(1) + 1) == 2
    with tf.Graph().as_default(), case.cached_session() as second:
        assert second is first
        assert tf.get_default_graph() is graph
        assert second.run(tf.constant(2) + 1) == 3
    with (
        pytest.raises(ValueError, match="The graph used to get the cached session is different"),
        case.cached_session(graph=tf.Graph()),
    ):
        pass


@pytest.mark.parametrize(
    ("options", "device"),
    [({}, ""), ({"use_gpu": False}, "/device:CPU:0"), ({"force_gpu": True}, "/device:GPU:0")],
)
@pytest.mark.parametrize("kind", ["session", "cached_session", "test_session"])
def test_sessions_choose_devices(case: tf_test.TestCase, kind: str, options: dict[str, bool], device: str) -> None:
    with getattr(case, kind)(**options) as session:
        made = tf.constant(1) + 1
        assert made.device == device
        assert session.run(made) == 2


def test_a_session_may_have_a_graph_of_its_own(case: tf_test.TestCase) -> None:
    graph = tf.Graph()
    with case.session(graph=graph) as session:
        assert tf.constant(1).graph is session.graph is graph
    with case.test_session(graph=graph) as session:
        assert session.graph is graph


def test_each_test_begins_anew(case: tf_test.TestCase) -> None:
    drawn = []
    for _ in range(2):
        tf.constant(1)
        case.setUp()
        assert len(tf.get_default_graph()) == 0
        with case.session() as session:
            drawn.append(float(session.run(tf.random_normal([]))) + np.random.rand())
    assert drawn[0] == drawn[1]


# Folders, threads, programs.


def test_a_test_has_a_folder_that_goes_with_it(case: tf_test.TestCase) -> None:
    folder = Path(case.get_temp_dir())
    assert folder.is_dir()
    assert case.get_temp_dir() == str(folder)
    assert folder.parent == Path(tf_test.get_temp_dir())
    case.doCleanups()
    assert not folder.exists()


def test_errors_of_threads_are_errors_of_the_test(case: tf_test.TestCase) -> None:
    done: list[int] = []
    good = case.checkedThread(done.append, (1,))
    good.start()
    good.join()
    assert done == [1]
    assert not good.is_alive()
    bad = case.checkedThread(lambda: 1 / 0)
    bad.start()
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        bad.join()


def test_a_thread_must_be_joined(case: tf_test.TestCase) -> None:
    thread = case.checkedThread(lambda: None)
    thread.start()
    with pytest.raises(AssertionError, match="was not joined"):
        case.tearDown()
    thread.join()


def test_programs_run_their_tests(run_python: Any) -> None:
    program = """
import situs.compat.v1 as tf
class AddTest(tf.test.TestCase):
    def test_add(self):
        with self.session():
            self.assertAllEqual(tf.add(1, 2).eval(), 3)
if __name__ == "__main__":
    tf.test.main()
"""
    printed = run_python(program)
    assert "OK (skipped=1)" in printed  # test_session, which is none
    assert issubclass(tf_test.TestCase, unittest.TestCase)
    assert issubclass(InvalidArgumentError, OpError)


def test_asking_for_gpus_does_not_load_sessions(run_python: Any) -> None:
    assert run_python("import situs as tf, sys; tf.test.is_gpu_available(); print('torch' in sys.modules)") == "False\n"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tf_test.nothing


def test_text_is_compared_with_bytes_and_lists_of_other_lengths_with_each_other(case: tf_test.TestCase) -> None:
    case.assertAllEqual(np.array([b"\xc3\xa9", b"b"], object), np.array(["é", "b"]))
    case.assertAllEqual([[[1]], 1, [1]], [[[1]], 1, [1]])
    with pytest.raises(AssertionError):
        case.assertAllEqual([[[1]], 1, [1]], [[[1]], 1, [2]])


def test_slices_are_evaluated(case: tf_test.TestCase) -> None:
    with tf.Graph().as_default():
        found = case.evaluate(tf.IndexedSlices(tf.constant([1.0]), tf.constant([2]), tf.constant([4])))
        assert (found.values.tolist(), found.indices.tolist(), found.dense_shape.tolist()) == ([1.0], [2], [4])
    eager = case.evaluate([eager_tf.IndexedSlices(constant([1.0]), constant([2]))])
    assert (eager[0].values.tolist(), eager[0].indices.tolist(), eager[0].dense_shape) == ([1.0], [2], None)
