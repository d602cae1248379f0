"""The import hook for ``tensorflow`` and every module below it.

    tensorflow                   a module of its own: Situs' names, and TensorFlow's version     roots.py
    tensorflow.nn                `situs.nn`, or ``situs.compat.v1.nn`` in the dialect of TensorFlow 1
    tensorflow.compat.v1.nn      ``situs.compat.v1.nn``
    tensorflow.python.ops.x      a module made of public names                                   internals.py
    tensorflow.core.x_pb2        the messages of the package ``tensorboard``
    tensorflow.examples.x        what the tutorials shared
    tensorflow.keras             the package ``keras`` with Situs beneath                        for_keras.py
                                 (so are tensorflow.optimizers and its like of TensorFlow 2)
    keras.src.trainers.trainer   Keras' own, changed in a few places                             keras_changes.py

If Situs has no such module, the import fails with an explanation, and nothing of an installed TensorFlow is imported.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Sequence
from types import ModuleType

from situs._src.as_tensorflow import for_keras, internals, keras_changes, missing, roots


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds ``tensorflow`` and the modules below it.

    Attributes:
        dialect: ``v1`` or ``v2``.
    """

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self._bases = {"v1": ("situs.compat.v1", "situs"), "v2": ("situs",)}[dialect]

    def take_name(self) -> None:
        """Lets Keras know its backend, and tensors, by the name of TensorFlow."""
        os.environ.setdefault("KERAS_BACKEND", "tensorflow")
        for module, name, known_as in _KNOWN_AS:
            getattr(importlib.import_module(module), name).__module__ = f"tensorflow.python.{known_as}"

    def prepare(self) -> None:
        """Sets what holds under TensorFlow's name."""
        self.take_name()
        importlib.import_module("situs._src.config.devices").set_soft_device_placement(True)
        if self.dialect == "v2":  # as in TensorFlow, importing tensorflow.compat.v1 does not change how ops run
            importlib.import_module("situs._src.v1.frontend").run_eagerly()
        else:
            importlib.import_module("situs._src.v1.frontend").disable_v2_tensorshape()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """How to load a module of TensorFlow's, and one of Keras'; None for other modules.

        Raises:
            ModuleNotFoundError: Situs has no such module.
        """
        if fullname in keras_changes.CHANGES:
            return keras_changes.changed_spec(fullname, path)
        if fullname.partition(".")[0] != "tensorflow":
            return None
        if self._locate(fullname) is None:
            raise ModuleNotFoundError(missing.module_text(fullname), name=fullname)
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Leaves making a module to Python; `exec_module` puts another in its place."""

    def exec_module(self, module: ModuleType) -> None:
        """Puts the module that is meant where Python has put an empty one."""
        found = self._locate(module.__name__)
        assert found is not None, "find_spec has found it"
        if not hasattr(found, "__path__"):  # a plain module here, and yet there may be modules below it
            found.__path__ = []
        sys.modules[module.__name__] = found

    def _locate(self, name: str) -> ModuleType | None:
        below = name.partition(".")[2]
        if f"{below}.".startswith("contrib.keras."):  # Keras before it was public
            below = below.removeprefix("contrib.")
        if name in roots.ROOTS:
            return roots.root(name, self.dialect)
        if (found := for_keras.module(below)) is not None:
            return found
        if (first := below.split(".")[0]) == "keras" or (first in roots.OF_KERAS and self.dialect == "v2"):
            return _imported(f"situs.{below}")
        for prefix, dialect in (("compat.v1.", "v1"), ("compat.v2.", "v2")):
            if below.startswith(prefix):
                return _imported(f"{_BASES[dialect]}.{below[len(prefix) :]}")
        if below.partition(".")[0] in ("python", "core") or internals.is_elsewhere(below):
            return internals.module(name)
        return next((found for base in self._bases if (found := _imported(f"{base}.{below}"))), None)


# Classes that Keras knows by the names of their modules, and what programs print of the type of a tensor.
_KNOWN_AS = (
    ("situs._src.base.tensor", "Tensor", "framework.tensor"),
    ("situs._src.ir.graph.tensor", "SymbolicTensor", "framework.ops"),
    ("situs._src.sparse.tensor", "SparseTensor", "framework.sparse_tensor"),
    ("situs._src.ragged.tensor", "RaggedTensor", "ops.ragged.ragged_tensor"),
)
_BASES = {"v1": "situs.compat.v1", "v2": "situs"}


def _imported(name: str) -> ModuleType | None:
    """A module of Situs', or None if there is none of that name."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            return None
        raise
