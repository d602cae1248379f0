"""Results written over inputs: where that happens, where it must not, and that it changes no result."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import torch

import situs as tf2
import situs.compat.v1 as tf
from situs._src.base.dtype import FLOATING, STRING, WIDE_UNSIGNED
from situs._src.base.tree import flatten
from situs._src.distribute import packing
from situs._src.ir.registry.traits import ELEMENTWISE, FRESH
from situs._src.ops.python_function import py_func
from situs._src.runtime.passes import reuse
from situs._src.runtime.passes.reuse import Over
from situs._src.runtime.plan import planner
from situs._src.runtime.run import program
from situs._src.runtime.run.program import SCRIPTED_AFTER
from situs._src.runtime.run.threads import Pool, schedule
from situs._src.runtime.run.torchscript import SHORTEST, _text, scripted
from situs._src.runtime.session.fetches import Fetches
from situs.extend import CPU, all_ops, find_op
from tests.op_table import ROWS, Host

SHAPE = [2, 3]


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default(), tf.device("/cpu:0"):
        yield


@pytest.fixture
def without_reuse(monkeypatch):
    monkeypatch.setattr(planner, "overwrite", lambda *_: None)


def placeholder(shape=SHAPE, dtype=tf.float32):
    return tf.placeholder(dtype, shape)


def planned(fetches, feeds=()):
    session = tf.Session()
    return session._program(Fetches(session.graph, fetches), list(feeds)).plan


def overwritten(fetches, feeds=()):
    """The types of the calls that write over an input, in order."""
    return [call.node.type for call in planned(fetches, feeds).calls if call.overwrites is not None]


# Where a result takes the memory of an input.


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda x: tf.nn.relu(tf.matmul(x, tf.ones([3, 3])) + 1.0), ["AddV2", "Relu"]),
        (lambda x: tf.exp(tf.tanh(x)), ["Exp"]),
        (lambda x: 2.0 - tf.tanh(x), ["Sub"]),
        (lambda x: tf.tanh(x) / tf.constant([1.0, 2.0, 3.0]), ["RealDiv"]),
        (lambda x: tf.constant(np.ones(SHAPE, np.float32)) - tf.tanh(x), ["Sub"]),
        (lambda x: tf.tanh(x) + tf.exp(x), ["AddV2"]),
        (lambda x: tf.nn.bias_add(tf.tanh(x), [1.0, 2.0, 3.0]), ["BiasAdd"]),
        (lambda x: tf.add_n([x, tf.tanh(x), tf.exp(x)]), ["AddN"]),
        (lambda x: tf.where(x > 0.0, x, tf.exp(tf.tanh(x))), ["Exp", "Select"]),
        (lambda x: tf.clip_by_value(tf.tanh(x), -0.5, 0.5), ["Minimum", "Maximum"]),
        (lambda x: tf.random_normal(SHAPE) * 2.0 + 1.0, ["Mul", "AddV2"]),
        (lambda x: tf.sqrt(tf.cast(tf.cast(x, tf.int32), tf.float32)), ["Sqrt"]),
        (lambda x: tf.exp(tf.identity(tf.tanh(x))), ["Exp"]),
        (lambda x: tf.nn.relu(tf.nn.fused_batch_norm(x[:, None, None], [1.0] * 3, [0.0] * 3)[0]), ["Relu"]),
    ],
)
def test_what_nobody_needs_any_more_is_overwritten(build, expected):
    x = placeholder()
    assert overwritten([build(x)], [x]) == expected


@pytest.mark.parametrize("function", [tf.tanh, tf.atan, tf.erf, tf.asin, tf.sinh])
def test_functions_of_many_elements_are_overwritten_too(function):
    x = placeholder([200, 200])
    assert overwritten([function(function(function(x)))], [x]) == [function(x).op.type] * 2


def test_the_right_operand_is_overwritten_if_the_left_must_stay():
    x = placeholder()
    call = planned([x - tf.tanh(x)], [x]).calls[-1]
    assert isinstance(call.function, Over)
    assert (call.function.place, call.anew) == (1, torch.sub)


def test_a_chain_on_a_device_whose_memory_is_counted_is_overwritten_too():
    with tf.device("/gpu:0"):
        x = placeholder()
        assert overwritten([tf.exp(tf.tanh(x) * 2.0)], [x]) == ["Mul", "Exp"]


def test_results_of_branches_and_loops_are_planned_likewise():
    x = placeholder()
    made = tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.exp(tf.tanh(x)), lambda: tf.abs(x * 2.0) + 1.0)
    turned = tf.while_loop(lambda n, y: n < 3, lambda n, y: (n + 1, tf.abs(y * 2.0) - 1.0), (0, x))[1]
    given = np.array([[-1.0, 2.0, 0.5], [0.1, 0.2, 0.3]], np.float32)
    with tf.Session() as session:
        for sign in (1, -1):
            value = np.float32(sign) * given
            taken = np.exp(np.tanh(value)) if value.sum() > 0 else np.abs(value * 2) + 1
            looped = value
            for _ in range(3):
                looped = np.abs(looped * 2) - 1
            found = session.run([made, turned], {x: value})
            np.testing.assert_allclose(found[0], taken, rtol=1e-6)
            np.testing.assert_allclose(found[1], looped, rtol=1e-6)


# Where it must not.


def variable():
    return tf.Variable(np.ones(SHAPE, np.float32))


@pytest.mark.parametrize(
    "build",
    [
        lambda x: [tf.tanh(x)],
        lambda x: [tf.exp(tf.constant(np.ones(SHAPE, np.float32)))],
        lambda x: [tf.exp(variable())],
        lambda x: (lambda y: [y, tf.exp(y)])(tf.tanh(x)),
        lambda x: (lambda y: [tf.identity(y), tf.exp(y)])(tf.tanh(x)),
        lambda x: (lambda y: [y * y])(tf.tanh(x)),
        lambda x: [tf.exp(tf.reshape(tf.tanh(x), [6]))],
        lambda x: [tf.exp(tf.transpose(tf.tanh(x)))],
        lambda x: [tf.exp(tf.tanh(x)[0])],
        lambda x: (lambda y: [tf.transpose(y), tf.exp(y)])(tf.tanh(x)),
        lambda x: [tf.exp(tf.broadcast_to(tf.tanh(x), [2, 2, 3]))],
        lambda x: [tf.exp(py_func(lambda v: v, [tf.tanh(x)], tf.float32))],
        lambda x: (lambda y: [py_func(lambda v: v, [y], tf.float32), tf.exp(y)])(tf.tanh(x)),
        lambda x: (lambda y: [variable().assign(y), tf.exp(y)])(tf.tanh(x)),
        lambda x: (lambda y: [tf.FIFOQueue(9, [tf.float32]).enqueue([y]), tf.exp(y)])(tf.tanh(x)),
        lambda x: (lambda y: [tf.cond(x[0, 0] > 0, lambda: y, lambda: x), tf.exp(y)])(tf.tanh(x)),
        lambda x: [tf.exp(tf.cond(x[0, 0] > 0, lambda: x, lambda: tf.identity(x)))],
        lambda x: [tf.exp(tf.add_n([x]))],
        lambda x: [tf.exp(tf.math.conj(x))],
        lambda x: [tf.exp(tf.math.real(tf.complex(x, x)))],
        lambda x: [tf.tanh(x) + tf.constant(np.ones([4, 2, 3], np.float32))],
        lambda x: [tf.reduce_sum(x, 0, keepdims=True) + x],
        lambda x: [tf.is_nan(tf.tanh(x))],
        lambda x: [tf.nn.crelu(tf.tanh(x))],
        lambda x: [tf.check_numerics(tf.tanh(x), "bad"), tf.exp(tf.check_numerics(tf.tanh(x), "bad"))],
    ],
)
def test_what_others_hold_or_may_not_fit_is_left_alone(build):
    x = placeholder()
    assert overwritten(build(x), [x]) == []


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ([None, 3], [3], [0]),
        ([None, 3], [1, 3], [0]),
        ([None, 3], [], [0]),
        (None, [], [0]),
        ([2, 3], [2, 3], [0]),
        ([3], [2, 3], [1]),
        ([1, 3], [2, 3], [1]),
        ([None, 3], [None, 3], []),
        ([2, 3], [None, 3], []),
        ([None, 3], [2, 3], []),
        ([2, 1], [1, 3], []),
        (None, [3], []),
        ([2, 3], None, []),
        ([0, 3], [1, 3], [0]),
    ],
)
def test_the_other_input_must_surely_broadcast_into_it(left, right, expected):
    x, y = placeholder(left), placeholder(right)
    first, second, last = planned([tf.subtract(tf.tanh(x), tf.exp(y))], [x, y]).calls
    assert [place for place, call in enumerate((first, second)) if last.overwrites in call.outputs] == expected


@pytest.mark.parametrize(
    ("value", "bias", "expected"),
    [
        ([None, 3], [3], ["BiasAdd"]),
        ([None, 3], [None], []),
        ([None, None], [1], []),  # the kernel refuses it for more channels than one; a sum would not
        ([None, None], [3], []),
        (None, [3], []),
    ],
)
def test_a_bias_that_may_not_fit_is_left_to_the_kernel(value, bias, expected):
    x, y = placeholder(value), placeholder(bias)
    assert overwritten([tf.nn.bias_add(tf.tanh(x), y)], [x, y]) == expected


def test_a_copy_between_devices_is_not_overwritten():
    x = placeholder()
    with tf.device("/gpu:0"):
        y = tf.tanh(x)
    with tf.device("/gpu:1"):
        z = tf.exp(y)
    assert overwritten([z], [x]) == []


def test_rows_that_are_picked_are_not_written_over_others():
    """PyTorch would take a condition for each row for one of each column."""
    x, chosen = placeholder([3, 3]), placeholder([3], tf.bool)
    picked = tf.where(chosen, tf.tanh(x), tf.exp(x))
    assert overwritten(picked, [x, chosen]) == []
    values = np.arange(9, dtype=np.float32).reshape(3, 3)
    made = tf.Session().run(picked, {x: values, chosen: [True, False, True]})
    np.testing.assert_allclose(made, np.where([[True], [False], [True]], np.tanh(values), np.exp(values)), rtol=1e-6)


def test_a_value_that_is_copied_elsewhere_is_not_overwritten():
    x = placeholder()
    with tf.device("/gpu:0"):
        y = tf.tanh(x)
        z = tf.exp(y)
    with tf.device("/gpu:1"):
        other = tf.abs(y)
    assert "Exp" not in overwritten([z, other], [x])


def test_a_kernel_of_the_users_may_return_its_input(monkeypatch):
    declared = find_op("Neg")
    monkeypatch.setattr(declared, "kernels", list(declared.kernels))
    declared.kernel(CPU)(lambda x: x)
    x = placeholder()
    y = tf.tanh(x)
    assert overwritten([tf.exp(-y) + tf.abs(y)], [x]) == ["AddV2"]


def test_a_kernel_of_the_users_that_keeps_the_traits_is_trusted(monkeypatch):
    declared = find_op("Neg")
    monkeypatch.setattr(declared, "kernels", list(declared.kernels))
    declared.kernel(CPU, keeps_traits=True)(lambda x: 0 - x)
    x = placeholder()
    y = tf.tanh(x)
    assert overwritten([tf.exp(-y) + tf.abs(y)], [x]) == ["Exp", "Abs", "AddV2"]


def test_nothing_is_overwritten_when_something_unusual_is_fed():
    x = placeholder()
    y = tf.tanh(x)
    made = tf.exp(tf.abs(y) * 2.0)
    assert overwritten([made], [y]) == []
    given = np.full(SHAPE, -0.5, np.float32)
    with tf.Session() as session:
        for _ in range(2):
            np.testing.assert_allclose(session.run(made, {y: given}), np.exp(np.abs(given) * 2), rtol=1e-6)
    assert (given == -0.5).all()


# Values stay what they were.


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
def test_feeds_variables_and_constants_stay_what_they_were(device):
    given = np.random.default_rng(0).uniform(-1, 1, SHAPE).astype(np.float32)
    kept = given.copy()
    with tf.device(device):
        x, v, c = placeholder(), tf.Variable(given), tf.constant(given)
        made = [tf.exp(tf.abs(each * 2.0) - 1.0) for each in (x, v, c)]
    with tf.Session() as session:
        session.run(v.initializer)
        for _ in range(SCRIPTED_AFTER + 3):
            for found in session.run(made, {x: given}):
                np.testing.assert_allclose(found, np.exp(np.abs(kept * 2) - 1), rtol=1e-5)
        np.testing.assert_array_equal(session.run([v, c]), [kept, kept])
    np.testing.assert_array_equal(given, kept)


def test_a_variable_keeps_what_was_assigned_when_the_value_is_read_again():
    x, v = placeholder(), variable()
    y = tf.tanh(x)
    assigned = v.assign(y)
    with tf.control_dependencies([assigned]):
        z = tf.exp(y) * 2.0
    given = np.full(SHAPE, 0.5, np.float32)
    with tf.Session() as session:
        session.run(v.initializer)
        for _ in range(2):
            found = session.run(z, {x: given})
            np.testing.assert_allclose(found, np.exp(np.tanh(given)) * 2, rtol=1e-6)
            np.testing.assert_allclose(session.run(v), np.tanh(given), rtol=1e-6)


def test_two_branches_that_read_one_value():
    x = placeholder()
    y = tf.tanh(x)
    made = tf.exp(y) - tf.abs(y)
    assert overwritten([made], [x]) == ["Abs", "Sub"]  # whoever reads it last
    given = np.full(SHAPE, -0.5, np.float32)
    with tf.Session() as session:
        expected = np.exp(np.tanh(given)) - np.abs(np.tanh(given))
        for _ in range(SCRIPTED_AFTER + 3):
            np.testing.assert_allclose(session.run(made, {x: given}), expected, rtol=1e-6)


def test_a_fetched_result_is_not_overwritten_by_the_next_run():
    x = placeholder()
    made = tf.exp(tf.tanh(x))
    with tf.Session() as session:
        first = session.run(made, {x: np.zeros(SHAPE, np.float32)})
        session.run(made, {x: np.ones(SHAPE, np.float32)})
    assert (first == 1.0).all()


def test_a_failure_names_its_operation_and_the_next_run_is_right():
    x, y = placeholder([None, 3]), placeholder([None, 2])
    made = tf.matmul(tf.exp(tf.tanh(x)), tf.abs(tf.tanh(y)), name="culprit")
    with tf.Session() as session:
        ones = np.ones([2, 3], np.float32)
        with pytest.raises(tf.errors.InvalidArgumentError, match="culprit"):
            session.run(made, {x: ones, y: np.ones([4, 2], np.float32)})
        expected = np.full([2, 2], 3 * np.exp(np.tanh(1.0)) * np.tanh(1.0))
        np.testing.assert_allclose(session.run(made, {x: ones, y: np.ones([3, 2])}), expected, rtol=1e-6)


def test_a_traced_run_has_every_call():
    x = placeholder()
    made = tf.exp(tf.tanh(x) * 2.0, name="last")
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        found = session.run(made, {x: np.zeros(SHAPE)}, options=options, run_metadata=metadata)
    assert (found == 1.0).all()
    assert "last" in str(metadata.step_stats)


# Every form does what the op does.


def sample(dtype, number):
    rng = np.random.default_rng(number)
    if dtype is tf.bool:
        return rng.integers(0, 2, SHAPE).astype(bool)
    values = rng.uniform(-3, 3, SHAPE) if dtype.is_floating or dtype.is_complex else rng.integers(1, 7, SHAPE)
    if dtype.is_floating:
        values[0, number % 2], values[1, 0], values[1, 1] = np.nan, -0.0, (np.inf, -np.inf)[number % 2]
    return (values + 1j * values[::-1] if dtype.is_complex else values).astype(dtype.as_numpy_dtype)


def check_alike(found, expected):
    """PyTorch rounds the last few quotients of complex64 differently when it overwrites them."""
    wide = np.complex128 if np.iscomplexobj(expected) else np.float64
    assert found.dtype == expected.dtype
    tolerance = 1e-6 if wide is np.complex128 else 0
    np.testing.assert_allclose(found.astype(wide), expected.astype(wide), rtol=tolerance, atol=0)


def places():
    """The ops that can write over an input, and over which: those with a rule, and PyTorch's functions of elements."""
    for name, declared in all_ops().items():
        dtype = tf.float32 if tf.float32 in declared.types.get("T", ()) else tf.int32
        kernel = declared.kernel_for("CPU", {"T": dtype})
        is_torch = kernel is not None and reuse._is_torch(kernel.function)
        if declared.in_place_rule is not None:
            yield name, declared.in_place_rule.places
        elif ELEMENTWISE in declared.traits and is_torch and declared.outputs[0].type == declared.inputs[0].type:
            yield name, tuple(range(len(declared.inputs)))


