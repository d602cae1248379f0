"""Compiled regions: never wrong, never slower, and Situs' own errors.

Most tests have a stand-in for the compiler, which runs the graph that was traced. A few compile.
"""

from __future__ import annotations

import logging
import threading
import time

import numpy as np
import pytest
import torch

import situs as tf
import situs.compat.v1 as tf1
from situs._src.runtime.eager import determinism
from situs._src.runtime.run import compiled, compiled_region, inductor
from situs._src.runtime.run.compiled import COMPILED_AFTER
from situs._src.runtime.run.compiled_region import distance

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


@pytest.fixture(autouse=True)
def _on_cpu(fast, monkeypatch):
    monkeypatch.setattr(compiled_region, "TRIALS", 0)  # the figures of tiny programs say nothing
    monkeypatch.setattr(compiled.switch, "on", False)
    monkeypatch.delenv("SITUS_COMPILE", raising=False)
    with tf.device("/cpu:0"):
        yield


@pytest.fixture
def stand_in(monkeypatch):
    """Runs the traced graph in the place of compiled code; a test may put something around that."""

    class StandIn:
        regions = 0
        calls = 0
        around = staticmethod(lambda run: run)

        def compile(self, traced, exact=False):
            self.regions += 1
            run = self.around(lambda values: traced.graph(*values))

            def counted(values):
                self.calls += 1
                return run(values)

            return counted

    found = StandIn()
    monkeypatch.setattr(inductor, "compiled", found.compile)
    monkeypatch.setattr(inductor, "missing", lambda on_card: None)
    return found


def layer(x):
    mean = tf.reduce_mean(x, -1, keepdims=True)
    return tf.nn.gelu((x - mean) * tf.math.rsqrt(tf.reduce_mean((x - mean) ** 2, -1, keepdims=True) + 1e-5))


def ways(function):
    return [each.runs_as for each in tf.explain(function)]


def warnings_of(caplog):
    found = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    return [message for message in found if "retracing" not in message]  # of functions of one name in many tests


# When.


def test_jit_compile_compiles_in_the_second_run(stand_in):
    f = tf.function(layer, jit_compile=True)
    usual = layer(tf.constant(X)).numpy()
    f(X)
    assert stand_in.regions == 0
    f(X)
    assert (stand_in.regions, stand_in.calls) == (1, 0)
    for calls in (1, 2, 3):
        np.testing.assert_allclose(f(X), usual, rtol=1e-5, atol=1e-6)
        assert stand_in.calls == calls


def test_nothing_is_compiled_by_default(stand_in):
    f = tf.function(layer)
    for _ in range(COMPILED_AFTER + 3):
        f(X)
    assert stand_in.regions == 0
    assert not any("compiled" in way for way in ways(f))


@pytest.mark.parametrize("enabled", [True, "autoclustering"])
def test_set_jit_compiles_what_has_settled(stand_in, enabled):
    tf.config.optimizer.set_jit(enabled)
    assert tf.config.optimizer.get_jit() == "autoclustering"
    f, never = tf.function(layer), tf.function(layer, jit_compile=False)
    for _ in range(COMPILED_AFTER):
        f(X), never(X)
    assert stand_in.regions == 0
    f(X), never(X)
    assert stand_in.regions == 1
    tf.config.optimizer.set_jit(False)
    assert tf.config.optimizer.get_jit() == ""


def test_the_environment_has_the_last_word(stand_in, monkeypatch):
    monkeypatch.setenv("SITUS_COMPILE", "0")
    f = tf.function(layer, jit_compile=True)
    for _ in range(4):
        f(X)
    assert stand_in.regions == 0
    monkeypatch.setenv("SITUS_COMPILE", "1")
    g = tf.function(layer)
    for _ in range(COMPILED_AFTER + 1):
        g(X)
    assert stand_in.regions == 1
    monkeypatch.setenv("SITUS_COMPILE", "perhaps")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"SITUS_COMPILE='perhaps'\. Write 1"):
        tf.function(layer)(X)


def test_functions_of_datasets_are_not_compiled(stand_in):
    tf.config.optimizer.set_jit(True)
    made = list(tf.data.Dataset.range(COMPILED_AFTER + 5).map(lambda n: (n + 1) * 2).as_numpy_iterator())
    assert made[-1] == 2 * (COMPILED_AFTER + 5)
    assert stand_in.regions == 0


