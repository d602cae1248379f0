"""Who decides how long OpenMP's threads spin: the environment, whoever loaded torch first, or Situs."""

from __future__ import annotations

import pytest

# The variables as they are while torch is loaded: torch.version is the first module that torch imports.
WATCH = """
import os, sys
NAMES = "GOMP_SPINCOUNT", "OMP_WAIT_POLICY"
seen = []
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch.version":
            seen.extend(map(os.environ.get, NAMES))
sys.meta_path.insert(0, Watch())
{program}
import situs as tf
tf.add(1, 2)
print(*seen[:2], *map(os.environ.get, NAMES), sys.modules["torch"].__spec__.loader.__class__.__name__)
"""


@pytest.mark.parametrize("program", ["", "import situs", "import situs, torch", "import situs.compat.v1, torch.nn"])
def test_torch_is_loaded_with_short_spins_and_the_variables_are_gone_again(run_python, program):
    out = run_python(WATCH.format(program=program))
    assert out == "1000 active None None SourceFileLoader\n"


def test_torch_that_was_there_first_is_left_alone(run_python):
    assert run_python(WATCH.format(program="import torch")) == "None None None None SourceFileLoader\n"


@pytest.mark.parametrize("name", ["GOMP_SPINCOUNT", "OMP_WAIT_POLICY"])
def test_the_environment_counts(run_python, name):
    value, found = {"GOMP_SPINCOUNT": ("7", "7 None"), "OMP_WAIT_POLICY": ("passive", "None passive")}[name]
    assert run_python(WATCH.format(program=""), **{name: value}) == f"{found} {found} SourceFileLoader\n"


def test_what_the_program_sets_after_importing_situs_counts(run_python):
    program = "import situs; os.environ['GOMP_SPINCOUNT'] = '5'"
    assert run_python(WATCH.format(program=program)) == "5 None 5 None SourceFileLoader\n"