PLACES = dict(places())


def cases():
    for name in sorted(PLACES):
        declared = find_op(name)
        kinds = declared.types.get("T", [tf.bool])
        for dtype in sorted(kinds, key=lambda each: each.name):
            if dtype not in STRING:
                yield from ((name, dtype, place) for place in PLACES[name])


def inputs_of(name, dtype):
    first, second = (tf.placeholder(dtype, SHAPE) for _ in range(2))
    if name == "SelectV2":
        return [tf.constant([True, False, True]), first, second]
    if name == "Select":
        return [tf.constant(np.arange(6).reshape(SHAPE) % 2 == 0), first, second]
    if name == "ClipByValue":
        return [first, tf.constant(2, dtype), tf.constant(4, dtype)]
    if name == "BiasAdd":
        return [first, tf.constant(sample(dtype, 9)[0])]
    return [first] if len(find_op(name).inputs) == 1 and name != "AddN" else [first, second]


@pytest.mark.parametrize(("name", "dtype", "place"), list(cases()), ids=str)
def test_an_overwriting_form_computes_what_the_kernel_does(name, dtype, place, monkeypatch):
    inputs = inputs_of(name, dtype)
    feeds = {each: sample(dtype, number) for number, each in enumerate(inputs) if each.op.type == "Placeholder"}
    true = tf.constant(value=True)
    copied = [tf.where(true, x, x) if number == place else x for number, x in enumerate(inputs)]
    made = find_op(name)(copied) if name == "AddN" else find_op(name)(*copied)
    reused = overwritten([made], feeds)
    with np.errstate(all="ignore"):
        found = tf.Session().run(made, feeds)
        monkeypatch.setattr(planner, "overwrite", lambda *_: None)
        check_alike(found, tf.Session().run(made, feeds))
    if dtype in FLOATING - {tf.float16, tf.bfloat16} and name != "Sign":
        assert reused == [name]
    assert dtype not in WIDE_UNSIGNED or not reused


