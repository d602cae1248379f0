"""Where a ``tf.function`` is called: by another one, as a method, in a graph, from many threads."""

from __future__ import annotations

import copy
import gc
import inspect
import threading
import time
import weakref

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1
from situs._src.base.devices.scope import here
from situs._src.tracing.function import functions_run_eagerly, run_functions_eagerly
from tests.conftest import STUCK

# By another function.


def test_a_function_inside_another_is_traced_once_for_each_kind():
    order = []

    @tf.function
    def g(x):
        order.append("g")
        return x * 2.0

    @tf.function
    def f(x):
        order.append("f")
        return g(x) + g(x) + g(tf.stack([x, x]))[0]

    for _ in range(2):
        assert float(f(tf.constant(2.0))) == 12.0
    assert order == ["f", "g", "g"]


def test_functions_of_functions_do_not_multiply():
    count = []

    def level(inner):
        @tf.function
        def f(x):
            count.append(1)
            return inner(x) + inner(x)

        return f

    f = lambda x: x  # noqa: E731
    for _ in range(8):
        f = level(f)
    assert float(f(tf.constant(1.0))) == 256.0
    assert len(count) == 8


def test_a_function_of_a_function():
    g = tf.function(lambda x: x * 2.0)
    assert float(tf.function(g)(tf.constant(2.0))) == 4.0


def test_inner_functions_use_tensors_and_variables_of_the_outer_one():
    v = tf.Variable(1.0)

    @tf.function
    def f(x):
        y = x * 10.0

        @tf.function
        def g(z):
            v.assign_add(1.0)
            return y + z + v

        return g(x), g(x), v + 0.0

    assert [float(found) for found in f(tf.constant(1.0))] == [13.0, 14.0, 3.0]


def test_effects_of_inner_functions_keep_their_order():
    v = tf.Variable(1.0)
    double = tf.function(lambda: v.assign(v * 2.0))

    @tf.function
    def f():
        v.assign_add(1.0)
        double()
        v.assign_add(1.0)
        double()
        return v + 0.0

    assert float(f()) == 10.0
    assert float(v) == 10.0


def test_structures_between_functions():
    g = tf.function(lambda d, k=2: {"sum": d["a"] + d["b"], "rest": [None, d["a"] * k]})

    @tf.function
    def f(x):
        made = g({"a": x, "b": 1.0}, k=3)
        assert made["rest"][0] is None
        return made["sum"] + made["rest"][1]

    assert float(f(tf.constant(2.0))) == 9.0


def test_in_branches_and_loops():
    square = tf.function(lambda x: x * x)

    @tf.function
    def f(n, x):
        while n > 0:
            n -= 1
            x = square(x) if n > 0 else -square(x)
        return x

    assert float(f(tf.constant(3), tf.constant(2.0))) == -256.0


def test_the_graph_of_calls_is_sound_and_can_be_printed():
    g = tf.function(lambda x: tf.cond(x > 0.0, lambda: x * 2.0, lambda: x))
    made = tf.function(lambda x: g(x) + g(x + 1.0)).get_concrete_function(tf.TensorSpec([], tf.float32))
    made.graph.verify()
    assert "PartitionedCall" in str(made.graph)
    names = [node.name for node in made.graph.operations if node.type == "PartitionedCall"]
    assert len(set(names)) == 2


def test_python_recursion_ends_where_python_says():
    @tf.function
    def power(x, n):
        return x if n == 0 else power(x, n - 1) * 2.0

    assert float(power(tf.constant(1.0), 5)) == 32.0


def test_endless_recursion_is_an_error_and_leaves_nothing_behind():
    @tf.function
    def f(x):
        return f(x)

    with pytest.raises(RecursionError):
        f(tf.constant(1.0))
    assert here.graph is None
    assert float(tf.constant(1.0) + 1.0) == 2.0


# As a method.


class Scaled:
    traces = 0
    offset = 10.0

    def __init__(self, factor):
        self.factor = factor

    @tf.function
    def times(self, x, more=0.0):
        Scaled.traces += 1
        return x * self.factor + more

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def held(self, x):
        return x * self.factor

    @staticmethod
    @tf.function
    def plus_one(x):
        return x + 1.0

    @property
    @tf.function
    def doubled(self):
        return tf.constant(2.0) * self.factor


