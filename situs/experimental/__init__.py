"""``tf.experimental``: what may still change."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs.experimental import dlpack as dlpack
