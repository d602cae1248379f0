"""Programs that draw random numbers with seeds, by name: `test_seeded.py` compares them with TensorFlow 2.21's numbers.

Each takes the module ``tf`` and returns tensors or lists of numbers. ``python -m tests.unit.ops.seeded_calls`` writes
what ``import tensorflow`` draws to ``tests/data/seeded_figures.json``: of each result its dtype, its shape, the SHA-256
of its bytes, and its first numbers.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Call = Callable[[Any], Any]
FILE = Path(__file__).parents[2] / "data" / "seeded_figures.json"
FLOATS = ("float16", "bfloat16", "float32", "float64")
SIZES = ([], [1], [3], [2, 3], [17], [0, 4], [1001])
SEEDS = ([1, 2], [0, 0], [-5, 2**31 - 1], [2**40 + 3, -(2**50)])
KEPT = 8  # numbers of a result that are written down
CALLS: dict[str, Call] = {}


def _add(name: str, call: Call) -> None:
    assert name not in CALLS
    CALLS[name] = call


# Stateless ops.


def _long_seed(tf: Any, seed: list[int]) -> Any:
    return tf.constant(seed, tf.int64)


for _dtype in FLOATS:
    for _op in ("normal", "truncated_normal", "uniform"):
        for _number, (_size, _seed) in enumerate([(size, SEEDS[0]) for size in SIZES] + [([33], s) for s in SEEDS[1:]]):
            _add(
                f"stateless_{_op} {_dtype} {_number}",
                lambda tf, op=_op, dtype=_dtype, size=_size, seed=_seed: getattr(tf.random, f"stateless_{op}")(
                    size, _long_seed(tf, seed), dtype=dtype
                ),
            )
    _add(
        f"stateless_normal moments {_dtype}",
        lambda tf, dtype=_dtype: tf.random.stateless_normal([40], [3, 4], 0.3, 1.7, dtype),
    )
    _add(
        f"stateless_uniform bounds {_dtype}",
        lambda tf, dtype=_dtype: tf.random.stateless_uniform([40], [3, 4], -0.1, 2.7, dtype),
    )
for _dtype in ("int32", "int64"):
    for _number, (_low, _high) in enumerate([(0, 10), (-7, 8), (-(2**31), 2**31 - 1), (5, 6), (0, 2**31 - 1)]):
        for _size in ([1], [7], [501]):
            _add(
                f"stateless_uniform {_dtype} {_number} {_size}",
                lambda tf, dtype=_dtype, low=_low, high=_high, size=_size: tf.random.stateless_uniform(
                    size, [9, 8], low, high, dtype
                ),
            )
_add(
    "stateless_uniform int64 wide",
    lambda tf: tf.random.stateless_uniform([99], [1, 2], -(2**63), 2**63 - 1, tf.int64),
)
for _dtype in ("int32", "int64", "uint32", "uint64"):
    for _size in ([], [5], [2, 50]):
        _add(
            f"stateless full {_dtype} {_size}",
            lambda tf, dtype=_dtype, size=_size: tf.random.stateless_uniform(size, [3, 1], None, None, dtype),
        )
for _dtype in ("float16", "float32", "float64"):
    _add(
        f"stateless_gamma {_dtype}",
        lambda tf, dtype=_dtype: tf.random.stateless_gamma([50, 4], [1, 2], [0.3, 1.0, 2.5, 30.0], dtype=dtype),
    )
_add("stateless_gamma beta", lambda tf: tf.random.stateless_gamma([9, 2], [5, 2], [0.3, 4.0], [2.0, 0.5]))
for _dtype in ("float16", "float32", "float64", "int32", "int64"):
    _add(
        f"stateless_poisson {_dtype}",
        lambda tf, dtype=_dtype: tf.random.stateless_poisson([60, 4], [1, 2], [0.4, 3.0, 12.0, 90.0], dtype=dtype),
    )
    _add(
        f"stateless_binomial {_dtype}",
        lambda tf, dtype=_dtype: tf.random.stateless_binomial(
            [60, 4], [1, 2], [10.0, 20.0, 100.0, 300.0], [0.2, 0.9, 0.4, 0.7], dtype
        ),
    )
for _dtype in ("int32", "int64"):
    _add(
        f"stateless_categorical {_dtype}",
        lambda tf, dtype=_dtype: tf.random.stateless_categorical(
            np.float32([[0.1, 2.0, -1.0], [0.0, 0.0, 3.0]]), 31, [4, 5], dtype
        ),
    )
_add(
    "stateless_categorical infinite",
    lambda tf: tf.random.stateless_categorical(np.float32([[0.0, -np.inf, 1.0, np.nan], [-np.inf] * 4]), 9, [4, 5]),
)
_add("stateless_shuffle", lambda tf: tf.random.experimental.stateless_shuffle(tf.range(40), [1, 2]))
_add(
    "stateless_shuffle rows",
    lambda tf: tf.random.experimental.stateless_shuffle(tf.reshape(tf.range(40), [8, 5]), [1, 2]),
)
_add("index_shuffle", lambda tf: tf.random.experimental.index_shuffle(tf.range(40), [1, 2], 39))
_add("index_shuffle one", lambda tf: tf.random.experimental.index_shuffle(5, [1, 2], 99))
_add("index_shuffle many", lambda tf: tf.random.experimental.index_shuffle(tf.range(9, dtype=tf.int64), [7, 2], 2**40))
_add("split", lambda tf: tf.random.split([1, 2], 5))
_add("split long", lambda tf: tf.random.split(tf.constant([1, 2**40], tf.int64), 3))
_add("fold_in", lambda tf: tf.random.fold_in([1, 2], 7))
for _alg in ("philox", "auto_select"):
    _add(f"alg {_alg}", lambda tf, alg=_alg: tf.random.stateless_uniform([7], [1, 2], alg=alg))
_add("stateless_dropout", lambda tf: tf.nn.experimental.stateless_dropout(tf.ones([40]), 0.3, [1, 2]))
for _dtype in FLOATS:  # what is kept is multiplied with a scale in the dtype of the tensor
    _add(
        f"stateless_dropout scale {_dtype}",
        lambda tf, dtype=_dtype: [
            tf.nn.experimental.stateless_dropout(tf.random.stateless_uniform([99], [5, 6], dtype=dtype), rate, [1, 2])
            for rate in (0.1, 0.3, 0.45, 0.9)
        ],
    )
_add(
    "stateless_dropout computed rate",
    lambda tf: tf.nn.experimental.stateless_dropout(
        tf.random.stateless_uniform([99], [5, 6]), tf.constant(0.3), [1, 2]
    ),
)
for _dtype in ("float16", "float32", "float64"):  # samples that are too small for their dtype, before and after a rate
    _add(
        f"stateless_gamma tiny {_dtype}",
        lambda tf, dtype=_dtype: [
            tf.random.stateless_gamma([30, 3], [1, 2], tf.constant([1e-3, 0.01, 0.2], dtype), beta, dtype)
            for beta in (None, tf.constant(0.5, dtype), tf.constant(3.0, dtype))
        ],
    )


# Generators.


def _generator(tf: Any) -> Any:
    g = tf.random.Generator.from_seed(1234)
    made = [g.normal([2, 3]), g.uniform([5]), g.truncated_normal([7], 1.0, 0.5), g.uniform_full_int([3])]
    made += [g.uniform([4], 1, 50, tf.int32), g.normal([3], dtype=tf.float64), g.make_seeds(3), tf.identity(g.state)]
    made += [other.normal([2]) for other in g.split(3)]
    return [*made, g.normal([2]), g.key, g.skip(5), tf.identity(g.state)]


def _generator_in_function(tf: Any) -> Any:
    g = tf.random.Generator.from_seed(77)

    @tf.function
    def draw(count: Any) -> Any:
        return g.normal([2, 3]), g.uniform([count, 2]), g.uniform_full_int([3], tf.int32), g.make_seeds(2)

    return [*draw(tf.constant(3)), *draw(tf.constant(4)), tf.identity(g.state), g.normal([2])]


def _generator_of_trials(tf: Any) -> Any:
    g = tf.random.Generator.from_seed(-1)
    draw = tf.function(lambda: g.binomial([3, 2], [5.0, 200.0], [0.1, 0.6], tf.int64))
    made = [g.binomial([257], 5.0, 0.3), g.binomial([], 100.0, 0.5, tf.float64), g.binomial([0], 5.0, 0.3), draw()]
    made += [g.binomial([4, 3, 2], [[5.0], [9.0], [100.0]], [0.1, 0.6], tf.float32), draw(), g.normal([2])]
    return [*made, tf.identity(g.state)]


_add("generator of trials", _generator_of_trials)
_add("generator", _generator)
_add("generator function", _generator_in_function)
for _name, _seed in (("big", 2**70 + 5), ("negative", -3), ("words", [4, 5]), ("three words", [4, 5, 6])):
    _add(
        f"generator seed {_name}",
        lambda tf, seed=_seed: [
            tf.identity((g := tf.random.Generator.from_seed(seed)).state),
            g.normal([3]),
            tf.identity(g.state),
        ],
    )
_add(
    "generator carry",
    lambda tf: [(g := tf.random.Generator.from_state([-3, 1, 9], 1)).uniform([9]), tf.identity(g.state)],
)
_add(
    "generator key counter",
    lambda tf: [(g := tf.random.Generator.from_key_counter(5, [1, 2], "philox")).normal([3]), tf.identity(g.state)],
)
_add("generator reset", lambda tf: [_reset(tf).normal([3]), tf.random.create_rng_state(12, "philox")])


def _reset(tf: Any) -> Any:
    g = tf.random.Generator.from_seed(1)
    g.normal([4])
    g.reset_from_seed(5)
    return g


# Eager code.


def _eager(tf: Any) -> Any:
    made = [
        tf.random.normal([5]),
        tf.random.uniform([3]),
        tf.random.uniform([3], seed=3),
        tf.random.uniform([3], seed=3),
    ]
    made += [tf.random.uniform([3], seed=3, dtype=tf.float64), tf.random.normal([3], seed=3)]
    made += [tf.random.shuffle(tf.range(20)), tf.random.shuffle(tf.range(20), seed=4), tf.random.truncated_normal([9])]
    made += [
        tf.random.uniform([6], 3, 90, tf.int32),
        tf.random.uniform([6], 3, 90, tf.int64),
        tf.random.normal([2], 5, 2),
    ]
    made += [
        tf.random.categorical(np.float32([[0.0, 1.0, 2.0], [0.3, 0.2, 0.1]]), 11),
        tf.nn.dropout(tf.ones([30]), 0.4),
    ]
    made += [tf.random.gamma([5], [0.4, 2.0]), tf.random.poisson([6], [0.5, 20.0]), tf.random.normal([2])]
    made += [tf.nn.dropout(tf.ones([3]), 0.0), tf.random.normal([2]), tf.random.uniform([4], -2.0, 0.7)]
    return made


def _seeded_eager(seed: Any) -> Call:
    def call(tf: Any) -> Any:
        tf.random.set_seed(seed)
        return _eager(tf)

    return call


for _seed in (1, 0, 42, -7, 2**40 + 1):
    _add(f"eager {_seed}", _seeded_eager(_seed))


def _op_seeds_alone(tf: Any) -> Any:
    tf.random.set_seed(None)
    first = [tf.random.normal([4], seed=5), tf.random.normal([4], seed=5), tf.random.uniform([2, 2], seed=0)]
    tf.random.set_seed(None)
    return [*first, tf.random.normal([4], seed=5), tf.random.shuffle(np.arange(12).reshape(6, 2), seed=1)]


_add("op seeds alone", _op_seeds_alone)
for _dtype in FLOATS:
    for _op in ("normal", "truncated_normal", "uniform"):
        for _size in ([1], [6], [501]):

            def _twice(tf: Any, op: str = _op, dtype: str = _dtype, size: list[int] = _size) -> Any:
                tf.random.set_seed(3)
                return [getattr(tf.random, op)(size, dtype=dtype, seed=8) for _ in range(2)]

            _add(f"eager {_op} {_dtype} {_size}", _twice)
for _dtype in ("float16", "float32", "float64"):

    def _gammas(tf: Any, dtype: str = _dtype) -> Any:
        tf.random.set_seed(3)
        return [tf.random.gamma([40], [0.2, 1.0, 1.5, 9.0], dtype=dtype) for _ in range(2)]

    def _poissons(tf: Any, dtype: str = _dtype) -> Any:
        tf.random.set_seed(3)
        return [tf.random.poisson([40], tf.constant([0.2, 9.0, 11.0, 99.0], dtype), dtype=dtype) for _ in range(2)]

    _add(f"eager gamma {_dtype}", _gammas)
    _add(f"eager poisson {_dtype}", _poissons)


def _samplers(tf: Any) -> Any:
    tf.random.set_seed(2)
    true = tf.constant([[0], [3]], tf.int64)
    made: list[Any] = []
    for unique in (True, False):
        made += tf.random.log_uniform_candidate_sampler(true, 1, 8, unique, 100)
        made += tf.random.uniform_candidate_sampler(true, 1, 8, unique, 100, seed=4)
        weights = [1.0, 2.0, 3.0, 4.0, 0.5, 9.0, 1.0, 1.0, 1.0, 2.5]
        made += tf.random.fixed_unigram_candidate_sampler(true, 1, 5, unique, 10, unigrams=weights)
    return made


_add("samplers", _samplers)


def _learned_samplers(tf: Any) -> Any:
    tf.random.set_seed(2)
    true = [tf.constant(rows, tf.int64) for rows in ([[0, 1], [3, 3]], [[3, 7], [3, 9]], [[8, 3], [0, 3]])]

    def draw(rows: Any, unique: bool, seed: int | None) -> Any:
        return tf.random.learned_unigram_candidate_sampler(rows, 2, 6, unique, 10, seed=seed)

    made: list[Any] = []
    for unique in (True, False):
        for rows in true * 3:
            made += draw(rows, unique, 4)  # learns from call to call
            made += draw(rows, unique, None)  # each has a seed of its own

    @tf.function
    def step(rows: Any) -> Any:
        return [*draw(rows, True, None), *draw(rows, False, 5)]

    for rows in true * 2:
        made += step(rows)
    return made


_add("samplers that learn", _learned_samplers)


def _qualities(tf: Any) -> Any:
    """JPEG files of random qualities: how much of an image is left is another library's, so the choices are told."""
    tf.random.set_seed(6)
    files = tf.io.decode_jpeg, tf.io.encode_jpeg
    image = tf.cast(tf.reshape(tf.range(8 * 8 * 3) * 37 % 256, [8, 8, 3]), tf.uint8)

    def chosen(made: Any) -> int:
        alike = [tf.reduce_all(files[0](files[1](image, quality=each)) == made) for each in range(100)]
        return next(quality for quality, same in enumerate(alike) if bool(same))

    step = tf.function(lambda: tf.image.random_jpeg_quality(image, 10, 90))
    made = [tf.image.stateless_random_jpeg_quality(image, 20, 80, [seed, 2]) for seed in range(3)]
    made += [tf.image.random_jpeg_quality(image, 5, 95, seed=3) for _ in range(2)]
    made += [tf.image.random_jpeg_quality(image, 5, 95), step(), step()]
    return [[chosen(each) for each in made]]


