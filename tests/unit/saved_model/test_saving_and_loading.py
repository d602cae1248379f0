"""Objects with functions and variables, saved and loaded."""

from __future__ import annotations

import collections
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import situs as tf
from situs._src.base.errors import SitusError

Pair = collections.namedtuple("Pair", ["first", "second"])


class Block(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="w")
        self.b = tf.Variable([1.0, 1.0], name="w", trainable=False)


class Net(tf.Module):
    def __init__(self) -> None:
        super().__init__()
        self.block = Block()
        self.parts = [tf.Variable(1.0), {"x": tf.Variable(2, name="i")}, (tf.Variable(["a", "b"]),)]
        self.calls = tf.Variable(0)
        self.number = 3

    @tf.function
    def f(self, x: Any, scale: float = 2.0, *, training: bool = False) -> Any:
        self.calls.assign_add(1)
        if training:
            return x
        if tf.reduce_sum(x) > 0:
            return {"y": x @ self.block.w * scale, "n": [x, Pair(x, x + 1)]}
        return {"y": x @ self.block.w, "n": [x, Pair(x, x)]}

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def __call__(self, x: Any) -> Any:
        for _ in tf.range(3):
            x = x @ self.block.w + self.block.b
        return x

    @tf.function
    def never_called(self) -> Any:
        return tf.constant(1)


X = [[1.0, 2.0]]


@pytest.fixture
def net() -> Net:
    net = Net()
    net.f(tf.constant(X))
    net.f(tf.constant(X), training=True)
    net.f(tf.ones([3, 2]), scale=3.0)
    return net


