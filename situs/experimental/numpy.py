"""``tf.experimental.numpy``: names of NumPy on tensors, as far as Keras uses them."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.numpy_api import finfo as finfo
from situs._src.ops.numpy_api import select as select
from situs._src.ops.numpy_behavior import experimental_enable_numpy_behavior as experimental_enable_numpy_behavior
