"""Graph files: `GraphDef` and `MetaGraphDef` as text, JSON and bytes, imported and run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import situs.compat.v1 as tf
from situs._src.base.proto.formats import to_json, to_text
from situs._src.base.proto.meta_graph import MetaGraphDef
from situs._src.tracing.importing import read_graph_def
from tests.fuzz.case import Case, require
from tests.fuzz.mutation import mutated_bytes, mutated_text

DATA = Path(__file__).parents[2] / "data" / "tensorflow_graphs"  # what TensorFlow has written
MILLISECONDS = 1500  # that an imported graph may run: loops without end are legal


def _plain() -> None:
    x = tf.placeholder_with_default(np.ones([2, 3], np.float32), [None, 3], name="x")
    with tf.device("/gpu:1"):
        y = tf.matmul(x, tf.constant(np.eye(3, dtype=np.float32)), name="y")
    tf.reduce_sum(tf.nn.relu(y), axis=[1], keepdims=True, name="z")
    tf.strings.join([tf.constant(b"a\0\xff"), tf.as_string(tf.size(x))], name="words")


def _flow() -> None:
    x = tf.constant(3.0)
    tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + x), [0, 1.0], name="loop")
    tf.cond(x > 1.0, lambda: x * 2.0, lambda: x, name="branch")


def _state() -> None:
    v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
    w = tf.Variable(3, name="w")
    tf.group(tf.assign_add(v, [1.0, 2.0]), tf.assign(w, 4), tf.global_variables_initializer(), name="all")
    queue = tf.FIFOQueue(3, [tf.float32], shapes=[[]])
    queue.enqueue(1.0), queue.size()


def _shapes() -> None:
    a = tf.reshape(tf.range(24), [2, 3, 4])
    tf.concat([tf.transpose(a, [0, 2, 1]), tf.zeros([2, 4, 1], tf.int32)], 2)
    tf.split(a, 2, axis=2), tf.tile(a, [1, 2, 1]), tf.pad(a, [[0, 0], [1, 1], [0, 0]]), a[0, 1:, ::-1]
    tf.one_hot(a[0, 0], 5), tf.cast(a, tf.float64), tf.gather(a, [0, 1], axis=2), tf.argmax(a, 1)
    tf.nn.conv2d(tf.ones([1, 4, 4, 1]), tf.ones([2, 2, 1, 3]), [1, 2, 2, 1], "SAME")
    tf.random_uniform([2, 2], seed=3), tf.fill([2, 2], 7), tf.stack([a, a]), tf.space_to_depth(tf.ones([1, 2, 2, 1]), 2)


BUILDERS = (_plain, _flow, _state, _shapes)


def _built(build: Callable[[], None], whole: bool) -> Any:
    with tf.Graph().as_default() as graph:
        build()
        return tf.train.export_meta_graph(graph=graph) if whole else graph.as_graph_def()


class Graphs:
    """Cases of graphs."""

    def __init__(self, folder: Path) -> None:
        messages = [_built(build, whole=False) for build in BUILDERS]
        messages += [MetaGraphDef.FromString(path.read_bytes()) for path in sorted(DATA.glob("*.meta"))]
        self._texts = [to_text(message) for message in messages]
        self._texts += [to_json(message) for message in messages]
        self._bytes = [message.SerializeToString(deterministic=True) for message in messages]

    def case(self, random: Random) -> Case:
        """A graph that is damaged in one of its forms, imported; every second time also run."""
        if random.random() < 0.25:
            content: Any = mutated_bytes(random, random.choice(self._bytes), self._bytes)
        else:
            text = random.choice(self._texts)
            content = mutated_text(random, text, [o for o in self._texts if o.startswith("{") == text.startswith("{")])
        runs = random.random() < 0.5
        return Case(f"import_graph_def({content!a})", lambda: _imported(content, runs))


def _imported(content: Any, runs: bool) -> None:
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(content, name="")
        again = to_text(graph.as_graph_def())
        require(to_text(read_graph_def(again)) == again, "the text of an imported graph is not the graph")
        if runs:
            _run(graph)


def _run(graph: Any) -> None:
    nodes = [node for node in graph.get_operations() if "Dequeue" not in node.type]
    options = tf.RunOptions(timeout_in_ms=MILLISECONDS)
    with tf.Session(graph=graph) as session:
        session.run(nodes, options=options)


class MetaGraphs:
    """Cases of graphs with collections and variables, in files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        messages = [_built(build, whole=True) for build in BUILDERS]
        with tf.Graph().as_default():
            _state()
            messages.append(tf.train.Saver().export_meta_graph())
        self._texts = [to_text(message) for message in messages] + [to_json(message) for message in messages]
        self._bytes = [message.SerializeToString(deterministic=True) for message in messages]

    def case(self, random: Random) -> Case:
        """A file that is damaged, imported; its variables are initialized where there are any."""
        if random.random() < 0.6:
            content = mutated_text(random, random.choice(self._texts), self._texts).encode("utf-8", "replace")
        else:
            content = mutated_bytes(random, random.choice(self._bytes), self._bytes)
        return Case(f"import_meta_graph of {content!a}", lambda: self._imported(content), self._folder)

    def _imported(self, content: bytes) -> None:
        path = self._folder.with_name("graph.meta")
        path.write_bytes(content)
        with tf.Graph().as_default() as graph:
            tf.train.import_meta_graph(str(path), clear_devices=len(content) % 2 == 0)
            tf.train.export_meta_graph(graph=graph)
            with tf.Session() as session:
                session.run(tf.global_variables_initializer(), options=tf.RunOptions(timeout_in_ms=MILLISECONDS))
