"""``tf.experimental.dlpack``: tensors shared with other libraries without a copy."""

from situs.eager.interchange import from_dlpack as from_dlpack
from situs.eager.interchange import to_dlpack as to_dlpack
