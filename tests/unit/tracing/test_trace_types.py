"""Arguments that say themselves what they count as, and what functions say of themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import situs as tf


class ByClass(tf.types.experimental.TraceType):
    """Objects of one class are alike."""

    def __init__(self, value: object) -> None:
        self.value = value

    def is_subtype_of(self, other: object) -> bool:
        return self == other

    def most_specific_common_supertype(self, others: Sequence[Any]) -> ByClass | None:
        return self if all(self == other for other in others) else None

    def placeholder_value(self, placeholder_context: Any = None) -> object:
        return self.value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByClass) and type(self.value) is type(other.value)

    def __hash__(self) -> int:
        return hash(type(self.value))


class Fruit:
    weight = 0.0

    def __tf_tracing_type__(self, context: Any) -> ByClass:
        return ByClass(self)


class Apple(Fruit):
    weight = 1.0


class Melon(Fruit):
    weight = 5.0


def test_objects_that_count_as_equal_share_a_graph() -> None:
    traces = []

    @tf.function
    def weigh(fruit: Fruit, factor: tf.Tensor) -> tf.Tensor:
        traces.append(type(fruit))
        return fruit.weight * factor

    two = tf.constant(2.0)
    assert [float(weigh(each, two)) for each in (Apple(), Apple(), Melon(), Melon())] == [2.0, 2.0, 10.0, 10.0]
    assert traces == [Apple, Melon]
    assert float(weigh.get_concrete_function(Apple(), two)(Apple(), two)) == 2.0
    assert traces == [Apple, Melon]
    assert isinstance(Apple(), tf.types.experimental.SupportsTracingProtocol)


@tf.function
def scaled(a: tf.Tensor, b: int = 2) -> tf.Tensor:
    return a * b


def test_what_a_function_takes_and_gives() -> None:
    made = scaled.get_concrete_function(tf.TensorSpec([], tf.float32))
    kind = made.function_type
    assert str(kind) == (
        "(a: TensorSpec(shape=(), dtype=tf.float32, name=None), b: Literal[2]) -> "
        "TensorSpec(shape=(), dtype=tf.float32, name=None)"
    )
    assert repr(kind).splitlines()[:3] == [
        "Input Parameters:",
        "  a (POSITIONAL_OR_KEYWORD): TensorSpec(shape=(), dtype=tf.float32, name=None)",
        "  b (POSITIONAL_OR_KEYWORD): Literal[2]",
    ]
    assert isinstance(kind, tf.types.experimental.FunctionType)
    atomic = made.inference_fn
    assert isinstance(atomic, tf.types.experimental.AtomicFunction)
    assert repr(atomic) == f"<AtomicFunction> {made.name}{kind}"
    assert float(atomic(tf.constant(3.0))) == 6.0


def test_a_function_is_made_for_specs_of_composites() -> None:
    class Pastry(tf.experimental.ExtensionType):
        sweetness: tf.Tensor
        chewiness: tf.Tensor

    taste = tf.function(lambda x: (x.sweetness + x.chewiness) / 2)
    spec = Pastry.Spec(tf.TensorSpec([], tf.float32), tf.TensorSpec([], tf.float32))
    made = taste.get_concrete_function(spec)
    assert float(made(Pastry(tf.constant(1.0), tf.constant(4.0)))) == 2.5


def test_what_leaks_is_said_to_be_out_of_scope() -> None:
    kept: list[tf.Tensor] = []
    tf.function(lambda x: kept.append(x + 1))(tf.constant(1))
    with pytest.raises(TypeError, match="out of scope"):
        tf.function(lambda x: x + kept[0])(tf.constant(1))


def test_tensors_of_graphs_are_told_from_others(capsys: pytest.CaptureFixture[str]) -> None:
    found = []

    @tf.function
    def look(x: tf.Tensor) -> tf.Tensor:
        found.append(tf.is_symbolic_tensor(x))
        tf.autograph.trace("made for", x.shape)
        return x

    tf.autograph.set_verbosity(3, True)
    look(tf.constant(1.0))
    look(tf.constant(2.0))
    assert found == [True]
    assert capsys.readouterr().out == "made for ()\n"
    assert not tf.is_symbolic_tensor(tf.constant(1.0))
    assert not tf.is_symbolic_tensor(3)
