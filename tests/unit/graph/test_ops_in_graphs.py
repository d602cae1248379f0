"""Every public op in a graph: whatever is known of its inputs, a session computes what eager code does.

The ways of giving a tensor, from knowing everything of it to nothing:

    constant            a constant of the graph
    full                a placeholder whose shape is known
    batch               a placeholder whose first dimension is not known
    unknown             a placeholder of which not even the rank is known
    computed            shapes, axes and sizes too are tensors, which nothing can be told of before the run
    computed-unknown    the same, and not even their shapes are known
"""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest

import situs
import situs.compat.v1 as tf
from situs._src.base.tree import flatten
from situs._src.ir.graph.node import Operation
from situs._src.ir.graph.tensor import SymbolicTensor
from situs._src.ops.constant import constant
from situs._src.placement import options
from situs.errors import InvalidArgumentError
from tests.op_table import NO_ROW, ROWS, Host

WAYS = ["constant", "full", "batch", "unknown", "computed", "computed-unknown"]
RANDOM = ("random.", "nn.dropout.")


def function_of(row):
    module, _, name = row.function.rpartition(".")
    return getattr(importlib.import_module(f"situs._src.ops.{module}"), name)


def given(value, way, feeds):
    """An argument of the table as it is passed to the function."""
    if isinstance(value, Host):
        if not way.startswith("computed"):
            return value.value
        array = np.array(value.value, value.dtype)
        return tf.identity(fed(array, None if way == "computed-unknown" else array.shape, feeds))
    if isinstance(value, np.ndarray):
        return tensor(value, way, feeds)
    if isinstance(value, (list, tuple)):
        return type(value)(given(item, way, feeds) for item in value)
    return value


def tensor(array, way, feeds):
    if way == "constant":
        return tf.constant(array)
    if way == "batch" and array.ndim:
        return fed(array, (None, *array.shape[1:]), feeds)
    return fed(array, None if way == "unknown" else array.shape, feeds)


def fed(array, shape, feeds):
    dtype = tf.string if array.dtype == object else tf.as_dtype(array.dtype)
    made = tf.placeholder(dtype, shape)
    feeds[made] = array
    return made


def in_eager_code(value):
    if isinstance(value, Host):
        return value.value
    if isinstance(value, np.ndarray):
        return constant(value)
    return type(value)(map(in_eager_code, value)) if isinstance(value, (list, tuple)) else value


def built(row, way, feeds, **more):
    args = [given(value, way, feeds) for value in row.args]
    kwargs = {key: given(value, way, feeds) for key, value in row.kwargs.items()}
    return flatten(function_of(row)(*args, **kwargs, **more))


def check_same(row, made, found, expected):
    assert len(found) == len(expected)
    for symbol, ours, theirs in zip(made, found, expected, strict=True):
        if not isinstance(symbol, SymbolicTensor):
            assert isinstance(symbol, Operation) or symbol is theirs or symbol == theirs
            continue
        assert symbol.dtype is theirs.dtype
        assert np.shape(ours) == tuple(theirs.shape)
        if row.function.startswith(RANDOM):
            continue
        if theirs.dtype is tf.string:
            np.testing.assert_array_equal(np.asarray(ours, object), theirs.numpy())
        else:
            wide = np.complex128 if theirs.dtype.is_complex else np.float64
            close = {"rtol": 1e-4, "atol": 1e-5}
            np.testing.assert_allclose(np.asarray(ours, wide), np.asarray(theirs.numpy(), wide), **close)


def ways_of(row):
    hosts = any(isinstance(value, Host) for value in (*row.args, *row.kwargs.values()))
    return WAYS if hosts else WAYS[:4]


def computed_at_once(row, device):
    """What eager code makes of a row on the same device: other devices draw and round differently."""
    args, kwargs = map(in_eager_code, row.args), {k: in_eager_code(v) for k, v in row.kwargs.items()}
    soft = options.current.soft
    options.set_soft(True)
    try:
        with tf.device(f"/{device}"):
            return function_of(row)(*args, **kwargs)
    finally:
        options.set_soft(soft)


@pytest.mark.parametrize("device", ["CPU:0", "GPU:0"])
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_graphs_compute_what_eager_code_does(row, device):
    expected = flatten(computed_at_once(row, device))
    config = tf.ConfigProto(allow_soft_placement=True)
    for way in ways_of(row):
        feeds = {}
        with tf.Graph().as_default(), tf.device(f"/{device}"), tf.Session(config=config) as sess:
            if way in row.refuses:
                with pytest.raises(InvalidArgumentError):
                    built(row, way, feeds)
                continue
            made = built(row, way, feeds)
            values = sess.run([item for item in made if isinstance(item, (SymbolicTensor, Operation))], feeds)
            fetched = iter(values)
            found = [next(fetched) if isinstance(item, (SymbolicTensor, Operation)) else item for item in made]
            check_same(row, made, found, expected)


