"""``cond``, ``case``, ``switch_case`` and ``while_loop``, in eager code, in functions and in graphs."""

from __future__ import annotations

import collections

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1
from situs._src.ops import control_v1
from tests.unit.ops.conftest import eagerly, in_function, in_session, plain

c = tf.constant
Pair = collections.namedtuple("Pair", "first second")


@pytest.fixture(params=[in_function, in_session], ids=lambda way: way.__name__)
def symbolic(request):
    return lambda function: plain(request.param(function))


# cond


BRANCHES = {
    "one tensor": (lambda: c(1), lambda: c(2), 1, 2),
    "a list of one": (lambda: [c(1)], lambda: [c(2)], [1], [2]),
    "a tuple": (lambda: (c(1), c(2.0)), lambda: (c(3), c(4.0)), (1, 2.0), (3, 4.0)),
    "a named tuple": (lambda: Pair(c(1), c(2)), lambda: Pair(c(3), c(4)), Pair(1, 2), Pair(3, 4)),
    "nested": (
        lambda: {"a": c(1), "b": (c(2.0), [c(3)])},
        lambda: {"b": (c(5.0), [c(6)]), "a": c(4)},
        {"a": 1, "b": (2.0, [3])},
        {"a": 4, "b": (5.0, [6])},
    ),
    "strings": (lambda: c("yes"), lambda: c("no"), b"yes", b"no"),
    "other shapes": (lambda: c([1, 2]), lambda: c([1, 2, 3]), [1, 2], [1, 2, 3]),
}


@pytest.mark.parametrize("truth", [True, False])
@pytest.mark.parametrize("name", BRANCHES)
def test_cond_takes_one_branch(way, name, truth):
    then, otherwise, first, second = BRANCHES[name]
    assert way(lambda: tf.cond(c(truth), then, otherwise)) == (first if truth else second)


def test_cond_with_python_values(way):
    assert way(lambda: tf.cond(c(False), lambda: 1, lambda: 2)) == 2


def test_cond_with_nothing_in_the_structure():
    for way in (eagerly, in_function):
        found = way(lambda: tf.cond(c(False), lambda: [c(1), None], lambda: [c(2), None]))
        assert plain(found) == [2, None]
        assert way(lambda: tf.cond(c(True), lambda: None, lambda: None)) is None


@pytest.mark.parametrize("pred", [c(1), c(0.5), np.bool_(True), c([True]), 1], ids=str)
def test_cond_reads_any_truth_in_eager_code(pred):
    assert int(tf.cond(pred, lambda: c(1), lambda: c(2))) == 1


def test_cond_knows_less_of_shapes_that_differ():
    seen = []

    def build():
        made = tf.cond(c(True), lambda: tf.zeros([2, 3]), lambda: tf.zeros([2, 4]))
        seen.append(made.shape.as_list())
        return made

    in_function(build)
    assert seen == [[2, None]]


def test_cond_uses_tensors_and_variables_from_outside():
    v = tf.Variable(5.0)

    @tf.function
    def f(p, x):
        y = x + 1.0
        return tf.cond(p, lambda: y * v, lambda: tf.cond(y > 2.0, lambda: v - y, lambda: x))

    assert [float(f(c(True), c(1.0))), float(f(c(False), c(1.0))), float(f(c(False), c(2.0)))] == [10.0, 1.0, 2.0]
    v.assign(7.0)
    assert float(f(c(True), c(1.0))) == 14.0


def test_only_the_branch_that_is_taken_has_effects(capsys):
    v = tf.Variable(0.0)

    @tf.function
    def f(p):
        def then():
            tf.print("then")
            v.assign_add(1.0)
            tf.debugging.Assert(True, [v])

        def otherwise():
            tf.print("otherwise")
            v.assign_add(10.0)
            tf.debugging.Assert(False, ["never"])

        tf.cond(p, then, otherwise)

    f(c(True))
    f(c(True))
    assert float(v) == 2.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="never"):
        f(c(False))
    captured = capsys.readouterr()
    text = captured.out + captured.err
    assert (text.count("then"), text.count("otherwise")) == (2, 1)


