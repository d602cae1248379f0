"""``tf.distributions``: numbers that TensorFlow 2.21 gives for the same calls, and shapes that are not known yet."""

from __future__ import annotations

import math

import numpy as np
import pytest

import situs as tf
import situs.compat.v1 as v1

D = v1.distributions

# By TensorFlow 2.21, to four places: a distribution, a value, and what it says of it and of itself; then three samples
# with the op seed 5, after tf.set_random_seed(3).
RECORDED = {
    "normal": (
        lambda: D.Normal([0.0, 1.0], [1.0, 2.0]),
        [0.5, 0.7],
        {
            "log_prob": [-1.0439, -1.6233],
            "prob": [0.3521, 0.1972],
            "cdf": [0.6915, 0.4404],
            "log_cdf": [-0.3689, -0.8201],
            "survival_function": [0.3085, 0.5596],
            "log_survival_function": [-1.1759, -0.5805],
            "mean": [0.0, 1.0],
            "variance": [1.0, 4.0],
            "mode": [0.0, 1.0],
            "entropy": [1.4189, 2.1121],
        },
        [-1.1347, 2.4922, -1.9681, -4.2632, -0.6412, 1.3362],
    ),
    "uniform": (
        lambda: D.Uniform([0.0, 1.0], [1.0, 4.0]),
        [0.5, 0.7],
        {"prob": [1.0, 0.0], "log_prob": [0.0, -math.inf], "cdf": [0.5, 0.0], "entropy": [0.0, 1.0986]},
        [0.3977, 3.5277, 0.0045, 2.8066, 0.8028, 3.3724],
    ),
    "bernoulli": (
        lambda: D.Bernoulli(probs=[0.2, 0.7]),
        [0, 1],
        {"prob": [0.8, 0.7], "log_prob": [-0.2231, -0.3567], "mode": [0, 1], "entropy": [0.5004, 0.6109]},
        [0, 0, 1, 1, 0, 0],
    ),
    "categorical": (
        lambda: D.Categorical(probs=[[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]]),
        [0, 2],
        {
            "log_prob": [-2.3026, -1.6094],
            "prob": [0.1, 0.2],
            "cdf": [0.0, 0.8],
            "mode": [2, 0],
            "entropy": [0.8018, 1.0297],
        },
        [1, 1, 0, 1, 2, 2],
    ),
    "exponential": (
        lambda: D.Exponential([1.0, 2.0]),
        [0.5, 0.7],
        {
            "log_prob": [-0.5, -0.7069],
            "cdf": [0.3935, 0.7534],
            "log_survival_function": [-0.5, -1.4],
            "entropy": [1.0, 0.3069],
            "mode": [math.nan, math.nan],
        },
        [0.9221, 0.0857, 5.3995, 0.2536, 0.2197, 0.1174],
    ),
}


@pytest.mark.parametrize("name", RECORDED)
def test_a_distribution_says_what_tensorflow_says_and_draws_what_it_draws(name):
    make, value, expected, drawn = RECORDED[name]
    with v1.Graph().as_default(), v1.Session() as session:
        v1.set_random_seed(3)
        made = make()
        for what, figures in expected.items():
            of_a_value = what.endswith(("prob", "cdf", "function"))
            found = session.run(getattr(made, what)(*[value] if of_a_value else []))
            np.testing.assert_allclose(found, figures, atol=1.01e-4, err_msg=what)
        samples = made.sample(3, seed=5)
        assert samples.shape == [3, 2]
        np.testing.assert_allclose(session.run(samples).ravel(), drawn, atol=1.01e-4)
        assert made.sample([2, 2]).shape == [2, 2, 2]
        assert session.run(made.batch_shape_tensor()).tolist() == made.batch_shape.as_list() == [2]
        assert session.run(made.event_shape_tensor()).tolist() == made.event_shape.as_list() == []


