"""Programs that are forked find what they would find if they had been started. Needs no card."""

from __future__ import annotations

import pytest

PROGRAM = """
import sys
loaded = "torch" in sys.modules and "situs._src.runtime.dispatch" in sys.modules
import situs as tf
import torch
print(__name__, sys.argv == [__file__], loaded, torch.cuda.is_initialized())
print([device.name for device in tf.config.list_logical_devices("GPU")])
@tf.function
def halved(x):  # AutoGraph reads the source
    while x > 1:
        x = x / 2
    return x
print(float(halved(tf.constant(12.0))))
"""


def test_a_program_has_a_process_settings_and_a_source_of_its_own(run_forked):
    for count in (1, 2):
        names = [f"/device:GPU:{number}" for number in range(count)]
        out = run_forked(PROGRAM, SITUS_VIRTUAL_GPUS=str(count))
        assert out.splitlines() == ["__main__ True True False", str(names), "0.75"]


@pytest.mark.parametrize("ending", ["raise ValueError('no')", "import sys; sys.exit(3)", "import os; os.abort()"])
def test_a_program_that_fails_says_so_and_the_next_one_runs(run_forked, ending):
    out = run_forked(f"print('begun', flush=True)\n{ending}", fails=True)
    assert out.startswith("begun\n")
    assert ("ValueError: no" in out) == ("ValueError" in ending)
    assert run_forked("print(1)") == "1\n"
