"""``tf.train.Saver``: variables by name. Names, paths and messages are TensorFlow 2.21's."""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import numpy as np
import pytest

import situs as tf2
import situs.compat.v1 as tf
from situs._src.base.dtype import FIXED
from situs._src.base.proto.meta_graph import SaverDef
from situs._src.checkpoints.finding import latest_checkpoint, list_variables, load_variable
from situs._src.checkpoints.reader import CheckpointReader
from situs._src.checkpoints.saver import Saver
from situs._src.checkpoints.state import get_checkpoint_state
from situs.errors import (
    DataLossError,
    DTypeError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    ResourceExhaustedError,
)


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def initialized():
    sess = tf.Session()
    sess.run(tf.global_variables_initializer())
    return sess


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# There and back.


def test_values_come_back_in_another_session(tmp_path):
    w = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="w")
    step = tf.Variable(7, dtype=tf.int64, name="global_step", trainable=False)
    text = tf.Variable(["a", "bc"], name="text")
    saver = Saver()
    path = saver.save(initialized(), tmp_path / "model", global_step=step)
    assert path == f"{tmp_path}/model-7"
    with tf.Session() as sess:  # not initialized
        assert saver.restore(sess, path) is None
        assert sess.run(w).tolist() == [[1.0, 2.0], [3.0, 4.0]]
        assert sess.run(step) == 7
        assert sess.run(text).tolist() == [b"a", b"bc"]
        sess.run(w.assign_add(tf.ones([2, 2])))
        assert sess.run(w[0, 0]) == 2.0


@pytest.mark.parametrize("dtype", sorted(FIXED, key=lambda dtype: dtype.name), ids=lambda dtype: dtype.name)
def test_variables_of_every_dtype_come_back(tmp_path, dtype):
    value = np.arange(6).reshape(2, 3).astype(dtype.as_numpy_dtype)
    with tf.device("/cpu:0"):
        v = tf.Variable(value, name="v")
    saver = Saver()
    path = saver.save(initialized(), tmp_path / "m")
    with tf.Session() as sess:
        saver.restore(sess, path)
        found = sess.run(v)
    assert found.dtype == value.dtype
    assert np.array_equal(found, value)


def test_each_session_has_its_own_values(tmp_path):
    v = tf.Variable(1.0, name="v")
    saver = Saver()
    one, other = initialized(), initialized()
    other.run(v.assign(2.0))
    paths = [saver.save(sess, tmp_path / "m", global_step=number) for number, sess in enumerate((one, other))]
    assert [load_variable(path, "v") for path in paths] == [1.0, 2.0]
    saver.restore(one, paths[1])
    assert one.run(v) == 2.0


def test_a_restored_value_is_what_later_runs_read(tmp_path):
    v = tf.Variable(1.0, name="v")
    doubled = v * 2.0
    saver, sess = Saver(), initialized()
    path = saver.save(sess, tmp_path / "m")
    assert sess.run([doubled, v.assign(10.0)])[1] == 10.0
    assert sess.run(doubled) == 20.0
    saver.restore(sess, path)
    assert sess.run(doubled) == 2.0


def test_an_interactive_session_is_restored_before_it_ran_anything(tmp_path):
    with tf.device("/gpu:2"):
        v = tf.Variable([1.0, 2.0], name="v")
    path = Saver().save(initialized(), tmp_path / "m")
    sess = tf.InteractiveSession()
    try:
        Saver().restore(sess, path)
        assert v.eval().tolist() == [1.0, 2.0]
        assert sess._state._cells["v"].place.device.short_name == "GPU:2"
    finally:
        sess.close()


def test_variables_of_a_finalized_graph_are_saved(tmp_path, graph):
    tf.Variable(1.0, name="v")
    sess = initialized()
    graph.finalize()
    assert Saver().save(sess, tmp_path / "m") == f"{tmp_path}/m"


def test_variables_of_open_shape_come_back_as_they_are(tmp_path):
    v = tf.Variable([1.0], validate_shape=False, name="v")
    saver, sess = Saver(), initialized()
    sess.run(tf.assign(v, [1.0, 2.0, 3.0], validate_shape=False))
    path = saver.save(sess, tmp_path / "m")
    with tf.Session() as other:
        saver.restore(other, path)
        assert other.run(v).tolist() == [1.0, 2.0, 3.0]


