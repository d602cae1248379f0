"""Copies between devices in plans.

On the host, for small values, and between logical devices of one GPU, a copy is a call like any other. A large copy to
a GPU uses a separate stream:

    compute stream   MatMul ---------- Conv ------- wait --- AddN
    copy stream               wait --- copy -------'

The copy waits for work launched before it, and only work launched after it waits for the
copy. Switching streams costs about 12 us, so copies of less than `LARGE` bytes stay on the compute stream. So do those
within a GPU: the allocator does not reuse memory across streams, so two streams would need twice the memory.
"""

from __future__ import annotations

import torch

from situs._src.base import locks
from situs._src.base.devices.logical import Device
from situs._src.base.dtype import DType, resource, string, variant
from situs._src.ir.graph.origin import Origin
from situs._src.runtime.eager.bridge import Copy, copier, torch_device

LARGE = 2**18
_ON_THE_HOST_ALONE = frozenset({string, resource, variant})

_streams: dict[torch.device, torch.cuda.Stream] = {}
_lock = locks.lock()


def transfer(source: Device, target: Device, dtype: DType, made_at: Origin | None = None) -> Copy | None:
    """The function that copies a value from one device to another in a plan; None if no copy is needed.

    Args:
        source: The device of the value.
        target: The destination.
        dtype: Its dtype: strings, resources and lists stay on the host.
        made_at: The line of the user's program that created the tensor.
    """
    if dtype in _ON_THE_HOST_ALONE:
        return None
    copy = copier(source, target, made_at=made_at)
    if copy is None:
        return None
    cards = [torch_device(device) for device in (source, target)]
    card = next((where for where in reversed(cards) if where.type == "cuda"), None)
    if card is None or torch_device(target).type == "cpu" or cards[0] == cards[1]:
        return copy  # copies to the host are synchronous in any case
    return _streaming(copy, card)


def _streaming(copy: Copy, card: torch.device) -> Copy:
    def move(value: torch.Tensor) -> torch.Tensor:
        if value.nbytes < LARGE or torch.cuda.is_current_stream_capturing():
            made: torch.Tensor = copy(value)
            return made
        found = _streams.get(card)
        if found is None:
            with _lock:
                found = _streams.setdefault(card, torch.cuda.Stream(card))  # type: ignore[no-untyped-call]
        compute, side = torch.cuda.current_stream(card), found
        side.wait_stream(compute)
        if value.is_cuda and value.device != card:
            side.wait_stream(torch.cuda.current_stream(value.device))
        with torch.cuda.stream(side):
            made = copy(value)
        if value.is_cuda:
            value.record_stream(side)
        compute.wait_stream(side)
        made.record_stream(compute)
        return made

    return move