def test_each_instance_has_its_own_graphs():
    Scaled.traces = 0
    a, b, x = Scaled(2.0), Scaled(3.0), tf.constant(5.0)
    assert [float(obj.times(x)) for obj in (a, b, a)] == [10.0, 15.0, 10.0]
    assert Scaled.traces == 2
    assert a.times.experimental_get_tracing_count() == 1
    assert a.times == a.times
    assert a.times != b.times
    assert float(a.times(x, more=1.0)) == 11.0


def test_the_signature_of_a_method_has_no_self():
    class Model:
        @tf.function
        def call(self, x, training=False):
            return x

    model = Model()
    assert str(inspect.signature(model.call)) == "(x, training=False)"
    assert str(inspect.signature(Model.call)) == "(self, x, training=False)"
    assert model.call.__wrapped__(3.0) == 3.0


def test_other_sorts_of_methods():
    a, x = Scaled(2.0), tf.constant(5.0)
    assert float(a.plus_one(x)) == float(Scaled.plus_one(x)) == 6.0
    assert float(Scaled.times(a, x)) == 10.0
    assert float(a.held(3.0)) == 6.0
    assert str(a.held.get_concrete_function().structured_input_signature[0][0].shape) == "()"
    assert float(a.doubled) == 4.0


def test_a_method_of_an_object_that_nothing_else_holds():
    assert float(Scaled(4.0).times(tf.constant(2.0))) == 8.0
    kept = Scaled(4.0).times
    gc.collect()
    assert float(kept(tf.constant(2.0))) == 8.0


def test_a_graph_does_not_keep_its_instance_alive():
    a = Scaled(2.0)
    a.times(tf.constant(1.0))
    gone = weakref.ref(a)
    del a
    gc.collect()
    assert gone() is None


def test_instances_without_references_or_hashes():
    class Slotted:
        __slots__ = ("factor",)

        def __init__(self, factor):
            self.factor = factor

        @tf.function
        def times(self, x):
            return x * self.factor

    class Equal(Scaled):
        __hash__ = None

        def __eq__(self, other):
            return True

    for kind in (Slotted, Equal):
        a, b, x = kind(2.0), kind(3.0), tf.constant(1.0)
        assert [float(obj.times(x)) for obj in (a, b, a)] == [2.0, 3.0, 2.0]


def test_a_copied_object_has_functions_of_its_own():
    class Model:
        def __init__(self):
            self.w = tf.Variable(2.0)
            self.run = tf.function(self._run)

        def _run(self, x):
            return self.w * x

    a = Model()
    assert float(a.run(tf.constant(3.0))) == 6.0
    b = copy.deepcopy(a)
    b.w.assign(5.0)
    assert [float(m.run(tf.constant(3.0))) for m in (a, b)] == [6.0, 15.0]


# In a graph of the TensorFlow 1 dialect.


def test_in_a_graph():
    made = []

    @tf.function
    def f(x, k):
        made.append(1)
        return {"z": x * k, "l": [k, None]}

    with v1.Graph().as_default() as graph, v1.Session() as sess:
        x = v1.placeholder(tf.float32, [])
        first, second = f(x, 2.0), f(x + 1.0, 2.0)
        assert len(made) == 1
        assert sess.run([first["z"], second["z"], first["l"][0]], {x: 3.0}) == [6.0, 8.0, 2.0]
        f(np.array([1.0], np.float32), 2.0)
        assert len(made) == 2
        graph.verify()
    assert here.graph is None


def test_effects_happen_in_a_graph_whatever_is_fetched():
    with v1.Graph().as_default(), v1.Session() as sess:
        v = v1.Variable(1.0)

        @tf.function
        def f(y):
            v.assign_add(y)
            return y, v.read_value()

        given, read = f(v1.constant(1.0))
        sess.run(v.initializer)
        assert [sess.run(given), sess.run(given), sess.run(v), sess.run(read)] == [1.0, 1.0, 3.0, 4.0]


def test_a_function_uses_what_the_graph_feeds():
    with v1.Graph().as_default(), v1.Session() as sess:
        x = v1.placeholder(tf.float32, [None])
        f = tf.function(lambda y: tf.reduce_sum(x) + y)
        assert sess.run(f(1.0), {x: [2.0, 3.0]}) == 6.0


