"""``tf.train.Checkpoint``: variables by their place in objects. Keys and messages are TensorFlow 2.21's."""

from __future__ import annotations

import gc
import json
import logging
import time
import weakref
from pathlib import Path

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as tf1
from situs._src.checkpoints.checkpoint import Checkpoint, CheckpointV1
from situs._src.checkpoints.finding import latest_checkpoint, list_variables, load_variable
from situs._src.checkpoints.objects import GRAPH_KEY, pruned, walk
from situs._src.checkpoints.reader import CheckpointReader
from situs._src.checkpoints.restoration import _waiting
from situs._src.checkpoints.saver import Saver
from situs._src.checkpoints.status import CheckpointLoadStatus, InitializationOnlyStatus, NameBasedSaverStatus
from situs._src.checkpoints.trackable import Trackable
from situs.errors import DataLossError, InvalidArgumentError, NotFoundError, ResourceExhaustedError

VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"


class Plain:
    """An object of a program that knows nothing of checkpoints."""

    def __init__(self, **attributes):
        vars(self).update(attributes)


class Layer(Trackable):
    """An object that makes its variables late, as layers do."""

    def build(self, value):
        self.w = tf.Variable(value)


def keys(path):
    return [name for name, _ in list_variables(path)]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# Keys.


def test_keys_are_paths_of_objects(tmp_path):
    net = Plain(
        w=tf.Variable([1.0, 2.0], name="ww"),
        layers=[tf.Variable(3.0), tf.Variable(4.0)],
        d={"a": tf.Variable(5.0), "b/c": tf.Variable(6.0), "e.f": tf.Variable(7.0)},
        t=(tf.Variable(8.0),),
    )
    net.alias = net.w
    path = Checkpoint(net=net, step=tf.Variable(1), again=net).save(tmp_path / "ck")
    assert keys(path) == [  # as TensorFlow lists them
        "_CHECKPOINTABLE_OBJECT_GRAPH",
        f"again/d/a{VALUE}",
        f"again/d/b.Sc{VALUE}",
        f"again/d/e..f{VALUE}",
        f"again/layers/0{VALUE}",
        f"again/layers/1{VALUE}",
        f"again/t/0{VALUE}",
        f"again/w{VALUE}",
        f"save_counter{VALUE}",
        f"step{VALUE}",
    ]


def test_names_that_look_like_keys_are_told_from_them(tmp_path):
    o = Plain(
        **{"a/b": tf.Variable(1.0), "c.d": tf.Variable(1.0), "_e": tf.Variable(2.0), ".ATTRIBUTES": tf.Variable(2.0)}
    )
    assert keys(Checkpoint(o=o).write(tmp_path / "ck"))[1:] == [
        f"o/..ATTRIBUTES{VALUE}",
        f"o/_e{VALUE}",
        f"o/a.Sb{VALUE}",
        f"o/c..d{VALUE}",
    ]


def test_the_children_of_a_root_are_the_checkpoints_own(tmp_path):
    root = Plain(w=tf.Variable(1.0), inner=Plain(v=tf.Variable(2.0)))
    path = Checkpoint(root, extra=tf.Variable(3.0)).save(tmp_path / "ck")
    assert keys(path)[1:] == [f"extra{VALUE}", f"inner/v{VALUE}", f"save_counter{VALUE}", f"w{VALUE}"]
    other = Plain(w=tf.Variable(0.0), inner=Plain(v=tf.Variable(0.0)))
    Checkpoint(other).read(path).assert_existing_objects_matched()
    assert other.inner.v.numpy() == 2.0


def test_an_object_may_say_what_its_children_are(tmp_path):
    class Optimizer:
        def __init__(self):
            self.hidden = tf.Variable(1.0)
            self._slots = [tf.Variable(2.0)]

        def _checkpoint_children(self):
            return {"m": self._slots[0], "rate": 0.1, "nested": {"k": tf.Variable(3.0)}}

    assert keys(Checkpoint(opt=Optimizer()).write(tmp_path / "ck"))[1:] == [f"opt/m{VALUE}", f"opt/nested/k{VALUE}"]


