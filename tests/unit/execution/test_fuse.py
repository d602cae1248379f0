"""Updates of many variables joined into one call: which ones, which not, and that it changes no result."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf2
import situs.compat.v1 as tf
from situs._src.base.devices.inventory import process
from situs._src.ops.python_function import py_func
from situs._src.runtime.abstract.forecast import forecast
from situs._src.runtime.abstract.values import Fed
from situs._src.runtime.eager.bridge import host
from situs._src.runtime.plan import planner
from situs._src.runtime.plan.printer import plan_text
from situs._src.runtime.run import swap
from situs._src.runtime.run.state import Run
from situs._src.runtime.run.trace import Recorder
from situs._src.runtime.session.fetches import Fetches
from situs._src.variables.apply_ops import apply_adam, apply_gradient_descent, apply_momentum
from situs.errors import InvalidArgumentError, ResourceExhaustedError


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


@pytest.fixture
def apart(monkeypatch):
    """Leaves updates as they are."""
    monkeypatch.setattr(planner, "join", lambda calls, outputs, root: calls)


def variables(count, shape=(2,), device="/cpu:0"):
    with tf.device(device):
        return [tf.Variable(np.full(shape, float(n), np.float32), name=f"v{n}") for n in range(count)]


def descend(v, rate=0.5, grad=1.0, name=None):
    full = grad if isinstance(grad, tf2.Tensor) else np.full(v.shape.as_list(), grad, np.float32)
    with tf.colocate_with(v.op):
        return apply_gradient_descent.op(v._as_graph_element(), rate, full, name=name)


def planned(targets, feeds=()):
    session = tf.Session()
    return session._program(Fetches(session.graph, [target.op for target in targets]), list(feeds)).plan


def joined(plan):
    """How many updates each call of one makes."""
    found = []
    for call in plan.calls:
        if call.node is not None and call.node.type.startswith("Apply"):
            own = getattr(call.function, "apply", call.function)
            given = call.inputs[own.joint]
            found.append((len(given) - 1) // (own.states + 1) + 1 if isinstance(given, list) else 1)
    return found


# What is joined.


def test_updates_that_do_the_same_are_one_call():
    assert joined(planned([descend(v) for v in variables(5)])) == [5]


def test_one_update_stays_as_it_is():
    plan = planned([descend(variables(1)[0])])
    assert joined(plan) == [1]
    assert not isinstance(plan.calls[-1].inputs[2], list)


def test_the_joined_call_stands_where_the_last_one_stood():
    a, b, c = variables(3)
    updates = [descend(a, name="first"), descend(b, name="second"), descend(c, name="third")]
    calls = [call for call in planned(updates).calls if call.node is not None and call.node.type != "Variable"]
    assert [call.node.name for call in calls] == ["third"]


def test_every_operation_keeps_its_assignment():
    plan = planned([descend(v, name=f"u{n}") for n, v in enumerate(variables(3))])
    assert {"u0", "u1", "u2"} <= {node.name for node in plan.assignments}


def test_equal_constants_steer_alike_though_they_are_others():
    a, b = variables(2)
    assert joined(planned([descend(a, tf.constant(0.5)), descend(b, tf.constant(0.5))])) == [2]


def test_a_value_of_the_run_steers_all_that_are_given_it():
    rate = tf.placeholder(tf.float32, [])
    assert joined(planned([descend(v, rate) for v in variables(3)], [rate])) == [3]


def test_states_come_with_their_variables():
    values = variables(6)
    updates = []
    for v, m in zip(values[::2], values[1::2], strict=True):
        updates.append(apply_momentum.op(v._as_graph_element(), m._as_graph_element(), 0.5, [1.0, 1.0], 0.9))
    plan = planned(updates)
    assert joined(plan) == [3]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([update.op for update in updates])
        assert [session.run(v)[0] for v in values[1::2]] == pytest.approx([1.9, 3.7, 5.5])


# What is not.


@pytest.mark.parametrize(
    "build",
    [
        lambda a, b: [descend(a, 0.5), descend(b, 0.25)],
        lambda a, b: [
            descend(a),
            apply_momentum.op(b._as_graph_element(), a._as_graph_element(), 0.5, [1.0, 1.0], 0.9),
        ],
        lambda a, b: [descend(a, tf.placeholder(tf.float32, [])), descend(b, tf.placeholder(tf.float32, []))],
    ],
    ids=["numbers", "ops", "values of the run"],
)
def test_updates_that_differ_are_calls_of_their_own(build):
    assert joined(planned(build(*variables(2)))) == [1, 1]


def test_attributes_keep_updates_apart():
    a, b, c, d = variables(4)
    first = apply_momentum.op(a._as_graph_element(), b._as_graph_element(), 0.5, [1.0, 1.0], 0.9)
    second = apply_momentum.op(c._as_graph_element(), d._as_graph_element(), 0.5, [1.0, 1.0], 0.9, use_nesterov=True)
    assert joined(planned([first, second])) == [1, 1]


def test_each_device_has_a_call_of_its_own():
    updates = [descend(v) for v in variables(2, device="/gpu:0")]
    with tf.name_scope("other"):
        updates += [descend(v) for v in variables(3, device="/gpu:1")]
    assert sorted(joined(planned(updates))) == [2, 3]


def test_dtypes_keep_updates_apart():
    a = tf.Variable([1.0, 2.0])
    b = tf.Variable(np.array([1.0, 2.0]))
    rate = tf.constant(0.5)
    updates = [
        apply_gradient_descent.op(v._as_graph_element(), rate, np.ones(2, v.dtype.as_numpy_dtype)) for v in (a, b)
    ]
    assert joined(planned(updates)) == [1, 1]


def test_an_update_that_waits_for_another_comes_after_it():
    a, b = variables(2)
    first = descend(a)
    with tf.control_dependencies([first.op]):
        second = descend(b)
    assert joined(planned([second])) == [1, 1]


def test_an_update_that_needs_what_another_made_comes_after_it():
    a, b = variables(2)
    first = descend(a)
    with tf.control_dependencies([first.op]):
        now = a.read_value()
    second = descend(b, grad=now)
    assert joined(planned([second])) == [1, 1]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(second.op)
        assert session.run(b).tolist() == [1.25, 1.25]  # 1 - 0.5 (0 - 0.5)


def test_a_variable_that_is_changed_twice_is_changed_twice():
    (a,) = variables(1)
    updates = [descend(a), descend(a)]
    assert joined(planned(updates)) == [1, 1]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([update.op for update in updates])
        assert session.run(a).tolist() == [-1.0, -1.0]


def test_an_update_whose_result_is_used_stays_apart():
    a, b, c = variables(3)
    updates = [descend(v) for v in (a, b, c)]
    session = tf.Session()
    plan = session._program(Fetches(session.graph, [updates[1], updates[0].op, updates[2].op]), []).plan
    assert sorted(joined(plan)) == [1, 2]


def test_another_change_of_a_variable_keeps_its_place():
    a, b = variables(2)
    first = descend(a)
    with tf.control_dependencies([first.op]):
        doubled = a.assign(a.read_value() * 2.0)
    second = descend(b)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([first.op, doubled.op, second.op])
        assert session.run([a, b])[0].tolist() == [-1.0, -1.0]


# That nothing else changes.


def train(steps=5):
    """Three layers trained by Adam; what they are after some steps."""
    rng = np.random.default_rng(0)
    x = tf.placeholder(tf.float32, [4, 3])
    layers = [tf.Variable(rng.normal(size=(3, 3)).astype(np.float32)) for _ in range(3)]
    out = x
    for w in layers:
        out = tf.tanh(tf.matmul(out, w))
    grads = tf.gradients(tf.reduce_sum(out * out), layers)
    slots = [[tf.Variable(np.zeros((3, 3), np.float32)) for _ in layers] for _ in range(2)]
    rate = tf.placeholder(tf.float32, [])
    updates = []
    for w, m, v, grad in zip(layers, *slots, grads, strict=True):
        states = [variable._as_graph_element() for variable in (w, m, v)]
        updates.append(apply_adam.op(*states, 0.9, 0.999, rate, 0.9, 0.999, 1e-8, grad).op)
    return x, rate, layers, updates


def ran(session, x, rate, layers, updates, steps=5):
    session.run(tf.global_variables_initializer())
    for n in range(steps):
        session.run(updates, {x: np.full((4, 3), 0.1 * n, np.float32), rate: 0.01})
    return session.run(layers)


def test_results_are_those_of_updates_one_by_one(monkeypatch):
    built = train()
    with tf.Session() as session:
        together = ran(session, *built)
    monkeypatch.setattr(planner, "join", lambda calls, outputs, root: calls)
    with tf.Session() as session:
        one_by_one = ran(session, *built)
    np.testing.assert_allclose(together, one_by_one, rtol=1e-6)  # a card rounds sums of products once, or twice


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
def test_traced_swapped_and_parallel_runs_do_the_same(device, monkeypatch):
    with tf.device(device):
        built = train()
    with tf.Session() as session:
        plain = ran(session, *built)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        options, metadata = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
        x, rate, layers, updates = built
        for n in range(5):
            feed = {x: np.full((4, 3), 0.1 * n, np.float32), rate: 0.01}
            session.run(updates, feed, options=options, run_metadata=metadata)
        np.testing.assert_array_equal(session.run(layers), plain)
        names = [node.node_name for stats in metadata.step_stats.dev_stats for node in stats.node_stats]
        assert sum("ApplyAdam" in name for name in names) == 1
    monkeypatch.setattr(swap.switch, "on", True)
    with tf.Session() as session:
        np.testing.assert_array_equal(ran(session, *built), plain)


def test_a_pool_of_threads_makes_joined_updates():
    x, rate, layers, updates = train()
    with tf.Session() as session:
        alone = ran(session, x, rate, layers, updates)
    beside = [*updates, *(py_func(lambda: 1.0, [], tf.float64) for _ in range(2))]  # calls that are worth a pool
    config = tf.ConfigProto(inter_op_parallelism_threads=2, use_per_session_threads=True)
    with tf.Session(config=config) as session:
        np.testing.assert_array_equal(ran(session, x, rate, layers, beside), alone)
        program = session._program(Fetches(session.graph, beside), [x, rate])
        assert program.schedule is not None
        assert joined(program.plan) == [3]


def test_a_branch_joins_updates_inside():
    a, b = variables(2)
    choose = tf.placeholder(tf.bool, [])
    both = tf.cond(choose, lambda: tf.group(descend(a), descend(b)), lambda: tf.no_op())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(both, {choose: False})
        assert session.run(a).tolist() == [0.0, 0.0]
        session.run(both, {choose: True})
        assert [value[0] for value in session.run([a, b])] == [-0.5, 0.5]


def test_a_failure_names_one_of_the_operations():
    a, b = variables(2)
    grad = tf.placeholder(tf.float32)
    updates = [descend(a, name="first"), descend(b, grad=grad, name="second")]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(InvalidArgumentError, match=r"variable 'v1'[^$]*node second") as failure:
            session.run([update.op for update in updates], {grad: [1.0, 2.0, 3.0]})
        assert failure.value.op.name == "second"
        assert [value[0] for value in session.run([a, b])] == [0.0, 1.0]


def test_a_full_device_is_an_error_that_names_an_operation_and_changes_nothing(monkeypatch):
    values = variables(3, [64, 1024], "/gpu:0")
    shared = [v.assign(tf.zeros([64, 1024])) for v in values[:1]]
    with tf.control_dependencies(shared):
        shared += [v.assign(values[0].read_value()) for v in values[1:]]
    updates = [descend(v, name=f"update{n}") for n, v in enumerate(values)]
    account = next(device for device in process.devices() if device.type == "GPU").account
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run([assign.op for assign in shared])
        monkeypatch.setattr(account, "limit", account.usage().current + 3 * 2**18 + 1024)  # the gradients, no more
        with pytest.raises(ResourceExhaustedError, match="node update2"):
            session.run([update.op for update in updates])
        monkeypatch.undo()
        assert not np.any(session.run(values))
        session.run([update.op for update in updates])
        assert np.all(np.array(session.run(values)) == -0.5)


def test_a_forecast_goes_through_a_joined_call():
    x, rate, _, updates = train()
    session = tf.Session()
    plan = session._program(Fetches(session.graph, updates), [x, rate]).plan
    assert "ApplyAdam" in plan_text(plan)
    fed = [Fed(x, host(), x.shape), Fed(rate, host(), rate.shape)]
    assert forecast(plan, fed, {}, {}) is not None


def test_a_recorder_notes_a_joined_call_once():
    updates = [descend(v) for v in variables(3)]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        program = session._program(Fetches(session.graph, [update.op for update in updates]), [])
        recorder = Recorder()
        program.run(Run(session._state), [], recorder)
        assert (
            sum(
                event.call.node is not None and event.call.node.type == "ApplyGradientDescent"
                for event in recorder.events
            )
            == 1
        )


def test_a_python_function_between_updates_is_a_barrier():
    a, b = variables(2)
    first = descend(a)
    py = py_func(lambda: np.float32(0), [], tf.float32)
    second = descend(b, grad=1.0)
    plan = planned([first, py, second])
    assert sum(joined(plan)) == 2
