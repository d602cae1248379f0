"""``tf.compat``: older dialects of TensorFlow's language.

``import situs.compat.v1`` opens the front door of graphs and sessions. An eager program that writes
``tf.compat.v1.some_op(...)`` goes through here instead, and its ops keep running at once.
"""

import importlib as _importlib
import sys as _sys
from typing import TYPE_CHECKING
from typing import Any as _Any

from situs.compat.text import as_bytes as as_bytes
from situs.compat.text import as_str as as_str
from situs.compat.text import as_str_any as as_str_any
from situs.compat.text import as_text as as_text
from situs.compat.text import path_to_bytes as path_to_bytes
from situs.compat.text import path_to_str as path_to_str
from situs.shapes import dimension_at_index as dimension_at_index
from situs.shapes import dimension_value as dimension_value

if TYPE_CHECKING:
    from situs.compat import v1 as v1

__all__ = [
    "as_bytes",
    "as_str",
    "as_str_any",
    "as_text",
    "dimension_at_index",
    "dimension_value",
    "path_to_bytes",
    "path_to_str",
    "v1",
]


def __getattr__(name: str) -> _Any:
    by_import = _sys._getframe(1).f_globals.get("__name__", "").startswith("importlib")
    if name != "v1" or by_import:  # Python's import system asks first, and then imports
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _importlib.import_module("situs.compat.v1")
    _importlib.import_module("situs.compat.v1.door").run_eagerly_from_eager_door()
    return module
