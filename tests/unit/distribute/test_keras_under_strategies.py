"""Keras' `fit` under strategies: one device, two and four replicas train alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import situs as tf

X = np.random.default_rng(0).normal(size=(64, 3)).astype("float32")
Y = X.sum(1, keepdims=True)
STRATEGIES = {
    "one device": lambda: tf.distribute.OneDeviceStrategy("/gpu:1"),
    "two replicas": lambda: tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"]),
    "four replicas": tf.distribute.MirroredStrategy,  # the virtual GPUs of these tests
    "CPU and GPU": lambda: tf.distribute.MirroredStrategy(["/cpu:0", "/gpu:0"]),
    "central": lambda: tf.distribute.experimental.CentralStorageStrategy(["/gpu:0", "/gpu:1"]),
}


def trained(strategy: Any, optimizer: Any, **options: Any) -> tuple[Any, dict[str, list[float]]]:
    with strategy.scope():
        tf.keras.utils.set_random_seed(0)
        parts = [tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)]
        model = tf.keras.Sequential([tf.keras.Input((3,)), *parts])
        model.compile(optimizer(), "mse", metrics=["mae"], **options)
    return model, model.fit(X, Y, batch_size=16, epochs=2, verbose=0, shuffle=False).history


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("kind", ["Adam", "SGD"])
def test_the_same_losses(name: str, kind: str) -> None:
    optimizer = lambda: getattr(tf.keras.optimizers, kind)(0.05)  # noqa: E731
    plain, wanted = trained(tf.distribute.get_strategy(), optimizer)
    model, found = trained(STRATEGIES[name](), optimizer)
    for key, values in wanted.items():
        np.testing.assert_allclose(found[key], values, rtol=1e-5)
    for a, b in zip(model.get_weights(), plain.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.predict(X, verbose=0), plain.predict(X, verbose=0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.evaluate(X, Y, verbose=0), plain.evaluate(X, Y, verbose=0), rtol=1e-4)


def test_components_stay_the_same() -> None:
    model, _ = trained(STRATEGIES["two replicas"](), lambda: tf.keras.optimizers.Adam(0.05))
    for variable in [*model.trainable_variables, *model.optimizer._momentums]:
        first, second = variable.value.values
        np.testing.assert_array_equal(first.numpy(), second.numpy())
        assert (first.device[-5:], second.device[-5:]) == ("GPU:0", "GPU:1")


def test_step_by_step() -> None:
    _, wanted = trained(tf.distribute.get_strategy(), lambda: tf.keras.optimizers.Adam(0.05))
    _, found = trained(STRATEGIES["two replicas"](), lambda: tf.keras.optimizers.Adam(0.05), run_eagerly=True)
    np.testing.assert_allclose(found["loss"], wanted["loss"], rtol=1e-5)


@pytest.mark.parametrize("name", ["two replicas", "four replicas"])
@pytest.mark.parametrize("eagerly", [False, True])
def test_a_normalization_over_all_replicas_is_one_over_the_whole_batch(name: str, eagerly: bool) -> None:
    def fitted(strategy: Any, **options: Any) -> list[Any]:
        with strategy.scope():
            tf.keras.utils.set_random_seed(0)
            normal = tf.keras.layers.BatchNormalization(synchronized=True)
            parts = [tf.keras.layers.Dense(4), normal, tf.keras.layers.Dense(1)]
            model = tf.keras.Sequential([tf.keras.Input((3,)), *parts])
            model.compile(tf.keras.optimizers.SGD(0.2), "mse", **options)
        losses = model.fit(X, Y**2, batch_size=32, epochs=2, verbose=0, shuffle=False).history["loss"]
        return [*losses, *model.get_weights()]

    wanted = fitted(tf.distribute.get_strategy())
    for one, other in zip(fitted(STRATEGIES[name](), run_eagerly=eagerly), wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


def test_half_precision() -> None:
    """The losses of TensorFlow 2.21 on two devices, whose first two steps overflow and are skipped."""
    policies = tf.keras.mixed_precision
    policies.set_global_policy("mixed_float16")
    try:
        with STRATEGIES["two replicas"]().scope():
            parts = [tf.keras.layers.Dense(4), tf.keras.layers.Dense(1, dtype="float32")]
            model = tf.keras.Sequential([tf.keras.Input((3,)), *parts])
            model.set_weights([np.ones((3, 4)), np.zeros(4), np.ones((4, 1)), np.zeros(1)])
            model.compile("adam", "mse")
    finally:
        policies.set_global_policy("float32")
    history = model.fit(np.ones((8, 3)), np.ones((8, 1)), epochs=3, batch_size=4, verbose=0).history
    np.testing.assert_allclose(history["loss"], [121.0, 121.0, 119.97270202636719], rtol=1e-5)


@pytest.mark.parametrize("name", ["two replicas", "four replicas"])
@pytest.mark.parametrize("eagerly", [False, True])
def test_a_step_in_which_one_replica_overflows_is_skipped_by_all(name: str, eagerly: bool) -> None:
    strategy = STRATEGIES[name]()
    with strategy.scope():
        v = tf.Variable(1.0)
        optimizer = tf.keras.optimizers.LossScaleOptimizer(tf.keras.optimizers.SGD(0.25), initial_scale=8.0)
        optimizer.build([v])

    def step(x: Any) -> None:
        with tf.GradientTape() as tape:
            loss = optimizer.scale_loss(v * x)
        optimizer.apply_gradients([(tape.gradient(loss, v), v)])

    def run(x: Any) -> None:
        strategy.run(step, (x,))

    train = run if eagerly else tf.function(run)
    last, found = strategy.num_replicas_in_sync - 1, []
    for value in (1.0, np.inf, 1.0):
        values = [value if number == last else 0.0 for number in range(last + 1)]
        train(
            strategy.experimental_distribute_values_from_function(
                lambda place, values=values: tf.constant(values[place.replica_id_in_sync_group])
            )
        )
        components = strategy.experimental_local_results(v)
        assert len({float(each) for each in components}) == 1
        found.append((float(components[0]), float(optimizer.dynamic_scale), int(optimizer.step_counter)))
    assert found == [(0.75, 8.0, 1), (0.75, 4.0, 0), (0.5, 4.0, 1)]


def test_a_loop_of_ones_own() -> None:
    strategy = STRATEGIES["two replicas"]()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1)])
        optimizer = tf.keras.optimizers.SGD(0.2)
    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices((X, Y)).batch(32))

    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            each = tf.reduce_sum(tf.square(model(x) - y), axis=-1)
            loss = tf.nn.compute_average_loss(each, global_batch_size=32)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    @tf.function
    def train(x: Any, y: Any) -> Any:
        return strategy.reduce("SUM", strategy.run(step, (x, y)))

    losses = [float(train(x, y)) for _ in range(10) for x, y in dataset]
    assert losses[-1] < 1e-2 < losses[0]


def test_the_documented_program() -> None:
    """With an optimizer of TensorFlow 1, as it was written."""
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        inputs = tf.keras.layers.Input(shape=(1,))
        predictions = tf.keras.layers.Dense(1)(inputs)
        model = tf.keras.models.Model(inputs=inputs, outputs=predictions)
        model.compile(loss="mse", optimizer=tf.train.GradientDescentOptimizer(learning_rate=0.2))
    x = np.linspace(-1, 1, 64, dtype=np.float32)[:, None]
    history = model.fit(x, 2 * x, batch_size=32, epochs=20, verbose=0).history
    assert history["loss"][-1] < 1e-3


@pytest.mark.parametrize(
    ("older", "wanted"),
    [
        (lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True), ("SGD", {"momentum": 0.9, "nesterov": True})),
        (lambda: tf.train.AdamOptimizer(0.1, epsilon=1e-4), ("Adam", {"epsilon": 1e-4, "beta_1": 0.9})),
        (lambda: tf.train.RMSPropOptimizer(0.1, centered=True), ("RMSprop", {"rho": 0.9, "centered": True})),
        (lambda: tf.train.AdagradOptimizer(0.1), ("Adagrad", {"initial_accumulator_value": 0.1})),
        (lambda: tf.train.AdadeltaOptimizer(0.1), ("Adadelta", {"rho": 0.95})),
    ],
)
def test_optimizers_of_tensorflow_1_are_taken_by_compile(older: Any, wanted: tuple[str, dict[str, Any]]) -> None:
    model = tf.keras.Sequential([tf.keras.Input((1,)), tf.keras.layers.Dense(1)])
    model.compile(older(), "mse")
    assert type(model.optimizer).__name__ == wanted[0]
    assert float(model.optimizer.learning_rate) == pytest.approx(0.1)
    config = model.optimizer.get_config()
    assert {key: config[key] for key in wanted[1]} == pytest.approx(wanted[1])


def test_an_optimizer_that_keras_has_not() -> None:
    model = tf.keras.Sequential([tf.keras.Input((1,)), tf.keras.layers.Dense(1)])
    with pytest.raises(NotImplementedError, match="FtrlOptimizer"):
        model.compile(tf.train.FtrlOptimizer(0.1), "mse")
