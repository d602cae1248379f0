"""A part of Keras' own tests, quick ones of many kinds, in every run of the suite; `run.py` runs them all."""

from __future__ import annotations

import pytest

from tests.keras.run import Listed, judge, lists, run

SAMPLE = {
    "layers": (
        "layers/attention/attention_test.py",
        "layers/convolutional/conv_test.py",
        "layers/core/lambda_layer_test.py",
        "layers/layer_test.py",
        "layers/normalization/batch_normalization_test.py",
        "layers/preprocessing/image_preprocessing/random_rotation_test.py",
        "layers/rnn/lstm_test.py",
        "layers/rnn/rnn_test.py",
        "metrics/confusion_metrics_test.py",
    ),
    "training": (
        "callbacks/early_stopping_test.py",
        "models/functional_test.py",
        "models/sequential_test.py",
        "optimizers/adam_test.py",
        "optimizers/loss_scale_optimizer_test.py",
        "optimizers/optimizer_sparse_test.py",
        "optimizers/optimizer_test.py",
        "trainers/compile_utils_test.py",
        "trainers/trainer_test.py",
    ),
    "saving and ops": (
        "backend/common/name_scope_test.py",
        "ops/core_test.py",
        "ops/function_test.py",
        "ops/linalg_test.py",
        "saving/saving_api_test.py",
        "saving/saving_lib_test.py",
        "saving/serialization_lib_test.py",
    ),
}


@pytest.mark.parametrize("kind", SAMPLE)
def test_keras_own_tests(kind):
    outcomes = run(SAMPLE[kind], limit=600)
    verdict = judge(outcomes, *lists())
    assert not verdict.unexpected
    assert {test.split("::")[0] for test in outcomes} == set(SAMPLE[kind])
    assert verdict.share > 0.9


# How a run is judged.

EXPECTED = Listed("# known\n[no sparse tensors]\na_test.py::Sparse*\n[other]\na_test.py::T::test_x\n")
OF_TENSORFLOW = Listed("[needs the net]\nb_test.py*\n")


def test_failures_are_held_against_the_lists():
    found = {
        "a_test.py::T::test_x": {"outcome": "passed"},
        "a_test.py::T::test_y": {"outcome": "failed", "why": "somewhere\nE   Error: words\n"},
        "a_test.py::T::test_z": {"outcome": "skipped"},
        "a_test.py::SparseTest::test_a": {"outcome": "failed", "why": ""},
        "a_test.py::SparseTest::test_b": {"outcome": "passed"},
        "b_test.py": {"outcome": "failed", "why": ""},
        "c_test.py": {"outcome": "failed", "why": "E   ModuleNotFoundError: No module named 'jax'"},
    }
    verdict = judge(found, EXPECTED, OF_TENSORFLOW)
    assert (verdict.passed, verdict.skipped, verdict.as_tensorflow) == (2, 1, 1)
    assert verdict.lacking == {"jax": 1}
    assert verdict.expected == {"no sparse tensors": 1}
    assert verdict.unexpected == {"a_test.py::T::test_y": "Error: words"}
    assert verdict.surprising == {"a_test.py::T::test_x": "other"}
    assert verdict.share == 0.5


def test_lists_begin_with_a_reason():
    with pytest.raises(ValueError, match=r"begins with a reason in brackets, got 'a_test\.py'"):
        Listed("a_test.py\n")


def test_every_line_of_the_lists_names_a_file_of_tests():
    for listed in lists():
        assert all(line.partition("::")[0].rstrip("/").endswith(".py") for line in (*listed.exact, *listed.beginnings))


def test_files_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="Keras has no tests nowhere/"):
        run(["nowhere/"])
