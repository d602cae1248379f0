"""The dynamic placer in sessions and functions: what runs where, that results stay the same, and what is said of it.

Times are those of the tests: steps take what the clock of the test says, so that nothing depends on the machine.
"""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

import situs as tf2
import situs.compat.v1 as tf
from situs._src.base.devices.logical import Device
from situs._src.placement import assembly
from situs._src.placement.costs import model as cost_model
from situs._src.placement.costs.kinds import Speed
from situs._src.placement.costs.store import CostStore
from situs._src.runtime.dynamic import engine as engines
from situs._src.runtime.dynamic import program
from situs._src.runtime.dynamic.pilot import MOST_REPLACEMENTS
from situs._src.runtime.run.program import Way

LAYERS = 4


class Clock:
    """Says that a step takes what was predicted for it, times a factor."""

    def __init__(self):
        self.factor = 1.0
        self.now = 0.0
        self.engine = None

    def __call__(self):
        plan = None if self.engine is None else self.engine.plan
        self.now += 0.0 if plan is None else self.factor * plan.forecast.value / 1.0
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(program, "clock", made)
    return made


@pytest.fixture(autouse=True)
def costs(monkeypatch):
    """Four GPUs of their own, ten times as quick as the CPU; nothing measured, and nothing learned."""
    store = CostStore()
    monkeypatch.setattr(engines, "shared_store", lambda: store)
    monkeypatch.setattr(engines.dynamic, "moves_for", lambda problem: 300)
    monkeypatch.setattr(program, "learn", lambda *arguments: engines.Learned())
    monkeypatch.setattr(assembly, "processor_of", lambda device: device.short_name)
    speeds = {"CPU": Speed(1e9, 1e9, 1e-6), "GPU": Speed(1e10, 1e10, 1e-6)}
    monkeypatch.setattr(cost_model, "speed_of", lambda device: speeds[device.type])
    monkeypatch.setattr(cost_model, "kind_of", lambda device: device.type)
    monkeypatch.setattr(assembly, "kind_of", lambda device: device.type)
    monkeypatch.setattr(engines.dynamic, "kind_of", lambda device: device.type)
    return store


def network(towers=1, size=32):
    """Towers of layers side by side, their sum, and a training step."""
    x = tf.placeholder(tf.float32, [None, size], name="x")
    outs = []
    for tower in range(towers):
        h = x
        for layer in range(LAYERS):
            start = np.random.RandomState(10 * tower + layer).randn(size, size).astype("f") * 0.2
            h = tf.tanh(tf.matmul(h, tf.Variable(start, name=f"w{tower}_{layer}")))
        outs.append(h)
    loss = tf.reduce_mean(tf.square(tf.add_n(outs) - 0.5), name="loss")
    return x, loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss)


BATCH = np.random.RandomState(0).randn(16, 32).astype("f")


def trained(placer, steps=12, towers=1, clock=None, **options):
    """The losses of some steps, and the session, which is closed."""
    tf2.config.set_placer(placer, **options)
    with tf.Graph().as_default():
        x, loss, train = network(towers)
        with tf.Session() as session:
            if clock is not None:
                clock.engine = session._engine
            session.run(tf.global_variables_initializer())
            losses = [session.run([loss, train], {x: BATCH})[0] for _ in range(steps)]
            return losses, tf2.explain(session)


def test_results_are_those_of_the_simple_placer(clock):
    expected, _ = trained("simple", towers=3)
    found, _ = trained("dynamic", towers=3, clock=clock)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_every_op_says_why_it_is_where_it_is_and_the_whole_what_it_expects(clock):
    _, found = trained("dynamic", towers=2, clock=clock)
    assert all(each.detail for each in found)
    assert {each.kind for each in found} & {"dynamic"}
    assert found.plan.forecast.value > 0
    text = str(found)
    for part in ("predicted step time", "busy", "held", "one device alone", "started from", "rests on"):
        assert part in text, part


