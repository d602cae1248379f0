"""``tf.compat``: TensorFlow 1's style in ``tf.compat.v1``, and conversions of text."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.base.start import attach_compat as _attach

__getattr__, __dir__, __all__ = _attach(__name__)
