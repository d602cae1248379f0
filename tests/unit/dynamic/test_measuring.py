"""Measured costs: out of recorded runs, of copies, by ``tf.placement.profile`` and ``situs profile``."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import situs as tf2
import situs.compat.v1 as tf
from situs._src.base.devices.inventory import process
from situs._src.cli.main import main
from situs._src.placement.costs.key import key_of
from situs._src.placement.costs.kinds import kind_of
from situs._src.placement.costs.model import CostModel, feeding_name
from situs._src.placement.costs.store import CostStore, Pace, ordering_of, shared_store
from situs._src.runtime.dynamic import learn as learning
from situs._src.runtime.dynamic import links
from situs._src.runtime.dynamic.learn import _seconds, learn, pace_of
from situs._src.runtime.dynamic.links import FASTEST, LARGE, SMALL, measure_links
from situs._src.runtime.eager.bridge import host
from situs._src.runtime.plan.plan import Call, Plan
from situs._src.runtime.run import program
from situs._src.runtime.run.program import Listener, Way
from situs._src.runtime.run.state import Run
from situs._src.runtime.run.trace import Event, Recorder
from situs._src.runtime.symbolic.reinfer import with_shapes


@pytest.fixture
def own_costs(monkeypatch, tmp_path):
    path = tmp_path / "costs.json"
    monkeypatch.setenv("SITUS_COSTS", str(path))
    return path


def recorded(build, runs=3, **feeds):
    """Runs a graph, some of the runs recorded; returns what was made, the events and plans."""
    seen = []
    with tf.Graph().as_default(), tf.Session() as session:
        fetch = build()
        session.run(tf.global_variables_initializer())
        program.listener = Listener(lambda plan, run, way: seen.append((plan, run)), lambda plan, seconds: None)
        try:
            for _ in range(2 * runs):  # every other one, and not the first
                session.run(fetch, feeds)
        finally:
            program.listener = None
    return fetch, seen


def test_what_a_run_took_is_entered_under_the_keys_of_its_operations():
    def build():
        return tf.matmul(tf.placeholder(tf.float32, [None, 8], name="x"), tf.ones([8, 4]), name="y")

    store = CostStore()
    fetch, seen = recorded(build, **{"x:0": np.ones((16, 8), "f")})
    assert len(seen) == 3  # the first run is not worth recording
    plan, recorder = seen[-1]
    x = fetch.op.inputs[0]
    learned = learn([recorder.events], plan, store, {x: tf.TensorShape([16, 8])})
    assert learned.shapes[fetch].as_list() == [16, 4]
    known = with_shapes([fetch.op], {x: tf.TensorShape([16, 8])})
    found = store.measured(kind_of(process.devices()[0]), key_of(known[fetch.op]))
    event = next(event for event in recorder.events if event.call.node is fetch.op)
    seconds = (event.end - event.start) * 1e-9
    assert seconds * (1 - 1e-9) <= found.median <= 1.25 * seconds + 2.1e-5  # with what it leaves to be cleaned up
    assert found.work.steps == 2 * 16 * 8 * 4


def test_updates_that_are_one_call_share_its_time_by_their_bytes():
    def build():
        small, large = tf.Variable(tf.zeros([10])), tf.Variable(tf.zeros([30]))
        loss = tf.reduce_sum(small) + tf.reduce_sum(large)
        return tf.train.GradientDescentOptimizer(0.1).minimize(loss)

    store = CostStore()
    _, seen = recorded(build)
    plan, recorder = seen[-1]
    learn([recorder.events], plan, store)
    updates = {key.sizes: found for _, key, found in store.items() if key.family.startswith("ApplyGradientDescent")}
    assert len(updates) == 2
    event = next(e for e in recorder.events if e.call.node is not None and e.call.node.op_def.updates)
    total = sum(found.median for found in updates.values())
    seconds = (event.end - event.start) * 1e-9
    assert seconds * (1 - 1e-9) <= total <= 1.25 * seconds + 2.1e-5
    assert max(f.median for f in updates.values()) > 2 * min(f.median for f in updates.values())


def test_a_loop_is_measured_as_a_whole():
    def build():
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.tanh(y)), [0, tf.ones([64])])[1]

    fetch, seen = recorded(build)
    plan, recorder = seen[-1]
    learned = learn([recorder.events], plan, CostStore())
    (cost,) = [cost for (name, _), cost in learned.held.items() if name == fetch.op.name]
    assert cost.source == "measured"
    model = CostModel(CostStore(), learned.held)
    where = next(event.call.device for event in recorder.events if event.call.node is fetch.op)
    assert model.time(fetch.op, where).seconds == cost.seconds


@pytest.mark.parametrize("whole", [0.5, 2.0])
def test_what_calls_took_one_by_one_is_brought_to_what_they_take_in_a_row(whole):
    """A step that takes so many times what its calls took: on the host each call has the same share of it."""

    def build():
        x = tf.placeholder(tf.float32, [64, 64], name="x")
        return tf.tanh(tf.matmul(x, x))

    _, seen = recorded(build, **{"x:0": np.ones((64, 64), "f")})
    plan, recorder = seen[-1]
    raw, store = CostStore(), CostStore()
    learn([recorder.events], plan, raw)
    costs = {key: found.median for _, key, found in raw.items()}
    others = sum(_seconds(recorder.events).values()) - sum(costs.values())
    learn([recorder.events], plan, store, whole=others + whole * sum(costs.values()))
    for _, key, found in store.items():
        assert found.median == pytest.approx(whole * costs[key])
    kind = kind_of(process.devices()[0])
    assert store.pace(kind).share == pytest.approx(whole)
    later = CostStore()
    later.note_pace(kind, 0.0, whole)
    learn([recorder.events], plan, later)  # a run of which no whole is known goes by what is known of the kind
    assert {key: found.median for _, key, found in later.items()} == pytest.approx(
        {key: whole * seconds for key, seconds in costs.items()}
    )


def test_on_a_card_each_call_gives_up_as_much_and_keeps_a_tenth():
    per_call, share = pace_of([30e-6, 12e-6, 500e-6], 512e-6, is_card=True)
    assert per_call == pytest.approx(10e-6, rel=1e-6)
    assert share == pytest.approx(1.0)
    times = [10e-6] * 10
    per_call, share = pace_of(times, 1e-6, is_card=True)  # less than can be: then the rest is a share
    assert sum(map(Pace(per_call, share).of, times)) == pytest.approx(1e-6)
    per_call, share = pace_of(times, 150e-6, is_card=True)
    assert (per_call, share) == (0.0, pytest.approx(1.5))


def test_every_other_profiled_run_is_timed_as_a_whole(own_costs):
    double = tf2.function(lambda x: tf2.matmul(x, x))
    x = tf2.ones([16, 16])
    with tf2.placement.profile(save=False, links=False) as found:
        for _ in range(3):  # the first is left alone, then one is recorded and one is timed
            double(x)
    assert found.runs == 2
    assert found.store.pace(kind_of(process.devices()[0])).at > 0


def test_links_are_measured_by_small_and_large_copies():
    store = CostStore()
    source, target = process.devices()[:2]
    measure_links([source, target], store)
    for link in store.links().values():
        assert link.latency > 0
        assert link.per_byte > 0


def test_a_clock_that_sees_no_bytes_makes_no_link_of_endless_speed():
    """One tick between any two looks at it, whatever is copied."""
    ticks = iter(range(10**9))
    store = CostStore()
    measure_links(process.devices()[:2], store, clock=lambda: float(next(ticks)))
    assert len(store.links()) == 2
    for link in store.links().values():
        assert link.latency == 1.0
        assert link.per_byte == 1 / FASTEST


def test_a_large_copy_grows_until_its_bytes_are_seen(monkeypatch):
    seconds = {SMALL: 10.0, LARGE: 11.0, 4 * LARGE: 14.0, 16 * LARGE: 26.0}
    monkeypatch.setattr(links, "_median", lambda copy, size, ends, clock: seconds[size])
    store = CostStore()
    measure_links(process.devices()[:2], store)
    for link in store.links().values():
        assert link.latency == 10.0
        assert link.per_byte == pytest.approx((26.0 - 10.0) / (16 * LARGE - SMALL))


def test_profile_measures_what_runs_meanwhile_and_saves_it(own_costs):
    @tf2.function
    def double(x):
        return tf2.matmul(x, x)

    x = tf2.ones([16, 16])
    double(x)
    with tf2.placement.profile() as found:
        for _ in range(4):
            double(x)
    assert found.runs == 3
    again = CostStore(own_costs)
    assert any(key.family.startswith("MatMul") for _, key, _ in again.items())
    feeding = feeding_name(host())
    assert len(again.links().keys() - {feeding}) == len(process.devices()) * (len(process.devices()) - 1)
    assert again.links()[feeding].per_byte > 0  # what becomes of arrays of the program
    assert program.listener is None
    double(x)
    assert found.runs == 3


def test_profile_lets_go_when_the_program_fails(own_costs):
    with pytest.raises(ZeroDivisionError), tf2.placement.profile(links=False):
        raise ZeroDivisionError
    assert program.listener is None


def test_profiled_results_are_those_of_other_runs(own_costs):
    double = tf2.function(lambda x: tf2.tanh(tf2.matmul(x, x)))
    x = tf2.constant(np.random.RandomState(0).randn(8, 8).astype("f"))
    expected = double(x).numpy()
    with tf2.placement.profile(save=False, links=False):
        for _ in range(3):
            np.testing.assert_array_equal(double(x).numpy(), expected)


def test_a_traced_run_of_a_dynamic_session_fills_the_store(own_costs):
    tf2.config.set_placer("dynamic")
    with tf.Graph().as_default(), tf.Session() as session:
        y = tf.matmul(tf.ones([8, 8]), tf.placeholder(tf.float32, [8, 8], name="x"))
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(y, {"x:0": np.ones((8, 8), "f")}, options=options, run_metadata=tf.RunMetadata())
    assert len(CostStore(own_costs)) >= 1
    assert shared_store().path == own_costs


def test_the_command_profiles_a_program_and_keeps_its_status(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("SITUS_COSTS", str(tmp_path / "unused.json"))
    source = tmp_path / "program.py"
    source.write_text(
        "import sys\nimport situs as tf\nf = tf.function(lambda x: tf.matmul(x, x))\n"
        "for _ in range(4):\n    f(tf.ones([8, 8]))\nsys.exit(7)\n"
    )
    path = tmp_path / "costs.json"
    assert main(["profile", "-o", str(path), str(source)]) == 7
    printed = capsys.readouterr().out
    assert "MatMul" in printed
    assert "runs recorded" in printed
    assert json.loads(path.read_text())["format"] == "situs costs"
    assert not (tmp_path / "unused.json").exists()


def test_a_run_that_is_recorded_already_is_not_recorded_twice(own_costs):
    with tf.Graph().as_default(), tf.Session() as session:
        y = tf.tanh(tf.ones([4]) * tf.placeholder(tf.float32, [], name="x"))
        session.run(y, {"x:0": 1.0})
        (made,) = session._programs.values()
        with tf2.placement.profile(save=False, links=False) as found:
            mine = Recorder()
            made.run(Run(session._state), [torch.tensor(1.0)], mine)
            assert mine.events
            assert found.runs == 0


# What the host has to do for a card.

KIND = "GPU of a test"


def ordered_run(ordering, seconds):
    """Events of a step whose calls are a card's: each kept the host busy for a while, and then the card."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [4, 4])
        nodes = [tf.tanh(x).op, tf.exp(x).op]
    card = SimpleNamespace(is_card=True, short_name="GPU:0")
    calls = [Call(lambda: None, [], [number], card, node) for number, node in enumerate(nodes)]
    plan = Plan(calls, [], [], len(calls), {}, placed={})
    events, at = [], 0
    for call in calls:
        done = at + round((ordering + seconds) * 1e9)
        events.append(Event(call, at, done, 1, (((4, 4), "float32", 64),), ordered=at + round(ordering * 1e9)))
        at = done
    return plan, events


