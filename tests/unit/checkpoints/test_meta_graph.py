"""Graphs with their variables and collections in files, and programs that need nothing else."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import situs.compat.v1 as tf
from situs._src.base.proto.formats import parse
from situs._src.base.proto.meta_graph import MetaGraphDef, VariableDef
from situs._src.checkpoints.finding import latest_checkpoint
from situs._src.checkpoints.meta_files import import_meta_graph, read_meta_graph_file
from situs._src.checkpoints.meta_graph import export_meta_graph
from situs._src.checkpoints.saver import Saver
from situs.errors import InvalidArgumentError, NotFoundError, OpError, UnimplementedError


@pytest.fixture
def model(tmp_path):
    """The prefix of a checkpoint with its graph."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        with tf.device("/gpu:1"):
            w = tf.get_variable("layer/w", initializer=np.array([[1.0], [2.0]], "f"))
        step = tf.Variable(0, name="step", trainable=False)
        y = tf.matmul(x, w, name="y")
        tf.add_to_collection("outputs", y)
        tf.add_to_collection("notes", "a note")
        tf.add_to_collection("numbers", 3)
        tf.add_to_collection("rates", 0.5)
        sess.run(tf.global_variables_initializer())
        sess.run(w.assign([[3.0], [4.0]]))
        return Saver(max_to_keep=3).save(sess, tmp_path / "model", global_step=step)


def test_a_program_needs_nothing_but_the_files(model, tmp_path):
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        saver = import_meta_graph(f"{model}.meta")
        saver.restore(sess, latest_checkpoint(tmp_path))
        assert sess.run("y:0", {"x:0": [[1.0, 1.0]]}).tolist() == [[7.0]]
        assert graph.get_tensor_by_name("y:0").op.inputs[1].op.name == "layer/w/read"
        assert saver.saver_def.max_to_keep == 3


def test_variables_and_collections_are_what_they_were(model):
    with tf.Graph().as_default(), tf.Session() as sess:
        import_meta_graph(f"{model}.meta")
        assert [v.name for v in tf.global_variables()] == ["layer/w:0", "step:0"]
        assert [v.name for v in tf.trainable_variables()] == ["layer/w:0"]
        assert tf.trainable_variables()[0] is tf.global_variables()[0]
        assert tf.get_collection("outputs")[0].name == "y:0"
        assert [tf.get_collection(name) for name in ("notes", "numbers", "rates")] == [["a note"], [3], [0.5]]
        sess.run(tf.global_variables_initializer())
        w, step = tf.global_variables()
        assert sess.run(w).tolist() == [[1.0], [2.0]]
        assert sess.run(w.assign_add([[1.0], [1.0]])).tolist() == [[2.0], [3.0]]
        assert (w.trainable, step.trainable, w.shape.as_list()) == (True, False, [2, 1])
        assert sess.run(step.initialized_value()) == 0


def test_a_graph_can_be_put_into_a_scope(model):
    with tf.Graph().as_default(), tf.Session() as sess:
        saver = import_meta_graph(f"{model}.meta", import_scope="old")
        assert [v.name for v in tf.global_variables()] == ["old/layer/w:0", "old/step:0"]
        saver.restore(sess, model)
        assert sess.run("old/y:0", {"old/x:0": [[1.0, 0.0]]}).tolist() == [[3.0]]


def test_devices_can_be_forgotten(model):
    for clear, device in ((False, "/device:GPU:1"), (True, "")):
        with tf.Graph().as_default() as graph:
            import_meta_graph(f"{model}.meta", clear_devices=clear)
            assert graph.get_operation_by_name("layer/w").device == device


def test_the_saver_takes_more_options(model):
    with tf.Graph().as_default():
        assert import_meta_graph(f"{model}.meta", pad_step_number=True)._pad_step_number
        with pytest.raises(TypeError):
            import_meta_graph(f"{model}.meta", nonsense=1)


def test_a_graph_without_variables_has_no_saver(tmp_path):
    with tf.Graph().as_default():
        tf.constant(1.0, name="c")
        content = export_meta_graph(tmp_path / "graph")
    with tf.Graph().as_default(), tf.Session() as sess:
        assert import_meta_graph(content) is None
        assert sess.run("c:0") == 1.0


