"""``tf.experimental.dlpack``: tensors shared with other libraries without a copy."""

import situs.ops  # noqa: F401 - what comes in through here is a tensor with all its operators
from situs.eager.interchange import from_dlpack as from_dlpack
from situs.eager.interchange import to_dlpack as to_dlpack
