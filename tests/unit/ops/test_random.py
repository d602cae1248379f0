"""Random ops: their sequences under seeds, their distributions, and what they refuse."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import situs as tf
from situs._src.base import dtype as dt
from situs._src.ir.graph.graph import Graph
from situs._src.ops import random, stateless
from situs._src.ops.seeds import eager, known_seeds, set_seed
from situs._src.runtime.eager.convert import to_tensor
from situs._src.variables.generator import Algorithm, Generator, get_global_generator, set_global_generator
from situs.errors import InvalidArgumentError, ResourceExhaustedError, SitusError

N = 20_000
FLOATS = [dt.float16, dt.bfloat16, dt.float32, dt.float64]


@pytest.fixture(autouse=True)
def _seeded():
    set_seed(20)
    yield
    set_seed(None)


def same(x, y):
    return np.array_equal(x.numpy(), y.numpy())


def normal_cdf(x):
    return 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def assert_distributed(sample, cdf, resolution=0.0):
    """The Kolmogorov-Smirnov test at p = 0.001; `resolution` is what coarse dtypes may add."""
    sample = np.sort(np.asarray(sample, np.float64).ravel())
    distance = np.abs(cdf(sample) - (np.arange(len(sample)) + 0.5) / len(sample)).max()
    assert distance < 1.95 / math.sqrt(len(sample)) + resolution


# Seeds.


def test_a_global_seed_restarts_the_sequence_of_ops_without_seeds(on_device):
    first = [random.normal([3]), random.uniform([3]), random.normal([3])]
    set_seed(20)
    assert all(
        same(a, b) for a, b in zip(first, [random.normal([3]), random.uniform([3]), random.normal([3])], strict=True)
    )
    assert not same(first[0], first[2])
    set_seed(21)
    assert not same(first[0], random.normal([3]))


def test_an_op_seed_has_its_own_sequence_that_set_seed_restarts(on_device):
    first = [random.normal([3], seed=1) for _ in range(2)]
    random.normal([3])  # other calls do not disturb it
    random.normal([3], seed=2)
    third = random.normal([3], seed=1)
    set_seed(20)
    again = [random.normal([3], seed=1) for _ in range(3)]
    assert all(same(a, b) for a, b in zip([*first, third], again, strict=True))
    assert not same(first[0], first[1])
    assert not same(again[0], random.normal([3], seed=2))


def test_an_op_seed_alone_is_reproducible_and_no_seed_at_all_is_not():
    set_seed(None)
    with_op_seed = random.uniform([4], seed=5)
    without = random.uniform([4])
    set_seed(None)
    assert same(with_op_seed, random.uniform([4], seed=5))
    assert not same(without, random.uniform([4]))


def test_seeds_are_the_same_in_every_process(run_python):
    program = "from situs._src.ops.random import normal; print(normal([3], seed=7).numpy().tobytes().hex())"
    assert run_python(program, SITUS_VIRTUAL_GPUS="0") == run_python(program, SITUS_VIRTUAL_GPUS="0")


def test_threads_share_the_sequence_and_lose_nothing():
    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(lambda _: known_seeds(), range(400)))
    set_seed(20)
    assert sorted(drawn) == sorted(known_seeds() for _ in range(400))
    assert len(set(drawn)) == 400


@pytest.mark.parametrize("seed", [0, -1, 2**70, np.int64(3)])
def test_any_integer_is_a_seed(seed):
    set_seed(seed)
    assert eager.seed == int(seed)
    assert random.uniform([2], seed=seed).shape == [2]


@pytest.mark.parametrize("seed", ["a", 1.5, [1]])
def test_other_things_are_no_seeds(seed):
    with pytest.raises(TypeError, match="A seed is an integer or None"):
        set_seed(seed)
    with pytest.raises(TypeError, match="A seed is an integer or None"):
        random.normal([1], seed=seed)


# Distributions.


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal_is_normal(on_device, dtype):
    drawn = random.normal([N], mean=3.0, stddev=2.0, dtype=dtype)
    assert drawn.dtype is dtype
    assert drawn.device == on_device
    assert_distributed((drawn.numpy().astype(np.float64) - 3) / 2, normal_cdf, 0.01 if dtype.size == 2 else 0)


@pytest.mark.parametrize("dtype", FLOATS)
def test_truncated_normal_stays_within_two_deviations(on_device, dtype):
    drawn = random.truncated_normal([N], mean=1.0, stddev=0.5, dtype=dtype).numpy().astype(np.float64)
    assert 0 <= drawn.min() < 0.05
    assert 1.95 < drawn.max() <= 2
    edge = normal_cdf(np.array(2.0))
    assert_distributed(
        (drawn - 1) * 2, lambda x: (normal_cdf(x) - 1 + edge) / (2 * edge - 1), 0.01 if dtype.size == 2 else 0
    )


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform_fills_its_interval(on_device, dtype):
    drawn = random.uniform([N], -1, 3, dtype=dtype)
    assert drawn.dtype is dtype
    values = drawn.numpy().astype(np.float64)
    assert -1 <= values.min() < -0.99
    assert 2.96 <= values.max() <= (3 if dtype.size == 2 else np.nextafter(3, 0))  # bfloat16 has 7 bits
    assert_distributed((values + 1) / 4, lambda x: x, 0.01 if dtype.size == 2 else 0)


@pytest.mark.parametrize("dtype", [dt.int32, dt.int64])
@pytest.mark.parametrize(("low", "high"), [(-3, 4), (0, 1), (5, 2**31 - 1)])
def test_uniform_integers_include_the_lower_bound_and_exclude_the_upper(on_device, dtype, low, high):
    drawn = random.uniform([N], low, high, dtype=dtype)
    assert drawn.dtype is dtype
    values = drawn.numpy()
    assert low <= values.min() <= low + (high - low) / 1000
    assert high - 1 - (high - low) / 1000 <= values.max() < high
    if high - low < 10:
        counts = np.bincount(values - low, minlength=high - low)
        assert np.abs(counts - N / (high - low)).max() < 5 * math.sqrt(N)


def test_the_widest_integers_are_drawn_without_overflow(on_device):
    drawn = random.uniform([N], -(2**63), 2**63 - 1, dtype=dt.int64).numpy()
    assert_distributed(drawn / 2.0**64 + 0.5, lambda x: x)


def test_bounds_and_moments_may_be_tensors_that_broadcast(on_device):
    drawn = random.normal([N, 3], mean=[0.0, 10.0, 20.0], stddev=to_tensor([1.0, 2.0, 0.0])).numpy()
    np.testing.assert_allclose(drawn.mean(axis=0), [0, 10, 20], atol=0.06)
    np.testing.assert_allclose(drawn.std(axis=0), [1, 2, 0], atol=0.05)
    assert random.normal([2, 1], mean=np.zeros(3, np.float32)).shape == [2, 3]
    spread = random.uniform([N, 2], minval=[0, 5], maxval=to_tensor([1.0, 9.0])).numpy()
    assert (spread >= [0, 5]).all()
    assert (spread < [1, 9]).all()
    np.testing.assert_allclose(spread.mean(axis=0), [0.5, 7], atol=0.05)


@pytest.mark.parametrize("logits_dtype", FLOATS)
@pytest.mark.parametrize("dtype", [None, dt.int32])
def test_categorical_draws_by_softmax(on_device, logits_dtype, dtype):
    p = np.array([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0]])
    with np.errstate(divide="ignore"):
        logits = to_tensor((np.log(p) + [[3.0], [-50.0]]).astype(logits_dtype.as_numpy_dtype))
    drawn = random.categorical(logits, N, dtype)
    assert drawn.dtype is (dtype or dt.int64)
    assert drawn.shape == [2, N]
    found = np.stack([np.bincount(row, minlength=3) / N for row in drawn.numpy()])
    np.testing.assert_allclose(found, p, atol=0.03 if logits_dtype is dt.bfloat16 else 0.015)


def test_categorical_never_draws_what_is_not_finite(on_device):
    # Recorded from TensorFlow 2.21, also the 2 for rows without any class.
    rows = [[np.nan, 1.0], [0.0, np.inf], [np.nan, np.nan], [-np.inf, -np.inf]]
    assert random.categorical(rows, 3).numpy().tolist() == [[1] * 3, [0] * 3, [2] * 3, [2] * 3]


@pytest.mark.parametrize("classes", [0, 3])
def test_categorical_of_no_rows(on_device, classes):
    assert random.categorical(np.zeros([0, classes], np.float32), 2).shape == [0, 2]


def test_categorical_of_many_classes():
    drawn = random.categorical(np.zeros([1, 2**17], np.float32), 1000).numpy()
    assert_distributed(drawn / 2**17, lambda x: x)


@pytest.mark.parametrize("dtype", FLOATS)
def test_gamma_has_the_moments_of_its_parameters(on_device, dtype):
    drawn = random.gamma([N], [0.5, 4.0], beta=[[1.0], [2.0]], dtype=dtype)
    assert drawn.shape == [N, 2, 2]
    assert drawn.dtype is dtype
    values = drawn.numpy().astype(np.float64)
    np.testing.assert_allclose(values.mean(axis=0), [[0.5, 4], [0.25, 2]], rtol=0.05)
    np.testing.assert_allclose(values.var(axis=0), [[0.5, 4], [0.125, 1]], rtol=0.1)
    assert (values > 0).all()


def test_gamma_outside_its_parameters_is_as_in_tensorflow():
    drawn = random.gamma([2], [-1.0, np.nan, 0.0]).numpy()
    assert np.isnan(drawn[:, :2]).all()
    assert (drawn[:, 2] == np.finfo(np.float32).tiny).all()


@pytest.mark.parametrize("dtype", [*FLOATS, dt.int32, dt.int64])
def test_poisson_has_the_moments_of_its_rate(on_device, dtype):
    drawn = random.poisson([N], [0.5, 20.0], dtype=dtype)
    assert drawn.shape == [N, 2]
    assert drawn.dtype is dtype
    values = drawn.numpy().astype(np.float64)
    np.testing.assert_allclose(values.mean(axis=0), [0.5, 20], rtol=0.03)
    np.testing.assert_allclose(values.var(axis=0), [0.5, 20], rtol=0.06)
    assert (values == np.round(values)).all()


def test_poisson_at_the_ends_of_its_rates():
    drawn = random.poisson([1000], [0.0, -2.0, np.inf, np.nan, 1e12], dtype=dt.float64).numpy()
    assert (drawn[:, :2] == 0).all()
    assert np.isinf(drawn[:, 2]).all()
    assert np.isnan(drawn[:, 3]).all()
    assert abs(drawn[:, 4].mean() - 1e12) < 2e5
    assert abs(drawn[:, 4].std() - 1e6) < 1e5
    assert random.poisson([2], 1e12, dtype=dt.int32).numpy().tolist() == [2**31 - 1] * 2
    assert random.poisson([2], np.inf, dtype=dt.int64).numpy().min() > 2**62
    assert random.poisson([3], to_tensor(2)).dtype is dt.float32
    assert random.poisson_v1([1.0, 2.0], [3]).shape == [3, 2]


# Shuffle and crop.

SHUFFLED = [d for d in dt.FIXED if d is not dt.bool]


@pytest.mark.parametrize("dtype", sorted(SHUFFLED, key=lambda d: d.name))
def test_shuffle_keeps_slices_whole(on_device, dtype):
    value = to_tensor(np.arange(60).reshape(20, 3).astype(dtype.as_numpy_dtype))
    drawn = random.shuffle(value, seed=3)
    assert drawn.dtype is dtype
    rows = drawn.numpy().astype(np.complex128).real.tolist()
    assert rows != value.numpy().astype(np.complex128).real.tolist()
    assert sorted(rows) == np.arange(60.0).reshape(20, 3).tolist()


def test_shuffle_of_scalars_strings_bools_and_nothing():
    assert random.shuffle(3).numpy() == 3
    assert sorted(random.shuffle([b"a", b"b", b"c"]).numpy().tolist()) == [b"a", b"b", b"c"]
    assert random.shuffle(b"a").numpy() == b"a"
    assert sorted(random.shuffle([True, False]).numpy().tolist()) == [False, True]
    assert random.shuffle(np.zeros([0, 2])).shape == [0, 2]


def test_every_order_is_as_likely():
    orders = [tuple(random.shuffle([0, 1, 2]).numpy()) for _ in range(600)]
    counts = [orders.count(order) for order in set(orders)]
    assert len(counts) == 6
    assert max(counts) - min(counts) < 80


def test_random_crop_cuts_a_block(on_device):
    value = to_tensor(np.arange(5 * 6 * 3).reshape(5, 6, 3))
    corners = set()
    for _ in range(60):
        block = random.random_crop(value, [4, 5, 3]).numpy()
        corner = tuple(int(i) for i in np.unravel_index(block.ravel()[0], (5, 6, 3)))
        np.testing.assert_array_equal(block, value.numpy()[corner[0] : corner[0] + 4, corner[1] : corner[1] + 5])
        corners.add(corner)
    assert corners == {(0, 0, 0), (0, 1, 0), (1, 0, 0), (1, 1, 0)}


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ([3, 7, 3], r"Need value.shape >= size, got \[5,6,3\] and \[3,7,3\]"),
        ([3, 3], "Need a size for each dimension"),
        ([3, -1, 3], "Dimension -1 must be >= 0"),
        (3, "must be a vector"),
    ],
)
def test_random_crop_refuses(size, message):
    with pytest.raises(InvalidArgumentError, match=message):
        random.random_crop(np.zeros([5, 6, 3]), size)


# Shapes, and what is refused.


@pytest.mark.parametrize("draw", [random.normal, random.uniform, random.truncated_normal])
def test_shapes_are_given_in_any_form(on_device, draw):
    for shape in ([2, 3], (2, 3), np.array([2, 3]), to_tensor([2, 3]), [np.int64(2), to_tensor(3)], draw([2, 3]).shape):
        assert draw(shape).shape == [2, 3]
    assert draw([]).shape == []
    assert draw([0, 3]).shape == [0, 3]


@pytest.mark.parametrize("draw", [random.normal, random.uniform, random.truncated_normal, random.poisson, random.gamma])
@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ([-1], "Dimension -1 must be >= 0"),
        (3, r"shape must be a vector of \{int32,int64\}, got shape \[\]"),
        ([[2]], r"shape must be a vector of \{int32,int64\}, got shape \[1,1\]"),
        ([2.5], "shape must be a vector"),
        ("a", "shape must be a vector"),
        ([2, "a"], "shape must be a vector"),
        ([2**40, 2**40], r"Shape \[1099511627776,1099511627776\] would have more than 2\*\*63 - 1 elements"),
    ],
)
def test_bad_shapes_are_refused(on_device, draw, shape, message):
    parameters = () if draw not in (random.poisson, random.gamma) else (1.0,)
    with pytest.raises(InvalidArgumentError, match=message):
        draw(shape, *parameters)


@pytest.mark.parametrize("draw", [random.normal, random.uniform, random.truncated_normal])
@pytest.mark.parametrize("shape", [[2**62], [10**13], [10**12, 10]])
def test_shapes_larger_than_any_memory_are_errors(on_device, draw, shape):
    with pytest.raises((ResourceExhaustedError, InvalidArgumentError)):
        draw(shape)
    assert draw([2]).shape == [2]


REFUSED = [
    (lambda: random.uniform([2], dtype=dt.int32), ValueError, "Must specify maxval for integer dtype"),
    (lambda: random.uniform([2], 5, 5, dt.int32), ValueError, "Need minval < maxval, got 5 >= 5"),
    (lambda: random.uniform([2], 5, 3, dt.int64), ValueError, "Need minval < maxval, got 5 >= 3"),
    (lambda: random.uniform([2], 0.5, 3, dt.int32), TypeError, "Cannot convert 0.5"),
    (lambda: random.uniform([2], 0, 2**31, dt.int32), TypeError, "Cannot convert 2147483648"),
    (lambda: random.uniform([2], [0, 1], 5, dt.int32), ValueError, r"minval must be 0-D, got shape \[2\]"),
    (lambda: random.uniform([2], maxval=3, dtype=dt.int8), ValueError, "Argument `dtype` got invalid value"),
    (lambda: random.uniform([2], maxval=to_tensor(3)), ValueError, "requested dtype float32"),
    (lambda: random.uniform([2], maxval=[1.0, 2.0, 3.0]), ValueError, "Incompatible shapes"),
    (lambda: random.normal([2], dtype=dt.int32), TypeError, "not in the list of allowed values: float, double"),
    (lambda: random.normal([2], dtype=dt.string), TypeError, "not in the list of allowed values"),
    (lambda: random.normal([2], mean=to_tensor(1)), ValueError, "requested dtype float32"),
    (lambda: random.categorical([1.0, 2.0], 3), ValueError, r"logits should be a matrix, got shape \[2\]"),
    (lambda: random.categorical([[1.0, 2.0]], -3), ValueError, "num_samples should be non-negative, got -3"),
    (lambda: random.categorical([[1.0, 2.0]], [3]), ValueError, "num_samples should be an integer scalar"),
    (lambda: random.categorical([[1.0, 2.0]], 2.5), ValueError, "num_samples should be an integer scalar"),
    (lambda: random.categorical([[]], 2), ValueError, "num_classes should be positive, got 0"),
    (lambda: random.categorical([[1.0]], 2, dtype=dt.float32), ValueError, "Argument `dtype` got invalid value"),
    (lambda: random.categorical([[1, 2]], 2), TypeError, "not in the list of allowed values"),
    (lambda: random.gamma([2], 1, dtype=dt.int32), ValueError, "Argument `dtype` got invalid value"),
    (lambda: random.gamma([2], to_tensor(2.0, dt.float64)), ValueError, "requested dtype float32"),
    (lambda: random.poisson([2], "a"), TypeError, "Cannot convert 'a'"),
]


@pytest.mark.parametrize(("call", "kind", "message"), REFUSED)
def test_bad_arguments_are_refused(call, kind, message):
    with pytest.raises(kind, match=message) as caught:
        call()
    assert isinstance(caught.value, SitusError)


def test_empty_rows_and_samples_of_categorical():
    assert random.categorical(np.zeros([0, 3], np.float32), 2).shape == [0, 2]
    assert random.categorical([[1.0, 2.0]], 0).shape == [1, 0]
    assert random.multinomial([[1.0, 2.0]], 4, output_dtype=dt.int32).dtype is dt.int32


# Stateless ops.

SEED = [1, 2]
STATELESS = [
    lambda seed: stateless.stateless_normal([4], seed),
    lambda seed: stateless.stateless_truncated_normal([4], seed),
    lambda seed: stateless.stateless_uniform([4], seed),
    lambda seed: stateless.stateless_uniform([4], seed, maxval=1000, dtype=dt.int32),
    lambda seed: stateless.stateless_uniform([4], seed, None, None, dt.uint64),
    lambda seed: stateless.stateless_categorical(np.zeros([1, 1000], np.float32), 4, seed),
    lambda seed: stateless.stateless_gamma([4], seed, 1.0, beta=2.0),
    lambda seed: stateless.stateless_poisson([4], seed, 100.0),
]


@pytest.mark.parametrize("draw", STATELESS)
def test_stateless_ops_depend_on_their_seed_alone(on_device, draw):
    first = draw(SEED)
    set_seed(99)
    assert same(first, draw(to_tensor([1, 2], dt.int64)))
    assert not same(first, draw([1, 3]))
    assert not same(first, draw([2, 2]))
    assert not same(first, draw([2, 1]))


@pytest.mark.parametrize("draw", STATELESS)
@pytest.mark.parametrize(
    ("seed", "message"),
    [([1, 2, 3], r"seed must have shape \[2\], not \[3\]"), (1, "seed must have shape"), ([1.0, 2], "two integers")],
)
def test_stateless_ops_refuse_other_seeds(draw, seed, message):
    with pytest.raises(InvalidArgumentError, match=message):
        draw(seed)


@pytest.mark.parametrize("dtype", [dt.int32, dt.int64, dt.uint32, dt.uint64])
def test_full_integers_fill_their_dtype(on_device, dtype):
    drawn = stateless.stateless_uniform([N], SEED, None, None, dtype)
    assert drawn.dtype is dtype
    low, high = dtype.limits
    assert_distributed((drawn.numpy().astype(np.float64) - low) / (float(high) - low), lambda x: x)


def test_stateless_distributions(on_device):
    assert_distributed(stateless.stateless_normal([N], SEED).numpy(), normal_cdf)
    assert_distributed(stateless.stateless_uniform([N], SEED, 2, 4).numpy() / 2 - 1, lambda x: x)
    drawn = stateless.stateless_gamma([N, 2], SEED, [1.0, 2.0], beta=4.0).numpy()
    np.testing.assert_allclose(drawn.mean(axis=0), [0.25, 0.5], rtol=0.05)
    assert stateless.stateless_poisson([5, 2], SEED, [1.0, 2.0]).dtype is dt.int32
    drawn = stateless.stateless_binomial([N, 2], SEED, [10.0, 40.0], [0.5, 0.1]).numpy()
    assert drawn.dtype == np.int32
    assert (drawn >= 0).all()
    assert (drawn <= [10, 40]).all()
    np.testing.assert_allclose(drawn.mean(axis=0), [5.0, 4.0], rtol=0.05)
    np.testing.assert_allclose(drawn.var(axis=0), [2.5, 3.6], rtol=0.1)


def test_binomials_at_the_ends():
    drawn = stateless.stateless_binomial([6], SEED, [5.0, 5.0, -1.0, 5.0, 5.0, 0.0], [0.0, 1.0, 0.5, 1.5, -0.1, 0.5])
    assert drawn.numpy().tolist() == [0, 5, -1, -1, -1, 0]
    assert stateless.stateless_binomial([3], SEED, 9, 0.5, dt.float32).dtype is dt.float32


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stateless.stateless_uniform([2], SEED, dtype=dt.int32), "must be both None or not None"),
        (lambda: stateless.stateless_uniform([2], SEED, 0, 5, dt.uint32), "don't use unsigned integers"),
        (lambda: stateless.stateless_uniform([2], SEED, 5, 5, dt.int32), "Need minval < maxval, got 5 >= 5"),
        (lambda: stateless.stateless_gamma([3], SEED, [1.0, 2.0]), "Shape passed in must end with broadcasted shape"),
        (lambda: stateless.stateless_poisson([], SEED, [1.0, 2.0]), "Shape passed in must end with broadcasted shape"),
        (lambda: stateless.stateless_binomial([3], SEED, [1.0, 2.0], 0.5), "Shape passed in must end with broadcasted"),
        (lambda: stateless.stateless_normal([2], SEED, alg="dice"), "`alg` got unsupported value 'dice'"),
        (lambda: stateless.stateless_normal([-2], SEED), "Dimension -2 must be >= 0"),
        (lambda: stateless.stateless_shuffle(3, SEED), "at least one dimension"),
        (lambda: tf.random.experimental.index_shuffle(5, [1, 2], 4), "must be between 0 and max_index=4"),
        (lambda: tf.random.experimental.index_shuffle(5, [1, 2, 3], 9), r"seed must have shape \[2\]"),
        (lambda: tf.random.experimental.index_shuffle([[5]], [1, 2], 9), "scalar or vector"),
    ],
)
def test_stateless_ops_refuse(call, message):
    with pytest.raises(InvalidArgumentError, match=message):
        call()


@pytest.mark.parametrize("alg", ["threefry", "Three-Fry", 2, Algorithm.THREEFRY])
def test_threefry_is_refused_as_it_is_without_xla(alg):
    """The classes of errors, and the states, are those of TensorFlow 2.21 on a CPU."""
    for draw in (
        lambda: stateless.stateless_normal([2], SEED, alg=alg),
        lambda: stateless.split(SEED, alg=alg),
        lambda: stateless.stateless_shuffle([1, 2], SEED, alg=alg),
        lambda: tf.function(lambda: stateless.stateless_uniform([2], SEED, alg=alg))(),
    ):
        with pytest.raises(InvalidArgumentError, match="ThreeFry"):
            draw()
    g = Generator.from_seed(1, alg)
    assert g.state.numpy().tolist() == [1, 0]
    assert (g.algorithm, int(g.key)) == (2, 0)
    for use in (lambda: g.normal([2]), lambda: g.skip(3), lambda: g.split(2), lambda: tf.function(g.normal)([2])):
        with pytest.raises(tf.errors.UnimplementedError, match="ThreeFry"):
            use()
    assert Generator.from_key_counter(5, [1], alg).state.numpy().tolist() == [1, 5]
    assert Generator.from_seed([3, 4], alg).state.numpy().tolist() == [3, 4]
    assert Generator.from_non_deterministic_state(alg).state.shape == [2]
    assert tf.random.create_rng_state(3, alg).numpy().tolist() == [3, 0]
    for call in (lambda: Generator.from_state([1, 2, 3], alg), lambda: Generator.from_key_counter(5, [1, 2], alg)):
        with pytest.raises(ValueError, match=r"consists of (two|one)"):
            call()


def test_names_of_algorithms():
    expected = stateless.stateless_normal([3], SEED)
    for alg in ("philox", " Philox", "AUTO-SELECT", "auto_select", 1, 3, Algorithm.AUTO_SELECT, None):
        assert same(stateless.stateless_normal([3], SEED, alg=alg), expected)
    for alg in ("mersenne", 7, 0):
        with pytest.raises(ValueError, match="unsupported value"):
            stateless.stateless_normal([3], SEED, alg=alg)
    for alg in (1.5, True, [1]):
        with pytest.raises(TypeError, match="Can't convert argument `alg`"):
            Generator.from_seed(1, alg)


def test_split_and_fold_in_make_new_seeds():
    seeds = stateless.split(SEED, 3)
    assert seeds.shape == [3, 2]
    assert seeds.dtype is dt.int32
    assert len({tuple(row) for row in seeds.numpy().tolist()}) == 3
    assert stateless.split(to_tensor([1, 2], dt.int64)).dtype is dt.int64
    folded = stateless.fold_in(SEED, 7)
    assert folded.shape == [2]
    assert folded.numpy()[1] == 7  # as in TensorFlow
    assert not same(
        stateless.stateless_normal([2], folded), stateless.stateless_normal([2], stateless.fold_in(SEED, 8))
    )


# Generators.


def test_a_generator_repeats_from_its_seed_and_moves_on(on_device):
    g = Generator.from_seed(1)
    first, second = g.normal([3]), g.normal([3])
    assert not same(first, second)
    g.reset_from_seed(1)
    assert same(first, g.normal([3]))
    state = g.state.numpy()
    assert same(second, g.normal([3]))
    g.reset(state)
    assert same(second, g.normal([3]))
    assert same(second, Generator.from_state(state, "philox").normal([3]))
    assert not same(first, Generator.from_seed(2).normal([3]))


def test_a_generator_can_skip_and_be_copied():
    g = Generator.from_seed(5)
    drawn = [g.uniform([2]) for _ in range(3)]
    h = Generator.from_seed(5)
    h.skip(4)  # as many numbers as two draws take
    assert same(Generator(h).uniform([2]), drawn[2])
    assert same(h.uniform([2]), drawn[2])
    assert h.state.shape == [3]
    assert h.key.shape == []
    assert h.algorithm == Algorithm.PHILOX.value
    assert Generator.from_seed(1, "threefry").algorithm == 2


def test_a_generator_can_be_copied_while_a_graph_is_built():
    g = Generator.from_seed(5)
    g.skip(1)
    with Graph().as_default(), tf.compat.v1.Session() as sess:
        copies = [Generator(g), Generator.from_state(g.state, "philox")]
        drawn = [copy.uniform([2]) for copy in copies]
        sess.run([copy.state.initializer for copy in copies])
        found = sess.run(drawn)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], g.uniform([2]).numpy())


def test_functions_and_eager_code_share_a_generator():
    g, expected = Generator.from_seed(5), Generator.from_seed(5)
    draw = tf.function(lambda: g.uniform([2]))
    found = [draw(), g.uniform([2]), draw(), draw(), g.uniform([2])]
    assert all(same(one, expected.uniform([2])) for one in found)
    assert g.state.numpy().tolist() == [5 + 256 * 10, 0, 0]


def test_a_generator_that_a_function_makes_is_made_once():
    kept = []

    @tf.function
    def draw():
        if not kept:
            kept.append(Generator.from_seed(5))
        return kept[0].uniform([2])

    expected = Generator.from_seed(5)
    assert all(same(draw(), expected.uniform([2])) for _ in range(3))
    with pytest.raises(ValueError, match="singleton"):
        tf.function(lambda: Generator.from_seed(5).uniform([2]))()


def test_everything_that_generators_do_is_done_by_functions_too():
    g = Generator.from_seed(1)

    @tf.function
    def work(seed, count):
        g.reset_from_seed(seed)
        return g.make_seeds(count), g.skip(count), g.normal([2]), g.key, g.state.read_value()

    found = [x.numpy() for x in work(tf.constant(9), tf.constant(3))]
    h = Generator.from_seed(
        [9]
    )  # a tensor is a word of the state, as in TensorFlow; an integer fills it from its begin
    seeds, before, drawn = h.make_seeds(3), h.skip(3), h.normal([2])
    for one, other in zip(found, [seeds, before, drawn, h.key, h.state], strict=True):
        assert np.array_equal(one, other.numpy())

    @tf.function
    def again(state, key):
        g.reset(state)
        one = g.normal([2])
        g.reset_from_key_counter(key, [3, 0])
        return one, g.normal([2])

    one, two = again(tf.constant([2, 0, 7], tf.int64), tf.constant(7, tf.int64))
    assert same(one, Generator.from_key_counter(7, [2, 0], "philox").normal([2]))
    assert same(two, Generator.from_key_counter(7, [3, 0], "philox").normal([2]))


def test_the_state_of_a_generator_is_saved_and_restored(tmp_path):
    g = Generator.from_seed(5)
    g.skip(3)
    path = tf.train.Checkpoint(g=g).write(str(tmp_path / "ckpt"))
    expected = g.normal([3])
    other = Generator.from_seed(1)
    tf.train.Checkpoint(g=other).read(path).assert_consumed()
    assert same(other.normal([3]), expected)
    tf.train.Checkpoint(g=g).read(path)
    assert same(g.normal([3]), expected)


def test_a_state_of_a_seed():
    state = tf.random.create_rng_state(5, "philox")
    assert state.numpy().tolist() == Generator.from_seed(5).state.numpy().tolist()
    with pytest.raises(InvalidArgumentError, match="alg"):
        tf.random.create_rng_state(5, "dice")


def test_generators_draw_every_kind():
    g = Generator.from_key_counter(3, [0, 0], Algorithm.AUTO_SELECT)
    assert g.truncated_normal([2], dtype=dt.float64).dtype is dt.float64
    assert g.uniform([2], maxval=5, dtype=dt.int64).dtype is dt.int64
    assert g.uniform_full_int([2]).dtype is dt.uint64
    assert g.make_seeds(3).shape == [2, 3]
    children = g.split(3)
    assert len({tuple(child.normal([2]).numpy()) for child in children}) == 3
    g.reset_from_key_counter(3, [0, 0])
    assert same(g.normal([2]), Generator.from_key_counter(3, [0, 0], "philox").normal([2]))


def test_generators_without_seeds_differ():
    first, second = Generator.from_non_deterministic_state(), Generator.from_non_deterministic_state()
    assert not same(first.normal([4]), second.normal([4]))


def test_the_global_generator_can_be_replaced():
    before = get_global_generator()
    assert get_global_generator() is before
    mine = Generator.from_seed(3)
    set_global_generator(mine)
    assert get_global_generator() is mine
    set_global_generator(before)


def test_threads_share_a_generator_and_lose_nothing():
    g = Generator.from_seed(1)
    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(lambda _: g._position([1]), range(200)))
    assert len(set(drawn)) == 200
    assert g.state.numpy()[0] == 1 + 200 * 256


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Generator(3), "use tf.random.Generator.from_seed"),
        (lambda: Generator(), "use tf.random.Generator.from_seed"),
        (lambda: Generator.from_seed("a"), "A seed is an integer"),
        (lambda: Generator.from_seed(1, "dice"), "`alg` got unsupported value"),
        (lambda: Generator.from_seed(1).reset(3), "consists of three integers"),
        (lambda: Generator.from_seed(1).make_seeds(-1), "Dimension -1 must be >= 0"),
        (lambda: Generator.from_key_counter(1, 2, "philox"), "A counter consists of two integers"),
        (lambda: Generator.from_seed(1).uniform([2], dtype=dt.int32), "must be both None or not None"),
        (lambda: set_global_generator(3), "is a tf.random.Generator"),
    ],
)
def test_generators_refuse(call, message):
    with pytest.raises(InvalidArgumentError, match=message):
        call()


def test_many_seeds_are_those_of_one_after_the_other():
    keys = Generator.from_seed(3).uniform_full_int([4], dt.int64).numpy().tolist()
    seeds = Generator.from_seed(3).make_seeds(4).numpy()
    assert seeds.tolist() == [keys, [0] * 4]
    assert [g.state.numpy().tolist() for g in Generator.from_seed(3).split(4)] == [[0, 0, key] for key in keys]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda g: g.make_seeds(2**70), InvalidArgumentError, "more than 2\\*\\*63 - 1 elements"),
        (lambda g: g.split(2**60), ResourceExhaustedError, "OOM when allocating"),
        (lambda g: g.split(-1), InvalidArgumentError, "must be >= 0"),
        (lambda g: g.split("a"), SitusError, "The number of generators must be a single integer"),
        (lambda g: g.make_seeds([]), SitusError, "The number of seeds must be a single integer"),
        (lambda g: g.skip(1.5), SitusError, "The number of draws to skip must be a single integer"),
        (lambda g: Generator.from_seed(1, alg=dt.float32), TypeError, "convert argument `alg`"),
        (lambda g: Generator.from_seed(1, alg=np.zeros(3)), TypeError, "convert argument `alg`"),
    ],
)
def test_generators_refuse_counts_and_algorithms_that_are_none(call, kind, message):
    with pytest.raises(kind, match=message):
        call(Generator.from_seed(1))


def test_resetting_a_generator_gives_nothing():
    g = tf.random.Generator.from_seed(1)
    assert [g.reset([1, 2, 3]), g.reset_from_seed(2), g.reset_from_key_counter(3, [0, 0])] == [None] * 3


def test_expected_counts_of_samplers_are_computed_in_single_precision():
    # TensorFlow's: 5 x 0.02f, which is a tie between two floats, and p x 5 of p = log(3 / 2) / log(51).
    found = tf.random.uniform_candidate_sampler([[1, 2]], 2, 5, False, 50, seed=3)
    assert found[1].numpy().tolist() == [[0.09999999403953552] * 2]
    found = tf.random.log_uniform_candidate_sampler([[0, 1]], 2, 5, False, 50, seed=3)
    assert float(found[1][0, 0]) == 0.8814572095870972


@pytest.mark.parametrize("name", ["log_uniform_candidate_sampler", "uniform_candidate_sampler"])
@pytest.mark.parametrize("bad", [2, -1])
def test_true_classes_of_samplers_are_in_range(name, bad):
    sampler = getattr(tf.random, name)
    for call in (sampler, tf.function(sampler)):
        with pytest.raises(InvalidArgumentError, match=r"out of range \[0, 2\)"):
            call([[0, bad]], 2, 5, False, 2)
