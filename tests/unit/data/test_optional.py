"""Optionals: in eager code, and through functions, loops and branches. Messages are TensorFlow 2.21's."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
from situs import errors
from situs.data import Dataset

Optional = tf.experimental.Optional


def test_with_and_without_a_value():
    there = Optional.from_value({"a": [1, 2], "b": (3.0, None)})
    assert isinstance(there, Optional)
    assert bool(there.has_value())
    found = there.get_value()
    assert found["a"].numpy().tolist() == [1, 2]
    assert float(found["b"][0]) == 3.0
    assert found["b"][1] is None
    expected = {"a": tf.TensorSpec([2], tf.int32), "b": (tf.TensorSpec([], tf.float32), None)}
    assert there.element_spec == expected
    empty = Optional.empty(expected)
    assert not bool(empty.has_value())
    assert empty.element_spec == expected
    with pytest.raises(errors.InvalidArgumentError, match="The given optional does not have a value"):
        empty.get_value()
    with pytest.raises(ValueError, match="should not be empty"):
        Optional.from_value({})


def test_specs():
    spec = tf.OptionalSpec(tf.TensorSpec([2], tf.float32))
    value = Optional.from_value(tf.zeros([2]))
    assert tf.OptionalSpec.from_value(value) == spec == tf.type_spec_from_value(value)
    assert isinstance(spec, tf.TypeSpec)
    assert isinstance(value, spec.value_type)
    assert spec.is_compatible_with(value)
    wider = spec.most_specific_common_supertype([tf.OptionalSpec(tf.TensorSpec([3], tf.float32))])
    assert wider == tf.OptionalSpec(tf.TensorSpec([None], tf.float32))
    assert spec.is_subtype_of(wider)
    assert not wider.is_subtype_of(spec)
    assert spec.most_specific_common_supertype([tf.OptionalSpec(tf.TensorSpec([2], tf.int32))]) is None
    assert repr(spec) == "OptionalSpec(TensorSpec(shape=(2,), dtype=tf.float32, name=None))"


def test_a_tape_follows_a_value():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = Optional.from_value(x * x).get_value()
    assert float(tape.gradient(y, x)) == 6.0


def test_arguments_and_results_of_functions(on_device):
    @tf.function
    def add_one(optional):
        return Optional.from_value(optional.get_value() + 1.0), optional, Optional.empty(optional.element_spec)

    given = Optional.from_value(tf.constant([1.0, 2.0]))
    for _ in range(2):
        more, same, none = add_one(given)
        assert more.get_value().numpy().tolist() == [2.0, 3.0]
        assert same.get_value().numpy().tolist() == [1.0, 2.0]
        assert not none.has_value()
    assert add_one.experimental_get_tracing_count() == 1
    add_one(Optional.from_value(tf.constant([1.0])))
    assert add_one.experimental_get_tracing_count() == 2

    @tf.function
    def outer(x):
        return add_one(Optional.from_value(x))[0].get_value() * 10

    assert outer(tf.constant([1.0, 2.0])).numpy().tolist() == [20.0, 30.0]


def test_a_run_fails_where_there_is_no_value():
    @tf.function
    def read(optional):
        return optional.get_value()

    with pytest.raises(errors.InvalidArgumentError, match="The given optional does not have a value"):
        read(Optional.empty(tf.TensorSpec([], tf.float32)))


def test_strings_and_numbers_together():
    @tf.function
    def swap(optional):
        word, number = optional.get_value()
        return Optional.from_value((number * 2, word + "!"))

    number, word = swap(Optional.from_value(("a", tf.constant(1.5)))).get_value()
    assert (float(number), word.numpy()) == (3.0, b"a!")


def test_what_is_returned_stays_when_the_next_run_changes_the_variable():
    count = tf.Variable(0.0)
    state = tf.Variable(tf.zeros([1000]))

    @tf.function
    def step():
        count.assign_add(1.0)
        state.assign_add(tf.ones([1000]))
        return Optional.from_value({"count": count, "state": state.read_value(), "twice": count * 2})

    kept = [step() for _ in range(40)]
    for number, each in enumerate(kept, 1):
        value = each.get_value()
        assert float(value["count"]) == number
        assert float(value["twice"]) == 2 * number
        assert np.all(value["state"].numpy() == number)


def test_branches():
    @tf.function
    def choose(x, elements):
        return tf.cond(x > 0, lambda: Optional.from_value(x), elements.get_next_as_optional)

    elements = iter(Dataset.range(2).map(lambda n: tf.cast(n, tf.float32) + 10))
    made = [choose(tf.constant(value), elements) for value in (1.0, -1.0, -1.0, -1.0)]
    assert [bool(each.has_value()) for each in made] == [True, True, True, False]
    assert [float(each.get_value()) for each in made[:3]] == [1.0, 10.0, 11.0]


def test_branches_with_other_shapes_and_other_elements():
    @tf.function
    def choose(x):
        made = tf.cond(x > 0, lambda: Optional.from_value(tf.zeros([2])), lambda: Optional.from_value(tf.ones([3])))
        assert made.element_spec == tf.TensorSpec([None], tf.float32)
        return made.get_value()

    assert choose(tf.constant(1)).numpy().tolist() == [0.0, 0.0]
    assert choose(tf.constant(-1)).numpy().tolist() == [1.0, 1.0, 1.0]

    @tf.function
    def wrong(x):
        return tf.cond(x > 0, lambda: Optional.from_value(1), lambda: Optional.from_value(1.0))

    with pytest.raises(TypeError, match="OptionalSpec"):
        wrong(tf.constant(1))


def test_python_branches():
    @tf.function
    def choose(x, elements):
        made = Optional.from_value(x)
        if x > 0:
            made = elements.get_next_as_optional()
        return made.get_value()

    elements = iter(Dataset.from_tensor_slices(np.float32([10, 20])))
    assert [float(choose(tf.constant(x), elements)) for x in (-1.0, 1.0, 1.0)] == [-1.0, 10.0, 20.0]


@pytest.mark.parametrize("in_graph", [False, True])
def test_loops(in_graph):
    def run(elements):
        def step(total, optional):
            return total + optional.get_value(), elements.get_next_as_optional()

        first = elements.get_next_as_optional()
        return tf.while_loop(lambda total, o: o.has_value(), step, (tf.constant(0, tf.int64), first))

    total, last = (tf.function(run) if in_graph else run)(iter(Dataset.range(5)))
    assert int(total) == 10
    assert isinstance(last, Optional)
    assert not last.has_value()


@pytest.mark.parametrize("in_graph", [False, True])
def test_a_loop_settles_what_an_optional_holds(in_graph):
    def run(n):
        def step(i, optional):
            return i + 1, Optional.from_value(tf.concat([optional.get_value(), [1.0]], 0))

        return tf.while_loop(lambda i, o: i < n, step, (0, Optional.from_value(tf.zeros([1]))))[1]

    made = (tf.function(run) if in_graph else run)(tf.constant(3))
    assert made.get_value().numpy().tolist() == [0.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("in_graph", [False, True])
def test_a_loop_finds_out_what_an_empty_optional_may_hold(in_graph):
    def run(n):
        def step(i, optional):
            return i + 1, Optional.from_value({"i": i})

        return tf.while_loop(lambda i, o: i < n, step, (0, Optional.empty(None)))[1]

    function = tf.function(run) if in_graph else run
    assert int(function(tf.constant(3)).get_value()["i"]) == 2
    assert not function(tf.constant(0)).has_value()


def test_a_loop_keeps_the_dtype_of_what_an_optional_holds():
    @tf.function
    def run():
        first = Optional.from_value(1.0)
        return tf.while_loop(lambda o: True, lambda o: Optional.from_value(1), [first])

    with pytest.raises(ValueError, match="OptionalSpec"):
        run()


def test_what_an_empty_optional_may_hold_must_be_known_to_read_it():
    @tf.function
    def run():
        return Optional.empty(None).get_value()

    with pytest.raises(errors.InvalidArgumentError, match="element_spec"):
        run()


def test_several_steps_of_training_in_one_call():
    """What Keras does with ``steps_per_execution``: figures of TensorFlow 2.21."""
    seen, steps = tf.Variable(0.0), 3

    @tf.function
    def one(data):
        seen.assign_add(tf.reduce_sum(data))
        return {"loss": tf.reduce_sum(data), "seen": seen}

    @tf.function
    def several(elements):
        empty = Optional.empty(None)

        def more(i, outputs, inputs):
            return tf.logical_and(i < steps, inputs.has_value())

        def step(i, outputs, inputs):
            def run():
                made = Optional.from_value(one(inputs.get_value()))
                empty._element_spec = made.element_spec
                return made

            def stop():
                outputs._element_spec = empty._element_spec
                return outputs

            made = tf.cond(more(i, outputs, inputs), run, stop)
            after = tf.cond(i + 1 < steps, elements.get_next_as_optional, lambda: inputs)
            return i + 1, made, after

        start = [tf.constant(0), empty, elements.get_next_as_optional()]
        return tf.while_loop(more, step, start)[1]

    ds = Dataset.from_tensor_slices(np.arange(10, dtype=np.float32)).batch(2)
    for epoch in range(2):
        elements = iter(ds)
        logs = [several(elements) for _ in range(3)]
        assert [bool(each.has_value()) for each in logs] == [True, True, False]
        found = [{name: float(x) for name, x in each.get_value().items()} for each in logs[:2]]
        before = 45.0 * epoch
        assert found == [{"loss": 9.0, "seen": before + 15}, {"loss": 17.0, "seen": before + 45}]
    assert several.experimental_get_tracing_count() == 1


def test_elements_with_optionals():
    """Keras has them where a generator yields None."""

    def elements():
        yield 1.0, Optional.empty(None)
        yield 2.0, Optional.from_value(tf.constant([5]))

    signature = (tf.TensorSpec([]), tf.OptionalSpec(tf.TensorSpec([1], tf.int32)))
    ds = Dataset.from_generator(elements, output_signature=signature).prefetch(1)
    assert ds.element_spec == signature
    (x, empty), (y, there) = ds
    assert (float(x), bool(empty.has_value())) == (1.0, False)
    assert (float(y), there.get_value().numpy().tolist()) == (2.0, [5])

    @tf.function
    def read(iterator):
        number, optional = iterator.get_next()
        return tf.cond(optional.has_value(), lambda: optional.get_value()[0], lambda: 0) + tf.cast(number, tf.int32)

    iterator = iter(ds)
    assert [int(read(iterator)), int(read(iterator))] == [1, 7]
    assert [int(n) for n in ds.map(lambda x, o: tf.cast(o.has_value(), tf.int32))] == [0, 1]
    unknown = Dataset.from_generator(elements, output_signature=(tf.TensorSpec([]), tf.OptionalSpec(None)))
    assert [bool(o.has_value()) for _, o in unknown] == [False, True]
    wrong = Dataset.from_generator(lambda: iter([(1.0, 2.0)]), output_signature=signature)
    with pytest.raises(TypeError, match="did not match the expected structure"):
        next(iter(wrong))
