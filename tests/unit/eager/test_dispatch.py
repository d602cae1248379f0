"""The short way of ops: what it finds, what it checks in every call, and what a failure on it does."""

from __future__ import annotations

import contextlib
import gc
import threading
import weakref

import numpy as np
import pytest
import torch

import situs as tf
from situs._src.base.devices.scope import here
from situs._src.base.tensor import TensorLike
from situs._src.ir.registry.op import _OPS
from situs._src.runtime import dispatch
from situs._src.runtime.eager import execute as executing
from situs.extend import op as declare

CALLS: list[str] = []
tf.GradientTape()  # what is imported now declares ops, which empties every memo


@pytest.fixture
def declared():
    """Declares ops that are gone after the test."""
    names = []

    def make(name, signature, **facts):
        made = declare(name, signature, **facts)
        names.append(name)
        made.shape(lambda *inputs, **attrs: inputs[0])
        return made

    CALLS.clear()
    yield make
    for name in names:
        del _OPS[name]


@pytest.fixture
def whole_ways(monkeypatch):
    """How often an op had to be placed: what no memo has."""
    seen = []
    decide = executing.decide
    monkeypatch.setattr(executing, "decide", lambda op, types, name: (seen.append(op.name), decide(op, types, name))[1])
    return seen


def twice(call):
    call()
    return call()


# What is found.

WITH_VARIABLES = {
    "matmul(t, v)": lambda t, v: tf.matmul(t, v),
    "matmul(v, t)": lambda t, v: tf.matmul(v, t),
    "t + v": lambda t, v: t + v,
    "v + t": lambda t, v: v + t,
    "v * v": lambda t, v: v * v,
    "v * 2.0": lambda t, v: v * 2.0,
    "2.0 - v": lambda t, v: 2.0 - v,
    "-v": lambda t, v: -v,
    "exp(v)": lambda t, v: tf.exp(v),
    "reduce_sum(v)": lambda t, v: tf.reduce_sum(v),
    "reduce_mean(v, 1)": lambda t, v: tf.reduce_mean(v, axis=1),
    "v[0]": lambda t, v: v[0],
    "v[:, 1:]": lambda t, v: v[:, 1:],
    "reshape(v)": lambda t, v: tf.reshape(v, [-1]),
    "transpose(v)": lambda t, v: tf.transpose(v),
    "concat([t, v])": lambda t, v: tf.concat([t, v], 0),
    "stack([v, t])": lambda t, v: tf.stack([v, t]),
    "cast(v)": lambda t, v: tf.cast(v, tf.int32),
    "bias_add": lambda t, v: tf.nn.bias_add(t, v[0]),
}


@pytest.mark.parametrize("case", WITH_VARIABLES)
@pytest.mark.parametrize("taped", [False, True])
def test_ops_on_variables_are_placed_once(fast, whole_ways, case, taped):
    call = WITH_VARIABLES[case]
    t, v = tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.Variable([[5.0, 6.0], [7.0, 8.0]])
    wanted = call(t, tf.constant(v.numpy())).numpy()
    call(t, v)
    whole_ways.clear()
    if taped:
        with tf.GradientTape() as tape:
            found = call(t, v)
        assert tape.watched_variables() == (v,)
    else:
        found = call(t, v)
    assert whole_ways == []
    np.testing.assert_array_equal(found.numpy(), wanted)


@pytest.mark.parametrize("case", ["matmul(t, v)", "concat([t, v])", "reduce_mean(v, 1)", "cast(v)"])
@pytest.mark.parametrize("taped", [False, True])
def test_what_stands_for_a_variable_is_read_once_and_placed_once(fast, whole_ways, case, taped):
    class Weight(TensorLike):
        def __init__(self, value):
            self.value, self.reads = tf.Variable(value), 0

        def __tf_tensor__(self, dtype=None, name=None):
            self.reads += 1
            return tf.convert_to_tensor(self.value, dtype, name=name)

    call = WITH_VARIABLES[case]
    t, weight = tf.constant([[1.0, 2.0], [3.0, 4.0]]), Weight([[5.0, 6.0], [7.0, 8.0]])
    wanted = call(t, weight.value).numpy()
    call(t, weight)
    whole_ways.clear()
    weight.reads = 0
    with tf.GradientTape() if taped else contextlib.nullcontext():
        found = call(t, weight)
    assert weight.reads == 1
    assert whole_ways == []
    np.testing.assert_array_equal(found.numpy(), wanted)