def test_the_same_costs_and_seed_give_the_same_placement(clock):
    placements = [{a.node: a.device.name for a in trained("dynamic", towers=3, seed=5)[1]} for _ in range(2)]
    assert placements[0] == placements[1]


def test_the_prediction_is_never_worse_than_what_the_search_started_from(clock):
    plan = trained("dynamic", towers=3, clock=clock)[1].plan
    assert all(plan.forecast.value <= value * (1 + 1e-9) for value in plan.tried.values() if value is not None)
    assert "the simple placer" in plan.tried


def test_pins_are_honoured(clock):
    tf2.config.set_placer("dynamic")
    with tf.Graph().as_default():
        with tf.device("/cpu:0"):
            slow = tf.matmul(tf.ones([64, 64]), tf.ones([64, 64]), name="slow")
        with tf.device("/gpu:2"):
            there = tf.add(slow, 1.0, name="there")
        free = tf.matmul(there, there, name="free")
        with tf.Session() as session:
            assert session.run(free).shape == (64, 64)
            placed = session.placement()
    assert placed["slow"].device.short_name == "CPU:0"
    assert placed["there"].device.short_name == "GPU:2"
    assert placed["there"].kind == "requested"
    assert placed["free"].device.type == "GPU"


def test_what_belongs_together_stays_together(clock):
    _, found = trained("dynamic", towers=2, clock=clock)
    device = {each.node: each.device for each in found}
    for tower in range(2):
        for layer in range(LAYERS):
            name = f"w{tower}_{layer}"
            updates = [node for node in device if node.startswith(f"GradientDescent/update_{name}/")]
            assert updates
            assert all(device[node] is device[name] for node in updates)


def test_what_has_no_kernel_on_gpus_is_on_the_cpu(clock):
    tf2.config.set_placer("dynamic")
    with tf.Graph().as_default():
        joined = tf.strings.join([tf.placeholder(tf.string, name="s"), "!"], name="joined")
        with tf.Session() as session:
            assert session.run(joined, {"s:0": b"a"}) == b"a!"
            assert session.placement()["joined"].device.type == "CPU"


def test_a_request_for_a_device_that_is_not_there_is_refused_as_ever(clock):
    tf2.config.set_placer("dynamic")
    with tf.Graph().as_default():
        with tf.device("/gpu:9"):
            c = tf.tanh(tf.ones([2]))
        with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="GPU:9"):
            session.run(c)


# Steps that take another time than was predicted.


def test_a_prediction_that_holds_is_left_alone(clock):
    tf2.config.set_placer("dynamic")
    with tf.Graph().as_default():
        x, loss, train = network()
        with tf.Session() as session:
            clock.engine = session._engine
            session.run(tf.global_variables_initializer())
            session.run([loss, train], {x: BATCH})
            for _ in range(20):
                session.run([loss, train], {x: BATCH})
            watched = [each.pilot for each in session._programs.values() if each.pilot is not None]
            assert any(pilot.settled for pilot in watched)
            assert all(pilot.replacements == 0 for pilot in watched)


def test_steps_that_are_off_are_placed_anew_a_bounded_number_of_times(clock, monkeypatch):
    searches = []
    search = engines.dynamic.search
    monkeypatch.setattr(engines.dynamic, "search", lambda *a, **k: searches.append(1) or search(*a, **k))
    clock.factor = 3.0
    expected, _ = trained("simple", steps=60)
    found, _ = trained("dynamic", steps=60, clock=clock)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert 2 < len(searches) <= 2 * (2 + MOST_REPLACEMENTS)


def test_one_device_alone_is_kept_if_it_is_measured_to_be_quicker(clock, monkeypatch):
    """Steps on several devices take three times what was predicted, those on one what was predicted."""
    tf2.config.set_placer("dynamic")
    with tf.Graph().as_default():
        x, loss, train = network(towers=4, size=256)
        batch = np.ones((64, 256), "f")
        with tf.Session() as session:
            engine = clock.engine = session._engine
            session.run(tf.global_variables_initializer())
            session.run(train, {x: batch})
            assert sum(busy > 0 for busy in engine.plan.forecast.busy.values()) > 1
            single = engine.place_single

            def place_single(request):
                clock.factor = 0.1
                return single(request)

            monkeypatch.setattr(engine, "place_single", place_single)
            first = session.run(loss, {x: batch})
            for _ in range(40):
                session.run(train, {x: batch})
            placed = session.placement()
            alone = {placed[op].device for op in session.graph.operations if op.type in ("MatMul", "Variable")}
            assert len(alone) == 1
            assert any("alone" in note for note in engine.plan.notes)
            assert session.run(loss, {x: batch}) < first  # the variables came along