def test_a_graph_with_calls_can_be_written_down_and_read():
    with v1.Graph().as_default() as graph:
        f = tf.function(lambda x: tf.cond(x > 0.0, lambda: x * 3.0, lambda: x))
        v1.identity(f(v1.placeholder(tf.float32, [], name="x")), name="y")
        definition = graph.as_graph_def()
    with v1.Graph().as_default() as again, v1.Session() as sess:
        v1.import_graph_def(definition, name="")
        again.verify()
        assert sess.run("y:0", {"x:0": 2.0}) == 6.0


# Directly.


@pytest.fixture
def directly():
    run_functions_eagerly(True)
    yield
    run_functions_eagerly(False)


def test_functions_can_be_run_directly(directly):
    seen = []
    f = tf.function(lambda x: seen.append(x) or x + 1)
    assert functions_run_eagerly()
    assert f(1) == 2
    assert [int(f(tf.constant(n))) for n in (1, 2)] == [2, 3]
    assert [int(x) for x in seen] == [1, 1, 2]
    assert f.experimental_get_tracing_count() == 0
    run_functions_eagerly(False)
    f(tf.constant(1))
    f(tf.constant(1))
    assert len(seen) == 4


def test_running_directly_holds_for_calls_seen_before():
    f = tf.function(lambda x: x + 1.0)
    x = tf.constant(1.0)
    f(x)
    before = f.experimental_get_tracing_count()
    run_functions_eagerly(True)
    try:
        f(tf.constant([1.0]))
        assert float(f(x)) == 2.0
    finally:
        run_functions_eagerly(False)
    assert f.experimental_get_tracing_count() == before == 1


# From many threads.


def in_threads(count, work):
    errors = []

    def attempt(number):
        try:
            work(number)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=attempt, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_threads_with_shapes_of_their_own():
    made, found = [], {}

    @tf.function
    def f(x):
        made.append(1)
        return tf.reduce_sum(x) * 2.0

    def work(number):
        for _ in range(20):
            found[number] = float(f(tf.ones([number + 1])))

    in_threads(8, work)
    assert found == {number: 2.0 * (number + 1) for number in range(8)}
    assert len(made) == 8


def test_threads_with_one_shape_make_one_graph():
    made, found = [], []

    @tf.function
    def f(x):
        made.append(1)
        time.sleep(0.02)
        return x * 2.0

    in_threads(8, lambda number: found.append(float(f(tf.constant(3.0)))))
    assert found == [6.0] * 8
    assert len(made) == 1


def test_threads_share_a_variable():
    v = tf.Variable(0.0)
    f = tf.function(lambda: v.assign_add(1.0))

    def work(number):
        for _ in range(50):
            f()

    in_threads(4, work)
    assert float(v) == 200.0


def test_a_thread_traces_while_another_runs():
    slow = threading.Event()

    @tf.function
    def f(x):
        if x.shape.rank:
            slow.wait(STUCK)
        return x + 1.0

    f(tf.constant(1.0))
    thread = threading.Thread(target=lambda: f(tf.constant([1.0])))
    thread.start()
    assert float(f(tf.constant(2.0))) == 3.0
    slow.set()
    thread.join()


def test_python_numbers_of_tensors_are_tensors():
    """The dtypes are recorded from TensorFlow: int32 and float32, whatever the tensor's is."""

    @tf.function
    def f(x):
        return float(x), int(x), (lambda: float(x))()

    for given in (tf.constant(1.5, tf.float64), tf.constant(3, tf.int64), tf.constant("7")):
        real, whole, again = f(given)
        assert (real.dtype, whole.dtype, again.dtype) == (tf.float32, tf.int32, tf.float32)
        plain = given.numpy()
        assert float(real) == float(again) == float(plain)
        assert int(whole) == int(plain)


def test_python_numbers_of_what_is_no_tensor_are_those_of_python():
    @tf.function
    def f(x):
        return x + float("1.5") + int("11", 2) + 0 + float(3) + int("11", base=3) + sum(map(int, "12"))

    assert float(f(tf.constant(0.0))) == 1.5 + 3 + 3 + 4 + 3


def test_a_number_of_a_tensor_decides_a_branch():
    @tf.function
    def f(x):
        steps = 0
        for _ in tf.range(int(x)):
            steps += 1
        return steps if float(x) > 2.0 else -steps

    assert int(f(tf.constant(3.7))) == 3
    assert int(f(tf.constant(1.2))) == -1
