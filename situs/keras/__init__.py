"""``tf.keras``: layers, models, losses, metrics, optimizers."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.base.lazy import attach as _attach

__getattr__, __dir__, __all__ = _attach(__name__)
