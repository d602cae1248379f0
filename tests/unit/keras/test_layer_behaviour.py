"""What every layer does: building, names, devices, training, losses, configuration, dtypes."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as tf1
from situs import errors
from situs._src.keras import policy
from situs.keras import initializers, layers


class Scale(layers.Layer):
    def build(self, input_shape: Any) -> None:
        self.factor = self.add_weight(shape=input_shape[-1:], initializer="ones", name="factor")

    def call(self, x: Any) -> Any:
        return x * self.factor


class Tower(layers.Layer):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.parts = [layers.Dense(2), Scale()]
        self.named = {"last": layers.Dense(1, kernel_regularizer="l2")}
        self.offset = tf.Variable(1.0, name="offset")

    def call(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return self.named["last"](x) + self.offset


# Variables.


def test_a_layer_is_built_by_its_first_call() -> None:
    layer = Scale(name="mine")
    assert not layer.built
    assert layer.weights == []
    layer(np.ones((2, 3)))
    assert layer.built
    assert [variable.name for variable in layer.weights] == ["mine/factor:0"]
    assert layer.count_params() == 3


def test_a_program_may_build_a_layer_itself() -> None:
    class Wider(layers.Dense):
        def build(self, input_shape: Any) -> None:
            super().build(input_shape)
            assert not self.built
            self.extra = self.add_weight(shape=[1], name="extra")

    layer = Wider(2)
    layer.build((None, 3))
    assert layer.built
    layer(tf.ones([1, 3]))
    assert len(layer.weights) == 3


def test_variables_of_parts_are_found_in_lists_and_dictionaries() -> None:
    tower = Tower(name="tower")
    tower(tf.ones([2, 3]))
    names = [variable.name.rpartition("/")[2] for variable in tower.trainable_variables]
    assert names == ["offset:0", "kernel:0", "bias:0", "factor:0", "kernel:0", "bias:0"]
    assert all(variable.name.startswith("tower/") for variable in tower.weights[1:])


def test_default_names_are_those_of_the_classes() -> None:
    assert layers.MaxPooling2D().name.startswith("max_pooling2d")
    assert layers.LeakyReLU().name.startswith("leaky_re_lu")
    first, second = Scale(), Scale()
    assert first.name != second.name


@pytest.mark.parametrize(
    "make",
    [
        lambda layer: layer.add_weight(shape=[2, 3], initializer="zeros", name="w"),
        lambda layer: layer.add_weight([2, 3], "zeros", name="w"),
        lambda layer: layer.add_weight("w", [2, 3], initializer="zeros"),
        lambda layer: layer.add_weight("w", shape=[2, 3], initializer=initializers.Zeros()),
        lambda layer: layer.add_variable("w", (2, 3), tf.float32, tf.zeros_initializer()),
    ],
)
def test_weights_are_added_in_the_forms_of_keras_2_and_3(make: Any) -> None:
    layer = Scale(name="s")
    made = make(layer)
    assert made.shape == [2, 3]
    assert made.name == "s/w:0"
    assert not made.numpy().any()
    assert layer.weights == [made]


def test_weights_by_default() -> None:
    layer = Scale()
    assert layer.add_weight().shape == []
    assert layer.add_weight(shape=[2], dtype="int32").numpy().tolist() == [0, 0]
    assert not layer.add_weight(shape=[2], trainable=False).trainable


def test_values_are_taken_out_and_put_back() -> None:
    layer = layers.Dense(2)
    layer(tf.ones([1, 3]))
    layer.set_weights([np.ones((3, 2)), np.zeros(2)])
    assert layer(np.ones((1, 3))).numpy().tolist() == [[3.0, 3.0]]
    assert [value.shape for value in layer.get_weights()] == [(3, 2), (2,)]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([np.ones((3, 2))], "expects a list of 2"),
        ([np.ones((2, 3)), np.ones(2)], "not compatible"),
        ([np.ones((3, 2)), ["a", "b"]], "array of float32"),
        ([np.ones((3, 2)), [[1], 2]], "array of float32"),
        (None, "expects"),
    ],
)
def test_values_that_do_not_fit_change_nothing(weights: Any, message: str) -> None:
    layer = layers.Dense(2)
    layer(tf.ones([1, 3]))
    before = layer.get_weights()
    with pytest.raises(ValueError, match=message):
        layer.set_weights(weights)
    np.testing.assert_array_equal(before[0], layer.get_weights()[0])


def test_freezing_a_layer_freezes_its_parts() -> None:
    tower = Tower()
    tower(tf.ones([2, 3]))
    tower.trainable = False
    assert tower.trainable_variables == []
    assert len(tower.non_trainable_variables) == 6
    assert not tower.parts[0].trainable
    tower.trainable = True
    tower.parts[0].trainable = False
    assert len(tower.trainable_variables) == 4


def test_a_frozen_batch_normalization_uses_its_moving_moments() -> None:
    layer = layers.BatchNormalization()
    layer(tf.ones([2, 3]))
    layer.trainable = False
    x = np.array([[1.0, 2, 3], [3, 4, 5]], "float32")
    np.testing.assert_allclose(layer(x, training=True), x / np.sqrt(1.001), rtol=1e-6)


def test_variables_are_where_the_scope_says_and_stay_there() -> None:
    layer = layers.Dense(2)
    with tf.device("/GPU:1"):
        layer(tf.ones([1, 3]))
    layer(tf.ones([1, 3]))
    assert {variable.device[-5:] for variable in layer.weights} == {"GPU:1"}


def test_variables_made_in_a_function_are_made_once_where_its_caller_says() -> None:
    layer = layers.Dense(2)
    call = tf.function(lambda x: layer(x))
    with tf.device("/GPU:1"):
        call(tf.ones([1, 3]))
    call(tf.ones([2, 3]))
    assert len(layer.weights) == 2
    assert layer.kernel.device.endswith("GPU:1")


def test_a_function_that_makes_a_layer_every_time_is_refused() -> None:
    with pytest.raises(ValueError, match="singleton"):
        tf.function(lambda x: layers.Dense(2)(x))(tf.ones([1, 3]))


def test_layers_work_in_the_graph_of_a_session() -> None:
    with tf1.Graph().as_default():
        x = tf1.placeholder(tf.float32, [None, 3])
        layer = layers.Dense(2, kernel_initializer="ones", name="fc")
        y = layer(x)
        assert [variable.name for variable in tf1.trainable_variables()] == ["fc/kernel:0", "fc/bias:0"]
        assert y.op.name == "fc/BiasAdd"
        with tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            assert session.run(y, {x: [[1.0, 2.0, 3.0]]}).tolist() == [[6.0, 6.0]]
            layer.set_weights([np.zeros((3, 2)), np.ones(2)])
            assert session.run(y, {x: [[1.0, 2.0, 3.0]]}).tolist() == [[1.0, 1.0]]


def test_a_placeholder_says_whether_batch_normalization_is_training() -> None:
    x = np.array([[1.0], [3.0]], "float32")
    with tf1.Graph().as_default(), tf1.Session() as session:
        layer, training = layers.BatchNormalization(momentum=0.5), tf1.placeholder(tf.bool, [])
        y = layer(tf1.constant(x), training=training)
        session.run(tf1.global_variables_initializer())
        wanted = x / np.sqrt(1.001)
        np.testing.assert_allclose(session.run([y, layer.updates], {training: False})[0], wanted, rtol=1e-6)
        assert session.run(layer.moving_mean).tolist() == [0.0]
        session.run(layer.updates, {training: True})
        assert session.run(layer.moving_mean).tolist() == [1.0]
        assert session.run(layer.moving_variance).tolist() == [1.0]


def test_a_session_runs_the_updates_of_batch_normalization() -> None:
    with tf1.Graph().as_default(), tf1.Session() as session:
        layer = layers.BatchNormalization(momentum=0.5)
        layer(tf1.constant([[1.0], [3.0]]), training=True)
        session.run(tf1.global_variables_initializer())
        session.run(layer.updates)
        assert session.run(layer.moving_mean).tolist() == [1.0]


def test_layers_of_both_dialects_build_the_default_graph(run_python: Any) -> None:
    program = """
