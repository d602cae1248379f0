"""``v[...].assign(...)``: parts of variables. The figures are TensorFlow 2.21's."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import situs as tf
import situs.compat.v1 as v1
from situs._src.variables import parts

START = np.arange(12, dtype=np.float32).reshape(3, 4)

CASES = {
    "a row": (lambda v: v[1], [9.0, 8.0, 7.0, 6.0], [[0, 1, 2, 3], [9, 8, 7, 6], [8, 9, 10, 11]]),
    "part of a column": (lambda v: v[0:2, 1], [9.0, 8.0], [[0, 9, 2, 3], [4, 8, 6, 7], [8, 9, 10, 11]]),
    "backwards": (lambda v: v[::-1, -1], [1.0, 2.0, 3.0], [[0, 1, 2, 3], [4, 5, 6, 2], [8, 9, 10, 1]]),
    "an element": (lambda v: v[2, 3], 5.0, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 5]]),
    "one number for all": (lambda v: v[1], 5.0, [[0, 1, 2, 3], [5, 5, 5, 5], [8, 9, 10, 11]]),
    "one row for all": (lambda v: v[0:2], [1.0, 2.0, 3.0, 4.0], [[1, 2, 3, 4], [1, 2, 3, 4], [8, 9, 10, 11]]),
    "beyond the end": (lambda v: v[1:9], np.ones([2, 4], np.float32), [[0, 1, 2, 3], [1, 1, 1, 1], [1, 1, 1, 1]]),
    "nothing": (lambda v: v[2:1], np.zeros([0, 4], np.float32), START.tolist()),
    "a new axis": (lambda v: v[tf.newaxis, 1], [[1.0, 2.0, 3.0, 4.0]], [[0, 1, 2, 3], [1, 2, 3, 4], [8, 9, 10, 11]]),
    "dots": (lambda v: v[..., 0], [1.0, 2.0, 3.0], [[1, 1, 2, 3], [2, 5, 6, 7], [3, 9, 10, 11]]),
}


@pytest.mark.parametrize(("part", "value", "expected"), CASES.values(), ids=CASES.keys())
def test_in_eager_code(part, value, expected):
    v = tf.Variable(START)
    before = v.value()
    assert part(v).assign(value) is v
    assert v.numpy().tolist() == expected
    assert before.numpy().tolist() == START.tolist()


@pytest.mark.parametrize(("part", "value", "expected"), CASES.values(), ids=CASES.keys())
def test_in_a_function(part, value, expected):
    v = tf.Variable(START)

    @tf.function
    def change():
        part(v).assign(value)
        return v.read_value()

    assert change().numpy().tolist() == expected
    assert v.numpy().tolist() == expected


@pytest.mark.parametrize(("part", "value", "expected"), CASES.values(), ids=CASES.keys())
def test_in_a_session(part, value, expected):
    with v1.Graph().as_default(), v1.Session() as session:
        v = v1.Variable(START)
        changed = part(v).assign(value)
        assert changed.op.type == "StridedSliceAssign"
        assert changed.shape == [3, 4]
        session.run(v.initializer)
        assert session.run(changed).tolist() == expected
        assert session.run(v).tolist() == expected


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_index_changes_what_numpy_changes(data):
    array = np.arange(24).reshape(2, 3, 4)
    bounds = st.one_of(st.none(), st.integers(-5, 5))
    entry = st.builds(slice, bounds, bounds, st.sampled_from([None, 1, 2, -1, -2]))
    index = tuple(
        data.draw(st.one_of(entry, st.integers(-size, size - 1)))
        for size in array.shape[: data.draw(st.integers(1, 3))]
    )
    v = tf.Variable(array)
    value = -1 - np.arange(array[index].size).reshape(array[index].shape)
    v[index].assign(value)
    array[index] = value
    assert v.numpy().tolist() == array.tolist()


def test_an_index_may_be_a_tensor_of_the_run():
    v = tf.Variable(START)

    @tf.function
    def change(row):
        v[row].assign([9.0, 9.0, 9.0, 9.0])

    change(tf.constant(2))
    change(tf.constant(0))
    assert v.numpy()[:, 0].tolist() == [9, 4, 9]
    with pytest.raises(tf.errors.InvalidArgumentError, match="slice index 7 of dimension 0 out of bounds"):
        change(tf.constant(7))


@pytest.mark.parametrize("index", [3, -4, (0, 4), (0, 0, 0)])
def test_what_is_not_there_cannot_be_assigned_to(index):
    v = tf.Variable(START)
    with pytest.raises(tf.errors.InvalidArgumentError, match="out of"):
        v[index].assign(0.0)
    assert v.numpy().tolist() == START.tolist()


@pytest.mark.parametrize("value", [[1.0, 2.0], np.ones([3, 4]), np.ones([1, 2, 4]), np.ones([0, 4])])
def test_a_value_of_another_shape_is_refused(value):
    v = tf.Variable(START)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"Cannot broadcast input shape .* into final shape \[2,4\]"
    ):
        v[0:2].assign(tf.constant(value, tf.float32))
    assert v.numpy().tolist() == START.tolist()


def test_a_value_of_another_dtype_is_refused():
    with pytest.raises((TypeError, ValueError), match="int32"):
        tf.Variable(START)[1].assign(tf.constant([1, 2, 3, 4]))


@pytest.mark.parametrize(
    ("dtype", "value"), [(tf.bool, True), (tf.string, "x"), (tf.uint32, 7), (tf.int64, -7), (tf.complex64, 1j)]
)
def test_every_kind_of_element(dtype, value):
    v = tf.Variable(tf.zeros([3], dtype) if dtype != tf.string else ["a", "b", "c"])
    untouched = v[0].numpy()
    v[1:].assign(tf.constant([value, value], dtype))
    assert v[0].numpy() == untouched
    assert v.numpy()[1:].tolist() == tf.constant([value, value], dtype).numpy().tolist()


def test_only_parts_of_variables_have_assign():
    v = tf.Variable(START)
    assert hasattr(v[1], "assign")
    for tensor in (tf.constant(START)[1], v[v > 5.0], v.value(), v[1] + 1.0):
        assert not hasattr(tensor, "assign")
    with pytest.raises(AttributeError, match="'EagerTensor' object has no attribute 'assign_add'"):
        v[1].assign_add(1.0)


def test_parts_are_forgotten_with_their_tensors():
    v = tf.Variable(START)
    gc.collect()
    before = len(parts._sources)
    for _ in range(100):
        v[1]
    gc.collect()
    assert len(parts._sources) <= before + 1


def test_the_gradient_of_what_is_read_from_a_part():
    v = tf.Variable(START)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(v[1] * v[1])
    expected = np.zeros_like(START)
    expected[1] = 2 * START[1]
    assert tf.convert_to_tensor(tape.gradient(y, v)).numpy().tolist() == expected.tolist()