def test_cond_of_operations_is_something_to_run():
    with v1.Graph().as_default(), v1.Session() as sess:
        v = v1.Variable(0.0)
        p = v1.placeholder(tf.bool, [])
        either = tf.cond(p, lambda: v.assign_add(1.0).op, tf.no_op)
        sess.run(v.initializer)
        sess.run(either, {p: True})
        sess.run(either, {p: False})
        assert sess.run(v) == 1.0


@pytest.mark.parametrize(
    ("then", "otherwise", "found"),
    [
        (lambda: c(1), lambda: c(2.0), "result 0 is int32 in the one and float32 in the other"),
        (lambda: [c(1)], lambda: [c(1), c(2)], r"\[\*\] is not \[\*, \*\]"),
        (lambda: [c(1)], lambda: (c(1),), r"\[\*\] is not \(\*,\)"),
        (lambda: {"a": c(1)}, lambda: {"b": c(1)}, r"{a: \*} is not {b: \*}"),
        (lambda: None, lambda: c(1), r"None is not \*"),
    ],
)
def test_branches_that_do_not_match(symbolic, then, otherwise, found):
    with pytest.raises(
        TypeError, match=r"true_fn and false_fn arguments to tf\.cond must have the same number"
    ) as caught:
        symbolic(lambda: tf.cond(c(True), then, otherwise))
    assert caught.match(found)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: tf.cond(True, lambda: c(1), lambda: c(2)), "pred must not be a Python bool"),
        (lambda: tf.cond(c(1), lambda: c(1), lambda: c(2)), "must be a boolean scalar"),
        (lambda: tf.cond(c("a"), lambda: c(1), lambda: c(2)), "must be a boolean scalar"),
        (lambda: tf.cond(c(True), c(1), c(2)), "'true_fn' must be callable"),
        (lambda: tf.cond(c(True), lambda: c(1)), "'false_fn' argument required"),
    ],
)
def test_wrong_conds(symbolic, call, reason):
    with pytest.raises(TypeError, match=reason):
        symbolic(call)


def test_a_predicate_that_turns_out_to_be_no_scalar():
    f = tf.function(
        lambda p: tf.cond(p, lambda: c(1), lambda: c(2)),
        input_signature=[tf.TensorSpec(None, tf.bool)],
        autograph=False,
    )
    assert int(f(True)) == 1
    with pytest.raises(ValueError, match=r"must be a scalar, got shape \[2\]"):
        f([True, False])


# case and switch_case


def choose(x, **options):
    return tf.case([(x < 2, lambda: c(1)), (x < 4, lambda: c(2))], **options)


@pytest.mark.parametrize(("value", "expected"), [(1, 1), (3, 2), (7, 9)])
def test_case(way, value, expected):
    assert way(lambda: choose(c(value), default=lambda: c(9))) == expected


def test_case_without_default(way):
    assert way(lambda: choose(c(3))) == 2
    with pytest.raises(ValueError, match="None of conditions evaluated as True"):
        way(lambda: choose(c(7)))


def test_case_exclusively(way):
    assert way(lambda: choose(c(3), exclusive=True)) == 2
    with pytest.raises(ValueError, match="more than 1 conditions"):
        way(lambda: choose(c(1), default=lambda: c(9), exclusive=True))


def test_case_of_a_dictionary_of_symbolic_tensors():
    with v1.Graph().as_default(), v1.Session() as sess:
        pairs = {c(1) < 2: lambda: c(1), c(3) < 2: lambda: c(2)}
        assert sess.run(tf.case(pairs, default=lambda: c(9), exclusive=True)) == 1


