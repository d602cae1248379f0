"""Measured costs: out of recorded runs, of copies, by ``tf.placement.profile`` and ``situs profile``."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import situs as tf2
import situs.compat.v1 as tf
from situs._src.base.devices.inventory import process
from situs._src.cli.main import main
from situs._src.placement.costs.key import key_of
from situs._src.placement.costs.kinds import kind_of
from situs._src.placement.costs.model import CostModel
from situs._src.placement.costs.store import CostStore, shared_store
from situs._src.runtime.dynamic import links
from situs._src.runtime.dynamic.learn import learn
from situs._src.runtime.dynamic.links import FASTEST, LARGE, SMALL, measure_links
from situs._src.runtime.run import program
from situs._src.runtime.run.program import Listener
from situs._src.runtime.run.state import Run
from situs._src.runtime.run.trace import Recorder
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
        program.listener = Listener(lambda plan, recorder: seen.append((plan, recorder)), lambda plan, seconds: None)
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
    learned = learn(recorder.events, plan, store, {x: tf.TensorShape([16, 8])})
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
    learn(recorder.events, plan, store)
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
    learned = learn(recorder.events, plan, CostStore())
    (cost,) = [cost for (name, _), cost in learned.held.items() if name == fetch.op.name]
    assert cost.source == "measured"
    model = CostModel(CostStore(), learned.held)
    where = next(event.call.device for event in recorder.events if event.call.node is fetch.op)
    assert model.time(fetch.op, where).seconds == cost.seconds


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
    assert len(again.links()) == len(process.devices()) * (len(process.devices()) - 1)
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