@pytest.mark.parametrize("device", ["", "/gpu:*"])
def test_a_forecast_that_exceeds_all_there_is_is_said_and_no_error(monkeypatch, device):
    def far_over(engine, request, nodes, held, choice):
        return None, dict.fromkeys(engine._free(nodes), 1e15)

    monkeypatch.setattr(engines.DynamicEngine, "_looked_at", far_over)
    tf2.config.set_placer("dynamic")
    with tf.Graph().as_default(), tf.device(device):
        x = tf.placeholder(tf.float32, [2], name="x")
        y = tf.square(tf.tanh(x))
        with tf.Session() as session:
            np.testing.assert_allclose(session.run(y, {x: [0.0, 1.0]}), np.tanh([0.0, 1.0]) ** 2, rtol=1e-6)
            assert any("the forecast of memory exceeds" in note for note in session._engine.plan.notes)


def test_variables_keep_their_values_when_they_move(clock):
    tf2.config.set_placer("dynamic")
    with tf.Graph().as_default():
        x, loss, train = network(towers=2)
        with tf.Session() as session:
            clock.engine, clock.factor = session._engine, 3.0
            session.run(tf.global_variables_initializer())
            variables = tf.global_variables()
            for _ in range(30):
                before = session.run(variables)
                assert session.run(loss, {x: BATCH}) == session.run(loss, {x: BATCH})
                for old, new in zip(before, session.run(variables), strict=True):
                    np.testing.assert_array_equal(old, new)
                session.run(train, {x: BATCH})


def test_many_threads_may_run_one_session(clock):
    tf2.config.set_placer("dynamic")
    with tf.Graph().as_default():
        x, loss, train = network(towers=2)
        with tf.Session() as session:
            clock.engine, clock.factor = session._engine, 3.0
            session.run(tf.global_variables_initializer())
            failures = []

            def work():
                try:
                    for _ in range(15):
                        session.run([loss, train], {x: BATCH})
                except Exception as error:
                    failures.append(error)

            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert not failures
            assert session.run(loss, {x: BATCH}) < 0.6


# How it is asked for.


def test_a_session_is_asked_for_by_its_config(clock):
    with tf.Graph().as_default():
        c = tf.matmul(tf.ones([8, 8]), tf.ones([8, 8]))
        with tf.Session(config=tf.ConfigProto(placement_period=10)) as session:
            session.run(c)
            assert tf2.explain(session).plan is not None
        with tf.Session() as session:
            session.run(c)
            assert tf2.explain(session).plan is None


def test_a_negative_period_is_refused():
    with tf.Graph().as_default(), pytest.raises(tf.errors.InvalidArgumentError, match="placement_period"):
        tf.Session(config=tf.ConfigProto(placement_period=-1))


def test_a_function_is_asked_for_by_itself(clock):
    weights = [tf2.constant(np.random.RandomState(i).randn(32, 32).astype("f")) for i in range(3)]

    def chain(x):
        for weight in weights:
            x = tf2.tanh(tf2.matmul(x, weight))
        return x

    placed, plain = tf2.function(chain, placer="dynamic"), tf2.function(chain)
    x = tf2.constant(BATCH)
    for _ in range(12):
        np.testing.assert_allclose(placed(x), plain(x), rtol=1e-6)
    assert tf2.explain(placed).plan is not None
    assert tf2.explain(plain).plan is None
    assert "predicted step time" in str(tf2.explain(placed))