@pytest.mark.parametrize(
    ("pairs", "kind", "reason"),
    [
        (3, TypeError, "must be a list, tuple, or dict"),
        ([], ValueError, "at least one"),
        ([(c(True), lambda: c(1), 3)], TypeError, "must be a 2-tuple"),
        ([[c(True), lambda: c(1)]], TypeError, "must be a 2-tuple"),
        ([(c(True), c(1))], TypeError, "must be callable"),
        ([(c(1), lambda: c(1))], TypeError, "pred must be Tensor of type bool"),
        (["ab"], TypeError, "must be a 2-tuple"),
    ],
)
def test_wrong_cases(pairs, kind, reason):
    with pytest.raises(kind, match=reason):
        tf.case(pairs, default=lambda: c(9))
    with pytest.raises(TypeError, match="'default' must be callable"):
        tf.case([(c(True), lambda: c(1))], default=3)


@pytest.mark.parametrize(("index", "expected"), [(0, 10), (1, 20), (2, 30), (3, 30), (-1, 30)])
def test_switch_case(way, index, expected):
    assert way(lambda: tf.switch_case(c(index), [lambda: c(10), lambda: c(20), lambda: c(30)])) == expected


@pytest.mark.parametrize(("index", "expected"), [(0, {"a": 1}), (1, {"a": 2}), (2, {"a": 0}), (-5, {"a": 0})])
@pytest.mark.parametrize("form", [dict, lambda pairs: list(pairs)])
def test_switch_case_with_numbers_and_default(way, form, index, expected):
    functions = form([(1, lambda: {"a": c(2)}), (0, lambda: {"a": c(1)})])
    assert way(lambda: tf.switch_case(c(index), functions, default=lambda: {"a": c(0)})) == expected


def test_switch_case_by_other_integers(way):
    assert way(lambda: tf.switch_case(c(1, tf.int64), [lambda: c(10), lambda: c(20)])) == 20


@pytest.mark.parametrize(
    ("index", "functions", "kind", "reason"),
    [
        (c(1), [], ValueError, "at least one"),
        (c(1), 3, TypeError, "must be a list, tuple, or dict"),
        (c(1), [1, 2], TypeError, "must be a 2-tuple"),
        (c(1), {0: lambda: c(1), 5: lambda: c(2)}, ValueError, r"contiguous range of \[0 to 2\) but found {0,5}"),
        (c(1), [(1, lambda: c(1)), (1, lambda: c(2))], ValueError, "contiguous range"),
        (c(1), {"a": lambda: c(1)}, TypeError, "key must be a Python `int`"),
        (c(1), {0: 3}, TypeError, "must be callable"),
        (c(1.0), [lambda: c(1)], TypeError, "must be an integer Tensor"),
        (1, [lambda: c(1)], TypeError, "must be an integer Tensor"),
    ],
)
def test_wrong_switch_cases(index, functions, kind, reason):
    with pytest.raises(kind, match=reason):
        tf.switch_case(index, functions)


# while_loop


LOOPS = {
    "one variable": (lambda i: i < 3, lambda i: i + 1, lambda: [c(0)], [3]),
    "a tuple of one": (lambda i: i < 3, lambda i: (i + 1,), lambda: (c(0),), (3,)),
    "a Python number": (lambda i: i < 3, lambda i: i + 1, lambda: [0], [3]),
    "several": (lambda i, x: i < 3, lambda i, x: (i + 1, x * 2.0), lambda: (c(0), c(1.0)), (3, 8.0)),
    "a list, and tuples from the body": (lambda i, x: i < 3, lambda i, x: (i + 1, x), lambda: [c(0), c(1)], [3, 1]),
    "a dictionary": (
        lambda d: d["i"] < 3,
        lambda d: [{"s": d["s"] + d["i"], "i": d["i"] + 1}],
        lambda: [{"i": c(0), "s": c(0)}],
        [{"i": 3, "s": 3}],
    ),
    "a named tuple": (
        lambda first, second: first < 3,
        lambda first, second: Pair(first + 1, second * 2),
        lambda: Pair(c(0), c(1)),
        Pair(3, 8),
    ),
    "nested": (
        lambda i, s: i < 3,
        lambda i, s: (i + 1, [s[0] + 1.0, (s[1][0] * 2,)]),
        lambda: (c(0), [c(0.0), (c(1),)]),
        (3, [3.0, (8,)]),
    ),
    "no turn": (lambda i, x: i < 0, lambda i, x: (i + 1, x + 1.0), lambda: (c(0), c(5.0)), (0, 5.0)),
    "exchanged": (lambda a, b: a < 50, lambda a, b: (b, a + b), lambda: (c(0), c(1)), (55, 89)),
    "strings": (
        lambda i, s: i < 3,
        lambda i, s: (i + 1, tf.strings.join([s, "x"])),
        lambda: (c(0), c("h")),
        (3, b"hxxx"),
    ),
    "many dtypes": (
        lambda i, a, b, d: i < 2,
        lambda i, a, b, d: (i + 1, tf.logical_not(a), b + 1j, d * 2),
        lambda: (c(0), c(True), c(0j), c(3, tf.int64)),
        (2, True, 2j, 12),
    ),
    "never": (lambda i: c(False), lambda i: i + 1, lambda: [c(0)], [0]),
}


