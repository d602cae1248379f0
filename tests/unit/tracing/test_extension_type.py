"""``tf.experimental.ExtensionType``: values of a program's own, through functions, branches, loops and datasets."""

import copy
import pickle
import typing
from collections.abc import Mapping

import numpy as np
import pytest

import situs as tf
from situs._src.tracing.extension_type import name_of_spec, named_spec


class Masked(tf.experimental.BatchableExtensionType):
    """Values of which some are hidden."""

    __name__ = "tests.Masked"
    values: tf.Tensor
    mask: tf.Tensor
    label: str = "plain"

    def filled(self, other):
        return tf.where(self.mask, self.values, other)


class Outer(tf.experimental.ExtensionType):
    parts: tuple[Masked, ...]
    table: Mapping[str, tf.Tensor]
    scale: tf.Tensor | None = None
    size: tf.TensorShape = tf.TensorShape([1])
    kind: typing.Literal["a", "b"] = "a"
    of: tf.DType = tf.int32
    weight: float | str = 1.0
    row: tf.TensorSpec([None], tf.float32) = (1.0,)


class Length(tf.experimental.ExtensionType):
    """Has a constructor of its own."""

    number: tf.Tensor
    doubled: tf.Tensor

    def __init__(self, number):
        self.number = number
        self.doubled = number * 2


class Span(tf.experimental.ExtensionType):
    start: int
    end: int

    def __validate__(self):
        if self.start > self.end:
            raise ValueError("A span begins before it ends.")


class Chain(tf.experimental.ExtensionType):
    value: tf.Tensor
    rest: typing.Optional["Chain"] = None


M = Masked([1, 2], [True, False])


def plain(masked):
    return masked.values.numpy().tolist(), masked.mask.numpy().tolist(), masked.label


def test_fields():
    assert plain(M) == ([1, 2], [True, False], "plain")
    assert M.values.dtype is tf.int32
    assert plain(Masked(mask=[True], values=[3.0], label="x")) == ([3.0], [True], "x")
    assert repr(Span(1, end=2)) == "Span(start=1, end=2)"


def test_all_sorts_of_fields():
    outer = Outer([M, M], {"a": [1.0, 2.0]}, of="float32", weight=2)
    assert [plain(part) for part in outer.parts] == [plain(M)] * 2
    assert outer.table["a"].numpy().tolist() == [1.0, 2.0]
    assert (outer.scale, outer.size, outer.kind, outer.of) == (None, tf.TensorShape([1]), "a", tf.float32)
    assert outer.weight == 2.0
    assert Outer((), {}, weight="w", kind="b").weight == "w"
    assert Outer((), {}, scale=3).scale.numpy() == 3
    with pytest.raises(TypeError, match="does not change"):
        outer.table["b"] = 1


def test_a_constructor_of_ones_own():
    assert Length(tf.constant(3)).doubled.numpy() == 6


def test_a_class_may_name_itself():
    chain = Chain(1, Chain(2))
    assert tf.function(lambda c: c.value + c.rest.value)(chain).numpy() == 3


def test_values_are_checked_when_they_are_made():
    assert Span(1, 2).end == 2
    with pytest.raises(ValueError, match="A span begins before it ends"):
        Span(2, 1)


def test_equality():
    assert bool(Masked([1, 2], [True, False]) == M)
    assert not bool(Masked([1, 3], [True, False]) == M)
    assert bool(Masked([1, 3], [True, False]) != M)
    assert (Masked([1, 2], [True, False], "other") == M) is False
    assert (M == 3) is False
    assert Span(1, 2) == Span(1, 2)
    with pytest.raises(TypeError, match="unhashable"):
        hash(M)


def test_kinds():
    spec = Masked.Spec(tf.TensorSpec([2], tf.int32), tf.TensorSpec([2], tf.bool), "plain")
    assert tf.type_spec_from_value(M) == spec == Masked.Spec.from_value(M)
    assert spec.value_type is Masked
    assert spec.values == tf.TensorSpec([2], tf.int32)
    wide = Masked.Spec(tf.TensorSpec([None], tf.int32), tf.TensorSpec([None], tf.bool), "plain")
    assert wide.is_compatible_with(M)
    assert not spec.is_compatible_with(Masked([1], [True]))
    assert spec.most_specific_common_supertype([tf.type_spec_from_value(Masked([1], [True]))]) == wide
    assert hash(spec) == hash(Masked.Spec.from_value(M))
    assert (named_spec("tests.Masked"), name_of_spec(Masked.Spec)) == (Masked.Spec, "tests.Masked")


