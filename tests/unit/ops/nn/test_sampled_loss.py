"""Samplers of classes, and losses over samples: figures of TensorFlow 2.21 for given samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as tf1
from situs._src.ops.nn import sampled_loss

FIGURES = json.loads((Path(__file__).parents[3] / "data" / "sampled_loss_figures.json").read_text())


def values(shape: Any, seed: int) -> np.ndarray:
    return (np.sin(np.arange(np.prod(shape)) * 0.7 + seed) * 0.8).reshape(shape).astype("float32")


WEIGHTS, BIASES, INPUTS = values([7, 4], 1), values([7], 2), values([3, 4], 3)
ONE, TWO = np.array([[0], [3], [6]]), np.array([[0, 1], [3, 3], [6, 2]])


def sample(num_true: int) -> tuple[Any, ...]:
    return np.array([1, 3, 5, 0]), values([3, num_true], 5) ** 2 + 0.1, values([4], 6) ** 2 + 0.1


CASES: dict[str, Any] = {
    "nce0": (tf.nn.nce_loss, ONE, 1, False),
    "nce1": (tf.nn.nce_loss, ONE, 1, True),
    "nce_two": (tf.nn.nce_loss, TWO, 2, False),
    "ss0": (tf.nn.sampled_softmax_loss, ONE, 1, False),
    "ss1": (tf.nn.sampled_softmax_loss, ONE, 1, True),
    "ss_two": (tf.nn.sampled_softmax_loss, TWO, 2, True),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("traced", [False, True])
def test_losses_and_gradients_of_a_given_sample_are_those_of_tensorflow(case: str, traced: bool) -> None:
    function, labels, num_true, removes = CASES[case]
    given = [tf.constant(each) for each in (WEIGHTS, BIASES, INPUTS)]

    def slopes(w: Any, b: Any, x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([w, b, x])
            loss = function(w, b, labels, x, 4, 7, num_true, sample(num_true), removes)
            total = tf.reduce_sum(loss * values([3], 2))
        return [loss, *map(tf.convert_to_tensor, tape.gradient(total, [w, b, x]))]

    for found, wanted in zip((tf.function(slopes) if traced else slopes)(*given), FIGURES[case], strict=True):
        np.testing.assert_allclose(found.numpy().ravel(), wanted, rtol=2e-4, atol=2e-5)


def test_tables_in_shards_are_looked_up_by_their_strategy() -> None:
    everysecond = [[WEIGHTS[::2], WEIGHTS[1::2]], [BIASES[::2], BIASES[1::2]]]
    halves = [[WEIGHTS[:4], WEIGHTS[4:]], [BIASES[:4], BIASES[4:]]]
    found = [
        sampled_loss.nce_loss_v1(*everysecond, ONE, INPUTS, 4, 7, 1, sample(1)),
        tf.nn.nce_loss(*halves, ONE, INPUTS, 4, 7, 1, sample(1)),
    ]
    for loss, wanted in zip(found, FIGURES["v1_lists"], strict=True):
        np.testing.assert_allclose(loss.numpy(), wanted, rtol=1e-4)


def test_a_loss_draws_its_own_sample() -> None:
    tf.random.set_seed(1)
    losses = [tf.nn.sampled_softmax_loss(WEIGHTS, BIASES, ONE, INPUTS, 5, 7, seed=3).numpy() for _ in range(2)]
    assert np.isfinite(losses).all()
    tf.random.set_seed(1)
    np.testing.assert_array_equal(losses[0], tf.nn.sampled_softmax_loss(WEIGHTS, BIASES, ONE, INPUTS, 5, 7, seed=3))
    assert np.isfinite(tf.nn.nce_loss(WEIGHTS, BIASES, ONE[:, 0], INPUTS, 5, 7)).all()


SAMPLERS: dict[str, tuple[Any, Any]] = {
    "log_uniform": (
        lambda *args: tf.random.log_uniform_candidate_sampler(*args, 7),
        lambda k: np.log((k + 2) / (k + 1)) / np.log(8),
    ),
    "uniform": (lambda *args: tf.random.uniform_candidate_sampler(*args, 7), lambda k: np.full(k.shape, 1 / 7)),
    "fixed": (
        lambda *args: tf.random.fixed_unigram_candidate_sampler(
            *args, 7, distortion=0.75, num_reserved_ids=1, unigrams=[1, 2, 3, 4, 5, 6]
        ),
        lambda k: k**0.75 / np.sum(np.arange(7) ** 0.75),
    ),
}


@pytest.mark.parametrize("kind", SAMPLERS)
def test_samples_follow_their_distribution_and_say_what_was_to_be_expected(kind: str) -> None:
    draw, odds = SAMPLERS[kind]
    tf.random.set_seed(2)
    drawn, true, sampled = (each.numpy() for each in draw(TWO, 2, 20000, False))
    np.testing.assert_allclose(np.bincount(drawn, minlength=7) / 20000, odds(np.arange(7.0)), atol=0.015)
    np.testing.assert_allclose(true, 20000 * odds(TWO * 1.0), rtol=1e-5)
    np.testing.assert_allclose(sampled, 20000 * odds(drawn * 1.0), rtol=1e-5)
    drawn, true, sampled = (each.numpy() for each in draw(TWO, 2, 6, True))
    assert len(set(drawn)) == 6
    assert set(drawn) <= set(range(7))
    np.testing.assert_array_less(true, 1 + 1e-6)
    some = next((c for c in drawn if c in TWO), None)
    assert some is not None
    np.testing.assert_allclose(true[some == TWO][0], sampled[drawn == some][0], rtol=1e-5)


def test_all_classes_are_a_sample_too() -> None:
    drawn, true, sampled = tf.random.all_candidate_sampler(TWO, 2, 7, True)
    np.testing.assert_array_equal(drawn, np.arange(7))
    np.testing.assert_array_equal(true, np.ones([3, 2]))
    np.testing.assert_array_equal(sampled, np.ones([7]))


def test_hits_are_where_a_sample_has_true_classes() -> None:
    example, place, weight = tf.nn.compute_accidental_hits(TWO, [1, 3, 5, 0], 2)
    np.testing.assert_array_equal(example, [0, 0, 1, 1])
    np.testing.assert_array_equal(place, [3, 0, 1, 1])
    np.testing.assert_array_equal(weight, [np.finfo("float32").min] * 4)


def test_the_average_of_losses_is_over_the_whole_batch() -> None:
    losses = [1.0, 2.0, 3.0]
    assert float(tf.nn.compute_average_loss(losses)) == 2.0
    weighed = tf.nn.compute_average_loss(losses, sample_weight=[1.0, 0.0, 2.0], global_batch_size=6)
    assert float(weighed) == pytest.approx(7 / 6)
    assert float(tf.nn.scale_regularization_loss([1.0, 2.0])) == 3.0
    with pytest.raises(ValueError, match="got a scalar"):
        tf.nn.compute_average_loss(1.0)
    with pytest.raises(ValueError, match="must be scalar"):
        tf.nn.compute_average_loss(losses, global_batch_size=[1])
    with pytest.raises(ValueError, match="must be an integer"):
        tf.nn.compute_average_loss(losses, global_batch_size=1.5)


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "too many": (lambda: tf.random.uniform_candidate_sampler(TWO, 2, 8, True, 7), ValueError, "range is too small"),
    "none": (lambda: tf.random.uniform_candidate_sampler(TWO, 2, 0, False, 7), ValueError, "num_sampled >= 1"),
    "no matrix": (lambda: tf.random.uniform_candidate_sampler([1], 1, 2, False, 7), ValueError, "must be a matrix"),
    "columns": (lambda: tf.random.uniform_candidate_sampler(TWO, 1, 2, False, 7), ValueError, "num_true=1 columns"),
    "weights": (
        lambda: tf.random.fixed_unigram_candidate_sampler(TWO, 2, 2, False, 7, unigrams=[1]),
        ValueError,
        "for each of 7 classes",
    ),
    "file": (
        lambda: tf.random.fixed_unigram_candidate_sampler(TWO, 2, 2, False, 7, vocab_file="x"),
        tf.errors.UnimplementedError,
        "unigrams",
    ),
    "labels": (lambda: tf.nn.nce_loss(WEIGHTS, BIASES, TWO, INPUTS, 4, 7), ValueError, "num_true=1 columns"),
    "sample": (
        lambda: tf.nn.nce_loss(WEIGHTS, BIASES, ONE, INPUTS, 4, 7, sampled_values=[1]),
        ValueError,
        "what a sampler gives",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_sampled_is_refused_in_words(case: str) -> None:
    call, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        call()


def test_samples_have_fields_which_sessions_keep() -> None:
    true = np.array([[1], [2]])
    samplers = {
        "UniformCandidateSampler": lambda: tf1.nn.uniform_candidate_sampler(true, 1, 3, True, 5),
        "LogUniformCandidateSampler": lambda: tf1.nn.log_uniform_candidate_sampler(true, 1, 3, True, 5),
        "LearnedUnigramCandidateSampler": lambda: tf1.nn.learned_unigram_candidate_sampler(true, 1, 3, True, 5),
        "FixedUnigramCandidateSampler": lambda: tf1.nn.fixed_unigram_candidate_sampler(
            true, 1, 3, True, 5, unigrams=[1.0] * 5
        ),
        "AllCandidateSampler": lambda: tf1.nn.all_candidate_sampler(true, 1, 3, True),
    }
    for name, draw in samplers.items():
        with tf1.Graph().as_default(), tf1.Session() as session:
            made = session.run(draw())
        assert type(made).__name__ == name
        assert made.sampled_candidates.shape == made.sampled_expected_count.shape == (3,)
        assert made.true_expected_count.shape == (2, 1)
    hits = tf.nn.compute_accidental_hits(true, np.array([2, 4]), 1)
    assert hits._fields == ("indices", "ids", "weights")
    assert (hits.indices.numpy().tolist(), hits.ids.numpy().tolist()) == ([1], [0])
