"""``tf.summary`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.v1.frontend import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__)