def test_sessions_compile_too(stand_in):
    tf.config.optimizer.set_jit(True)
    with tf1.Graph().as_default(), tf1.device("/cpu:0"), tf1.Session() as session:
        x = tf1.placeholder(tf1.float32, [3, 4])
        y = tf1.exp(x * 2.0) + 1.0
        for _ in range(COMPILED_AFTER + 3):
            np.testing.assert_allclose(session.run(y, {x: X}), np.exp(X * 2) + 1, rtol=1e-6)
        session.run(x * 2.0, {x: X})  # not often
        found = {each.op: each.runs_as for each in tf.explain(session)}
    assert (stand_in.regions, stand_in.calls) == (1, 2)
    assert found["Exp"].startswith("compiled region 1")


@pytest.mark.parametrize(("level", "compiles"), [("ON_1", True), ("ON_2", True), ("OFF", False), ("DEFAULT", False)])
def test_the_level_of_a_session_says_whether_it_compiles(stand_in, level, compiles):
    tf.config.optimizer.set_jit(level == "OFF")  # which a session may leave
    config = tf1.ConfigProto()
    config.graph_options.optimizer_options.global_jit_level = getattr(tf1.OptimizerOptions, level)
    with tf1.Graph().as_default(), tf1.device("/cpu:0"), tf1.Session(config=config) as session:
        x = tf1.placeholder(tf1.float32, [3, 4])
        y = tf1.exp(x * 2.0) + 1.0
        for _ in range(COMPILED_AFTER + 3):
            np.testing.assert_allclose(session.run(y, {x: X}), np.exp(X * 2) + 1, rtol=1e-6)
    assert stand_in.regions == compiles


def test_functions_in_functions_and_under_tapes_compile(stand_in):
    def on_cpu(x):
        with tf.device("/cpu:0"):
            return layer(x)

    inner = tf.function(on_cpu, jit_compile=True)
    outer = tf.function(lambda x: inner(x) + 1.0)
    for _ in range(3):
        outer(X)
    assert stand_in.calls
    before = stand_in.regions
    x = tf.constant(X)
    for _ in range(4):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = inner(x)
        gradient = tape.gradient(y, x)
    assert stand_in.regions >= before + 2  # forth and back
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layer(x)
    np.testing.assert_allclose(gradient, tape.gradient(y, x), rtol=1e-4, atol=1e-6)


def test_verified_and_virtual_runs_say_why_they_are_not_compiled(stand_in, monkeypatch):
    with tf.device("/gpu:0"):
        f = tf.function(layer, jit_compile=True)
        for _ in range(3):
            f(tf.constant(X))
    assert stand_in.regions == 0
    assert set(ways(f)) == {"kernel: on a virtual GPU, whose ledger counts every result"}
    monkeypatch.setattr("situs._src.runtime.eager.execute._verify", True)
    g = tf.function(layer, jit_compile=True)
    g(X)
    assert set(ways(g)) == {"kernel: runs are verified (SITUS_VERIFY)"}


# No compiler.


def test_jit_compile_without_a_compiler_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    f = tf.function(layer, jit_compile=True)
    with pytest.raises(tf.errors.NotFoundError, match=r"this machine lacks a C\+\+ compiler \(g\+\+ or clang\+\+"):
        f(X)
    monkeypatch.setenv("CXX", "/nowhere/g++")
    with pytest.raises(tf.errors.NotFoundError, match=r"lacks a C\+\+ compiler \(CXX=/nowhere/g\+\+ is no program"):
        f(X)
    monkeypatch.setenv("SITUS_COMPILE", "0")
    assert tf.function(layer, jit_compile=True)(X).shape == (3, 4)


def test_short_programs_that_run_on_threads_are_refused_without_a_compiler_too(monkeypatch):
    """Whatever way a program would go, it is asked first."""
    monkeypatch.setattr(inductor, "missing", lambda on_card: "Triton" if on_card else None)
    monkeypatch.setattr("situs._src.base.devices.logical.Device.is_card", property(lambda device: True))
    f = tf.function(lambda x: tf.exp(x) + 1.0, jit_compile=True)
    with pytest.raises(tf.errors.NotFoundError, match="lacks Triton"):
        f(X)


