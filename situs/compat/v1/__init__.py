"""TensorFlow 1's style: ``import situs.compat.v1 as tf``.

Functions add to the default graph; `situs._src.v1.frontend` says how.
"""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.frontend import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__)
