"""Environment variables: those of docs/settings.md, read in this process and by programs of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

from situs._src.base import settings
from situs._src.base.devices.inventory import Inventory
from tests.fuzz.case import IN_OWN, SECONDS, Case, require
from tests.fuzz.mutation import mutated_text

ROOT = Path(__file__).parents[3]
SEEDS = {
    "SITUS_VIRTUAL_GPUS": ["4", "4x2GiB", "0", "1x64MiB", " 2 * 1GB "],
    "SITUS_VERIFY": ["1", "0", ""],
    "SITUS_KEEP_HEAP": ["512MiB", "0", "1.5G"],
    "TF_FORCE_GPU_ALLOW_GROWTH": ["true", "false", "1", "0"],
    "CUDA_VISIBLE_DEVICES": ["0,1", "1", "-1", "GPU-1234abcd", "", "0,0", "1,-1,0", "NoDevFiles"],
    "CUDA_DEVICE_ORDER": ["PCI_BUS_ID", "FASTEST_FIRST"],
    "PYTORCH_ALLOC_CONF": ["expandable_segments:True", "backend:native,max_split_size_mb:64"],
    "PYTORCH_CUDA_ALLOC_CONF": ["expandable_segments:False"],
    "CUBLAS_WORKSPACE_CONFIG": [":4096:8", ":16:8:4096:2", ""],
    "GLIBC_TUNABLES": ["glibc.malloc.trim_threshold=1"],
}
WORDS = [text for texts in SEEDS.values() for text in texts]
_IN_OWN = 100  # one of so many cases runs in a process of its own, which takes a thousand times as long
_SAFE = {name for name in SEEDS if name.startswith(("SITUS", "CUDA", "TF"))}  # else the others read it first
_PROGRAM = """
import sys, situs
try:
    situs.config.list_logical_devices()
    assert float(situs.constant(1.0) + 1.0) == 2.0
except situs.errors.OpError as error:
    print(str(error)[:1000].encode('ascii', 'backslashreplace').decode())
"""


class Environment:
    """Cases of environments."""

    def __init__(self, folder: Path) -> None:
        self._clean = {n: v for n, v in os.environ.items() if n not in SEEDS} | {"PYTHONPATH": str(ROOT)}

    def case(self, random: Random) -> Case:
        """Some of the variables set to something like what they take."""
        own = random.randrange(_IN_OWN) == 0
        names = random.sample(sorted(_SAFE if own else SEEDS), random.randint(1, 3))
        given = {name: _text(random, random.choice(SEEDS[name])) for name in names}
        given.setdefault("SITUS_VIRTUAL_GPUS", "2x1GiB")
        way = random.choice((self._command, self._program)) if own else _read
        return Case(f"{way.__name__} {given!a}", lambda: way(given), seconds=IN_OWN if own else SECONDS)

    def _command(self, given: dict[str, str]) -> None:
        self._ends([sys.executable, "-m", "situs", "devices"], given)

    def _program(self, given: dict[str, str]) -> None:
        self._ends([sys.executable, "-c", _PROGRAM], given)

    def _ends(self, command: list[str], given: dict[str, str]) -> None:
        done = subprocess.run(command, env=self._clean | given, capture_output=True, timeout=600, check=False)
        require(b"Traceback" not in done.stderr and done.returncode in (0, 1), done.stderr.decode(errors="replace"))


def _text(random: Random, seed: str) -> str:
    """What an environment can hold: no NUL, and not so long that no process starts with it."""
    text = seed if random.random() < 0.2 else mutated_text(random, seed, WORDS)
    return text.replace("\0", "0").encode("utf-8", "replace").decode()[:2000]


def _read(given: dict[str, str]) -> None:
    """Everything that reads the environment, in this process."""
    before = dict(os.environ)
    try:
        os.environ.update(given)
        for read in (settings.cuda_visible_devices, settings.cuda_device_order, settings.torch_allocator):
            read()
        settings.cublas_workspace(), settings.chooses_malloc(), settings.verify_kernels()
        settings.chooses_spinning(), settings.onednn_limit(), settings.cache_folder()
        settings.virtual_gpus(), settings.force_gpu_allow_growth(), settings.keep_heap()
        require(len(Inventory().preview()) <= settings.MAX_VIRTUAL_GPUS + 1, "devices out of nothing")
    finally:
        os.environ.clear()
        os.environ.update(before)
