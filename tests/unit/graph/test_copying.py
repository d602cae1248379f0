"""Copies of operations within a graph: inputs, names, devices, and the graphs that operations hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import situs as tf
from situs._src.base.errors import ArgumentError
from situs._src.ir.graph.copying import Copier, originals
from situs._src.ir.graph.function import graphs_of

GPU = "/job:localhost/replica:0/task:0/device:GPU:{}"


def copier(graph: Any, stands: Any = None) -> Copier:
    """Copies to the second GPU, under the name ``copy``, with other tensors in the place of some."""
    given = dict(stands or [])
    return Copier(
        graph, lambda tensor: given.get(tensor, tensor), lambda name: f"copy/{name}", {GPU.format(0): GPU.format(1)}
    )


def test_a_copy_has_other_inputs_names_and_devices() -> None:
    found: list[Any] = []

    @tf.function
    def function(x: Any, y: Any) -> Any:
        graph = x.graph
        before = graph.version
        with tf.device(GPU.format(0)):
            a = x * 2.0
        with tf.device("/cpu:0"), tf.control_dependencies([a]):
            b = tf.negative(x, name="b")
        made = copier(graph, [(x, y)])
        copies = made.copy(originals(graph.operations_since(before)))
        graph.verify()
        found.extend(copies)
        return a + b, made.tensor(a) + made.tensor(b)

    one, other = function(tf.constant(3.0), tf.constant(5.0))
    assert (float(one), float(other)) == (3.0, 5.0)
    by_name = {node.name: node for node in found}
    assert by_name["copy/mul"].device == GPU.format(1)
    assert by_name["copy/b"].device == "/device:CPU:0"
    assert by_name["copy/b"].control_inputs == [by_name["copy/mul"]]


def test_the_graphs_of_an_operation_are_copied_with_it() -> None:
    @tf.function
    def function(x: Any, y: Any) -> Any:
        graph = x.graph
        before = graph.version
        with tf.device(GPU.format(0)):
            z = tf.cond(x > 0.0, lambda: x * 2.0, lambda: x - 1.0)
            _, z = tf.while_loop(lambda i, z: i < 2, lambda i, z: (i + 1, z * x), [0, z])
        made = copier(graph, [(x, y)])
        copies = made.copy(originals(graph.operations_since(before)))
        graph.verify()
        inner = [held for node in copies for _, held in graphs_of(node)]
        assert all(held.outer is graph for held in inner)
        assert {node.device for held in inner for node in held.operations} <= {GPU.format(1), ""}
        assert not made.changed()
        return z, made.tensor(z)

    one, other = function(tf.constant(3.0), tf.constant(-2.0))
    np.testing.assert_allclose([one, other], [6.0 * 9.0, -3.0 * 4.0])


def test_what_becomes_more_after_it_was_copied_is_told() -> None:
    @tf.function
    def function(x: Any) -> Any:
        graph = x.graph
        before = graph.version
        with tf.GradientTape() as tape:
            tape.watch(x)
            _, z = tf.while_loop(lambda i, z: i < 2, lambda i, z: (i + 1, tf.sin(z)), [0, x])
        made = copier(graph)
        made.copy(originals(graph.operations_since(before)))
        assert not made.changed()
        gradient = tape.gradient(z, x)
        assert [node.type for node in made.changed()] == ["While"]
        return gradient

    function(tf.constant(1.0))


def test_two_operations_of_one_name_are_refused() -> None:
    @tf.function
    def function(x: Any) -> Any:
        graph = x.graph
        before = graph.version
        y = x * 2.0
        again = originals(graph.operations_since(before))
        copier(graph).copy(again)
        with pytest.raises(ArgumentError, match="Duplicate node name"):
            copier(graph).copy(again)
        return y

    function(tf.constant(1.0))