def test_checkpoints_can_be_nested(tmp_path):
    inner = Checkpoint(v=tf.Variable(1.0))
    path = Checkpoint(inner=inner, w=tf.Variable(2.0)).write(tmp_path / "ck")
    assert keys(path)[1:] == [f"inner/v{VALUE}", f"w{VALUE}"]


def test_objects_may_lead_back_to_each_other(tmp_path):
    a, b = Plain(v=tf.Variable(1.0)), Plain(w=tf.Variable(2.0))
    a.other, b.other, a.me = b, a, a
    checkpoint = Checkpoint(a=a)
    path = checkpoint.write(tmp_path / "ck")
    assert keys(path)[1:] == [f"a/other/w{VALUE}", f"a/v{VALUE}"]
    a.v.assign(0.0)
    b.w.assign(0.0)
    checkpoint.read(path).assert_consumed()
    assert (a.v.numpy(), b.w.numpy()) == (1.0, 2.0)


def test_what_leads_to_no_variable_is_left_out():
    root = Plain(
        net=Plain(w=tf.Variable(1.0), name="x", logger=logging.getLogger("x"), empty=[], f=print, t=tf.ones(2))
    )
    graph = pruned(walk(root))
    assert [list(node.children) for node in graph.nodes] == [["net"], ["w"], []]


def test_a_long_chain_of_objects_is_followed(tmp_path):
    first = last = Plain()
    for _ in range(3000):
        last.next = Plain()
        last = last.next
    last.v = tf.Variable(5.0)
    path = Checkpoint(first=first).write(tmp_path / "ck")
    last.v.assign(0.0)
    Checkpoint(first=first).read(path).assert_consumed()
    assert last.v.numpy() == 5.0


def test_objects_with_slots_are_followed(tmp_path):
    class Base:
        __slots__ = ("a",)

    class Slotted(Base):
        __slots__ = "b"

    made, other = Slotted(), Slotted()
    made.a, made.b, other.b = tf.Variable(1.0), tf.Variable(2.0), tf.Variable(0.0)
    path = Checkpoint(o=made).write(tmp_path / "ck")
    assert keys(path)[1:] == [f"o/a{VALUE}", f"o/b{VALUE}"]
    Checkpoint(o=other).read(path).expect_partial().assert_existing_objects_matched()
    assert other.b.numpy() == 2.0


@pytest.mark.parametrize("value", [3, 2.5, "x", b"x", None, print, lambda: 1, int, np.ones(2), object(), json])
def test_what_can_hold_no_variables_is_refused(value):
    with pytest.raises(ValueError, match="`Checkpoint` was expecting a to be a trackable object"):
        Checkpoint(a=value)
    if value is not None:
        with pytest.raises(ValueError, match="`Checkpoint` was expecting root to be a trackable object"):
            Checkpoint(value)


def test_a_name_of_the_root_cannot_be_given_again():
    root = Plain(w=tf.Variable([1.0, 2.0]))
    Checkpoint(root, w=root.w)
    with pytest.raises(ValueError, match=r"keyword argument w if root\.w already exists"):
        Checkpoint(root, w=tf.Variable(1.0))


def test_the_keys_of_dictionaries_of_variables_are_strings(tmp_path):
    for wrong in ({1: tf.Variable(1.0)}, {None: [Plain(v=tf.Variable(1.0))]}, {(1, 2): {"a": tf.Variable(1.0)}}):
        with pytest.raises(ValueError, match=r"its key .* is no string"):
            Checkpoint(net=Plain(d=wrong)).write(tmp_path / "ck")
    assert names(tmp_path) == []


def test_the_keys_of_other_dictionaries_are_not_looked_at(tmp_path):
    table = {1: "a", 2: [Plain()], None: {}}
    table[3] = table
    assert keys(Checkpoint(d=table, v=tf.Variable(1.0)).write(tmp_path / "ck"))[1:] == [f"v{VALUE}"]


def test_a_list_of_a_million_numbers_takes_no_time(tmp_path):
    net = Plain(v=tf.Variable(1.0), data=list(range(10**6)), table=dict.fromkeys(map(str, range(10**5)), 0.5))
    checkpoint = Checkpoint(net=net)
    start = time.process_time()
    assert sum(isinstance(each, Plain) for each in net.data) == 0
    looked = time.process_time()
    checkpoint.write(tmp_path / "ck")
    assert time.process_time() - looked < 20 * (looked - start)  # a walk through the parts of a million takes 60 times


