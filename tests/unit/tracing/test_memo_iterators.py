"""Iterators of datasets as arguments of functions that have been called before."""

from __future__ import annotations

import pytest

import situs as tf


def iterator(*values):
    return iter(tf.data.Dataset.from_tensor_slices(list(values)))


def found(function, *args, **kwargs):
    """The values that the function's memo gives to a program; None if the call has to be looked up the whole way."""
    entry = function._memo.find_mixed(args, kwargs)
    return None if entry is None else entry[1]


def test_a_second_call_with_another_iterator_is_found():
    taken = tf.function(lambda it: next(it) + 1.0)
    first, second = iterator(1.0, 2.0), iterator(10.0, 20.0)
    assert float(taken(first)) == 2.0
    [value] = found(taken, second)
    assert value.iterator is second
    assert [float(taken(each)) for each in (second, first, second)] == [11.0, 3.0, 21.0]
    assert taken.experimental_get_tracing_count() == 1


def test_elements_of_another_kind_are_another_call():
    taken = tf.function(lambda it: next(it))
    taken(iterator(1.0))
    assert found(taken, iterator(1)) is None
    assert found(taken, iterator([1.0, 2.0])) is None
    assert taken(iterator(7)).dtype == tf.int32


def test_tensors_and_two_iterators_go_where_they_belong():
    taken = tf.function(lambda a, x, b, scale=1.0: next(a) * scale + x * next(b))
    one, two = iterator(1.0, 2.0, 3.0), iterator(10.0, 20.0, 30.0)
    assert float(taken(one, tf.constant(2.0), two)) == 21.0
    assert found(taken, one, tf.constant(2.0), two) is not None
    assert float(taken(two, tf.constant(3.0), one, scale=2.0)) == 46.0
    assert float(taken(one, tf.constant(2.0), two)) == 63.0


def test_the_end_is_an_error_and_the_next_call_goes_on():
    taken = tf.function(lambda it: next(it))
    short = iterator(1.0)
    taken(short)
    for _ in range(2):
        with pytest.raises(tf.errors.OutOfRangeError):
            taken(short)
    assert float(taken(iterator(5.0))) == 5.0


def test_an_iterator_goes_when_the_program_lets_go_of_it():
    import weakref

    taken = tf.function(lambda it: next(it))
    made = iterator(1.0, 2.0)
    taken(made)
    taken(made)
    gone = weakref.ref(made)
    del made
    assert gone() is None
