"""``tf.compat.v1.bitwise``."""

from situs.compat.v1.door import open_door as _open_door
from situs.ops.compare import bitwise_and as bitwise_and
from situs.ops.compare import bitwise_invert as invert
from situs.ops.compare import bitwise_or as bitwise_or
from situs.ops.compare import bitwise_xor as bitwise_xor
from situs.ops.compare import left_shift as left_shift
from situs.ops.compare import right_shift as right_shift

_open_door(globals())
