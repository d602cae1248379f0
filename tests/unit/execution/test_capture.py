"""Programs that are captured: what is captured, and that runs give the same as without.

Here virtual GPUs pass for cards, and launches are recorded by a stand-in that makes them again in every replay, into
the same memory. That the real thing works is tested on a card (tests/gpu).
"""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
import torch

import situs as tf2
import situs.compat.v1 as tf
from situs._src.base.budget.ledger import Account
from situs._src.ops import math as math_ops
from situs._src.runtime.plan import planner
from situs._src.runtime.run import capture_regions, cuda_graph, inductor
from situs._src.runtime.run.program import Way, way_of
from situs._src.runtime.session.fetches import Fetches

RUNS = cuda_graph.CAPTURED_AFTER + 15


class Again:
    """Launches that are made again by running the work again."""

    def __init__(self, device):
        self.replays = 0

    def prepare(self, work):
        self.results = work()

    def record(self, work):
        self.work = work  # recording computes nothing, and changes nothing
        return self.results

    def replay(self):
        self.replays += 1
        for result, made in zip(self.results, self.work(), strict=True):
            if made is not result:
                result.copy_(made)


@pytest.fixture
def graph():
    with tf.Graph().as_default():
        yield


@pytest.fixture
def as_cards(pretending, graph):
    """Lets virtual GPUs count as cards, while a graph is built."""


@pytest.fixture
def pretending(monkeypatch, fast):
    """Lets virtual GPUs count as cards."""
    monkeypatch.setattr(capture_regions, "_on_card", lambda call: call.device.card is not None)
    monkeypatch.setattr(planner, "_computes_beside_the_host", lambda device: device.card is not None)
    monkeypatch.setattr(cuda_graph, "Launches", Again)


def plan_of(*fetches, feeds=()):
    session = tf.Session()
    return session._program(Fetches(session.graph, list(fetches)), list(feeds)).plan


def captured_in(session):
    """The captures of a session, in the order of its programs."""
    programs = [prepared.program._capturing for prepared in session._prepared.values()]
    return [program.captured for program in programs if program is not None]


def chain(x, count=capture_regions.SHORTEST):
    for _ in range(count):
        x = tf.tanh(x)
    return x


# Which plans have parts.


def test_work_of_one_card_between_feeds_and_fetches(as_cards):
    x = tf.placeholder(tf.float32, [2])
    found = capture_regions.parts_of(plan_of(chain(x), feeds=[x]))
    sizes = [len(found.before), len(found.arrivals), len(found.work), len(found.after)]
    assert sizes == [0, 1, capture_regions.SHORTEST, 1]
    assert found.boundary != found.incoming == list(found.arrivals)


def test_a_feed_that_others_take_on_the_card_is_no_arrival(as_cards):
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/gpu:0"):
        made = chain(x) + tf.random_poisson(x, [])
    found = capture_regions.parts_of(plan_of(made, feeds=[x]))
    assert not found.arrivals


def test_variables_are_brought_in(as_cards):
    v = tf.Variable([1.0, 2.0])
    found = capture_regions.parts_of(plan_of(chain(v * 2.0)))
    assert len(found.incoming) == 1
    assert found.reads == set(found.incoming)


def test_what_the_work_changes_is_a_state_of_it(as_cards):
    v = tf.Variable([1.0, 2.0])
    found = capture_regions.parts_of(plan_of(v.assign(chain(v * 2.0))))
    assert found.incoming == found.states
    assert not found.reads


def test_random_numbers_and_feeds_are_made_before_the_work(as_cards):
    x = tf.placeholder(tf.float32, [2])
    found = capture_regions.parts_of(plan_of(chain(x) + tf.random_normal([2]), feeds=[x]))
    assert [call.node.type for call in found.before if call.node] == ["RandomStandardNormal"]