# Saving.


def test_saves_are_counted(tmp_path):
    checkpoint = Checkpoint(v=tf.Variable(1.0))
    assert [checkpoint.save(tmp_path / "ck") for _ in range(2)] == [f"{tmp_path}/ck-1", f"{tmp_path}/ck-2"]
    assert checkpoint.save_counter.numpy() == 2
    assert checkpoint.save_counter.dtype is tf.int64
    assert latest_checkpoint(tmp_path) == f"{tmp_path}/ck-2"
    assert (
        tmp_path / "checkpoint"
    ).read_text() == 'model_checkpoint_path: "ck-2"\nall_model_checkpoint_paths: "ck-2"\n'
    again = Checkpoint(v=tf.Variable(0.0))
    again.restore(f"{tmp_path}/ck-2")
    assert again.save(tmp_path / "ck") == f"{tmp_path}/ck-3"


def test_writing_counts_nothing_and_tells_nobody(tmp_path):
    checkpoint = Checkpoint(v=tf.Variable(1.0))
    assert checkpoint.write(tmp_path / "deep" / "er" / "ck") == f"{tmp_path}/deep/er/ck"
    assert latest_checkpoint(tmp_path / "deep" / "er") is None
    assert checkpoint.save_counter.numpy() == 0


def test_a_save_that_fails_is_not_counted(tmp_path, monkeypatch):
    checkpoint = Checkpoint(v=tf.Variable(1.0))
    checkpoint.save(tmp_path / "ck")

    def full(*args, **kwargs):
        raise ResourceExhaustedError("the disk is full")

    for place in ("write", "update_checkpoint_state"):
        with monkeypatch.context() as patch:
            patch.setattr(f"situs._src.checkpoints.checkpoint.{place}", full)
            with pytest.raises(ResourceExhaustedError):
                checkpoint.save(tmp_path / "ck")
    assert checkpoint.save_counter.numpy() == 1
    assert checkpoint.save(tmp_path / "ck") == f"{tmp_path}/ck-2"


@pytest.mark.parametrize(("prefix", "error"), [("", ValueError), ("x/", ValueError), (None, TypeError), (3, TypeError)])
def test_a_checkpoint_needs_a_name(prefix, error):
    with pytest.raises(error):
        Checkpoint(v=tf.Variable(1.0)).write(prefix)


def test_each_device_has_its_file(tmp_path):
    made = {}
    for number in range(3):
        with tf.device(f"/gpu:{number}"):
            made[f"v{number}"] = tf.Variable([float(number)])
    path = Checkpoint(**made).write(tmp_path / "ck")
    assert len([name for name in names(tmp_path) if "data" in name]) == 4  # and the graph of objects, on the CPU
    with tf.device("/cpu:0"):
        moved = {name: tf.Variable([9.0]) for name in made}
    Checkpoint(**moved).read(path).assert_consumed()
    assert [v.numpy()[0] for v in moved.values()] == [0.0, 1.0, 2.0]
    assert {v.device[-5:] for v in moved.values()} == {"CPU:0"}


def test_strings_are_saved(tmp_path):
    v = tf.Variable(["a", "ключ", b"\xff"])
    path = Checkpoint(v=v).write(tmp_path / "ck")
    v.assign(["", "", ""])
    Checkpoint(v=v).read(path)
    assert v.numpy().tolist() == [b"a", "ключ".encode(), b"\xff"]


# Restoring.


def test_everything_comes_back(tmp_path):
    net = Plain(w=tf.Variable([1.0, 2.0]), layers=[tf.Variable(3.0), {"b": tf.Variable(4)}])
    path = Checkpoint(net=net).save(tmp_path / "ck")
    other = Plain(w=tf.Variable([0.0, 0.0]), layers=[tf.Variable(0.0), {"b": tf.Variable(0)}])
    status = Checkpoint(net=other).restore(path)
    assert isinstance(status, CheckpointLoadStatus)
    assert status.assert_consumed() is status
    assert status.assert_existing_objects_matched() is status
    assert status.assert_nontrivial_match() is status
    assert status.expect_partial() is status
    assert status.run_restore_ops() is None
    assert status.initialize_or_restore() is None
    assert other.w.numpy().tolist() == [1.0, 2.0]
    assert [other.layers[0].numpy(), other.layers[1]["b"].numpy()] == [3.0, 4]


