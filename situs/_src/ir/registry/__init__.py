"""Ops and kernels, and their registries.

    from situs._src.ir.registry import CPU, GPU, find_op, op, traits

declares an op of your own, or adds a kernel to an existing one; ``docs/extending.md`` shows how.
"""

from situs._src.base.export import export
from situs._src.ir.registry import traits as traits
from situs._src.ir.registry.kernel import CPU as CPU
from situs._src.ir.registry.kernel import GPU as GPU
from situs._src.ir.registry.kernel import Kernel as Kernel
from situs._src.ir.registry.op import Op as Op
from situs._src.ir.registry.op import all_ops as all_ops
from situs._src.ir.registry.op import find_op as _find_op
from situs._src.ir.registry.op import op as op


@export("extend.find_op")
def find_op(name: str) -> Op:
    """The op with a name. A kernel that is added to it keeps its traits only if it says so.

    Raises:
        NotFoundError: there is none; the message names near ones.
    """
    found = _find_op(name)
    found.is_found = True
    return found