def test_a_saver_knows_the_variables_there_are_when_it_is_made(tmp_path):
    tf.Variable(1.0, name="early")
    saver = Saver()
    tf.Variable(2.0, name="late")
    assert list_variables(saver.save(initialized(), tmp_path / "m")) == [("early", [])]


def test_local_variables_are_not_saved(tmp_path):
    tf.Variable(1.0, name="kept")
    tf.Variable(1.0, name="local", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    assert list_variables(Saver().save(initialized(), tmp_path / "m")) == [("kept", [])]


def test_what_is_saved_is_whole_while_others_train(tmp_path):
    """Every value is of one moment: all its elements are of one step."""
    v = tf.Variable(tf.zeros([200_000]), name="v")
    more, saver, sess = v.assign_add(tf.ones([200_000])), Saver(), initialized()
    over = threading.Event()

    def train():
        while not over.is_set():
            sess.run(more.op)

    thread = threading.Thread(target=train)
    thread.start()
    try:
        paths = [saver.save(sess, tmp_path / "m", global_step=number) for number in range(5)]
    finally:
        over.set()
        thread.join()
    found = [np.unique(load_variable(path, "v")) for path in paths]
    assert [len(values) for values in found] == [1] * 5
    assert np.all(np.diff(np.concatenate(found)) >= 0)


# By name.


def test_a_dictionary_renames(tmp_path):
    a, b = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
    sess = initialized()
    path = Saver({"x": a, "y/z": b}).save(sess, tmp_path / "m")
    assert list_variables(path) == [("x", []), ("y/z", [])]
    Saver({"x": b, "y/z": a}).restore(sess, path)
    assert sess.run([a, b]) == [2.0, 1.0]


def test_some_variables_are_restored_and_the_others_left(tmp_path):
    a, b = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
    sess = initialized()
    path = Saver().save(sess, tmp_path / "m")
    sess.run([a.assign(5.0), b.assign(6.0)])
    Saver([b]).restore(sess, path)
    assert sess.run([a, b]) == [5.0, 2.0]


def test_names_are_those_of_operations(tmp_path):
    with tf.variable_scope("layer"):
        tf.get_variable("w", [2])
    assert list_variables(Saver().save(initialized(), tmp_path / "m")) == [("layer/w", [2])]


def test_a_checkpoint_of_objects_is_restored_by_names(tmp_path):
    from situs._src.checkpoints.checkpoint import Checkpoint

    path = _eager(lambda: Checkpoint(net={"deep": tf2.Variable(9.0, name="ww")}).save(tmp_path / "ck"))
    v = tf.Variable(0.0, name="ww")
    sess = initialized()
    Saver().restore(sess, path)
    assert sess.run(v) == 9.0


def _eager(function):
    """Runs a function outside of the graph that the tests build."""
    made = []
    thread = threading.Thread(target=lambda: made.append(function()))
    thread.start()
    thread.join()
    return made[0]


# On other devices.


@pytest.mark.parametrize("sharded", [False, True])
def test_values_go_where_the_variables_are(tmp_path, sharded):
    def build(devices):
        made = []
        for number, device in enumerate(devices):
            with tf.device(device):
                made.append(tf.Variable(tf.fill([3], float(number)), name=f"v{number}"))
        return made

    build(["/gpu:0", "/gpu:1", "/gpu:2", "/cpu:0"])
    path = Saver(sharded=sharded).save(initialized(), tmp_path / "m")
    assert len([name for name in names(tmp_path) if "data" in name]) == (4 if sharded else 1)
    for devices in (["/cpu:0"] * 4, ["/gpu:3", "/cpu:0", "/gpu:3", "/gpu:0"]):
        with tf.Graph().as_default(), tf.Session() as sess:
            made = build(devices)
            Saver().restore(sess, path)
            assert [sess.run(v).tolist() for v in made] == [[float(number)] * 3 for number in range(4)]
            cells = [sess._state._cells[v.op.name] for v in made]
            assert [f"/{cell.place.device.short_name.lower()}" for cell in cells] == devices


def test_the_index_tells_where_a_variable_was(tmp_path):
    with tf.device("/gpu:1"):
        tf.Variable([1.0], name="w")
    path = Saver().save(initialized(), tmp_path / "m")
    assert CheckpointReader(path).entry("w").device == "/job:localhost/replica:0/task:0/device:GPU:1"


def test_what_has_no_room_on_a_device_is_an_error_and_the_old_value_stays(tmp_path, monkeypatch):
    from situs._src.runtime.eager import tensor as eager_tensor

    with tf.device("/gpu:0"):
        v = tf.Variable([1.0], name="v")
    saver, sess = Saver(), initialized()
    path = saver.save(sess, tmp_path / "m")
    sess.run(v.assign([2.0]))

    def no_room(*args):
        raise ResourceExhaustedError("OOM")

    with monkeypatch.context() as patch:
        patch.setattr("situs._src.checkpoints.cells.copy_to", no_room)
        with pytest.raises(ResourceExhaustedError):
            saver.restore(sess, path)
    assert sess.run(v).tolist() == [2.0]
    assert eager_tensor.copy_to is not no_room


def test_large_variables_are_read_side_by_side(tmp_path):
    rng = np.random.default_rng(2)
    values = [rng.standard_normal(600_000).astype("f") for _ in range(4)]
    made = [tf.Variable(value, name=f"v{number}") for number, value in enumerate(values)]
    saver, sess = Saver(), initialized()
    path = saver.save(sess, tmp_path / "m")
    with tf.Session() as other:
        saver.restore(other, path)
        assert all(np.array_equal(other.run(v), value) for v, value in zip(made, values, strict=True))
    entry = CheckpointReader(path).entry("v2")
    with next(tmp_path.glob("m.data-*")).open("r+b") as file:
        file.seek(entry.begin + 1_000_000)
        file.write(b"damage")
    with pytest.raises(DataLossError, match="'v2'"):
        saver.restore(sess, path)


# Which checkpoints are kept.


def test_the_last_few_are_kept(tmp_path):
    tf.Variable(1.0, name="v")
    saver, sess = Saver(max_to_keep=2), initialized()
    for step in range(4):
        saver.save(sess, tmp_path / "m", global_step=step, write_meta_graph=step != 2)
    assert saver.last_checkpoints == [f"{tmp_path}/m-2", f"{tmp_path}/m-3"]
    assert (tmp_path / "checkpoint").read_text() == (
        'model_checkpoint_path: "m-3"\nall_model_checkpoint_paths: "m-2"\nall_model_checkpoint_paths: "m-3"\n'
    )
    data = "data-00000-of-00001.safetensors"
    assert names(tmp_path) == ["checkpoint", f"m-2.{data}", "m-2.index", f"m-3.{data}", "m-3.index", "m-3.meta"]


@pytest.mark.parametrize("keep", [0, None])
def test_all_are_kept(tmp_path, keep):
    tf.Variable(1.0, name="v")
    saver, sess = Saver(max_to_keep=keep), initialized()
    for step in range(7):
        saver.save(sess, tmp_path / "m", global_step=step, write_meta_graph=False)
    assert len([name for name in names(tmp_path) if name.endswith(".index")]) == 7
    assert saver.last_checkpoints == []
    assert (tmp_path / "checkpoint").read_text() == 'model_checkpoint_path: "m-6"\nall_model_checkpoint_paths: "m-6"\n'


@pytest.mark.parametrize(("hours", "expected"), [(0.5, [1, 3, 5, 7, 9]), (1, [3, 7, 9]), (2, [7, 9])])
def test_one_is_kept_in_so_many_hours(tmp_path, monkeypatch, hours, expected):
    now = [1_000_000.0]
    monkeypatch.setattr("situs._src.checkpoints.keeping.time.time", lambda: now[0])
    tf.Variable(1.0, name="v")
    saver, sess = Saver(max_to_keep=1, keep_checkpoint_every_n_hours=hours), initialized()
    for step in range(10):
        now[0] += 1000
        saver.save(sess, tmp_path / "m", global_step=step, write_meta_graph=False)
    kept = [name for name in names(tmp_path) if name.endswith(".index")]
    assert kept == [f"m-{step}.index" for step in expected]  # saved every 1000 seconds, from 1000 on


def test_a_checkpoint_that_is_saved_again_is_kept_once(tmp_path):
    tf.Variable(1.0, name="v")
    saver, sess = Saver(max_to_keep=2), initialized()
    for step in (1, 2, 1, 1):
        saver.save(sess, tmp_path / "m", global_step=step)
    assert saver.last_checkpoints == [f"{tmp_path}/m-2", f"{tmp_path}/m-1"]


def test_a_new_saver_goes_on_where_the_last_one_stopped(tmp_path):
    tf.Variable(1.0, name="v")
    sess = initialized()
    first = Saver(max_to_keep=2)
    for step in (1, 2):
        first.save(sess, tmp_path / "m", global_step=step)
    second = Saver(max_to_keep=2)
    state = get_checkpoint_state(tmp_path)
    second.recover_last_checkpoints([*state.all_model_checkpoint_paths, tmp_path / "gone"])
    assert second.last_checkpoints == first.last_checkpoints
    second.save(sess, tmp_path / "m", global_step=3)
    assert [name for name in names(tmp_path) if name.endswith(".index")] == ["m-2.index", "m-3.index"]


def test_what_was_saved_elsewhere_by_others_is_never_deleted(tmp_path, caplog):
    tf.Variable(1.0, name="v")
    sess = initialized()
    (tmp_path / "run").mkdir()
    precious = Saver().save(sess, tmp_path / "precious")
    saver = Saver(max_to_keep=1)
    saver.recover_last_checkpoints([tmp_path / "run" / ".." / "precious"])
    with caplog.at_level(logging.WARNING, "situs"):
        saver.save(sess, tmp_path / "run" / "m", global_step=1)
    assert "was not saved here, and is not deleted" in caplog.text
    assert load_variable(precious, "v") == 1.0


def test_an_old_checkpoint_that_cannot_be_deleted_is_a_warning(tmp_path, monkeypatch, caplog):
    tf.Variable(1.0, name="v")
    saver, sess = Saver(max_to_keep=1), initialized()
    saver.save(sess, tmp_path / "m", global_step=1)

    def refused(*args, **kwargs):
        raise tf2.errors.PermissionDeniedError("no")

    monkeypatch.setattr("situs._src.checkpoints.saver.remove_checkpoint", refused)
    assert saver.save(sess, tmp_path / "m", global_step=2) == f"{tmp_path}/m-2"
    assert "m-1 cannot be deleted, and stays: no" in caplog.text


def test_the_old_checkpoint_goes_after_the_new_one_is_known(tmp_path, monkeypatch):
    tf.Variable(1.0, name="v")
    saver, sess = Saver(max_to_keep=1), initialized()
    saver.save(sess, tmp_path / "m", global_step=1)
    seen = []

    def watched(path, **kwargs):
        seen.append((Path(path).name, Path(latest_checkpoint(tmp_path)).name))

    monkeypatch.setattr("situs._src.checkpoints.saver.remove_checkpoint", watched)
    saver.save(sess, tmp_path / "m", global_step=2)
    assert seen == [("m-1", "m-2")]


def test_the_list_of_checkpoints_can_be_set():
    saver = Saver([tf.Variable(1.0)])
    saver.set_last_checkpoints(["a", "b"])
    assert saver.last_checkpoints == ["a", "b"]
    saver.set_last_checkpoints_with_time([("c", 1.0)])
    assert saver.last_checkpoints == ["c"]
    for wrong in ("x", 3, None):
        with pytest.raises(TypeError):
            saver.set_last_checkpoints(wrong)
    for wrong in ([1], "xyz", None, [("a", "b")]):
        with pytest.raises(TypeError):
            saver.set_last_checkpoints_with_time(wrong)


# Paths.


def test_paths_are_returned_as_they_were_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    step = tf.Variable(7, name="step", dtype=tf.int64)
    saver, sess = Saver(), initialized()
    assert saver.save(sess, "model.ckpt") == "model.ckpt"
    assert saver.save(sess, "./model.ckpt", global_step=3) == "./model.ckpt-3"
    assert saver.save(sess, "./model.ckpt", global_step=step) == "./model.ckpt-7"
    assert saver.save(sess, "model.ckpt", global_step=tf.constant(9)) == "model.ckpt-9"
    assert saver.save(sess, "model.ckpt", global_step="step:0") == "model.ckpt-7"
    assert saver.save(sess, "sub/model.ckpt", global_step=np.int64(-5)) == "sub/model.ckpt--5"
    assert latest_checkpoint(".") == "./model.ckpt-7"
    assert latest_checkpoint("sub") == "sub/model.ckpt--5"
    assert Saver(pad_step_number=True).save(sess, "pad", global_step=12) == "pad-00000012"


def test_one_folder_is_made_and_no_more(tmp_path):
    tf.Variable(1.0)
    saver, sess = Saver(), initialized()
    assert saver.save(sess, tmp_path / "new" / "m") == f"{tmp_path}/new/m"
    with pytest.raises(ValueError, match=r"Parent directory of .*/far/away/m doesn't exist, can't save\."):
        saver.save(sess, tmp_path / "far" / "away" / "m")


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"save_path": ""}, ValueError, "no path specified"),
        ({"save_path": None}, TypeError, "Expected binary or unicode string, got None"),
        ({"save_path": "folder/"}, ValueError, "A checkpoint needs a name"),
        ({"save_path": "m", "global_step": 2.5}, TypeError, "2.5"),
        ({"save_path": "m", "global_step": True}, TypeError, "True"),
        ({"save_path": "m", "global_step": "nothing:0"}, ValueError, "nothing"),
        ({"save_path": "m", "latest_filename": "a/b"}, ValueError, "must not contain path components"),
        ({"save_path": "m", "latest_filename": "m"}, ValueError, "'latest_filename' collides with 'save_path': 'm'"),
        ({"save_path": "m", "sess": None}, TypeError, "'sess' must be a Session; None"),
        ({"save_path": "m", "sess": 3}, TypeError, "'sess' must be a Session; 3"),
    ],
)
def test_what_cannot_be_saved_to_is_an_error(tmp_path, monkeypatch, arguments, error, match):
    monkeypatch.chdir(tmp_path)
    tf.Variable(1.0)
    saver = Saver()
    with pytest.raises(error, match=match):
        saver.save(**{"sess": initialized(), **arguments})
    assert names(tmp_path) == []