def test_without_a_compiler_settled_programs_go_on_and_one_line_says_so(monkeypatch, tmp_path, caplog):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(compiled, "_told", set())
    tf.config.optimizer.set_jit(True)
    for f in (tf.function(layer), tf.function(layer)):
        for _ in range(COMPILED_AFTER + 2):
            f(X)
    assert len(warnings_of(caplog)) == 1
    assert "lacks a C++ compiler" in warnings_of(caplog)[0]
    assert all("no compiler" in way for way in ways(f))


def test_a_card_needs_triton_and_a_c_compiler(monkeypatch, tmp_path):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "Triton" in inductor.missing(on_card=True)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    assert "a C compiler" in inductor.missing(on_card=True)


def test_a_compiler_that_fails_leaves_the_calls_as_they_are(stand_in, caplog, monkeypatch):
    def fail(traced, exact=False):
        raise RuntimeError("no space left\nand more")

    monkeypatch.setattr(inductor, "compiled", fail)
    f = tf.function(layer, jit_compile=True)
    for _ in range(5):
        made = f(X)
    np.testing.assert_allclose(made, layer(tf.constant(X)), rtol=1e-6)
    assert len(warnings_of(caplog)) == 1
    assert set(ways(f)) == {"kernel: the compiler failed: RuntimeError: no space left"}


def test_of_what_a_compiler_prints_the_first_error_is_shown():
    text = "C++ compile error\n\nCommand:\ng++ x.cpp\n\nOutput:\nx.h:3:10: fatal error: Python.h: No such file\nmore"
    assert inductor.failure_of(RuntimeError(text)) == "RuntimeError: x.h:3:10: fatal error: Python.h: No such file"
    assert inductor.failure_of(RuntimeError("")) == "RuntimeError: "


# Never wrong.


def test_training_is_the_same(stand_in):
    def trained(jit_compile):
        v, w = tf.Variable(X.T @ X), tf.Variable(tf.ones([4]))
        count = tf.Variable(0)

        @tf.function(jit_compile=jit_compile)
        def step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((layer(x @ v) * w - y) ** 2)
            for variable, gradient in zip([v, w], tape.gradient(loss, [v, w]), strict=True):
                variable.assign_sub(0.1 * gradient)
            count.assign_add(1)
            return loss, v * 2.0

        made = [step(tf.constant(X), tf.constant(X[::-1].copy())) for _ in range(8)]
        return [float(loss) for loss, _ in made], made[-1][1].numpy(), v.numpy(), int(count)

    usual, new = trained(None), trained(True)
    assert stand_in.calls
    for one, other in zip(usual, new, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_a_region_that_differs_is_dropped_with_one_warning(stand_in, caplog):
    stand_in.around = lambda run: lambda values: [value * 1.01 for value in run(values)]
    f = tf.function(layer, jit_compile=True)
    for _ in range(6):
        np.testing.assert_allclose(f(X), layer(tf.constant(X)), rtol=1e-5, atol=1e-6)
    assert stand_in.calls == 1
    assert len(warnings_of(caplog)) == 1
    assert "gave other results: 1.0e-02 of the largest element" in warnings_of(caplog)[0]
    assert all("gave other results" in way for way in ways(f))


@pytest.mark.parametrize(
    ("made", "is_dropped"),
    [
        (lambda value: value.transpose(0, 2).contiguous().transpose(0, 2), False),
        (lambda value: value.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2), False),
        (lambda value: value.double(), True),
    ],
)
@pytest.mark.parametrize("shape", [(1, 4, 1, 1), (1, 4, 3, 2)])
def test_strides_are_no_difference(stand_in, caplog, made, shape, is_dropped):
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    stand_in.around = lambda run: (
        lambda values: [made(value) if value.numel() == x.size else value for value in run(values)]
    )
    first = tf.function(lambda x: tf.tanh(x) * 2.0 + 1.0, jit_compile=True)
    second = tf.function(lambda x: tf.reduce_sum(tf.sin(x) * 2.0, [1, 2, 3]), jit_compile=True)
    for _ in range(6):
        y = first(x)
        np.testing.assert_allclose(y, np.tanh(x) * 2 + 1, rtol=1e-5)
        np.testing.assert_allclose(second(y), (np.sin(np.tanh(x) * 2 + 1) * 2).sum((1, 2, 3)), rtol=1e-4)
    assert bool(warnings_of(caplog)) == is_dropped
    assert stand_in.calls == (1 if is_dropped else 4) + 4  # the second one fits all the time
    caplog.clear()


