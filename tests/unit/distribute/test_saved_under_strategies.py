"""Modules whose variables are a strategy's, saved and loaded: as in TensorFlow, what is saved is of one replica."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf

DEVICES = ["GPU:0", "GPU:1"]


@pytest.fixture
def strategy():
    return tf.distribute.MirroredStrategy(DEVICES)


class Draws(tf.Module):
    """A generator, as in TensorFlow's guide to random numbers."""

    def __init__(self):
        super().__init__()
        self.g = tf.random.Generator.from_seed(0)

    @tf.function
    def __call__(self):
        return self.g.normal([])

    @tf.function
    def state(self):
        return self.g.state


def test_a_generator_goes_on_from_its_saved_state(strategy, tmp_path):
    with strategy.scope():
        module = Draws()
        first = strategy.experimental_local_results(strategy.run(module))
        assert [float(each) for each in first] == pytest.approx([-1.4154755, -0.11388441], abs=1e-6)
        assert module.state().numpy().tolist() == [256, 0, 0]
        tf.saved_model.save(module, str(tmp_path))
        second = strategy.experimental_local_results(strategy.run(module))
        assert [float(each) for each in second] == pytest.approx([-0.68758255, 0.8084062], abs=1e-6)
    loaded = tf.saved_model.load(str(tmp_path))
    assert loaded.state().numpy().tolist() == [256, 0, 0]
    assert [float(loaded()), float(loaded())] == pytest.approx([-1.0359411, -0.064250775], abs=1e-6)
    assert loaded.state().numpy().tolist() == [768, 0, 0]


def test_a_generator_without_a_strategy(tmp_path):
    module = Draws()
    expected = tf.random.Generator.from_seed(0)
    module(), module.state()
    expected.normal([])
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    assert float(loaded()) == float(expected.normal([])) == float(module())


class Line(tf.Module):
    """Variables of both kinds, changed and read by functions."""

    def __init__(self):
        super().__init__()
        self.w = tf.Variable([2.0, 3.0])
        self.seen = tf.Variable(
            0.0,
            synchronization=tf.VariableSynchronization.ON_READ,
            aggregation=tf.VariableAggregation.SUM,
            trainable=False,
        )

    @tf.function(input_signature=[tf.TensorSpec([2])])
    def predict(self, x):
        return tf.reduce_sum(self.w * x)

    @tf.function
    def count(self, x):
        self.seen.assign_add(tf.reduce_sum(x))
        self.w.assign(self.w + 1.0)
        return self.seen.read_value()


def test_variables_of_a_strategy_in_functions_and_signatures(strategy, tmp_path):
    with strategy.scope():
        module = Line()
        strategy.run(module.count, args=(tf.constant([1.0, 2.0]),))
        tf.saved_model.save(module, str(tmp_path), signatures=module.predict)
    loaded = tf.saved_model.load(str(tmp_path))
    assert float(loaded.predict([1.0, 1.0])) == 7.0
    assert float(loaded.signatures["serving_default"](x=tf.constant([1.0, 0.0]))["output_0"]) == 3.0
    assert float(loaded.seen) == 6.0  # what both replicas have seen
    assert float(loaded.count(tf.constant([1.0, 1.0]))) == 8.0
    np.testing.assert_array_equal(loaded.w, [4.0, 5.0])
    assert all(float(part) == 3.0 for part in module.seen.values)
    with strategy.scope():  # the functions of the program are as they were
        strategy.run(module.count, args=(tf.constant([1.0, 0.0]),))
    assert [float(part) for part in module.seen.values] == [4.0, 4.0]
    np.testing.assert_array_equal(module.w.values[1], [4.0, 5.0])


def test_saving_twice_and_changing_between(strategy, tmp_path):
    with strategy.scope():
        module = Line()
        tf.saved_model.save(module, str(tmp_path / "one"))
        module.w.assign([10.0, 10.0])
        tf.saved_model.save(module, str(tmp_path / "two"))
    sums = [float(tf.saved_model.load(str(tmp_path / name)).predict([1.0, 1.0])) for name in ("one", "two")]
    assert sums == [5.0, 20.0]
    assert [float(part[0]) for part in module.w.values] == [10.0, 10.0]


def test_loaded_in_a_scope_the_variables_are_a_strategys(strategy, tmp_path):
    with strategy.scope():
        module = Line()
        module.predict(tf.constant([1.0, 1.0]))
        tf.saved_model.save(module, str(tmp_path))
        loaded = tf.saved_model.load(str(tmp_path))
    assert len(loaded.w.values) == 2


def test_a_graph_of_another_replica_cannot_be_saved(strategy, tmp_path):
    with strategy.scope():
        module = Line()
        parts = module.w.values
        module.alone = tf.function(lambda: parts[1] * 1.0).get_concrete_function()
        with pytest.raises(AssertionError, match="untracked"):
            tf.saved_model.save(module, str(tmp_path))
