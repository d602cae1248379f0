"""Values as messages, values known early, and the small names around them."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1
from tests.conftest import ROOT


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (10.0, "float32"),
        ([1, 2, 3], "int32"),
        ([[True], [False]], "bool"),
        (["a", b"b\0"], "string"),
        (np.float16([1.5, 2.5]), "float16"),
        (np.complex64([1 + 2j, 3]), "complex64"),
        (np.zeros([0, 3]), "float64"),
    ],
)
def test_arrays_come_back_from_messages(value, dtype):
    made = tf.make_ndarray(tf.make_tensor_proto(value))
    assert tf.as_dtype(made.dtype if dtype != "string" else "string").name == dtype
    expected = np.array(value, dtype=object if dtype == "string" else made.dtype)
    assert made.shape == expected.shape
    if dtype == "string":
        expected = np.array([b"a", b"b\0"], dtype=object)
    assert (made == expected).all()


def test_messages_are_written_as_tensorflow_writes_them():
    assert list(tf.make_tensor_proto(10.0).float_val) == [10.0]
    assert tf.make_tensor_proto([10.0, 20.0]).tensor_content == np.float32([10, 20]).tobytes()
    repeated = tf.make_tensor_proto([1, 2], shape=[2, 2])
    assert list(repeated.int_val) == [1, 2]
    assert tf.make_ndarray(repeated).tolist() == [[1, 2], [2, 2]]


def test_messages_that_cannot_be():
    with pytest.raises(ValueError, match="None values not supported"):
        tf.make_tensor_proto(None)
    with pytest.raises(TypeError, match=r"Expected Tensor's shape: \(3,\), got \(2,\)"):
        tf.make_tensor_proto([1, 2], shape=[3], verify_shape=True)
    with pytest.raises(ValueError, match="Too many elements provided"):
        tf.make_tensor_proto([1, 2], shape=[1])
    with tf.Graph().as_default(), pytest.raises(TypeError, match="got a tensor instead"):
        tf.make_tensor_proto(tf.constant(1))
    with pytest.raises(TypeError, match="takes a TensorProto"):
        tf.make_ndarray(3)


def test_static_values():
    assert tf.get_static_value(tf.constant([1, 2])).tolist() == [1, 2]
    assert tf.get_static_value(5) == 5
    with tf.Graph().as_default():
        known, unknown = tf.constant(3), v1.placeholder(tf.int32, [])
        assert tf.get_static_value(known + 1) == 4
        assert tf.get_static_value(unknown) is None
        assert tf.get_static_value(tf.constant(np.zeros([0, 2]))).shape == (0, 2)
        packed = tf.stack([known, unknown])
        assert tf.get_static_value(packed) is None
        assert tf.get_static_value(packed, partial=True).tolist() == [3, None]


def test_static_values_of_parts():
    with tf.Graph().as_default():
        known, unknown = np.arange(6.0).reshape(2, 3), v1.placeholder(tf.float64, [2, 3])
        packed = tf.stack([known, unknown])
        first, second = (tf.get_static_value(part, partial=True) for part in tf.unstack(packed))
        np.testing.assert_array_equal(first, known)
        assert second is None
        first, second = (tf.get_static_value(part, partial=True) for part in tf.split(packed, 2))
        np.testing.assert_array_equal(first[0], known)
        assert second.tolist() == [None]
        for parts in (tf.unstack(packed), tf.split(packed, 2), tf.unstack(packed, axis=1), tf.split(packed, 3, 2)):
            assert [tf.get_static_value(part) for part in parts] == [None] * len(parts)
        for made, right in ((tf.unstack(known), known), (tf.split(known, 3, axis=1), np.split(known, 3, axis=1))):
            np.testing.assert_array_equal([tf.get_static_value(part) for part in made], right)


def test_shapes_as_types():
    shape = tf.TensorShape([2, None])
    assert tf.TensorShape([2, 3]).is_subtype_of(shape)
    assert not shape.is_subtype_of(tf.TensorShape([2, 3]))
    assert shape.is_subtype_of(tf.TensorShape(None))
    assert tf.TensorShape([2, 3]).most_specific_common_supertype([tf.TensorShape([2, 4])]) == shape
    assert tf.TensorShape([2, 3]).most_specific_common_supertype([3]) is None
    assert tf.TensorShape([2, 3]).most_specific_compatible_shape([3]).rank is None
    assert [dim.size for dim in shape.as_proto().dim] == [2, -1]
    assert tf.TensorShape(None).as_proto().unknown_rank
    assert pickle.loads(pickle.dumps(shape)) == shape
    for call in (
        shape.assert_is_fully_defined,
        lambda: shape.assert_same_rank([1]),
        lambda: shape.with_rank_at_most(1),
    ):
        with pytest.raises(ValueError, match="Shape"):
            call()


def test_text():
    assert (tf.compat.as_bytes("ä"), tf.compat.as_text(b"\xc3\xa4"), tf.compat.as_str_any(3)) == (b"\xc3\xa4", "ä", "3")
    with pytest.raises(TypeError, match="Expected binary or unicode string"):
        tf.compat.as_bytes(3)


def test_name_scopes_are_objects():
    scope = tf.name_scope("a")
    assert scope.name == "a"
    with scope as outer, scope as inner:
        assert (outer, inner, tf.get_current_name_scope()) == ("a/", "a/a/", "a/a")
    with tf.name_scope("outside"):
        module = tf.Module(name="m")
    assert module.name_scope.name == "outside/m/"
    assert module.name_scope is module.name_scope
    with module.name_scope as entered:
        assert entered == "outside/m/"


def test_what_stands_for_tensors():
    class Three:
        def __tf_tensor__(self, dtype=None, name=None):
            return tf.constant((1, 2, 3), dtype=dtype, name=name)

    class Items:
        def __init__(self, *items):
            self.items = items

        def __len__(self):
            return len(self.items)

        def __getitem__(self, number):
            return self.items[number]

    assert tf.convert_to_tensor(Three(), tf.float32).dtype is tf.float32
    assert tf.add(Three(), [1, 1, 1]).numpy().tolist() == [2, 3, 4]
    assert tf.constant(Items(Items(1, 2), [3, 4])).numpy().tolist() == [[1, 2], [3, 4]]
    with tf.Graph().as_default(), pytest.raises(NotImplementedError, match="Cannot convert the symbolic"):
        np.array(tf.constant(1.0))


def test_functions_are_called_by_the_names_of_their_leaves():
    function = tf.function(lambda inputs, z: inputs["a"] - inputs["b"][0] * z, reduce_retracing=None)
    made = function.get_concrete_function(
        {"a": tf.TensorSpec([], name="q"), "b": [tf.TensorSpec([])]}, tf.TensorSpec([])
    )
    assert float(made(q=tf.constant(1.0), inputs=tf.constant(2.0), z=tf.constant(3.0))) == -5.0


def test_where_programs_run():
    assert v1.executing_eagerly_outside_functions()
    seen = []
    tf.function(lambda: seen.append(v1.executing_eagerly_outside_functions()))()
    with tf.Graph().as_default():
        assert not v1.executing_eagerly_outside_functions()
        first = tf.constant(1.0).op
        with tf.control_dependencies([first]):
            assert tf.constant(2.0).op.control_inputs == [first]
    assert seen == [True]


def test_deterministic_ops_need_seeds():
    program = """
import situs as tf
tf.config.experimental.enable_op_determinism()
for call in (lambda: tf.random.normal([2]), tf.random.Generator.from_non_deterministic_state):
    try:
        call()
    except RuntimeError:
        print("refused")
tf.random.set_seed(1)
print(tf.random.normal([2]).shape)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.split("\n")[:3] == ["refused", "refused", "(2,)"]


def test_messages_of_tensorboard_are_read():
    from tensorboard.util.tensor_util import make_tensor_proto as of_tensorboard

    assert tf.make_ndarray(of_tensorboard([1, 2])).tolist() == [1, 2]
    assert tf.make_ndarray(of_tensorboard(["a", "b"])).tolist() == [b"a", b"b"]