_add("jpeg qualities", _qualities)

IMAGE_SIZES = ([40, 60, 3], [299, 299, 3], [7, 5, 1], [1, 1, 3], [480, 17, 3])
OBJECTS = (
    [[[0.25, 0.25, 0.75, 0.5]]],
    [[[0.0, 0.0, 0.1, 0.1], [0.5, 0.6, 1.0, 0.9]]],
    [[[0.3, 0.3, 0.3, 0.3], [0.9, 0.8, 0.1, 0.2]]],
)
WANTED: tuple[dict[str, Any], ...] = (
    {},
    {"min_object_covered": 0.9, "max_attempts": 20},
    {"aspect_ratio_range": [0.5, 2.0], "area_range": [0.01, 0.3]},
    {"aspect_ratio_range": [1.0, 1.0], "area_range": [0.9, 1.0], "min_object_covered": 0.0},
    {"area_range": [0.999, 0.9995], "max_attempts": 5},
)


def _distorted_boxes(tf: Any, number: int) -> Any:
    made: list[Any] = []
    for size in IMAGE_SIZES:
        for objects in OBJECTS:
            for seed in ([1, 2], [3, -7]):
                boxes = tf.constant(objects, tf.float32)
                made += tf.image.stateless_sample_distorted_bounding_box(size, boxes, seed, **WANTED[number])
            made += tf.image.sample_distorted_bounding_box(size, boxes, seed=6, **WANTED[number])
            made += tf.image.sample_distorted_bounding_box(size, boxes, seed=6, **WANTED[number])
    return made


