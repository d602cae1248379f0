"""``tf.autodiff``: derivatives along a direction, computed forwards."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.autodiff.forward import ForwardAccumulator as ForwardAccumulator
