"""A child after ``os.fork`` computes, on one thread, or says why it cannot; it never waits for its parent's threads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import situs
from situs._src.runtime.eager import bridge
from situs.errors import UnavailableError

# The child prints what it finds; a child that hangs is ended by the limit of the program that waits for it.
PROGRAM = """
import os, sys, threading
import numpy as np
{imports}
import situs as tf, situs.compat.v1 as tf1

def in_child(work):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            print(work(), flush=True)
        except BaseException as error:
            print(type(error).__name__, error, flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

x = tf.ones([500, 500])
{program}
"""
THREADS = {"OMP_NUM_THREADS": "2", "PYTHONWARNINGS": "ignore", "CUDA_VISIBLE_DEVICES": ""}  # a card is lost by a fork


@pytest.fixture
def forking(run_python):
    def run(program: str, imports: str = "") -> str:
        return run_python(PROGRAM.format(imports=imports, program=program), **THREADS)

    return run


def test_eager_ops(forking):
    out = forking("""
v = tf.Variable(x)
def work():
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.matmul(x, v) + x)
    image, kernel = tf.ones([4, 32, 32, 8]), tf.ones([3, 3, 8, 8])
    seen = tf.nn.conv2d(image, kernel, 1, "VALID")
    return (x + x).numpy().sum(), tape.gradient(y, v).numpy().sum(), seen.numpy().max()
print(work())
in_child(work)
print(work())
""")
    first, child, after = out.splitlines()
    assert first == child == after


def test_a_session_with_work_side_by_side(forking):
    out = forking("""
with tf1.Graph().as_default():
    a = tf1.placeholder(tf.float32, [500, 500])
    b = tf1.get_variable("b", [500, 500], initializer=tf1.ones_initializer())
    y = tf.reduce_sum(tf.matmul(a, b)) + tf.reduce_sum(tf.matmul(b, a))
    z = y + tf1.py_func(lambda: np.float32(1), [], tf.float32) + tf1.py_func(lambda: np.float32(2), [], tf.float32)
    session = tf1.Session(config=tf1.ConfigProto(inter_op_parallelism_threads=2))
    session.run(tf1.global_variables_initializer())
    work = lambda: session.run(z, {a: np.ones([500, 500], np.float32)})
    print(work())
    in_child(work)
    print(work())
""")
    first, child, after = out.splitlines()
    assert first == child == after


def test_functions_and_datasets_with_threads(forking):
    out = forking("""
f = tf.function(lambda a: tf.reduce_sum(tf.matmul(a, a)) + tf.reduce_sum(tf.matmul(a + 1, a)))
dataset = tf.data.Dataset.range(50).map(lambda i: i * 2, num_parallel_calls=2).batch(5).prefetch(2)
work = lambda: (float(f(x)), [int(tf.reduce_sum(each)) for each in dataset])
print(work())
in_child(work)
print(work())
""")
    first, child, after = out.splitlines()
    assert first == child == after


def test_an_iterator_that_was_begun_in_the_parent_ends_or_says_so(forking):
    """It ends if nobody was at work for it when the process was forked, which is a matter of luck."""
    out = forking("""
dataset = tf.data.Dataset.range(1000).map(lambda i: i * 2, num_parallel_calls=2).prefetch(2)
iterator = iter(dataset)
next(iterator)
in_child(lambda: [int(i) for i in iterator][-1])
print(int(next(iterator)))
""")
    child, after = out.splitlines()
    assert child == "1998" or "Make a new iterator of the dataset in the child" in child
    assert after == "2"


def test_an_iterator_that_somebody_works_for_in_the_parent_says_so(forking):
    out = forking("""
import threading
begun, gate = threading.Event(), threading.Event()
def wait(i):
    if i:
        begun.set()
        gate.wait()
    return i
dataset = tf.data.Dataset.range(1000).map(lambda i: tf.numpy_function(wait, [i], tf.int64), num_parallel_calls=2)
iterator = iter(dataset)
next(iterator)
begun.wait()
in_child(lambda: [int(i) for i in iterator][-1])
gate.set()
print(int(next(iterator)))
""")
    child, after = out.splitlines()
    assert "Make a new iterator of the dataset in the child" in child
    assert after == "1"


def test_locks_that_other_threads_hold_are_open_in_the_child(forking):
    out = forking("""