for _number in range(len(WANTED)):
    _add(f"distorted boxes {_number}", lambda tf, number=_number: _distorted_boxes(tf, number))


def _distorted_boxes_in_programs(tf: Any) -> Any:
    tf.random.set_seed(8)
    sample, none = tf.image.sample_distorted_bounding_box, tf.zeros([1, 0, 4])

    @tf.function
    def step() -> Any:
        one = sample(tf.constant([64, 48, 3]), none, seed=3, use_image_if_no_bounding_boxes=True)
        return [*one, *sample(tf.constant([64, 48, 3], tf.int64), tf.ones([1, 1, 4]) * [0.0, 0.0, 1.0, 1.0], seed=4)]

    made = [each for _ in range(4) for each in step()]
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        v1.set_random_seed(5)
        drawn = [
            *v1.image.sample_distorted_bounding_box([64, 48, 3], tf.constant(OBJECTS[0]), seed=2),
            *v1.image.sample_distorted_bounding_box([64, 48, 3], tf.constant(OBJECTS[1]), seed=2, seed2=9),
        ]
        for _ in range(3):
            made += session.run(drawn)
    return made


_add("distorted boxes in programs", _distorted_boxes_in_programs)


def _drawn_boxes(tf: Any) -> Any:
    """No random numbers, but the boxes of those above."""
    boxes = [[0.1, 0.1, 0.6, 0.7], [-0.5, 0.2, 0.5, 1.7], [0.9, 0.9, 0.1, 0.1], [1.2, 0, 1.5, 1], [0, 0, 1, 1]]
    boxes += [[0.33 * (n % 3), 0.07 * n, 0.4 + 0.05 * n, 0.5] for n in range(9)]
    made = []
    for depth in (1, 3, 4):
        images = tf.reshape(tf.range(2.0 * 11 * 13 * depth), [2, 11, 13, depth]) / 500
        both = tf.constant([boxes, boxes[::-1]], tf.float32)
        made.append(tf.image.draw_bounding_boxes(images, both, None))
        made.append(tf.image.draw_bounding_boxes(images, both, [[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8]]))
        made.append(tf.image.draw_bounding_boxes(tf.cast(images, tf.float16), both, None))
        made.append(tf.image.draw_bounding_boxes(images, both, tf.zeros([0, 4])))
    return made


