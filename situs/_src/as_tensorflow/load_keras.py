"""``tf.keras``: the package ``keras`` on its TensorFlow backend, with Situs beneath.

    import situs as tf
    tf.keras.layers          Keras is imported now, and finds Situs where it imports ``tensorflow``
    tf.optimizers            ``keras.optimizers``; so are tf.initializers, tf.losses and tf.metrics of TensorFlow 2

Keras knows its backend by the name ``tensorflow``: from then on that name is Situs in this process. A program that has
imported TensorFlow, or Keras on another backend, is told so. The defaults of ``import situs`` stay.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from situs._src.as_tensorflow import roots
from situs._src.as_tensorflow.finder import Finder
from situs._src.as_tensorflow.install import installed, is_installed
from situs._src.as_tensorflow.older_optimizers import taking_older
from situs._src.base.errors import StateError

_KERAS = "keras._tf_keras.keras"  # the names of ``tf.keras``, among them some that the package itself has no longer


def stand_in(name: str, below: str = "") -> None:
    """Lets a public module be Keras, or a module of Keras'.

    Args:
        name: The name of the public module, which is being imported.
        below: Which module of Keras' it is; by default Keras itself.
    """
    load()
    whole = f"{_KERAS}.{below}".rstrip(".")
    importlib.import_module(whole)
    for each in [each for each in sys.modules if each == whole or each.startswith(f"{whole}.")]:
        sys.modules[name + each[len(whole) :]] = sys.modules[each]


def load() -> ModuleType:
    """Keras on Situs.

    Raises:
        RuntimeError: TensorFlow has been imported, or Keras on another backend.
    """
    if _KERAS in sys.modules and installed() is not None:
        return sys.modules[_KERAS]
    finder = installed()
    if finder is None:
        _check_free()
        finder = Finder("v2")
        finder.take_name()
        sys.meta_path.insert(0, finder)
    os.environ["KERAS_BACKEND"] = "tensorflow"
    is_older = "situs.compat.v1" in sys.modules
    with _tensorflow_2(finder):
        found = importlib.import_module(_KERAS)
        importlib.import_module("keras.src.utils.module_utils").tensorflow.initialize()
    if not is_older and "situs.compat" in sys.modules:
        vars(sys.modules["situs.compat"]).pop("v1", None)  # Keras has imported it: the program has not asked for it yet
    optimizers = importlib.import_module("keras.src.optimizers")
    optimizers.get = taking_older(optimizers.get, found)  # type: ignore[attr-defined]
    return found


def _check_free() -> None:
    for name in ("tensorflow", "keras"):
        if name in sys.modules:
            raise StateError(
                f"tf.keras runs Keras on Situs, and {name} has been imported already. Import it after the first use of "
                "tf.keras, or call situs.install_as_tensorflow() at the beginning of the program."
            )
    if is_installed():
        warnings.warn(
            "TensorFlow is installed here too. tf.keras runs on Situs: from now on `import tensorflow` imports "
            "Situs in this process. Call situs.install_as_tensorflow(replace=True) first to silence this warning.",
            stacklevel=4,
        )


@contextmanager
def _tensorflow_2(finder: Finder) -> Iterator[None]:
    """While Keras is imported, ``tensorflow`` is that of TensorFlow 2, also in programs of TensorFlow 1."""
    before = sys.modules.get("tensorflow")
    if finder.dialect == "v1":
        sys.modules["tensorflow"] = roots.root("tensorflow", "v2")
    try:
        yield
    finally:
        if finder.dialect == "v1":
            del sys.modules["tensorflow"]
            if before is not None:
                sys.modules["tensorflow"] = before
