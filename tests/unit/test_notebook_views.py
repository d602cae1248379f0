"""What values show in a notebook: tables and pictures, with all that comes from programs escaped."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1
from situs._src.base import html

HOSTILE = "<script>alert(1)</script>"


class Cells(HTMLParser):
    """The cells of tables, the captions, and the names of all tags."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.captions: list[str] = []
        self.tags: set[str] = set()
        self._into: list[str] | None = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self._into = {"td": self.cells, "th": self.cells, "caption": self.captions}.get(tag)
        if self._into is not None:
            self._into.append("")

    def handle_endtag(self, tag):
        self._into = None

    def handle_data(self, data):
        if self._into is not None:
            self._into[-1] += data


def read(value) -> Cells:
    return Cells(value._repr_html_())


def test_a_small_tensor_is_a_table_of_its_values():
    with tf.device("/gpu:1"):
        found = read(tf.constant([[1.5, 2.0], [3.0, -4.0]]))
    assert found.cells == ["1.5", "2.0", "3.0", "-4.0"]
    assert found.captions == ["tf.Tensor of shape (2, 2), float32, on GPU:1"]


@pytest.mark.parametrize(
    ("value", "cells"),
    [
        (7, ["7"]),
        ([True, False], ["True", "False"]),
        (np.array([1 + 2j]), ["(1+2j)"]),
        ([b"a", b"b"], ["b'a'", "b'b'"]),
    ],
)
def test_scalars_vectors_and_strings_are_tables_too(value, cells):
    assert read(tf.constant(value)).cells == cells


@pytest.mark.parametrize("shape", [[2, 2, 2], [1000], [0, 3], [21, 2]])
def test_a_large_or_deep_tensor_is_numpys_text(shape):
    found = read(tf.zeros(shape))
    assert found.cells == []
    assert "pre" in found.tags
    assert str(tuple(shape)).rstrip(",)") in found.captions[0]


def test_a_variable_shows_its_name():
    assert read(tf.Variable([1.0, 2.0], name="w")).captions[0].startswith("tf.Variable w:0 of shape (2,)")


def test_values_are_escaped():
    shown = tf.constant(HOSTILE)._repr_html_()
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown
    assert "script" not in read(tf.Variable(1.0, name="w<script>")).tags


def test_devices_are_tables():
    assert read(tf.config.list_logical_devices("GPU")[0]).cells[2:] == ["/device:GPU:0", "GPU"]
    assert read(tf.config.list_physical_devices("CPU")[0]).cells[2:] == ["/physical_device:CPU:0", "CPU"]


def test_an_explanation_is_the_table_that_it_prints():
    with tf.device("/cpu:0"):
        found = read(tf.explain(tf.add(1, 2)))
    assert found.cells[:4] == ["op", "times", "device", "why"]
    assert found.cells[4:6] == ["AddV2", "1"]
    assert found.cells[-1] == "requested: /device:CPU:0"


def test_a_table_as_text_is_text_in_a_notebook_too(monkeypatch):
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)  # where rich displays what it is told to print
    tf.add(1.0, 2.0)
    assert "AddV2" in str(tf.explain())
    assert "current" in str(tf.memory.snapshot())


def test_a_placement_of_a_graph_escapes_the_names_of_nodes():
    graph = v1.Graph()
    with graph.as_default():
        v1.constant(1.0, name="a") + 1.0
        session = v1.Session()
        found = read(session.placement())
    assert {"node", "a", "add"} <= set(found.cells)


def test_a_plan_shows_devices_and_its_summary():
    problem = tf.placement.Problem(
        devices=(tf.placement.Device("GPU:0", None), tf.placement.Device(HOSTILE, None)),
        nodes=(tf.placement.Node("x", (1.0, 2.0)),),
        tensors=(),
        links=tuple(tf.placement.Link(*ends) for ends in ((0, 1), (1, 0))),
    )
    found = read(tf.placement.search(problem, budget=0.1))
    assert "GPU:0" in found.cells
    assert "script" not in found.tags


def test_memory_shows_a_picture_and_tables():
    with tf.device("/gpu:0"):
        kept = tf.ones([256, 256])
    found = read(tf.memory.snapshot())
    assert {"img", "table"} <= found.tags
    assert "GPU:0" in found.cells
    assert kept.shape == (256, 256)


def test_a_recording_shows_itself_also_when_there_is_nothing():
    assert "pre" in read(tf.memory.Recording()).tags  # which nobody started
    with tf.memory.record() as recording, tf.device("/gpu:0"):
        tf.ones([1024, 64]).numpy()
    assert {"img", "table"} <= read(recording).tags


def test_a_memory_plan_shows_tables():
    graph = v1.Graph()
    with graph.as_default(), v1.device("/gpu:0"):
        y = v1.matmul(v1.ones([64, 64]), v1.ones([64, 64]))
    assert "GPU:0" in read(tf.memory.plan(y, session=v1.Session(graph=graph))).cells


def test_a_picture_is_an_image_with_nothing_that_runs():
    shown = html.picture(f"<svg>{HOSTILE}</svg>", HOSTILE)
    assert re.fullmatch(r'<img alt="[^"<>]*" style="[^"]*" src="data:image/svg\+xml;base64,[A-Za-z0-9+/=]+">', shown)


def test_characters_that_no_document_may_hold_are_replaced():
    assert html.escaped("a\x00b") == "a�b"


def test_a_very_long_text_is_cut():
    (cell,) = read(tf.constant("<" * 5_000)).cells
    assert len(cell) < 1_100
    assert cell.startswith("b'<<<")
    assert cell.endswith("characters)")