@pytest.mark.parametrize("name", LOOPS)
def test_while_loop(way, name):
    test, body, start, expected = LOOPS[name]
    assert way(lambda: tf.while_loop(test, body, start())) == expected


@pytest.mark.parametrize(
    ("most", "turns"), [(4, 4), (0, 0), (-3, 0), (1000, 10), (lambda: c(4), 4), (lambda: c(2) + c(1), 3)]
)
def test_at_most_so_many_turns(way, most, turns):
    def loop():
        limit = most() if callable(most) else most
        return tf.while_loop(lambda i, x: i < 10, lambda i, x: (i + 1, x), (c(0), c(1)), maximum_iterations=limit)

    assert way(loop) == (turns, 1)


@pytest.mark.parametrize(
    ("most", "kind"), [(4.5, TypeError), (c([4]), ValueError), ("many", TypeError), (1.0, TypeError)]
)
def test_wrong_limits(most, kind):
    with pytest.raises(kind, match="maximum_iterations"):
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, [c(0)], maximum_iterations=most)


INVARIANTS = {
    "shapes": lambda: [tf.TensorShape([]), tf.TensorShape([None])],
    "specs": lambda: [tf.TensorSpec([], tf.int32), tf.TensorSpec([None], tf.int32)],
    "nothing known": lambda: [tf.TensorShape(None), tf.TensorShape(None)],
    "plain lists": lambda: [[], [None]],
}


@pytest.mark.parametrize("name", INVARIANTS)
def test_shape_invariants(way, name):
    def loop():
        body = lambda i, x: (i + 1, tf.concat([x, x], 0))  # noqa: E731
        return tf.while_loop(lambda i, x: i < 3, body, [c(0), c([1])], shape_invariants=INVARIANTS[name]())

    assert way(loop) == [3, [1] * 8]


def test_shape_invariants_of_structures(way):
    def loop():
        return tf.while_loop(
            lambda i, d: i < 2,
            lambda i, d: (i + 1, {"x": tf.concat([d["x"], d["x"]], 0)}),
            (c(0), {"x": c([1])}),
            shape_invariants=(tf.TensorShape([]), {"x": tf.TensorShape([None])}),
        )

    assert way(loop) == (2, {"x": [1] * 4})


def test_what_is_known_of_shapes_after_a_loop():
    seen = []

    def build():
        grown, kept = tf.while_loop(
            lambda x, y: tf.size(x) < 20,
            lambda x, y: (tf.concat([x, x], 0), y + 1.0),
            (tf.zeros([2, 3]), tf.zeros([4])),
            shape_invariants=(tf.TensorShape([None, 3]), tf.TensorShape([4])),
        )
        seen.append((grown.shape.as_list(), kept.shape.as_list()))
        return kept

    in_function(build)
    assert seen == [([None, 3], [4])]