def test_what_is_loaded_computes_the_same(net: Net, tmp_path: Path) -> None:
    tf.saved_model.save(net, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    x = tf.constant(X)
    np.testing.assert_array_equal(loaded(x), [[226.0, 329.0]])
    given = loaded.f(x)
    np.testing.assert_array_equal(given["y"], [[14.0, 20.0]])
    assert type(given["n"][1]).__name__ == "Pair"
    assert given["n"][1]._fields == ("first", "second")
    np.testing.assert_array_equal(loaded.f(x, training=True), X)
    np.testing.assert_array_equal(loaded.f(tf.ones([3, 2]), scale=3.0)["y"], [[12.0, 18.0]] * 3)
    np.testing.assert_array_equal(loaded.f(X)["y"], [[14.0, 20.0]])  # a list becomes a tensor


def test_assignments_in_functions_change_the_loaded_variables(net: Net, tmp_path: Path) -> None:
    tf.saved_model.save(net, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    before = int(loaded.calls)
    loaded.f(tf.constant(X))
    assert (int(loaded.calls), int(net.calls)) == (before + 1, before)
    loaded.block.w.assign(tf.zeros([2, 2]))
    np.testing.assert_array_equal(loaded(tf.constant(X)), [[1.0, 1.0]])


def test_attributes_and_variables(net: Net, tmp_path: Path) -> None:
    tf.saved_model.save(net, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    assert loaded.parts[1]["x"].numpy() == 2
    assert loaded.parts[2][0].numpy().tolist() == [b"a", b"b"]
    assert isinstance(loaded.parts[2], tuple)
    assert not hasattr(loaded, "number")
    assert len(loaded.variables) == 6
    assert len(loaded.trainable_variables) == 5
    assert not loaded.block.b.trainable
    assert callable(loaded)
    assert not callable(loaded.block)


def test_gradients_go_through_loaded_functions(net: Net, tmp_path: Path) -> None:
    tf.saved_model.save(net, tmp_path)
    loaded = tf.saved_model.load(tmp_path)

    def gradient(model: Any) -> Any:
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(model(tf.constant(X)))
        return tape.gradient(total, model.block.w).numpy()

    np.testing.assert_array_equal(gradient(loaded), gradient(net))
    np.testing.assert_array_equal(gradient(loaded), [[83.0, 135.0], [128.0, 212.0]])


def test_loaded_functions_are_called_in_functions(net: Net, tmp_path: Path) -> None:
    tf.saved_model.save(net, tmp_path)
    loaded = tf.saved_model.load(tmp_path)

    @tf.function
    def around(x: Any) -> Any:
        if tf.reduce_sum(x) > 100:
            return x
        return loaded(x) + loaded.f(x)["y"]

    np.testing.assert_array_equal(around(tf.constant(X)), [[240.0, 349.0]])


def test_what_was_loaded_can_be_saved_again(net: Net, tmp_path: Path) -> None:
    tf.saved_model.save(net, tmp_path / "a")
    first = tf.saved_model.load(tmp_path / "a")
    tf.saved_model.save(first, tmp_path / "b")
    again = tf.saved_model.load(tmp_path / "b")
    np.testing.assert_array_equal(again(tf.constant(X)), [[226.0, 329.0]])
    assert list(again.signatures) == ["serving_default"]


def test_a_checkpoint_reads_the_variables(net: Net, tmp_path: Path) -> None:
    tf.saved_model.save(net, tmp_path)
    net.block.w.assign(tf.zeros([2, 2]))
    tf.train.Checkpoint(net).restore(str(tmp_path / "variables" / "variables")).assert_existing_objects_matched()
    np.testing.assert_array_equal(net.block.w, [[1.0, 2.0], [3.0, 4.0]])


def test_functions_without_a_graph_for_the_arguments(net: Net, tmp_path: Path) -> None:
    tf.saved_model.save(net, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    with pytest.raises(ValueError, match=r"Could not find matching concrete function(.|\n)*3 option"):
        loaded.f(tf.ones([4, 4]))
    with pytest.raises(ValueError, match="Could not find matching"):
        loaded.f(tf.constant(X), scale=9.0)
    with pytest.raises(ValueError, match="zero restored functions for caller function never_called"):
        loaded.never_called()


def test_concrete_functions_of_loaded_ones(net: Net, tmp_path: Path) -> None:
    tf.saved_model.save(net, tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    assert len(loaded.f.concrete_functions) == 3
    concrete = loaded.f.get_concrete_function(tf.TensorSpec([1, 2], tf.float32))
    np.testing.assert_array_equal(concrete(tf.constant(X))["y"], [[14.0, 20.0]])
    assert [variable.name for variable in loaded.__call__.get_concrete_function().variables] == ["w:0", "w:0"]
    assert isinstance(loaded.f, tf.types.experimental.GenericFunction)


# Signatures.


def test_the_only_function_with_an_input_signature_is_the_default(net: Net, tmp_path: Path) -> None:
    tf.saved_model.save(net, tmp_path)
    signature = tf.saved_model.load(tmp_path).signatures["serving_default"]
    np.testing.assert_array_equal(signature(x=tf.constant(X))["output_0"], [[226.0, 329.0]])
    np.testing.assert_array_equal(signature(tf.constant(X))["output_0"], [[226.0, 329.0]])
    assert signature.structured_outputs["output_0"].shape.as_list() == [None, 2]


def test_loaded_signatures_say_what_they_take_and_return_by_name(tmp_path: Path) -> None:
    module = tf.Module()
    module.one = tf.function(
        lambda x: {"sum": tf.reduce_sum(x), "double": x * 2.0},
        input_signature=[tf.TensorSpec([None, 2], tf.float32, name="images")],
    )
    module.two = tf.function(
        lambda a, b: (a, b), input_signature=[tf.TensorSpec([], tf.float32), tf.TensorSpec([3], tf.int32)]
    )
    tf.saved_model.save(module, tmp_path / "1", signatures={"one": module.one, "two": module.two})
    loaded = tf.saved_model.load(tmp_path / "1")
    tf.saved_model.save(loaded, tmp_path / "2", signatures=dict(loaded.signatures))
    for each in (loaded, tf.saved_model.load(tmp_path / "2")):
        one, two = each.signatures["one"], each.signatures["two"]
        assert one.structured_input_signature == ((), {"images": tf.TensorSpec([None, 2], tf.float32, "images")})
        assert one.structured_outputs == {
            "sum": tf.TensorSpec([], tf.float32, "sum"),
            "double": tf.TensorSpec([None, 2], tf.float32, "double"),
        }
        assert list(two.structured_input_signature[1]) == ["a", "b"]
        assert sorted(two.structured_outputs) == ["output_0", "output_1"]
        name = next(iter(one.structured_input_signature[1]))
        assert float(one(**{name: tf.ones([3, 2])})["sum"]) == float(one(tf.ones([3, 2]))["sum"]) == 6.0


def test_signatures_by_name_keep_their_order_and_their_names(tmp_path: Path) -> None:
    module = tf.Module()
    module.v = tf.Variable(2.0)

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32, name="left"), tf.TensorSpec([], tf.float32)])
    def both(a: Any, b: Any) -> Any:
        return {"sum": a + b, "product": a * b * module.v}

    many = tf.function(lambda x: [x + float(n) for n in range(12)])
    concrete = many.get_concrete_function(tf.TensorSpec([], tf.float32))
    tf.saved_model.save(module, tmp_path, {"z": both, "a": concrete})
    loaded = tf.saved_model.load(tmp_path)
    assert list(loaded.signatures) == ["z", "a"]
    given = loaded.signatures["z"](left=tf.constant(3.0), b=tf.constant(4.0))
    assert {name: float(value) for name, value in given.items()} == {"sum": 7.0, "product": 24.0}
    numbers = loaded.signatures["a"](tf.constant(0.0))
    assert {name: float(value) for name, value in numbers.items()} == {f"output_{n}": float(n) for n in range(12)}


@pytest.mark.parametrize("given", [3, {"a": 3}, {3: None}, {"a": tf.function(lambda x: x)}])
def test_what_is_no_signature(given: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="signature"):
        tf.saved_model.save(tf.Module(), tmp_path, given)


def test_a_signature_returns_tensors_by_strings(tmp_path: Path) -> None:
    wrong = tf.function(lambda x: {1: x}).get_concrete_function(tf.TensorSpec([], tf.float32))
    with pytest.raises(ValueError, match="dictionary of tensors by name"):
        tf.saved_model.save(tf.Module(), tmp_path, wrong)


class Late(tf.Module):
    """Makes its variable when it is called first."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[tf.Module] = [tf.Module()]

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def __call__(self, x: Any) -> Any:
        if not hasattr(self.parts[0], "w"):
            self.parts[0].w = tf.Variable(tf.ones([2, 3]))
        return x @ self.parts[0].w


def test_variables_that_a_function_makes_when_it_is_traced_to_be_saved(tmp_path: Path) -> None:
    tf.saved_model.save(Late(), tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    assert loaded(tf.constant(X)).numpy().tolist() == [[3.0, 3.0, 3.0]]
    assert loaded.parts[0].w.shape == [2, 3]


# What cannot be saved.


def test_a_variable_that_no_attribute_leads_to(tmp_path: Path) -> None:
    outside = tf.Variable(1.0, name="outside")
    module = tf.Module()
    module.f = tf.function(lambda x: x + outside, input_signature=[tf.TensorSpec([], tf.float32)])
    with pytest.raises(AssertionError, match=r"untracked.*'outside:0' of shape \(\) is used by") as raised:
        tf.saved_model.save(module, tmp_path)
    assert len(str(raised.value)) < 300  # without the values of the variable


@pytest.mark.parametrize("given", [3, [tf.Module()], None, tf.Variable(1.0)])
def test_what_is_no_object_to_save(given: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Trackable"):
        tf.saved_model.save(given, tmp_path)


def test_python_functions_and_objects_are_refused(tmp_path: Path) -> None:
    module = tf.Module()
    module.f = tf.function(
        lambda x: tf.numpy_function(lambda value: value, [x], tf.float32),
        input_signature=[tf.TensorSpec([], tf.float32)],
    )
    with pytest.raises(ValueError, match="lives in this process only"):
        tf.saved_model.save(module, tmp_path)
    other = tf.Module()
    other.f = tf.function(lambda x, thing: x)
    other.f(tf.constant(1.0), other)
    with pytest.raises(ValueError, match=r"cannot be saved for.*lives in this process only"):
        tf.saved_model.save(other, tmp_path)


def test_not_inside_a_function(tmp_path: Path) -> None:
    @tf.function
    def inside() -> None:
        tf.saved_model.save(tf.Module(), tmp_path)

    with pytest.raises(RuntimeError, match="inside a traced"):
        inside()
    with pytest.raises(TypeError, match="options"):
        tf.saved_model.save(tf.Module(), tmp_path, options=3)
    with pytest.raises(TypeError, match="options"):
        tf.saved_model.load(tmp_path, options=3)


# Composite arguments, random numbers, other names.


def test_slices_go_in_and_out(tmp_path: Path) -> None:
    module = tf.Module()
    module.f = tf.function(lambda s: tf.IndexedSlices(s.values * 2.0, s.indices))
    module.f(tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([3], tf.int64)))
    tf.saved_model.save(module, tmp_path)
    given = tf.saved_model.load(tmp_path).f(tf.IndexedSlices(tf.constant([[4.0]]), tf.constant([5], tf.int64)))
    assert (given.values.numpy().tolist(), given.indices.numpy().tolist()) == ([[8.0]], [5])


def test_aliases_of_functions(net: Net, tmp_path: Path) -> None:
    tf.saved_model.save(net, tmp_path, options=tf.saved_model.SaveOptions(function_aliases={"other": net.f}))
    options = tf.saved_model.LoadOptions(experimental_load_function_aliases=True)
    loaded = tf.saved_model.load(tmp_path, options=options)
    assert loaded.function_aliases["other"] is loaded.f


def test_tags(net: Net, tmp_path: Path) -> None:
    tf.saved_model.save(net, tmp_path, options=tf.saved_model.SaveOptions(extra_tags=["more"]))
    tf.saved_model.load(tmp_path, tags=["more", "serve"])
    with pytest.raises(ValueError, match=r"available tags.*more.*serve"):
        tf.saved_model.load(tmp_path, tags="serve")
    with pytest.raises(ValueError, match="Tags are strings"):
        tf.saved_model.load(tmp_path, tags=[3])


# Files.


def test_whether_there_is_a_program(net: Net, tmp_path: Path) -> None:
    assert not tf.saved_model.contains_saved_model(tmp_path)
    assert not tf.saved_model.contains_saved_model(3)
    with pytest.raises(OSError, match="SavedModel file does not exist at"):
        tf.saved_model.load(tmp_path)
    with pytest.raises(OSError, match="no such folder"):
        tf.saved_model.load(tmp_path / "nowhere")
    tf.saved_model.save(net, tmp_path)
    assert tf.saved_model.contains_saved_model(str(tmp_path))


def test_missing_variables(net: Net, tmp_path: Path) -> None:
    tf.saved_model.save(net, tmp_path)
    (tmp_path / "variables" / "variables.index").unlink()
    with pytest.raises(tf.errors.NotFoundError, match="variables"):
        tf.saved_model.load(tmp_path)


def test_variables_of_another_program(net: Net, tmp_path: Path) -> None:
    tf.saved_model.save(net, tmp_path / "a")
    tf.saved_model.save(Block(), tmp_path / "b")
    (tmp_path / "b" / "saved_model.pb").write_bytes((tmp_path / "a" / "saved_model.pb").read_bytes())
    with pytest.raises(OSError, match="do not belong together"):
        tf.saved_model.load(tmp_path / "b")


@pytest.mark.parametrize("content", [b"", b"\x00", b"not a program", b"\x08\x01", b"\x08\x02\x12\x00", b"\x12\xff"])
def test_files_that_are_no_program(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "saved_model.pb").write_bytes(content)
    with pytest.raises(OSError, match="Cannot parse file"):
        tf.saved_model.load(tmp_path)


def test_damaged_files_are_refused_in_words(net: Net, tmp_path: Path) -> None:
    tf.saved_model.save(net, tmp_path)
    file = tmp_path / "saved_model.pb"
    whole = file.read_bytes()
    chance = random.Random(0)
    for _ in range(150):
        damaged = bytearray(whole)
        for _ in range(chance.choice([1, 1, 3, 20])):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        if chance.random() < 0.2:
            damaged = damaged[: chance.randrange(len(damaged))]
        file.write_bytes(damaged)
        try:
            tf.saved_model.load(tmp_path)
        except SitusError as error:
            assert str(error)  # noqa: PT017 - most loads fail, and those that do not are fine too
