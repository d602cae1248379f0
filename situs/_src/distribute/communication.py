"""Communication between workers: ``CommunicationOptions``.

AUTO    NCCL if every worker has a GPU of its own, otherwise gloo
RING    gloo, through the hosts
NCCL    between GPUs; every worker must have one
"""

from __future__ import annotations

import enum
from typing import Any

from situs._src.base.errors import ArgumentError, shown
from situs._src.base.export import export

PACK_BYTES = 16 * 2**20  # of one transfer, by default


@export(
    "distribute.experimental.CommunicationImplementation",
    "distribute.experimental.CollectiveCommunication",
)
class CommunicationImplementation(enum.Enum):
    """The communication library between workers."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


@export("distribute.experimental.CommunicationOptions")
class CommunicationOptions:
    """How values are sent between workers.

    Args:
        bytes_per_pack: The maximum size of a transfer; 0 for the default.
        timeout_seconds: How long to wait for the other workers; None for ``SITUS_WORKER_WAIT``.
        implementation: The communication library.

    Raises:
        ValueError: one of them is out of range.
    """

    def __init__(
        self,
        bytes_per_pack: int = 0,
        timeout_seconds: float | None = None,
        implementation: Any = CommunicationImplementation.AUTO,
    ) -> None:
        if bytes_per_pack < 0:
            raise ArgumentError(f"Argument `bytes_per_pack` must be >=0, Received {bytes_per_pack}.")
        if timeout_seconds is not None and not timeout_seconds > 0:
            raise ArgumentError(f"`timeout_seconds` is a time to wait, more than 0, got {timeout_seconds!r}.")
        if isinstance(implementation, str):
            implementation = implementation.upper()
        try:
            self.implementation = CommunicationImplementation(implementation)
        except ValueError:
            raise ArgumentError(f"`implementation` is AUTO, RING or NCCL, got {shown(implementation)}.") from None
        self.bytes_per_pack = bytes_per_pack
        self.timeout_seconds = timeout_seconds

    def merged(self, other: CommunicationOptions | None) -> CommunicationOptions:
        """These options, overridden by others."""
        if other is None:
            return self
        auto = other.implementation is CommunicationImplementation.AUTO
        return CommunicationOptions(
            other.bytes_per_pack or self.bytes_per_pack,
            self.timeout_seconds if other.timeout_seconds is None else other.timeout_seconds,
            self.implementation if auto else other.implementation,
        )

    def __repr__(self) -> str:
        return (
            f"Options(bytes_per_pack={self.bytes_per_pack},timeout_seconds={self.timeout_seconds}, "
            f"implementation={self.implementation})"
        )
