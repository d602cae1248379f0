"""``tf.test``: questions that programs ask before they use a GPU, and what their tests are built from."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.base.lazy import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__)