def public_functions():
    """Every function that a public name leads to."""
    found = {}
    doors = [situs, tf]
    doors += [getattr(door, name) for door in doors for name in dir(door) if inspect.ismodule(getattr(door, name))]
    doors.append(situs.math.special)
    for namespace in doors:
        for name in dir(namespace):
            value = inspect.unwrap(getattr(namespace, name)) if not name.startswith("_") else None
            if inspect.isfunction(value):
                found[value] = name
    return found


def test_the_table_has_every_public_op_of_its_modules():
    public = public_functions()
    called = {function_of(row) for row in ROWS}
    missing = []
    for name in sorted({row.function.rpartition(".")[0] for row in ROWS}):
        module = importlib.import_module(f"situs._src.ops.{name}")
        for attribute, value in vars(module).items():
            own = getattr(value, "__module__", "") in (module.__name__, "situs._src.runtime.dispatch")
            if own and value in public and value not in called and f"{name}.{attribute}" not in NO_ROW:
                missing.append(f"{name}.{attribute}")
    assert missing == []
    assert len(called) > 400


# Names.

SAME_TENSOR = {
    "constant.convert_to_tensor",
    "constant.convert_to_tensor_v1",
    "debug.assert_scalar_v1",
}  # return what they are given


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_the_result_has_the_name_that_was_given(row):
    if "name" not in inspect.signature(function_of(row)).parameters or row.function in SAME_TENSOR:
        return
    if any(value is row.args[0] for value in row.args[2:]) and row.function.startswith("debug"):
        return
    with tf.Graph().as_default() as graph:
        made = built(row, "full", {}, name="given")
        if len(made) == 1 and isinstance(made[0], SymbolicTensor):
            unchanged = row.function in ("cast.saturate_cast", "math.conj") and made[0].op.type == "Placeholder"
            assert unchanged or made[0].op.name == "given"
            assert graph.get_operation_by_name(made[0].op.name) is made[0].op


A = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
DEFAULT_NAMES = [  # as TensorFlow 2.21 prints them
    (lambda x: x + x, "add"),
    (lambda x: x - 1.0, "sub"),
    (lambda x: 2.0 * x, "mul"),
    (lambda x: x / x, "truediv"),
    (lambda x: x @ x, "matmul"),
    (lambda x: -x, "Neg"),
    (lambda x: x[0], "strided_slice"),
    (lambda x: tf.add(x, x), "Add"),
    (lambda x: tf.subtract(x, x), "Sub"),
    (lambda x: tf.multiply(x, x), "Mul"),
    (lambda x: tf.divide(x, x), "truediv"),
    (lambda x: tf.floordiv(x, x), "floordiv"),
    (lambda x: tf.matmul(x, x), "MatMul"),
    (lambda x: tf.nn.relu(x), "Relu"),
    (lambda x: tf.nn.softmax(x), "Softmax"),
    (lambda x: tf.reduce_sum(x), "Sum"),
    (lambda x: tf.reduce_mean(x), "Mean"),
    (lambda x: tf.reduce_max(x), "Max"),
    (lambda x: tf.reduce_logsumexp(x), "ReduceLogSumExp"),
    (lambda x: tf.math.reduce_variance(x), "reduce_variance/Mean_1"),
    (lambda x: tf.math.reduce_std(x), "reduce_std/Sqrt"),
    (lambda x: tf.reshape(x, [4]), "Reshape"),
    (lambda x: tf.concat([x, x], 0), "concat"),
    (lambda x: tf.stack([x, x]), "stack"),
    (lambda x: tf.unstack(x)[1], "unstack"),
    (lambda x: tf.split(x, 2)[1], "split"),
    (lambda x: tf.range(3), "range"),
    (lambda x: tf.fill([2], 1.0), "Fill"),
    (lambda x: tf.random_normal([2]), "random_normal"),
    (lambda x: tf.random_normal([2], 1.0, 2.0), "random_normal"),
    (lambda x: tf.random_uniform([2]), "random_uniform/RandomUniform"),
    (lambda x: tf.random_uniform([2], 1.0, 2.0), "random_uniform"),
    (lambda x: tf.truncated_normal([2]), "truncated_normal"),
    (lambda x: tf.transpose(x), "transpose"),
    (lambda x: tf.cast(x, tf.int32), "Cast"),
    (lambda x: tf.expand_dims(x, 0), "ExpandDims"),
    (lambda x: tf.squeeze(x), "Squeeze"),
    (lambda x: tf.one_hot([1], 2), "one_hot"),
    (lambda x: tf.argmax(x), "ArgMax"),
    (lambda x: tf.equal(x, x), "Equal"),
    (lambda x: tf.shape(x), "Shape"),
    (lambda x: tf.where(x > 2.0, x, x), "Select"),
    (lambda x: tf.clip_by_value(x, 0.0, 1.0), "clip_by_value"),
    (lambda x: tf.norm(x), "norm"),
    (lambda x: tf.trace(x), "Trace"),
    (lambda x: tf.global_norm([x]), "global_norm/global_norm"),
    (lambda x: tf.einsum("ij,jk->ik", x, x), "einsum/Einsum"),
    (lambda x: tf.nn.dropout(x, rate=0.5), "dropout/SelectV2"),
    (lambda x: tf.nn.moments(x, [0], keepdims=True)[1], "moments/variance"),
    (lambda x: tf.nn.batch_normalization(x, 0.0, 1.0, x, x, 0.1), "batchnorm/add_1"),
    (lambda x: tf.nn.l2_normalize(x), "l2_normalize"),
    (lambda x: tf.nn.xw_plus_b(x, x, x[0]), "xw_plus_b"),
    (lambda x: tf.nn.sigmoid_cross_entropy_with_logits(x, x), "logistic_loss"),
    (
        lambda x: tf.nn.softmax_cross_entropy_with_logits_v2(labels=x, logits=x),
        "softmax_cross_entropy_with_logits/Reshape_2",
    ),
    (lambda x: tf.nn.embedding_lookup(x, [0]), "embedding_lookup/Identity"),
]


