"""``examples/gpt_small.py``: learns a grammar and writes, in float32 and bfloat16, on one GPU and on two."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import situs as tf
from tests.examples.conftest import LoadExample, RunExample, devices, numbers


@pytest.mark.parametrize(("options", "gpus"), [((), 1), (("--bfloat16",), 2)])
def test_learns_the_grammar_and_writes(options: tuple[str, ...], gpus: int, run_example: RunExample):
    printed = run_example("gpt_small.py", "--steps", 150, "--context", 32, "--gpus", gpus, *options)
    losses = numbers("loss", printed)
    assert losses[0] == pytest.approx(np.log(26), abs=0.15)  # nothing known: all characters alike
    assert losses[-1] < 0.9
    assert devices(printed) == {f"GPU:{number}" for number in range(gpus)}
    written = printed.rpartition("}\n")[2]
    assert len(written) == 16 + 200 + 1
    assert " the " in written


def test_a_text_of_ones_own_is_learned(run_example: RunExample, tmp_path: Path):
    (tmp_path / "text.txt").write_text("to be or not to be, that is the question: \u00e9t\u00e9\n" * 30)
    printed = run_example("gpt_small.py", "--data", tmp_path / "text.txt", "--steps", 60, "--gpus", 0)
    assert numbers("loss", printed)[-1] < 1.5
    assert "1380 characters" in printed


def test_a_text_must_be_longer_than_what_the_model_sees(run_example: RunExample, tmp_path: Path):
    (tmp_path / "text.txt").write_text("to be")
    printed = run_example("gpt_small.py", "--data", tmp_path / "text.txt", "--gpus", 0, fails=True)
    assert printed == "The text has 5 characters: too few for a model that sees 64 at once.\n"


def test_the_size_of_gpt_2_has_its_number_of_parameters(load_example: LoadExample):
    layers, _, width, context, characters, _ = load_example("gpt_small.py").SIZES["124m"]
    block = 12 * width**2 + 13 * width  # four matrices with their biases, two norms
    assert (characters + context) * width + layers * block + 2 * width == 124_439_808


def test_a_position_sees_only_what_is_before_it(load_example: LoadExample):
    model = load_example("gpt_small.py").GPT(2, 2, 8, 6, 5, ["/cpu:0"], tf.float32)
    codes = np.array([[0, 1, 2, 3, 4, 0]])
    changed = np.array([[0, 1, 2, 4, 3, 1]])
    before, after = model(codes).numpy(), model(changed).numpy()
    np.testing.assert_allclose(before[:, :3], after[:, :3], rtol=1e-5, atol=1e-6)
    assert not np.allclose(before[:, 3:], after[:, 3:])