@pytest.fixture
def card_kind(monkeypatch):
    monkeypatch.setattr(learning, "kind_of", lambda device: KIND)
    monkeypatch.setattr(learning, "processor_of", lambda device: "the card")


def test_the_time_of_the_host_and_of_the_card_are_told_apart(card_kind):
    plan, events = ordered_run(ordering=30e-6, seconds=50e-6)
    store = CostStore()
    learn([events], plan, store)
    for _, _, found in store.items():
        assert found.seconds == [pytest.approx(50e-6)]
        assert found.ordering == [pytest.approx(30e-6)]
    assert store.paces() == {}


def test_a_recorded_step_says_what_calls_take_of_the_card(card_kind):
    plan, events = ordered_run(ordering=30e-6, seconds=50e-6)
    store = CostStore()
    learn([events], plan, store, whole=80e-6, way=Way.CAPTURED)
    assert store.pace(KIND).per_call == pytest.approx(10e-6, rel=1e-5)
    assert sum(found.median for _, _, found in store.items()) == pytest.approx(80e-6)
    assert ordering_of(KIND) not in store.paces()


def test_a_step_that_the_host_is_slow_with_says_what_calls_take_of_the_host(card_kind):
    plan, events = ordered_run(ordering=30e-6, seconds=5e-6)
    store = CostStore()
    learn([events], plan, store, whole=45e-6)
    assert store.pace(ordering_of(KIND)).share == pytest.approx(45 / 60)
    assert KIND not in store.paces()  # nothing was learnt of the card, which waited
    slow, busy = ordered_run(ordering=1e-6, seconds=50e-6)
    other = CostStore()
    learn([busy], slow, other, whole=90e-6)
    assert other.paces() == {}  # the card was what took the time


