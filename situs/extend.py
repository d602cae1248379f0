"""``tf.extend``: ops and kernels of your own. ``docs/extending.md`` shows how."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ir.registry import find_op as find_op
from situs._src.ir.registry import traits as traits
from situs._src.ir.registry.kernel import CPU as CPU
from situs._src.ir.registry.kernel import GPU as GPU
from situs._src.ir.registry.kernel import Kernel as Kernel
from situs._src.ir.registry.op import Op as Op
from situs._src.ir.registry.op import all_ops as all_ops
from situs._src.ir.registry.op import op as op
