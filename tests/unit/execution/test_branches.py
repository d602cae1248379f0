"""Work of several logical devices of one card, recorded as one: who waits for whom, what is copied, what is counted.

Here virtual GPUs pass for logical devices of one card, as in `test_capture`. Streams are stood in for by the orders in
which they may run what they are given: every such order has to give the same.
"""

from __future__ import annotations

import gc
import random
import weakref
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
import torch

import situs as tf2
import situs.compat.v1 as tf
from situs._src.base.budget.ledger import LimitReached
from situs._src.runtime.eager import allocations
from situs._src.runtime.passes.share_copies import is_shared
from situs._src.runtime.plan import planner
from situs._src.runtime.plan.plan import Call, slots_in
from situs._src.runtime.run import capture_regions, cuda_graph
from situs._src.runtime.run.branches import steps_of
from situs._src.runtime.run.capture_regions import parts_of
from situs._src.runtime.run.emit import value_of
from situs._src.runtime.run.graph_memory import GraphMemory
from tests.unit.execution.test_capture import RUNS, Again, captured_in, captures_of, chain, plan_of

TWO = "/gpu:0", "/gpu:1"


class Noted:
    """Streams that note what is asked of them; everything is done at once."""

    made: list[Noted] = []

    def __init__(self, device, count):
        self.asked = []
        self._current = 0
        Noted.made.append(self)

    def fork(self):
        self.asked = ["fork"]

    def join(self):
        self.asked.append("join")

    @contextmanager
    def on(self, number):
        before, self._current = self._current, number
        yield
        self._current = before

    def mark(self):
        self.asked.append(f"mark on {self._current}")
        return len(self.asked)

    def wait(self, mark):
        assert self.asked[mark - 1].startswith("mark on")
        assert self.asked[mark - 1] != f"mark on {self._current}"
        self.asked.append(f"wait on {self._current}")


@pytest.fixture
def one_card(monkeypatch, fast):
    """Lets virtual GPUs count as logical devices of one card."""
    monkeypatch.setattr(capture_regions, "_on_card", lambda call: call.device.card is not None)
    monkeypatch.setattr(capture_regions, "_card", lambda device: "the card")
    monkeypatch.setattr(planner, "_computes_beside_the_host", lambda device: device.card is not None)
    monkeypatch.setattr(cuda_graph, "Launches", Again)
    monkeypatch.setattr(cuda_graph, "Streams", Noted)
    Noted.made.clear()


@pytest.fixture
def graph(one_card):
    with tf.Graph().as_default():
        yield


def crossing(x):
    """Work on two devices: there and back, with sums of both."""
    with tf.device(TWO[0]):
        a = chain(x)
    with tf.device(TWO[1]):
        b = chain(tf.tanh(a) * 2.0)
    with tf.device(TWO[0]):
        return tf.add_n([chain(a + 1.0), b])


# Which plans have parts, and why others have not.


def test_work_on_two_logical_devices_of_a_card_is_one_work(graph):
    x = tf.placeholder(tf.float32, [2])
    found = parts_of(plan_of(crossing(x), feeds=[x]))
    assert [device.short_name for device in found.devices] == ["GPU:0", "GPU:1"]
    assert sum(call.copies is not None for call in found.work) == 2
    assert [len(found.before), len(found.after)] == [0, 1]


def two_cards(x):
    return crossing(x)


def host_in_between(x):
    with tf.device(TWO[0]):
        a = chain(x)
    with tf.device("/cpu:0"):
        between = tf.tanh(a)
    with tf.device(TWO[1]):
        return chain(between)


def too_short(x):
    with tf.device(TWO[0]):
        return tf.tanh(x)


def on_the_host(x):
    with tf.device("/cpu:0"):
        return chain(x)


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (two_cards, "several GPUs: GPU:0, GPU:1"),
        (host_in_between, "the host has work to do between"),
        (too_short, "fewer than 8 operations"),
        (on_the_host, "nothing in it runs on a GPU"),
    ],
)
def test_why_a_plan_is_not_recorded(graph, monkeypatch, build, why):
    if build is two_cards:
        monkeypatch.setattr(capture_regions, "_card", lambda device: device.physical)
    x = tf.placeholder(tf.float32, [2])
    assert why in parts_of(plan_of(build(x), feeds=[x]))


# Streams.


def work_of(*fetches, feeds=()):
    """The work of fetches as it is recorded, and what it needs: the calls, the parts and the plan."""
    plan = plan_of(*fetches, feeds=feeds)
    parts = parts_of(plan)
    shared = cuda_graph.with_shared(parts.work, parts.states, parts.sizes, plan.assignments)
    results = cuda_graph._results(plan, parts)
    return cuda_graph.with_sums(shared, results, plan.assignments, is_recorded=True), parts, plan


