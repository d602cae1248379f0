"""Who decides how long OpenMP's threads spin: the environment, whoever loaded torch first, or Situs."""

from __future__ import annotations

import pytest

# The variable as it is while torch is loaded: torch.version is the first module that torch imports.
WATCH = """
import os, sys
seen = []
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch.version":
            seen.append(os.environ.get("GOMP_SPINCOUNT"))
sys.meta_path.insert(0, Watch())
{program}
import situs as tf
tf.add(1, 2)
print(seen[0], os.environ.get("GOMP_SPINCOUNT"), sys.modules["torch"].__spec__.loader.__class__.__name__)
"""


@pytest.mark.parametrize("program", ["", "import situs", "import situs, torch", "import situs.compat.v1, torch.nn"])
def test_torch_is_loaded_with_short_spins_and_the_variable_is_gone_again(run_python, program):
    out = run_python(WATCH.format(program=program))
    assert out == "1000 None SourceFileLoader\n"


def test_torch_that_was_there_first_is_left_alone(run_python):
    assert run_python(WATCH.format(program="import torch")) == "None None SourceFileLoader\n"


@pytest.mark.parametrize("name", ["GOMP_SPINCOUNT", "OMP_WAIT_POLICY"])
def test_the_environment_counts(run_python, name):
    value = {"GOMP_SPINCOUNT": "7", "OMP_WAIT_POLICY": "passive"}[name]
    kept = value if name == "GOMP_SPINCOUNT" else None
    assert run_python(WATCH.format(program=""), **{name: value}) == f"{kept} {kept} SourceFileLoader\n"


def test_what_the_program_sets_after_importing_situs_counts(run_python):
    program = "import situs; os.environ['GOMP_SPINCOUNT'] = '5'"
    assert run_python(WATCH.format(program=program)) == "5 5 SourceFileLoader\n"