def test_the_step_must_be_one_number(tmp_path):
    tf.Variable(1.0)
    with pytest.raises(TypeError, match="global_step is one number"):
        Saver().save(initialized(), tmp_path / "m", global_step=tf.constant([1, 2]))


def test_the_latest_checkpoint_can_be_told_by_another_file(tmp_path):
    tf.Variable(1.0)
    Saver().save(initialized(), tmp_path / "m", latest_filename="best")
    assert latest_checkpoint(tmp_path) is None
    assert latest_checkpoint(tmp_path, "best") == f"{tmp_path}/m"


def test_a_checkpoint_need_not_be_the_latest(tmp_path):
    tf.Variable(1.0)
    saver = Saver()
    saver.save(initialized(), tmp_path / "m", write_state=False)
    assert latest_checkpoint(tmp_path) is None
    assert saver.last_checkpoints == []


# What cannot be saved or restored.


def test_there_must_be_variables():
    with pytest.raises(ValueError, match="No variables to save"):
        Saver()
    with pytest.raises(ValueError, match="No variables to save"):
        Saver([])


def test_there_may_be_nothing_to_save(tmp_path):
    saver = Saver(allow_empty=True)
    assert saver.save(tf.Session(), tmp_path / "m") is None
    assert names(tmp_path) == ["m.meta"]
    saver.restore(tf.Session(), tmp_path / "m")


