"""A front door that opens a crack: names are imported when they are first used.

The public names of a package stand in its ``__init__.pyi``, which type checkers read as it is:

    from situs.ops.math import add as add

At run time `attach` reads the same lines, so that there is one list. Importing the package then
costs nothing, and a program that only asks for the devices never loads PyTorch.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_attached: set[str] = set()


def attach(
    package: str,
    stub: Path,
    wrap: Callable[[Any], Any] | None = None,
    missing: Callable[[str], str] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Returns ``__getattr__``, ``__dir__`` and ``__all__`` for a package whose names stand in `stub`.

    Args:
        package: The name of the package.
        stub: The file with the names.
        wrap: What to make of each value before it is given out.
        missing: What to say besides of a name that is not there.
    """
    sources = read_stub(stub)
    _attached.add(package)

    def load(name: str) -> Any:
        if name not in sources:
            hint = "" if missing is None else missing(name)
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        module, attribute = sources[name]
        if module in _attached:  # what a front door imports from a front door is a namespace, a module
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
