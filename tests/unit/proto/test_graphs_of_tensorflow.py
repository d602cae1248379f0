"""Graphs that TensorFlow 2.21 wrote with ``tf.io.write_graph(as_text=False)``: read, placed, run, and written again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import situs.compat.v1 as tf
from situs._src.base.proto.meta_graph import VariableDef
from situs._src.checkpoints.meta_files import read_meta_graph_file

FOLDER = Path(__file__).parent / "tensorflow_graphs"

# What TensorFlow computed, by the name of the file: the input x and the result y.
RECORDED = {
    "mlp": (
        np.array([[1, 2, 3, 4], [0.5, 0, -1, 2]], np.float32),
        [
            [0.008259959518909454, 0.03701857104897499, 0.9547215104103088],
            [0.3140720725059509, 0.1681106686592102, 0.5178173184394836],
        ],
    ),
    "conv": (
        np.arange(36, dtype=np.float32).reshape(1, 6, 6, 1) / 36,
        [0.6421568393707275, 0.6617647409439087, 0.720588207244873, 0.7922112941741943],
    ),
    "strings": (np.array([b"a", b"abc"], object), [b"a", b"abc!\x00\xff"]),
    "types": (np.array([1, -2, 2**40]), [10.5, 7.5, 1099511627781.0]),
}


def _same(found, expected):
    if found.dtype == object:
        return found.tolist() == expected
    return np.allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("name", RECORDED)
def test_a_graph_of_tensorflow_is_read_and_run(name):
    x, expected = RECORDED[name]
    content = (FOLDER / f"{name}.pb").read_bytes()
    message = tf.GraphDef.FromString(content)
    assert tf.GraphDef.FromString(message.SerializeToString()) == message
    for given in (message, content):
        with tf.Graph().as_default() as graph:
            (y,) = tf.import_graph_def(given, return_elements=["y:0"], name="")
            graph.verify()
            with tf.Session() as session:
                assert _same(session.run(y, {"x:0": x}), expected)


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("as_text", [False, True])
def test_it_is_written_and_read_again(name, as_text, tmp_path):
    x, expected = RECORDED[name]
    with tf.Graph().as_default() as graph:
        tf.import_graph_def((FOLDER / f"{name}.pb").read_bytes(), name="")
    path = Path(tf.io.write_graph(graph, str(tmp_path), "graph", as_text))
    assert path.read_bytes() == Path(tf.io.write_graph(graph, str(tmp_path), "again", as_text)).read_bytes()
    with tf.Graph().as_default():
        (y,) = tf.import_graph_def(path.read_bytes(), return_elements=["y:0"])
        with tf.Session() as session:
            assert _same(session.run(y, {"import/x:0": x}), expected)


def test_its_devices_are_kept_and_it_is_placed():
    with tf.Graph().as_default() as graph:
        tf.import_graph_def((FOLDER / "mlp.pb").read_bytes(), name="")
        metadata = tf.RunMetadata()
        options = tf.RunOptions(output_partition_graphs=True)
        with tf.Session() as session:
            session.run("y:0", {"x:0": RECORDED["mlp"][0]}, options=options, run_metadata=metadata)
    assert graph.get_operation_by_name("w").device == "/device:CPU:0"
    placed = {node.name: node.device for part in metadata.partition_graphs for node in part.node}
    assert placed["w"].endswith("/device:CPU:0")


def test_a_meta_graph_of_tensorflow_is_read():
    message = read_meta_graph_file(FOLDER / "variable.meta")
    assert message.meta_info_def.tensorflow_version == "2.21.0"
    (variable,) = message.collection_def["variables"].bytes_list.value
    assert VariableDef.FromString(variable).initializer_name == "v/Assign"
    assert list(message.collection_def["names"].bytes_list.value) == [b"hello"]
    assert list(message.collection_def["sizes"].int64_list.value) == [3]
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(str(FOLDER / "variable.meta"))
        assert [variable.name for variable in tf.global_variables()] == ["v:0"]
        assert (tf.get_collection("names"), tf.get_collection("sizes")) == (["hello"], [3])
        session.run(tf.global_variables_initializer())
        assert session.run("y:0", {"x:0": [1, 2]}).tolist() == [2.0, 3.0]
