"""Objects that say by name what is saved of them: TensorFlow's ``Trackable`` and ``AutoTrackable``."""

from __future__ import annotations

from collections import defaultdict

import pytest

import situs as tf
from situs._src.base.tensor import TensorLike
from situs._src.checkpoints.tracking import (
    AutoTrackable,
    DictWrapper,
    ListWrapper,
    Trackable,
    no_automatic_dependency_tracking,
)


class Weight(TensorLike, Trackable):
    """Stands for a variable, as a variable of Keras does."""

    def __init__(self, value):
        self._value = tf.Variable(value)

    @property
    def handle(self):
        return self._value.handle

    def __tf_tensor__(self, dtype=None, name=None):
        return tf.convert_to_tensor(self._value, dtype)


class Layer(AutoTrackable):
    def __init__(self, value=None):
        self.rate = 0.5
        if value is not None:
            self.build(value)

    def build(self, value):
        self.kernel = Weight(value)
        self.step = tf.Variable(value + 1)

    @no_automatic_dependency_tracking
    def remember(self, variable):
        self.other = variable


def keys(path):
    names = [name for name, _ in tf.train.list_variables(path)]
    return [name.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE") for name in names if "VARIABLE_VALUE" in name]


def test_what_is_saved(tmp_path):
    root = Layer(1.0)
    root.blocks = [Layer(2.0), object(), Layer(3.0)]
    root.named = {"a": (Layer(4.0),)}
    root.table = defaultdict(list, {0: [Layer(5.0)]})
    root.remember(tf.Variable(6.0))
    root.kept = root._no_dependency(tf.Variable(7.0))
    assert float(root.kept) == 7.0
    path = tf.train.Checkpoint(net=root).write(tmp_path / "ckpt")
    assert keys(path) == sorted(
        f"net/{name}"
        for where in ("", "blocks/0/", "blocks/2/", "named/a/0/")
        for name in (f"{where}kernel", f"{where}step")
    )


def test_saved_and_restored(tmp_path):
    saved = Layer(1.0)
    saved.blocks = [Layer(2.0)]
    path = tf.train.Checkpoint(saved).write(tmp_path / "ckpt")
    restored = Layer(0.0)
    restored.blocks = [Layer(0.0)]
    tf.train.Checkpoint(restored).read(path).assert_consumed()
    assert float(tf.convert_to_tensor(restored.kernel)) == 1.0
    assert float(restored.step) == 2.0
    assert float(restored.blocks[0].step) == 3.0


def test_what_is_made_later_is_restored_then(tmp_path):
    path = tf.train.Checkpoint(net=Layer(5.0)).write(tmp_path / "ckpt")
    later = Layer()
    status = tf.train.Checkpoint(net=later).read(path)
    later.build(0.0)
    assert float(tf.convert_to_tensor(later.kernel)) == 5.0
    assert float(later.step) == 6.0
    status.assert_consumed()


def test_a_class_may_say_what_its_children_are(tmp_path):
    class Own(Trackable):
        def __init__(self, value):
            self.hidden = tf.Variable(value)

        def _trackable_children(self, save_type="checkpoint", **kwargs):
            return {"shown": self.hidden, **super()._trackable_children(save_type, **kwargs)}

    path = tf.train.Checkpoint(x=Own(3.0)).write(tmp_path / "ckpt")
    assert keys(path) == ["x/shown"]
    other = Own(0.0)
    tf.train.Checkpoint(x=other).read(path).assert_consumed()
    assert float(other.hidden) == 3.0


def test_a_stand_in_by_itself(tmp_path):
    path = tf.train.Checkpoint(w=Weight(2.0)).write(tmp_path / "ckpt")
    assert keys(path) == ["w"]
    other = Weight(0.0)
    tf.train.Checkpoint(w=other).read(path).assert_consumed()
    assert float(tf.convert_to_tensor(other)) == 2.0


def test_children_change_with_attributes():
    layer = Layer(1.0)
    assert list(layer._trackable_children()) == ["kernel", "step"]
    assert layer._lookup_dependency("step") is layer.step
    assert layer._lookup_dependency("rate") is None
    layer.kernel = None
    del layer.step
    assert layer._trackable_children() == {}


def test_tracking_by_hand():
    parent, child = Trackable(), Trackable()
    assert parent._track_trackable(child, "child") is child
    parent._track_trackable(child, "child")
    with pytest.raises(ValueError, match="already declared"):
        parent._track_trackable(Trackable(), "child")
    parent._track_trackable(Trackable(), "child", overwrite=True)
    with pytest.raises(TypeError, match="can only be used to track trackable"):
        parent._track_trackable(3, "number")


def test_tracking_comes_back_after_an_error():
    class Failing(AutoTrackable):
        @no_automatic_dependency_tracking
        def fail(self):
            raise RuntimeError

    made = Failing()
    with pytest.raises(RuntimeError):
        made.fail()
    made.v = tf.Variable(1.0)
    assert list(made._trackable_children()) == ["v"]


def test_wrapped_lists_and_dictionaries(tmp_path):
    root = AutoTrackable()
    root.items = ListWrapper([tf.Variable(1.0), tf.Variable(2.0)])
    root.named = DictWrapper({"a": tf.Variable(3.0)})
    assert keys(tf.train.Checkpoint(root).write(tmp_path / "ckpt")) == ["items/0", "items/1", "named/a"]