_add("drawn boxes", _drawn_boxes)


# Functions.


def _functions(tf: Any) -> Any:
    tf.random.set_seed(11)

    @tf.function
    def draw() -> Any:
        return (
            tf.random.normal([2]),
            tf.random.uniform([2]),
            tf.random.uniform([2], seed=5),
            tf.random.shuffle(tf.range(9)),
        )

    @tf.function
    def other() -> Any:
        return tf.random.normal([2]), draw()

    made = [*draw(), *draw(), tf.random.normal([2]), *draw()]
    first, rest = other()
    return [*made, first, *rest]


def _functions_anew(tf: Any) -> Any:
    tf.random.set_seed(11)

    @tf.function
    def draw() -> Any:
        return tf.random.normal([3])

    first = [draw(), draw()]
    tf.random.set_seed(11)
    return [*first, draw(), draw()]


def _control_flow(tf: Any) -> Any:
    tf.random.set_seed(4)

    @tf.function
    def loop(count: Any) -> Any:
        total = tf.zeros([3])
        for _ in tf.range(count):
            total += tf.random.uniform([3])
        if count > 2:
            total += tf.random.normal([3])
        else:
            total -= tf.random.normal([3])
        return total

    return [loop(tf.constant(3)), loop(tf.constant(2)), loop(tf.constant(3))]


