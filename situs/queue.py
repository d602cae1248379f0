"""``tf.queue``: queues."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.queue import FIFOQueue as FIFOQueue
from situs._src.ops.queue import PaddingFIFOQueue as PaddingFIFOQueue
from situs._src.ops.queue import PriorityQueue as PriorityQueue
from situs._src.ops.queue import RandomShuffleQueue as RandomShuffleQueue
from situs._src.ops.queue_base import QueueBase as QueueBase
