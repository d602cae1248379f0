"""``tf.config.reset``: releases the devices of this process, so that they can be configured again.

Devices are fixed at their first use, because tensors, variables, sessions and functions refer to them. If none of these
is left, the devices can be reconfigured without restarting a notebook:

    alive (tensors, variables, sessions, functions)?  --yes-->  refused: what, how many, from which line
        |
        no  -->  devices, visibility, splits, virtual GPUs, memory policies, threads: as at the start

What is on ``CPU:0`` does not count: that device always exists, and stays the same. Settings that can be changed at any
time (soft placement, the log, the placer, seeds) are kept.
"""

from __future__ import annotations

from situs._src.base.devices import scope
from situs._src.base.devices.inventory import process
from situs._src.base.errors import StateError
from situs._src.base.export import export


@export("config.reset", as_is=True)
def reset() -> None:
    """Releases the devices of this process, so that they can be configured again, as if the program had just begun.

    Forgotten are the logical devices, which physical ones are visible, how they are split, virtual GPUs, memory
    policies and bounds on threads. Soft placement, the placement log and the placer stay as they are: they can be
    changed at any time. Tensors on ``CPU:0`` stay too.

    Raises:
        FailedPreconditionError: tensors or variables on other devices, open sessions or functions that have run are
            still alive. The message says which.

    Example:
        >>> import situs as tf
        >>> tf.config.reset()  # doctest: +SKIP
        >>> tf.config.set_virtual_gpus(4)  # doctest: +SKIP
    """
    scope.forget()
    if process.initialized:
        from situs._src.config.alive import lines_of_alive  # here, because it loads PyTorch

        found = lines_of_alive()
        if found:
            raise StateError(
                "tf.config.reset() cannot release the devices while something uses them. Still alive:\n"
                + "\n".join(found)
                + "\nDelete these (del x) and close sessions first. In a notebook, results of cells stay alive in Out: "
                "%reset -f out clears it."
            )
    process.reset()