def test_sizes_of_what_the_work_makes_belong_to_it(as_cards):
    x = tf.placeholder(tf.float32, [None, 2])
    made = chain(x)
    rows = tf.shape(made)[0]
    found = capture_regions.parts_of(plan_of(tf.reshape(made, [2, rows]) / tf.cast(rows, tf.float32), feeds=[x]))
    assert found.sizes
    assert {call.node.type for call in found.after if call.node} == set()


@pytest.mark.virtual
def test_virtual_gpus_are_not_captured(graph):
    x = tf.placeholder(tf.float32, [2])
    assert capture_regions.parts_of(plan_of(chain(x), feeds=[x])) == "nothing in it runs on a GPU"


BETWEEN = "the host has work to do between operations on the GPU"


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (lambda x: tf.tanh(x), "it has fewer than 8 operations on a GPU"),
        (lambda x: chain(tf.reshape(chain(x), tf.cast(tf.abs(x) + 1.0, tf.int32))), BETWEEN),
        (lambda x: chain(tf.random_poisson(chain(x), [])), BETWEEN),
        (lambda x: chain(tf.py_func(lambda y: y, [chain(x)], tf.float32)), BETWEEN),
    ],
    ids=["too short", "read on the host", "random numbers of what was made", "Python in between"],
)
def test_what_is_not_captured(as_cards, build, why):
    x = tf.placeholder(tf.float32, [2])
    assert capture_regions.parts_of(plan_of(build(x), feeds=[x])) == why


def test_work_that_comes_back_to_the_card_is_not_captured(as_cards):
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/gpu:0"):
        first = chain(x)
    with tf.device("/cpu:0"):
        between = tf.tanh(first)
    with tf.device("/gpu:0"):
        last = chain(between)
    assert capture_regions.parts_of(plan_of(last, feeds=[x])) == BETWEEN


# Training steps, captured and not.

OPTIMIZERS = {
    "descent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adam": lambda: tf.train.AdamOptimizer(0.01),
    "rms": lambda: tf.train.RMSPropOptimizer(0.01, centered=True),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.1),
    "a rate that falls": lambda: tf.train.AdamOptimizer(
        tf.train.exponential_decay(0.1, tf.train.get_or_create_global_step(), 5, 0.9)
    ),
}


def network(batch=None):
    """Feeds, loss and a step of a small network, with every kind of thing that training graphs hold."""
    x = tf.placeholder(tf.float32, [batch, 3])
    y = tf.placeholder(tf.int64, [batch])
    rng = np.random.default_rng(0)
    w1 = tf.Variable(rng.normal(size=(3, 8)).astype(np.float32))
    w2 = tf.Variable(rng.normal(size=(8, 4)).astype(np.float32))
    hidden = tf.nn.relu(tf.matmul(x, w1) + tf.Variable(tf.zeros([8])))
    logits = tf.matmul(hidden, w2)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    loss += 0.01 * tf.nn.l2_loss(w2) / tf.cast(tf.shape(x)[0], tf.float32)
    return (x, y), loss, (w1, w2)


def batches(count, rows=6):
    rng = np.random.default_rng(1)
    return [(rng.normal(size=(rows, 3)).astype(np.float32), rng.integers(0, 4, rows)) for _ in range(count)]


def trained(optimizer, between=lambda session, number, variables: None, runs=RUNS, device="/gpu:0"):
    """The losses of a session that trains, what its variables are at the end, and its captures."""
    with tf.Graph().as_default(), tf.device(device):
        feeds, loss, variables = network()
        step = OPTIMIZERS[optimizer]().minimize(loss, global_step=tf.train.get_or_create_global_step())
        initialize = tf.global_variables_initializer()
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
            session.run(initialize)
            losses = []
            for number, batch in enumerate(batches(runs)):
                losses.append(session.run([loss, step], dict(zip(feeds, batch, strict=True)))[0])
                between(session, number, variables)
            captures = [each for each in captured_in(session) if each is not None]
            return np.array(losses), session.run(tf.global_variables()), captures