def test_a_shared_variable_is_found_on_any_of_its_ways(tmp_path):
    shared = tf.Variable(5.0)
    path = Checkpoint(a=shared, b=shared).save(tmp_path / "ck")
    assert keys(path)[1:] == [f"a{VALUE}", f"save_counter{VALUE}"]
    v = tf.Variable(0.0)
    Checkpoint(b=v).restore(path).assert_consumed()
    assert v.numpy() == 5.0


def test_a_shared_variable_that_is_two_now_is_restored_once(tmp_path, caplog):
    shared = tf.Variable(5.0)
    path = Checkpoint(a=shared, b=shared).write(tmp_path / "ck")
    a, b = tf.Variable(0.0), tf.Variable(0.0)
    with caplog.at_level(logging.WARNING, "situs"):
        Checkpoint(a=a, b=b).read(path).expect_partial()
    assert "Inconsistent references" in caplog.text
    assert (a.numpy(), b.numpy()) == (5.0, 0.0)


def test_what_is_missing_in_the_program_is_found_out(tmp_path):
    path = Checkpoint(net=Plain(w=tf.Variable(1.0)), step=tf.Variable(1)).save(tmp_path / "ck")
    status = Checkpoint(step=tf.Variable(0)).restore(path).expect_partial()
    status.assert_existing_objects_matched().assert_nontrivial_match()
    with pytest.raises(AssertionError, match=r"Unresolved object in checkpoint \(root\)\.net\.w: "):
        status.assert_consumed()


def test_what_is_missing_in_the_checkpoint_is_found_out(tmp_path):
    path = Checkpoint(step=tf.Variable(1)).save(tmp_path / "ck")
    status = Checkpoint(step=tf.Variable(0), extra=tf.Variable(1.0)).restore(path)
    for question in (status.assert_consumed, status.assert_existing_objects_matched):
        with pytest.raises(AssertionError, match="Found 1 Python objects that were not bound to checkpointed values"):
            question()


def test_nothing_in_common_is_found_out(tmp_path):
    path = Checkpoint(a=tf.Variable(1.0)).write(tmp_path / "ck")
    status = Checkpoint(b=tf.Variable(1.0)).read(path).expect_partial()
    with pytest.raises(AssertionError, match="Nothing except the root object matched"):
        status.assert_nontrivial_match()


def test_values_that_stay_unused_are_warned_of_unless_that_was_expected(tmp_path, caplog):
    path = Checkpoint(a=tf.Variable(1.0), b=tf.Variable(2.0)).write(tmp_path / "ck")
    v = tf.Variable(0.0)
    with caplog.at_level(logging.WARNING, "situs"):
        Checkpoint(a=v).read(path).expect_partial()
        gc.collect()
        assert caplog.text == ""
        Checkpoint(a=v).read(path)
        gc.collect()
        assert "Value in checkpoint could not be found in the restored object: (root).b" in caplog.text


def test_nothing_is_restored_from_nothing():
    status = Checkpoint(v=tf.Variable(1.0)).restore(None)
    assert isinstance(status, InitializationOnlyStatus)
    assert status.expect_partial() is status
    status.initialize_or_restore()
    for question in (status.assert_consumed, status.assert_existing_objects_matched, status.run_restore_ops):
        with pytest.raises(AssertionError, match="No checkpoint specified"):
            question()


def test_a_checkpoint_that_is_not_there_is_not_found(tmp_path):
    checkpoint = Checkpoint(v=tf.Variable(1.0))
    with pytest.raises(
        NotFoundError, match=rf"Error when restoring from checkpoint or SavedModel at {tmp_path}/nope: "
    ):
        checkpoint.restore(tmp_path / "nope")
    with pytest.raises(NotFoundError, match=r"It is a folder: tf\.train\.latest_checkpoint"):
        checkpoint.restore(tmp_path)