def _called_twice(tf: Any) -> Any:
    """Each call of a function in another one draws for itself, from the same seeds."""
    tf.random.set_seed(9)

    @tf.function
    def inner(x: Any) -> Any:
        return x + tf.random.uniform([2])

    @tf.function
    def outer(x: Any) -> Any:
        return inner(x), inner(x) + tf.random.normal([2])

    return [*outer(tf.zeros([2])), *outer(tf.zeros([2])), inner(tf.zeros([2])), *outer(tf.zeros([2]))]


_add("functions called twice", _called_twice)
_add("functions", _functions)
_add("functions anew", _functions_anew)
_add("functions control flow", _control_flow)


# Graphs and sessions.


def _graph(build: Callable[[Any], Any], seed: int | None, runs: int = 2) -> Call:
    """Two sessions of a graph, some runs each."""

    def call(tf: Any) -> Any:
        v1 = tf.compat.v1
        with tf.Graph().as_default():
            if seed is not None:
                v1.set_random_seed(seed)
            made = build(v1)
            start = v1.global_variables_initializer()
            results = []
            for _ in range(2):
                with v1.Session() as session:
                    session.run(start)
                    for _ in range(runs):
                        results += session.run(made)
        return results

    return call


def _variables(v1: Any) -> Any:
    x = v1.placeholder_with_default(np.ones([2, 4], np.float32), [None, 4])
    w = v1.Variable(v1.random_normal([3, 4]))
    b = v1.get_variable("b", [4], initializer=v1.truncated_normal_initializer(stddev=0.1))
    g = v1.get_variable("g", [3, 4])
    u = v1.get_variable("u", [4], initializer=v1.random_uniform_initializer(-1, 1, seed=9))
    y = v1.nn.dropout(x + b, rate=0.5)
    return [w, b, g, u, y, v1.random_uniform([3]), v1.random_shuffle(v1.range(9))]