def test_setting_the_placer_holds_for_the_next_call_of_a_function(clock):
    double = tf2.function(lambda x: tf2.matmul(x, x))
    x = tf2.ones([8, 8])
    double(x)
    assert tf2.explain(double).plan is None
    tf2.config.set_placer("dynamic")
    double(x)
    assert tf2.explain(double).plan is not None


def test_branches_and_loops_run_where_they_are_placed(clock):
    @tf2.function(placer="dynamic")
    def climb(x):
        total = tf2.zeros_like(x)
        for i in tf2.range(5):
            if i % 2 == 0:
                total += tf2.matmul(x, x)
            else:
                total -= x
        return total

    x = tf2.constant(np.random.RandomState(1).randn(8, 8).astype("f"))
    expected = 3 * (x.numpy() @ x.numpy()) - 2 * x.numpy()
    for _ in range(10):
        np.testing.assert_allclose(climb(x).numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("given", "text"), [("best", "'simple', 'dynamic'"), (3, "'simple', 'dynamic'"), (None, "'simple', 'dynamic'")]
)
def test_another_placer_is_refused(given, text):
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        tf2.config.set_placer(given)


def test_bad_budgets_and_seeds_are_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="budget"):
        tf2.config.set_placer("dynamic", budget=-1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="seed"):
        tf2.config.set_placer("dynamic", seed=1.5)


def test_the_placer_can_be_asked_for():
    assert tf2.config.get_placer() == "simple"
    tf2.config.set_placer("dynamic")
    assert tf2.config.get_placer() == "dynamic"


def test_what_an_earlier_run_needed_moves_along_with_its_variable(clock):
    """The initializer ran first, and somewhere else; it is run again after the variable has moved."""
    tf2.config.set_placer("dynamic")
    with tf.Graph().as_default():
        values = tf.placeholder(tf.float32, [None])
        _, update = tf.metrics.mean(values)
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            assert session.run(update, {values: [1.0, 3.0]}) == 2.0
            session.run(tf.local_variables_initializer())
            assert session.run(update, {values: [5.0]}) == 5.0
            placed = session.placement()
            cells = session._state._cells
            for name in ("mean/total", "mean/count"):
                assert placed[name].device is placed[f"{name}/Assign"].device
                assert cells[name].place.device is placed[name].device


@pytest.mark.parametrize("way", list(Way))
@pytest.mark.parametrize("towers", [1, 3])
def test_predictions_ask_those_who_decide_how_a_program_runs(clock, monkeypatch, way, towers):
    """On cards, with a host that takes longer to order a call than they take for it."""
    tf2.config.set_placer("dynamic")
    with tf.Graph().as_default():
        x, loss, train = network(towers)
        with tf.Session() as session:
            clock.engine = engine = session._engine
            session.run(tf.global_variables_initializer())
            session.run([loss, train], {x: BATCH})
            request = next(reversed(session._programs.values())).request
            monkeypatch.setattr(Device, "is_card", property(lambda self: self.type == "GPU"))
            monkeypatch.setattr(engines, "work_space", lambda device: 0)
            monkeypatch.setattr(engines, "way_of", lambda plan, pool, ordered: way)
            speeds = {"CPU": Speed(1e7, 1e7, 1e-4), "GPU": Speed(1e10, 1e10, 1e-6, launch=1e-4)}
            monkeypatch.setattr(cost_model, "speed_of", lambda device: speeds[device.type])
            recordings = {device: device.name for device in engine.devices if device.is_card}
            engine._running_as = replace(engine._running_as, recordings=recordings)
            choice = engine._decide(request, engines._needed(request), {})
    used = {device for device in choice.plan.placement.values() if device != "CPU:0"}
    if way is Way.CAPTURED:
        assert len(used) == 1 if towers == 1 else used  # ordered in one go
        assert choice.plan.forecast.ordering == 0
    else:
        assert choice.plan.forecast.ordering > 0
        assert choice.plan.forecast.value >= choice.plan.forecast.ordering
    expected = assembly.ORDERING if way is Way.THREADS else assembly.HOST
    assert choice.assembly.problem.orderer == expected