def test_a_bias_of_channels_that_come_second():
    x = placeholder([2, 3, 1, 2])
    made = tf.nn.bias_add(tf.tanh(x), [1.0, 2.0, 3.0], "NCHW")
    assert overwritten([made], [x]) == ["BiasAdd"]
    found = tf.Session().run(made, {x: np.zeros([2, 3, 1, 2])})
    np.testing.assert_array_equal(found, np.broadcast_to(np.reshape([1.0, 2.0, 3.0], [3, 1, 1]), [2, 3, 1, 2]))


# The ops that make new memory do.


def watching(seen):
    """Notes which operations return memory of their inputs, in place of the check of shapes."""

    def checking(plan):
        def around(number, call):
            def watched(*values):
                made = call.function(*values)
                if call.node is not None and call.node.op_def.is_fresh(call.node):
                    seen.add(call.node.type)
                    check_new(call.node, made, values)
                return made

            return watched

        return around

    return checking


def check_new(node, made, values):
    flat = [x for value in values for x in (value if isinstance(value, (list, tuple)) else [value])]
    given = {x.untyped_storage().data_ptr() for x in flat if isinstance(x, torch.Tensor) and x.numel()}
    if isinstance(made, torch.Tensor) and made.numel():
        assert made.untyped_storage().data_ptr() not in given, f"{node.type} returned its input"
        assert 0 not in [step for step, size in zip(made.stride(), made.shape, strict=True) if size > 1], node.type