from situs._src.base import locks
v = tf.Variable(x)
v.assign_add(x)
mine, held, done = locks.rlock(), threading.Event(), threading.Event()
def hold():
    with v._cell.lock:
        held.set()
        done.wait()
holder = threading.Thread(target=hold)
holder.start()
held.wait()
with mine:
    in_child(lambda: (v.assign_add(x).numpy()[0, 0], mine._is_owned()))
done.set()
holder.join()
print(v.assign_add(x).numpy()[0, 0])
""")
    assert out.splitlines() == ["(np.float32(3.0), True)", "3.0"]


def test_coordinators_summaries_and_generators_whose_locks_other_threads_hold(forking, tmp_path):
    out = forking(f"""
import contextlib
coord, writer = tf1.train.Coordinator(), tf1.summary.FileWriter({str(tmp_path)!r})
generator = tf.random.get_global_generator()
with tf1.Graph().as_default() as graph:
    queue = tf1.FIFOQueue(3, tf.float32)
    put, take = queue.enqueue(1.0), queue.dequeue()
    runner = tf1.train.QueueRunner(queue, [put])
    session = tf1.Session()
    session.run(put)
buffer, = session._state._resources.values()
from situs._src.variables import generator as generators
from situs._src.runtime.eager.tensor_list import TensorList
rows = TensorList([1, 2])
found = [coord._lock, coord._stop_event._cond, runner._lock, buffer._lock, writer._lock, generators._global_lock,
         rows._lock]
held, done = threading.Event(), threading.Event()
def hold():
    with contextlib.ExitStack() as stack:
        for lock in found:
            stack.enter_context(lock)
        held.set()
        done.wait()
holder = threading.Thread(target=hold)
holder.start()
held.wait()
def work():
    coord.request_stop()
    writer.add_summary(tf1.Summary(value=[tf1.Summary.Value(tag="a", simple_value=1.0)]), 1)
    writer.flush()
    assert tf.random.get_global_generator() is generator
    return coord.should_stop(), session.run(take), rows.get(0), runner.exceptions_raised
in_child(work)
done.set()
holder.join()
""")
    assert out == "(True, np.float32(1.0), 1, [])\n"


def test_threads_that_wait_at_a_queue_in_the_parent_do_not_wait_in_the_child(forking):
    out = forking("""
import time
with tf1.Graph().as_default():
    queue = tf1.FIFOQueue(9, tf.float32, shapes=[[]])
    put, take, both = queue.enqueue(1.0), queue.dequeue(), queue.dequeue_many(2)
    session = tf1.Session()
session.run(put)
waiting = threading.Thread(target=lambda: session.run(both))
waiting.start()
buffer, = session._state._resources.values()
while not buffer._consumers and waiting.is_alive():
    time.sleep(0.01)
in_child(lambda: (session.run(take), session.run(put), session.run(take)))
session.run(put)
waiting.join()
""")
    assert out == "(np.float32(1.0), None, np.float32(1.0))\n"


def test_locks_that_outlive_a_call_are_made_to_be_opened():
    made = re.compile(r"threading\.(Lock|RLock|Condition|Event|Semaphore)\(\)")
    root = Path(situs.__file__).parent / "_src"
    found = {path.relative_to(root).as_posix() for path in root.rglob("*.py") if made.search(path.read_text())}
    # Those of the work of single threads, which stays with them in the parent.
    assert found == {
        "base/locks.py",
        "data/worker_pool.py",
        "data/parallel.py",
        "distribute/replicas.py",
        "runtime/run/queue_buffer.py",
        "runtime/run/threads.py",
        "runtime/run/workers.py",  # an event, which only says that the program ends
    }


def test_a_child_of_a_program_that_used_torch_before(forking):
    out = forking("in_child(lambda: (x + x).numpy().sum())", "import torch; y = torch.ones(500, 500); y + y; y @ y")
    assert float(out) == 500000.0


def test_a_child_of_a_program_that_has_not_computed_keeps_its_threads(run_python):
    out = run_python(
        """
import os, situs as tf
tf.add
child = os.fork()
if child == 0:
    import torch
    tf.ones([500, 500]) + 1
    print(torch.get_num_threads(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
""",
        **THREADS,
    )
    assert out == "2\n"


def test_a_card_of_the_parents_is_refused_in_words(monkeypatch):
    monkeypatch.setattr(bridge, "in_bad_fork", lambda: True)
    with pytest.raises(UnavailableError, match="GPU-1 cannot be used in this process"):
        bridge._cuda_ordinal("GPU-1")
