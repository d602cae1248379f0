"""``tf.experimental.dlpack``: tensors shared with other libraries without a copy."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.dlpack import from_dlpack as from_dlpack
from situs._src.ops.dlpack import to_dlpack as to_dlpack