def as_given(value):
    if isinstance(value, Host):
        return value.value
    if isinstance(value, np.ndarray):
        return tf.constant(value)
    return type(value)(map(as_given, value)) if isinstance(value, (list, tuple)) else value


def of_row(row):
    module, _, name = row.function.rpartition(".")
    function = getattr(importlib.import_module(f"situs._src.ops.{module}"), name)
    return function(*map(as_given, row.args), **{key: as_given(value) for key, value in row.kwargs.items()})


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
def test_ops_that_are_said_to_make_new_memory_do(device, monkeypatch, without_reuse):
    seen = set()
    monkeypatch.setattr(program, "checking", watching(seen))
    config = tf.ConfigProto(allow_soft_placement=True)
    for row in ROWS:
        with tf.Graph().as_default(), tf.device(device), tf.Session(config=config) as session:
            made = flatten(of_row(row))
            session.run([each for each in made if isinstance(each, tf.Tensor)])
    smooth = [tf.tanh, tf.sigmoid, tf.sqrt, tf.rsqrt, tf.reciprocal, lambda x: tf.maximum(x, x + 1.0)]
    smooth += [tf.nn.relu, tf.nn.relu6, tf.nn.leaky_relu, tf.nn.elu, tf.nn.selu, tf.nn.softplus, tf.nn.softsign]
    smooth += [tf.nn.gelu, tf.nn.swish, tf.nn.softmax, tf.nn.log_softmax]
    for function in smooth:
        with tf.Graph().as_default(), tf.device(device), tf.Session(config=config) as session:
            x, bias = tf.constant([[1.0, 2.0]]), tf.constant([0.0, 1.0])
            session.run(tf.gradients(function(tf.nn.bias_add(x, bias)), [x, bias]))
    for pool in (tf.nn.max_pool, tf.nn.avg_pool):
        with tf.Graph().as_default(), tf.device(device), tf.Session(config=config) as session:
            x = tf.ones([1, 4, 4, 2])
            session.run(tf.gradients(pool(x, 2, 2, "SAME"), x))
            session.run(tf.gradients(pool(x, 1, 1, "SAME"), x))
    for n, pool in [(n, kind) for n in (1, 3) for kind in ("MAX", "AVG")]:
        with tf.Graph().as_default(), tf.device(device), tf.Session(config=config) as session:
            x = tf.ones([1, *[4] * n, 2])
            session.run(
                [tf.gradients(tf.nn.pool(x, [size] * n, pool, "SAME", strides=[size] * n), x) for size in (1, 2)]
            )
    with tf.Graph().as_default(), tf.device(device), tf.Session(config=config) as session:
        x, weight = tf.ones([1, 4, 2, 8]), tf.ones([8])
        session.run(tf.gradients(x[:, 1:3, ::-1], x))
        session.run(tf.gradients(x[:, :], x))
        session.run(tf.gradients(tf.nn.dot_product_attention(x, x, x), x))
        session.run(tf.gradients(tf2.nn.layer_norm(x, weight, weight), [x, weight]))
        session.run(packing.packed([x, weight]))
    assert seen - {"AddN", "Cast"} == {name for name, declared in all_ops().items() if FRESH in declared.traits}


