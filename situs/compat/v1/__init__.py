"""``import situs.compat.v1 as tf``: the front door of TensorFlow 1's dialect, graphs and sessions.

Its names stand in ``__init__.pyi`` and are loaded when they are first used; `situs.compat.v1.door` says what
calling them here means.
"""

from pathlib import Path as _Path

from situs.absent import hint as _hint
from situs.compat.v1.door import through as _through
from situs.lazy import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, _Path(__file__).with_suffix(".pyi"), _through, _hint)
