"""How long the threads of CPU kernels spin before they sleep.

The threads of PyTorch's kernels are GNU OpenMP's. Between two kernels, and at the end of each, they spin for some
milliseconds before they sleep, which is fast while every core is free. With another process on one of the cores, a
spinning thread takes that core from the thread that all others wait for: adding two matrices of 256x256 then takes
8 ms instead of 8 us. ``GOMP_SPINCOUNT`` limits the spinning, and is read once, when the library is loaded.

Every thread of a program that runs large kernels has OpenMP threads of its own. As soon as there are more of them than
cores, GNU OpenMP lets all of them spin for a tenth of that, even if only one thread computes: each kernel then wakes
sleepers, and adding two matrices of 256x256 takes 17 us instead of 4, their means by rows 42 instead of 6. With
``OMP_WAIT_POLICY=active`` they spin as long as before:

    import situs    an import hook waits for the import of torch
    import torch    both variables are set while torch is loaded, unless the environment sets one; then they are
                    removed, so that child processes are not affected

If torch was imported first, nothing is changed. Why this number: ``docs/decisions/0016-short-spins.md``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType

SPINS = 1000  # turns of a loop: 10 to 45 us
VARIABLES = {"GOMP_SPINCOUNT": str(SPINS), "OMP_WAIT_POLICY": "active"}


class _BeforeTorch:
    """Finds torch as the other finders do, and has it loaded with short spins."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "torch":
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        found = (finder.find_spec(name, path, target) for finder in others if hasattr(finder, "find_spec"))
        spec = next((spec for spec in found if spec is not None), None)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                with short_spins():
                    load(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


torch_came_first = "torch" in sys.modules  # before Situs


def install() -> None:
    """Waits for torch to be imported, if it is not there yet."""
    if not torch_came_first and not any(isinstance(finder, _BeforeTorch) for finder in sys.meta_path):
        sys.meta_path.insert(0, _BeforeTorch())


@contextmanager
def short_spins() -> Iterator[None]:
    """Sets the variables for as long as torch is being loaded, unless the environment chooses."""
    from situs._src.base import settings  # not while `import situs` runs

    if settings.chooses_spinning():
        yield
        return
    os.environ.update(VARIABLES)
    try:
        yield
    finally:
        for name in VARIABLES:
            os.environ.pop(name, None)
