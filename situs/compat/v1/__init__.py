"""``tf.compat.v1``: ops and devices as TensorFlow 1 spells them.

Its names stand in ``__init__.pyi`` and are loaded when they are first used. Ops run at once, as through the
eager front door: graphs and sessions are not there yet.
"""

from pathlib import Path as _Path

from situs.lazy import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__, _Path(__file__).with_suffix(".pyi"))