@pytest.mark.parametrize("as_text", [True, False])
def test_a_file_is_text_or_bytes(tmp_path, as_text):
    with tf.Graph().as_default():
        v = tf.Variable(1.0, name="v")
        made = Saver().export_meta_graph(tmp_path / "graph", as_text=as_text)
        assert v.name == "v:0"
    content = (tmp_path / "graph").read_bytes()
    assert content.startswith(b"meta_info_def {" if as_text else b"\n")
    assert (parse(content, MetaGraphDef()) if as_text else MetaGraphDef.FromString(content)) == made
    assert read_meta_graph_file(tmp_path / "graph") == made


def test_some_collections_are_written(tmp_path):
    with tf.Graph().as_default():
        tf.Variable(1.0)
        assert list(export_meta_graph(collection_list=["variables"]).collection_def) == ["variables"]


def test_what_lives_in_this_process_is_left_out_with_a_warning(tmp_path, caplog):
    with tf.Graph().as_default():
        tf.add_to_collection("things", object())
        tf.add_to_collection(("no", "string"), 3)
        tf.constant(1.0)
        with caplog.at_level(logging.WARNING, "situs"):
            assert list(export_meta_graph().collection_def) == []
    assert "The collection 'things' is not written" in caplog.text


def test_variables_are_saved_even_if_the_graph_cannot_be_written(tmp_path, caplog):
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(1.0, name="v")
        tf.py_func(lambda x: x, [v], tf.float32)
        sess.run(v.initializer)
        with caplog.at_level(logging.WARNING, "situs"):
            path = Saver().save(sess, tmp_path / "m")
        assert "The graph was not written" in caplog.text
        Saver().restore(sess, path)
    assert not (tmp_path / "m.meta").exists()


