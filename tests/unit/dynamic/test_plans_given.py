"""Plans that are saved, read, edited and used again; and refused where they do not fit."""

from __future__ import annotations

import json

import numpy as np
import pytest

import situs as tf2
import situs.compat.v1 as tf
from situs._src.placement import dynamic
from situs.errors import InvalidArgumentError, NotFoundError


@pytest.fixture(autouse=True)
def _few_moves(monkeypatch):
    monkeypatch.setattr(dynamic, "moves_for", lambda problem: 200)


def build():
    x = tf.placeholder(tf.float32, [4, 8], name="x")
    w = tf.Variable(np.ones((8, 8), "f"), name="w")
    y = tf.matmul(x, w, name="y")
    return x, tf.tanh(y, name="z")


def ran(placer):
    tf2.config.set_placer(placer)
    with tf.Graph().as_default():
        x, z = build()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            value = session.run(z, {x: np.ones((4, 8), "f")})
            return value, session.placement(), tf2.explain(session).plan


def test_a_plan_is_saved_edited_and_followed(tmp_path):
    expected, _, plan = ran("dynamic")
    path = tmp_path / "plan.json"
    plan.save(path)
    data = json.loads(path.read_text())
    data["placement"]["y"] = "GPU:2"
    data["placement"]["z"] = "CPU:0"
    path.write_text(json.dumps(data))
    value, placed, followed = ran(path)
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    assert placed["y"].device.short_name == "GPU:2"
    assert placed["z"].device.short_name == "CPU:0"
    assert placed["y"].reason == "dynamic: as the plan that was given says"
    assert followed.forecast.value > 0
    assert followed.forecast.traffic["GPU:2", "CPU:0"] > 0
    assert tf2.config.get_placer() == "plan"


def test_a_plan_itself_can_be_given():
    _, placed, plan = ran("dynamic")
    _, again, _ = ran(plan)
    assert [placed[n].device.name for n in ("w", "y", "z")] == [again[n].device.name for n in ("w", "y", "z")]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"nobody": "GPU:0"}, "of another graph"),
        ({"y": "GPU:9"}, "names a device 'GPU:9'; there are"),
        ({"y": "somewhere"}, "names a device 'somewhere'"),
        ({"w": "GPU:0", "w/Assign": "GPU:1"}, "must be together"),
    ],
)
def test_a_plan_that_does_not_fit_is_refused_in_words(tmp_path, changes, text):
    plan = ran("dynamic")[2]
    path = tmp_path / "plan.json"
    plan.save(path)
    data = json.loads(path.read_text())
    data["placement"].update(changes)
    path.write_text(json.dumps(data))
    with pytest.raises(InvalidArgumentError, match=text):
        ran(path)


def test_a_device_that_has_no_kernel_is_refused(tmp_path):
    tf2.config.set_placer("dynamic")
    with tf.Graph().as_default():
        joined = tf.strings.join([tf.placeholder(tf.string, name="s"), "0"], name="joined")
        total = tf.reduce_sum(tf.ones([8, 8]) * tf.strings.to_number(joined), name="total")
        with tf.Session() as session:
            session.run(total, {"s:0": b"1"})
            plan = tf2.explain(session).plan
        path = tmp_path / "plan.json"
        plan.save(path)
        data = json.loads(path.read_text())
        data["placement"]["joined"] = "GPU:1"
        path.write_text(json.dumps(data))
        tf2.config.set_placer(path)
        with tf.Session() as session, pytest.raises(InvalidArgumentError, match=r"do not allow: it can be on CPU:0"):
            session.run(total, {"s:0": b"1"})


def test_files_that_are_no_plans_are_refused(tmp_path):
    with pytest.raises(NotFoundError, match="There is no plan"):
        tf2.config.set_placer(tmp_path / "none.json")
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(InvalidArgumentError, match="format"):
        tf2.config.set_placer(tmp_path / "other.json")
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(InvalidArgumentError, match="not JSON"):
        tf2.config.set_placer(str(tmp_path / "broken.json"))
