"""``tf.TensorArray`` of TensorFlow 1: made in the default graph, where programs of that dialect build.

array = tf.TensorArray(tf.float32, size=3)         a list of the default graph, which a while_loop can carry
"""

from __future__ import annotations

from typing import Any

from situs.compat.v1.door import call_through
from situs.ops.tensor_array import TensorArray as _TensorArray


class TensorArray(_TensorArray):
    """Tensors of one dtype by number; the arguments are those of `situs.TensorArray`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        call_through(super().__init__, args, kwargs)