@pytest.mark.parametrize(
    ("value", "match"),
    [
        ([1, 2], r"Received incompatible tensor with shape \(\) when attempting to restore variable with shape \(2,\)"),
        (0.5, "expected dtype float does not equal original dtype int32"),
    ],
)
def test_a_variable_that_does_not_fit_is_an_error_and_nothing_is_changed(tmp_path, value, match):
    path = Checkpoint(a=tf.Variable(1.0), step=tf.Variable(1)).write(tmp_path / "ck")
    a, step = tf.Variable(0.0), tf.Variable(value)
    with pytest.raises(ValueError, match=match):
        Checkpoint(a=a, step=step).read(path)
    assert a.numpy() == 0.0


def test_a_checkpoint_of_write_is_restored_too(tmp_path):
    path = Checkpoint(v=tf.Variable(1.0)).write(tmp_path / "ck")
    Checkpoint(v=tf.Variable(0.0)).restore(path).assert_consumed()


# Later.


def test_a_variable_is_restored_when_it_is_attached(tmp_path):
    path = Checkpoint(step=tf.Variable(7), w=tf.Variable(2.0)).save(tmp_path / "ck")
    checkpoint = Checkpoint()
    status = checkpoint.restore(path)
    checkpoint.step = tf.Variable(0)
    assert checkpoint.step.numpy() == 7
    with pytest.raises(AssertionError):
        status.assert_consumed()
    checkpoint.w = tf.Variable(0.0)
    status.assert_consumed()


def test_a_layer_that_makes_its_variables_late_is_restored(tmp_path):
    built = Layer()
    built.build([1.0, 2.0])
    path = Checkpoint(layers=[built], net=Plain(deep=built)).write(tmp_path / "ck")
    layer = Layer()
    status = Checkpoint(layers=[layer], net=Plain(deep=layer)).read(path)
    layer.build([0.0, 0.0])
    assert layer.w.numpy().tolist() == [1.0, 2.0]
    status.assert_consumed()


def test_objects_that_are_attached_late_are_restored_with_all_they_have(tmp_path):
    path = Checkpoint(net=Plain(inner=[Plain(w=tf.Variable(3.0))])).write(tmp_path / "ck")
    checkpoint = Checkpoint()
    status = checkpoint.read(path)
    checkpoint.net = Plain(inner=[Plain(w=tf.Variable(0.0))])
    assert checkpoint.net.inner[0].w.numpy() == 3.0
    status.assert_consumed()


def test_the_children_of_a_root_are_restored_when_they_are_set(tmp_path):
    built = Layer()
    built.build(4.0)
    path = Checkpoint(built).write(tmp_path / "ck")
    root = Layer()
    status = Checkpoint(root).read(path)
    root.build(0.0)
    assert root.w.numpy() == 4.0
    status.assert_consumed()


def test_lists_that_have_grown_are_seen_when_the_status_is_asked(tmp_path):
    path = Checkpoint(xs=[tf.Variable(1.0), tf.Variable(2.0)]).write(tmp_path / "ck")
    xs = []
    status = Checkpoint(xs=xs).read(path)
    xs.append(tf.Variable(0.0))
    with pytest.raises(AssertionError, match=r"\(root\)\.xs\.1"):
        status.assert_consumed()
    assert xs[0].numpy() == 1.0
    xs.append(tf.Variable(0.0))
    status.assert_consumed()
    assert xs[1].numpy() == 2.0


def test_what_is_no_variable_takes_no_value(tmp_path):
    path = Checkpoint(step=tf.Variable(7), net=Plain(w=tf.Variable(1.0))).write(tmp_path / "ck")
    checkpoint = Checkpoint(net=tf.Variable(3.0))  # which was an object
    status = checkpoint.read(path)
    checkpoint.step = 5
    checkpoint.step = Plain()
    with pytest.raises(AssertionError):
        status.assert_consumed()
    checkpoint.step = tf.Variable(0)
    assert checkpoint.step.numpy() == 7
    assert checkpoint.net.numpy() == 3.0
    with pytest.raises(AssertionError, match=r"Found 1 Python objects|\(root\)\.net\.w"):
        status.expect_partial().assert_consumed()


