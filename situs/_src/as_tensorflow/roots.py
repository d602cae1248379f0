"""The modules that differ from Situs' own under TensorFlow's name: they have TensorFlow's version, and report gaps.

tensorflow            the names of `situs` or, in the dialect v1, of ``situs.compat.v1``
tensorflow.compat     ``v1``, ``v2``, and the conversions of ``situs.compat``
"""

from __future__ import annotations

import importlib
import importlib.machinery
from types import ModuleType, SimpleNamespace
from typing import Any

from situs._src.as_tensorflow import missing
from situs._src.as_tensorflow.for_keras import LATER

ROOTS = ("tensorflow", "tensorflow.compat", "tensorflow.compat.v1", "tensorflow.compat.v2")
VERSIONS = {"v1": "1.15.5", "v2": "2.21.0"}  # the releases whose behaviour Situs follows
OF_KERAS = ("initializers", "losses", "metrics", "optimizers")  # namespaces of TensorFlow 2 that are Keras'
# Imported below a root, not taken from Situs.
_MODULES = (
    "__internal__",
    "compat",
    "compiler",
    "core",
    "examples",
    "experimental",
    "keras",
    "python",
    "raw_ops",
    "sysconfig",
    "v1",
    "v2",
    *LATER,
)

_made: dict[tuple[str, str], ModuleType] = {}


def root(name: str, dialect: str) -> ModuleType:
    """One of `ROOTS`, for programs of a dialect."""
    made = _made.get((name, dialect))
    if made is None:
        made = _made[name, dialect] = _Root(name, dialect)
    return made


class _Root(ModuleType):
    """A module whose names are those of a module of Situs', found when they are first used."""

    def __init__(self, name: str, dialect: str) -> None:
        style = {"tensorflow.compat.v1": "v1", "tensorflow.compat.v2": "v2"}.get(name, dialect)
        base = "situs.compat" if name == "tensorflow.compat" else {"v1": "situs.compat.v1", "v2": "situs"}[style]
        super().__init__(name, f"TensorFlow's {name}, by Situs: `{base}`.")
        self.__path__: list[str] = []
        self.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)  # which libraries ask for
        self.__version__ = VERSIONS[style]
        self._base = importlib.import_module(base)
        if name != "tensorflow.compat":
            self.VERSION = self.GIT_VERSION = self.__version__
            self.version = SimpleNamespace(VERSION=self.__version__, GIT_VERSION=self.__version__, COMPILER_VERSION="")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__") and name != "__internal__":
            raise AttributeError(name)  # what Python asks of any module
        try:
            value = self._found(name)
        except AttributeError:
            raise missing.note(AttributeError(missing.name_text(self.__name__, name), name=name, obj=self)) from None
        setattr(self, name, value)
        return value

    def _found(self, name: str) -> Any:
        is_top = self.__name__ == "tensorflow"
        of_keras = is_top and self.__version__ == VERSIONS["v2"] and name in OF_KERAS
        if of_keras or (name in _MODULES and (is_top or name in ("v1", "v2"))):
            try:
                return importlib.import_module(f"{self.__name__}.{name}")
            except ModuleNotFoundError as error:
                raise AttributeError(name) from error
        return getattr(self._base, name)

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._base), "__version__", "VERSION", "version"})

    @property
    def __all__(self) -> list[str]:
        return [name for name in dir(self) if not name.startswith("_")]