def test_functions():
    traced = tf.function(lambda m: Masked(m.values * 2, m.mask, m.label + "!"))
    assert plain(traced(M)) == ([2, 4], [True, False], "plain!")
    assert plain(traced(Masked([3, 4], [True, True]))) == ([6, 8], [True, True], "plain!")
    assert traced.experimental_get_tracing_count() == 1
    traced(Masked([3, 4], [True, True], "other"))
    assert traced.experimental_get_tracing_count() == 2
    wide = Masked.Spec(tf.TensorSpec([None], tf.int32), tf.TensorSpec([None], tf.bool), "plain")
    signed = tf.function(lambda m: m.filled(0), input_signature=[wide])
    assert signed(Masked([1, 2, 3], [True, False, True])).numpy().tolist() == [1, 0, 3]
    outer = Outer([M], {"a": 1.0, "b": [2.0]})
    found = tf.function(lambda o: o)(outer)
    assert isinstance(found, Outer)
    assert sorted(found.table) == ["a", "b"]
    assert plain(found.parts[0]) == plain(M)


def test_branches_and_loops():
    @tf.function
    def chosen(first, m):
        return tf.cond(first, lambda: m, lambda: Masked(m.values * 0, m.mask, m.label))

    assert plain(chosen(tf.constant(True), M)) == plain(M)
    assert plain(chosen(tf.constant(False), M))[0] == [0, 0]

    @tf.function
    def looped(m, n):
        for _ in tf.range(n):
            m = Masked(m.values + 1, m.mask, m.label)
        return m

    assert plain(looped(M, tf.constant(3)))[0] == [4, 5]
    _, found = tf.while_loop(
        lambda i, m: i < 3, lambda i, m: (i + 1, Masked(m.values * 2, m.mask, m.label)), (tf.constant(0), M)
    )
    assert plain(found)[0] == [8, 16]


def test_datasets():
    rows = tf.data.Dataset.from_tensor_slices(Masked([[1, 2], [3, 4], [5, 6]], [[True, False]] * 3))
    assert rows.element_spec == tf.type_spec_from_value(M)
    assert [plain(row)[0] for row in rows] == [[1, 2], [3, 4], [5, 6]]
    batches = rows.batch(2)
    assert batches.element_spec.values == tf.TensorSpec([None, 2], tf.int32)
    assert [plain(batch)[0] for batch in batches] == [[[1, 2], [3, 4]], [[5, 6]]]
    assert [x.numpy().tolist() for x in batches.map(lambda m: m.filled(-1))] == [[[1, -1], [3, -1]], [[5, -1]]]
    assert plain(next(iter(tf.data.Dataset.from_tensors(M)))) == plain(M)
    both = rows.map(lambda m: (m, m.values + 1)).batch(3)
    assert plain(next(iter(both))[0])[0] == [[1, 2], [3, 4], [5, 6]]


class Network(tf.experimental.BatchableExtensionType):
    shape: tf.TensorShape
    work: tf.Tensor

    def __init__(self, work):
        self.work = tf.convert_to_tensor(work)
        self.shape = self.work.shape[:-1]


class Labelled(tf.experimental.BatchableExtensionType):
    network: Network
    label: tf.Tensor


def test_shapes_among_the_fields_follow_the_tensors():
    rows = tf.data.Dataset.from_tensor_slices(Network([[1.0, 2.0], [3.0, 4.0]]))
    assert [(each.shape, each.work.numpy().tolist()) for each in rows] == [([], [1.0, 2.0]), ([], [3.0, 4.0])]
    assert rows.batch(2).element_spec.shape.as_list() == [None]


def test_rows_of_values_in_values():
    whole = Labelled(Network([[1.0, 2.0], [3.0, 4.0]]), tf.constant([1, 2]))
    rows = tf.data.Dataset.from_tensor_slices(whole)
    found = [(each.network.shape, each.network.work.numpy().tolist(), int(each.label)) for each in rows]
    assert found == [([], [1.0, 2.0], 1), ([], [3.0, 4.0], 2)]
    (batch,) = rows.batch(2)
    assert batch.network.work.numpy().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert batch.label.numpy().tolist() == [1, 2]


def test_mapping_over_rows():
    whole = Masked([[1, 2], [3, 4]], [[True, False]] * 2)
    found = tf.map_fn(lambda m: m.filled(9), whole, fn_output_signature=tf.int32)
    assert found.numpy().tolist() == [[1, 9], [3, 9]]


def test_gradients_pass():
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(Masked(x * x, [True, False]).filled(0.0))
    assert tape.gradient(total, x).numpy().tolist() == [2.0, 0.0]


def test_structures():
    assert tf.nest.flatten(M)[0] is M
    flat = tf.nest.flatten(M, expand_composites=True)
    np.testing.assert_array_equal(flat[0].numpy(), [1, 2])
    assert plain(tf.nest.pack_sequence_as(M, flat, expand_composites=True)) == plain(M)
    assert Span(1, 2) == pickle.loads(pickle.dumps(Span(1, 2))) == copy.deepcopy(Span(1, 2))


