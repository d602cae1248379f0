"""Virtual GPUs: logical GPUs that are emulated on the CPU.

A virtual GPU runs ops that have a GPU kernel, rejects those that have none, has a memory limit of its own and really
copies tensors in and out, so that a program for several GPUs can be written, placed and tested on a machine without
one. Only its speed is the CPU's.

    SITUS_VIRTUAL_GPUS=4        four of them, 4 GiB each
    SITUS_VIRTUAL_GPUS=4x2GiB   four with 2 GiB each
"""

from __future__ import annotations

from situs._src.base.devices.physical import Card, select_visible
from situs._src.base.settings import VirtualGpus, cuda_visible_devices

CARD_NAME = "Situs virtual GPU"
# Programs ask "is there a GPU of at least this capability?" before they use one.
# A stand-in should answer yes, or it could not stand in.
COMPUTE_CAPABILITY = (9, 0)


def virtual_cards(request: VirtualGpus) -> list[Card]:
    """The virtual GPUs for `request`, after ``CUDA_VISIBLE_DEVICES`` has chosen among them."""
    cards = [
        Card(CARD_NAME, f"virtual:{index:02x}.0", COMPUTE_CAPABILITY, request.memory_bytes, uuid=None)
        for index in range(request.count)
    ]
    return select_visible(cards, cuda_visible_devices())