def test_what_has_another_stride_for_a_size_of_one_fits_the_next_region(stand_in):
    stand_in.around = lambda run: lambda values: [value.as_strided((1, 4), (9, 1)) for value in run(values)]
    first, second = (tf.function(lambda x: tf.tanh(x) * 2.0 + 1.0, jit_compile=True) for _ in range(2))
    for _ in range(3):
        second(X[:1])
    for _ in range(4):  # from the fourth on, the compiled result
        second(first(X[:1]))
    assert stand_in.calls == 1 + 2 + 4


def test_integers_must_be_equal(stand_in):
    stand_in.around = lambda run: lambda values: [value + 1 for value in run(values)]
    f = tf.function(lambda x: (x + 3) * 1000000, jit_compile=True)
    for _ in range(5):
        np.testing.assert_array_equal(f(np.full([20], 4, np.int32)), [7000000] * 20)
    assert stand_in.calls == 1


def test_rounding_errors_alone_are_no_difference(stand_in, caplog):
    """Their sum is zero but for rounding; it differs by more than itself when they are added in another order."""
    stand_in.around = lambda run: lambda values: [value * 3.0 if value.ndim == 0 else value for value in run(values)]
    x = np.random.RandomState(0).randn(1000).astype(np.float32)
    f = tf.function(lambda x: (tf.reduce_sum(x - tf.reduce_mean(x)), x * 2.0), jit_compile=True)
    for _ in range(4):
        f(x)
    assert stand_in.calls == 2
    assert not warnings_of(caplog)


def test_a_region_that_fails_goes_call_by_call_and_is_dropped_in_the_end(stand_in, caplog):
    def failing(run):
        def call(values):
            if stand_in.calls > 1:
                raise RuntimeError("broken")
            return run(values)

        return call

    stand_in.around = failing
    f = tf.function(layer, jit_compile=True)
    for _ in range(9):
        np.testing.assert_allclose(f(X), layer(tf.constant(X)), rtol=1e-6)
    assert stand_in.calls == 1 + compiled_region.MOST_FAILURES
    assert len(warnings_of(caplog)) == 1


def test_other_shapes_go_call_by_call(stand_in):
    f = tf.function(layer, input_signature=[tf.TensorSpec([None, None])], jit_compile=True)
    for rows in (3, 3, 3, 5, 1, 3):
        x = np.random.RandomState(rows).randn(rows, 4).astype(np.float32)
        np.testing.assert_allclose(f(x), layer(tf.constant(x)), rtol=1e-5, atol=1e-6)
    assert stand_in.calls == 2  # of the four with 3 rows one was the first, and one was noted


def test_shapes_that_change_every_step(stand_in):
    f = tf.function(layer, input_signature=[tf.TensorSpec([None, None])], jit_compile=True)
    for rows in range(1, 20):
        x = np.random.RandomState(rows).randn(rows, 4).astype(np.float32)
        np.testing.assert_allclose(f(x), layer(tf.constant(x)), rtol=1e-5, atol=1e-6)
    assert stand_in.regions == 1


def test_sizes_of_what_a_region_does_not_take_are_guarded(stand_in):
    """The region takes `x` and a number that comes from the shape of `y`."""
    f = tf.function(
        lambda x, y: tf.broadcast_to(tf.exp(x) + 1.0, [tf.shape(y)[0], 4]) * 2.0,
        input_signature=[tf.TensorSpec([4]), tf.TensorSpec([None])],
        jit_compile=True,
    )
    for rows in (2, 2, 2, 2, 5, 3):
        assert f(X[0], np.zeros(rows, np.float32)).shape == (rows, 4)


