"""Runs in parts."""

from __future__ import annotations

import pytest

import situs.compat.v1 as tf


@pytest.fixture
def parts():
    """``r1 = a + b`` and ``r2 = r1 * c``, with a session."""
    with tf.Graph().as_default(), tf.Session() as sess:
        a, b, c = (tf.placeholder(tf.float32, [], name=name) for name in "abc")
        r1 = a + b
        yield sess, a, b, c, r1, r1 * c


def test_what_was_computed_is_kept_for_the_next_part(parts):
    sess, a, b, c, r1, r2 = parts
    for factor in (17, 51):
        handle = sess.partial_run_setup([r1, r2], [a, b, c])
        assert sess.partial_run(handle, r1, {a: 1, b: 2}) == 3.0
        assert sess.partial_run(handle, r2, {c: factor}) == 3.0 * factor


def test_everything_may_happen_in_one_part(parts):
    sess, a, b, c, r1, r2 = parts
    handle = sess.partial_run_setup([r1, r2], [a, b, c])
    assert sess.partial_run(handle, [r1, r2], {a: 1, b: 2, c: 3}) == [3.0, 9.0]


def test_a_part_may_only_feed(parts):
    sess, a, b, c, r1, r2 = parts
    handle = sess.partial_run_setup([r1, r2], [a, b, c])
    assert sess.partial_run(handle, [], {a: 1}) == []
    assert sess.partial_run(handle, r1, {b: 2}) == 3.0


def test_parts_take_every_form_of_fetch_and_feed(parts):
    sess, a, b, c, r1, r2 = parts
    handle = sess.partial_run_setup({"x": r1, "y": [r2]}, ["a:0", b, c])
    assert sess.partial_run(handle, {"q": (r1,)}, {(a, b): (1, 2)}) == {"q": (3.0,)}
    assert sess.partial_run(handle, r2.name, {"c:0": 2}) == 6.0
    assert sess.partial_run(sess.partial_run_setup(c, c), "c:0", {c: 4}) == 4.0


def test_an_operation_runs_once(parts):
    sess, a, b, *_ = parts
    v = tf.Variable(0.0)
    sess.run(v.initializer)
    more = v.assign_add(a)
    product = tf.identity(more) * b
    handle = sess.partial_run_setup([more.op, product], [a, b])
    assert sess.partial_run(handle, more.op, {a: 3}) is None
    assert sess.partial_run(handle, product, {b: 2}) == 6.0
    assert sess.run(v) == 3.0


def test_a_part_may_lie_on_another_device(parts):
    sess, a, b, c, *_ = parts
    with tf.device("/gpu:1"):
        r1 = a * b
    with tf.device("/gpu:2"):
        r2 = r1 + c
    handle = sess.partial_run_setup([r1, r2], [a, b, c])
    assert sess.partial_run(handle, r1, {a: 3, b: 2}) == 6.0
    assert sess.partial_run(handle, r2, {c: 1}) == 7.0


def test_what_was_not_announced_is_refused(parts):
    sess, a, b, c, r1, r2 = parts
    handle = sess.partial_run_setup([r1], [a, b])
    with pytest.raises(ValueError, match=r"was not specified in partial_run_setup\.$"):
        sess.partial_run(handle, r2, {a: 1, b: 2})
    with pytest.raises(ValueError, match=r"c:0 was not specified in partial_run_setup\.$"):
        sess.partial_run(handle, r1, {a: 1, b: 2, c: 3})


def test_nothing_is_fed_or_fetched_twice(parts):
    sess, a, b, c, r1, r2 = parts
    handle = sess.partial_run_setup([r1, r2], [a, b, c])
    sess.partial_run(handle, r1, {a: 1, b: 2})
    with pytest.raises(ValueError, match=r"has already been fe(d|tched)\.$"):
        sess.partial_run(handle, r2, {a: 1, c: 1})
    with pytest.raises(ValueError, match=r"has already been fe(d|tched)\.$"):
        sess.partial_run(handle, r1)


def test_what_is_missing_is_named(parts):
    sess, a, b, _, r1, _ = parts
    handle = sess.partial_run_setup([r1], [a, b])
    with pytest.raises(tf.errors.InvalidArgumentError, match="You must feed a value for placeholder tensor 'b'"):
        sess.partial_run(handle, r1, {a: 1})


@pytest.mark.parametrize("handle", ["bogus", 3, None])
def test_a_part_needs_a_handle(parts, handle):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Must run 'setup' before performing partial runs!"):
        parts[0].partial_run(handle, [])


def test_something_must_be_fetched(parts):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Must specify at least one target to fetch or execute"):
        parts[0].partial_run_setup([], [])
