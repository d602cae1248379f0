"""Plans: what is called, in which order, and what is copied where. Plans are inspected, not timed."""

from __future__ import annotations

from collections import Counter

import pytest

import situs.compat.v1 as tf
from situs._src.runtime.plan.control_flow import assignments_in
from situs._src.runtime.plan.plan import Literal


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def on(device, make):
    with tf.device(device):
        return make()


def plan_of(sess, fetches, *feeds):
    return sess._prepare(fetches, dict.fromkeys(feeds)).program.plan


def copies(plan):
    """Which tensor is copied where, and how often."""
    return Counter((c.copies.op.name, c.device.short_name) for c in plan.calls if c.copies is not None)


def called(plan):
    return [call.node.name for call in plan.calls if call.node is not None]


def reads(plan):
    return [call.reads.name for call in plan.calls if call.reads is not None]


# What is called.


def test_only_what_is_needed_is_called(sess):
    a = tf.exp(tf.placeholder(tf.float32, name="p"), name="a")
    b = tf.sin(a, name="b")
    tf.cos(a, name="unneeded")
    assert called(plan_of(sess, b, "p:0")) == ["a", "b"]
    assert called(plan_of(sess, b, a)) == ["b"]
    assert called(plan_of(sess, b, b)) == []


def test_constants_and_identities_are_no_calls(sess):
    c = tf.identity(tf.identity(tf.constant([1.0])), name="same")
    plan = plan_of(sess, tf.exp(c, name="e"))
    assert called(plan) == ["e"]
    assert isinstance(plan.calls[0].inputs[0], Literal)
    assert plan_of(sess, tf.stop_gradient(c)).calls == []


def test_what_steers_an_operation_is_computed_only_if_it_is_not_known(sess):
    x, times = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.int32, [1])
    plan = plan_of(sess, tf.tile(x, tf.add([1], [1], name="sum"), name="known"), x)
    assert called(plan) == ["known"]
    asked = tf.tile(x, tf.add(times, [1], name="more"), name="asked")
    assert called(plan_of(sess, asked, x, times)) == ["more", "asked"]
    assert sess.run(asked, {x: [1.0, 2.0], times: [1]}).tolist() == [1.0, 2.0, 1.0, 2.0]


def test_an_identity_that_waits_is_a_call(sess):
    c = tf.constant(1.0)
    with tf.control_dependencies([tf.exp(c, name="first")]):
        late = tf.identity(c, name="late")
    assert called(plan_of(sess, late)) == ["first", "late"]


def test_calls_follow_the_order_in_which_operations_were_made(sess):
    p = tf.placeholder(tf.float32)
    names = [tf.exp(p, name=name).op.name for name in "dbca"]
    assert called(plan_of(sess, [f"{name}:0" for name in "abcd"], p)) == names


def test_control_inputs_are_called_before(sess):
    v = tf.Variable(0.0, name="v")
    with tf.control_dependencies([v.assign_add(1.0, name="w")]):
        c = tf.constant(1.0)
        k, same = tf.exp(c, name="k"), tf.sin(tf.identity(c), name="same")  # these wait by way of the constant
    plan = plan_of(sess, [k, same])
    assert called(plan) == ["v", "w", "k", "same"]
    waits = {call.node.name: [plan.calls[i].node.name for i in call.after] for call in plan.calls if call.node}
    assert waits["k"] == waits["same"] == ["w"]


# Copies.


def test_a_tensor_is_copied_once_to_each_device(sess):
    n = on("/gpu:0", lambda: tf.exp(tf.placeholder(tf.float32, name="p"), name="n"))
    uses = [on(f"/gpu:{i}", lambda: tf.sin(n)) for i in (1, 1, 2, 1, 2, 0)]
    total = on("/cpu:0", lambda: tf.add_n(uses))
    found = copies(plan_of(sess, total, "p:0"))
    assert found["n", "GPU:1"] == found["n", "GPU:2"] == found["p", "GPU:0"] == 1
    assert set(found.values()) == {1}
    assert sum(found.values()) == 1 + 2 + len(uses)


def test_what_is_fed_is_copied_once_to_each_device(sess):
    p = tf.placeholder(tf.float32, [2], name="p")
    uses = [on(f"/gpu:{i % 4}", lambda: tf.exp(p)) for i in range(8)]
    found = copies(plan_of(sess, [u.op for u in uses], p))
    assert found == {("p", f"GPU:{i}"): 1 for i in range(4)}


def test_what_is_fetched_twice_comes_to_the_host_once(sess):
    n = on("/gpu:1", lambda: tf.exp(tf.constant([1.0]), name="n"))
    there = on("/cpu:0", lambda: tf.sin(n))
    assert copies(plan_of(sess, [n, n, there]))["n", "CPU:0"] == 1


def test_constants_lie_where_they_are_needed(sess):
    c = tf.constant([1.0, 2.0])
    uses = [on(f"/gpu:{i}", lambda: tf.exp(c)) for i in range(3)]
    assert not [key for key in copies(plan_of(sess, [u.op for u in uses])) if key[0] == c.op.name]


def test_nothing_is_copied_between_logical_cpus():
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(device_count={"CPU": 3, "GPU": 0})) as sess:
        n = on("/cpu:1", lambda: tf.exp(tf.constant([1.0])))
        assert not copies(plan_of(sess, on("/cpu:2", lambda: tf.sin(n))))


def test_strings_stay_on_the_host(sess):
    s = tf.strings.join([tf.placeholder(tf.string, [], name="p"), "x"])
    assert not copies(plan_of(sess, tf.identity(s), "p:0"))


