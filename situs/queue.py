"""``tf.queue``."""

from situs.ops.queue import FIFOQueue as FIFOQueue
from situs.ops.queue import PaddingFIFOQueue as PaddingFIFOQueue
from situs.ops.queue import PriorityQueue as PriorityQueue
from situs.ops.queue import QueueBase as QueueBase
from situs.ops.queue import RandomShuffleQueue as RandomShuffleQueue