def test_they_do_not_change():
    for change in (lambda: setattr(M, "values", 3), lambda: delattr(M, "values"), lambda: setattr(M, "other", 3)):
        with pytest.raises(AttributeError, match="Cannot mutate attribute"):
            change()
    with pytest.raises(AttributeError, match="Cannot mutate attribute"):
        tf.type_spec_from_value(M).values = 3


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Masked([1]), r"Masked\(\): missing a required argument: 'mask'"),
        (lambda: Masked(1, 2, "a", "b"), "too many positional arguments"),
        (lambda: Masked(1, 2, colour=3), "unexpected keyword argument 'colour'"),
        (lambda: Masked(1, 2, 3), "Masked.label: expected str, got 3 of type 'int'"),
        (lambda: Masked(None, 2), "Masked.values: expected a Tensor, got None"),
        (lambda: Masked(object(), 2), "Masked.values: expected a Tensor"),
        (lambda: Outer([1], {}), r"Outer.parts\[0\]: expected Masked, got 1"),
        (lambda: Outer([], [1]), "Outer.table: expected Mapping, got"),
        (lambda: Outer([], {1: 2.0}), r"Outer.table.keys\(\): expected str"),
        (lambda: Outer([], {}, kind="c"), "Outer.kind: expected"),
        (lambda: Outer([], {}, weight=[1]), "expected one of float, str"),
        (lambda: Outer([], {}, row=[[1.0]]), "expected a Tensor of shape"),
        (lambda: Masked.Spec(3, tf.TensorSpec([])), "expected a tf.TensorSpec, got 3"),
    ],
)
def test_bad_fields(call, words):
    with pytest.raises(TypeError, match=words):
        call()


def test_bad_classes():
    with pytest.raises(TypeError, match="field 'x' of Bad: unsupported type annotation <class 'list'>"):
        type("Bad", (tf.experimental.ExtensionType,), {"__annotations__": {"x": list}})
    with pytest.raises(ValueError, match="reserved name 'Spec'"):
        type("Bad", (tf.experimental.ExtensionType,), {"__annotations__": {"Spec": int}})
    with pytest.raises(ValueError, match="has no type annotation"):
        type("Bad", (tf.experimental.ExtensionType,), {"x": tf.constant(1)})
    with pytest.raises(ValueError, match="No TypeSpec has been registered with name 'nothing'"):
        named_spec("nothing")
    with pytest.raises(ValueError, match="has not been registered"):
        name_of_spec(Span.Spec)
    lost = type("Lost", (tf.experimental.ExtensionType,), {"__annotations__": {"x": "Nowhere"}, "__module__": __name__})
    with pytest.raises(NameError, match="'Nowhere'"):
        lost(1)


def test_a_field_without_a_value():
    class Half(tf.experimental.ExtensionType):
        x: int
        y: int

        def __init__(self):
            self.x = 1

    with pytest.raises(TypeError, match="field 'y' has no value"):
        Half()


def test_a_kind_and_tensors_make_a_value():
    flat = tf.nest.flatten(M, expand_composites=True)
    made = tf.nest.pack_sequence_as(tf.type_spec_from_value(M), flat, expand_composites=True)
    assert plain(made) == plain(M)
    with pytest.raises(ValueError, match="Structure had 2 atoms, but flat_sequence had 1 items"):
        tf.nest.pack_sequence_as(tf.type_spec_from_value(M), flat[:1], expand_composites=True)


class Rows(tf.experimental.BatchableExtensionType):
    """Its spec has a constructor of its own."""

    values: tf.Tensor
    mask: tf.Tensor

    class Spec:
        def __init__(self, shape, dtype=tf.float32):
            self.values = tf.TensorSpec(shape, dtype)
            self.mask = tf.TensorSpec(shape, tf.bool)

        shape = property(lambda self: self.values.shape)


def test_a_spec_with_a_constructor_of_its_own():
    spec = Rows.Spec([None, 2])
    assert spec.shape.as_list() == [None, 2]
    assert spec == Rows.Spec([None, 2], tf.float32)
    assert spec.is_compatible_with(Rows([[1.0, 2.0]], [[True, False]]))
    assert pickle.loads(pickle.dumps(spec)) == spec
    with pytest.raises(AttributeError, match="Cannot mutate"):
        spec.values = tf.TensorSpec([])

    function = tf.function(lambda rows: tf.reduce_sum(rows.values), input_signature=[spec])
    assert function(Rows([[1.0, 2.0]], [[True, False]])) == 3.0

    rows = Rows(tf.reshape(tf.range(6), (3, 2)), tf.ones((3, 2), tf.bool))
    assert [row.values.numpy().tolist() for row in tf.data.Dataset.from_tensor_slices(rows)] == [[0, 1], [2, 3], [4, 5]]
    made = tf.data.Dataset.from_generator(lambda: iter([rows, rows]), output_signature=Rows.Spec([3, 2], tf.int32))
    (batch,) = made.batch(2)
    assert batch.values.shape == (2, 3, 2)


def test_a_constructor_of_a_spec_that_leaves_a_field_out():
    class Half(tf.experimental.ExtensionType):
        values: tf.Tensor
        mask: tf.Tensor

        class Spec:
            def __init__(self, shape):
                self.values = tf.TensorSpec(shape)

    with pytest.raises(TypeError, match="field 'mask' has no value"):
        Half.Spec([2])
