"""Models: sequential, drawn, and classes of the program's own."""

from __future__ import annotations

import copy
import gc
from pathlib import Path
from typing import Any
from weakref import ref

import numpy as np
import pytest

import situs as tf
from situs import errors
from situs.keras import layers
from situs.keras.models import Model, Sequential, clone_model


class Net(Model):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = layers.Dense(4, activation="relu")
        self.out = layers.Dense(1)

    def call(self, x: Any) -> Any:
        return self.out(self.hidden(x))


def drawn() -> Model:
    x = layers.Input((3,), name="x")
    h = layers.Dense(4, activation="relu", name="h")(x)
    return Model(x, layers.Dense(2, name="y")(layers.concatenate([h, x])))


MAKERS = {
    "class": Net,
    "sequential": lambda: Sequential([layers.Dense(4), layers.Dense(2)]),
    "sequential with input": lambda: Sequential([layers.Input((3,)), layers.Dense(4), layers.Dense(2)]),
    "drawn": drawn,
}
every = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@every
def test_a_model_learns(make: Any) -> None:
    tf.random.set_seed(1)
    model, optimizer = make(), tf.keras.optimizers.Adam(0.05)
    x = np.random.default_rng(0).normal(size=(32, 3)).astype("float32")
    wanted = x.sum(1, keepdims=True)

    @tf.function
    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - wanted) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    losses = [float(step()) for _ in range(60)]
    assert losses[-1] < losses[0] / 4


@every
def test_weights_are_saved_and_loaded(make: Any, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(2, 3))
    first, second, third = make(), make(), make()
    wanted = first(x)
    second(x)
    first.save_weights(tmp_path / "weights")
    second.load_weights(tmp_path / "weights")
    third.load_weights(tmp_path / "weights")  # before it has variables, perhaps
    np.testing.assert_array_equal(second(x), wanted)
    np.testing.assert_array_equal(third(x), wanted)


def test_weights_need_a_path() -> None:
    with pytest.raises(TypeError, match="path of weights"):
        Net().save_weights(None)
    with pytest.raises(TypeError, match="path of weights"):
        Net().load_weights(3)


def test_weights_are_not_overwritten_unless_asked(tmp_path: Path) -> None:
    model = drawn()
    model.save_weights(tmp_path / "w")
    with pytest.raises(ValueError, match="already"):
        model.save_weights(tmp_path / "w", overwrite=False)