def test_each_device_has_a_stream_and_copies_are_made_where_they_are_read(graph):
    x = tf.placeholder(tf.float32, [2])
    calls, parts, _ = work_of(crossing(x), feeds=[x])
    steps = steps_of(calls, parts.devices, parts.sizes)
    for call, step in zip(calls, steps, strict=True):
        there = call.device if call.copies is None else next(d for d in parts.devices if d is not call.device)
        assert parts.devices[step.branch] is there
    awaited = {number for number, step in enumerate(steps) if step.is_awaited}
    assert awaited == {number for number, call in enumerate(calls) if call.copies is not None}
    assert {number for step in steps for number in step.waits} == awaited


def test_streams_fork_wait_for_what_crosses_and_join(graph):
    x = tf.placeholder(tf.float32, [2])
    y = crossing(x)
    fed = np.array([0.5, -0.25], np.float32)
    with tf.Session() as session:
        for _ in range(RUNS):
            made = session.run(y, {x: fed})
        assert captured_in(session)[0]._launches.replays > 10
    asked = Noted.made[-1].asked
    assert (asked[0], asked[-1]) == ("fork", "join")
    assert sorted(asked[1:-1]) == ["mark on 0", "mark on 1", "wait on 0", "wait on 1"]
    a = fed
    for _ in range(8):
        a = np.tanh(a)
    b, c = np.tanh(a) * 2, a + 1
    for _ in range(8):
        b, c = np.tanh(b), np.tanh(c)
    np.testing.assert_allclose(made, b + c, rtol=1e-5)


def replicas_step(x):
    """Two replicas by hand: a network each, summed gradients, variables changed in place on both; what is fetched."""
    rng = np.random.default_rng(0)
    start = [rng.normal(size=(3, 5)).astype(np.float32), rng.normal(size=(5, 2)).astype(np.float32)]
    towers = []
    for name in TWO:
        with tf.device(name):
            weights = [tf.Variable(value) for value in start]
            hidden = tf.nn.relu(tf.matmul(x, weights[0]) + 0.1)
            loss = tf.reduce_mean(tf.square(tf.matmul(hidden, weights[1])))
            towers.append((weights, tf.gradients(loss, weights), loss))
    updates = []
    with tf.device(TWO[0]):
        sums = [tf.add_n(pair) for pair in zip(*(gradients for _, gradients, _ in towers), strict=True)]
        loss = tf.add_n([each for _, _, each in towers])
    with tf.control_dependencies(sums):
        for name, (weights, _, _) in zip(TWO, towers, strict=True):
            with tf.device(name):
                updates += [w.assign_sub(0.1 * s) for w, s in zip(weights, sums, strict=True)]
    return [loss, *updates], [weights for weights, _, _ in towers]


def orders(steps, calls, count):
    """Some orders in which streams may run calls: each stream in its own order, after what it waits for."""
    for seed in range(count):
        draw = random.Random(seed)
        left = [[n for n, step in enumerate(steps) if step.branch == branch] for branch in (0, 1)]
        done: list[int] = []
        while any(left):
            ready = [queue for queue in left if queue and set(steps[queue[0]].waits) <= set(done)]
            weights = [1 + 9 * (queue is left[seed % 2]) for queue in ready]  # one is mostly quicker than the other
            done.append(draw.choices(ready, weights)[0].pop(0))
        assert len(done) == len(calls)
        yield done


def run_in(order, calls, parts, plan, given):
    """What calls make in some order, on memory: the values that are fetched, and the variables."""
    values = dict(given)
    for number in order:
        call = calls[number]
        function = getattr(call.function, "on_memory", call.function)
        if call.reads is not None:
            (cell,) = slots_in(call.inputs)
            values[call.outputs[0]] = values[cell]
            continue
        made = function(*(value_of(source, values) for source in call.inputs))
        values.update(zip(call.outputs, (made,) if call.single else made, strict=True))
    results = cuda_graph._results(plan, parts)
    return [values[slot].clone() for slot in results] + [values[slot].clone() for slot in parts.states]