def test_a_late_variable_that_does_not_fit_is_an_error_where_it_is_attached(tmp_path):
    path = Checkpoint(step=tf.Variable(7)).write(tmp_path / "ck")
    checkpoint = Checkpoint()
    status = checkpoint.read(path).expect_partial()
    with pytest.raises(ValueError, match="Received incompatible tensor"):
        checkpoint.step = tf.Variable([1, 2])
    with pytest.raises(AssertionError):
        status.assert_consumed()


def test_nothing_is_waited_for_when_everything_has_arrived(tmp_path):
    path = Checkpoint(a=tf.Variable(1.0), b=tf.Variable(2.0)).write(tmp_path / "ck")
    files = len(list(Path("/proc/self/fd").iterdir()))
    checkpoint = Checkpoint()
    checkpoint.read(path)
    checkpoint.a, checkpoint.b = tf.Variable(0.0), tf.Variable(0.0)
    assert (checkpoint.a.numpy(), checkpoint.b.numpy()) == (1.0, 2.0)
    assert not _waiting[id(checkpoint)][1]
    gc.collect()
    assert len(list(Path("/proc/self/fd").iterdir())) == files


def test_a_value_is_restored_once(tmp_path):
    path = Checkpoint(step=tf.Variable(7), w=tf.Variable(2.0)).write(tmp_path / "ck")
    checkpoint = Checkpoint(step=tf.Variable(0))
    checkpoint.read(path).expect_partial()
    checkpoint.step.assign(8)
    checkpoint.step = tf.Variable(9)  # w is still waited for; the step had its value
    assert checkpoint.step.numpy() == 9


def test_the_latest_restoration_goes_first(tmp_path):
    old = Checkpoint(w=tf.Variable(1.0)).write(tmp_path / "old")
    new = Checkpoint(w=tf.Variable(2.0)).write(tmp_path / "new")
    checkpoint = Checkpoint()
    statuses = [checkpoint.read(path).expect_partial() for path in (new, old, new)]
    checkpoint.w = tf.Variable(0.0)
    assert checkpoint.w.numpy() == 2.0
    assert len(statuses) == 3


def test_a_checkpoint_may_be_deleted_before_its_last_value_is_asked_for(tmp_path):
    path = Checkpoint(w=tf.Variable(1.0)).write(tmp_path / "ck")
    checkpoint = Checkpoint()
    status = checkpoint.read(path)
    for name in names(tmp_path):
        (tmp_path / name).unlink()
    checkpoint.w = tf.Variable(0.0)
    assert checkpoint.w.numpy() == 1.0
    status.assert_consumed()


def test_waiting_keeps_nothing_alive(tmp_path):
    path = Checkpoint(layer=Plain(w=tf.Variable(1.0)), other=tf.Variable(1.0)).write(tmp_path / "ck")
    layer = Layer()
    checkpoint = Checkpoint(layer=layer)
    checkpoint.read(path).expect_partial()
    gone = weakref.ref(layer), weakref.ref(checkpoint)
    del layer, checkpoint
    gc.collect()
    assert [reference() for reference in gone] == [None, None]
    assert not any(found[0]() is None for found in _waiting.values())


def test_attributes_of_other_kinds_are_just_attributes(tmp_path):
    checkpoint = Checkpoint(v=tf.Variable(1.0))
    checkpoint.note = "hello"
    path = checkpoint.write(tmp_path / "ck")
    del checkpoint.v
    assert keys(path)[1:] == [f"v{VALUE}"]
    assert keys(checkpoint.write(tmp_path / "ck")) == [GRAPH_KEY]


# By names, and in graphs.


def test_a_checkpoint_of_a_saver_is_restored_by_names(tmp_path):
    path = Saver({"v": tf.Variable(1.0), "w": tf.Variable(2.0)}).save(None, tmp_path / "m")
    v, w = tf.Variable(0.0, name="v"), tf.Variable(0.0, name="w")
    status = Checkpoint(some=Plain(v=v), w=w).restore(path)
    assert isinstance(status, NameBasedSaverStatus)
    status.assert_consumed()
    status.run_restore_ops()
    status.initialize_or_restore()
    assert (v.numpy(), w.numpy()) == (1.0, 2.0)
    with pytest.raises(AssertionError, match="belong to no variable"):
        Checkpoint(v=v).restore(path).assert_consumed()
    with pytest.raises(AssertionError, match="not in the checkpoint"):
        Checkpoint(v=v, x=tf.Variable(0.0, name="x")).restore(path).assert_existing_objects_matched()