def test_divergences_are_tensorflows():
    pairs = [
        (D.Normal([0.0, 1.0], [1.0, 2.0]), D.Normal(1.0, 2.0), [0.4431, 0.0]),
        (D.Bernoulli(probs=[0.2, 0.7]), D.Bernoulli(probs=[0.5, 0.5]), [0.1927, 0.0823]),
        (
            D.Categorical(probs=[[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]]),
            D.Categorical(logits=[[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]]),
            [0.1261, 0.0302],
        ),
    ]
    with v1.Session() as session:
        for first, second, expected in pairs:
            np.testing.assert_allclose(session.run(first.kl_divergence(second)), expected, atol=1e-4)
            found = session.run(first.cross_entropy(second) - first.entropy())
            np.testing.assert_allclose(found, expected, atol=1e-4)
    with pytest.raises(NotImplementedError, match="No KL"):
        D.kl_divergence(pairs[0][0], pairs[1][0])
    with pytest.raises(ValueError, match="already been registered"):
        D.RegisterKL(D.Normal, D.Normal)(lambda a, b: a)


@pytest.mark.parametrize(
    ("make", "mean", "variance", "is_within"),
    [
        (lambda: D.Gamma(3.0, 2.0), 1.5, 0.75, lambda x: x > 0),
        (lambda: D.Beta(2.0, 3.0), 0.4, 0.04, lambda x: (x > 0) & (x < 1)),
        (lambda: D.Laplace(1.0, 2.0), 1.0, 8.0, np.isfinite),
        (lambda: D.Dirichlet([1.0, 3.0]), [0.25, 0.75], [0.0375] * 2, lambda x: abs(x.sum(-1) - 1) < 1e-5),
    ],
    ids=["gamma", "beta", "laplace", "dirichlet"],
)
def test_samples_have_the_moments_and_densities_integrate_to_one(make, mean, variance, is_within):
    with v1.Graph().as_default(), v1.Session() as session:
        made = make()
        found, moments = session.run([made.sample(20000, seed=1), [made.mean(), made.variance()]])
        np.testing.assert_allclose(moments, [mean, variance], rtol=1e-5)
        assert np.all(is_within(found))
        np.testing.assert_allclose(found.mean(0), mean, atol=0.08)
        np.testing.assert_allclose(found.var(0), variance, rtol=0.08)
        entropy = -session.run(made.log_prob(found)).mean()
        np.testing.assert_allclose(session.run(made.entropy()), entropy, atol=0.05)


def test_a_policy_of_unknown_batch_learns():
    """The way of programs that learn by trial: a sample, its probability, and gradients through both."""
    with v1.Graph().as_default(), v1.Session() as session:
        v1.set_random_seed(1)
        state = v1.placeholder(tf.float32, [None, 3])
        policy = D.Normal(loc=v1.layers.dense(state, 2), scale=v1.layers.dense(state, 2, tf.nn.softplus) + 0.1)
        action = v1.squeeze(policy.sample(1), axis=0)
        assert action.shape.as_list() == [None, 2]
        ratio = policy.prob(action) / (policy.prob(action) + 1e-5)
        loss = v1.reduce_mean(policy.log_prob(action) - ratio - policy.entropy())
        step = v1.train.AdamOptimizer(0.01).minimize(loss)
        session.run(v1.global_variables_initializer())
        _, found, value = session.run([step, action, loss], {state: np.ones([4, 3], np.float32)})
    assert found.shape == (4, 2)
    assert np.isfinite(value)


def test_names_and_what_is_not_there():
    with v1.Graph().as_default():
        first, second = D.Normal(0.0, 1.0), D.Normal(0.0, 1.0)
        assert (first.name, second.name) == ("Normal/", "Normal_1/")
        assert str(second) == 'tfp.distributions.Normal("Normal_1/", batch_shape=(), event_shape=(), dtype=float32)'
        assert sorted(first.parameters) == ["allow_nan_stats", "loc", "name", "scale", "validate_args"]
        assert first.reparameterization_type is D.FULLY_REPARAMETERIZED
        with pytest.raises(NotImplementedError, match="mean is not implemented: Categorical"):
            D.Categorical(logits=[1.0, 2.0]).mean()
        with pytest.raises(ValueError, match="Must pass probs or logits"):
            D.Bernoulli()
        far = D.Normal(0.0, 1.0).log_cdf([-20.0, -5.0, -4.9, 0.0, 3.0])
        with v1.Session() as session:
            found = session.run(far)
    np.testing.assert_allclose(found, [-203.917155, -15.0649984, -14.5511827, -0.693147181, -0.00135080996], rtol=1e-4)