@pytest.mark.parametrize(
    ("turn", "shape"),
    [
        (lambda x: tf.concat([x, x], 0), r"\(2,\)"),
        (lambda x: x[None], r"\(1, 1\)"),
        (lambda x: tf.boolean_mask(x, x > 0), r"\(None,\)"),
    ],
    ids=["longer", "of another rank", "less known"],
)
@pytest.mark.parametrize("most", [None, 5])
@pytest.mark.parametrize("loop", [tf.while_loop, tf.compat.v1.while_loop], ids=["v2", "v1"])
def test_a_loop_keeps_the_shapes_of_its_variables(symbolic, turn, shape, most, loop):
    def build():
        start = [c(0), {"x": c([1])}]
        body = lambda i, x: (i + 1, {"x": turn(x["x"])})  # noqa: E731
        return loop(lambda i, x: i < 3, body, start, maximum_iterations=most)

    reason = rf"enters the loop with shape \(1,\), but has shape {shape} after one iteration.*`shape_invariants`"
    with pytest.raises(ValueError, match=reason):
        symbolic(build)


def test_what_a_turn_leaves_unknown_of_an_invariant_is_refused(symbolic):
    def loop():
        body = lambda i, x: (i + 1, tf.boolean_mask(x, x[:, 0] > 0))  # noqa: E731
        return tf.while_loop(lambda i, x: i < 3, body, [c(0), c([[1]])], shape_invariants=[[], [1, None]])

    with pytest.raises(ValueError, match="after one iteration"):
        symbolic(loop)


@pytest.mark.parametrize(
    "shape",
    [tf.TensorShape([None, 2]), tf.IndexedSlicesSpec([None, 2], tf.float32, tf.int64, tf.int32)],
    ids=["a shape", "a spec"],
)
def test_slices_may_grow_where_the_invariants_say_so(way, shape):
    def loop(invariants):
        start = tf.IndexedSlices(c([[1.0, 2.0]]), c([0], tf.int64), c([4, 2]))
        twice = lambda x: tf.concat([x, x], 0)  # noqa: E731
        body = lambda i, x: (i + 1, tf.IndexedSlices(twice(x.values), twice(x.indices), x.dense_shape))  # noqa: E731
        _, made = tf.while_loop(lambda i, x: i < 2, body, [c(0), start], shape_invariants=invariants)
        return made.values, made.indices

    assert way(lambda: loop([tf.TensorShape([]), shape])) == ([[1.0, 2.0]] * 4, [0] * 4)
    with pytest.raises(ValueError, match="after one iteration"):
        tf.function(loop)(None)


def test_an_eager_loop_may_change_shapes():
    body = lambda i, x: (i + 1, tf.concat([x, x], 0))  # noqa: E731
    assert tf.while_loop(lambda i, x: i < 3, body, [c(0), c([1])])[1].shape == [8]


@pytest.mark.parametrize(
    ("invariants", "reason"),
    [
        (lambda: [tf.TensorShape([]), tf.TensorShape([1])], "after one iteration"),
        (lambda: [tf.TensorShape([]), tf.TensorShape([3])], "not compatible with the initial shape"),
        (lambda: [tf.TensorShape([])], "must have the form of loop_vars"),
        (lambda: [tf.TensorShape([]), {"x": tf.TensorShape([None])}], "must have the form of loop_vars"),
    ],
)
def test_wrong_shape_invariants(symbolic, invariants, reason):
    def loop():
        body = lambda i, x: (i + 1, tf.concat([x, x], 0))  # noqa: E731
        return tf.while_loop(lambda i, x: i < 3, body, [c(0), c([1])], shape_invariants=invariants())

    with pytest.raises(ValueError, match=reason):
        symbolic(loop)