X = np.arange(1.0, 7.0, dtype=np.float32).reshape(1, 2, 3, 1)


@pytest.mark.parametrize(
    "build",
    [
        *[lambda x, f=f: f(x, []) for f in (tf.reduce_sum, tf.reduce_mean, tf.reduce_max, tf.reduce_prod)],
        *[lambda x, f=f: f(x, [0, 3], keepdims=True) for f in (tf.reduce_sum, tf.reduce_min, tf.reduce_logsumexp)],
        lambda x: tf.math.reduce_euclidean_norm(x, []),
        lambda x: tf.reduce_all(x > 0.0, []),
        lambda x: tf.nn.max_pool(x, 1, 1, "VALID"),
        lambda x: tf.nn.avg_pool(x, 1, 1, "SAME"),
        lambda x: tf.nn.pool(x, [1, 1], "AVG", "VALID", dilations=[2, 2]),
        lambda x: tf.nn.conv2d(x, tf.ones([1, 1, 1, 1]), 1, "SAME"),
        lambda x: tf.concat([x, x[:0]], 0),
        lambda x: tf.stack([x]),
        lambda x: tf.round(tf.cast(x, tf.int32)),
        lambda x: tf.nn.relu(tf.cast(x, tf.uint16)),
        lambda x: tf.nn.relu(tf.cast(x, tf.int32)),
        lambda x: tf.nn.softmax(x),
        lambda x: tf.matmul(x, [[1.0]]),
        lambda x: tf.math.add_n([x, x]),
        lambda x: tf.abs(x)[..., 0] * 1.0,
        lambda x: tf.math.squared_difference(x, 0.0),
    ],
)
def test_they_do_so_where_there_is_nothing_to_do(build, monkeypatch, without_reuse):
    seen = set()
    monkeypatch.setattr(program, "checking", watching(seen))
    tf.Session().run(build(tf.constant(X)))
    assert seen