def assert_same(first, second):
    np.testing.assert_allclose(first[0], second[0], rtol=1e-5)
    for ours, theirs in zip(first[1], second[1], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_captured_step_trains_as_one_that_is_not(optimizer, as_cards):
    assert_same(with_captures := trained(optimizer), trained(optimizer, device="/cpu:0"))
    assert len(with_captures[2]) == 1
    assert with_captures[2][0]._launches.replays >= 10


def assign_now_and_then(session, number, variables):
    if number in (5, 25, 33):
        variables[0].load(np.full((3, 8), 0.1 * number, np.float32), session)


def read_always(session, number, variables):
    session.run(variables[0])


@pytest.mark.parametrize("between", [assign_now_and_then, read_always])
def test_a_captured_step_sees_what_happens_to_variables_in_between(between, as_cards):
    runs = RUNS + 20
    assert_same(with_captures := trained("adam", between, runs), trained("adam", between, runs, "/cpu:0"))
    assert with_captures[2]


def test_a_value_that_somebody_holds_does_not_change(as_cards):
    held = []

    def hold(session, number, variables):
        if number == RUNS - 5:
            cell = session._state._cells[variables[0].op.name]
            held.append((cell.read(), cell.read().clone()))

    assert_same(trained("adam", hold, RUNS + 20), trained("adam", runs=RUNS + 20, device="/cpu:0"))
    value, then = held[0]
    assert value.equal(then)


def test_a_step_that_is_disturbed_every_time_is_captured_no_more(as_cards):
    held = []

    def hold(session, number, variables):
        held[:] = [session._state._cells[variables[0].op.name].read()]

    with_captures = trained("descent", hold, 80)
    assert_same(with_captures, trained("descent", runs=80, device="/cpu:0"))
    assert not with_captures[2]


def resetting(session, number, variables):
    """Sets a variable anew, as a metric is before every epoch."""
    if number % 6 == 0:
        variables[1].load(np.full(variables[1].shape.as_list(), 0.1, np.float32), session)


def test_variables_are_assigned_to_and_the_capture_stays(as_cards, monkeypatch):
    made = []
    record = cuda_graph.Captured.record
    monkeypatch.setattr(cuda_graph.Captured, "record", lambda self: (made.append(self), record(self))[1])
    runs = RUNS + 60
    assert_same(with_captures := trained("adam", resetting, runs), trained("adam", resetting, runs, "/cpu:0"))
    assert with_captures[2] == made[:1]
    assert len(made) == 1
    assert made[0].replays == runs - cuda_graph.CAPTURED_AFTER


def test_a_value_that_somebody_holds_does_not_change_when_it_is_assigned_to(as_cards):
    held = []

    def hold(session, number, variables):
        if number in (RUNS - 12, RUNS - 4):
            cell = session._state._cells[variables[1].op.name]
            held.append((cell.read(), cell.read().clone()))
            variables[1].load(np.full(variables[1].shape.as_list(), 0.5, np.float32), session)

    runs = RUNS + 20
    assert_same(trained("adam", hold, runs), trained("adam", hold, runs, "/cpu:0"))
    assert len(held) == 4
    assert all(value.equal(then) for value, then in held)


@pytest.mark.parametrize(("paid", "captures"), [(4, True), (1000, False)])
def test_captures_that_paid_do_not_count(as_cards, monkeypatch, paid, captures):
    monkeypatch.setattr(cuda_graph, "PAID", paid)
    monkeypatch.setattr(cuda_graph, "MOST", 3)

    held = []

    def hold(session, number, variables):
        if number % 10 == 0:
            held[:] = [session._state._cells[variables[0].op.name].read()]

    runs = 118
    assert_same(with_captures := trained("descent", hold, runs), trained("descent", hold, runs, "/cpu:0"))
    assert bool(with_captures[2]) is captures


def test_other_shapes_go_the_usual_way(as_cards):
    with tf.device("/gpu:0"):
        (x, y), loss, _ = network()
        step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for rows in [6] * RUNS + [2, 6]:
            (batch,) = batches(1, rows)
            last = session.run([loss, step], {x: batch[0], y: batch[1]})[0]
        assert np.isfinite(last)
        assert captured_in(session)[-1]._launches.replays == RUNS - cuda_graph.CAPTURED_AFTER + 1


def test_an_array_that_is_written_over_between_runs_is_fed_anew(as_cards):
    x = tf.placeholder(tf.float32, [2])
    fed = np.zeros(2, np.float32)
    made = chain(x)
    with tf.Session() as session:
        for number in range(RUNS):
            fed[:] = number
            right = fed
            for _ in range(capture_regions.SHORTEST):
                right = np.tanh(right)
            np.testing.assert_allclose(session.run(made, {x: fed}), right, rtol=1e-5)
        assert captured_in(session)[0] is not None


def test_a_feed_is_held_once(as_cards, monkeypatch):
    x = tf.placeholder(tf.float32, [2**18])
    total, fed = tf.reduce_sum(chain(x)), np.zeros(2**18, np.float32)

    def peak():
        gc.collect()
        with tf.Session() as session:
            for _ in range(RUNS):
                session.run(total, {x: fed})
            assert captured_in(session)[0] is not None
            tf2.config.experimental.reset_memory_stats("GPU:0")
            session.run(total, {x: fed})
            return tf2.config.experimental.get_memory_info("GPU:0")["peak"]

    straight = peak()
    monkeypatch.setattr(capture_regions, "_arrivals", lambda calls, taken: {})
    assert peak() - straight == fed.nbytes


def test_two_captured_programs_share_variables(as_cards):
    """A step and an evaluation, in turns: the one sees what the other has changed."""
    with tf.device("/gpu:0"):
        (x, y), loss, _ = network()
        step = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss)
        evaluated = chain(loss)
    (batch,) = batches(1)
    fed = {x: batch[0], y: batch[1]}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(2 * RUNS):
            session.run(step, fed)
            seen, again = session.run([loss, evaluated], fed)
            for _ in range(capture_regions.SHORTEST):
                seen = np.tanh(seen)
            assert again == pytest.approx(seen, rel=1e-4)
        captures = [each for each in captured_in(session) if each is not None]
        assert len(captures) == 2
        assert all(each._launches.replays > 20 for each in captures)


