"""``tf.compat`` as programs of TensorFlow 1's dialect see it: ``tf.compat.v1`` is that dialect itself."""

import importlib as _importlib
from typing import Any as _Any

from situs import compat as _compat

__all__ = [name for name in _compat.__all__ if name != "v1"]

globals().update({name: getattr(_compat, name) for name in __all__})


def __getattr__(name: str) -> _Any:
    if name != "v1":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _importlib.import_module("situs.compat.v1")
