"""A network of Keras, frozen by TensorFlow 2.21 (`tensorflow_graphs/write_lenet.py`): read, shown, placed and run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import situs.compat.v1 as tf

FOLDER = Path(__file__).parent / "tensorflow_graphs"
RECORDED = np.load(FOLDER / "lenet.npz")
OUTPUT = str(RECORDED["output"])
LOCAL = "/job:localhost/replica:0/task:0/device:"


@pytest.fixture(scope="module")
def message():
    return tf.GraphDef.FromString((FOLDER / "lenet.pb").read_bytes())


def imported(message):
    return tf.import_graph_def(message, return_elements=[OUTPUT], name="")[0]


def first_or_second(node):
    return "/GPU:1" if "dense" in node.name else "/GPU:0"


def run(y, **options):
    with tf.Session() as session:
        return session.run(y, {"image:0": RECORDED["images"]}, **options), tf.explain(session)


def test_it_is_read_as_it_was_written(message):
    assert (len(message.node), message.versions.producer) == (63, 2474)
    assert {"Conv2D", "MaxPool", "Rsqrt", "AvgPool", "StridedSlice", "Softmax"} < {node.op for node in message.node}
    with tf.Graph().as_default() as graph:
        y = imported(message)
        graph.verify()
    assert y.shape.as_list() == [None, 10]
    written = graph.as_graph_def()
    assert [(node.name, node.op, list(node.input)) for node in written.node] == [
        (node.name, node.op, list(node.input)) for node in message.node
    ]
    assert tf.GraphDef.FromString(written.SerializeToString()) == written


@pytest.mark.parametrize("device", ["/CPU:0", "/GPU:0", first_or_second], ids=["CPU", "GPU", "two GPUs"])
def test_it_computes_what_tensorflow_computed(message, device):
    with tf.Graph().as_default(), tf.device(device):
        found, _ = run(imported(message))
    np.testing.assert_allclose(found, RECORDED["probabilities"], rtol=1e-5)


def test_it_is_placed_on_two_devices_and_shown(message):
    metadata = tf.RunMetadata()
    with tf.Graph().as_default():
        with tf.device(first_or_second):
            y = imported(message)
        _, shown = run(y, options=tf.RunOptions(output_partition_graphs=True), run_metadata=metadata)
    devices = {row["node"]: row["device"] for row in shown.to_dicts()}
    assert devices["lenet_1/conv2d_1/convolution"] == LOCAL + "GPU:0"
    assert devices["lenet_1/dense_1/MatMul"] == LOCAL + "GPU:1"
    assert "lenet_1/dense_1/MatMul" in str(shown)
    parts = {part.node[0].device: {node.op for node in part.node} for part in metadata.partition_graphs}
    assert {"Conv2D", "MaxPool", "Tanh"} < parts[LOCAL + "GPU:0"]
    assert {"MatMul", "Softmax"} < parts[LOCAL + "GPU:1"]


def test_other_images_give_other_figures(message):
    """What is compared above depends on all of the input: no constant would do."""
    with tf.Graph().as_default(), tf.Session() as session:
        y = imported(message)
        found = session.run(y, {"image:0": RECORDED["images"][:, ::-1]})
    assert found.shape == (3, 10)
    assert not np.allclose(found, RECORDED["probabilities"], rtol=1e-4)