def test_what_was_assigned_is_what_ops_read(fast):
    t, v = tf.constant([1.0]), tf.Variable([1.0])
    seen = []
    for number in range(4):
        v.assign([float(number)])
        seen.append((t + v).numpy().tolist() + tf.negative(v).numpy().tolist())
    assert seen == [[1.0 + n, -n] for n in range(4)]


def test_a_variable_on_a_gpu_is_copied_to_the_op_and_back(fast):
    with tf.device("/gpu:1"):
        v = tf.Variable([1.0, 2.0])
    with tf.device("/gpu:0"):
        for _ in range(3):
            assert (v + v).device.endswith("GPU:0")
    for _ in range(3):
        v.assign_add([1.0, 1.0])
    assert v.device.endswith("GPU:1")
    assert v.numpy().tolist() == [4.0, 5.0]


def test_a_value_that_was_moved_to_the_host_comes_back(fast):
    v = tf.Variable([1.0, 2.0])
    for call in (lambda: v + v, lambda: tf.negative(v), lambda: tf.reduce_sum(v), lambda: v[0], lambda: tf.stack([v])):
        wanted = twice(call).numpy()
        value = v._cell.value
        assert v._cell.move_out(value, lambda value=value: value.clone())
        np.testing.assert_array_equal(call().numpy(), wanted)
        assert v._cell.value is not None


def test_a_subclass_with_its_own_way_to_be_read_is_read_that_way(fast):
    class Doubled(tf.Variable):
        def __tensor__(self):
            return super().__tensor__() * 2.0

    class Plain(tf.Variable):
        pass

    for _ in range(3):
        assert (Doubled([1.0]) + tf.constant([1.0])).numpy() == [3.0]
        assert (Plain([1.0]) + tf.constant([1.0])).numpy() == [2.0]


def test_a_variable_read_while_a_graph_is_built_stays_an_input_of_it(fast):
    v = tf.Variable([1.0])
    tf.add(v, v)
    f = tf.function(lambda: v + v)
    f()
    v.assign([5.0])
    assert f().numpy() == [10.0]


def test_tapes_see_variables_as_they_are_told(fast):
    t, v = tf.constant([2.0]), tf.Variable([3.0])
    hidden = tf.Variable([3.0], trainable=False)
    for _ in range(3):
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            made = t * v
        assert tape.watched_variables() == ()
        assert tape.gradient(made, v) is None
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(v)
            made = t * v
        assert tape.gradient(made, v).numpy() == [2.0]
        with tf.GradientTape() as tape:
            made = v * hidden
        assert tape.watched_variables() == (v,)
        with tf.GradientTape() as tape:
            made = tf.reduce_sum(tf.concat([t * v, v], 0))
        assert tape.gradient(made, v).numpy() == [3.0]


def test_updates_are_placed_once_and_again_when_the_rules_change(fast, monkeypatch):
    followed = []
    follow = executing._follow
    monkeypatch.setattr(executing, "_follow", lambda *given: (followed.append(given[0].name), follow(*given))[1])
    v = tf.Variable([1.0])
    for _ in range(3):
        v.assign_add([1.0])
        v.assign(v + 0.0)
    assert followed == ["AssignAdd", "Assign"]
    tf.config.set_soft_device_placement(True)
    v.assign_add([1.0])
    assert followed == ["AssignAdd", "Assign", "AssignAdd"]
    assert v.numpy() == [5.0]


