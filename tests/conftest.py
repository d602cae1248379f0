"""The devices and settings that all tests share.

The suite runs on four virtual GPUs, and every kernel that a test runs is verified against its
op's shape rule and signature. Tests of the unverified fast path say so with the `fast` fixture;
tests that need other devices start a process of their own with `run_python`.

With SITUS_TEST_CARD=1 a real card takes the place of the virtual GPUs: `pytest tests/unit/ops` then
runs every GPU kernel on it.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

if not os.environ.get("SITUS_TEST_CARD"):
    os.environ["SITUS_VIRTUAL_GPUS"] = "4x2GiB"
os.environ["SITUS_VERIFY"] = "1"
os.environ["SITUS_COSTS"] = str(Path(tempfile.mkdtemp(prefix="situs-tests-")) / "costs.json")  # not the user's
os.environ["SITUS_COMPILE_CACHE"] = "0"  # each test compiles, or does not, by itself
os.environ.pop("CUDA_VISIBLE_DEVICES", None)

import pytest
from hypothesis import settings

import situs.compat.v1  # noqa: F401 - as programs do: reached through the eager door first, it would stay eager
from situs._src.base.devices import inventory, scope
from situs._src.base.devices.logical import LogicalDeviceConfiguration
from situs._src.ops import seeds
from situs._src.placement import options
from situs._src.runtime.eager import execute
from situs._src.runtime.eager.precision import set_tensor_float_32

ROOT = Path(__file__).parent.parent
STUCK = 1800.0  # seconds: only what hangs takes so long, on the slowest and busiest machine
LOCAL = "/job:localhost/replica:0/task:0"

settings.register_profile("situs", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("situs")


if os.environ.get("SITUS_TEST_CARD"):  # small logical GPUs: several test processes may share the card
    first = inventory.process.physical("GPU")[0]
    inventory.process.set_split(first, [LogicalDeviceConfiguration(memory_limit=2048)] * 4)
    set_tensor_float_32(False)  # what is expected is known to more digits


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves out, on a card, what only virtual GPUs promise."""
    if os.environ.get("SITUS_TEST_CARD"):
        skip = pytest.mark.skip(reason="needs virtual GPUs, and this run has a card in their place")
        for item in items:
            if item.get_closest_marker("virtual"):
                item.add_marker(skip)


@pytest.fixture(params=["CPU:0", "GPU:0"])
def on_device(request: pytest.FixtureRequest) -> Iterator[str]:
    """Runs the test once under each type of device; gives the device's full name."""
    with scope.device(f"/{request.param}"):
        yield f"{LOCAL}/device:{request.param}"


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Runs the test as users run: kernels unverified, steps remembered."""
    monkeypatch.setattr(execute, "_verify", False)
    yield
    scope.forget()


@pytest.fixture(scope="module")
def quick_collections() -> Iterator[None]:
    """Leaves what there is by now, such as modules of libraries, out of collections of garbage: they are quick then."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _restore_options() -> Iterator[None]:
    soft, log, placer = options.current.soft, options.current.log, options.current.placer
    yield
    options.set_placer(placer)
    options.set_soft(soft)
    options.set_log(log)


@pytest.fixture(autouse=True)
def _restore_seed() -> Iterator[None]:
    yield
    if seeds.eager.seed is not None:
        seeds.set_seed(None)


RunPython = Callable[..., str]


@pytest.fixture
def run_python(tmp_path: Path) -> RunPython:
    """Runs a program in a process of its own and returns what it printed."""
    path = tmp_path / "program.py"  # a file, because AutoGraph reads the source
    packages = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))  # where nothing can be installed
    packages = [str(Path(each).resolve()) for each in packages]

    def run(program: str, *, fails: bool = False, **env: str) -> str:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("SITUS_", "CUDA_"))}
        path.write_text(program)
        done = subprocess.run(
            [sys.executable, str(path)],
            env={**clean, "PYTHONPATH": os.pathsep.join([str(ROOT), *packages]), **env},
            capture_output=True,
            text=True,
            timeout=STUCK,
            check=False,
        )
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run