def test_of_several_recorded_runs_each_call_has_the_median(card_kind):
    runs = [ordered_run(30e-6, seconds) for seconds in (50e-6, 70e-6, 900e-6)]
    plan = runs[0][0]
    calls = [event.call for event in runs[0][1]]
    same = [[replace(event, call=call) for event, call in zip(events, calls, strict=True)] for _, events in runs]
    store = CostStore()
    learn(same, plan, store)
    assert [found.median for _, _, found in store.items()] == [pytest.approx(70e-6)] * 2


def test_what_was_folded_away_takes_no_time():
    """Of two products of a key one is known when the plan is made: what the other took is shared out to both."""

    def build():
        x = tf.placeholder(tf.float32, [16, 16], name="x")
        return tf.matmul(x, tf.ones([16, 16])) + tf.matmul(tf.ones([16, 16]), tf.ones([16, 16]))

    _, seen = recorded(build, **{"x:0": np.ones((16, 16), "f")})
    plan, recorder = seen[-1]
    products = [node for node in plan.placed if node.type == "MatMul"]
    ran = [event for event in recorder.events if event.call.node in products]
    store = CostStore()
    learn([recorder.events], plan, store)
    kind = kind_of(process.devices()[0])
    taken = [store.measured(kind, key_of(node)).median for node in products]
    seconds = sum((event.end - event.start) * 1e-9 for event in ran)
    assert len(products) == 2
    assert seconds * (1 - 1e-9) <= sum(taken) <= (1.25 * seconds + 2.1e-5) * len(ran)