@pytest.mark.parametrize(
    ("var_list", "match"),
    [
        ([3], "Variable to save is not a Variable: 3"),
        ({"a": 3}, "Not a variable: 3"),
        ({3: 3}, "Name is not a string: 3"),
        ("abc", "var_list is a list or a dictionary of variables"),
        (7, "var_list is a list or a dictionary of variables"),
    ],
)
def test_only_variables_are_saved(var_list, match):
    with pytest.raises(TypeError, match=match):
        Saver(var_list)


def test_a_variable_alone_is_no_list():
    with pytest.raises(TypeError, match="var_list is a list or a dictionary of variables"):
        Saver(tf.Variable(1.0))


def test_two_variables_cannot_have_one_name():
    w = tf.Variable(1.0, name="w")
    with pytest.raises(ValueError, match="At least two variables have the same name: w"):
        Saver([w, w])


def test_a_variable_without_a_value_cannot_be_saved(tmp_path):
    tf.Variable(1.0, name="v")
    with pytest.raises(FailedPreconditionError, match="Attempting to use uninitialized value v"):
        Saver().save(tf.Session(), tmp_path / "m")
    assert names(tmp_path) == []


def test_a_variable_of_another_graph_cannot_be_saved(tmp_path):
    v = tf.Variable(1.0, name="v")
    with tf.Graph().as_default():
        sess = tf.Session()
    with pytest.raises(InvalidArgumentError, match="Variable 'v' belongs to a graph"):
        Saver([v]).save(sess, tmp_path / "m")


