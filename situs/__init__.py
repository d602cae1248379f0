"""Situs: a tensor runtime whose subject is where computation happens.

``import situs as tf``: ops run at once.
"""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.base.start import attach as _attach
from situs._src.base.version import __version__ as __version__

__getattr__, __dir__, __all__ = _attach(__name__)