@pytest.mark.parametrize("share", [True, False])
def test_every_order_that_streams_allow_gives_the_same(graph, share):
    x = tf.placeholder(tf.float32, [4, 3])
    fetches, _ = replicas_step(x)
    shared, parts, plan = work_of(*fetches, feeds=[x])
    calls = shared if share else parts.work
    steps = steps_of(calls, parts.devices, parts.sizes)
    generator = torch.Generator().manual_seed(1)
    cells = {slot: torch.randn(_shape(plan, slot), generator=generator) for slot in parts.states}
    fed = torch.randn([4, 3], generator=generator)

    def given():
        found = {slot: value.clone() for slot, value in cells.items()}
        return found | {slot: fed.clone() for slot in parts.incoming if slot not in found}

    right = run_in(range(len(calls)), parts.work, parts, plan, given())
    found = list(orders(steps, calls, 24))
    assert len(set(map(tuple, found))) > 12
    for order in found:
        for made, expected in zip(run_in(order, calls, parts, plan, given()), right, strict=True):
            torch.testing.assert_close(made, expected)


def _shape(plan, slot):
    (maker,) = [call for call in plan.calls if slot in call.outputs]
    return maker.node.attrs["shape"].as_list()


# Copies.


def copies_in(calls):
    return ["shared" if is_shared(call) else "copied" for call in calls if call.copies is not None]


def test_what_is_only_read_is_not_copied(graph):
    x = tf.placeholder(tf.float32, [2])
    calls, _, _ = work_of(crossing(x), feeds=[x])
    assert copies_in(calls) == ["shared", "shared"]


def test_gradients_and_their_sums_are_not_copied(graph):
    x = tf.placeholder(tf.float32, [4, 3])
    fetches, _ = replicas_step(x)
    calls, _, _ = work_of(*fetches, feeds=[x])
    assert set(copies_in(calls)) == {"shared"}
    assert len(copies_in(calls)) == 5


def test_gradients_are_added_up_as_the_last_of_them_is_computed(graph):
    x = tf.placeholder(tf.float32, [4, 3])
    fetches, _ = replicas_step(x)
    calls, parts, _ = work_of(*fetches, feeds=[x])
    changed = [(now, was) for now, was in zip(calls, parts.work, strict=True) if now.inputs != was.inputs]
    sums = [now for now, _ in changed if now.node.type == "AddN"]
    products = [now for now, _ in changed if now.node.type == "MatMul"]
    assert [len(slots_in(call.inputs)) for call in sums] == [1, 1]
    assert [call.device.short_name for call in products] == ["GPU:1", "GPU:1"]


def test_a_variable_that_changes_afterwards_is_copied(graph):
    with tf.device(TWO[0]):
        v = tf.Variable(np.linspace(1.0, 2.0, 40, dtype=np.float32))  # more than what is filled in by numbers
        old = v.read_value()
    with tf.device(TWO[1]):
        seen = chain(old)
    with tf.device(TWO[0]), tf.control_dependencies([seen]):
        changed = v.assign_add(chain(v * 0.0) + 1.0)
    calls, _, _ = work_of(seen, changed)
    assert "copied" in copies_in(calls)
    with tf.Session() as session:
        session.run(v.initializer)
        for number in range(RUNS):
            right = np.linspace(1.0, 2.0, 40, dtype=np.float32) + number
            for _ in range(8):
                right = np.tanh(right)
            np.testing.assert_allclose(session.run([seen, changed])[0], right, rtol=1e-5)
        assert any(each is not None for each in captured_in(session))


# Strategies.


def trained(strategy, runs=RUNS + 5, between=lambda number, variables: None):
    """The losses of a model under a strategy, its variables and the function of a step; more may happen in between."""
    with strategy.scope():
        tf2.keras.utils.set_random_seed(0)
        layers = [tf2.keras.layers.Dense(8, "relu"), tf2.keras.layers.Dense(1)]
        model = tf2.keras.Sequential([tf2.keras.Input((3,)), *layers])
        optimizer = tf2.keras.optimizers.Adam(0.01)
        optimizer.build(model.trainable_variables)

    def replica_step(x, y):
        with tf2.GradientTape() as tape:
            loss = tf2.reduce_sum(tf2.square(model(x, training=True) - y)) / 8.0
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    @tf2.function
    def step(x, y):
        return strategy.reduce("SUM", strategy.run(replica_step, (x, y)), axis=None)

    rng = np.random.default_rng(0)
    x = rng.normal(size=(8, 3)).astype("float32")
    data = tf2.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).batch(8)
    (batch,) = list(strategy.experimental_distribute_dataset(data))
    losses = []
    for number in range(runs):
        losses.append(float(step(*batch)))
        between(number, model.trainable_variables)
    return losses, [v.numpy() for v in model.trainable_variables], step