def test_beside_a_card_the_hosts_calls_have_what_it_leaves_of_the_step(monkeypatch):
    monkeypatch.setattr(learning, "kind_of", lambda device: "card" if device.is_card else "host")
    card, own = SimpleNamespace(is_card=True), SimpleNamespace(is_card=False)
    store = CostStore()
    store.note_pace("host", 0.0, 0.6)
    calls = [(own, learning.Taken(5.0)), (own, learning.Taken(5.0)), (card, learning.Taken(1.0))]
    assert learning._pace_beside_a_card(calls, 9.0, store).share == pytest.approx(0.8)
    assert learning._pace_beside_a_card(calls, 3.0, store).share == 0.6  # never quicker than alone
    assert learning._pace_beside_a_card(calls, 11.9, store).share == 1.0  # nor slower than each by itself
    assert learning._pace_beside_a_card(calls, 13.0, store) is None  # the step is not the host's
    assert learning._pace_beside_a_card(calls[:2], 9.0, store) is None


def test_views_take_no_part_and_the_others_share_the_step():
    def build():
        x = tf.placeholder(tf.float32, [64, 64], name="x")
        return tf.tanh(tf.reshape(tf.exp(x), [32, 128]))

    _, seen = recorded(build, **{"x:0": np.ones((64, 64), "f")})
    plan, recorder = seen[-1]
    store = CostStore()
    events, at = [], 0
    for event in recorder.events:  # one after the other: 10 us for a view, 50 for the rest
        is_view = event.call.node is not None and event.call.node.type == "Reshape"
        events.append(replace(event, start=at, end=at + (10_000 if is_view else 50_000)))
        at = events[-1].end
    copies = sum(50e-6 for event in events if event.call.copies is not None)
    learn([events], plan, store, whole=at * 1e-9)
    found = {key.family.split(" ", 1)[0]: each.median for _, key, each in store.items()}
    assert found["Reshape"] == 0.0
    assert found["Exp"] + found["Tanh"] == pytest.approx(at * 1e-9 - copies)  # what the view took is theirs
