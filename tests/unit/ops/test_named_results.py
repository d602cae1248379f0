"""Results that have names, as TensorFlow's have: classes, fields and printed forms recorded from TensorFlow 2.21."""

from __future__ import annotations

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1

MATRIX = np.array([[2.0, 1.0], [1.0, 3.0]], np.float32)
IMAGE = MATRIX[None, :, :, None]
SAMPLED = ("sampled_candidates", "true_expected_count", "sampled_expected_count")

CASES = {
    "Qr": (lambda: tf.linalg.qr(MATRIX), ("q", "r")),
    "Lu": (lambda: tf.linalg.lu(MATRIX), ("lu", "p")),
    "LogMatrixDeterminant": (lambda: tf.linalg.slogdet(MATRIX), ("sign", "log_abs_determinant")),
    "MaxPoolWithArgmax": (lambda: tf.nn.max_pool_with_argmax(IMAGE, 2, 1, "SAME"), ("output", "argmax")),
    "DecodeWav": (lambda: tf.audio.decode_wav(tf.audio.encode_wav([[0.5]], 8000)), ("audio", "sample_rate")),
    "LogUniformCandidateSampler": (lambda: tf.random.log_uniform_candidate_sampler([[1]], 1, 1, True, 5), SAMPLED),
    "UniformCandidateSampler": (lambda: tf.random.uniform_candidate_sampler([[1]], 1, 1, True, 5), SAMPLED),
    "FixedUnigramCandidateSampler": (
        lambda: tf.random.fixed_unigram_candidate_sampler([[1]], 1, 1, True, 5, unigrams=[1.0] * 5),
        SAMPLED,
    ),
    "LearnedUnigramCandidateSampler": (
        lambda: tf.random.learned_unigram_candidate_sampler([[1]], 1, 1, True, 5),
        SAMPLED,
    ),
    "AllCandidateSampler": (lambda: tf.random.all_candidate_sampler([[1]], 1, 5, True), SAMPLED),
    "ComputeAccidentalHits": (lambda: tf.nn.compute_accidental_hits([[1]], [1, 2], 1), ("indices", "ids", "weights")),
    "TopKV2": (lambda: tf.nn.top_k(MATRIX), ("values", "indices")),
    "UniqueWithCounts": (lambda: tf.unique_with_counts([1, 1]), ("y", "idx", "count")),
}


@pytest.mark.parametrize("name", CASES)
def test_a_result_has_the_names_of_its_parts(name):
    made, fields = CASES[name]
    found = made()
    assert type(found).__name__ == name
    assert found._fields == fields
    assert repr(found).startswith(f"{name}({fields[0]}=<tf.Tensor: shape=")
    assert isinstance(found, tuple)
    assert found[0] is getattr(found, fields[0])


@pytest.mark.parametrize("name", CASES)
def test_names_remain_in_functions_and_in_structures(name):
    made, fields = CASES[name]
    found = tf.function(made)()
    assert type(found).__name__ == name
    doubled = tf.nest.map_structure(lambda part: part, found)
    assert type(doubled) is type(found)
    assert doubled._fields == fields


def test_names_in_a_session():
    with v1.Graph().as_default(), v1.Session() as session:
        found = session.run(v1.linalg.slogdet(tf.constant(MATRIX)))
    np.testing.assert_allclose(found.log_abs_determinant, np.linalg.slogdet(MATRIX)[1], rtol=1e-6)


def test_the_parts_are_those_of_numpy():
    pair = tf.linalg.qr(MATRIX)
    np.testing.assert_allclose(pair.q.numpy() @ pair.r.numpy(), MATRIX, rtol=1e-6)
    both = tf.linalg.lu(MATRIX)
    lower, upper = np.tril(both.lu.numpy(), -1) + np.eye(2), np.triu(both.lu.numpy())
    np.testing.assert_allclose(lower @ upper, MATRIX[both.p.numpy()], rtol=1e-6)
