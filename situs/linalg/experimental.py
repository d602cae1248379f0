"""``tf.linalg.experimental``: solving by steps."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.matrix_functions import conjugate_gradient as conjugate_gradient
