"""``tf.types``: what values can be asked to be an instance of."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs.types import experimental as experimental