def test_what_was_read_before_a_change_stays_as_it_was(as_cards):
    with tf.device("/gpu:0"):
        v = tf.Variable([1.0, 2.0, 3.0])
        before = tf.reshape(v.read_value(), [3, 1])
        with tf.control_dependencies([before]):
            grown = v.assign_add(chain(v * 0.0) + 1.0)
    with tf.Session() as session:
        session.run(v.initializer)
        for number in range(RUNS):
            old, new = session.run([before, grown])
            np.testing.assert_array_equal(old[:, 0], np.array([1.0, 2.0, 3.0]) + number)
            np.testing.assert_array_equal(new, np.array([2.0, 3.0, 4.0]) + number)
        assert captured_in(session)[-1] is not None


def test_a_variable_may_be_given_a_view_of_itself(as_cards):
    with tf.device("/gpu:0"):
        v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
        turned = v.assign(tf.transpose(v.read_value()) + 0.0 * chain(v))
        turned_only = v.assign(tf.transpose(v.read_value()))
        both = tf.group(turned_only, chain(tf.constant([1.0])))
    with tf.Session() as session:
        session.run(v.initializer)
        expected = np.array([[1.0, 2.0], [3.0, 4.0]])
        for fetched in (turned, both):
            for _ in range(RUNS):
                session.run(fetched)
                expected = expected.T
                np.testing.assert_array_equal(session.run(v), expected)


