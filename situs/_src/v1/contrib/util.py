"""``tf.contrib.util``: tensors as messages."""

from situs._src.ops.static_value import get_static_value as constant_value
from situs._src.ops.tensor_proto import make_ndarray as make_ndarray
from situs._src.ops.tensor_proto import make_tensor_proto as make_tensor_proto
from situs._src.v1.contrib.absent import without as _without

__getattr__ = _without("tf.contrib.util")