@pytest.mark.parametrize(("call", "name"), DEFAULT_NAMES, ids=[name for _, name in DEFAULT_NAMES])
def test_names_by_default_are_tensorflows(call, name):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2, 2], "x")
        assert call(x).op.name == name
        again = call(x).op.name  # TensorFlow numbers the scope, or the operation if there is none
        head, _, tail = name.partition("/")
        assert again == (f"{head}_1/{tail}" if tail else f"{head}_1")


def test_the_ops_inside_a_function_take_no_names_from_the_program():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2, 2], "x")
        for function in (tf.nn.l2_normalize, tf.norm, tf.trace, tf.nn.zero_fraction):
            function(x)
        tf.clip_by_norm(x, 1.0)
        tf.nn.moments(x, [0])
        tf.random_normal([2], 1.0, 2.0)
        assert [tf.reduce_sum(x).op.name, tf.multiply(x, x).op.name, tf.reduce_mean(x).op.name] == [
            "Sum",
            "Mul",
            "Mean",
        ]


def test_a_result_is_fetched_by_the_name_it_was_given():
    with tf.Graph().as_default(), tf.Session() as sess:
        drawn = tf.random_normal([2], 1.0, 2.0, name="r")
        by_name, by_variable = sess.run(["r:0", drawn])
        np.testing.assert_array_equal(by_name, by_variable)
        assert tf.random_normal([2], 1.0, 2.0, name="r").op.name == "r_1"


# Operators.


def evaluated(call, x=A):
    """The operator on a constant and on placeholders of which less and less is known."""
    results = []
    for shape in (x.shape, [None] * x.ndim, None):
        with tf.Graph().as_default(), tf.Session() as sess:
            p = tf.placeholder(tf.as_dtype(x.dtype), shape)
            results.append(sess.run(call(p), {p: x}))
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])
    return results[0]


OPERATIONS = [
    lambda x: x + 1,
    lambda x: 1 + x,
    lambda x: x - 2.5,
    lambda x: 2.5 - x,
    lambda x: x * A,
    lambda x: A * x,
    lambda x: A - x,
    lambda x: A / x,
    lambda x: A @ x,
    lambda x: x @ A,
    lambda x: x / 2,
    lambda x: 2 / x,
    lambda x: x // 2,
    lambda x: 7 // x,
    lambda x: x % 2,
    lambda x: 7 % x,
    lambda x: x**2,
    lambda x: 2**x,
    lambda x: -x,
    lambda x: abs(x),
    lambda x: x < 2,
    lambda x: x >= A,
    lambda x: 2 > x,  # noqa: SIM300 - the operator with its operands exchanged
]


@pytest.mark.parametrize("number", range(len(OPERATIONS)))
def test_operators_do_what_numpys_do(number):
    np.testing.assert_allclose(evaluated(OPERATIONS[number]), OPERATIONS[number](A), rtol=1e-6)


LOGIC = [lambda x, y: x & y, lambda x, y: x | y, lambda x, y: x ^ y, lambda x, y: ~x, lambda x, y: (x & y) | ~y]


