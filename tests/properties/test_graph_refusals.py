"""Nonsense given to graphs, sessions and functions: refused by an error of ours, in time, and nothing leaks."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import situs.compat.v1 as tf
from situs.devices.scope import here
from situs.errors import InvalidArgumentError, SitusError

SELF: list[object] = []
SELF.append(SELF)
NAMELESS = {}
NAMELESS["a"] = NAMELESS

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
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=25, check=False)
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
