"""Graphs that TensorFlow 2.21 has written, in `tests/data/tensorflow_graphs`: imported, restored, run, trained on.

refs       a convolution with its normalization, pooling and a dense layer; variables as TensorFlow 1 had them; Adam
handles    embeddings and a dense layer; variables with handles; momentum with a rate that decays; a `tf.cond`, whose
           Switch and Merge are left out; a saver that has names of its own for the trained variables
several    ops that are several here: products with sparse matrices, embeddings of sparse numbers, sampled softmax;
           embeddings in parts; gradients of resized images and pooled volumes; proximal Adagrad; no default attributes
served     the model of `handles` before any training, by `simple_save`
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import situs.compat.v1 as tf
from situs._src.base.proto.meta_graph import MetaGraphDef
from situs.errors import InvalidArgumentError

WRITTEN = Path(__file__).parents[2] / "data" / "tensorflow_graphs"
IMAGES = np.sin(np.arange(2 * 6 * 6 * 2.0)).reshape(2, 6, 6, 2).astype("float32")
WORDS, LABELS = [[1, 2, 1], [0, 3, 4]], [0, 2]
SMALL = np.sin(np.arange(2 * 3 * 4 * 2.0)).reshape(2, 3, 4, 2).astype("float32")
SPARSE = {"x/shape:0": [2, 7], "x/indices:0": [[0, 1], [0, 3], [1, 6]], "x/values:0": [0.5, -1.0, 2.0]}
FEEDS = {
    "refs": {"x:0": IMAGES, "t:0": LABELS},
    "handles": {"x:0": WORDS, "t:0": LABELS},
    "several": {**SPARSE, "words:0": [1, 2, 4], "t:0": [[1], [0]], "images:0": SMALL},
}

# What TensorFlow says after the checkpoint: the outputs, the losses of three more steps, the outputs after them.
OUTPUTS = {
    "refs": [
        [1.5822104215621948, -4.982232093811035, -0.6846675872802734],
        [-0.9010087251663208, -6.106655120849609, 2.7280542850494385],
    ],
    "handles": [
        [0.22634057700634003, -0.23328301310539246, 0.08571256697177887],
        [0.22260922193527222, -0.15342488884925842, 0.05706978589296341],
    ],
    "several": [
        [-0.6738461852073669, 1.0201315879821777, -0.14441809058189392, -0.9086376428604126, 0.8994534015655518],
        [2.4414477348327637, 0.19337794184684753, -2.2717347145080566, 0.9550442099571228, 0.5896773934364319],
    ],
}
LOSSES = {
    "refs": [0.06311135739088058, 0.03262772411108017, 0.018481826409697533],
    "handles": [1.006179690361023, 0.8991188406944275, 0.8139820694923401],
    "several": [0.211106122, 0.147437617, 0.111473307],
}
AT_END = {
    "refs": [
        [3.0316667556762695, -8.127534866333008, -1.324021577835083],
        [-0.7676743865013123, -9.243241310119629, 3.7116003036499023],
    ],
    "handles": [
        [0.4723513126373291, -0.47166192531585693, -0.01704932004213333],
        [0.1035742536187172, -0.29337137937545776, 0.4104621410369873],
    ],
    "several": [
        [-0.7355326414108276, 1.3726989030838013, -0.22819942235946655, -1.1286888122558594, 1.074557900428772],
        [3.3306033611297607, -0.09794232994318008, -2.634225845336914, 0.7125551104545593, 0.6278548836708069],
    ],
}
SCORES = [
    [0.047578778117895126, -0.08251912146806717, 0.1815847009420395],
    [0.3292410969734192, -0.053760651499032974, -0.21550418436527252],
]


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def close(expected):
    return pytest.approx(np.array(expected), rel=1e-4, abs=1e-5)


def restored(name):
    session = tf.Session()
    tf.train.import_meta_graph(str(WRITTEN / f"{name}-2.meta")).restore(session, str(WRITTEN / f"{name}-2"))
    return session


@pytest.mark.parametrize("name", ["refs", "handles", "several"])
def test_restored_and_trained_on(graph, name):
    with restored(name) as session:
        assert session.run("y:0", FEEDS[name]) == close(OUTPUTS[name])
        losses = [session.run(["loss:0", "train"], FEEDS[name])[0] for _ in range(3)]
        assert losses == close(LOSSES[name])
        assert session.run("y:0", FEEDS[name]) == close(AT_END[name])
        assert session.run("global_step:0") == 5


@pytest.mark.parametrize("name", ["refs", "handles", "several"])
def test_saved_again(graph, name, tmp_path):
    with restored(name) as session:
        session.run("train", FEEDS[name])
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
        expected = session.run("y:0", FEEDS[name])
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(f"{path}.meta").restore(session, path)
        assert session.run("y:0", FEEDS[name]) == close(expected)


def test_collections_are_those_of_the_program(graph):
    with restored("refs"):
        assert tf.get_collection("wanted") == [graph.get_tensor_by_name("loss:0")]
        names = [variable.op.name for variable in tf.trainable_variables()]
        assert names == ["k", "scale", "offset", "w", "b"]
        assert tf.train.get_global_step().op.name == "global_step"
        assert graph.get_tensor_by_name("x:0").shape.as_list() == [None, 6, 6, 2]


def test_variables_with_handles_start_anew(graph):
    with restored("handles") as session:
        session.run(tf.global_variables_initializer())
        assert session.run("y:0", FEEDS["handles"]) == close(SCORES)


def test_own_steps_on_what_was_imported(graph):
    with restored("refs") as session:
        scaled = tf.reduce_sum(graph.get_tensor_by_name("y:0") * 2)
        gradient = tf.gradients(scaled, tf.trainable_variables()[-1])[0]
        assert session.run(gradient, FEEDS["refs"]) == close([4, 4, 4])


def test_under_a_scope(graph):
    with tf.Session() as session:
        saver = tf.train.import_meta_graph(str(WRITTEN / "handles-2.meta"), import_scope="old")
        saver.restore(session, str(WRITTEN / "handles-2"))
        feed = {f"old/{name}": value for name, value in FEEDS["handles"].items()}
        assert session.run("old/y:0", feed) == close(OUTPUTS["handles"])


def test_what_is_left_out_is_said_where_it_is_asked_for(graph):
    with restored("handles"):
        with pytest.raises(KeyError, match=r"'kept_out' refers to an Operation not in the graph.*left out.*Switch"):
            graph.get_operation_by_name("kept_out")
        with pytest.raises(KeyError, match=r"kept_out:0.*left out.*Switch"):
            graph.get_tensor_by_name("kept_out:0")


def test_import_graph_def_refuses_what_it_cannot_add(graph):
    content = MetaGraphDef.FromString((WRITTEN / "handles-2.meta").read_bytes())
    with pytest.raises((InvalidArgumentError, ValueError, LookupError), match="Switch"):
        tf.import_graph_def(content.graph_def, name="")
    assert not graph.get_operations()


def test_saved_models_of_tensorflow_1(graph):
    with tf.Session() as session:
        content = tf.saved_model.loader.load(session, ["serve"], str(WRITTEN / "served"))
        signature = content.signature_def["serving_default"]
        scores, words = signature.outputs["scores"].name, signature.inputs["words"].name
        assert session.run(scores, {words: WORDS}) == close(SCORES)


def test_damaged_graphs_are_refused(graph, tmp_path):
    whole = (WRITTEN / "refs-2.meta").read_bytes()
    for number, size in enumerate(np.linspace(1, len(whole) - 1, 40).astype(int)):
        path = tmp_path / f"cut-{number}.meta"
        path.write_bytes(whole[:size])
        with tf.Graph().as_default() as cut:
            try:
                saver = tf.train.import_meta_graph(str(path))  # a message that ends between two fields is a message
            except (ValueError, LookupError, tf.errors.OpError):
                assert not cut.get_operations()
            else:
                assert saver is None or len(tf.global_variables()) < 19


def test_a_checkpoint_of_another_graph_is_refused(graph, tmp_path):
    for path in WRITTEN.glob("handles-2.*"):
        if path.suffix != ".meta":
            shutil.copy(path, tmp_path / path.name)
    saver = tf.train.import_meta_graph(str(WRITTEN / "refs-2.meta"))
    with tf.Session() as session, pytest.raises(tf.errors.NotFoundError, match="not found in checkpoint"):
        saver.restore(session, str(tmp_path / "handles-2"))