@pytest.mark.parametrize(
    ("divide", "expected"), [(tf.floormod, [0, 6, 1]), (tf.floordiv, [2, -2, 2]), (tf.truncatediv, [2, -1, 2])]
)
def test_a_division_by_a_known_number_does_not_wait_for_the_card(as_cards, monkeypatch, divide, expected):
    looked = []
    monkeypatch.setattr(math_ops, "has_no_zero", lambda y: looked.append(y) or bool((y != 0).all()))
    x, known, other = tf.placeholder(tf.int64, [3]), tf.constant(7, tf.int64), tf.placeholder(tf.int64, [])
    with tf.Session() as session, tf.device("/gpu:0"):
        made = divide(chain(tf.cast(x, tf.float32)), 1.0)  # floats are divided by anything
        by_known, by_other = divide(x, known), divide(x, other)
        session.run([made, by_known], {x: [1, -8, 15]})
        looked.clear()  # the constant was looked at when the plan was made
        assert session.run(by_known, {x: [14, -8, 15]}).tolist() == expected
        assert not any(isinstance(y, torch.Tensor) for y in looked)
        assert session.run(by_other, {x: [1, 2, 3], other: 2}).shape == (3,)
        assert any(isinstance(y, torch.Tensor) for y in looked)
        for fetched, feeds in ((by_other, {other: 0}), (by_known, {known: 0})):  # a constant that is fed is not known
            with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero"):
                session.run(fetched, {x: [1, 2, 3], **feeds})


def test_random_numbers_differ_from_run_to_run(as_cards):
    with tf.device("/gpu:0"):
        drawn = chain(tf.random_normal([4]))
    with tf.Session() as session:
        seen = {tuple(session.run(drawn)) for _ in range(RUNS)}
        assert captured_in(session)[-1] is not None
        assert len(seen) == RUNS


def test_the_next_element_is_taken_once_in_every_run(as_cards):
    """Also in runs that end up going the usual way."""
    held = []
    elements = tf.data.Dataset.range(1000).map(lambda n: tf.cast(n, tf.float32))
    iterator = tf.data.make_one_shot_iterator(elements)
    with tf.device("/gpu:0"):
        v = tf.Variable(0.0)
        changed = v.assign(chain(iterator.get_next() + 0.0 * v, 12) * 0.0 + iterator.get_next())
    with tf.Session() as session:
        session.run(v.initializer)
        values = []
        for number in range(2 * RUNS):
            values.append(float(session.run(changed)))
            if number == RUNS:
                held.append(session._state._cells[v.op.name].read())
        assert len(set(values)) == 2 * RUNS
        assert max(values) < 4 * RUNS


def test_a_counter_on_the_host_counts(as_cards):
    with tf.device("/cpu:0"):
        steps = tf.train.get_or_create_global_step()
    with tf.device("/gpu:0"):
        (x, y), loss, _ = network()
        step = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=steps)
    (batch,) = batches(1)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for number in range(RUNS):
            session.run(step, {x: batch[0], y: batch[1]})
            assert session.run(steps) == number + 1
        assert captured_in(session)[0] is not None


def test_threads_train_together(as_cards):
    with tf.device("/gpu:0"):
        v = tf.Variable([0.0, 0.0])
        grown = v.assign_add(chain(v * 0.0) + 1.0)
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(grown)

        def work():
            for _ in range(200):
                session.run(grown.op)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        total = session.run(v)[0]
        assert 201 <= total <= 801  # assignments of several runs are ordered by nothing
        assert total == session.run(v)[1]


def eager_training(decorate):
    """A variable, and a step that changes it, made a function by `decorate`."""
    with tf2.device("/gpu:0"):
        v = tf2.Variable([[1.0, 2.0], [3.0, 4.0]])
        x = tf2.constant([[1.0, 0.5], [0.25, 2.0]])
    optimizer = tf2.keras.optimizers.Adam(0.1)

    def step():
        with tf2.GradientTape() as tape:
            loss = tf2.reduce_mean(tf2.square(tf2.matmul(x, v)))
        optimizer.apply_gradients([(tape.gradient(loss, v), v)])
        return loss

    return v, decorate(step)