# Variables.


def test_a_variable_is_read_once_for_many(sess):
    v = tf.Variable([1.0], name="v")
    plan = plan_of(sess, tf.add_n([v * 2.0, v + 1.0, v.value(), tf.exp(v)]))
    assert reads(plan) == ["v/read"]
    assert "v/read" not in called(plan)


def test_a_variable_is_copied_once_to_each_device_between_changes(sess):
    v = on("/gpu:0", lambda: tf.Variable([1.0], name="v"))
    before = [on("/gpu:1", lambda: v * 2.0) for _ in range(3)]
    with tf.control_dependencies([b.op for b in before]):
        more = v.assign_add([1.0])
    with tf.control_dependencies([more]):
        after = [on("/gpu:1", lambda: v * 3.0) for _ in range(3)]
    plan = plan_of(sess, [x.op for x in before + after])
    assert reads(plan) == ["v/read", "v/read"]
    assert copies(plan) == {("v/read", "GPU:1"): 2}


def test_changing_one_variable_does_not_concern_the_others(sess):
    v, w = tf.Variable([1.0], name="v"), tf.Variable([1.0], name="w")
    first = w * 2.0
    with tf.control_dependencies([first, v.assign([2.0])]):
        second = w * 3.0
    assert reads(plan_of(sess, [first, second])) == ["w/read"]


def test_plans_know_whether_something_is_kept_after_the_run(sess):
    p, v = tf.placeholder(tf.float32, [1]), tf.Variable([1.0])
    assert not plan_of(sess, p * 2.0, p).changes_state
    assert not plan_of(sess, v * p, p).changes_state
    assert plan_of(sess, v.assign(p), p).changes_state


# The plans of a session.


def test_plans_are_made_once_for_each_kind_of_run(sess):
    p = tf.placeholder(tf.float32, name="p")
    a, b = p * 2.0, p + 1.0
    for value in range(3):
        sess.run(a, {p: value})
        sess.run([a], {p: value})
        sess.run({"k": a}, {"p:0": value})
        sess.run("mul:0", {p: value})
    assert len(sess._programs) == 1
    sess.run(b, {p: 1.0}), sess.run(a, {a: 1.0}), sess.run(a.op, {p: 1.0}), sess.run([a, b], {p: 1.0})
    assert len(sess._programs) == 5


def test_a_grown_graph_keeps_its_plans(sess):
    c = tf.exp(tf.constant(1.0))
    sess.run(c)
    (program,) = sess._programs.values()
    d = tf.sin(c)
    sess.run(d), sess.run(c)
    assert program in sess._programs.values()
    assert len(sess._programs) == 2


def test_a_plan_prints_itself(sess):
    n = on("/gpu:0", lambda: tf.exp(tf.placeholder(tf.float32, name="p"), name="n"))
    assert str(plan_of(sess, n, "p:0")).splitlines() == [
        "inputs %0",
        "GPU:0   %1 = copy %0",
        "GPU:0   %2 = Exp(%1)  # n",
        "CPU:0   %3 = copy %2",
        "return %3",
    ]


# Branches and loops.


def inside(plan):
    return {a.op: a.device.short_name for a in assignments_in(plan)}


def test_operations_in_branches_and_loops_go_where_they_ask(sess):
    p = tf.placeholder(tf.float32, [2], name="p")

    def there():
        with tf.device("/gpu:2"):
            return tf.exp(p)

    branch = on("/gpu:1", lambda: tf.cond(tf.constant(True), there, lambda: tf.sin(p)))
    found = inside(plan_of(sess, branch, p))
    assert (found["If"], found["Exp"]) == ("GPU:1", "GPU:2")
    loop = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, on("/gpu:3", lambda: tf.tanh(x))), (0, p))
    assert inside(plan_of(sess, loop, p))["Tanh"] == "GPU:3"
    assert sess.run(loop, {p: [0.0, 0.0]})[1].tolist() == [0.0, 0.0]


def test_strings_go_into_a_branch_on_a_gpu_and_stay_on_the_host(sess):
    p, word = tf.placeholder(tf.bool, []), tf.placeholder(tf.string, [])
    louder = lambda: on("/cpu:0", lambda: tf.strings.join([word, "!"]))  # noqa: E731
    chosen = on("/gpu:1", lambda: tf.cond(p, louder, lambda: word))
    plan = plan_of(sess, chosen, p, word)
    assert inside(plan)["If"] == "GPU:1"
    assert copies(plan) == {}
    assert [sess.run(chosen, {p: yes, word: "go"}) for yes in (True, False)] == [b"go!", b"go"]


def test_only_the_chosen_branch_is_computed(sess):
    p = tf.placeholder(tf.bool, [])
    bad = lambda: tf.check_numerics(tf.constant(float("nan")), "bad")  # noqa: E731
    chosen = tf.cond(p, bad, lambda: tf.constant(1.0))
    assert sess.run(chosen, {p: False}) == 1.0
    with pytest.raises(tf.errors.InvalidArgumentError, match="bad"):
        sess.run(chosen, {p: True})


def test_what_a_branch_uses_from_outside_is_computed_in_any_case(sess):
    v, p = tf.Variable(0.0), tf.placeholder(tf.bool, [])
    sess.run(v.initializer)
    outside = v.assign_add(1.0)
    chosen = tf.cond(p, lambda: tf.identity(outside), lambda: tf.constant(0.0))
    sess.run(chosen, {p: False})
    assert sess.run(v) == 1.0
