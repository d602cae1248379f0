"""Programs that TensorFlow 2.21 has saved, in `tests/data/tensorflow_saved_models`; the figures are TensorFlow's.

module     a module with branches, loops, a choice, arrays, a constant, nested functions, and one op that Situs has not
keras      LSTM, layer normalization, GRU and a dense layer of Keras, by `model.export`
words      tables: filled with tensors, from a file that was saved with it, and one that changes
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import situs as tf
from situs._src.saved_model.files import read_model
from situs.errors import DataLossError, InvalidArgumentError, OpError, UnimplementedError

SAVED = Path(__file__).parents[2] / "data" / "tensorflow_saved_models"
X = np.array([[1.0, 2.0], [3.0, -4.0]], "float32")
STEPS = np.sin(np.arange(30.0)).reshape(2, 5, 3).astype("float32")


@pytest.fixture
def module():
    return tf.saved_model.load(str(SAVED / "module"))


@pytest.fixture
def words():
    return tf.saved_model.load(str(SAVED / "words"))


def close(expected):
    return pytest.approx(np.array(expected), rel=1e-4, abs=1e-5)


def plain(structure):
    return tf.nest.map_structure(lambda tensor: tensor.numpy().tolist(), structure)


# Functions.

CALLED = [[23.196428298950195, 31.682466506958008], [1.9779469966888428, 11.330233573913574]]


def test_a_module_is_called(module):
    found = module(X)
    assert found["y"].numpy() == close(CALLED)
    assert found["n"].numpy() == 2


def test_the_graph_that_fits_is_found(module):
    assert plain(module.inner(X, training=True)) == [[10, 7], [0, 0]]
    assert plain(module.inner(X)) == [[10, 7], [-9, -10]]
    assert len(module.inner.concrete_functions) == 3
    with pytest.raises(ValueError, match="Could not find matching concrete function"):
        module.inner(X, training="yes")


def test_a_signature_takes_and_returns_tensors_by_name(module):
    signature = module.signatures["serving_default"]
    assert signature.structured_input_signature == ((), {"x": tf.TensorSpec([None, 2], tf.float32, "x")})
    assert signature(x=tf.constant(X))["y"].numpy() == close(CALLED)
    assert list(module.signatures) == ["serving_default"]


def test_objects_and_variables(module):
    assert [variable.shape for variable in module.trainable_variables] == [[2, 2], []]
    assert len(module.variables) == 3
    assert module.parts[1]["b"].numpy() == 2
    assert module.tensorflow_version == "2.21.0"


def test_gradients(module):
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(module(X)["y"])
    grads = tape.gradient(total, [module.w, module.parts[0]])
    assert grads[0].numpy() == close(
        [[5.196826934814453, 5.475191116333008], [-0.7356429100036621, -1.446391224861145]]
    )
    assert grads[1].numpy() == close(68.18708038330078)


def test_training_goes_on(module):
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.001)
    losses = []
    for _ in range(5):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(module(X)["y"]))
        losses.append(float(loss))
        optimizer.apply_gradients(
            zip(tape.gradient(loss, module.trainable_variables), module.trainable_variables, strict=True)
        )
    assert losses == sorted(losses, reverse=True)


def test_functions_change_variables(module):
    assert module.add(3.0) is None
    assert module.parts[1]["b"].numpy() == 5


def test_a_choice_takes_the_last_branch_for_other_numbers(module):
    module.add(3.0)
    assert [float(module.choose(number)) for number in (0, 1, 2, 7, -1)] == [1, 3, 5, 5, 5]


def test_arrays_and_loops_that_are_left(module):
    rows, squares = module.rows([1.0, -2.0, 3.0, -7.0, 4.0])
    assert plain(rows) == [1, 3]
    assert plain(squares) == [1, 4, 9, 49, 16]


def test_draws_by_a_seed(module):
    drawn, lists = module.drawn([3, 4])
    assert drawn.numpy() == close([-0.17393383383750916, 1.6723546981811523])
    assert plain(lists) == [[3, 4], [4, 5]]


def test_ragged_tensors(module):
    assert module.ragged(tf.ragged.constant([[1, 2], [3]])).to_list() == [[2, 3], [4]]


def test_inside_a_function_and_saved_again(module, tmp_path):
    @tf.function(input_signature=[tf.TensorSpec([None, 2])])
    def twice(x):
        return module(x)["y"] * 2

    assert twice(X).numpy() == close(np.array(CALLED) * 2)
    own = tf.Module()
    own.module, own.twice = module, twice
    tf.saved_model.save(own, str(tmp_path / "own"))
    again = tf.saved_model.load(str(tmp_path / "own"))
    assert again.twice(X).numpy() == close(np.array(CALLED) * 2)


def test_an_op_that_situs_has_not_is_refused_where_it_is_called(module):
    with pytest.raises(UnimplementedError, match=r"__inference_refused_\d+.*UnicodeScript"):
        module.refused("a")
    assert module(X)["n"].numpy() == 2


def test_layers_of_keras():
    loaded = tf.saved_model.load(str(SAVED / "keras"))
    expected = [[0.003920590039342642, -0.005364971235394478], [-0.08895348012447357, 0.11251156777143478]]
    assert loaded.serve(STEPS).numpy() == close(expected)
    (found,) = loaded.signatures["serving_default"](tf.constant(STEPS)).values()
    assert found.numpy() == close(expected)
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(loaded.serve(STEPS))
    assert all(gradient is not None for gradient in tape.gradient(total, loaded.trainable_variables))


# Tables and files.


def test_tables_are_filled(words):
    assert list(plain(words(["a", "y2", "q", "other"]))) == [[1, -1, -1, -1], [4, 1, 4, 3], [0, 0, 7, 0]]
    words.put("new", 9)
    assert plain(words(["new"])[2]) == [9]


def test_files_move_with_the_program(words, tmp_path):
    assert words.text().numpy() == b"x\ny\nz\n"
    shutil.copytree(SAVED / "words", tmp_path / "moved")
    (tmp_path / "moved/assets/words.txt").write_text("y\nx\n")
    moved = tf.saved_model.load(str(tmp_path / "moved"))
    assert moved.text().numpy() == b"y\nx\n"
    assert plain(moved(["x"])[1]) == [1]


@pytest.mark.parametrize("sort", ["absent", "pipe", "link"])
def test_files_that_are_none_are_refused(tmp_path, sort):
    shutil.copytree(SAVED / "words", tmp_path / "words")
    path = tmp_path / "words/assets/words.txt"
    path.unlink()
    if sort == "pipe":
        os.mkfifo(path)
    elif sort == "link":
        (tmp_path / "secret.txt").write_text("secret")
        path.symlink_to(tmp_path / "secret.txt")
    with pytest.raises(OpError, match=r"words\.txt"):
        tf.saved_model.load(str(tmp_path / "words"))


# Damage.


def parts(name="module"):
    (graph,) = read_model(SAVED / name)
    return graph


def written(folder, graph):
    shutil.copytree(SAVED / "module", folder)
    content = graph.SerializeToString()
    prefix = b"\x08\x01\x12"  # the version, and one graph of a size
    size = len(content)
    varint = b""
    while size > 127:
        varint, size = varint + bytes([size & 127 | 128]), size >> 7
    (folder / "saved_model.pb").write_bytes(prefix + varint + bytes([size]) + content)
    return str(folder)


def changed(change, graph):
    """A graph with one thing changed."""
    functions = {function.signature.name.rpartition("_")[0]: function for function in graph.graph_def.library.function}
    change(graph, functions)
    return graph


def _child_beyond(graph, functions):
    graph.object_graph_def.nodes[0].children[0].node_id = 10**6


def _bound_beyond(graph, functions):
    for concrete in graph.object_graph_def.concrete_functions.values():
        concrete.bound_inputs[:] = [10**6] * len(concrete.bound_inputs)


def _no_library(graph, functions):
    del graph.graph_def.library.function[:]


def _calls_itself(graph, functions):
    for function in graph.graph_def.library.function:
        for node in function.node_def:
            if node.op == "StatefulPartitionedCall":
                node.attr["f"].func.name = function.signature.name


def _no_such_result(graph, functions):
    for function in graph.graph_def.library.function:
        for node in function.node_def:
            node.input[:] = [text.replace(":output:0", ":output:999999999999") for text in node.input]


def _no_such_node(graph, functions):
    for function in graph.graph_def.library.function:
        for key in list(function.ret):
            function.ret[key] = "nobody:output:0"


def _loop_without_a_body(graph, functions):
    for function in graph.graph_def.library.function:
        for node in function.node_def:
            if node.op == "While":
                del node.input[3:]


@pytest.mark.parametrize(
    "change",
    [
        _child_beyond,
        _bound_beyond,
        _no_library,
        _calls_itself,
        _no_such_result,
        _no_such_node,
        _loop_without_a_body,
    ],
)
def test_what_does_not_hold_together_is_damaged(tmp_path, change):
    folder = written(tmp_path / "changed", changed(change, parts()))
    with pytest.raises((DataLossError, InvalidArgumentError)):
        tf.saved_model.load(folder)(X)


@given(st.integers(0, 57000), st.integers(1, 255))
def test_a_flipped_byte_is_an_error_or_changes_nothing_much(tmp_path_factory, place, flip):
    content = bytearray((SAVED / "module/saved_model.pb").read_bytes())
    content[place % len(content)] ^= flip
    folder = tmp_path_factory.mktemp("flipped") / "model"
    shutil.copytree(SAVED / "module/variables", folder / "variables")
    (folder / "saved_model.pb").write_bytes(content)
    try:
        found = tf.saved_model.load(str(folder))
        if callable(found):
            found(X)
    except (OpError, OSError, ValueError, TypeError, LookupError, AttributeError):
        pass


# Ops that Situs has not, or has with other inputs: one function for each.

FIGURES = json.loads((SAVED / "ops/figures.json").read_text())


@pytest.fixture(scope="module")
def ops():
    return tf.saved_model.load(str(SAVED / "ops"))


def value(dtype, content):
    if dtype.startswith("complex"):
        return np.array(content[0]) + 1j * np.array(content[1])
    return np.array(content)


@pytest.mark.parametrize("name", list(FIGURES))
def test_ops_of_other_forms(ops, name):
    said = FIGURES[name]
    given = [tf.constant(value(*each), each[0]) for each in said["inputs"]]
    found = tf.nest.flatten(getattr(ops, name)(*given))
    assert [each.dtype.name for each in found] == [dtype for dtype, _ in said["results"]]
    for each, (dtype, content) in zip(found, said["results"], strict=True):
        if dtype == "string":
            expected = np.vectorize(lambda text: text.encode())(content).tolist()
            assert each.numpy().tolist() == expected if each.shape.rank else each.numpy() == content.encode()
        else:
            expected = value(dtype, content)
            assert each.shape == expected.shape
            np.testing.assert_allclose(each.numpy(), expected, rtol=2e-5, atol=2e-6)