def test_functions_are_captured(pretending):
    v, step = eager_training(tf2.function)
    _, plain = eager_training(lambda function: function)
    np.testing.assert_allclose([step() for _ in range(RUNS)], [plain() for _ in range(RUNS)], rtol=1e-5)
    (ready,) = step.get_concrete_function()._programs.values()
    assert ready._program._capturing.captured is not None
    held = v.read_value()
    then = held.numpy().copy()
    np.testing.assert_allclose([step() for _ in range(5)], [plain() for _ in range(5)], rtol=1e-5)
    np.testing.assert_array_equal(held.numpy(), then)
    assert not np.array_equal(v.numpy(), then)


def captures_of(function):
    """The captures of a ``tf.function``, one for each of its programs that may have one."""
    traces = [function._graphs, *function._of_replicas.values()]
    ready = [each for graphs in traces for concrete in graphs for each in concrete._programs.values()]
    return [each._program._capturing.captured for each in ready if each._program._capturing is not None]


DRAWS = {
    "uniform": lambda seed: tf2.random.stateless_uniform([5, 3], seed),
    "normal": lambda seed: tf2.random.stateless_normal([7], seed, 1.0, 2.0),
    "half": lambda seed: tf2.random.stateless_normal([7], seed, dtype=tf2.float16),
    "double": lambda seed: tf2.random.stateless_uniform([7], seed, dtype=tf2.float64),
    "integers": lambda seed: tf2.random.stateless_uniform([9], seed, 0, 100, tf2.int32),
    "all integers": lambda seed: tf2.random.stateless_uniform([9], seed, None, None, tf2.int64),
    "dropout": lambda seed: tf2.nn.experimental.stateless_dropout(tf2.ones([4, 4]), 0.5, seed),
}


@pytest.mark.parametrize("dtype", [tf2.int32, tf2.int64])
@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_that_the_card_computes_is_read_there(pretending, name, dtype):
    """As Keras draws for dropout: from a variable that each step changes."""
    with tf2.device("/GPU:0"):
        state = tf2.Variable([5, 2**40 - 3], dtype=tf2.int64)

        @tf2.function
        def step(x):
            seed = tf2.cast((state * 1) % (2**31 - 1), dtype)
            state.assign_add([0, 1])
            for _ in range(capture_regions.SHORTEST):
                x = tf2.tanh(x)
            return DRAWS[name](seed), x

        for turn in range(RUNS):
            made, _ = step(tf2.ones([3]))
            seed = [5, (2**40 - 3 + turn) % (2**31 - 1)]
            with tf2.device("/CPU:0"):
                np.testing.assert_array_equal(made, DRAWS[name](seed))
    (captured,) = captures_of(step)
    assert captured._launches.replays > 10
    assert state.numpy().tolist() == [5, 2**40 - 3 + RUNS]


def test_a_generator_whose_state_lies_on_the_card(pretending):
    strategy = tf2.distribute.OneDeviceStrategy("/GPU:0")
    with strategy.scope():
        drawing, beside = (tf2.random.Generator.from_state([-2, 7, 11], "philox") for _ in range(2))

        @tf2.function
        def step(x):
            for _ in range(capture_regions.SHORTEST):
                x = tf2.tanh(x)
            return drawing.normal([3]), drawing.uniform([2, 2]), x

        for _ in range(RUNS):
            made = strategy.run(step, args=(tf2.ones([3]),))
            expected = strategy.run(lambda: (beside.normal([3]), beside.uniform([2, 2])))
            for one, other in zip(made[:2], expected, strict=True):
                np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(drawing.state, beside.state)
    assert "GPU" in drawing.state.device
    (captured,) = captures_of(step)
    assert captured._launches.replays > 10