def test_threads_that_add_are_all_counted(fast):
    v = tf.Variable(0)
    threads = [threading.Thread(target=lambda: [v.assign_add(1) for _ in range(200)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert v.numpy() == 800


# What is checked.


def test_a_dtype_that_depends_on_more_than_the_inputs_dtypes_is_found_out_in_every_call(fast, declared):
    wrong = declared("TestSometimes", "x: T -> y: T")
    wrong.kernel("CPU", "GPU")(lambda x: x if x.shape[0] < 3 else x.double())
    short, long = tf.constant([1.0]), tf.constant([1.0, 2.0, 3.0])
    ways = {"apply": wrong, "unary": dispatch.unary(wrong), "with_host_inputs": dispatch.with_host_inputs(wrong)}
    for way in ways.values():
        for tape in (False, True):
            for _ in range(2):
                with tf.GradientTape() if tape else tf.device(None):
                    assert way(short).dtype is tf.float32
                    with pytest.raises(tf.errors.InternalError, match="float64 as result 0 where the signature promis"):
                        way(long)


@pytest.mark.parametrize("returned", [3, None, "word", [1]])
def test_a_kernel_that_returns_no_value_the_second_time_is_named(fast, declared, returned):
    wrong = declared("TestNothing", "x: T, y: T -> z: T")
    wrong.kernel("CPU", "GPU")(lambda x, y: x if x.shape[0] < 3 else returned)
    short, long = tf.constant([1.0]), tf.constant([1.0, 2.0, 3.0])
    for way in (wrong, dispatch.binary(wrong)):
        way(short, short)
        for _ in range(2):
            with pytest.raises(tf.errors.InternalError, match="of op TestNothing returned"):
                way(long, long)


def test_the_number_of_results_is_counted_in_every_call(fast, declared):
    wrong = declared("TestTwo", "x: T -> y: T, z: int32")
    wrong.kernel("CPU", "GPU")(lambda x: (x, x.int()) if x.shape[0] < 3 else (x, x, x))
    wrong.many(tf.constant([1.0]))
    with pytest.raises(tf.errors.InternalError, match="3 results where the signature"):
        wrong.many(tf.constant([1.0, 2.0, 3.0]))
    assert [each.dtype for each in wrong.many(tf.constant([1.0]))] == [tf.float32, tf.int32]


def test_a_function_does_not_return_another_dtype_than_it_promised(fast, declared):
    wrong = declared("TestPromise", "x: T -> y: T")
    wrong.kernel("CPU", "GPU")(lambda x: x if x.shape[0] < 3 else x.double())
    f = tf.function(lambda x: wrong(x), reduce_retracing=True)
    assert f(tf.constant([1.0])).dtype is tf.float32
    with pytest.raises(tf.errors.InternalError, match="float64 where the graph promises float32"):
        f(tf.constant([1.0, 2.0, 3.0]))


def test_builtins_of_one_dtype_are_settled_and_others_are_not(declared):
    kinds = {
        "x: T, y: T -> z: T": True,
        "x: T, y: U -> z: T": False,
        "x: T, axis: host -> z: T": False,
        "x: any -> z: T": False,
    }
    for number, (signature, settled) in enumerate(kinds.items()):
        made = declared(f"TestKind{number}", signature)
        made.kernel("CPU")(torch.add)
        made.kernel("GPU")(lambda *values: values[0])
        assert [kernel.settled for kernel in made.kernels] == [settled, False]


# What fails.


def noting(name, *, after):
    """A kernel that fails after so many calls."""

    def kernel(*values, **attrs):
        CALLS.append(name)
        if len(CALLS) > after:
            raise RuntimeError("it went wrong")
        return values[0]

    return kernel


@pytest.mark.parametrize("taped", [False, True])
@pytest.mark.parametrize("variable", [False, True])
@pytest.mark.parametrize("way", ["apply", "unary", "binary", "with_host_inputs"])
@pytest.mark.parametrize("stateful", [False, True])
def test_a_kernel_that_fails_runs_once(fast, declared, way, variable, taped, stateful):
    signature = {"binary": "x: T, y: T -> z: T", "with_host_inputs": "x: T, axis: host -> z: T"}.get(
        way, "x: T -> z: T"
    )
    failing = declared("TestFails", signature, stateful=stateful)
    failing.kernel("CPU", "GPU")(noting("ran", after=1))
    rest = {"binary": (tf.constant([1.0]),), "with_host_inputs": (0,)}.get(way, ())
    call = failing if way == "apply" else getattr(dispatch, way)(failing)
    x = tf.Variable([1.0]) if variable else tf.constant([1.0])
    call(x, *rest)
    assert len(CALLS) == 1
    for count in (2, 3):
        with (
            tf.GradientTape() if taped else tf.device(None),
            pytest.raises(tf.errors.InvalidArgumentError, match=r"TestFails failed .* it went wrong \[Op:TestFails\]"),
        ):
            call(x, *rest)
        assert len(CALLS) == count


@pytest.mark.parametrize("device", ["/cpu:0", "/gpu:0"])
def test_it_runs_once_the_first_time_too(fast, declared, device):
    failing = declared("TestFailsAtOnce", "x: T -> z: T", stateful=True)
    failing.kernel("CPU", "GPU")(noting("ran", after=0))
    for count in (1, 2):
        with tf.device(device), pytest.raises(tf.errors.InvalidArgumentError):
            failing([1.0])
        assert len(CALLS) == count


def test_an_update_that_fails_runs_once_and_changes_nothing(fast, declared):
    failing = declared("TestUpdateFails", "ref: T&, value: T -> output_ref: T&", stateful=True)
    failing.kernel("CPU", "GPU")(noting("ran", after=1))
    v = tf.Variable([1.0])
    v._update(failing, (tf.constant([2.0]),), {}, None)
    with pytest.raises(tf.errors.InvalidArgumentError, match="it went wrong"):
        v._update(failing, (tf.constant([2.0]),), {}, None)
    assert len(CALLS) == 2
    assert v.numpy() == [1.0]


ERRORS = {
    "shapes": (lambda a, b: a + b, r"Incompatible shapes: \[2\] vs. \[3\]"),
    "matmul": (lambda a, b: tf.matmul(a[None], b[None]), "Matrix size-incompatible"),
    "reshape": (lambda a, b: tf.reshape(a, [7]), "2 values, but the requested shape has 7"),
    "axis": (lambda a, b: tf.reduce_sum(a, 4), "Invalid reduction dimension"),
    "index": (lambda a, b: a[5], "slice index 5 of dimension 0 out of bounds"),
    "too many": (lambda a, b: a[0, 0], "Index out of range using input dim 1"),
    "dots": (lambda a, b: a[..., ...], "Multiple ellipses"),
    "perm": (lambda a, b: tf.transpose(a, [1, 0]), "transpose expects a vector of size 1"),
    "expand": (lambda a, b: tf.expand_dims(a, 5), "Tried to expand dim index 5"),
    "concat": (lambda a, b: tf.concat([a[None], b[None]], 0), "Dimension 1 in both shapes must be equal"),
    "concat axis": (lambda a, b: tf.concat([a, b], 3), "Expected concatenating dimensions in the range"),
    "concat scalars": (lambda a, b: tf.concat([a[0], a[0]], 0), "Can't concatenate scalars"),
    "stack": (lambda a, b: tf.stack([a, b]), "Shapes of all inputs must match"),
    "argmax": (lambda a, b: tf.argmax(a, 3), "Expected dimension in the range"),
}


@pytest.mark.parametrize("case", ERRORS)
@pytest.mark.parametrize("variable", [False, True])
def test_errors_say_the_same_on_the_short_way(fast, case, variable):
    call, message = ERRORS[case]
    make = tf.Variable if variable else tf.constant
    a, b = make([1.0, 2.0]), make([1.0, 2.0, 3.0])
    texts = set()
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message) as raised:
            call(a, b)
        texts.add(str(raised.value))
        call(a, a) if case in ("shapes", "stack") else tf.matmul(a[None], a[:, None])
        tf.reshape(a, [2]), tf.reduce_sum(a, 0), a[0], tf.transpose(a), tf.expand_dims(a, 0), tf.argmax(a, 0)
        tf.concat([a, b], 0)
    assert len(texts) == 1


@pytest.mark.parametrize("variable", [False, True])
def test_an_error_on_the_short_way_does_not_hold_the_values(fast, variable):
    a = tf.constant(np.ones(1000, np.float32))
    tf.add(a, a)
    held = []

    def fail():
        b = tf.constant(np.ones(999, np.float32))
        held.append(weakref.ref(b._value))
        try:
            tf.add(tf.Variable(a) if variable else a, b)
        except tf.errors.InvalidArgumentError as error:
            return error.with_traceback(None)
        raise AssertionError("it did not fail")

    error = fail()
    assert error.__cause__ is None
    assert error.__context__ is None or error.__context__.__traceback__ is None
    gc.collect()
    assert held[0]() is None


def test_looking_for_a_step_raises_nothing(fast):
    """What is not remembered is found by looking: no input of a program makes `recall` fail."""
    odd = [None, 3, "a", b"a", [1, [2]], {"a": 1}, object(), np.ones(2), tf.constant(1.0), tf.Variable(1.0), [None], ()]
    tf.add(tf.constant(1.0), tf.constant(1.0))
    for name in ("AddV2", "Exp", "ConcatV2", "Reshape", "Cast", "Split"):
        for x in odd:
            for y in odd:
                executing.recall(_OPS[name], (x, y), {"odd": 1}, here.memo)


def test_a_step_that_was_just_used_is_not_used_after_the_rules_changed(declared):
    two = declared("Two", "x: float, y: float -> z: float")
    two.kernel("CPU")(lambda x, y: x + y)
    add = dispatch.binary(two)
    x = tf.constant([1.0])
    assert [add(x, x).numpy().tolist() for _ in range(3)] == [[2.0]] * 3
    two.kernel("CPU")(lambda x, y: x - y)
    assert add(x, x).numpy().tolist() == [0.0]
