"""``tf.experimental.dlpack``: tensors shared with other libraries without a copy.

`runtime.eager.interchange` implements it. An imported tensor has all operators, which the ops install.
"""

from situs._src.base.export import export
from situs._src.runtime.eager.interchange import from_dlpack as from_dlpack
from situs._src.runtime.eager.interchange import to_dlpack as to_dlpack

export("experimental.dlpack.from_dlpack")(from_dlpack)
export("experimental.dlpack.to_dlpack")(to_dlpack)