def test_a_mirrored_step_is_recorded_and_trains_as_one_device(one_card):
    losses, weights, step = trained(tf2.distribute.MirroredStrategy(list(TWO)))
    (captured,) = captures_of(step)
    assert captured._launches.replays >= 20
    assert [device.short_name for device in captured._parts.devices] == ["GPU:0", "GPU:1"]
    expected, theirs, _ = trained(tf2.distribute.OneDeviceStrategy("/cpu:0"))
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    for one, other in zip(weights, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_a_recorded_step_of_replicas_sees_what_happens_in_between(one_card):
    """Variables are assigned to, for all replicas, and values of theirs are held, which do not change."""
    held = []

    def disturbing(number, variables):
        if number % 9 == 4:
            variables[0].assign(variables[0] * 0.5)
        if number == RUNS:
            held.append((tf2.convert_to_tensor(variables[1]), variables[1].numpy()))

    losses, weights, step = trained(tf2.distribute.MirroredStrategy(list(TWO)), RUNS + 40, disturbing)
    (captured,) = captures_of(step)
    assert captured is not None
    expected, theirs, _ = trained(tf2.distribute.OneDeviceStrategy("/cpu:0"), RUNS + 40, disturbing)
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    for one, other in zip(weights, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)
    for value, then in held:
        np.testing.assert_array_equal(value, then)


def test_results_of_replicas_are_counted_where_they_lie(one_card):
    strategy = tf2.distribute.MirroredStrategy(list(TWO))

    @tf2.function
    def step():
        def made():
            x = tf2.ones([2**16])
            for _ in range(8):
                x = tf2.tanh(x)
            return x

        return strategy.run(made)

    for _ in range(RUNS):
        found = step()
    (captured,) = captures_of(step)
    assert captured._launches.replays > 10
    del found
    gc.collect()
    before = [tf2.config.experimental.get_memory_info(name[1:])["current"] for name in TWO]
    found = step()
    after = [tf2.config.experimental.get_memory_info(name[1:])["current"] for name in TWO]
    assert [b - a for a, b in zip(before, after, strict=True)] == [2**18, 2**18]
    assert [each.device[-5:] for each in found.values] == ["GPU:0", "GPU:1"]


# The memory of a graph.


@pytest.fixture
def device():
    with tf2.device("/gpu:3"):
        return tf2.zeros([1])._place.device


def recorded(memory, device, sizes):
    """Records work that makes values of some sizes, each of which goes when the next is made; the last one stays."""

    def made(size):
        return allocations.enter(torch.empty(size), device.account, "Made")

    def record():
        held = None
        for size in sizes:
            held = None
            held = memory.noting(Call(partial(made, size), [], [], device)).function()
        return held

    return memory.noted(record)


def test_the_most_that_was_held_is_counted_as_long_as_the_graph_lives(device):
    before = device.account.usage().current
    memory = GraphMemory([device])
    last = recorded(memory, device, [1000, 5000, 2000])
    assert device.account.usage().current - before == 4 * 5000
    assert memory.is_held
    del last
    assert device.account.usage().current - before == 4 * 3000
    del memory
    gc.collect()
    assert device.account.usage().current == before


def test_a_graph_that_does_not_fit_is_refused(device, monkeypatch):
    memory = GraphMemory([device])
    before = device.account.usage().current
    monkeypatch.setattr(device.account, "limit", before + 4 * 4000)
    with pytest.raises(LimitReached):
        recorded(memory, device, [1000, 5000])
    assert not memory.is_held
    assert device.account.usage().current == before


def test_a_card_that_counts_by_itself_is_left_to_do_so(device, monkeypatch):
    monkeypatch.setattr(device.account, "meter", lambda: (0, 0, 0))
    memory = GraphMemory([device])
    call = Call(lambda: 1, [], [], device)
    assert memory.noting(call) is call
    assert memory.noted(call.function) == 1
    assert not memory.is_held


def test_captures_are_given_back_when_a_device_is_short_of_memory(one_card):
    losses, _, step = trained(tf2.distribute.MirroredStrategy(list(TWO)))
    (captured,) = captures_of(step)
    captured.memory._pools.append(object())  # as if recording had taken memory, which it does on a card only
    kept = [weakref.ref(value) for value in captured._buffers]
    assert kept
    allocations.release()
    assert captures_of(step) == [None]
    assert [value() for value in kept] == [None] * len(kept)  # at once, though other parts of it may wait for gc
    assert not captured.memory.is_held
    again, _, _ = trained(tf2.distribute.MirroredStrategy(list(TWO)))
    np.testing.assert_array_equal(again, losses)