@pytest.mark.parametrize(
    ("test", "body", "start", "kind", "reason"),
    [
        (3, lambda i: i, lambda: [c(0)], TypeError, "'cond' must be callable"),
        (lambda i: i < 3, None, lambda: [c(0)], TypeError, "'body' must be callable"),
        (lambda: True, list, list, ValueError, "'loop_vars' must be provided"),
        (lambda: True, list, lambda: None, ValueError, "'loop_vars' must be provided"),
        (lambda i: i < 3, lambda i: [i, i], lambda: [c(0)], ValueError, r"The loop variables are \[\*\]"),
        (lambda i, j: i < 3, lambda i, j: [i], lambda: [c(0), c(0)], ValueError, "same nested structure"),
        (lambda i: i < 3, lambda i: None, lambda: [c(0)], ValueError, "same nested structure"),
        (lambda i, d: i < 3, lambda i, d: (i, [d]), lambda: [c(0), c(0)], ValueError, "same nested structure"),
    ],
)
def test_wrong_loops(way, test, body, start, kind, reason):
    with pytest.raises(kind, match=reason):
        way(lambda: tf.while_loop(test, body, start()))


@pytest.mark.parametrize(
    ("test", "body", "reason"),
    [
        (lambda i: i < 3, lambda i: tf.cast(i, tf.float32), "enters the loop with type int32 but has type float32"),
        (lambda i: i, lambda i: i - 1, "must return a boolean scalar"),
        (lambda i: (i < 3, i < 3), lambda i: i - 1, "must return a boolean scalar"),
    ],
)
def test_wrong_loops_in_graphs(symbolic, test, body, reason):
    with pytest.raises(TypeError, match=reason):
        symbolic(lambda: tf.while_loop(test, body, [c(0)]))


@pytest.mark.parametrize("count", [0, -1, 1.5, "many", True])
def test_wrong_numbers_of_parallel_iterations(count):
    with pytest.raises(TypeError, match="'parallel_iterations' must be a positive integer"):
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, [c(0)], parallel_iterations=count)


def test_all_arguments_by_name(way):
    assert way(
        lambda: tf.while_loop(
            cond=lambda i: i < 3,
            body=lambda i: i + 1,
            loop_vars=[c(0)],
            shape_invariants=[tf.TensorShape([])],
            parallel_iterations=1,
            back_prop=False,
            swap_memory=True,
            maximum_iterations=2,
            name="loop",
        )
    ) == [2]


def test_loops_and_branches_inside_each_other(way):
    def sums():
        def outer(i, total):
            _, total = tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + j * i), [c(0), total])
            return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: total, lambda: total + 100)

        return tf.while_loop(lambda i, total: i < 5, outer, (c(0), c(0)))

    expected = 0
    for i in range(5):
        expected += sum(j * i for j in range(i)) + (100 if i % 2 else 0)
    assert way(sums) == (5, expected)


def test_a_loop_uses_tensors_and_variables_from_outside():
    v = tf.Variable(2.0)

    @tf.function
    def f(k):
        body = lambda i, s: (i + 1, s + v + k)  # noqa: E731
        return tf.while_loop(lambda i, s: i < 3, body, (0, 0.0))[1]

    assert float(f(c(10.0))) == 36.0
    v.assign(3.0)
    assert float(f(c(10.0))) == 39.0


def test_effects_happen_once_a_turn(capsys):
    v = tf.Variable(0.0)

    @tf.function
    def f(n):
        def body(i):
            tf.print("turn")
            v.assign_add(1.0)
            tf.debugging.assert_less(i, 4)
            return i + 1

        return tf.while_loop(lambda i: i < n, body, [0])

    f(c(3))
    f(c(0))
    captured = capsys.readouterr()
    assert (captured.out + captured.err).count("turn") == 3
    assert float(v) == 3.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="did not hold"):
        f(c(9))
    assert float(v) == 8.0


def test_loops_leave_their_variables_where_they_are():
    @tf.function
    def f(x, s):
        with tf.device("/gpu:1"):
            return tf.while_loop(lambda i, x, s: i < 2, lambda i, x, s: (i + 1, x * 2.0, s), (0, x, s))

    count, made, text = f(c(1.0), c("word"))
    assert (int(count), float(made), text.numpy()) == (2, 4.0, b"word")
    assert made.device.endswith("GPU:1")


