"""Composite values of a program's own, by TensorFlow's protocol, in functions, branches and loops."""

from __future__ import annotations

import pytest

import situs as tf
from situs._src.tracing.type_spec import CompositeTensor


class Masked(CompositeTensor):
    """Values, which of them count, and a word that says what they are."""

    def __init__(self, values, mask, unit):
        self.values, self.mask, self.unit = values, mask, unit

    @property
    def _type_spec(self):
        return MaskedSpec(tf.type_spec_from_value(self.values), self.unit)


class MaskedSpec(tf.TypeSpec):
    value_type = Masked

    def __init__(self, values, unit):
        self.values, self.unit = values, unit

    @property
    def _component_specs(self):
        return {"values": self.values, "mask": tf.TensorSpec(self.values.shape, tf.bool)}

    def _to_components(self, value):
        return {"values": value.values, "mask": value.mask}

    def _from_components(self, components):
        return Masked(components["values"], components["mask"], self.unit)

    def _serialize(self):
        return self.values, self.unit


def masked(*values, unit="m"):
    return Masked(tf.constant(values), tf.constant(values) > 0, unit)


def contents(value):
    return value.values.numpy().tolist(), value.mask.numpy().tolist(), value.unit


def test_arguments_and_results():
    @tf.function
    def doubled(given, extra):
        assert isinstance(given["x"], Masked)
        return Masked(given["x"].values * 2 + extra, given["x"].mask, given["x"].unit), given["x"]

    for _ in range(2):
        made, same = doubled({"x": masked(1.0, -1.0)}, 1.0)
        assert contents(made) == ([3.0, -1.0], [True, False], "m")
        assert contents(same) == ([1.0, -1.0], [True, False], "m")
    assert doubled.experimental_get_tracing_count() == 1
    assert contents(doubled({"x": masked(1.0, -1.0, unit="s")}, 1.0)[0])[2] == "s"
    assert doubled.experimental_get_tracing_count() == 2

    @tf.function
    def outer(x):
        return doubled({"x": Masked(x, x > 0, "kg")}, 0.0)[0]

    assert contents(outer(tf.constant([5.0]))) == ([10.0], [True], "kg")


def test_a_tape_goes_through():
    @tf.function
    def scaled(given):
        return Masked(given.values * given.values, given.mask, given.unit)

    x = tf.constant([2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        made = scaled(Masked(x, x > 0, "m"))
        total = tf.reduce_sum(made.values)
    assert tape.gradient(total, x).numpy().tolist() == [4.0, 6.0]


def test_branches_and_loops():
    @tf.function
    def run(given, n):
        flipped = tf.cond(n > 1, lambda: Masked(-given.values, given.mask, given.unit), lambda: given)

        def step(i, value):
            return i + 1, Masked(value.values * 2, value.mask, value.unit)

        return tf.while_loop(lambda i, value: i < n, step, (0, flipped))[1]

    assert contents(run(masked(1.0, -1.0), tf.constant(1))) == ([2.0, -2.0], [True, False], "m")
    assert contents(run(masked(1.0, -1.0), tf.constant(3))) == ([-8.0, 8.0], [True, False], "m")


def test_python_branches_and_loops():
    @tf.function
    def run(given, n):
        value = given
        for _ in tf.range(n):
            value = Masked(value.values + 1, value.mask, value.unit)
        if n > 2:
            value = Masked(-value.values, value.mask, value.unit)
        return value

    assert contents(run(masked(1.0), tf.constant(2))) == ([3.0], [True], "m")
    assert contents(run(masked(1.0), tf.constant(3))) == ([-4.0], [True], "m")


def test_branches_that_differ_in_what_is_no_tensor():
    @tf.function
    def run(given):
        return tf.cond(given.mask[0], lambda: given, lambda: Masked(given.values, given.mask, "s"))

    with pytest.raises(TypeError, match="MaskedSpec"):
        run(masked(1.0))


def test_a_loop_must_keep_what_is_no_tensor():
    @tf.function
    def run(given):
        return tf.while_loop(lambda x: True, lambda x: Masked(x.values, x.mask, "s"), [given])

    with pytest.raises(ValueError, match="MaskedSpec"):
        run(masked(1.0))

    @tf.function
    def other_class(given):
        return tf.while_loop(lambda x: True, lambda x: (x.values, x.mask), [given])

    with pytest.raises(ValueError, match="same nested structure"):
        other_class(masked(1.0))


def test_an_input_signature():
    @tf.function(input_signature=[MaskedSpec(tf.TensorSpec([None]), "m")])
    def total(given):
        return tf.reduce_sum(tf.boolean_mask(given.values, given.mask))

    assert float(total(masked(1.0, 2.0))) == 3.0
    assert float(total(masked(1.0, 2.0, -3.0))) == 3.0
    assert total.experimental_get_tracing_count() == 1
    with pytest.raises(TypeError, match="MaskedSpec"):
        total(masked(1.0, unit="s"))
    with pytest.raises(TypeError):
        total(tf.constant([1.0]))


def test_nests():
    value = masked(1.0, -1.0)
    assert len(tf.nest.flatten(value)) == 1
    flat = tf.nest.flatten([value, 3], expand_composites=True)
    assert [type(x).__name__ for x in flat] == ["EagerTensor", "EagerTensor", "int"]
    made = tf.nest.pack_sequence_as([value, 3], [flat[0], flat[1] * 1.0 + 1.0, 4], expand_composites=True)
    assert contents(made[0]) == ([2.0, 0.0], [True, False], "m")
    assert made[1] == 4


def test_what_specs_have_in_common():
    one, other = MaskedSpec(tf.TensorSpec([2]), "m"), MaskedSpec(tf.TensorSpec([3]), "m")
    wide = MaskedSpec(tf.TensorSpec([None]), "m")
    assert one.most_specific_common_supertype([other]) == wide
    assert one.is_subtype_of(wide)
    assert not wide.is_subtype_of(one)
    assert one.most_specific_common_supertype([MaskedSpec(tf.TensorSpec([2]), "s")]) is None
    assert wide.is_compatible_with(masked(1.0))
    assert not wide.is_compatible_with(masked(1.0, unit="s"))
    assert not wide.is_compatible_with(tf.constant(1.0))
    assert hash(MaskedSpec(tf.TensorSpec([2]), "m")) == hash(one)
    with pytest.raises(ValueError, match="No TypeSpec is compatible"):
        one.most_specific_compatible_type(tf.TensorSpec([2]))