def test_a_file_of_keras_is_refused(tmp_path: Path) -> None:
    (tmp_path / "k.weights.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    with pytest.raises(errors.UnimplementedError, match="set_weights"):
        drawn().load_weights(tmp_path / "k.weights.h5")


@pytest.mark.parametrize("name", ["compile", "fit", "evaluate", "predict", "train_on_batch"])
def test_the_loop_is_left_to_the_program(name: str) -> None:
    with pytest.raises(NotImplementedError, match=r"GradientTape(.|\n)*docs/training\.md"):
        getattr(drawn(), name)(1, 2)


def test_saving_programs_is_refused() -> None:
    with pytest.raises(errors.UnimplementedError, match="save_weights"):
        drawn().save("model.keras")


# Sequential.


def test_layers_are_built_as_they_are_added_if_the_input_is_known() -> None:
    model = Sequential(name="net")
    model.add(layers.Input((3,)))
    model.add(layers.Dense(4, name="a"))
    assert [variable.name for variable in model.weights] == ["net/a/kernel:0", "net/a/bias:0"]
    model.add(layers.Dense(2))
    assert model.output_shape == (None, 2)
    assert model.pop().units == 2
    assert model.output_shape == (None, 4)
    assert len(model.layers) == 1


@pytest.mark.parametrize(
    "first",
    [
        layers.InputLayer(input_shape=(3,)),
        layers.InputLayer((3,)),
        layers.Input((3,)),
        layers.Dense(3, input_shape=(3,)),
        layers.Dense(3, input_dim=3),
    ],
    ids=["old input layer", "input layer", "input", "input_shape", "input_dim"],
)
def test_a_sequential_is_told_its_input(first: Any) -> None:
    assert Sequential([first, layers.Dense(5)]).output_shape == (None, 5)


def test_a_sequential_without_input_is_built_by_build_or_a_call() -> None:
    model = Sequential([layers.Dense(4)])
    assert model.weights == []
    model.build((None, 3))
    assert [list(variable.shape) for variable in model.weights] == [[3, 4], [4]]


def test_models_and_functions_are_layers_too() -> None:
    model = Sequential([drawn(), tf.nn.relu, Sequential([layers.Dense(1)])])
    assert model(np.ones((2, 3))).shape == [2, 1]
    assert len(model.trainable_variables) == 6


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([3], "Only instances"),
        ([layers.Dense(2, name="a"), layers.Dense(2, name="a")], "unique names"),
        ([layers.Dense(2), layers.Input((3,))], "first"),
    ],
)
def test_what_cannot_stand_in_a_row_is_refused(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sequential(given)


def test_a_layer_that_does_not_fit_is_not_added() -> None:
    model = Sequential([layers.Input((3,))])
    with pytest.raises(ValueError, match="ndim=4"):
        model.add(layers.Conv2D(2, 1))
    assert model.layers == []


# Drawn models.


def test_a_dictionary_of_inputs_needs_the_names_of_the_model() -> None:
    a, b = layers.Input((3,), name="first"), layers.Input((3,), name="second")
    x, y = tf.ones([1, 3]), tf.zeros([1, 3])
    named = Model({"a": a, "b": b}, layers.subtract([a, b]))
    assert named({"b": y, "a": x, "unused": y}).numpy().tolist() == [[1.0, 1.0, 1.0]]
    with pytest.raises(ValueError, match="not given: b"):
        named({"a": x, "c": y})
    listed = Model([a, b], layers.subtract([a, b]))
    assert listed({"second": y, "first": x}).numpy().tolist() == [[1.0, 1.0, 1.0]]
    with pytest.raises(ValueError, match="'second' of the model has shape"):
        listed({"first": x, "second": tf.ones([1, 4])})


def test_a_drawn_model_shares_layers_and_has_several_ends() -> None:
    left, right = layers.Input((2,), name="left"), layers.Input((2,), name="right")
    shared = layers.Dense(3, name="shared")
    a, b = shared(left), shared(right)
    model = Model(inputs=[left, right], outputs={"sum": a + b, "half": (a - b) / 2.0})
    x, y = np.ones((4, 2)), np.zeros((4, 2))
    found = model([x, y])
    np.testing.assert_allclose(found["sum"], found["half"] * 2, rtol=1e-6)
    np.testing.assert_array_equal(model({"right": y, "left": x})["sum"], found["sum"])
    assert len(model.weights) == 2
    assert model.get_layer("shared") is shared


def test_a_part_of_a_drawn_model_is_a_model() -> None:
    model = drawn()
    inner = Model(model.inputs[0], model.get_layer("h")(model.inputs[0]))
    assert inner(np.ones((2, 3))).shape == [2, 4]


def test_a_class_may_draw_itself() -> None:
    class Drawn(Model):
        def __init__(self) -> None:
            x = layers.Input((3,))
            super().__init__(inputs=x, outputs=layers.Dense(2)(x))

    assert Drawn()(np.ones((1, 3))).shape == [1, 2]


def test_slices_comparisons_and_lambdas_are_drawn() -> None:
    x = layers.Input((4,))
    y = layers.Lambda(lambda t: tf.reduce_sum(t, 1, keepdims=True))(x[:, 1:3])
    model = Model(x, [-y, 2.0 - y, y > 3.0])
    negative, rest, more = model(np.arange(4.0)[None])
    assert (float(negative[0, 0]), float(rest[0, 0]), bool(more[0, 0])) == (-3.0, -1.0, False)


def test_training_reaches_the_layers_of_a_drawn_model() -> None:
    x = layers.Input((1000,))
    model = Model(x, layers.Dropout(0.5)(x))
    assert (model(np.ones((1, 1000)), training=True).numpy() == 0).any()
    assert (model(np.ones((1, 1000))).numpy() == 1).all()


def test_functions_of_tf_say_that_they_need_a_layer() -> None:
    with pytest.raises(TypeError, match="Lambda"):
        tf.reduce_sum(layers.Input((3,)))


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda x, y: Model(x, layers.Dense(2)(y)), "not one of its inputs"),
        (lambda x, y: Model(x), "both inputs and outputs"),
        (lambda x, y: Model(x, tf.ones([1])), "keras.Input"),
        (lambda x, y: Model([x, y], x + y)(np.ones((1, 3))), "2 inputs"),
        (lambda x, y: Model(x, x + 1.0)(np.ones((1, 4))), r"shape \(None, 3\)"),
        (lambda x, y: Model(x, x + 1.0).get_layer("none"), "No such layer"),
        (lambda x, y: bool(x), "bool"),
        (lambda x, y: list(x), "Iterating"),
        (lambda x, y: np.asarray(x), "NumPy"),
    ],
)
def test_mistakes_of_drawing_are_told(draw: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw(layers.Input((3,)), layers.Input((3,)))


def test_the_layers_of_a_drawn_model_know_their_tensors() -> None:
    model = drawn()
    assert [layer.name for layer in model.layers][:2] == ["x", "h"]
    inner = Model(model.input, model.get_layer("h").output)
    np.testing.assert_array_equal(inner(np.ones((2, 3))), model.get_layer("h")(np.ones((2, 3))))
    assert model.get_layer("y").output is model.output
    with pytest.raises(ValueError, match="never been called"):
        _ = layers.Dense(3).output


CLONED = {**{name: make for name, make in MAKERS.items() if name != "class"}}
CLONED["nested"] = lambda: Sequential(
    [layers.Input((3,)), drawn(), layers.Reshape((1, 2)), layers.Bidirectional(layers.GRU(2))]
)


@pytest.mark.parametrize("make", CLONED.values(), ids=CLONED)
def test_a_clone_has_the_form_and_not_the_variables(make: Any) -> None:
    model, x = make(), np.ones((2, 3))
    wanted = model(x)
    clone = clone_model(model)
    clone(x)
    assert not {id(variable) for variable in clone.weights} & {id(variable) for variable in model.weights}
    clone.set_weights(model.get_weights())
    np.testing.assert_array_equal(clone(x), wanted)
    assert [layer.name for layer in clone.layers] == [layer.name for layer in model.layers]


def test_layers_of_drawn_models_may_return_arrays() -> None:
    x = layers.Input((3,))
    y = layers.Lambda(lambda _: np.ones((2, 3), np.float32))(x)
    model = Model(x, layers.Dense(2, kernel_initializer="ones")(y))
    np.testing.assert_array_equal(model(np.zeros((2, 3))), [[3.0, 3.0]] * 2)


def test_the_clone_of_a_part_begins_with_inputs_of_its_own() -> None:
    x = layers.Input((3,))
    inner = layers.Dense(4, name="inner")(x)
    part = Model(inner, layers.Dense(2, name="last")(inner))
    clone = clone_model(part)
    assert clone(np.ones((1, 4))).shape == [1, 2]
    assert len(clone.weights) == 2


@pytest.mark.parametrize(("given", "message"), [(3, "takes a model"), (Net(), r"Net\(\.\.\.\)")])
def test_what_cannot_be_cloned_is_told(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        clone_model(given)


@every
def test_a_copy_has_variables_of_its_own(make: Any) -> None:
    model, x = make(), np.ones((2, 3))
    wanted = model(x)
    other = copy.deepcopy(model)
    other.weights[0].assign(other.weights[0] * 0.0)
    np.testing.assert_array_equal(model(x), wanted)
    assert not other.weights[0].numpy().any()


# Classes.


def test_a_call_may_be_a_function_of_its_own() -> None:
    class Dropping(Model):
        def __init__(self) -> None:
            super().__init__()
            self.drop = layers.Dropout(0.5)

        @tf.function
        def call(self, x: Any, training: Any = False) -> Any:
            return self.drop(x, training=training)

    model = Dropping()
    assert (model(tf.ones([1000]), training=True).numpy() == 0).any()
    assert (model(tf.ones([1000])).numpy() == 1).all()


def test_a_class_is_built_for_a_shape() -> None:
    model = Net()
    model.build((None, 3))
    assert [list(variable.shape) for variable in model.weights] == [[3, 4], [4], [4, 1], [1]]
    assert model.layers == [model.hidden, model.out]


def test_a_class_without_call_is_told() -> None:
    class Empty(Model):
        pass

    with pytest.raises(NotImplementedError, match=r"call\(\)"):
        Empty()(tf.ones([1]))


# The table.


def test_the_summary_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    Sequential(
        [layers.Input((8,)), layers.Dense(4, name="a"), layers.BatchNormalization(name="b")], name="net"
    ).summary()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == 'Model: "net"'
    assert lines[2].split() == ["Layer", "(type)", "Output", "Shape", "Param", "#"]
    assert lines[4].split() == ["a", "(Dense)", "(None,", "4)", "36"]
    assert lines[5].endswith("16")
    assert lines[-3:] == [
        "Total params: 52 (208.00 B)",
        "Trainable params: 44 (176.00 B)",
        "Non-trainable params: 8 (32.00 B)",
    ]


def test_the_summary_of_a_class_knows_shapes_once_it_was_called() -> None:
    model, printed = Net(), []
    model.summary(print_fn=printed.append)
    assert "unbuilt" in printed[0]
    model(np.ones((2, 3)))
    model.summary(print_fn=printed.append, show_trainable=True)
    assert "(None, 4)" in printed[1]
    assert "Trainable" in printed[1]


def test_the_summary_of_a_class_with_several_arguments() -> None:
    class Sum(Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = layers.Dense(4)

        def call(self, x: Any, more: Any, factor: float = 1.0) -> Any:
            return self.dense(x) + more * factor

    model, printed = Sum(), []
    model(np.ones((2, 3)), tf.ones([2, 4]), factor=2.0)
    model.summary(print_fn=printed.append)
    assert "(None, 4)" in printed[0]


@pytest.mark.parametrize(("needed", "shape"), [(False, "(None, 4)"), (True, "?")])
def test_a_model_does_not_keep_what_it_was_called_with(needed: bool, shape: str) -> None:
    class Noting(Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = layers.Dense(4)

    class Optional(Noting):
        def call(self, x: Any, notes: Any = None) -> Any:
            return self.dense(x)

    class Needed(Noting):
        def call(self, x: Any, notes: Any) -> Any:
            return self.dense(x)

    class Notes:
        pass

    model, notes, printed = Needed() if needed else Optional(), Notes(), []
    known = ref(notes)
    model(np.ones((2, 3)), notes)
    del notes
    gc.collect()
    assert known() is None
    model.summary(print_fn=printed.append)
    assert shape in printed[0]