def test_a_closed_session_has_no_values(tmp_path):
    tf.Variable(1.0, name="v")
    sess = initialized()
    sess.close()
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
        Saver().save(sess, tmp_path / "m")


def test_nothing_cannot_be_restored(tmp_path):
    tf.Variable(1.0)
    saver, sess = Saver(), tf.Session()
    with pytest.raises(ValueError, match=r"Can't load save_path when it is None\."):
        saver.restore(sess, None)
    for path in (tmp_path / "nope", "", tmp_path):
        with pytest.raises(ValueError, match="The passed save_path is not a valid checkpoint: "):
            saver.restore(sess, path)


def saved_elsewhere(tmp_path, value, name="w"):
    with tf.Graph().as_default():
        tf.Variable(value, name=name)
        return Saver().save(initialized(), tmp_path / "m")


@pytest.mark.parametrize(
    ("value", "error", "match"),
    [
        (np.zeros([3, 2], "f"), InvalidArgumentError, r"tensors to match\. lhs shape= \[3,2\] rhs shape= \[2,2\]"),
        (np.zeros([4], "f"), InvalidArgumentError, r"lhs shape= \[4\] rhs shape= \[2,2\]"),
        (np.zeros([2, 2], "d"), InvalidArgumentError, "expected dtype double does not equal original dtype float"),
    ],
)
def test_a_variable_that_does_not_fit_is_not_restored(tmp_path, value, error, match):
    path = saved_elsewhere(tmp_path, np.ones([2, 2], "f"))
    a, w = tf.Variable(5.0, name="a"), tf.Variable(value, name="w")
    sess = initialized()
    with pytest.raises(error, match=match):
        Saver({"w": w}).restore(sess, path)
    assert sess.run(a) == 5.0
    assert np.array_equal(sess.run(w), value)


