"""``tf.experimental.dlpack``: tensors shared with other libraries without a copy.

`runtime.eager.interchange` does it. What comes in is a tensor with all its operators, which the ops give it.
"""

from situs._src.base.export import export
from situs._src.runtime.eager.interchange import from_dlpack as from_dlpack
from situs._src.runtime.eager.interchange import to_dlpack as to_dlpack

export("experimental.dlpack.from_dlpack")(from_dlpack)
export("experimental.dlpack.to_dlpack")(to_dlpack)