def test_variables_of_graphs_get_their_values_in_a_session(tmp_path):
    def build():
        net = Plain(v=tf1.Variable([1.0, 2.0], name="v"), w=tf1.Variable(3.0, name="w"))
        return net, CheckpointV1(net=net)

    with tf1.Graph().as_default(), tf1.Session() as sess:
        net, checkpoint = build()
        sess.run(tf1.global_variables_initializer())
        sess.run(net.v.assign([5.0, 6.0]))
        assert [checkpoint.save(tmp_path / "ck", session=sess) for _ in range(2)][1] == f"{tmp_path}/ck-2"
        assert checkpoint.save(tmp_path / "ck") == f"{tmp_path}/ck-3"  # the session is the default one
    with tf1.Graph().as_default():
        net, checkpoint = build()
        status = checkpoint.restore(f"{tmp_path}/ck-3")
        status.assert_consumed()
        with tf1.Session() as sess:
            status.run_restore_ops(sess)
            assert sess.run(net.v).tolist() == [5.0, 6.0]
            assert checkpoint.save(tmp_path / "ck", sess) == f"{tmp_path}/ck-4"
    with tf1.Graph().as_default(), tf1.Session() as sess:
        net, checkpoint = build()
        net.extra = tf1.Variable(9.0, name="extra")
        checkpoint.restore(f"{tmp_path}/ck-4").expect_partial().initialize_or_restore()
        assert sess.run([net.w, net.extra]) == [3.0, 9.0]


def test_variables_of_graphs_are_restored_by_names_too(tmp_path):
    path = Saver({"v": tf.Variable(1.0)}).save(None, tmp_path / "m")
    with tf1.Graph().as_default(), tf1.Session() as sess:
        v, w = tf1.Variable(0.0, name="v"), tf1.Variable(4.0, name="w")
        CheckpointV1(v=v, w=w).restore(path).initialize_or_restore(sess)
        assert sess.run([v, w]) == [1.0, 4.0]
        CheckpointV1(v=v, w=w).restore(None).initialize_or_restore(sess)
        assert sess.run([v, w]) == [0.0, 4.0]


def test_without_a_session_there_are_no_values(tmp_path):
    with tf1.Graph().as_default():
        checkpoint = CheckpointV1(v=tf1.Variable(1.0))
        with pytest.raises(TypeError, match="'sess' must be a Session"):
            checkpoint.save(tmp_path / "ck")


# Hostile graphs of objects.


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"{}",
        b'{"nodes":[]}',
        b'{"nodes":3}',
        b'{"nodes":[3]}',
        b'{"nodes":[{"children":{"a":7}}]}',
        b'{"nodes":[{"children":{"a":-1}}]}',
        b'{"nodes":[{"children":{"a":true}}]}',
        b'{"nodes":[{"children":[1]}]}',
        b'{"nodes":[{"key":3}]}',
        b'{"nodes":[{"full_name":3}]}',
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_a_graph_that_makes_no_sense_is_an_error(tmp_path, monkeypatch, text):
    monkeypatch.setattr("situs._src.checkpoints.checkpoint.to_text", lambda graph: text)
    path = Checkpoint(v=tf.Variable(1.0)).write(tmp_path / "ck")
    with pytest.raises(DataLossError, match=r"The object graph of .* is not what Situs writes"):
        Checkpoint(v=tf.Variable(1.0)).read(path)


def test_a_graph_that_names_no_value_is_an_error(tmp_path, monkeypatch):
    text = b'{"nodes":[{"children":{"v":1}},{"key":"other"}]}'
    monkeypatch.setattr("situs._src.checkpoints.checkpoint.to_text", lambda graph: text)
    path = Checkpoint(v=tf.Variable(1.0)).write(tmp_path / "ck")
    with pytest.raises(NotFoundError, match="Key other not found"):
        Checkpoint(v=tf.Variable(1.0)).read(path)