# Calls side by side.


def test_an_overwriting_call_waits_for_the_others_that_read_the_value():
    x = placeholder()
    y = tf.tanh(x)
    plan = planned([tf.exp(y), tf.abs(y)], [x])
    number = {call.node.type: n for n, call in enumerate(plan.calls)}
    last = plan.calls[number["Abs"]]
    assert last.overwrites is not None
    assert number["Exp"] in last.after
    assert all(other < n for n, call in enumerate(plan.calls) for other in call.after)


def test_it_does_not_wait_for_a_product():
    x = placeholder([3, 3])
    y = tf.tanh(x)
    product = tf.matmul(y, y)
    assert overwritten([product, tf.exp(y)], [x]) == []


def test_a_product_that_it_waits_for_in_any_case_does_not_matter():
    x = placeholder([3, 3])
    y = tf.tanh(x)
    assert overwritten([tf.matmul(y, tf.ones([3, 3])) * 2.0 + y], [x]) == ["Mul", "AddV2"]


def test_a_schedule_honours_the_waiting(monkeypatch):
    monkeypatch.setattr("situs._src.runtime.run.threads.HEAVY", 0)
    x = placeholder()
    y = tf.tanh(x)
    plan = planned([tf.exp(y), tf.abs(y), tf.sin(x)], [x])
    pool = Pool(2)
    made = schedule(plan, pool)
    pool.close()
    number = {call.node.type: n for n, call in enumerate(plan.calls)}
    assert number["Abs"] in made.ready.next[number["Exp"]]