def test_a_keras_step_with_dropout_is_captured(pretending):
    """Its losses are those of the CPU."""

    def losses(device):
        with tf2.device(device):
            keras = tf2.keras
            keras.utils.set_random_seed(3)
            model = keras.Sequential([keras.layers.Dense(8, "relu"), keras.layers.Dropout(0.4), keras.layers.Dense(1)])
            optimizer = keras.optimizers.SGD(0.05)
            x = tf2.reshape(tf2.linspace(-1.0, 1.0, 64), [16, 4])
            model.build(x.shape)
            optimizer.build(model.trainable_variables)

            @tf2.function
            def step(x):
                with tf2.GradientTape() as tape:
                    loss = tf2.reduce_mean(tf2.square(model(x, training=True) - 1.0))
                optimizer.apply(tape.gradient(loss, model.trainable_variables))
                return loss

            return [float(step(x)) for _ in range(RUNS)], step

    found, step = losses("/GPU:0")
    expected, _ = losses("/CPU:0")
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert len(set(found)) > RUNS // 2
    (captured,) = captures_of(step)
    assert captured._launches.replays > 5


def test_a_captured_program_lets_go_of_variables(as_cards):
    """The session closed, nothing holds their memory, though the capture may live on."""
    with tf.device("/gpu:0"):
        (x, y), loss, _ = network()
        step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    (batch,) = batches(1)
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    for _ in range(RUNS):
        session.run(step, {x: batch[0], y: batch[1]})
    (capture_,) = [each for each in captured_in(session) if each is not None]
    session.close()
    del session
    gc.collect()
    assert [home() for home in capture_._memory.homes] == [None] * len(capture_._memory.homes)


# Compiled.


@pytest.fixture
def compiling(pretending, monkeypatch):
    """Lets the work be compiled, by a stand-in that runs what was traced; gives how often each was done."""
    done = {"compiled": 0, "called": 0}

    def compiled(traced, exact=False):
        done["compiled"] += 1

        def call(values):
            done["called"] += 1
            return traced.graph(*values)

        return call

    monkeypatch.setattr(Account, "enters_all", property(lambda account: False))  # as a card's
    monkeypatch.setattr(inductor, "missing", lambda on_card: None)
    monkeypatch.setattr(inductor, "compiled", compiled)
    return done


def steps_of(jit_compile, runs=12):
    """What some steps make of a variable, their losses, and the function; its value is replaced on the way."""
    with tf2.device("/gpu:0"):
        v = tf2.Variable(np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4))

        @tf2.function(jit_compile=jit_compile)
        def step(x):
            with tf2.device("/gpu:0"):
                old = v * 1.0
                with tf2.GradientTape() as tape:
                    y = tf2.tanh(x @ v)
                    loss = tf2.reduce_mean((y * y - 0.5) ** 2)
                v.assign_sub(0.1 * tape.gradient(loss, v))
                return loss, old, v + 0.0

        losses = []
        for run in range(runs):
            if run == runs // 2:
                held = v.read_value()  # which keeps the assignment from writing into its memory
                v.assign(held * 0.5)
            x = tf2.constant(np.full([2, 3], 0.1 * (run % 3) + 0.5, np.float32))
            made = step(x)
            losses.append([float(made[0]), *(float(tf2.reduce_sum(each)) for each in made[1:])])
        return np.array(losses), v.numpy(), step


