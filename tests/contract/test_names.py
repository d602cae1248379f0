"""The public names: pinned, loadable, documented, and not hidden by modules of our own.

After adding or removing a public name on purpose: python -m tests.contract.pin_names
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import situs
import situs.compat.v1
from situs._src.base import absent
from tests.contract.pin_names import PINNED, public_names

NAMES = public_names()


def test_the_public_names_are_the_pinned_ones():
    assert PINNED.read_text().split() == NAMES, "if that is meant: python -m tests.contract.pin_names"


@pytest.mark.parametrize("space", sorted({name.rpartition(".")[0] for name in NAMES}))
def test_every_public_name_can_be_loaded(space):
    for name in (name for name in NAMES if name.rpartition(".")[0] == space):
        value = situs
        for part in name.split("."):
            value = getattr(value, part)


def test_every_public_function_and_class_is_documented():
    undocumented = []
    for name in NAMES:
        value = situs
        for part in name.split("."):
            value = getattr(value, part)
        is_absls = str(getattr(value, "__module__", "")).startswith("absl.")  # which documents what it wants to
        if (inspect.isroutine(value) or inspect.isclass(value) or isinstance(value, ModuleType)) and not value.__doc__:
            undocumented += [] if is_absls else [name]
    assert undocumented == []


def test_the_public_modules_are_current():
    """They are written from what the engine exports."""
    root = Path(__file__).parent.parent.parent
    script = [sys.executable, root / "scripts" / "write_api.py", "--check"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_nothing_of_the_engine_is_reachable_as_an_attribute(run_python):
    """Whatever has been imported: the attributes of the public modules are the public names."""
    program = (
        "import sys, types, situs as tf, situs.compat.v1 as v1\n"
        "v1.Session, v1.train.Saver, tf.data.Dataset, tf.nn.relu(1.0), tf.memory.snapshot(), tf.keras.layers.Dense\n"
        "def extra(module):\n"
        "  names = set(getattr(module, '__all__', ())) or {n for n in vars(module) if not n.startswith('_')}\n"
        "  return [n for n in vars(module) if not n.startswith('_') and n not in names]\n"
        "public = [m for n, m in list(sys.modules.items()) if n.split('.')[0] == 'situs' and '_src' not in n]\n"
        "inside = [(m.__name__, n) for m in public for n, v in vars(m).items() if not n.startswith('_')\n"
        "          and isinstance(v, types.ModuleType) and '_src' in v.__name__ and n != 'traits']\n"
        "print([(m.__name__, extra(m)) for m in public if extra(m)], inside)\n"
    )
    assert run_python(program) == "[] []\n"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'situs' has no attribute 'nonsense'"):
        situs.nonsense


def test_the_old_dialect_has_its_own_spellings():
    v1 = situs.compat.v1
    assert v1.log.__wrapped__ is situs.math.log  # the same function, called with the default graph being built
    assert v1.DeviceSpec().parse_from_string("/gpu:1").device_index == 1
    assert v1.nn.dropout is not situs.nn.dropout
    assert v1.matmul.__wrapped__ is situs.matmul


def test_a_name_of_graphs_says_where_it_is():
    for name in ("Session", "placeholder", "get_variable"):
        with pytest.raises(AttributeError, match=rf"tf\.{name} belongs to graphs.*import situs\.compat\.v1 as tf"):
            getattr(situs, name)


def test_dir_and_star_know_the_names():
    assert "matmul" in dir(situs)
    assert "matmul" in situs.__all__


@pytest.mark.parametrize("door", [situs, situs.compat.v1], ids=lambda door: door.__name__)
def test_what_tensorflow_has_and_situs_has_not_is_said(door):
    with pytest.raises(AttributeError, match=r"Situs has no tf.estimator: write the loop"):
        _ = door.estimator
    with pytest.raises(AttributeError, match=r"has no attribute 'nonsense'$"):
        _ = door.nonsense
    for name in absent._INSTEAD:
        assert not hasattr(door, name), f"there is a tf.{name} now: take it out of situs/_src/base/absent.py"