# Runs in TorchScript.


def run_often(session, fetches, feeds):
    for _ in range(SCRIPTED_AFTER + 3):
        found = session.run(fetches, feeds)
    return found


def test_a_run_of_overwriting_calls_is_one_call(fast):
    x = placeholder()
    h = x
    for _ in range(SHORTEST):
        h = tf.maximum(1.0 - tf.nn.sigmoid(tf.tanh(h)), 0.25)
    plan = planned([h], [x])
    assert sum(call.overwrites is not None for call in plan.calls) == 4 * SHORTEST - 1
    assert len(scripted(plan).calls) == 1
    given = np.linspace(-1, 1, 6, dtype=np.float32).reshape(SHAPE)
    expected = torch.from_numpy(given)
    for _ in range(SHORTEST):
        expected = torch.maximum(1.0 - torch.sigmoid(torch.tanh(expected)), torch.tensor(0.25))
    with tf.Session() as session:
        np.testing.assert_array_equal(run_often(session, h, {x: given}), expected)


@pytest.mark.parametrize(("name", "place"), [(name, place) for name in sorted(PLACES) for place in PLACES[name]])
def test_torchscript_has_the_overwriting_forms(fast, name, place):
    inputs = inputs_of(name, tf.bool if "T" not in find_op(name).types else dtype_for(name))
    feeds = [each for each in inputs if each.op.type == "Placeholder"]
    h = inputs[place]
    for _ in range(SHORTEST):
        h = tf.logical_not(h) if h.dtype is tf.bool else tf.maximum(h, h)
    inputs[place] = h
    made = find_op(name)(inputs) if name == "AddN" else find_op(name)(*inputs)
    plan = planned([made], feeds)
    assert plan.calls[-1].overwrites is not None or name == "Sign"
    in_script = _text(plan.calls[-1].function, ["x"] * 3) is not None and name != "AddN"
    assert len(scripted(plan).calls) == (1 if in_script else 2)


