"""A process that times the programs of the table of ops, one at a time, whenever it is told to.

    python op_runner.py situs|tensorflow [THREADS]

Each line it reads is a JSON list of a program, a size and a way to run it: "eager", or "function" for a
``tf.function``. It answers with the seconds that a call takes, the least of a short batch. What a program needs is made
the first time.
"""

import json
import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
from op_programs import PROGRAMS, inputs_of

BATCH = 1.5e-3  # seconds that one answer is measured for, where a call takes less
REPEATS = 3


def imported(library, threads):
    """The library to time, with so many threads for the work of one op; 0 for what it would take by itself."""
    if library == "situs":
        import situs as tf
    else:
        import tensorflow as tf
    if threads:
        tf.config.threading.set_intra_op_parallelism_threads(threads)
    return tf


def ready(tf, name, size, way):
    """A call of a program, with how often it is made at a time."""
    function, inputs = PROGRAMS[name][0], inputs_of(tf, name, size)
    if way == "function":
        traced = tf.function(lambda *tensors: function(tf, *tensors), autograph=False)
        call = lambda: traced(*inputs)  # noqa: E731
    else:
        call = lambda: function(tf, *inputs)  # noqa: E731
    for _ in range(20):
        call()
    return call, max(1, int(BATCH / REPEATS / timed(call, 3)))


def timed(call, number):
    """The seconds that one of so many calls takes."""
    numbers = range(number)
    start = time.perf_counter()
    for _ in numbers:
        call()
    return (time.perf_counter() - start) / number


def main():
    """Answers until there is nothing more to read."""
    tf = imported(sys.argv[1], int(sys.argv[2]))
    print(json.dumps(tf.__version__), flush=True)
    calls = {}
    for line in sys.stdin:
        key = tuple(json.loads(line))
        if key not in calls:
            calls[key] = ready(tf, *key)
        call, number = calls[key]
        print(json.dumps(min(timed(call, number) for _ in range(REPEATS))), flush=True)


if __name__ == "__main__":
    main()
