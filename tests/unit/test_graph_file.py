"""Graphs in files, for ``situs place``: what Situs and TensorFlow write, and what is something else."""

from __future__ import annotations

import json

import numpy as np
import pytest
from google.protobuf import json_format

import situs as tf2
import situs.compat.v1 as tf
from situs._src.cli.graph_file import is_graph_file, problem_of, read_graph
from situs._src.cli.main import main
from situs.errors import InvalidArgumentError, NotFoundError


@pytest.fixture
def graph():
    with tf.Graph().as_default() as made:
        x = tf.placeholder(tf.float32, [None, 64], name="x")
        w = tf.Variable(np.ones((64, 32), "f"), name="w")
        loss = tf.reduce_mean(tf.nn.relu(tf.matmul(x, w, name="product")), name="loss")
        tf.train.AdamOptimizer().minimize(loss, name="step")
        return made


def written(graph, folder, name):
    if name.endswith(".json"):
        (folder / name).write_text(json_format.MessageToJson(graph.as_graph_def()))
    else:
        tf.io.write_graph(graph, str(folder), name, as_text=name.endswith(".pbtxt"))
    return folder / name


@pytest.mark.parametrize("name", ["graph.pb", "graph.pbtxt", "graph.json"])
def test_a_graph_is_read_in_each_of_its_forms(graph, tmp_path, name):
    path = written(graph, tmp_path, name)
    assert is_graph_file(path)
    problem = problem_of(path)
    assert "product" in problem.index
    product = problem.nodes[problem.index["product"]]
    assert all(time is not None for time in product.times)
    groups = {node.group for node in problem.nodes if node.name in ("w", "w/Assign", "step/update_w/ApplyAdam")}
    assert len(groups) == 1
    assert None not in groups
    assert any("guessed" in line for line in problem.rests_on)


def test_a_model_of_keras_is_read_and_its_variables_are_free(tmp_path):
    model = tf2.keras.Sequential([tf2.keras.layers.Input((16,)), tf2.keras.layers.Dense(8), tf2.keras.layers.Dense(4)])
    model.save(tmp_path / "model.keras")
    problem = problem_of(tmp_path / "model.keras")
    assert sum("MatMul" in node.name for node in problem.nodes) == 2
    assert all(node.allowed is None for node in problem.nodes)


def test_the_configuration_of_a_model_of_keras_is_read_as_the_model(tmp_path):
    model = tf2.keras.Sequential([tf2.keras.layers.Input((16,)), tf2.keras.layers.Dense(8), tf2.keras.layers.Dense(4)])
    path = tmp_path / "model.json"
    path.write_text(model.to_json())
    assert is_graph_file(path)
    assert sum("MatMul" in node.name for node in problem_of(path).nodes) == 2
    path.write_text(json.dumps({"class_name": "Nobody", "config": {}}))
    with pytest.raises(InvalidArgumentError, match="Keras cannot load"):
        problem_of(path)


def test_a_model_that_was_never_built_is_refused_in_words(tmp_path):
    path = tmp_path / "model.json"
    path.write_text(tf2.keras.Sequential([tf2.keras.layers.Dense(4)]).to_json())
    with pytest.raises(InvalidArgumentError, match="never built"):
        problem_of(path)


def test_a_layer_that_is_not_known_is_named(tmp_path):
    class Doubled(tf2.keras.layers.Layer):
        def call(self, x):
            return x * 2

    path = tmp_path / "model.keras"
    tf2.keras.Sequential([tf2.keras.Input((3,)), Doubled()]).save(path)
    with pytest.raises(InvalidArgumentError, match="Could not locate class 'Doubled'"):
        problem_of(path)


def test_a_saved_program_is_read_by_its_signature(tmp_path):
    class Double(tf2.Module):
        @tf2.function(input_signature=[tf2.TensorSpec([4, 4], tf2.float32)])
        def __call__(self, x):
            return tf2.matmul(x, x)

    tf2.saved_model.save(Double(), str(tmp_path / "saved"))
    for path in (tmp_path / "saved", tmp_path / "saved" / "saved_model.pb"):
        assert any(node.type == "MatMul" for node in read_graph(path).operations)
    assert is_graph_file(tmp_path / "saved")


def test_a_problem_and_a_published_workload_are_no_graphs(tmp_path):
    (tmp_path / "problem.json").write_text(json.dumps({"format": "situs.placement.problem"}))
    (tmp_path / "workload.json").write_text(json.dumps({"nodes": []}))
    (tmp_path / "broken.json").write_text("{")
    for name in ("problem.json", "workload.json", "broken.json", "none.json"):
        assert not is_graph_file(tmp_path / name)


@pytest.mark.parametrize(("name", "content"), [("a.pb", b"\xff\xff\xff"), ("a.pbtxt", b"node {"), ("a.pbtxt", b"\xff")])
def test_files_that_hold_no_graph_are_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidArgumentError):
        problem_of(tmp_path / name)


def test_no_file_and_no_nodes_are_refused(tmp_path):
    with pytest.raises(NotFoundError, match="There is no graph"):
        problem_of(tmp_path / "none.pb")
    path = written(tf.Graph(), tmp_path, "empty.pbtxt")
    with pytest.raises(InvalidArgumentError):
        problem_of(path)


def test_the_command_places_a_graph_and_its_plan_can_be_given_to_the_program(graph, tmp_path, capsys):
    path, plan = written(graph, tmp_path, "graph.pb"), tmp_path / "plan.json"
    assert main(["place", str(path), "--budget", "0.1", "--out", str(plan)]) == 0
    assert "one device alone" in capsys.readouterr().out
    tf2.config.set_placer(plan)
    with tf.Session(graph=graph) as session:
        session.run("w/Assign")
        session.run("w/read:0")
        placed = session.placement()
    expected = json.loads(plan.read_text())["placement"]
    assert placed["w"].device.short_name == expected["w"]


def test_ops_of_optimizers_are_found_in_a_new_process(graph, tmp_path, run_python):
    path = written(graph, tmp_path, "graph.pb")
    program = f"from situs._src.cli.graph_file import problem_of; print(len(problem_of({str(path)!r}).nodes))"
    assert int(run_python(program, SITUS_VIRTUAL_GPUS="1")) > 10
