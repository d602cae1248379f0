"""Graphs with the variables of sessions, saved and loaded in TensorFlow 1's style."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import situs
import situs.compat.v1 as tf

ONES = np.ones((2, 3), np.float32)


def built() -> tuple[Any, Any, Any]:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    w = tf.get_variable("w", initializer=np.arange(6.0, dtype=np.float32).reshape(3, 2))
    b = tf.Variable(tf.zeros([2]), name="b", trainable=False)
    return x, tf.nn.relu(tf.matmul(x, w) + b, name="y"), b


def saved(folder: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, y, _ = built()
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(folder), inputs={"x": x}, outputs={"y": y})


def test_simple_save_and_load(tmp_path: Path) -> None:
    saved(tmp_path)
    assert tf.saved_model.maybe_saved_model_directory(str(tmp_path))
    with tf.Graph().as_default(), tf.Session() as session:
        content = tf.saved_model.loader.load(session, [tf.saved_model.tag_constants.SERVING], str(tmp_path))
        key = tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
        signature = content.signature_def[key]
        given = session.run(signature.outputs["y"].name, {signature.inputs["x"].name: ONES})
        np.testing.assert_array_equal(given, [[6.0, 9.0]] * 2)
        assert [variable.name for variable in tf.trainable_variables()] == ["w:0"]
        tensor = tf.saved_model.utils.get_tensor_from_tensor_info(signature.outputs["y"], session.graph)
        assert tensor.name == "y:0"


def test_in_a_scope(tmp_path: Path) -> None:
    saved(tmp_path)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.load(session, ["serve"], str(tmp_path), import_scope="a")
        np.testing.assert_array_equal(session.run("a/y:0", {"a/x:0": ONES}), [[6.0, 9.0]] * 2)


def test_a_builder_with_an_operation_to_run_as_text(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, y, b = built()
        session.run(tf.global_variables_initializer())
        builder = tf.saved_model.Builder(str(tmp_path))
        info = tf.saved_model.build_tensor_info
        signature = tf.saved_model.build_signature_def({"x": info(x)}, {"y": info(y)}, "tensorflow/serving/predict")
        assert tf.saved_model.is_valid_signature(signature)
        with pytest.raises(AssertionError, match="not been saved yet"):
            builder.add_meta_graph(["other"])
        builder.add_meta_graph_and_variables(session, ["serve"], {"s": signature}, main_op=b.assign([5.0, 5.0]))
        builder.add_meta_graph(["train"], {"s": signature})
        with pytest.raises(AssertionError, match="already been saved"):
            builder.add_meta_graph_and_variables(session, ["serve"])
        assert builder.save(as_text=True) == str(tmp_path / "saved_model.pbtxt").encode()
    for tag, wanted in (("serve", [[11.0, 14.0]] * 2), ("train", [[6.0, 9.0]] * 2)):
        with tf.Graph().as_default(), tf.Session() as session:
            tf.saved_model.loader.load(session, [tag], str(tmp_path))
            np.testing.assert_array_equal(session.run("y:0", {"x:0": ONES}), wanted)
    with tf.Session() as session, pytest.raises(RuntimeError, match="could not be found in SavedModel"):
        tf.saved_model.loader.load(session, ["serve", "train"], str(tmp_path))


def test_assets(tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("hello")
    folder = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        path = tf.constant(str(words))
        content = tf.Variable("", name="content")
        read = content.assign(tf.read_file(path))
        session.run(tf.global_variables_initializer())
        builder = tf.saved_model.Builder(folder)
        builder.add_meta_graph_and_variables(session, ["serve"], assets_collection=[path], main_op=read)
        builder.save()
    words.unlink()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.loader.load(session, ["serve"], folder)
        assert session.run("content:0") == b"hello"


def test_a_folder_that_is_not_empty(tmp_path: Path) -> None:
    saved(tmp_path)
    with pytest.raises(AssertionError, match="isn't empty"):
        tf.saved_model.Builder(str(tmp_path))


def test_a_program_of_a_session_as_objects(tmp_path: Path) -> None:
    saved(tmp_path)
    loaded = situs.saved_model.load(tmp_path)
    given = loaded.signatures["serving_default"](x=situs.constant(ONES))
    np.testing.assert_array_equal(given["y"], [[6.0, 9.0]] * 2)
    assert [variable.trainable for variable in loaded.variables] == [True, False]
    loaded.variables[0].assign(situs.zeros([3, 2]))
    np.testing.assert_array_equal(loaded.signatures["serving_default"](x=situs.constant(ONES))["y"], [[0.0, 0.0]] * 2)


class Counting(situs.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = situs.Variable([[1.0, 2.0], [3.0, 4.0]], name="w")
        self.n = situs.Variable(1.0, name="w")

    @situs.function(input_signature=[situs.TensorSpec([None, 2], situs.float32, name="given")])
    def f(self, x: Any) -> Any:
        self.n.assign_add(1.0)
        return {"out": x @ self.w * self.n}


def test_objects_in_a_session(tmp_path: Path) -> None:
    situs.saved_model.save(Counting(), tmp_path)
    with tf.Graph().as_default(), tf.Session() as session:
        signature = tf.saved_model.loader.load(session, ["serve"], str(tmp_path)).signature_def["serving_default"]
        feeds = {signature.inputs["given"].name: np.ones((1, 2))}
        assert session.run(signature.outputs["out"].name, feeds).tolist() == [[8.0, 12.0]]
        assert session.run(signature.outputs["out"].name, feeds).tolist() == [[12.0, 18.0]]


def test_kinds_of_signatures() -> None:
    with tf.Graph().as_default():
        text, number = tf.placeholder(tf.string), tf.placeholder(tf.float32)
        regression = tf.saved_model.regression_signature_def(text, number)
        classification = tf.saved_model.classification_signature_def(text, text, number)
        assert all(map(tf.saved_model.is_valid_signature, (regression, classification)))
        regression.method_name = "something else"
        assert not tf.saved_model.is_valid_signature(regression)
        with pytest.raises(ValueError, match="must be of the dtype string"):
            tf.saved_model.regression_signature_def(number, number)
        with pytest.raises(ValueError, match="cannot both be None"):
            tf.saved_model.classification_signature_def(text, None, None)
        with pytest.raises(ValueError, match="cannot be None or empty"):
            tf.saved_model.predict_signature_def({}, {"y": number})
        with pytest.raises(TypeError, match="a tensor of a graph"):
            tf.saved_model.build_tensor_info(3)
