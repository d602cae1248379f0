"""The frontend of TensorFlow 1's dialect, in programs whose ops run at once."""

from __future__ import annotations

from typing import Any

import pytest

import situs.compat.v1 as tf

SCOPES = """
with v1.name_scope("a") as outer, v1.name_scope(None, "b") as inner, v1.name_scope(outer) as again:
    print(outer, inner, again)
with v1.name_scope(None) as nothing:
    print(repr(nothing))
"""


@pytest.mark.parametrize(
    "opening",
    ["import situs as tf\nv1 = tf.compat.v1", "import situs.compat.v1 as v1\nv1.enable_eager_execution()"],
)
def test_name_scopes_nest_in_eager_code_as_they_do_through_the_eager_door(run_python: Any, opening: str) -> None:
    assert run_python(f"{opening}\n{SCOPES}").split() == ["a/", "a/b/", "a/", "''"]


def test_what_was_said_of_control_flow():
    assert tf.control_flow_v2_enabled()
    tf.disable_control_flow_v2()
    assert not tf.control_flow_v2_enabled()
    tf.enable_control_flow_v2()
    assert tf.control_flow_v2_enabled()


def test_older_scopes():
    with tf.Graph().as_default(), tf.container("a"), tf.op_scope([tf.constant(1)], None, "add") as scope:
        assert scope == "add/"
        assert tf.constant(2).op.name == "add/Const"
