"""``TensorSpec``: the kind of a tensor."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import situs as tf

SPEC = tf.TensorSpec([None, 3], tf.float32, "n")


def test_what_it_is():
    assert SPEC.shape.as_list() == [None, 3]
    assert SPEC.dtype is tf.float32
    assert SPEC.name == "n"
    assert repr(SPEC) == "TensorSpec(shape=(None, 3), dtype=tf.float32, name='n')"
    assert tf.TensorSpec(()).dtype is tf.float32


def test_it_never_changes():
    with pytest.raises(AttributeError):
        SPEC.name = "other"


def test_equality():
    same = tf.TensorSpec([None, 3], "float32", "n")
    assert same == SPEC
    assert hash(same) == hash(SPEC)
    assert copy.deepcopy(SPEC) == pickle.loads(pickle.dumps(SPEC)) == SPEC
    for other in (tf.TensorSpec([None, 3]), tf.TensorSpec([2, 3], name="n"), tf.TensorSpec(None, name="n"), "n"):
        assert other != SPEC


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        (lambda: tf.zeros([2, 3]), True),
        (lambda: tf.zeros([2, 4]), False),
        (lambda: tf.zeros([3]), False),
        (lambda: tf.zeros([2, 3], tf.int32), False),
        (lambda: tf.TensorSpec(None, tf.float32), True),
        (lambda: np.zeros([2, 3], np.float32), False),
        (lambda: [[1.0, 2.0, 3.0]], False),
        (lambda: None, False),
    ],
)
def test_compatibility(value, fits):
    assert SPEC.is_compatible_with(value()) is fits


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (tf.TensorSpec(None, tf.float32), True),
        (tf.TensorSpec([None, None], tf.float32), True),
        (tf.TensorSpec([2, 3], tf.float32), False),
        (tf.TensorSpec([None, 3], tf.int32), False),
        (tf.TensorSpec([None], tf.float32), False),
    ],
)
def test_subtypes(other, expected):
    assert SPEC.is_subtype_of(other) is expected


def test_common_supertypes():
    other = tf.TensorSpec([2, 4], tf.float32)
    assert SPEC.most_specific_common_supertype([other]).shape.as_list() == [None, None]
    assert SPEC.most_specific_common_supertype([tf.TensorSpec([3])]).shape.rank is None
    assert SPEC.most_specific_common_supertype([tf.TensorSpec([2, 4], tf.int32)]) is None


def test_from_tensors_and_specs():
    assert tf.TensorSpec.from_tensor(tf.zeros([2])) == tf.TensorSpec([2], tf.float32)
    assert tf.TensorSpec.from_tensor(tf.zeros([2]), "x").name == "x"
    assert tf.TensorSpec.from_spec(SPEC) == SPEC
    assert tf.TensorSpec.from_spec(SPEC, "k").name == "k"
    for wrong in (3, None, np.zeros(3)):
        with pytest.raises(TypeError):
            tf.TensorSpec.from_spec(wrong)
        with pytest.raises(TypeError):
            tf.TensorSpec.from_tensor(wrong)


def test_nonsense():
    with pytest.raises(TypeError):
        tf.TensorSpec([1], "nope")
    with pytest.raises(ValueError, match="x"):
        tf.TensorSpec("x")