def dtype_for(name):
    kinds = find_op(name).types["T"]
    return tf.float32 if tf.float32 in kinds else tf.int32


def after_a_python_kernel(x):
    """Calls whose first overwrites what a function of ours has made."""
    h = tf.cumsum(x)
    h = tf.math.divide_no_nan(x, 2.0)
    for _ in range(SHORTEST + 1):
        h = tf.tanh(h)
    return h


def test_a_run_overwrites_nothing_from_outside(fast):
    x = placeholder()
    plan = planned([after_a_python_kernel(x)], [x])
    first, run = scripted(plan).calls
    assert first.node.type == "DivNoNan"
    outside = torch.full(SHAPE, 0.5)
    (made,) = run.function(outside)
    assert (outside == 0.5).all()
    assert made.data_ptr() != outside.data_ptr()


def test_a_large_value_from_outside_is_overwritten_in_python(fast):
    x = placeholder([512, 512])
    plan = planned([after_a_python_kernel(x)], [x])
    assert scripted(plan) is plan


def test_a_run_that_fails_is_made_again_from_what_it_was_given(fast):
    x, y = placeholder([None, 3]), placeholder([None, 3])
    h = tf.math.divide_no_nan(x, 2.0)
    for _ in range(SHORTEST):
        h = tf.exp(tf.tanh(h))
    made = tf.add(h, y, name="culprit")
    ones = np.ones([2, 3], np.float32)
    with tf.Session() as session:
        before = run_often(session, made, {x: ones, y: ones})
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Incompatible shapes.*\n.*culprit"):
            session.run(made, {x: ones, y: np.ones([5, 3])})
        np.testing.assert_array_equal(session.run(made, {x: ones, y: ones}), before)


def test_what_is_made_again_is_right(fast, monkeypatch):
    """A run that fails once, as for want of memory, and not when its calls are made one by one."""
    from situs._src.runtime.run import torchscript

    compiled = torchscript._compiled

    def failing(*arguments):
        function = compiled(*arguments)

        def run(*values):
            function(*values)
            raise RuntimeError("out of memory")

        return run

    monkeypatch.setattr(torchscript, "_compiled", failing)
    x = placeholder()
    made = after_a_python_kernel(x)
    given = np.full(SHAPE, 3.0, np.float32)
    with tf.Session() as session:
        before = session.run(made, {x: given})
        np.testing.assert_array_equal(run_often(session, made, {x: given}), before)