def test_a_variable_that_was_not_saved_cannot_be_restored(tmp_path):
    path = saved_elsewhere(tmp_path, np.ones([2, 2], "f"))
    tf.Variable(np.ones([2, 2], "f"), name="W")
    with pytest.raises(NotFoundError, match="Key W not found in checkpoint"):
        Saver().restore(tf.Session(), path)


def test_nothing_is_changed_if_one_variable_does_not_fit(tmp_path):
    path = saved_elsewhere(tmp_path, 1.0, "a")
    a, z = tf.Variable(5.0, name="a"), tf.Variable(6.0, name="z")
    sess = initialized()
    with pytest.raises(NotFoundError):
        Saver().restore(sess, path)
    assert sess.run([a, z]) == [5.0, 6.0]


def test_values_can_be_reshaped(tmp_path):
    path = saved_elsewhere(tmp_path, np.arange(4.0).astype("f").reshape(2, 2))
    w = tf.Variable(tf.zeros([4]), name="w")
    sess = initialized()
    Saver(reshape=True).restore(sess, path)
    assert sess.run(w).tolist() == [0.0, 1.0, 2.0, 3.0]
    with tf.Graph().as_default():
        tf.Variable(tf.zeros([6]), name="w")
        with pytest.raises(InvalidArgumentError, match="tensor with 4 values, but the requested shape has 6"):
            Saver(reshape=True).restore(tf.Session(), path)


