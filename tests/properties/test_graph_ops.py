"""Whatever is known of the inputs, a graph computes what NumPy does, and promises no shape that it does not keep."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import situs.compat.v1 as tf

SIZES = st.lists(st.integers(0, 4), min_size=1, max_size=4)
FILLED = st.lists(st.integers(1, 4), min_size=1, max_size=4)


@st.composite
def partly_known(draw, sizes):
    """A static shape that agrees with `sizes`: any part of it, or nothing at all."""
    if draw(st.booleans()) and draw(st.booleans()):
        return None
    return [size if draw(st.booleans()) else None for size in sizes]


def run(build, arrays, shapes, numbers=()):
    """Runs a graph of placeholders with these static shapes; numbers are fed as scalars of int32."""
    with tf.Graph().as_default(), tf.Session() as sess:
        tensors = [tf.placeholder(tf.as_dtype(a.dtype), s) for a, s in zip(arrays, shapes, strict=True)]
        scalars = [tf.placeholder(tf.int32, []) for _ in numbers]
        made = build(*tensors, *scalars)
        feeds = dict(zip([*tensors, *scalars], [*arrays, *numbers], strict=True))
        found = sess.run(made, feeds)
        assert made.shape.is_compatible_with(np.shape(found))
        return found


def numbered(sizes):
    return np.arange(int(np.prod(sizes)), dtype=np.int32).reshape(sizes)


@given(st.data(), SIZES)
def test_broadcasting(data, sizes):
    other = [1 if data.draw(st.booleans()) else size for size in sizes][data.draw(st.integers(0, len(sizes))) :]
    x, y = numbered(sizes), numbered(other)
    shapes = [data.draw(partly_known(sizes)), data.draw(partly_known(other))]
    np.testing.assert_array_equal(run(lambda a, b: a + b, [x, y], shapes), x + y)


@given(st.data(), SIZES)
def test_reductions(data, sizes):
    axes = data.draw(st.lists(st.integers(0, len(sizes) - 1), unique=True))
    keep = data.draw(st.booleans())
    x = numbered(sizes)
    expected = x.sum(tuple(axes), keepdims=keep)
    shape = data.draw(partly_known(sizes))
    np.testing.assert_array_equal(run(lambda a: tf.reduce_sum(a, axes, keepdims=keep), [x], [shape]), expected)

    def computed(a, *numbers):
        return tf.reduce_sum(a, tf.identity(tf.stack(numbers)) if numbers else [], keepdims=keep)

    np.testing.assert_array_equal(run(computed, [x], [shape], axes), expected)


@st.composite
def index_of(draw, sizes):
    """An index, with a word for what is fed: ``("n", value)`` stands for a tensor."""
    entries = []
    for size in sizes[: draw(st.integers(0, len(sizes)))]:
        bound = st.integers(-size - 1, size + 1) | st.none()
        if draw(st.booleans()):
            entries.append(draw(st.integers(-size, size - 1)))
        else:
            entries.append(slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, -1, -2]))))
        if draw(st.integers(0, 4)) == 0:
            entries.append(None)
    if draw(st.booleans()):
        entries.append(...)
    return tuple(entries)


@given(st.data(), FILLED)
def test_indexing(data, sizes):
    x, index = numbered(sizes), data.draw(index_of(sizes))
    shape = data.draw(partly_known(sizes))
    np.testing.assert_array_equal(run(lambda a: a[index], [x], [shape]), x[index])


@given(st.data(), FILLED)
def test_indexing_by_tensors(data, sizes):
    x, index = numbered(sizes), data.draw(index_of(sizes))
    numbers = []

    def with_tensors(entry, scalars):
        """The entry, with some of its numbers taken from the scalars that are fed."""
        if isinstance(entry, slice):
            return slice(*(with_tensors(part, scalars) for part in (entry.start, entry.stop, entry.step)))
        return scalars.pop(0) if type(entry) is int else entry

    for entry in index:
        parts = (entry.start, entry.stop, entry.step) if isinstance(entry, slice) else (entry,)
        numbers += [part for part in parts if type(part) is int]

    def build(a, *scalars):
        left = list(scalars)
        return a[tuple(with_tensors(entry, left) for entry in index)]

    np.testing.assert_array_equal(run(build, [x], [data.draw(partly_known(sizes))], numbers), x[index])


@st.composite
def mixed(draw, values):
    """A function from scalars to `values`, of which some are taken from them; and the numbers to feed."""
    is_fed = [draw(st.booleans()) for _ in values]

    def take(scalars):
        left = iter(scalars)
        return [next(left) if fed else value for value, fed in zip(values, is_fed, strict=True)]

    return take, [value for value, fed in zip(values, is_fed, strict=True) if fed]


@given(st.data(), SIZES)
def test_sizes_and_axes_of_which_some_are_computed(data, sizes):
    x, shape = numbered(sizes), data.draw(partly_known(sizes))
    wanted = data.draw(st.permutations(sizes))
    take, fed = data.draw(mixed(wanted))
    np.testing.assert_array_equal(run(lambda a, *n: tf.reshape(a, take(n)), [x], [shape], fed), x.reshape(wanted))
    order = data.draw(st.permutations(range(len(sizes))))
    take, fed = data.draw(mixed(order))
    np.testing.assert_array_equal(run(lambda a, *n: tf.transpose(a, take(n)), [x], [shape], fed), x.transpose(order))
    axes = data.draw(st.lists(st.integers(0, len(sizes) - 1), unique=True, min_size=1))
    take, fed = data.draw(mixed(axes))
    found = run(lambda a, *n: tf.reduce_sum(a, take(n)), [x], [shape], fed)
    np.testing.assert_array_equal(found, x.sum(tuple(axes)))
    times = [data.draw(st.integers(0, 2)) for _ in sizes]
    take, fed = data.draw(mixed(times))
    np.testing.assert_array_equal(run(lambda a, *n: tf.tile(a, take(n)), [x], [shape], fed), np.tile(x, times))
    take, fed = data.draw(mixed([3, *sizes]))
    found = run(lambda a, *n: tf.broadcast_to(a, take(n)), [x], [shape], fed)
    np.testing.assert_array_equal(found, np.broadcast_to(x, [3, *sizes]))


@given(st.data(), FILLED)
def test_slices_of_which_some_bounds_are_computed(data, sizes):
    begin = [data.draw(st.integers(0, size - 1)) for size in sizes]
    count = [data.draw(st.integers(-1, size - start)) for size, start in zip(sizes, begin, strict=True)]
    take, fed = data.draw(mixed(begin + count))
    rank, x = len(sizes), numbered(sizes)

    def build(a, *scalars):
        numbers = take(scalars)
        return tf.slice(a, numbers[:rank], numbers[rank:])

    cut = tuple(slice(b, None if c < 0 else b + c) for b, c in zip(begin, count, strict=True))
    np.testing.assert_array_equal(run(build, [x], [data.draw(partly_known(sizes))], fed), x[cut])


@given(st.data(), FILLED, st.integers(1, 3))
def test_joining(data, sizes, count):
    axis = data.draw(st.integers(-len(sizes), len(sizes) - 1))
    arrays = [numbered(sizes) + i for i in range(count)]
    shapes = [data.draw(partly_known(sizes)) for _ in arrays]
    expected = np.concatenate(arrays, axis)
    np.testing.assert_array_equal(run(lambda *t: tf.concat(t, axis), arrays, shapes), expected)
    found = run(lambda *t: tf.concat(t[:-1], t[-1]), arrays, shapes, [axis])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(run(lambda *t: tf.stack(t), arrays, shapes), np.stack(arrays))


@given(st.data(), SIZES)
def test_values_of_computed_sizes(data, sizes):
    known = [data.draw(st.booleans()) for _ in sizes]
    fed = [size for size, is_known in zip(sizes, known, strict=True) if not is_known]
    for make in (tf.zeros, tf.ones, lambda s: tf.fill(s, 7.0), tf.random_normal, tf.random_uniform):

        def build(*scalars, make=make):
            left = list(scalars)
            return make([size if is_known else left.pop(0) for size, is_known in zip(sizes, known, strict=True)])

        assert list(run(build, [], [], fed).shape) == sizes
