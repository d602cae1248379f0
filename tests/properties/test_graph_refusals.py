"""Nonsense given to graphs, sessions and functions: refused by an error of ours, in time, and nothing leaks."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import types

import numpy as np
import pytest

import situs.compat.v1 as tf
from situs._src.base.devices.scope import build_into, here
from situs.errors import InvalidArgumentError, SitusError
from tests.conftest import STUCK

SELF: list[object] = []
SELF.append(SELF)
NAMELESS = {}
NAMELESS["a"] = NAMELESS
DEEP: list[object] = []
for _ in range(5000):
    DEEP = [DEEP]
ARRAY = np.zeros(2)

BUILDING = {
    "a list in itself": lambda x: tf.add(SELF, 1.0),
    "a shape in itself": lambda x: tf.reshape(x, SELF),
    "an axis in itself": lambda x: tf.norm(x, axis=SELF),
    "a group of a dictionary in itself": lambda x: tf.group(NAMELESS),
    "loop state in itself": lambda x: tf.while_loop(lambda *a: False, lambda *a: a, SELF),
    "branches in themselves": lambda x: tf.cond(tf.constant(True), lambda: SELF, lambda: SELF),
    "a variable of a list in itself": lambda x: tf.Variable(SELF),
    "a nested permutation": lambda x: tf.transpose(tf.placeholder(tf.int8, [None, None]), [[1], [0]]),
    "a tuple of a number": lambda x: tf.tuple(1),
    "a billion pieces": lambda x: tf.split(x, 10**13),
    "a collection of no name": lambda x: tf.get_collection([]),
    "a pattern that is none": lambda x: [tf.Variable(1.0), tf.global_variables("\\")],
    "a scope that is an array": lambda x: tf.name_scope(np.zeros(2)).__enter__(),
    "no variable": lambda x: tf.is_variable_initialized("x"),
    "variables that are none": lambda x: tf.variables_initializer(1),
    "a number of 5000 digits": lambda x: tf.get_default_graph().get_tensor_by_name("x:" + "9" * 5000),
    "no session": lambda x: x.eval(session=1),
    "a mix of tensors and a list in itself": lambda x: tf.add([x, SELF], 1.0),
    "a dtype of many lists": lambda x: tf.as_dtype(DEEP),
    "a shape of many lists": lambda x: tf.TensorShape(DEEP),
    "a dtype of one's own": lambda x: tf.DType("own", "f", 1, "own", 1),
    "an operation of one's own": lambda x: tf.Operation(tf.get_default_graph(), None, "x", (), {}, {}, None),
    "an attribute of no name": lambda x: x.op.get_attr([]),
    "a tensor that is a list": lambda x: tf.get_default_graph().is_feedable([]),
    "an operation that is a list": lambda x: tf.get_default_graph().prevent_fetching([]),
    "a name that is an array": lambda x: tf.get_default_graph().unique_name(ARRAY),
    "a group of no name": lambda x: tf.group(x, name=ARRAY),
    "control inputs that are a number": lambda x: tf.tuple([x], control_inputs=1),
    "a version that is an array": lambda x: tf.get_default_graph().as_graph_def(ARRAY),
    "a colocation that is an array": lambda x: tf.get_default_graph().colocate_with(x, ARRAY).__enter__(),
    "pieces without number": lambda x: tf.unstack(tf.placeholder(tf.float32), 10**13),
    "a shape with None": lambda x: tf.reshape(tf.placeholder(tf.float32), [None, 3]),
    "a state that is an array": lambda x: tf.py_func(lambda y: y, [x], tf.float32, stateful=ARRAY),
    "a padding of many lists": lambda x: tf.nn.max_pool_v2(tf.zeros([1, 4, 4, 1]), 2, 2, DEEP),
    "a scope of variables that is an array": lambda x: tf.VariableScope(ARRAY),
    "a template that is an array": lambda x: tf.make_template(ARRAY, tf.identity),
    "a scale that is a word": lambda x: tf.variance_scaling_initializer("x"),
    "a mode that is an array": lambda x: tf.variance_scaling_initializer(1.0, ARRAY),
    "variables that are numbers": lambda x: tf.report_uninitialized_variables([1]),
    "initialized numbers": lambda x: tf.assert_variables_initialized(1),
    "collections that are a number": lambda x: tf.get_local_variable("v", [1], collections=1j),
    "a queue of numbers": lambda x: tf.QueueBase(1, 2, 3, 4),
    "a queue of queues": lambda x: tf.QueueBase.from_list(0, ARRAY),
    "a queue without end": lambda x: tf.FIFOQueue(10**13, [tf.float32]),
    "a queue that is shared by an array": lambda x: tf.FIFOQueue(3, [tf.float32], shared_name=ARRAY),
    "an element of no name": lambda x: tf.FIFOQueue(3, [tf.float32]).enqueue(x, name=ARRAY),
    "epochs that are an array": lambda x: tf.train.limit_epochs(x, ARRAY),
    "names that are a number": lambda x: tf.train.string_input_producer(1),
    "batches by threads without number": lambda x: tf.train.batch([x], 2, num_threads=10**13),
    "a clean stop that is none": lambda x: tf.train.Coordinator(float("inf")),
    "a thread that is a list": lambda x: tf.train.Coordinator().register_thread([]),
    "a kind that is a word": lambda x: tf.TensorSpec([1]).is_subtype_of("x"),
    "kinds that are a number": lambda x: tf.TensorSpec([1]).most_specific_common_supertype(1),
    "a session that is a tensor": lambda x: x.op.run(session=x),
    "a session that was not entered": lambda x: tf.Session().__exit__(None, None, None),
    "a name of a slash": lambda x: tf.constant(1.0, name="/"),
    "a name with a new line": lambda x: tf.constant(1.0, name="a\n"),
    "a name taken as it is": lambda x: tf.constant(1.0, name="^a b/"),
}


@pytest.mark.parametrize("what", BUILDING)
def test_building_refuses(what):
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        x = tf.constant([1.0, 2.0], name="x")
        before = here.graph, here.scope
        with pytest.raises(SitusError):
            BUILDING[what](x)
        assert (here.graph, here.scope) == before
        assert graph.get_name_scope() == ""
        assert sess.run(x).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("name", ["é b", "a:0", "^q", "\n"])
def test_names_are_checked_inside_of_scopes_too(name):
    with tf.Graph().as_default(), tf.name_scope("s"), pytest.raises(InvalidArgumentError):
        tf.constant(1.0, name=name)


@pytest.mark.parametrize("fetches", [SELF, NAMELESS, [SELF], {"a": [NAMELESS]}], ids=["list", "dict", "inner", "both"])
def test_fetches_that_contain_themselves(fetches):
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.constant(1.0)
        with pytest.raises(SitusError):
            sess.run(fetches)
        assert sess.run(x) == 1.0


class Pair(tuple):
    """A tuple that cannot be made of its items alone."""

    def __new__(cls, a, b):
        return super().__new__(cls, (a, b))


def test_fetches_of_a_class_that_takes_other_arguments():
    with tf.Graph().as_default(), tf.Session() as sess, pytest.raises(SitusError, match="Pair"):
        sess.run(Pair(tf.constant(1.0), tf.constant(2.0)))


def test_a_closed_session_is_not_entered_again():
    with tf.Graph().as_default():
        session = tf.Session()
        session.close()
        with pytest.raises(RuntimeError, match="Attempted to use a closed Session"), session:
            pass


def test_an_eager_tensor_goes_into_a_queue_of_a_graph():
    import situs as eager

    before = build_into(None, here.scope)
    rows = eager.constant([1.0, 2.0])
    build_into(*before)
    with tf.Graph().as_default(), tf.Session() as sess:
        queue = tf.FIFOQueue(3, [tf.float32], shapes=[[]])
        sess.run(queue.enqueue_many(rows))
        assert sess.run(queue.dequeue_many(2)).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("data", [None, []], ids=["by default", "nothing"])
def test_a_broken_assertion_says_so_in_words(data):
    with tf.Graph().as_default(), pytest.raises(SitusError, match="Condition x > ") as refused:
        tf.assert_positive(-1, data=data)
    assert "b'" not in str(refused.value)


@pytest.mark.parametrize("kind", [tf.float32, tf.string])
def test_a_queue_comes_back_from_its_message(kind):
    with tf.Graph().as_default() as graph:
        tf.FIFOQueue(3, [kind]).dequeue()
        message = graph.as_graph_def()
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(message, name="")
        assert any(node.type == "QueueDequeueV2" for node in graph.get_operations())


def _damaged(old: str, new: str) -> str:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], name="x")
        tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + 1), [0, x], name="y")
        text = str(graph.as_graph_def())
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("old", "new"),
    [('key: "body"', 'key: "other"'), ('key: "cond"', 'key: "other"'), ('key: "shape"\n    value {', None)],
    ids=["no body", "no condition", "a number for a shape"],
)
def test_damaged_messages_are_refused_when_they_are_read(old, new):
    text = _damaged(old, new or 'key: "shape"\n    value { f: nan }\n  }\n  attr {\n    key: "_x"\n    value {')
    with tf.Graph().as_default() as graph:
        with pytest.raises(SitusError):
            tf.import_graph_def(text, name="")
        assert not graph.get_operations()


# What must not hang runs in a process of its own.

ENDS = {
    "interrupts in functions side by side": """
        def stop(x): raise KeyboardInterrupt
        calls = [tf.py_func(stop, [float(i)], tf.float32) for i in range(4)]
        try: sess.run(calls)
        except BaseException: print("ended")
    """,
    "runs inside of runs": """
        inner = [tf.py_func(lambda x: x, [float(i)], tf.float32) for i in range(4)]
        outer = [tf.py_func(lambda x: np.float32(sum(sess.run(inner))), [float(i)], tf.float32) for i in range(8)]
        assert sess.run(outer) == [6.0] * 8
        print("ended")
    """,
    "a run that runs itself": """
        own = []
        own.append(tf.py_func(lambda x: sess.run(own[0]), [1.0], tf.float32))
        try: sess.run(own[0])
        except situs.errors.SitusError as error: print("ended" if len(str(error)) < 100_000 else "long")
    """,
    "as many CPUs as there are numbers": """
        try: tf.Session(config=tf.ConfigProto(device_count={"CPU": 2**31 - 1}))
        except situs.errors.SitusError: print("ended")
    """,
    "ten runs of a long chain": """
        y = x = tf.placeholder(tf.float32, [])
        for _ in range(10_000): y = y + 1.0
        for _ in range(12): assert sess.run(y, {x: 0.0}) == 10_000
        print("ended")
    """,
    "functions that call each other, in two threads": """
        import situs as eager, threading, time
        @eager.function
        def a(x, n): time.sleep(.05); return b(x, n - 1) + 1 if n > 0 else x
        @eager.function
        def b(x, n): time.sleep(.05); return a(x, n - 1) + 1 if n > 0 else x
        def work(f):
            with eager.init_scope(): assert f(eager.constant(1.0), 3).numpy() == 4.0
        threads = [threading.Thread(target=work, args=(f,), daemon=True) for f in (a, b) * 4]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print("ended")
    """,
}


@pytest.mark.parametrize("what", ENDS)
def test_it_ends(what):
    start = "import numpy as np, situs, situs.compat.v1 as tf\nsess = tf.Session()\n"
    code = start + textwrap.dedent(ENDS[what])
    if "eager" in code:
        code = textwrap.dedent(ENDS[what]).replace("with eager.init_scope(): ", "")
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=STUCK, check=False)
    assert made.stdout.strip() == "ended", made.stderr[-2000:]


# Control flow in functions.


def _same(function, *values):
    import situs as eager

    made = eager.function(function)
    for value in values:
        before = here.graph
        assert int(made(eager.constant(value))) == int(function(eager.constant(value)))
        assert here.graph is before


def test_an_assignment_in_the_condition_of_a_loop():
    def function(x):
        total = 0
        while (y := x - 1) > 0:
            x = x - 1
            total += y
        return total

    _same(function, 4, 1)


def test_an_outer_name_set_in_a_branch_is_not_set_in_the_other():
    def function(x):
        c = x * 0
        if x > 5:

            def set_c(z):
                nonlocal c
                c = z + 1

            set_c(2)
        return c

    import situs as eager

    try:
        _same(function, 9, 1)
    except SitusError:
        pass  # refused is as good
    assert here.graph is None
    assert eager.executing_eagerly()


# Arguments of functions.

CALLS = {
    "a list in itself": lambda eager: eager.function(lambda x: x)(SELF),
    "a dictionary in itself": lambda eager: eager.function(lambda x: x)(NAMELESS),
    "a result in itself": lambda eager: eager.function(lambda x: SELF)(1),
    "a signature in itself": lambda eager: eager.function(lambda x: x, input_signature=SELF)(1),
    "a kind for a value": lambda eager: eager.function(lambda x: x)(eager.TensorSpec([1])),
}


@pytest.mark.parametrize("what", CALLS)
def test_calling_refuses(what):
    import situs as eager

    with pytest.raises(SitusError):
        CALLS[what](eager)
    assert here.graph is None


def test_an_object_without_a_hash_counts_by_its_identity():
    import situs as eager

    function = eager.function(lambda x, options: x + options.step)
    options = types.SimpleNamespace(step=1)
    assert int(function(eager.constant(1), options)) == int(function(eager.constant(1), options)) == 2
    assert function.experimental_get_tracing_count() == 1
    assert int(function(eager.constant(1), types.SimpleNamespace(step=2))) == 3


@pytest.mark.parametrize("more", range(0, 40, 7))
def test_recursion_without_end_names_the_function_wherever_it_stops(more):
    import situs as eager

    @eager.function
    def endless(x, n):
        return endless(x + 1, n + 1)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + more)
    try:
        with pytest.raises(SitusError, match=r"endless.* calls itself without end"):
            endless(eager.constant(1), 0)
    finally:
        sys.setrecursionlimit(limit)
    assert here.graph is None
