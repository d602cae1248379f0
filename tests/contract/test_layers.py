"""The layers, as far as imports alone do not tell: what loads PyTorch and what does not."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "statement",
    [
        "import situs",
        "import situs as tf; tf.config.list_logical_devices(); tf.test.is_gpu_available(); tf.device('/cpu:0')",
        "import situs as tf; tf.DeviceSpec.from_string('/gpu:0'); tf.float32; tf.errors.OpError; tf.TensorShape([1])",
        "import situs._src.placement.candidates, situs._src.placement.explain, situs._src.ir.registry.op",
        "from situs.python.client import device_lib; device_lib.list_local_devices()",
    ],
)
def test_asking_about_devices_loads_no_kernel_library(run_python, statement):
    assert (
        run_python(f"{statement}\nimport sys; print('torch' in sys.modules, 'numpy' in sys.modules)") == "False False\n"
    )


def test_the_first_op_loads_it(run_python):
    assert run_python("import situs as tf; tf.add(1, 2)\nimport sys; print('torch' in sys.modules)") == "True\n"


def test_the_map_shows_the_layers_that_are_checked():
    root = Path(__file__).parent.parent.parent
    contracts = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    assert "```\n" + "\n".join(layers) + "\n```" in (root / "docs" / "architecture.md").read_text()