def test_feeds_reach_into_branches_and_loops():
    with v1.Graph().as_default() as graph, v1.Session() as sess:
        p, x = v1.placeholder(tf.bool, []), v1.placeholder(tf.float32)
        chosen = tf.cond(p, lambda: x + 1.0, lambda: x - 1.0)
        n = v1.placeholder(tf.int32, [])
        looped = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * 2.0), (0, chosen))
        graph.verify()
        assert sess.run(chosen, {p: True, x: [1.0]}).tolist() == [2.0]
        assert sess.run(looped[1], {p: False, x: 3.0, n: 4}) == 32.0


# As TensorFlow 1 has them.


ONE_IN_V1 = {
    "a list": (lambda: [c(1)], {}, 1),
    "a tuple": (lambda: (c(1),), {}, 1),
    "a list of a list": (lambda: [[c(1)]], {}, 1),
    "a list, strictly": (lambda: [c(1)], {"strict": True}, [1]),
    "a dictionary": (lambda: {"a": c(1)}, {}, {"a": 1}),
    "two": (lambda: (c(1), c(2)), {}, (1, 2)),
    "an operation": (tf.no_op, {}, True),
}


@pytest.mark.parametrize("name", ONE_IN_V1)
def test_cond_v1(name):
    function, options, expected = ONE_IN_V1[name]
    assert plain(in_session(lambda: control_v1.cond(c(True), function, function, **options))) == expected


def test_cond_v1_with_old_names():
    assert in_session(lambda: control_v1.cond(c(False), fn1=lambda: c(1), fn2=lambda: c(2))) == 2
    assert int(control_v1.cond(c(False), fn1=lambda: [c(1)], fn2=lambda: [c(2)])) == 2
    with pytest.raises(TypeError, match="may not be set simultaneously"):
        control_v1.cond(c(True), lambda: c(1), fn1=lambda: c(1), fn2=lambda: c(2))
    with pytest.raises(ValueError, match="'true_fn' must have a return value"):
        in_session(lambda: control_v1.cond(c(True), lambda: None, lambda: None))


def test_case_v1():
    pairs = lambda: [(c(1) < 2, lambda: [c(1)])]  # noqa: E731
    assert in_session(lambda: control_v1.case(pairs(), default=lambda: [c(9)])) == 1
    assert in_session(lambda: control_v1.case(pairs(), default=lambda: [c(9)], strict=True)) == [1]


def test_while_loop_v1():
    def one(**options):
        return in_session(lambda: control_v1.while_loop(lambda i: i < 3, lambda i: i + 1, [c(0)], **options))

    assert one() == 3
    assert one(return_same_structure=True) == [3]
    assert one(maximum_iterations=2) == 2
    two = in_session(lambda: control_v1.while_loop(lambda i, j: i < 3, lambda i, j: (i + 1, j), [c(0), c(7)]))
    assert two == (3, 7)
    assert int(control_v1.while_loop(lambda i: i < 3, lambda i: i + 1, [c(0)])) == 3
    found = control_v1.while_loop(lambda d: d["i"] < 3, lambda d: [{"i": d["i"] + 1}], [{"i": c(0)}])
    assert plain(found) == {"i": 3}


def test_slices_of_two_branches_may_have_indices_of_different_dtypes():
    """TensorFlow makes both int64."""

    @tf.function
    def choose(x):
        def slices(dtype):
            return tf.IndexedSlices(tf.ones([1, 2]) * x, tf.constant([1], dtype), tf.constant([3, 2]))

        made = tf.cond(x > 0, lambda: {"a": 1, "b": slices(tf.int32)}, lambda: {"a": 2, "b": slices(tf.int64)})
        assert made["b"].indices.dtype is tf.int64
        return made["a"], tf.convert_to_tensor(made["b"])

    for x, number in ((3.0, 1), (-2.0, 2)):
        first, dense = choose(tf.constant(x))
        assert int(first) == number
        assert dense.numpy().tolist() == [[0.0, 0.0], [x, x], [0.0, 0.0]]