def _draws(v1: Any) -> Any:
    return [
        v1.multinomial(np.float32([[0.1, 0.9, 0.4]]), 6),
        v1.random_gamma([3], 0.7),
        v1.random_poisson([0.4, 3.0], [4]),
        v1.random_uniform([3], 0, 90, v1.int32),
        v1.random_crop(np.arange(40).reshape(8, 5), [2, 2]),
        v1.random_normal([3], seed=7),
        v1.random_normal([3], seed=7),
    ]


for _seed in (1, 1234, None):
    if _seed is not None:
        _add(f"graph variables {_seed}", _graph(_variables, _seed))
        _add(f"graph draws {_seed}", _graph(_draws, _seed))
_add("graph op seeds alone", _graph(lambda v1: [v1.random_normal([3], seed=5), v1.random_uniform([3], seed=6)], None))


def _branches_and_loops(v1: Any) -> Any:
    """They count their random operations for themselves."""
    a, p = v1.random_normal([3]), v1.random_uniform([]) * 0 + 1
    b = v1.cond(p > 0, lambda: v1.random_uniform([2]), lambda: v1.random_normal([2]))
    step = lambda i, s: (i + 1, s + v1.random_uniform([2]))  # noqa: E731
    c = v1.while_loop(lambda i, _: i < 3, step, [v1.constant(0), v1.zeros([2])])[1]
    return [a, b, c, v1.random_uniform([2])]


def _iterators(v1: Any) -> Any:
    data = v1.data.Dataset.range(20)
    one = v1.data.make_one_shot_iterator(data.shuffle(8).repeat(2).batch(5)).get_next()
    drawn = v1.data.make_one_shot_iterator(data.map(lambda _: v1.random_uniform([])).batch(4)).get_next()
    return [one, drawn, v1.random_uniform([2])]


def _accidental_hits(tf: Any) -> Any:
    """Looking for them is counted as drawing."""
    tf.random.set_seed(3)
    weights, x = np.arange(200, dtype=np.float32).reshape(50, 4) / 99, np.ones([3, 4], np.float32)
    labels = tf.constant([[1], [3], [7]], tf.int64)
    tf.nn.sampled_softmax_loss(weights, tf.zeros([50]), labels, x, 5, 50)
    first = tf.random.normal([2])
    tf.nn.nce_loss(weights, tf.zeros([50]), labels, x, 5, 50)
    return [first, tf.random.normal([2])]


_add("accidental hits", _accidental_hits)
_add("graph branches and loops", _graph(_branches_and_loops, 7))
_add("graph iterators", _graph(_iterators, 7))


def _shuffling_queue(tf: Any) -> Any:
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        v1.set_random_seed(5)
        queue = v1.RandomShuffleQueue(30, 0, [tf.int32], [[]])
        put, get = queue.enqueue_many([tf.range(20)]), queue.dequeue_many(20)
        with v1.Session() as session:
            session.run(put)
            return [session.run(get)]