def test_the_work_is_compiled_before_it_is_captured(compiling, monkeypatch):
    monkeypatch.setattr(cuda_graph.Captured, "_milliseconds", lambda captured, work: 1.0)
    usual, value, _ = steps_of(None, runs=RUNS)
    assert not compiling["compiled"]
    new, other, step = steps_of(True, runs=RUNS)
    np.testing.assert_allclose(new, usual, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(other, value, rtol=1e-4, atol=1e-6)
    assert compiling["called"] > RUNS // 2
    assert "compiled region 1" in str(tf2.explain(step))


def test_another_capture_does_not_compile_again(compiling, monkeypatch):
    monkeypatch.setattr(cuda_graph.Captured, "_milliseconds", lambda captured, work: 1.0)
    _, _, step = steps_of(True, runs=RUNS)
    (program,) = [ready._program for made in step._graphs for ready in made._programs.values()]
    assert program._capturing._captures == 2  # when the variable's value was replaced, once more
    assert compiling["compiled"] == len(program._capturing.captured.compilation.regions)


def test_work_that_is_slower_compiled_is_captured_as_it_is(compiling, monkeypatch):
    times = iter([2.0, 1.0] * 8)
    monkeypatch.setattr(cuda_graph.Captured, "_milliseconds", lambda captured, work: next(times))
    usual, _, _ = steps_of(None)
    new, _, step = steps_of(True)
    np.testing.assert_allclose(new, usual, rtol=1e-4, atol=1e-6)
    said = {each.runs_as for each in tf2.explain(step)}
    assert "kernel: slower compiled, 2 against 1 ms" in said


def test_sizes_of_what_the_host_is_fed_are_part_of_the_launches(as_cards):
    x = tf.placeholder(tf.float32, [None, 3])
    with tf.device("/cpu:0"):
        rows = tf.shape(x)[0]
    with tf.device("/gpu:0"):
        made = chain(x) / tf.cast(rows, tf.float32)
    found = capture_regions.parts_of(plan_of(made, feeds=[x]))
    assert not found.before
    assert len(found.measured) == 1
    with tf.Session() as session:
        for number in range(RUNS):
            rows_now = 2 if number < RUNS - 3 else 4  # other sizes go the usual way
            given = np.full([rows_now, 3], 0.1 * (number % 7), np.float32)
            wanted = given
            for _ in range(capture_regions.SHORTEST):
                wanted = np.tanh(wanted)
            np.testing.assert_allclose(session.run(made, {x: given}), wanted / rows_now, rtol=1e-5)
        (captured,) = captured_in(session)
        assert captured.replays == RUNS - 3 - cuda_graph.CAPTURED_AFTER


def test_sizes_that_bring_values_stay_before_the_work(as_cards):
    x = tf.placeholder(tf.float32, [None, 3])
    with tf.device("/cpu:0"):
        noise = tf.random_poisson(1.0, tf.shape(x))
    with tf.device("/gpu:0"):
        made = chain(x + noise)
    found = capture_regions.parts_of(plan_of(made, feeds=[x]))
    assert "Shape" in [call.node.type for call in found.before if call.node]
    assert not found.measured


def test_strings_may_be_measured(as_cards):
    words = tf.placeholder(tf.string, [None])
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/cpu:0"):
        count = tf.size(words)
    with tf.device("/gpu:0"):
        made = chain(x) * tf.cast(count, tf.float32)
    with tf.Session() as session:
        for number in range(RUNS):
            fed = {x: np.ones(2, np.float32), words: ["a", "b"] if number < RUNS - 1 else ["a"]}
            found = session.run(made, fed)
        wanted = np.ones(2)
        for _ in range(capture_regions.SHORTEST):
            wanted = np.tanh(wanted)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
        (captured,) = captured_in(session)
        assert captured.replays


def program_in(session):
    (prepared,) = session._prepared.values()
    return prepared.program


def test_a_program_says_how_it_runs_now_and_how_it_will(as_cards):
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [4])
        y = x
        for _ in range(capture_regions.SHORTEST):
            y = tf.tanh(y)
    with tf.Session() as session:
        session.run(y, {x: np.ones(4, "f")})
        made = program_in(session)
        assert made.way is Way.STRAIGHT
        assert way_of(made.plan, session._engine.pool) is Way.CAPTURED
        assert made.settles_after == cuda_graph.CAPTURED_AFTER
        for _ in range(made.settles_after + 1):
            session.run(y, {x: np.ones(4, "f")})
        assert made.way is Way.CAPTURED


def test_what_overlaps_on_the_host_is_run_by_threads(graph):
    with tf.device("/cpu:0"):
        a, b = (tf.matmul(tf.ones([256, 256]), tf.placeholder(tf.float32, [256, 256])) for _ in range(2))
        both = a + b
    fed = {tensor: np.ones((256, 256), "f") for tensor in (a.op.inputs[1], b.op.inputs[1])}
    with tf.Session() as session:
        session.run(both, fed)
        made = program_in(session)
        assert made.way is way_of(made.plan, session._engine.pool) is Way.THREADS
        assert way_of(made.plan, None) is Way.STRAIGHT
        assert made.settles_after == 0
