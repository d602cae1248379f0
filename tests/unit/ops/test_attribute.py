"""Attributes: what counts as a number, a word or a switch, and which functions say so."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
from situs._src.ops.attribute import as_bool, as_float, as_int, as_word
from situs.errors import DTypeError


@pytest.mark.parametrize(
    ("value", "expected"),
    [(True, True), (False, False), (None, False), (1, True), (0, False), (np.True_, True), (np.int64(0), False)],
)
def test_switches(value, expected):
    assert as_bool(value, "x") is expected
    assert as_bool(tf.constant(True), "x") is True


@pytest.mark.parametrize(
    ("read", "wanted", "refused"),
    [
        (as_bool, "bool", ["yes", 2, -1, 1.0, [], np.array([True, False]), object(), NotImplemented]),
        (as_bool, "bool", [tf.constant([True]), tf.constant(1)]),
        (as_int, "int", [1.5, "1", None, [1], int, tf.constant([1, 2])]),
        (as_float, "float", ["1", None, 1j, [1.0], 10**400, tf.constant(1.0)]),
        (as_word, "string", [b"a", 1, None, np.array("a")]),
    ],
)
def test_other_values_are_refused_by_the_name_of_the_argument(read, wanted, refused):
    for value in refused:
        with pytest.raises(DTypeError, match=f"Expected {wanted} for argument 'x' not "):
            read(value, "x")


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("exclusive", lambda: tf.cumsum([1, 2], exclusive="no")),
        ("reverse", lambda: tf.math.cumprod([1, 2], reverse=[True])),
        ("keepdims", lambda: tf.reduce_sum([1, 2], keepdims="no")),
        ("keepdims", lambda: tf.norm([1.0], keepdims=2)),
        ("keepdims", lambda: tf.math.count_nonzero([1], keepdims="no")),
        ("keepdims", lambda: tf.strings.reduce_join(["a"], keepdims="no")),
        ("transpose_a", lambda: tf.matmul([[1.0]], [[1.0]], transpose_a=np.array([True, False]))),
        ("adjoint_b", lambda: tf.matmul([[1.0]], [[1.0]], adjoint_b="no")),
        ("conjugate", lambda: tf.transpose([[1.0]], conjugate="no")),
        ("adjoint", lambda: tf.linalg.solve([[1.0]], [[1.0]], adjoint="no")),
        ("lower", lambda: tf.linalg.triangular_solve([[1.0]], [[1.0]], lower="no")),
        ("fast", lambda: tf.linalg.lstsq([[1.0]], [[1.0]], fast="no")),
        ("full_matrices", lambda: tf.linalg.svd([[1.0]], full_matrices="no")),
        ("sorted", lambda: tf.math.top_k([1], sorted="no")),
        ("binary_output", lambda: tf.math.bincount([1], binary_output="no")),
        ("replace_global", lambda: tf.strings.regex_replace("a", "a", "b", "no")),
        ("pad", lambda: tf.io.encode_base64("a", "no")),
        ("indexing", lambda: tf.meshgrid([1], indexing=np.array(["xy", "ij"]))),
        ("align", lambda: tf.linalg.diag([1.0], align=np.array([1, 2]))),
        ("encoding", lambda: tf.strings.lower("a", tf.constant(["a", "b"]))),
        ("unit", lambda: tf.strings.length("a", tf.constant(["a", "b"]))),
        ("width", lambda: tf.as_string(1, width=None)),
        ("separator", lambda: tf.strings.join(["a", "b"], separator=True)),
        ("separator", lambda: tf.strings.reduce_join(["a"], separator=b",")),
        ("fill", lambda: tf.as_string(1, fill=5)),
        ("precision", lambda: tf.as_string(1.0, precision=[3])),
        ("trainable", lambda: tf.Variable(1.0, trainable="no")),
        ("name", lambda: tf.Variable(1.0, name=np.zeros(3))),
        ("bad_indices_policy", lambda: tf.gather_nd([1], [[0]], bad_indices_policy=3)),
        ("enabled", lambda: tf.config.set_soft_device_placement(np.zeros(2))),
        ("enabled", lambda: tf.config.set_soft_device_placement(np.array([True, False]))),
        ("enabled", lambda: tf.debugging.set_log_device_placement("no")),
    ],
)
def test_functions_that_refuse_a_wrong_attribute(name, call):
    with pytest.raises(DTypeError, match=f"Expected \\w+ for argument '{name}' not "):
        call()