_add("graph queue", _shuffling_queue)


# Datasets.


def _numbers(dataset: Any, times: int = 2) -> list[Any]:
    return [np.array([np.asarray(item) for item in dataset]) for _ in range(times)]


def _datasets(tf: Any) -> Any:
    tf.random.set_seed(6)
    data = tf.data.Dataset
    made = _numbers(data.range(30).shuffle(7)) + _numbers(data.range(30).shuffle(100, seed=2))
    made += _numbers(data.range(30).shuffle(5, seed=2, reshuffle_each_iteration=False))
    made += _numbers(data.range(9).shuffle(4, seed=3).repeat(3)) + _numbers(data.range(9).repeat(2).shuffle(6))
    made += _numbers(data.range(12).shuffle(6).batch(4)) + _numbers(data.random(seed=3).take(5))
    made += _numbers(data.random(seed=3, rerandomize_each_iteration=True).take(5))
    sampled = data.sample_from_datasets(
        [data.range(9), data.range(20, 40), data.range(50, 55)], [0.3, 0.5, 0.2], seed=3
    )
    made += _numbers(sampled)
    made += _numbers(data.range(5).map(lambda _: tf.random.uniform([])))
    made += _numbers(data.range(5).map(lambda _: tf.random.normal([2], seed=4)))
    return [*made, tf.random.normal([2])]


def _rounds(tf: Any) -> Any:
    """Repeating begins a round more than it goes through, but not directly behind a shuffle."""
    tf.random.set_seed(6)
    data, made = tf.data.Dataset.range(12), []
    for dataset in (
        data.shuffle(6).take(4).repeat(2),
        data.shuffle(6).batch(3).repeat(2),
        data.shuffle(6).map(lambda x: x + 1).repeat(2).map(lambda x: x * 2).repeat(2),
        data.shuffle(3).cache().repeat(2),
        data.concatenate(data.shuffle(5)).repeat(2),
        tf.data.Dataset.zip((data.shuffle(5), data.shuffle(4))).map(lambda x, y: x + 100 * y).repeat(2),
        data.shuffle(4).shuffle(3).repeat(2),
        data.batch(4).flat_map(lambda x: tf.data.Dataset.from_tensor_slices(x).shuffle(4)).repeat(2),
    ):
        made += _numbers(dataset, 3)
    return made


_add("datasets", _datasets)
_add("datasets in rounds", _rounds)


# Images.

IMAGE = (np.arange(60) % 17).reshape(5, 4, 3).astype(np.float32) / 17
IMAGES = np.stack([IMAGE, 1 - IMAGE, IMAGE * 0.5])


def _images(tf: Any) -> Any:
    tf.random.set_seed(8)
    image = tf.image
    made = [image.random_flip_left_right(IMAGE), image.random_flip_up_down(IMAGE), image.random_crop(IMAGE, [2, 3, 3])]
    made += [image.random_flip_left_right(IMAGES), image.random_flip_up_down(IMAGES, seed=3)]
    made += [image.random_brightness(IMAGE, 0.3), image.random_crop(IMAGE, [2, 3, 3], seed=3)]
    return [*made, tf.random.uniform([2])]


def _stateless_images(tf: Any) -> Any:
    image, made = tf.image, []
    for seed in ([1, 2], [3, 4], [9, 9]):
        made += [image.stateless_random_flip_left_right(IMAGE, seed), image.stateless_random_flip_up_down(IMAGE, seed)]
        made += [
            image.stateless_random_crop(IMAGE, [2, 3, 3], seed),
            image.stateless_random_brightness(IMAGE, 0.3, seed),
        ]
        made += [image.stateless_random_flip_left_right(IMAGES, seed)]
    return made


_add("images", _images)
_add("stateless images", _stateless_images)


# Initializers.


def _initializers(tf: Any) -> Any:
    tf.random.set_seed(9)
    return [tf.random_normal_initializer()([5]), tf.random_uniform_initializer()([5])]


_add("initializers", _initializers)


# Programs that nobody has thought of: draws of some kinds, in one of some ways, both chosen at random.

