"""Methods of objects that were made well, called with anything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import situs as tf
import situs.compat.v1 as v1
from situs._src.base.devices.scope import build_into, here
from tests.fuzz.case import Case
from tests.fuzz.targets.calls import arguments
from tests.fuzz.values import Values

_WAITING = {"dequeue", "dequeue_many", "dequeue_up_to", "enqueue", "enqueue_many", "join", "wait_for_stop", "wait"}
_ELSEWHERE = {"register", "loop", "run_loop", "finalize", "switch_to_thread_local"}  # these last beyond the object
_INNER = {  # called by Situs or by subclasses, with what they know to be right
    *("after_run", "before_run", "after_create_session", "begin", "end", "after_save", "before_save", "update_step"),
    *(
        "add",
        "add_controls",
        "claim_name",
        "capture",
        "absolute_name",
        "add_variable_from_reference",
        "matches",
        "completed",
    ),
    *("save_own_variables", "load_own_variables", "assign", "assign_add", "assign_sub", "build", "merge_state"),
}


def _tape() -> Any:
    v = tf.Variable([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        v * v
    return tape


def _dataset() -> Any:
    return tf.data.Dataset.from_tensor_slices({"a": np.arange(6.0).reshape(3, 2), "b": [1, 2, 3]})


def _of(names: str, module: Any) -> list[Callable[[], Any]]:
    return [getattr(module, name) for name in names.split()]


EAGER: list[Callable[[], Any]] = [
    *(_tape, _tape, _tape, _dataset, _dataset, _dataset, lambda: iter(_dataset()), tf.Graph, tf.data.Options),
    *(lambda: tf.constant([1.0, 2.0]), lambda: tf.Variable([[1.0, 2.0]]), lambda: tf.Variable([1.0]).value()),
    *(lambda: tf.TensorShape([2, None]), lambda: tf.TensorSpec([2]), lambda: tf.float32, lambda: tf.DeviceSpec("a")),
    *(lambda: tf.function(lambda x: x), lambda: tf.random.Generator.from_seed(1), tf.train.Coordinator),
    *(lambda: tf.train.Checkpoint(v=tf.Variable(1.0)), lambda: tf.summary.create_file_writer("logs")),
    *(lambda: tf.train.CheckpointManager(tf.train.Checkpoint(v=tf.Variable(1.0)), "kept", 2),),
    *(lambda: tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([0])), lambda: tf.train.ExponentialMovingAverage(0.9)),
]


def _session() -> Any:
    v1.get_variable("session_v", [2])
    return v1.Session()


def _monitored() -> Any:
    v1.train.get_or_create_global_step()
    return v1.train.MonitoredSession()


def _saver() -> Any:
    return v1.train.Saver([v1.get_variable("saved", [2])])


def _runner() -> Any:
    queue = v1.FIFOQueue(2, ["int32"])
    return v1.train.QueueRunner(queue, [queue.enqueue(1)])


GRAPH: list[Callable[[], Any]] = [
    *(_session, _session, _session, _monitored, _monitored, _saver, v1.get_default_graph, v1.train.Coordinator),
    *(
        lambda: v1.constant([1.0]),
        lambda: v1.constant([1.0]).op,
        lambda: v1.Variable([1.0]),
        lambda: v1.placeholder("int8"),
    ),
    *(lambda: v1.train.GradientDescentOptimizer(0.1), v1.train.AdamOptimizer, lambda: v1.train.FtrlOptimizer(0.1)),
    *(lambda: v1.train.MomentumOptimizer(0.1, 0.9), lambda: v1.train.RMSPropOptimizer(0.1), v1.train.AdadeltaOptimizer),
    *(lambda: v1.train.ExponentialMovingAverage(0.9), lambda: v1.train.Checkpoint(v=v1.get_variable("v", []))),
    *(lambda: v1.train.StopAtStepHook(last_step=3), lambda: v1.train.LoggingTensorHook({"a": "b"}, every_n_iter=2)),
    *(lambda: v1.train.NanTensorHook("a:0"), lambda: v1.train.StepCounterHook(output_dir="logs"), v1.train.Scaffold),
    *(lambda: v1.train.CheckpointSaverHook("kept", save_steps=2), lambda: v1.train.SecondOrStepTimer(every_steps=2)),
    *(lambda: v1.train.SummarySaverHook(1, output_dir="logs", summary_op=v1.constant(b"")),),
    *(
        lambda: v1.train.FinalOpsHook(v1.constant(1.0)),
        lambda: v1.train.FeedFnHook(dict),
        lambda: v1.train.GlobalStepWaiterHook(0),
    ),
    *(lambda: v1.summary.FileWriter("logs"), lambda: v1.data.Dataset.range(3), lambda: v1.FIFOQueue(2, ["float32"])),
    *(lambda: v1.data.make_initializable_iterator(v1.data.Dataset.range(3)), v1.get_variable_scope),
    *(lambda: v1.PaddingFIFOQueue(2, ["float32"], [[None]]), _runner),
]


def _methods(made: Any) -> list[str]:
    names = [name for name in dir(made) if not name.startswith("_") and name not in _WAITING | _ELSEWHERE]
    if not isinstance(made, (tf.Variable, v1.Variable)):
        names = [name for name in names if name not in _INNER]
    if callable(made):
        names += ["__call__"] * 3
    return [name for name in names if callable(getattr(type(made), name, None))]


class Methods:
    """Cases of methods of objects that run at once."""

    def __init__(self, folder: Path) -> None:
        self._values = Values()

    def case(self, random: Random) -> Case:
        """One object, one to three of its methods."""
        before = build_into(None, here.scope)
        try:
            return self._case(random, random.choice(EAGER)())
        finally:
            build_into(*before)

    def _case(self, random: Random, made: Any) -> Case:
        steps = _steps(random, made, self._values)
        shown = f"{type(made).__name__}: {self._values.shown(steps)}"

        def run() -> None:
            before = build_into(None, here.scope)
            try:
                _each(made, steps)
            finally:
                build_into(*before)

        return Case(shown, run, plain=True)


class GraphMethods:
    """Cases of methods of objects in graphs."""

    def __init__(self, folder: Path) -> None:
        self._values = Values(graph=True)

    def case(self, random: Random) -> Case:
        """One object in a graph of its own, one to three of its methods."""
        graph = v1.Graph()
        with graph.as_default():
            made = random.choice(GRAPH)()
            steps = _steps(random, made, self._values)
        shown = f"{type(made).__name__}: {self._values.shown(steps)}"

        def run() -> None:
            with graph.as_default():
                _each(made, steps)

        return Case(shown, run, plain=True)


Step = tuple[str, list[Any], dict[str, Any]]


def _steps(random: Random, made: Any, values: Values) -> list[Step]:
    names = _methods(made) or ["__repr__"]
    chosen = [random.choice(names) for _ in range(random.randint(1, 3))]
    return [(name, *arguments(random, getattr(made, name), values)) for name in chosen]


def _each(made: Any, steps: list[Step]) -> None:
    """Calls the methods; one that refuses does not stop the next."""
    refusal: tf.errors.OpError | None = None
    try:
        for name, given, named in steps:
            try:
                getattr(made, name)(*given, **named)
            except tf.errors.OpError as error:
                refusal = error
    finally:
        if hasattr(made, "close"):
            made.close() if not hasattr(made, "enqueue") else None
    if refusal is not None:
        raise refusal
