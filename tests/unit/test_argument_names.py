"""Arguments under TensorFlow's names and in its order, in each dialect."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1

# As `inspect.signature` of TensorFlow 2.21 gives them.
NAMES = [
    (tf.device, "device_name"),
    (v1.device, "device_name_or_function"),
    (tf.is_tensor, "x"),
    (tf.as_dtype, "type_value"),
    (tf.nest.is_nested, "seq"),
    (tf.zeros, "shape dtype name layout"),
    (tf.ones, "shape dtype name layout"),
    (tf.fill, "dims value name layout"),
    (tf.zeros_like, "input dtype name layout"),
    (tf.ones_like, "input dtype name layout"),
    (v1.zeros_like, "tensor dtype name optimize"),
    (v1.ones_like, "tensor dtype name optimize"),
    (v1.constant, "value dtype shape name verify_shape"),
    (v1.convert_to_tensor, "value dtype name preferred_dtype dtype_hint"),
    (v1.decode_csv, "records record_defaults field_delim use_quote_delim name na_value select_cols"),
    (v1.image.crop_and_resize, "image boxes box_ind crop_size method extrapolation_value name box_indices"),
    (tf.gradients, "ys xs grad_ys name gate_gradients aggregation_method stop_gradients unconnected_gradients"),
    (tf.hessians, "ys xs gate_gradients aggregation_method name"),
    (tf.experimental.dlpack.from_dlpack, "dlcapsule"),
    (tf.experimental.dlpack.to_dlpack, "tf_tensor"),
    (v1.saved_model.get_tensor_from_tensor_info, "tensor_info graph import_scope"),
    (v1.train.NewCheckpointReader, "filepattern"),
    (
        v1.feature_column.categorical_column_with_vocabulary_file,
        "key vocabulary_file vocabulary_size num_oov_buckets default_value dtype",
    ),
]


@pytest.mark.parametrize(
    ("function", "names"), sorted(NAMES, key=str), ids=lambda value: getattr(value, "__name__", "")
)
def test_arguments_stand_in_tensorflows_order(function, names):
    wanted = names.split()
    assert list(inspect.signature(function).parameters)[: len(wanted)] == wanted


def test_a_layout_may_be_none_and_nothing_else():
    assert tf.zeros([2], layout=None).shape == tf.ones_like([1, 2], layout=None).shape == [2]
    for call in (lambda: tf.zeros([2], layout="mesh"), lambda: tf.fill([2], 1, layout=3)):
        with pytest.raises(tf.errors.UnimplementedError, match="A layout spreads a tensor over a mesh"):
            call()


def test_a_constant_of_tensorflow_1_verifies_its_shape_or_repeats_its_last_element():
    with v1.Graph().as_default(), v1.Session() as session:
        assert session.run(v1.constant([1, 2], shape=[2, 2])).tolist() == [[1, 2], [2, 2]]
        assert session.run(v1.constant([[1, 2]], shape=[1, 2], verify_shape=True)).tolist() == [[1, 2]]
        with pytest.raises(TypeError, match="Expected Tensor's shape"):
            v1.constant([1, 2], shape=[1, 2], verify_shape=True)
        with pytest.raises(ValueError, match=r"Too many elements provided\. Needed at most 1, but received 2"):
            v1.constant([1, 2], shape=[1])


def test_a_preferred_dtype_is_a_hint():
    with v1.Graph().as_default():
        assert v1.convert_to_tensor(1, preferred_dtype=tf.float64).dtype == tf.float64
        assert v1.convert_to_tensor("a", preferred_dtype=tf.float64).dtype == tf.string
        assert v1.convert_to_tensor(1, None, "one", dtype_hint=tf.float32).op.name == "one"
        with pytest.raises(ValueError, match="Cannot specify both"):
            v1.convert_to_tensor(1, preferred_dtype=tf.float64, dtype_hint=tf.float32)


def test_boxes_have_two_names_for_their_images():
    image = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
    found = []
    with v1.Graph().as_default(), v1.Session() as session:
        for name in ("box_ind", "box_indices"):
            made = v1.image.crop_and_resize(image, [[0.0, 0.0, 1.0, 1.0]], crop_size=[2, 2], **{name: [0]})
            found.append(session.run(made).ravel().tolist())
        with pytest.raises(ValueError, match="box_indices"):
            v1.image.crop_and_resize(image, [[0.0, 0.0, 1.0, 1.0]], crop_size=[2, 2])
    assert found == [[0.0, 3.0, 12.0, 15.0]] * 2


def test_sets_of_scalars_are_refused_by_who_was_asked():
    for function in (tf.sets.union, tf.sets.intersection, tf.sets.difference):
        with pytest.raises(ValueError, match="`a` has sets in its last dimension and at least one more"):
            function(1, 2)