WAYS = ("eager", "function", "retraced", "nested", "graphs")
KINDS = ("normal", "truncated_normal", "uniform", "integers", "categorical", "shuffle", "dropout", "crop", "flip")


def _chosen_draw(choose: random.Random) -> Call:
    kind, dtype = choose.choice(KINDS), choose.choice(("float16", "bfloat16", "float32"))
    size = [choose.choice((0, 1, 2, 3, 5, 7, 17)) for _ in range(choose.randrange(5))]
    seed = choose.choice((None, None, 0, 7, -3, 2**31 - 1, 2**40 + 5, -(2**35)))
    part = choose.random()

    def draw(tf: Any) -> Any:
        if kind in ("normal", "truncated_normal", "uniform"):
            return getattr(tf.random, kind)(size, dtype=dtype, seed=seed)
        if kind == "integers":
            wide = tf.int32 if part < 0.5 else tf.int64
            return tf.random.uniform(size, -int(part * 1000), int(part * 10**9) + 1, wide, seed=seed)
        if kind == "categorical":
            return tf.random.categorical(tf.constant([[part, 1.0, -5 * part]]), 9, seed=seed)
        if kind == "shuffle":
            return tf.random.shuffle(tf.range(int(part * 60)), seed=seed)
        if kind == "dropout":
            return tf.nn.dropout(tf.ones([*size, 3], dtype), rate=0.9 * part + 0.01, seed=seed)
        if kind == "crop":
            return tf.image.random_crop(IMAGE, [2, 2, 3], seed=seed)
        return tf.image.random_flip_left_right(IMAGES, seed=seed)

    return draw


def _chosen_program(number: int) -> Call:
    choose = random.Random(number)
    way, seed = WAYS[number % len(WAYS)], choose.choice((0, 1, 42, -7, 2**31, -(2**33)))
    draws = [_chosen_draw(choose) for _ in range(4)]

    def eager(tf: Any) -> Any:
        return [draw(tf) for draw in draws]

    def program(tf: Any) -> Any:
        if way == "graphs":
            return [each for more in (0, 1) for each in _in_sessions(tf, seed + more)]
        tf.random.set_seed(seed)
        if way == "eager":
            return [*eager(tf), *eager(tf)]
        inner = tf.function(lambda: eager(tf)[:2])
        if way == "function":
            return [*inner(), *inner(), *inner()]
        if way == "nested":
            outer = tf.function(lambda: [*inner(), *inner(), draws[2](tf)])
            return [*outer(), *inner(), *outer()]
        step = tf.function(lambda x: [*eager(tf)[2:], tf.random.uniform(tf.shape(x))])
        return [each for shape in ([2], [3], [2], [2, 2]) for each in step(tf.zeros(shape))]

    def _in_sessions(tf: Any, graph_seed: int) -> Any:
        v1, made = tf.compat.v1, []
        with tf.Graph().as_default():
            v1.set_random_seed(graph_seed)
            weights = v1.get_variable("w", [3, 4], initializer=v1.glorot_uniform_initializer())
            drawn = eager(v1)[:3]
            for _ in range(2):
                with v1.Session() as session:
                    session.run(v1.global_variables_initializer())
                    made += [session.run(weights), *session.run(drawn), *session.run(drawn)]
        return made

    return program


for _number in range(25):
    _add(f"chosen {WAYS[_number % len(WAYS)]} {_number}", _chosen_program(_number))


# Writing figures down.


def arrays(made: Any) -> list[np.ndarray[Any, Any]]:
    """The results of a call, as arrays."""
    return [
        item.numpy() if hasattr(item, "numpy") else np.asarray(item)
        for item in (made if isinstance(made, (list, tuple)) else [made])
    ]


def figures(made: Any) -> list[list[Any]]:
    """What is written down of the results of a call."""
    return [
        [
            str(array.dtype),
            list(array.shape),
            hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16],
            [float(item) for item in array.reshape(-1)[:KEPT]],
        ]
        for array in arrays(made)
    ]


if __name__ == "__main__":
    import tensorflow

    found = {}
    for label, run in CALLS.items():
        tensorflow.random.set_seed(None)
        found[label] = figures(run(tensorflow))
    lines = (f"{json.dumps(label)}: {json.dumps(each)}" for label, each in found.items())
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
