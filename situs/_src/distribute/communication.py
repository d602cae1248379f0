"""How values go between workers: ``CommunicationOptions``.

AUTO    between cards of their own by NCCL, else through the hosts
RING    through the hosts, by gloo
NCCL    between cards, which every worker must have
"""

from __future__ import annotations

import enum
from typing import Any

from situs._src.base.errors import ArgumentError, shown
from situs._src.base.export import export

PACK_BYTES = 16 * 2**20  # of one transfer, where a program does not say


@export(
    "distribute.experimental.CommunicationImplementation",
    "distribute.experimental.CollectiveCommunication",
)
class CommunicationImplementation(enum.Enum):
    """What carries values between workers."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


@export("distribute.experimental.CommunicationOptions")
class CommunicationOptions:
    """How values go between workers.

    Args:
        bytes_per_pack: How large a transfer may be; 0 for the default.
        timeout_seconds: How long to wait for the other workers; None for ``SITUS_WORKER_WAIT``.
        implementation: What carries them.

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
        """These options, and what others say in their place."""
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
