"""Kernels keep what the traits of their ops promise; `tests/unit/execution/test_reuse.py` looks at memory."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import situs as tf
import situs._src.distribute.collectives  # declares the ops that workers run together
from situs._src.distribute import packing
from situs._src.ir.registry.op import Op
from situs._src.ir.registry.traits import (
    ADDS,
    ALIAS,
    ALL_TRAITS,
    BLOCKS,
    CALLS_PYTHON,
    CHECK,
    COMMUTATIVE,
    EACH_VALUE,
    ELEMENTWISE,
    FED,
    FOLDABLE,
    MATRIX_LIBRARY,
    MOVES,
    NO_WORK,
    PRODUCT,
    SHAPE_ONLY,
    SIZE_ARITHMETIC,
    STATE,
    STATE_ANYWHERE,
    VIEW,
    ZERO_OF_ZERO,
)
from situs._src.runtime.eager.bridge import TORCH_DTYPE
from situs.extend import all_ops, traits

tf.data.Dataset.range(1)  # declares the ops of datasets
VALUES = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.25, 7.0, 1e-3, 40.0]


def having(trait) -> list[Op]:
    return [declared for declared in all_ops().values() if trait in declared.traits]


def kernels_of(declared: Op, dtype) -> list:
    bound = dict.fromkeys(declared.types, dtype)
    return [found for found in [declared.kernel_for("CPU", bound), declared.kernel_for("GPU", bound)] if found]


def called(kernel, *values):
    with np.errstate(all="ignore"):
        return kernel.function(*values)


def alike(x, y) -> bool:
    """Equal, up to how PyTorch rounds in vectors and behind their end."""
    return torch.allclose(x.double(), y.double(), rtol=1e-5, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("trait", ALL_TRAITS, ids=str)
def test_every_trait_says_what_it_means_and_some_op_has_it(trait):
    assert getattr(traits, trait.name) is trait
    assert trait.meaning.endswith(".")
    assert having(trait)


@pytest.mark.parametrize("declared", having(ELEMENTWISE), ids=lambda each: each.name)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_elements_of_element_wise_ops_do_not_see_each_other(declared, data):
    """Whatever stands around an element, and wherever it stands, the element at its place is the same."""
    dtype = next(each for each in (tf.float32, tf.int32, tf.bool) if each in declared.types.get("T", {tf.bool}))
    size = data.draw(st.integers(1, 40))
    count = len(declared.inputs)
    drawn = [data.draw(st.lists(st.sampled_from(VALUES), min_size=size, max_size=size)) for _ in range(count)]
    inputs = [torch.tensor(each).to(TORCH_DTYPE[dtype]) for each in drawn]
    if dtype is tf.int32:
        inputs = [each.abs() + 1 for each in inputs]  # neither divided by zero nor raised to what is negative
    places = torch.tensor(data.draw(st.permutations(range(size))))
    for kernel in kernels_of(declared, dtype):
        whole = called(kernel, *inputs)
        assert alike(called(kernel, *[each[places] for each in inputs]), whole[places])


@pytest.mark.parametrize(
    ("declared", "dtype"),
    [
        pytest.param(declared, dtype, id=f"{declared.name}-{dtype.name}")
        for declared in having(ZERO_OF_ZERO)
        for dtype in (tf.float32, tf.float64, tf.int32, tf.complex64)
        if dtype in declared.types[declared.inputs[0].type]
    ],
)
def test_zero_becomes_zero(declared, dtype):
    given = tf.zeros([3], dtype)
    attrs = dict.fromkeys(declared.given_types, tf.float32 if dtype.is_complex else dtype)
    assert not np.any(declared(given, **attrs).numpy())


@pytest.mark.parametrize("declared", having(COMMUTATIVE), ids=lambda each: each.name)
@settings(max_examples=15, deadline=None)
@given(values=st.lists(st.sampled_from(VALUES), min_size=2, max_size=4), data=st.data())
def test_the_order_of_what_commutes_changes_nothing(declared, values, data):
    values = values if declared.inputs[0].is_list else values[:2]
    for dtype in (tf.float32, tf.float64):
        for kernel in kernels_of(declared, dtype):
            one = [torch.tensor(value, dtype=TORCH_DTYPE[dtype]) for value in values]
            other = data.draw(st.permutations(one))
            made = [
                called(kernel, each) if declared.inputs[0].is_list else called(kernel, *each) for each in (one, other)
            ]
            assert alike(*made)
            if ADDS in declared.traits:
                assert alike(made[0], torch.stack(one).sum())


def test_what_adds_commutes():
    assert all(COMMUTATIVE in declared.traits for declared in having(ADDS))


WORDS = ["", "A b", " 12 ", "YWJj", "x1y22", "\u00fc"]
NUMBERS = [0.0, -1.5, 3.0, 40.0, -0.25]
EACH = {
    "AsString": (NUMBERS, tf.strings.as_string),
    "Cast": (NUMBERS, lambda x: tf.cast(x, tf.int32)),
    "ClipByValue": (NUMBERS, lambda x: all_ops()["ClipByValue"](x, -1.0, 2.0)),
    "DecodeBase64": (["YWJj", "", "eHk"], tf.io.decode_base64),
    "EncodeBase64": (WORDS, tf.io.encode_base64),
    "Identity": (NUMBERS, tf.identity),
    "LookupTableFindV2": (WORDS, lambda x: looked_up(x)),
    "OneHot": ([0, 2, 1, 5], lambda x: tf.one_hot(x, 3)),
    "OnesLike": (NUMBERS, tf.ones_like),
    "RegexFullMatch": (WORDS, lambda x: tf.strings.regex_full_match(x, "[a-z0-9]*")),
    "RegexReplace": (WORDS, lambda x: tf.strings.regex_replace(x, "[0-9]", "n")),
    "SelectV2": (NUMBERS, lambda x: tf.where(x > 0.0, x, -x)),
    "StringJoin": (WORDS, lambda x: tf.strings.join([x, "-", x])),
    "StringLength": (WORDS, tf.strings.length),
    "StringLower": (WORDS, tf.strings.lower),
    "StringStrip": (WORDS, tf.strings.strip),
    "StringToHashBucket": (WORDS, lambda x: tf.strings.to_hash_bucket(x, 97)),
    "StringToHashBucketFast": (WORDS, lambda x: tf.strings.to_hash_bucket_fast(x, 97)),
    "StringToHashBucketStrong": (WORDS, lambda x: tf.strings.to_hash_bucket_strong(x, 97, [1, 2])),
    "StringToNumber": (["1", "-2.5", "1e3"], tf.strings.to_number),
    "StringUpper": (WORDS, tf.strings.upper),
    "Substr": (WORDS, lambda x: tf.strings.substr(x, 0, 2)),
    "TableFind": (WORDS, lambda x: looked_up(x)),
    "UnicodeTranscode": (WORDS, lambda x: tf.strings.unicode_transcode(x, "UTF-8", "UTF-16-BE")),
    "ZerosLike": (NUMBERS, tf.zeros_like),
}


def looked_up(x):
    keys = tf.lookup.KeyValueTensorInitializer(["A b", "x1y22"], tf.constant([7, 8], tf.int64))
    return tf.lookup.StaticHashTable(keys, -1).lookup(x)


def test_every_op_of_each_value_has_a_case():
    assert set(EACH) == {declared.name for declared in having(EACH_VALUE)}


@pytest.mark.parametrize("name", EACH)
def test_ops_of_each_value_take_elements_by_themselves(name):
    """So a ragged tensor is what its values are."""
    values, made = EACH[name]
    whole = made(tf.constant(values))
    for place, value in enumerate(values):
        np.testing.assert_array_equal(made(tf.constant([value]))[0].numpy(), whole[place].numpy())
    ragged = made(tf.RaggedTensor.from_row_lengths(tf.constant(values), [1, 0, len(values) - 1]))
    np.testing.assert_array_equal(ragged.flat_values.numpy(), whole.numpy())


@pytest.mark.parametrize("declared", having(ALIAS), ids=lambda each: each.name)
def test_what_an_alias_returns_is_its_input(declared):
    given = torch.tensor([1.0, float("nan")])
    for kernel in kernels_of(declared, tf.float32):
        attrs = dict.fromkeys(declared.attrs)
        assert kernel.function(given, **attrs) is given


@pytest.mark.parametrize("declared", having(SHAPE_ONLY), ids=lambda each: each.name)
def test_what_depends_on_shapes_alone_is_the_same_for_any_elements(declared):
    attrs = dict.fromkeys(declared.given_types, tf.int32)
    takes_list = declared.inputs[0].is_list
    for kernel in kernels_of(declared, tf.float32):
        found = [kernel.function([x] if takes_list else x, **attrs) for x in (torch.zeros(2, 3), torch.ones(2, 3) / 0)]
        flat = [each[0] if takes_list else each for each in found]
        assert torch.equal(*flat)


@pytest.mark.parametrize("declared", [*having(FOLDABLE), *having(SIZE_ARITHMETIC)], ids=lambda each: each.name)
def test_what_is_folded_or_computed_on_the_host_is_pure_and_has_a_kernel_there(declared):
    assert not declared.stateful
    assert not declared.updates
    bound = dict.fromkeys(declared.types, tf.int32)
    assert declared.kernel_for("CPU", bound) is not None


@pytest.mark.parametrize("declared", having(MOVES), ids=lambda each: each.name)
def test_what_moves_elements_has_some_of_the_type_of_its_results(declared):
    assert any(arg.type == declared.outputs[0].type for arg in declared.inputs if not arg.is_host)


X = np.arange(1.0, 25.0, dtype=np.float32).reshape(2, 3, 4)
VIEWS = {
    "CheckNumerics": lambda x: tf.debugging.check_numerics(x, "x"),
    "ExpandDims": lambda x: tf.expand_dims(x, 1),
    "Print": lambda x: all_ops()["Print"](x, ()),
    "RandomCrop": lambda x: tf.image.random_crop(x, [1, 2, 3]),
    "Reshape": lambda x: tf.reshape(x, [4, 6]),
    "Slice": lambda x: tf.slice(x, [0, 1, 1], [1, 2, 2]),
    "Split": lambda x: tf.split(x, 2, 2)[1],
    "SplitV": lambda x: tf.split(x, [1, 3], 2)[1],
    "UnpackValues": lambda x: packing.unpacked(tf.reshape(x, [-1]), [tf.TensorShape([2, 3]), tf.TensorShape([18])])[1],
    "Squeeze": lambda x: tf.squeeze(x[:1], 0),
    "Transpose": lambda x: tf.transpose(x, [2, 0, 1]),
}


def test_every_view_has_a_case():
    assert set(VIEWS) == {declared.name for declared in having(VIEW)}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_lies_in_the_memory_of_its_tensor(name):
    x = tf.constant(X)
    made = VIEWS[name](x)
    assert made._value.untyped_storage().data_ptr() == x._value.untyped_storage().data_ptr()


MOVED = {
    "ConcatV2": lambda x: tf.concat([x, x[:1]], 0),
    "ExpandDims": lambda x: tf.expand_dims(x, 1),
    "GatherV2": lambda x: tf.gather(x, [1, 0, 1], axis=1),
    "Identity": tf.identity,
    "Pack": lambda x: tf.stack([x, x]),
    "Reshape": lambda x: tf.reshape(x, [4, 6]),
    "Slice": lambda x: tf.slice(x, [0, 1, 1], [1, 2, 2]),
    "Squeeze": lambda x: tf.squeeze(x[:1], 0),
    "StopGradient": tf.stop_gradient,
    "StridedSlice": lambda x: x[:, ::-1, 1],
    "Unpack": lambda x: tf.unstack(x, axis=1)[2],
}


@pytest.mark.parametrize("declared", having(traits.MOVES), ids=lambda each: each.name)
def test_what_moves_elements_changes_none(declared):
    """So it can be done to the numbers of the elements, as `situs._src.runtime.symbolic.partial` does."""
    move = MOVED[declared.name]
    numbers = np.arange(X.size, dtype=np.float32).reshape(X.shape)
    places = move(tf.constant(numbers)).numpy().astype(int)
    np.testing.assert_array_equal(move(tf.constant(X)).numpy(), X.reshape(-1)[places])


@pytest.mark.parametrize("declared", having(CHECK), ids=lambda each: each.name)
def test_checks_run_for_what_they_do(declared):
    assert declared.stateful


@pytest.mark.parametrize("declared", having(PRODUCT), ids=lambda each: each.name)
def test_products_say_how_much_work_they_are(declared):
    assert declared.work_rule is not None


def test_the_work_of_a_product_is_counted_from_shapes():
    with tf.compat.v1.Graph().as_default():
        a, b = (tf.compat.v1.placeholder(tf.float32, shape) for shape in ([3, 4], [4, 5]))
        unknown = tf.compat.v1.placeholder(tf.float32, [None, 4])
        rule = tf.matmul(a, b).op.op_def.work_rule
        assert rule(tf.matmul(a, b).op) == 3 * 4 * 5
        assert rule(tf.matmul(b, a, transpose_a=True, transpose_b=True).op) == 5 * 4 * 3
        assert rule(tf.matmul(unknown, b).op) is None
        image = tf.compat.v1.placeholder(tf.float32, [1, 5, 5, 3])
        made = tf.nn.conv2d(image, tf.ones([3, 3, 3, 7]), 1, "SAME").op
        assert made.op_def.work_rule(made) == 5 * 5 * 7 * 3 * 3 * 3


@pytest.mark.parametrize("declared", [*having(BLOCKS), *having(CALLS_PYTHON)], ids=lambda each: each.name)
def test_what_may_wait_says_so_where_it_has_state(declared):
    assert declared.stateful or CALLS_PYTHON in declared.traits
    assert FOLDABLE not in declared.traits


@pytest.mark.parametrize("declared", having(NO_WORK), ids=lambda each: each.name)
def test_what_does_no_work_has_no_results(declared):
    assert declared.outputs == ()


def test_state_and_graphs():
    assert [each.outputs[0].is_ref and not each.inputs for each in having(STATE)] == [True]
    assert {each.name for each in having(STATE_ANYWHERE)} == {"If", "While"}
    assert all(not each.stateful for each in having(FED))
    assert {each.name for each in having(MATRIX_LIBRARY)} >= {"MatMul", "Einsum"}
