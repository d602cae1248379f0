"""What is written out gives the same, to rounding, when the kernel for it computes it: values and gradients.

Programs are drawn: norms over some axes, with a scale and an offset or not, and gelus, in the ways that people write
them; some use what lies between once more, or return it. The truth is the plan as it is.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import situs as tf
from situs._src.runtime.passes.idioms import Fused, with_idioms
from situs._src.runtime.run import program

RUNS = program.SCRIPTED_AFTER + 1


def normalized(x, axis, keepdims, squares, root, epsilon):
    """A norm as it is written out: the result, and what lies between."""
    mean = tf.reduce_mean(x, axis, keepdims=keepdims)
    away = x - mean
    if squares == "difference":
        difference = tf.math.squared_difference(x, mean)
    elif squares == "again":
        difference = (x - mean) ** 2
    else:
        difference = {"times": away * away, "square": tf.square(away), "power": away**2.0}[squares]
    variance = tf.reduce_mean(difference, axis, keepdims=keepdims)
    made = away * tf.math.rsqrt(variance + epsilon) if root == "rsqrt" else away / tf.sqrt(epsilon + variance)
    return made, [mean, away, variance]


def by_moments(x, axis, keepdims, scale, offset, epsilon):
    mean, variance = tf.nn.moments(x, axis, keepdims=keepdims)
    return tf.nn.batch_normalization(x, mean, variance, offset, scale, epsilon), [mean, variance]


def gelu(x, way):
    """A gelu as it is written out."""
    root = math.sqrt(2 / math.pi)
    if way == "erf":
        return 0.5 * x * (1.0 + tf.math.erf(x / math.sqrt(2.0)))
    if way == "erf of a product":
        return x * (0.5 * (1.0 + tf.math.erf(x * math.sqrt(0.5))))
    inner = {
        "cube": lambda: root * (x + 0.044715 * x * x * x),
        "power": lambda: root * (x + 0.044715 * tf.pow(x, 3.0)),
        "slope": lambda: root * x * (1.0 + 0.044715 * x * x),
    }[way]()
    return 0.5 * x * (1.0 + tf.tanh(inner))


GELUS = ("erf", "erf of a product", "cube", "power", "slope")
SQUARES = ("times", "square", "power", "difference", "again")


@st.composite
def norms(draw):
    """A program of one norm, and what to call it with."""
    shape = draw(st.lists(st.integers(1, 5), min_size=2, max_size=4))
    rank = len(shape)
    over_rows = draw(st.booleans())
    count = 1 if draw(st.booleans()) else draw(st.integers(1, rank))
    axis = list(range(rank - 1)) if over_rows else list(range(rank - count, rank))
    inner = shape[-1:] if over_rows else shape[rank - count :]
    way = draw(st.sampled_from(["moments", "written", "written", "written"]))
    return {
        "shape": shape,
        "axis": axis if len(axis) > 1 or draw(st.booleans()) else axis[0] - (0 if over_rows else rank),
        "inner": inner,
        "way": way,
        "keepdims": True if not over_rows else draw(st.booleans()),
        "squares": draw(st.sampled_from(SQUARES)),
        "root": draw(st.sampled_from(["rsqrt", "sqrt"])),
        "affine": 2 if way == "moments" else draw(st.integers(0, 2)),
        "dtype": draw(st.sampled_from([np.float32, np.float64])),
        "epsilon": draw(st.sampled_from([1e-5, 1e-3, 0.1])),
        "extra": draw(
            st.sampled_from(["nothing", "nothing", "nothing", "used", "returned", "residual", "no gradient"])
        ),
        "seed": draw(st.integers(0, 1000)),
    }


def step_of(spec):
    """A function of arrays that gives the loss, the result, the gradients, and what else is asked for."""

    def step(x, scale, offset):
        between = []
        with tf.GradientTape() as tape:
            tape.watch([x, scale, offset])
            z = tf.tanh(x) * 2.0
            if spec["way"] == "moments":
                made, between = by_moments(z, spec["axis"], spec["keepdims"], scale, offset, spec["epsilon"])
            else:
                how = [spec[each] for each in ("axis", "keepdims", "squares", "root", "epsilon")]
                made, between = normalized(z, *how)
                made = made * scale if spec["affine"] > 0 else made
                made = made + offset if spec["affine"] > 1 else made
            if spec["extra"] == "used":
                made = made + between[spec["seed"] % len(between)] * 0.25
            if spec["extra"] == "residual":
                made = made + z
            loss = tf.reduce_sum(tf.sin(made) * x)
        kept = [between[spec["seed"] % len(between)]] if spec["extra"] == "returned" else []
        if spec["extra"] == "no gradient":
            return [loss, made, *kept]
        gradients = tape.gradient(loss, [x, scale, offset], unconnected_gradients="zero")
        return [loss, made, *gradients, *kept]

    return step


def results_of(step, arguments, fuses, monkeypatch):
    """What a function gives when it has run a few times, and how many operations were joined."""
    joined = []

    def counted(calls, kept, slots):
        made = with_idioms(calls, kept, slots) if fuses else Fused(calls, slots, {}, {})
        joined.append(len(made.names))
        return made

    monkeypatch.setattr(program, "with_idioms", counted)
    with tf.device("/cpu:0"):
        f = tf.function(step)
        given = [tf.constant(each) for each in arguments]
        for _ in range(RUNS):
            found = f(*given)
    return [each.numpy() for each in found], sum(joined)


def assert_alike(found, wanted, dtype):
    bound = 2e-4 if dtype == np.float32 else 1e-9
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(np.isfinite(one), np.isfinite(other))
        np.testing.assert_array_equal(np.isnan(one), np.isnan(other))
        largest = max(1.0, np.abs(other[np.isfinite(other)]).max(initial=0.0))
        np.testing.assert_allclose(one, other, rtol=bound, atol=bound * largest)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spec=norms())
def test_norms_are_what_they_are_written_out(fast, monkeypatch, spec):
    rng = np.random.RandomState(spec["seed"])
    arguments = [rng.randn(*each).astype(spec["dtype"]) for each in (spec["shape"], spec["inner"], spec["inner"])]
    step = step_of(spec)
    wanted, _ = results_of(step, arguments, False, monkeypatch)
    found, _ = results_of(step, arguments, True, monkeypatch)
    assert_alike(found, wanted, spec["dtype"])


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    way=st.sampled_from(GELUS),
    shape=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    dtype=st.sampled_from([np.float32, np.float64]),
    extra=st.sampled_from(["nothing", "nothing", "residual", "returned"]),
    seed=st.integers(0, 1000),
)
def test_gelus_are_what_they_are_written_out(fast, monkeypatch, way, shape, dtype, extra, seed):
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = tf.sin(x) * 3.0
            made = gelu(z, way)
            made = made + z * 0.75 if extra == "residual" else made
            loss = tf.reduce_sum(made * x)
        return [loss, made, tape.gradient(loss, x), *([z] if extra == "returned" else [])]

    arguments = [np.random.RandomState(seed).randn(*shape).astype(dtype)]
    wanted, _ = results_of(step, arguments, False, monkeypatch)
    found, joined = results_of(step, arguments, True, monkeypatch)
    assert joined > 5
    assert_alike(found, wanted, dtype)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 6), st.integers(1, 6), st.integers(1, 5)),
    scaled=st.sampled_from(["product", "quotient", "not"]),
    transposed=st.booleans(),
    extra=st.sampled_from(["nothing", "nothing", "returned"]),
    far=st.sampled_from([1.0, 1e3]),
    seed=st.integers(0, 1000),
)
def test_attention_is_what_it_is_written_out(fast, monkeypatch, sizes, scaled, transposed, extra, far, seed):
    batch, heads, queries, keys, each = sizes

    def step(q, k, v):
        with tf.GradientTape() as tape:
            tape.watch([q, k, v])
            scores = q @ tf.transpose(k, [0, 1, 3, 2]) if transposed else tf.matmul(q, k, transpose_b=True)
            scores = {"product": scores * 0.3, "quotient": scores / 2.5, "not": scores}[scaled]
            weights = tf.nn.softmax(scores)
            made = weights @ v
            loss = tf.reduce_sum(tf.sin(made))
        return [loss, made, *tape.gradient(loss, [q, k, v]), *([weights] if extra == "returned" else [])]

    rng = np.random.RandomState(seed)
    shapes = [(batch, heads, queries, each), *[(batch, heads, keys, each)] * 2]
    arguments = [
        (rng.randn(*shape) * factor).astype(np.float32) for shape, factor in zip(shapes, (far, 1, 1), strict=True)
    ]
    wanted, _ = results_of(step, arguments, False, monkeypatch)
    found, joined = results_of(step, arguments, True, monkeypatch)
    assert bool(joined) == (extra == "nothing")
    assert_alike(found, wanted, np.float32)


SPECIAL = [0.0, -0.0, 1e-30, -1e-30, 1.0, -1.0, 5.0, -5.0, 30.0, -30.0, 1e4, -1e4]


@pytest.mark.parametrize("way", GELUS)
@pytest.mark.parametrize("values", [SPECIAL, [*SPECIAL, np.inf], [*SPECIAL, -np.inf], [*SPECIAL, np.nan]], ids=str)
def test_gelus_of_large_numbers_infinities_and_nan(fast, monkeypatch, way, values):
    def step(x):
        return [gelu(x, way)]

    arguments = [np.array(values, np.float32)]
    wanted, _ = results_of(step, arguments, False, monkeypatch)
    found, joined = results_of(step, arguments, True, monkeypatch)
    assert joined
    assert_alike(found, wanted, np.float32)


ROWS = {
    "equal": [2.0, 2.0, 2.0, 2.0],
    "nan": [1.0, np.nan, 2.0, 3.0],
    "infinite": [1.0, np.inf, 2.0, 3.0],
    "two infinities": [np.inf, -np.inf, 2.0, 3.0],
    "small": [1e-20, 2e-20, 3e-20, 4e-20],
    "far": [1000.0, 1000.5, 1001.0, 1001.5],
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("over_rows", [False, True])
def test_norms_of_rows_that_are_not_usual(fast, monkeypatch, name, over_rows):
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            made, _ = normalized(x, 0 if over_rows else -1, True, "times", "rsqrt", 1e-5)
            loss = tf.reduce_sum(made * made * made)
        return [made, tape.gradient(loss, x)]

    x = np.array([[0.5, 1.0, -1.0, 2.0], ROWS[name], [3.0, 1.0, 0.0, 1.0]], np.float32)
    arguments = [x.T.copy() if over_rows else x]
    wanted, _ = results_of(step, arguments, False, monkeypatch)
    found, joined = results_of(step, arguments, True, monkeypatch)
    assert joined
    assert_alike(found, wanted, np.float32)