@pytest.mark.parametrize("number", range(len(LOGIC)))
def test_booleans_combine_logically_and_integers_bit_by_bit(number):
    for x in (A > 1.5, A.astype(np.int32)):
        y = x[::-1].copy()
        np.testing.assert_array_equal(evaluated(lambda p, y=y: LOGIC[number](p, y), x), LOGIC[number](x, y))


BOX = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
INDICES = [
    0,
    -1,
    slice(1, None),
    slice(None, None, -1),
    (0, 1, 2),
    (slice(None), 1),
    (..., 0),
    (..., None),
    (None, ..., slice(1, 3)),
    (slice(2, 0, -1), ..., slice(None, None, 2)),
    (0, None, slice(1, -1), None),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indices_pick_what_numpys_do(index):
    np.testing.assert_array_equal(evaluated(lambda x: x[index], BOX), BOX[index])


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_indices_may_be_tensors(dtype):
    with tf.Graph().as_default(), tf.Session() as sess:
        x, n = tf.placeholder(tf.int32, [3, 4, 5]), tf.placeholder(dtype, [])
        picked = [x[n], x[n:], x[:n, n], x[..., n], x[n : n + 1, None], x[::n], x[-n]]
        assert picked[0].shape == [4, 5]
        assert picked[1].shape == [None, 4, 5]
        assert picked[4].shape.rank == 4
        expected = [BOX[2], BOX[2:], BOX[:2, 2], BOX[..., 2], BOX[2:3, None], BOX[::2], BOX[-2]]
        for ours, theirs in zip(sess.run(picked, {x: BOX, n: 2}), expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        with pytest.raises(InvalidArgumentError, match="out of bounds"):
            sess.run(x[n], {x: BOX, n: 3})


def test_a_mask_picks_elements():
    np.testing.assert_array_equal(evaluated(lambda x: x[x > 30], BOX), BOX[BOX > 30])
    np.testing.assert_array_equal(evaluated(lambda x: x[np.array([True, False, True])], BOX), BOX[[0, 2]])


def test_a_tensor_of_known_length_is_iterated_over():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.int32, [3, None, 5])
        _, second, _ = x
        np.testing.assert_array_equal(sess.run(second, {x: BOX}), BOX[1])
        with pytest.raises(TypeError, match="known first dimension"):
            iter(tf.placeholder(tf.int32, [None, 3]))
        with pytest.raises(TypeError, match="scalar"):
            iter(tf.placeholder(tf.int32, []))


# What must be known when the graph is built.

UNKNOWN = [
    (lambda n: tf.split(A, n), "num_or_size_splits"),
    (lambda n: tf.unstack(A, n), "num"),
    (lambda n: tf.stack([A, A], n), "axis"),
    (lambda n: tf.one_hot([0], 2, axis=n), "axis"),
    (lambda n: tf.gather(A, [0], batch_dims=n), "batch_dims"),
    (lambda n: tf.squeeze(A, n), "axis"),
    (lambda n: tf.nn.softmax(A, n), "axis"),
    (lambda n: tf.dynamic_partition(A, [0, 1], n), "num_partitions"),
    (lambda n: tf.nn.max_pool(np.zeros([1, 4, 4, 1], np.float32), n, 1, "SAME"), "ksize"),
    (lambda n: tf.space_to_depth(np.zeros([1, 4, 4, 1], np.float32), n), "block_size"),
    (lambda n: tf.strings.split("a", maxsplit=n), "maxsplit"),
]


@pytest.mark.parametrize("number", range(len(UNKNOWN)))
def test_what_must_be_known_beforehand_is_named(number):
    call, argument = UNKNOWN[number]
    with tf.Graph().as_default(), pytest.raises(InvalidArgumentError, match=argument):
        call(tf.identity(tf.placeholder(tf.int32, [])))


def test_a_constant_serves_where_a_value_must_be_known():
    with tf.Graph().as_default(), tf.Session() as sess:
        n = tf.constant(3) - 2
        calls = [tf.stack([A, A], n), tf.nn.softmax(A, n), tf.squeeze(A[:, None], n), *tf.unstack(A, n + 1, n)]
        found = sess.run(calls)
        np.testing.assert_array_equal(found[0], np.stack([A, A], 1))
        np.testing.assert_array_equal(found[2], A)
        np.testing.assert_array_equal(found[4], A[:, 1])


@pytest.mark.parametrize("kind", [int, float, complex])
def test_a_symbolic_tensor_is_no_number_of_python(kind):
    said = "has no value before its graph runs; it cannot be a Python number"
    with tf.Graph().as_default(), pytest.raises(TypeError, match=said):
        kind(tf.placeholder(tf.float32, []))