def test_values_that_the_caller_changes_stay_what_they_were(stand_in):
    """A compiler may return what it was given; a result is memory of its own all the same."""
    stand_in.around = lambda run: lambda values: [values[0], values[0]]
    v = tf.Variable(tf.ones([4]))
    f = tf.function(lambda: ((v + 1.0) - 1.0, (v * 2.0) / 2.0), jit_compile=True)
    for _ in range(5):
        one, two = f()
    memory = {value._value.data_ptr() for value in (one, two, v.read_value())}
    assert len(memory) == 3
    v.assign_add(tf.ones([4]))
    np.testing.assert_array_equal(one, [1, 1, 1, 1])


def test_threads_may_call_it_while_it_is_compiled(stand_in):
    f = tf.function(layer, jit_compile=True)
    f(X)
    wrong = []

    def work():
        with tf.device("/cpu:0"):
            for _ in range(30):
                if not np.allclose(f(X), layer(tf.constant(X)), atol=1e-5):
                    wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert stand_in.regions == 1


L = np.arange(20, dtype=np.float32).reshape(4, 5)
GOOD, OVER, UNDER = np.array([0, 1, 2, 3]), np.array([0, 1, 2, 9]), np.array([0, 1, 2, -1])
WRONG = {
    "label": (lambda x, i: tf.nn.sparse_softmax_cross_entropy_with_logits(i, x * 2.0) + 1.0, (L, GOOD), (L, OVER)),
    "negative label": (lambda x, i: tf.nn.sparse_softmax_cross_entropy_with_logits(i, x) + 1.0, (L, GOOD), (L, UNDER)),
    "index": (lambda x, i: tf.gather(x * 2.0, i) + 1.0, (L, GOOD), (L, OVER)),
    "negative index": (lambda x, i: tf.gather(x * 2.0, i) + 1.0, (L, GOOD), (L, UNDER)),
    "place": (lambda x, i: tf.gather_nd(x * 2.0, i[:, None]) + 1.0, (L, GOOD), (L, OVER)),
    "row": (lambda x, i: tf.tensor_scatter_nd_add(x * 2.0, i[:, None], x) + 1.0, (L, GOOD), (L, OVER)),
    "segment": (lambda x, i: tf.math.unsorted_segment_sum(x * 2.0, i, 4) + 1.0, (L, GOOD), (L, OVER)),
    "division": (lambda x, i: (x + 1) // i * 2, (GOOD, GOOD + 1), (GOOD, GOOD)),
    "remainder": (lambda x, i: (x + 1) % i * 2, (GOOD, GOOD + 1), (GOOD, GOOD)),
    "truncation": (lambda x, i: tf.truncatediv(x + 1, i) * 2, (GOOD, GOOD + 1), (GOOD, GOOD)),
    "power": (lambda x, i: tf.pow(x + 1, i) * 2, (GOOD, GOOD), (GOOD, UNDER)),
    "singular": (lambda x, i: tf.linalg.inv(x * 2.0) + 1.0, (np.eye(4, dtype="f"), GOOD), (L[:, :4] * 0, GOOD)),
    "not a number": (lambda x, i: tf.debugging.check_numerics(x * 2.0, "bad") + 1.0, (L, GOOD), (L * np.nan, GOOD)),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_values_raise_the_same_errors(stand_in, name):
    function, good, bad = WRONG[name]
    f = tf.function(lambda *args: tf.tanh(tf.cast(function(*args), tf.float32)) * 2.0, jit_compile=True)
    for _ in range(4):
        made = f(*good)
    assert stand_in.calls
    np.testing.assert_allclose(made, f.python_function(*map(tf.constant, good)), rtol=1e-5, atol=1e-6)
    with pytest.raises(tf.errors.InvalidArgumentError) as usual:
        tf.function(f.python_function)(*bad)
    with pytest.raises(tf.errors.InvalidArgumentError) as found:
        f(*bad)
    assert str(found.value).partition(" (made at")[0] == str(usual.value).partition(" (made at")[0]
    np.testing.assert_array_equal(f(*good), made)


REFUSING = {"label", "index", "place", "segment", "division", "remainder", "truncation", "power"}


@pytest.mark.parametrize("name", sorted(REFUSING))
def test_kernels_that_refuse_values_are_compiled(stand_in, name):
    function, good, _ = WRONG[name]
    f = tf.function(lambda *args: tf.tanh(tf.cast(function(*args), tf.float32)) * 2.0, jit_compile=True)
    for _ in range(3):
        f(*good)
    assert not [way for way in ways(f) if not way.startswith("compiled region")]


# Never slower.


def test_a_region_that_is_slower_is_not_used(stand_in, monkeypatch, caplog):
    monkeypatch.setattr(compiled_region, "TRIALS", 3)
    stand_in.around = lambda run: lambda values: (time.sleep(0.05), run(values))[1]
    f = tf.function(layer, jit_compile=True)
    for _ in range(14):
        f(X)
    assert stand_in.calls == 1 + 3  # the first, and three that were timed
    assert all(way.startswith("kernel: slower compiled, ") for way in ways(f))
    assert not warnings_of(caplog)


def test_a_region_that_is_faster_is_used_and_both_times_are_known(stand_in, monkeypatch):
    monkeypatch.setattr(compiled_region, "TRIALS", 2)
    usual = compiled._alone

    def slow(region, plan):
        alone = usual(region, plan)
        return lambda *values: (time.sleep(0.05), alone(*values))[1]

    monkeypatch.setattr(compiled, "_alone", slow)
    f = tf.function(layer, jit_compile=True)
    for _ in range(10):
        f(X)
    (program,) = [ready._program for made in f._graphs for ready in made._programs.values()]
    (region,) = program._compiling._compilation.regions
    assert not region.dropped
    assert region.times[0] < 0.05 <= region.times[1]


# What is said.


def test_explain_says_how_each_op_runs(stand_in):
    f = tf.function(lambda x: tf.unique(tf.reshape(tf.exp(x) + 1.0, [-1]))[0] * 2.0, jit_compile=True)
    f(X)
    assert "kernel: compiled after 1 run, which have not been" in ways(f)
    f(X)
    found = {each["op"]: each["runs_as"] for each in tf.explain(f).to_dicts()}
    assert found == {
        "Exp": "compiled region 1 (with 2 others)",
        "AddV2": "compiled region 1 (with 2 others)",
        "Reshape": "compiled region 1 (with 2 others)",
        "Unique": "kernel: looks at values",
        "Mul": "kernel: nothing beside it to be compiled with",
    }
    assert "runs as" in str(tf.explain(f))


def test_keras_compiles_when_it_is_told_to(stand_in):
    def trained(**options):
        tf.keras.utils.set_random_seed(0)
        dense = tf.keras.layers.Dense
        model = tf.keras.Sequential([tf.keras.Input((4,)), dense(8, activation="gelu"), dense(2)])
        model.compile("adam", "mse", **options)
        return model, model.fit(X, X[:, :2], batch_size=3, epochs=6, shuffle=False, verbose=0).history["loss"]

    model, usual = trained()
    assert stand_in.regions == 0
    assert not model.jit_compile
    model, new = trained(jit_compile=True)
    assert model.jit_compile is True
    assert stand_in.calls
    np.testing.assert_allclose(new, usual, rtol=1e-5)


def test_default_programs_do_not_load_the_compiler(run_python):
    made = run_python(
        "import sys\nimport situs as tf\n"
        "f = tf.function(lambda x: tf.exp(x) + 1.0)\n"
        "for _ in range(30): f(tf.ones([3]))\n"
        "print([name for name in sys.modules if name.startswith('torch._inductor')])"
    )
    assert made.strip() == "[]"


# How far apart.


def test_distances():
    def of(a, b):
        return distance(torch.tensor(a), torch.tensor(b))

    inf, nan = float("inf"), float("nan")
    assert of([1.0, -4.0], [1.0, -3.0]) == 0.25
    assert of([inf, nan, 1.0], [inf, nan, 1.0]) == 0.0
    assert of([inf, 1.0], [-inf, 1.0]) == inf
    assert of([nan, 1.0], [0.0, 1.0]) == inf
    assert of([0.0], [1e-3]) == inf
    assert of([1, 2], [1, 3]) == inf
    assert of([True], [True]) == 0.0
    assert distance(torch.ones(0), torch.ones(0)) == 0.0
    assert of([1 + 1j], [1 + 1j]) == 0.0


# With the compiler.


@pytest.fixture
def compiler():
    """PyTorch's compiler, in this process alone."""
    lacking = inductor.missing(on_card=False)
    if lacking is not None:
        pytest.skip(f"nothing can be compiled here: this machine lacks {lacking}")
    from torch._inductor import config

    plain = {"cpp.simdlen": 1}  # the machine's vectors are not asked for: that takes the longest
    with config.patch({"compile_threads": 1, "cpp_cache_precompile_headers": False, **plain}):
        yield


def compiled_regions(function):
    programs = [ready._program for made in function._graphs for ready in made._programs.values()]
    return [region for program in programs for region in program._compiling._compilation.regions]


def test_fused_kernels_give_the_same_results(compiler):
    f = tf.function(layer, jit_compile=True)
    for _ in range(4):
        np.testing.assert_allclose(f(X), layer(tf.constant(X)), rtol=1e-5, atol=1e-6)
    (region,) = compiled_regions(f)
    assert not region.dropped
    np.testing.assert_allclose(f(X * np.float32(np.inf)), layer(tf.constant(X * np.float32(np.inf))))


@pytest.mark.parametrize("function", [tf.nn.relu, tf.nn.relu6])
def test_fused_gradients_of_rectifiers_keep_what_is_no_number(compiler, function):
    def slopes(x, incoming):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x * 1.5)
        return tape.gradient(y, x, output_gradients=incoming * 2.0)

    x = np.array([-1.0, 0.5, np.nan, -2.0, 1.0, 9.0], "f")
    incoming = np.array([np.nan, np.nan, 1.0, np.inf, 1.0, 1.0], "f")
    f = tf.function(slopes, jit_compile=True)
    for _ in range(3):
        f(np.ones(6, "f"), np.ones(6, "f"))
    np.testing.assert_array_equal(f(x, incoming), slopes(tf.constant(x), tf.constant(incoming)))
    assert any(way.startswith("compiled region") for way in ways(f))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_fused_remainder_is_exact(compiler, dtype):
    from torch._inductor import config

    f = tf.function(lambda x, y: tf.abs(tf.negative(tf.math.floormod(x, y))), jit_compile=True)
    numbers = np.random.default_rng(0)
    x = (numbers.normal(size=64) * 1e5).astype(dtype)
    y = numbers.choice([0.1, -0.3, 7.0, -0.7, 1e-3], 64).astype(dtype)
    with config.patch({"cpp.simdlen": None}):  # vectors have a remainder of their own
        for _ in range(4):
            f(tf.constant(x), tf.constant(y))
    (region,) = compiled_regions(f)
    assert not region.dropped
    odd = np.array([1.5, -1.5, 0.0, np.inf, 1.0, -2.0, 5.0, 3.0] * 8, dtype)
    divisors = np.array([np.inf, -np.inf, np.inf, 1.0, 0.0, np.inf, -np.inf, 2.0] * 8, dtype)
    expected = np.array([1.5, 1.5, 0.0, np.nan, np.nan, np.inf, np.inf, 1.0] * 8, dtype)
    np.testing.assert_array_equal(
        f(tf.constant(x), tf.constant(y)), abs(torch.remainder(torch.tensor(x), torch.tensor(y)))
    )
    np.testing.assert_array_equal(f(tf.constant(odd), tf.constant(divisors)), expected)


def test_a_step_of_training_with_fused_kernels(compiler):
    v, w = tf.Variable(X.T @ X), tf.Variable(X.T @ X)

    def step(variable, x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.tanh(x @ variable) ** 2)
        variable.assign_sub(0.1 * tape.gradient(loss, variable))
        return loss

    f, g = tf.function(lambda x: step(v, x), jit_compile=True), tf.function(lambda x: step(w, x))
    for _ in range(6):
        np.testing.assert_allclose(f(tf.constant(X)), g(tf.constant(X)), rtol=1e-5)
    np.testing.assert_allclose(v, w, rtol=1e-5)
    assert all(not region.dropped for region in compiled_regions(f))


def test_determinism_is_asked_of_the_compiler(compiler, monkeypatch):
    from torch._inductor import config

    found = []
    usual = inductor._settings

    def settings(exact):
        context = usual(exact)
        with context:
            found.append(config.deterministic)
        return usual(exact)

    monkeypatch.setattr(inductor, "_settings", settings)
    monkeypatch.setattr(determinism, "_required", True)
    f = tf.function(lambda x: tf.exp(x) * 3.0, jit_compile=True)
    for _ in range(3):
        f(X)
    assert found == [True]
