"""Writes down the public names: ``python -m tests.contract.pin_names``."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import situs

PINNED = Path(__file__).parent / "public_names.txt"


def public_names() -> list[str]:
    """Every public name of the frontend and its namespaces, dotted, sorted."""
    found: set[str] = set()
    _walk(situs, "", found)
    return sorted(found)


def _walk(module: ModuleType, prefix: str, found: set[str]) -> None:
    for name in getattr(module, "__all__", None) or _names_in(module):
        value = getattr(module, name)
        if isinstance(value, ModuleType) and not value.__name__.startswith("situs."):
            continue
        found.add(prefix + name)
        if isinstance(value, ModuleType) and value.__name__ != "situs.errors":
            _walk(value, f"{prefix}{name}.", found)


def _names_in(module: ModuleType) -> list[str]:
    return [name for name in vars(module) if not name.startswith("_") and name != "annotations"]


if __name__ == "__main__":
    PINNED.write_text("\n".join(public_names()) + "\n")