import numpy as np
import situs.compat.v1 as tf
from situs.compat.v1 import layers as old
from situs.keras import layers
x = tf.placeholder(tf.float32, [None, 3])
with tf.name_scope("outer"):
    y = old.dense(layers.Dense(4, name="new")(x), 2, name="old")
z = old.dense(np.ones((1, 3), "float32"), 2)
print([v.name for v in tf.trainable_variables()], y.op.name, z.op.name)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    print(session.run([y, z], {x: np.ones((5, 3))})[0].shape)
"""
    names = "['outer/new/kernel:0', 'outer/new/bias:0', 'old/kernel:0', 'old/bias:0', 'dense/kernel:0', 'dense/bias:0']"
    assert run_python(program).splitlines() == [f"{names} outer/old/BiasAdd dense/BiasAdd", "(5, 2)"]


def test_variables_made_later_are_restored_when_they_are_made(tmp_path: Path) -> None:
    first, second = Tower(), Tower()
    x = np.random.default_rng(0).normal(size=(2, 3))
    wanted = first(x)
    path = tf.train.Checkpoint(net=first).save(tmp_path / "ckpt")
    status = tf.train.Checkpoint(net=second).restore(path)
    np.testing.assert_array_equal(second(x), wanted)
    status.assert_consumed()


# Calling.


class Told(layers.Layer):
    def call(self, x: Any, training: Any = None) -> Any:
        self.told = training
        return x


class Around(layers.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Told()

    def call(self, x: Any) -> Any:
        return self.inner(x)


@pytest.mark.parametrize("flag", [True, False, None])
def test_training_reaches_layers_inside(flag: bool | None) -> None:
    layer = Around()
    layer(tf.ones([1]), training=flag)
    assert layer.inner.told is flag


def test_training_can_be_said_by_position_and_ends_with_the_call() -> None:
    told, around = Told(), Around()
    told(tf.ones([1]), True)
    assert told.told is True
    around(tf.ones([1]))
    assert around.inner.told is None


def test_dropout_drops_while_training_only() -> None:
    layer = layers.Dropout(0.5)
    x = tf.ones([1000])
    assert layer(x).numpy().all()
    kept = layer(x, training=True).numpy()
    np.testing.assert_array_equal(np.unique(kept), [0.0, 2.0])
    assert 0.4 < (kept > 0).mean() < 0.6
    assert not layers.Dropout(1)(x, training=True).numpy().any()


def test_whole_channels_are_dropped() -> None:
    kept = layers.SpatialDropout2D(0.5)(tf.ones([8, 3, 3, 16]), training=True).numpy()
    assert np.all(kept == kept[:, :1, :1])


def test_control_flow_of_a_call_becomes_part_of_a_function() -> None:
    class Clipped(layers.Layer):
        def call(self, x: Any) -> Any:
            if tf.reduce_sum(x) > 1.0:
                return x * 0.0
            return x

    layer = Clipped()
    call = tf.function(lambda x: layer(x))
    assert call(tf.constant([5.0])).numpy().tolist() == [0.0]
    assert call(tf.constant([0.5])).numpy().tolist() == [0.5]


def test_moving_moments_move_inside_a_function() -> None:
    layer = layers.BatchNormalization(momentum=0.5)
    call = tf.function(lambda x: layer(x, training=True))
    for _ in range(2):
        call(tf.constant([[1.0], [3.0]]))
    assert layer.moving_mean.numpy().tolist() == [1.5]


def test_arrays_and_lists_become_tensors_of_the_layers_dtype() -> None:
    for given in ([[1.0, 2.0]], np.array([[1.0, 2.0]]), np.array([[1, 2]]), tf.constant([[1.0, 2.0]], tf.float64)):
        assert layers.Dense(1)(given).dtype is tf.float32
    assert layers.Dense(1, dtype="float64")(np.ones((1, 2))).dtype is tf.float64


@pytest.mark.parametrize(
    ("layer", "known", "given", "wanted"),
    [
        (layers.Flatten(), [None, 3, 0], [2, 3, 0], [2, 0]),
        (layers.Flatten(), [None, None, 3], [0, 4, 3], [0, 12]),
        (layers.Flatten(), None, [2, 4, 3], [2, 12]),
        (layers.Reshape((0, 3)), [None, 0], [2, 0], [2, 0, 3]),
        (layers.Reshape((3, -1)), [None, None], [2, 6], [2, 3, 2]),
        (layers.Reshape(tf.TensorShape([3, 2])), [None, 6], [2, 6], [2, 3, 2]),
        (layers.TimeDistributed(layers.Lambda(lambda x: x)), [None, None, 3], [2, 0, 3], [2, 0, 3]),
    ],
)
def test_the_batch_stays_where_shapes_are_unknown_or_empty(
    layer: layers.Layer, known: Any, given: Any, wanted: Any
) -> None:
    call = tf.function(layer, input_signature=[tf.TensorSpec(known)])
    assert call(tf.ones(given)).shape == wanted


def test_time_is_distributed_over_several_outputs() -> None:
    twice = layers.TimeDistributed(layers.Lambda(lambda x: [x, x[:, :1]]))
    assert [list(output.shape) for output in twice(tf.ones([2, 4, 3]))] == [[2, 4, 3], [2, 4, 1]]


def test_images_are_rescaled() -> None:
    found = layers.Rescaling(1 / 127.5, offset=-1)(np.array([[0, 255]], np.uint8))
    np.testing.assert_allclose(found, [[-1.0, 1.0]])


# Losses.


def test_losses_are_those_of_regularizers_and_of_the_last_call() -> None:
    class Noisy(layers.Layer):
        def call(self, x: Any) -> Any:
            self.add_loss(tf.reduce_sum(x))
            return x

    class Both(layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.noisy = Noisy()
            self.dense = layers.Dense(1, kernel_initializer="ones", kernel_regularizer="l2")

        def call(self, x: Any) -> Any:
            return self.dense(self.noisy(x))

    layer = Both()
    for _ in range(2):
        layer(tf.ones([1, 2]))
    assert [round(float(loss), 4) for loss in layer.losses] == [2.0, 0.02]
    with tf.GradientTape() as tape:
        layer(tf.ones([1, 2]))
        loss = tf.add_n(layer.losses)
    np.testing.assert_allclose(tape.gradient(loss, layer.dense.kernel), [[0.02], [0.02]], rtol=1e-6)


def test_activity_regularizers() -> None:
    layer = layers.Dense(2, kernel_initializer="ones", activity_regularizer=tf.reduce_sum)
    layer(tf.ones([1, 3]))
    assert [float(loss) for loss in layer.losses] == [6.0]


def test_looking_at_a_model_leaves_its_losses_alone() -> None:
    model = tf.keras.Sequential([layers.Dense(2, activity_regularizer="l2")])
    model(tf.ones([1, 3]))
    before = [float(loss) for loss in model.losses]
    model.summary(print_fn=lambda text: None)
    model.compute_output_shape((5, 3))
    assert [float(loss) for loss in model.losses] == before


def test_losses_of_other_threads_are_not_added_up() -> None:
    layer = layers.Dense(2, activity_regularizer="l2")

    def call() -> None:
        layer(tf.ones([1, 3]))

    for _ in range(2):
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
    assert len(layer.losses) == 1


# Configuration and dtypes.


@pytest.mark.parametrize(
    "layer",
    [
        layers.Dense(3, "relu", kernel_initializer=initializers.RandomNormal(stddev=0.1), name="d"),
        layers.Conv2D(3, (3, 3), (2, 2), "same", kernel_regularizer="l2"),
        layers.BatchNormalization(momentum=0.5),
        layers.LSTM(3, return_sequences=True),
        layers.Dropout(0.3),
        layers.Embedding(3, 4),
        layers.Activation(tf.nn.relu),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_a_layer_is_made_again_from_its_configuration(layer: layers.Layer) -> None:
    config = layer.get_config()
    other = type(layer).from_config(config)
    assert other.name == layer.name
    assert other.get_config() == config


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.Bidirectional(layers.LSTM(2, return_sequences=True)),
        lambda: layers.RNN(layers.GRUCell(2), return_sequences=True),
        lambda: layers.TimeDistributed(layers.Dense(2)),
        lambda: tf.keras.Sequential([layers.Dense(2), layers.Dense(3)]),
    ],
)
def test_layers_in_a_configuration_are_made_again(make: Any) -> None:
    layer, x = make(), np.ones((1, 4, 3), "float32")
    wanted = layer(x)
    other = type(layer).from_config(layer.get_config())
    other(x)
    other.set_weights(layer.get_weights())
    np.testing.assert_array_equal(other(x), wanted)


def test_an_input_keeps_its_dtype_in_a_configuration() -> None:
    layer = layers.InputLayer((2,), dtype="int32")
    assert layers.InputLayer.from_config(layer.get_config()).output.dtype == "int32"


def test_mixed_precision_computes_in_half_and_keeps_variables_whole() -> None:
    class Own(layers.Layer):
        def build(self, shape: Any) -> None:
            self.w = self.add_weight(shape=[3, 2], name="w")

        def call(self, x: Any) -> Any:
            return tf.matmul(x, self.w)

    for kind in (lambda **k: layers.Dense(2, **k), Own):
        layer = kind(dtype="mixed_bfloat16")
        with tf.GradientTape() as tape:
            y = layer(np.ones((4, 3)))
            loss = tf.reduce_sum(tf.cast(y, tf.float32))
        assert y.dtype is tf.bfloat16
        weight = layer.trainable_weights[0]
        assert weight.dtype is tf.float32
        gradient = tape.gradient(loss, weight)
        assert gradient.dtype is tf.float32
        np.testing.assert_allclose(gradient, np.full((3, 2), 4.0))


def test_the_global_policy_holds_for_new_layers() -> None:
    try:
        policy.set_global_policy("mixed_float16")
        layer = layers.Dense(2)
    finally:
        policy.set_global_policy("float32")
    assert (layer.compute_dtype, layer.variable_dtype, layer.dtype) == ("float16", "float32", "float32")
    assert policy.global_policy() == policy.DTypePolicy("float32")


@pytest.mark.parametrize("name", ["mixed_float8", 3.5, "", object()])
def test_unknown_policies_are_refused(name: Any) -> None:
    with pytest.raises(ValueError, match="dtype policy"):
        policy.DTypePolicy(name)


# Initializers, by statistics.


@pytest.mark.parametrize(
    ("name", "deviation"),
    [
        ("glorot_uniform", (2 / 900) ** 0.5),
        ("glorot_normal", (2 / 900) ** 0.5),
        ("he_normal", (2 / 300) ** 0.5),
        ("he_uniform", (2 / 300) ** 0.5),
        ("lecun_normal", (1 / 300) ** 0.5),
        ("lecun_uniform", (1 / 300) ** 0.5),
        ("normal", 0.05),
        ("uniform", 0.05 / 3**0.5),
        ("random_normal", 0.05),
        ("truncated_normal", 0.05 * 0.8796),
        ("orthogonal", (1 / 600) ** 0.5),
    ],
)
def test_initializers_by_name(name: str, deviation: float) -> None:
    drawn = initializers.get(name)((300, 600), dtype=tf.float32).numpy()
    assert drawn.std() == pytest.approx(deviation, rel=0.02)
    assert abs(drawn.mean()) < deviation / 50


@pytest.mark.parametrize(("name", "value"), [("zeros", 0.0), ("ones", 1.0), ("Zeros", 0.0), ("one", 1.0)])
def test_constant_initializers_by_name(name: str, value: float) -> None:
    assert initializers.get(name)((2,)).numpy().tolist() == [value] * 2


def test_what_is_no_initializer_is_refused() -> None:
    for wrong in ("nothing", 3, ["zeros"]):
        with pytest.raises(ValueError, match="initializer"):
            initializers.get(wrong)


# Mistakes.


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: layers.Dense(0), "units"),
        (lambda: layers.Dense("3"), "units"),
        (lambda: layers.Dense(3, activation="nothing"), "activation"),
        (lambda: layers.Dense(3)(tf.ones([3])), "min_ndim=2|dimension"),
        (lambda: layers.Dense(3, wrong=1), "Unrecognized keyword arguments passed to Dense: wrong"),
        (lambda: layers.Conv2D(3, 0), "kernel_size"),
        (lambda: layers.Conv2D(3, 3, padding="causal"), "padding"),
        (lambda: layers.Conv2D(3, 3, groups=2), "groups"),
        (lambda: layers.Conv2D(3, 3, data_format="NHWC"), "data_format"),
        (lambda: layers.MaxPooling2D()(tf.ones([2, 3])), "ndim=4"),
        (lambda: layers.Add()([tf.ones([1])]), "at least 2 inputs"),
        (lambda: layers.Add()(tf.ones([1])), "at least 2 inputs"),
        (lambda: layers.Dropout(-1), "rate"),
        (lambda: layers.Permute((0, 1)), "dims"),
        (lambda: layers.Lambda(3), "function"),
        (lambda: layers.RNN(3), "cell"),
        (lambda: layers.Bidirectional(layers.Dense(3)), "recurrent"),
        (lambda: layers.Input(), "exactly one"),
        (lambda: layers.BatchNormalization(axis=5)(tf.ones([2, 3])), "axis"),
        (lambda: layers.BatchNormalization(axis=[0, 1])(tf.ones([2, 3])), "one axis"),
        (lambda: layers.LayerNormalization(axis="last")(tf.ones([2, 3])), "axis"),
        (lambda: layers.dot([tf.ones([2, 3]), tf.ones([2, 3])], axes=5), "out of range"),
        (lambda: layers.dot([tf.ones([2, 3]), tf.ones([2, 3])], axes=0), "the batch"),
        (lambda: layers.Dot((1, 1, 1)), "axes"),
        (lambda: layers.Dot("last"), "axes"),
        (lambda: layers.Reshape((-1, -1)), "target_shape"),
        (lambda: layers.Reshape((4,))(layers.Input((6,))), "unchanged"),
        (lambda: layers.Reshape((0, -1))(layers.Input((6,))), "unchanged"),
        (lambda: layers.Permute(3), "dimensions"),
        (lambda: layers.Permute((1, "b")), "dims"),
        (lambda: layers.EinsumDense("ab,bc->ac", 3, bias_axes="z")(tf.ones([2, 3])), "'z'"),
        (lambda: layers.EinsumDense(3, 3), "equation"),
        (lambda: layers.EinsumDense("ab,bc->ac", None), "sizes"),
        (lambda: layers.LSTM(2)(tf.ones([1, 4, 3]), initial_state=[tf.ones([1, 2])]), "LSTMCell has 2 states"),
        (lambda: layers.Bidirectional(layers.GRU(2))(tf.ones([1, 4, 3]), initial_state=tf.ones([1, 2])), "a list"),
        (lambda: layers.Bidirectional(layers.GRU(2), backward_layer=layers.GRU(2)), "other way"),
        (lambda: layers.TimeDistributed(lambda x: x), "around a layer"),
        (lambda: layers.Lambda(lambda x: None)(layers.Input((3,))), "returned None"),
        (lambda: layers.Dense(3, input_shape=4), "sizes"),
        (lambda: Scale().add_weight(shape=[2], initialiser="zeros"), "initialiser"),
        (lambda: Scale().add_weight([2], shape=[2]), "once"),
    ],
)
def test_mistakes_are_told(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("value", [None, 3.0, "text", [tf.ones([2, 3]), tf.ones([2, 3])]])
@pytest.mark.parametrize("built", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        lambda: (layers.Dense(2), [2, 3]),
        lambda: (layers.EinsumDense("ab,bc->ac", 2), [2, 3]),
        lambda: (layers.Conv2D(2, 1), [2, 3, 3, 1]),
        lambda: (layers.SeparableConv2D(2, 1), [2, 3, 3, 1]),
        lambda: (layers.MaxPooling2D(), [2, 4, 4, 1]),
        lambda: (layers.GlobalMaxPooling2D(), [2, 4, 4, 1]),
        lambda: (layers.ZeroPadding2D(), [2, 4, 4, 1]),
        lambda: (layers.Embedding(3, 2), [2]),
        lambda: (layers.LSTM(2), [2, 4, 3]),
        lambda: (layers.Bidirectional(layers.LSTM(2)), [2, 4, 3]),
        lambda: (layers.TimeDistributed(layers.Dense(2)), [2, 4, 3]),
        lambda: (layers.BatchNormalization(), [2, 3]),
        lambda: (layers.LayerNormalization(), [2, 3]),
        lambda: (layers.RMSNormalization(), [2, 3]),
        lambda: (layers.SpatialDropout1D(0.5), [2, 4, 3]),
        lambda: (layers.GaussianNoise(1.0), [2, 3]),
        lambda: (layers.Rescaling(2.0), [2, 3]),
        lambda: (layers.Flatten(), [2, 3]),
        lambda: (layers.Reshape((3,)), [2, 3]),
        lambda: (layers.RepeatVector(2), [2, 3]),
    ],
)
def test_what_is_no_tensor_is_refused(make: Any, built: bool, value: Any) -> None:
    layer, shape = make()
    if built:
        layer(tf.ones(shape))
    with pytest.raises((errors.DTypeError, errors.InvalidArgumentError), match="tensor"):
        layer(value, training=True)


def test_merging_refuses_what_is_no_tensor() -> None:
    with pytest.raises(TypeError, match=r'Layer "products" .* takes a tensor, got None'):
        layers.dot([None, 3], name="products")


@pytest.mark.parametrize(
    ("layer", "wrong", "right"),
    [
        (layers.Dense(2), [4], [1, 3]),
        (layers.Conv2D(2, 1), [1, 5, 4], [1, 5, 5, 3]),
        (layers.DepthwiseConv2D(1), [1, 5, 4], [1, 5, 5, 3]),
        (layers.LSTM(2), [1, 5], [1, 5, 3]),
    ],
)
def test_a_call_that_is_refused_builds_nothing(layer: layers.Layer, wrong: Any, right: Any) -> None:
    with pytest.raises(ValueError, match="ndim"):
        layer(tf.ones(wrong))
    assert not layer.built
    layer(tf.ones(right))


def test_a_dense_layer_is_built_by_the_last_size_alone() -> None:
    layer = layers.Dense(2)
    layer.build((3,))
    assert [tuple(variable.shape) for variable in layer.weights] == [(3, 2), (2,)]


def test_a_layer_that_is_made_again_takes_no_name() -> None:
    def number(layer: layers.Layer) -> int:
        return int(layer.name.rpartition("_")[2])

    layers.LSTM(2)
    first = layers.LSTM(2)
    both = layers.Bidirectional(first)
    assert number(layers.LSTM(2)) == number(first) + 1
    assert both.backward_layer.name == f"backward_{first.name}"


def test_the_direction_of_a_layer_is_part_of_its_config() -> None:
    both = layers.Bidirectional(layers.GRU(2))
    assert [layer.get_config()["go_backwards"] for layer in (both.forward_layer, both.backward_layer)] == [False, True]
    assert both.backward_layer._made_again().go_backwards


def test_the_directions_have_cells_of_their_own() -> None:
    both = layers.Bidirectional(layers.RNN(layers.GRUCell(2), False, False, False, name="there"))
    both(tf.ones([1, 4, 3]))
    assert both.backward_layer.name == "backward_there"
    assert both.backward_layer.go_backwards
    assert len(both.weights) == 6
    assert both.forward_layer.cell is not both.backward_layer.cell


def test_a_cell_may_have_a_tuple_of_states() -> None:
    class Counting(layers.Layer):
        state_size, output_size = (1, 1), 3

        def call(self, x: Any, states: Any) -> Any:
            return x, [states[0] + 1.0, states[1] + 2.0]

    _, ones, twos = layers.RNN(Counting(), return_state=True)(tf.ones([1, 4, 3]))
    assert (ones.numpy().item(), twos.numpy().item()) == (4.0, 8.0)


@pytest.mark.parametrize(
    ("equation", "output_shape", "bias_axes", "shapes"),
    [
        ("...b,bc->...c", (None, 4), "c", [(5, 4), (4,)]),
        ("ab...,bc->ac...", (4, None), "c", [(3, 4), (4, 1)]),
        ("a...b,bc->a...c", (None, 4), None, [(5, 4)]),
    ],
)
def test_dots_of_an_equation_stand_for_dimensions(
    equation: str, output_shape: Any, bias_axes: Any, shapes: Any
) -> None:
    layer = layers.EinsumDense(equation, output_shape, bias_axes=bias_axes)
    x = np.random.default_rng(0).normal(size=(2, 3, 5)).astype("float32")
    outputs = layer(x)
    assert [tuple(variable.shape) for variable in layer.weights] == shapes
    np.testing.assert_allclose(outputs, np.einsum(equation, x, layer.kernel.numpy()), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.Embedding(3, 4, mask_zero=True),
        lambda: layers.LSTM(3, stateful=True),
        lambda: layers.LSTM(3, recurrent_dropout=0.5),
        lambda: layers.UpSampling2D(interpolation="bilinear"),
        lambda: layers.MultiHeadAttention(2, 3, attention_axes=(1, 2)),
        lambda: layers.MultiHeadAttention(2, 3, output_shape=(4, 5)),
        lambda: layers.LSTM(3, time_major=True),
        lambda: layers.Conv2DTranspose(4, 3, groups=2),
        lambda: layers.Layer()(tf.ones([1])),
    ],
)
def test_what_is_not_there_is_refused(make: Any) -> None:
    with pytest.raises(errors.UnimplementedError):
        make()


def test_a_built_layer_refuses_other_sizes() -> None:
    layer = layers.Dense(2, name="fc")
    layer(tf.ones([1, 3]))
    with pytest.raises(ValueError, match=r'Input 0 of layer "fc" is incompatible.*value 3'):
        layer(tf.ones([1, 4]))


def test_a_forgotten_constructor_is_told() -> None:
    class Forgot(layers.Layer):
        def __init__(self) -> None:
            pass

    for use in (
        lambda: Forgot()(tf.ones([1])),
        lambda: Forgot().weights,
        lambda: Forgot().trainable_variables,
        lambda: Forgot().losses,
        lambda: tf.keras.Sequential([Forgot()]),
    ):
        with pytest.raises(RuntimeError, match="super"):
            use()
