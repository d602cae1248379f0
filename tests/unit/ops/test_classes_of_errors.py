"""The classes of errors that bad calls raise, at once and in functions, as TensorFlow (2.21) has them."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf

M = np.arange(6, dtype=np.float32).reshape(2, 3)
INVALID, VALUE, TYPE, RANGE = tf.errors.InvalidArgumentError, ValueError, TypeError, tf.errors.OutOfRangeError


def array(size, dtype=tf.float32, **options):
    return tf.TensorArray(dtype, size, **options)


# A call, and what it raises in eager code and in a function.
CALLS = {
    "a stack of unequal arrays": (lambda: tf.stack([np.ones(2), np.ones(3)]), INVALID, VALUE),
    "a stack of unequal lists": (lambda: tf.stack([[1, 2], [1, 2, 3]]), INVALID, VALUE),
    "linspace of less than nothing": (lambda: tf.linspace([0.0], [1.0], -1), INVALID, VALUE),
    "linspace of a fraction": (lambda: tf.linspace(0.0, 1.0, 2.5), TYPE, TYPE),
    "searchsorted of other rows": (lambda: tf.searchsorted([[1.0, 2.0], [3.0, 4.0]], [1.0]), INVALID, INVALID),
    "searchsorted of more rows": (lambda: tf.searchsorted([[1.0], [3.0]], [[1.0], [2.0], [3.0]]), INVALID, INVALID),
    "an array of another dtype": (lambda: array(2).write(0, tf.constant(1)).stack(), INVALID, INVALID),
    "an array of integers": (lambda: array(1, tf.int32).write(0, 1.5).stack(), INVALID, INVALID),
    "an array read too far": (lambda: array(2, element_shape=[]).read(5), RANGE, INVALID),
    "an array written too far": (lambda: array(2).write(2, 1.0).stack(), RANGE, INVALID),
    "an array of a fraction": (lambda: array(2.5).size(), TYPE, TYPE),
    "an array with a fraction as a place": (lambda: array(2).write(0.5, 1.0).stack(), TYPE, TYPE),
    "an array of a scalar": (lambda: array(2).unstack(tf.constant(1.0)).stack(), VALUE, INVALID),
    "parts of another length": (lambda: array(2).split(M, [1, 2]).read(0), INVALID, INVALID),
    "a function of another dtype": (
        lambda: tf.py_function(lambda x: tf.cast(x, tf.int32), [tf.constant([1.0])], tf.float32),
        INVALID,
        INVALID,
    ),
    "rows of another dtype": (lambda: tf.map_fn(lambda x: tf.cast(x, tf.int32), tf.constant(M)), INVALID, INVALID),
    "batch_dims of gather_nd": (lambda: tf.gather_nd(M, [[0]], batch_dims=5), VALUE, VALUE),
    "batches of gather": (lambda: tf.gather(M, [[0], [1], [1]], batch_dims=1), INVALID, INVALID),
    "a slice that is too long": (lambda: tf.slice(M, [0, 0], [3, 2]), INVALID, INVALID),
    "a slice from nowhere": (lambda: tf.slice(M, [-1, 0], [1, 1]), INVALID, INVALID),
    "tiles that are negative": (lambda: tf.tile(M, [-1, 1]), INVALID, INVALID),
    "an axis of one_hot": (lambda: tf.one_hot([0], 3, axis=5), INVALID, INVALID),
    "too few segments": (lambda: tf.math.segment_sum(M, [0]), INVALID, INVALID),
    "an axis twice in transpose": (lambda: tf.transpose(M, [0, 0]), INVALID, INVALID),
    "an axis twice in a sum": (lambda: tf.reduce_sum(M, [0, 0]), INVALID, INVALID),
    "the largest of nothing": (lambda: tf.argmax(tf.zeros([0, 2]), 0), INVALID, INVALID),
    "reflections that are too wide": (lambda: tf.pad(M, [[5, 5], [1, 1]], "REFLECT"), INVALID, INVALID),
    "an axis of roll": (lambda: tf.roll(M, 1, 5), INVALID, INVALID),
    "an axis of cumsum": (lambda: tf.cumsum(M, 5), INVALID, INVALID),
    "a reshape to other sizes": (lambda: tf.reshape(M, [4, 2]), INVALID, VALUE),
    "a concat of other shapes": (lambda: tf.concat([M, M.T], 0), INVALID, VALUE),
    "an axis of concat": (lambda: tf.concat([M, M], 2), INVALID, VALUE),
    "a fraction beside integers": (lambda: tf.maximum(tf.constant([1, 2]), 0.5), TYPE, TYPE),
    "a fraction before integers": (lambda: 0.5 * tf.constant([1, 2]), TYPE, TYPE),
    "a word beside numbers": (lambda: tf.constant(M) < "a", TYPE, TYPE),
    "fractions compared with integers": (lambda: tf.constant([1, 2]) == [1.5, 2], TYPE, TYPE),
    "a fraction inside of a function": (lambda: tf.math.l2_normalize(tf.constant([1, 2])), TYPE, TYPE),
    "integers beside numbers": (lambda: tf.constant([1, 2]) * tf.constant([0.5, 1.0]), INVALID, TYPE),
    "a fraction added to integers": (lambda: tf.constant([1, 2]) + 0.5, INVALID, TYPE),
    "a fraction that integers are added to": (lambda: 0.5 + tf.constant([1, 2]), TYPE, TYPE),
    "a product of integers and fractions": (lambda: tf.matmul(tf.ones([1, 1], tf.int32), [[0.5]]), INVALID, TYPE),
    "a sum of integers and fractions": (lambda: tf.add_n([tf.constant(1), 0.5]), INVALID, TYPE),
    "the length of a number": (lambda: tf.strings.length(3), TYPE, TYPE),
    "a norm of integers": (lambda: tf.norm(tf.constant([1, 2])), INVALID, TYPE),
    "the gelu of integers": (lambda: tf.nn.gelu(tf.constant([1, 2])), VALUE, VALUE),
    "integers up to a fraction": (lambda: tf.range(2.0, dtype=tf.int32), TYPE, TYPE),
    "a quotient of booleans": (lambda: tf.constant([True]) / tf.constant([True]), TYPE, TYPE),
    "a choice of integers and fractions": (lambda: tf.where([True], [1], [0.5]), TYPE, TYPE),
    "a quotient of two dtypes": (lambda: tf.constant(M) / tf.constant([1, 2, 3]), TYPE, TYPE),
    "a quotient without NaN of two dtypes": (
        lambda: tf.math.divide_no_nan(tf.constant(M), tf.constant([1, 2, 3])),
        TYPE,
        TYPE,
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_class_of_an_error(name):
    call, eager, in_function = CALLS[name]
    for run, expected in ((call, eager), (tf.function(call, autograph=False), in_function)):
        with pytest.raises(expected) as caught:
            run()
        assert type(caught.value).__name__ == expected.__name__
