"""``tf.Module`` finds its variables and parts, has a name scope, and is saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import situs as tf
from situs._src.checkpoints.modules import Module, snake_case


class Leaf(Module):
    def __init__(self, name: str | None = None) -> None:
        super().__init__(name)
        self.w = tf.Variable([1.0, 2.0], name="w")
        self.count = tf.Variable(0, trainable=False, name="count")

    def __call__(self, x: Any) -> Any:
        return self.w * x


class Tree(Module):
    def __init__(self) -> None:
        super().__init__(name="tree")
        self.z = tf.Variable(3.0)
        self.leaves = [Leaf("first"), Leaf("second")]
        self.table = {"b": Leaf(), "a": tf.Variable(4.0)}
        self.again = self.leaves[0]


def test_variables_are_found_by_attribute_then_in_parts() -> None:
    tree = Tree()
    parts = [tree.leaves[0], tree.leaves[1], tree.table["b"]]
    wanted = [tree.table["a"], tree.z, *(v for part in parts for v in (part.count, part.w))]
    assert [id(variable) for variable in tree.variables] == [id(variable) for variable in wanted]
    assert len(tree.trainable_variables) == 5
    assert len(tree.non_trainable_variables) == 3
    assert isinstance(tree.variables, tuple)


def test_submodules_are_found_once_each() -> None:
    tree = Tree()
    assert [id(part) for part in tree.submodules] == [
        id(tree.leaves[0]), id(tree.leaves[1]), id(tree.table["b"])
    ]  # fmt: skip
    assert [path for path, _ in tree._flatten(predicate=lambda v: isinstance(v, Module), with_path=True)] == [
        ("again",), ("leaves", 1), ("table", "b")
    ]  # fmt: skip


def test_a_module_that_leads_to_itself_comes_to_an_end() -> None:
    tree = Tree()
    tree.leaves[0].up = tree
    assert len(tree.variables) == 8


@pytest.mark.parametrize("wrap", [lambda inner: [inner], lambda inner: {"inner": inner}])
def test_an_attribute_that_contains_itself_is_refused(wrap: Any) -> None:
    tree = Tree()
    tree.loop = {}
    tree.loop["again"] = wrap(tree.loop)
    with pytest.raises(ValueError, match="contains itself"):
        assert tree.variables


@pytest.mark.parametrize(("given", "wanted"), [("Dense", "dense"), ("MyModule", "my_module"), ("HTTPNet", "http_net")])
def test_names_of_classes(given: str, wanted: str) -> None:
    assert snake_case(given) == wanted


@pytest.mark.parametrize("name", ["two words", "", "1st", "a/b", 3])
def test_names_are_identifiers(name: Any) -> None:
    with pytest.raises(ValueError, match="not a valid module name"):
        Leaf(name)


def test_the_name_needs_the_constructor() -> None:
    class Forgot(Module):
        def __init__(self) -> None:
            self.v = tf.Variable(1.0)

    assert len(Forgot().variables) == 1
    with pytest.raises(RuntimeError, match="super"):
        _ = Forgot().name


def test_operations_are_in_the_name_scope() -> None:
    class Scoped(Module):
        @Module.with_name_scope
        def __call__(self, x: Any) -> Any:
            return tf.add(x, 1.0)

    module = Scoped(name="part")
    graph = tf.function(lambda x: module(x)).get_concrete_function(tf.TensorSpec([])).graph
    assert "part/Add" in {operation.name for operation in graph.get_operations()}


def test_gradients_reach_the_variables() -> None:
    tree = Tree()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tree.leaves[0](3.0)) * tree.z
    gradients = tape.gradient(loss, tree.trainable_variables)
    assert sum(gradient is not None for gradient in gradients) == 2


def test_variables_are_saved_and_restored(tmp_path: Path) -> None:
    tree = Tree()
    tree.leaves[1].w.assign([5.0, 6.0])
    path = tf.train.Checkpoint(tree=tree).save(tmp_path / "ckpt")
    other = Tree()
    tf.train.Checkpoint(tree=other).restore(path).assert_consumed()
    assert other.leaves[1].w.numpy().tolist() == [5.0, 6.0]