def test_a_graph_that_has_grown_is_written_anew(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(1.0, name="v")
        sess.run(v.initializer)
        saver = Saver()
        saver.save(sess, tmp_path / "m", global_step=1)
        saver.save(sess, tmp_path / "m", global_step=2)
        tf.identity(v, name="late")
        saver.save(sess, tmp_path / "m", global_step=3)
        tf.add_to_collection("late", v)
        saver.save(sess, tmp_path / "m", global_step=4)
    metas = [read_meta_graph_file(tmp_path / f"m-{number}.meta") for number in (1, 2, 3, 4)]
    assert metas[0] == metas[1]
    assert ["late" in [node.name for node in meta.graph_def.node] for meta in metas] == [False, False, True, True]
    assert ["late" in meta.collection_def for meta in metas] == [False, False, False, True]


def test_parts_of_graphs_are_not_exported():
    with tf.Graph().as_default(), pytest.raises(UnimplementedError, match="exported as a whole"):
        export_meta_graph(export_scope="part")


# What is no graph.


def test_a_file_that_is_not_there_is_an_os_error(tmp_path):
    with pytest.raises(OSError, match=r"File .* does not exist"):
        import_meta_graph(tmp_path / "nothing.meta")
    with pytest.raises(NotFoundError):
        import_meta_graph(tmp_path / "nothing.meta")


@pytest.mark.parametrize("wrong", [None, 3, [1]])
def test_only_files_and_messages_are_imported(wrong):
    with pytest.raises(TypeError):
        import_meta_graph(wrong)


@pytest.mark.parametrize(
    "content", [b"\xff\x00", b"{", b"garbage {{", b'{"graphDef": 3}', b"{" * 100_000, b"[" * 100_000]
)
def test_a_damaged_file_is_a_clear_error(tmp_path, content):
    (tmp_path / "m.meta").write_bytes(content)
    with tf.Graph().as_default() as graph:
        with pytest.raises(OpError):
            import_meta_graph(tmp_path / "m.meta")
        assert len(graph) == 0


def test_a_saver_that_names_what_is_no_text_is_a_saver_of_all(model):
    content = read_meta_graph_file(f"{model}.meta")
    content.collection_def["situs/saved"].bytes_list.value[:] = [b"step\nst\x9dep"]
    with tf.Graph().as_default(), tf.Session() as sess:
        import_meta_graph(content).restore(sess, model)
        assert sess.run("layer/w:0").tolist() == [[3], [4]]


@pytest.mark.parametrize("name", ["y:0", "nothing:0", "x", ""])
def test_a_variable_that_is_none_is_a_clear_error(model, name):
    content = read_meta_graph_file(f"{model}.meta")
    message = VariableDef(variable_name=name, initializer_name="v/Assign").SerializeToString()
    content.collection_def["variables"].bytes_list.value[0] = message
    with tf.Graph().as_default():
        if name:
            with pytest.raises((InvalidArgumentError, LookupError, ValueError)):
                import_meta_graph(content)
        else:
            assert import_meta_graph(content) is not None


@given(st.binary(max_size=200))
def test_random_bytes_are_no_graph(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "random.meta"
    path.write_bytes(content)
    try:
        assert isinstance(read_meta_graph_file(path), MetaGraphDef)
    except OpError:
        pass


def test_a_graph_without_variables_gives_a_saver_of_those_that_are_there(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.constant([1, 2, 3], name="x")
        Saver(allow_empty=True).save(sess, str(tmp_path / "ckpt"))
    with tf.Graph().as_default():
        assert import_meta_graph(str(tmp_path / "ckpt.meta"), import_scope="one") is None
        tf.Variable(tf.zeros([2]), name="mine/v")
        assert import_meta_graph(str(tmp_path / "ckpt.meta"), import_scope="two") is None
        assert isinstance(import_meta_graph(str(tmp_path / "ckpt.meta"), import_scope="mine"), Saver)


@pytest.mark.parametrize(("name", "value"), [("\ud800", 1), ("words", "\ud800"), ("numbers", 2**70)])
def test_a_collection_that_no_message_can_hold_is_left_out(name, value, caplog):
    with tf.Graph().as_default():
        tf.add_to_collection(name, value)
        tf.add_to_collection("kept", 5)
        made = tf.train.export_meta_graph()
    assert list(made.collection_def) == ["kept"]
    assert "is not written" in caplog.text


def test_the_saver_of_an_imported_graph_saves_what_the_one_that_wrote_it_did(tmp_path):
    """Such as the trainable variables alone, under other names, or those that were there when it was made."""
    with tf.Graph().as_default(), tf.Session() as session:
        v, w = tf.Variable(1.0, name="v"), tf.Variable(2.0, name="w")
        some, renamed, early = tf.train.Saver([v]), tf.train.Saver({"other": v}), tf.train.Saver()
        tf.Variable(3.0, name="late")
        session.run(tf.global_variables_initializer())
        session.run([v.assign(10.0), w.assign(20.0)])
        for name, saver in (("some", some), ("renamed", renamed), ("early", early)):
            saver.save(session, str(tmp_path / name))
        early.export_meta_graph(str(tmp_path / "text.meta"), as_text=True)
    wanted = {"some": [10.0, 2.0, 3.0], "renamed": [10.0, 2.0, 3.0], "early": [10.0, 20.0, 3.0]}
    for name, values in wanted.items():
        with tf.Graph().as_default() as graph, tf.Session() as session:
            saver = tf.train.import_meta_graph(str(tmp_path / f"{name}.meta"))
            session.run(tf.global_variables_initializer())
            saver.restore(session, str(tmp_path / name))
            assert session.run(["v:0", "w:0", "late:0"]) == values
            assert not [key for key in graph.get_all_collection_keys() if "situs" in key]
            again = saver.save(session, str(tmp_path / "again"))
            names = [entry[0] for entry in tf.train.list_variables(again)]
            assert names == {"some": ["v"], "renamed": ["other"], "early": ["v", "w"]}[name]
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(str(tmp_path / "text.meta"), import_scope="in")
        session.run(tf.global_variables_initializer())
        saver.restore(session, str(tmp_path / "early"))
        assert session.run(["in/v:0", "in/w:0", "in/late:0"]) == [10.0, 20.0, 3.0]
