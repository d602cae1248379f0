"""Situs: a tensor runtime whose subject is where computation happens.

This is the eager front door: ``import situs as tf``. Its names stand in ``__init__.pyi`` and are
loaded when they are first used.
"""

from pathlib import Path as _Path

from situs.lazy import attach as _attach

__version__ = "0.1.0.dev0"
__getattr__, __dir__, __all__ = _attach(__name__, _Path(__file__).with_suffix(".pyi"))