def test_a_graph_that_leads_round_and_round_is_followed_once(tmp_path, monkeypatch):
    text = b'{"nodes":[{"children":{"a":0,"v":1}},{"key":"v/.ATTRIBUTES/VARIABLE_VALUE"}]}'
    checkpoint = Checkpoint(v=tf.Variable(1.0))
    checkpoint.a = checkpoint
    monkeypatch.setattr("situs._src.checkpoints.checkpoint.to_text", lambda graph: text)
    path = checkpoint.write(tmp_path / "ck")
    checkpoint.read(path).assert_consumed()


def test_a_graph_that_is_no_string_is_an_error(tmp_path):
    path = Saver({GRAPH_KEY: tf.Variable([1.0])}).save(None, tmp_path / "m")
    with pytest.raises(DataLossError, match="is not what Situs writes"):
        Checkpoint(v=tf.Variable(1.0)).restore(path)
    with pytest.raises(DataLossError, match="is not what Situs writes"):
        Saver({"v": tf.Variable(1.0)}).restore(None, path)


def test_the_graph_of_objects_is_plain_json(tmp_path):
    path = Checkpoint(net=Plain(w=tf.Variable(1.0, name="ww"))).write(tmp_path / "ck")
    graph = json.loads(load_variable(path, GRAPH_KEY))
    assert graph["nodes"][2] == {"key": f"net/w{VALUE}", "full_name": "ww"}
    assert CheckpointReader(path).get_variable_to_dtype_map()[GRAPH_KEY] is tf.string


def test_a_root_that_is_a_variable_is_refused():
    with pytest.raises(InvalidArgumentError, match="A variable has no children: give it a name"):
        Checkpoint(tf.Variable(1.0))
    assert [key for key, _ in walk(tf.Variable(1.0)).variables] == [VALUE[1:]]


def test_a_value_of_another_dtype_is_refused_by_name_too(tmp_path):
    path = Saver([tf.Variable([1.0, 2.0], name="v", dtype=tf.float64)]).save(None, tmp_path / "m")
    variable = tf.Variable([0.0, 0.0], name="v")
    with pytest.raises(InvalidArgumentError, match="expected dtype float does not equal original dtype double"):
        Checkpoint(v=variable).read(path)
    assert variable.numpy().tolist() == [0.0, 0.0]


def test_private_slots_are_followed(tmp_path):
    class Hidden:
        __slots__ = ("__dict__", "__w", "__weakref__")

        def __init__(self):
            self.__w = tf.Variable(1.0)
            self.plain = tf.Variable(2.0)

    path = Checkpoint(h=Hidden()).write(tmp_path / "c")
    assert {name for name, _ in list_variables(path)} == {GRAPH_KEY, f"h/_Hidden__w{VALUE}", f"h/plain{VALUE}"}


@pytest.mark.parametrize("name", ["save_counter", "_base", "_counter"])
def test_names_that_a_checkpoint_has_itself_are_refused(name):
    with pytest.raises(InvalidArgumentError, match=f"has a {name} of its own"):
        Checkpoint(**{name: tf.Variable(1)})


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf1.train.AdamOptimizer(0.1),
        lambda: tf1.train.MomentumOptimizer(0.1, 0.9),
        lambda: tf1.train.AdagradOptimizer(0.1),
        lambda: tf1.train.RMSPropOptimizer(0.1, momentum=0.5, centered=True),
        lambda: tf1.train.FtrlOptimizer(0.1),
        lambda: tf1.train.AdadeltaOptimizer(0.1),
    ],
)
@pytest.mark.parametrize("traced", [False, True])
def test_slots_that_an_optimizer_makes_later_are_restored_then(make, traced, tmp_path):
    def program():
        w, optimizer = tf.Variable([1.0, 2.0], name="w"), make()
        step = lambda grad: optimizer.apply_gradients([(grad, w)])  # noqa: E731
        return w, Checkpoint(w=w, optimizer=optimizer), tf.function(step) if traced else step

    w, checkpoint, step = program()
    step(tf.constant([3.0, -1.0]))
    path = checkpoint.save(tmp_path / "ck")
    step(tf.constant([0.5, 2.0]))
    other, checkpoint, step = program()
    status = checkpoint.restore(path)
    step(tf.constant([0.5, 2.0]))
    assert other.numpy().tolist() == w.numpy().tolist()
    status.assert_consumed()
