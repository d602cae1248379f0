"""What ``import situs`` does, and where its names come from.

The names are listed in ``situs/__init__.pyi`` and imported at first use. A name that is missing is looked up in
``situs.compat.v1``, so that the error can say where it is.
"""

from __future__ import annotations

import dis
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from situs._src.base import lazy
from situs._src.base.absent import hint
from situs._src.base.devices.spinning import install as shorten_spins


def attach(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Returns ``__getattr__``, ``__dir__`` and ``__all__`` for `situs`."""
    shorten_spins()
    return lazy.attach(package, missing=_about)


def _about(name: str) -> str:
    """What to say of a name that is not there: where graphs have it, or what to use in its place."""
    stub = Path(str(sys.modules["situs"].__file__)).parent / "compat" / "v1" / "__init__.pyi"
    if name not in lazy.read_stub(stub):
        return hint(name)
    return (
        f". tf.{name} belongs to graphs and sessions: write `import situs.compat.v1 as tf`, or call "
        f"tf.compat.v1.{name} in this program"
    )


def attach_compat(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Returns ``__getattr__``, ``__dir__`` and ``__all__`` for ``situs.compat``.

    A program that imports `situs` and writes ``tf.compat.v1.some_op(...)`` finds it here: its ops keep running at once.
    """
    load, names, public = lazy.attach(package)

    def find(name: str) -> Any:
        if name != "v1":
            return load(name)
        asking = sys._getframe(1)
        if asking.f_globals.get("__name__", "").startswith("importlib"):
            raise AttributeError(name)  # Python's import system asks first, and then imports
        module = importlib.import_module("situs.compat.v1")
        if dis.opname[asking.f_code.co_code[asking.f_lasti]] == "IMPORT_FROM":
            return module  # ``import situs.compat.v1 as tf``, of a module that is loaded
        importlib.import_module("situs._src.v1.frontend").run_eagerly()
        return module

    return find, names, public


def compat_v1_itself(name: str) -> Any:
    """Finds ``tf.compat.v1`` for a program that imports ``situs.compat.v1``: it is that module."""
    if name != "v1":
        raise AttributeError(f"module 'situs.compat.v1.compat' has no attribute {name!r}")
    return importlib.import_module("situs.compat.v1")
