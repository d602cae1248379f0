"""``tf.raw_ops``: every op as a function of keywords, under TensorFlow's name for it."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.by_keyword import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__)
