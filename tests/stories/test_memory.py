"""Programs that run out of memory and go on, and programs that give memory back by letting go.

No garbage is collected in these tests: what a program lets go of must be free at once. The truth is counted by the
tests themselves, from the tensors that they hold.
"""

from __future__ import annotations

import gc
import importlib
import random
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as tf1
from situs._src.base.budget.ledger import Account, accounts
from situs._src.base.tree import flatten
from situs._src.ops.constant import constant
from situs._src.placement import options
from situs._src.runtime.eager import allocations, convert
from situs._src.runtime.eager.tensor import EagerTensor
from tests.op_table import ROWS, Host

pytestmark = [pytest.mark.virtual, pytest.mark.usefixtures("fast")]
ROOM = 2**18
QUARTER = 2**14  # floats: a quarter of the room


@pytest.fixture(autouse=True)
def _without_collections(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(allocations, "_collect_garbage", lambda: 0.0)
    convert._scalars.clear()  # the constants of expressions such as x * 2.0 are given back when memory is short
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Account:
    """The account of GPU:0, with room for 256 KiB more than is held already."""
    account = accounts()[0]
    monkeypatch.setattr(account, "limit", account.usage().current + ROOM)
    account.reset_peak()
    return account


def held(values: list[tf.Tensor], device: str = "GPU:0") -> int:
    """The bytes behind some tensors on a device, each block of memory once."""
    there = [value._value.untyped_storage() for value in values if value.device.endswith(device)]
    return sum({storage.data_ptr(): storage.nbytes() for storage in there}.values())


# Running out and going on.


def _results() -> object:
    return tf.zeros([8, QUARTER])


def _results_of_large_inputs() -> object:
    x = tf.ones([QUARTER])
    return tf.stack([x] * 5)


def _several_results() -> object:
    return tf.math.top_k(tf.ones([22_000]), 22_000)  # values and places, of which the first still fit


def _constants() -> object:
    return tf.constant(np.ones(5 * QUARTER, np.float32))


def _copies() -> object:
    with tf.device("/cpu:0"):
        x = tf.ones([5 * QUARTER])
    return x.gpu(0)


def _inputs_from_elsewhere() -> object:
    with tf.device("/cpu:0"):
        x = tf.ones([5 * QUARTER])
    with tf.device("/gpu:0"):
        return tf.reduce_sum(x)


def _variables() -> object:
    v = tf.Variable(tf.zeros([3 * QUARTER]))
    return v.assign_add(tf.ones([3 * QUARTER]))


def _many_tensors() -> object:
    return [tf.zeros([QUARTER]) for _ in range(5)]


WAYS = [
    _results,
    _results_of_large_inputs,
    _several_results,
    _constants,
    _copies,
    _inputs_from_elsewhere,
    _variables,
    _many_tensors,
]


def test_a_thousand_times_out_of_memory_in_eager_code(gpu):
    start = gpu.usage().current
    for cycle in range(1000):
        run_out = WAYS[cycle % len(WAYS)]
        with pytest.raises(tf.errors.ResourceExhaustedError):
            run_out()
        assert gpu.usage().current == start, run_out
        if cycle % 50 == 0:  # all of the room can be used again
            assert len([tf.zeros([QUARTER]) for _ in range(4)]) == 4
    assert gpu.usage().peak <= gpu.limit


@pytest.fixture
def graph_programs():
    """Fetches and feeds that need too much, with the session that has them, and its variable."""
    with tf1.Graph().as_default() as graph, tf1.device("/gpu:0"):
        n = tf1.placeholder(tf.int32, [])
        fed = tf1.placeholder(tf.float32, [None])
        v = tf1.Variable(np.arange(1000, dtype=np.float32))
        large = tf1.zeros([n, QUARTER])
        programs = {
            "a result": (tf1.reduce_sum(large), {n: 5}),
            "a result after others": (tf1.reduce_sum(tf1.concat([large, large + 1.0], 0)), {n: 2}),
            "a feed": (tf1.reduce_sum(fed), {fed: np.ones(5 * QUARTER, np.float32)}),
            "a branch": (tf1.cond(n > 0, lambda: tf1.reduce_sum(tf1.zeros([n, QUARTER])), lambda: 0.0), {n: 5}),
            "a loop": (
                tf1.while_loop(lambda i, _: i < 9, lambda i, x: (i + 1, tf1.tile(x, [2])), (0, tf1.zeros([n])))[0],
                {n: QUARTER},
            ),
            "an assignment": (v.assign(tf1.zeros([n])[:1000]).op, {n: 5 * QUARTER}),
            "after an assignment": ([v.assign_add(tf1.zeros([1000])).op, tf1.reduce_sum(large)], {n: 5}),
        }
        with tf1.Session(graph=graph) as session:
            session.run(v.initializer)
            for fetches, _ in programs.values():
                session.run(fetches, {n: 0, fed: []} if fetches is not programs["an assignment"][0] else {n: 1000})
            session.run(v.initializer)
            yield session, v, programs


def test_hundreds_of_times_out_of_memory_in_graphs(graph_programs, gpu):
    session, v, programs = graph_programs
    start = gpu.usage().current
    for cycle in range(350):
        name, (fetches, feeds) = list(programs.items())[cycle % len(programs)]
        with pytest.raises(tf.errors.ResourceExhaustedError, match="OOM when allocating tensor with shape"):
            session.run(fetches, feeds)
        assert gpu.usage().current == start, name
        if cycle % 50 == 0:
            np.testing.assert_array_equal(session.run(v), np.arange(1000, dtype=np.float32))


def test_a_function_runs_out_and_goes_on(gpu):
    w = tf.Variable(tf.ones([1000]))

    @tf.function
    def f(n):
        return tf.reduce_sum(tf.zeros([n, QUARTER])) + tf.reduce_sum(w)

    assert float(f(tf.constant(1))) == 1000.0
    start = gpu.usage().current
    for _ in range(50):
        with pytest.raises(tf.errors.ResourceExhaustedError):
            f(tf.constant(5))
        assert gpu.usage().current == start
    assert float(f(tf.constant(2))) == 1000.0


def test_a_program_that_catches_the_error_and_takes_a_smaller_batch(gpu):
    """The reason to survive: halve the batch until it fits."""
    weights = tf.ones([64, 64])
    batch, sums = 2**14, []
    while len(sums) < 3:
        try:
            x = tf.ones([batch, 64])
            sums.append(float(tf.reduce_sum(tf.nn.relu(tf.matmul(x, weights)))))
        except tf.errors.ResourceExhaustedError:
            x = None
            batch //= 2
    assert sums == [batch * 64 * 64] * 3
    assert 2**7 <= batch <= 2**10


def test_a_run_that_fails_leaves_variables_as_they_are(gpu):
    with tf1.Graph().as_default(), tf1.device("/gpu:0"), tf1.Session() as session:
        n = tf1.placeholder(tf.int32, [])
        a, b = tf1.Variable(tf1.ones([100])), tf1.Variable(tf1.zeros([200]))
        grown = tf1.reduce_sum(tf1.ones([n, QUARTER]))
        with tf1.control_dependencies([grown]):
            change = tf1.group(a.assign_add(tf1.ones([100])), b.assign(tf1.ones([200])))
        session.run(tf1.global_variables_initializer())
        session.run(change, {n: 1})
        before, figures = session.run([a, b]), gpu.usage().current
        with pytest.raises(tf.errors.ResourceExhaustedError):
            session.run(change, {n: 5})
        after = session.run([a, b])
        assert gpu.usage().current == figures
        for old, new in zip(before, after, strict=True):
            np.testing.assert_array_equal(old, new)
        session.run(change, {n: 1})
        assert session.run(a)[0] == before[0][0] + 1.0


def test_an_eager_variable_keeps_its_value_when_an_assignment_does_not_fit(gpu):
    v = tf.Variable(tf.ones([3 * QUARTER]))
    figures = gpu.usage().current
    for _ in range(3):
        with pytest.raises(tf.errors.ResourceExhaustedError):
            v.assign_add(v)
        with pytest.raises(tf.errors.ResourceExhaustedError):
            v.assign(tf.zeros([3 * QUARTER]))
    assert gpu.usage().current == figures
    assert float(tf.reduce_sum(v)) == 3 * QUARTER


# Letting go.


def test_closing_a_session_frees_what_only_it_held(gpu):
    start = gpu.usage().current
    with tf1.Graph().as_default() as graph, tf1.device("/gpu:0"):
        fed = tf1.placeholder(tf.float32, [None])
        v = tf1.Variable(np.ones(1000, np.float32))
        y = tf1.reduce_sum(v * tf1.constant(np.ones(1000, np.float32))) + tf1.reduce_sum(fed)
    for _ in range(3):
        sessions = [tf1.Session(graph=graph) for _ in range(2)]
        for session in sessions:
            session.run(v.initializer)
            for count in range(15):  # often enough for quicker forms of the program
                session.run(y, {fed: np.ones(count, np.float32)})
        both = gpu.usage().current - start
        sessions[0].close()
        one = gpu.usage().current - start
        assert 8000 <= one < both
        assert sessions[1].run(y, {fed: [1.0]}) == 1001.0
        sessions[1].close()
        assert gpu.usage().current == start


def test_what_a_run_fetched_stays_when_its_session_is_closed(gpu):
    with tf1.Graph().as_default(), tf1.device("/gpu:0"), tf1.Session() as session:
        v = tf1.Variable(tf1.ones([1000]))
        session.run(v.initializer)
        found = session.run(v)
    assert found.tolist() == [1.0] * 1000


def test_a_session_that_goes_without_being_closed_is_freed_with_its_garbage(gpu):
    start = gpu.usage().current
    with tf1.Graph().as_default(), tf1.device("/gpu:0"):
        v = tf1.Variable(np.ones(1000, np.float32))
        tf1.Session().run(v.initializer)
    del v
    gc.collect()
    assert gpu.usage().current == start


def in_eager_code(value):
    if isinstance(value, Host):
        return value.value
    if isinstance(value, np.ndarray):
        return constant(value)
    return type(value)(map(in_eager_code, value)) if isinstance(value, (list, tuple)) else value


def _tensors(values: object) -> list[EagerTensor]:
    return [value for value in flatten(values) if isinstance(value, EagerTensor) and value.dtype is not tf.string]


def _call(row) -> tuple[list[EagerTensor], list[EagerTensor]]:
    """What a row of the table takes and makes."""
    module, _, name = row.function.rpartition(".")
    function = getattr(importlib.import_module(f"situs._src.ops.{module}"), name)
    args = [in_eager_code(value) for value in row.args]
    kwargs = {key: in_eager_code(value) for key, value in row.kwargs.items()}
    return _tensors([args, list(kwargs.values())]), _tensors([function(*args, **kwargs)])


@pytest.mark.parametrize("part", range(4))
def test_the_results_of_every_op_are_counted_and_freed_at_once(part, gpu):
    options.set_soft(True)
    for row in ROWS[part::4]:
        with tf.device("/gpu:0"):
            _call(row)  # a few numbers that programs write in operators are kept on their device
            start = gpu.usage().current
            inputs, results = _call(row)
        assert gpu.usage().current - start == held(inputs + results), row
        del inputs
        assert gpu.usage().current - start == held(results), row
        del results
        assert gpu.usage().current == start, row


# Many at once.


def test_threads_that_make_and_drop_tensors_never_exceed_the_limit(gpu):
    start, stop = gpu.usage().current, time.monotonic() + 2.0
    kept: list[list[tf.Tensor]] = [[] for _ in range(8)]
    wrong: list[str] = []
    refused = [0] * 8

    def work(number: int) -> None:
        rng, mine = random.Random(number), kept[number]
        while not wrong and (time.monotonic() < stop or sum(refused) <= 50):
            try:
                with tf.device("/gpu:0"):
                    made = tf.zeros([rng.randrange(1, QUARTER)])
                    mine.append(made)
                    mine.append(made[1:] if rng.random() < 0.3 else made + made)
            except tf.errors.ResourceExhaustedError:
                refused[number] += 1
                del mine[: rng.randrange(len(mine) + 1)]
            if rng.random() < 0.4 and mine:
                mine.pop(rng.randrange(len(mine)))
            made = None
            usage = gpu.usage()
            if not usage.current <= usage.peak <= usage.limit:
                wrong.append(str(usage))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert sum(refused) > 50
    assert gpu.usage().current - start == held([tensor for mine in kept for tensor in mine])
    for mine in kept:
        mine.clear()
    assert gpu.usage().current == start


def test_threads_that_run_out_in_one_session_leave_nothing_behind(graph_programs, gpu):
    session, v, programs = graph_programs
    start, wrong = gpu.usage().current, []

    def work(number: int) -> None:
        for cycle in range(20):
            fetches, feeds = list(programs.values())[(number + cycle) % 5]
            try:
                session.run(fetches, feeds)
                wrong.append(fetches)
            except tf.errors.ResourceExhaustedError:
                pass

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert gpu.usage().current == start
    np.testing.assert_array_equal(session.run(v), np.arange(1000, dtype=np.float32))
