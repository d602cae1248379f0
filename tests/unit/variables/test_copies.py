"""Copies and pickles of what holds state. What is expected is what TensorFlow 2.21 does."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as tf1

HOW = {"pickle": lambda value: pickle.loads(pickle.dumps(value)), "deepcopy": copy.deepcopy}


@pytest.fixture(params=list(HOW))
def copied(request):
    return HOW[request.param]


def clipped(value):
    return tf.clip_by_value(value, 0.0, 1.0)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [([1.0, -2.0], tf.float32), (3, tf.int32), (["a", "ü"], tf.string), ([1.5], tf.bfloat16), ([True], tf.bool)],
)
def test_a_variable_is_copied_with_all_it_has(copied, value, dtype):
    v = tf.Variable(value, trainable=False, name="v", dtype=dtype, constraint=clipped)
    w = copied(v)
    assert type(w) is tf.Variable
    assert (w.name, w.dtype, w.shape, w.trainable, w.constraint) == ("v:0", dtype, v.shape, False, clipped)
    assert np.array_equal(w.numpy(), v.numpy())


def test_a_copy_lives_for_itself(copied):
    v = tf.Variable([1.0, 2.0])
    w = copied(v)
    v.assign([5.0, 6.0])
    w.assign_add([1.0, 1.0])
    assert v.numpy().tolist() == [5.0, 6.0]
    assert w.numpy().tolist() == [2.0, 3.0]
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(w * w)
    assert tape.gradient(y, w).numpy().tolist() == [4.0, 6.0]


def test_an_open_shape_stays_open(copied):
    v = copied(tf.Variable([1.0], shape=[None]))
    v.assign([1.0, 2.0])
    assert v.shape.as_list() == [None]


def test_a_deepcopy_stays_on_its_device_and_a_pickle_goes_where_it_is_read():
    with tf.device("/cpu:0"):
        v = tf.Variable(1.0)
    with tf.device("/gpu:1"):
        assert copy.deepcopy(v).device.endswith("CPU:0")
        assert pickle.loads(pickle.dumps(v)).device.endswith("GPU:1")


def test_a_shallow_copy_of_a_variable_is_the_variable():
    v = tf.Variable(1.0)
    assert copy.copy(v) is v


def test_a_variable_that_stands_twice_in_a_structure_is_copied_once(copied):
    v = tf.Variable(1.0)
    first, second = copied([v, v])
    assert first is second
    assert first is not v


@pytest.mark.parametrize("take", [copy.deepcopy, pickle.dumps])
def test_a_function_refuses_to_copy_variables(take):
    v = tf.Variable(1.0)

    @tf.function
    def traced():
        take(v)

    with pytest.raises(NotImplementedError, match="only available when eager execution is enabled"):
        traced()


@pytest.mark.parametrize("take", [copy.deepcopy, pickle.dumps])
def test_what_belongs_to_graphs_refuses_in_words(take):
    with tf1.Graph().as_default() as graph:
        v = tf1.get_variable("v", [2])
        assert copy.copy(v) is v
        with pytest.raises(TypeError, match="the variable v:0: it belongs to a graph"):
            take(v)
        with pytest.raises(TypeError, match="copy a Session"), tf1.Session() as session:
            take(session)
    with pytest.raises(TypeError, match="copy a Graph: graph"):
        take(graph)


@pytest.mark.parametrize("take", [copy.deepcopy, pickle.dumps])
def test_a_dataset_refuses_in_words(take):
    dataset = tf.data.Dataset.range(3).map(lambda x: x + 1)
    assert list(copy.copy(dataset).as_numpy_iterator()) == [1, 2, 3]
    with pytest.raises(TypeError, match="copy a Dataset: it holds functions"):
        take(dataset)


def test_a_generator_goes_on_where_it_was(copied):
    generator = tf.random.Generator.from_seed(3, alg="philox")
    generator.normal([2])
    other = copied(generator)
    assert (other.state.numpy() == generator.state.numpy()).all()
    assert other.algorithm == generator.algorithm
    drawn = generator.normal([5]).numpy()
    assert (other.normal([5]).numpy() == drawn).all()
    assert (other.normal([5]).numpy() != drawn).all()


class Net(tf.Module):
    """A module with a function, a generator and a list of variables."""

    def __init__(self):
        super().__init__(name="net")
        self.w = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="w")
        self.rest = [tf.Variable(5.0, trainable=False, name="b")]
        self.generator = tf.random.Generator.from_seed(1)

    @tf.function
    def __call__(self, x):
        return tf.matmul(x, self.w) + self.rest[0]


@tf.keras.utils.register_keras_serializable()
class Head(tf.keras.Model):
    """A model of the program's own."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.inner = tf.keras.layers.Dense(3, activation="relu")
        self.norm = tf.keras.layers.BatchNormalization()

    def call(self, x, training=False):
        return self.norm(self.inner(x), training=training)


def models():
    head = Head()
    head(tf.ones([2, 2]), training=True)
    layers = [tf.keras.layers.Input((2,)), tf.keras.layers.Dense(3, "tanh"), tf.keras.layers.Dropout(0.5)]
    return {"module": Net(), "model": head, "sequential": tf.keras.Sequential(layers)}


@pytest.mark.parametrize("name", ["module", "model", "sequential"])
@pytest.mark.parametrize("called", [False, True])
def test_models_are_copied_with_their_variables(copied, name, called):
    model, x = models()[name], tf.constant([[1.0, 2.0]])
    if called:
        model(x)
    other = copied(model)
    assert type(other) is type(model)
    assert other.name == model.name
    assert [v.trainable for v in other.variables] == [v.trainable for v in model.variables]
    assert (other(x).numpy() == model(x).numpy()).all()
    before = model(x).numpy()
    for variable in other.trainable_variables:
        variable.assign(variable.numpy() + 1)
    assert (model(x).numpy() == before).all()
    assert (other(x).numpy() != before).any()


OPTIMIZERS = {
    "adam": lambda: tf.keras.optimizers.Adam(0.1, beta_1=0.8, clipnorm=1.0, name="mine"),
    "schedule": lambda: tf.keras.optimizers.SGD(tf.keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9), 0.5),
    "scaled": lambda: tf.keras.optimizers.LossScaleOptimizer(tf.keras.optimizers.RMSprop(0.2)),
}


@pytest.mark.parametrize("name", list(OPTIMIZERS))
def test_an_optimizer_is_copied_by_its_arguments(copied, name):
    optimizer = OPTIMIZERS[name]()
    other = copied(optimizer)
    assert type(other) is type(optimizer)
    assert other.get_config() == optimizer.get_config()
    v, w = tf.Variable([1.0, 2.0]), tf.Variable([1.0, 2.0])
    optimizer.apply_gradients([(tf.constant([0.5, -1.0]), v)])
    other.apply_gradients([(tf.constant([0.5, -1.0]), w)])
    assert (v.numpy() == w.numpy()).all()
