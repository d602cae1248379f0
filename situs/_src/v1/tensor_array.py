"""``tf.TensorArray`` of TensorFlow 1: created in the default graph.

array = tf.TensorArray(tf.float32, size=3)         a list of the default graph, which a while_loop can carry
"""

from __future__ import annotations

from typing import Any

from situs._src.base.export import export
from situs._src.ops.tensor_array import TensorArray as _TensorArray
from situs._src.v1.frontend import call_through


@export(v1="TensorArray")
class TensorArray(_TensorArray):
    """Tensors of one dtype by number; the arguments are those of `situs.TensorArray`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        call_through(super().__init__, args, kwargs)
