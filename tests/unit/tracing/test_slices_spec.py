"""``IndexedSlicesSpec``: the kind of slices; figures and texts are TensorFlow's (2.21)."""

from __future__ import annotations

import copy
import pickle

import pytest

import situs as tf

KIND = tf.IndexedSlicesSpec([2, 3], tf.float32)


def slices(rows=1, dtype=tf.int64, **options):
    return tf.IndexedSlices(tf.ones([rows, 3]), tf.zeros([rows], dtype), **options)


def test_how_it_is_printed():
    assert repr(tf.IndexedSlicesSpec()) == (
        "IndexedSlicesSpec(TensorShape(None), tf.float32, tf.int64, None, TensorShape([None]))"
    )
    assert repr(tf.IndexedSlicesSpec([None, 3], dense_shape_dtype=tf.int32, indices_shape=[2])) == (
        "IndexedSlicesSpec(TensorShape([None, 3]), tf.float32, tf.int64, tf.int32, TensorShape([2]))"
    )


def test_which_values_and_kinds_fit():
    open_ = tf.IndexedSlicesSpec([None, 3], tf.float32)
    assert open_.is_compatible_with(slices())
    assert open_.is_compatible_with(KIND)
    assert not open_.is_compatible_with(slices(dtype=tf.int32))
    assert not open_.is_compatible_with(slices(dense_shape=tf.constant([5, 3])))
    assert not open_.is_compatible_with(tf.constant(1.0))
    assert KIND.is_subtype_of(open_)
    assert not open_.is_subtype_of(KIND)
    assert KIND.most_specific_common_supertype([tf.IndexedSlicesSpec([4, 3], tf.float32)]) == open_
    assert KIND.most_specific_compatible_type(tf.IndexedSlicesSpec([4, 3], tf.float32)) == open_
    assert KIND.most_specific_common_supertype([tf.IndexedSlicesSpec([4, 3], tf.float64)]) is None
    with pytest.raises(ValueError, match="No TypeSpec is compatible with both"):
        KIND.most_specific_compatible_type(tf.TensorSpec([2, 3]))


def test_it_is_a_value():
    same = tf.IndexedSlicesSpec([2, 3], tf.float32)
    assert (same == KIND, hash(KIND) == hash(same), tf.TensorSpec([2, 3]) == KIND) == (True, True, False)
    assert pickle.loads(pickle.dumps(KIND)) == copy.deepcopy(KIND) == KIND
    assert KIND.value_type is tf.IndexedSlices


def test_the_kind_of_a_value():
    found = tf.type_spec_from_value(slices(dense_shape=tf.constant([5, 3])))
    assert found == tf.IndexedSlicesSpec([5, 3], tf.float32, tf.int64, tf.int32, [1])


def test_functions_with_such_a_signature():
    traces = []

    @tf.function(input_signature=[tf.IndexedSlicesSpec([None, 3], tf.float32)])
    def doubled(given):
        traces.append(given.values.shape.as_list())
        return given.values * 2.0

    assert doubled(slices()).numpy().tolist() == [[2.0] * 3]
    assert doubled(slices(4)).shape == [4, 3]
    assert traces == [[None, 3]]
    for wrong in (tf.ones([1, 3]), slices(dtype=tf.int32), slices(dense_shape=tf.constant([5, 3]))):
        with pytest.raises(TypeError):
            doubled(wrong)
