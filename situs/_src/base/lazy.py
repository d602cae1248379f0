"""Public modules with lazily imported names.

The names of such a module are listed in a stub next to it, which type checkers read as well:

    from situs._src.ops.math import add as add

At run time `attach` reads the same lines, so there is one list. Importing the module then costs nothing, and a program
that only lists the devices never loads PyTorch.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def attach(
    package: str,
    wrap: Callable[[Any], Any] | None = None,
    missing: Callable[[str], str] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Returns ``__getattr__``, ``__dir__`` and ``__all__`` for a module whose names stand in the stub beside it.

    Args:
        package: The name of the module.
        wrap: What to make of each value before it is given out.
        missing: What to say besides of a name that is not there.
    """
    sources = read_stub(Path(str(sys.modules[package].__file__)).with_suffix(".pyi"))

    def load(name: str) -> Any:
        if name not in sources:
            hint = "" if missing is None else missing(name)
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        module, attribute = sources[name]
        if not module.startswith("situs._src"):  # what a public module imports from another one is a namespace
            value = importlib.import_module(f"{module}.{attribute}")
        else:
            value = getattr(importlib.import_module(module), attribute)
            if wrap is not None:
                value = wrap(value)
        setattr(sys.modules[package], name, value)  # the next use finds it at once
        return value

    return load, lambda: sorted(sources), sorted(sources)


def read_stub(stub: Path) -> dict[str, tuple[str, str]]:
    """Maps each public name to the module it comes from and its name there."""
    sources: dict[str, tuple[str, str]] = {}
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            assert node.module is not None
            for alias in node.names:
                sources[alias.asname or alias.name] = (node.module, alias.name)
    return sources