# Its options.


def test_building_can_be_put_off(tmp_path):
    saver = Saver(defer_build=True)
    v = tf.Variable(1.0, name="v")
    sess = initialized()
    with pytest.raises(RuntimeError, match=r"`build\(\)` should be called before save if defer_build==True"):
        saver.save(sess, tmp_path / "m")
    saver.build()
    saver.restore(sess, saver.save(sess, tmp_path / "m"))
    with pytest.raises(ValueError, match="If `var_list` is provided then build cannot be deferred"):
        Saver([v], defer_build=True)


def test_options_travel_as_a_message():
    tf.Variable(1.0)
    message = Saver(max_to_keep=3, sharded=True, keep_checkpoint_every_n_hours=2).as_saver_def()
    assert str(message) == "max_to_keep: 3\nsharded: true\nkeep_checkpoint_every_n_hours: 2\nversion: V2\n"
    again = Saver.from_proto(message)
    assert again.saver_def == again.to_proto() == message
    assert SaverDef.V2 == 2


@pytest.mark.parametrize(
    "arguments",
    [{"sharded": "yes"}, {"reshape": "no"}, {"max_to_keep": "5"}, {"keep_checkpoint_every_n_hours": "x"}],
)
def test_options_of_the_wrong_kind_are_errors(arguments):
    with pytest.raises(TypeError):
        Saver([tf.Variable(1.0)], **arguments)


def test_nobody_else_can_build_it():
    with pytest.raises(NotImplementedError, match="builder"):
        Saver([tf.Variable(1.0)], builder=object())


def test_a_session_in_a_session_is_found(tmp_path):
    class Monitored:
        def __init__(self, inner):
            self._inner = inner

        def _tf_sess(self):
            return self._inner

    v = tf.Variable(1.0, name="v")
    sess = initialized()
    path = Saver().save(Monitored(Monitored(sess)), tmp_path / "m")
    sess.run(v.assign(0.0))
    Saver().restore(Monitored(sess), path)
    assert sess.run(v) == 1.0


# Eager variables.


def test_eager_variables_need_no_session(tmp_path):
    def program():
        v = tf2.Variable([1.0, 2.0], name="v")
        path = Saver([v]).save(None, tmp_path / "m", global_step=tf2.Variable(3))
        v.assign([0.0, 0.0])
        Saver({"v": v}).restore(None, path)
        return path, v.numpy().tolist(), list_variables(path)

    assert _eager(program) == (f"{tmp_path}/m-3", [1.0, 2.0], [("v", [2])])


def test_eager_variables_go_where_they_are(tmp_path):
    def program():
        with tf2.device("/gpu:1"):
            v = tf2.Variable([1.0, 2.0], name="v")
        with tf2.device("/gpu:2"):
            w = tf2.Variable([0.0, 0.0], name="w")
        Saver({"v": w}).restore(None, Saver([v]).save(None, tmp_path / "m"))
        return w.device, w.value().device, w.numpy().tolist()

    gpu = "/job:localhost/replica:0/task:0/device:GPU:2"
    assert _eager(program) == (gpu, gpu, [1.0, 2.0])


@pytest.mark.parametrize("step", [1.5, [1], True])
def test_a_step_is_an_integer_or_holds_one(tmp_path, step):
    saver = Saver([tf.Variable(1.0, name="v")])
    with initialized() as sess, pytest.raises(DTypeError, match="A step is an integer"):
        saver.save(sess, tmp_path / "m", global_step=step)


def test_checkpoints_to_recover_are_a_list():
    saver = Saver([tf.Variable(1.0, name="v")])
    for wrong in (5, "model"):
        with pytest.raises(DTypeError, match="Checkpoints are given as a list of paths"):
            saver.recover_last_checkpoints(wrong)
